"""The result of a search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subcast.retrieval.compiled.kernel import NONE


@dataclass(frozen=True)
class Neighbors:
    """The k nearest candidates of each window, nearest first.

    Attributes
    ----------
    index
        [b, k], the candidate's number in the bank (0 to len(bank) - 1); -1 where fewer than k candidates qualify.
        `bank.windows(index)` gives the windows, `bank.starts[index]` where they start.
    distance
        [b, k] float32, mean |difference|^b over what was compared; infinite where the index is -1.
        Equal distances are ordered by index.
    """

    index: NDArray[np.int64]
    distance: NDArray[np.float32]

    def __len__(self) -> int:
        """Return the number of windows that were searched for."""
        return int(self.index.shape[0])

    @property
    def found(self) -> NDArray[np.bool_]:
        """[b, k], whether there is a neighbor."""
        return self.index >= 0


def empty_heaps(b: int, k: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return empty heaps for b windows."""
    return np.full((b, k), np.inf, dtype=np.float32), np.full((b, k), NONE, dtype=np.int64)


def from_sorted_heaps(distance: NDArray[np.float32], index: NDArray[np.int64]) -> Neighbors:
    """Return sorted heaps [b, k] as neighbors; empty entries get the index -1."""
    index[index == NONE] = -1
    return Neighbors(index, distance)


def merge_heaps(distance: NDArray[np.float32], index: NDArray[np.int64], k: int) -> Neighbors:
    """Return the k nearest of [b, more] candidates, by distance and then by index."""
    order = np.lexsort((index, distance), axis=-1)[:, :k]  # [b, k]
    return from_sorted_heaps(np.take_along_axis(distance, order, axis=1), np.take_along_axis(index, order, axis=1))
