"""Tests of the Forecast that is returned: quality, observed shares, and bounds for any levels."""

import numpy as np


def test_missing_readings_count_as_absent(tuned, wave_parts):
    values = wave_parts.test[:3].readings.copy()
    values[:, :3, 0] = np.nan
    forecast = tuned.predict_many(values, present=[0, 2], times=wave_parts.test.series.times[:3])
    np.testing.assert_allclose(forecast.observed, np.tile([0.5, 1.0], (3, 1)))
    np.testing.assert_allclose(forecast.observed_share, 0.75 * 2 / 6)


def test_bounds_follow_the_levels_asked_for(tuned, wave_parts):
    forecast = tuned.predict_many(wave_parts.test[:3], present=[0, 2], levels=(0.5, 0.9))
    assert forecast.bounds.shape == (2, 2, 3, 3, 2)
    assert (forecast.bounds[1, 1] >= forecast.bounds[0, 1]).all()
    assert tuned.predict_many(wave_parts.test[:3], present=[0, 2], levels=()).bounds is None


def test_with_all_variables_present_it_is_the_model_forecast(tuned, wave_parts, learned):
    forecast = tuned.predict_many(wave_parts.test[:3])
    np.testing.assert_allclose(forecast.mean, learned(wave_parts.test[:3].batch().inputs), rtol=1e-5)
    assert (forecast.quality, forecast.expected_gap) == ("full", 0.0)


def test_a_strange_window_is_said_without_intervals_too(tuned, wave_parts, monkeypatch):
    monkeypatch.setattr(tuned, "limits_", None)
    readings = np.nan_to_num(wave_parts.test[:3].readings[:, :, ::-1])  # of other variables
    times = wave_parts.test.series.times[:3] + np.timedelta64(12, "h")
    for present in (None, [0, 1, 2, 3, 4]):
        with_intervals = tuned.predict_many(readings, present, times=times)
        without = tuned.predict_many(readings, present, times=times, levels=())
        assert (without.quality, without.notes) == (with_intervals.quality, with_intervals.notes)
        assert without.quality not in ("full", "good")
