"""Read numbers: from columns of any type to float32, with text reported to a policy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from subcast.tables.policy import Policy, TextCells


def frame_numbers(frame: pd.DataFrame, policy: Policy) -> NDArray[np.float32]:
    """Return all columns as float32 [rows, columns], a copy; text among the numbers is reported to the policy."""
    if all(isinstance(kind, np.dtype) and kind.kind in "fiub" for kind in frame.dtypes):
        given = frame.to_numpy()
        with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and is treated as such
            values = np.array(given, dtype=np.float32)
        policy.rounding(given, values, list(frame.columns))
        return values
    values = np.empty(frame.shape, dtype=np.float32)
    text_columns = []
    for position, name in enumerate(frame.columns):
        values[:, position], text = _column_numbers(frame[name], policy)
        if text is not None:
            text_columns.append(text)
    if text_columns:
        policy.text_cells(text_columns)
    return values


def _column_numbers(column: pd.Series[Any], policy: Policy) -> tuple[NDArray[np.float32], TextCells | None]:
    """Return the numbers of a column, NaN where there is none, and the cells that hold text, if any does."""
    if column.dtype.kind in "fiub":
        return _as_float32(column), None
    if column.dtype.kind in "mMc" or isinstance(column.dtype, pd.PeriodDtype | pd.IntervalDtype):
        raise policy.error(f"column {column.name!r} of {policy.source} holds {column.dtype}, not readings: drop it")
    entries = column.astype(object)
    try:
        numbers = pd.to_numeric(entries, errors="coerce")
    except TypeError:  # lists and the like, in older pandas
        numbers = pd.Series(np.nan, index=entries.index)
    filled = entries.notna() & (entries.astype(str).str.strip() != "")
    text = (filled & numbers.isna()).to_numpy(dtype=bool)
    if not text.any():
        return _as_float32(numbers), None
    first = str(entries.iloc[int(np.argmax(text))])
    return _as_float32(numbers), TextCells(str(column.name), first, int(text.sum()), int(filled.sum()))


def _as_float32(numbers: pd.Series[Any]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return numbers.to_numpy(dtype=np.float32, na_value=np.nan)
