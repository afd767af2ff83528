"""Some of many steps, and values in between."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from subcast.boosting import interpolated, spread_steps
from twins import experts_twins as twins


@given(st.integers(1, 400), st.integers(2, 30))
def test_spread_steps(length, most):
    steps = spread_steps(length, most).tolist()
    assert steps == sorted(set(steps))
    assert (steps[0], steps[-1]) == (0, length - 1)
    assert len(steps) == length if length <= most else len(steps) <= most
    gaps = np.diff(steps)
    assert (np.diff(gaps) >= -1).all()  # denser at the beginning, up to rounding


@settings(max_examples=40)
@given(st.integers(1, 30), st.integers(2, 8), st.integers(0, 2**32 - 1))
def test_interpolated_against_loops(horizon, most, seed):
    steps = spread_steps(horizon, most)
    values = np.random.default_rng(seed).normal(size=(2, len(steps), 3))
    found = interpolated(values, steps, horizon)
    assert found.shape == (2, horizon, 3)
    for window in range(2):
        for column in range(3):
            expected = twins.interpolated(values[window, :, column].tolist(), steps.tolist(), horizon)
            np.testing.assert_allclose(found[window, :, column], expected, rtol=1e-5, atol=1e-6)


def test_interpolation_is_linear_between_learned_steps():
    steps = np.array([0, 2, 6])
    forecast = np.array([[[0.0], [4.0], [8.0]]])
    assert interpolated(forecast, steps, 7)[0, :, 0].tolist() == [0, 2, 4, 5, 6, 7, 8]
