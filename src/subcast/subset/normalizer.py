"""Normalized units, in which windows are compared and completed: deviations from a variable's usual value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.calendar import MOST_SLOTS
from subcast.cycle import Cycle
from subcast.profile import Profile
from subcast.scaling import Scaler
from subcast.storage import fields
from subcast.storage.state import State
from subcast.windows import Windows

_CHUNK = 1 << 22


@dataclass(frozen=True, eq=False)
class Normalizer:
    """Normalized units: (reading - center) / spread, where both may depend on the position in a cycle.

    Parameters
    ----------
    center, spread
        [k, n]: for each of the k rows of the cycle's profile (k = 1 without one)
    cycle
        the time of day and class of day, or the day of the year

    Examples
    --------
    >>> space = Normalizer(np.array([[1.0, 10.0]]), np.array([[2.0, 5.0]]), Cycle())
    >>> space.normalize(np.array([[[3.0, 15.0]]]), np.zeros((1, 1), dtype=int))
    array([[[1., 1.]]], dtype=float32)
    """

    center: NDArray[np.float32]
    spread: NDArray[np.float32]
    cycle: Cycle

    @classmethod
    def fit(
        cls,
        train: Windows,
        *,
        per_variable: bool = True,
        daily_profile: bool = True,
        holidays: Sequence[Any] = (),
    ) -> Normalizer:
        """Compute center and spread from the steps of the training windows.

        A profile needs times, steps of a day or shorter, and at least four days of data (four weeks to tell days apart,
        two years for the days of the year); otherwise there is one row.
        """
        used = train.series[min(train.starts) : max(train.starts) + train.lookback + train.horizon]
        cycle = Cycle()
        if daily_profile:
            profile = Profile.fit(used.values, used.wall_times, holidays=holidays)
            cycle = profile.cycle
            if cycle.n_rows > 1:
                return cls(profile.center.astype(np.float32), profile.spread.astype(np.float32), cycle)
        scaler = Scaler.fit(train, per_variable=per_variable)
        n = train.series.n_variables
        center, spread = (np.broadcast_to(each, (1, n)).astype(np.float32) for each in (scaler.mean, scaler.scale))
        return cls(center, spread, cycle)

    def state(self) -> State:
        """Return the state to save."""
        own = State({}, {"center": self.center, "spread": self.spread})
        joined = State.join({}, cycle=self.cycle.state())
        joined.arrays.update(own.arrays)
        return joined

    @classmethod
    def from_state(cls, state: State, n: int | None = None) -> Normalizer:
        """Return the normalizer of `n` variables saved in `state`; without a cycle there are slots of one day."""
        center = fields.array(state, "center", np.float32, [None, n])
        rows, n = center.shape
        part = state.part("cycle")
        if part is None and not 1 <= rows <= MOST_SLOTS:
            raise state.damaged(f"its center must have 1 to {MOST_SLOTS} slots of the day, got {rows}")
        cycle = Cycle(rows) if part is None else Cycle.from_state(part)
        if cycle.n_rows != rows:
            raise state.damaged(f"its center must have {cycle.n_rows} rows, got {rows}")
        smallest = float(np.finfo(np.float32).tiny)
        return cls(center, fields.array(state, "spread", np.float32, [rows, n], low=smallest), cycle)

    @property
    def slots(self) -> int:
        """Number of positions of the cycle; 1 if the time does not matter."""
        return self.cycle.length

    def normalize(
        self, values: NDArray[np.floating[Any]], slots: NDArray[np.int64], variables: NDArray[np.int64] | None = None
    ) -> NDArray[np.float32]:
        """Return readings [..., t, s] at positions [..., t] of the cycle in normalized units."""
        center, spread = self._tables(slots, variables)
        return ((values - center) / spread).astype(np.float32)

    def restore(
        self, normal: NDArray[np.floating[Any]], slots: NDArray[np.int64], variables: NDArray[np.int64] | None = None
    ) -> NDArray[np.float32]:
        """Return normalized values [..., t, s] in raw units."""
        center, spread = self._tables(slots, variables)
        return (normal * spread + center).astype(np.float32)

    def spread_of(self, variables: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return a typical spread of each variable, [s], to compare errors of variables in different units."""
        return np.asarray(np.sqrt((self.spread[:, variables].astype(np.float64) ** 2).mean(axis=0)))

    def _tables(
        self, slots: NDArray[np.int64], variables: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        return self._at(self.center, slots, variables), self._at(self.spread, slots, variables)

    def _at(
        self, table: NDArray[np.float32], slots: NDArray[np.int64], variables: NDArray[np.int64] | None
    ) -> NDArray[np.float32]:
        """Return the entries of a table [rows, n] at positions [..., t] of the cycle, [..., t, s]."""
        if len(table) == 1:
            return table[0] if variables is None else table[0, variables]
        rows = self.cycle.rows[slots]
        if variables is None:
            return table[rows]
        if rows.size < len(table):  # few windows: the columns need not be copied
            return table[rows[..., None], variables]
        return table[:, variables][rows]

    def spread_at(self, slots: NDArray[np.int64], variables: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the spread of variables at positions [..., t] of the cycle, [..., t, s]."""
        spread = self._at(self.spread, slots, variables)
        return np.broadcast_to(spread, (*slots.shape, len(variables)))

    @cached_property
    def levels(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The mean and the overall spread of each variable, [n] each."""
        center, spread = (
            self.center.astype(np.float64),
            self.spread.astype(np.float64),
        )  # squares may be too small or large
        scale = np.sqrt((spread**2).mean(axis=0) + center.var(axis=0))
        return center.mean(axis=0).astype(np.float32), scale.astype(np.float32)

    def guess_slots(
        self,
        values: NDArray[np.floating[Any]],
        variables: NDArray[np.int64],
        possible: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.int64]:
        """Guess the position of each window's first step, [b], from readings [b, t, s] without times.

        The guess is the position at which the readings are nearest to the profile, among the `possible` ones
        [b, positions].
        """
        b, t, s = values.shape
        if self.slots == 1:
            return np.zeros(b, dtype=np.int64)
        different = self.cycle.n_rows if self.cycle.weekly and not self.cycle.has_classes else self.slots
        rows = self.cycle.rows[(np.arange(different)[:, None] + np.arange(t)) % self.slots]  # [k, t]
        center, spread = self.center[:, variables], self.spread[:, variables]
        distance = np.empty((b, different), dtype=np.float32)
        at_once = max(1, _CHUNK // max(1, t * s))  # positions
        for first in range(0, different, at_once):
            chunk = slice(first, first + at_once)
            usual, scale = center[rows[chunk]], spread[rows[chunk]]  # [count, t, s]
            windows = max(1, _CHUNK // max(1, usual.size))
            for start in range(0, b, windows):
                batch = values[start : start + windows, None]  # [windows, 1, t, s]
                distance[start : start + windows, chunk] = np.nansum(np.abs(batch - usual) / scale, axis=(2, 3))
        distance = np.tile(distance, self.slots // different)  # each day of the week is the same
        if possible is not None:
            distance[~possible] = np.inf
        return distance.argmin(axis=1)
