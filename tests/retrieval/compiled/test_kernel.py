"""Step distances, sums over windows and heaps, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcast.retrieval.compiled import kernel
from subcast.retrieval.compiled.powers import power_of
from twins import retrieval_twins as naive

EXPONENTS = [0.5, 1, 2, 1 / 3, 0.7]


def random_data(rows=9, t=70, missing=0.0, seed=0):
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(rows, t)).astype(np.float32)
    data[rng.random(data.shape) < missing] = np.nan
    data.flags.writeable = False  # as in a bank: numba compiles read-only arrays separately
    return data


@pytest.mark.parametrize("exponent", EXPONENTS)
@pytest.mark.parametrize("query_missing", [False, True])
def test_step_distances_equal_the_twin(exponent, query_missing):
    """Six rows are readings, one is another own feature and two are shared."""
    data, rows = random_data(), np.array([0, 1, 3, 4, 5, 6, 2, 7, 8])
    q = np.random.default_rng(1).normal(size=9).astype(np.float32)
    if query_missing:
        q[[1, 6]] = np.nan
    total, extra = np.empty(41, np.float32), np.empty(41, np.float32)
    mode, power = power_of(exponent)
    kernel.step_row(total, extra, data, rows, 13, q, 6, 7, mode, power)
    expected, _ = naive.step_distances(data, rows, 13, 41, q, 6, 7, exponent)
    assert np.allclose(total, expected, rtol=1e-5)


@pytest.mark.parametrize("exponent", EXPONENTS)
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_step_distances_with_missing_values_equal_the_twin(exponent, missing):
    data, rows = random_data(missing=missing), np.array([0, 1, 3, 4, 5, 6, 2, 7, 8])
    q = np.random.default_rng(1).normal(size=9).astype(np.float32)
    q[[2, 6]] = np.nan
    total, count, scratch = np.empty(41, np.float32), np.empty(41, np.float32), np.empty((3, 50), np.float32)
    mode, power = power_of(exponent)
    kernel.step_row_holes(total, count, scratch, data, rows, 13, q, 6, 7, mode, power)
    expected, expected_count = naive.step_distances(data, rows, 13, 41, q, 6, 7, exponent)
    assert np.allclose(total, expected, rtol=1e-5)
    assert count.tolist() == expected_count


@pytest.mark.parametrize("steps", [1, 3, 4, 9])
def test_shifted_sums_add_the_oldest_step_first(steps):
    rng = np.random.default_rng(0)
    ring = rng.normal(size=(steps, 20 + steps)).astype(np.float32)
    for oldest in range(steps):
        total = np.empty(20, np.float32)
        kernel.sum_shifted(total, ring, oldest)
        for i in range(20):
            expected = np.float32(0)
            for p in range(steps):
                expected = expected + ring[(oldest + p) % steps, i + p]
            assert total[i] == expected  # the same order of addition, so the same bits


def test_means_need_enough_cells():
    total = np.array([6, 6, 0, np.inf], dtype=np.float32)
    kernel.divide_by_counts(total, np.array([3, 2, 0, 3], dtype=np.float32), np.float32(3))
    assert total.tolist() == [2, np.inf, np.inf, np.inf]


def test_nan_is_not_within_a_limit():
    values = np.array([np.nan, 4, np.inf], dtype=np.float32)
    assert kernel.any_within(values, np.float32(4))
    assert not kernel.any_within(values, np.float32(3))
    assert not kernel.any_within(values[:1], np.float32(np.inf))


@given(st.lists(st.integers(0, 20), unique=True, max_size=8).map(sorted), st.integers(-1, 22))
def test_search_sorted_equals_a_loop(starts, t):
    expected = sum(1 for start in starts if start < t)
    assert kernel.search_sorted(np.array(starts, dtype=np.int64), t) == expected


def empty_heap(k):
    return np.full(k, np.inf, dtype=np.float32), np.full(k, kernel.NONE, dtype=np.int64)


@given(st.lists(st.integers(0, 5), max_size=30), st.integers(1, 8), st.integers(0, 99))
def test_a_heap_keeps_the_k_smallest_pairs(distances, k, seed):
    pairs = [(float(d), i) for i, d in enumerate(distances)]
    heap_d, heap_i = empty_heap(k)
    for j in np.random.default_rng(seed).permutation(len(pairs)):
        kernel.offer(heap_d, heap_i, np.float32(pairs[j][0]), pairs[j][1])
    kernel.sort_heaps(heap_d[None], heap_i[None])
    expected = sorted(pairs)[:k]
    expected += [(np.inf, kernel.NONE)] * (k - len(expected))
    assert list(zip(heap_d.tolist(), heap_i.tolist(), strict=True)) == expected


def test_merging_heaps_keeps_the_smallest_of_both():
    first, second = empty_heap(3), empty_heap(3)
    for distance, index in [(5, 0), (1, 1), (3, 2)]:
        kernel.offer(*first, np.float32(distance), index)
    for distance, index in [(3, 3), (2, 4)]:
        kernel.offer(*second, np.float32(distance), index)
    kernel.merge_heap(*first, *second)
    kernel.sort_heaps(first[0][None], first[1][None])
    assert first[0].tolist() == [1, 2, 3]
    assert first[1].tolist() == [1, 4, 2]


def test_rounding_of_the_limit_loses_no_candidate():
    """A sum whose quotient ties with the worst distance in the heap is within the limit."""
    rng = np.random.default_rng(0)
    for _ in range(500):
        total, count = np.float32(rng.uniform(1e-3, 1e3)), np.float32(rng.integers(1, 2000))
        heap_d, _ = empty_heap(1)
        heap_d[0] = total / count
        assert total <= kernel.heap_limit(heap_d, count)


@pytest.mark.parametrize("kind", [kernel.FULL, kernel.GAPS, kernel.PACKED])
def test_a_tile_offers_its_candidates_and_skips_excluded_ones(kind):
    rng = np.random.default_rng(2)
    starts = np.arange(100, 300) if kind == kernel.FULL else np.sort(rng.choice(400, size=200, replace=False))
    low, high = (20, 170) if kind == kernel.PACKED else (110, 260)
    candidates = {}  # position in the tile -> candidate
    for position in range(high - low):
        matches = np.flatnonzero(starts == low + position)
        if kind == kernel.PACKED:
            candidates[position] = low + position
        elif matches.size:
            candidates[position] = int(matches[0])
    sums = rng.integers(0, 9, size=high - low).astype(np.float32)
    values = sums.copy()
    values[[position for position in range(high - low) if position not in candidates]] = np.inf
    first = min(candidates.values())
    excluded = np.array([150, 180])
    heap_d, heap_i = empty_heap(7)
    tile = np.array([low, high, kind, first])
    kernel.offer_tile(values, np.float32(2), tile, starts, excluded, heap_d, heap_i)
    kernel.sort_heaps(heap_d[None], heap_i[None])
    expected = sorted(
        (sums[position] / 2, index) for position, index in candidates.items() if not 150 <= starts[index] < 180
    )[:7]
    assert list(zip(heap_d.tolist(), heap_i.tolist(), strict=True)) == expected


def test_penalties_are_zero_only_where_a_candidate_starts():
    penalty = np.empty(6, np.float32)
    kernel.mark_candidates(penalty, 10, np.array([3, 10, 13, 15, 16, 40]))
    assert penalty.tolist() == [0, np.inf, np.inf, 0, np.inf, 0]


@pytest.mark.parametrize("steps", [32, 37, 40])
def test_groups_of_steps_against_loops(steps):
    rng = np.random.default_rng(steps)
    width, latest = 5, 3 * steps + 4
    distances = rng.random((latest + 1, width + steps - 1)).astype(np.float32)  # of each query step, by bank step
    ring = np.zeros((steps + 8, width + steps - 1), np.float32)
    for number in range(latest + 1):
        ring[steps + number % 8] = distances[number]
        if number >= 7:
            kernel.sum_group(ring[number % steps, : width + steps - 8], ring[steps:], number + 1)
    total = np.empty(width, np.float32)
    kernel.sum_groups(total, np.empty(width, np.float32), ring, latest, steps)
    for column in range(width):
        expected = sum(float(distances[latest - steps + 1 + p, column + p]) for p in range(steps))
        assert total[column] == pytest.approx(expected, rel=1e-5)
    assert kernel.group_size(31) == 31
    assert kernel.group_size(steps) == 8


@pytest.mark.parametrize("exponent", [0.5, 1.0, 0.7])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("own", [3, 8, 11])
def test_two_query_steps_at_once_equal_one_by_one(exponent, missing, own):
    rng = np.random.default_rng(own)
    data = rng.normal(size=(own + 2, 90)).astype(np.float32)
    rows, q = np.arange(own + 2), rng.normal(size=(2, own + 2)).astype(np.float32)
    if missing:
        q[1, 2] = np.nan
    extra, first, second, expected = (np.empty(64, np.float32) for _ in range(4))
    mode, power = power_of(exponent)
    kernel.step_rows(first, second, extra, data, rows, 5, q, own, own, mode, power)
    for total, query in ((first, q[0]), (second, q[1])):
        kernel.step_row(expected, extra, data, rows, 5, query, own, own, mode, power)
        assert np.array_equal(total, expected)
