"""Progress bars: quiet when quick, when nobody looks and when told to be."""

import io
import sys

import pytest

from subcast import progress
from subcast.progress import progress_bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    """A clock that moves when it is told to; whatever waits for it does not."""

    def __init__(self, monkeypatch):
        self.now = 100.0
        monkeypatch.setattr(progress.time, "monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def count_to(total, clock=None, seconds=0.0, shown=True):
    with progress_bar("counting sheep", total, shown) as advance:
        for _ in range(total):
            if clock is not None:
                clock.now += seconds
            advance(1)


def test_slow_work_is_shown(monkeypatch, clock):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    count_to(5, clock, seconds=1.0)
    assert "counting sheep" in terminal.getvalue()


def test_quick_work_is_quiet(monkeypatch, clock):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    count_to(5, clock, seconds=0.1)
    assert terminal.getvalue() == ""


def test_told_to_be_quiet(monkeypatch, clock):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    count_to(5, clock, seconds=10.0, shown=False)
    assert terminal.getvalue() == ""


def test_nobody_looks(capsys, clock):
    count_to(5, clock, seconds=10.0)
    caught = capsys.readouterr()
    assert caught.out == ""
    assert caught.err == ""


def test_nothing_goes_to_stdout(monkeypatch, clock, capsys):
    monkeypatch.setattr(sys, "stderr", Terminal())
    count_to(5, clock, seconds=1.0)
    assert capsys.readouterr().out == ""


def test_an_error_inside_comes_out_and_the_bar_goes(monkeypatch, clock):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)

    def meet_a_wolf():
        with progress_bar("counting sheep", 3) as advance:
            clock.now += 9.0
            advance(1)
            raise RuntimeError("a wolf")

    with pytest.raises(RuntimeError, match="a wolf"):
        meet_a_wolf()
    count_to(2, clock, seconds=5.0)  # a bar that was left running would refuse a second one
