"""The steps of the feed: texts to times, times to the nearest step, and the clock that says which step it is.

Times are nanoseconds since 1970: moments in UTC if the training had a zone, else times of a clock without a zone, which
is taken to show UTC where the wall clock matters.
"""

from __future__ import annotations

import datetime
import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.errors import InputError
from subcast.service.problems import ProblemError, shown
from subcast.subset.metadata import TrainingMetadata
from subcast.tables.rates import jitter_limit, time_texts
from subcast.tables.steps import Steps, duration_text
from subcast.tables.zones import time_index, to_moments

SECOND = 1_000_000_000
_EPOCH = datetime.datetime(1970, 1, 1)
_EARLIEST, _LATEST = -9 * 10**18, 9 * 10**18  # what nanoseconds can hold


@dataclass(frozen=True)
class Grid:
    """The steps of a wrapper's training, continued into the present.

    Examples
    --------
    >>> grid = Grid(Steps("5min", zone="UTC", start=0))
    >>> grid.text(grid.parse("2026-11-18T13:05:00+01:00"))
    '2026-11-18T12:05:00+00:00'
    >>> grid.text(grid.after(grid.parse("2026-11-18T12:05:00Z")))
    '2026-11-18T12:10:00+00:00'
    """

    steps: Steps

    @classmethod
    def of(cls, metadata: TrainingMetadata) -> Grid:
        """Return the grid of a wrapper."""
        steps = metadata.steps
        if steps.step is None or steps.start is None:
            raise InputError(
                "the service needs a wrapper fitted on times with a fixed rate (such as 5min or 1D), and this one has "
                f"{'the rate ' + steps.freq if steps.freq else 'no times'}: fit it again on a table with times"
            )
        return cls(steps)

    @property
    def zone(self) -> str | None:
        """The zone of the times; None without."""
        return self.steps.zone

    @cached_property
    def length(self) -> int:
        """The length of a step in nanoseconds."""
        return int(self.steps.step or 0)

    @cached_property
    def tolerance(self) -> int:
        """How far a time may lie from its step."""
        return int(jitter_limit(self.length))

    # Times

    def parse(self, text: str) -> int:
        """Return the time that a text says, in nanoseconds; raise a sentence if there is none, or if there are two."""
        try:
            moment = datetime.datetime.fromisoformat(text)
        except (ValueError, TypeError):
            raise ProblemError(
                "time", f"time must be ISO 8601 text such as 2026-11-18T12:05:00Z, got {shown(text)}"
            ) from None
        if moment.tzinfo is None:
            stamp = _nanoseconds(moment)
            return stamp if self.zone is None else self._localized(stamp, text)
        offset = moment.utcoffset() or datetime.timedelta(0)
        if self.zone is None and offset:
            raise ProblemError(
                "time",
                f"the wrapper was fitted on times without a zone, so {shown(text)} is not clear: send the time of that "
                "clock without an offset, or fit the wrapper on times with a zone",
            )
        return _nanoseconds(moment.replace(tzinfo=None)) - round(offset.total_seconds() * SECOND)

    def _localized(self, wall: int, text: str) -> int:
        """Return the moment at which the clock of the zone showed a time; refuse an hour that came twice or never."""
        if not _EARLIEST < wall < _LATEST:
            raise ProblemError("time", f"time {shown(text)} is too far away")
        found = to_moments(np.array([wall]), str(self.zone), in_order=False)
        if found.unclear[0]:
            raise ProblemError(
                "time", f"the clock of {self.zone} showed {shown(text)} twice: add the offset, such as {text}+02:00"
            )
        if found.skipped[0]:
            raise ProblemError("time", f"the clock of {self.zone} never showed {shown(text)}: add the offset")
        return int(found.moments[0])

    def text(self, stamp: int) -> str:
        """Write a time in the zone of the grid."""
        return self.texts(np.array([stamp], dtype=np.int64))[0]

    def texts(self, stamps: NDArray[np.int64]) -> list[str]:
        """Write times in the zone of the grid."""
        return time_texts(np.asarray(stamps, dtype=np.int64).view("datetime64[ns]"), self.zone)

    def snap(self, stamps: NDArray[np.int64], texts: list[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the nearest steps of times, and by how much each was moved; refuse a time that is too far off."""
        snapped = self.steps.snap(stamps)
        if snapped.off.any():
            place = int(np.argmax(snapped.off))
            raise ProblemError(
                "off-grid",
                f"time {shown(texts[place])} is {duration_text(int(abs(snapped.moved[place])))} off the "
                f"{self.steps.freq} steps, and {duration_text(self.tolerance)} are allowed: "
                f"the nearest step is {self.text(int(snapped.stamps[place]))}",
            )
        return snapped.stamps, snapped.moved

    def after(self, stamp: int, count: int = 1) -> int:
        """Return the step that is `count` steps after another; before it if negative."""
        return int(self.steps.ahead(np.array([stamp], dtype=np.int64), count, 1)[0, 0])

    def window(self, last: int, count: int) -> NDArray[np.int64]:
        """Return the times of `count` steps that end with `last`."""
        return np.asarray(self.steps.ahead(np.array([last], dtype=np.int64), 1 - count, count)[0])

    def ahead(self, last: int, count: int) -> NDArray[np.int64]:
        """Return the times of `count` steps after `last`."""
        return np.asarray(self.steps.ahead(np.array([last], dtype=np.int64), 1, count)[0])

    def step_at(self, stamp: int) -> int:
        """Return the last step that is not after a time."""
        nearest = int(self.steps.snap(np.array([stamp], dtype=np.int64)).stamps[0])
        while nearest > stamp:
            nearest = self.after(nearest, -1)
        while (following := self.after(nearest)) <= stamp:
            nearest = following
        return nearest

    def count(self, first: int, last: int) -> int:
        """Return how many steps `last` lies after `first`, to the nearest whole step."""
        return round((last - first) / self.length)

    def index(self, stamps: NDArray[np.int64]) -> Any:
        """Return times as the wrapper takes them: with their zone if they have one."""
        times = stamps.view("datetime64[ns]")
        return times if self.zone is None else time_index(times, self.zone)

    def now(self) -> int:
        """Return the present moment."""
        return time.time_ns()


def _nanoseconds(moment: datetime.datetime) -> int:
    """Return a time without a zone in nanoseconds since 1970; refuse those that 64 bits cannot hold."""
    span = moment - _EPOCH
    stamp = (span.days * 86_400 + span.seconds) * SECOND + span.microseconds * 1000
    if not _EARLIEST < stamp < _LATEST:
        raise ProblemError("time", f"time {shown(moment.isoformat())} is too far away: years 1685 to 2255 can be kept")
    return stamp


def moment_text(stamp: int | None) -> str | None:
    """Write a moment of the service in UTC.

    >>> moment_text(1_500_000_000)
    '1970-01-01T00:00:01.500Z'
    """
    if stamp is None:
        return None
    text = np.datetime_as_string(np.datetime64(stamp, "ns"), unit="ms")
    return f"{text}Z"
