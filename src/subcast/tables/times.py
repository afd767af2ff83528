"""Find the times of a frame: in its index, in a column, or as step numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from subcast.names import listed
from subcast.tables.dates import check_readable, is_time_name, looks_like_times
from subcast.tables.policy import Policy

LARGEST_STEP_NUMBER = 1e7
"""Whole numbers below this, where a long frame has its times, number the steps."""

_CLOCK = r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?"


class FoundTimes(NamedTuple):
    """The times of a wide frame (None when it has none), and the frame without the columns that held them."""

    times: pd.Series[Any] | None
    frame: pd.DataFrame


class FoundSteps(NamedTuple):
    """The step numbers of a wide frame (None when it has none), and the frame without the column that held them."""

    numbers: NDArray[np.int64] | None
    frame: pd.DataFrame


def find_times(
    frame: pd.DataFrame, candidates: list[str], policy: Policy, *, time: str | None = None, named_only: bool = False
) -> FoundTimes:
    """Find the times of a wide frame.

    They are looked for, in this order, in: the column or index called `time`; an index of dates; two columns called
    "date" and "time"; a column of dates or with a name such as "time" or "ds"; the first column, if its text reads as
    dates.

    Parameters
    ----------
    frame
        a flat frame
    candidates
        the columns that may hold times
    policy
        names the table in messages
    time
        the column or index of times, when the caller named it
    named_only
        whether columns called "date" and "time" are joined whatever they hold, since they cannot be variables
    """
    if time is not None:
        return _named_times(frame, time, policy)
    index = frame.index
    if isinstance(index, pd.DatetimeIndex | pd.PeriodIndex | pd.TimedeltaIndex) or looks_like_times(index.to_series()):
        return FoundTimes(index.to_series(), frame)
    clock = _date_and_clock(frame, candidates, named_only)
    if clock is not None:
        date_text, time_text = (frame[name].astype(str).str.strip() for name in clock)
        return FoundTimes(date_text + " " + time_text, frame.drop(columns=list(clock)))
    for name in candidates:
        if pd.api.types.is_datetime64_any_dtype(frame[name].dtype) or is_time_name(name):
            return FoundTimes(frame[name], frame.drop(columns=name))
    if candidates and candidates[0] == frame.columns[0] and looks_like_times(frame[candidates[0]]):
        return FoundTimes(frame[candidates[0]], frame.drop(columns=candidates[0]))
    return FoundTimes(None, frame)


def _named_times(frame: pd.DataFrame, time: str, policy: Policy) -> FoundTimes:
    if time in frame.columns:
        return FoundTimes(frame[time], frame.drop(columns=time))
    if frame.index.name == time:
        return FoundTimes(frame.index.to_series(), frame)
    raise wrong_column("time", time, frame, policy)


def wrong_column(argument: str, name: str, frame: pd.DataFrame, policy: Policy) -> Exception:
    """Return the error for an argument that names a column the frame does not have."""
    return policy.error(
        f"{argument}={name!r} names no column of {policy.source} (its columns: {listed(list(frame.columns), 6)})"
    )


def _date_and_clock(frame: pd.DataFrame, candidates: list[str], named_only: bool) -> tuple[str, str] | None:
    """Return the names of the columns that hold the date and the time of day, if there are such."""
    date = next((name for name in candidates if name.strip().lower() == "date"), None)
    clock = next((name for name in candidates if name.strip().lower() == "time"), None)
    if date is None or clock is None:
        return None
    if named_only:
        return date, clock
    entries = frame[clock].dropna().astype(str).str.strip()
    readable = looks_like_times(frame[date]) and len(entries) and entries.str.fullmatch(_CLOCK).all()
    return (date, clock) if readable else None


def find_steps(frame: pd.DataFrame, candidates: list[str], policy: Policy, *, anywhere: bool) -> FoundSteps:
    """Find the step numbers of a wide frame without times.

    They are looked for in a column `step` and in an index of whole numbers that has a name. An index of whole numbers
    without a name only gives the order of the rows; where the rows do not follow it, the policy decides.

    Parameters
    ----------
    frame
        a flat frame
    candidates
        the columns that may hold step numbers
    policy
        decides about row numbers out of order, and about row names
    anywhere
        whether `step` may be any column; else only the first, as `Series.to_frame` writes it
    """
    if _has_step_column(frame, candidates, anywhere):
        if anywhere:
            return FoundSteps(_whole_numbers(frame["step"], policy), frame.drop(columns="step"))
        frame = frame.set_index("step")
    index = frame.index
    if _numbers_steps(index, policy):
        return FoundSteps(_whole_numbers(index.to_series(), policy), frame)
    if not pd.api.types.is_numeric_dtype(index.dtype) and len(index):
        policy.row_names(index[0])
    return FoundSteps(None, _in_row_order(frame, policy))


def _has_step_column(frame: pd.DataFrame, candidates: list[str], anywhere: bool) -> bool:
    if "step" not in candidates:
        return False
    kind = frame["step"].dtype.kind
    return kind in "iu" if anywhere else kind == "i" and frame.columns[0] == "step" and frame.shape[1] > 1


def _whole_numbers(column: pd.Series[Any], policy: Policy) -> NDArray[np.int64]:
    readable = check_readable(column.isna().to_numpy(), column, policy)
    return column[readable].to_numpy(dtype=np.int64)


def _numbers_steps(index: pd.Index[Any], policy: Policy) -> bool:
    """Return whether an index numbers the steps, but not simply 0, 1, 2, ..."""
    plain = isinstance(index, pd.RangeIndex) and index.step > 0
    if plain or index.name is None or index.dtype.kind not in "iu":
        return False
    return policy.nullable_step_numbers or isinstance(index.dtype, np.dtype)


def _in_row_order(frame: pd.DataFrame, policy: Policy) -> pd.DataFrame:
    """Return the rows in the order of an index of row numbers without a name, if it is one."""
    index = frame.index
    if index.name is not None or not pd.api.types.is_integer_dtype(index.dtype):
        return frame
    if len(index) < 2 or index.is_monotonic_increasing or not index.is_unique:
        return frame
    numbers = index.to_series().to_numpy(dtype=np.float64, na_value=np.nan)
    row = int(np.argmin(numbers[1:] > numbers[:-1])) + 1
    policy.shuffled_rows(row, index[row], index[row - 1])
    return frame.sort_index()


def counts_steps(column: pd.Series[Any], policy: Policy) -> bool:
    """Return whether the times of a long frame are step numbers: small whole numbers."""
    if pd.api.types.is_bool_dtype(column.dtype) or column.dtype.kind not in policy.step_number_kinds:
        return False
    numbers = column.dropna().to_numpy(dtype=np.float64)
    if not numbers.size:
        return column.empty
    return bool((numbers % 1 == 0).all() and np.abs(numbers).max() < LARGEST_STEP_NUMBER)
