"""`subcast forecast`: from a wrapper in a folder and a file of recent readings to a forecast."""

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
from subcast.storage.folders import open_state
from subcast.subset import SubsetForecaster
from subcast.subset.saving import KIND, load
from subcast.tables.files import kind_of, read_parquet
from subcast.tables.hdf5 import read_hdf5_frame
from subcast.tables.text import read_text

_SHOWN = 12


def open_wrapper(folder: Path) -> SubsetForecaster:
    """Load a wrapper that has its model with it, which a command line cannot give."""
    if (folder / f"{KIND}.json").is_file():
        stored = open_state(folder, KIND).facts.get("fitted", {}).get("model")
        if isinstance(stored, dict) and stored.get("kind") == "other":
            raise InputError(
                f"{folder} was saved without its model ({stored.get('repr')}), so the command line cannot use it: "
                "use it from Python, subcast.load(folder, model=...)"
            )
    return load(folder)


def read_readings(path: Path) -> Any:
    """A file of recent readings as it is: nothing is repaired, so that the wrapper judges what came."""
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
    """Forecast from a file of recent readings, and write the table and the picture asked for.

    Parameters
    ----------
    folder
        of the wrapper
    recent
        the last steps of the variables that are there: .csv, .parquet, .h5 or .npz, wide or long
    output, plot
        a .csv file for the whole table; a .png, .pdf or .svg file for the picture
    absent
        whether to forecast the absent variables too
    levels
        of the intervals, those of the wrapper by default
    """
    robust = open_wrapper(folder)
    forecast = robust.predict(read_readings(recent), absent=absent, levels=levels or None)
    if levels and not forecast.levels:
        raise InputError(
            f"{folder} has no intervals, so --level cannot be had: the published method has none, and others need "
            "validation windows"
        )
    if output is not None:
        forecast.to_csv(output)
    if plot is not None:
        forecast.plot(path=plot)
    return forecast


def show_forecast(forecast: Forecast) -> None:
    """Print what it rests on, and the next, a middle and the last step of some variables."""
    console = Console(highlight=False)
    console.print(escape(repr(forecast)), soft_wrap=True)
    steps = sorted({0, (forecast.horizon - 1) // 2, forecast.horizon - 1})
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column(f"variable{f', in {forecast.unit}' if forecast.unit else ''}", no_wrap=True)
    for step in steps:
        table.add_column(_step_name(forecast, step), justify="right", no_wrap=True)
    for place, name in enumerate(forecast.variables[:_SHOWN]):
        table.add_row(escape(name), *_figures(forecast, steps, place))
    console.print(table)
    if len(forecast.variables) > _SHOWN:
        console.print(f"{_SHOWN} of {len(forecast.variables):,} variables; -o forecast.csv writes all", style="dim")


def _step_name(forecast: Forecast, step: int) -> str:
    if forecast.times is None:
        return f"step {step + 1}"
    return str(forecast.times[step].astype("datetime64[m]"))[5:].replace("T", " ")


def _figures(forecast: Forecast, steps: Sequence[int], place: int) -> list[str]:
    """Means and intervals of one variable, all with the decimals that three digits of the largest need."""
    tables = [forecast.mean, *((forecast.lower, forecast.upper) if forecast.levels else ())]
    numbers = np.array([[table[step, place] for table in tables] for step in steps], dtype=np.float64)
    largest = float(np.abs(numbers).max())
    decimals = int(np.clip(2 - np.floor(np.log10(largest)), 0, 6)) if largest > 0 else 0
    texts = [[f"{number:.{decimals}f}" for number in row] for row in np.round(numbers, decimals) + 0.0]
    return [row[0] if len(row) == 1 else f"{row[0]} ({row[1]} to {row[2]})" for row in texts]
