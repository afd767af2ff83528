"""The windows that a bank holds, and whether they are scattered."""

from __future__ import annotations

import numpy as np
import pytest

from retrieval.examples import random_walk, time_of_day, with_time
from subcast.errors import InputError
from subcast.retrieval import WindowBank


@pytest.mark.parametrize(
    ("fraction", "sparse"), [(None, False), (0.9, False), (0.3, True), (0.1, True), (0.03, True), (0.005, True)]
)
def test_small_fractions_are_sparse(fraction, sparse):
    assert WindowBank(random_walk(6000, 2), 12, fraction=fraction).sparse == sparse


def test_a_few_consecutive_windows_are_not_sparse():
    for candidates in (1, 5, 40, 257):
        assert not WindowBank(random_walk(candidates + 11, 2), 12).sparse


def test_windows_have_all_features():
    values, time = random_walk(30, 3), time_of_day(30)
    cells = with_time(values, time)
    for bank in (WindowBank(values, 4, shared=time), WindowBank(cells, 4)):
        assert np.array_equal(bank.window(7), cells[7:11])
        assert bank.windows([[1, 2]]).shape == (1, 2, 4, 3, 2)
    own = np.stack([values, values**2], axis=-1)
    assert np.array_equal(WindowBank(own, 4).window(26), own[26:30])


def test_futures_do_not_run_into_the_next_series():
    bank = WindowBank([np.arange(8.0)[:, None], 100 + np.arange(8.0)[:, None]], lookback=3)
    last_of_first, first_of_second = 5, 6
    index, ones = np.array([[last_of_first]]), np.ones((1, 1), dtype=np.float32)
    with pytest.raises(InputError, match="starts at step 5 has fewer than 5 steps before its series ends"):
        bank.pool_futures(index, ones, np.array([0]), 2)
    with pytest.raises(InputError, match="before its series ends"):
        bank.future_deviation(index, np.array([0]), 1)
    paths = bank.paths([last_of_first, first_of_second, -1], [0], length=5)[..., 0]
    np.testing.assert_array_equal(paths[0], [5, 6, 7, np.nan, np.nan])
    np.testing.assert_array_equal(paths[1], [100, 101, 102, 103, 104])
    assert np.isnan(paths[2]).all()
    followed = bank.pool_futures(np.array([[0, 1]]), np.full((1, 2), 0.5, dtype=np.float32), np.array([0]), 2, "mean")
    np.testing.assert_allclose(followed[0, :, 0], [3.5, 4.5])


def test_targets_that_do_not_count_are_left_out_of_futures_and_moments():
    values = np.arange(10.0)[:, None]
    targets = values.copy()
    targets[4] = np.nan
    bank = WindowBank(values, lookback=2, starts=[0, 2], targets=targets)
    both = np.array([[0, 1]])
    followed = bank.pool_futures(both, np.ones((1, 2), dtype=np.float32), np.array([0]), 2, "mean")
    np.testing.assert_allclose(followed[0, :, 0], [2.0, 4.0])  # 2 and a hole; 3 and 5
    plain = WindowBank(values, lookback=2, starts=[0, 2])
    assert bank.fingerprint() != plain.fingerprint()
    assert bank.moments(1).whole[0, 0, 0] == pytest.approx((plain.moments(1).whole[0, 0, 0] * 10 - 16) / 10)
    with pytest.raises(InputError, match=r"targets must be \[t, n\] = \(10, 1\)"):
        WindowBank(values, lookback=2, targets=targets[1:])
