"""Rows of a bank, starts of candidates, and tiles, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcast.errors import InputError
from subcast.retrieval.layout import (
    Layout,
    all_starts,
    check_starts,
    draw_fraction,
    join_tiles,
    packed_tiles,
    steps_read,
    tiles_of,
    widest,
)
from twins import retrieval_twins as naive

FULL, GAPS, PACKED = 0, 1, 2


def test_rows_of_own_and_shared_features():
    layout = Layout(3, (False, True, False, True))
    assert (layout.f, layout.n_rows) == (4, 8)
    assert layout.own_features == [0, 2]
    assert layout.shared_features == [1, 3]
    assert layout.own_rows(np.array([0, 2])).tolist() == [0, 2, 3, 5]
    assert layout.shared_rows.tolist() == [6, 7]


@given(st.lists(st.integers(1, 12), min_size=1, max_size=5), st.integers(1, 12))
def test_all_starts_equal_the_twin(lengths, lookback):
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    assert all_starts(offsets, lookback).tolist() == naive.all_starts(lengths, lookback)


@given(st.lists(st.integers(1, 8), min_size=1, max_size=4), st.integers(1, 8), st.integers(-3, 30))
def test_a_start_is_accepted_exactly_if_its_window_lies_within_one_series(lengths, lookback, start):
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    if start in naive.all_starts(lengths, lookback):
        assert check_starts(np.array([start]), offsets, lookback).tolist() == [start]
    else:
        with pytest.raises(InputError, match=f"starts contains {start}, but a window of {lookback} steps"):
            check_starts(np.array([start]), offsets, lookback)


@pytest.mark.parametrize("starts", [[3, 1], [2, 2]])
def test_unsorted_and_repeated_starts(starts):
    with pytest.raises(InputError, match="starts must be sorted and unique"):
        check_starts(np.array(starts), np.array([0, 10]), 2)


@given(st.integers(1, 60), st.floats(0.02, 1.0), st.integers(0, 99))
def test_a_fraction_is_one_start_of_each_chunk(n_starts, fraction, seed):
    starts = np.arange(n_starts) * 3
    n_chunks = int(fraction * n_starts + 1e-9)
    if n_chunks == 0:
        with pytest.raises(InputError, match="fraction must keep at least one window"):
            draw_fraction(starts, fraction, seed)
        return
    drawn = draw_fraction(starts, fraction, seed).tolist()
    assert len(drawn) == n_chunks
    for i, start in enumerate(drawn):
        assert start in starts[i * n_starts // n_chunks : (i + 1) * n_starts // n_chunks]
    assert drawn == draw_fraction(starts, fraction, seed).tolist()


def assert_tiles(tiles, starts, size):
    """Check that each candidate lies in exactly one tile, and that the columns of the tiles are right."""
    seen = []
    for low, high, kind, candidate in tiles.tolist():
        inside = [start for start in starts if low <= start < high]
        assert 0 < high - low <= size
        assert inside
        assert kind == (FULL if len(inside) == high - low else GAPS)
        assert candidate == starts.index(inside[0])
        seen += inside
    assert seen == starts


@settings(max_examples=150)
@given(st.lists(st.integers(1, 200), min_size=1, max_size=60), st.integers(1, 50), st.integers(1, 80))
def test_tiles_contain_every_candidate_once(gaps, size, lookback):
    starts = np.cumsum([1 if gap < 120 else gap - 100 for gap in gaps])
    tiles = tiles_of(starts, size)
    assert_tiles(tiles, starts.tolist(), size)
    joined = join_tiles(tiles, starts, size, lookback)
    assert_tiles(joined, starts.tolist(), size)
    assert widest(tiles) == max(high - low for low, high, *_ in tiles.tolist())


def test_starts_far_apart_are_in_different_tiles():
    assert len(tiles_of(np.array([0, 64]), 1000)) == 1
    assert len(tiles_of(np.array([0, 65]), 1000)) == 2


def test_tiles_less_than_two_windows_apart_are_joined():
    starts = np.array([0, 150, 500])
    tiles = tiles_of(starts, 1000)
    assert len(tiles) == 3
    assert join_tiles(tiles, starts, 1000, 74).tolist() == tiles.tolist()
    assert join_tiles(tiles, starts, 1000, 75).tolist() == [[0, 151, GAPS, 0], [500, 501, FULL, 2]]


@pytest.mark.parametrize(("candidates", "size"), [(1, 5), (5, 5), (6, 5), (11, 3)])
def test_packed_tiles_number_the_candidates(candidates, size):
    tiles = packed_tiles(candidates, size).tolist()
    assert [i for low, high, *_ in tiles for i in range(low, high)] == list(range(candidates))
    assert all(high - low <= size and kind == PACKED and first == low for low, high, kind, first in tiles)


def test_a_single_start_costs_a_whole_vector_and_a_tile():
    assert steps_read(tiles_of(np.arange(64), 64)) == 64 + 64
    assert steps_read(tiles_of(np.arange(0, 64_000, 1000), 64)) == 64 * (32 + 64)
    assert steps_read(tiles_of(np.array([5]), 64), beyond=32) == 64 + 64
