"""When a step is closed."""

import time

import numpy as np
import pytest

from service_tools import MINUTE, NAMES, make_service, readings_of, run_steps, send
from subcast.service.planning import COMPLETE, DEADLINE, NOTHING, in_maintenance
from subcast.service.schema import maintenance


@pytest.fixture
def service(plant):
    service = make_service(plant, clock="feed")
    yield service
    service.close()


def plan(service):
    with service.database.read() as connection:
        return service.planner.plan(connection)


def test_without_readings_there_is_no_step(service):
    assert plan(service).time is None


def test_a_step_is_complete_when_everyone_reported(service, series):
    send(service, readings_of(series, 1300, 1301, NAMES[:5]))
    waits = plan(service)
    assert waits.reason == ""
    assert waits.waiting.tolist() == [False] * 5 + [True]
    send(service, readings_of(series, 1300, 1301, NAMES[5:]))
    assert plan(service).reason == COMPLETE


def test_in_a_replay_the_next_step_is_the_deadline(service, series):
    send(service, readings_of(series, 1300, 1301, NAMES[:5]))
    send(service, readings_of(series, 1302, 1303, NAMES[:1]))
    assert plan(service).reason == DEADLINE
    run_steps(service, series, 1303, 1304)
    send(service, readings_of(series, 1305, 1306))
    assert plan(service).reason == NOTHING


def test_nobody_waits_for_the_silent_and_for_those_in_maintenance(service, series):
    run_steps(service, series, 1300, 1303)
    run_steps(service, series, 1303, 1307, NAMES[:5])
    send(service, readings_of(series, 1307, 1308, NAMES[:4]))
    at = plan(service)
    assert at.waiting.tolist() == [False] * 4 + [True, False]
    with service.database.write() as connection:
        values = {"sensor": int(service.feed.ids[4]), "start": at.time, "end": at.time, "reason": ""}
        connection.execute(maintenance.insert().values(**values))
        mask = in_maintenance(connection, service.feed, np.array([at.time - 1, at.time]))
    assert mask.tolist() == [[False] * 6, [False] * 4 + [True, False]]
    assert plan(service).reason == COMPLETE


def test_a_long_pause_is_left_out(plant, series):
    service = make_service(plant, clock="feed", catch_up=5)
    run_steps(service, series, 1300, 1302)
    send(service, readings_of(series, 1330, 1331))
    found = plan(service)
    assert found.skipped == 23
    assert service.grid.count(found.time, service.newest()) == 5
    service.close()


def test_by_the_wall_clock_the_deadline_decides(plant, series):
    service = make_service(plant, clock="wall", deadline=120.0)
    now = service.grid.step_at(time.time_ns())
    service.clock.now = lambda: now + MINUTE
    service.planner.last_arrival = 0
    text = service.grid.text(now)
    send(service, [{"sensor": "a", "time": text, "value": 60.0}])
    assert plan(service).reason == ""
    assert 0 < plan(service).wait <= MINUTE
    service.clock.now = lambda: now + 2 * MINUTE + 10**9
    assert plan(service).reason == DEADLINE
    service.planner.last_arrival = service.clock.now()
    assert plan(service).reason == ""  # readings are just coming in
    service.clock.now = lambda: now + 3 * MINUTE
    service.planner.last_arrival = service.clock.now()
    assert plan(service).reason == DEADLINE
    service.close()


def test_by_the_wall_clock_there_is_a_step_even_if_nothing_ever_came(plant):
    service = make_service(plant, clock="wall", deadline=1.0)
    now = service.grid.step_at(time.time_ns()) + MINUTE
    service.clock.now = lambda: now
    assert plan(service).reason == NOTHING
    service.close()
