"""The record of intervals: those that follow their coverage are the ones that a stream gives."""

import numpy as np
import pytest

import subcast as sc
from benchmarks.scripts import script
from subset.examples import HORIZON, LOOKBACK, mixing, walk

intervals = script("interval_records")


@pytest.mark.filterwarnings("ignore::subcast.errors.FitWarning")
def test_adapted_intervals_are_those_of_a_stream():
    train, val, test = walk(steps=700).split(LOOKBACK, HORIZON, shares=(0.6, 0.2, 0.2))
    robust = sc.SubsetForecaster(mixing, progress=False, effort=0.1).fit(train, val)
    present, test = np.array([0, 2, 3]), test[:60]
    lower, upper = intervals.own_bounds(robust)(test, present)["subcast, adapted"]
    stream = robust.stream(adapt=True)
    factors = set()
    for step, row in enumerate(test.series.values[: LOOKBACK + 59]):
        forecast = stream.push({robust.variables[n]: row[n] for n in present})
        if forecast is not None:
            window = step - LOOKBACK + 1
            np.testing.assert_allclose(lower[window], forecast.lower, rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(upper[window], forecast.upper, rtol=1e-4, atol=1e-4)
            factors.add(stream.interval_factors)
    assert len(factors) > 10


def test_windows_that_are_far_apart_are_all_scored():
    """All intervals are too narrow: each step that was forecast makes the next ones wider by the same."""
    steps, horizon = 60, 3
    series = sc.Series(np.full((steps, 1), 10.0))
    for every in (1, 2, 3, 7):
        windows = series.windows(4, horizon)[::every]
        bounds = np.stack([np.full((len(windows), horizon, 1), -1.0), np.full((len(windows), horizon, 1), 1.0)])
        found = intervals.adapted(
            windows, np.array([0]), np.zeros((len(windows), horizon, 1)), bounds, np.ones(len(windows)), None
        )
        outside = np.arange(len(windows)) * min(every, horizon)  # steps that were scored before each window
        expected = np.exp(0.06 * (1 - 0.1) * outside)
        np.testing.assert_allclose(found[1, :, 0, 0], np.minimum(expected, 8), rtol=1e-5)
