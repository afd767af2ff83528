"""`subcast forecast`: forecast from a wrapper in a folder and a file of recent readings."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from subcast.errors import DataError, DataNotFoundError, DataWarning, InputError
from subcast.forecast import Forecast
from subcast.names import listed
from subcast.series import Series
from subcast.subset import SubsetForecaster
from subcast.subset.saving import ModelNotStoredError, load
from subcast.tables.convention import NumberFormat
from subcast.tables.dates import is_time_name
from subcast.tables.files import kind_of, read_parquet
from subcast.tables.hdf5 import read_hdf5_frame
from subcast.tables.rates import fixed_step
from subcast.tables.text import read_text
from subcast.tables.zones import wall_clock

if TYPE_CHECKING:
    import pandas as pd

_ROWS_SHOWN = 12
_WIDEST = 10_000  # letters in a row


def open_wrapper(folder: Path) -> SubsetForecaster:
    """Load a wrapper; raise an InputError if it was saved without its model, which the command line cannot provide."""
    try:
        return load(folder)
    except ModelNotStoredError as error:
        raise InputError(
            f"{folder} was saved without its model ({error.args[1]}), so the command line cannot use it: "
            "wrap a folder that `subcast train` wrote, or an .onnx file, with `subcast fit`"
        ) from None


def read_readings(path: Path, notes: list[str], table: Mapping[str, str | None]) -> Any:
    """Read a file of recent readings without any repair; the wrapper checks the readings.

    Parameters
    ----------
    path
        the file
    notes
        what was assumed in reading is added to it
    table
        how the file is read, as in `open_series`
    """
    if not path.exists():
        raise DataNotFoundError(f"there is no file {str(path)!r}: check the path")
    if path.is_dir():
        raise DataError(f"{str(path)!r} is a folder: give one file of recent readings")
    kind = kind_of(path)
    time, id, value, key = (table.get(name) for name in ("time", "id", "value", "key"))
    if kind == "npz":
        return Series.read(path, key=key, freq=table.get("freq"))
    if kind == "parquet":
        frame = read_parquet(path)
    elif kind == "hdf5":
        frame = read_hdf5_frame(path, key)
    else:
        numbers = NumberFormat(table.get("decimal"), table.get("thousands"))
        frame = read_text(path, notes, time=time, id=id, numbers=numbers)
    return _with_usual_names(frame, time, id, value, path.name)


def _with_usual_names(
    frame: pd.DataFrame, time: str | None, id: str | None, value: str | None, source: str
) -> pd.DataFrame:
    """Return a frame with the names that a wrapper expects: unique_id, ds and y if it is long, else time."""
    if frame.index.name is not None and frame.index.name in (time, id, value):
        frame = frame.reset_index()
    for option, name in (("time", time), ("id", id), ("value", value)):
        if name is not None and name not in frame.columns:
            raise InputError(
                f"--{option} {name} names no column of {source} (its columns: {listed(list(frame.columns), 6)})"
            )
    if id is None and value is None:
        if time in (None, "time"):
            return frame
        if "time" in frame.columns:
            raise InputError(f"{source} has a column 'time' beside {time!r}, the one named by --time: drop one of them")
        return frame.rename(columns={time: "time"})
    time = time or next((name for name in frame.columns if is_time_name(name)), "ds")
    columns = {id or "unique_id": "unique_id", time: "ds", value or "y": "y"}
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise InputError(
            f"{source} has no column {missing[0]!r}: name the columns of a long table with --id, --time and --value"
        )
    return frame[list(columns)].rename(columns=columns)


def run_forecast(
    folder: Path,
    recent: Path,
    *,
    output: Path | None = None,
    plot: Path | None = None,
    absent: bool = False,
    levels: Sequence[float] = (),
    table: Mapping[str, str | None] | None = None,
    strict: bool = False,
    limits: Mapping[str, tuple[float | None, float | None]] | None = MappingProxyType({}),
) -> Forecast:
    """Forecast from a file of recent readings, and write the table and the plot if files are given.

    Parameters
    ----------
    folder
        the folder of the wrapper
    recent
        the latest steps of the variables that are present: .csv, .parquet, .h5 or .npz, wide or long
    output, plot
        a .csv file for the table, and a .png, .pdf or .svg file for the plot
    absent
        whether to forecast absent variables too
    levels
        levels of the prediction intervals, those of the wrapper by default
    table
        how the file of recent readings is read, as in `open_series`
    strict
        whether readings beyond the limits are refused instead of left out
    limits
        other ranges (low, high) of some variables for this forecast; None for no limits at all
    """
    table = table or {}
    robust = open_wrapper(folder)
    if limits is None:
        robust.limits_ = None
    elif limits and robust.limits_ is None:
        raise InputError(f"--limit changes limits, and the wrapper in {folder} has none: fit it without --no-limits")
    elif limits and robust.limits_ is not None:
        robust.limits_ = robust.limits_.with_ranges(limits)
    _check_rate(robust, table.get("freq"))
    notes: list[str] = []
    readings = read_readings(recent, notes, table)
    marks = {name: table.get(name) for name in ("decimal", "thousands")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # the forecast has them as notes
        forecast = robust.predict(readings, **marks, absent=absent, levels=levels or None, strict=strict)
    forecast = replace(forecast, notes=(*notes, *forecast.notes))
    if levels and not forecast.levels:
        raise InputError(
            f"--level needs calibrated intervals, and the wrapper in {folder} has none: "
            "fit it without --paper, on enough data for validation windows"
        )
    if output is not None:
        forecast.to_csv(output)
    if plot is not None:
        forecast.plot(path=plot)
    return forecast


def _check_rate(robust: SubsetForecaster, freq: str | None) -> None:
    """Refuse a rate other than that of the training."""
    trained = robust.metadata_.freq
    if freq is not None and trained is not None and fixed_step(freq) != fixed_step(trained):
        raise InputError(f"--freq is {freq}, but the wrapper was fitted on steps of {trained}: resample the readings")


def show_forecast(forecast: Forecast) -> None:
    """Print a forecast: a summary, and the first, middle and last step (as many as fit) of the first variables."""
    console = Console(highlight=False)
    console.print(escape(repr(forecast)), soft_wrap=True)
    first, middle, last = 0, (forecast.horizon - 1) // 2, forecast.horizon - 1
    tables = (_table(forecast, sorted(set(steps))) for steps in ((first, middle, last), (first, last), (last,)))
    unbounded = console.options.update(max_width=_WIDEST)
    for table in tables:  # fewer steps on a narrow screen: names and numbers are not cut
        if console.measure(table, options=unbounded).maximum <= console.width:
            break
    console.print(table)
    if len(forecast.variables) > _ROWS_SHOWN:
        console.print(
            f"{_ROWS_SHOWN} of {len(forecast.variables):,} variables; -o forecast.csv writes all of them", style="dim"
        )


def _table(forecast: Forecast, steps: Sequence[int]) -> Table:
    """Return the table of some steps of the first variables."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column(f"variable{f', in {forecast.unit}' if forecast.unit else ''}", overflow="fold")
    for step in steps:
        table.add_column(_step_name(forecast, step), justify="right", no_wrap=True)
    for variable, name in enumerate(forecast.variables[:_ROWS_SHOWN]):
        table.add_row(escape(name), *_cells(forecast, steps, variable))
    return table


def _step_name(forecast: Forecast, step: int) -> str:
    if forecast.times is None:
        return f"step {step + 1}"
    wall = wall_clock(forecast.times[[step]], forecast.zone)[0]
    return str(wall.astype("datetime64[m]"))[5:].replace("T", " ")


def _cells(forecast: Forecast, steps: Sequence[int], variable: int) -> list[str]:
    """Format the means and intervals of one variable, with three significant digits of the largest number."""
    tables = [forecast.mean, *((forecast.lower, forecast.upper) if forecast.levels else ())]
    numbers = np.array([[table[step, variable] for table in tables] for step in steps], dtype=np.float64)
    largest = float(np.abs(numbers).max())
    decimals = int(np.clip(2 - np.floor(np.log10(largest)), 0, 6)) if largest > 0 else 0
    texts = [[f"{number:.{decimals}f}" for number in row] for row in np.round(numbers, decimals) + 0.0]
    return [row[0] if len(row) == 1 else f"{row[0]} ({row[1]} to {row[2]})" for row in texts]
