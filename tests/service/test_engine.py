"""The thread that makes forecasts."""

import time

import pytest

from service_tools import fit_wrapper, make_series, make_service, readings_of, rows_of, run_steps, send, settle
from subcast.service.problems import ProblemError
from subcast.service.schema import events, forecasts


def wait_for(condition, seconds=10.0):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.01)


def test_it_makes_a_forecast_as_soon_as_a_step_is_complete(plant, series):
    service = make_service(plant, clock="feed")
    service.start()
    send(service, readings_of(series, 1300, 1307))
    wait_for(lambda: len(rows_of(service, forecasts)) == 7)
    assert service.engine.alive
    service.close()
    assert not service.engine.alive


def test_a_failure_is_told_and_tried_again(plant, series, monkeypatch):
    service = make_service(plant, clock="feed")
    plan, failures = service.engine._plan, []

    def fail_once():
        if not failures:
            failures.append(1)
            raise ProblemError("unavailable", "the database is away")
        return plan()

    monkeypatch.setattr(service.engine, "_plan", fail_once)
    service.start()
    wait_for(lambda: service.engine.last_failure == "the database is away")
    send(service, readings_of(series, 1300, 1301))
    wait_for(lambda: len(rows_of(service, forecasts)) == 1)
    assert service.engine.last_failure == ""
    service.close()


def test_a_new_version_of_the_wrapper_is_used_between_steps(plant, series):
    service = make_service(plant, clock="feed")
    run_steps(service, series, 1300, 1308)
    fit_wrapper(make_series(seed=5)).save(plant)
    run_steps(service, series, 1308, 1310)
    versions = [row.version for row in rows_of(service, forecasts)]
    assert len(set(versions[:8])) == 1
    assert len(set(versions[8:])) == 1
    assert versions[0] != versions[-1]
    assert rows_of(service, events)[-1].kind == "wrapper"
    service.close()


def test_a_wrapper_of_another_rate_is_not_used(plant, series, caplog):
    service = make_service(plant, clock="feed")
    fit_wrapper(make_series(minutes=5)).save(plant)
    run_steps(service, series, 1300, 1303)
    assert "another database" in caplog.text
    service.close()


def test_sensors_may_change_with_a_version(plant, series):
    import subcast as sc

    service = make_service(plant, clock="feed")
    run_steps(service, series, 1300, 1308)
    renamed = sc.Series(series.values, ("a", "b", "c", "d", "e", "new"), series.times, unit="km/h")
    fit_wrapper(renamed).save(plant)
    settle(service)
    run_steps(service, renamed, 1308, 1310, renamed.variables)
    last = rows_of(service, forecasts)[-1]
    assert service.feed.variables[-1] == "new"
    from subcast.service import stored

    used = stored.from_row(last, renamed.variables).used
    assert used[:, :5].all()
    assert used[:, 5].tolist() == [False] * 4 + [True] * 2  # the readings of the old sensor are holes
    service.close()


def test_a_jump_of_the_clock_is_an_event(plant):
    service = make_service(plant)
    service.clock.jumps.append(3600 * 10**9)
    service.engine.work()
    assert rows_of(service, events)[0].text == "the clock of this machine jumped by 3600 s"
    service.close()


@pytest.mark.parametrize("lead", [True, False])
def test_only_the_leader_makes_forecasts(plant, series, monkeypatch, lead):
    service = make_service(plant, clock="feed")
    monkeypatch.setattr(service.database, "lead", lambda: lead)
    send(service, readings_of(series, 1300, 1301))
    service.engine.work()
    assert len(rows_of(service, forecasts)) == lead
    service.close()
