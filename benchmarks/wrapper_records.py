"""Measure the wrapper on the models of record: gaps to the oracle, the ablation, and the coverage of intervals.

    python benchmarks/wrapper_records.py                       # all pairs that have a checkpoint and no record yet
    python benchmarks/wrapper_records.py tcn-ecg5000 --again   # measure a pair again
    python benchmarks/wrapper_records.py --list

Each pair is a model of record on its dataset. Every method sees the same test windows and the same draws of S; the
intervals of gaps resample draws of S and stretches of test windows. Writes results/wrapper-NAME.json, with the tallies
of errors by draw and stretch: `subcast.comparison.Comparison.from_record` computes any interval again from them.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import records
from numpy.typing import NDArray
from train_records import CHECKPOINTS, HORIZON, JOBS, Job

from subcast import SubsetForecaster, TrainedForecaster, draw_subsets
from subcast.forecasters.checkpoint import is_saved_forecaster
from subcast.comparison import Comparison
from subcast.evaluation import Method, evaluate, forecast_all, partial_inputs, wrapped
from subcast.windows import Split, Windows
from subcast.subset import Settings
from subcast.subset.arrived import Arrived
from subcast.subset.completion import complete, weigh_by_distance
from subcast.subset.experts.specialist import Specialist
from subcast.subset.fitted import Fitted
from subcast.subset.validation import split_validation
from subcast.subset.tuning import BLENDS, Tuner

SHARE, DRAWS, SEED, STEP = 0.15, 20, 2022, 12
EVERY = {"ecg5000": 3, "metr-la-29": 19, "pems-bay-67": 41, "clouds": 7}  # every Nth test window; none divides a day
DRAWS_OF_PARTS = 8  # the ablation uses the first of the draws
COVERAGE = {0.15: 20, 0.5: 10, 1.0: 1}
LEVEL = 0.9


def main() -> None:
    """Measure the pairs named on the command line."""
    parser = argparse.ArgumentParser(description="Measure the wrapper on the models of record.")
    parser.add_argument("names", nargs="*", help="names of the pairs, all by default")
    parser.add_argument("--again", action="store_true", help="also measure pairs that have a record")
    parser.add_argument("--list", action="store_true", help="show the pairs and which have a record")
    arguments = parser.parse_args()
    for job in JOBS:
        path = records.RESULTS / f"wrapper-{job.name}.json"
        ready = is_saved_forecaster(CHECKPOINTS / job.name) and job.dataset in EVERY
        if arguments.list:
            print(f"{job.name:<24} {'measured' if path.exists() else 'to do' if ready else 'no model yet'}")
            continue
        named = not arguments.names or job.name in arguments.names
        if ready and named and (arguments.again or not path.exists()):
            run(job)


def run(job: Job) -> None:
    """Measure one pair and write its record."""
    started = time.perf_counter()
    pair = Pair.load(job)
    print(f"{job.name}: {pair.tuned['mae']}", flush=True)
    passes = passes_a_window(pair)  # before the neighbors' own forecasts are known
    comparisons = {
        "main": evaluate(methods(pair), pair.test, pair.draws, progress=False),
        "parts": evaluate(parts(pair), pair.test, pair.draws[:DRAWS_OF_PARTS], progress=False),
    }
    # What is printed is computed from the rounded sums of the record, so that it can be computed again to the bit.
    comparisons = {name: Comparison.from_record(each.to_record(STEP)) for name, each in comparisons.items()}
    minutes = round((time.perf_counter() - started) / 60, 1)
    path = records.write_record(
        f"wrapper-{job.name}",
        figures(pair, comparisons, passes),
        packages=("numpy", "torch", "numba"),
        command=f"python benchmarks/wrapper_records.py {job.name} --again",
        model=job.model,
        dataset=job.dataset,
        protocol=pair.split.train.protocol.name,
        share=SHARE,
        draws=DRAWS,
        seed=SEED,
        minutes=minutes,
    )
    print(comparisons["main"].table(STEP)[["mae_gap", "rmse_gap"]].round(2).to_string())
    print(f"{job.name}: {path.name} written after {minutes} minutes", flush=True)


@dataclass(frozen=True)
class Pair:
    """A model of record on its dataset, wrapped in each way that is measured.

    Attributes
    ----------
    split, test
        all windows, and the test windows that are evaluated
    draws
        draws of S
    tuned
        the default of subcast, tuned for each metric
    published
        the published method
    oracle_forecasts
        the model's forecasts of the test windows, given all variables, [b, h, n]
    """

    split: Split
    test: Windows
    draws: NDArray[np.int64]
    tuned: dict[str, SubsetForecaster]
    published: SubsetForecaster
    oracle_forecasts: NDArray[np.float32]

    @classmethod
    def load(cls, job: Job) -> Pair:
        """Load the model of a training and fit all wrappers."""
        split = job.split()
        model = TrainedForecaster.load(CHECKPOINTS / job.name)
        test = split.test[:: EVERY[job.dataset]]
        return cls(
            split,
            test,
            draw_subsets(len(model.variables), share=SHARE, draws=DRAWS, seed=SEED),
            {metric: fit(model, split.train, split.val, metric=metric) for metric in ("mae", "rmse")},
            SubsetForecaster.paper(model, progress=False).fit(split.train),
            forecast_all(model, test),
        )


def methods(pair: Pair) -> dict[str, Method]:
    """Return the methods of the main comparison."""
    compared: dict[str, Method] = {
        "oracle": oracle(pair),
        "partial": partial_inputs(pair.tuned["mae"]),
        "fdw": wrapped(pair.published),
        "subcast": wrapped(pair.tuned["mae"]),
        "subcast, tuned for rmse": wrapped(pair.tuned["rmse"]),
    }
    for metric, robust in pair.tuned.items():
        blend = oracle_blend(robust, pair.split.val, metric, pair.oracle_forecasts, pair.test)
        compared[f"oracle with a specialist, tuned for {metric}"] = blend
    return compared


def parts(pair: Pair) -> dict[str, Method]:
    """Return the oracle and the parts of the default, one after the other."""
    robust = pair.tuned["mae"]
    settings_of_parts = ablation(robust.settings_)
    return {
        "oracle": oracle(pair),
        **{name: wrapped(robust.with_settings(settings)) for name, settings in settings_of_parts.items()},
    }


def oracle(pair: Pair) -> Method:
    """Return the model given all variables; its forecasts are computed once."""
    return lambda windows, present: rows_of(pair.oracle_forecasts, pair.test, windows)[:, :, present]


def figures(pair: Pair, comparisons: dict[str, Comparison], passes: dict[str, float]) -> dict[str, Any]:
    """Return the figures of the record: errors, gaps and intervals, and the tallies that give them again."""
    main, of_parts, tuned = comparisons["main"], comparisons["parts"], pair.tuned
    calibration = tuned["mae"].calibration_
    return {
        "step": STEP,
        "test_windows": len(pair.test),
        "every": pair.test.starts.step,
        "passes_a_window": passes,
        "methods": {name: main.row(name, STEP) for name in main.methods},
        "parts": {name: of_parts.row(name, STEP) for name in of_parts.methods if name != "oracle"},
        "draws_of_parts": DRAWS_OF_PARTS,
        "coverage": coverage(tuned["mae"], pair.test),
        "settings": {metric: robust.settings_.to_dict() for metric, robust in tuned.items()},
        "tuning": {metric: tuning_summary(robust.report_) for metric, robust in tuned.items()},
        "tried": tuned["mae"].report_["tried"],
        "expected_gap_percent": dict(
            zip(map(str, calibration.shares), calibration.gaps.tolist(), strict=True)  # type: ignore[union-attr]
        ),
        "tallies": {name: comparison.to_record(STEP) for name, comparison in comparisons.items()},
    }


def tuning_summary(report: dict[str, Any]) -> dict[str, Any]:
    """Return a report of tuning without the list of tried settings."""
    return {name: value for name, value in report.items() if name != "tried"}


def fit(model: TrainedForecaster, train: Windows, val: Windows, metric: str) -> SubsetForecaster:
    """Return the wrapper with its defaults."""
    return SubsetForecaster(model, metric=metric, progress=False).fit(train, val)


def ablation(settings: Settings) -> dict[str, Settings]:
    """Return the settings of the parts of the default, one after the other; without pooling, one pass a neighbor."""
    bare = replace(settings, blend={}, blend_absent={})
    five = replace(bare, pool=False, neighbors=5, weighting="uniform")
    return {
        "borrow, 5 passes": replace(five, correction=0.0),
        "corrected, 5 passes": replace(five, correction=1.0),
        "pooled, not corrected": replace(bare, correction=0.0),
        "pooled and corrected": replace(bare, correction=settings.correction or 1.0),
        "specialist alone": only_specialist(settings, HORIZON),
    }


def only_specialist(settings: Settings, horizon: int) -> Settings:
    """Return settings that forecast by the specialist alone."""
    return replace(settings, blend={Specialist.name: ((1.0,) * horizon,) * len(settings.shares)}, blend_absent={})


def rows_of(forecasts: NDArray[np.float32], test: Windows, batch: Windows) -> NDArray[np.float32]:
    """Return the rows of `forecasts` that belong to a batch of the test windows."""
    first = test.starts.index(batch.starts[0])
    return forecasts[first : first + len(batch)]


def oracle_blend(
    robust: SubsetForecaster, val: Windows, metric: str, oracle_forecasts: NDArray[np.float32], test: Windows
) -> Method:
    """Return the oracle blended with a specialist given all variables, with a share tuned on validation windows."""
    fitted = robust.fitted_
    all_variables = np.arange(fitted.n)
    settings = only_specialist(robust.settings_, fitted.horizon)
    index = split_validation(val)[0]
    index = index[:: max(1, len(index) // 150)]
    tuner = Tuner(fitted, val, index, metric, 0)
    expert = specialist_forecasts(fitted, tuner.arrived, settings)
    model = fitted.run(val.batch(index).inputs)
    errors = np.stack(
        [tuner.errors(model + np.float32(share) * (expert - model), all_variables) for share in BLENDS]
    )  # [shares, h]
    shares = BLENDS[errors.argmin(axis=0)].astype(np.float32)[:, None]  # [h, 1]
    blended = (1 - shares) * oracle_forecasts + shares * specialist_forecasts(fitted, fitted.arrive(test), settings)
    return lambda windows, present: rows_of(blended, test, windows)[:, :, present]


def specialist_forecasts(fitted: Fitted, arrived: Arrived, settings: Settings) -> NDArray[np.float32]:
    """Return the specialist's forecasts, given all variables, a few windows at a time, [b, h, n]."""
    all_variables, batches = np.arange(fitted.n), []
    for first in range(0, len(arrived), 128):
        batch = arrived[first : first + 128]
        neighbors = fitted.retrieve(batch, all_variables, settings.neighbors, settings.exponent)
        weights = weigh_by_distance(neighbors, settings)
        completed = complete(fitted, settings, batch, all_variables, neighbors, weights)
        batches.append(fitted.experts[Specialist.name].forecast(completed, all_variables))
    return np.concatenate(batches)


class CountingModel:
    """A forecaster that counts the windows it is given.

    Attributes
    ----------
    passes
        number of windows so far
    """

    def __init__(self, model: Any) -> None:
        self.model, self.passes = model, 0

    def __call__(self, inputs: NDArray[np.float32], wanted: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """Count the windows and return the model's forecasts."""
        self.passes += len(inputs)
        return np.asarray(self.model(inputs, wanted))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)


def passes_a_window(pair: Pair) -> dict[str, float]:
    """Return the model passes for each window of the published method and of the default."""
    wrappers = {"fdw": pair.published, "subcast": pair.tuned["mae"]}
    return {name: count_passes(robust, pair.test[:50], pair.draws[1]) for name, robust in wrappers.items()}


def count_passes(robust: SubsetForecaster, windows: Windows, present: NDArray[np.int64]) -> float:
    """Return the model passes for each window that is forecast, including those for the neighbors' own forecasts."""
    fitted = robust.fitted_
    counting = CountingModel(fitted.model)
    fitted.model = counting
    try:
        robust.predict_many(windows, present=present)
    finally:
        fitted.model = counting.model
    return counting.passes / len(windows)


def coverage(robust: SubsetForecaster, test: Windows) -> dict[str, Any]:
    """Return the share of test targets inside their interval, over all steps, and the mean width of the intervals."""
    n = len(robust.variables)
    figures = {}
    for share, count in COVERAGE.items():
        inside, width, points = 0.0, 0.0, 0
        for present in draw_subsets(n, share=share, draws=count, seed=SEED):
            present = np.sort(present)
            for first in range(0, len(test), 512):
                batch = test[first : first + 512]
                forecast = robust.predict_many(batch, present=present, levels=(LEVEL,))
                truth = batch.targets[:, :, present]
                known = ~np.isnan(truth)
                inside += float(((truth >= forecast.lower) & (truth <= forecast.upper))[known].sum())
                width += float((forecast.upper - forecast.lower)[known].sum())
                points += int(known.sum())
        figures[f"{share:.0%}"] = {"level": LEVEL, "coverage": inside / points, "width": width / points, "draws": count}
    return figures


if __name__ == "__main__":
    main()
