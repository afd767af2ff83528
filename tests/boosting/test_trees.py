"""Boosted trees: they equal scikit-learn's and the slow twin, and damaged ones are refused."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcast.boosting import Trees
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

    trees, rows, target, metric = fitted  # of three features all are drawn
    loss = {"mae": "absolute_error", "rmse": "squared_error"}[metric]
    model = HistGradientBoostingRegressor(
        loss=loss, max_iter=12, max_leaf_nodes=7, learning_rate=0.1, min_samples_leaf=20, l2_regularization=1.0,
        early_stopping=False,
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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "huber"}, "metric must be one of mae, rmse, got 'huber'"),
        ({"quantile": 1.0}, "quantile must lie between 0 and 1, got 1.0"),
        ({"trees": -1}, "trees must be at least 0, got -1"),
        ({"leaves": 1}, "leaves must be at least 2, got 1"),
        ({"leaf_rows": 0}, "leaf_rows must be at least 1, got 0"),
        ({"learning_rate": 0.0}, "learning_rate must be more than 0 and at most 1, got 0.0"),
        ({"rows": np.zeros(5)}, r"rows must be numbers in an array \[r, f\] with at least one row, got shape \(5,\)"),
        ({"rows": np.zeros((0, 2)), "target": np.zeros(0)}, "rows must be"),
        ({"target": np.zeros(4)}, r"target must be 5 finite numbers, one for each row, got shape \(4,\)"),
        ({"target": np.array([0, 1, 2, 3, np.nan])}, "leave out rows without a target"),
        ({"weight": np.zeros(5)}, "weight must be 5 finite numbers of at least 0, not all 0"),
        ({"weight": np.array([1, 1, 1, 1, -1.0])}, "weight must be"),
    ],
)
def test_bad_input_is_refused(options, message):
    options = {"rows": np.zeros((5, 1)), "target": np.zeros(5)} | options
    with pytest.raises(InputError, match=message):
        Trees.fit(options.pop("rows"), options.pop("target"), **options)


def test_no_trees_give_the_baseline():
    trees = Trees.fit(np.zeros((5, 1)), np.arange(5.0), trees=0)
    assert trees.predict(np.zeros((2, 1))).tolist() == [2.0, 2.0]
    assert Trees.from_state(trees.state()).predict(np.zeros((1, 1))).tolist() == [2.0]


def test_a_quantile_is_learned():
    target = np.concatenate([np.linspace(0, 1, 500), np.linspace(0, 10, 500)])
    rows = np.repeat([0.0, 1.0], 500)[:, None]
    trees = Trees.fit(rows, target, quantile=0.9, trees=80, leaf_rows=20)
    np.testing.assert_allclose(trees.predict(np.array([[0.0], [1.0]])), [0.9, 9.0], rtol=0.02)


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
