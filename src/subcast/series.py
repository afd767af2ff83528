"""Series: read-only readings of named variables over time."""

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
from subcast.names import csv_quoting, numbered_names, plural, refuse_repeated_names, spreadsheet_name
from subcast.storage.files import whole_file
from subcast.tables.rates import moment_text
from subcast.tables.rows import Readings, holds_truth
from subcast.tables.zones import checked_zone, sets_clocks, time_index, to_moments, wall_clock, zone_name

if TYPE_CHECKING:
    import pandas as pd

    from subcast.data_protocol import DataProtocol
    from subcast.tables.clean import Table
    from subcast.windows import Split, Windows


@dataclass(frozen=True, eq=False, repr=False)
class Series(Readings):
    """Readings of named variables over time.

    A series is read-only. `series[100:200]` is a range of steps and shares memory with the series;
    `series.select(["a", "b"])` is a copy of two variables. A writeable array is copied once, so that later changes of
    the array do not change the series; a read-only array (such as a memory map) is used without a copy.

    Parameters
    ----------
    values
        [t, n] readings as float32, NaN where one is missing
    variables
        the n names; v0, v1, ... by default
    times
        [t] moments in increasing order, or None when steps are only counted
    freq
        the rate as pandas writes it ("5min"), when the times are regular
    time_features
        the time features of each step: any of "time_of_day", "day_of_week"
    graph
        [n, n] adjacency
    positions
        [n, 2] positions of the variables, such as coordinates of sensors
    name, unit
        for titles and labels
    missing_code
        the value that the source wrote for a missing reading; the `paper` protocol uses it in the inputs
    offset
        the number of steps of the original series before the first step of this one
    repairs
        what was repaired when the readings were read
    zone
        the zone of the times, such as "Europe/Berlin", "UTC" or "+05:30": `times` are in UTC then, and `wall_times`
        are what a clock in the zone shows; None for times without a zone, which are taken as they are

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
    zone: str | None = None

    def __post_init__(self) -> None:
        _refuse_truth(self.values)
        values = _own(_numbers("values", self.values), self.values)
        check_axes("values", values, "tn")
        if np.isinf(values).any():
            raise InputError(
                "values must be finite or NaN, got infinities: use Series.from_array, which turns them into missing "
                "readings"
            )
        t, n = values.shape
        variables = _checked_names(self.variables, n)
        times, zone = self.times, checked_zone(self.zone)
        if times is not None:
            zone = zone or zone_name(getattr(times, "tz", None))  # of a pandas index
            times = _checked_times(_in_utc(times), t)
        if isinstance(cast(object, self.time_features), str):
            raise InputError(f"time_features must be a list of names, got the text {self.time_features!r}")
        for feature in self.time_features:
            if feature not in TIME_FEATURES:
                raise InputError(f"time_features must be among {', '.join(TIME_FEATURES)}, got {feature!r}")
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
            zone=None if times is None else zone,
        )

    def _store(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def _with(self, **fields: Any) -> Series:
        """Return a copy with other fields, which are not checked again."""
        other = object.__new__(Series)
        other._store(**{name: value for name, value in self.__dict__.items() if name not in ("features", "wall_times")})
        other._store(**fields)
        return other

    # Making a series

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        time: str | None = None,
        id: str | None = None,
        value: str | None = None,
        freq: str | None = None,
        decimal: str | None = None,
        thousands: str | None = None,
        zone: str | None = None,
        name: str = "series",
        time_features: Sequence[str] = (),
    ) -> Series:
        """Make a series from a pandas or polars frame, wide or long.

        A wide frame has a column for each variable; its times are the index, or a column called "time", "date",
        "ds" and the like. A long frame has the columns `unique_id`, `ds` and `y`, or those named here. Problems that
        can be repaired are repaired, with one warning that lists the repairs (see `docs/guide/data.md`).

        Parameters
        ----------
        frame
            a pandas or polars DataFrame
        time, id, value
            the columns that hold the times and, in a long frame, the names of the variables and the readings
        freq
            the rate as pandas writes it, found from the times by default
        decimal, thousands
            the decimal mark ("." or ",") and the mark between thousands (".", ",", " ", "'", "_", or "" for none) of
            numbers that are written as text, found from all of them by default
        zone
            the zone to keep the times in, such as "Europe/Berlin"; times that are written without a zone are read in
            it. By default the zone of the times, if they have one
        name
            the name of the series, for titles
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
        from subcast.tables.clean import frame_to_table
        from subcast.tables.convention import NumberFormat

        numbers = NumberFormat(decimal, thousands)
        source = _frame_source(name)
        table = frame_to_table(
            frame, time=time, id=id, value=value, freq=freq, numbers=numbers, zone=zone, source=source
        )
        return cls._from_table(table, name, time_features)

    @classmethod
    def from_array(
        cls,
        values: ArrayLike,
        variables: Sequence[str] | None = None,
        times: ArrayLike | None = None,
        *,
        freq: str | None = None,
        zone: str | None = None,
        name: str = "series",
        time_features: Sequence[str] = (),
    ) -> Series:
        """Make a series from an array [t, n], with the repairs and the arguments of `from_frame`.

        Examples
        --------
        >>> Series.from_array([[1.0, 2.0], [3.0, float("nan")]]).variables
        ('v0', 'v1')
        """
        from subcast.tables.arrays import array_rows
        from subcast.tables.clean import rows_to_table
        from subcast.tables.policy import Repair

        if times is None and freq is not None:
            raise InputError(f"freq={freq!r} was given without times: give times, or leave freq out")
        _refuse_truth(values)
        numbers = _numbers("values", values)
        check_axes("values", numbers, "tn")
        names = _checked_names(() if variables is None else variables, numbers.shape[1])
        policy = Repair(_frame_source(name), zone=checked_zone(zone))
        policy.rounding(np.asarray(values), numbers, names)
        table = rows_to_table(array_rows(numbers, names, times, policy), policy, freq)
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
        decimal: str | None = None,
        thousands: str | None = None,
        zone: str | None = None,
        time_features: Sequence[str] = (),
    ) -> Series:
        """Read a series from a CSV, Parquet, HDF5 (as pandas writes it) or NPZ file.

        Parameters
        ----------
        path
            a .csv, .tsv or .txt file (plain or compressed), .parquet, .h5 or .npz
        time, id, value, freq, decimal, thousands, zone
            as in `from_frame`
        key
            which frame of an HDF5 file, or which array of an NPZ file
        time_features
            any of "time_of_day", "day_of_week"
        """
        from subcast.tables.files import read_table

        table = read_table(
            path, time=time, id=id, value=value, freq=freq, key=key, decimal=decimal, thousands=thousands, zone=zone
        )
        series = cls._from_table(table, Path(path).name.partition(".")[0], time_features)
        return series if zone is None or series.times is None else series.to_zone(zone)

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
            zone=table.zone,
        )

    # Properties

    @property
    def n_variables(self) -> int:
        """The number of variables."""
        return self.values.shape[1]

    @property
    def n_features(self) -> int:
        """The number of features of a model input: the reading and the time features."""
        return 1 + len(self.time_features)

    @cached_property
    def features(self) -> NDArray[np.float32] | None:
        """The time features [t, f - 1], the same for every variable; None when there are none."""
        if not self.time_features or self.times is None:
            return None
        return _frozen(time_features_of(cast(Any, self.wall_times), self.time_features))

    @cached_property
    def wall_times(self) -> NDArray[np.datetime64] | None:
        """What a clock in the zone of the series shows at each step: [t]; `times` themselves without a zone."""
        return None if self.times is None else _frozen(wall_clock(self.times, self.zone))

    @property
    def missing_share(self) -> float:
        """The share of readings that are missing."""
        return float(np.isnan(self.values).mean()) if self.values.size else 0.0

    def __len__(self) -> int:
        """Return the number of steps."""
        return self.values.shape[0]

    def __repr__(self) -> str:
        """Show name, shape, period and rate."""
        facts = [f"{len(self):,} steps x {plural(self.n_variables, 'variable')}"]
        if self.times is not None and len(self):
            first, last = cast(Any, self.wall_times)[[0, -1]]
            facts.append(f"{str(first)[:16]} to {str(last)[:16]}{f' ({self.zone})' if self.zone else ''}")
        if self.freq:
            facts.append(f"every {self.freq}")
        if self.missing_share:
            facts.append(f"{self.missing_share:.2%} missing")
        return f"Series {self.name!r}: {', '.join(facts)}"

    # Selecting and splitting

    def __getitem__(self, steps: slice) -> Series:
        """Return a range of steps that shares memory with this series."""
        if not isinstance(steps, slice) or steps.step not in (None, 1):
            raise InputError(f"a series is indexed by a range of steps such as series[100:200], got {steps!r}")
        first, last, _ = steps.indices(len(self))
        return self._with(
            values=self.values[first:last],
            times=None if self.times is None else self.times[first:last],
            offset=self.offset + first,
        )

    def select(self, variables: ArrayLike | Sequence[str]) -> Series:
        """Return a series of these variables, given by name, index or boolean mask, in the order given."""
        indices = variable_indices(variables, self.n_variables, self.variables)
        return self._with(
            values=_frozen(np.ascontiguousarray(self.values[:, indices])),
            variables=tuple(self.variables[i] for i in indices),
            graph=None if self.graph is None else _frozen(self.graph[np.ix_(indices, indices)]),
            positions=None if self.positions is None else _frozen(self.positions[indices]),
        )

    def windows(self, lookback: int, horizon: int) -> Windows:
        """Return every window of `lookback` steps with the `horizon` steps that follow, as views."""
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
        """Split the series into training, validation and test windows, in order of time.

        Parameters
        ----------
        lookback, horizon
            the number of steps that a model sees, and that it forecasts
        shares
            the shares of the three parts, 70 % / 10 % / 20 % by default
        gap
            the number of steps to leave out between the parts, lookback + horizon - 1 by default; not with the
            protocol "paper"
        protocol
            "default": the steps are divided first, with a gap, so that no step of a later part is in an earlier one;
            "paper": windows are made first and then divided, so that neighboring parts overlap at their edges, missing
            readings are values in the inputs, and zeros are missing in the targets

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
        """Return the same series with these time features."""
        return replace(self, time_features=time_features)

    def to_zone(self, zone: str) -> Series:
        """Return the same series with its times in another zone; times without a zone are read as that zone's clock.

        Of the two passes of an hour that comes twice, the first is taken until the times go back.

        Examples
        --------
        >>> import pandas as pd
        >>> times = pd.date_range("2024-07-01", periods=2, freq="h", tz="UTC")
        >>> Series(np.zeros((2, 1)), times=times).to_zone("Europe/Berlin")
        Series 'series': 2 steps x 1 variable, 2024-07-01T02:00 to 2024-07-01T03:00 (Europe/Berlin)
        """
        name = checked_zone(zone)
        if self.times is None or name is None:
            raise InputError(f"zone={zone!r} was given, but {self.name!r} has no times: leave zone out")
        times = self.times
        if self.zone is None:
            local = to_moments(times.view(np.int64), name)
            if local.skipped.any():
                first = moment_text(times.view(np.int64)[np.argmax(local.skipped)])
                raise InputError(f"the times of {self.name!r} are not of {name!r}, whose clocks skip {first}")
            times = local.moments.view("datetime64[ns]")
        return replace(self, times=times, zone=name)

    def filled(self, value: float) -> Series:
        """Return the series with `value` for every missing reading, or the series itself when none is missing."""
        missing = np.isnan(self.values)
        if not missing.any():
            return self
        return self._with(values=_frozen(np.where(missing, np.float32(value), self.values)))

    # Export

    def to_frame(self, *, long: bool = False) -> pd.DataFrame:
        """Return the readings as a pandas frame: wide, or long with the columns `unique_id`, `ds` and `y`."""
        import pandas as pd

        index: pd.Index[Any] = pd.RangeIndex(len(self), name="step")
        if self.times is not None:
            index = time_index(self.times, self.zone)
        frame = pd.DataFrame(self.values, index=index, columns=list(self.variables), copy=True)
        if not long:
            return frame
        return pd.DataFrame(
            {
                "unique_id": np.repeat(np.array(self.variables, dtype=object), len(self)),
                "ds": index[np.tile(np.arange(len(self)), self.n_variables)],
                "y": self.values.T.ravel(),
            }
        )

    def save(self, path: str | Path) -> None:
        """Write a .csv, .parquet or .npz file that `Series.read` can read.

        All three hold the readings, names and times; .npz also holds graph, positions, rate, time features, unit and
        missing code. In a CSV file, a name that a spreadsheet would run as a formula (=, +, -, @) has an apostrophe
        before it, which `Series.read` drops.
        """
        writers = {".csv": self._write_csv, ".parquet": self._write_parquet, ".npz": self._write_npz}
        with whole_file(path, tuple(writers)) as temporary:
            writers[temporary.suffix.lower()](temporary)

    def _write_csv(self, path: Path) -> None:
        frame = self.to_frame().rename(columns=spreadsheet_name)
        if sets_clocks(self.zone):
            frame.index.name = f"time [{self.zone}]"  # offsets alone do not name the zone
        frame.to_csv(path, quoting=csv_quoting(self.variables))

    def _write_parquet(self, path: Path) -> None:
        self.to_frame().to_parquet(path)

    def _write_npz(self, path: Path) -> None:
        facts = {
            "freq": self.freq,
            "zone": self.zone,
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


def _refuse_truth(values: object) -> None:
    if holds_truth(values):
        raise InputError("values must be numbers, got True or False, which are not readings: write NaN, 0 or 1")


def _numbers(argument: str, values: ArrayLike) -> NDArray[np.float32]:
    try:
        with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and is treated as such
            return np.asarray(values, dtype=np.float32)
    except (ValueError, TypeError):
        first = np.asarray(values, dtype=object).ravel()[:1]
        raise InputError(
            f"{argument} must be numbers, got {first[0]!r}: use Series.from_frame for tables with text"
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
    """Return the array itself if no other array can write to it, else a copy."""
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


def _in_utc(times: Any) -> NDArray[Any]:
    """Return times as an array; those of a pandas index with a zone in UTC."""
    if getattr(times, "tz", None) is not None:
        return np.asarray(times.tz_convert("UTC").tz_localize(None))
    return np.asarray(times)


def _checked_times(times: NDArray[np.datetime64], t: int) -> NDArray[np.datetime64]:
    if times.shape != (t,):
        raise InputError(f"times must have one entry for each of the {t} steps, got shape {times.shape}")
    if times.dtype.kind != "M":
        raise InputError(f"times must be dates (datetime64), got {times.dtype}")
    if np.isnat(times).any() or (np.diff(times) <= np.timedelta64(0)).any():
        raise InputError("times must increase from step to step: use Series.from_array, which sorts and merges them")
    exact = times.astype("datetime64[ns]", copy=False)
    if (exact.astype(times.dtype) != times).any():
        raise InputError("times must lie between the years 1678 and 2262, the range of datetime64[ns]")
    return exact
