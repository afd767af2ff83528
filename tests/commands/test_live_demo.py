"""`subcast demo --live`: a service with a replayed feed."""

import http.client
import socket
import threading

import pytest
from rich.console import Console

from subcast.commands import live_demo
from subcast.commands.live_demo import STORY, LiveSize, prepare, run_live_demo, running, story_of
from subcast.errors import InputError
from subcast.screening import Screener

SMALL = LiveSize(n_plants=5, n_steps=1200, epochs=1, seconds=0.0, days=0.5)


def interrupt_when_idle(sleep):
    """Sleep as usual, but take the pause of a whole second after the last reading for Ctrl-C."""

    def pause(seconds):
        if seconds == 1:
            raise KeyboardInterrupt
        sleep(seconds)

    return pause


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("live") / "plant"
    robust, later = prepare(folder, 0, SMALL, Console(quiet=True), progress=False)
    return folder, robust, later


def test_the_feed_begins_at_midnight_after_the_training(prepared):
    folder, robust, later = prepared
    assert str(later.times[0])[11:16] == "00:00"
    assert len(later) == 72
    assert later.times[0] > robust.metadata_.times[-1]
    assert Screener.load(folder).variables == robust.variables


def test_the_story_has_every_kind_of_fault(prepared):
    faults = story_of(prepared[2])
    assert {fault.kind for fault in faults} == {"kill", "stick", "offset", "drift"}
    assert [(fault.step, fault.until) for fault in faults[:3]] == [(51, None), (57, None), (63, 87)]
    assert any(fault.until is not None for fault in faults)
    assert len(STORY) == len({place for _, place, *_ in STORY})


def test_the_service_answers_and_stops(prepared):
    threads = threading.active_count()
    with running(prepared[0], 0) as url:
        connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=30)
        connection.request("GET", "/")
        assert connection.getresponse().status == 200
        connection.close()
    assert "service" not in {thread.name for thread in threading.enumerate()}
    assert threading.active_count() <= threads + 1


def test_the_whole_demo_ends_with_an_interrupt(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(live_demo.time, "sleep", interrupt_when_idle(live_demo.time.sleep))
    run_live_demo(tmp_path / "demo", port=0, size=SMALL, progress=False)
    output = capsys.readouterr().out
    assert "open http://127.0.0.1:" in output
    assert "falls silent" in output
    assert "72 steps and " in output
    assert "stopping the service" in output
    assert {path.name.partition(".")[0].partition("-")[0] for path in (tmp_path / "demo").iterdir()} == {"plant"}


def test_a_port_in_use_and_an_old_feed(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InputError, match="cannot be used: give another one with --port"):
            run_live_demo(tmp_path, port=taken.getsockname()[1], size=SMALL)
    (tmp_path / "plant.sqlite3").touch()
    with pytest.raises(InputError, match="holds the feed of an earlier demo"):
        run_live_demo(tmp_path, port=0, size=SMALL)
