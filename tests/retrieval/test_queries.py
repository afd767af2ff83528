"""Conversion of a user's windows and steps to the row layout of the kernels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.examples import assert_equal, random_walk, time_of_day, with_time
from subcast.errors import InputError
from subcast.retrieval import QueryTable, WindowBank
from subcast.retrieval.layout import Layout
from subcast.retrieval.queries import as_queries, cells_of
from twins import retrieval_twins as naive

NAN = float("nan")


def test_rows_are_sorted_by_variable_whatever_their_order():
    layout = Layout(3, (False,))
    steps = np.arange(6, dtype=np.float32).reshape(2, 3)
    queries = as_queries("steps", steps, "t", np.array([2, 0]), layout, None, None)
    assert queries.rows.tolist() == [0, 2]
    assert queries.cells.tolist() == [[0, 2], [3, 5]]
    assert (queries.n_readings, queries.n_own) == (2, 2)
    narrow = as_queries("steps", steps[:, [2, 0]], "t", np.array([2, 0]), layout, None, None)
    assert np.array_equal(narrow.cells, queries.cells)


def test_counts_are_the_cells_that_enter_the_mean():
    layout = Layout(2, (False, False, True))  # reading, own feature, shared feature
    window = np.ones((1, 3, 2, 3), dtype=np.float32)
    window[0, 0, 1, 0] = NAN  # without its reading, variable 1 has no cell at step 0
    window[0, 1, 0, 1] = NAN  # only the own feature
    window[0, 2, :, 2] = NAN  # the shared feature
    queries = as_queries("windows", window, "bt", np.array([0, 1]), layout, None, None)
    assert queries.rows.tolist() == [0, 1, 2, 3, 4]
    assert (queries.n_readings, queries.n_own) == (2, 4)
    assert queries.counts.tolist() == [[3, 5, 4]]
    for p in range(3):
        cells = [[list(cell) for cell in window[0, p]]]
        assert queries.counts[0, p] == naive.cells_of_query(cells)
    expected = [[1, NAN, 1, NAN, 1], [1, 1, NAN, 1, 1], [1, 1, 1, 1, NAN]]
    assert np.array_equal(queries.cells[0], np.array(expected, dtype=np.float32), equal_nan=True)


def test_select_returns_some_of_the_windows():
    windows = np.arange(24, dtype=np.float32).reshape(4, 3, 2)
    queries = as_queries("windows", windows, "bt", np.array([0, 1]), Layout(2, (False,)), None, None)
    some = queries.select(1, 3)
    assert np.array_equal(some.cells, queries.cells[1:3])
    assert np.array_equal(some.counts, queries.counts[1:3])
    assert some.rows is queries.rows


def test_cells_keep_the_order_of_the_variables():
    layout = Layout(3, (False, True))
    steps = np.arange(6, dtype=np.float64).reshape(2, 3)
    cells = cells_of("steps", steps, "t", np.array([2, 0]), layout, np.array([[7.0], [8.0]]), None)
    assert cells.dtype == np.float32
    assert cells.tolist() == [[[2, 7], [0, 7]], [[5, 8], [3, 8]]]


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.15]), st.sampled_from([0.5, 1, 0.33]))
def test_a_shared_feature_counts_once_for_each_reading(seed, missing, exponent):
    values, time = random_walk(70, 4, seed, missing), time_of_day(70)
    cells = with_time(values, time)
    bank = WindowBank(values[:50], 5, shared=time[:50, None])
    variables = [3, 1]
    windows = np.stack([cells[j : j + 5] for j in range(50, 60)])
    together = bank.nearest(windows, variables, 6, exponent)
    assert_equal(together, bank.nearest(windows[..., 0], variables, 6, exponent, shared=windows[:, :, 0, 1:]))
    assert_equal(together, bank.nearest_sliding(values[50:64], variables, 6, exponent, shared=time[50:64, None]))
    stream = bank.stream(variables, 6, exponent)
    pushed = [stream.push(values[t], shared=time[t : t + 1]) for t in range(50, 64)][4:]
    assert np.array_equal(together.index, np.concatenate([result.index for result in pushed]))
    for j in (0, 7):
        every = naive.distances(cells, 5, list(range(46)), windows[j], variables, exponent)
        twin = naive.nearest(cells, 5, list(range(46)), windows[j], variables, 6, exponent)
        naive.assert_same(together.index[j].tolist(), together.distance[j].tolist(), twin, every)


def test_a_shared_feature_must_be_the_same_for_all_variables_of_a_query():
    values, time = random_walk(30, 3), time_of_day(30)
    bank = WindowBank(values, 4, shared=time)
    windows = with_time(values, time)[None, :4].copy()
    windows[0, 0, 1, 1] += 0.5
    with pytest.raises(InputError, match="windows must have one value of feature 1 for all variables of a step"):
        bank.nearest(windows, [0, 1], 1)
    assert bank.nearest(windows, [0, 2], 1).index[0, 0] == 0
    with pytest.raises(InputError, match="pass them as shared="):
        bank.nearest(values[None, :4], [0], 1)


def test_a_mask_has_the_same_effect_as_nan():
    values = random_walk(60, 4)
    present = np.random.default_rng(1).random((60, 4)) > 0.2
    missing = np.where(present, values, np.nan)
    expected = WindowBank(missing[:40], 5).nearest(np.stack([missing[40:45], missing[50:55]]), [0, 2, 3], 5)
    bank = WindowBank(values[:40], 5, mask=present[:40])
    windows, mask = np.stack([values[40:45], values[50:55]]), np.stack([present[40:45], present[50:55]])
    assert_equal(expected, bank.nearest(windows, [0, 2, 3], 5, mask=mask))
    assert_equal(expected, bank.nearest(windows, [0, 2, 3], 5, mask=mask[..., [0, 2, 3]]))


def test_a_variable_without_readings_has_the_same_effect_as_an_absent_one():
    values, time = random_walk(60, 3, missing=0.1), time_of_day(60)
    bank = WindowBank(values[:50], 4, shared=time[:50])
    window = values[None, 50:54].copy()
    window[..., 1] = np.nan
    shared = time[None, 50:54, None]
    assert_equal(bank.nearest(window, [0, 1, 2], 9, shared=shared), bank.nearest(window, [0, 2], 9, shared=shared))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("f", [1, 2])
def test_infinite_values_of_other_variables_do_not_matter(dtype, f):
    values = np.cumsum(np.random.default_rng(3).normal(size=(60, 4, f)), axis=0).astype(dtype)
    values = values[..., 0] if f == 1 else values
    bank = WindowBank(values[:50], 4)
    steps = values[50:].copy()
    steps[:, 1] = np.inf
    steps[3, 3] = -np.inf
    steps[4, 3] = np.finfo(dtype).max
    windows = np.stack([steps[j : j + 4] for j in range(7)])
    clean = np.stack([values[50 + j : 54 + j] for j in range(7)])
    expected = bank.nearest(clean, [2, 0], 3)
    assert_equal(bank.nearest(windows, [2, 0], 3), expected)
    assert_equal(bank.nearest_sliding(steps, [2, 0], 3), expected)
    stream = bank.stream([2, 0], 3)
    pushed = [stream.push(step) for step in steps][3:]
    assert np.array_equal(np.concatenate([result.index for result in pushed]), expected.index)
    assert np.array_equal(bank.distances(windows, [0]), bank.distances(clean, [0]))
    table = QueryTable(bank, clean, neighbor=2)
    assert np.array_equal(table.nearest(windows, [0, 2], 3).rounds, table.nearest(clean, [0, 2], 3).rounds)


@pytest.mark.parametrize("f", [1, 2])
def test_infinite_values_of_the_given_variables_are_an_error_unless_masked(f):
    values = np.cumsum(np.random.default_rng(3).normal(size=(60, 4, f)), axis=0).astype(np.float32)
    values = values[..., 0] if f == 1 else values
    bank = WindowBank(values[:50], 4)
    steps = values[50:].copy()
    steps[:, 1] = np.inf
    windows = np.stack([steps[j : j + 4] for j in range(7)])
    for search in (
        lambda: bank.nearest(windows, [0, 1], 3),
        lambda: bank.nearest_sliding(steps, [0, 1], 3),
        lambda: bank.stream([0, 1], 3).push(steps[0]),
    ):
        with pytest.raises(InputError, match="contains infinite values: use NaN for missing readings"):
            search()
    present = np.isfinite(windows if f == 1 else windows[..., 0])
    missing = np.where(present if f == 1 else present[..., None], windows, np.nan)
    masked, expected = bank.nearest(windows, [0, 1], 3, mask=present), bank.nearest(missing, [0, 1], 3)
    assert_equal(masked, expected)
    if f == 2:  # without its reading, the other feature of a variable does not matter
        missing[..., 1] = windows[..., 1]
        assert_equal(bank.nearest(missing, [0, 1], 3), expected)


@pytest.mark.parametrize(
    ("values", "shared", "mask", "sentence"),
    [
        (np.zeros((2, 3, 2)), None, None, r"steps must be \[t, n\] .*got shape \(2, 3, 2\)"),
        (np.zeros((2, 2)), None, None, "with all 3 variables or with only the 1 of variables=, got 2"),
        (
            np.zeros((2, 3)),
            np.zeros((2, 2)),
            None,
            r"shared must have one value for each step .*\(2, 0\), got \(2, 2\)",
        ),
        (np.zeros((2, 3)), None, np.ones((2, 3)), "mask must be boolean, True where steps has a reading"),
        (np.zeros((2, 3)), None, np.ones((1, 3), dtype=bool), "mask must have one entry for each reading of steps"),
        ([["a", "b", "c"]], None, None, "steps must be an array of numbers, got list"),
    ],
)
def test_bad_queries(values, shared, mask, sentence):
    with pytest.raises(InputError, match=sentence):
        as_queries("steps", values, "t", np.array([1]), Layout(3, (False,)), shared, mask)
