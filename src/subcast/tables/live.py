"""What arrived lately, in the shape a trained forecaster takes.

Training data are repaired where they can be (`Series.from_frame`); here nobody looks on, so whatever could mean two
things is refused with a sentence, and nothing is repaired but holes:

============================== =============================================================================
what came                      what is done
============================== =============================================================================
a variable without a column    the same as a column of NaN: absent
a step without a row           a row of NaN, where the rate is known or the steps are numbered
more steps than the lookback   the last ones count
columns in another order       put in order by name
times with a zone              turned into UTC, as in training
a clock a little late          moved to the nearest step, up to a tenth of one
rows of a long frame           in any order, since each says its time
numbers written as text        read as numbers, empty text as missing
a column nobody knows          refused, with the nearest known name
times that go back or repeat   refused, with the first such row
another rate                   refused, with both
text, infinity                 refused, with the variable
============================== =============================================================================
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from subcast.axes import check_axes, check_whole
from subcast.calendar import time_features_of
from subcast.errors import InputError
from subcast.names import listed, plural, refuse_repeated_names
from subcast.series import Series

if TYPE_CHECKING:
    import pandas as pd

_ACCEPTED = "a pandas or polars DataFrame (wide or long), a Series, or an array [t, n]"
_PLAIN_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_HALF_DAY = 43_200 * 10**9
_LARGEST_STEP_NUMBER = 1e7
"""Whole numbers below this, where a long frame has its times, number the steps."""


@dataclass(frozen=True, eq=False)
class Recent:
    """The last readings of all the variables a forecaster was trained on.

    Attributes
    ----------
    values
        [t, n] readings in the trained order, NaN where one is missing
    times
        [t] moments, or None when steps are only counted
    features
        [t, f - 1] time features, or None without
    """

    values: NDArray[np.float32]
    times: NDArray[np.datetime64] | None
    features: NDArray[np.float32] | None


@dataclass(frozen=True)
class _Rows:
    """What any kind of input comes to before its rows are put on steps."""

    values: NDArray[Any]  # [rows, columns] readings of the last rows, at most as many as the lookback
    names: Sequence[str]  # of the columns
    total: int  # rows that came
    stamps: NDArray[np.int64] | None = None  # [total] nanoseconds since 1970, or step numbers
    counted: bool = False  # whether `stamps` are step numbers


def read_recent(
    recent: Any,
    *,
    variables: tuple[str, ...],
    lookback: int,
    time_features: tuple[str, ...] = (),
    freq: str | None = None,
    names: Sequence[str] | None = None,
    times: Any = None,
) -> Recent:
    """Bring the readings that arrived into the shape a trained forecaster takes.

    Parameters
    ----------
    recent
        a pandas or polars frame, wide (a column for each variable, the times in the index or in a column) or long
        (`unique_id`, `ds`, `y`); a `Series`; or an array [t, n] in the trained order, or [t, s] with `names`
    variables
        the n variables of the training, in their order
    lookback
        how many steps are needed; of a longer input the last ones count
    time_features
        those of the training, computed from the times
    freq
        the rate of the training as pandas writes it; without one, rows are taken as they come
    names
        the variables of an array's columns
    times
        [t] moments of an array's rows

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"c": [5.0, 6.0], "a": [1.0, 2.0]}, index=pd.date_range("2024-01-01", periods=2, freq="h"))
    >>> read_recent(frame, variables=("a", "b", "c"), lookback=2, freq="1h").values
    array([[ 1., nan,  5.],
           [ 2., nan,  6.]], dtype=float32)
    >>> read_recent(frame, variables=("a", "b", "c"), lookback=12)
    Traceback (most recent call last):
        ...
    subcast.errors.InputError: recent has 2 steps, and the forecaster looks back over 12: give at least the last 12, with NaN where a reading is missing
    """  # noqa: E501
    lookback = check_whole("lookback", lookback)
    places = _places_of(variables)
    rows = _quick_rows(recent, lookback)
    if rows is None:
        rows = _rows_of(recent, places, lookback, names, times)
    elif names is not None or times is not None:
        _refuse_extras()
    _refuse_unknown([name for name in rows.names if name not in places], places)
    cells, moments = _steps_of(rows, lookback, freq)
    values = np.full((lookback, len(variables)), np.nan, dtype=np.float32)
    inside = cells > -lookback
    columns = np.array([places[name] for name in rows.names], dtype=np.int64)
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and is refused as such
        values[(cells[inside] + lookback - 1)[:, None], columns] = rows.values[inside]
    _check_readings(values, variables)
    return Recent(values, moments, _features_of(moments, time_features))


@lru_cache(maxsize=16)
def _places_of(variables: tuple[str, ...]) -> Mapping[str, int]:
    return MappingProxyType({name: place for place, name in enumerate(variables)})


# What came: from each kind of input to rows


def _quick_rows(recent: Any, lookback: int) -> _Rows | None:
    """The rows of a wide pandas frame of plain floats indexed by moments, the live case; None for any other."""
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
    except ValueError:  # beyond what nanoseconds reach
        return None
    _check_read(stamps, recent.index)
    return _Rows(values, names, len(recent), stamps)


def _rows_of(recent: Any, places: Mapping[str, int], lookback: int, names: Any, times: Any) -> _Rows:
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    tabular = isinstance(recent, Series)
    if pandas is not None:
        tabular = tabular or isinstance(recent, pandas.DataFrame | pandas.Series)
    if polars is not None:
        tabular = tabular or isinstance(recent, polars.DataFrame)
        if isinstance(recent, polars.LazyFrame):
            raise InputError("recent is a polars LazyFrame: give an eager DataFrame (call .collect())")
    if not tabular:
        return _array_rows(recent, places, lookback, names, times)
    if names is not None or times is not None:
        _refuse_extras()
    if isinstance(recent, Series):
        stamps = None if recent.times is None else recent.times.view(np.int64)
        return _Rows(recent.values[-lookback:], recent.variables, len(recent), stamps)
    return _frame_rows(recent, places, lookback)


def _array_rows(recent: Any, places: Mapping[str, int], lookback: int, names: Any, times: Any) -> _Rows:
    if not isinstance(recent, list | tuple) and not hasattr(recent, "__array__"):
        hint = ": read the file with Series.read first" if isinstance(recent, str) else ""
        raise InputError(f"recent must be {_ACCEPTED}, got {type(recent).__name__}{hint}")
    try:
        values = np.asarray(recent)
    except ValueError:
        raise InputError("recent as a list must have rows of equal length: give an array [t, n]") from None
    check_axes("recent", values, "tn")
    if names is None:
        if values.shape[1] != len(places):
            raise InputError(
                f"recent as an array without names must have {plural(len(places), 'variable')} in the trained order, "
                f"got {values.shape[1]} (shape {values.shape}): name its columns with names="
            )
        columns = list(places)
    else:
        columns = [names] if isinstance(names, str) else [str(name) for name in names]
        if len(columns) != values.shape[1]:
            raise InputError(f"names must name each of the {values.shape[1]} columns of recent, got {len(columns)}")
        refuse_repeated_names(columns, "names")
    stamps = None if times is None else _stamps_of(times, len(values))
    part = values[-lookback:]
    if part.dtype.kind not in "fiub":
        import pandas as pd

        numbers = [_numbers(pd.Series(part[:, place]), name) for place, name in enumerate(columns)]
        part = np.stack(numbers, axis=1) if numbers else np.zeros(part.shape)
    return _Rows(part, columns, len(values), stamps)


def _frame_rows(recent: Any, places: Mapping[str, int], lookback: int) -> _Rows:
    """The rows of any frame, wide or long."""
    from subcast.tables.frames import LONG_NAMES

    frame = _flat(recent)
    if set(LONG_NAMES) <= {*frame.columns, str(frame.index.name)}:
        return _long_rows(frame, places, lookback)
    others = [name for name in frame.columns if name not in places]
    column, used = _time_column(frame, others)
    stamps, counted = None, False
    if column is not None:
        stamps = _stamps_of(column, len(frame))
    else:
        stamps, used = _step_numbers(frame, others)
        counted = stamps is not None
    _refuse_unknown([name for name in others if name not in used], places)
    known = [name for name in frame.columns if name in places]
    part = frame[known].iloc[-lookback:]
    if all(dtype in _PLAIN_FLOATS for dtype in part.dtypes):
        return _Rows(part.to_numpy(), known, len(frame), stamps, counted)
    values = np.full(part.shape, np.nan)
    for place, name in enumerate(known):
        values[:, place] = _numbers(part[name], name)
    return _Rows(values, known, len(frame), stamps, counted)


def _flat(recent: Any) -> pd.DataFrame:
    """A pandas frame whose columns are text, without levels."""
    import pandas as pd

    if isinstance(recent, pd.Series):
        recent = recent.to_frame()
    elif not isinstance(recent, pd.DataFrame):
        recent = pd.DataFrame({column.name: _polars_column(column) for column in recent.get_columns()})
    index = recent.index
    if isinstance(index, pd.MultiIndex) or index.name == "unique_id":
        if any(name is None for name in index.names):
            raise InputError(f"recent has an index of {index.nlevels} levels without names: name them (index.names)")
        refuse_repeated_names([str(name) for name in (*index.names, *recent.columns)], "recent")
        recent = recent.reset_index()
    names = [
        "/".join(str(part) for part in label if str(part)) if isinstance(label, tuple) else str(label)
        for label in recent.columns
    ]
    refuse_repeated_names(names, "recent")
    return recent.set_axis(names, axis=1)


def _polars_column(column: Any) -> Any:
    import pandas as pd

    values = column.to_numpy()
    zone = getattr(column.dtype, "time_zone", None)  # polars hands out UTC, without saying so
    return values if zone is None else pd.Series(values).dt.tz_localize("UTC")


def _time_column(frame: pd.DataFrame, others: list[str]) -> tuple[Any, Collection[str]]:
    """The times of a wide frame, and the columns they stand in; those are none of the variables."""
    import pandas as pd

    from subcast.tables.dates import is_time_name, looks_like_times

    index = frame.index
    of_moments = isinstance(index, pd.DatetimeIndex | pd.PeriodIndex | pd.TimedeltaIndex)
    if of_moments or looks_like_times(index.to_series()):
        return index.to_series(), ()
    called = {name.strip().lower(): name for name in others}
    if {"date", "time"} <= called.keys():
        date, clock = called["date"], called["time"]
        return frame[date].astype(str).str.strip() + " " + frame[clock].astype(str).str.strip(), (date, clock)
    for name in others:
        if pd.api.types.is_datetime64_any_dtype(frame[name].dtype) or is_time_name(name):
            return frame[name], (name,)
    if others and others[0] == frame.columns[0] and looks_like_times(frame[others[0]]):
        return frame[others[0]], others[:1]
    return None, ()


def _step_numbers(frame: pd.DataFrame, others: list[str]) -> tuple[NDArray[np.int64] | None, Collection[str]]:
    """The numbers of the steps where a frame has them: a named index of whole numbers, or a column `step`."""
    if "step" in others and frame["step"].dtype.kind in "iu":
        return frame["step"].to_numpy(dtype=np.int64), ("step",)
    index = frame.index
    if index.dtype.kind not in "iu":
        return None, ()
    shuffled = index.is_unique and not index.is_monotonic_increasing  # row numbers, and the rows are out of order
    return (index.to_numpy(dtype=np.int64), ()) if index.name is not None or shuffled else (None, ())


def _long_rows(frame: pd.DataFrame, places: Mapping[str, int], lookback: int) -> _Rows:
    """One row a time, one column a variable; the rows of a long frame may come in any order."""
    import pandas as pd

    if "ds" not in frame.columns:
        frame = frame.reset_index()
    ids = frame["unique_id"]
    if ids.isna().any():
        raise InputError(f"recent has no name in 'unique_id' in row {int(np.argmax(ids.isna()))}: name the variable")
    if ids.dtype.kind == "f" and (ids % 1 == 0).all():
        ids = ids.astype(np.int64)
    column, labels = pd.factorize(ids.astype(str))
    names = [str(label) for label in labels]
    _refuse_unknown([name for name in names if name not in places], places)
    when = frame["ds"]
    counted = when.dtype.kind in "iu" and bool((when.abs() < _LARGEST_STEP_NUMBER).all())
    stamps = when.to_numpy(dtype=np.int64) if counted else _stamps_of(when, len(frame))
    distinct, row = np.unique(stamps, return_inverse=True)
    _, first, count = np.unique(row * max(1, len(names)) + column, return_index=True, return_counts=True)
    if (count > 1).any():
        twice = int(first[np.argmax(count > 1)])
        raise InputError(
            f"recent has {names[column[twice]]!r} at {_when(stamps[twice], counted)} more than once: "
            "keep one row for each variable and time"
        )
    dropped = max(0, distinct.size - lookback)
    kept = row >= dropped
    values = np.full((distinct.size - dropped, len(names)), np.nan)
    values[row[kept] - dropped, column[kept]] = _numbers(frame["y"][kept], "y")
    return _Rows(values, names, distinct.size, distinct, counted)


# Readings and times


def _numbers(column: pd.Series[Any], name: str) -> NDArray[np.float64]:
    import pandas as pd

    if column.dtype.kind in "fiub":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    if column.dtype.kind in "mMc" or isinstance(column.dtype, pd.PeriodDtype | pd.IntervalDtype):
        raise InputError(f"column {name!r} of recent holds {column.dtype}, not readings: drop it")
    entries = column.astype(object)
    try:
        read = pd.to_numeric(entries, errors="coerce")
    except TypeError:  # lists and the like
        read = pd.Series(np.nan, index=entries.index)
    numbers = read.to_numpy(dtype=np.float64, na_value=np.nan)
    blank = (entries.isna() | (entries.astype(str).str.strip() == "")).to_numpy(dtype=bool)
    text = np.isnan(numbers) & ~blank
    if text.any():
        raise InputError(
            f"column {name!r} of recent holds text ({str(entries.iloc[int(np.argmax(text))])!r}), where readings "
            "should be: write NaN where a reading is missing"
        )
    return numbers


def _stamps_of(times: Any, rows: int) -> NDArray[np.int64]:
    import pandas as pd

    from subcast.tables.dates import to_stamps

    column = pd.Series(times)
    if len(column) != rows:
        raise InputError(f"times must have one entry for each of the {rows} rows of recent, got {len(column)}")
    remarks: list[str] = []
    stamps = to_stamps(column, remarks, "recent").view(np.int64)
    _check_read(stamps, column.to_numpy(dtype=object))
    unsure = [remark for remark in remarks if not remark.startswith("times with a zone")]
    if unsure:
        raise InputError(f"recent has {unsure[0]}: write them as 2024-01-31 13:05")
    return stamps


def _check_read(stamps: NDArray[np.int64], given: Any) -> None:
    unread = np.isnat(stamps.view("datetime64[ns]"))
    if unread.any():
        row = int(np.argmax(unread))
        raise InputError(
            f"recent has no readable time in row {row} ({str(given[row])!r}): write it as 2024-01-31 13:05, "
            "or drop the row"
        )


# From rows to steps


def _steps_of(rows: _Rows, lookback: int, freq: str | None) -> tuple[NDArray[np.int64], NDArray[np.datetime64] | None]:
    """Which step each of the last rows is (0 the last, -1 the one before, ...), and the times of the window."""
    stamps = rows.stamps
    cells = np.arange(1 - min(rows.total, lookback), 1)
    moments: NDArray[np.int64] | None = None
    if stamps is not None:
        _check_order(stamps, rows.counted)
        last = stamps[-lookback:]
        if rows.counted:
            cells = _counted_cells(last)
        elif freq is None:
            moments = last
        elif rows.total:
            cells, moments = _cells_at_rate(last, lookback, freq)
    came = max(rows.total, 1 - int(cells[0])) if cells.size else 0
    if came < lookback:
        raise InputError(
            f"recent has {plural(came, 'step')}, and the forecaster looks back over {lookback}: give at least the "
            f"last {lookback}, with NaN where a reading is missing"
        )
    return cells, None if moments is None else moments.view("datetime64[ns]")


def _check_order(stamps: NDArray[np.int64], counted: bool) -> None:
    back = stamps[1:] <= stamps[:-1]
    if not back.any():
        return
    row = int(np.argmax(back)) + 1
    here, before = _when(stamps[row], counted), _when(stamps[row - 1], counted)
    if here == before:
        raise InputError(f"recent has {here} twice (rows {row - 1} and {row}): sort it and keep one row for each time")
    raise InputError(
        f"recent goes back in time: {here} (row {row}) comes after {before} (row {row - 1}); sort it, as with "
        "frame.sort_index()"
    )


def _cells_at_rate(last: NDArray[np.int64], lookback: int, freq: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    step = fixed_step(freq)
    if step is None:
        return _calendar_cells(last, lookback, freq)
    from subcast.tables.grid import FAR_FROM_GRID

    away = last - last[-1]
    cells = (away + step // 2) // step
    far = (np.abs(away - cells * step) > min(FAR_FROM_GRID * step, _HALF_DAY)) & (cells > -lookback)
    if far.any() or _is_coarser(cells, lookback):
        _refuse_rate(last, freq, step, last[np.argmax(far)])
    return cells, last[-1] + np.arange(1 - lookback, 1) * step


def _calendar_cells(last: NDArray[np.int64], lookback: int, freq: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The steps of a rate such as months or business days."""
    import pandas as pd

    stamps = pd.DatetimeIndex(last.view("datetime64[ns]"))
    grid = pd.date_range(stamps[0], stamps[-1], freq=freq).as_unit("ns")
    found = grid.get_indexer(stamps)
    cells = found.astype(np.int64) - (len(grid) - 1)
    if (found < 0).any() or _is_coarser(cells, lookback):
        _refuse_rate(last, freq, None, last[np.argmin(found)])
    return cells, grid.asi8[-lookback:]


def _counted_cells(last: NDArray[np.int64]) -> NDArray[np.int64]:
    step = _commonest(last) if last.size > 1 else 1
    cells, rest = np.divmod(last - last[-1:], step)
    if rest.any():
        raise InputError(
            f"recent has step numbers of no single rate: {last[np.argmax(rest != 0)]} is no multiple of {step} away "
            f"from the last, {last[-1]}; number the rows anew (frame.reset_index(drop=True)) if they simply follow"
        )
    return cells


def _is_coarser(cells: NDArray[np.int64], lookback: int) -> bool:
    """Whether rows meet in one step, or all of them keep several steps apart, so that it is not just a gap."""
    apart = np.diff(cells)
    if not apart.size:
        return False
    shortest = int(apart.min())
    if shortest == 1:
        return False
    return shortest < 1 or (int(np.gcd.reduce(apart)) > 1 and (apart.size > 1 or cells.size >= lookback))


def _refuse_rate(last: NDArray[np.int64], freq: str, step: int | None, stranger: np.int64) -> NoReturn:
    from subcast.tables.grid import step_name

    usual = _commonest(last) if last.size > 1 else None
    if usual is None or usual == step:
        raise InputError(
            f"recent has a row at {_when(stranger)}, which is off the {freq} steps that lead to its last row, "
            f"{_when(last[-1])}: resample it (frame.resample({freq!r}).mean())"
        )
    raise InputError(
        f"recent comes every {step_name(usual)}, and the forecaster was trained on steps of {freq}: "
        f"resample it (frame.resample({freq!r}).mean())"
    )


def _commonest(last: NDArray[np.int64]) -> int:
    """The commonest difference of neighbors, of equally common ones the shortest."""
    differences, counts = np.unique(np.diff(last), return_counts=True)
    return int(differences[np.argmax(counts)])


@lru_cache(maxsize=16)
def fixed_step(freq: str) -> int | None:
    """A rate's step in nanoseconds, or None for a calendar rate."""
    import pandas as pd

    try:
        offset = pd.tseries.frequencies.to_offset(freq)
    except ValueError:
        raise InputError(f"freq must be a rate as pandas writes it, such as '5min' or 'h', got {freq!r}") from None
    try:
        return int(pd.Timedelta(offset).value)  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return None


def _when(stamp: Any, counted: bool = False) -> str:
    if counted:
        return f"step {int(stamp)}"
    moment = np.datetime64(int(stamp), "ns")
    whole = moment.astype("datetime64[s]")
    return str(whole if whole == moment else moment).replace("T", " ")


# What must hold in the end


def _check_readings(values: NDArray[np.float32], variables: tuple[str, ...]) -> None:
    infinite = np.isinf(values)
    if infinite.any():
        row, place = np.argwhere(infinite)[0]
        raise InputError(
            f"recent has an infinite reading of {variables[place]!r} (or one too large for float32) "
            f"in step {row + 1} of its last {len(values)}: write NaN where a reading is missing"
        )
    if np.isnan(values).all():
        raise InputError(
            f"recent has no reading of any of the {plural(len(variables), 'variable')} in its last "
            f"{plural(len(values), 'step')}: at least one must be there"
        )


def _features_of(moments: NDArray[np.datetime64] | None, time_features: tuple[str, ...]) -> NDArray[np.float32] | None:
    if not time_features:
        return None
    if moments is None:
        raise InputError(
            f"recent must have times, since the forecaster was trained with {listed(time_features)}: give a frame "
            "with a time column or a DatetimeIndex, or times= beside an array"
        )
    return time_features_of(moments, time_features)


def _refuse_unknown(unknown: Sequence[str], places: Mapping[str, int]) -> None:
    if not unknown:
        return
    near = get_close_matches(unknown[0], places, n=1)
    hint = f"did you mean {near[0]!r} for {unknown[0]!r}?" if near else "drop what is not among them"
    verb = "is" if len(unknown) == 1 else "are"
    raise InputError(
        f"recent has {plural(len(unknown), 'column')} that {verb} not among the {plural(len(places), 'variable')} of "
        f"the training ({listed(unknown, 6)}): {hint}"
    )


def _refuse_extras() -> NoReturn:
    raise InputError("names and times go with arrays: a frame or a Series brings its own")
