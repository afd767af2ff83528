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
from subcast.atomic import whole_file
from subcast.errors import SubcastError
from subcast.experiments.context import Context, Study
from subcast.experiments.declare import Cell
from subcast.experiments.measures import make_measure

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
) -> list[Path]:
    """Run the cells that have no record yet (or all, again), and give the paths of the records there are.

    Cells of one dataset and model share what is made of them, so they are best given one after the other. A cell that
    cannot be run (its data or its model is not there) is said and passed over.
    """
    written = []
    study: Study | None = None
    for place, cell in enumerate(cells, 1):
        path, title = places.record(cell), f"{cell.experiment.name} {cell.name}"
        if path.exists() and not again and _covers(path, cell):
            say(f"{title}: there already")
            written.append(path)
            continue
        if study is None or not study.serves(cell):
            study = Study.of(cell, places.checkpoints, progress)
        try:
            run_cell(cell, places, study, say=say, heading=f"[{place}/{len(cells)}] ")
        except SubcastError as error:
            say(f"{title}: passed over, {error}")
            continue
        written.append(path)
    return written


def run_cell(cell: Cell, places: Places, study: Study, *, say: Say = print, heading: str = "") -> Path:
    """Run one cell from where it was left, and write its record."""
    measure = make_measure(Context(cell, study))
    begun = places.begun(cell)
    results, spent = _read_begun(begun, cell)
    begun.parent.mkdir(parents=True, exist_ok=True)
    name = f"{heading}{cell.experiment.name} {cell.name}"
    started = time.monotonic()
    for unit in range(len(results), measure.units):
        results.append(measure.run(unit))
        now = spent + time.monotonic() - started
        _write(begun, {"cell": _facts(cell), "results": results, "seconds": now})
        left = now / len(results) * (measure.units - len(results))
        say(f"{name}: {len(results)} of {measure.units}, about {_duration(left)} to go")
    record = {
        "record": f"{cell.experiment.name}/{cell.name}",
        "version": __version__,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"processor": platform.machine(), "python": platform.python_version()},
        **_facts(cell),
        "seconds": round(spent + time.monotonic() - started, 1),
        "command": _command(cell),
        "figures": measure.summary(results),
    }
    path = places.record(cell)
    _write(path, record)
    begun.unlink(missing_ok=True)
    return path


def _facts(cell: Cell) -> dict[str, Any]:
    return {
        "experiment": cell.experiment.name,
        "dataset": cell.dataset,
        "model": cell.model,
        "seed": cell.seed,
        "draws": cell.draws,
        "every": cell.every,
        "scale": cell.scale,
    }


def _command(cell: Cell) -> str:
    model = f" --models {cell.model}" if cell.model else ""
    return (
        f"subcast reproduce {cell.experiment.name} --dataset {cell.dataset}{model} --draws {cell.draws} "
        f"--every {cell.every} --scale {cell.scale}"
    )


def _covers(path: Path, cell: Cell) -> bool:
    """Whether a record has at least the draws and the windows asked for."""
    record = json.loads(path.read_text(encoding="utf-8"))
    return bool(record["draws"] >= cell.draws and record["every"] <= cell.every)


def _read_begun(path: Path, cell: Cell) -> tuple[list[dict[str, Any]], float]:
    """The units that are done, if the cell was begun in the same way."""
    if not path.exists():
        return [], 0.0
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError:
        return [], 0.0
    if stored.get("cell") != _facts(cell):
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
