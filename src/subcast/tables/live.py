"""Read the readings that arrived last, in the shape that a trained forecaster takes.

The policy is `Strict`: what could mean two things is refused in one sentence, and only missing readings are filled in:

============================== =============================================================================
input                          result
============================== =============================================================================
a variable without a column    absent, the same as a column of NaN
a step without a row           a row of NaN, where the rate is known or the steps are numbered
more steps than the lookback   the last ones are used
columns in another order       put in order by name
times with a zone              the same moments on the clock of the training (see `steps`)
times a little late            moved to the nearest step, up to a tenth of a step, noted
times between the steps        refused, with the first such row
an hour that comes twice       two hours, on a date on which clocks are set back, noted
rows of a long frame           in any order, since each has its time
numbers written as text        read as numbers in one convention, empty text as missing
an unknown column              refused, with the nearest known name
times that go back or repeat   refused, with the first such row
another rate                   refused, with both rates
text, true, infinity           refused, with the variable
============================== =============================================================================
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subcast.axes import check_axes, check_whole
from subcast.calendar import time_features_of
from subcast.errors import InputError
from subcast.names import listed, plural, refuse_repeated_names, refuse_unknown_names
from subcast.tables.arrays import array_rows
from subcast.tables.lookback import LastSteps, last_steps
from subcast.tables.policy import Strict
from subcast.tables.rows import Readings, Rows, holds_truth, is_frame
from subcast.tables.steps import REPEATED_HOUR, Steps, UserClock
from subcast.tables.zones import wall_clock, zone_name

if TYPE_CHECKING:
    from subcast.tables.convention import NumberFormat

_SOURCE = "recent"
_MANY = 1 << 62  # more rows than any table has
_ACCEPTED = "a pandas or polars DataFrame (wide or long), a Series, or an array [t, n]"
_PLAIN_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


@dataclass(frozen=True, eq=False)
class Recent:
    """The last readings of all the variables that a forecaster was trained on.

    Attributes
    ----------
    values
        [t, n] readings in the trained order, NaN where one is missing
    times
        [t] on the clock of the training (in UTC if it has a zone), or None when steps are only counted
    features
        [t, f - 1] time features, or None without
    notes
        what was changed or assumed in reading, a sentence each
    clock
        how the user writes times
    moved
        [t] by how many nanoseconds the row of each step was moved to it
    """

    values: NDArray[np.float32]
    times: NDArray[np.datetime64] | None
    features: NDArray[np.float32] | None
    notes: tuple[str, ...] = ()
    clock: UserClock = field(default_factory=UserClock)
    moved: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


def read_recent(
    recent: Any,
    *,
    variables: tuple[str, ...],
    lookback: int | None,
    time_features: tuple[str, ...] = (),
    steps: Steps | None = None,
    names: Sequence[str] | None = None,
    times: Any = None,
    numbers: NumberFormat | None = None,
) -> Recent:
    """Read the readings that arrived last, in the shape that a trained forecaster takes.

    Parameters
    ----------
    recent
        a pandas or polars frame, wide (a column for each variable, the times in the index or in a column) or long
        (`unique_id`, `ds`, `y`); a `Series`; or an array [t, n] in the trained order, or [t, s] with `names`
    variables
        the n variables of the training, in their order
    lookback
        how many steps are needed; the last ones of a longer input are used; None for all of them
    time_features
        those of the training, computed from the times
    steps
        those of the training: rate, zone and phase; without a rate, rows are taken as consecutive steps
    names
        the variables of an array's columns
    times
        [t] moments of an array's rows
    numbers
        how numbers are written as text, found from all of them by default

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"c": [5.0, 6.0], "a": [1.0, 2.0]}, index=pd.date_range("2024-01-01", periods=2, freq="h"))
    >>> read_recent(frame, variables=("a", "b", "c"), lookback=2, steps=Steps("1h")).values
    array([[ 1., nan,  5.],
           [ 2., nan,  6.]], dtype=float32)
    >>> read_recent(frame, variables=("a", "b", "c"), lookback=12)
    Traceback (most recent call last):
        ...
    subcast.errors.InputError: recent has 2 steps, and the forecaster looks back over 12: give at least the last 12, with NaN where a reading is missing
    """  # noqa: E501
    most = _MANY if lookback is None else check_whole("lookback", lookback)
    positions = _positions_of(variables)
    rule = Steps() if steps is None else steps
    policy = Strict(_SOURCE, zone=rule.zone)
    rows = _live_frame_rows(recent, most, policy)
    if rows is None:
        rows = _rows_of(recent, positions, most, names, times, policy, numbers)
    elif names is not None or times is not None:
        _refuse_names_and_times()
    columns = _columns_of(rows.names, positions)
    last = last_steps(rows, lookback, rule, _SOURCE)
    if lookback is None:
        lookback = 1 - int(last.offsets[0]) if last.offsets.size else 0
    values, moved = np.full((lookback, len(variables)), np.nan, dtype=np.float32), np.zeros(lookback, dtype=np.int64)
    inside = last.offsets > -lookback
    at = last.offsets[inside] + lookback - 1
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and is refused as such
        values[at[:, None], columns] = rows.values[inside]
    moved[at] = last.moved[inside]
    policy.infinite_readings(values, variables)
    if most != _MANY and np.isnan(values).all():  # steps of a stream may all be missing
        raise InputError(
            f"recent has no reading of any of the {plural(len(variables), 'variable')} in its last "
            f"{plural(lookback, 'step')}: at least one reading is needed"
        )
    features = _features_of(last.times, time_features, rule.zone)
    return Recent(values, last.times, features, _notes(policy, rows, last, rule), last.clock, moved)


def _notes(policy: Strict, rows: Rows, last: LastSteps, rule: Steps) -> tuple[str, ...]:
    twice = rows.assumed and rule.zone is None
    notes = (*policy.notes, last.clock.note, REPEATED_HOUR if twice else "", rule.moved_note(last.moved))
    return tuple(note for note in notes if note)


@lru_cache(maxsize=16)
def _positions_of(variables: tuple[str, ...]) -> Mapping[str, int]:
    return MappingProxyType({name: position for position, name in enumerate(variables)})


def _columns_of(names: Sequence[str], positions: Mapping[str, int]) -> NDArray[np.int64]:
    """Return the position of each variable in the trained order."""
    refuse_unknown_names(names, positions, _SOURCE)
    return np.array([positions[name] for name in names], dtype=np.int64)


def _live_frame_rows(recent: Any, lookback: int, policy: Strict) -> Rows | None:
    """Return the rows of a wide pandas frame of floats indexed by moments, the usual live case; None for any other."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(recent, pandas.DataFrame) or not isinstance(recent.index, pandas.DatetimeIndex):
        return None
    names: list[Any] = recent.columns.tolist()
    distinct = set(names)
    if len(distinct) != len(names) or "unique_id" in distinct or {*map(type, names)} != {str}:
        return None
    values = recent.iloc[-lookback:].to_numpy()
    if values.dtype not in _PLAIN_FLOATS or recent.index.name == "unique_id":
        return None
    try:
        stamps = recent.index.as_unit("ns").asi8  # in UTC, whatever the zone
    except ValueError:  # beyond what nanoseconds hold
        return None
    unreadable = np.isnat(stamps.view("datetime64[ns]"))
    if unreadable.any():
        row = int(np.argmax(unreadable))
        policy.unreadable_times(row, recent.index[row], int(unreadable.sum()), unreadable.size)
    zone = zone_name(recent.index.tz)
    if recent.index.tz is not None:
        return None if zone is None else Rows(names, values, len(recent), stamps, zone=zone)
    return _clock_rows(Rows(names, values, len(recent), stamps), policy)


def _clock_rows(rows: Rows, policy: Strict) -> Rows:
    """Return rows with times of a clock as moments, if the zone is known or an hour comes twice."""
    stamps = rows.stamps
    if stamps is None or (policy.zone is None and not (stamps[1:] <= stamps[:-1]).any()):
        return rows
    from subcast.tables.dates import clock_times

    read = clock_times(stamps, np.ones(stamps.shape, dtype=bool), policy)
    return replace(rows, stamps=read.stamps, zone=read.zone, assumed=read.assumed)


def _rows_of(
    recent: Any,
    positions: Mapping[str, int],
    lookback: int,
    names: Any,
    times: Any,
    policy: Strict,
    numbers: NumberFormat | None,
) -> Rows:
    """Return the rows of any input."""
    if not is_frame(recent) and not isinstance(recent, Readings):
        values = _array_of(recent)
        return array_rows(values, _array_names(values, positions, names), times, policy, lookback, numbers)
    if names is not None or times is not None:
        _refuse_names_and_times()
    if isinstance(recent, Readings):
        stamps = None if recent.times is None else recent.times.view(np.int64)
        rows = Rows(recent.variables, recent.values[-lookback:], len(recent.values), stamps, zone=recent.zone)
        return rows if recent.zone is not None else _clock_rows(rows, policy)
    from subcast.tables.convention import NumberFormat
    from subcast.tables.frames import Columns, frame_rows

    return frame_rows(recent, policy, Columns(variables=positions, numbers=numbers or NumberFormat()), lookback)


def _array_of(recent: Any) -> NDArray[Any]:
    if not isinstance(recent, list | tuple) and not hasattr(recent, "__array__"):
        hint = ": read the file with Series.read first" if isinstance(recent, str) else ""
        raise InputError(f"recent must be {_ACCEPTED}, got {type(recent).__name__}{hint}")
    if holds_truth(recent):
        raise InputError("recent must hold numbers, got True or False, which are not readings: write NaN, 0 or 1")
    try:
        values = np.asarray(recent)
    except ValueError:
        raise InputError("recent as a list must have rows of equal length: give an array [t, n]") from None
    check_axes("recent", values, "tn")
    return values


def _array_names(values: NDArray[Any], positions: Mapping[str, int], names: Any) -> list[str]:
    """Return the variables of an array's columns: those of the training by default."""
    n = values.shape[1]
    if names is None:
        if n != len(positions):
            raise InputError(
                f"recent as an array without names must have {plural(len(positions), 'variable')} in the trained "
                f"order, got {n} (shape {values.shape}): name its columns with names="
            )
        return list(positions)
    columns = [names] if isinstance(names, str) else [str(name) for name in names]
    if len(columns) != n:
        raise InputError(f"names must name each of the {n} columns of recent, got {len(columns)}")
    refuse_repeated_names(columns, "names")
    return columns


def _features_of(
    times: NDArray[np.datetime64] | None, time_features: tuple[str, ...], zone: str | None
) -> NDArray[np.float32] | None:
    if not time_features:
        return None
    if times is None:
        raise InputError(
            f"recent must have times, since the forecaster was trained with {listed(time_features)}: give a frame "
            "with a time column or a DatetimeIndex, or times= beside an array"
        )
    return time_features_of(wall_clock(times, zone), time_features)


def _refuse_names_and_times() -> None:
    raise InputError("names and times are for arrays: a frame or a Series has its own")
