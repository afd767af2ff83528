"""`subcast datasets`: list the datasets, and summarize a table of readings."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from subcast.commands.options import table_options
from subcast.data_protocol import PROTOCOLS
from subcast.datasets import DATASETS, Dataset, load_dataset
from subcast.datasets.base import data_folders, find_files
from subcast.errors import DataError, DataNotFoundError, DataWarning, InputError
from subcast.series import Series
from subcast.summary import SeriesSummary, VariableSummary, summarize

_SHOWN = 12


def open_series(
    file: str,
    *,
    time: str | None = None,
    id: str | None = None,
    value: str | None = None,
    freq: str | None = None,
    key: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
) -> Series:
    """Open a file of readings or a dataset by name; the file of a known dataset is read as that dataset.

    Parameters
    ----------
    file
        the path, or the name of a dataset
    time, id, value, freq, key, decimal, thousands
        as in `Series.read`; only for files
    """
    path = Path(file)
    options = table_options(time, id, value, freq, key, decimal, thousands)
    given = [f"--{name}" for name, option in options.items() if option is not None]
    if file in DATASETS and not path.is_file():
        if given:
            raise InputError(f"{', '.join(given)} can only be used with a file, and {file!r} is a dataset")
        return load_dataset(file)
    if not path.exists():
        raise DataNotFoundError(
            f"there is no file {file!r} and no dataset of that name: check the path, or run `subcast datasets list`"
        )
    known = None if given or not path.is_file() else _dataset_of(path)
    if known is not None:
        with suppress(DataError):  # a table of the user may have the same file name
            series = load_dataset(known.name, folder=path.parent, download=False)
            return replace(series, repairs=(*series.repairs, *_changes(known, series)))
    return Series.read(path, **options)  # type: ignore[arg-type]


def _dataset_of(path: Path) -> Dataset | None:
    """Return the dataset that is read from a single file of this name."""
    for dataset in DATASETS.values():
        if any(path.name in source.files and not source.together for source in dataset.sources):
            return dataset
    return None


def _changes(dataset: Dataset, series: Series) -> list[str]:
    """Describe how loading a file as a dataset changes the numbers in it."""
    changes = [f"values times {dataset.scale:g}"] if dataset.scale != 1 else []
    changes += [f"{series.missing_code:g} counts as missing"] if series.missing_code is not None else []
    return [f"read as dataset {dataset.name!r}: {'; '.join(changes)}"] if changes else []


def check_preset(preset: str) -> str:
    """Return the value of --preset if it is the name of a data protocol; raise an InputError otherwise."""
    if preset not in PROTOCOLS:
        raise InputError(f"--preset must be one of {', '.join(PROTOCOLS)}, got {preset!r}")
    return preset


def run_inspection(file: str, *, plot: Path | None = None, **table: str | None) -> SeriesSummary:
    """Summarize a file of readings or a dataset, and plot it if a file is given.

    Parameters
    ----------
    file
        a file of readings, or the name of a dataset
    plot
        a .png, .pdf or .svg file to write
    table
        options of `open_series`
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        series = open_series(file, **table)
    for warning in caught:
        if not any(repair in str(warning.message) for repair in series.repairs):  # the summary shows the repairs
            warnings.warn(str(warning.message), warning.category, stacklevel=2)
    summary = summarize(series)
    if plot is not None:
        from subcast.plots import plot_series, save_figure

        save_figure(plot_series(series), plot)
    return summary


def dataset_rows() -> list[dict[str, Any]]:
    """Return one row per dataset: its facts, and where its file is."""
    return [_dataset_row(dataset) for dataset in DATASETS.values()]


def _dataset_row(dataset: Dataset) -> dict[str, Any]:
    local = find_files(dataset, data_folders())
    return {
        "name": dataset.name,
        "steps": dataset.steps,
        "variables": dataset.n_variables,
        "rate": dataset.rate,
        "missing": dataset.missing,
        "scale": dataset.scale,
        "content": dataset.content,
        "path": str(local[1][0]) if local else None,
        "state": _state(dataset, bool(local)),
    }


def _state(dataset: Dataset, local: bool) -> str:
    if not dataset.sources:
        return "generated"
    if local:
        return "on this machine"
    return "download" if any(source.url for source in dataset.sources) else "not found"


def show_datasets(rows: Sequence[dict[str, Any]]) -> None:
    """Print the list of datasets."""
    console = Console(highlight=False)
    console.print(
        f"{'name':<19}{'steps x variables':>18}  {'rate':<16}{'missing':>8}  {'factor':>6}  file", style="bold"
    )
    for row in rows:
        size = f"{row['steps']:,} x {row['variables']:>4}"
        figures = f"{size:>18}  {row['rate']:<16}{_percent(row['missing']):>8}  {row['scale']:>6g}"
        console.print(f"[bold]{row['name']:<19}[/]{figures}  {row['state']}")
        console.print(f"  {row['content']}", style="dim")
    folders = " or ".join(str(folder) for folder in data_folders())
    console.print(f"\nFiles are searched in {folders}; the variable SUBCAST_DATA names another folder.")


def show_summary(summary: SeriesSummary, *, every: bool = False) -> None:
    """Print a summary: the whole table first, then its variables."""
    console = Console()
    headlines = escape("\n".join(_headlines(summary)))
    console.print(Panel(headlines, title=escape(summary.name), title_align="left", expand=False))
    for repair in summary.repairs:
        console.print(f"[yellow]note:[/] {escape(repair)}", highlight=False)
    if summary.copies:
        first, second = (escape(name) for name in summary.copies[0])
        more = f" (and {len(summary.copies) - 1:,} more pairs)" if len(summary.copies) > 1 else ""
        console.print(f"[yellow]copies:[/] {first} and {second} have equal readings{more}", highlight=False)
    shown = _most_missing_first(summary.variables)[: None if every else _SHOWN]
    console.print(_variable_table(shown))
    if len(shown) < len(summary.variables):
        order = "those with the most missing readings" if summary.missing else "the first ones"
        console.print(
            f"{len(shown)} of {len(summary.variables):,} variables, {order}; --all shows every variable", style="dim"
        )
    if summary.missing:
        console.print("gap: longest run of steps without a reading", style="dim")


def _headlines(summary: SeriesSummary) -> list[str]:
    unit = f", in {summary.unit}" if summary.unit else ""
    lines = [f"{summary.steps:,} steps x {summary.n_variables:,} variables{unit}"]
    if summary.start is not None:
        rate = f"every {summary.rate}" if summary.rate else "without a fixed rate"
        zone = f" ({summary.zone})" if summary.zone else ""
        lines.append(f"{summary.start} to {summary.end}{zone}, {rate}")
    else:
        lines.append("no times: the steps are numbered")
    lines.append(
        f"{_percent(summary.missing)} of the readings missing; "
        f"{_percent(summary.complete_steps)} of the steps have every variable"
    )
    features = " and ".join(summary.time_features).replace("_", " ")
    extras = [f"inputs include the {features}"] if features else []
    if summary.edges is not None:
        extras.append(f"graph with {summary.edges:,} edges")
    if summary.has_positions:
        extras.append("positions")
    if extras:
        lines.append("; ".join(extras))
    if summary.windows is None:
        lines.append("too short for training with 12 past steps and 12 steps to forecast")
    else:
        train, val, test = (f"{count:,}" for count in summary.windows)
        lines.append(f"windows of 12 past and 12 future steps: {train} training, {val} validation, {test} test")
    return lines


def _most_missing_first(variables: Sequence[VariableSummary]) -> list[VariableSummary]:
    """Sort variables by their share of missing readings, keeping the order of equal ones."""
    return sorted(variables, key=lambda variable: -variable.missing)


def _variable_table(variables: Sequence[VariableSummary]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("variable", no_wrap=True)
    for column in ("missing", "gap", "min", "mean", "max"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("over time", no_wrap=True)
    for variable in variables:
        gap = f"{variable.longest_gap:,}" if variable.longest_gap else "-"
        figures = (f"{figure:.4g}" for figure in (variable.low, variable.mean, variable.high))
        table.add_row(escape(_short(variable.name)), _percent(variable.missing), gap, *figures, variable.sparkline)
    return table


def _short(name: str, most: int = 20) -> str:
    """Shorten a long name in the middle, because names often differ only at their ends.

    >>> _short("25.15_-80.95_2006_UPV_227MW")
    '25.15_-80…_UPV_227MW'
    """
    half = (most - 1) // 2
    return name if len(name) <= most else f"{name[:half]}…{name[-(most - 1 - half) :]}"


def _percent(share: float) -> str:
    """Format a share in percent, with enough digits that a small share is not shown as 0.

    >>> _percent(0), _percent(0.0775), _percent(0.00003), _percent(1)
    ('0 %', '7.75 %', '0.003 %', '100 %')
    """
    if share in (0, 1):
        return f"{share:.0%}".replace("%", " %")
    percent = 100 * share
    return f"{percent:.2f} %" if percent >= 0.01 else f"{percent:.1g} %"
