"""Tests of Arrived: windows are views of a series, and slices record whether they are consecutive."""

import numpy as np

from subcast.subset.arrived import Arrived
from subset.examples import hours_of, walk, waves


def test_windows_of_a_series_are_views_with_the_slot_of_their_first_step():
    series = waves(steps=60, features=("time_of_day",))
    windows = series.windows(6, 3)
    arrived = Arrived.of(windows, 24)
    assert arrived.slots.tolist() == hours_of(series)[: len(windows)]
    assert np.shares_memory(arrived.values, series.values)
    assert arrived.features.shape == (len(windows), 6, 1)
    assert arrived.consecutive


def test_without_times_the_slot_is_unknown():
    windows = walk(steps=40).windows(6, 3)
    assert (Arrived.of(windows, 24).slots == -1).all()
    assert not Arrived.of(windows, 24).consecutive
    assert (Arrived.of(windows, 1).slots == 0).all()
    assert Arrived.of(windows, 1).consecutive


def test_selected_windows_are_consecutive_only_for_a_slice_without_steps():
    arrived = Arrived.of(waves(steps=60).windows(6, 3), 24)
    assert arrived[3:9].consecutive
    assert not arrived[::2].consecutive
    assert not arrived[np.array([1, 2])].consecutive
    np.testing.assert_array_equal(arrived[3:9].values, arrived.values[3:9])
    np.testing.assert_array_equal(arrived[3:9].slots, arrived.slots[3:9])
    assert not Arrived.of(waves(steps=60).windows(6, 3)[::2], 24).consecutive
