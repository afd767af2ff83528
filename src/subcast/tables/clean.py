"""Read training data: from rows to a clean table on a regular time axis."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.errors import DataError, DataWarning
from subcast.names import listed, plural, refuse_repeated_names
from subcast.tables.convention import NumberFormat
from subcast.tables.frames import Columns, frame_rows
from subcast.tables.grid import to_grid
from subcast.tables.policy import Repair
from subcast.tables.rows import Rows
from subcast.tables.zones import checked_zone


@dataclass(frozen=True)
class Table:
    """Readings on a regular grid, as every reader of training data returns them, and what was repaired."""

    values: NDArray[np.float32]  # [t, n], NaN where a reading is missing
    variables: tuple[str, ...]
    times: NDArray[np.datetime64] | None  # [t]
    freq: str | None
    repairs: tuple[str, ...] = ()
    zone: str | None = None
    graph: NDArray[np.float32] | None = None  # [n, n]
    positions: NDArray[np.float32] | None = None  # [n, 2]
    time_features: tuple[str, ...] = ()
    unit: str = ""
    missing_code: float | None = None


def frame_to_table(
    frame: Any,
    *,
    time: str | None = None,
    id: str | None = None,
    value: str | None = None,
    freq: str | None = None,
    numbers: NumberFormat | None = None,
    zone: str | None = None,
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
    numbers
        how numbers are written as text, found from all of them by default
    zone
        the zone that the times are kept in; those that are written without a zone are read in it
    repairs
        what was repaired before
    source
        what to call the frame in messages
    """
    policy = Repair(source, repairs, checked_zone(zone))
    rows = frame_rows(frame, policy, Columns(time, id, value, numbers=numbers or NumberFormat()))
    if freq is not None and rows.stamps is None:
        raise DataError(f"freq={freq!r} was given, but {source} has no times: name their column with time=")
    if freq is not None and rows.counted:
        raise DataError(f"freq={freq!r} was given, but {source} only has step numbers, no times: leave freq out")
    return rows_to_table(rows, policy, freq)


def rows_to_table(rows: Rows, policy: Repair, freq: str | None = None) -> Table:
    """Turn the rows of training data into a clean table, with one warning that lists all repairs.

    Infinities become missing readings. Constant variables, and variables without a reading, are kept, since a model
    may have been trained with them, and noted.

    Parameters
    ----------
    rows
        names, values (not modified) and times
    policy
        holds the notes of what was repaired before
    freq
        the rate, found from the times by default
    """
    refuse_repeated_names(rows.names, policy.source)
    if 0 in rows.values.shape:
        steps, n = rows.values.shape
        raise DataError(f"{policy.source} has {steps} rows of {n} variables: there is nothing to read")
    values = policy.infinite_readings(rows.values, rows.names)
    times, rate, zone = None, None, None
    if rows.stamps is not None:
        zone = None if rows.zone is None else policy.zone or rows.zone
        grid = to_grid(rows.stamps, values, freq, stamps=not rows.counted, source=policy.source, zone=zone)
        values, rate = grid.values, grid.freq
        policy.notes.extend(grid.repairs)
        if not rows.counted:
            times = grid.times.view("datetime64[ns]")
    policy.notes.extend(_remarks(values, rows.names))
    if policy.notes:
        warnings.warn(f"{policy.source}: {'; '.join(policy.notes)}", DataWarning, stacklevel=3)
    return Table(values, tuple(rows.names), times, rate, tuple(policy.notes), zone)


def _remarks(values: NDArray[np.float32], variables: Sequence[str]) -> list[str]:
    """Return notes about variables without a reading, and about constant ones."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # all-NaN columns
        lowest, highest = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    empty = [name for name, reading in zip(variables, lowest, strict=True) if np.isnan(reading)]
    several = (~np.isnan(values)).sum(axis=0) > 1
    constant = [name for name, same in zip(variables, (lowest == highest) & several, strict=True) if same]
    remarks = []
    if empty:
        remarks.append(f"{plural(len(empty), 'variable', 'has')} no reading ({listed(empty)}): kept as missing")
    if constant:
        remarks.append(f"{plural(len(constant), 'variable', 'is')} constant ({listed(constant)}): kept")
    return remarks
