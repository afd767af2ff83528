"""Normalized units, in which windows are compared and completed: deviations from a variable's daily profile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.calendar import MOST_SLOTS, slot_of_day, slots_a_day
from subcast.scaling import Scaler
from subcast.storage import fields
from subcast.storage.state import State
from subcast.windows import Windows

_SMOOTHING = 15 / 1440  # half width of the smoothing, as a share of a day
_FLOOR = 0.3  # the spread at any slot is at least this share of the variable's overall spread
_CHUNK = 1 << 22


@dataclass(frozen=True, eq=False)
class Normalizer:
    """Normalized units: (reading - center) / spread, where both may depend on the time of day.

    Parameters
    ----------
    center, spread
        [k, n]: for each of the k slots of the day (k = 1 without a daily profile)

    Examples
    --------
    >>> space = Normalizer(np.array([[1.0, 10.0]]), np.array([[2.0, 5.0]]))
    >>> space.normalize(np.array([[[3.0, 15.0]]]), np.zeros((1, 1), dtype=int))
    array([[[1., 1.]]], dtype=float32)
    """

    center: NDArray[np.float32]
    spread: NDArray[np.float32]

    @classmethod
    def fit(cls, train: Windows, *, per_variable: bool = True, daily_profile: bool = True) -> Normalizer:
        """Compute center and spread from the steps of the training windows.

        A daily profile needs times, steps shorter than a day and at least four days of data; otherwise there is one
        slot.
        """
        scaler = Scaler.fit(train, per_variable=per_variable)
        n = train.series.n_variables
        center = np.broadcast_to(scaler.mean, (1, n)).astype(np.float64)
        spread = np.broadcast_to(scaler.scale, (1, n)).astype(np.float64)
        used = train.series[min(train.starts) : max(train.starts) + train.lookback + train.horizon]
        slots = slots_a_day(used.times) if daily_profile else 1
        if slots > 1 and used.wall_times is not None:
            normal = (used.values - center) / spread  # [t, n]
            mean, scale = _profile(normal, slot_of_day(used.wall_times, slots), slots)
            center, spread = center + spread * mean, spread * scale  # [k, n]
        return cls(center.astype(np.float32), spread.astype(np.float32))

    def state(self) -> State:
        """Return the state to save."""
        return State({}, {"center": self.center, "spread": self.spread})

    @classmethod
    def from_state(cls, state: State, n: int | None = None) -> Normalizer:
        """Return the normalizer of `n` variables saved in `state`."""
        center = fields.array(state, "center", np.float32, [None, n])
        slots, n = center.shape
        if not 1 <= slots <= MOST_SLOTS:
            raise state.damaged(f"its center must have 1 to {MOST_SLOTS} slots of the day, got {slots}")
        smallest = float(np.finfo(np.float32).tiny)
        return cls(center, fields.array(state, "spread", np.float32, [slots, n], low=smallest))

    @property
    def slots(self) -> int:
        """Number of slots of the day."""
        return self.center.shape[0]

    def normalize(
        self, values: NDArray[np.floating[Any]], slots: NDArray[np.int64], variables: NDArray[np.int64] | None = None
    ) -> NDArray[np.float32]:
        """Return readings [..., t, s] at slots of the day [..., t] in normalized units."""
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
        center = self.center if variables is None else self.center[:, variables]
        spread = self.spread if variables is None else self.spread[:, variables]
        if self.slots == 1:
            return center[0], spread[0]
        return center[slots], spread[slots]  # [..., t, s]

    def guess_slots(self, values: NDArray[np.floating[Any]], variables: NDArray[np.int64]) -> NDArray[np.int64]:
        """Guess the slot of each window's first step, [b], from readings [b, t, s] without times.

        The guess is the slot at which the readings are nearest to the daily profile.
        """
        b, t, _ = values.shape
        if self.slots == 1:
            return np.zeros(b, dtype=np.int64)
        steps = (np.arange(self.slots)[:, None] + np.arange(t)) % self.slots  # [k, t]
        center, spread = self.center[steps][:, :, variables], self.spread[steps][:, :, variables]  # [k, t, s]
        best = np.empty(b, dtype=np.int64)
        rows = max(1, _CHUNK // center.size)
        for first in range(0, b, rows):
            batch = values[first : first + rows, None]  # [rows, 1, t, s]
            best[first : first + rows] = np.nansum(np.abs(batch - center) / spread, axis=(2, 3)).argmin(axis=1)
        return best


def _profile(
    normal: NDArray[np.floating[Any]], slot: NDArray[np.int64], slots: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and (floored) deviation of each variable at each slot, smoothed over nearby slots, [k, n] each."""
    known = ~np.isnan(normal)
    count = _smooth(_sums(known.astype(np.float64), slot, slots))
    total = _smooth(_sums(np.where(known, normal, 0.0), slot, slots))
    mean = np.divide(total, count, out=np.zeros_like(total), where=count > 0)
    residual = np.where(known, normal - mean[slot], 0.0) ** 2  # [t, n]
    squares = _smooth(_sums(residual, slot, slots))
    deviation = np.sqrt(np.divide(squares, count, out=np.zeros_like(squares), where=count > 0))
    overall = np.sqrt(residual.sum(axis=0) / np.maximum(known.sum(axis=0), 1))  # [n]
    floor = np.where(overall > 0, _FLOOR * overall, 1.0)
    return mean, np.maximum(deviation, floor)


def _sums(values: NDArray[np.float64], slot: NDArray[np.int64], slots: int) -> NDArray[np.float64]:
    total = np.zeros((slots, values.shape[1]))
    np.add.at(total, slot, values)
    return total


def _smooth(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum over each slot and the slots within a quarter of an hour of it, also across midnight."""
    reach = min(round(_SMOOTHING * len(table)), (len(table) - 1) // 2)
    return np.sum([np.roll(table, shift, axis=0) for shift in range(-reach, reach + 1)], axis=0)
