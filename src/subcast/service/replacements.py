"""Devices that took the place of a sensor: under which name they send, from which step on, and why.

The readings of the old device are holes from then on, in the windows of new forecasts and for the screening: the new
device need not agree with them. They stay stored.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from subcast.service.database import Database
from subcast.service.feed import Feed
from subcast.service.grid import Grid
from subcast.service.problems import ProblemError, shown
from subcast.service.schema import replacements

_FRESH = 2.0  # seconds for which names are taken as known: another worker may have replaced a sensor


class Retired(NamedTuple):
    """A name that is no longer used: the name that took its place, and the step since which that is so."""

    name: str
    since: int


class Names:
    """The names under which sensors send now, for the intake of readings."""

    def __init__(self, database: Database, feed: Feed, grid: Grid) -> None:
        self._database, self._feed, self._grid = database, feed, grid
        self._read = -_FRESH
        self.columns: dict[str, int] = {}
        self.retired: dict[str, Retired] = {}

    def device(self, column: int) -> str | None:
        """Return the name of the device that has the place of a sensor; None if it is still the first one."""
        return next((name for name, own in self.columns.items() if own == column), None)

    def look(self, connection: sa.Connection | None = None) -> None:
        """Read the names again, if that was a while ago."""
        if time.monotonic() - self._read < _FRESH:
            return
        if connection is not None:
            self._take(all_rows(connection))
            return
        self._read = time.monotonic()  # without the database the names stay: stateless forecasts go on
        with suppress(ProblemError), self._database.read() as own:
            self._take(all_rows(own))

    def _take(self, rows: list[Any]) -> None:
        columns, retired = dict[str, int](), dict[str, Retired]()
        known = dict(zip(self._feed.ids.tolist(), self._feed.variables, strict=True))
        for row in rows:  # the oldest first
            column = self._feed.columns.get(row.sensor)
            if column is not None:
                before = next((name for name, own in columns.items() if own == column), known[row.sensor])
                columns.pop(before, None)
                retired.pop(row.name, None)
                if before != row.name:
                    retired[before] = Retired(row.name, row.time)
                columns[row.name] = column
        self.columns, self.retired, self._read = columns, retired, time.monotonic()

    def forget(self) -> None:
        """Have the names read again at the next look."""
        self._read = -_FRESH

    def check(self, names: list[str], steps: NDArray[np.int64]) -> None:
        """Refuse readings under the name of a device that had been replaced by then."""
        if not self.retired:
            return
        for name, step in zip(names, steps.tolist(), strict=True):
            retired = self.retired.get(name)
            if retired is not None and step >= retired.since:
                raise ProblemError(
                    "unknown-sensor",
                    f"{shown(name)} was replaced by {shown(retired.name)} at {self._grid.text(retired.since)}: send "
                    "its readings under that name",
                )


def all_rows(connection: sa.Connection) -> list[Any]:
    """Return all replacements, the oldest first."""
    return list(connection.execute(sa.select(replacements).order_by(replacements.c.time, replacements.c.id)).all())


def of_old_devices(connection: sa.Connection, feed: Feed, times: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which readings of a window are of a device that was replaced before the window ends, [t, n]."""
    mask = np.zeros((len(times), len(feed.ids)), dtype=bool)
    inside = sa.and_(replacements.c.time > int(times[0]), replacements.c.time <= int(times[-1]))
    for row in connection.execute(sa.select(replacements.c.sensor, replacements.c.time).where(inside)):
        if row.sensor in feed.columns:
            mask[times < row.time, feed.columns[row.sensor]] = True
    return mask


def begun(connection: sa.Connection, feed: Feed, at: int) -> list[str]:
    """Return the sensors whose screening has to begin anew at a step."""
    query = sa.select(replacements.c.sensor).where(replacements.c.applied.is_(None), replacements.c.time <= at)
    numbers = set(connection.execute(query).scalars())
    return [name for name, number in zip(feed.variables, feed.ids.tolist(), strict=True) if number in numbers]


def begun_at(connection: sa.Connection, feed: Feed, at: int) -> list[str]:
    """Return the sensors whose screening began anew when a step was processed."""
    numbers = set(connection.execute(sa.select(replacements.c.sensor).where(replacements.c.applied == at)).scalars())
    return [name for name, number in zip(feed.variables, feed.ids.tolist(), strict=True) if number in numbers]


def mark_begun(connection: sa.Connection, at: int) -> None:
    """Note that the screening has begun anew, in the transaction that stores the step."""
    waiting = sa.and_(replacements.c.applied.is_(None), replacements.c.time <= at)
    connection.execute(replacements.update().where(waiting).values(applied=at))
