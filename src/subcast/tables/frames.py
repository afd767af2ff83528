"""From a pandas or polars frame, wide or long, to a clean table.

A wide frame has one column for each variable and the times in its index or in one column. A long frame has one
row for each reading: which variable, when, how much (`unique_id`, `ds`, `y`, or the columns you name).

What is decided for dirty columns:

========================= ==================================================================================
what came                 what is done
========================= ==================================================================================
text among numbers        becomes a missing reading when less than half of the column's entries are text
a column of text          refused: drop it or encode it
true and false            1 and 0
two columns of one name   refused
times with a zone         turned into UTC
numbers as times          20240131, 2024013113 and the like as dates, else seconds, milli-, micro- or nanoseconds
                          since 1970, by their size
dates of either order     01/02/2024 is read month first or day first, whichever reads all and steps evenly
a date and a clock        joined, where the columns are called `date` and `time`
periods                   their first moment
times that cannot be read  the rows are dropped when they are less than half, else refused
row names that are no times  left out
dates as column names     refused: transpose the frame
more digits than float32 keeps  kept to seven digits, and pointed out when that hides the steps between readings
step numbers              an integer index with a name, a column `step`, an integer `ds`: sorted, gaps filled
row numbers               an integer index without a name only gives the order, where no number repeats
========================= ==================================================================================

Dates before 1678 or after 2262 count as such that cannot be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from subcast.errors import DataError
from subcast.names import listed, plural, refuse_repeated_names
from subcast.tables.clean import Table, clean_table, lost_digits
from subcast.tables.dates import is_time_name, looks_like_times, to_stamps
from subcast.tables.grid import say_unread

LONG_NAMES = ("unique_id", "ds", "y")
MAX_TEXT_SHARE = 0.5


def frame_to_table(
    frame: Any,
    *,
    time: str | None = None,
    id: str | None = None,
    value: str | None = None,
    freq: str | None = None,
    repairs: Sequence[str] = (),
    source: str = "the frame",
) -> Table:
    """Turn a pandas or polars frame, wide or long, into a clean table.

    Parameters
    ----------
    frame
        a pandas or polars DataFrame
    time
        the column of times; by default a time-like index, or a column called "time", "date", "ds" and the like
    id, value
        the columns of a long frame that name the variable and hold the reading; by default `unique_id` and `y`
        where the frame has `unique_id`, `ds` and `y`
    freq
        the rate as pandas writes it, found from the times by default
    repairs
        what was repaired already
    source
        what to call the frame in messages
    """
    frame = _levels_as_columns(_to_pandas(frame, source), id or "unique_id", source)
    names = [_name_of(label) for label in frame.columns]
    refuse_repeated_names(names, source)
    if frame.empty:
        raise DataError(f"{source} has {len(frame)} rows of {len(names)} columns: there is nothing to read")
    frame = frame.set_axis(names, axis=1)
    done = list(repairs)
    if id is not None or value is not None or set(LONG_NAMES) <= {*names, _name_of(frame.index.name)}:
        when = time or next((name for name in ("ds", *names) if name in names and is_time_name(name)), "ds")
        return _long_to_table(frame, when, id or "unique_id", value or "y", freq, done, source)
    return _wide_to_table(frame, time, freq, done, source)


def _to_pandas(frame: Any, source: str) -> pd.DataFrame:
    if isinstance(frame, pd.DataFrame):
        return frame
    if isinstance(frame, pd.Series):
        return frame.to_frame()
    if type(frame).__module__.partition(".")[0] == "polars":
        if hasattr(frame, "collect"):
            raise DataError(f"{source} is a polars LazyFrame: give an eager DataFrame (call .collect())")
        if hasattr(frame, "get_columns"):
            return pd.DataFrame({column.name: _polars_column(column) for column in frame.get_columns()})
    raise DataError(f"{source} must be a pandas or polars DataFrame, got {type(frame).__name__}")


def _polars_column(column: Any) -> Any:
    zone = getattr(column.dtype, "time_zone", None)
    values = column.to_numpy()
    return values if zone is None else pd.Series(values).dt.tz_localize("UTC").dt.tz_convert(zone)


def _levels_as_columns(frame: pd.DataFrame, id: str, source: str) -> pd.DataFrame:
    """The frame with an index of several levels, or of the variables' names, as columns."""
    index = frame.index
    if not isinstance(index, pd.MultiIndex) and index.name != id:
        return frame
    if any(name is None for name in index.names):
        raise DataError(f"{source} has an index of {index.nlevels} levels without names: name them (index.names)")
    refuse_repeated_names([str(name) for name in (*index.names, *frame.columns)], source)
    return frame.reset_index()


def _wide_to_table(frame: pd.DataFrame, time: str | None, freq: str | None, repairs: list[str], source: str) -> Table:
    stamps, frame = _take_times(frame, time, source)
    if stamps is None and _is_step_column(frame):
        frame = frame.set_index(frame.columns[0])
    if stamps is None:
        _refuse_transposed(frame, source)
        frame = _in_order(frame, repairs)
    values = _to_numbers(frame, repairs, source)
    times = None
    moments = True
    if stamps is not None:
        times, values = _readable_times(stamps, values, repairs, source)
    elif _is_counter(frame.index):
        times, moments = frame.index.to_numpy(dtype=np.int64), False
    if stamps is None and freq is not None:
        raise DataError(f"freq={freq!r} was given, but {source} has no times: name their column with time=")
    return clean_table(values, list(frame.columns), times, freq=freq, stamps=moments, repairs=repairs, source=source)


def _name_of(label: object) -> str:
    """A column's name; that of several levels is theirs, joined."""
    return "/".join(str(part) for part in label if str(part)) if isinstance(label, tuple) else str(label)


def _is_step_column(frame: pd.DataFrame) -> bool:
    """Whether the first column numbers the steps, as `Series.to_frame` names it when there are no times."""
    return frame.shape[1] > 1 and frame.columns[0] == "step" and frame.dtypes.iloc[0].kind == "i"


def _is_counter(index: pd.Index[Any]) -> bool:
    """Whether an index counts steps but not simply 0, 1, 2, ... (so that order and gaps mean something)."""
    plain = isinstance(index, pd.RangeIndex) and index.step > 0
    return not plain and isinstance(index.dtype, np.dtype) and index.dtype.kind in "iu" and index.name is not None


def _in_order(frame: pd.DataFrame, repairs: list[str]) -> pd.DataFrame:
    """The rows in the order of an index of row numbers without a name, if it is one."""
    index = frame.index
    if not pd.api.types.is_numeric_dtype(index.dtype):
        repairs.append(f"the row names ({str(index[0])!r}, ...) are no times: left out")
    if index.name is not None or not pd.api.types.is_integer_dtype(index.dtype):
        return frame
    if index.is_monotonic_increasing or not index.is_unique:
        return frame
    repairs.append("the row numbers were out of order: sorted")
    return frame.sort_index()


def _refuse_transposed(frame: pd.DataFrame, source: str) -> None:
    """Refuse a frame that has the times as its columns."""
    if len(frame.columns) > 1 and looks_like_times(pd.Series(frame.columns)):
        raise DataError(f"{source} has dates for column names ({frame.columns[0]!r}): transpose it (frame.T)")


def _take_times(frame: pd.DataFrame, time: str | None, source: str) -> tuple[pd.Series[Any] | None, pd.DataFrame]:
    """The times of a wide frame, and the frame without their column."""
    if time is not None:
        if time in frame.columns:
            return frame[time], frame.drop(columns=time)
        if frame.index.name == time:
            return frame.index.to_series(), frame
        raise DataError(f"time={time!r} names no column of {source} (its columns: {listed(list(frame.columns), 6)})")
    if isinstance(frame.index, pd.TimedeltaIndex):
        raise DataError(f"the times in {source} are durations: add the moment they count from (start + frame.index)")
    if isinstance(frame.index, pd.DatetimeIndex | pd.PeriodIndex) or looks_like_times(frame.index.to_series()):
        return frame.index.to_series(), frame
    clock = _date_and_clock(frame)
    if clock:
        joined = frame[clock[0]].astype(str).str.strip() + " " + frame[clock[1]].astype(str).str.strip()
        return joined, frame.drop(columns=clock)
    for name in frame.columns:
        column = frame[name]
        if pd.api.types.is_datetime64_any_dtype(column.dtype) or is_time_name(name):
            return column, frame.drop(columns=name)
    first = frame.columns[0]
    if looks_like_times(frame[first]):
        return frame[first], frame.drop(columns=first)
    return None, frame


def _date_and_clock(frame: pd.DataFrame) -> list[str]:
    """The names of the columns that hold the date and the time of day apart; none when there are no such."""
    found = [next((n for n in frame.columns if n.strip().lower() == wanted), None) for wanted in ("date", "time")]
    names = [name for name in found if name is not None]
    if len(names) < 2 or not looks_like_times(frame[names[0]]):
        return []
    clock = frame[names[1]].dropna().astype(str).str.strip()
    return names if len(clock) and clock.str.fullmatch(r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?").all() else []


def _readable_times(
    column: pd.Series[Any], values: NDArray[np.float32], repairs: list[str], source: str
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    stamps = to_stamps(column, repairs, source)
    unread = np.isnat(stamps)
    if unread.any():
        say_unread(column[unread].iloc[0], int(unread.sum()), unread.size, repairs, source)
        stamps, values = stamps[~unread], values[~unread]
    return stamps.view(np.int64), values


def _to_numbers(frame: pd.DataFrame, repairs: list[str], source: str) -> NDArray[np.float32]:
    """All columns as float32, text among numbers as missing."""
    if all(isinstance(kind, np.dtype) and kind.kind in "fiub" for kind in frame.dtypes):
        given = frame.to_numpy()
        with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and then missing
            values = np.array(given, dtype=np.float32)  # always a copy: the frame can be written to
        repairs.extend(lost_digits(given, values, list(frame.columns)))
        return values
    values = np.empty(frame.shape, dtype=np.float32)
    turned: dict[str, int] = {}
    for place, name in enumerate(frame.columns):
        values[:, place], text = _column_to_numbers(frame[name], source)
        if text:
            turned[name] = text
    if turned:
        repairs.append(f"{plural(sum(turned.values()), 'cell', 'was')} text in {listed(list(turned))}: now missing")
    return values


def _column_to_numbers(column: pd.Series[Any], source: str) -> tuple[NDArray[np.float32], int]:
    if isinstance(column.dtype, pd.PeriodDtype) or column.dtype.kind in "mMc":
        raise DataError(f"column {column.name!r} of {source} holds {column.dtype}, not readings: drop it")
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    try:
        numbers = pd.to_numeric(column, errors="coerce")
    except TypeError:  # lists and the like, in older pandas
        numbers = pd.Series(np.nan, index=column.index)
    filled = column.notna()
    if not pd.api.types.is_numeric_dtype(column.dtype):
        filled &= column.astype(str).str.strip() != ""
    text = filled & numbers.isna()
    count = int(text.sum())
    if count and count >= MAX_TEXT_SHARE * int(filled.sum()):
        raise DataError(
            f"column {column.name!r} of {source} holds text ({str(column[text].iloc[0])!r}), not readings: "
            "drop it or encode it; if the table is long, name its columns with id=, time= and value="
        )
    with np.errstate(over="ignore"):
        return numbers.to_numpy(dtype=np.float32, na_value=np.nan), count


def _long_to_table(
    frame: pd.DataFrame, time: str, id: str, value: str, freq: str | None, repairs: list[str], source: str
) -> Table:
    if time not in frame.columns and frame.index.name == time:
        frame = frame.reset_index()
    for argument, name in (("id", id), ("time", time), ("value", value)):
        if name not in frame.columns:
            raise DataError(
                f"{argument}={name!r} names no column of {source} (its columns: {listed(list(frame.columns), 6)})"
            )
    spare = [name for name in frame.columns if name not in (id, time, value)]
    if spare:
        repairs.append(f"{plural(len(spare), 'column', 'was')} not needed ({listed(spare)}): left out")
    readings = _to_numbers(frame[[value]], repairs, source)  # [rows, 1]
    column = frame[time]
    named = frame[id].notna().to_numpy(copy=True)
    if not named.all():
        repairs.append(f"{plural(int((~named).sum()), 'row', 'has')} no name in {id!r}: dropped")
    stamps = not _counts_steps(column)
    if stamps:
        moments = to_stamps(column, repairs, source)
        unread, times = np.isnat(moments), moments.view(np.int64)
    elif freq is not None:
        raise DataError(f"freq={freq!r} was given, but {time!r} of {source} only numbers the steps: leave it out")
    else:
        unread = column.isna().to_numpy()
        times = column.fillna(0).to_numpy(dtype=np.int64)
    if unread.any():
        say_unread(column[unread].iloc[0], int(unread.sum()), unread.size, repairs, source)
        named &= ~unread
    if not named.any():
        raise DataError(f"{source} has no row with both a name in {id!r} and a readable time in {time!r}")
    values, variables, when = _pivot(frame[id][named], times[named], readings[named, 0], repairs)
    return clean_table(values, variables, when, freq=freq, stamps=stamps, repairs=repairs, source=source)


def _counts_steps(column: pd.Series[Any]) -> bool:
    """Whether times are step numbers: small whole numbers."""
    if pd.api.types.is_bool_dtype(column.dtype) or not pd.api.types.is_numeric_dtype(column.dtype):
        return False
    there = column.dropna().to_numpy(dtype=np.float64)
    return bool(there.size and (there % 1 == 0).all() and np.abs(there).max() < 1e7)


def _pivot(
    ids: pd.Series[Any], times: NDArray[np.int64], readings: NDArray[np.float32], repairs: list[str]
) -> tuple[NDArray[np.float32], list[str], NDArray[np.int64]]:
    """One row a time, one column an id (in order of appearance); of several readings the last counts."""
    if pd.api.types.is_float_dtype(ids.dtype) and (ids % 1 == 0).all():
        ids = ids.astype(np.int64)  # numbers that became fractions beside a missing one
    column, names = pd.factorize(ids.astype(str))
    when, row = np.unique(times, return_inverse=True)
    values = np.full((when.size, len(names)), np.nan, dtype=np.float32)
    repeated = row.size - np.unique(row * np.int64(len(names)) + column).size
    if repeated:
        repairs.append(
            f"{plural(repeated, 'reading', 'was')} of a variable and time already there: the last one counts"
        )
    there = ~np.isnan(readings)
    values[row[there], column[there]] = readings[there]  # of equal places numpy keeps the last
    return values, [str(name) for name in names], when
