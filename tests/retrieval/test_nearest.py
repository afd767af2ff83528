"""The three searches against the twin, and against one another to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcast.retrieval import WindowBank
from twins import retrieval_twins as naive

EXPONENTS = [0.5, 1, 2, 1 / 3, 0.33, 0.8, 3.0]


def cells(values):
    """Give [t, n] a feature axis."""
    return values if values.ndim == 3 else values[..., None]


def search_all(bank, steps, variables, k, exponent, **options):
    """Ask the three searches about the same consecutive steps; they must agree to the bit."""
    p = bank.lookback
    windows = np.stack([steps[j : j + p] for j in range(len(steps) - p + 1)])
    at = options.pop("at", None)
    every_at = None if at is None else at + np.arange(len(windows))
    first = bank.nearest(windows, variables, k, exponent, at=every_at, method="scan", **options)
    second = bank.nearest_sliding(steps, variables, k, exponent, at=at, **options)
    stream = bank.stream(variables, k, exponent, at=at, **options)
    pushed = [stream.push(step) for step in steps][p - 1 :]
    assert np.array_equal(first.index, second.index)
    assert np.array_equal(first.distance, second.distance)
    assert np.array_equal(first.index, np.concatenate([one.index for one in pushed]))
    assert np.array_equal(first.distance, np.concatenate([one.distance for one in pushed]))
    return windows, first


def check_against_twin(values, lengths, bank, windows, found, variables, k, exponent, min_overlap=0.5, barred=None):
    starts = bank.starts.tolist()
    for j, window in enumerate(windows):
        every = naive.distances(cells(values), bank.lookback, starts, cells(window), variables, exponent, min_overlap)
        bars = () if barred is None else barred[j]
        twin = naive.nearest(
            cells(values), bank.lookback, starts, cells(window), variables, k, exponent, min_overlap, bars
        )
        naive.assert_same(found.index[j].tolist(), found.distance[j].tolist(), twin, every)


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, lookback = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    lengths = draw(st.lists(st.integers(lookback, 30), min_size=1, max_size=3))
    f = draw(st.integers(1, 3))
    kind = draw(st.sampled_from(["normal", "whole", "constant", "repeating"]))
    total = sum(lengths)
    shape = (total + lookback + 3, n, f) if f > 1 else (total + lookback + 3, n)
    if kind == "normal":
        values = rng.normal(size=shape)
    elif kind == "whole":
        values = rng.integers(0, 4, size=shape)
    elif kind == "constant":
        values = np.full(shape, 1.5)
    else:
        values = np.resize(rng.normal(size=(lookback + 1, *shape[1:])), shape)
    values = values.astype(np.float32)
    if draw(st.booleans()):
        values[rng.random(size=shape) < draw(st.sampled_from([0.05, 0.4]))] = np.nan
    variables = rng.permutation(n)[: draw(st.integers(1, n))].tolist()
    k = draw(st.integers(1, total))
    return values, lengths, lookback, variables, k


@settings(deadline=None, max_examples=60)
@given(problems(), st.sampled_from(EXPONENTS), st.sampled_from([0.0, 0.5, 1.0]), st.integers(1, 3))
def test_all_searches_are_the_twin(problem, exponent, min_overlap, threads):
    values, lengths, lookback, variables, k = problem
    bank = WindowBank(values[: sum(lengths)], lookback, lengths=lengths)
    assert bank.starts.tolist() == naive.all_starts(lengths, lookback)
    steps = values[sum(lengths) :]
    windows, found = search_all(bank, steps, variables, k, exponent, min_overlap=min_overlap, threads=threads)
    check_against_twin(values, lengths, bank, windows, found, variables, k, exponent, min_overlap)


@settings(deadline=None, max_examples=25)
@given(problems(), st.floats(0.05, 1.0), st.integers(0, 9))
def test_scattered_candidates(problem, share, exclude):
    values, lengths, lookback, variables, k = problem
    rng = np.random.default_rng(k)
    every = np.array(naive.all_starts(lengths, lookback))
    starts = every[rng.random(every.size) < share]
    if starts.size == 0:
        starts = every[:1]
    bank = WindowBank(values[: sum(lengths)], lookback, lengths=lengths, starts=starts)
    steps = values[: lookback + 2]
    windows, found = search_all(bank, steps, variables, k, 0.5, exclude=exclude, at=0)
    bounds = np.concatenate([[0], np.cumsum(lengths)])

    def barred(j):
        series = np.searchsorted(bounds, j, side="right") - 1
        return [t for t in range(bounds[series], bounds[series + 1]) if abs(t - j) < exclude]

    check_against_twin(
        values, lengths, bank, windows, found, variables, k, 0.5,
        barred=[barred(j) if j < bounds[-1] else [] for j in range(len(windows))],
    )  # fmt: skip


@pytest.mark.parametrize("sparse", [False, True])
def test_many_tiles(sparse):
    rng = np.random.default_rng(3)
    values = np.cumsum(rng.normal(size=(5000, 5)), axis=0).astype(np.float32)
    starts = np.sort(rng.choice(4000, size=300, replace=False)) if sparse else None
    bank = WindowBank(values[:4500], 7, starts=starts)
    assert bank.sparse == sparse
    steps = values[4490:4520]
    for threads in (1, 2, 3):
        windows, found = search_all(bank, steps, [0, 3, 4], 11, 0.5, threads=threads)
    check_against_twin(values, None, bank, windows[:2], found, [0, 3, 4], 11, 0.5)


def test_order_of_variables_does_not_matter():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(200, 6)).astype(np.float32)
    bank = WindowBank(values[:150], 5)
    one = bank.nearest(values[None, 150:155], [4, 1, 2], 9)
    other = bank.nearest(values[None, 150:155], [1, 2, 4], 9)
    assert np.array_equal(one.index, other.index)
    assert np.array_equal(one.distance, other.distance)


def test_windows_over_the_named_variables_only():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(200, 6)).astype(np.float32)
    bank = WindowBank(values[:150], 5, names=list("abcdef"))
    full = bank.nearest(values[None, 150:155], ["e", "b"], 4)
    narrow = bank.nearest(values[None, 150:155, [4, 1]], ["e", "b"], 4)
    assert np.array_equal(full.index, narrow.index)
    assert np.array_equal(full.distance, narrow.distance)
    assert full.index[0].tolist() != bank.nearest(values[None, 150:155], ["a"], 4).index[0].tolist()


def test_ties_go_to_the_lower_index():
    values = np.tile(np.arange(4, dtype=np.float32), 10)[:, None]
    found = WindowBank(values, 4).nearest(values[None, 0:4], [0], 5)
    assert found.index[0].tolist() == [0, 4, 8, 12, 16]
    assert found.distance[0].tolist() == [0] * 5


def near_tie(seed):
    """Return two windows [t, n]: the same readings in another order, one of them a rounding step further from 0."""
    rng = np.random.default_rng(seed)
    first = rng.uniform(0.1, 3, size=18).astype(np.float32)
    second = rng.permutation(first)
    second[0] = np.nextafter(second[0], np.float32(9))
    return first.reshape(6, 3), second.reshape(6, 3)


@pytest.mark.parametrize("exponent", [0.5, 1, 0.8])
def test_near_ties_come_in_one_order_everywhere(exponent):
    """Candidates nearer to each other than rounding: both are found, and all searches agree on their order."""
    query = np.zeros((6, 3), dtype=np.float32)
    turned = 0
    for seed in range(40):
        nearer, further = near_tie(seed)
        exact = [naive.compare(cells(query), cells(one), exponent)[0] / 18 for one in (nearer, further)]
        assert exact[0] < exact[1] < exact[0] * (1 + 2e-7)
        pair = [further, nearer] if seed % 2 else [nearer, further]
        far = np.full((6, 3), 9, dtype=np.float32)
        bank = WindowBank([*pair, far], 6)
        answers = [search_all(bank, query, [0, 1, 2], 2, exponent, threads=threads)[1] for threads in (1, 2, 1)]
        answers.append(bank.nearest(query[None], [0, 1, 2], 2, exponent, method="index"))
        for found in answers:
            assert sorted(found.index[0].tolist()) == [0, 1]
            assert np.array_equal(found.index, answers[0].index)
            assert np.array_equal(found.distance, answers[0].distance)
            assert found.distance[0].tolist() == pytest.approx(exact, rel=1e-6)
            if found.distance[0, 0] == found.distance[0, 1]:
                assert found.index[0].tolist() == [0, 1]
        rounded = answers[0].distance[0]
        turned += int(rounded[0] < rounded[1] and answers[0].index[0, 0] != seed % 2)
    assert turned > 0, "no pair whose rounded order differs from the exact one: the test has lost its subject"


def test_k_above_the_bank_leaves_empty_places():
    values = np.arange(6, dtype=np.float32)[:, None]
    found = WindowBank(values, 2).nearest(values[None, :2], [0], 8)
    assert found.index[0].tolist() == [0, 1, 2, 3, 4, -1, -1, -1]
    assert np.isinf(found.distance[0, 5:]).all()
    assert found.found.sum() == 5


def test_no_windows_is_an_empty_answer():
    bank = WindowBank(np.zeros((9, 2)), 3)
    found = bank.nearest(np.zeros((0, 3, 2)), [0], 2)
    assert found.index.shape == (0, 2)
    assert len(found) == 0


def test_a_set_of_variables_for_each_window():
    rng = np.random.default_rng(5)
    values = rng.normal(size=(120, 4)).astype(np.float32)
    bank = WindowBank(values[:100], 3)
    windows = np.stack([values[j : j + 3] for j in range(100, 110)])
    sets = rng.random((10, 4)) < 0.5
    sets[0], sets[1], sets[2] = sets[3], True, False
    found = bank.nearest(windows, sets, 4)
    for j in range(10):
        if not sets[j].any():
            assert (found.index[j] == -1).all()
            continue
        alone = bank.nearest(windows[j : j + 1], sets[j], 4)
        assert np.array_equal(found.index[j], alone.index[0])
        assert np.array_equal(found.distance[j], alone.distance[0])


def test_own_distance():
    rng = np.random.default_rng(6)
    values = rng.normal(size=(60, 3)).astype(np.float32)
    bank = WindowBank(values[:50], 4)
    windows = np.stack([values[50:54], values[53:57]])

    def mean_root(one, other):
        assert one.shape == other.shape == (4, 2)
        return float(np.sqrt(np.abs(one - other)).mean())

    own = bank.nearest(windows, [2, 0], 60, distance=mean_root)
    usual = bank.nearest(windows, [2, 0], 60)
    assert np.array_equal(own.index, usual.index)
    assert np.allclose(own.distance, usual.distance, rtol=1e-5)
    picky = bank.nearest(windows, [0], 3, distance=lambda one, other: np.nan)
    assert (picky.index == -1).all()


@settings(deadline=None, max_examples=25)
@given(problems(), st.sampled_from(EXPONENTS))
def test_rank_and_distances(problem, exponent):
    values, lengths, lookback, variables, k = problem
    bank = WindowBank(values[: sum(lengths)], lookback, lengths=lengths)
    windows = np.stack([values[-lookback:], values[:lookback]])
    every = bank.distances(windows, variables, exponent)
    for j in range(2):
        twin = naive.distances(cells(values), lookback, bank.starts.tolist(), cells(windows[j]), variables, exponent)
        assert np.allclose(every[j], twin, rtol=2e-5, atol=1e-7)
    index = np.array([[0, len(bank) - 1], [k % len(bank), 0]])
    places = bank.rank(windows, variables, index, exponent)
    for j in range(2):
        assert places[j].tolist() == [naive.rank(every[j].tolist(), i) for i in index[j]]
    assert np.array_equal(bank.rank(windows, variables, index[:, 0], exponent), places[:, 0])
    found = bank.nearest(windows, variables, len(bank), exponent, method="scan")
    for j in range(2):
        for place, i in enumerate(found.index[j]):
            if i >= 0:
                assert found.distance[j, place] == every[j, i]


def test_inputs_are_left_alone():
    rng = np.random.default_rng(7)
    values, windows = rng.normal(size=(60, 3)), rng.normal(size=(2, 4, 3))
    values[5, 1] = windows[0, 2, 0] = np.nan
    before = values.copy(), windows.copy()
    bank = WindowBank(values, 4, mask=np.ones((60, 3), dtype=bool))
    bank.nearest(windows, [0, 2], 2, mask=np.ones((2, 4, 3), dtype=bool))
    assert np.array_equal(values, before[0], equal_nan=True)
    assert np.array_equal(windows, before[1], equal_nan=True)
