"""Windows of one series that overlap: a joint search gives the neighbors of separate ones, to the bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcast.retrieval import WindowBank
from subcast.subset.shared_steps import _runs, nearest_of_series

LOOKBACK = 8


def series(seed, holes):
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(size=(160, 3)), 1).astype(np.float32)
    if holes:
        values[rng.random(values.shape) < 0.1] = np.nan
    return values


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=30),
    st.booleans(),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_it_equals_separate_searches(begins, holes, with_shared, seed):
    values = series(seed, holes)
    begins = np.sort(np.array(begins))  # some twice
    at = begins[:, None] + np.arange(LOOKBACK)
    present = np.array([0, 2])
    hours = np.sin(np.arange(160))[:, None].astype(np.float32)
    bank = WindowBank(values[60:], LOOKBACK, shared=hours[60:] if with_shared else None)
    shared = hours[at] if with_shared else None
    windows = values[at][:, :, present]
    found = nearest_of_series(bank, windows, shared, begins, present, 4, 0.5)
    expected = bank.nearest(windows, present, 4, 0.5, shared=shared)
    np.testing.assert_array_equal(found.index, expected.index)
    np.testing.assert_array_equal(found.distance, expected.distance)


def test_windows_that_contradict_are_searched_separately():
    values = series(0, holes=False)
    begins = np.arange(10)
    windows = values[begins[:, None] + np.arange(LOOKBACK)].copy()
    windows[4, 2, 1] += 1  # another window has another reading at this step
    bank = WindowBank(values[60:], LOOKBACK)
    found = nearest_of_series(bank, windows, None, begins, np.arange(3), 2, 1.0)
    np.testing.assert_array_equal(found.index, bank.nearest(windows, np.arange(3), 2, 1.0).index)


@pytest.mark.parametrize(
    ("begins", "expected"),
    [
        ([0, 1, 2, 3], [(0, 4)]),
        ([0, 100, 200], []),  # nothing in common
        ([0, 1, 2, 50, 51, 52, 90], [(0, 3), (3, 6)]),
        ([5], []),
        ([0, 7, 14, 21], []),  # hardly anything in common
        ([], []),
    ],
)
def test_runs(begins, expected):
    assert list(_runs(np.array(begins, dtype=np.int64), LOOKBACK)) == expected


def test_unwanted_windows_get_no_neighbors():
    values = series(1, holes=False)
    bank = WindowBank(values[60:], LOOKBACK)
    wanted = np.array([True, False, True])
    found = bank.nearest_sliding(values[:10], [0, 1], 3, wanted=wanted)
    every = bank.nearest_sliding(values[:10], [0, 1], 3)
    np.testing.assert_array_equal(found.index[wanted], every.index[wanted])
    assert (found.index[1] == -1).all()
