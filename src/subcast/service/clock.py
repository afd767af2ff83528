"""Which time it is for the feed: by the wall clock of this machine, or by the newest reading when the past is replayed.

A wall clock may be set. A jump is not followed at once: for a while the service goes on by the clock that only counts,
so that a wrong time of a minute closes no steps; after that the wall clock is believed again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import sqlalchemy as sa

from subcast.service.grid import SECOND
from subcast.service.schema import facts

WALL, FEED, AUTO = "wall", "feed", "auto"


class SteadyClock:
    """The wall clock, except that a jump is followed only after `patience` seconds.

    Parameters
    ----------
    jump
        nanoseconds from which a difference is a jump
    patience
        seconds
    wall, counter
        the clocks, in nanoseconds

    Examples
    --------
    >>> wall, counter = [1000], [0]
    >>> clock = SteadyClock(100, 1e-6, wall=lambda: wall[0], counter=lambda: counter[0])
    >>> wall[0], counter[0] = 5000, 500
    >>> clock.now()
    1500
    >>> counter[0] = 2000; wall[0] = 6500; clock.now()
    6500
    """

    def __init__(
        self,
        jump: int,
        patience: float = 60.0,
        wall: Callable[[], int] = time.time_ns,
        counter: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.jump, self.patience = jump, round(patience * SECOND)
        self._wall, self._counter = wall, counter
        self._offset = wall() - counter()
        self._since: int | None = None
        self._turn = threading.Lock()
        self.jumps: list[int] = []

    def now(self) -> int:
        """Return the present moment in nanoseconds."""
        with self._turn:
            counted = self._counter()
            difference = self._wall() - counted - self._offset
            if abs(difference) < self.jump:
                self._offset += difference
                self._since = None
            elif self._since is None:
                self._since = counted
                self.jumps.append(difference)
            elif counted - self._since >= self.patience:
                self._offset += difference
                self._since = None
            return counted + self._offset


def stored_mode(connection: sa.Connection) -> str | None:
    """Return the clock that the feed goes by; None until the first readings decide."""
    return connection.execute(sa.select(facts.c.value).where(facts.c.name == "clock")).scalar()


def decide_mode(connection: sa.Connection, newest: int, now: int, horizon: int, near: int) -> str:
    """Return the clock that the feed goes by, and store it.

    The first readings decide: within `horizon` of now it is the wall clock. A replay of the past that reaches the
    present (within `near`) changes to the wall clock; the wall clock is never left again.
    """
    known = stored_mode(connection)
    mode = known
    if known is None:
        mode = WALL if abs(now - newest) <= horizon else FEED
        connection.execute(facts.insert().values(name="clock", value=mode))
    elif known == FEED and abs(now - newest) <= near:
        mode = WALL
        connection.execute(facts.update().where(facts.c.name == "clock").values(value=mode))
    return str(mode)
