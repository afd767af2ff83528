"""Storing readings, and what was known when."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcast.service.database import Database
from subcast.service.feed import Feed, IdempotencyKey
from subcast.service.grid import Grid
from subcast.service.intake import Batch
from subcast.service.problems import ProblemError
from subcast.service.schema import steps
from subcast.tables.steps import Steps

GRID = Grid(Steps("10min", zone="UTC", start=0))
STEP = GRID.length


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    database = Database(f"sqlite:///{tmp_path_factory.mktemp('feed')}/feed.sqlite3")
    database.open()
    yield database
    database.close()


@pytest.fixture
def feed(database):
    with database.write() as connection:
        for table in ("readings", "superseded", "receipts", "steps", "sensors", "facts"):
            connection.exec_driver_sql(f"DELETE FROM {table}")
    return Feed(database, GRID, ("a", "b", "c"), lookback=3, late_steps=4)


def batch(*rows):
    sensors, times, values = zip(*sorted(rows, key=lambda row: (row[1], row[0])), strict=True)
    return Batch(np.array(sensors), np.array(times) * STEP, np.array(values, dtype=float), len(rows))


def send(feed, *rows, key=None):
    with feed.database.write() as connection:
        return feed.store(connection, batch(*rows), 0, key)


def close_step(feed, time):
    with feed.database.write() as connection:
        row = {"time": time * STEP, "closed_at": 0, "cutoff": 0, "screened": 0, "reason": "complete", "flags": b""}
        connection.execute(steps.insert().values(**row))


def window(feed, first, last, receipt=None):
    with feed.database.read() as connection:
        return feed.window(connection, np.arange(first, last + 1) * STEP, receipt)


def test_new_unchanged_and_superseded_values(feed):
    assert send(feed, (0, 1, 5.0), (1, 1, 6.0))["stored"] == 2
    answer = send(feed, (0, 1, 5.0), (1, 1, 7.0), (2, 2, 8.0))
    assert (answer["stored"], answer["unchanged"], answer["superseded"]) == (2, 1, 1)
    np.testing.assert_equal(window(feed, 1, 2), [[5, 7, np.nan], [np.nan, np.nan, 8]])


def test_late_readings_are_stored_and_later_ones_counted(feed):
    close_step(feed, 10)
    answer = send(feed, (0, 11, 1.0), (0, 10, 2.0), (0, 6, 3.0), (0, 5, 4.0))
    assert (answer["stored"], answer["late"], answer["too_late"]) == (3, 2, 1)
    assert "horizon for late readings" in answer["warnings"][0]
    assert np.isnan(window(feed, 5, 5)[0, 0])


def test_the_same_key_does_nothing_twice(feed):
    first = send(feed, (0, 1, 5.0), key=IdempotencyKey("k", "content"))
    send(feed, (0, 1, 6.0))
    again = send(feed, (0, 1, 5.0), key=IdempotencyKey("k", "content"))
    assert again == {**first, "replayed": True}
    assert window(feed, 1, 1)[0, 0] == 6
    with pytest.raises(ProblemError, match="other content"):
        send(feed, (0, 1, 5.0), key=IdempotencyKey("k", "other"))


def test_a_database_of_another_rate_is_refused(feed):
    with pytest.raises(ProblemError, match="filled with freq 10min"):
        Feed(feed.database, Grid(Steps("5min", zone="UTC", start=0)), ("a",), 3, 4)


def test_sensors_keep_their_numbers(feed):
    other = Feed(feed.database, GRID, ("c", "d", "a"), 3, 4)
    assert other.ids.tolist() == [feed.ids[2], max(feed.ids) + 1, feed.ids[0]]


ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=5)


@given(st.lists(ROWS, min_size=1, max_size=6))
def test_what_was_known_at_any_receipt(database, requests):
    with database.write() as connection:
        for table in ("readings", "superseded", "receipts", "steps", "sensors", "facts"):
            connection.exec_driver_sql(f"DELETE FROM {table}")
    feed = Feed(database, GRID, ("a", "b", "c"), lookback=3, late_steps=4)
    known, states = {}, []
    for rows in requests:
        distinct = {(sensor, time): float(value) for sensor, time, value in rows}
        receipt = send(feed, *[(sensor, time, value) for (sensor, time), value in distinct.items()])["receipt"]
        known |= distinct
        states.append((receipt, dict(known)))
    for receipt, state in states:  # the slow twin: a dict that is copied after each request
        expected = [[state.get((sensor, time), np.nan) for sensor in range(3)] for time in range(4)]
        np.testing.assert_equal(window(feed, 0, 3, receipt), expected)
