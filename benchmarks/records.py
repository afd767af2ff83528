"""What every benchmark shares: timing two sides in turn, and writing a record."""

from __future__ import annotations

import datetime
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from subcast import __version__
from subcast.storage.files import whole_file

RESULTS = Path(__file__).resolve().parent.parent / "results"


def seconds(call: Callable[[], object]) -> float:
    """How long one call takes."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def in_turns(rounds: int, **calls: Callable[[], object]) -> dict[str, float]:
    """Median seconds of each call, made in turn so that a busy spell of the machine hits all."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            taken[name].append(seconds(call))
    return {name: statistics.median(each) for name, each in taken.items()}


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    model = platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text().splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    return {"cpu": model, "cores": os.cpu_count(), "system": platform.system(), "python": platform.python_version()}


def write_record(name: str, figures: dict[str, Any], packages: tuple[str, ...] = ("numpy",), **facts: Any) -> Path:
    """Write results/NAME.json: the figures with version, date, machine and whatever else is told."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    record = {
        "record": name,
        "version": __version__,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "packages": {package: version(package) for package in packages},
        **facts,
        "figures": figures,
    }
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(record, indent=2) + "\n")
    return path
