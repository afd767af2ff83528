"""Gradient-boosted trees as flat arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.errors import DataError, InputError
from subcast.retrieval.threads import cuts, run_all, thread_count
from subcast.storage.state import State

LOSSES = {"mae": "absolute_error", "rmse": "squared_error"}
"""The loss that the trees minimize for each metric."""

MOST_NODES = 1 << 22
_ARRAYS = {
    "feature": np.int32,
    "threshold": np.float64,
    "missing_left": np.uint8,
    "left": np.int32,
    "right": np.int32,
    "value": np.float64,
    "roots": np.int32,
}
_MOST_BINS, _MOST_BINNED = 255, 200_000  # bins of a feature, and about how many rows they are found from
_CELLS_A_NODE = 8  # visiting a node takes about as long as comparing this many cells


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
            random seed for the features that each split may use
        """
        from sklearn.ensemble import HistGradientBoostingRegressor

        if metric not in LOSSES:
            raise InputError(f"metric must be one of {', '.join(LOSSES)}, got {metric!r}")
        model = HistGradientBoostingRegressor(
            loss=LOSSES[metric] if quantile is None else "quantile",
            quantile=quantile,
            max_iter=trees,
            max_leaf_nodes=leaves,
            learning_rate=learning_rate,
            min_samples_leaf=leaf_rows,
            max_features=0.7,
            l2_regularization=1.0,
            early_stopping=False,
            random_state=seed,
        )
        bins = None if weight is None else Bins.of(rows)  # with weights, scikit-learn sorts each column 254 times
        model.fit(rows if bins is None else bins.numbers(rows), target, sample_weight=weight)
        nodes = [own[0].nodes for own in model._predictors]
        if bins is not None:
            for table in nodes:
                table["num_threshold"] = bins.thresholds(table["feature_idx"], table["num_threshold"])
        return cls._flat(nodes, float(model._baseline_prediction.item()), rows)

    @classmethod
    def _flat(cls, tables: list[NDArray[Any]], baseline: float, rows: NDArray[Any]) -> Trees:
        """Return the trees of scikit-learn's tables of nodes, one after the other."""
        sizes = np.array([len(table) for table in tables], dtype=np.int64)
        roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]) if len(tables) else np.zeros(0)
        nodes = np.concatenate(tables)
        offset = np.repeat(roots, sizes)
        is_leaf = nodes["is_leaf"].astype(bool)
        return cls(
            feature=np.where(is_leaf, -1, nodes["feature_idx"]).astype(np.int32),
            threshold=np.where(is_leaf, 0.0, nodes["num_threshold"]),
            missing_left=np.where(is_leaf, 0, nodes["missing_go_to_left"]).astype(np.uint8),
            left=np.where(is_leaf, 0, nodes["left"] + offset).astype(np.int32),
            right=np.where(is_leaf, 0, nodes["right"] + offset).astype(np.int32),
            value=np.where(is_leaf, nodes["value"], 0.0),
            roots=roots.astype(np.int32),
            baseline=baseline,
            n_features=rows.shape[1],
        )

    def predict(self, rows: NDArray[np.floating[Any]], threads: int | None = None) -> NDArray[np.float32]:
        """Return the prediction of each row [r, f], [r]."""
        from subcast.boosting.compiled import add_trees

        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise InputError(f"rows must have {self.n_features} features, got an array of shape {rows.shape}")
        cells = np.ascontiguousarray(rows, dtype=np.float32)
        total = np.full(len(cells), self.baseline)
        arrays = (self.roots, self.feature, self.threshold, self.missing_left, self.left, self.right, self.value)
        count = min(thread_count(threads, _CELLS_A_NODE * len(cells) * len(self.roots)), max(1, len(cells)))
        bounds = cuts(len(cells), count)

        run_all([partial(add_trees, total[a:b], cells[a:b], *arrays) for a, b in pairwise(bounds)])
        return total.astype(np.float32)

    def state(self) -> State:
        """Return the state to save."""
        facts = {"baseline": self.baseline, "n_features": self.n_features}
        return State(facts, {name: getattr(self, name) for name in _ARRAYS})

    @classmethod
    def from_state(cls, state: State) -> Trees:
        """Return the trees saved in `state`; raise if a value could lead the evaluation astray."""
        arrays = {name: np.asarray(state.arrays[name]) for name in _ARRAYS}
        for name, array in arrays.items():
            if array.dtype != _ARRAYS[name] or array.ndim != 1:
                raise DataError(
                    f"the boosted trees' {name} must be one row of {np.dtype(_ARRAYS[name])}: save them again"
                )
        trees = cls(**arrays, baseline=state.facts["baseline"], n_features=state.facts["n_features"])
        trees._check()
        return trees

    def _check(self) -> None:
        """Raise unless every path through a tree ends at a leaf and every number is finite."""
        nodes = len(self.feature)
        lengths = {len(getattr(self, name)) for name in _ARRAYS if name != "roots"}
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


@dataclass(frozen=True, eq=False)
class Bins:
    """At most 255 bins of each feature, with about the same number of rows in each.

    Parameters
    ----------
    edges
        for each feature, the largest value of each bin but the last, in increasing order

    Examples
    --------
    >>> bins = Bins.of(np.array([[1.0], [2.0], [2.0], [5.0]]))
    >>> bins.edges, bins.numbers(np.array([[0.0], [2.0], [3.0], [np.nan]])).ravel()
    ([array([1., 2.])], array([ 0.,  1.,  2., nan]))
    """

    edges: list[NDArray[np.float64]]

    @classmethod
    def of(cls, rows: NDArray[np.floating[Any]]) -> Bins:
        """Return the bins of rows [r, f]; of many rows, some are looked at."""
        some = rows[:: max(1, len(rows) // _MOST_BINNED)].astype(np.float64)
        return cls([cls._edges_of(column[~np.isnan(column)]) for column in some.T])

    @staticmethod
    def _edges_of(values: NDArray[np.float64]) -> NDArray[np.float64]:
        different = np.unique(values)
        if len(different) <= _MOST_BINS:
            return different[:-1]
        return np.unique(np.quantile(values, np.arange(1, _MOST_BINS) / _MOST_BINS, method="inverted_cdf"))

    def numbers(self, rows: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """Return the number of the bin of each value, [r, f]; NaN where it is missing."""
        numbers = np.empty(rows.shape)
        for feature, edges in enumerate(self.edges):
            column = rows[:, feature]
            numbers[:, feature] = np.where(np.isnan(column), np.nan, np.searchsorted(edges, column))
        return numbers

    def thresholds(self, feature: NDArray[Any], number: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return thresholds between numbers of bins, [nodes], as thresholds between values of each node's feature."""
        found = number.copy()
        for own, edges in enumerate(self.edges):
            nodes = (feature == own) & np.isfinite(number)
            if len(edges):
                found[nodes] = edges[np.minimum(number[nodes].astype(np.int64), len(edges) - 1)]
        return found
