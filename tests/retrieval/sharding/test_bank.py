"""ShardedBank equals WindowBank to the bit: searches, windows, futures, units."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval import bank_contract as contract
from retrieval.examples import EXPONENTS, assert_equal, problems, random_walk, time_of_day, windows_of
from retrieval.sharding.examples import Halves, maker, new_folder, sharded
from subcast.errors import InputError
from subcast.retrieval import Bank, LagMoments, ShardedBank, WindowBank


@pytest.mark.parametrize("check", contract.CHECKS, ids=contract.name_of)
@pytest.mark.parametrize("steps", [70, 1000])
def test_contract(check, steps):
    check(maker(steps))


def test_it_is_a_bank():
    assert isinstance(sharded(WindowBank(random_walk(50, 2), 4), 20), Bank)


def assert_same_searches(bank, shards, steps, variables, k, exponent, **options):
    windows = windows_of(steps, bank.lookback)
    at = options.pop("at", None)
    starts = None if at is None else at + np.arange(len(windows))
    expected = bank.nearest(windows, variables, k, exponent, at=starts, **options)
    assert_equal(expected, shards.nearest(windows, variables, k, exponent, at=starts, **options))
    assert_equal(expected, shards.nearest_sliding(steps, variables, k, exponent, at=at, **options))
    stream = shards.stream(variables, k, exponent, at=at, **options)
    pushed = [stream.push(step) for step in steps]
    for j, result in enumerate(pushed[bank.lookback - 1 :]):
        assert np.array_equal(result.index[0], expected.index[j])
        assert np.array_equal(result.distance[0], expected.distance[j])


@settings(max_examples=60, deadline=None)
@given(problems(), st.integers(1, 40), st.sampled_from(EXPONENTS), st.integers(0, 3), st.integers(0, 2**32 - 1))
def test_every_search_equals_the_window_bank(problem, steps, exponent, exclude, seed):
    values, lengths, lookback, variables, k = problem
    total = sum(lengths)
    rng = np.random.default_rng(seed)
    bank = WindowBank(values[:total], lookback, lengths=lengths)
    if rng.random() < 0.5:
        starts = np.sort(rng.permutation(bank.starts)[: rng.integers(1, len(bank) + 1)])
        bank = WindowBank(values[:total], lookback, lengths=lengths, starts=starts)
    shards = sharded(bank, steps)
    assert np.array_equal(shards.starts, bank.starts)
    options = {"exclude": exclude, "at": 2} if exclude else {}
    assert_same_searches(bank, shards, values[total:], variables, k, exponent, **options)
    index = rng.integers(-1, len(bank), size=(3, 2))
    assert np.array_equal(bank.windows(index), shards.windows(index), equal_nan=True)
    length = int(rng.integers(1, lookback + 1))
    assert np.array_equal(bank.paths(index, variables, length), shards.paths(index, variables, length), equal_nan=True)


@pytest.mark.parametrize("missing", [0.0, 0.02])
@pytest.mark.parametrize("exponent", [0.33, 0.5, 1, 2])
def test_longer_banks_are_equal_with_the_index_and_without(missing, exponent):
    values = random_walk(30_000, 6, missing=missing)
    bank = WindowBank(values[:29_900], 12)
    shards = sharded(bank, 9_000)
    variables = np.array([5, 0, 3, 2])
    for k in (1, 10):
        assert_same_searches(bank, shards, values[29_900:29_930], variables, k, exponent)


@pytest.mark.parametrize("method", ["scan", "index"])
def test_every_method_gives_the_same(method):
    values = random_walk(3_000, 4)
    bank = WindowBank(values, 8)
    windows = windows_of(values[500:520] + 0.1, 8)
    found = sharded(bank, 700).nearest(windows, np.arange(4), 6, method=method)
    assert_equal(bank.nearest(windows, np.arange(4), 6), found)


def test_a_hole_in_one_shard_decides_the_kernel_of_all():
    values = random_walk(4_000, 4)
    values[100, 2] = np.nan  # kernels with and without holes may round differently
    bank = WindowBank(values, 12)
    shards = sharded(bank, 500)
    steps = random_walk(60, 4, seed=9)
    assert_same_searches(bank, shards, steps, np.arange(4), 20, 0.5)


def test_windows_with_a_set_of_variables_each():
    values = random_walk(400, 5, missing=0.05)
    bank = WindowBank(values[:300], 6)
    shards = sharded(bank, 90)
    windows = windows_of(values[300:], 6)
    rng = np.random.default_rng(1)
    sets = rng.random((len(windows), 5)) < 0.5
    assert_equal(bank.nearest(windows, sets, 7), shards.nearest(windows, sets, 7))


def normal_pair(steps=90, targets=None, missing=0.05):
    values = random_walk(420, 5, missing=missing)
    slots = np.arange(400) % 2
    shared = time_of_day(400)[:, None]
    bank = WindowBank(values[:400], 6, starts=np.arange(0, 380, 1), targets=targets)
    shards = sharded(bank, steps)
    return bank.normalized(Halves(5), slots, shared), shards.normalized(Halves(5), slots, shared), values


@pytest.mark.parametrize("with_targets", [False, True])
def test_normalized_banks_are_equal(with_targets):
    targets = random_walk(400, 5, seed=3, missing=0.2) if with_targets else None
    bank, shards, values = normal_pair(targets=targets)
    windows, shared = windows_of(values[400:], 6), windows_of(time_of_day(20)[:, None], 6)
    variables = np.array([0, 3])
    found = bank.nearest(windows, variables, 9, shared=shared)
    assert_equal(found, shards.nearest(windows, variables, 9, shared=shared))
    index, weights = found.index, np.random.default_rng(0).random(found.index.shape).astype(np.float32)
    everything = np.arange(5)
    assert np.array_equal(
        bank.pool_windows(index, weights, everything), shards.pool_windows(index, weights, everything)
    )
    for center in ("median", "mean"):
        ours, theirs = (each.pool_futures(index, weights, variables, 4, center) for each in (shards, bank))
        assert np.array_equal(ours, theirs)
    assert np.array_equal(bank.future_deviation(index, variables, 4), shards.future_deviation(index, variables, 4))
    assert np.array_equal(bank.windows(index), shards.windows(index), equal_nan=True)
    assert np.array_equal(bank.paths(index, variables, 10), shards.paths(index, variables, 10), equal_nan=True)


def test_moments_are_those_of_the_whole_series():
    bank, shards, _ = normal_pair()
    for lags in (10, 60):  # further than the overlap of the shards
        ours, theirs = shards.moments(lags, 3, 390), bank.moments(lags, 3, 390)
        assert np.allclose(ours.whole, theirs.whole, rtol=2e-7, atol=0)


def test_no_moment_reaches_from_one_series_into_the_next():
    bank = WindowBank([random_walk(150, 3), random_walk(90, 3, seed=1)], 6)
    ours, theirs = sharded(bank, 40).moments(10), bank.moments(10)
    assert np.allclose(ours.whole, theirs.whole, rtol=1e-6, atol=1e-6)


def test_steps_are_those_of_the_series():
    values = random_walk(300, 3, missing=0.1)
    targets = random_walk(300, 3, seed=3)
    shards = sharded(WindowBank(values, 6, targets=targets), 40)
    for first, last in ((0, 300), (39, 41), (77, 77), (299, 300)):
        assert np.array_equal(shards.steps(first, last), values[first:last], equal_nan=True)
        assert np.array_equal(shards.targets(first, last), targets[first:last])


def test_moments_of_many_variables_have_common_factors(monkeypatch):
    monkeypatch.setattr("subcast.retrieval.sharding.bank.DENSE_LIMIT", 3)
    bank, shards, _ = normal_pair()
    z = np.ascontiguousarray(bank.data[:5, 3:390].T)
    expected = LagMoments.fit(z, 10, dense_limit=3)
    ours = shards.moments(10, 3, 390)
    everything = np.arange(5)
    for lag in range(10):
        close = np.allclose(
            ours.block(lag, everything, everything), expected.block(lag, everything, everything), atol=1e-4
        )
        assert close


def test_only_the_columns_of_s_are_read():
    shards = sharded(WindowBank(random_walk(40_000, 20), 12), 10_000)
    shards.nearest(random_walk(12, 1)[None], [3], 1)
    one = shards.bytes_read
    assert 40_000 * 4 <= one < 1.3 * 40_000 * 4
    shards.nearest(random_walk(12, 1)[None], [3], 1)
    assert shards.bytes_read == one  # kept in memory
    shards.nearest(random_walk(12, 4)[None], [3, 4, 5, 6], 1)
    assert shards.bytes_read < 1.3 * 4 * 40_000 * 4


def test_memory_stays_below_the_limit_and_answers_the_same():
    values = random_walk(40_000, 8)
    bank = WindowBank(values, 12)
    shards = sharded(bank, 4_000, cache_bytes=300_000)
    windows = windows_of(values[100:120] + 0.1, 12)
    for variables in ([0, 1], [2, 3, 4], [0, 1]):
        expected = bank.nearest(windows[..., variables], variables, 5)
        assert_equal(expected, shards.nearest(windows[..., variables], variables, 5))
        assert shards.cached_bytes <= 300_000


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda bank: bank.nearest(np.zeros((1, 3, 2)), [0, 1], 1), "windows must have the bank's 4 steps"),
        (lambda bank: bank.nearest(np.zeros((1, 4, 2)), [0, 7], 1), "variables"),
        (lambda bank: bank.nearest(np.zeros((1, 4, 2)), [0, 1], 0), "k must be"),
        (lambda bank: bank.nearest(np.zeros((1, 4, 2)), [0, 1], 1, -1.0), "exponent"),
        (lambda bank: bank.nearest(np.zeros((1, 4, 2)), [0, 1], 1, threads=0), "threads"),
        (lambda bank: bank.nearest(np.zeros((1, 4, 2)), [0, 1], 1, method="fast"), "method must be one of"),
        (lambda bank: bank.nearest_sliding(np.zeros((3, 2)), [0, 1], 1), "at least 4 steps"),
        (lambda bank: bank.windows([99]), "index holds 99"),
        (lambda bank: bank.windows([0.5]), "whole numbers"),
        (lambda bank: bank.moments(4, 9, 9), "at least one step"),
        (lambda bank: bank.steps(9, 99), "between 0 and 50"),
        (lambda bank: bank.pool_futures(np.array([[0]]), np.ones((1, 1)), np.arange(2), 30), "longer horizon"),
        (lambda bank: bank.pool_futures(np.array([[46]]), np.ones((1, 1)), np.arange(2), 1), "fewer than 5 steps"),
    ],
)
def test_bad_input_is_one_sentence(call, message):
    bank = sharded(WindowBank(random_walk(50, 2), 4), 20)
    with pytest.raises(InputError, match=message):
        call(bank)


@pytest.mark.parametrize("options", [{"cache_bytes": 0}, {"patience": -1}, {"patience": True}])
def test_bad_options_are_refused(options):
    folder = new_folder()
    WindowBank(random_walk(50, 2), 4).write_shards(folder, steps=20)
    with pytest.raises(InputError, match=next(iter(options))):
        ShardedBank(folder, **options)
