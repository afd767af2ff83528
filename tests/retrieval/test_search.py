"""Search for independent windows: against the twin, and the parts of the search one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.examples import (
    EXPONENTS,
    assert_equal,
    assert_twin,
    problems,
    random_walk,
    search_all,
    windows_of,
    with_features,
)
from subcast.errors import InputError
from subcast.retrieval import WindowBank, search
from twins import retrieval_twins as naive


@settings(max_examples=60)
@given(problems(), st.sampled_from(EXPONENTS), st.sampled_from([0.0, 0.5, 1.0]), st.integers(1, 3))
def test_all_searches_equal_the_twin(problem, exponent, min_overlap, threads):
    values, lengths, lookback, variables, k = problem
    bank = WindowBank(values[: sum(lengths)], lookback, lengths=lengths)
    assert bank.starts.tolist() == naive.all_starts(lengths, lookback)
    steps = values[sum(lengths) :]
    windows, neighbors = search_all(bank, steps, variables, k, exponent, min_overlap=min_overlap, threads=threads)
    assert_twin(values, bank, windows, neighbors, variables, k, exponent, min_overlap)


@settings(max_examples=25)
@given(problems(), st.floats(0.05, 1.0), st.integers(0, 9))
def test_searches_of_scattered_candidates_equal_the_twin(problem, share, exclude):
    values, lengths, lookback, variables, k = problem
    rng = np.random.default_rng(k)
    every = np.array(naive.all_starts(lengths, lookback))
    starts = every[rng.random(every.size) < share]
    if starts.size == 0:
        starts = every[:1]
    bank = WindowBank(values[: sum(lengths)], lookback, lengths=lengths, starts=starts)
    windows, neighbors = search_all(bank, values[: lookback + 2], variables, k, exclude=exclude, at=0)
    excluded = [naive.excluded_starts(j, exclude, lengths) for j in range(len(windows))]
    assert_twin(values, bank, windows, neighbors, variables, k, excluded=excluded)


@pytest.mark.parametrize("sparse", [False, True])
def test_many_tiles(sparse):
    rng = np.random.default_rng(3)
    values = random_walk(5000, 5, seed=3)
    starts = np.sort(rng.choice(4000, size=300, replace=False)) if sparse else None
    bank = WindowBank(values[:4500], 7, starts=starts)
    assert bank.sparse == sparse
    for threads in (1, 2, 3):
        windows, neighbors = search_all(bank, values[4490:4520], [0, 3, 4], 11, threads=threads)
    assert_twin(values, bank, windows[:2], neighbors, [0, 3, 4], 11)


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("fraction", [0.3, 0.1, 0.01])
def test_fractions_equal_the_twin(fraction, missing):
    values = random_walk(3000, 4, missing=missing)
    bank = WindowBank(values, 7, fraction=fraction)
    windows, neighbors = search_all(bank, values[500:515], [0, 3], 5)
    every = bank.distances(windows, [0, 3])
    for j in (0, 8):
        twin = naive.distances(with_features(values), 7, bank.starts.tolist(), windows[j][..., None], [0, 3], 0.5)
        assert np.allclose(every[j], twin, rtol=2e-5, atol=1e-6)
        pairs = sorted((d, i) for i, d in enumerate(twin) if np.isfinite(d))[:5]
        naive.assert_same(neighbors.index[j].tolist(), neighbors.distance[j].tolist(), pairs, twin)


def near_tie(seed):
    """Return two windows [t, n]: the same readings in another order, one of them a rounding step further from 0."""
    rng = np.random.default_rng(seed)
    first = rng.uniform(0.1, 3, size=18).astype(np.float32)
    second = rng.permutation(first)
    second[0] = np.nextafter(second[0], np.float32(9))
    return first.reshape(6, 3), second.reshape(6, 3)


@pytest.mark.parametrize("exponent", [0.5, 1, 0.8])
def test_all_searches_order_near_ties_equally(exponent):
    """Both of two candidates that differ by less than rounding are found, in the same order by all searches."""
    query = np.zeros((6, 3), dtype=np.float32)
    swapped = 0
    for seed in range(40):
        nearer, further = near_tie(seed)
        exact = [naive.compare(query[..., None], one[..., None], exponent)[0] / 18 for one in (nearer, further)]
        assert exact[0] < exact[1] < exact[0] * (1 + 2e-7)
        pair = [further, nearer] if seed % 2 else [nearer, further]
        far = np.full((6, 3), 9, dtype=np.float32)
        bank = WindowBank([*pair, far], 6)
        results = [search_all(bank, query, [0, 1, 2], 2, exponent, threads=threads)[1] for threads in (1, 2, 1)]
        results.append(bank.nearest(query[None], [0, 1, 2], 2, exponent, method="index"))
        for result in results:
            assert sorted(result.index[0].tolist()) == [0, 1]
            assert_equal(result, results[0])
            assert result.distance[0].tolist() == pytest.approx(exact, rel=1e-6)
            if result.distance[0, 0] == result.distance[0, 1]:
                assert result.index[0].tolist() == [0, 1]
        rounded = results[0].distance[0]
        swapped += int(rounded[0] < rounded[1] and results[0].index[0, 0] != seed % 2)
    assert swapped > 0, "rounding never swapped a pair, so this test shows nothing"


def test_order_of_variables_does_not_matter():
    values = random_walk(200, 6)
    bank = WindowBank(values[:150], 5)
    window = values[None, 150:155]
    assert_equal(bank.nearest(window, [4, 1, 2], 9), bank.nearest(window, [1, 2, 4], 9))


def test_windows_with_only_the_given_variables():
    values = random_walk(200, 6)
    bank = WindowBank(values[:150], 5, names=list("abcdef"))
    full = bank.nearest(values[None, 150:155], ["e", "b"], 4)
    assert_equal(full, bank.nearest(values[None, 150:155, [4, 1]], ["e", "b"], 4))
    assert full.index[0].tolist() != bank.nearest(values[None, 150:155], ["a"], 4).index[0].tolist()


def test_no_windows_give_an_empty_result():
    neighbors = WindowBank(np.zeros((9, 2)), 3).nearest(np.zeros((0, 3, 2)), [0], 2)
    assert neighbors.index.shape == neighbors.distance.shape == (0, 2)
    assert len(neighbors) == 0


def test_one_set_of_variables_for_each_window():
    rng = np.random.default_rng(5)
    values = rng.normal(size=(120, 4)).astype(np.float32)
    bank = WindowBank(values[:100], 3)
    windows = np.stack([values[j : j + 3] for j in range(100, 110)])
    sets = rng.random((10, 4)) < 0.5
    sets[0], sets[1], sets[2] = sets[3], True, False
    neighbors = bank.nearest(windows, sets, 4)
    for j in range(10):
        if not sets[j].any():
            assert (neighbors.index[j] == -1).all()
            continue
        alone = bank.nearest(windows[j : j + 1], sets[j], 4)
        assert np.array_equal(neighbors.index[j], alone.index[0])
        assert np.array_equal(neighbors.distance[j], alone.distance[0])


def test_windows_are_grouped_by_their_set_of_variables():
    bank = WindowBank(np.zeros((9, 3)), 3)
    mask = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0], [1, 0, 1]], dtype=bool)
    groups = {
        tuple(indices.tolist()): members.tolist() for members, indices in search.group_by_variables(bank, mask, 4)
    }
    assert groups == {(0, 2): [0, 3], (1,): [2]}


def test_own_distance():
    values = np.random.default_rng(6).normal(size=(60, 3)).astype(np.float32)
    bank = WindowBank(values[:50], 4)
    windows = np.stack([values[50:54], values[53:57]])

    def mean_root(one, other):
        assert one.shape == other.shape == (4, 2)
        return float(np.sqrt(np.abs(one - other)).mean())

    for k in (3, 60):
        own = bank.nearest(windows, [2, 0], k, distance=mean_root)
        usual = bank.nearest(windows, [2, 0], k)
        assert np.array_equal(own.index, usual.index)
        assert np.allclose(own.distance, usual.distance, rtol=1e-5)
    excluded = bank.nearest(windows, [0], 3, distance=lambda one, other: 1.0, exclude=3, at=[1, 9])
    assert excluded.index.tolist() == [[4, 5, 6], [0, 1, 2]]
    none = bank.nearest(windows, [0], 3, distance=lambda one, other: np.nan)
    assert (none.index == -1).all()


@settings(max_examples=25)
@given(problems(), st.sampled_from(EXPONENTS))
def test_distances_and_ranks_equal_the_twin(problem, exponent):
    values, lengths, lookback, variables, k = problem
    bank = WindowBank(values[: sum(lengths)], lookback, lengths=lengths)
    windows = np.stack([values[-lookback:], values[:lookback]])
    every = bank.distances(windows, variables, exponent)
    for j in range(2):
        twin = naive.distances(
            with_features(values), lookback, bank.starts.tolist(), with_features(windows[j]), variables, exponent
        )
        assert np.allclose(every[j], twin, rtol=2e-5, atol=1e-7)
    index = np.array([[0, len(bank) - 1], [k % len(bank), 0]])
    ranks = bank.rank(windows, variables, index, exponent)
    for j in range(2):
        assert ranks[j].tolist() == [naive.rank(every[j].tolist(), i) for i in index[j]]
    assert np.array_equal(bank.rank(windows, variables, index[:, 0], exponent), ranks[:, 0])
    neighbors = bank.nearest(windows, variables, len(bank), exponent, method="scan")
    for j in range(2):
        for position, i in enumerate(neighbors.index[j]):
            if i >= 0:
                assert neighbors.distance[j, position] == every[j, i]


def test_ranks_of_ties_and_infinite_distances():
    distances = np.array([[2, 1, 2, np.inf, 1, np.inf]], dtype=np.float32)
    ranks = search.ranks(distances, np.arange(6)[None])
    assert ranks.tolist() == [[3, 1, 4, 5, 2, 6]]


@pytest.mark.parametrize(("counts", "share", "needed"), [(10, 0.5, 5), (11, 0.5, 6), (10, 0.0, 1), (0, 1.0, 1)])
def test_needed_cells(counts, share, needed):
    assert search.needed_cells(np.array([counts], dtype=np.float32), share).tolist() == [needed]


def test_excluded_starts_stay_within_their_series():
    offsets = np.array([0, 10, 30])
    ranges = search.excluded_starts([0, 9, 10, 20, 30, -1], 4, 6, offsets)
    for at, (low, high) in zip([0, 9, 10, 20, 30, -1], ranges.tolist(), strict=True):
        assert list(range(low, high)) == naive.excluded_starts(at, 4, [10, 20])
    assert search.excluded_starts(None, 0, 3, offsets).tolist() == [[0, 0]] * 3


def test_gathering_pays_sooner_for_more_windows():
    bank = WindowBank(random_walk(6000, 2), 12, fraction=0.3)
    assert not search.should_gather(bank, 1)
    assert search.should_gather(bank, 64)
    assert search.should_gather(WindowBank(random_walk(6000, 2), 12, fraction=0.01), 1)
    assert not search.should_gather(WindowBank(random_walk(6000, 2), 12), 10**6)


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_gathered_and_scanned_distances_are_equal(monkeypatch, missing):
    values = random_walk(3000, 9, missing=missing)
    bank = WindowBank(values, 7, fraction=0.3)
    results, distances = [], []
    for gathered in (False, True):
        monkeypatch.setattr(search, "should_gather", lambda bank, b, gathered=gathered: gathered)
        windows, neighbors = search_all(bank, values[500:540], [0, 1, 2, 5, 8], 6, threads=2)
        results.append(neighbors)
        distances.append(bank.distances(windows, [0, 1, 2, 5, 8], threads=2))
    assert_equal(*results)
    assert np.array_equal(*distances)


@pytest.mark.parametrize("kind", ["walk", "ties", "missing", "sparse"])
def test_a_common_limit_for_all_threads_does_not_change_the_result(monkeypatch, kind):
    """The newest tiles are scanned first; the windows that the other threads skip because of them are no neighbors."""
    monkeypatch.setattr(search, "_FIRST_TILES", 4)
    values = random_walk(3600, 15, missing=0.1 if kind == "missing" else 0.0)
    if kind == "ties":
        values = np.resize(np.round(random_walk(70, 15)), values.shape).astype(np.float32)
    bank = WindowBank(values, 6, starts=np.arange(0, 3500, 2) if kind == "sparse" else None)
    scanned = []
    scan = search._scan
    monkeypatch.setattr(search, "_scan", lambda *given: scanned.append(len(given[2].tiles)) or scan(*given))
    window = values[None, 3400:3406]
    n_tiles = len(bank.tiles(search.TILE))
    for k in (1, 50, 1000, 4000):
        options = {"exclude": 9, "at": [3400], "method": "scan"}
        one_thread = bank.nearest(window, range(15), k, threads=1, **options)
        scanned.clear()
        assert_equal(one_thread, bank.nearest(window, range(15), k, threads=3, **options))
        assert len(scanned) == 4
        assert scanned[0] == n_tiles // 4
        assert sum(scanned) == n_tiles


@pytest.mark.parametrize("short", [np.zeros((2, 3, 1)), np.zeros(()), np.zeros((5, 3, 1))])
def test_shared_and_mask_need_one_entry_for_each_window(short):
    values = random_walk(60, 2)
    bank = WindowBank(values, 3, shared=np.arange(60.0)[:, None])
    windows = windows_of(values[:6], 3)
    sets = np.array([[True, False], [False, True], [True, True], [True, False]])
    with pytest.raises(InputError, match="shared must have one entry for each of the 4 windows, got shape"):
        bank.nearest(windows, sets, 2, shared=short)
    with pytest.raises(InputError, match="mask must have one entry for each of the 4 windows, got shape"):
        bank.distances(windows, sets, shared=np.zeros((4, 3, 1)), mask=np.ones((1, 3, 2), dtype=bool))


def test_missing_readings_are_no_neighbors():
    values = np.full((20, 2), 5.0)
    values[3:9] = np.nan
    values[12:14, 0] = np.nan
    bank = WindowBank(values, 2)
    neighbors = bank.nearest(np.zeros((1, 2, 2)), [0, 1], 19)
    indices = neighbors.index[0][neighbors.index[0] >= 0].tolist()
    assert not {3, 4, 5, 6, 7} & set(indices)
    assert {11, 12, 13} <= set(indices)
    assert np.isfinite(neighbors.distance[0, : len(indices)]).all()
    strict = bank.nearest(np.zeros((1, 2, 2)), [0, 1], 19, min_overlap=1.0)
    assert not set(range(2, 9)) & set(strict.index[0].tolist())
    assert not {11, 12, 13} & set(strict.index[0].tolist())


def test_a_window_without_readings_has_no_neighbors():
    windows = np.zeros((2, 3, 2))
    windows[1] = np.nan
    neighbors = WindowBank(np.zeros((20, 2)), 3).nearest(windows, [0, 1], 2)
    assert neighbors.index.tolist() == [[0, 1], [-1, -1]]
    assert np.isinf(neighbors.distance[1]).all()


def test_overlap_is_a_share_of_the_readings_of_the_window():
    values = np.zeros((4, 4))
    values[0, :2] = np.nan  # two of four
    values[1, :3] = np.nan  # one of four
    bank = WindowBank(values, 1)
    window = np.zeros((1, 1, 4))
    assert bank.nearest(window, range(4), 4, min_overlap=0.5).index[0].tolist() == [0, 2, 3, -1]
    assert bank.nearest(window, range(4), 4, min_overlap=0.51).index[0].tolist() == [2, 3, -1, -1]
    window[0, 0, :2] = np.nan  # the window has two readings, and candidate 1 has one of them
    assert bank.nearest(window, range(4), 4, min_overlap=0.5).index[0].tolist() == [0, 1, 2, 3]
