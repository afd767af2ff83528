"""Put a table's times on a regular grid: sort, merge, find the rate, fill the gaps.

The decisions, in the order they are taken:

========================= ==================================================================================
what came                 what is done
========================= ==================================================================================
rows without a time       dropped
rows out of order         sorted (rows of equal time keep their order)
a time more than once     merged into one row; of several readings of one variable the last one counts
a calendar rate           kept as it is (months, business days: whatever pandas infers from the times)
one commonest step        taken as the rate when it makes up half of all steps or more
jitter                    else a round rate near the median step, when nine in ten readings lie near its grid
readings off the grid     moved to the nearest grid point, when at most one in ten lies far from one
gaps in the grid          filled with rows of missing readings
no rate, or mixed rates   refused: resample the table, or name the rate (`freq=`)
a grid of mostly nothing  refused when it would hold more than `MAX_GROWTH` times the rows that came
========================= ==================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass

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
    21600,
    43200,
    86400,
)
_SECOND = 1_000_000_000

Times = NDArray[np.int64]
Values = NDArray[np.float32]


@dataclass(frozen=True)
class Grid:
    """Times on a regular grid with their readings, the rate, and what was repaired."""

    times: Times  # [t] nanoseconds, or step numbers
    values: Values  # [t, n]
    freq: str | None
    repairs: tuple[str, ...]


def to_grid(times: Times, values: Values, freq: str | None = None, *, stamps: bool = True) -> Grid:
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
    times, values = _sort(times, values, repairs)
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
        times, values = _to_fixed_step(times, values, step, freq, repairs)
    return Grid(times, values, freq if stamps else None, tuple(repairs))


def _sort(times: Times, values: Values, repairs: list[str]) -> tuple[Times, Values]:
    backwards = int(np.count_nonzero(np.diff(times) < 0))
    if not backwards:
        return times, values
    order = np.argsort(times, kind="stable")
    repairs.append(f"{plural(backwards, 'row', 'was')} out of order: sorted")
    return times[order], values[order]


def merge_equal(times: Times, values: Values, repairs: list[str]) -> tuple[Times, Values]:
    """Merge rows of one time (the times sorted); of several readings of a variable the last counts."""
    new = np.concatenate([[True], np.diff(times) != 0]) if times.size else np.zeros(0, bool)
    if new.all():
        return times, values
    place = np.cumsum(new) - 1  # row -> merged row
    nth = np.arange(times.size) - np.flatnonzero(new)[place]  # 0, 1, .. within rows of one time
    merged = values[new]
    for occurrence in range(1, int(nth.max()) + 1):
        rows = np.flatnonzero(nth == occurrence)
        later = values[rows]
        merged[place[rows]] = np.where(np.isnan(later), merged[place[rows]], later)
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
    try:
        inferred = pd.infer_freq(pd.DatetimeIndex(times.view("datetime64[ns]")))
    except ValueError:
        return None
    if inferred is None or _fixed_step(inferred) is not None:
        return None
    return inferred


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
    shown = step_name(common) if stamps else str(common)
    raise DataError(
        f"the times have no single rate: the commonest step, {shown}, makes up only {share:.0%} of all steps; "
        "resample the table (DataFrame.resample), or name the rate with freq="
    )


def _off_grid(times: Times, step: int) -> NDArray[np.bool_]:
    start = _grid_start(times, step)
    away = (times - start) % step
    return np.minimum(away, step - away) > FAR_FROM_GRID * step


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
        pd.tseries.frequencies.to_offset(freq)
    except ValueError:
        raise DataError(
            f"freq must be a rate as pandas writes it, such as '5min', 'h', 'D' or 'MS', got {freq!r}"
        ) from None
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


def _to_fixed_step(times: Times, values: Values, step: int, freq: str, repairs: list[str]) -> tuple[Times, Values]:
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
    _refuse_mostly_nothing(total, cell.size, freq, times)
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
    _refuse_mostly_nothing(len(grid), len(stamps), freq, times)
    if not len(missing):
        return times, values
    repairs.append(f"{plural(len(missing), 'step', 'was')} missing from the {freq} grid: filled with missing readings")
    filled = np.full((len(grid), values.shape[1]), np.nan, dtype=np.float32)
    filled[grid.get_indexer(stamps)] = values
    return grid.as_unit("ns").asi8, filled


def _refuse_mostly_nothing(total: int, rows: int, freq: str, times: Times) -> None:
    if total > MAX_GROWTH * rows and total > 1000:
        widest = int(np.argmax(np.diff(times)))
        raise DataError(
            f"the {freq} grid would need {total:,} steps for {rows:,} rows: the widest gap is between rows "
            f"{widest} and {widest + 1} in time order; correct that time, or cut the table there"
        )
