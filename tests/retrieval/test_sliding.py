"""Search for consecutive windows, and streams: tiles, memory, and candidates that are far apart."""

from __future__ import annotations

import numpy as np
import pytest

from retrieval.examples import assert_equal, assert_twin, random_walk, search_all, windows_of
from subcast.retrieval import WindowBank, sliding
from twins import retrieval_twins as naive


@pytest.mark.parametrize(("lookback", "rows"), [(1, 1), (12, 32), (12, 200), (12, 5000), (500, 32), (3000, 2)])
def test_tiles_have_whole_vectors_of_steps(lookback, rows):
    steps = sliding.tile_size(lookback, rows) + lookback - 1
    assert steps % 32 == 0
    assert steps >= max(512, 4 * lookback)
    assert steps <= max(2048 if lookback < 32 else 4096, 4 * lookback + 512)


@pytest.mark.parametrize(("n_steps", "lookback"), [(9, 4), (4, 4), (3, 4), (7, 1)])
def test_window_counts_equal_the_twin(n_steps, lookback):
    counts = np.random.default_rng(0).integers(0, 5, size=n_steps).astype(np.float32)
    expected = [sum(counts[j : j + lookback].tolist()) for j in range(n_steps - lookback + 1)]
    assert sliding.window_counts(counts, lookback).tolist() == expected


def test_windows_are_searched_separately_if_candidates_are_far_apart(monkeypatch):
    values = random_walk(9000, 3)
    steps = values[500:530]
    searched = []
    search_windows = sliding.search_windows
    monkeypatch.setattr(
        sliding, "search_windows", lambda *given: searched.append(len(given[1].cells)) or search_windows(*given)
    )
    monkeypatch.setattr(sliding, "_SEPARATE_CELLS", 7 * 12 * 3)
    scattered, dense = WindowBank(values, 12, fraction=0.01), WindowBank(values, 12)
    for bank in (scattered, dense):
        expected = bank.nearest(windows_of(steps, 12), [0, 1, 2], 4, exclude=20, at=500 + np.arange(19), method="scan")
        assert_equal(bank.nearest_sliding(steps, [0, 1, 2], 4, exclude=20, at=500), expected)
    assert searched == [7, 7, 5]  # seven windows at a time, and none for the dense bank


@pytest.mark.parametrize("lookback", [5, 20, 70])
def test_many_short_series_share_tiles(lookback):
    rng = np.random.default_rng(lookback)
    lengths = [*rng.integers(lookback, lookback + 30, size=80).tolist(), 1500]
    values = random_walk(sum(lengths), 2)
    bank = WindowBank(values, lookback, lengths=lengths)
    assert bank.starts.tolist() == naive.all_starts(lengths, lookback)
    stream = bank.stream([0, 1], 3)
    assert len(stream._tiles) <= -(-sum(lengths) // sliding.tile_size(lookback, 2))
    smallest = lookback * sum(lengths)
    assert smallest <= stream._rings.size < 1.5 * smallest
    windows, neighbors = search_all(bank, values[300 : 300 + lookback + 2], [0, 1], 3)
    assert_twin(values, bank, windows[:1], neighbors, [0, 1], 3)


@pytest.mark.parametrize("missing", [False, True])
def test_a_stream_over_tiles_of_many_widths(missing):
    """With one long run and many single starts, each tile uses only the memory of its own width."""
    values = random_walk(30_000, 2)
    if missing:
        values[::17, 1] = np.nan
    starts = np.concatenate([np.arange(1500), np.arange(3000, 29_000, 100)])
    bank = WindowBank(values, 8, starts=starts)
    stream = bank.stream([0, 1], 3, threads=2)
    assert len(stream._tiles) > 250
    assert stream._rings.size < 8 * (1600 + 270 * 50)
    search_all(bank, values[5000:5012], [0, 1], 3, threads=2)


def test_a_stream_has_no_neighbors_before_a_whole_window():
    values = random_walk(50, 2)
    stream = WindowBank(values, 4).stream([0, 1], 2)
    for t in range(6):
        assert stream.ready == (t >= 4)
        neighbors = stream.push(values[20 + t])
        assert stream.pushed == t + 1
        assert (neighbors.index >= 0).all() == (t >= 3)
        assert np.isfinite(neighbors.distance).all() == (t >= 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_shortcut_for_simple_steps_changes_nothing(dtype):
    """Float32 steps of all variables take a shortcut; lists and float64 steps do not."""
    values = random_walk(80, 4, missing=0.1)
    bank = WindowBank(values[:60], 3)
    fast, slow = bank.stream([3, 0], 5), bank.stream([3, 0], 5)
    for step in values[60:]:
        assert_equal(fast.push(step), slow.push(step.astype(dtype)[[3, 0]]))


def test_two_streams_are_independent():
    values = random_walk(80, 2)
    bank = WindowBank(values[:60], 3)
    first, second = bank.stream([0, 1], 2), bank.stream([0, 1], 2)
    first.push(values[0])
    for t in range(60, 66):
        one, other = first.push(values[t]), second.push(values[t])
        if t >= 62:
            assert_equal(one, other)
    assert (first.pushed, second.pushed) == (7, 6)


# Long windows are summed in groups of steps


@pytest.mark.parametrize("lookback", [31, 32, 37, 40, 47])
@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("spaced", [False, True])
def test_all_searches_of_long_windows_agree_to_the_bit(lookback, holes, spaced):
    rng = np.random.default_rng(lookback)
    values = rng.normal(size=(700, 3)).cumsum(axis=0).astype(np.float32)
    if holes:
        values[rng.random(values.shape) < 0.05] = np.nan
    starts = np.arange(0, 500 - lookback, 3) if spaced else None
    bank = WindowBank(values[:500], lookback, starts=starts)
    steps, variables = values[500 : 500 + lookback + 40], np.array([0, 2])
    windows = steps[np.arange(41)[:, None] + np.arange(lookback)]
    found = bank.nearest(windows, variables, 5, 0.5, method="scan")
    others = [bank.nearest_sliding(steps, variables, 5, 0.5), bank.nearest_sliding(steps, variables, 5, 0.5, threads=2)]
    if not holes:
        others.append(bank.nearest(windows, variables, 5, 0.5, method="index"))
    stream = bank.stream(variables, 5, 0.5)
    pushed = [stream.push(step) for step in steps][lookback - 1 :]
    for other in others:
        np.testing.assert_array_equal(other.index, found.index)
        np.testing.assert_array_equal(other.distance, found.distance)
    np.testing.assert_array_equal(np.concatenate([each.distance for each in pushed]), found.distance)
    np.testing.assert_array_equal(np.concatenate([each.index for each in pushed]), found.index)
    first = naive.distances(
        values[:500, :, None].tolist(), lookback, bank.starts.tolist(), windows[0, :, :, None].tolist(), [0, 2], 0.5
    )
    np.testing.assert_allclose(found.distance[0], sorted(first)[:5], rtol=1e-5)
