"""Segments of a long window: the inputs of a regression are means over them, short ones near the end of the window.

The covariance of a mean over L steps with a reading at another step depends on the lag between them alone. So the
covariances of every length are kept by lag, and no matrix of all inputs and all outputs is ever made.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import groupby, pairwise
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from subcast.blas_threads import one_blas_thread
from subcast.retrieval.compiled.powers import compiled
from subcast.retrieval.moments import LagMoments
from subcast.retrieval.threads import cuts, run_all, thread_count

_GROWTH = 4  # each length is a power of this
_LONGEST = 16  # steps of a segment
_RATES = (0.0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0)  # how much longer segments grow toward the past
FEW_WINDOWS = 4  # up to so many windows are multiplied one by one


@dataclass(frozen=True)
class Segments:
    """Consecutive segments of a window, the oldest first; the last ends with the window.

    Parameters
    ----------
    lengths
        steps of each segment: powers of 4 that never grow toward the end of the window
    lookback
        steps of the window; the oldest steps may belong to no segment

    Examples
    --------
    >>> Segments.of(96, 12).lengths
    (16, 16, 16, 16, 16, 4, 4, 4, 1, 1, 1, 1)
    >>> Segments.of(12, 99).lengths == (1,) * 12
    True
    """

    lengths: tuple[int, ...]
    lookback: int

    @classmethod
    def of(cls, lookback: int, most: int) -> Segments:
        """Return at most `most` segments of a window: of one step each if they suffice, else longer in the past."""
        for rate in _RATES:
            lengths = _lengths(lookback, rate)
            if len(lengths) <= most:
                break
        return cls(tuple(sorted(lengths[:most], reverse=True)), lookback)

    @property
    def first(self) -> list[int]:
        """The first step of each segment."""
        return (self.lookback - np.cumsum(self.lengths[::-1])[::-1]).tolist()

    @property
    def classes(self) -> list[tuple[int, int, int]]:
        """Length, number of the first segment, and number of segments of each run of equal lengths."""
        found, begin = [], 0
        for length, group in groupby(self.lengths):
            count = len(list(group))
            found.append((length, begin, count))
            begin += count
        return found

    def __len__(self) -> int:
        return len(self.lengths)

    def means(self, cells: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the mean over each segment of windows [b, t, s], [b, segments, s]."""
        if len(self) == self.lookback:
            return cells
        sums = np.add.reduceat(cells, self.first, axis=1)
        return np.asarray(sums / np.array(self.lengths, dtype=np.float32)[:, None])


def _lengths(lookback: int, rate: float) -> list[int]:
    """Return lengths from the end of a window on: each a power of 4 up to `rate` times the steps before it."""
    lengths, covered = [], 0
    while covered < lookback:
        longest = max(1.0, min(rate * covered, lookback - covered, _LONGEST))
        lengths.append(int(_GROWTH ** np.floor(np.log(longest) / np.log(_GROWTH) + 1e-9)))
        covered += lengths[-1]
    return lengths


@dataclass(frozen=True, eq=False)
class LaggedBlocks:
    """Covariances of segment means of some variables with readings of others, by length and lag.

    Parameters
    ----------
    segments
        the segments
    lowest
        for each length of a segment, the smallest lag
    by_length
        for each length L, [lags, s, m]: the covariance of the mean over L steps with a reading `lag` steps after the
        first of them, for all lags from the smallest on
    is_whole
        whether these are the covariances among all variables, so that those at negative lags can be read from them too
    """

    segments: Segments
    lowest: dict[int, int]
    by_length: dict[int, NDArray[np.float32]]
    is_whole: bool = False

    @classmethod
    def of(
        cls,
        moments: LagMoments,
        segments: Segments,
        variables: NDArray[np.int64],
        others: NDArray[np.int64],
        begin: int | None,
        end: int,
    ) -> LaggedBlocks:
        """Gather the covariances with the steps begin .. end - 1, counted from the first step of the window.

        If `begin` is None, with all steps from each segment's own first one on: enough for `gram`, and for later steps.
        """
        lowest, by_length, first = {}, {}, segments.first
        for length, number, count in segments.classes:
            lowest[length] = 0 if begin is None else begin - first[number + count - 1]
            top = end - 1 - first[number]
            by_length[length] = moments.averaged(length).lagged(variables, others, lowest[length], top)
        return cls(segments, lowest, by_length)

    @classmethod
    def of_all(cls, moments: LagMoments, segments: Segments) -> LaggedBlocks:
        """Return the covariances among all variables, without a copy: of moments that are stored as full matrices."""
        lengths = sorted(set(segments.lengths))
        whole = {length: moments.averaged(length).whole for length in lengths}
        return cls(segments, dict.fromkeys(lengths, 0), whole, is_whole=True)

    @property
    def nbytes(self) -> int:
        """Size in memory in bytes."""
        return sum(blocks.nbytes for blocks in self.by_length.values())

    def gram(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the covariance matrix of the segment means of some variables, [segments * s, segments * s].

        Only the upper triangle is filled in. `rows` are positions in both axes of the blocks.
        """
        p, s = len(self.segments), len(rows)
        matrix = np.zeros((p, s, p, s))
        first, lengths = np.array(self.segments.first), np.array(self.segments.lengths)
        for length, begin, count in self.segments.classes:
            fill_gram(matrix, self.by_length[length], self.lowest[length], rows, first, lengths, begin, begin + count)
        return matrix.reshape(p * s, p * s)

    def product(
        self,
        solved: NDArray[np.float32],
        rows: NDArray[np.int64],
        columns: NDArray[np.int64],
        begin: int,
        end: int,
    ) -> NDArray[np.float32]:
        """Return coefficients [b, segments * s] times the covariances with the steps begin .. end - 1, [b, steps, m].

        `rows` [s] and `columns` [m] are positions in the axes of the blocks.
        """
        cells = np.ascontiguousarray(solved, dtype=np.float32).reshape(len(solved), len(self.segments), len(rows))
        if len(solved) <= FEW_WINDOWS:
            return self._product_of_few(cells, rows, columns, begin, end)
        flat = cells.reshape(len(cells), -1)
        found = np.empty((len(cells), end - begin, len(columns)), dtype=np.float32)

        def fill(low: int, high: int) -> None:
            matrix = np.empty((flat.shape[1], len(columns)), dtype=np.float32)
            for step in range(low, high):
                for length, first, count in self.segments.classes:
                    part = matrix[first * len(rows) : (first + count) * len(rows)]
                    gather(
                        part, self.by_length[length], self._place(length, first, begin + step), length, rows, columns
                    )
                found[:, step] = flat @ matrix

        threads = thread_count(None, float(flat.shape[1]) * found[0].size)
        with one_blas_thread():
            run_all([partial(fill, low, high) for low, high in pairwise(cuts(end - begin, threads).tolist())])
        return found

    def _product_of_few(
        self,
        cells: NDArray[np.float32],
        rows: NDArray[np.int64],
        columns: NDArray[np.int64],
        begin: int,
        end: int,
    ) -> NDArray[np.float32]:
        """Return the product window by window, without a copy of the blocks; the steps are divided among threads."""
        width = next(iter(self.by_length.values())).shape[2]
        found = np.zeros((len(cells), end - begin, width), dtype=np.float32)
        padded = np.zeros((len(cells), len(self.segments), width if self.is_whole else 0), dtype=np.float32)
        if self.is_whole:
            padded[:, :, rows] = cells

        def fill(low: int, high: int) -> None:
            for length, first, count in self.segments.classes:
                own, full = cells[:, first : first + count], padded[:, first : first + count]
                place = self._place(length, first, begin + low)
                multiply(found[:, low:high], own, full, self.by_length[length], place, length, rows)

        bounds = cuts(end - begin, thread_count(None, cells.size * float(found[0].size))).tolist()
        run_all([partial(fill, low, high) for low, high in pairwise(bounds)])
        return found if len(columns) == width else found[:, :, columns]

    def _place(self, length: int, segment: int, step: int) -> int:
        """Return where the block of a segment with a step stands."""
        return step - self.segments.first[segment] - self.lowest[length]


def _reduced(function: Any) -> Any:
    """Compile a sum whose terms may be added in any order; NaN stays NaN."""
    return numba.njit(nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})(function)


@_reduced
def _dot(first: Any, second: Any) -> Any:
    total = np.float32(0)
    for place in range(len(first)):
        total += first[place] * second[place]
    return total


@compiled
def fill_gram(matrix: Any, blocks: Any, lowest: int, rows: Any, first: Any, lengths: Any, begin: int, end: int) -> None:
    """Fill in the covariances of the segments begin .. end - 1, of one length, with themselves and all later ones."""
    for a in range(begin, end):
        for c in range(a, len(first)):
            place = first[c] - first[a] - lowest
            share = 1.0 / lengths[c]
            for i in range(len(rows)):
                line = matrix[a, i, c]
                for step in range(lengths[c]):
                    block = blocks[place + step, rows[i]]
                    for j in range(len(rows)):
                        line[j] += share * block[rows[j]]


@compiled
def gather(part: Any, blocks: Any, place: int, stride: int, rows: Any, columns: Any) -> None:
    """Copy rows and columns of the blocks `place`, `place` - `stride`, ... into the lines of `part`, [count * s, m].

    A block at a negative place, of segments of `stride` steps, is that at stride - 1 - place, transposed.
    """
    s = len(rows)
    for segment in range(part.shape[0] // s):
        lag = place - segment * stride
        if lag >= 0:
            for row in range(s):
                own, line = part[segment * s + row], blocks[lag, rows[row]]
                for column in range(len(columns)):
                    own[column] = line[columns[column]]
        else:
            for column in range(len(columns)):
                line = blocks[stride - 1 - lag, columns[column]]
                for row in range(s):
                    part[segment * s + row, column] = line[rows[row]]


@compiled
def multiply(found: Any, cells: Any, padded: Any, blocks: Any, place: int, stride: int, rows: Any) -> None:
    """Add cells [b, segments, s] times the blocks of each step to `found` [b, steps, m].

    Blocks at negative places as in `gather`; there the cells are taken from `padded` [b, segments, m], which holds 0
    for variables that are not in S.
    """
    steps, segments = found.shape[1], cells.shape[1]
    for lag in range(place + steps - 1, place - (segments - 1) * stride - 1, -1):  # each block is read once
        low = max(0, (place - lag + stride - 1) // stride)
        high = min(segments, (place - lag + steps - 1) // stride + 1)
        if lag >= 0:
            for row in range(len(rows)):
                line = blocks[lag, rows[row]]
                for segment in range(low, high):
                    step = lag - place + segment * stride
                    for window in range(found.shape[0]):
                        cell, total = cells[window, segment, row], found[window, step]
                        for column in range(len(total)):
                            total[column] += cell * line[column]
        else:
            block = blocks[stride - 1 - lag]
            for segment in range(low, high):
                step = lag - place + segment * stride
                for window in range(found.shape[0]):
                    for column in range(found.shape[2]):
                        found[window, step, column] += _dot(block[column], padded[window, segment])
