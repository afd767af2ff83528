"""The steps at which candidates start, as a few runs instead of one number for each candidate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class StartRuns:
    """Sorted starts as runs: first, first + step, ... below stop.

    Parameters
    ----------
    runs
        [r, 3], first, stop and step of each run, in order

    Examples
    --------
    >>> runs = StartRuns.of(np.array([0, 1, 2, 3, 10, 12, 14]))
    >>> runs.runs.tolist(), len(runs)
    ([[0, 4, 1], [10, 16, 2]], 7)
    >>> runs.before(11), runs.between(2, 13).tolist()
    (5, [2, 3, 10, 12])
    """

    runs: NDArray[np.int64]

    @classmethod
    def of(cls, starts: NDArray[np.int64]) -> StartRuns:
        """Return the runs of sorted starts."""
        runs: list[tuple[int, int, int]] = []
        gaps = np.diff(starts)
        place = 0
        changes = np.flatnonzero(np.diff(gaps)) + 1  # places in gaps at which the step changes
        while place < len(starts):
            if place == len(starts) - 1:
                runs.append((int(starts[place]), int(starts[place]) + 1, 1))
                break
            later = changes[np.searchsorted(changes, place, side="right") :]
            last = int(later[0]) if later.size else len(starts) - 1  # the last start with this step
            step = int(gaps[place])
            runs.append((int(starts[place]), int(starts[last]) + step, step))
            place = last + 1
        return cls(np.array(runs, dtype=np.int64).reshape(-1, 3))

    @classmethod
    def with_room(cls, offsets: NDArray[np.int64], length: int) -> StartRuns:
        """Return every start at which `length` steps of one series follow.

        >>> StartRuns.with_room(np.array([0, 4, 9]), 3).runs.tolist()
        [[0, 2, 1], [4, 7, 1]]
        """
        runs = [(a, b - length + 1, 1) for a, b in pairwise(offsets.tolist()) if b - a >= length]
        return cls(np.array(runs, dtype=np.int64).reshape(-1, 3))

    @cached_property
    def _counts(self) -> NDArray[np.int64]:
        """[r + 1], the number of starts before each run, and of all."""
        sizes = -(-(self.runs[:, 1] - self.runs[:, 0]) // self.runs[:, 2])
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def __len__(self) -> int:
        """Return the number of starts."""
        return int(self._counts[-1])

    def before(self, step: int) -> int:
        """Return how many starts lie before a step."""
        run = int(np.searchsorted(self.runs[:, 0], step)) - 1  # the last run that begins before the step
        if run < 0:
            return 0
        first, stop, every = self.runs[run].tolist()
        return int(self._counts[run]) + -(-(min(step, stop) - first) // every)

    def between(self, first: int, last: int) -> NDArray[np.int64]:
        """Return the starts from `first` to `last` - 1."""
        inside = self.runs[(self.runs[:, 1] > first) & (self.runs[:, 0] < last)]
        pieces = [  # only the part of each run that is asked for
            np.arange(a + max(0, -(-(first - a) // every)) * every, min(b, last), every, dtype=np.int64)
            for a, b, every in inside.tolist()
        ]
        return np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.int64)

    def at(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the starts of candidates of any shape, given by their numbers from 0."""
        run = np.searchsorted(self._counts, index, side="right") - 1
        return np.asarray(self.runs[run, 0] + (index - self._counts[run]) * self.runs[run, 2])
