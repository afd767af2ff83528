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
numbers as times          seconds, milli-, micro- or nanoseconds since 1970, by their size
times that cannot be read  the rows are dropped when they are less than half, else refused
========================= ==================================================================================
"""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from subcast.errors import DataError
from subcast.names import listed, plural, refuse_repeated_names
from subcast.tables.clean import Table, clean_table

TIME_NAMES = ("time", "times", "timestamp", "datetime", "date", "date_time", "ds")
LONG_NAMES = ("unique_id", "ds", "y")
MAX_TEXT_SHARE = 0.5
EpochUnit = Literal["s", "ms", "us", "ns"]


def frame_to_table(
    frame: Any,
    *,
    time: str | None = None,
    id: str | None = None,
    value: str | None = None,
    freq: str | None = None,
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
    source
        what to call the frame in messages
    """
    frame = _to_pandas(frame, source)
    if id is not None or value is not None or set(LONG_NAMES) <= {str(name) for name in frame.columns}:
        return _long_to_table(frame, time or "ds", id or "unique_id", value or "y", freq, source)
    return _wide_to_table(frame, time, freq, source)


def _to_pandas(frame: Any, source: str) -> pd.DataFrame:
    if isinstance(frame, pd.DataFrame):
        return frame
    if isinstance(frame, pd.Series):
        return frame.to_frame()
    if type(frame).__module__.partition(".")[0] == "polars":
        if not hasattr(frame, "columns") or not hasattr(frame, "get_column"):
            raise DataError(f"{source} is a polars {type(frame).__name__}: give an eager DataFrame (call .collect())")
        return pd.DataFrame({name: frame.get_column(name).to_numpy() for name in frame.columns})
    raise DataError(f"{source} must be a pandas or polars DataFrame, got {type(frame).__name__}")


def _wide_to_table(frame: pd.DataFrame, time: str | None, freq: str | None, source: str) -> Table:
    names = [_name_of(label) for label in frame.columns]
    refuse_repeated_names(names, source)
    frame = frame.set_axis(names, axis=1)
    repairs: list[str] = []
    stamps, frame = _take_times(frame, time, repairs, source)
    values = _to_numbers(frame, repairs, source)
    times = None
    moments = True
    if stamps is not None:
        times, values = _readable_times(stamps, values, repairs, source)
    elif _is_counter(frame.index):
        times, moments = frame.index.to_numpy(dtype=np.int64), False
    if times is None and freq is not None:
        raise DataError(f"freq={freq!r} was given, but {source} has no times: name their column with time=")
    return clean_table(values, list(frame.columns), times, freq=freq, stamps=moments, repairs=repairs, source=source)


def _name_of(label: object) -> str:
    return "/".join(str(part) for part in label) if isinstance(label, tuple) else str(label)


def _is_counter(index: pd.Index[Any]) -> bool:
    """Whether an index counts steps but not simply 0, 1, 2, ... (so that order and gaps mean something)."""
    plain = isinstance(index, pd.RangeIndex) and index.step > 0
    return not plain and bool(pd.api.types.is_integer_dtype(index.dtype)) and index.name is not None


def _take_times(
    frame: pd.DataFrame, time: str | None, repairs: list[str], source: str
) -> tuple[pd.Series[Any] | None, pd.DataFrame]:
    """The times of a wide frame, and the frame without their column."""
    if time is not None:
        if time in frame.columns:
            return frame[time], frame.drop(columns=time)
        if frame.index.name == time:
            return frame.index.to_series(), frame
        raise DataError(f"time={time!r} names no column of {source} (its columns: {listed(list(frame.columns), 6)})")
    if isinstance(frame.index, pd.DatetimeIndex):
        return frame.index.to_series(), frame
    if _looks_like_times(frame.index.to_series()):
        return frame.index.to_series(), frame
    for name in frame.columns:
        column = frame[name]
        if pd.api.types.is_datetime64_any_dtype(column.dtype) or name.strip().lower() in TIME_NAMES:
            return column, frame.drop(columns=name)
    first = frame.columns[0] if len(frame.columns) else None
    if first is not None and _looks_like_times(frame[first]):
        return frame[first], frame.drop(columns=first)
    return None, frame


def _looks_like_times(column: pd.Series[Any]) -> bool:
    """Whether a column of text reads as dates (judged by its first entries)."""
    if pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
        return False
    head = column.dropna().head(20)
    if head.empty or not all(isinstance(entry, str) and any(mark in entry for mark in "-/:.") for entry in head):
        return False
    return bool(_parse_dates(head).notna().all())


def _readable_times(
    column: pd.Series[Any], values: NDArray[np.float32], repairs: list[str], source: str
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    stamps = _to_stamps(column, repairs, source)
    unread = np.isnat(stamps)
    count = int(unread.sum())
    if count:
        if count * 2 > unread.size:
            entry = column[unread].iloc[0]
            raise DataError(
                f"{count:,} of {unread.size:,} times in {source} cannot be read (the first is {entry!r}): "
                "write them as 2024-01-31 13:05, or name another column with time="
            )
        repairs.append(f"{plural(count, 'row', 'has')} no readable time: dropped")
        stamps, values = stamps[~unread], values[~unread]
    return stamps.view(np.int64), values


def _to_stamps(column: pd.Series[Any], repairs: list[str], source: str) -> NDArray[np.datetime64]:
    if pd.api.types.is_bool_dtype(column.dtype):
        raise DataError(f"the times in {source} are true and false: name the column of times with time=")
    if pd.api.types.is_numeric_dtype(column.dtype):
        stamps = pd.to_datetime(column, unit=_epoch_unit(column, source), errors="coerce")
    elif pd.api.types.is_datetime64_any_dtype(column.dtype):
        stamps = column
    else:
        stamps = _parse_dates(column)
    zone = getattr(stamps.dtype, "tz", None)
    if zone is not None:
        if str(zone) != "UTC" or not pd.api.types.is_datetime64_any_dtype(column.dtype):
            repairs.append("times with a zone: turned into UTC")
        stamps = stamps.dt.tz_convert("UTC").dt.tz_localize(None)
    moments: NDArray[np.datetime64] = stamps.to_numpy(dtype="datetime64[ns]")
    return moments


def _parse_dates(column: pd.Series[Any]) -> pd.Series[Any]:
    """Read dates written as text, one convention for the whole column.

    ISO, month first and day first are tried; the one that reads the most entries wins, of equals the one that
    leaves the fewest rows out of order. (Reading each entry on its own would turn 12/02 and 13/02 into two months.)
    """
    zoned = bool(column.astype(str).str.contains(r"(?:Z|[+-]\d\d:?\d\d)$", regex=True).any())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        readings: list[pd.Series[Any]] = [
            pd.to_datetime(column, errors="coerce", format="ISO8601", utc=zoned),
            pd.to_datetime(column, errors="coerce", utc=zoned),
            pd.to_datetime(column, errors="coerce", dayfirst=True, utc=zoned),
        ]
    return min(readings, key=lambda read: (int(read.isna().sum()), int((read.diff().dt.total_seconds() < 0).sum())))


def _epoch_unit(column: pd.Series[Any], source: str) -> EpochUnit:
    size = float(column.abs().median())
    units: tuple[tuple[EpochUnit, float], ...] = (("ns", 1e17), ("us", 1e14), ("ms", 1e11), ("s", 1e8))
    for unit, low in units:
        if size >= low:
            return unit
    raise DataError(
        f"the times in {source} are numbers around {size:g}, too small for seconds since 1970: "
        "give dates, or drop the column if the rows are simply in order"
    )


def _to_numbers(frame: pd.DataFrame, repairs: list[str], source: str) -> NDArray[np.float32]:
    """All columns as float32, text among numbers as missing."""
    if all(isinstance(kind, np.dtype) and kind.kind in "fiub" for kind in frame.dtypes):
        return frame.to_numpy(dtype=np.float32)
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
    if pd.api.types.is_datetime64_any_dtype(column.dtype) or pd.api.types.is_complex_dtype(column.dtype):
        raise DataError(f"column {column.name!r} of {source} holds {column.dtype}, not readings: drop it")
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    numbers = pd.to_numeric(column, errors="coerce")
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
    return numbers.to_numpy(dtype=np.float32, na_value=np.nan), count


def _long_to_table(frame: pd.DataFrame, time: str, id: str, value: str, freq: str | None, source: str) -> Table:
    frame = frame.set_axis([_name_of(label) for label in frame.columns], axis=1)
    if time not in frame.columns and frame.index.name == time:
        frame = frame.reset_index()
    for argument, name in (("id", id), ("time", time), ("value", value)):
        if name not in frame.columns:
            raise DataError(
                f"{argument}={name!r} names no column of {source} (its columns: {listed(list(frame.columns), 6)})"
            )
    repairs: list[str] = []
    spare = [name for name in frame.columns if name not in (id, time, value)]
    if spare:
        repairs.append(f"{plural(len(spare), 'column', 'was')} not needed ({listed(spare)}): left out")
    readings = _to_numbers(frame[[value]], repairs, source)  # [rows, 1]
    column = frame[time]
    stamps = not (pd.api.types.is_integer_dtype(column.dtype) and column.abs().max() < 1e8)
    named = frame[id].notna().to_numpy(copy=True)
    if not named.all():
        repairs.append(f"{plural(int((~named).sum()), 'row', 'has')} no name in {id!r}: dropped")
    if stamps:
        moments = _to_stamps(column, repairs, source)
        named &= ~np.isnat(moments)
        unread = int(np.isnat(moments).sum())
        if unread:
            repairs.append(f"{plural(unread, 'row', 'has')} no readable time: dropped")
        times = moments.view(np.int64)
    else:
        times = column.to_numpy(dtype=np.int64)
    if not named.any():
        raise DataError(f"{source} has no row with both a name in {id!r} and a readable time in {time!r}")
    values, variables, when = _pivot(frame[id][named], times[named], readings[named, 0], repairs)
    return clean_table(values, variables, when, freq=freq, stamps=stamps, repairs=repairs, source=source)


def _pivot(
    ids: pd.Series[Any], times: NDArray[np.int64], readings: NDArray[np.float32], repairs: list[str]
) -> tuple[NDArray[np.float32], list[str], NDArray[np.int64]]:
    """One row a time, one column an id (in order of appearance); of several readings the last counts."""
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
