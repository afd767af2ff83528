"""The limits of each sensor, learned from the training, with which its readings and running numbers are compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subcast.screening.signals import INSTANT, LASTING, SPIKE, Floats, Habits, Mask, Scales, Whole
from subcast.storage import fields
from subcast.storage.state import State

N_DIFFERING = 3
"""Runs of equal readings that differ from what the others say have limits for so many sizes of the difference."""

_LARGEST = 1e30
_LIMITS = ("instant", "instant_suspect", "spike", "lasting", "lasting_suspect")
_COUNTS = ("run", "rest_run", "differing_run", "gap")


@dataclass(frozen=True, eq=False)
class Rules:
    """The limits of n sensors; a number beyond its limit is bad, beyond its suspect limit suspect.

    Parameters
    ----------
    habits, scales
        what is usual, and over how many steps numbers are smoothed
    instant, instant_suspect
        [6, n], limits of the numbers in `INSTANT`
    spike
        [2, n], limits of the numbers in `SPIKE`
    lasting, lasting_suspect
        [14, n], limits of the numbers in `LASTING`
    rest
        [n], the reading at which a sensor rests (0 of a solar plant at night); NaN if it has none
    sleepy
        [rows of the cycle, n], when it rests nearly always, though not at all times
    run, rest_run
        [n], longest possible run of equal readings: elsewhere, and at rest
    differing_run
        [3, n], the same where the other sensors say something else, by how much they do
    gap
        [n], longest gap after which a sensor is not yet dead
    """

    habits: Habits
    scales: Scales
    instant: Floats
    instant_suspect: Floats
    spike: Floats
    lasting: Floats
    lasting_suspect: Floats
    rest: Floats
    sleepy: Mask
    run: Whole
    rest_run: Whole
    differing_run: Whole
    gap: Whole

    def longest_run(self, readings: Floats) -> Whole:
        """Return the longest possible run of these readings [n]."""
        return np.where(readings == self.rest, self.rest_run, self.run)

    def state(self) -> State:
        """Return the state to save."""
        arrays: dict[str, NDArray[np.generic]] = {name: getattr(self.habits, name) for name in Habits._fields}
        names = (*_LIMITS, "rest", "sleepy", *_COUNTS)
        arrays |= {name: getattr(self, name) for name in names}
        return State({"scales": list(self.scales)}, arrays)

    @classmethod
    def from_state(cls, state: State, n: int, rows: int) -> Rules:
        """Return the rules of n sensors saved in `state`."""
        tables = ("activity", "change", "size", "tail")
        shapes = {name: [rows, n] if name in tables else [n] for name in Habits._fields}
        habits = {
            name: fields.array(state, name, np.float64, shape, low=-_LARGEST, high=_LARGEST)
            for name, shape in shapes.items()
        }
        for name in ("unit", *tables):
            if (habits[name] <= 0).any():
                raise state.damaged(f"its {name} must be above 0")
        limits = {
            f"{kind}{suspect}": fields.array(state, f"{kind}{suspect}", np.float64, [count, n], low=0, high=_LARGEST)
            for kind, count in (("instant", len(INSTANT)), ("lasting", len(LASTING)))
            for suspect in ("", "_suspect")
        }
        limits["spike"] = fields.array(state, "spike", np.float64, [len(SPIKE), n], low=0, high=_LARGEST)
        sizes = {"differing_run": [N_DIFFERING, n]}
        counts = {name: fields.array(state, name, np.int64, sizes.get(name, [n]), low=0) for name in _COUNTS}
        with fields.restoring(state):
            fast, slow, long = (int(steps) for steps in fields.numbers(state, "scales", 3))
            if not 1 <= min(fast, slow, long) <= max(fast, slow, long) <= fields.MOST:
                raise ValueError("its scales must be at least 1")
        return cls(
            Habits(**habits),
            Scales(fast, slow, long),
            **limits,
            rest=fields.array(state, "rest", np.float64, [n], missing=True),
            sleepy=fields.array(state, "sleepy", np.bool_, [rows, n]),
            **counts,
        )
