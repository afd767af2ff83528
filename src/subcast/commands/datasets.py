"""`subcast datasets`: list what loads by name, and show any table of readings."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from subcast.datasets import DATASETS, Dataset, load_dataset
from subcast.datasets.base import data_folders, find_files
from subcast.errors import DataError, InputError
from subcast.series import Series
from subcast.summary import SeriesSummary, VariableSummary

_SHOWN = 12


def open_series(
    file: str,
    *,
    time: str | None = None,
    id: str | None = None,
    value: str | None = None,
    freq: str | None = None,
    key: str | None = None,
) -> Series:
    """Open a file of readings or a dataset by name; a file of a known archive opens as that dataset."""
    path = Path(file)
    options = {"time": time, "id": id, "value": value, "freq": freq, "key": key}
    given = [f"--{name}" for name, option in options.items() if option is not None]
    if file in DATASETS and not path.is_file():
        if given:
            raise InputError(f"{', '.join(given)} only goes with a file: dataset {file!r} is read as it is")
        return load_dataset(file)
    if not given:
        known = next(
            (d.name for d in DATASETS.values() for s in d.sources if path.name in s.files and not s.together), None
        )
        if known is not None and path.is_file():
            with suppress(DataError):  # a table of one's own may bear the same name
                series = load_dataset(known, folder=path.parent, download=False)
                return replace(series, repairs=(*series.repairs, *_how_read(DATASETS[known], series)))
    return Series.read(path, time=time, id=id, value=value, freq=freq, key=key)


def _how_read(dataset: Dataset, series: Series) -> list[str]:
    """What loading a file as a dataset does to the numbers in it, if anything."""
    done = [f"values times {dataset.scale:g}"] if dataset.scale != 1 else []
    done += [f"{series.missing_code:g} counts as missing"] if series.missing_code is not None else []
    return [f"read as dataset {dataset.name!r}: {'; '.join(done)}"] if done else []


def dataset_rows() -> list[dict[str, Any]]:
    """One row for each dataset: its facts, and where its file is."""
    rows = []
    for dataset in DATASETS.values():
        found = find_files(dataset, data_folders())
        fetchable = any(source.url for source in dataset.sources)
        rows.append(
            {
                "name": dataset.name,
                "steps": dataset.steps,
                "variables": dataset.n_variables,
                "rate": dataset.rate,
                "missing": dataset.missing,
                "scale": dataset.scale,
                "part": dataset.part,
                "where": str(found[1][0]) if found else None,
                "state": _state(bool(found), bool(dataset.sources), fetchable),
            }
        )
    return rows


def _state(found: bool, needs_file: bool, fetchable: bool) -> str:
    if not needs_file:
        return "made"
    if found:
        return "here"
    return "web" if fetchable else "not here"


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
        console.print(f"  {row['part']}", style="dim")
    folders = " or ".join(str(folder) for folder in data_folders())
    console.print(f"\nFiles are looked for in {folders} (set SUBCAST_DATA to name a folder).")


def show_summary(summary: SeriesSummary, *, every: bool = False) -> None:
    """Print a summary: the whole first, then the variables that stand out."""
    console = Console()
    headlines = escape("\n".join(_headlines(summary)))
    console.print(Panel(headlines, title=escape(summary.name), title_align="left", expand=False))
    for repair in summary.repairs:
        console.print(f"[yellow]repaired or noted:[/] {escape(repair)}", highlight=False)
    if summary.copies:
        first, second = (escape(name) for name in summary.copies[0])
        more = f" (and {len(summary.copies) - 1:,} more pairs)" if len(summary.copies) > 1 else ""
        console.print(f"[yellow]copies:[/] {first} and {second} say the same{more}", highlight=False)
    shown = _outstanding(summary.variables, len(summary.variables) if every else _SHOWN)
    console.print(_variable_table(shown))
    if len(shown) < len(summary.variables):
        which = "the most missing first" if summary.missing else "the first ones"
        console.print(
            f"{len(shown)} of {len(summary.variables):,} variables, {which}; --all shows every one", style="dim"
        )
    if summary.missing:
        console.print("gap: the most steps in a row without a reading", style="dim")


def _headlines(summary: SeriesSummary) -> list[str]:
    unit = f", in {summary.unit}" if summary.unit else ""
    lines = [f"{summary.steps:,} steps x {summary.n_variables:,} variables{unit}"]
    if summary.start is not None:
        rate = f"every {summary.rate}" if summary.rate else "at no fixed rate"
        lines.append(f"{summary.start} to {summary.end}, {rate}")
    else:
        lines.append("no times: the steps are only numbered")
    lines.append(
        f"{_percent(summary.missing)} of the readings missing; "
        f"{_percent(summary.complete_steps)} of the steps have every variable"
    )
    extras = [f"inputs carry {' and '.join(summary.time_features).replace('_', ' ')}"] if summary.time_features else []
    if summary.edges is not None:
        extras.append(f"graph with {summary.edges:,} edges")
    if summary.has_positions:
        extras.append("positions")
    if extras:
        lines.append("; ".join(extras))
    if summary.windows is None:
        lines.append("too short to train on with 12 steps in and 12 out")
    else:
        train, val, test = (f"{count:,}" for count in summary.windows)
        lines.append(f"with 12 steps in and 12 out: {train} training, {val} validation, {test} test windows")
    return lines


def _outstanding(variables: Sequence[VariableSummary], most: int) -> list[VariableSummary]:
    """The variables that miss the most, then the first ones, in their own order when nothing is missing."""
    order = sorted(range(len(variables)), key=lambda place: (-variables[place].missing, place))
    return [variables[place] for place in order[:most]]


def _variable_table(variables: Sequence[VariableSummary]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("variable", no_wrap=True)
    for column in ("missing", "gap", "min", "mean", "max"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("over time", no_wrap=True)
    for variable in variables:
        gap = f"{variable.longest_gap:,}" if variable.longest_gap else "-"
        figures = (f"{figure:.4g}" for figure in (variable.low, variable.mean, variable.high))
        table.add_row(escape(_short(variable.name)), _percent(variable.missing), gap, *figures, variable.trace)
    return table


def _short(name: str, most: int = 20) -> str:
    """Cut a long name in its middle, since names often differ only at their ends.

    >>> _short("25.15_-80.95_2006_UPV_227MW")
    '25.15_-80…_UPV_227MW'
    """
    half = (most - 1) // 2
    return name if len(name) <= most else f"{name[:half]}…{name[-(most - 1 - half) :]}"


def _percent(share: float) -> str:
    """Write a share so that a little is never shown as nothing.

    >>> _percent(0), _percent(0.0775), _percent(0.00003), _percent(1)
    ('0 %', '7.75 %', '0.003 %', '100 %')
    """
    if share in (0, 1):
        return f"{share:.0%}".replace("%", " %")
    percent = 100 * share
    return f"{percent:.2f} %" if percent >= 0.01 else f"{percent:.1g} %"
