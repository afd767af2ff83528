"""Checks that every bank of past windows must pass.

Each check takes a function `make_bank(values, lookback, starts=None, shared=None)`: readings [t, n], the starts of the
candidates (all by default) and shared features [t, g]. The checks use only what `subcast.retrieval.protocol.Bank`
declares. Apply them with

    @pytest.mark.parametrize("check", bank_contract.CHECKS, ids=bank_contract.name_of)
    def test_contract(check):
        check(make_bank)
"""

from __future__ import annotations

import pickle

import numpy as np

from retrieval.examples import assert_equal, random_walk, time_of_day, windows_of
from twins import retrieval_twins as naive

LOOKBACK = 4


def name_of(check):
    return check.__name__


def assert_twin(bank, values, windows, variables, k, exponent=0.5):
    """Compare `nearest` with the twin; windows [b, t, s] have only the given variables."""
    neighbors = bank.nearest(windows, np.array(variables), k, exponent)
    assert neighbors.index.shape == neighbors.distance.shape == (len(windows), k)
    starts = bank.starts.tolist()
    selected = values[:, variables, None]
    for j, window in enumerate(windows):
        every = naive.distances(selected, bank.lookback, starts, window[..., None], range(len(variables)), exponent)
        twin = naive.k_nearest(every, starts, k)
        naive.assert_same(neighbors.index[j].tolist(), neighbors.distance[j].tolist(), twin, every)


def sizes_and_starts_are_those_of_the_readings(make_bank):
    values = random_walk(60, 3)
    bank = make_bank(values, LOOKBACK)
    assert (len(bank), bank.lookback, bank.n) == (57, LOOKBACK, 3)
    assert np.array_equal(bank.starts, np.arange(57))
    few = make_bank(values, LOOKBACK, starts=[3, 9, 40])
    assert len(few) == 3
    assert np.array_equal(few.starts, [3, 9, 40])


def windows_are_the_stored_readings(make_bank):
    values = random_walk(60, 3, missing=0.1)
    bank = make_bank(values, LOOKBACK, starts=[3, 9, 40])
    windows = bank.windows(np.array([[2, 0], [-1, 1]]))
    assert windows.dtype == np.float32
    assert np.array_equal(windows[0], np.stack([values[40:44], values[3:7]]), equal_nan=True)
    assert np.isnan(windows[1, 0]).all()
    assert np.array_equal(windows[1, 1], values[9:13], equal_nan=True)


def nearest_equals_the_twin(make_bank):
    values = random_walk(150, 4)
    bank = make_bank(values[:120], LOOKBACK)
    for exponent in (0.5, 1, 2, 0.7):
        assert_twin(bank, values[:120], windows_of(values[118:], LOOKBACK)[::6][..., [3, 1]], [3, 1], 7, exponent)


def only_the_given_starts_are_candidates(make_bank):
    values = random_walk(150, 3)
    starts = [0, 5, 6, 7, 60, 110]
    bank = make_bank(values[:120], LOOKBACK, starts=starts)
    assert_twin(bank, values[:120], windows_of(values[100:112], LOOKBACK), [0, 1, 2], 6)
    own = bank.nearest(values[None, 60:64], np.arange(3), 1)
    assert (own.index[0, 0], own.distance[0, 0]) == (4, 0)


def missing_readings_equal_the_twin(make_bank):
    values = random_walk(150, 4, missing=0.2)
    bank = make_bank(values[:120], LOOKBACK)
    windows = windows_of(values[118:], LOOKBACK)[:, :, [0, 2, 3]]
    assert np.isnan(windows).any()
    assert_twin(bank, values[:120], windows, [0, 2, 3], 117)


def a_window_without_readings_has_no_neighbors(make_bank):
    bank = make_bank(random_walk(50, 2), LOOKBACK)
    neighbors = bank.nearest(np.full((1, LOOKBACK, 2), np.nan, dtype=np.float32), np.arange(2), 3)
    assert (neighbors.index == -1).all()
    assert np.isinf(neighbors.distance).all()


def candidates_without_readings_are_never_neighbors(make_bank):
    values = np.zeros((20, 1), dtype=np.float32)
    values[6:14] = np.nan
    neighbors = make_bank(values, LOOKBACK).nearest(np.zeros((1, LOOKBACK, 1), np.float32), np.array([0]), 17)
    found = neighbors.index[0][neighbors.index[0] >= 0].tolist()
    assert found == [0, 1, 2, 3, 4, 12, 13, 14, 15, 16]  # at least half of their readings are known
    assert np.isinf(neighbors.distance[0, len(found) :]).all()


def ties_are_ordered_by_index(make_bank):
    values = np.tile(np.arange(5, dtype=np.float32), 12)[:, None]
    neighbors = make_bank(values, LOOKBACK).nearest(values[None, 0:4], np.array([0]), 6)
    assert neighbors.index[0].tolist() == [0, 5, 10, 15, 20, 25]
    assert neighbors.distance[0].tolist() == [0] * 6


def constant_readings_are_all_ties(make_bank):
    values = np.full((40, 2), 1.5, dtype=np.float32)
    bank = make_bank(values, LOOKBACK)
    for level in (1.5, 3.5):
        neighbors = bank.nearest(np.full((1, LOOKBACK, 2), level, dtype=np.float32), np.arange(2), 5, 1)
        assert neighbors.index[0].tolist() == [0, 1, 2, 3, 4]
        assert neighbors.distance[0].tolist() == [level - 1.5] * 5


def duplicate_windows_are_all_found(make_bank):
    values = random_walk(60, 2)
    values[40:44] = values[20:24] = values[5:9]
    neighbors = make_bank(values, LOOKBACK).nearest(values[None, 5:9], np.arange(2), 4)
    assert neighbors.index[0, :3].tolist() == [5, 20, 40]
    assert neighbors.distance[0, :3].tolist() == [0] * 3
    assert neighbors.distance[0, 3] > 0


def k_above_the_size_leaves_positions_empty(make_bank):
    values = np.arange(8, dtype=np.float32)[:, None]
    neighbors = make_bank(values, LOOKBACK).nearest(values[None, :4], np.array([0]), 8)
    assert neighbors.index[0].tolist() == [0, 1, 2, 3, 4, -1, -1, -1]
    assert np.isfinite(neighbors.distance[0, :5]).all()
    assert np.isinf(neighbors.distance[0, 5:]).all()


def no_windows_give_an_empty_result(make_bank):
    neighbors = make_bank(random_walk(30, 2), LOOKBACK).nearest(
        np.zeros((0, LOOKBACK, 1), np.float32), np.array([1]), 3
    )
    assert neighbors.index.shape == neighbors.distance.shape == (0, 3)


def assert_three_searches(bank, steps, variables, k, exponent, shared=None):
    """Check that `nearest`, `nearest_sliding` and `stream` give identical bits."""
    shared_windows = None if shared is None else windows_of(shared, bank.lookback)
    windows = windows_of(steps, bank.lookback)
    expected = bank.nearest(windows, variables, k, exponent, shared=shared_windows)
    assert_equal(expected, bank.nearest_sliding(steps, variables, k, exponent, shared=shared))
    stream = bank.stream(variables, k, exponent)
    pushed = [stream.push(step, shared=None if shared is None else shared[t]) for t, step in enumerate(steps)]
    for j, result in enumerate(pushed[bank.lookback - 1 :]):
        assert np.array_equal(result.index[0], expected.index[j])
        assert np.array_equal(result.distance[0], expected.distance[j])


def all_searches_give_identical_bits(make_bank):
    variables = np.array([3, 0, 1])
    for missing in (0.0, 0.1):
        values = random_walk(700, 4, missing=missing)
        for starts in (None, np.arange(0, 590, 3), [1, 300, 301]):
            bank = make_bank(values[:600], LOOKBACK, starts=starts)
            for exponent in (0.5, 0.7):
                assert_three_searches(bank, values[600:620][:, variables], variables, 9, exponent)


def shared_features_count_once_for_each_reading(make_bank):
    values, time = random_walk(90, 3, missing=0.1), time_of_day(90)[:, None]
    bank = make_bank(values[:70], LOOKBACK, shared=time[:70])
    variables = np.array([0, 2])
    steps = values[70:][:, variables]
    assert_three_searches(bank, steps, variables, 6, 0.5, shared=time[70:])
    cells = np.stack([values, np.broadcast_to(time, values.shape)], axis=-1)[:, variables]
    neighbors = bank.nearest(steps[None, :LOOKBACK], variables, 6, 0.5, shared=time[None, 70 : 70 + LOOKBACK])
    every = naive.distances(cells, LOOKBACK, range(67), cells[70 : 70 + LOOKBACK], [0, 1], 0.5)
    twin = naive.k_nearest(every, range(67), 6)
    naive.assert_same(neighbors.index[0].tolist(), neighbors.distance[0].tolist(), twin, every)


def permuted_windows_give_permuted_results(make_bank):
    values = random_walk(400, 3, missing=0.05)
    bank = make_bank(values[:300], LOOKBACK)
    windows = windows_of(values[300:340], LOOKBACK)
    order = np.random.default_rng(0).permutation(len(windows))
    expected, permuted = bank.nearest(windows, np.arange(3), 5), bank.nearest(windows[order], np.arange(3), 5)
    assert np.array_equal(expected.index[order], permuted.index)
    assert np.array_equal(expected.distance[order], permuted.distance)


def a_window_alone_gives_the_same_result_as_in_a_batch(make_bank):
    values = random_walk(400, 3, missing=0.05)
    bank = make_bank(values[:300], LOOKBACK)
    windows = windows_of(values[300:340], LOOKBACK)
    together = bank.nearest(windows, np.arange(3), 5)
    for j in (0, 17, 36):
        alone = bank.nearest(windows[j : j + 1], np.arange(3), 5)
        assert np.array_equal(alone.index[0], together.index[j])
        assert np.array_equal(alone.distance[0], together.distance[j])


def the_order_of_the_variables_does_not_matter(make_bank):
    values = random_walk(200, 5)
    bank = make_bank(values[:150], LOOKBACK)
    windows = windows_of(values[150:], LOOKBACK)
    first, second = np.array([4, 0, 2]), np.array([0, 2, 4])
    assert_equal(bank.nearest(windows[..., first], first, 6), bank.nearest(windows[..., second], second, 6))


def inputs_are_not_changed(make_bank):
    values, shared = random_walk(80, 3, missing=0.1), time_of_day(80)[:, None]
    variables, starts = np.array([2, 0]), np.arange(0, 50, 2)
    steps, common = values[60:][:, variables].copy(), shared[60:].copy()
    windows, common_windows = windows_of(steps, LOOKBACK), windows_of(common, LOOKBACK)
    arrays = [values, shared, variables, starts, steps, common, windows, common_windows]
    before = [array.copy() for array in arrays]
    bank = make_bank(values, LOOKBACK, starts=starts, shared=shared)
    bank.nearest(windows, variables, 3, shared=common_windows)
    bank.nearest_sliding(steps, variables, 3, shared=common)
    stream = bank.stream(variables, 3)
    for step, one in zip(steps, common, strict=True):
        stream.push(step, shared=one)
    bank.windows(np.array([0, -1]))
    for array, copy in zip(arrays, before, strict=True):
        assert np.array_equal(array, copy, equal_nan=array.dtype.kind == "f")


def results_do_not_depend_on_earlier_searches(make_bank):
    values = random_walk(200, 3)
    bank = make_bank(values[:150], LOOKBACK)
    windows = windows_of(values[150:], LOOKBACK)
    first = bank.nearest(windows, np.arange(3), 5)
    kept = first.index.copy(), first.distance.copy()
    bank.nearest(windows[::-1], np.arange(3), 9, 2)
    bank.nearest_sliding(values[150:], np.arange(3), 5)
    assert_equal(bank.nearest(windows, np.arange(3), 5), first)
    assert np.array_equal(first.index, kept[0])
    assert np.array_equal(first.distance, kept[1])


def streams_are_independent(make_bank):
    values = random_walk(200, 3)
    bank = make_bank(values[:150], LOOKBACK)
    first, second = bank.stream(np.arange(3), 5), bank.stream(np.arange(3), 5)
    expected = bank.nearest_sliding(values[150:170], np.arange(3), 5)
    for t in range(150, 170):
        second.push(values[t - 100])
        result = first.push(values[t])
        if t - 150 >= LOOKBACK - 1:
            assert np.array_equal(result.index[0], expected.index[t - 150 - LOOKBACK + 1])
            assert np.array_equal(result.distance[0], expected.distance[t - 150 - LOOKBACK + 1])


def a_pickled_bank_gives_identical_results(make_bank):
    values, shared = random_walk(120, 3, missing=0.05), time_of_day(120)[:, None]
    bank = make_bank(values, LOOKBACK, starts=np.arange(0, 100, 2), shared=shared)
    windows, common = windows_of(values[100:], LOOKBACK), windows_of(shared[100:], LOOKBACK)
    expected = bank.nearest(windows, np.arange(3), 5, shared=common)
    copy = pickle.loads(pickle.dumps(bank))
    assert len(copy) == len(bank)
    assert_equal(copy.nearest(windows, np.arange(3), 5, shared=common), expected)
    sliding = copy.nearest_sliding(values[100:], np.arange(3), 5, shared=shared[100:])
    assert_equal(sliding, expected)
    assert np.array_equal(copy.windows(np.array([0, 7])), bank.windows(np.array([0, 7])), equal_nan=True)


def the_fingerprint_identifies_the_windows(make_bank):
    values = random_walk(60, 2)
    bank = make_bank(values, LOOKBACK, starts=[3, 9, 40])
    fingerprint = bank.fingerprint()
    assert isinstance(fingerprint, str)
    bank.nearest(values[None, :LOOKBACK], np.arange(2), 2)
    assert bank.fingerprint() == fingerprint
    assert make_bank(values.copy(), LOOKBACK, starts=[3, 9, 40]).fingerprint() == fingerprint
    assert pickle.loads(pickle.dumps(bank)).fingerprint() == fingerprint
    changed = values.copy()
    changed[41, 1] += 1
    others = [
        make_bank(changed, LOOKBACK, starts=[3, 9, 40]),
        make_bank(values, LOOKBACK, starts=[3, 9, 41]),
        make_bank(values, LOOKBACK + 1, starts=[3, 9, 40]),
        make_bank(values, LOOKBACK, starts=[3, 9, 40], shared=time_of_day(60)[:, None]),
    ]
    assert len({fingerprint, *(other.fingerprint() for other in others)}) == 5


CHECKS = [
    sizes_and_starts_are_those_of_the_readings,
    windows_are_the_stored_readings,
    nearest_equals_the_twin,
    only_the_given_starts_are_candidates,
    missing_readings_equal_the_twin,
    a_window_without_readings_has_no_neighbors,
    candidates_without_readings_are_never_neighbors,
    ties_are_ordered_by_index,
    constant_readings_are_all_ties,
    duplicate_windows_are_all_found,
    k_above_the_size_leaves_positions_empty,
    no_windows_give_an_empty_result,
    all_searches_give_identical_bits,
    shared_features_count_once_for_each_reading,
    permuted_windows_give_permuted_results,
    a_window_alone_gives_the_same_result_as_in_a_batch,
    the_order_of_the_variables_does_not_matter,
    inputs_are_not_changed,
    results_do_not_depend_on_earlier_searches,
    streams_are_independent,
    a_pickled_bank_gives_identical_results,
    the_fingerprint_identifies_the_windows,
]
