"""Measure the default beside the Oracle and two rivals when readings go missing as they do in practice.

    python benchmarks/missingness_records.py                          # all pairs of the table that have a checkpoint
    python benchmarks/missingness_records.py tcn-metr-la-29 --again
    python benchmarks/missingness_records.py linear-clouds-seed3 --draws 2 --windows 60 --effort 0.2 --to /tmp/trial

Patterns, each at 5, 15, 30, 50 and 85 % of the variables present and with all but one present:

    absent    S is drawn; its readings are complete
    dies      in every window, each variable of S falls silent at a random step with a chance of 30 %, for good
    streaks   each variable of S is silent 20 % of the time, in streaks of 24 steps on average
    bursts    whole clusters of correlated variables of S are silent 20 % of the time, in streaks of 24 steps on average
    rising    all variables are there when the test period begins; they fail one after the other until S is left

In the last three, S differs from window to window. A window is forecast from, and scored on, the variables that have at
least one reading in it; the Oracle sees every reading. The default is asked with the variables that arrived; `own past`
and `ridge on S` are given the window with its holes (the ridge is fitted for the drawn S, and a variable that is silent
counts as usual). The drawn S holds all variables for `rising`. Writes results/missingness-NAME.json.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import records
from accuracy_records import CHECKPOINTS, METRICS, SEED, STEP, Pair, Size, table_pairs
from numpy.typing import NDArray

from subcast import SubsetForecaster, baselines, draw_subsets
from subcast.comparison import Comparison, Tally
from subcast.errors import DataWarning
from subcast.evaluation import oracle
from subcast.metrics import sum_by_window
from subcast.subsets import cluster_variables, subset_size
from subcast.windows import Windows

SHARES = (0.05, 0.15, 0.3, 0.5, 0.85)
ALL_BUT_ONE = "all but one"
DRAWS, WINDOWS = 6, 300
SILENT, STREAK = 0.2, 24  # share of the time that is silent, and steps of a streak on average
DIES = 0.3
CLUSTERS = 5


def main() -> None:
    """Measure the pairs named on the command line."""
    parser = argparse.ArgumentParser(description="Measure the default when readings go missing as they do in practice.")
    parser.add_argument("names", nargs="*", help="pairs such as tcn-metr-la-29 or linear-traffic-20, all by default")
    parser.add_argument("--again", action="store_true", help="also measure pairs that have a record")
    parser.add_argument("--draws", type=int, default=DRAWS, help="draws of S")
    parser.add_argument("--windows", type=int, default=WINDOWS, help="about as many test windows")
    parser.add_argument("--effort", type=float, default=1.0, help="effort of tuning")
    parser.add_argument("--to", type=Path, default=records.RESULTS, help="folder for the records")
    parser.add_argument("--checkpoints", type=Path, nargs="*", default=[], help="further folders of trained models")
    arguments = parser.parse_args()
    sizes = (arguments.draws, arguments.windows, arguments.effort)
    if sizes != (DRAWS, WINDOWS, 1.0) and arguments.to == records.RESULTS:
        parser.error("--draws, --windows and --effort are for trials: give --to, a folder outside of results")
    records.RESULTS = arguments.to  # where records are written
    folders = (*CHECKPOINTS, *arguments.checkpoints)
    for name in arguments.names or table_pairs(folders):
        if arguments.again or not (arguments.to / f"missingness-{name}.json").exists():
            run(Pair.named(name, folders, Size(arguments.draws, None, arguments.effort)), arguments.windows)


def run(pair: Pair, count: int) -> None:
    """Measure a pair under every pattern and write its record."""
    started = time.perf_counter()
    test = spaced(pair.split.test, count)
    methods = fit_methods(pair)
    cells = {}
    for pattern in PATTERNS:
        for label, size in sizes_of(pair.n).items():
            cells[f"{pattern}, {label}"] = measure(pair, test, methods, pattern, size)
            print(f"{pair.name} {pattern}, {label}: {summary(cells[f'{pattern}, {label}'])}", flush=True)
    minutes = round((time.perf_counter() - started) / 60, 1)
    records.RESULTS.mkdir(parents=True, exist_ok=True)
    records.write_record(
        f"missingness-{pair.name}",
        {"step": STEP, "test_windows": len(test), "every": test.starts.step, "cells": cells},
        packages=("numpy", "torch", "numba", "scikit-learn"),
        command=f"python benchmarks/missingness_records.py {pair.name} --again",
        pair=pair.name,
        model=pair.kind,
        dataset=pair.dataset,
        variables=pair.n,
        draws=pair.size.draws,
        seed=SEED,
        minutes=minutes,
    )
    print(f"{pair.name}: finished after {minutes} minutes", flush=True)


def spaced(test: Windows, count: int) -> Windows:
    """Return about `count` test windows whose inputs share no step, so that each can have holes of its own."""
    step = max(test.lookback + 1, len(test) // count)
    while step % 2 == 0 or step % 3 == 0:  # so that windows do not always begin at the same hours
        step += 1
    return test[::step]


def sizes_of(n: int) -> dict[str, int]:
    """Return the numbers of present variables by label; sizes that are equal, with few variables, appear once."""
    sizes: dict[str, int] = {}
    for share in SHARES:
        size = subset_size(n, share)
        if size < n - 1 and size not in sizes.values():
            sizes[f"{share:.0%}"] = size
    return {**sizes, ALL_BUT_ONE: n - 1} if n > 1 else sizes


# Patterns: which readings of the test series arrive, [t, n], given the windows and S of a draw


def absent(test: Windows, pair: Pair, present: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return the readings of S."""
    arrives = np.zeros(test.series.values.shape, dtype=bool)
    arrives[:, present] = True
    return arrives


def dies(test: Windows, pair: Pair, present: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return the readings of S until a variable dies: after the first step of a window, before its last."""
    arrives = absent(test, pair, present, rng)
    for start in test.starts:
        silent_from = rng.integers(1, test.lookback, size=len(present))
        silent_from[rng.random(len(present)) >= DIES] = test.lookback
        steps = np.arange(test.lookback)[:, None]
        arrives[start : start + test.lookback, present] &= steps < silent_from
    return arrives


def streaks(test: Windows, pair: Pair, present: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return the readings of S without streaks, which begin at each variable on its own."""
    return absent(test, pair, present, rng) & ~silent_streaks(test.series.values.shape, rng)


def bursts(test: Windows, pair: Pair, present: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return the readings of S without streaks in which whole clusters are silent."""
    wanted = min(CLUSTERS, max(1, pair.n // 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # the nearest possible number of clusters will do
        labels = cluster_variables(pair.split.train.series.values[::7], wanted).labels
    return absent(test, pair, present, rng) & ~silent_streaks((len(test.series), labels.max() + 1), rng)[:, labels]


def rising(test: Windows, pair: Pair, present: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return all readings at first; the variables outside of S fail one after the other, at equal distances."""
    lost = rng.permutation(np.setdiff1d(np.arange(pair.n), present))
    fails_at = np.full(pair.n, len(test.series))
    fails_at[lost] = np.linspace(0, len(test.series), len(lost) + 2)[1:-1].astype(np.int64)
    return np.arange(len(test.series))[:, None] < fails_at


PATTERNS: dict[str, Callable[..., NDArray[np.bool_]]] = {
    "absent": absent,
    "dies": dies,
    "streaks": streaks,
    "bursts": bursts,
    "rising": rising,
}


def silent_streaks(shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return which steps are silent, [t, columns]: a chain with streaks of `STREAK` steps, `SILENT` of the time."""
    ends, begins = 1 / STREAK, SILENT / (1 - SILENT) / STREAK
    chance = rng.random(shape)
    silent = np.zeros(shape, dtype=bool)
    silent[0] = chance[0] < SILENT
    for step in range(1, shape[0]):
        silent[step] = np.where(silent[step - 1], chance[step] >= ends, chance[step] < begins)
    return silent


# Methods


@dataclass(frozen=True)
class Fitted:
    """What is compared: the default and two rivals for each metric, and the Oracle."""

    defaults: dict[str, SubsetForecaster]
    own_past: dict[str, baselines.OwnPast]
    ridge: baselines.ProfileRidge


def fit_methods(pair: Pair) -> Fitted:
    """Fit everything once."""
    rows = int(300_000 * pair.size.effort)
    return Fitted(
        {metric: robust for metric, (robust, _) in pair.tuned.items()},
        {metric: baselines.OwnPast.fit(pair.split.train, metric=metric, most_rows=rows) for metric in METRICS},
        baselines.ProfileRidge.fit(pair.split.train),
    )


def measure(pair: Pair, test: Windows, methods: Fitted, pattern: str, size: int) -> dict[str, Any]:
    """Return errors and gaps of every method under a pattern, over all draws of S."""
    tallies: dict[str, list[Tally]] = {}
    draws, shares = draw_subsets(pair.n, None, pair.size.draws, count=size, seed=SEED), []
    for number, present in enumerate(draws):
        rng = np.random.default_rng([SEED, number, list(PATTERNS).index(pattern), size])
        arrives = PATTERNS[pattern](test, pair, present, rng)
        holed, scored = apply(test, arrives)
        shares.append(float(scored.mean()))
        asked = np.arange(pair.n) if pattern == "rising" else present
        targets = np.where(scored[:, None, :], test.targets, np.nan)
        for name, forecast in forecasts(methods, test, holed, scored, asked):
            sums = sum_by_window(np.where(np.isnan(targets), 0.0, forecast), targets)
            tallies.setdefault(name, []).append(Tally.of_windows(sums, steps=(STEP,)))
    joined = {name: Tally.join(own) for name, own in tallies.items()}
    comparison = Comparison.from_record(Comparison(joined, list(draws), test.starts).to_record(STEP))
    return {
        "present_variables": size,
        "share_with_a_reading": float(np.mean(shares)),
        "methods": {name: comparison.row(name, STEP) for name in comparison.methods},
        "gaps_of_default": {metric: rival_gaps(comparison, metric) for metric in METRICS},
        "tallies": comparison.to_record(STEP),
    }


def apply(test: Windows, arrives: NDArray[np.bool_]) -> tuple[Windows, NDArray[np.bool_]]:
    """Return the windows with NaN where no reading arrives, and which variables have a reading in each, [b, n]."""
    values = np.where(arrives, test.series.values, np.float32(np.nan))
    holed = replace(test, series=replace(test.series, values=values), target_values=test.target_values)
    return holed, ~np.isnan(holed.readings).all(axis=1)


def forecasts(
    methods: Fitted, test: Windows, holed: Windows, scored: NDArray[np.bool_], asked: NDArray[np.int64]
) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Yield name and forecasts [b, h, n] of each method; what is not scored is NaN."""
    everything = np.arange(scored.shape[1])
    yield "oracle", oracle(methods.defaults["mae"])(test, everything)
    for metric in METRICS:
        yield f"subcast ({metric})", forecast_what_arrived(methods.defaults[metric], holed, scored)
        yield f"own past ({metric})", widened(methods.own_past[metric](holed, asked), asked, scored)
    yield "ridge on S", widened(methods.ridge(holed, asked), asked, scored)


def widened(forecast: NDArray[np.float32], variables: NDArray[np.int64], scored: NDArray[np.bool_]) -> NDArray[Any]:
    """Return forecasts of some variables as forecasts of all, NaN for the others."""
    wide = np.full((*forecast.shape[:2], scored.shape[1]), np.nan, dtype=np.float32)
    wide[:, :, variables] = forecast
    return wide


def forecast_what_arrived(robust: SubsetForecaster, holed: Windows, scored: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return the wrapper's forecasts [b, h, n], asking for windows with the same variables together."""
    forecast = np.full((len(holed), holed.horizon, scored.shape[1]), np.nan, dtype=np.float32)
    subsets, group = np.unique(scored, axis=0, return_inverse=True)
    times = holed.series.times
    starts = np.asarray(holed.starts, dtype=np.int64)
    for number, has_reading in enumerate(subsets):
        rows, present = np.flatnonzero(group.ravel() == number), np.flatnonzero(has_reading)
        if present.size:
            begins = None if times is None else times[starts[rows]]
            result = robust.predict_many(holed.batch(rows).inputs, present=present, times=begins, levels=())
            forecast[rows[:, None], :, present] = np.moveaxis(result.mean, 2, 1)
    return forecast


def rival_gaps(comparison: Comparison, metric: str) -> dict[str, Any]:
    """Return the gaps of the default to the Oracle and to each rival."""
    bases = ("oracle", f"own past ({metric})", "ridge on S")
    gaps = {base: comparison.gap(f"subcast ({metric})", metric, STEP, base=base) for base in bases}
    return {base: {"gap": gap.gap, "interval": gap.interval} for base, gap in gaps.items()}


def summary(cell: dict[str, Any]) -> str:
    """Return the gaps of a cell in one line."""
    texts = []
    for metric, gaps in cell["gaps_of_default"].items():
        texts.append(f"{metric} " + ", ".join(f"{base} {gap['gap']:+.1f}" for base, gap in gaps.items()))
    return f"{cell['share_with_a_reading']:.0%} have a reading; default against: " + "; ".join(texts)


if __name__ == "__main__":
    main()
