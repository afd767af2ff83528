"""`subcast refresh`: append new readings to the bank of a saved wrapper while a service may be reading it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import typer

from subcast.commands.forecast import open_wrapper
from subcast.errors import DataNotFoundError, InputError
from subcast.names import plural
from subcast.screening import Screener
from subcast.screening.screener import KIND
from subcast.series import Series
from subcast.storage import folders
from subcast.subset import SubsetForecaster
from subcast.tables.rates import time_texts


def run_refresh(
    folder: Path, readings: Path, *, table: dict[str, str | None], new_only: bool = False, output: Path | None = None
) -> dict[str, Any]:
    """Append the readings of a file to the wrapper in a folder, and save it in one step.

    Parameters
    ----------
    folder
        the wrapper
    readings
        the file of readings
    table
        how the file is read, as in `Series.read`
    new_only
        leave out steps that the bank already holds instead of refusing them
    output
        the folder to write; the wrapper's own by default

    Returns
    -------
    dict
        what was appended, as `robust.report_["refreshes"]` records it, with the number of windows in all
    """
    if not readings.is_file():
        raise DataNotFoundError(f"there is no file {str(readings)!r}: check the path")
    robust = open_wrapper(folder)
    series = Series.read(readings, zone=robust.metadata_.zone, **table)  # type: ignore[arg-type]
    refreshed = robust.refresh(_later(series, robust.metadata_.times) if new_only else series)
    refreshed.save(folder if output is None else output)
    _keep_screener(folder, folder if output is None else output, refreshed)
    return {**refreshed.report_["refreshes"][-1], "all_windows": len(refreshed.fitted_.bank)}


def _keep_screener(folder: Path, output: Path, refreshed: SubsetForecaster) -> None:
    """Save the screener of the folder, if it has one, as that of the refreshed wrapper: what it learned stays."""
    if folders.is_saved(folder, KIND):
        screener = Screener.from_state(folders.open_state(folder, KIND))
        replace(screener, source=refreshed.fitted_.bank.fingerprint()).save(output)


def _later(series: Series, known: Any) -> Series:
    """Return the steps of a series after the last one that the bank holds."""
    if known is None or series.times is None:
        return series
    first = int(np.searchsorted(series.times, known[-1], side="right"))
    if first == len(series):
        last = time_texts(np.array([known[-1]]), series.zone)[0]
        raise InputError(f"the file has no reading after {last}, up to which the bank already holds them")
    return series[first:]


def show_refresh(record: dict[str, Any], folder: Path) -> None:
    """Print what was appended."""
    period = "" if record["first"] is None else f" from {record['first']} to {record['last']}"
    typer.echo(f"{plural(record['steps'], 'step')}{period} appended to {folder}")
    typer.echo(f"{plural(record['windows'], 'new window')}, {record['all_windows']:,} in all")
    if record["beyond_limits"]:
        typer.echo(f"{plural(record['beyond_limits'], 'reading')} beyond the limits left out")
    calibrated = record["calibrated"]
    typer.echo(
        f"intervals calibrated on {plural(calibrated, 'new window')} too"
        if calibrated
        else "intervals stay as they were: too few new windows to calibrate on"
    )
