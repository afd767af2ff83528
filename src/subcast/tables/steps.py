"""The steps that a forecaster was trained with, and the one place that puts live times on them.

`predict`, `predict_many`, `update` and streams all use `Steps`, so that they take and refuse the same times:

============================== =============================================================================
times                          result
============================== =============================================================================
of another zone                the same moments
without a zone, if the         read as the clock of the training's zone, noted; a time that this clock skips is
training had one               refused
with a zone, if the training   read as their own wall clock, noted
had none
a little off the steps         moved to the nearest step, up to a tenth of a step (at most half a day), noted
further off the steps          refused
over a change of summer time   steps of up to an hour follow one another; days and longer steps are counted on the
                               wall clock, so that a day may have 23 or 25 hours
============================== =============================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subcast.names import plural
from subcast.tables.rates import (
    DAY,
    calendar_after,
    calendar_positions,
    counts_on_wall,
    fixed_step,
    jitter_limit,
    step_name,
)
from subcast.tables.zones import HOUR, Moments, offsets_of, sets_clocks, to_moments, wall_clock

REPEATED_HOUR = "clocks were set back: the hour that comes twice in the times is taken as two"


class Snapped(NamedTuple):
    """Times that were moved to their nearest steps.

    Attributes
    ----------
    stamps
        [rows] the times of the steps
    moved
        [rows] by how many nanoseconds each was moved
    off
        [rows], which rows lie too far from a step
    on_wall
        whether the steps are counted on the wall clock
    positions
        [rows] the numbers of the steps, where they have a fixed length
    """

    stamps: Moments
    moved: Moments
    off: NDArray[np.bool_]
    on_wall: bool
    positions: NDArray[np.int64]


class Placed(NamedTuple):
    """Times on steps that follow one another.

    Attributes
    ----------
    offsets
        [rows] the step of each row: 0 the last, -1 the one before, ...
    moved
        [rows] by how many nanoseconds each row was moved to its step
    off
        [rows], which rows lie too far from a step
    grid
        [steps] the times of the steps from the first row to the last
    """

    offsets: NDArray[np.int64]
    moved: Moments
    off: NDArray[np.bool_]
    grid: Moments


@dataclass(frozen=True)
class UserClock:
    """How the user writes times, to give times back in the same way.

    Parameters
    ----------
    own
        the zone of the training, None without
    zone
        the zone of the user's times, None without
    offset
        what was added to the user's moments to get the times of a training without a zone, where it is one number
    shift
        by how much that moved the first of the times from what its clock showed, since clocks were set in between
    """

    own: str | None = None
    zone: str | None = None
    offset: int | None = None
    shift: int = 0

    def shown(self, times: NDArray[np.datetime64] | None, *, past: bool = False) -> NDArray[np.datetime64] | None:
        """Return times of the training's clock as the user writes them: moments in UTC if they have a zone.

        `past` times are those of the training, which a clock in the user's zone showed at its own offset.
        """
        if times is None or (self.own is None) == (self.zone is None):
            return times
        if self.own is not None:
            return wall_clock(times, self.own)
        if self.offset is not None and not past:
            return np.asarray(times - np.timedelta64(self.offset, "ns"))
        stamps = times.astype("datetime64[ns]").view(np.int64)
        moments = to_moments(stamps.ravel(), str(self.zone), in_order=False).moments
        return moments.view("datetime64[ns]").reshape(times.shape)

    def wall(self, times: NDArray[np.datetime64] | None) -> NDArray[np.datetime64] | None:
        """Return times of the training's clock as the user's clock shows them."""
        shown = self.shown(times)
        return shown if shown is None else wall_clock(shown, self.zone)

    @property
    def note(self) -> str:
        """What was assumed about the zone, empty if nothing was."""
        if self.zone is None and self.own is not None:
            return f"the times have no zone and the training had one: read as {self.own}"
        if self.zone is not None and self.own is None:
            return f"the times have a zone and the training had none: the wall clock of {self.zone} is taken as it is"
        return ""


@dataclass(frozen=True)
class Steps:
    """The steps of a training.

    Times of the training's clock are nanoseconds since 1970: in UTC if the training had a zone, else as written.

    Parameters
    ----------
    freq
        the rate as pandas writes it; None when rows are only in order
    zone
        the zone of the training, None without
    start
        any time on the steps; None if the steps may begin anywhere
    on_wall
        whether steps of a fixed length are counted on the wall clock of the zone

    Examples
    --------
    >>> steps = Steps("1h", start=0)
    >>> steps.place(np.array([0, 60, 121]) * 60 * 10**9).offsets
    array([-2, -1,  0])
    >>> steps.place(np.array([30, 90]) * 60 * 10**9).off
    array([ True,  True])
    """

    freq: str | None = None
    zone: str | None = None
    start: int | None = None
    on_wall: bool = False

    @classmethod
    def of(cls, freq: str | None, zone: str | None, times: NDArray[np.datetime64] | None) -> Steps:
        """Return the steps of a training series; a rate that is not given is found if the times are even."""
        if times is None or not len(times):
            return cls(freq, zone)
        stamps = times.astype("datetime64[ns]").view(np.int64)
        if freq is None:
            lengths = np.unique(np.diff(stamps))
            freq = step_name(int(lengths[0])) if lengths.size == 1 else None
        step = None if freq is None else fixed_step(freq)
        on_wall = sets_clocks(zone) and step is not None and step > HOUR
        if on_wall and step is not None:
            on_wall = counts_on_wall(stamps, wall_clock(times, zone).view(np.int64), step)
        return cls(freq, zone, int(stamps[-1]), on_wall)

    @cached_property
    def step(self) -> int | None:
        """The length of a step in nanoseconds; None without a rate, and for a calendar rate such as months."""
        return None if self.freq is None else fixed_step(self.freq)

    @property
    def _is_calendar(self) -> bool:
        return self.freq is not None and self.step is None

    def on_own_clock(self, stamps: Moments, zone: str | None, *, assumed: bool = False) -> tuple[Moments, UserClock]:
        """Return times on the training's clock, and how the user writes them.

        Parameters
        ----------
        stamps
            [t] nanoseconds, in UTC with a zone
        zone
            their zone, None without
        assumed
            whether they were written without this zone
        """
        user = None if assumed else zone
        if zone is None or self.zone is not None:
            return stamps, UserClock(self.zone, user)
        if stamps.size and self.step is not None and self.step <= HOUR:  # the steps follow one another in UTC
            first, last = offsets_of(stamps[[0, -1]], zone)
            return stamps + last, UserClock(None, user, int(last), int(last - first))
        return wall_clock(stamps.view("datetime64[ns]"), zone).view(np.int64), UserClock(None, user)

    def snap(self, stamps: Moments) -> Snapped:
        """Move times of the training's clock to their nearest steps, each on its own; there must be a rate."""
        if self.step is None:
            return self._snap_to_calendar(stamps)
        snapped = self._snap_to(stamps, self.on_wall)
        if snapped.off.any() and sets_clocks(self.zone) and self.step > HOUR:
            other = self._snap_to(stamps, not self.on_wall)  # the training need not show which of the two it is
            return snapped if other.off.any() else other
        return snapped

    def _snap_to(self, stamps: Moments, on_wall: bool) -> Snapped:
        step = np.int64(self.step or 1)
        clock, phase = self._clock(stamps, on_wall), self._phase(stamps, on_wall)
        positions = (clock - phase + step // 2) // step
        moved = self._unclock(phase + positions * step, on_wall) - stamps
        if on_wall and (np.abs(moved) > jitter_limit(int(step))).any():  # a step that clocks skip comes a little later
            earlier = self._unclock(phase + (positions - 1) * step, on_wall) - stamps
            nearer = np.abs(earlier) < np.abs(moved)
            positions, moved = positions - nearer, np.where(nearer, earlier, moved)
        return Snapped(stamps + moved, moved, np.abs(moved) > jitter_limit(int(step)), on_wall, positions)

    def _phase(self, stamps: Moments, on_wall: bool) -> np.int64:
        """Return a time on the steps, on the clock by which they are counted."""
        return self._clock(stamps[-1:] if self.start is None else np.array([self.start]), on_wall)[0]

    def _snap_to_calendar(self, stamps: Moments) -> Snapped:
        wall = self._clock(stamps, True)
        moved = np.zeros_like(wall)
        if self.start is not None:
            moved = self._clock(np.array([self.start]), True) % DAY - wall % DAY
        dates = [calendar_positions(date, str(self.freq))[1][0] < 0 for date in (wall + moved)[:, None]]
        off = np.array(dates, dtype=bool) | (np.abs(moved) > DAY // 2)
        return Snapped(self._unclock(wall + moved, True), moved, off, True, np.zeros_like(wall))

    def place(self, stamps: Moments) -> Placed:
        """Put increasing times of the training's clock, at least one, on the steps; there must be a rate."""
        snapped = self.snap(stamps)
        if self.step is not None:
            numbers = np.arange(snapped.positions[0], snapped.positions[-1] + 1)
            grid = self._phase(stamps, snapped.on_wall) + numbers * np.int64(self.step)
            offsets = snapped.positions - snapped.positions[-1]
        else:
            grid, positions = calendar_positions(self._clock(snapped.stamps, True), str(self.freq))
            offsets = positions - (len(grid) - 1)
        return Placed(offsets, snapped.moved, snapped.off, self._unclock(grid, snapped.on_wall))

    def ahead(self, stamps: Moments, skip: int, count: int) -> Moments:
        """Return the times of `count` steps, the first of them `skip` steps after each of some times: [b, count]."""
        on_wall = self.on_wall or self._is_calendar
        first = self._clock(stamps, on_wall)
        if self._is_calendar:
            rows = [calendar_after(int(stamp), skip + count, str(self.freq))[skip:] for stamp in first]
            times = np.array(rows, dtype=np.int64).reshape(len(stamps), count)
        else:
            times = first[:, None] + (skip + np.arange(count)) * np.int64(self.step or 0)
        return self._unclock(times.ravel(), on_wall).reshape(len(stamps), count)

    def _clock(self, stamps: Moments, on_wall: bool) -> Moments:
        """Return the times by which steps are counted."""
        return wall_clock(stamps.view("datetime64[ns]"), self.zone if on_wall else None).view(np.int64)

    def _unclock(self, stamps: Moments, on_wall: bool) -> Moments:
        if not on_wall or self.zone is None:
            return stamps
        return to_moments(stamps, self.zone, in_order=False).moments

    def moved_note(self, moved: Moments) -> str:
        """Return the note about rows that were moved to their step; empty if none was."""
        count = int(np.count_nonzero(moved))
        if not count:
            return ""
        largest = duration_text(int(np.abs(moved).max()))
        return f"{plural(count, 'row', 'was')} off the {self.freq} steps by up to {largest}: moved to the nearest step"


def duration_text(length: int) -> str:
    """Write a length of time in its largest whole unit, with one digit.

    >>> duration_text(90 * 10**9), duration_text(250 * 10**6)
    ('1.5 min', '250 ms')
    """
    units = ((DAY, "days"), (HOUR, "h"), (HOUR // 60, "min"), (10**9, "s"), (10**6, "ms"), (10**3, "us"))
    for size, unit in units:
        if length >= size:
            return f"{round(length / size, 1):g} {unit}"
    return f"{length} ns"
