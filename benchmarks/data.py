"""What the data layer costs: windows without a copy, clouds on time, a quick import.

Run `python benchmarks/data.py`; it prints a table and writes results/data.json. Each part runs in a process of its
own, so that its peak memory is its own.
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
    """The most memory this process has held, in MB."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def windows_as_views() -> dict[str, float]:
    """Memory and time of all windows of a series of METR-LA's shape, as views and as copies."""
    import tracemalloc

    from subcast.series import Series

    series = Series(np.random.default_rng(0).normal(size=(STEPS, VARIABLES)).astype(np.float32))
    windows = series.windows(LOOKBACK, HORIZON)
    last = len(windows) - 1
    copied = np.stack([series.values[start : start + LOOKBACK] for start in range(0, last + 1, 500)])
    if not np.array_equal(windows.readings[::500], copied):
        raise SystemExit("the views and the copies differ: nothing was measured")
    tracemalloc.start()
    train, val, test = series.split(LOOKBACK, HORIZON)
    views = [view for part in (train, val, test) for view in (part.readings, part.targets)]
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
    """Seconds to generate the demo's field, import and all."""
    from subcast.datasets import load_dataset

    load_dataset("clouds")
    return {"peak_mb": peak_mb()}


def clouds_full() -> dict[str, float]:
    """Seconds and memory to generate a field of SOLAR's shape."""
    from subcast.datasets import load_dataset

    taken = seconds(lambda: load_dataset("clouds", n_plants=137, n_steps=52_560))
    return {"seconds": taken, "peak_mb": peak_mb()}


def importing() -> dict[str, float]:
    """Nothing but the import."""
    import subcast

    return {"names": len(subcast.__all__)}


PARTS = {part.__name__: part for part in (windows_as_views, clouds_demo, clouds_full, importing)}


def in_process(part: str) -> dict[str, float]:
    """Run a part in a fresh process; `wall_s` is all of it, start of Python included."""
    done: list[subprocess.CompletedProcess[str]] = []
    command = [sys.executable, __file__, part]
    wall = seconds(
        lambda: done.append(
            subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent)
        )
    )
    figures: dict[str, float] = json.loads(done[0].stdout)
    return {**figures, "wall_s": wall}


def main() -> None:
    """Measure every part, print a table, write a record."""
    figures = {part: in_process(part) for part in PARTS}
    windows, demo, full = figures["windows_as_views"], figures["clouds_demo"], figures["clouds_full"]
    table = Table(title=f"The data layer ({STEPS:,} x {VARIABLES} readings, {LOOKBACK} + {HORIZON} steps)")
    table.add_column("what")
    table.add_column("measured", justify="right")
    table.add_column("wanted", justify="right")
    table.add_row("the series itself", f"{windows['series_mb']:.1f} MB", "")
    table.add_row("all windows, if they were copies", f"{windows['windows_mb_if_copied']:,.0f} MB", "")
    table.add_row("all windows and the split, as views", f"{windows['windows_extra_mb']:.3f} MB more", "no second copy")
    table.add_row("making them, against copying the inputs", f"{windows['ratio']:,.0f} times faster", "")
    table.add_row("clouds, demo size, import and all", f"{demo['wall_s']:.2f} s", "< 3 s")
    table.add_row("clouds, 137 x 52,560", f"{full['seconds']:.1f} s", "< 60 s")
    table.add_row("its peak memory", f"{full['peak_mb']:.0f} MB", "< 1,000 MB")
    table.add_row("import subcast, start of Python included", f"{figures['importing']['wall_s']:.2f} s", "< 1 s")
    Console().print(table)
    print(f"record written to {write_record('data', figures, ('numpy', 'pandas'), seed=0).name}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(PARTS[sys.argv[1]]()))
    else:
        main()
