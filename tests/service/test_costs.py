"""Costs are measured against all sensors of the same wrapper."""

import numpy as np
import pytest

from subcast.service.costs import cost_of, cost_with, silence_ratio
from subcast.subset.conformal import PROBABILITIES, Calibration


def calibration(gaps, silent=3.0):
    ends = np.where(PROBABILITIES < 0.5, -1.0, 1.0).astype(np.float32)[None, :, None, None]
    table = np.broadcast_to(ends, (2, len(PROBABILITIES), 2, 4)).copy()
    return Calibration(np.array([1, 4]), table, silent * table, np.array(gaps), np.zeros(2))


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
    assert silence_ratio(None, 0.9, 2, 0) is None
    assert silence_ratio(calibration([1.0, 0.0]), None, 2, 0) is None
    assert silence_ratio(calibration([1.0, 0.0]), 0.9, 0, 0) is None


def test_how_much_wider_silence_makes_an_interval():
    assert silence_ratio(calibration([1.0, 0.0]), 0.9, 2.5, 1) == pytest.approx(3)
    assert silence_ratio(calibration([1.0, 0.0], silent=1.0), 0.5, 1, 3) == pytest.approx(1)
