"""Tests of the Forecast that is returned: quality, observed shares, and bounds for any levels."""

import numpy as np
import pytest

from subcast.subset.result import _quality


@pytest.mark.parametrize(
    ("complete", "gap", "share", "least", "word"),
    [
        (True, None, 1.0, 0.15, "full"),
        (False, 1.0, 0.5, 0.15, "good"),
        (False, 2.0, 0.15, 0.15, "good"),
        (False, 2.1, 0.5, 0.15, "fair"),
        (False, 10.1, 0.9, 0.15, "poor"),
        (False, -5.0, 0.05, 0.15, "fair"),
        (False, None, 0.9, 0.0, "good"),
        (False, None, 0.5, 0.0, "fair"),
        (False, None, 0.1, 0.0, "poor"),
    ],
)
def test_quality(complete, gap, share, least, word):
    assert _quality(complete, gap, share, least) == word


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
