"""The windows that a bank holds, and whether they are scattered."""

from __future__ import annotations

import numpy as np
import pytest

from retrieval.examples import random_walk, time_of_day, with_time
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
