"""Late readings."""

import json
import time

import numpy as np
import pytest

from service_tools import NAMES, make_service, readings_of, rows_of, run_steps, send, settle
from subcast.screening import Screener
from subcast.service import stored
from subcast.service.late import difference
from subcast.service.schema import forecasts, revisions, scores, steps
from subcast.service.screens import unpacked


@pytest.fixture
def service(plant, wrapper, series):
    Screener.fit(wrapper, series.split(lookback=6, horizon=4)[0]).save(plant)
    service = make_service(plant, clock="feed")
    yield service
    service.close()


def test_stored_forecasts_stay_and_the_change_is_named(service, series):
    run_steps(service, series, 1300, 1310)
    run_steps(service, series, 1310, 1313, NAMES[:5])
    before = rows_of(service, forecasts)
    answer = send(service, readings_of(series, 1310, 1311, ["f"]))
    assert answer["late"] == 1
    assert len(answer["affects"]) == 3
    settle(service)
    assert rows_of(service, forecasts) == before
    found = rows_of(service, revisions)
    assert sorted(row.time for row in found) == [row.time for row in before[-3:]]
    facts = json.loads(found[0].facts)
    assert facts["sensors"] == ["f"]
    assert facts["largest_change"] > 0


def test_the_revision_is_the_forecast_that_would_have_been(service, series, plant, tmp_path):
    run_steps(service, series, 1300, 1310)
    run_steps(service, series, 1310, 1313, NAMES[:5])
    send(service, readings_of(series, 1310, 1313, ["f"]))
    settle(service)
    other = make_service(plant, database=f"sqlite:///{tmp_path}/other.sqlite3", clock="feed", adapt=False)
    run_steps(other, series, 1300, 1313)
    expected = stored.from_row(rows_of(other, forecasts)[-1], other.wrapper.variables)
    actual = stored.from_row(rows_of(service, forecasts)[-1], other.wrapper.variables)
    facts = json.loads(next(row for row in rows_of(service, revisions) if row.time == actual.time).facts)
    change = np.abs(expected.made.mean.astype(float) - actual.made.mean)
    assert facts["largest_change"] == pytest.approx(change.max())
    assert facts["mean_change"] == pytest.approx(change.mean())
    other.close()


def test_the_screening_is_as_if_the_readings_had_come_in_time(service, series, plant, tmp_path):
    run_steps(service, series, 1300, 1310)
    run_steps(service, series, 1310, 1313, NAMES[:5])
    send(service, readings_of(series, 1310, 1313, ["f"]))
    settle(service)
    other = make_service(plant, database=f"sqlite:///{tmp_path}/other.sqlite3", clock="feed")
    run_steps(other, series, 1300, 1313)
    mine, theirs = rows_of(service, steps)[-1], rows_of(other, steps)[-1]
    assert mine.flags == theirs.flags
    assert unpacked(mine.state) == unpacked(theirs.state)
    run_steps(service, series, 1313, 1314)
    run_steps(other, series, 1313, 1314)
    assert unpacked(rows_of(service, steps)[-1].state) == unpacked(rows_of(other, steps)[-1].state)
    used = [rows_of(each, forecasts)[-1].used for each in (service, other)]
    assert used[0] == used[1]
    other.close()


def test_a_late_reading_that_is_bad_changes_nothing(service, series):
    run_steps(service, series, 1300, 1310)
    run_steps(service, series, 1310, 1313, NAMES[:5])
    rows = readings_of(series, 1311, 1312, ["f"])
    rows[0]["value"] = 1e6
    send(service, rows)
    settle(service)
    assert all(json.loads(row.facts)["largest_change"] == 0 for row in rows_of(service, revisions))


def test_readings_older_than_the_lookback_revise_old_forecasts(service, series):
    run_steps(service, series, 1300, 1305, NAMES[:5])
    run_steps(service, series, 1305, 1330)
    send(service, readings_of(series, 1303, 1304, ["f"]))
    settle(service)
    assert len(rows_of(service, revisions)) == 6
    assert settle(service) is None


def test_the_difference_of_equal_forecasts_is_nothing(service, series):
    run_steps(service, series, 1300, 1307)
    made = stored.from_row(rows_of(service, forecasts)[-1], NAMES).made
    assert difference(made, made, NAMES)["largest_change"] == 0
    assert difference(made, made, NAMES)["relative_change"] == 0


def test_flags_set_by_hand_stay_when_steps_are_screened_again(service, series):
    from subcast.service.schema import overrides

    run_steps(service, series, 1300, 1308)
    with service.database.write() as connection:
        values = {"sensor": int(service.feed.ids[0]), "flag": 4, "reason": "", "set_at": time.time_ns()}
        connection.execute(overrides.insert().values(**values))
    run_steps(service, series, 1308, 1310)
    run_steps(service, series, 1310, 1313, NAMES[:5])
    send(service, readings_of(series, 1310, 1313, ["f"]))
    run_steps(service, series, 1313, 1314)
    used = stored.from_row(rows_of(service, forecasts)[-1], NAMES).used
    assert used[:, 0].tolist() == [False] * 6
    assert used[:, 5].all()


def score_of(service, series, step):
    """Compare the readings of a step with all stored forecasts of it, number by number."""
    times = series.times.astype("datetime64[ns]").astype(np.int64)
    error, count = 0.0, 0
    for row in rows_of(service, forecasts):
        ahead = step - int(np.searchsorted(times, row.time))
        if 1 <= ahead <= 4:
            mean = stored.from_row(row, NAMES).made.mean
            for sensor in range(6):
                error += abs(float(series.values[step, sensor]) - float(mean[ahead - 1, sensor]))
                count += 1
    return error, count


def test_late_readings_are_scored_and_the_widths_of_intervals_stay(service, series):
    run_steps(service, series, 1300, 1310)
    run_steps(service, series, 1310, 1313, NAMES[:5])
    before = rows_of(service, scores)[10]
    assert before.readings == 20  # five sensors, forecasts of four steps
    send(service, readings_of(series, 1310, 1311, ["f"]))
    settle(service)
    after = rows_of(service, scores)[10]
    sums = json.loads(after.shares)["groups"]
    error, count = score_of(service, series, 1310)
    assert after.readings == count == 24
    assert sum(group["error"] for group in sums.values()) == pytest.approx(error)
    assert json.loads(after.shares)["factors"] == json.loads(before.shares)["factors"]
    assert rows_of(service, scores)[11].readings == 20  # nothing came for this step


def test_a_revised_reading_is_scored_with_its_new_value(service, series):
    run_steps(service, series, 1300, 1310)
    before = rows_of(service, scores)[-1]
    row = readings_of(series, 1309, 1310, ["f"])[0]
    send(service, [{**row, "value": row["value"] + 1}])
    settle(service)
    after = rows_of(service, scores)[-1]
    errors = [np.frombuffer(each.sensors).reshape(2, 6) for each in (before, after)]
    assert errors[0][0, 5] != errors[1][0, 5]
    assert errors[0][0, :5].tolist() == errors[1][0, :5].tolist()
    assert errors[0][1].tolist() == errors[1][1].tolist()


def test_many_late_steps_are_scored_a_few_at_a_time(service, series):
    run_steps(service, series, 1300, 1318)
    before = rows_of(service, scores)
    send(service, [{**row, "value": row["value"] + 0.37} for row in readings_of(series, 1306, 1318, ["e"])])
    settle(service)
    after = rows_of(service, scores)
    changed = [old.sensors != new.sensors for old, new in zip(before, after, strict=True)]
    believed = [np.frombuffer(row.sensors).reshape(2, 6)[1, 4] > 0 for row in before]
    assert changed == [False] * 6 + believed[6:]
    assert sum(changed) > 8
    assert settle(service) is None
