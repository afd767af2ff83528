"""Series: named readings over time, frozen, and cheap to slice."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subcast.axes import check_axes, variable_indices
from subcast.calendar import TIME_FEATURES, time_features_of
from subcast.errors import InputError
from subcast.names import numbered_names, plural, refuse_repeated_names
from subcast.storage.files import whole_file

if TYPE_CHECKING:
    import pandas as pd

    from subcast.data_protocol import DataProtocol
    from subcast.tables import Table
    from subcast.windows import Split, Windows


@dataclass(frozen=True, eq=False, repr=False)
class Series:
    """Readings of named variables over time.

    Everything is read-only. `series[100:200]` is a stretch of time and shares memory with what it is cut from;
    `series.select(["a", "b"])` is a copy of some of the variables. An array that can be written to is copied once, so
    that nobody changes a series from outside; one that is read-only (a memory map, say) is taken as it is.

    Parameters
    ----------
    values
        [t, n] readings as float32, NaN where one is missing
    variables
        the n names; numbered when not given
    times
        [t] moments in increasing order, or None when steps are only counted
    freq
        the rate as pandas writes it ("5min"), when the times follow one
    time_features
        which features go with each step: any of "time_of_day", "day_of_week"
    graph
        [n, n] adjacency
    positions
        [n, 2] where the variables are
    name, unit
        for titles and labels
    missing_code
        the value that stood for a missing reading at the source, which the `paper` protocol puts back
    offset
        how many steps of the original come before the first one here
    repairs
        what was repaired when the readings were read

    Examples
    --------
    >>> import numpy as np
    >>> series = Series(np.arange(12).reshape(6, 2), ["inflow", "outflow"], name="plant")
    >>> series
    Series 'plant': 6 steps x 2 variables
    >>> series[2:4].values
    array([[4., 5.],
           [6., 7.]], dtype=float32)
    >>> series.select(["outflow"]).values[0]
    array([1.], dtype=float32)
    """

    values: NDArray[np.float32]
    variables: tuple[str, ...] = ()
    times: NDArray[np.datetime64] | None = None
    freq: str | None = None
    time_features: tuple[str, ...] = ()
    graph: NDArray[np.float32] | None = None
    positions: NDArray[np.float32] | None = None
    name: str = "series"
    unit: str = ""
    missing_code: float | None = None
    offset: int = 0
    repairs: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        values = _own(_numbers("values", self.values), self.values)
        check_axes("values", values, "tn")
        if np.isinf(values).any():
            raise InputError("values holds infinities: use Series.from_array, which turns them into missing readings")
        t, n = values.shape
        variables = _checked_names(self.variables, n)
        times = self.times
        if times is not None:
            times = _checked_times(np.asarray(times), t)
        if isinstance(cast(object, self.time_features), str):
            raise InputError(f"time_features must be a list of names, got the text {self.time_features!r}")
        for feature in self.time_features:
            if feature not in TIME_FEATURES:
                raise InputError(f"time_features knows {', '.join(TIME_FEATURES)}, got {feature!r}")
        if self.time_features and times is None:
            raise InputError(
                "time_features need times, and this series has none: give times, or leave the features out"
            )
        graph = self.graph if self.graph is None else _numbers("graph", self.graph)
        if graph is not None and graph.shape != (n, n):
            raise InputError(f"graph must be [n, n] = ({n}, {n}), got shape {graph.shape}")
        positions = self.positions if self.positions is None else _numbers("positions", self.positions)
        if positions is not None and (positions.ndim != 2 or positions.shape[0] != n):
            raise InputError(f"positions must have a row for each of the {n} variables, got shape {positions.shape}")
        self._store(
            values=_frozen(values),
            variables=variables,
            times=None if times is None else _frozen(times),
            time_features=tuple(self.time_features),
            graph=None if graph is None else _frozen(graph),
            positions=None if positions is None else _frozen(positions),
            repairs=tuple(self.repairs),
        )

    def _store(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def _with(self, **fields: Any) -> Series:
        """A copy with some fields set, unchecked: for slices of what was checked already."""
        other = object.__new__(Series)
        other._store(**{name: value for name, value in self.__dict__.items() if name != "features"})
        other._store(**fields)
        return other

    # Where series come from

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        time: str | None = None,
        id: str | None = None,
        value: str | None = None,
        freq: str | None = None,
        name: str = "series",
        time_features: Sequence[str] = (),
    ) -> Series:
        """Make a series of a pandas or polars frame, wide or long.

        A wide frame has a column for each variable; its times are the index, or a column called "time", "date",
        "ds" and the like. A long frame has the columns `unique_id`, `ds` and `y`, or those named here. What is
        wrong and can be repaired is repaired, with one warning that says what was done (see `docs/guide/data.md`).

        Parameters
        ----------
        frame
            a pandas or polars DataFrame
        time, id, value
            the columns that hold the times and, in a long frame, the variables' names and the readings
        freq
            the rate as pandas writes it, found from the times by default
        name
            for titles
        time_features
            any of "time_of_day", "day_of_week"

        Examples
        --------
        >>> import pandas as pd
        >>> long = pd.DataFrame({"unique_id": ["a", "b", "a", "b"], "y": [1.0, 2.0, 3.0, 4.0],
        ...                      "ds": pd.to_datetime(["2024-01-01", "2024-01-01", "2024-01-02", "2024-01-02"])})
        >>> Series.from_frame(long).to_frame()
                      a    b
        time
        2024-01-01  1.0  2.0
        2024-01-02  3.0  4.0
        """
        from subcast.tables import frame_to_table

        table = frame_to_table(frame, time=time, id=id, value=value, freq=freq, source=_frame_source(name))
        return cls._from_table(table, name, time_features)

    @classmethod
    def from_array(
        cls,
        values: ArrayLike,
        variables: Sequence[str] | None = None,
        times: ArrayLike | None = None,
        *,
        freq: str | None = None,
        name: str = "series",
        time_features: Sequence[str] = (),
    ) -> Series:
        """Make a series of an array [t, n], repairing what `from_frame` would repair.

        Examples
        --------
        >>> Series.from_array([[1.0, 2.0], [3.0, float("nan")]]).variables
        ('v0', 'v1')
        """
        from subcast.tables.clean import clean_table, lost_digits

        numbers = _numbers("values", values)
        check_axes("values", numbers, "tn")
        names = _checked_names(() if variables is None else variables, numbers.shape[1])
        source = _frame_source(name)
        repairs: list[str] = []
        stamps = None
        if times is not None:
            stamps = _moments(times, numbers.shape[0], repairs, source).view(np.int64)
        elif freq is not None:
            raise InputError(f"freq={freq!r} was given without times: give times, or leave freq out")
        repairs.extend(lost_digits(np.asarray(values), numbers, names))
        table = clean_table(numbers, names, stamps, freq=freq, repairs=repairs, source=source)
        return cls._from_table(table, name, time_features)

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        time: str | None = None,
        id: str | None = None,
        value: str | None = None,
        freq: str | None = None,
        key: str | None = None,
        time_features: Sequence[str] = (),
    ) -> Series:
        """Read a series from a CSV, Parquet, HDF5 (as pandas writes it) or NPZ file.

        Parameters
        ----------
        path
            a .csv, .tsv or .txt file (plain or compressed), .parquet, .h5 or .npz
        time, id, value, freq
            as in `from_frame`
        key
            which frame of an HDF5 file, or which array of an NPZ file
        time_features
            any of "time_of_day", "day_of_week"
        """
        from subcast.tables import read_table

        table = read_table(path, time=time, id=id, value=value, freq=freq, key=key)
        return cls._from_table(table, Path(path).name.partition(".")[0], time_features)

    @classmethod
    def _from_table(cls, table: Table, name: str, time_features: Sequence[str]) -> Series:
        return cls(
            table.values,
            table.variables,
            table.times,
            freq=table.freq,
            time_features=time_features or table.time_features,  # type: ignore[arg-type]
            graph=table.graph,
            positions=table.positions,
            name=name,
            unit=table.unit,
            missing_code=table.missing_code,
            repairs=table.repairs,
        )

    # Looking at it

    @property
    def n_variables(self) -> int:
        """The number of variables."""
        return self.values.shape[1]

    @property
    def n_features(self) -> int:
        """The number of features of an input: the reading and the time features."""
        return 1 + len(self.time_features)

    @cached_property
    def features(self) -> NDArray[np.float32] | None:
        """The time features [t, f - 1], the same for every variable; None without."""
        if not self.time_features or self.times is None:
            return None
        return _frozen(time_features_of(self.times, self.time_features))

    @property
    def missing_share(self) -> float:
        """The share of readings that are missing."""
        return float(np.isnan(self.values).mean()) if self.values.size else 0.0

    def __len__(self) -> int:
        """The number of steps."""
        return self.values.shape[0]

    def __repr__(self) -> str:
        """Show name, shape, period and rate."""
        parts = [f"{len(self):,} steps x {plural(self.n_variables, 'variable')}"]
        if self.times is not None and len(self):
            parts.append(f"{str(self.times[0])[:16]} to {str(self.times[-1])[:16]}")
        if self.freq:
            parts.append(f"every {self.freq}")
        if self.missing_share:
            parts.append(f"{self.missing_share:.2%} missing")
        return f"Series {self.name!r}: {', '.join(parts)}"

    # Cutting it

    def __getitem__(self, steps: slice) -> Series:
        """A stretch of time, sharing memory."""
        if not isinstance(steps, slice) or steps.step not in (None, 1):
            raise InputError(f"a series is cut by a stretch of steps such as series[100:200], got {steps!r}")
        first, last, _ = steps.indices(len(self))
        return self._with(
            values=self.values[first:last],
            times=None if self.times is None else self.times[first:last],
            offset=self.offset + first,
        )

    def select(self, variables: ArrayLike | Sequence[str]) -> Series:
        """Some of the variables, by name, by number or by a boolean mask, in the order given."""
        chosen = variable_indices(variables, self.n_variables, self.variables)
        return self._with(
            values=_frozen(np.ascontiguousarray(self.values[:, chosen])),
            variables=tuple(self.variables[i] for i in chosen),
            graph=None if self.graph is None else _frozen(self.graph[np.ix_(chosen, chosen)]),
            positions=None if self.positions is None else _frozen(self.positions[chosen]),
        )

    def windows(self, lookback: int, horizon: int) -> Windows:
        """Every stretch of `lookback` steps with the `horizon` steps that follow, as views."""
        from subcast.windows import Windows

        return Windows(self, lookback, horizon)

    def split(
        self,
        lookback: int,
        horizon: int,
        *,
        shares: Sequence[float] | None = None,
        gap: int | None = None,
        protocol: str | DataProtocol = "default",
    ) -> Split:
        """Cut into training, validation and test windows, in order of time.

        Parameters
        ----------
        lookback, horizon
            how many steps a model sees, and how many it forecasts
        shares
            of the three parts, 70 % / 10 % / 20 % by default
        gap
            how many steps to leave out between the parts, lookback + horizon - 1 by default; not in `paper`
        protocol
            "default": the series is cut first, with a gap, so nothing of a later part is seen in an earlier one;
            "paper": windows are cut first and then divided, so neighboring parts overlap at their edges, missing
            readings count as values in the inputs and zeros as missing in the targets

        Examples
        --------
        >>> import numpy as np
        >>> train, val, test = Series(np.zeros((5000, 140))).split(12, 12, protocol="paper")
        >>> len(train), len(val), len(test)
        (3484, 498, 995)
        """
        from subcast.windows import split_series

        return split_series(self, lookback, horizon, shares=shares, gap=gap, protocol=protocol)

    def with_features(self, *time_features: str) -> Series:
        """The same readings with these time features."""
        return replace(self, time_features=time_features)

    def filled(self, value: float) -> Series:
        """The same series with `value` in place of every missing reading; itself when none is missing."""
        missing = np.isnan(self.values)
        if not missing.any():
            return self
        return self._with(values=_frozen(np.where(missing, np.float32(value), self.values)))

    # And back

    def to_frame(self, *, long: bool = False) -> pd.DataFrame:
        """Give the readings as a pandas frame: wide, or long with `unique_id`, `ds` and `y`."""
        import pandas as pd

        index = (
            pd.RangeIndex(len(self), name="step") if self.times is None else pd.DatetimeIndex(self.times, name="time")
        )
        frame = pd.DataFrame(self.values, index=index, columns=list(self.variables), copy=True)
        if not long:
            return frame
        return pd.DataFrame(
            {
                "unique_id": np.repeat(np.array(self.variables, dtype=object), len(self)),
                "ds": np.tile(index.to_numpy(), self.n_variables),
                "y": self.values.T.ravel(),
            }
        )

    def save(self, path: str | Path) -> None:
        """Write a .csv, .parquet or .npz file that `Series.read` reads back.

        All three keep the readings, names and times; .npz keeps the rest as well (graph, positions, rate, features).
        """
        writers = {".csv": self._write_csv, ".parquet": self._write_parquet, ".npz": self._write_npz}
        with whole_file(path, tuple(writers)) as temporary:
            writers[temporary.suffix.lower()](temporary)

    def _write_csv(self, path: Path) -> None:
        self.to_frame().to_csv(path)

    def _write_parquet(self, path: Path) -> None:
        self.to_frame().to_parquet(path)

    def _write_npz(self, path: Path) -> None:
        facts = {
            "freq": self.freq,
            "time_features": self.time_features,
            "unit": self.unit,
            "missing_code": self.missing_code,
        }
        extra = {"times": self.times, "adjacency": self.graph, "positions": self.positions}
        arrays: dict[str, Any] = {name: array for name, array in extra.items() if array is not None}
        names = np.array(self.variables)
        np.savez_compressed(path, values=self.values, variables=names, subcast=np.array(json.dumps(facts)), **arrays)


def _frame_source(name: str) -> str:
    return "the table" if name == "series" else name


def _numbers(argument: str, values: ArrayLike) -> NDArray[np.float32]:
    try:
        with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and is dealt with as such
            return np.asarray(values, dtype=np.float32)
    except (ValueError, TypeError):
        kind = np.asarray(values, dtype=object).ravel()[:1]
        raise InputError(
            f"{argument} must be numbers, got {kind[0]!r}: use Series.from_frame for tables with text"
        ) from None


@overload
def _frozen(array: NDArray[np.float32]) -> NDArray[np.float32]: ...
@overload
def _frozen(array: NDArray[np.datetime64]) -> NDArray[np.datetime64]: ...
def _frozen(array: Any) -> Any:
    view = array.view()
    view.flags.writeable = False
    return view


def _own(array: NDArray[np.float32], given: object) -> NDArray[np.float32]:
    """The array itself if nobody else can write to it, else a copy."""
    shared = isinstance(given, np.ndarray) and given.flags.writeable and np.may_share_memory(array, given)
    return array.copy() if shared else array


def _checked_names(variables: Sequence[object], n: int) -> tuple[str, ...]:
    if len(variables) == 0:
        return tuple(numbered_names(n))
    names = tuple(str(name) for name in variables)
    if len(names) != n:
        raise InputError(f"variables must name each of the {n} columns, got {len(names)} names")
    refuse_repeated_names(names, "the series")
    return names


def _moments(times: ArrayLike, t: int, repairs: list[str], source: str) -> NDArray[np.datetime64]:
    import pandas as pd

    from subcast.tables.dates import to_stamps

    column = pd.Series(times)
    if len(column) != t:
        raise InputError(f"times must have one entry for each of the {t} steps, got {len(column)}")
    return to_stamps(column, repairs, source)


def _checked_times(times: NDArray[np.datetime64], t: int) -> NDArray[np.datetime64]:
    if times.shape != (t,):
        raise InputError(f"times must have one entry for each of the {t} steps, got shape {times.shape}")
    if times.dtype.kind != "M":
        raise InputError(f"times must be dates (datetime64), got {times.dtype}")
    if np.isnat(times).any() or (np.diff(times) <= np.timedelta64(0)).any():
        raise InputError("times must increase from step to step: use Series.from_array, which sorts and merges them")
    exact = times.astype("datetime64[ns]", copy=False)
    if (exact.astype(times.dtype) != times).any():
        raise InputError("times must lie between the years 1678 and 2262, which is as far as nanoseconds reach")
    return exact
