"""From an array of readings, its names and its times to rows; pandas is loaded only for times and for text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.errors import InputError
from subcast.tables.policy import Policy
from subcast.tables.rows import Rows


def array_rows(values: NDArray[Any], names: Sequence[str], times: Any, policy: Policy, last: int | None = None) -> Rows:
    """Turn an array into rows.

    Parameters
    ----------
    values
        [t, n] numbers, or numbers written as text
    names
        the n variables
    times
        [t] moments in any form, or None
    policy
        what to do about problems
    last
        how many of the last rows to read; all by default
    """
    numbers = _numbers(values if last is None else values[-last:], names, policy)
    if times is None:
        return Rows(names, numbers, len(values))
    stamps, readable = _stamps(times, len(values), policy)
    if not readable.all():
        stamps, numbers = stamps[readable], numbers[readable[-len(numbers) :]]
    return Rows(names, numbers, len(stamps), stamps)


def _numbers(values: NDArray[Any], names: Sequence[str], policy: Policy) -> NDArray[Any]:
    if values.dtype.kind in "fiub":
        return values
    import pandas as pd

    from subcast.tables.numbers import frame_numbers

    return frame_numbers(pd.DataFrame(values, columns=list(names)), policy)


def _stamps(times: Any, rows: int, policy: Policy) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    import pandas as pd

    from subcast.tables.dates import readable_stamps

    column = pd.Series(times)
    if len(column) != rows:
        raise InputError(f"times must have one entry for each of the {rows} rows of {policy.source}, got {len(column)}")
    return readable_stamps(column, policy)
