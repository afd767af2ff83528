"""Records that the steps of the parser hand to one another."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Rows:
    """Names, values and times of any input, before its rows are put on regular steps.

    Attributes
    ----------
    names
        the variable of each column of `values`
    values
        [rows, columns] readings, NaN where one is missing: of all rows, or of the last ones when only those were
        asked for
    total
        the number of rows of the input
    stamps
        [total] nanoseconds since 1970, in UTC with a zone, else as the clock showed them; or step numbers; None when
        the rows are only in order
    counted
        whether `stamps` are step numbers
    zone
        the name of the zone of the times, None without
    assumed
        whether the times were written without their zone
    """

    names: Sequence[str]
    values: NDArray[Any]
    total: int
    stamps: NDArray[np.int64] | None = None
    counted: bool = False
    zone: str | None = None
    assumed: bool = False


class Readings:
    """Named readings over time that need no parsing; `Series` derives from it.

    Attributes
    ----------
    values
        [t, n] readings, NaN where one is missing
    variables
        the n names
    times
        [t] moments in increasing order, or None when steps are only counted
    zone
        the name of the zone of the times, which are in UTC then; None for times without a zone
    """

    values: NDArray[np.float32]
    variables: tuple[str, ...]
    times: NDArray[np.datetime64] | None
    zone: str | None


def holds_truth(values: object) -> bool:
    """Return whether True or False is among the entries of an array or of nested lists; neither is a reading.

    >>> holds_truth([[1.5, 0], [2, True]]), holds_truth(np.zeros(3)), holds_truth(np.array([1, False], dtype=object))
    (True, False, True)
    """
    if isinstance(values, np.ndarray):
        return values.dtype.kind == "b" or (values.dtype.kind == "O" and any(map(holds_truth, values.flat)))
    if isinstance(values, list | tuple):
        return any(map(holds_truth, values))
    return isinstance(values, bool | np.bool_)


def is_frame(table: object) -> bool:
    """Return whether a table is a pandas DataFrame or Series, or a polars frame, without loading either library."""
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    return (pandas is not None and isinstance(table, pandas.DataFrame | pandas.Series)) or (
        polars is not None and isinstance(table, polars.DataFrame | polars.LazyFrame)
    )
