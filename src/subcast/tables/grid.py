"""Put the rows of a training table on a regular grid: sort, merge, find the rate, fill the gaps.

The rules, in the order in which they are applied:

========================= ==================================================================================
input                     result
========================= ==================================================================================
rows without a time       dropped, unless they are half of the rows or more
rows out of order         sorted (rows of equal time keep their order)
repeated times            merged into one row; of several readings of one variable the last one is kept; refused
                          when half of the rows repeat a time with other readings, as a long table does
days and longer steps     of times with a zone are counted on its wall clock, so that a day may have 23 or 25 hours;
                          steps between an hour and a day on whichever of wall clock and UTC they fit
a calendar rate           kept (whatever pandas infers from the times; years, quarters, months and business days
                          also with gaps)
a commonest step          taken as the rate when it makes up half of all steps or more
jitter                    else a round rate near the median step, when nine in ten readings lie near its grid
readings off the grid     moved to the nearest grid point, when at most one in ten lies far from one (a tenth of a
                          step, at most half a day)
gaps in the grid          filled with rows of missing readings
no rate, or mixed rates   refused: resample the table, or name the rate (`freq=`)
a mostly empty grid       refused when it would hold more than `MAX_GROWTH` times the rows of the table
========================= ==================================================================================
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from subcast.errors import DataError
from subcast.names import plural
from subcast.tables.policy import Repair
from subcast.tables.rates import (
    DAY,
    FAR_FROM_GRID,
    SECOND,
    calendar_positions,
    check_rate,
    commonest_step,
    counts_on_wall,
    fixed_step,
    jitter_limit,
    moment_text,
    step_name,
)
from subcast.tables.zones import HOUR, sets_clocks, to_moments, wall_clock

MAX_GROWTH = 10
"""A grid may hold this many times the rows of the table; with more, one of the times must be wrong by years."""

COMMON_SHARE = 0.5
"""The commonest step is the rate when it makes up at least this share of all steps."""

MAX_OFF_GRID = 0.1
"""At most this share of the readings may lie off the grid."""

_MINUTE, _HOUR = 60, 3600
_ROUND_SECONDS = (
    *(1, 2, 5, 10, 15, 20, 30),
    *(minutes * _MINUTE for minutes in (1, 2, 5, 10, 15, 20, 30)),
    *(hours * _HOUR for hours in (1, 2, 3, 4, 6, 8, 12, 24)),
)
_CALENDAR_RATES = ("YS", "YE", "QS", "QE", "MS", "ME", "B")

Times = NDArray[np.int64]
Values = NDArray[np.float32]


@dataclass(frozen=True)
class Grid:
    """Times on a regular grid, their readings, the rate, and what was repaired."""

    times: Times  # [t] nanoseconds, or step numbers
    values: Values  # [t, n]
    freq: str | None
    repairs: tuple[str, ...]


def to_grid(
    times: Times,
    values: Values,
    freq: str | None = None,
    *,
    stamps: bool = True,
    source: str = "the table",
    zone: str | None = None,
) -> Grid:
    """Put readings on the regular grid of their times.

    Parameters
    ----------
    times
        [t] nanoseconds since 1970, or whole step numbers when `stamps` is false
    values
        [t, n] readings, NaN where missing
    freq
        the rate as pandas writes it ("5min", "h", "MS"), found from the times by default
    stamps
        whether `times` are moments (else step numbers)
    source
        what to call the table in messages
    zone
        the zone of the times, which are in UTC then

    Examples
    --------
    >>> minutes = np.array([0, 10, 5, 20]) * 60 * 10**9
    >>> grid = to_grid(minutes, np.arange(4, dtype=np.float32)[:, None])
    >>> grid.values[:, 0], grid.freq
    (array([ 0.,  2.,  1., nan,  3.], dtype=float32), '5min')
    >>> grid.repairs
    ('1 row was out of order: sorted', '1 step was missing from the 5min grid: filled with missing readings')
    """
    policy = Repair(source)
    if stamps:
        times, values = _drop_unreadable(times, values, policy)
        _refuse_centuries(times, source)
    times, values = _sort(times, values, policy.notes)
    _refuse_long(times, values, source)
    times, values = merge_equal(times, values, policy.notes)
    on_wall = stamps and zone is not None and _counts_on_wall(times, freq, zone)
    if on_wall:
        times = wall_clock(times.view("datetime64[ns]"), zone).view(np.int64)
    freq, step = _find_rate(times, stamps) if freq is None else (freq, check_rate(freq))
    if freq is None:
        pass
    elif step is None:
        times, values = _to_calendar(times, values, freq, policy.notes)
    else:
        times, values = _to_fixed_step(times, values, step, freq, policy.notes, stamps=stamps)
    if on_wall and zone is not None:
        times = to_moments(times, zone, in_order=False).moments
    return Grid(times, values, freq if stamps else None, tuple(policy.notes))


def _counts_on_wall(times: Times, freq: str | None, zone: str) -> bool:
    """Return whether the steps of moments are regular on the wall clock of their zone rather than in UTC."""
    if not sets_clocks(zone) or times.size < 2:
        return sets_clocks(zone) and freq is not None and check_rate(freq) is None
    step = commonest_step(times)[0] if freq is None else check_rate(freq)
    if step is None:
        return True
    if step <= HOUR:
        return False
    wall = wall_clock(times.view("datetime64[ns]"), zone).view(np.int64)
    if (np.diff(wall) <= 0).any():
        return False
    return counts_on_wall(times, wall, step)


def _drop_unreadable(times: Times, values: Values, policy: Repair) -> tuple[Times, Values]:
    unreadable = np.isnat(times.view("datetime64[ns]"))
    if not unreadable.any():
        return times, values
    policy.unreadable_times(int(np.argmax(unreadable)), "NaT", int(unreadable.sum()), unreadable.size)
    return times[~unreadable], values[~unreadable]


def _sort(times: Times, values: Values, notes: list[str]) -> tuple[Times, Values]:
    backward = int(np.count_nonzero(np.diff(times) < 0))
    if not backward:
        return times, values
    order = np.argsort(times, kind="stable")
    notes.append(f"{plural(backward, 'row', 'was')} out of order: sorted")
    return times[order], values[order]


def _refuse_centuries(times: Times, source: str) -> None:
    """Refuse times further apart than nanoseconds can count: 292 years."""
    if times.size and int(times.max()) - int(times.min()) > np.iinfo(np.int64).max:
        raise DataError(
            f"the times of {source} reach from {moment_text(times.min())} to {moment_text(times.max())}, more than 292 "
            "years: correct the wrong one of them"
        )


def _refuse_long(times: Times, values: Values, source: str) -> None:
    """Refuse a table that repeats most times with other readings: it is a long table, read as a wide one."""
    repeated = np.diff(times) == 0
    if repeated.sum() * 2 < times.size:
        return
    later, earlier = values[1:][repeated], values[:-1][repeated]
    if ((later != earlier) & ~np.isnan(later) & ~np.isnan(earlier)).any():
        raise DataError(
            f"{source} has {plural(int(repeated.sum()), 'row')} of {times.size:,} that repeat a time with other "
            "readings: if it is a long table, name its columns with id=, time= and value=; else keep one row for "
            "each time"
        )


def merge_equal(times: Times, values: Values, notes: list[str]) -> tuple[Times, Values]:
    """Merge rows of equal time, the times sorted; of several readings of a variable the last one is kept."""
    new = np.concatenate([[True], np.diff(times) != 0]) if times.size else np.zeros(0, bool)
    if new.all():
        return times, values
    first = np.flatnonzero(new)  # row of each time
    last = np.append(first[1:], times.size) - 1
    several = np.flatnonzero(last > first)
    rows = np.flatnonzero(np.repeat(last > first, last - first + 1))
    latest = np.where(np.isnan(values[rows]), -1, rows[:, None])  # [rows, n] the row itself, where it has a reading
    latest = np.maximum.accumulate(latest, axis=0)[np.searchsorted(rows, last[several])]  # [several, n]
    merged = values[new]
    merged[several] = np.where(
        latest < first[several, None], np.float32(np.nan), np.take_along_axis(values, np.maximum(latest, 0), axis=0)
    )
    notes.append(f"{plural(int((~new).sum()), 'row', 'repeats')} a time: merged, the last reading is kept")
    return times[new], merged


def _find_rate(times: Times, stamps: bool) -> tuple[str | None, int | None]:
    """Return the rate as text and, where it is a fixed step, the step in nanoseconds."""
    if times.size < 2:
        return None, None
    if not stamps:
        step = _usual_step(times, stamps=False)
        return f"{step}-step", step
    if times.size > 2:
        calendar_rate = _infer_calendar_rate(times)
        if calendar_rate is not None:
            return calendar_rate, None
    step = _usual_step(times, stamps=True)
    return step_name(step), step


def _infer_calendar_rate(times: Times) -> str | None:
    stamps = pd.DatetimeIndex(times.view("datetime64[ns]"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas 4 will give an offset instead of its name
        inferred: Any = pd.infer_freq(stamps)
    if inferred is None:
        return next((freq for freq in _CALENDAR_RATES if _follows(stamps, freq)), None)
    name = str(getattr(inferred, "freqstr", inferred))
    return None if fixed_step(name) is not None else name


def _follows(stamps: pd.DatetimeIndex, freq: str) -> bool:
    """Return whether all times are dates of a calendar rate, and they are at least half of its dates."""
    if np.diff(stamps.asi8).min() < (DAY if freq == "B" else 28 * DAY):
        return False
    grid = pd.date_range(stamps[0], stamps[-1], freq=freq)
    if freq == "B" and len(grid) > (stamps[-1] - stamps[0]).days:
        return False  # no weekend among them: a daily rate
    return len(stamps) >= COMMON_SHARE * len(grid) and bool(stamps.isin(grid).all())


def _usual_step(times: Times, *, stamps: bool) -> int:
    """Return the commonest step if it is common enough, else a round step near the median that fits the times."""
    common, share = commonest_step(times)
    if share >= COMMON_SHARE:
        return common
    if not stamps:
        raise DataError(
            f"the step numbers have no single rate: the commonest step, {common}, makes up only {share:.0%} of all "
            "steps; number the rows again (DataFrame.reset_index) if they are simply in order"
        )
    median = float(np.median(np.diff(times))) / SECOND
    nearest = min(_ROUND_SECONDS, key=lambda seconds: abs(np.log(median / seconds))) * SECOND
    if _off_grid(times, nearest).mean() <= MAX_OFF_GRID:
        return nearest
    raise DataError(
        f"the times have no single rate: the commonest step, {step_name(common)}, makes up only {share:.0%} of all "
        "steps; resample the table (DataFrame.resample), or name the rate with freq="
    )


def _off_grid(times: Times, step: int) -> NDArray[np.bool_]:
    start = _grid_start(times, step)
    away = (times - start) % step
    return np.minimum(away, step - away) > jitter_limit(step)


def _grid_start(times: Times, step: int) -> int:
    """Return the first point of the grid, at the phase that most times share."""
    phases, counts = np.unique(times % step, return_counts=True)
    if counts.max() >= COMMON_SHARE * times.size:
        phase = int(phases[np.argmax(counts)])
    else:
        angles = 2 * np.pi * (times % step) / step  # jitter: the mean direction of the phases, rounded to a second
        mean = float(np.angle(np.exp(1j * angles).mean())) / (2 * np.pi) * step
        unit = SECOND if step >= 20 * SECOND else 1
        phase = round(mean / unit) * unit
        if abs(phase) < FAR_FROM_GRID * step:
            phase = 0  # the times are a little late
    return phase + (int(times[0]) - phase + step // 2) // step * step


def _to_fixed_step(
    times: Times, values: Values, step: int, freq: str, notes: list[str], *, stamps: bool
) -> tuple[Times, Values]:
    if times.size == 0:
        return times, values
    off_grid = float(_off_grid(times, step).mean())
    if off_grid > MAX_OFF_GRID:
        raise DataError(
            f"the times have mixed rates: {off_grid:.0%} of the rows lie off the {freq} grid; "
            "resample the table (DataFrame.resample), or name another rate with freq="
        )
    start = _grid_start(times, step)
    whole, rest = np.divmod(times - start, step)  # half a step more may be beyond int64
    positions = whole + (rest >= step - step // 2)
    moved = int(np.count_nonzero(start + positions * step != times))
    if moved:
        notes.append(f"{plural(moved, 'row', 'was')} off the {freq} grid: moved to the nearest step")
        positions, values = merge_equal(positions, values, notes)
    steps = int(positions[-1]) + 1
    _refuse_mostly_empty(steps, positions.size, freq, times, stamps)
    values = _fill_gaps(values, positions, steps, freq, notes)
    return start + np.arange(steps, dtype=np.int64) * step, values


def _to_calendar(times: Times, values: Values, freq: str, notes: list[str]) -> tuple[Times, Values]:
    grid, positions = calendar_positions(times, freq)
    if (positions < 0).any():
        raise DataError(
            f"the times do not follow freq={freq!r}: {moment_text(times[np.argmin(positions)])} is not one of its "
            "dates; name another rate, or resample the table"
        )
    _refuse_mostly_empty(len(grid), len(times), freq, times, True)
    return grid, _fill_gaps(values, positions, len(grid), freq, notes)


def _fill_gaps(values: Values, positions: Times, steps: int, freq: str, notes: list[str]) -> Values:
    """Return the rows at their positions among all steps, and missing readings between them."""
    missing = steps - positions.size
    if not missing:
        return values
    notes.append(f"{plural(missing, 'step', 'was')} missing from the {freq} grid: filled with missing readings")
    filled = np.full((steps, values.shape[1]), np.nan, dtype=np.float32)
    filled[positions] = values
    return filled


def _refuse_mostly_empty(steps: int, rows: int, freq: str, times: Times, stamps: bool) -> None:
    if steps <= MAX_GROWTH * rows or steps <= 1000:
        return
    widest = int(np.argmax(np.diff(times)))
    before, after = (moment_text(time, counted=not stamps) for time in times[widest : widest + 2])
    raise DataError(
        f"the {freq} grid would need {steps:,} steps for {rows:,} rows: the widest gap is between {before} "
        f"and {after}; correct the wrong one of them, or cut the table there"
    )
