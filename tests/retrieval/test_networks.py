"""Sorting networks: every list of zeros and ones ends with its median in the middle, so every list of numbers does."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcast.retrieval.networks import median_network


def run(values):
    values = list(values)
    for first, second in median_network(len(values)).tolist():
        assert first < second
        if values[first] > values[second]:
            values[first], values[second] = values[second], values[first]
    return values


@pytest.mark.parametrize("size", range(1, 13))
def test_every_list_of_zeros_and_ones(size):
    for values in itertools.product((0, 1), repeat=size):
        ordered, found = sorted(values), run(values)
        for place in {(size - 1) // 2, size // 2}:
            assert found[place] == ordered[place]


@given(st.integers(13, 70), st.integers(0, 2**32 - 1))
def test_longer_lists(size, seed):
    values = np.random.default_rng(seed).integers(0, size, size).tolist()
    ordered, found = sorted(values), run(values)
    for place in {(size - 1) // 2, size // 2}:
        assert found[place] == ordered[place]


def test_fewer_comparisons_than_a_full_sort():
    assert len(median_network(50)) < 50 * 49 / 4
    assert len(median_network(1)) == 0
