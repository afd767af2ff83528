"""Boosted trees: they equal scikit-learn's and the slow twin, and damaged ones are refused."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcast.boosting import Trees
from subcast.boosting.trees import Bins
from subcast.errors import DataError, InputError
from subcast.storage.state import State
from twins.boosting_twins import tree_sum


def rows_and_target(count=600, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, 3)).astype(np.float32)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    target = np.nan_to_num(rows[:, 0]) + 2 * (np.nan_to_num(rows[:, 1], nan=1) > 0.3) + 0.1 * rng.normal(size=count)
    return rows, target


@pytest.fixture(scope="module", params=["mae", "rmse"])
def fitted(request):
    rows, target = rows_and_target()
    return Trees.fit(rows, target, metric=request.param, trees=12, leaves=7, leaf_rows=20), rows, target, request.param


def test_predictions_equal_those_of_scikit_learn(fitted):
    from sklearn.ensemble import HistGradientBoostingRegressor

    trees, rows, target, metric = fitted
    loss = {"mae": "absolute_error", "rmse": "squared_error"}[metric]
    model = HistGradientBoostingRegressor(
        loss=loss, max_iter=12, max_leaf_nodes=7, learning_rate=0.1, min_samples_leaf=20, max_features=0.7,
        l2_regularization=1.0, early_stopping=False, random_state=0,
    ).fit(rows, target)  # fmt: skip
    np.testing.assert_allclose(trees.predict(rows), model.predict(rows), rtol=1e-5, atol=1e-6)


def test_predictions_equal_the_slow_twin_on_other_rows(fitted):
    trees = fitted[0]
    rows, _ = rows_and_target(60, seed=9)
    np.testing.assert_allclose(trees.predict(rows), [tree_sum(trees, row) for row in rows], rtol=1e-6, atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(width=32, allow_nan=True, allow_infinity=True), min_size=3, max_size=3))
def test_any_row_equals_the_slow_twin(fitted, cells):
    trees = fitted[0]
    row = np.array([cells], dtype=np.float32)
    assert trees.predict(row)[0] == pytest.approx(tree_sum(trees, row[0]), rel=1e-6, abs=1e-6)


def test_threads_give_the_same_predictions(fitted):
    trees, rows, *_ = fitted
    np.testing.assert_array_equal(trees.predict(rows, threads=1), trees.predict(rows, threads=3))


def test_no_rows_give_no_predictions(fitted):
    assert fitted[0].predict(np.zeros((0, 3))).shape == (0,)


def test_absolute_loss_learns_the_median_and_squared_loss_the_mean():
    target = np.repeat([0.0, 0.0, 9.0], 200)
    rows = np.zeros((600, 1), dtype=np.float32)
    found = {metric: Trees.fit(rows, target, metric=metric, trees=3).predict(rows[:1])[0] for metric in ("mae", "rmse")}
    assert found == {"mae": pytest.approx(0.0), "rmse": pytest.approx(3.0)}


def test_it_is_saved_and_read_back_to_the_bit(fitted):
    trees, rows, *_ = fitted
    np.testing.assert_array_equal(Trees.from_state(trees.state()).predict(rows), trees.predict(rows))


def test_a_wrong_number_of_features_is_refused(fitted):
    with pytest.raises(InputError, match="rows must have 3 features"):
        fitted[0].predict(np.zeros((4, 2)))


def test_an_unknown_metric_is_refused():
    with pytest.raises(InputError, match="metric must be one of mae, rmse"):
        Trees.fit(np.zeros((5, 1)), np.zeros(5), metric="huber")


def damaged(trees, **changes):
    return replace(trees, **changes).state()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("left", lambda a: np.where(a > 0, 0, a)),  # leads back to the root: would never end
        ("right", lambda a: np.where(a > 0, 1 << 30, a)),
        ("feature", lambda a: np.where(a >= 0, 3, a)),
        ("feature", lambda a: np.where(a >= 0, -2, a)),
        ("roots", lambda a: a - 1),
        ("roots", lambda a: a + (1 << 20)),
        ("value", lambda a: np.full_like(a, np.inf)),
        ("value", lambda a: a[:-1]),
        ("threshold", lambda a: np.full_like(a, np.nan)),
        ("threshold", lambda a: a.astype(np.float32)),
        ("left", lambda a: a[:, None]),
    ],
)
def test_damaged_arrays_are_refused(fitted, name, change):
    array = change(getattr(fitted[0], name))
    with pytest.raises(DataError, match="boosted trees"):
        Trees.from_state(damaged(fitted[0], **{name: array}))


@pytest.mark.parametrize(("name", "value"), [("baseline", float("nan")), ("baseline", "1"), ("n_features", 0.5)])
def test_damaged_facts_are_refused(fitted, name, value):
    state = fitted[0].state()
    with pytest.raises(DataError, match="boosted trees"):
        Trees.from_state(State({**state.facts, name: value}, state.arrays))


# Bins


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 900), st.integers(1, 400), st.integers(0, 2**32 - 1))
def test_bins_are_few_and_in_order(count, different, seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, different, size=(count, 2)).astype(np.float32) / 7
    rows[rng.random(rows.shape) < 0.2] = np.nan
    bins = Bins.of(rows)
    numbers = bins.numbers(rows)
    for feature, edges in enumerate(bins.edges):
        assert len(edges) <= 254
        for value, number in zip(rows[:, feature].tolist(), numbers[:, feature].tolist(), strict=True):
            if value != value:
                assert number != number
            else:
                assert number == sum(1 for edge in edges if edge < value)
        if len(set(rows[~np.isnan(rows[:, feature]), feature].tolist())) <= 255:  # none is lost
            known = numbers[~np.isnan(numbers[:, feature]), feature]
            assert len(set(known.tolist())) == len(edges) + 1 or not len(known)


def test_equal_weights_give_the_predictions_of_no_weights_where_values_are_few():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 40, size=(500, 3)).astype(np.float32)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    target = np.nan_to_num(rows[:, 0]) % 7 + (np.nan_to_num(rows[:, 1]) > 20) + np.isnan(rows[:, 2])
    plain, weighted = (
        Trees.fit(rows, target, weight, metric="rmse", trees=10, leaf_rows=5) for weight in (None, np.ones(500))
    )
    np.testing.assert_allclose(weighted.predict(rows), plain.predict(rows), rtol=1e-5)


@pytest.mark.parametrize("metric", ["mae", "rmse"])
def test_weighted_predictions_are_those_of_scikit_learn_or_near(metric):
    from sklearn.ensemble import HistGradientBoostingRegressor

    rows, target = rows_and_target(400)
    weight = np.random.default_rng(3).uniform(0.1, 3, size=400)
    trees = Trees.fit(rows, target, weight, metric=metric, trees=10, leaves=7, leaf_rows=20)
    loss = {"mae": "absolute_error", "rmse": "squared_error"}[metric]
    model = HistGradientBoostingRegressor(
        loss=loss, max_iter=10, max_leaf_nodes=7, min_samples_leaf=20, max_features=0.7,
        l2_regularization=1.0, early_stopping=False, random_state=0,
    ).fit(rows, target, weight)  # fmt: skip
    found, expected = trees.predict(rows), model.predict(rows)
    assert np.abs(found - expected).mean() < 0.1 * expected.std()
    power = 1 if metric == "mae" else 2
    assert np.average(np.abs(found - target) ** power, weights=weight) == pytest.approx(
        np.average(np.abs(expected - target) ** power, weights=weight), rel=0.1
    )


def test_rows_of_no_weight_do_not_count():
    rows = np.arange(400, dtype=np.float32).reshape(-1, 1)
    target = np.where(rows[:, 0] < 200, 1.0, 3.0)
    wrong = np.arange(400) % 2 == 0
    trees = Trees.fit(rows, np.where(wrong, 50.0, target), np.where(wrong, 1e-9, 1.0), trees=60, leaf_rows=5)
    np.testing.assert_allclose(trees.predict(rows[[20, 380]]), [1.0, 3.0], atol=0.1)
