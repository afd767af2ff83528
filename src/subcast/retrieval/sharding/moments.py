"""Second moments of a bank in files: sums over each shard, which add up to those of the whole series."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subcast.retrieval.moments import _STEPS_AT_ONCE, RANK, LagMoments, MomentSums, _lagged_sums, _loadings
from subcast.retrieval.sharding.cache import Shard, ShardCache
from subcast.retrieval.sharding.units import Frame, Side

SAMPLE = 8192  # steps from which common factors are found


@dataclass(frozen=True, eq=False)
class Span:
    """Which moments are summed.

    Parameters
    ----------
    lags
        the lags 0 .. lags - 1
    first, last
        over the steps first .. last - 1 of the series
    loadings
        [n, r], the common factors for many variables; None for full matrices
    """

    lags: int
    first: int
    last: int
    loadings: NDArray[np.float32] | None = None


@dataclass(frozen=True, eq=False)
class FactorSums:
    """Sums of products of the factors' scores, and of each variable's residual, which can be added.

    Parameters
    ----------
    scores
        [L, r, r]
    own
        [L, n]
    steps
        how many steps they cover
    """

    scores: NDArray[np.float64]
    own: NDArray[np.float64]
    steps: int

    @classmethod
    def of(cls, normal: NDArray[np.float32], lags: int, own_steps: int, loadings: NDArray[np.float32]) -> FactorSums:
        """Sum over the first `own_steps` steps of a stretch [t, n]; the others follow them."""
        z = np.nan_to_num(normal, nan=0.0).astype(np.float32, copy=False)
        scores = z @ loadings  # [t, r]
        residual = (z - scores @ loadings.T).astype(np.float64)
        own = np.zeros((lags, z.shape[1]))
        for lag in range(min(lags, len(z))):
            end = min(own_steps, len(z) - lag)
            own[lag] = (residual[:end] * residual[lag : end + lag]).sum(axis=0)
        return cls(_lagged_sums(scores, lags, own_steps), own, own_steps)

    def __add__(self, other: FactorSums) -> FactorSums:
        """Return the sums over both stretches."""
        return FactorSums(self.scores + other.scores, self.own + other.own, self.steps + other.steps)

    def moments(self, loadings: NDArray[np.float32]) -> LagMoments:
        """Return the moments: the sums divided by the number of steps."""
        nothing = np.zeros(0, dtype=np.float32)
        scores, own = (self.scores / self.steps).astype(np.float32), (self.own / self.steps).astype(np.float32)
        return LagMoments(nothing, loadings, scores, own)


Sums = MomentSums | FactorSums


def future_rows(frame: Frame) -> NDArray[np.int64]:
    """Return the rows that hold what may follow a window: targets if there are any, else readings."""
    first = frame.layout.n_rows if frame.has_targets else 0
    return np.arange(first, first + frame.layout.n)


def chunks_of(span: Span, own: tuple[int, int]) -> list[tuple[int, int]]:
    """Return the chunks that begin among the steps own[0] .. own[1] - 1.

    Products are in single precision within a chunk, and chunks are those of a whole series in memory, so that the sums
    are the same.

    >>> chunks_of(Span(3, 10, 70_000), (0, 40_000)), chunks_of(Span(3, 10, 70_000), (40_000, 70_000))
    ([(10, 32778), (32778, 65546)], [(65546, 70000)])
    """
    before = max(0, -(-(own[0] - span.first) // _STEPS_AT_ONCE))
    begins = range(span.first + before * _STEPS_AT_ONCE, min(own[1], span.last), _STEPS_AT_ONCE)
    return [(begin, min(begin + _STEPS_AT_ONCE, span.last)) for begin in begins]


def sum_shard(
    cache: ShardCache, pieces: Sequence[tuple[Shard, Side]], frame: Frame, span: Span, own: tuple[int, int]
) -> Sums | None:
    """Return the sums over the chunks that begin in a shard, the first of `pieces`; the others follow it.

    None if none does.
    """
    rows = future_rows(frame)
    total: Sums | None = None
    for begin, end in chunks_of(span, own):
        beyond = min(end + span.lags - 1, span.last)
        stretch = np.concatenate(list(_stretches(cache, pieces, frame, rows, begin, beyond)))
        part = _sums(stretch, span, end - begin)
        total = part if total is None else total + part  # type: ignore[operator]
    return total


def _stretches(
    cache: ShardCache,
    pieces: Sequence[tuple[Shard, Side]],
    frame: Frame,
    rows: NDArray[np.int64],
    first: int,
    last: int,
) -> Iterator[NDArray[np.float32]]:
    """Yield the steps first .. last - 1 of some rows, [t, rows], from one shard after the other."""
    for shard, side in pieces:
        end = min(last, shard.file.end)
        if first < end:
            starts = np.array([first - shard.file.first])
            yield cache.stretches(shard, frame, side, rows, starts, end - first)[0]
            first = end


def _sums(stretch: NDArray[np.float32], span: Span, own_steps: int) -> Sums:
    if span.loadings is not None:
        return FactorSums.of(stretch, span.lags, own_steps, span.loadings)
    z = np.nan_to_num(stretch, nan=0.0)
    return MomentSums(_lagged_sums(z, span.lags, own_steps), own_steps)


def merge_sums(parts: list[Sums | None]) -> Sums | None:
    """Return the sums of all parts, added in order, so that the result does not depend on who was first."""
    total: Sums | None = None
    for part in parts:
        if part is not None:
            total = part if total is None else total + part  # type: ignore[operator]
    return total


def common_factors(sample: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the loadings [n, r] of the directions of largest variance in a sample of steps [t, n]."""
    return _loadings(np.nan_to_num(sample, nan=0.0), RANK)
