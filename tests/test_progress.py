"""Progress bars: shown for slow work on a terminal, unless switched off."""

import io
import sys

import pytest

from subcast import progress
from subcast.progress import progress_bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    """A clock that the test sets."""

    def __init__(self, monkeypatch):
        self.now = 100.0
        monkeypatch.setattr(progress.time, "monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def count_to(total, clock=None, seconds=0.0, shown=True):
    with progress_bar("counting", total, shown) as advance:
        for _ in range(total):
            if clock is not None:
                clock.now += seconds
            advance(1)


def test_slow_work_shows_a_bar(monkeypatch, clock):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    count_to(5, clock, seconds=1.0)
    assert "counting" in terminal.getvalue()


def test_quick_work_shows_nothing(monkeypatch, clock):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    count_to(5, clock, seconds=0.1)
    assert terminal.getvalue() == ""


def test_switched_off(monkeypatch, clock):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    count_to(5, clock, seconds=10.0, shown=False)
    assert terminal.getvalue() == ""


def test_not_a_terminal(capsys, clock):
    count_to(5, clock, seconds=10.0)
    caught = capsys.readouterr()
    assert caught.out == ""
    assert caught.err == ""


def test_nothing_is_written_to_stdout(monkeypatch, clock, capsys):
    monkeypatch.setattr(sys, "stderr", Terminal())
    count_to(5, clock, seconds=1.0)
    assert capsys.readouterr().out == ""


def test_an_error_passes_through_and_removes_the_bar(monkeypatch, clock):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)

    def fail():
        with progress_bar("counting", 3) as advance:
            clock.now += 9.0
            advance(1)
            raise RuntimeError("failed")

    with pytest.raises(RuntimeError, match="failed"):
        fail()
    count_to(2, clock, seconds=5.0)  # a bar that is still running would prevent a second one
