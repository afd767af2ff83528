"""Which step is next, and whether it can be closed: everyone reported, or its deadline passed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from subcast.service.clock import AUTO, FEED, WALL, SteadyClock, decide_mode, stored_mode
from subcast.service.database import Database
from subcast.service.feed import Feed, last_step, newest_reading
from subcast.service.grid import SECOND
from subcast.service.options import Options
from subcast.service.replacements import of_old_devices
from subcast.service.schema import health, maintenance, readings

COMPLETE, DEADLINE, NOTHING = "complete", "deadline", "nothing arrived"
_SETTLE = SECOND // 4  # a step past its deadline waits so long for readings that are just coming in
_LONGEST_SETTLE = 5 * SECOND


class Plan(NamedTuple):
    """The next step.

    Attributes
    ----------
    time
        the step; None if there is none yet
    reason
        why it can be closed now; "" if it cannot
    wait
        nanoseconds until it should be looked at again
    waiting
        [n], sensors that it waits for
    skipped
        number of steps that are left out before it, after a long pause
    now, mode
        the time by the clock of the feed, and which clock that is
    """

    time: int | None
    reason: str
    wait: int
    waiting: NDArray[np.bool_]
    skipped: int
    now: int
    mode: str


@dataclass
class Planner:
    """Decides when steps are closed."""

    database: Database
    feed: Feed
    options: Options
    clock: SteadyClock
    deadline: int
    last_arrival: int = 0
    """When readings arrived last, by the clock."""

    def mode(self, connection: sa.Connection) -> str:
        """Return the clock that the feed goes by; without readings it is the wall clock."""
        if self.options.clock != AUTO:
            return self.options.clock
        return stored_mode(connection) or WALL

    def decide(self, connection: sa.Connection, newest: int) -> None:
        """Let readings decide by which clock the feed goes, if nobody said so."""
        if self.options.clock == AUTO:
            length, now = self.feed.grid.length, self.clock.now()
            horizon = max(self.feed.late_steps, 2 * self.feed.lookback) * length
            decide_mode(connection, newest, now, horizon, 2 * length)

    def plan(self, connection: sa.Connection) -> Plan:
        """Return the next step and whether it can be closed."""
        grid = self.feed.grid
        last, newest = last_step(connection), newest_reading(connection)
        mode, now = self.mode(connection), self.clock.now()
        nobody = np.zeros(len(self.feed.ids), dtype=bool)
        current = newest if mode == FEED else grid.step_at(now + grid.tolerance)
        if current is None or (last is None and newest is None and self.options.clock != WALL):
            return Plan(None, "", grid.length, nobody, 0, now, mode)
        time, skipped = self._next(connection, last, current)
        if time > current:
            return Plan(time, "", max(time - now, 0) if mode == WALL else grid.length, nobody, skipped, now, mode)
        reported = self.feed.reported(connection, time)
        waiting = self.waited(connection, time) & ~reported
        if reported.any() and not waiting.any():
            return Plan(time, COMPLETE, 0, waiting, skipped, now, mode)
        wait = self._until_deadline(connection, time, now, mode, newest)
        reason = "" if wait > 0 else DEADLINE if reported.any() else NOTHING
        return Plan(time, reason, wait, waiting, skipped, now, mode)

    def _next(self, connection: sa.Connection, last: int | None, current: int) -> tuple[int, int]:
        """Return the step after the last one, and how many are left out; after a long pause only the last are made."""
        grid = self.feed.grid
        if last is None:
            oldest = connection.execute(sa.select(sa.func.min(readings.c.time))).scalar()
            first = current if oldest is None else int(oldest)
        else:
            first = grid.after(last)
        excess = grid.count(first, current) - self.options.catch_up
        if excess <= 0:
            return first, 0
        return grid.after(first, excess), 0 if last is None else excess

    def _until_deadline(self, connection: sa.Connection, time: int, now: int, mode: str, newest: int | None) -> int:
        """Return the nanoseconds until a step is closed whoever has reported; at most 0 if that is now."""
        if mode == FEED:
            return 0 if newest is not None and newest > time else self.feed.grid.length
        left = time + self.deadline - now
        settled = self.last_arrival + _SETTLE - now  # those that are just coming in need not become late readings
        if left <= 0 < settled and left > -_LONGEST_SETTLE:
            return min(settled, _SETTLE)
        return left

    def waited(self, connection: sa.Connection, time: int) -> NDArray[np.bool_]:
        """Return the sensors that a step waits for, [n]: not known to be dead, and not in maintenance."""
        waited = np.ones(len(self.feed.ids), dtype=bool)
        dead = connection.execute(sa.select(health.c.sensor).where(health.c.waited_for == 0)).scalars().all()
        for number in dead:
            if number in self.feed.columns:
                waited[self.feed.columns[number]] = False
        return waited & ~in_maintenance(connection, self.feed, np.array([time]))[0]


def in_maintenance(connection: sa.Connection, feed: Feed, times: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which sensors are in maintenance at which steps, [t, n], or had another device then that was replaced."""
    mask = of_old_devices(connection, feed, times)
    overlap = sa.and_(maintenance.c.start <= int(times[-1]), maintenance.c.end >= int(times[0]))
    for row in connection.execute(sa.select(maintenance).where(overlap)):
        if row.sensor in feed.columns:
            mask[(times >= row.start) & (times <= row.end), feed.columns[row.sensor]] = True
    return mask
