"""`subcast forecast`: forecast from a wrapper in a folder and a file of recent readings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from subcast.errors import DataError, DataNotFoundError, InputError
from subcast.forecast import Forecast
from subcast.series import Series
from subcast.subset import SubsetForecaster
from subcast.subset.saving import ModelNotStoredError, load
from subcast.tables.files import kind_of, read_parquet
from subcast.tables.hdf5 import read_hdf5_frame
from subcast.tables.text import read_text

_ROWS_SHOWN = 12


def open_wrapper(folder: Path) -> SubsetForecaster:
    """Load a wrapper; raise an InputError if it was saved without its model, which the command line cannot provide."""
    try:
        return load(folder)
    except ModelNotStoredError as error:
        raise InputError(
            f"{folder} was saved without its model ({error.args[1]}), so the command line cannot use it: "
            "load it in Python with subcast.load(folder, model=...)"
        ) from None


def read_readings(path: Path) -> Any:
    """Read a file of recent readings without any repair; the wrapper checks the readings."""
    if not path.exists():
        raise DataNotFoundError(f"there is no file {str(path)!r}: check the path")
    if path.is_dir():
        raise DataError(f"{str(path)!r} is a folder: give one file of recent readings")
    kind = kind_of(path)
    if kind == "npz":
        return Series.read(path)
    if kind == "parquet":
        return read_parquet(path)
    return read_hdf5_frame(path, None) if kind == "hdf5" else read_text(path, [])


def run_forecast(
    folder: Path,
    recent: Path,
    *,
    output: Path | None = None,
    plot: Path | None = None,
    absent: bool = False,
    levels: Sequence[float] = (),
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
    """
    robust = open_wrapper(folder)
    forecast = robust.predict(read_readings(recent), absent=absent, levels=levels or None)
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


def show_forecast(forecast: Forecast) -> None:
    """Print a forecast: a summary, and the first, middle and last step of the first variables."""
    console = Console(highlight=False)
    console.print(escape(repr(forecast)), soft_wrap=True)
    steps = sorted({0, (forecast.horizon - 1) // 2, forecast.horizon - 1})
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column(f"variable{f', in {forecast.unit}' if forecast.unit else ''}", no_wrap=True)
    for step in steps:
        table.add_column(_step_name(forecast, step), justify="right", no_wrap=True)
    for variable, name in enumerate(forecast.variables[:_ROWS_SHOWN]):
        table.add_row(escape(name), *_cells(forecast, steps, variable))
    console.print(table)
    if len(forecast.variables) > _ROWS_SHOWN:
        console.print(
            f"{_ROWS_SHOWN} of {len(forecast.variables):,} variables; -o forecast.csv writes all of them", style="dim"
        )


def _step_name(forecast: Forecast, step: int) -> str:
    if forecast.times is None:
        return f"step {step + 1}"
    return str(forecast.times[step].astype("datetime64[m]"))[5:].replace("T", " ")


def _cells(forecast: Forecast, steps: Sequence[int], variable: int) -> list[str]:
    """Format the means and intervals of one variable, with three significant digits of the largest number."""
    tables = [forecast.mean, *((forecast.lower, forecast.upper) if forecast.levels else ())]
    numbers = np.array([[table[step, variable] for table in tables] for step in steps], dtype=np.float64)
    largest = float(np.abs(numbers).max())
    decimals = int(np.clip(2 - np.floor(np.log10(largest)), 0, 6)) if largest > 0 else 0
    texts = [[f"{number:.{decimals}f}" for number in row] for row in np.round(numbers, decimals) + 0.0]
    return [row[0] if len(row) == 1 else f"{row[0]} ({row[1]} to {row[2]})" for row in texts]
