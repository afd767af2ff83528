"""The rows of a bank (which row holds which feature) and the tiles into which its candidates are divided."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.errors import InputError
from subcast.retrieval.compiled.kernel import FULL, GAPS, PACKED

# Starts further apart than this are scanned as separate runs: beginning a tile costs about as much as scanning this
# many steps. Sliding searches read lookback - 1 steps beyond the last start of a run anyway, so for them it pays to
# join runs over a wider gap (`join_tiles`).
_GAP = 64
# Vectorized loops process this many floats at a time.
_VECTOR = 32


@dataclass(frozen=True)
class Layout:
    """The order of the rows of a bank.

    First the readings of all n variables, then the second own feature of all n variables, and so on for all own
    features; then one row for each feature that all variables share.

    Attributes
    ----------
    n
        number of variables
    shared
        for each feature, whether all variables share it
    """

    n: int
    shared: tuple[bool, ...]

    @property
    def f(self) -> int:
        """The number of features, including shared ones."""
        return len(self.shared)

    @property
    def own_features(self) -> list[int]:
        """The features that each variable has for itself (the reading is the first)."""
        return [feature for feature, is_shared in enumerate(self.shared) if not is_shared]

    @property
    def shared_features(self) -> list[int]:
        """The features that are the same for every variable."""
        return [feature for feature, is_shared in enumerate(self.shared) if is_shared]

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.n * len(self.own_features) + len(self.shared_features)

    def own_rows(self, variables: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of the own features of `variables`, readings first."""
        return np.concatenate([i * self.n + variables for i in range(len(self.own_features))])

    @property
    def shared_rows(self) -> NDArray[np.int64]:
        """The rows of the shared features."""
        return np.arange(self.n * len(self.own_features), self.n_rows, dtype=np.int64)


def all_starts(offsets: NDArray[np.int64], lookback: int) -> NDArray[np.int64]:
    """Return the starts of all windows that lie within one series.

    >>> all_starts(np.array([0, 4, 9]), 3).tolist()
    [0, 1, 4, 5, 6]
    """
    runs = [np.arange(a, b - lookback + 1) for a, b in pairwise(offsets)]
    return np.concatenate(runs).astype(np.int64)


def check_starts(starts: NDArray[Any], offsets: NDArray[np.int64], lookback: int) -> NDArray[np.int64]:
    """Return the starts of the candidates as int64, or raise if they are not sorted or a window leaves its series."""
    if starts.ndim != 1 or starts.dtype.kind not in "iu" or starts.size == 0:
        raise InputError(
            f"starts must be a one-dimensional, non-empty list of integers, got shape {starts.shape} of {starts.dtype}"
        )
    checked: NDArray[np.int64] = starts.astype(np.int64)
    if np.any(np.diff(checked) <= 0):
        raise InputError("starts must be sorted and unique, got unsorted or repeated starts: pass np.unique(starts)")
    series = np.clip(np.searchsorted(offsets, checked, side="right") - 1, 0, len(offsets) - 2)
    invalid = (checked < 0) | (checked + lookback > offsets[series + 1])
    if invalid.any():
        raise InputError(
            f"starts contains {checked[invalid][0]}, but a window of {lookback} steps that starts there does not fit "
            f"into its series (the series end at {', '.join(map(str, offsets[1:6]))}"
            f"{', ...' if len(offsets) > 6 else ''})"
        )
    return checked


def draw_fraction(starts: NDArray[np.int64], fraction: float, seed: int | np.random.Generator) -> NDArray[np.int64]:
    """Draw one window at random from each of floor(fraction * windows) equal consecutive chunks.

    >>> draw_fraction(np.arange(8), 0.5, 0).tolist()
    [1, 3, 5, 6]
    """
    if not 0 < fraction <= 1:
        raise InputError(f"fraction must be above 0 and at most 1, got {fraction}")
    chunks = int(np.floor(fraction * starts.size + 1e-9))
    if chunks == 0:
        raise InputError(
            f"fraction must keep at least one window, got {fraction} of {starts.size} windows: use a larger fraction"
        )
    bounds = np.arange(chunks + 1, dtype=np.int64) * starts.size // chunks
    rng = np.random.default_rng(seed)
    return starts[rng.integers(bounds[:-1], bounds[1:])]


def tiles_of(starts: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Divide the starts of the candidates into tiles [tiles, 4]: first start, end of starts, kind, first candidate.

    >>> tiles_of(np.array([0, 1, 2, 3, 80, 82]), 3).tolist()
    [[0, 3, 0, 0], [3, 4, 0, 3], [80, 83, 1, 4]]
    """
    breaks = np.flatnonzero(np.diff(starts) > _GAP)
    first = starts[np.concatenate([[0], breaks + 1])]
    end = starts[np.concatenate([breaks, [starts.size - 1]])] + 1
    return _cut_runs(first, end, starts, size)


def join_tiles(tiles: NDArray[np.int64], starts: NDArray[np.int64], size: int, lookback: int) -> NDArray[np.int64]:
    """Join tiles that are less than two windows apart into tiles of at most `size` starts.

    Many short series give many such tiles.

    >>> starts = np.array([0, 1, 100, 101, 200, 201])
    >>> tiles_of(starts, 300).tolist()
    [[0, 2, 0, 0], [100, 102, 0, 2], [200, 202, 0, 4]]
    >>> join_tiles(tiles_of(starts, 300), starts, 300, 99).tolist()
    [[0, 202, 1, 0]]
    """
    gaps = tiles[1:, 0] - tiles[:-1, 1] + 1  # last start of a tile to first start of the next
    if not np.any((gaps > 1) & (gaps <= 2 * lookback)):
        return tiles
    breaks = np.flatnonzero(gaps > max(_GAP, 2 * lookback))
    first = tiles[np.concatenate([[0], breaks + 1]), 0]
    end = tiles[np.concatenate([breaks, [tiles.shape[0] - 1]]), 1]
    return _cut_runs(first, end, starts, size)


def _cut_runs(
    first: NDArray[np.int64], end: NDArray[np.int64], starts: NDArray[np.int64], size: int
) -> NDArray[np.int64]:
    """Divide runs of starts, from `first` to `end` (exclusive), into tiles of at most `size` starts."""
    n_tiles = -(-(end - first) // size)  # of each run
    run = np.repeat(np.arange(first.size), n_tiles)
    tile_in_run = np.arange(run.size) - np.repeat(np.cumsum(n_tiles) - n_tiles, n_tiles)
    low = first[run] + tile_in_run * size
    high = np.minimum(low + size, end[run])
    candidate = np.searchsorted(starts, low)
    n_candidates = np.searchsorted(starts, high) - candidate
    kind = np.where(n_candidates == high - low, FULL, GAPS)
    tiles = np.stack([low, high, kind, candidate], axis=1)[n_candidates > 0]
    return np.ascontiguousarray(tiles, dtype=np.int64)


def steps_read(tiles: NDArray[np.int64], beyond: int = 0) -> int:
    """Return the cost of scanning the tiles, in steps: widths rounded up to whole vectors plus a cost for each tile.

    `beyond` steps are added to the width of each tile.

    >>> steps_read(tiles_of(np.array([0, 1, 100]), 64)), steps_read(tiles_of(np.array([0, 1, 100]), 64), 40)
    (192, 256)
    """
    widths = tiles[:, 1] - tiles[:, 0] + beyond
    return int((-(-widths // _VECTOR) * _VECTOR + _GAP).sum())


def packed_tiles(candidates: int, size: int) -> NDArray[np.int64]:
    """Divide the indices of the candidates into tiles [tiles, 4] of kind PACKED, wherever the candidates start.

    >>> packed_tiles(5, 3).tolist()
    [[0, 3, 2, 0], [3, 5, 2, 3]]
    """
    low = np.arange(0, candidates, size, dtype=np.int64)
    high = np.minimum(low + size, candidates)
    return np.ascontiguousarray(np.stack([low, high, np.full_like(low, PACKED), low], axis=1))


def widest(tiles: NDArray[np.int64]) -> int:
    """Return the largest number of starts in a tile."""
    return int((tiles[:, 1] - tiles[:, 0]).max())
