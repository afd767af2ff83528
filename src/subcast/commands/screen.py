"""`subcast screen`: find readings and sensors in a file that are not to be believed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from subcast.errors import DataNotFoundError, InputError
from subcast.screening import Screened, Screener
from subcast.screening.screened import Episode, plain
from subcast.screening.screener import KIND
from subcast.screening.sentences import duration
from subcast.series import Series
from subcast.storage.files import whole_file
from subcast.storage.folders import is_saved
from subcast.tables.rates import fixed_step

_SHOWN = 20


def run_screen(
    folder: Path,
    readings: Path,
    *,
    output: Path | None = None,
    table: Mapping[str, str | None] | None = None,
) -> Screened:
    """Screen a file of readings, and write the flags if a file is given.

    Parameters
    ----------
    folder
        the folder that `subcast fit` wrote
    readings
        a file of readings of the wrapper's sensors at the rate of its training
    output
        a .csv file for the flags, a row for each step and a column for each sensor
    table
        how the file is read, as in `Series.read`
    """
    if output is not None and output.suffix.lower() != ".csv":
        raise InputError(f"-o must name a .csv file, got {str(output)!r}")
    screener = _open_screener(folder)
    if not readings.is_file():
        raise DataNotFoundError(f"there is no file {str(readings)!r}: check the path")
    series = Series.read(readings, zone=screener.zone, **(table or {}))  # type: ignore[arg-type]
    _check_rate(series, screener, readings)
    screened = screener.screen(series)
    if output is not None:
        with whole_file(output) as temporary:
            screened.frame.to_csv(temporary, index=screened.times is not None)
    return screened


def _open_screener(folder: Path) -> Screener:
    """Load the screener of a folder; say how to make one if it has none."""
    if not is_saved(folder, KIND):
        problem = "holds no screener" if folder.is_dir() else "does not exist"
        raise DataNotFoundError(f"{folder} {problem}: give a folder that `subcast fit` wrote")
    return Screener.load(folder)


def _check_rate(series: Series, screener: Screener, path: Path) -> None:
    """Refuse readings at another rate than that of the training."""
    step = None if series.freq is None else fixed_step(series.freq)
    if screener.step is not None and step is not None and step != screener.step:
        raise InputError(
            f"{path.name} has a reading every {duration(1, step)}, and the screener was fitted on one every "
            f"{duration(1, screener.step)}: resample the readings"
        )


def show_screened(screened: Screened) -> None:
    """Print how many readings are bad, the sensors that are ill at the end, and those that were ill before."""
    console = Console(highlight=False)
    counts = ", ".join(f"{count:,} {name}" for name, count in screened.counts().items() if count)
    console.print(f"{len(screened.flags):,} steps of {len(screened.variables)} sensors: {counts}", soft_wrap=True)
    ill = [(name, each) for name, each in screened.health.items() if each.ill]
    if not ill:
        console.print("no sensor is ill at the end")
    else:
        table = _table("ill", "since", "state", "why")
        for name, each in ill:
            table.add_row(escape(name), _moment(each.since), each.state, escape(each.reason))
        console.print(table)
    _show_past(console, [each for each in screened.episodes if each.end is not None])


def _show_past(console: Console, past: list[Episode]) -> None:
    if not past:
        return
    table = _table("was ill", "from", "to", "state", "why")
    for each in past[:_SHOWN]:
        sentence = escape(each.sentence)
        table.add_row(escape(each.sensor), _moment(each.start), _moment(each.end), each.state, sentence)
    console.print(table)
    if len(past) > _SHOWN:
        console.print(f"{_SHOWN} of {len(past):,}; --json prints all of them", style="dim")


def _table(*columns: str) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column in ("since", "from", "to"))
    return table


def _moment(value: object) -> str:
    """Return a time to the minute, or the number of a step."""
    text = str(plain(value))
    return text[:16].replace("T", " ") if "T" in text else f"step {text}"
