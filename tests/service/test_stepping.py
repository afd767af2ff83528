"""One step: screened, forecast, scored and stored together."""

import numpy as np
import pytest
import sqlalchemy as sa

from service_tools import NAMES, make_service, readings_of, rows_of, run_steps, send, settle
from subcast.screening import Screener
from subcast.service import stepping
from subcast.service.schema import events, forecasts, health, overrides, scores, steps
from subcast.service.screens import unpacked


@pytest.fixture
def screened_plant(wrapper, series, plant):
    Screener.fit(wrapper, series.split(lookback=6, horizon=4)[0]).save(plant)
    return plant


@pytest.fixture
def service(screened_plant):
    service = make_service(screened_plant, clock="feed")
    yield service
    service.close()


def test_a_step_stores_everything_that_belongs_to_it(service, series):
    run_steps(service, series, 1300, 1312)
    assert len(rows_of(service, steps)) == len(rows_of(service, forecasts)) == len(rows_of(service, scores)) == 12
    assert {row.health for row in rows_of(service, health)} == {"good"}
    kept = [row.state is not None for row in rows_of(service, steps)]
    assert kept == [False] * 4 + [True] * 8  # a lookback and one more
    last = rows_of(service, scores)[-1]
    assert last.readings == 4 * 6


def test_an_error_stores_nothing_and_the_step_is_tried_again(service, series, monkeypatch):
    run_steps(service, series, 1300, 1308)
    before = [rows_of(service, table) for table in (steps, forecasts, scores, health)]

    def fail(*arguments):
        raise RuntimeError("broken")

    with monkeypatch.context() as patched:
        patched.setattr(stepping.alerts, "store_health", fail)
        send(service, readings_of(series, 1308, 1309))
        with pytest.raises(RuntimeError):
            service.engine.work()
    service.engine.stepper.forget()
    assert [rows_of(service, table) for table in (steps, forecasts, scores, health)] == before
    settle(service)
    assert len(rows_of(service, forecasts)) == 9


def test_a_step_that_another_process_stored_is_left_alone(service, series):
    run_steps(service, series, 1300, 1308)
    send(service, readings_of(series, 1308, 1309))
    with service.database.read() as connection:
        plan = service.planner.plan(connection)
    assert service.engine.stepper.process(plan, service.versions.present)
    assert not service.engine.stepper.process(plan, service.versions.present)
    assert len(rows_of(service, forecasts)) == 9


def feed_with_faults(service, series, begin, end):
    for step in range(begin, end):
        rows = readings_of(series, step, step + 1)
        if step > begin + 20:
            rows = [row for row in rows if row["sensor"] != "b"]
        if step > begin + 15:
            rows[0]["value"] = 61.0
        if step % 7 == 0:
            rows = rows[:-1]
        send(service, rows)
        settle(service)


def test_a_process_that_was_killed_goes_on_as_if_it_had_not(screened_plant, series, tmp_path):
    one = make_service(screened_plant, database=f"sqlite:///{tmp_path}/one.sqlite3", clock="feed")
    feed_with_faults(one, series, 1300, 1360)
    expected = {table.name: rows_of(one, table) for table in (steps, forecasts, scores, health)}
    one.close()
    url = f"sqlite:///{tmp_path}/two.sqlite3"
    for begin in range(1300, 1360, 1):
        if begin % 6 == 0 or begin == 1300:
            two = make_service(screened_plant, database=url, clock="feed")
        rows = readings_of(series, begin, begin + 1)
        if begin > 1320:
            rows = [row for row in rows if row["sensor"] != "b"]
        if begin > 1315:
            rows[0]["value"] = 61.0
        if begin % 7 == 0:
            rows = rows[:-1]
        send(two, rows)
        settle(two)
        if begin % 6 == 5 or begin == 1359:
            two.engine.stepper.forget()
            two.close()
    two = make_service(screened_plant, database=url, clock="feed")
    found = {table.name: rows_of(two, table) for table in (steps, forecasts, scores, health)}
    two.close()
    for name, columns in {
        "steps": ("time", "reason", "flags", "cutoff"),
        "forecasts": ("time", "mean", "bounds", "used", "flags", "quality", "factor", "facts"),
        "scores": ("time", "shares", "sensors", "ahead"),
        "health": ("sensor", "health", "since", "flag", "reasons", "last_time", "last_value"),
    }.items():
        assert [tuple(getattr(row, column) for column in columns) for row in found[name]] == [
            tuple(getattr(row, column) for column in columns) for row in expected[name]
        ]
    assert unpacked(found["steps"][-1].state) == unpacked(expected["steps"][-1].state)


def test_sensors_that_fall_silent_and_recover_are_events(plant, series):
    service = make_service(plant, clock="feed")
    run_steps(service, series, 1300, 1304)
    run_steps(service, series, 1304, 1312, NAMES[1:])
    found = rows_of(service, events)
    assert [(row.kind, row.sensor) for row in found] == [("dead", int(service.feed.ids[0]))]
    assert "a is dead since" in found[0].text
    run_steps(service, series, 1312, 1314)
    assert [row.kind for row in rows_of(service, events)] == ["dead", "recovered"]
    service.close()


def test_bad_readings_become_holes(service, series):
    run_steps(service, series, 1300, 1310)
    rows = readings_of(series, 1310, 1311)
    rows[2]["value"] = 99999.0
    send(service, rows)
    settle(service)
    last = rows_of(service, forecasts)[-1]
    flags = np.frombuffer(last.flags, dtype=np.int8)
    assert flags.tolist() == [1, 1, 4, 1, 1, 1]
    used = np.unpackbits(np.frombuffer(last.used, np.uint8))[:36].reshape(6, 6)
    assert used[-1].tolist() == [1, 1, 0, 1, 1, 1]


def test_flags_set_by_hand(service, series):
    run_steps(service, series, 1300, 1308)
    with service.database.write() as connection:
        values = {"sensor": int(service.feed.ids[1]), "flag": 4, "reason": "", "set_at": 0}
        connection.execute(overrides.insert().values(**values))
    run_steps(service, series, 1308, 1310)
    assert np.frombuffer(rows_of(service, steps)[-1].flags, np.int8)[1] == 4
    with service.database.write() as connection:
        connection.execute(overrides.delete())
    run_steps(service, series, 1310, 1311)
    assert np.frombuffer(rows_of(service, steps)[-1].flags, np.int8)[1] == 1


def test_readings_that_come_while_a_step_is_computed_are_late(service, series, monkeypatch):
    run_steps(service, series, 1300, 1308, at_once=True)
    send(service, readings_of(series, 1308, 1309, NAMES[:5]))
    send(service, readings_of(series, 1309, 1310, NAMES[:1]))
    make, sent = stepping.make, []

    def make_slowly(*arguments):
        if not sent:
            sent.append(send(service, readings_of(series, 1308, 1309, NAMES[5:])))
        return make(*arguments)

    monkeypatch.setattr(stepping, "make", make_slowly)
    settle(service)
    assert sent[0]["late"] == 0  # the step was not closed when they came
    from subcast.service.schema import receipts, revisions

    assert [row.late for row in rows_of(service, receipts)][-1] == 1
    with service.database.read() as connection:
        times = connection.execute(sa.select(revisions.c.time)).scalars().all()
    assert rows_of(service, steps)[8].time in times


def test_a_spike_is_flagged_when_the_next_step_shows_it(service, series):
    run_steps(service, series, 1300, 1310)
    rules = service.versions.present.screener.rules
    object.__setattr__(rules, "instant", 20 * rules.instant)
    object.__setattr__(rules, "lasting", 20 * rules.lasting)
    service.engine.stepper.forget()
    rows = readings_of(series, 1310, 1311)
    rows[2]["value"] += 2 * float(rules.spike[0, 2] * rules.habits.unit[2])
    send(service, rows)
    settle(service)
    assert np.frombuffer(rows_of(service, steps)[-1].flags, dtype=np.int8)[2] != 4
    run_steps(service, series, 1311, 1312)
    before, last = (np.frombuffer(row.flags, dtype=np.int8) for row in rows_of(service, steps)[-2:])
    assert (before == 4).tolist() == [False, False, True, False, False, False]
    assert not (last == 4).any()
    assert stored_used(service)[-2:, 2].tolist() == [False, True]


def stored_used(service):
    """Which readings the last forecast used, [t, n]."""
    from subcast.service import stored

    return stored.from_row(rows_of(service, forecasts)[-1], NAMES).used
