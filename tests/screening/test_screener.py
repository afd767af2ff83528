import json

import numpy as np
import pytest

from screening.examples import stepwise
from subcast.errors import DataError, InputError
from subcast.screening import Screener


def test_untouched_readings_are_nearly_all_good(hourly):
    screener, test = hourly
    screened = screener.screen(test)
    assert (screened.flags == 1).mean() > 0.9
    assert len(screened.episodes) <= 2  # of two sensor-months


@pytest.mark.parametrize("value", [999999.0, -999.0, np.inf, -np.inf])
def test_an_impossible_reading_is_bad_and_a_hole(hourly, value):
    screener, test = hourly
    rows = test.values.astype(float)
    rows[30, 2] = value
    _, steps = stepwise(screener, test, rows)
    assert steps[30].flags[2] == 4
    assert np.isnan(steps[30].values[2])
    assert steps[30].reasons[2][0][:2] == ("gross range", 4)
    assert steps[29].flags[2] == steps[31].flags[2] == 1


def test_a_stuck_sensor_is_found_with_since_and_reason(hourly):
    screener, test = hourly
    rows = test.values.astype(float)
    rows[50:90, 1] = rows[50, 1]
    feed, steps = stepwise(screener, test, rows[:80])
    health = feed.health["s1"]
    assert health.state == "stuck"
    assert health.since == test.times[50]
    assert "without a change" in health.reason
    assert steps[-1].holes[:, 1].all()
    feed, steps = stepwise(screener, test, rows)
    assert feed.health["s1"].state == "good"


def test_a_silent_sensor_is_missing_and_then_dead(hourly):
    screener, test = hourly
    rows = test.values.astype(float)
    rows[40:, 3] = np.nan
    feed, steps = stepwise(screener, test, rows)
    assert steps[40].flags[3] == 9
    assert feed.health["s3"].state == "dead"
    assert feed.health["s3"].since == test.times[39]


def test_a_saved_screener_gives_the_same_flags(hourly, tmp_path):
    screener, test = hourly
    screener.save(tmp_path / "plant")
    loaded = Screener.load(tmp_path / "plant")
    assert loaded.fingerprint == screener.fingerprint
    np.testing.assert_array_equal(loaded.screen(test).flags, screener.screen(test).flags)
    assert not list((tmp_path / "plant").glob("*.pkl"))


def test_a_damaged_screener_is_refused(hourly, tmp_path):
    hourly[0].save(tmp_path / "plant")
    victim = next((tmp_path / "plant").glob("screener-rules.lasting-*.npy"))
    content = bytearray(victim.read_bytes())
    content[-1] ^= 1
    victim.write_bytes(content)
    with pytest.raises(DataError, match="checksum"):
        Screener.load(tmp_path / "plant")


@pytest.mark.parametrize("stop", [1, 33, 60])
def test_a_resumed_feed_goes_on_as_if_it_had_not_stopped(hourly, stop):
    screener, test = hourly
    rows = test.values.astype(float)
    rows[20:60, 0] = rows[20, 0]
    rows[::7, 4] = np.nan
    _, whole = stepwise(screener, test, rows)
    feed, _ = stepwise(screener, test, rows[:stop])
    again = screener.resume(json.loads(json.dumps(feed.state())))
    for number in range(stop, len(rows)):
        step = again.push(rows[number], test.times[number])
        np.testing.assert_array_equal(step.flags, whole[number].flags)
        np.testing.assert_array_equal(step.values, whole[number].values)
        assert step.reasons == whole[number].reasons


def test_bad_input_is_refused_in_a_sentence(hourly):
    screener, test = hourly
    feed = screener.start()
    with pytest.raises(InputError, match="one number for each of the 6"):
        feed.push([1.0, 2.0], test.times[0])
    with pytest.raises(InputError, match="time must be given"):
        feed.push(test.values[0])
    feed.push(test.values[0], test.times[0])
    with pytest.raises(InputError, match="later than that of the step before"):
        feed.push(test.values[0], test.times[0])
    with pytest.raises(InputError, match="s99"):
        feed.override("s99", "bad")
    with pytest.raises(InputError, match="'good', 'bad' or None"):
        feed.override("s1", "maybe")
    with pytest.raises(InputError, match="start a new feed"):
        screener.resume({"screener": "other"})
