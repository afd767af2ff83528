"""From a column of dates, of numbers or of text to moments: which are times, and what do they say."""

from __future__ import annotations

import datetime
import warnings
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from subcast.errors import DataError

TIME_NAMES = ("time", "times", "timestamp", "datetime", "date", "date_time", "ds")
_COMPACT_DATES = {8: "%Y%m%d", 10: "%Y%m%d%H", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
EpochUnit = Literal["s", "ms", "us", "ns"]


def is_time_name(name: str) -> bool:
    """Whether a column of this name holds the times."""
    return name.strip().lower() in TIME_NAMES


def looks_like_times(column: pd.Series[Any]) -> bool:
    """Whether a column of text or of date objects reads as dates (judged by its first entries)."""
    if pd.api.types.is_datetime64_any_dtype(column.dtype) or isinstance(column.dtype, pd.PeriodDtype):
        return True
    if pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
        return False
    head = column.dropna().head(20)
    if head.empty or not all(
        isinstance(entry, datetime.date) or (isinstance(entry, str) and any(mark in entry for mark in "-/:."))
        for entry in head
    ):
        return False
    return bool(_parse_dates(head, []).notna().all())


def to_stamps(column: pd.Series[Any], repairs: list[str], source: str) -> NDArray[np.datetime64]:
    """Turn a column into moments, NaT where it cannot be read as one."""
    if pd.api.types.is_bool_dtype(column.dtype):
        raise DataError(f"the times in {source} are true and false: name the column of times with time=")
    if pd.api.types.is_timedelta64_dtype(column.dtype):
        raise DataError(f"the times in {source} are durations: add the moment they count from")
    if pd.api.types.is_numeric_dtype(column.dtype):
        stamps = _numbers_to_stamps(column, source)
    elif isinstance(column.dtype, pd.PeriodDtype):
        stamps = column.dt.to_timestamp()
    elif pd.api.types.is_datetime64_any_dtype(column.dtype):
        stamps = column
    else:
        stamps = _parse_dates(column, repairs)
    zone = getattr(stamps.dtype, "tz", None)
    if zone is not None:
        if str(zone) != "UTC" or not pd.api.types.is_datetime64_any_dtype(column.dtype):
            repairs.append("times with a zone: turned into UTC")
        stamps = stamps.dt.tz_convert("UTC").dt.tz_localize(None)
    stamps = stamps.where((stamps >= pd.Timestamp("1678-01-01")) & (stamps < pd.Timestamp("2262-01-01")))
    moments: NDArray[np.datetime64] = stamps.to_numpy(dtype="datetime64[ns]")
    return moments


def _numbers_to_stamps(column: pd.Series[Any], source: str) -> pd.Series[Any]:
    """Numbers such as 20240131 are dates; others count from 1970."""
    first = column.dropna().head(1).to_numpy()
    form = _COMPACT_DATES.get(len(f"{first[0]:.0f}")) if first.size else None
    if form is not None and str(first[0])[:2] in ("19", "20"):
        digits = column.map(lambda number: f"{number:.0f}", na_action="ignore")
        dates = pd.to_datetime(digits, format=form, errors="coerce")
        if dates.notna().equals(digits.notna()) and dates.dropna().dt.year.between(1900, 2099).all():
            return dates
    return pd.to_datetime(column, unit=_epoch_unit(column, source), errors="coerce")


def _parse_dates(column: pd.Series[Any], repairs: list[str]) -> pd.Series[Any]:
    """Read dates written as text, one convention for the whole column.

    ISO, month first and day first are tried; the one that reads the most entries wins, of equals the one that
    leaves the fewest rows out of order, then the one whose steps are the most even. (Reading each entry on its own
    would turn 12/02 and 13/02 into two months.)
    """
    zoned = bool(column.astype(str).str.contains(r"(?:Z|[+-]\d\d:?\d\d)$", regex=True).any())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        iso = pd.to_datetime(column, errors="coerce", format="ISO8601", utc=zoned)
        if iso.notna().all():
            return iso
        month_first = pd.to_datetime(column, errors="coerce", utc=zoned)
        day_first = pd.to_datetime(column, errors="coerce", dayfirst=True, utc=zoned)
    readings = {"": iso, "month": month_first, "day": day_first}
    marks = {order: _faults(read) for order, read in readings.items()}
    best = min(marks, key=lambda order: marks[order])
    if marks["month"][:2] == marks["day"][:2] == marks[best][:2] and best and not month_first.equals(day_first):
        low, high = sorted((marks["month"][2], marks["day"][2]))
        if high < 2 * low:
            repairs.append(f"dates such as {str(column.dropna().iloc[0])!r} read {best} first, which they do not tell")
    return readings[best]


def _faults(read: pd.Series[Any]) -> tuple[int, int, float]:
    """How many entries are unread, how many out of order, and the widest step in shortest steps (1 for months)."""
    steps = read.dropna().diff().dropna().dt.total_seconds().to_numpy()
    forward = steps[steps > 0]
    uneven = float(forward.max() / forward.min()) if forward.size else 1.0
    if (read.dropna().dt.day == 1).all() and forward.size and forward.min() >= 28 * 86400:
        uneven = 1.0
    return int(read.isna().sum()), int((steps < 0).sum()), uneven


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
