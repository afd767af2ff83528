"""Measure the data layer: memory and time of windows, time of generating clouds, time of the import.

Run `python benchmarks/data.py`. It prints a table and writes results/data.json. Each measurement runs in a process of
its own, so that peak memory is measured separately.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from records import in_turns, seconds, write_record

STEPS, VARIABLES, LOOKBACK, HORIZON = 34_272, 207, 12, 12


def peak_mb() -> float:
    """Return the peak memory of this process in MB."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def windows_as_views() -> dict[str, float]:
    """Measure memory and time of all windows of a series with METR-LA's shape, as views and as copies."""
    import tracemalloc

    from subcast.series import Series

    series = Series(np.random.default_rng(0).normal(size=(STEPS, VARIABLES)).astype(np.float32))
    windows = series.windows(LOOKBACK, HORIZON)
    last = len(windows) - 1
    copied = np.stack([series.values[start : start + LOOKBACK] for start in range(0, last + 1, 500)])
    if not np.array_equal(windows.readings[::500], copied):
        raise SystemExit("the views and the copies differ, so the measurement is invalid")
    tracemalloc.start()
    train, val, test = series.split(LOOKBACK, HORIZON)
    views = [view for split in (train, val, test) for view in (split.readings, split.targets)]
    _, extra = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    if not all(np.shares_memory(view, series.values) for view in views):
        raise SystemExit("a window is not a view of the series")

    def as_copies() -> None:
        np.stack([series.values[start : start + LOOKBACK] for start in range(last + 1)])

    def as_views() -> None:
        _ = series.split(LOOKBACK, HORIZON).train.readings

    copies_s, views_s = in_turns(3, copies=as_copies, views=as_views).values()
    return {
        "series_mb": series.values.nbytes / 1e6,
        "windows_mb_if_copied": (last + 1) * (LOOKBACK + HORIZON) * VARIABLES * 4 / 1e6,
        "windows_extra_mb": extra / 1e6,
        "copying_s": copies_s,
        "views_s": views_s,
        "ratio": copies_s / views_s,
    }


def clouds_demo() -> dict[str, float]:
    """Generate the cloud field of the demo; the time includes the import."""
    from subcast.datasets import load_dataset

    load_dataset("clouds")
    return {"peak_mb": peak_mb()}


def clouds_full() -> dict[str, float]:
    """Measure time and memory of generating a cloud field with SOLAR's shape."""
    from subcast.datasets import load_dataset

    duration = seconds(lambda: load_dataset("clouds", n_plants=137, n_steps=52_560))
    return {"seconds": duration, "peak_mb": peak_mb()}


def importing() -> dict[str, float]:
    """Import the package and nothing else."""
    import subcast

    return {"names": len(subcast.__all__)}


MEASUREMENTS = {call.__name__: call for call in (windows_as_views, clouds_demo, clouds_full, importing)}


def in_process(measurement: str) -> dict[str, float]:
    """Run a measurement in a new process; `wall_s` is its whole duration, including the start of Python."""
    finished: list[subprocess.CompletedProcess[str]] = []
    command = [sys.executable, __file__, measurement]
    wall = seconds(
        lambda: finished.append(
            subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent)
        )
    )
    figures: dict[str, float] = json.loads(finished[0].stdout)
    return {**figures, "wall_s": wall}


def main() -> None:
    """Run all measurements, print a table and write a record."""
    figures = {name: in_process(name) for name in MEASUREMENTS}
    windows, demo, full = figures["windows_as_views"], figures["clouds_demo"], figures["clouds_full"]
    table = Table(title=f"The data layer ({STEPS:,} x {VARIABLES} readings, {LOOKBACK} + {HORIZON} steps)")
    table.add_column("quantity")
    table.add_column("measured", justify="right")
    table.add_column("target", justify="right")
    table.add_row("memory of the series", f"{windows['series_mb']:.1f} MB", "")
    table.add_row("memory of all windows as copies", f"{windows['windows_mb_if_copied']:,.0f} MB", "")
    table.add_row("extra memory of all windows as views", f"{windows['windows_extra_mb']:.3f} MB", "no second copy")
    table.add_row("views compared with copying the inputs", f"{windows['ratio']:,.0f} times faster", "")
    table.add_row("clouds of demo size, including the import", f"{demo['wall_s']:.2f} s", "< 3 s")
    table.add_row("clouds, 137 x 52,560", f"{full['seconds']:.1f} s", "< 60 s")
    table.add_row("clouds, 137 x 52,560, peak memory", f"{full['peak_mb']:.0f} MB", "< 1,000 MB")
    table.add_row("import subcast, including the start of Python", f"{figures['importing']['wall_s']:.2f} s", "< 1 s")
    Console().print(table)
    print(f"record written to {write_record('data', figures, ('numpy', 'pandas'), seed=0).name}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(MEASUREMENTS[sys.argv[1]]()))
    else:
        main()
