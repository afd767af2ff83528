"""The result of a search, and the heaps from which it is made."""

from __future__ import annotations

import numpy as np

from subcast.retrieval.neighbors import Neighbors, empty_heaps, from_sorted_heaps, merge_heaps


def test_empty_heaps_become_indices_of_minus_one():
    neighbors = from_sorted_heaps(*empty_heaps(2, 3))
    assert neighbors.index.tolist() == [[-1] * 3] * 2
    assert np.isinf(neighbors.distance).all()
    assert not neighbors.found.any()
    assert len(neighbors) == 2


def test_merged_heaps_are_sorted_by_distance_and_then_by_index():
    rng = np.random.default_rng(0)
    distance, index = empty_heaps(20, 12)
    distance[:, :9] = rng.integers(0, 4, size=(20, 9))
    index[:, :9] = rng.permuted(np.tile(np.arange(9), (20, 1)), axis=1)
    shuffled = rng.permuted(np.tile(np.arange(12), (20, 1)), axis=1)
    distance, index = np.take_along_axis(distance, shuffled, 1), np.take_along_axis(index, shuffled, 1)
    pairs = [
        sorted((d, i) for d, i in zip(*row, strict=True) if d < np.inf)
        for row in zip(distance.tolist(), index.tolist(), strict=True)
    ]
    merged = merge_heaps(distance, index, 10)
    for j in range(20):
        assert merged.distance[j].tolist() == [d for d, _ in pairs[j]] + [np.inf]
        assert merged.index[j].tolist() == [i for _, i in pairs[j]] + [-1]


def test_found_says_which_positions_have_a_neighbor():
    neighbors = Neighbors(np.array([[4, -1]]), np.array([[0.5, np.inf]], dtype=np.float32))
    assert neighbors.found.tolist() == [[True, False]]
