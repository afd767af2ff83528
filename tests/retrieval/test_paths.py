"""Which way a search goes: scattered candidates, many short series, parts of a batch; the answers are the same."""

from __future__ import annotations

import numpy as np
import pytest

from subcast.errors import InputError
from subcast.retrieval import WindowBank, search, sliding
from subcast.retrieval.layout import steps_read, tiles_of
from twins import retrieval_twins as naive


def walk(t, n, seed=0):
    return np.cumsum(np.random.default_rng(seed).normal(size=(t, n)), axis=0).astype(np.float32)


def as_windows(steps, lookback):
    return np.stack([steps[j : j + lookback] for j in range(len(steps) - lookback + 1)])


def assert_equal(one, other):
    assert np.array_equal(one.index, other.index)
    assert np.array_equal(one.distance, other.distance)


def all_answers(bank, steps, variables, k, **options):
    """Return what the searches say about the same windows, by every name."""
    windows = as_windows(steps, bank.lookback)
    stream = bank.stream(variables, k, **options)
    pushed = [stream.push(step) for step in steps][bank.lookback - 1 :]
    together = bank.nearest(windows, variables, k, method="scan", **options)
    alone = [bank.nearest(window[None], variables, k, method="scan", **options) for window in windows]
    slid = bank.nearest_sliding(steps, variables, k, **options)
    for j in range(len(windows)):
        assert np.array_equal(together.index[j], alone[j].index[0])
        assert np.array_equal(together.distance[j], alone[j].distance[0])
        assert np.array_equal(together.index[j], pushed[j].index[0])
        assert np.array_equal(together.distance[j], pushed[j].distance[0])
    assert_equal(together, slid)
    return windows, together


@pytest.mark.parametrize(
    ("fraction", "sparse"), [(None, False), (0.9, False), (0.3, True), (0.1, True), (0.03, True), (0.005, True)]
)
def test_sparse_however_far_apart(fraction, sparse):
    assert WindowBank(walk(6000, 2), 12, fraction=fraction).sparse == sparse


def test_few_windows_side_by_side_are_not_sparse():
    for candidates in (1, 5, 40, 257):
        assert not WindowBank(walk(candidates + 11, 2), 12).sparse


def test_gathering_pays_for_more_windows_sooner():
    bank = WindowBank(walk(6000, 2), 12, fraction=0.3)
    assert not search.gathers(bank, 1)
    assert search.gathers(bank, 64)
    assert search.gathers(WindowBank(walk(6000, 2), 12, fraction=0.01), 1)
    assert not search.gathers(WindowBank(walk(6000, 2), 12), 10**6)


def test_lone_starts_cost_a_vector_and_a_tile_each():
    assert steps_read(tiles_of(np.arange(64), 64)) < steps_read(tiles_of(np.arange(0, 64_000, 1000), 64)) / 20


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("fraction", [0.3, 0.1, 0.01])
def test_scattered_candidates_are_the_twin(fraction, holes):
    values = walk(3000, 4)
    if holes:
        values[np.random.default_rng(1).random(values.shape) < 0.1] = np.nan
    bank = WindowBank(values, 7, fraction=fraction)
    steps = values[500:515]
    windows, found = all_answers(bank, steps, [0, 3], 5, exclude=0)
    every = bank.distances(windows, [0, 3])
    for j in (0, 8):
        twin = naive.distances(values[..., None], 7, bank.starts.tolist(), windows[j][..., None], [0, 3], 0.5)
        assert np.allclose(every[j], twin, rtol=2e-5, atol=1e-6)
        pairs = sorted((d, i) for i, d in enumerate(twin) if np.isfinite(d))[:5]
        naive.assert_same(found.index[j].tolist(), found.distance[j].tolist(), pairs, twin)


@pytest.mark.parametrize("holes", [False, True])
def test_gathered_and_scanned_distances_are_equal(monkeypatch, holes):
    values = walk(3000, 9)
    if holes:
        values[np.random.default_rng(1).random(values.shape) < 0.1] = np.nan
    bank = WindowBank(values, 7, fraction=0.3)
    steps = values[500:540]
    answers, distances = [], []
    for gathered in (False, True):
        monkeypatch.setattr(search, "gathers", lambda bank, b, gathered=gathered: gathered)
        windows, found = all_answers(bank, steps, [0, 1, 2, 5, 8], 6, threads=2)
        answers.append(found)
        distances.append(bank.distances(windows, [0, 1, 2, 5, 8], threads=2))
    assert_equal(*answers)
    assert np.array_equal(*distances)


def test_sliding_over_lone_candidates_asks_for_each_window(monkeypatch):
    values = walk(9000, 3)
    steps = values[500:530]
    asked = []
    plain = sliding.search_windows
    monkeypatch.setattr(sliding, "search_windows", lambda *given: asked.append(len(given[1].cells)) or plain(*given))
    monkeypatch.setattr(sliding, "_APART_CELLS", 7 * 12 * 3)
    lone, dense = WindowBank(values, 12, fraction=0.01), WindowBank(values, 12)
    for bank in (lone, dense):
        options = {"exclude": 20, "at": 500}
        each = bank.nearest(as_windows(steps, 12), [0, 1, 2], 4, exclude=20, at=500 + np.arange(19), method="scan")
        assert_equal(bank.nearest_sliding(steps, [0, 1, 2], 4, **options), each)
    assert asked == [7, 7, 5]  # seven windows at a time, and none for the dense bank


@pytest.mark.parametrize("lookback", [5, 20, 70])
def test_many_short_series_share_tiles(lookback):
    rng = np.random.default_rng(lookback)
    lengths = [*rng.integers(lookback, lookback + 30, size=200).tolist(), 1500]
    values = walk(sum(lengths), 2)
    bank = WindowBank(values, lookback, lengths=lengths)
    assert bank.starts.tolist() == naive.all_starts(lengths, lookback)
    stream = bank.stream([0, 1], 3)
    size = sliding.tile_size(lookback, 2)
    assert len(stream._tiles) <= -(-sum(lengths) // size)
    needed = lookback * sum(lengths)
    assert needed <= stream._rings.size < 1.5 * needed
    steps = values[300 : 300 + lookback + 2]
    windows, found = all_answers(bank, steps, [0, 1], 3)
    twin = naive.nearest(
        values[..., None].tolist(), lookback, bank.starts.tolist(), windows[1][..., None].tolist(), [0, 1], 3, 0.5
    )
    every = bank.distances(windows[1:2], [0, 1])[0].tolist()
    naive.assert_same(found.index[1].tolist(), found.distance[1].tolist(), twin, every)


@pytest.mark.parametrize("holes", [False, True])
def test_a_stream_over_tiles_of_many_widths(holes):
    """One long run and many lone starts: each tile keeps no more than its own width."""
    values = walk(30_000, 2)
    if holes:
        values[::17, 1] = np.nan
    starts = np.concatenate([np.arange(1500), np.arange(3000, 29_000, 100)])
    bank = WindowBank(values, 8, starts=starts)
    stream = bank.stream([0, 1], 3, threads=2)
    assert len(stream._tiles) > 250
    assert stream._rings.size < 8 * (1600 + 270 * 50)
    all_answers(bank, values[5000:5012], [0, 1], 3, threads=2)


@pytest.mark.parametrize("short", [np.zeros((2, 3, 1)), np.zeros(()), np.zeros((5, 3, 1))])
def test_a_part_for_each_window_is_needed(short):
    values = walk(60, 2)
    bank = WindowBank(values, 3, shared=np.arange(60.0)[:, None])
    windows = np.stack([values[j : j + 3] for j in range(4)])
    sets = np.array([[True, False], [False, True], [True, True], [True, False]])
    with pytest.raises(InputError, match="shared must have one entry for each of the 4 windows, got shape"):
        bank.nearest(windows, sets, 2, shared=short)
    with pytest.raises(InputError, match="mask must have one entry for each of the 4 windows, got shape"):
        bank.distances(windows, sets, shared=np.zeros((4, 3, 1)), mask=np.ones((1, 3, 2), dtype=bool))


@pytest.mark.parametrize("kind", ["walk", "ties", "holes", "sparse"])
def test_a_limit_handed_to_all_threads_changes_nothing(monkeypatch, kind):
    """The newest tiles are scanned first; what the other threads then pass over was no neighbor."""
    monkeypatch.setattr(search, "_FIRST_TILES", 4)
    values = walk(3600, 15)
    if kind == "ties":
        values = np.resize(np.round(walk(70, 15)), values.shape).astype(np.float32)
    if kind == "holes":
        values[np.random.default_rng(1).random(values.shape) < 0.1] = np.nan
    bank = WindowBank(values, 6, starts=np.arange(0, 3500, 2) if kind == "sparse" else None)
    scanned = []
    plain = search._scan
    monkeypatch.setattr(search, "_scan", lambda *given: scanned.append(len(given[2].tiles)) or plain(*given))
    window = values[None, 3400:3406]
    tiles = len(bank.tiles(search.TILE))
    for k in (1, 50, 1000, 4000):
        options = {"exclude": 9, "at": [3400], "method": "scan"}
        alone = bank.nearest(window, range(15), k, threads=1, **options)
        scanned.clear()
        shared = bank.nearest(window, range(15), k, threads=3, **options)
        assert_equal(alone, shared)
        assert len(scanned) == 4
        assert scanned[0] == tiles // 4
        assert sum(scanned) == tiles
