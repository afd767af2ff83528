"""A past forecast is made again to the bit."""

import pytest

from service_tools import NAMES, fit_wrapper, make_series, make_service, readings_of, rows_of, run_steps, send, settle
from subcast.service import stored
from subcast.service.replaying import replay
from subcast.service.schema import forecasts, readings


@pytest.fixture
def service(plant):
    service = make_service(plant, clock="feed")
    yield service
    service.close()


def replay_all(service):
    found = []
    with service.database.read() as connection:
        for row in rows_of(service, forecasts):
            forecast = stored.from_row(row, stored.variables_of(connection, row.version))
            found.append(replay(service, connection, forecast).answer)
    return found


def test_every_forecast_with_holes_late_and_superseded_readings(service, series):
    run_steps(service, series, 1300, 1310)
    run_steps(service, series, 1310, 1316, NAMES[:4])
    send(service, readings_of(series, 1308, 1314, ["e"]))
    changed = readings_of(series, 1309, 1315, ["a"])
    send(service, [{**row, "value": row["value"] + 1} for row in changed])
    settle(service)
    run_steps(service, series, 1316, 1320)
    answers = replay_all(service)
    assert len(answers) == 20
    assert all(answer["identical"] for answer in answers)


def test_with_the_version_that_made_it_until_that_is_pruned(service, series, plant):
    import shutil

    run_steps(service, series, 1300, 1308)
    fit_wrapper(make_series(seed=5)).save(plant)
    run_steps(service, series, 1308, 1312)
    assert all(answer["identical"] for answer in replay_all(service))
    first = rows_of(service, forecasts)[0].version
    shutil.rmtree(plant.with_suffix(".versions") / first)
    service.versions._loaded.clear()
    answers = replay_all(service)
    assert [answer["possible"] for answer in answers] == [False] * 8 + [True] * 4
    assert "pruned" in answers[0]["sentence"]


def test_it_says_when_readings_were_removed(service, series):
    run_steps(service, series, 1300, 1308)
    first = rows_of(service, forecasts)[0].time
    with service.database.write() as connection:
        connection.execute(readings.delete().where(readings.c.time <= first))
    answers = replay_all(service)
    assert "removed" in answers[0]["sentence"]
    assert answers[-1]["identical"]
