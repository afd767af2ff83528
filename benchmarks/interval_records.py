"""Measure the prediction intervals beside quantile boosting on own past: coverage, width, interval score, pinball loss.

    python benchmarks/interval_records.py                       # all pairs that have a checkpoint and no record yet
    python benchmarks/interval_records.py tcn-metr-la-29 --again

Intervals of level 90 %, over all steps ahead, with 15, 50, 85 and 100 % of the variables present, on the test windows
of accuracy_records.py. `subcast, adapted` are the same intervals as a stream gives them with adapt=True: their width
follows the coverage of earlier forecasts of the test part, whose readings have come by then. The rival is one boosted
model for each bound, trained on every variable's own past and the calendar. The interval score is the width plus 20
times what lies outside, the mean over points; the pinball loss is the mean of both bounds. Writes
results/intervals-NAME.json.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import records
from accuracy_records import CHECKPOINTS, Pair, Size
from numpy.typing import NDArray

from subcast import SubsetForecaster, draw_subsets
from subcast.baselines import OwnPast
from subcast.limits import Limits
from subcast.subset.adaptive import AdaptiveWidths, counted, widened_within
from subcast.windows import Windows

NAMES = ("tcn-metr-la-29", "tcn-pems-bay-67", "tcn-beijing-pollutants", "tcn-clouds", "tcn-ecg5000-test-first")
LEVEL = 0.9
DRAWS = {0.15: 10, 0.5: 5, 0.85: 3, 1.0: 1}
SEED = 2022
_AT_ONCE = 256

Bounds = dict[str, tuple[NDArray[np.float32], NDArray[np.float32]]]
"""Lower and upper bounds of windows, [b, h, s] each, by method."""


def main() -> None:
    """Measure the pairs named on the command line."""
    parser = argparse.ArgumentParser(description="Measure the prediction intervals.")
    parser.add_argument("names", nargs="*", default=list(NAMES), help="names of the pairs, all by default")
    parser.add_argument("--again", action="store_true", help="also measure pairs that have a record")
    arguments = parser.parse_args()
    for name in arguments.names:
        if arguments.again or not (records.RESULTS / f"intervals-{name}.json").exists():
            run(name)


def run(name: str) -> None:
    """Measure one pair and write its record."""
    started = time.perf_counter()
    pair = Pair.named(name, CHECKPOINTS, Size())
    robust = pair.wrapper("mae")
    methods = (own_bounds(robust), quantile_bounds(pair))
    figures = {f"{share:.0%}": measure(methods, pair.test, draws_of(pair.n, share)) for share in DRAWS}
    records.write_record(
        f"intervals-{name}",
        figures,
        packages=("numpy", "scikit-learn"),
        command=f"python benchmarks/interval_records.py {name} --again",
        level=LEVEL,
        draws={f"{share:.0%}": count for share, count in DRAWS.items()},
        seed=SEED,
        test_windows=len(pair.test),
        variables=pair.n,
        minutes=round((time.perf_counter() - started) / 60, 1),
    )
    print(name, figures, flush=True)


def draws_of(n: int, share: float) -> list[NDArray[np.int64]]:
    """Return the draws of S."""
    return [np.sort(draw) for draw in draw_subsets(n, share=share, draws=DRAWS[share], seed=SEED)]


def own_bounds(robust: SubsetForecaster) -> Callable[[Windows, NDArray[np.int64]], Bounds]:
    """Return the bounds of the wrapper, and those that follow their coverage."""

    def bounds(windows: Windows, present: NDArray[np.int64]) -> Bounds:
        batches = (windows[first : first + _AT_ONCE] for first in range(0, len(windows), _AT_ONCE))
        forecasts = [robust.predict_many(batch, present=present, levels=(LEVEL,)) for batch in batches]
        mean, lower, upper = (
            np.concatenate([getattr(forecast, name) for forecast in forecasts]) for name in ("mean", "lower", "upper")
        )
        shares = np.concatenate([np.asarray(forecast.observed_share) for forecast in forecasts])
        plain = np.stack([lower, upper])
        follow = adapted(windows, present, mean, plain, shares, robust.limits_)
        return {"subcast": (lower, upper), "subcast, adapted": tuple(follow)}

    return bounds


def adapted(
    windows: Windows,
    present: NDArray[np.int64],
    mean: NDArray[np.float32],
    bounds: NDArray[np.float32],
    shares: NDArray[np.floating[Any]],
    limits: Limits | None,
) -> NDArray[np.float32]:
    """Return bounds [2, b, h, s] whose width follows the coverage of the windows before; windows are in order."""
    widths, result, last = AdaptiveWidths(LEVEL), np.empty_like(bounds), 0
    for number, start in enumerate(windows.starts):
        now = start + windows.lookback  # steps that have come
        for step in range(last, min(now, last + windows.horizon)):  # later ones are in no forecast
            widths = widths.scored(step, counted(windows.series.values[step, present], windows.protocol.name))
        last = now
        factor = widths.factor(float(shares[number]))
        result[:, number] = widened_within(mean[number], bounds[:, number], factor, limits, present)
        widths = widths.remembering(now - 1, float(shares[number]), result[:, number])
    return result


def quantile_bounds(pair: Pair) -> Callable[[Windows, NDArray[np.int64]], Bounds]:
    """Return the bounds of boosted quantiles on own past."""
    ends = [OwnPast.fit(pair.split.train, quantile=end) for end in ((1 - LEVEL) / 2, (1 + LEVEL) / 2)]
    return lambda windows, present: {"quantile boosting": (ends[0](windows, present), ends[1](windows, present))}


def measure(
    methods: Iterable[Callable[[Windows, NDArray[np.int64]], Bounds]], test: Windows, draws: list[NDArray[np.int64]]
) -> dict[str, dict[str, float]]:
    """Return coverage, width, interval score and pinball loss of each method over all draws, windows and steps."""
    sums: dict[str, NDArray[np.float64]] = {}
    points = 0
    for present in draws:
        truth = test.targets[:, :, present]
        known = ~np.isnan(truth)
        points += int(known.sum())
        for method in methods:
            for name, bounds in method(test, present).items():
                ends = (end[known].astype(np.float64) for end in bounds)
                sums[name] = sums.get(name, np.zeros(4)) + scores(*ends, truth[known].astype(np.float64))
    names = ("coverage", "width", "interval_score", "pinball")
    return {method: dict(zip(names, (each / points).tolist(), strict=True)) for method, each in sums.items()}


def scores(lower: NDArray[np.float64], upper: NDArray[np.float64], truth: NDArray[Any]) -> NDArray[np.float64]:
    """Return the sums of points inside, widths, interval scores and pinball losses, [4].

    >>> scores(np.array([0.0, 0.0]), np.array([1.0, 1.0]), np.array([0.5, 1.5])).round(3)
    array([ 1. ,  2. , 12. ,  0.3])
    """
    below, above = np.maximum(lower - truth, 0), np.maximum(truth - upper, 0)
    width, outside = upper - lower, 2 / (1 - LEVEL) * (below + above)
    losses = [np.maximum(end * (truth - bound), (end - 1) * (truth - bound)) for bound, end in
              ((lower, (1 - LEVEL) / 2), (upper, (1 + LEVEL) / 2))]  # fmt: skip
    inside = (below == 0) & (above == 0)
    return np.array([inside.sum(), width.sum(), (width + outside).sum(), (losses[0] + losses[1]).sum() / 2])


if __name__ == "__main__":
    main()
