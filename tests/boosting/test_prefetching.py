"""The hint changes nothing but speed: an array is read as before, whatever cell was announced."""

import numba
import numpy as np
import pytest

from subcast.boosting.prefetching import prefetch


@numba.njit
def announced_sum(values, order):
    total = 0.0
    for i in range(len(order)):
        prefetch(values, np.int64(order[min(i + 3, len(order) - 1)]))
        total += values[order[i]]
    return total


@pytest.mark.parametrize("kind", [np.uint8, np.float32, np.float64])
def test_what_is_read_is_the_same(kind):
    rng = np.random.default_rng(0)
    values, order = rng.integers(0, 200, 50).astype(kind), rng.integers(0, 50, 80)
    before = values.copy()
    assert announced_sum(values, order) == values[order].astype(np.float64).sum()
    assert np.array_equal(values, before)
