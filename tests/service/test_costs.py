"""Costs are measured against all sensors of the same wrapper."""

import numpy as np
import pytest

from subcast.service.costs import cost_of, cost_with
from subcast.subset.conformal import Calibration


def calibration(gaps):
    table = np.zeros((2, 1, 1, 4), dtype=np.float32)
    return Calibration(np.array([1, 4]), table, table, np.array(gaps), np.zeros(2))


def test_a_gap_below_zero_still_costs_something():
    better_than_its_model = calibration([-5.0, -20.0])
    assert cost_of(better_than_its_model, -20.0) == pytest.approx(0)
    assert cost_of(better_than_its_model, -5.0) == pytest.approx(100 * (0.95 / 0.8 - 1))
    assert cost_with(better_than_its_model, 1) == pytest.approx(cost_of(better_than_its_model, -5.0))
    assert 0 < cost_with(better_than_its_model, 2) < cost_with(better_than_its_model, 1)


def test_unknown_without_intervals_or_readings():
    assert cost_of(None, 1.0) is None
    assert cost_of(calibration([1.0, 0.0]), None) is None
    assert cost_of(calibration([1.0, -100.0]), 1.0) is None
    assert cost_with(calibration([1.0, 0.0]), 0) is None
