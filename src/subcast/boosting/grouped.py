"""One boosted model for each group of rows, all kept in the same flat arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.boosting.trees import ARRAYS, MOST_NODES, Trees
from subcast.errors import InputError
from subcast.storage import fields
from subcast.storage.state import State


@dataclass(frozen=True, eq=False)
class GroupedTrees:
    """Boosted trees of their own for each group of rows.

    Parameters
    ----------
    trees
        the trees of all groups, one group after the other
    firsts
        [groups + 1], the number of the first tree of each group, and the number of all trees
    baselines
        [groups], the value to which the trees of a group add; NaN for a group without a model

    Examples
    --------
    >>> rows, group = np.arange(400, dtype=np.float32).reshape(-1, 1), np.arange(400) % 2
    >>> target = np.where(group == 0, 1.0, np.where(rows[:, 0] < 200, 1.0, 3.0))
    >>> models = GroupedTrees.fit(rows, target, group, 3, trees=20, leaf_rows=5, learning_rate=0.5)
    >>> models.predict(1, np.array([[10.0], [390.0]])).round(1), models.known
    (array([1., 3.], dtype=float32), array([ True,  True, False]))
    """

    trees: Trees
    firsts: NDArray[np.int64]
    baselines: NDArray[np.float64]

    @classmethod
    def fit(
        cls,
        rows: NDArray[np.floating[Any]],
        target: NDArray[np.floating[Any]],
        group: NDArray[np.int64],
        groups: int,
        *,
        least_rows: int = 1,
        **options: Any,
    ) -> GroupedTrees:
        """Fit the trees of each group.

        Parameters
        ----------
        rows, target
            [r, f] and [r], the training rows and their targets
        group, groups
            [r], the number of each row's group, and how many groups there are
        least_rows
            a group with fewer rows gets no model
        options
            those of `Trees.fit`
        """
        order = np.argsort(group, kind="stable")
        bounds = np.searchsorted(group[order], np.arange(groups + 1))
        own: list[Trees | None] = []
        for first, last in pairwise(bounds):
            some = order[first:last]
            own.append(Trees.fit(rows[some], target[some], **options) if len(some) >= max(1, least_rows) else None)
        return cls.join(own, rows.shape[1])

    @classmethod
    def join(cls, own: list[Trees | None], n_features: int) -> GroupedTrees:
        """Return the models of all groups as one; None for a group without a model."""
        found = [trees for trees in own if trees is not None]
        bounds = np.cumsum([0, *(len(trees.feature) for trees in found)])
        if bounds[-1] > MOST_NODES:
            raise InputError(f"trees must have at most {MOST_NODES} nodes together, got {bounds[-1]}: use fewer trees")
        moved = [_moved(trees, first) for trees, first in zip(found, bounds[:-1].tolist(), strict=True)]
        arrays = {
            name: np.concatenate([np.zeros(0, dtype=kind), *(each[name] for each in moved)], dtype=kind)
            for name, kind in ARRAYS.items()
        }
        counts = [0 if trees is None else len(trees.roots) for trees in own]
        return cls(
            Trees(**arrays, baseline=0.0, n_features=n_features),
            np.cumsum([0, *counts], dtype=np.int64),
            np.array([np.nan if trees is None else trees.baseline for trees in own], dtype=np.float64),
        )

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which groups have a model, [groups]."""
        return np.asarray(~np.isnan(self.baselines))

    @cached_property
    def each(self) -> tuple[Trees | None, ...]:
        """The trees of each group; None for a group without a model."""
        return tuple(self._of(group) if known else None for group, known in enumerate(self.known))

    def _of(self, group: int) -> Trees:
        """Return the trees of a group."""
        first, last = self.firsts[group : group + 2]
        bounds = np.append(self.trees.roots, len(self.trees.feature)).astype(np.int64)
        nodes, roots = slice(bounds[first], bounds[last]), self.trees.roots[first:last]
        arrays = {name: getattr(self.trees, name)[nodes] for name in ARRAYS if name != "roots"}
        baseline, n_features = float(self.baselines[group]), self.trees.n_features
        own = Trees(**arrays, roots=roots, baseline=baseline, n_features=n_features)
        return Trees(**_moved(own, -int(bounds[first])), baseline=baseline, n_features=n_features)

    def predict(self, group: int, rows: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
        """Return the prediction of rows [r, f] of a group, [r]; the group must have a model."""
        trees = self.each[group]
        if trees is None:
            raise InputError(f"group must be one with a model, got {group}")
        return trees.predict(rows)

    def state(self) -> State:
        """Return the state to save."""
        state = State.join({}, trees=self.trees.state())
        state.arrays.update(firsts=self.firsts, baselines=self.baselines)
        return state

    @classmethod
    def from_state(cls, state: State, groups: int | None = None) -> GroupedTrees:
        """Return the models saved in `state`; raise if a value could lead the evaluation astray."""
        trees = Trees.from_state(state.needed_part("trees"))
        baselines = fields.array(state, "baselines", np.float64, [groups], missing=True)
        firsts = fields.array(state, "firsts", np.int64, [len(baselines) + 1], low=0, high=len(trees.roots))
        models = cls(trees, firsts, baselines)
        if (np.diff(firsts) < 0).any() or firsts[0] != 0 or firsts[-1] != len(trees.roots):
            raise state.damaged("its trees must belong to the groups one after the other")
        for own in models.each:
            if own is not None:
                own.check()
        return models


def _moved(trees: Trees, count: int) -> dict[str, NDArray[Any]]:
    """Return the arrays of trees whose nodes stand `count` places later; a leaf has no children, so its 0 stays."""
    arrays = {name: getattr(trees, name) for name in ARRAYS}
    inner = trees.feature >= 0
    for name in ("left", "right"):
        arrays[name] = np.where(inner, arrays[name] + count, 0).astype(ARRAYS[name])
    return {**arrays, "roots": (trees.roots + count).astype(ARRAYS["roots"])}
