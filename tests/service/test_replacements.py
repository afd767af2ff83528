"""A device that took the place of a sensor: its name, and the readings of the old one as holes."""

from contextlib import suppress

import numpy as np
import pytest
import sqlalchemy as sa

from service_tools import make_service, readings_of, rows_of, run_steps, send, settle
from subcast.screening import Screener
from subcast.service import replacements, stored
from subcast.service.problems import ProblemError
from subcast.service.replacements import begun, begun_at, mark_begun, of_old_devices
from subcast.service.schema import replacements as table
from subcast.service.schema import steps
from subcast.service.screens import unpacked


@pytest.fixture
def service(plant):
    service = make_service(plant, clock="feed")
    yield service
    service.close()


def replace_sensor(service, name, new, step):
    number = int(service.feed.ids[service.feed.variables.index(name)])
    with service.database.write() as connection:
        row = {"sensor": number, "name": new, "time": step, "reason": "", "set_at": 0}
        connection.execute(table.insert().values(**row))
    service.replaced.forget()


def time_of(service, series, step):
    return int(series.times[step].astype("datetime64[ns]").astype(np.int64))


def renamed(rows, old, new):
    return [{**row, "sensor": new if row["sensor"] == old else row["sensor"]} for row in rows]


def test_readings_before_are_holes_in_windows_that_end_later_and_only_there(service, series):
    at = time_of(service, series, 1310)
    replace_sensor(service, "b", "b2", at)
    with service.database.read() as connection:
        later = of_old_devices(connection, service.feed, service.grid.window(time_of(service, series, 1312), 6))
        earlier = of_old_devices(connection, service.feed, service.grid.window(time_of(service, series, 1309), 6))
        long_ago = of_old_devices(connection, service.feed, service.grid.window(time_of(service, series, 1320), 6))
    assert later[:, 1].tolist() == [True] * 3 + [False] * 3
    assert later.sum() == 3
    assert not earlier.any()
    assert not long_ago.any()


def test_the_new_name_takes_the_place_and_the_old_one_is_refused_from_then_on(service, series):
    run_steps(service, series, 1300, 1306)
    replace_sensor(service, "b", "b2", time_of(service, series, 1306))
    send(service, renamed(readings_of(series, 1306, 1307), "b", "b2"))
    settle(service)
    with service.database.read() as connection:
        window = service.feed.window(connection, service.grid.window(time_of(service, series, 1306), 2))
    assert np.isfinite(window[:, 1]).all()
    with pytest.raises(ProblemError, match="'b' was replaced by 'b2' at 2026-03-11T01:40:00"):
        send(service, readings_of(series, 1307, 1308))
    assert send(service, readings_of(series, 1305, 1306))["unchanged"] == 6  # what the old one sent late is taken


def test_replaced_twice_and_back_under_the_first_name(service, series):
    for step, (name, new) in {1301: ("b", "b2"), 1302: ("b", "b3"), 1303: ("b", "b")}.items():
        replace_sensor(service, name, new, time_of(service, series, step))
        service.replaced.look()
    assert service.replaced.columns == {"b": 1}
    assert set(service.replaced.retired) == {"b2", "b3"}
    assert service.replaced.device(1) == "b"
    assert service.replaced.device(0) is None


def test_names_are_read_again_after_a_while(service, series, monkeypatch):
    service.replaced.look()
    number = int(service.feed.ids[0])
    with service.database.write() as connection:  # as another process would
        row = {"sensor": number, "name": "a2", "time": 0, "reason": "", "set_at": 0}
        connection.execute(table.insert().values(**row))
    service.replaced.look()
    assert service.replaced.columns == {}
    monkeypatch.setattr(replacements, "_FRESH", 0.0)
    service.replaced.look()
    assert service.replaced.columns == {"a2": 0}


@pytest.mark.parametrize("screened", [True, False])
def test_the_screening_begins_anew_once_with_the_step(plant, wrapper, series, screened):
    if screened:
        Screener.fit(wrapper, series.split(lookback=6, horizon=4)[0]).save(plant)
    service = make_service(plant, clock="feed")
    run_steps(service, series, 1300, 1312)
    at = time_of(service, series, 1312)
    replace_sensor(service, "b", "b2", at)
    send(service, renamed(readings_of(series, 1312, 1313), "b", "b2"))
    settle(service)
    assert [row.applied for row in rows_of(service, table)] == [at]
    with service.database.read() as connection:
        used = stored.latest(connection, {}).used  # of the new device only the one reading
        assert begun(connection, service.feed, at + 1) == []
        assert begun_at(connection, service.feed, at) == ["b"]
    assert used[:, 1].tolist() == [False] * 5 + [True]
    assert used[:, 0].all()
    state = unpacked(rows_of(service, steps)[-1].state)
    assert state["holes"]
    service.close()


def test_a_step_that_is_not_stored_does_not_count(service, series):
    replace_sensor(service, "b", "b2", 5)
    with service.database.read() as connection:
        assert begun(connection, service.feed, 4) == []
        assert begun(connection, service.feed, 5) == ["b"]
    with suppress(RuntimeError), service.database.write() as connection:
        mark_begun(connection, 9)
        raise RuntimeError
    with service.database.read() as connection:
        assert connection.execute(sa.select(table.c.applied)).scalar() is None
