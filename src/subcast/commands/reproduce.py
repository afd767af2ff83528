"""`subcast reproduce`: run the experiments behind the paper's tables and figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from subcast.datasets import DATASETS
from subcast.errors import InputError
from subcast.experiments.declaration import Experiment, get_experiment, load_experiments
from subcast.experiments.on_cluster import run_cells_on
from subcast.experiments.run import Places, run_cells
from subcast.experiments.study import OPTIONS
from subcast.retrieval.sharding.connecting import cluster_client

DEFAULT_CHECKPOINTS = (Path("results/checkpoints"), Path("runs/checkpoints"))
_DATASET_NAMES = tuple(dict.fromkeys((*DATASETS, *OPTIONS)))


def list_experiments(results: Path) -> list[dict[str, Any]]:
    """Return name, table or figure of the paper, title and number of records of every experiment."""
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


def show_experiments(rows: Sequence[dict[str, Any]]) -> None:
    """Print the rows of `list_experiments` as a table."""
    table = Table(box=None, pad_edge=False)
    for column in ("name", "in the paper", "title", "records"):
        width = 16 if column == "in the paper" else None
        table.add_column(column, justify="right" if column == "records" else "left", overflow="fold", max_width=width)
    for row in rows:
        table.add_row(row["name"], row["paper"], row["title"], str(row["records"]))
    Console(highlight=False).print(table)


def run_reproduction(
    names: Sequence[str],
    *,
    datasets: Sequence[str] = (),
    models: Sequence[str] = (),
    scale: str = "quick",
    results: Path,
    checkpoints: Sequence[Path] = DEFAULT_CHECKPOINTS,
    again: bool = False,
    quiet: bool = False,
    cluster: str | None = None,
    **sizes: int | None,
) -> tuple[list[Path], dict[str, str]]:
    """Run experiments; return the paths of their records, and the cells that were skipped with the reason.

    Parameters
    ----------
    names
        names of experiments, or "all"
    datasets, models
        run only these; one entry may hold several names, separated by commas
    scale
        "quick" or "full"
    results, checkpoints
        folder of the records, and folders of trained models
    again
        whether to re-run cells that already have a record
    quiet
        whether to print nothing
    cluster
        address of a Dask scheduler whose workers run the cells; they must see the same folders
    sizes
        `seeds` (trained models), `draws` (random subsets) and `every` (evaluate every Nth test window); the scale
        decides by default
    """
    datasets, models = _split_names("dataset", datasets), _split_names("models", models)
    experiments = _experiments(names)
    _check_names("models", models, [name for experiment in experiments for name in experiment.models])
    _check_names("dataset", datasets, _DATASET_NAMES)
    cells = [
        cell
        for experiment in experiments
        for cell in experiment.cells(scale, datasets=tuple(datasets), models=tuple(models), **sizes)
    ]
    # Cells of one trained model share it and its forecasts, so they run one after the other.
    cells.sort(key=lambda cell: (cell.dataset, cell.model, cell.seed, cell.variant))
    console = Console(stderr=True, highlight=False, quiet=quiet)
    places = Places(results, tuple(checkpoints))
    if cluster is None:
        written, skipped = run_cells(cells, places, again=again, say=console.print, progress=not quiet)
    else:
        with cluster_client(cluster) as client:
            written, skipped = run_cells_on(client, cells, places, again=again, say=console.print)
    if not written:
        raise InputError(f"no experiment of {', '.join(names)} could be run: {next(iter(skipped.values()))}")
    return written, skipped


def _experiments(names: Sequence[str]) -> list[Experiment]:
    """Return the experiments with these names; "all" stands for every experiment."""
    if not names:
        raise InputError("give the name of an experiment, or all: `subcast reproduce --list` shows the names")
    known_models = {name for experiment in load_experiments().values() for name in experiment.models}
    for option, known in (("models", known_models), ("dataset", set(_DATASET_NAMES))):
        for name in known.intersection(names):
            raise InputError(
                f"{name!r} is not an experiment: did you mean --{option} {name}? Separate several with commas"
            )
    named = [get_experiment(name) for name in names if name != "all"]
    return list(load_experiments().values()) if "all" in names else named


def _split_names(option: str, texts: Sequence[str]) -> list[str]:
    names = [name.strip() for text in texts for name in text.split(",") if name.strip()]
    if texts and not names:
        raise InputError(f"--{option} names nothing: give a name, or leave the option out to run all")
    return names


def _check_names(option: str, names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known and known:
            raise InputError(f"--{option} must be one of {', '.join(dict.fromkeys(known))}, got {name!r}")
