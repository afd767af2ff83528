"""Tests of the split of the validation windows into two groups that share no step."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from subcast.series import Series
from subcast.subset.validation import split_validation
from subcast.windows import Windows


def steps_of(windows, places):
    """All steps that some windows read or forecast."""
    size = windows.lookback + windows.horizon
    return {windows.starts[int(place)] + step for place in places for step in range(size)}


@settings(max_examples=150)
@given(st.data())
def test_the_two_groups_share_no_step(data):
    lookback, horizon = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 8))
    size = lookback + horizon
    steps = data.draw(st.integers(size, 400))
    most = steps - size + 1
    first = data.draw(st.integers(0, most - 1))
    stride = data.draw(st.sampled_from([1, 1, 1, 2, 7, -1]))
    starts = range(first, most, stride) if stride > 0 else range(most - 1, first - 1, -1)
    val = Windows(Series(np.zeros((steps, 1))), lookback, horizon, starts=starts)
    tuning, calibration = split_validation(val)
    assert len(tuning)
    assert not set(tuning.tolist()) & set(calibration.tolist())
    assert set(tuning.tolist()) | set(calibration.tolist()) <= set(range(len(val)))
    if max(val.starts) - min(val.starts) >= size:  # there are two windows that share no step
        assert len(calibration)
        assert not steps_of(val, tuning) & steps_of(val, calibration)


def test_both_groups_cover_early_and_late_days_and_most_windows():
    val = Series(np.zeros((1000, 1))).windows(6, 3)
    tuning, calibration = split_validation(val)
    assert min(tuning) < 150
    assert max(calibration) > 850
    assert 0.4 < len(tuning) / len(calibration) < 2.5
    assert len(tuning) + len(calibration) > 0.85 * len(val)


def test_a_single_window_is_used_for_tuning():
    tuning, calibration = split_validation(Series(np.zeros((9, 1))).windows(6, 3))
    assert (len(tuning), len(calibration)) == (1, 0)
