"""PageRank of the variables of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def pagerank(
    graph: NDArray[np.floating[Any]], damping: float = 0.85, tolerance: float = 1e-10, rounds: int = 1000
) -> NDArray[np.float64]:
    """Return the PageRank of each variable by power iteration; edges point from row to column, and may have weights.

    >>> pagerank(np.array([[0.0, 1.0], [1.0, 0.0]]))
    array([0.5, 0.5])
    """
    weights = np.maximum(np.asarray(graph, dtype=np.float64), 0)
    n = len(weights)
    outgoing = weights.sum(axis=1, keepdims=True)
    transition = np.divide(weights, outgoing, out=np.full_like(weights, 1 / n), where=outgoing > 0)  # [n, n]
    rank = np.full(n, 1 / n)
    for _ in range(rounds):
        new = damping * rank @ transition + (1 - damping) / n
        if np.abs(new - rank).sum() < tolerance:
            return np.asarray(new)
        rank = new
    return rank
