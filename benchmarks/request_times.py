"""Times of single requests at the shape of METR-LA with MTGNN: torch on one thread, as subcast holds it, against all.

    python benchmarks/request_times.py            # a few minutes; writes results/request-times.json
    python benchmarks/request_times.py --quick    # a smaller shape and fewer requests; writes nothing

The forecasts of both ways are first checked to be equal. Both ways and a loop of fixed work then take turns in blocks
of ten, so that a busy machine slows all of them: the times of the loop show how much of the spread is the machine's.
Requests of two clients at once, and a batch, are measured too.
"""

from __future__ import annotations

import argparse
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import records
import torch
from rich.console import Console
from wrapper import LOOKBACK, SHARE, chosen, spread, traffic

from subcast import SubsetForecaster, draw_subsets, load
from subcast.forecasters import trained
from subcast.forecasters.trained import TrainedForecaster
from subcast.training.loop import processor_threads
from subcast.windows import Split

BLOCK = 10  # requests of one way before the turn of the next
FIXED_SECONDS = 0.01  # about what the loop of fixed work takes
TOLERANCE = 1e-4


def main() -> None:
    """Measure, show, and write the record."""
    parser = argparse.ArgumentParser(description="Measure the times of single requests.")
    parser.add_argument("--quick", action="store_true", help="a small shape; nothing is written")
    parser.add_argument(
        "--work", type=Path, default=records.RESULTS.parent / "runs", help="folder where the fitted wrapper is kept"
    )
    arguments = parser.parse_args()
    quick = arguments.quick
    steps, n, requests = (4_000, 40, 40) if quick else (34_272, 207, 300)
    split, model = traffic(steps, n)
    present = np.sort(draw_subsets(n, share=SHARE, draws=1, seed=0)[0])
    robust = fitted_wrapper(split, model, arguments.work / f"request-wrapper-{n}")
    frame = split.test.series.to_frame().iloc[:, present]
    load_before = os.getloadavg()
    figures: dict[str, Any] = {
        "shape": {"steps": steps, "variables": n, "present": len(present)},
        "threads_of_torch": torch.get_num_threads(),
        "largest_difference": largest_difference(robust, frame),
        "one_client": one_client(robust, frame, requests),
        "two_clients": two_clients(robust, frame, requests // 2),
        "batch_of_128_seconds": batches(robust, split.test[:128], present),
    }
    figures["load_of_the_machine"] = {"before": load_before, "after": os.getloadavg()}
    Console().print_json(data=figures)
    if not quick:
        note = "the machine was not idle: other processes used its processors; compare with the loop of fixed work"
        records.write_record("request-times", figures, packages=("numpy", "torch", "numba"), note=note)


def fitted_wrapper(split: Split, model: TrainedForecaster, folder: Path) -> SubsetForecaster:
    """Return the wrapper as a server has it, loaded from a folder; unless it is there, it is fitted and saved first."""
    if folder.exists() and (kept := load(folder)).settings_ == chosen():
        return kept
    with processor_threads(1):  # on a busy machine, fitting with all threads takes very long
        robust = SubsetForecaster(model, settings=chosen(), progress=False).fit(split.train, split.val[::40])
    robust.save(folder)
    return load(folder)


@contextmanager
def all_threads() -> Iterator[None]:
    """Let torch use all threads for a single window too, as before."""
    usual = trained.threads_for
    trained.threads_for = lambda *_: nullcontext()  # type: ignore[assignment]
    try:
        yield
    finally:
        trained.threads_for = usual


WAYS = {"all_threads": all_threads, "one_thread": nullcontext}


def largest_difference(robust: SubsetForecaster, frame: pd.DataFrame) -> float:
    """Return the largest difference between the forecasts of both ways; raise if they are not equal."""
    worst = 0.0
    for place in range(20):
        forecasts = []
        for way in WAYS.values():
            with way():
                forecasts.append(robust.predict(frame.iloc[place : place + LOOKBACK]).mean)
        worst = max(worst, float(np.abs(forecasts[0] - forecasts[1]).max()))
    if worst > TOLERANCE:
        raise SystemExit(f"the forecasts on one thread and on all threads differ by {worst}")
    return worst


def one_client(robust: SubsetForecaster, frame: pd.DataFrame, requests: int) -> dict[str, Any]:
    """Return the times of requests one after the other, and of a loop of fixed work between them."""
    rounds = count_rounds()
    taken: dict[str, list[float]] = {name: [] for name in (*WAYS, "fixed_work")}
    for first in range(0, requests, BLOCK):
        for name, way in WAYS.items():
            with way():
                taken[name] += timed(robust, frame, range(first, first + BLOCK))
            taken["fixed_work"] += [records.seconds(lambda: fixed_work(rounds)) for _ in range(BLOCK)]
    return with_ratios(spread(taken))


def two_clients(robust: SubsetForecaster, frame: pd.DataFrame, requests: int) -> dict[str, Any]:
    """Return the times of requests of two clients at once, each in a thread of its own."""
    taken: dict[str, list[float]] = {name: [] for name in WAYS}

    def client(name: str, places: range) -> None:
        taken[name] += timed(robust, frame, places)

    for first in range(0, requests // 2, BLOCK):
        for name, way in WAYS.items():
            places = range(first, first + BLOCK)
            threads = [threading.Thread(target=client, args=(name, places)) for _ in range(2)]
            with way():
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
    return with_ratios(spread(taken))


def batches(robust: SubsetForecaster, windows: Any, present: Any) -> dict[str, float]:
    """Return the median seconds of a batch in both ways: it uses all threads in both."""

    def batch(way: Any) -> None:
        with way():
            robust.predict_many(windows, present=present)

    calls = {name: lambda way=way: batch(way) for name, way in WAYS.items()}
    return records.in_turns(3, **calls)


def timed(robust: SubsetForecaster, frame: pd.DataFrame, places: range) -> list[float]:
    """Return the seconds of each request: a frame in, a Forecast out."""
    taken = []
    for place in places:
        recent = frame.iloc[place : place + LOOKBACK]
        began = time.perf_counter()
        robust.predict(recent)
        taken.append(time.perf_counter() - began)
    return taken


def fixed_work(rounds: int) -> int:
    """Add numbers in a loop: the same work each time, on one thread."""
    total = 0
    for number in range(rounds):
        total += number
    return total


def count_rounds() -> int:
    """Return how many rounds of the loop take about as long as a request."""
    fastest = min(records.seconds(lambda: fixed_work(100_000)) for _ in range(10))
    return int(100_000 * FIXED_SECONDS / fastest)


def with_ratios(times: dict[str, Any]) -> dict[str, Any]:
    """Add the 99th percentile as a multiple of the median."""
    return {name: {**row, "p99_to_median": row["p99_ms"] / row["median_ms"]} for name, row in times.items()}


if __name__ == "__main__":
    main()
