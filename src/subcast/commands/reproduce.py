"""`subcast reproduce` and `subcast report`: the paper's tables and figures, run and written up."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from subcast.datasets import DATASETS
from subcast.errors import InputError
from subcast.experiments.declaration import get_experiment, load_experiments
from subcast.experiments.run import Places, run_cells
from subcast.experiments.study import QUICK_TO_TRAIN


def list_experiments(results: Path) -> list[dict[str, Any]]:
    """Name, place in the paper, title and number of records of every experiment."""
    return [
        {
            "name": experiment.name,
            "paper": experiment.paper,
            "title": experiment.title,
            "datasets": list(experiment.datasets),
            "models": list(experiment.models),
            "records": len(list((results / experiment.name).glob("*.json"))),
        }
        for experiment in load_experiments().values()
    ]


def show_experiments(results: Path) -> None:
    """Print them as a table."""
    table = Table(box=None, pad_edge=False)
    for column in ("name", "in the paper", "what", "records"):
        widest = 16 if column == "in the paper" else None
        table.add_column(column, justify="right" if column == "records" else "left", overflow="fold", max_width=widest)
    for row in list_experiments(results):
        table.add_row(row["name"], row["paper"], row["title"], str(row["records"]))
    Console(highlight=False).print(table)


def run_reproduction(
    names: Sequence[str],
    *,
    datasets: Sequence[str] = (),
    models: Sequence[str] = (),
    seeds: int | None = None,
    draws: int | None = None,
    every: int | None = None,
    scale: str = "quick",
    results: Path,
    checkpoints: Sequence[Path],
    again: bool = False,
    quiet: bool = False,
) -> tuple[list[Path], dict[str, str]]:
    """Run some experiments, or all of them: the records' paths, and the cells that were passed over with the reason.

    Parameters
    ----------
    names
        of experiments, or "all"
    datasets, models
        only these; several may be given as one, parted by commas
    seeds, draws, every
        how many, and every how many test windows; the scale tells by default
    scale
        "quick" or "full"
    results, checkpoints
        folders
    again
        also cells that have a record
    quiet
        say nothing
    """
    datasets, models = _parted("dataset", datasets), _parted("models", models)
    every_model = {name for experiment in load_experiments().values() for name in experiment.models}
    for option, known in (("models", every_model), ("dataset", {*DATASETS, QUICK_TO_TRAIN})):
        for name in known.intersection(names):
            raise InputError(
                f"{name!r} is no experiment: did you mean --{option} {name}? Several go with commas between them"
            )
    named = [get_experiment(name) for name in names if name != "all"]
    chosen = load_experiments().values() if "all" in names else named
    _check_names("models", models, [name for experiment in chosen for name in experiment.models])
    _check_names("dataset", datasets, [*DATASETS, QUICK_TO_TRAIN])
    console = Console(stderr=True, highlight=False)
    cells = [
        cell
        for experiment in chosen
        for cell in experiment.cells(
            scale, datasets=tuple(datasets), models=tuple(models), seeds=seeds, draws=draws, every=every
        )
    ]
    # Those of one trained model share it and its forecasts.
    cells.sort(key=lambda cell: (cell.dataset, cell.model, cell.seed, cell.variant))
    say = (lambda text: None) if quiet else (lambda text: console.print(text))
    places = Places(results, tuple(checkpoints))
    written, passed = run_cells(cells, places, again=again, say=say, progress=not quiet)
    if not written:
        raise InputError(f"nothing could be run of {', '.join(names)}: {next(iter(passed.values()))}")
    return written, passed


def _parted(argument: str, given: Sequence[str]) -> list[str]:
    names = [name.strip() for several in given for name in several.split(",") if name.strip()]
    if given and not names:
        raise InputError(f"--{argument} names nothing: leave it out for all, or name one")
    return names


def _check_names(argument: str, given: Sequence[str], known: Sequence[str]) -> None:
    for name in given:
        if name not in known and known:
            raise InputError(f"--{argument} must be one of {', '.join(dict.fromkeys(known))}, got {name!r}")
