"""From a pandas or polars frame, wide or long, to rows.

A wide frame has one column for each variable, and its times in the index or in a column. A long frame has one row for
each reading: which variable, when, and the value (`unique_id`, `ds`, `y`, or the columns that the caller names).

How columns are read (what depends on the policy is in `policy`):

=============================== ============================================================================
input                           result
=============================== ============================================================================
numbers written as text         numbers, in one convention for all columns (`convention`), empty text a missing
                                reading
true and false                  text, not readings
two columns of one name         refused
numbers as times                20240131, 2024013113 and the like as dates, else seconds, milli-, micro- or
                                nanoseconds since 1970, by their size
01/02/2024                      month first or day first, whichever reads all dates with even steps
columns `date` and `time`       joined
periods                         their first moment
dates as column names           refused: transpose the frame
`index`, `Unnamed: 0`           ignored, if they count the rows by one
step numbers                    an integer index with a name, a column `step`, an integer `ds`
row numbers                     an integer index without a name gives the order of the rows, unless it repeats
dates before 1678, after 2262   unreadable
=============================== ============================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from subcast.names import refuse_unknown_names
from subcast.tables.convention import NumberFormat
from subcast.tables.dates import ReadTimes, check_readable, is_time_name, looks_like_times, readable_stamps
from subcast.tables.flatten import flat_frame, name_of
from subcast.tables.labels import index_columns, label_notes
from subcast.tables.numbers import frame_convention, frame_numbers
from subcast.tables.policy import Policy
from subcast.tables.rates import moment_text
from subcast.tables.rows import Rows
from subcast.tables.times import counts_steps, find_steps, find_times, wrong_column

LONG_NAMES = ("unique_id", "ds", "y")


@dataclass(frozen=True)
class Columns:
    """What the caller knows about the columns of a frame.

    Attributes
    ----------
    time
        the column of times
    id, value
        the columns of a long frame that name the variable and hold the reading
    variables
        the variables that a frame may hold, with their positions; None when any column may be a variable
    numbers
        how numbers are written as text
    """

    time: str | None = None
    id: str | None = None
    value: str | None = None
    variables: Mapping[str, int] | None = None
    numbers: NumberFormat = field(default_factory=NumberFormat)


def frame_rows(table: Any, policy: Policy, columns: Columns, last: int | None = None) -> Rows:
    """Turn a pandas or polars frame, wide or long, into rows.

    Parameters
    ----------
    table
        a pandas DataFrame or Series, or a polars DataFrame
    policy
        what to do about problems
    columns
        what is known about the columns
    last
        how many of the last rows (of a long frame: the last times) to read; all by default
    """
    frame = flat_frame(table, policy, columns.id or "unique_id")
    if frame.empty:
        policy.no_cells(*frame.shape)
    named_long = columns.id is not None or columns.value is not None
    if named_long or set(LONG_NAMES) <= {*frame.columns, name_of(frame.index.name)}:
        return _long_rows(frame, policy, columns, last)
    return _wide_rows(frame, policy, columns, last)


# Wide frames


def _wide_rows(frame: pd.DataFrame, policy: Policy, columns: Columns, last: int | None) -> Rows:
    known = columns.variables
    candidates = [name for name in frame.columns if known is None or name not in known]
    times, rest = find_times(frame, candidates, policy, time=columns.time, named_only=known is not None)
    steps = None
    if times is None:
        steps, rest = find_steps(rest, candidates, policy, anywhere=known is not None)
    numbering = index_columns(rest, candidates)
    if numbering:
        policy.index_columns(numbering)
        rest = rest.drop(columns=numbering)
    names = list(rest.columns)
    if known is not None:
        refuse_unknown_names(names, known, policy.source)
    elif times is None:
        _refuse_dates_as_columns(names, policy)
    convention = frame_convention(rest, policy, columns.numbers)
    values = frame_numbers(rest if last is None else rest.iloc[-last:], policy, convention, told=columns.numbers.given)
    if known is None:
        policy.notes.extend(label_notes(names, values))
    if times is None:
        return Rows(names, values, len(rest), steps, counted=steps is not None)
    read = readable_stamps(times, policy)
    stamps = read.stamps[read.readable]
    if len(stamps) < len(times):
        values = values[read.readable[len(times) - len(values) :]]
    return Rows(names, values, len(stamps), stamps, zone=read.zone, assumed=read.assumed)


def _refuse_dates_as_columns(names: list[str], policy: Policy) -> None:
    if len(names) > 1 and looks_like_times(pd.Series(names)):
        raise policy.error(f"{policy.source} has dates for column names ({names[0]!r}): transpose it (frame.T)")


# Long frames


def _long_rows(frame: pd.DataFrame, policy: Policy, columns: Columns, last: int | None) -> Rows:
    frame, id_column, time, value = _long_columns(frame, policy, columns)
    named = _named_rows(frame[id_column], policy)
    counted = counts_steps(frame[time], policy)
    read = _counted_times(frame[time], policy) if counted else _long_times(frame, id_column, time, policy)
    usable = named & read.readable
    if len(frame) and not usable.any():
        raise policy.error(
            f"{policy.source} has no row with both a name in {id_column!r} and a readable time in {time!r}"
        )
    ids, names = _variables_of(frame[id_column][usable])
    if columns.variables is not None:
        refuse_unknown_names(names, columns.variables, policy.source)
    moments, steps = np.unique(read.stamps[usable], return_inverse=True)
    _check_repeats(steps, ids, names, lambda step: moment_text(moments[step], counted, read.zone), policy)
    first = 0 if last is None else max(0, moments.size - last)
    recent = np.ones(len(frame), dtype=bool)
    recent[usable] = steps >= first  # older rows are not read at all
    convention = frame_convention(frame.drop(columns=[id_column, time]), policy, columns.numbers)
    rows = frame[[value]] if recent.all() else frame.loc[recent, [value]]
    readings = frame_numbers(rows, policy, convention, told=columns.numbers.given)[:, 0]
    kept = steps >= first
    values = _pivot(readings[usable[recent]], steps[kept] - first, ids[kept], (moments.size - first, len(names)))
    return Rows(names, values, moments.size, moments, counted, zone=read.zone, assumed=read.assumed)


def _counted_times(column: pd.Series[Any], policy: Policy) -> ReadTimes:
    readable = check_readable(column.isna().to_numpy(), column, policy)
    return ReadTimes(column.fillna(0).to_numpy(dtype=np.int64), readable)


def _long_times(frame: pd.DataFrame, id_column: str, time: str, policy: Policy) -> ReadTimes:
    groups = pd.factorize(frame[id_column])[0].astype(np.int64)
    return readable_stamps(frame[time], policy, groups)


def _long_columns(frame: pd.DataFrame, policy: Policy, columns: Columns) -> tuple[pd.DataFrame, str, str, str]:
    """Return a long frame with its times in a column, and the names of its columns of ids, times and values."""
    id_column, value = columns.id or "unique_id", columns.value or "y"
    time = columns.time or _long_time_name(frame)
    if time not in frame.columns and frame.index.name == time:
        frame = frame.reset_index()
    for argument, name in (("id", id_column), ("time", time), ("value", value)):
        if name not in frame.columns:
            raise wrong_column(argument, name, frame, policy)
    unused = [name for name in frame.columns if name not in (id_column, time, value)]
    if unused:
        policy.unused_columns(unused)
    return frame, id_column, time, value


def _long_time_name(frame: pd.DataFrame) -> str:
    """Return the name of the times of a long frame: "ds", else the first column with a name such as "time"."""
    if "ds" in (*frame.columns, frame.index.name):
        return "ds"
    return next((name for name in frame.columns if is_time_name(name)), "ds")


def _named_rows(ids: pd.Series[Any], policy: Policy) -> NDArray[np.bool_]:
    """Return which rows of a long frame name their variable, if the policy takes the others."""
    named = ids.notna().to_numpy(dtype=bool, copy=True)
    if not named.all():
        policy.unnamed_readings(int(np.argmin(named)), str(ids.name), int((~named).sum()))
    return named


def _variables_of(ids: pd.Series[Any]) -> tuple[NDArray[np.int64], list[str]]:
    """Return the number of each row's variable, and the names in order of appearance."""
    if pd.api.types.is_float_dtype(ids.dtype) and (ids % 1 == 0).all():
        ids = ids.astype(np.int64)  # whole numbers that became floats beside a missing one
    codes, names = pd.factorize(ids.astype(str))
    return codes, [str(name) for name in names]


def _check_repeats(
    steps: NDArray[np.int64],
    ids: NDArray[np.int64],
    names: list[str],
    moment_of: Callable[[np.int64], str],
    policy: Policy,
) -> None:
    """Report readings that repeat a variable and time to the policy."""
    cells = steps * np.int64(max(1, len(names))) + ids
    count = cells.size - np.unique(cells).size
    if count:
        _, first, repeats = np.unique(cells, return_index=True, return_counts=True)
        row = int(first[np.argmax(repeats > 1)])
        policy.repeated_readings(names[ids[row]], moment_of(steps[row]), count)


def _pivot(
    readings: NDArray[np.float32], steps: NDArray[np.int64], ids: NDArray[np.int64], shape: tuple[int, int]
) -> NDArray[np.float32]:
    """Return one row for each time and one column for each variable; the last of several readings is kept."""
    values = np.full(shape, np.nan, dtype=np.float32)
    present = ~np.isnan(readings)
    values[steps[present], ids[present]] = readings[present]  # NumPy keeps the last of equal indices
    return values
