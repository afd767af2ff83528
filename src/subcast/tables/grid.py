"""Put a table's times on a regular grid: sort, merge, find the rate, fill the gaps.

The decisions, in the order they are taken:

========================= ==================================================================================
what came                 what is done
========================= ==================================================================================
rows without a time       dropped, unless they are half of the rows or more
rows out of order         sorted (rows of equal time keep their order)
a time more than once     merged into one row; of several readings of one variable the last one counts; refused
                          when half of the rows repeat a time with other readings, as a long table does
a calendar rate           kept (whatever pandas infers from the times; years, quarters, months, business days also
                          with gaps)
one commonest step        taken as the rate when it makes up half of all steps or more
jitter                    else a round rate near the median step, when nine in ten readings lie near its grid
readings off the grid     moved to the nearest grid point, when at most one in ten lies far from one (a tenth of a
                          step, at most half a day)
gaps in the grid          filled with rows of missing readings
no rate, or mixed rates   refused: resample the table, or name the rate (`freq=`)
a grid of mostly nothing  refused when it would hold more than `MAX_GROWTH` times the rows that came
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

MAX_GROWTH = 10
"""A grid may hold this many times the rows that came; beyond, some time is wrong by years."""

COMMON_SHARE = 0.5
"""The commonest step is the rate when it is at least this share of all steps."""

FAR_FROM_GRID = 0.1
"""A reading further than this share of a step from its grid point lies off the grid."""

MAX_OFF_GRID = 0.1
"""At most this share of the readings may lie off the grid."""

_ROUND_SECONDS = (
    1,
    2,
    5,
    10,
    15,
    20,
    30,
    60,
    120,
    300,
    600,
    900,
    1200,
    1800,
    3600,
    7200,
    10800,
    14400,
    21600,
    28800,
    43200,
    86400,
)
_SECOND = 1_000_000_000
_DAY = 86_400 * _SECOND
_CALENDAR_RATES = ("YS", "YE", "QS", "QE", "MS", "ME", "B")

Times = NDArray[np.int64]
Values = NDArray[np.float32]


@dataclass(frozen=True)
class Grid:
    """Times on a regular grid with their readings, the rate, and what was repaired."""

    times: Times  # [t] nanoseconds, or step numbers
    values: Values  # [t, n]
    freq: str | None
    repairs: tuple[str, ...]


def to_grid(
    times: Times, values: Values, freq: str | None = None, *, stamps: bool = True, source: str = "the table"
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

    Examples
    --------
    >>> minutes = np.array([0, 10, 5, 20]) * 60 * 10**9
    >>> grid = to_grid(minutes, np.arange(4, dtype=np.float32)[:, None])
    >>> grid.values[:, 0], grid.freq
    (array([ 0.,  2.,  1., nan,  3.], dtype=float32), '5min')
    >>> grid.repairs
    ('1 row was out of order: sorted', '1 step was missing from the 5min grid: filled with missing readings')
    """
    repairs: list[str] = []
    if stamps:
        times, values = _drop_unread(times, values, repairs, source)
    times, values = _sort(times, values, repairs)
    _refuse_long(times, values, source)
    times, values = merge_equal(times, values, repairs)
    if freq is None:
        freq, step = _find_rate(times, stamps)
    else:
        freq, step = _given_rate(freq)
    if freq is None:
        return Grid(times, values, None, tuple(repairs))
    if step is None:
        times, values = _to_calendar(times, values, freq, repairs)
    else:
        times, values = _to_fixed_step(times, values, step, freq, repairs, stamps=stamps)
    return Grid(times, values, freq if stamps else None, tuple(repairs))


def _drop_unread(times: Times, values: Values, repairs: list[str], source: str) -> tuple[Times, Values]:
    unread = np.isnat(times.view("datetime64[ns]"))
    if not unread.any():
        return times, values
    say_unread("NaT", int(unread.sum()), unread.size, repairs, source)
    return times[~unread], values[~unread]


def say_unread(entry: object, count: int, rows: int, repairs: list[str], source: str) -> None:
    """Note that `count` of the rows are dropped for want of a readable time, or refuse when they are half or more."""
    if count * 2 >= rows:
        raise DataError(
            f"{count:,} of {rows:,} times in {source} cannot be read (the first is {str(entry)!r}): "
            "write them as 2024-01-31 13:05, or name another column with time="
        )
    repairs.append(f"{plural(count, 'row', 'has')} no readable time: dropped")


def _sort(times: Times, values: Values, repairs: list[str]) -> tuple[Times, Values]:
    backwards = int(np.count_nonzero(np.diff(times) < 0))
    if not backwards:
        return times, values
    order = np.argsort(times, kind="stable")
    repairs.append(f"{plural(backwards, 'row', 'was')} out of order: sorted")
    return times[order], values[order]


def _refuse_long(times: Times, values: Values, source: str) -> None:
    """Refuse a table that has most times more than once with other readings: it is a long one, read as wide."""
    same = np.diff(times) == 0
    if same.sum() * 2 < times.size:
        return
    later, earlier = values[1:][same], values[:-1][same]
    if ((later != earlier) & ~np.isnan(later) & ~np.isnan(earlier)).any():
        raise DataError(
            f"{source} has {plural(int(same.sum()), 'row')} of {times.size:,} at a time already there, with other "
            "readings: if it is long, name its columns with id=, time= and value=; else take one row a time"
        )


def merge_equal(times: Times, values: Values, repairs: list[str]) -> tuple[Times, Values]:
    """Merge rows of one time (the times sorted); of several readings of a variable the last counts."""
    new = np.concatenate([[True], np.diff(times) != 0]) if times.size else np.zeros(0, bool)
    if new.all():
        return times, values
    first = np.flatnonzero(new)  # of each time's rows
    last = np.append(first[1:], times.size) - 1
    several = np.flatnonzero(last > first)
    rows = np.flatnonzero(np.repeat(last > first, last - first + 1))
    latest = np.where(np.isnan(values[rows]), -1, rows[:, None])  # [rows, n] itself, where there is a reading
    latest = np.maximum.accumulate(latest, axis=0)[np.searchsorted(rows, last[several])]  # [several, n]
    merged = values[new]
    merged[several] = np.where(
        latest < first[several, None], np.float32(np.nan), np.take_along_axis(values, np.maximum(latest, 0), axis=0)
    )
    repairs.append(
        f"{plural(int((~new).sum()), 'row', 'was')} of a time already there: merged, the last reading counts"
    )
    return times[new], merged


def _find_rate(times: Times, stamps: bool) -> tuple[str | None, int | None]:
    """The rate as text and, where it is a fixed step, in nanoseconds."""
    if times.size < 2:
        return None, None
    if not stamps:
        step = _commonest_step(times, stamps=False)
        return f"{step}-step", step
    if times.size > 2:
        inferred = _infer_calendar_rate(times)
        if inferred is not None:
            return inferred, None
    step = _commonest_step(times, stamps=True)
    return step_name(step), step


def _infer_calendar_rate(times: Times) -> str | None:
    stamps = pd.DatetimeIndex(times.view("datetime64[ns]"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas 4 will give an offset instead of its name
        inferred: Any = pd.infer_freq(stamps)
    if inferred is None:
        return next((freq for freq in _CALENDAR_RATES if _follows(stamps, freq)), None)
    name = str(getattr(inferred, "freqstr", inferred))
    return None if _fixed_step(name) is not None else name


def _follows(stamps: pd.DatetimeIndex, freq: str) -> bool:
    """Whether all times are among the dates of a calendar rate, and at least half of its dates are there."""
    if np.diff(stamps.asi8).min() < (_DAY if freq == "B" else 28 * _DAY):
        return False
    grid = pd.date_range(stamps[0], stamps[-1], freq=freq)
    if freq == "B" and len(grid) > (stamps[-1] - stamps[0]).days:
        return False  # no weekend among them: these are days like any other
    return len(stamps) >= COMMON_SHARE * len(grid) and bool(stamps.isin(grid).all())


def _commonest_step(times: Times, *, stamps: bool) -> int:
    differences = np.diff(times)
    steps, counts = np.unique(differences, return_counts=True)
    common = int(steps[np.argmax(counts)])  # of equally common ones the shortest
    share = counts.max() / differences.size
    if share >= COMMON_SHARE:
        return common
    if stamps:
        rough = float(np.median(differences)) / _SECOND
        near = min(_ROUND_SECONDS, key=lambda seconds: abs(np.log(rough / seconds))) * _SECOND
        if _off_grid(times, near).mean() <= MAX_OFF_GRID:
            return near
    if not stamps:
        raise DataError(
            f"the step numbers have no single rate: the commonest step, {common}, makes up only {share:.0%} of all "
            "steps; number the rows anew (DataFrame.reset_index) if they are simply in order"
        )
    raise DataError(
        f"the times have no single rate: the commonest step, {step_name(common)}, makes up only {share:.0%} of all "
        "steps; resample the table (DataFrame.resample), or name the rate with freq="
    )


def _off_grid(times: Times, step: int) -> NDArray[np.bool_]:
    start = _grid_start(times, step)
    away = (times - start) % step
    return np.minimum(away, step - away) > min(FAR_FROM_GRID * step, _DAY // 2)


def _grid_start(times: Times, step: int) -> int:
    """The grid's first point: at the phase that most readings share."""
    phases, counts = np.unique(times % step, return_counts=True)
    if counts.max() >= COMMON_SHARE * times.size:
        phase = int(phases[np.argmax(counts)])
    else:
        angles = 2 * np.pi * (times % step) / step  # jitter: the mean direction of the phases, rounded to a second
        mean = float(np.angle(np.exp(1j * angles).mean())) / (2 * np.pi) * step
        unit = _SECOND if step >= 20 * _SECOND else 1
        phase = round(mean / unit) * unit
        if abs(phase) < FAR_FROM_GRID * step:
            phase = 0  # a clock that is a little late
    return phase + (int(times[0]) - phase + step // 2) // step * step


def _given_rate(freq: str) -> tuple[str, int | None]:
    try:
        forward = pd.tseries.frequencies.to_offset(freq).n > 0
    except (ValueError, AttributeError):
        forward = False
    if not forward:
        raise DataError(f"freq must be a rate as pandas writes it, such as '5min', 'h', 'D' or 'MS', got {freq!r}")
    return freq, _fixed_step(freq)


def _fixed_step(freq: str) -> int | None:
    """A rate's step in nanoseconds, or None for a calendar rate."""
    try:
        return int(pd.Timedelta(pd.tseries.frequencies.to_offset(freq)).value)  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return None


def step_name(step: int) -> str:
    """Write a step in nanoseconds as pandas does.

    >>> step_name(300 * 10**9), step_name(3600 * 10**9), step_name(2 * 86400 * 10**9)
    ('5min', '1h', '2D')
    """
    for size, unit in ((86400, "D"), (3600, "h"), (60, "min"), (1, "s")):
        if step % (size * _SECOND) == 0:
            return f"{step // (size * _SECOND)}{unit}"
    for size, unit in ((1_000_000, "ms"), (1000, "us")):
        if step % size == 0:
            return f"{step // size}{unit}"
    return f"{step}ns"


def _to_fixed_step(
    times: Times, values: Values, step: int, freq: str, repairs: list[str], *, stamps: bool
) -> tuple[Times, Values]:
    if times.size == 0:
        return times, values
    far = float(_off_grid(times, step).mean())
    if far > MAX_OFF_GRID:
        raise DataError(
            f"the times have mixed rates: {far:.0%} of the rows lie off the {freq} grid; "
            "resample the table (DataFrame.resample), or name another rate with freq="
        )
    start = _grid_start(times, step)
    cell = (times - start + step // 2) // step
    moved = int(np.count_nonzero(start + cell * step != times))
    if moved:
        repairs.append(f"{plural(moved, 'row', 'was')} off the {freq} grid: moved to the nearest step")
        cell, values = merge_equal(cell, values, repairs)
    total = int(cell[-1]) + 1
    _refuse_mostly_nothing(total, cell.size, freq, times, stamps)
    if total != cell.size:
        repairs.append(
            f"{plural(total - cell.size, 'step', 'was')} missing from the {freq} grid: filled with missing readings"
        )
        filled = np.full((total, values.shape[1]), np.nan, dtype=np.float32)
        filled[cell] = values
        values = filled
    return start + np.arange(total, dtype=np.int64) * step, values


def _to_calendar(times: Times, values: Values, freq: str, repairs: list[str]) -> tuple[Times, Values]:
    stamps = pd.DatetimeIndex(times.view("datetime64[ns]"))
    grid = pd.date_range(stamps[0], stamps[-1], freq=freq)
    missing = grid.difference(stamps)
    strangers = stamps.difference(grid)
    if len(strangers):
        raise DataError(
            f"the times do not follow freq={freq!r}: {strangers[0]} is not among its dates; "
            "name another rate, or resample the table"
        )
    _refuse_mostly_nothing(len(grid), len(stamps), freq, times, True)
    if not len(missing):
        return times, values
    repairs.append(f"{plural(len(missing), 'step', 'was')} missing from the {freq} grid: filled with missing readings")
    filled = np.full((len(grid), values.shape[1]), np.nan, dtype=np.float32)
    filled[grid.get_indexer(stamps)] = values
    return grid.as_unit("ns").asi8, filled


def _refuse_mostly_nothing(total: int, rows: int, freq: str, times: Times, stamps: bool) -> None:
    if total > MAX_GROWTH * rows and total > 1000:
        widest = int(np.argmax(np.diff(times)))
        before, after = (
            str(np.datetime64(int(time), "ns").astype("datetime64[s]")).replace("T", " ") if stamps else str(time)
            for time in times[widest : widest + 2]
        )
        raise DataError(
            f"the {freq} grid would need {total:,} steps for {rows:,} rows: the widest gap is between {before} "
            f"and {after}; correct the wrong one of them, or cut the table there"
        )
