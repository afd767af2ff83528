"""What experts train on when the training series is in files: a bounded sample of stretches from all shards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subcast.retrieval import ShardedBank
from subcast.windows import Windows

if TYPE_CHECKING:
    from subcast.subset.fitted import Fitted

MOST_CELLS = 1 << 26  # readings of a sample: 256 MB
STRETCHES = 64  # of each half
_WINDOWS_LONG = 20  # least length of a stretch, in windows


@dataclass(frozen=True, eq=False)
class Material:
    """Readings in normalized units, and the windows among them.

    Parameters
    ----------
    readings, targets
        [t, n], NaN where there is none
    slots
        [t], positions in the cycle
    starts
        [w], first steps of the windows
    first, middle, last
        the steps first .. middle - 1 are one half, middle .. last - 1 the other
    """

    readings: NDArray[np.float32]
    targets: NDArray[np.float32]
    slots: NDArray[np.int64]
    starts: NDArray[np.int64]
    first: int
    middle: int
    last: int

    @classmethod
    def of(cls, train: Windows, fitted: Fitted) -> Material:
        """Return the whole training series, or a sample of it if it is in files and large."""
        starts = np.asarray(train.starts, dtype=np.int64)
        lags = train.lookback + train.horizon
        first, last = int(starts.min()), int(starts.max()) + lags
        middle = (first + last) // 2
        if isinstance(fitted.bank, ShardedBank) and (last - first) * fitted.n > MOST_CELLS:
            halves = [stretches(a, b, MOST_CELLS // (2 * fitted.n), lags) for a, b in ((first, middle), (middle, last))]
            return _sample(fitted.bank, fitted.bank_slots, starts, halves, lags)
        normalizer, slots = fitted.normalizer, fitted.bank_slots
        readings = normalizer.normalize(train.series.values, slots)
        targets = normalizer.normalize(train.target_values, slots)
        return cls(readings, targets, slots, starts, first, middle, last)


def stretches(first: int, last: int, most_steps: int, lags: int) -> list[tuple[int, int]]:
    """Return stretches of equal length, evenly spread over the steps first .. last - 1, at most `most_steps` in all.

    >>> stretches(0, 1000, 300, 2)[:2], len(stretches(0, 1000, 300, 2))
    ([(0, 40), (160, 200)], 7)
    """
    length = max(most_steps // STRETCHES, _WINDOWS_LONG * lags)
    if length >= last - first or most_steps >= last - first:
        return [(first, last)]
    count = max(1, most_steps // length)
    begins = np.linspace(first, last - length, count).astype(int) if count > 1 else [first]
    return [(int(begin), int(begin) + length) for begin in begins]


def _sample(
    bank: ShardedBank,
    slots: NDArray[np.int64],
    starts: NDArray[np.int64],
    halves: list[list[tuple[int, int]]],
    lags: int,
) -> Material:
    """Return stretches one after the other, with missing readings between them, so that no product spans two."""
    readings, targets, positions, own_starts = [], [], [], []
    at, middle = 0, 0
    gap = np.full((lags, bank.n), np.nan, dtype=np.float32)
    for number, half in enumerate(halves):
        middle = at if number else middle
        for first, last in half:
            inside = starts[(starts >= first) & (starts + lags <= last)]
            own_starts.append(inside - first + at)
            readings += [bank.steps(first, last), gap]
            targets += [bank.targets(first, last), gap]
            positions += [slots[first:last], np.zeros(lags, dtype=np.int64)]
            at += last - first + lags
    return Material(
        np.concatenate(readings),
        np.concatenate(targets),
        np.concatenate(positions),
        np.concatenate(own_starts),
        0,
        middle,
        at,
    )
