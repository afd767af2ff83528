"""Evaluation by bits: it equals the walk through the trees to the bit, and trees that are too large are left to it."""

from dataclasses import replace

import numpy as np
import pytest

from subcast.boosting import Trees
from subcast.boosting.bits import Bits, _rounded_down
from twins.boosting_twins import tree_sum


def fitted(leaves, count=3000):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(count, 3)).astype(np.float32)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    target = np.nan_to_num(rows).sum(axis=1) + rng.normal(size=count)
    return Trees.fit(rows, target, metric="rmse", trees=4, leaves=leaves, leaf_rows=5), rows


@pytest.mark.parametrize("leaves", [2, 31, 64])
def test_it_equals_the_walk(leaves):
    trees, rows = fitted(leaves)
    bits = Bits.of(trees)
    assert bits is not None
    for count in (0, 1, 255, 256, 700):  # around the number of rows that are evaluated together
        total = np.full(count, trees.baseline)
        bits.add(total, rows[:count])
        expected = [tree_sum(trees, row) for row in rows[:count]]
        np.testing.assert_allclose(total, expected, rtol=1e-14, atol=1e-14)


def test_trees_of_more_than_64_leaves_are_walked():
    trees, rows = fitted(100)
    assert Bits.of(trees) is None
    np.testing.assert_allclose(trees.predict(rows[:50]), [tree_sum(trees, row) for row in rows[:50]], rtol=1e-6)


def test_nodes_with_several_parents_do_not_take_forever():
    n = 60  # both children of each node are the next node: 2^60 paths
    inner = np.arange(n)
    trees = Trees(
        feature=np.where(inner < n - 1, 0, -1).astype(np.int32),
        threshold=np.zeros(n),
        missing_left=np.zeros(n, dtype=np.uint8),
        left=np.where(inner < n - 1, inner + 1, 0).astype(np.int32),
        right=np.where(inner < n - 1, inner + 1, 0).astype(np.int32),
        value=np.where(inner < n - 1, 0.0, 2.5),
        roots=np.zeros(1, dtype=np.int32),
        baseline=1.0,
        n_features=1,
    )
    assert Bits.of(trees) is None
    assert Trees.from_state(trees.state()).predict(np.zeros((2, 1))).tolist() == [3.5, 3.5]


def test_trees_that_share_nodes_are_walked():
    trees, rows = fitted(31)
    inner = np.flatnonzero(trees.feature >= 0)
    shared = replace(trees, roots=inner.astype(np.int32))  # every inner node is the root of a tree
    assert Bits.of(shared) is None
    np.testing.assert_allclose(shared.predict(rows[:5]), [tree_sum(shared, row) for row in rows[:5]], rtol=1e-6)


def test_thresholds_between_single_precision_values_keep_every_value_on_its_side():
    values = np.array([0.1, 1 / 3, 1e300, -1e300, np.inf, -np.inf, 1e-320, 2.0])
    for value, single in zip(values.tolist(), _rounded_down(values).tolist(), strict=True):
        assert single <= value
        with np.errstate(over="ignore"):
            above = float(np.nextafter(np.float32(single), np.float32(np.inf)))
        assert above > value or single == above


def test_infinite_thresholds_only_part_the_missing():
    trees, _ = fitted(2)
    trees = replace(
        trees, threshold=np.full_like(trees.threshold, np.inf), missing_left=np.zeros_like(trees.missing_left)
    )
    rows = np.array([[np.inf] * 3, [-np.inf] * 3, [np.nan] * 3], dtype=np.float32)
    np.testing.assert_allclose(trees.predict(rows), [tree_sum(trees, row) for row in rows], rtol=1e-6)
