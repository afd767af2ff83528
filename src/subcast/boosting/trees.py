"""Gradient-boosted trees as flat arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subcast.boosting.bins import Bins
from subcast.errors import DataError, InputError
from subcast.retrieval.threads import cuts, run_all, thread_count
from subcast.storage.state import State

if TYPE_CHECKING:
    from subcast.boosting.bits import Bits
    from subcast.boosting.growing import GrownTree, Growth

LOSSES = {"mae": "absolute_error", "rmse": "squared_error"}
"""The loss that the trees minimize for each metric."""

_SHARE, _L2 = 0.7, 1.0  # of the features for each split; what draws the values of leaves to 0

MOST_NODES = 1 << 22
ARRAYS: dict[str, type[np.generic]] = {
    "feature": np.int32,
    "threshold": np.float64,
    "missing_left": np.uint8,
    "left": np.int32,
    "right": np.int32,
    "value": np.float64,
    "roots": np.int32,
}
_CELLS_A_NODE = 8  # evaluating a tree takes about as long as comparing this many cells


@dataclass(frozen=True, eq=False)
class Trees:
    """A sum of regression trees.

    Parameters
    ----------
    feature
        [nodes], the feature that a node compares; -1 for a leaf
    threshold
        [nodes], a value up to this one goes left
    missing_left
        [nodes], 1 if a missing value goes left
    left, right
        [nodes], the numbers of the child nodes, which are larger than the node's own; 0 for a leaf
    value
        [nodes], what a leaf adds
    roots
        [trees], the first node of each tree
    baseline
        the value to which the trees add
    n_features
        number of features

    Examples
    --------
    >>> rows = np.arange(400, dtype=np.float32).reshape(-1, 1)
    >>> target = np.where(rows[:, 0] < 200, 1.0, 3.0)
    >>> trees = Trees.fit(rows, target, trees=20, leaf_rows=5, learning_rate=0.5)
    >>> trees.predict(np.array([[10.0], [390.0]])).round(1)
    array([1., 3.], dtype=float32)
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    missing_left: NDArray[np.uint8]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float64]
    roots: NDArray[np.int32]
    baseline: float
    n_features: int

    @classmethod
    def fit(
        cls,
        rows: NDArray[np.floating[Any]],
        target: NDArray[np.floating[Any]],
        weight: NDArray[np.floating[Any]] | None = None,
        *,
        metric: str = "mae",
        quantile: float | None = None,
        trees: int = 150,
        leaves: int = 31,
        learning_rate: float = 0.1,
        leaf_rows: int = 200,
        seed: int = 0,
        threads: int | None = None,
    ) -> Trees:
        """Fit trees to rows [r, f] (NaN where a value is missing) and their targets [r].

        Parameters
        ----------
        rows, target, weight
            the training rows, their targets and weights
        metric
            "mae" for absolute errors, "rmse" for squared errors
        quantile
            fit this quantile instead, a number between 0 and 1
        trees, leaves, learning_rate, leaf_rows
            number of trees, leaves of each, how much each tree adds, and the smallest number of rows in a leaf
        seed
            random seed for the features that each split may use, and for the rows from which bins are found
        threads
            number of threads; None for all processors. The trees do not depend on it.
        """
        from subcast.boosting.growing import grow

        rows, values, weights = _checked(rows, target, weight)
        growth = _growth(metric, quantile, trees, leaves, learning_rate, leaf_rows, seed)
        bins = Bins.of(rows, seed=seed)
        baseline, grown = grow(bins.numbers(rows), bins, values, weights, growth, threads)
        return cls.of_grown(grown, bins, baseline)

    @classmethod
    def of_grown(cls, grown: Sequence[GrownTree], bins: Bins, baseline: float) -> Trees:
        """Return grown trees as flat arrays, one tree after the other."""
        sizes = np.array([len(tree.nodes) for tree in grown], dtype=np.int64)
        roots = np.cumsum(sizes) - sizes
        nodes = [(node, root) for tree, root in zip(grown, roots.tolist(), strict=True) for node in tree.nodes]
        arrays = {name: np.zeros(len(nodes), dtype=kind) for name, kind in ARRAYS.items() if name != "roots"}
        arrays["feature"][:] = -1
        for position, (node, root) in enumerate(nodes):
            if node.split is not None:
                feature, number = node.place
                arrays["feature"][position] = feature
                arrays["threshold"][position] = bins.threshold(feature, number)
                arrays["missing_left"][position] = node.missing_left
                arrays["left"][position], arrays["right"][position] = node.left + root, node.right + root
        arrays["value"] = np.concatenate([tree.values for tree in grown]) if grown else np.zeros(0)
        return cls(**arrays, roots=roots.astype(np.int32), baseline=baseline, n_features=len(bins.edges))

    def predict(self, rows: NDArray[np.floating[Any]], threads: int | None = None) -> NDArray[np.float32]:
        """Return the prediction of each row [r, f], [r]."""
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise InputError(f"rows must have {self.n_features} features, got an array of shape {rows.shape}")
        cells = np.ascontiguousarray(rows, dtype=np.float32)
        total = np.full(len(cells), self.baseline)
        count = min(thread_count(threads, _CELLS_A_NODE * len(cells) * len(self.roots)), max(1, len(cells)))
        run_all([partial(self._add, total[a:b], cells[a:b]) for a, b in pairwise(cuts(len(cells), count))])
        return total.astype(np.float32)

    def _add(self, total: NDArray[np.float64], cells: NDArray[np.float32]) -> None:
        """Add the values of the leaves that each row reaches."""
        from subcast.boosting.compiled import add_trees

        if self._bits is not None:
            self._bits.add(total, cells)
        else:
            nodes = (self.feature, self.threshold, self.missing_left, self.left, self.right, self.value)
            add_trees(total, cells, self.roots, *nodes)

    @cached_property
    def _bits(self) -> Bits | None:
        """The trees in the form that is evaluated fastest; None if a tree has too many leaves for it."""
        from subcast.boosting.bits import Bits

        return Bits.of(self)

    def state(self) -> State:
        """Return the state to save."""
        facts = {"baseline": self.baseline, "n_features": self.n_features}
        return State(facts, {name: getattr(self, name) for name in ARRAYS})

    @classmethod
    def from_state(cls, state: State) -> Trees:
        """Return the trees saved in `state`; raise if a value could lead the evaluation astray."""
        arrays = {name: np.asarray(state.arrays[name]) for name in ARRAYS}
        for name, array in arrays.items():
            if array.dtype != ARRAYS[name] or array.ndim != 1:
                raise DataError(
                    f"the boosted trees' {name} must be one row of {np.dtype(ARRAYS[name])}: save them again"
                )
        trees = cls(**arrays, baseline=state.facts["baseline"], n_features=state.facts["n_features"])
        trees.check()
        return trees

    def check(self) -> None:
        """Raise unless every path through a tree ends at a leaf and every number is finite."""
        nodes = len(self.feature)
        lengths = {len(getattr(self, name)) for name in ARRAYS if name != "roots"}
        numbers = np.arange(nodes)
        inner = self.feature >= 0
        children = np.stack([self.left, self.right])[:, inner]  # [2, inner nodes]
        is_sound = (
            lengths == {nodes}
            and nodes <= MOST_NODES
            and isinstance(self.n_features, int)
            and isinstance(self.baseline, float)
            and bool(np.isfinite(self.baseline))
            and bool(np.isfinite(self.value).all() and not np.isnan(self.threshold).any())
            and bool(((self.roots >= 0) & (self.roots < nodes)).all() and (np.diff(self.roots) > 0).all())
            and bool(((self.feature >= -1) & (self.feature < self.n_features)).all())
            and bool(((children > numbers[inner]) & (children < nodes)).all())
        )
        if not is_sound:
            raise DataError("the boosted trees are damaged or were changed by hand: save them again")


def _checked(rows: Any, target: Any, weight: Any) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[Any] | None]:
    """Return training rows, targets and weights, or raise."""
    rows, target = np.asarray(rows), np.asarray(target, dtype=np.float64)
    if rows.ndim != 2 or not rows.shape[1] or not len(rows) or not np.issubdtype(rows.dtype, np.number):
        raise InputError(f"rows must be numbers in an array [r, f] with at least one row, got shape {rows.shape}")
    if target.shape != (len(rows),) or not np.isfinite(target).all():
        raise InputError(
            f"target must be {len(rows)} finite numbers, one for each row, got shape {target.shape}: leave out rows "
            "without a target"
        )
    if weight is None:
        return rows, target, None
    weight = np.asarray(weight, dtype=np.float32)
    if weight.shape != target.shape or not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise InputError(
            f"weight must be {len(rows)} finite numbers of at least 0, not all 0, got shape {weight.shape}"
        )
    return rows, target, weight


def _growth(
    metric: str, quantile: float | None, trees: int, leaves: int, learning_rate: float, leaf_rows: int, seed: int
) -> Growth:
    """Return how the trees grow, or raise if an option makes no sense."""
    from subcast.boosting.growing import Growth

    if metric not in LOSSES:
        raise InputError(f"metric must be one of {', '.join(LOSSES)}, got {metric!r}")
    if quantile is not None and not 0 < quantile < 1:
        raise InputError(f"quantile must lie between 0 and 1, got {quantile!r}")
    for name, number, least in (("trees", trees, 0), ("leaves", leaves, 2), ("leaf_rows", leaf_rows, 1)):
        if number < least:
            raise InputError(f"{name} must be at least {least}, got {number!r}")
    if not 0 < learning_rate <= 1:
        raise InputError(f"learning_rate must be more than 0 and at most 1, got {learning_rate!r}")
    is_absolute = quantile is None and metric == "mae"
    level = 0.5 if is_absolute else np.nan if quantile is None else quantile
    return Growth(
        trees, leaves, leaf_rows, learning_rate, _L2, _SHARE, quantile=level, is_absolute=is_absolute, seed=seed
    )
