"""Bins of the features: a value becomes the number of its bin, one byte."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.retrieval.compiled.powers import compiled

MISSING = 255
"""The number of the bin of missing values."""

_MOST_BINS = 255
_MOST_LOOKED_AT = 200_000  # rows from which the bins are found
_ALMOST_INFINITE = 1e300


@dataclass(frozen=True, eq=False)
class Bins:
    """At most 255 bins of each feature, with about the same number of rows in each.

    Parameters
    ----------
    edges
        for each feature, the upper bounds of all bins but the last, in increasing order

    Examples
    --------
    >>> bins = Bins.of(np.array([[1.0], [2.0], [2.0], [5.0]]))
    >>> bins.edges, bins.numbers(np.array([[0.0], [2.0], [3.6], [np.nan]])).ravel()
    ([array([1.5, 3.5])], array([  0,   1,   2, 255], dtype=uint8))
    """

    edges: list[NDArray[np.float64]]

    @classmethod
    def of(cls, rows: NDArray[np.floating[Any]], most: int = _MOST_BINS, seed: int = 0) -> Bins:
        """Return the bins of rows [r, f]; of many rows, some are looked at."""
        if len(rows) > _MOST_LOOKED_AT:
            rows = rows[np.sort(np.random.default_rng(seed).choice(len(rows), _MOST_LOOKED_AT, replace=False))]
        return cls([_edges(np.array(rows[:, feature]), most) for feature in range(rows.shape[1])])

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of bins of each feature, [f]."""
        return np.array([len(edges) + 1 for edges in self.edges], dtype=np.int64)

    def numbers(self, rows: NDArray[np.floating[Any]]) -> NDArray[np.uint8]:
        """Return the number of the bin of each value, [r, f]; 255 where it is missing."""
        numbers = np.empty(rows.shape, dtype=np.uint8)
        table = np.full((len(self.edges), _MOST_BINS + 1), np.inf)
        for feature, edges in enumerate(self.edges):
            table[feature, : len(edges)] = edges
        kind = np.float64 if rows.dtype == np.float64 else np.float32
        _fill_numbers(numbers, np.ascontiguousarray(rows, dtype=kind), table, self.counts - 1)
        return numbers

    def threshold(self, feature: int, number: int) -> float:
        """Return the largest value of a bin; infinite for the last one."""
        edges = self.edges[feature]
        return float(edges[number]) if number < len(edges) else np.inf


def _edges(values: NDArray[np.floating[Any]], most: int) -> NDArray[np.float64]:
    """Return the upper bounds of at most `most` bins of one column."""
    values = values[~np.isnan(values)]
    values.sort()
    first = np.ones(len(values), dtype=bool)
    first[1:] = values[1:] != values[:-1]
    different = np.clip(values[first].astype(np.float64), -_ALMOST_INFINITE, _ALMOST_INFINITE)
    if len(different) <= most:
        return (different[1:] + different[:-1]) / 2
    # the value below which i / most of the rows lie; in between two rows, their mean
    position = np.arange(1, most) * len(values)
    above = position // most
    below = np.where(position % most == 0, above - 1, above)
    clipped = np.clip(values[np.stack([below, above])].astype(np.float64), -_ALMOST_INFINITE, _ALMOST_INFINITE)
    return np.unique((clipped[0] + clipped[1]) / 2)


@compiled
def _fill_numbers(numbers: Any, rows: Any, table: Any, last: Any) -> None:
    """Fill in the number of edges below each value, by halving the range eight times without a branch."""
    for row in range(rows.shape[0]):
        for feature in range(rows.shape[1]):
            cell = rows[row, feature]
            edges = table[feature]
            low = np.uint64(0)
            for half in (128, 64, 32, 16, 8, 4, 2, 1):
                low += np.uint64(half) * np.uint64(edges[low + np.uint64(half - 1)] < cell)
            numbers[row, feature] = 255 if np.isnan(cell) else min(low, last[feature])
