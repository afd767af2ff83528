"""Errors of mixtures of two forecasts, against plain loops."""

import math

import numpy as np
import pytest

from subcast.subset.share_errors import share_errors


@pytest.mark.parametrize("squared", [False, True])
def test_against_loops(squared):
    rng = np.random.default_rng(0)
    first, other, target = (rng.normal(size=(7, 3, 4)).astype(np.float32) for _ in range(3))
    target[rng.random(target.shape) < 0.3] = np.nan
    spread, shares, bounds = np.array([1.0, 2.0, 0.5, 3.0]), np.array([0.0, 0.35, 1.0]), np.array([0, 2, 5])
    sums, counts = share_errors(first, other, target, spread, shares, bounds, squared=squared)
    for number, share in enumerate(shares.tolist()):
        for step in range(3):
            expected = [0.0, 0.0, 0.0]
            for window in range(7):
                for place in range(4):
                    truth = float(target[window, step, place])
                    if not math.isnan(truth):
                        a, b = float(first[window, step, place]), float(other[window, step, place])
                        error = (a + share * (b - a) - truth) / spread[place]
                        expected[(window >= 2) + (window >= 5)] += error**2 if squared else abs(error)
            assert sums[number, :, step].tolist() == pytest.approx(expected, rel=1e-5)
    assert counts.tolist() == [int((~np.isnan(target[:, step])).sum()) for step in range(3)]
