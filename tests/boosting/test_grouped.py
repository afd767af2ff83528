"""Models of groups kept in one: they equal models fitted one by one, and damaged ones are refused."""

from dataclasses import replace

import numpy as np
import pytest

from subcast.boosting import GroupedTrees, Trees, grouped
from subcast.errors import DataError, InputError
from subcast.storage.state import State
from twins.boosting_twins import tree_sum

OPTIONS = {"trees": 6, "leaves": 5, "leaf_rows": 10}


def rows_of_groups(count=600, groups=4, seed=0):
    """Rows with holes; the target is another function of them in each group, and group 2 has few rows."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, 3)).astype(np.float32)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    group = rng.choice([0, 1, 3], size=count)
    group[::97] = 2
    target = group * np.nan_to_num(rows[:, 0]) + (np.nan_to_num(rows[:, 1]) > 0.3) + 0.1 * rng.normal(size=count)
    return rows, target, group, groups


@pytest.fixture(scope="module")
def models():
    rows, target, group, groups = rows_of_groups()
    return GroupedTrees.fit(rows, target, group, groups, least_rows=20, **OPTIONS)


def test_each_group_has_the_trees_that_it_would_have_alone(models):
    rows, target, group, groups = rows_of_groups()
    for number in range(groups):
        own_rows = np.array([row for row, own in zip(rows, group, strict=True) if own == number])
        own_target = np.array([value for value, own in zip(target, group, strict=True) if own == number])
        if len(own_rows) < 20:
            assert number == 2
            assert not models.known[number]
            continue
        alone = Trees.fit(own_rows, own_target, **OPTIONS)
        np.testing.assert_array_equal(models.predict(number, rows), alone.predict(rows))
        expected = [tree_sum(alone, row) for row in rows[:20]]
        np.testing.assert_allclose(models.predict(number, rows[:20]), expected, rtol=1e-6, atol=1e-6)


def test_a_group_without_a_model_is_refused(models):
    with pytest.raises(InputError, match="group must be one with a model, got 2"):
        models.predict(2, np.zeros((1, 3)))


def test_no_group_has_enough_rows():
    rows, target, group, groups = rows_of_groups(40)
    models = GroupedTrees.fit(rows, target, group, groups, least_rows=100, **OPTIONS)
    assert not models.known.any()
    assert not GroupedTrees.from_state(models.state(), groups).known.any()


def test_too_many_nodes_are_refused(monkeypatch):
    monkeypatch.setattr(grouped, "MOST_NODES", 10)
    rows, target, group, groups = rows_of_groups()
    with pytest.raises(InputError, match="at most 10 nodes"):
        GroupedTrees.fit(rows, target, group, groups, **OPTIONS)


def test_saved_models_give_the_same_predictions(models):
    rows = rows_of_groups(50, seed=3)[0]
    again = GroupedTrees.from_state(models.state(), 4)
    np.testing.assert_array_equal(again.known, models.known)
    for number in (0, 1, 3):
        np.testing.assert_array_equal(again.predict(number, rows), models.predict(number, rows))


def changed(models, **arrays):
    state = models.state()
    return State(state.facts, {**state.arrays, **arrays})


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("firsts", lambda firsts: firsts[::-1].copy()),
        ("firsts", lambda firsts: firsts + 1),
        ("firsts", lambda firsts: np.minimum(firsts, firsts[-1] - 1)),
        ("firsts", lambda firsts: firsts[:-1]),
        ("firsts", lambda firsts: firsts.astype(np.int32)),
        ("baselines", lambda baselines: np.where(np.arange(4) == 1, np.inf, baselines)),
        ("baselines", lambda baselines: baselines[:-1]),
        ("trees.left", lambda left: np.full_like(left, 1 << 30)),
    ],
)
def test_damaged_models_are_refused(models, name, change):
    state = models.state()
    with pytest.raises(DataError):
        GroupedTrees.from_state(changed(models, **{name: change(state.arrays[name])}), 4)


def test_a_node_that_leads_into_another_group_is_refused(models):
    """Sound as one set of trees, but the first group would end in a node that it does not have."""
    trees = models.trees
    last_inner = int(np.flatnonzero(trees.feature[: trees.roots[6]] >= 0)[-1])
    right = trees.right.copy()
    right[last_inner] = len(trees.feature) - 1
    damaged = replace(models, trees=replace(trees, right=right))
    Trees.from_state(damaged.trees.state())
    with pytest.raises(DataError, match="damaged"):
        GroupedTrees.from_state(damaged.state(), 4)
