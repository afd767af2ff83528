"""Run the cells of an experiment: resumable, with progress, one record a cell."""

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
from subcast.errors import SubcastError
from subcast.experiments.declaration import Cell
from subcast.experiments.measures import make_measure
from subcast.experiments.methods import OF_VARIANTS
from subcast.experiments.study import Context, Study
from subcast.storage.files import whole_file

RESULTS = Path("results") / "reproduce"
Say = Callable[[str], None]


@dataclass(frozen=True)
class Places:
    """Where things are.

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
        """The record of a cell."""
        return self.results / cell.experiment.name / f"{cell.name}.json"

    def begun(self, cell: Cell) -> Path:
        """What is known of a cell that is not finished."""
        return self.record(cell).with_suffix(".begun")


def run_cells(
    cells: Sequence[Cell],
    places: Places,
    *,
    again: bool = False,
    say: Say = print,
    progress: bool = True,
) -> tuple[list[Path], dict[str, str]]:
    """Run the cells that have no record yet (or all, again): the records' paths, and what was passed over and why.

    Cells of one dataset and model share what is made of them, so they are best given one after the other. A cell that
    cannot be run (its data or its model is not there) is said and passed over.
    """
    written: list[Path] = []
    passed: dict[str, str] = {}
    study: Study | None = None
    for place, cell in enumerate(cells, 1):
        path, title = places.record(cell), f"{cell.experiment.name} {cell.name}"
        if study is None or not study.serves(cell):
            study = Study.of(cell, places.checkpoints, progress)
        if path.exists() and not again and _covers(path, cell, study):
            say(f"{title}: there already")
            written.append(path)
            continue
        try:
            run_cell(cell, places, study, say=say, heading=f"[{place}/{len(cells)}] ")
        except SubcastError as error:
            say(f"{title}: passed over, {error}")
            passed[title] = str(error)
            continue
        written.append(path)
    return written, passed


def run_cell(cell: Cell, places: Places, study: Study, *, say: Say = print, heading: str = "") -> Path:
    """Run one cell from where it was left, and write its record."""
    measure = make_measure(Context(cell, study))
    begun = places.begun(cell)
    facts = _facts(cell, study) | {"left_out": dict(measure.left_out)}
    results, spent = _read_begun(begun, facts)
    begun.parent.mkdir(parents=True, exist_ok=True)
    name = f"{heading}{cell.experiment.name} {cell.name}"
    for method, reason in measure.left_out.items():
        say(f"{name}: without {method}, {reason}")
    started = time.monotonic()
    for unit in range(len(results), measure.units):
        results.append(measure.run(unit))
        now = spent + time.monotonic() - started
        _write(begun, {"cell": facts, "results": results, "seconds": now})
        left = now / len(results) * (measure.units - len(results))
        say(f"{name}: {len(results)} of {measure.units}, about {_duration(left)} to go")
    record = {
        "record": f"{cell.experiment.name}/{cell.name}",
        "version": __version__,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"processor": platform.machine(), "python": platform.python_version()},
        **facts,
        "seconds": round(spent + time.monotonic() - started, 1),
        "command": _command(cell),
        "figures": measure.summary(results),
    }
    path = places.record(cell)
    _write(path, record)
    begun.unlink(missing_ok=True)
    return path


def _facts(cell: Cell, study: Study) -> dict[str, Any]:
    """What a cell is, as JSON gives it back."""
    variants = dict.fromkeys(OF_VARIANTS[name][0] for name in cell.methods if name in OF_VARIANTS)
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
    told: dict[str, Any] = json.loads(json.dumps(facts))
    return told


def _command(cell: Cell) -> str:
    model = f" --models {cell.model}" if cell.model else ""
    return (
        f"subcast reproduce {cell.experiment.name} --dataset {cell.dataset}{model} --draws {cell.draws} "
        f"--every {cell.every} --scale {cell.scale}" + (f" --seeds {cell.seed + 1}" if cell.seed else "")
    )


def _covers(path: Path, cell: Cell, study: Study) -> bool:
    """Whether a record is of the same thing, with at least as many draws and windows as are asked for.

    A model or a variant that is not at hand now cannot speak against a record.
    """
    record, facts = json.loads(path.read_text(encoding="utf-8")), _facts(cell, study)
    if record.get("options") != facts["options"]:
        return False
    if facts["weights"] is not None and record.get("weights") != facts["weights"]:
        return False
    known = {name: weights for name, weights in facts["variants"].items() if weights is not None}
    told = record.get("variants", known)
    if any(told.get(name) != weights for name, weights in known.items()):
        return False
    if "hardened" in record.get("left_out", {}) and study.has_trained("hardened"):
        return False
    return bool(record["draws"] >= cell.draws and record["every"] <= cell.every)


def _read_begun(path: Path, facts: dict[str, Any]) -> tuple[list[dict[str, Any]], float]:
    """The units that are done, if the cell was begun in the same way."""
    if not path.exists():
        return [], 0.0
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError:
        return [], 0.0
    if {"variants": facts["variants"], **stored.get("cell", {})} != facts:
        return [], 0.0
    return list(stored["results"]), float(stored["seconds"])


def _write(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _duration(seconds: float) -> str:
    minutes = seconds / 60
    if minutes < 1:
        return f"{seconds:.0f} s"
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
