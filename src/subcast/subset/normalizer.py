"""Normalized units, in which windows are compared and completed: deviations from a variable's usual value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.calendar import MOST_SLOTS, spans_two_years
from subcast.cycle import WEEKS_OF_A_YEAR, Cycle
from subcast.profile import Profile
from subcast.scaling import Scaler
from subcast.season import COLUMNS, fit_season, season_columns
from subcast.series import Series
from subcast.storage import fields
from subcast.storage.state import State
from subcast.windows import Windows

_CHUNK = 1 << 22
_VARIABLES = 64  # whose season is learned at a time
_WEEKS_APART = 9  # weeks of the year in which a season is guessed


@dataclass(frozen=True, eq=False)
class Normalizer:
    """Normalized units: (reading - center) / spread, where both may depend on the position in a cycle.

    Parameters
    ----------
    center, spread
        [k, n]: for each of the k rows of the cycle's profile (k = 1 without one)
    cycle
        the time of day and class of day, perhaps with the week of the year, or the day of the year
    season
        [columns, n], what the time of the year adds to the center, as coefficients of `season_columns`; None if nothing

    Examples
    --------
    >>> space = Normalizer(np.array([[1.0, 10.0]]), np.array([[2.0, 5.0]]), Cycle())
    >>> space.normalize(np.array([[[3.0, 15.0]]]), np.zeros((1, 1), dtype=int))
    array([[[1., 1.]]], dtype=float32)
    """

    center: NDArray[np.float32]
    spread: NDArray[np.float32]
    cycle: Cycle
    season: NDArray[np.float32] | None = None

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
        two years for the days of the year or a season); otherwise there is one row.
        """
        used = train.series[min(train.starts) : max(train.starts) + train.lookback + train.horizon]
        cycle = Cycle()
        if daily_profile:
            profile = Profile.fit(used.values, used.wall_times, holidays=holidays)
            cycle = profile.cycle
            if cycle.slots > 1 and (seasonal := _with_season(used, profile)):
                return seasonal
            if cycle.n_rows > 1:
                return cls(profile.center.astype(np.float32), profile.spread.astype(np.float32), cycle)
        scaler = Scaler.fit(train, per_variable=per_variable)
        n = train.series.n_variables
        center, spread = (np.broadcast_to(each, (1, n)).astype(np.float32) for each in (scaler.mean, scaler.scale))
        return cls(center, spread, cycle)

    def state(self) -> State:
        """Return the state to save."""
        arrays = {"center": self.center, "spread": self.spread}
        own = State({}, arrays if self.season is None else {**arrays, "season": self.season})
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
        spread = fields.array(state, "spread", np.float32, [rows, n], low=smallest)
        season = fields.array(state, "season", np.float32, [COLUMNS, n]) if cycle.seasonal else None
        return cls(center, spread, cycle, season)

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
        center = self._at(self.center, slots, variables)
        if self._seasons is not None:
            cells = self.cycle.slot_of_year(slots)
            own = self._seasons[cells] if variables is None else self._seasons[cells[..., None], variables]
            center = center + own
        return center, self._at(self.spread, slots, variables)

    @cached_property
    def _seasons(self) -> NDArray[np.float32] | None:
        """What the time of the year adds to the center, [weeks * slots, n]."""
        if self.season is None:
            return None
        return (season_columns(self.cycle.slots) @ self.season).astype(np.float32)

    def usual_at(self, slots: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the usual value of each variable at positions [t] of the cycle, [t, n]."""
        return self.restore(np.zeros((*slots.shape, self.center.shape[1])), slots)

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
        seasons = 0.0 if self._seasons is None else self._seasons.astype(np.float64).var(axis=0)
        scale = np.sqrt((spread**2).mean(axis=0) + center.var(axis=0) + seasons)
        return center.mean(axis=0).astype(np.float32), scale.astype(np.float32)

    def guess_slots(
        self,
        values: NDArray[np.floating[Any]],
        variables: NDArray[np.int64],
        possible: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.int64]:
        """Guess the position of each window's first step, [b], from readings [b, t, s] without times.

        The guess is the position at which the readings are nearest to the usual values, among the `possible` ones
        [b, positions]; of a seasonal cycle, in every ninth week of the year, of which `possible` has one.
        """
        b = len(values)
        if self.slots == 1:
            return np.zeros(b, dtype=np.int64)
        within = self.cycle.in_a_week_of_year
        different = self.cycle.n_rows if self.cycle.weekly and not self.cycle.has_classes else within
        weeks = range(0, WEEKS_OF_A_YEAR, _WEEKS_APART) if self.cycle.seasonal else range(1)
        guess, nearest = np.zeros(b, dtype=np.int64), np.full(b, np.inf, dtype=np.float32)
        for week in weeks:
            first = within * week + np.arange(different)
            distance = np.tile(self._distances(values, variables, first), within // different)  # weekdays are the same
            if possible is not None:
                distance[~possible] = np.inf
            best = distance.argmin(axis=1)
            smallest = np.take_along_axis(distance, best[:, None], axis=1)[:, 0]
            guess = np.where(smallest < nearest, within * week + best, guess)
            nearest = np.minimum(smallest, nearest)
        return guess

    def _distances(
        self, values: NDArray[np.floating[Any]], variables: NDArray[np.int64], positions: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return how far windows [b, t, s] are from what is usual if they begin at positions [k], [b, k]."""
        b, t, s = values.shape
        distance = np.empty((b, len(positions)), dtype=np.float32)
        slots = self.cycle.after(positions, t)  # [k, t]
        at_once = max(1, _CHUNK // max(1, t * s))  # positions
        for first in range(0, len(positions), at_once):
            chunk = slice(first, first + at_once)
            usual, scale = self._tables(slots[chunk], variables)  # [count, t, s]
            windows = max(1, _CHUNK // max(1, usual.size))
            for start in range(0, b, windows):
                batch = values[start : start + windows, None]  # [windows, 1, t, s]
                distance[start : start + windows, chunk] = np.nansum(np.abs(batch - usual) / scale, axis=(2, 3))
        return distance


def _with_season(series: Series, profile: Profile) -> Normalizer | None:
    """Return the normalizer with a season, and a profile of what the season leaves; None if there is no season."""
    times = series.wall_times
    if times is None or not spans_two_years(times):
        return None
    cycle = replace(profile.cycle, seasonal=True)
    positions, center = cycle.positions(times), profile.center
    seasons = []
    for first in range(0, center.shape[1], _VARIABLES):  # some at a time, so that copies of the readings stay small
        some = slice(first, first + _VARIABLES)
        left = series.values[:, some] - center[:, some][cycle.rows[positions]]
        seasons.append(fit_season(left, times, cycle))
    season = np.concatenate(seasons, axis=1)
    if not season.any():
        return None
    added = (season_columns(cycle.slots) @ season).astype(np.float32)[cycle.slot_of_year(positions)]
    rest = Profile.fit(series.values - added, times, day_classes=cycle.day_classes, holidays=list(cycle.holidays))
    return Normalizer(rest.center.astype(np.float32), rest.spread.astype(np.float32), cycle, season)
