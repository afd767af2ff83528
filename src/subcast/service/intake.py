"""Check the readings of a request against the wrapper: names, units, times and values; a fault refuses all of them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subcast.limits import Limits
from subcast.names import plural
from subcast.service.bodies import Columns
from subcast.service.grid import Grid
from subcast.service.problems import ProblemError, shown
from subcast.tables.steps import duration_text

if TYPE_CHECKING:
    from subcast.service.replacements import Names

_WRONG_SHARE, _ENOUGH = 0.8, 3  # of readings beyond the limits from which a wrong unit is suspected
_FACTORS = (1000.0, 0.001)


@dataclass(frozen=True, eq=False)
class Batch:
    """Readings of known sensors at steps, without repeats, ordered by step and sensor.

    Parameters
    ----------
    sensors
        [m] columns of the wrapper
    times, values
        [m] steps, and readings
    received
        number of readings of the request
    moved
        number of readings whose time was moved to a step
    warnings
        sentences for the answer
    """

    sensors: NDArray[np.int64]
    times: NDArray[np.int64]
    values: NDArray[np.float64]
    received: int
    moved: int = 0
    warnings: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: NDArray[Any]) -> Batch:
        """Return some of the readings."""
        parts = self.sensors[rows], self.times[rows], self.values[rows]
        return Batch(*parts, self.received, self.moved, list(self.warnings))


class Newest(NamedTuple):
    """Which times readings may have.

    Attributes
    ----------
    step
        the newest step: later ones are in the future
    ahead
        the newest time that continues a replayed feed; None for a feed by the wall clock
    present
        times after this are of the present, and always continue a feed
    """

    step: int
    ahead: int | None = None
    present: int = 0


class Intake:
    """Turns columns of a request into a `Batch`.

    Parameters
    ----------
    variables, unit, limits
        of the wrapper
    grid
        its steps
    """

    def __init__(self, variables: Sequence[str], grid: Grid, unit: str = "", limits: Limits | None = None) -> None:
        self.variables, self.grid, self.unit, self.limits = tuple(variables), grid, unit, limits
        self._columns = {name: column for column, name in enumerate(self.variables)}
        self.names: Names | None = None

    def column(self, name: str) -> int:
        """Return the column of a sensor; refuse a name that no sensor has, with the nearest one."""
        column = self._columns.get(name)
        if self.names is not None:
            column = self.names.columns.get(name, column)
        if column is None:
            raise unknown_sensor(name, self.variables)
        return column

    def check_unit(self, units: set[str]) -> None:
        """Refuse another unit than that of the training."""
        other = sorted(units - {self.unit})
        if other:
            has = f"in {shown(self.unit)}" if self.unit else "without a unit"
            raise ProblemError("wrong-unit", f"the sensors report {has}, got {shown(other[0])}: convert the values")

    def batch(self, columns: Columns, newest: Newest) -> Batch:
        """Return the readings as a batch; times that are too new are refused."""
        self.check_unit(columns.units)
        if self.names is not None:
            self.names.look()
        names = {name: self.column(name) for name in dict.fromkeys(columns.sensors)}
        sensors = np.array([names[name] for name in columns.sensors], dtype=np.int64)
        texts = list(dict.fromkeys(columns.times))
        stamps = np.array([self.grid.parse(text) for text in texts], dtype=np.int64)
        steps, moved = self.grid.snap(stamps, texts)
        self._refuse_future(steps, texts, newest)
        places = {text: place for place, text in enumerate(texts)}
        rows = np.array([places[text] for text in columns.times], dtype=np.int64)
        if self.names is not None:
            self.names.check(columns.sensors, steps[rows])
        batch = Batch(sensors, steps[rows], np.array(columns.values, dtype=np.float64), len(columns))
        batch = self._distinct(batch)
        self._refuse_factor(batch)
        warnings = [*self._moved_warning(moved[rows]), *self._limit_warning(batch)]
        return Batch(batch.sensors, batch.times, batch.values, len(columns), int((moved[rows] != 0).sum()), warnings)

    def _refuse_future(self, steps: NDArray[np.int64], texts: list[str], newest: Newest) -> None:
        late = steps > newest.step
        if late.any():
            text = texts[int(np.argmax(late))]
            raise ProblemError(
                "future",
                f"time {shown(text)} is in the future: the newest step that can be sent now is "
                f"{self.grid.text(newest.step)}; check the clock and the time zone of the sender",
            )
        far = steps > (newest.step if newest.ahead is None else newest.ahead)
        far &= steps < newest.present
        if far.any():
            text = texts[int(np.argmax(far))]
            raise ProblemError(
                "future",
                f"time {shown(text)} is more than a month ahead of the replayed feed: check the year, or replay into "
                "another database",
            )

    def _distinct(self, batch: Batch) -> Batch:
        """Order the readings, and drop repeats; the same sensor and time with two values is refused."""
        order = np.lexsort((batch.sensors, batch.times))
        batch = batch.take(order)
        same = (np.diff(batch.sensors) == 0) & (np.diff(batch.times) == 0)
        if not same.any():
            return batch
        differs = same & (np.diff(batch.values) != 0)
        if differs.any():
            place = int(np.argmax(differs))
            first, second = batch.values[place : place + 2]
            raise ProblemError(
                "invalid",
                f"the request has two values of {shown(self.variables[int(batch.sensors[place])])} at "
                f"{self.grid.text(int(batch.times[place]))} ({first:g} and {second:g}): send one",
            )
        return batch.take(np.concatenate([[True], ~same]))

    def _beyond(self, batch: Batch) -> NDArray[np.bool_]:
        if self.limits is None:
            return np.zeros(len(batch), dtype=bool)
        low, high = self.limits.low[batch.sensors], self.limits.high[batch.sensors]
        return np.asarray((batch.values < low) | (batch.values > high))

    def _refuse_factor(self, batch: Batch) -> None:
        """Refuse a request whose readings are nearly all impossible, and possible when divided by 1000, or times 1000.

        A single such sensor is a broken sensor: its reading is stored and screened.
        """
        beyond = self._beyond(batch)
        if self.limits is None or beyond.sum() < max(_ENOUGH, _WRONG_SHARE * len(batch)):
            return
        if len(np.unique(batch.sensors[beyond])) < min(_ENOUGH, len(self.variables)):
            return
        for factor in _FACTORS:
            scaled = Batch(batch.sensors, batch.times, batch.values / factor, batch.received)
            if (~self._beyond(scaled))[beyond].mean() >= _WRONG_SHARE:
                place = int(np.argmax(beyond))
                words = "1000 times too large" if factor > 1 else "1000 times too small"
                unit = f" in {self.unit}" if self.unit else " in the unit of the training"
                raise ProblemError(
                    "wrong-unit",
                    f"the values look {words} ({batch.values[place]:g} of "
                    f"{shown(self.variables[int(batch.sensors[place])])}): send them{unit}",
                )

    def _limit_warning(self, batch: Batch) -> list[str]:
        beyond = self._beyond(batch)
        if not beyond.any():
            return []
        place = int(np.argmax(beyond))
        count = int(beyond.sum())
        return [
            f"{plural(count, 'reading', 'is')} beyond the limits of the sensor, such as {batch.values[place]:g} of "
            f"{shown(self.variables[int(batch.sensors[place])])}: stored, but not used for forecasts"
        ]

    def _moved_warning(self, moved: NDArray[np.int64]) -> list[str]:
        count = int((moved != 0).sum())
        if not count:
            return []
        largest = duration_text(int(np.abs(moved).max()))
        return [
            f"{plural(count, 'reading', 'was')} off the {self.grid.steps.freq} steps by up to {largest}: moved to the "
            "nearest step"
        ]


def unknown_sensor(name: str, variables: Sequence[str]) -> ProblemError:
    """Return the error of a name that no sensor has, with those that are near."""
    same = [known for known in variables if known.lower() == name.lower()]
    near = same or difflib.get_close_matches(name[:200], variables, n=3, cutoff=0.6)
    hint = f"did you mean {shown(near[0])}?" if near else "GET /v1/sensors lists them"
    return ProblemError("unknown-sensor", f"there is no sensor {shown(name)}: {hint}", suggestions=near)
