"""Faults: kill -9 under load, a database that goes away, a full disk, a clock that jumps, two writers.

`make test` runs a short version; `make test-service-long` sets SUBCAST_KILLS=50 and takes the database away for a
minute.
"""

import os
import random
import signal
import sqlite3
import subprocess
import threading
import time
from contextlib import closing

import httpx
import pytest
import sqlalchemy as sa

from service_process import Running, Sender, make_plant
from service_tools import MINUTE, NAMES, readings_of, rows_of, run_steps, send, settle
from subcast.service.clock import SteadyClock
from subcast.service.options import Options
from subcast.service.problems import ProblemError
from subcast.service.runtime import Service
from subcast.service.schema import events, forecasts, readings, scores, steps
from subcast.service.screens import unpacked

KILLS = int(os.environ.get("SUBCAST_KILLS", "1"))
LONG = KILLS > 10
STOPPED = (0, -signal.SIGTERM)  # uvicorn ends itself by the signal it got, after everything was closed
COMPARED = ("time", "reason", "quality", "expected_gap", "factor", "facts", "used", "flags", "mean", "bounds")


@pytest.fixture(scope="module")
def plant(tmp_path_factory):
    return tmp_path_factory.mktemp("faults") / "plant"


@pytest.fixture(scope="module")
def long_series(plant):
    return make_plant(plant)


def wait_until(condition, seconds=60):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.05)


def forecast_count(url):
    try:
        return httpx.get(f"{url}/v1/status", timeout=5).json()["forecasts"]
    except (httpx.HTTPError, KeyError):
        return -1


def test_killed_at_random_moments_it_loses_nothing_and_is_as_if_it_never_died(plant, long_series, tmp_path):
    rng = random.Random(KILLS)
    database = tmp_path / "killed.sqlite3"
    running = Running(plant, "--database", f"sqlite:///{database}").start()
    sender = Sender(running.url, long_series)
    sender.start()
    try:
        for _ in range(KILLS):
            time.sleep(rng.uniform(0.05, 1.0))
            running.kill()
            running.start()
        wait_until(lambda: sender.sent >= 20, 120)
        sender.finish()
        wait_until(lambda: forecast_count(running.url) == sender.sent, 120)
    finally:
        running.stop()
    check_against_one_that_never_died(plant, long_series, database, sender, tmp_path)


def check_against_one_that_never_died(plant, series, database, sender, tmp_path):
    killed = Service(Options(plant, f"sqlite:///{database}", clock="feed"))
    other = Service(Options(plant, f"sqlite:///{tmp_path}/never.sqlite3", clock="feed"))
    run_steps(other, series, sender.first, sender.first + sender.sent)
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    names = dict(zip(killed.feed.ids.tolist(), NAMES, strict=True))
    stored = {(names[row.sensor], killed.grid.text(row.time)): row.value for row in rows_of(killed, readings)}
    assert stored == sender.acknowledged
    assert len(rows_of(killed, steps)) == len(rows_of(killed, scores)) == sender.sent
    for table, columns in ((forecasts, COMPARED), (scores, ("time", "shares", "sensors", "ahead"))):
        mine, theirs = rows_of(killed, table), rows_of(other, table)
        assert [[getattr(row, name) for name in columns] for row in mine] == [
            [getattr(row, name) for name in columns] for row in theirs
        ]
    assert unpacked(rows_of(killed, steps)[-1].state) == unpacked(rows_of(other, steps)[-1].state)
    killed.close()
    other.close()


def test_a_database_that_goes_away_is_a_503_while_stateless_forecasts_go_on(plant, long_series, tmp_path):
    seconds = 60 if LONG else 1.5
    database = tmp_path / "away.sqlite3"
    running = Running(plant, "--database", f"sqlite:///{database}").start()
    sender = Sender(running.url, long_series, pause=0.01)
    sender.start()
    names = [f"away.sqlite3{suffix}" for suffix in ("", "-wal", "-shm")]
    body = {"readings": readings_of(long_series, 1400, 1406, ["a", "b"])}
    try:
        wait_until(lambda: sender.sent > 5)
        (tmp_path / "elsewhere").mkdir()
        for name in names:
            (tmp_path / name).rename(tmp_path / "elsewhere" / name)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            assert httpx.post(f"{running.url}/v1/forecast", json=body, timeout=10).status_code == 200
            assert httpx.get(f"{running.url}/healthz", timeout=10).status_code == 200
            ready = httpx.get(f"{running.url}/readyz", timeout=10)
            assert (ready.status_code, "retry-after" in ready.headers) == (503, True)
            time.sleep(0.2)
        for name in names:
            (tmp_path / "elsewhere" / name).rename(tmp_path / name)
        before = sender.sent
        wait_until(lambda: sender.sent > before + 5)
        sender.finish()
        assert sender.statuses[503] > 0
        wait_until(lambda: forecast_count(running.url) == sender.sent)
    finally:
        assert running.stop() in STOPPED
    check_against_one_that_never_died(plant, long_series, database, sender, tmp_path)


def test_a_full_disk_stores_nothing_and_says_so(plant, long_series, tmp_path):
    service = Service(Options(plant, f"sqlite:///{tmp_path}/full.sqlite3", clock="feed"))
    run_steps(service, long_series, 1300, 1308)
    before = len(rows_of(service, readings))
    with service.database.writer.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
    limit = {"pages": pages}

    @sa.event.listens_for(service.database.writer, "begin")
    def restrict(connection):
        connection.exec_driver_sql(f"PRAGMA max_page_count={limit['pages']}")

    def fill():
        for begin in range(1308, 2000, 100):
            send(service, readings_of(long_series, begin, begin + 100))

    with pytest.raises(ProblemError, match="disk of the database is full") as caught:
        fill()
    assert caught.value.status == 503
    stored = len(rows_of(service, readings))
    assert (stored - before) % 600 == 0  # whole requests or nothing
    limit["pages"] = 10**9
    assert send(service, readings_of(long_series, 2000, 2001))["stored"] == 6
    service.close()


@pytest.mark.skipif(not LONG, reason="mounts a file system: make test-service-long")
def test_a_disk_that_is_really_full(plant, long_series, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1500k", "tmpfs", str(small)], check=False)
    if mounted.returncode:
        pytest.skip("this user may not mount a file system")
    running = Running(plant, "--database", f"sqlite:///{small}/feed.sqlite3").start()
    try:
        acknowledged, statuses = 0, []
        for begin in range(1300, 5000, 50):
            rows = readings_of(long_series, begin, begin + 50)
            answer = httpx.post(f"{running.url}/v1/readings", json={"readings": rows}, timeout=30)
            statuses.append(answer.status_code)
            if answer.status_code != 200:
                break
            acknowledged += answer.json()["stored"]
        assert statuses[-1] == 503
        assert "full" in answer.json()["detail"]
        assert httpx.post(f"{running.url}/v1/forecast", json={"readings": rows[:30]}, timeout=30).status_code == 200
        subprocess.run(["mount", "-o", "remount,size=64m", str(small)], check=True)
        again = httpx.post(f"{running.url}/v1/readings", json={"readings": rows}, timeout=30)
        assert again.status_code == 200
        acknowledged += again.json()["stored"]
        running.stop()
        with closing(sqlite3.connect(small / "feed.sqlite3")) as connection:
            assert connection.execute("SELECT count(*) FROM readings").fetchone()[0] == acknowledged
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    finally:
        running.stop()
        subprocess.run(["umount", str(small)], check=True)


class FakeClocks:
    def __init__(self, begin):
        self.counted, self.set = begin, 0

    def wall(self):
        return self.counted + self.set

    def counter(self):
        return self.counted


def live_service(plant, tmp_path, begin):
    service = Service(Options(plant, f"sqlite:///{tmp_path}/live.sqlite3", clock="wall", deadline=120.0))
    clocks = FakeClocks(begin)
    service.clock = service.planner.clock = SteadyClock(5 * MINUTE, 60, clocks.wall, clocks.counter)
    return service, clocks


def live_rows(service, series, number, at):
    text = service.grid.text(at)
    return [{**row, "time": text} for row in readings_of(series, 1400 + number, 1401 + number)]


@pytest.mark.parametrize("jump", [3600, -3600, 86400])
def test_a_clock_that_jumps_for_a_while_closes_no_step(plant, long_series, tmp_path, jump):
    begin = 1_795_000_200 * 10**9 // (10 * MINUTE) * 10 * MINUTE
    service, clocks = live_service(plant, tmp_path, begin)
    for number in range(12):
        at = begin + number * 10 * MINUTE
        clocks.counted = at + MINUTE
        if number == 8:
            clocks.set = jump * 10**9
            settle(service)
            clocks.counted += MINUTE // 2
            settle(service)
            clocks.set = 0
        send(service, live_rows(service, long_series, number, at))
        settle(service)
    times = [row.time for row in rows_of(service, steps)]
    assert times == [begin + number * 10 * MINUTE for number in range(12)]
    assert {row.reason for row in rows_of(service, steps)} == {"complete"}
    assert [row.kind for row in rows_of(service, events)] == ["clock"]
    service.close()


def test_when_nothing_arrives_every_step_has_a_forecast(plant, long_series, tmp_path):
    begin = 1_795_000_200 * 10**9 // (10 * MINUTE) * 10 * MINUTE
    service, clocks = live_service(plant, tmp_path, begin)
    for number in range(16):
        at = begin + number * 10 * MINUTE
        clocks.counted = at + MINUTE
        if number < 6:
            send(service, live_rows(service, long_series, number, at))
        settle(service)
        clocks.counted = at + 3 * MINUTE
        settle(service)
    found = rows_of(service, forecasts)
    assert len(found) == 16
    assert [row.reason for row in found] == ["complete"] * 6 + ["nothing arrived"] * 10
    assert found[-1].quality == "poor"
    assert found[-1].observed_share == 0
    service.close()


def test_another_writer_delays_and_only_a_lasting_one_is_a_503(plant, long_series, tmp_path, monkeypatch):
    monkeypatch.setattr("subcast.service.database._BUSY_SECONDS", 1)
    service = Service(Options(plant, f"sqlite:///{tmp_path}/two.sqlite3", clock="feed"))
    run_steps(service, long_series, 1300, 1303)

    def hold(seconds, begun):
        with closing(sqlite3.connect(tmp_path / "two.sqlite3")) as other:
            other.execute("BEGIN IMMEDIATE")
            begun.set()
            time.sleep(seconds)
            other.rollback()

    for seconds, succeeds in ((0.3, True), (2.0, False)):
        begun = threading.Event()
        thread = threading.Thread(target=hold, args=(seconds, begun))
        thread.start()
        assert begun.wait(5)
        rows = readings_of(long_series, 1303, 1304) if succeeds else readings_of(long_series, 1304, 1305)
        if succeeds:
            assert send(service, rows)["stored"] == 6
        else:
            with pytest.raises(ProblemError, match="another program"):
                send(service, rows)
        thread.join()
    assert send(service, readings_of(long_series, 1304, 1305))["stored"] == 6
    settle(service)
    assert len(rows_of(service, forecasts)) == 5
    service.close()


def test_a_stop_finishes_what_was_begun(plant, long_series, tmp_path):
    database = tmp_path / "stopped.sqlite3"
    running = Running(plant, "--database", f"sqlite:///{database}").start()
    sender = Sender(running.url, long_series)
    sender.start()
    wait_until(lambda: sender.sent > 3)
    assert running.stop() in STOPPED
    sender.halt.set()
    with closing(sqlite3.connect(database)) as connection:
        stored = {
            tuple(row) for row in connection.execute("SELECT name, time FROM readings JOIN sensors ON id = sensor")
        }
    assert len(stored) >= len(sender.acknowledged)
