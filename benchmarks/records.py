"""Helpers of all benchmarks: timing calls in turn, and writing a record."""

from __future__ import annotations

import datetime
import os
import platform
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from subcast import __version__
from subcast.experiments.record_files import write_record_file

RESULTS = Path(__file__).resolve().parent.parent / "results"


def seconds(call: Callable[[], object]) -> float:
    """Return the seconds that one call takes."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def in_turns(rounds: int, **calls: Callable[[], object]) -> dict[str, float]:
    """Return the median seconds of each call; calls alternate, so that a busy machine slows all of them."""
    durations: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            durations[name].append(seconds(call))
    return {name: statistics.median(each) for name, each in durations.items()}


def machine() -> dict[str, Any]:
    """Return processor, cores, system and Python of this machine."""
    model = platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text().splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    return {"cpu": model, "cores": os.cpu_count(), "system": platform.system(), "python": platform.python_version()}


def write_record(name: str, figures: dict[str, Any], packages: tuple[str, ...] = ("numpy",), **facts: Any) -> Path:
    """Write results/NAME.json: the figures with version, date, machine and further facts."""
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
    write_record_file(path, record)
    return path
