"""A clean table: named variables, one regular time axis, float32 readings, NaN where one is missing."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.errors import DataError, DataWarning
from subcast.names import listed, plural, refuse_repeated_names
from subcast.tables.grid import to_grid

_HIDDEN = 0.05
"""Rounding to float32 hides a variable's steps when it exceeds this share of the median step."""


@dataclass(frozen=True)
class Table:
    """What every reader gives: readings on a regular grid, and what was repaired to get there."""

    values: NDArray[np.float32]  # [t, n]
    variables: tuple[str, ...]
    times: NDArray[np.datetime64] | None  # [t]
    freq: str | None
    repairs: tuple[str, ...] = ()
    graph: NDArray[np.float32] | None = None  # [n, n]
    positions: NDArray[np.float32] | None = None  # [n, 2]
    time_features: tuple[str, ...] = ()
    unit: str = ""
    missing_code: float | None = None


def clean_table(
    values: NDArray[np.float32],
    variables: Sequence[str],
    times: NDArray[np.int64] | None,
    *,
    freq: str | None = None,
    stamps: bool = True,
    repairs: Sequence[str] = (),
    source: str = "the table",
) -> Table:
    """Repair what can be repaired, with one warning that says what was done; refuse the rest.

    Infinities become missing readings. Constant variables, and variables without a single reading, stay
    (a model may have been trained with them) and are pointed out.

    Parameters
    ----------
    values
        [t, n] readings, NaN where missing; not modified
    variables
        their names
    times
        [t] nanoseconds since 1970, or step numbers when `stamps` is false, or None
    freq
        the rate, found from the times by default
    stamps
        whether `times` are moments
    repairs
        what was repaired already
    source
        what to call the table in messages
    """
    refuse_repeated_names(variables, source)
    if values.shape[0] == 0 or values.shape[1] == 0:
        raise DataError(f"{source} has {values.shape[0]} rows of {values.shape[1]} variables: there is nothing to read")
    done = list(repairs)
    values = _without_infinities(values, done)
    stamps_kept = None
    rate = None
    if times is not None:
        grid = to_grid(times, values, freq, stamps=stamps, source=source)
        values, rate = grid.values, grid.freq
        done.extend(grid.repairs)
        if stamps:
            stamps_kept = grid.times.view("datetime64[ns]")
    done.extend(_remarks(values, variables))
    if done:
        warnings.warn(f"{source}: {'; '.join(done)}", DataWarning, stacklevel=3)
    return Table(values, tuple(variables), stamps_kept, rate, tuple(done))


def lost_digits(given: NDArray[Any], kept: NDArray[np.float32], variables: Sequence[str]) -> list[str]:
    """Point out variables whose steps are hidden by float32's seven digits, such as meters that count up.

    >>> meter = 1e9 + np.arange(5.0)[:, None]
    >>> lost_digits(meter, meter.astype(np.float32), ["kwh"])
    ["1 variable has steps too small for float32's seven digits ('kwh'): subtract a constant, or take differences"]
    """
    if given.dtype.kind not in "fiu" or given.dtype == np.float32 or len(given) < 2:
        return []
    hidden = []
    for place, name in enumerate(variables):
        exact = given[:, place].astype(np.float64)
        with np.errstate(invalid="ignore"):  # infinities
            rounding = np.abs(kept[:, place] - exact)
            steps = np.abs(np.diff(exact))
        steps = steps[np.isfinite(steps) & (steps > 0)]
        rounding = rounding[np.isfinite(rounding)]
        if steps.size and rounding.size and rounding.max() > _HIDDEN * np.median(steps):
            hidden.append(name)
    if not hidden:
        return []
    return [
        f"{plural(len(hidden), 'variable', 'has')} steps too small for float32's seven digits ({listed(hidden)}): "
        "subtract a constant, or take differences"
    ]


def _without_infinities(values: NDArray[np.float32], done: list[str]) -> NDArray[np.float32]:
    infinite = np.isinf(values)
    count = int(infinite.sum())
    if not count:
        return values
    done.append(f"{plural(count, 'reading', 'was')} infinite: now missing")
    return np.where(infinite, np.float32(np.nan), values)


def _remarks(values: NDArray[np.float32], variables: Sequence[str]) -> list[str]:
    """What is not repaired but worth knowing: variables without a reading, and constant ones."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # all-NaN columns
        low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    empty = [name for name, value in zip(variables, low, strict=True) if np.isnan(value)]
    several = (~np.isnan(values)).sum(axis=0) > 1
    constant = [name for name, same in zip(variables, (low == high) & several, strict=True) if same]
    remarks = []
    if empty:
        remarks.append(f"{plural(len(empty), 'variable', 'has')} no reading at all ({listed(empty)}): kept as missing")
    if constant:
        verb = "says" if len(constant) == 1 else "say"
        remarks.append(
            f"{plural(len(constant), 'variable', 'is')} constant ({listed(constant)}): kept, but {verb} nothing"
        )
    return remarks
