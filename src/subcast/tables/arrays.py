"""From an array of readings, its names and its times to rows; pandas is loaded only for times and for text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subcast.errors import InputError
from subcast.tables.policy import Policy
from subcast.tables.rows import Rows

if TYPE_CHECKING:
    from subcast.tables.convention import NumberFormat


def array_rows(
    values: NDArray[Any],
    names: Sequence[str],
    times: Any,
    policy: Policy,
    last: int | None = None,
    numbers: NumberFormat | None = None,
) -> Rows:
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
    numbers
        how numbers are written as text
    """
    readings = _readings(values, names, policy, last, numbers)
    if times is None:
        return Rows(names, readings, len(values))
    stamps, readable = _stamps(times, len(values), policy)
    if not readable.all():
        stamps, readings = stamps[readable], readings[readable[-len(readings) :]]
    return Rows(names, readings, len(stamps), stamps)


def _readings(
    values: NDArray[Any], names: Sequence[str], policy: Policy, last: int | None, numbers: NumberFormat | None
) -> NDArray[Any]:
    """Return the last rows as numbers; text is read in one convention of all rows."""
    recent = values if last is None else values[-last:]
    if values.dtype.kind in "fiu":
        return recent
    import pandas as pd

    from subcast.tables.convention import NumberFormat
    from subcast.tables.numbers import frame_convention, frame_numbers

    numbers = numbers or NumberFormat()
    convention = frame_convention(pd.DataFrame(values, columns=list(names)), policy, numbers)
    return frame_numbers(pd.DataFrame(recent, columns=list(names)), policy, convention, told=numbers.given)


def _stamps(times: Any, rows: int, policy: Policy) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    import pandas as pd

    from subcast.tables.dates import readable_stamps

    column = pd.Series(times)
    if len(column) != rows:
        raise InputError(f"times must have one entry for each of the {rows} rows of {policy.source}, got {len(column)}")
    return readable_stamps(column, policy)
