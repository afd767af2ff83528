"""Run the cells of experiments: each can be interrupted and resumed, and leaves one record."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from subcast import __version__
from subcast.comparison import has_tallies
from subcast.errors import SubcastError
from subcast.experiments.declaration import Cell
from subcast.experiments.measures import Measure, make_measure
from subcast.experiments.methods import VARIANT_METHODS
from subcast.experiments.record_files import write_record_file
from subcast.experiments.study import Context, Study

RESULTS = Path("results") / "reproduce"
FORMAT = 2
"""Format of the results of a half-finished cell: those of another format are not resumed."""
WITH_TALLIES = ("errors", "apriori")
"""Measurements whose records hold tallies."""
Say = Callable[[str], None]


@dataclass(frozen=True)
class Places:
    """Folders of an experiment run.

    Parameters
    ----------
    results
        folder of the records
    checkpoints
        folders of trained models
    """

    results: Path = RESULTS
    checkpoints: tuple[Path, ...] = (Path("results") / "checkpoints", Path("runs") / "checkpoints")

    def record(self, cell: Cell) -> Path:
        """Return the path of the record of a cell."""
        return self.results / cell.experiment.name / f"{cell.name}.json"

    def unfinished(self, cell: Cell) -> Path:
        """Return the path of the results of a cell that is not finished."""
        return self.record(cell).with_suffix(".begun")


def run_cells(
    cells: Sequence[Cell],
    places: Places,
    *,
    again: bool = False,
    say: Say = print,
    progress: bool = True,
) -> tuple[list[Path], dict[str, str]]:
    """Run the cells that have no record yet (or all, with `again`).

    Cells of one dataset and model share the model and its forecasts, so they are best given one after the other. A
    cell that cannot be run (its data or its model is missing) is reported and skipped.

    Returns
    -------
    tuple
        paths of the records, and the skipped cells with the reason
    """
    written: list[Path] = []
    skipped: dict[str, str] = {}
    study: Study | None = None
    for number, cell in enumerate(cells, 1):
        path, title = places.record(cell), f"{cell.experiment.name} {cell.name}"
        if study is None or not study.serves(cell):
            study = Study.of(cell, places.checkpoints, progress)
        if path.exists() and not again and _covers(path, cell, study):
            say(f"{title}: already recorded")
            written.append(path)
            continue
        try:
            run_cell(cell, places, study, say=say, heading=f"[{number}/{len(cells)}] ")
        except SubcastError as error:
            say(f"{title}: skipped, {error}")
            skipped[title] = str(error)
            continue
        written.append(path)
    return written, skipped


def run_cell(cell: Cell, places: Places, study: Study, *, say: Say = print, heading: str = "") -> Path:
    """Run one cell, from where it was interrupted, and write its record."""
    measure = make_measure(Context(cell, study))
    facts = _facts(cell, study) | {"left_out": dict(measure.left_out)}
    name = f"{heading}{cell.experiment.name} {cell.name}"
    for method, reason in measure.left_out.items():
        say(f"{name}: without {method}, {reason}")
    results, seconds = _run_units(measure, places.unfinished(cell), facts, lambda text: say(f"{name}: {text}"))
    record = {
        "record": f"{cell.experiment.name}/{cell.name}",
        "version": __version__,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"processor": platform.machine(), "python": platform.python_version()},
        **facts,
        "seconds": round(seconds, 1),
        "command": _command(cell),
        "figures": measure.summary(results),
    }
    path = places.record(cell)
    write_record_file(path, record)
    places.unfinished(cell).unlink(missing_ok=True)
    return path


def _run_units(
    measure: Measure, unfinished: Path, facts: dict[str, Any], say: Say
) -> tuple[list[dict[str, Any]], float]:
    """Run the units of work that are not done yet, and return the results of all units and the seconds they took."""
    results, seconds_before = _read_unfinished(unfinished, facts)
    started, seconds = time.monotonic(), seconds_before
    for unit in range(len(results), measure.units):
        results.append(measure.run(unit))
        seconds = seconds_before + time.monotonic() - started
        write_record_file(unfinished, {"format": FORMAT, "cell": facts, "results": results, "seconds": seconds})
        remaining = seconds / len(results) * (measure.units - len(results))
        say(f"{len(results)} of {measure.units} done, about {_duration(remaining)} left")
    return results, seconds


def _facts(cell: Cell, study: Study) -> dict[str, Any]:
    """Return the facts that identify a cell, as JSON gives them back."""
    variants = dict.fromkeys(VARIANT_METHODS[name][0] for name in cell.methods if name in VARIANT_METHODS)
    facts = {
        "experiment": cell.experiment.name,
        "dataset": cell.dataset,
        "model": cell.model,
        "seed": cell.seed,
        "draws": cell.draws,
        "every": cell.every,
        "scale": cell.scale,
        "options": cell.options,
        "weights": study.weights,
        "variants": {name: study.fingerprint(name) for name in variants},
    }
    plain: dict[str, Any] = json.loads(json.dumps(facts))
    return plain


def _command(cell: Cell) -> str:
    model = f" --models {cell.model}" if cell.model else ""
    return (
        f"subcast reproduce {cell.experiment.name} --dataset {cell.dataset}{model} --draws {cell.draws} "
        f"--every {cell.every} --scale {cell.scale}" + (f" --seeds {cell.seed + 1}" if cell.seed else "")
    )


def _covers(path: Path, cell: Cell, study: Study) -> bool:
    """Return whether a record has the same options and models as the cell, and all of its draws and windows.

    A model that is not available now is not compared. A record without tallies is measured again. Every third window
    is not every fourth: a record has the windows of a cell only where the cell takes every window or every second,
    third, ... of those in the record.
    """
    record, facts = json.loads(path.read_text(encoding="utf-8")), _facts(cell, study)
    if record.get("options") != facts["options"]:
        return False
    if cell.experiment.measure in WITH_TALLIES and not has_tallies(record):
        return False
    if facts["weights"] is not None and record.get("weights") != facts["weights"]:
        return False
    available = {name: weights for name, weights in facts["variants"].items() if weights is not None}
    recorded = record.get("variants", available)
    if any(recorded.get(name) != weights for name, weights in available.items()):
        return False
    if "hardened" in record.get("left_out", {}) and study.has_trained("hardened"):
        return False
    return bool(record["draws"] >= cell.draws and cell.every % record["every"] == 0)


def _read_unfinished(path: Path, facts: dict[str, Any]) -> tuple[list[dict[str, Any]], float]:
    """Return the results of an interrupted cell and their seconds; none if it had other facts or another format."""
    if not path.exists():
        return [], 0.0
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError:
        return [], 0.0
    if (stored.get("format"), stored.get("cell")) != (FORMAT, facts):
        return [], 0.0
    return list(stored["results"]), float(stored["seconds"])


def _duration(seconds: float) -> str:
    minutes = seconds / 60
    if minutes < 1:
        return f"{seconds:.0f} s"
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
