"""The service on PostgreSQL, alone and with four workers (make test-postgres)."""

import os
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from service_process import Running, Sender
from service_tools import NAMES, readings_of, rows_of, run_steps, send, settle
from subcast.service.database import Database
from subcast.service.options import Options
from subcast.service.problems import ProblemError
from subcast.service.runtime import Service
from subcast.service.schema import forecasts, metadata, readings, receipts, revisions, scores, steps, superseded

COMPARED = ("time", "reason", "quality", "expected_gap", "factor", "facts", "used", "flags", "mean", "bounds")


def open_service(plant, url, **options):
    return Service(Options(plant, url, clock="feed", **options))


def wait_until(condition, seconds=90):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.1)


def status(url):
    try:
        return httpx.get(f"{url}/v1/status", timeout=5).json()
    except (httpx.HTTPError, ValueError):
        return {}


def test_the_migrated_database_is_the_schema(cluster):
    database = Database(cluster.new_database())
    database.open()
    with database.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    database.close()


def test_it_is_the_same_service_as_on_sqlite(cluster, plant, series, tmp_path):
    one = open_service(plant, cluster.new_database())
    two = open_service(plant, f"sqlite:///{tmp_path}/feed.sqlite3")
    for service in (one, two):
        run_steps(service, series, 1300, 1312)
        run_steps(service, series, 1312, 1318, NAMES[:4])
        send(service, readings_of(series, 1314, 1316, ["e"]))
        send(service, [{**row, "value": 70.0} for row in readings_of(series, 1316, 1317, ["a"])])
        settle(service)
        run_steps(service, series, 1318, 1322)
    for table, columns in (
        (forecasts, COMPARED),
        (readings, ("time", "sensor", "value", "receipt")),
        (superseded, ("time", "sensor", "value", "receipt", "replaced_by")),
        (revisions, ("time", "receipt", "facts")),
        (scores, ("time", "shares")),
    ):
        found = [[[getattr(row, name) for name in columns] for row in rows_of(each, table)] for each in (one, two)]
        assert sorted(map(str, found[0])) == sorted(map(str, found[1])), table.name
    assert rows_of(one, revisions)
    one.close()
    two.close()


def test_two_writers_take_turns(cluster, plant, series):
    url = cluster.new_database()
    services = [open_service(plant, url) for _ in range(2)]
    rows = readings_of(series, 1300, 1340)

    def write(number):
        service = services[number % 2]
        return send(service, [{**row, "value": row["value"] + number} for row in rows])

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(write, range(16)))
    assert sorted(answer["receipt"] for answer in answers) == sorted({answer["receipt"] for answer in answers})
    assert sum(answer["superseded"] for answer in answers) == 15 * len(rows)
    last = max(answers, key=lambda answer: answer["receipt"])
    number = answers.index(last)
    with services[0].database.read() as connection:
        window = services[0].feed.window(connection, services[0].grid.window(services[0].newest(), 40))
        for answer in answers:
            known = services[0].feed.window(
                connection, services[0].grid.window(services[0].newest(), 40), answer["receipt"]
            )
            np.testing.assert_allclose(known - answers.index(answer), window - number)
    for service in services:
        service.close()


def test_of_two_services_one_makes_forecasts_and_the_other_takes_over(cluster, plant, series):
    url = cluster.new_database()
    one, two = (open_service(plant, url) for _ in range(2))
    assert one.database.lead()
    assert not two.database.lead()
    send(two, readings_of(series, 1300, 1308))
    two.engine.work()
    assert rows_of(one, forecasts) == []
    settle(one)
    assert len(rows_of(two, forecasts)) == 8
    one.close()
    wait_until(two.database.lead)
    run_steps(two, series, 1308, 1310)
    assert len(rows_of(two, forecasts)) == 10
    two.close()


def test_a_server_that_is_away_is_a_503(cluster, plant, series):
    service = open_service(plant, cluster.new_database())
    run_steps(service, series, 1300, 1304)
    cluster.stop()
    with pytest.raises(ProblemError, match="cannot be reached") as caught:
        send(service, readings_of(series, 1304, 1305))
    assert caught.value.status == 503
    assert not service.database.lead()
    cluster.start()
    wait_until(service.database.lead)
    run_steps(service, series, 1304, 1306)
    assert len(rows_of(service, forecasts)) == 6
    service.close()


def children_of(process):
    found = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=False)
    return [int(number) for number in found.stdout.split()]


def test_four_workers_make_each_forecast_once(cluster, plant, series, tmp_path):
    url = cluster.new_database()
    running = Running(plant, "--database", url, "--workers", "4")
    running.start()
    sender = Sender(running.url, series)
    try:
        sender.start()
        wait_until(lambda: sender.sent > 30)
        workers = worker_processes(running)
        assert len(workers) == 4
        os.kill(workers[0], signal.SIGKILL)  # one of four, perhaps the one that makes forecasts
        os.kill(workers[1], signal.SIGKILL)
        reading = threading.Thread(target=read_for_a_while, args=(running.url,))
        reading.start()
        before = sender.sent
        wait_until(lambda: sender.sent > before + 30)
        sender.finish()
        reading.join()
        wait_until(lambda: status(running.url).get("forecasts") == sender.sent)
        totals = {sum_of(httpx.get(f"{running.url}/metrics", timeout=10).text) for _ in range(8)}
    finally:
        running.stop()
    assert len(totals) == 1  # whichever worker answers
    check_like_one_worker(plant, series, url, sender, tmp_path)


def worker_processes(running):
    """Return the processes that serve: those that were started for a worker, not helpers of Python."""
    found = []
    for number in children_of(running.process):
        with open(f"/proc/{number}/cmdline", "rb") as file:
            if b"resource_tracker" not in file.read():
                found.append(number)
    return found


def read_for_a_while(url):
    with httpx.Client(timeout=20) as client:
        for _ in range(100):
            try:
                assert client.get(f"{url}/v1/forecasts/latest").status_code == 200
            except httpx.HTTPError:
                time.sleep(0.05)


def sum_of(text):
    lines = [line for line in text.splitlines() if line.startswith('subcast_readings_total{outcome="stored"}')]
    return sum(float(line.split()[-1]) for line in lines)


def check_like_one_worker(plant, series, url, sender, tmp_path):
    """Compare what four workers stored with what one process stores from the same readings."""
    four = open_service(plant, url)
    one = open_service(plant, f"sqlite:///{tmp_path}/one.sqlite3")
    run_steps(one, series, sender.first, sender.first + sender.sent)
    names = dict(zip(four.feed.ids.tolist(), NAMES, strict=True))
    stored = {(names[row.sensor], four.grid.text(row.time)): row.value for row in rows_of(four, readings)}
    assert stored == sender.acknowledged
    found = [
        [[getattr(row, name) for name in COMPARED] for row in rows_of(service, forecasts)] for service in (four, one)
    ]
    assert found[0] == found[1]
    assert len(rows_of(four, steps)) == sender.sent
    with four.database.read() as connection:
        keys = connection.execute(sa.select(sa.func.count(sa.distinct(receipts.c.key)))).scalar()
    assert keys == sender.sent * sender.parts
    four.close()
    one.close()


def test_four_workers_go_on_while_the_server_is_away(cluster, plant, series, tmp_path):
    url = cluster.new_database()
    running = Running(plant, "--database", url, "--workers", "4")
    running.start()
    sender = Sender(running.url, series)
    seconds = float(os.environ.get("SUBCAST_AWAY", "5"))
    body = {"readings": readings_of(series, 1400, 1406, ["a", "b"])}
    try:
        sender.start()
        wait_until(lambda: sender.sent > 10)
        cluster.stop()
        until = time.monotonic() + seconds
        try:
            while time.monotonic() < until:
                assert httpx.post(f"{running.url}/v1/forecast", json=body, timeout=20).status_code == 200
                time.sleep(0.2)
        finally:
            cluster.start()
        before = sender.sent
        wait_until(lambda: sender.sent > before + 10)
        sender.finish()
        assert sender.statuses[503] > 0
        wait_until(lambda: status(running.url).get("forecasts") == sender.sent)
    finally:
        running.stop()
    check_like_one_worker(plant, series, url, sender, tmp_path)
