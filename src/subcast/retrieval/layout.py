"""Where the bank keeps each variable's features, and which candidates lie side by side."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.errors import InputError
from subcast.retrieval.compiled.kernel import FULL, GAPS, PACKED

# Starts further apart than this are scanned as separate runs: entering a tile costs about as much as this many steps
# of it. Where rows are shifted and summed, a run reads lookback - 1 steps beyond its last start anyway, so that there
# joining runs pays over a wider gap (`join_tiles`).
_GAP = 64
# Vector loops take this many floats at a time.
_VECTOR = 32


@dataclass(frozen=True)
class Layout:
    """Which row of the bank holds which feature of which variable.

    Rows are features outermost: the readings of all n variables, then their other own features, then one row for
    each feature that all variables share.
    """

    n: int
    shared: tuple[bool, ...]

    @property
    def f(self) -> int:
        """The number of features, shared ones included."""
        return len(self.shared)

    @property
    def own_features(self) -> list[int]:
        """The features that each variable has for itself."""
        return [feature for feature, same in enumerate(self.shared) if not same]

    @property
    def shared_features(self) -> list[int]:
        """The features that are the same for every variable."""
        return [feature for feature, same in enumerate(self.shared) if same]

    @property
    def n_rows(self) -> int:
        """The number of rows stored."""
        return self.n * len(self.own_features) + len(self.shared_features)

    def own_rows(self, variables: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of the own features of `variables`, readings first."""
        return np.concatenate([place * self.n + variables for place in range(len(self.own_features))])

    @property
    def shared_rows(self) -> NDArray[np.int64]:
        """The rows of the shared features."""
        return np.arange(self.n * len(self.own_features), self.n_rows, dtype=np.int64)


def all_starts(offsets: NDArray[np.int64], lookback: int) -> NDArray[np.int64]:
    """Return the start of every window that stays within its series.

    >>> all_starts(np.array([0, 4, 9]), 3).tolist()
    [0, 1, 4, 5, 6]
    """
    runs = [np.arange(a, b - lookback + 1) for a, b in pairwise(offsets)]
    return np.concatenate(runs).astype(np.int64)


def check_starts(given: NDArray[Any], offsets: NDArray[np.int64], lookback: int) -> NDArray[np.int64]:
    """Return the candidates' starts as sorted integers, or say what is wrong with them."""
    if given.ndim != 1 or given.dtype.kind not in "iu" or given.size == 0:
        raise InputError(f"starts must be a flat, non-empty list of integers, got shape {given.shape} of {given.dtype}")
    starts: NDArray[np.int64] = given.astype(np.int64)
    if np.any(np.diff(starts) <= 0):
        raise InputError("starts must rise, each window named once: sort them and drop the repeats")
    series = np.clip(np.searchsorted(offsets, starts, side="right") - 1, 0, len(offsets) - 2)
    wrong = (starts < 0) | (starts + lookback > offsets[series + 1])
    if wrong.any():
        raise InputError(
            f"starts holds {starts[wrong][0]}, but a window of {lookback} steps starting there leaves its series "
            f"(the series end at {', '.join(map(str, offsets[1:6]))}{', ...' if len(offsets) > 6 else ''})"
        )
    return starts


def draw_fraction(starts: NDArray[np.int64], fraction: float, seed: int | np.random.Generator) -> NDArray[np.int64]:
    """Draw one window at random from each of floor(fraction * windows) equal consecutive chunks.

    >>> draw_fraction(np.arange(8), 0.5, 0).tolist()
    [1, 3, 5, 6]
    """
    if not 0 < fraction <= 1:
        raise InputError(f"fraction must lie above 0 and at most at 1, got {fraction}")
    chunks = int(np.floor(fraction * starts.size + 1e-9))
    if chunks == 0:
        raise InputError(f"fraction {fraction} of {starts.size} windows leaves none: give a larger one")
    bounds = np.arange(chunks + 1, dtype=np.int64) * starts.size // chunks
    rng = np.random.default_rng(seed)
    return starts[rng.integers(bounds[:-1], bounds[1:])]


def tiles_of(starts: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Cut the candidates' starts into tiles [tiles, 4]: first start, end of starts, kind, first candidate.

    >>> tiles_of(np.array([0, 1, 2, 3, 80, 82]), 3).tolist()
    [[0, 3, 0, 0], [3, 4, 0, 3], [80, 83, 1, 4]]
    """
    breaks = np.flatnonzero(np.diff(starts) > _GAP)
    first = starts[np.concatenate([[0], breaks + 1])]
    end = starts[np.concatenate([breaks, [starts.size - 1]])] + 1
    return _cut_runs(first, end, starts, size)


def join_tiles(tiles: NDArray[np.int64], starts: NDArray[np.int64], size: int, lookback: int) -> NDArray[np.int64]:
    """Join tiles that are less than two windows apart, as many short series are, into tiles of at most `size` starts.

    >>> starts = np.array([0, 1, 100, 101, 200, 201])
    >>> tiles_of(starts, 300).tolist()
    [[0, 2, 0, 0], [100, 102, 0, 2], [200, 202, 0, 4]]
    >>> join_tiles(tiles_of(starts, 300), starts, 300, 99).tolist()
    [[0, 202, 1, 0]]
    """
    apart = tiles[1:, 0] - tiles[:-1, 1] + 1  # the difference of the two starts
    if not np.any((apart > 1) & (apart <= 2 * lookback)):
        return tiles
    breaks = np.flatnonzero(apart > max(_GAP, 2 * lookback))
    first = tiles[np.concatenate([[0], breaks + 1]), 0]
    end = tiles[np.concatenate([breaks, [tiles.shape[0] - 1]]), 1]
    return _cut_runs(first, end, starts, size)


def _cut_runs(
    first: NDArray[np.int64], end: NDArray[np.int64], starts: NDArray[np.int64], size: int
) -> NDArray[np.int64]:
    """Cut runs of starts, from `first` to before `end`, into tiles of at most `size`."""
    pieces = -(-(end - first) // size)
    run = np.repeat(np.arange(first.size), pieces)
    place = np.arange(run.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    low = first[run] + place * size
    high = np.minimum(low + size, end[run])
    candidate = np.searchsorted(starts, low)
    held = np.searchsorted(starts, high) - candidate
    kind = np.where(held == high - low, FULL, GAPS)
    tiles = np.stack([low, high, kind, candidate], axis=1)[held > 0]
    return np.ascontiguousarray(tiles, dtype=np.int64)


def steps_read(tiles: NDArray[np.int64], beyond: int = 0) -> int:
    """Return what a pass over the tiles costs, in steps of whole vectors, `beyond` more at the end of each tile.

    >>> steps_read(tiles_of(np.array([0, 1, 100]), 64)), steps_read(tiles_of(np.array([0, 1, 100]), 64), 40)
    (192, 256)
    """
    widths = tiles[:, 1] - tiles[:, 0] + beyond
    return int((-(-widths // _VECTOR) * _VECTOR + _GAP).sum())


def packed_tiles(candidates: int, size: int) -> NDArray[np.int64]:
    """Cut the candidates themselves into tiles [tiles, 4], wherever they start.

    >>> packed_tiles(5, 3).tolist()
    [[0, 3, 2, 0], [3, 5, 2, 3]]
    """
    low = np.arange(0, candidates, size, dtype=np.int64)
    high = np.minimum(low + size, candidates)
    return np.ascontiguousarray(np.stack([low, high, np.full_like(low, PACKED), low], axis=1))


def widest(tiles: NDArray[np.int64]) -> int:
    """Return the greatest number of starts in a tile."""
    return int((tiles[:, 1] - tiles[:, 0]).max())
