"""From an array of readings, its names and its times to rows; pandas is loaded only for times and for text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from subcast.errors import InputError
from subcast.tables.policy import Policy
from subcast.tables.rows import Rows

if TYPE_CHECKING:
    from subcast.tables.convention import NumberFormat
    from subcast.tables.dates import ReadTimes


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
    read = read_times(times, len(values), policy)
    stamps = read.stamps[read.readable]
    if len(stamps) < len(values):
        readings = readings[read.readable[len(values) - len(readings) :]]
    return Rows(names, readings, len(stamps), stamps, zone=read.zone, assumed=read.assumed)


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


def read_times(times: Any, rows: int, policy: Policy) -> ReadTimes:
    """Return the times [t] of the rows of an array, given in any form."""
    import pandas as pd

    from subcast.tables.dates import readable_stamps

    try:
        column = pd.Series(times)
    except (TypeError, ValueError):
        raise InputError(f"times must be moments such as '2024-01-31 12:00', got {times!r}") from None
    if len(column) != rows:
        raise InputError(f"times must have one entry for each of the {rows} rows of {policy.source}, got {len(column)}")
    return readable_stamps(column, policy)
