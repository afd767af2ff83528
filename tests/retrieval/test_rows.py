"""Conversion of a user's arrays to the rows of a bank."""

from __future__ import annotations

import numpy as np
import pytest

from retrieval.examples import assert_equal, random_walk, time_of_day, with_time
from subcast.errors import InputError
from subcast.retrieval import WindowBank
from subcast.retrieval.rows import as_rows, join_series
from twins import retrieval_twins as naive


def test_series_are_concatenated():
    parts = [np.arange(6.0).reshape(3, 2), np.arange(4.0).reshape(2, 2)]
    joined, offsets = join_series(parts, None)
    assert joined.dtype == np.float32
    assert joined.tolist() == [[0, 1], [2, 3], [4, 5], [0, 1], [2, 3]]
    assert offsets.tolist() == [0, 3, 5]
    assert join_series(joined, [3, 2])[1].tolist() == [0, 3, 5]
    assert join_series(joined, None)[1].tolist() == [0, 5]


@pytest.mark.parametrize(
    ("values", "lengths", "sentence"),
    [
        ([np.zeros((3, 2)), np.zeros((3, 4))], None, r"got shape \(3, 2\) for series 0 and \(3, 4\) for series 1"),
        ([np.zeros((3, 2)), np.zeros((3, 2))], [3, 3], "lengths must be None when values is a list of series"),
        (np.zeros((6, 2)), [3, 2], "lengths must be whole numbers that add up to the 6 steps"),
        (np.zeros((6, 2)), [7, -1], "lengths must be whole numbers that add up to the 6 steps"),
        (np.zeros((6, 0)), None, r"at least one step and one variable, got shape \(6, 0\)"),
        (np.array([["1"]]), None, "values must be an array of numbers"),
    ],
)
def test_bad_series(values, lengths, sentence):
    with pytest.raises(InputError, match=sentence):
        join_series(values, lengths)


def test_rows_are_readings_then_own_features_then_shared_features():
    values = np.random.default_rng(0).normal(size=(5, 2, 2)).astype(np.float32)
    time, more = np.arange(5, dtype=np.float32), np.arange(5, 10, dtype=np.float32)
    cells = np.concatenate([values, np.broadcast_to(time[:, None, None], (5, 2, 1))], axis=-1)
    rows, layout, holes = as_rows(cells, more, None)
    assert layout.shared == (False, False, True, True)
    assert np.array_equal(rows, [values[:, 0, 0], values[:, 1, 0], values[:, 0, 1], values[:, 1, 1], time, more])
    assert not holes.any()


def test_a_missing_reading_makes_its_other_features_missing():
    cells = np.random.default_rng(0).normal(size=(6, 2, 2)).astype(np.float32)
    cells[1, 0, 0] = np.nan  # a reading
    cells[4, 1, 1] = np.nan  # another feature
    mask = np.ones((6, 2), dtype=bool)
    mask[2, 1] = False
    before = cells.copy()
    rows, _, holes = as_rows(cells, None, mask)
    missing = [[1], [2], [1], [2, 4]]  # of each row
    assert [np.flatnonzero(np.isnan(row)).tolist() for row in rows] == missing
    assert holes.tolist() == [True] * 4
    assert np.array_equal(cells, before, equal_nan=True)
    parts = as_rows(cells, None, [mask[:3], mask[3:]])
    assert np.array_equal(parts[0], rows, equal_nan=True)


def test_a_constant_feature_is_not_stored_as_shared():
    values, time = random_walk(60, 3), time_of_day(60)
    flag = np.zeros_like(values)
    cells = np.stack([values, flag, np.broadcast_to(time[:, None], values.shape)], axis=-1)
    bank = WindowBank(cells[:50], 4)
    assert bank.layout.shared == (False, False, True)
    windows = cells[None, 50:54].copy()
    windows[0, 2, 1, 1] = 1
    neighbors = bank.nearest(windows, [0, 1], 3)
    every = naive.distances(cells, 4, list(range(47)), windows[0], [0, 1], 0.5)
    twin = naive.nearest(cells, 4, list(range(47)), windows[0], [0, 1], 3, 0.5)
    naive.assert_same(neighbors.index[0].tolist(), neighbors.distance[0].tolist(), twin, every)


def test_shared_features_can_be_given():
    values, time = random_walk(60, 3), time_of_day(60)
    cells = np.stack([values, np.ones_like(values), np.broadcast_to(time[:, None], values.shape)], axis=-1)
    layouts = {
        "auto": (False, False, True),
        "none": (False,) * 3,
        (1,): (False, True, False),
        (1, 2): (False, True, True),
    }
    results = []
    for shared_features, layout in layouts.items():
        bank = WindowBank(cells[:50], 4, shared_features=shared_features)
        assert bank.layout.shared == layout
        assert np.array_equal(bank.window(7), cells[7:11])
        results.append(bank.nearest(cells[None, 52:56], [0, 2], 4))
    for result in results:
        assert np.allclose(result.distance, results[0].distance, rtol=1e-5)
    partly_missing = cells[:50].copy()
    partly_missing[5, 0] = np.nan  # the other variables still have the time
    assert WindowBank(partly_missing, 4, shared_features=[2]).window(5)[0, 0, 2] == time[5]


def test_a_shared_feature_gives_the_same_bank_in_both_forms():
    values, time = random_walk(50, 4, missing=0.1), time_of_day(50)
    separate, detected = WindowBank(values, 5, shared=time[:, None]), WindowBank(with_time(values, time), 5)
    assert separate.layout == detected.layout
    assert np.array_equal(separate.data, detected.data, equal_nan=True)
    window = with_time(values, time)[None, 10:15]
    assert_equal(separate.nearest(window, [0, 2], 4), detected.nearest(window, [0, 2], 4))
