"""Grown trees: they equal scikit-learn's where no feature is drawn, and a slow twin of plain loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcast.boosting import Trees
from subcast.boosting.bins import Bins
from subcast.boosting.growing import Growth, grow
from twins import boosting_twins as twins

LOSSES = {
    "squared_error": {},
    "absolute_error": {"quantile": 0.5, "is_absolute": True},
    "quantile": {"quantile": 0.8},
}


def rows_and_target(count, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, 4)).round(1).astype(np.float32)  # few values: everyone's bins are the same
    rows[rng.random(rows.shape) < 0.1] = np.nan
    rows[:, 3] = rng.integers(0, 5, count)  # never missing
    target = np.nan_to_num(rows[:, 0]) + 2 * (np.nan_to_num(rows[:, 1], nan=1) > 0.3) + 0.1 * rng.normal(size=count)
    return rows, target + (rows[:, 3] == 2)


def grown_trees(rows, target, weight=None, threads=1, **options):
    bins = Bins.of(rows)
    baseline, grown = grow(bins.numbers(rows), bins, target, weight, Growth(**options), threads)
    return Trees.of_grown(grown, bins, baseline), grown


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("l2", [0.0, 1.0])
def test_trees_equal_those_of_scikit_learn(loss, l2):
    from sklearn.ensemble import HistGradientBoostingRegressor

    rows, target = rows_and_target(3000)
    model = HistGradientBoostingRegressor(
        loss=loss, quantile=0.8 if loss == "quantile" else None, max_iter=15, max_leaf_nodes=12, learning_rate=0.2,
        min_samples_leaf=25, l2_regularization=l2, early_stopping=False,
    ).fit(rows, target)  # fmt: skip
    trees, grown = grown_trees(
        rows, target, trees=15, leaves=12, leaf_rows=25, learning_rate=0.2, l2=l2, share=1.0, **LOSSES[loss]
    )
    assert [len(tree.nodes) for tree in grown] == [len(own[0].nodes) for own in model._predictors]
    new, _ = rows_and_target(500, seed=5)
    np.testing.assert_allclose(trees.predict(rows), model.predict(rows), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(trees.predict(new), model.predict(new), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_weighted_trees_equal_those_of_scikit_learn(loss):
    from sklearn.ensemble import HistGradientBoostingRegressor

    rng = np.random.default_rng(3)
    rows = rng.integers(0, 40, size=(1500, 3)).astype(np.float32)  # few values, so the weights do not move the bins
    rows[rng.random(rows.shape) < 0.1] = np.nan
    target = np.sin(np.nan_to_num(rows[:, 0]) / 6) + (np.nan_to_num(rows[:, 1]) > 20) + 0.1 * rng.normal(size=1500)
    weight = rng.integers(1, 5, 1500).astype(np.float32)
    model = HistGradientBoostingRegressor(
        loss=loss, quantile=0.8 if loss == "quantile" else None, max_iter=8, max_leaf_nodes=9, learning_rate=0.1,
        min_samples_leaf=20, l2_regularization=1.0, early_stopping=False,
    ).fit(rows, target, weight)  # fmt: skip
    trees, _ = grown_trees(rows, target, weight, trees=8, leaves=9, leaf_rows=20, share=1.0, **LOSSES[loss])
    np.testing.assert_allclose(trees.predict(rows), model.predict(rows), rtol=1e-4, atol=1e-4)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(LOSSES)), st.booleans(), st.integers(2, 7))
def test_leaves_and_values_of_the_first_tree_against_loops(seed, loss, weighted, leaves):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 6, size=(50, 3)).astype(np.float32)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    target = rng.normal(size=50) + np.nan_to_num(rows[:, 0])
    weight = rng.uniform(0.2, 3, 50).astype(np.float32) if weighted else None
    trees, (tree,) = grown_trees(
        rows, target, weight, trees=1, leaves=leaves, leaf_rows=4, learning_rate=0.5, share=1.0, **LOSSES[loss]
    )
    heavy = np.ones(50).tolist() if weight is None else weight.astype(float).tolist()
    bins = Bins.of(rows)
    numbers = [[twins.bin_number(v, e.tolist()) for v, e in zip(row, bins.edges, strict=True)] for row in rows.tolist()]
    options = LOSSES[loss]
    kind = {"squared_error": "squared", "absolute_error": "absolute", "quantile": "quantile"}[loss]
    slopes = twins.gradients(target.tolist(), [trees.baseline] * 50, heavy, kind, options.get("quantile"))
    expected = twins.grown_leaves(numbers, slopes, heavy, bins.counts.tolist(), leaves, 4, 1.0)
    found = trees.predict(rows).astype(float)
    assert sum(node.split is None for node in tree.nodes) == len(expected)
    for own in expected:
        if kind == "squared":
            value = -sum(slopes[r] for r in own) / (sum(heavy[r] for r in own) + 1.0)
        else:
            left = [target[r] - trees.baseline for r in own]
            if weight is None:
                value = twins.quantile_of(left, options["quantile"])
            else:
                value = twins.weighted_quantile_of(left, [heavy[r] for r in own], options["quantile"])
        np.testing.assert_allclose(found[own], trees.baseline + 0.5 * value, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
def test_threads_give_the_same_trees(weighted):
    rows, target = rows_and_target(60_000)  # enough that the features are divided
    weight = np.random.default_rng(0).uniform(size=len(rows)).astype(np.float32) if weighted else None
    one, many = (grown_trees(rows, target, weight, threads=count, trees=2, leaves=7)[0] for count in (1, 3))
    for name in ("feature", "threshold", "left", "right", "missing_left", "value"):
        np.testing.assert_array_equal(getattr(one, name), getattr(many, name))


def test_the_seed_draws_the_features():
    rows, target = rows_and_target(2000)
    first, again, other = (grown_trees(rows, target, trees=3, seed=seed, share=0.5)[0] for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.feature, again.feature)
    assert first.feature.tolist() != other.feature.tolist()


def test_inputs_are_untouched():
    rows, target = rows_and_target(500)
    weight = np.ones(500, dtype=np.float32)
    before = rows.copy(), target.copy()
    grown_trees(rows, target, weight, trees=2, leaf_rows=20, **LOSSES["quantile"])
    np.testing.assert_array_equal(rows, before[0])
    np.testing.assert_array_equal(target, before[1])
    assert (weight == 1).all()


def test_too_few_rows_make_a_single_leaf():
    rows, target = rows_and_target(30)
    trees, (tree,) = grown_trees(rows, target, trees=1, leaf_rows=20)
    assert len(tree.nodes) == 1
    np.testing.assert_allclose(trees.predict(rows), target.mean(), rtol=1e-5)
