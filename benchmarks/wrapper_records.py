"""How good the wrapper is: gaps to the oracle, the ablation, and the coverage of intervals, one record a pair.

    python benchmarks/wrapper_records.py                       # all pairs that have a checkpoint and no record yet
    python benchmarks/wrapper_records.py tcn-ecg5000 --again   # some of them, anew
    python benchmarks/wrapper_records.py --list

Each pair is a model of record on its dataset. Every method sees the same test windows and the same draws of S; gaps
carry paired bootstrap intervals over the draws. Writes results/wrapper-NAME.json.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import Any

import numpy as np
import records
from numpy.typing import NDArray
from train_records import CHECKPOINTS, JOBS, Job

from subcast import SubsetForecaster, TrainedForecaster, draw_subsets
from subcast.forecasters.checkpoint import is_saved_forecaster
from subcast.evaluation import Method, evaluate, forecast_all, partial_inputs, wrapped
from subcast.windows import Windows
from subcast.subset import Settings
from subcast.subset.validation import split_validation
from subcast.subset.tuning import BLENDS, Tuner

SHARE, DRAWS, SEED, STEP = 0.15, 20, 2022, 12
EVERY = {"ecg5000": 3, "metr-la-29": 19, "pems-bay-67": 41, "clouds": 7}  # no divisors of a day
FEWER = 8  # draws for the ablation, the first of the same
COVERAGE = {0.15: 20, 0.5: 10, 1.0: 1}
LEVEL = 0.9


def main() -> None:
    """Measure the pairs asked for."""
    parser = argparse.ArgumentParser(description="Measure the wrapper on the models of record.")
    parser.add_argument("names", nargs="*", help="which pairs, all by default")
    parser.add_argument("--again", action="store_true", help="also those that have a record")
    parser.add_argument("--list", action="store_true", help="show the pairs and which have a record")
    arguments = parser.parse_args()
    for job in JOBS:
        path = records.RESULTS / f"wrapper-{job.name}.json"
        ready = is_saved_forecaster(CHECKPOINTS / job.name) and job.dataset in EVERY
        if arguments.list:
            print(f"{job.name:<24} {'measured' if path.exists() else 'to do' if ready else 'no model yet'}")
            continue
        wanted = not arguments.names or job.name in arguments.names
        if ready and wanted and (arguments.again or not path.exists()):
            run(job)


def run(job: Job) -> None:
    """Measure one pair and write its record."""
    begun = time.perf_counter()
    split = job.split()
    model = TrainedForecaster.load(CHECKPOINTS / job.name)
    test = split.test[:: EVERY[job.dataset]]
    draws = draw_subsets(len(model.variables), share=SHARE, draws=DRAWS, seed=SEED)
    tuned = {metric: fit(model, split.train, split.val, metric=metric) for metric in ("mae", "rmse")}
    published = SubsetForecaster.paper(model, progress=False).fit(split.train)
    print(f"{job.name}: {tuned['mae']}", flush=True)
    plain = forecast_all(model, test)
    passes: dict[str, float] = {}
    methods: dict[str, Method] = {
        "oracle": lambda windows, present: pick(plain, test, windows)[:, :, present],
        "partial": partial_inputs(tuned["mae"]),
        "fdw": wrapped(published),
        "subcast": wrapped(tuned["mae"]),
        "subcast, tuned for rmse": wrapped(tuned["rmse"]),
    }
    for metric, robust in tuned.items():
        methods[f"oracle with a specialist, tuned for {metric}"] = oracle_blend(robust, split.val, metric, plain, test)
    parts = {"oracle": methods["oracle"]}
    for name, settings in ablation(tuned["mae"].settings).items():
        parts[name] = wrapped(tuned["mae"].with_settings(settings))
    for name, robust in (("fdw", published), ("subcast", tuned["mae"])):
        passes[name] = count_passes(robust, test[:50], draws[1])
    found = evaluate(methods, test, draws, progress=False)
    taken_apart = evaluate(parts, test, draws[:FEWER], progress=False)
    figures: dict[str, Any] = {
        "step": STEP,
        "test_windows": len(test),
        "every": EVERY[job.dataset],
        "passes_a_window": passes,
        "methods": {name: row(found, name) for name in methods},
        "parts": {name: row(taken_apart, name) for name in parts if name != "oracle"},
        "draws_of_parts": FEWER,
        "coverage": coverage(tuned["mae"], test),
        "settings": {metric: robust.settings_.to_dict() for metric, robust in tuned.items()},
        "tuning": {metric: short(robust.report_) for metric, robust in tuned.items()},
        "tried": tuned["mae"].report["tried"],
        "expected_gap_percent": dict(
            zip(map(str, tuned["mae"].calibration_.shares), tuned["mae"].calibration_.gaps.tolist(), strict=True)  # type: ignore[union-attr]
        ),
    }
    path = records.write_record(
        f"wrapper-{job.name}",
        figures,
        packages=("numpy", "torch", "numba"),
        command=f"python benchmarks/wrapper_records.py {job.name} --again",
        model=job.model,
        dataset=job.dataset,
        protocol=split.train.protocol.name,
        share=SHARE,
        draws=DRAWS,
        seed=SEED,
        minutes=round((time.perf_counter() - begun) / 60, 1),
    )
    print(found.table(STEP)[["mae_gap", "rmse_gap"]].round(2).to_string())
    print(f"{job.name}: {path.name} written after {(time.perf_counter() - begun) / 60:.1f} minutes", flush=True)


def short(report: dict[str, Any]) -> dict[str, Any]:
    """A report of tuning without the list of what was tried."""
    return {name: value for name, value in report.items() if name != "tried"}


def fit(model: TrainedForecaster, train: Windows, val: Windows, metric: str) -> SubsetForecaster:
    """The wrapper with its defaults, and time enough for the tuning on a busy machine too."""
    return SubsetForecaster(model, metric=metric, seconds=300, progress=False).fit(train, val)


def ablation(chosen: Settings) -> dict[str, Settings]:
    """The parts of the default, one after the other; each neighbor's own forecast where it is not pooled."""
    nothing = tuple((0.0,) * len(row) for row in chosen.blend)
    everything = tuple((1.0,) * len(row) for row in chosen.blend)
    bare = replace(chosen, blend=nothing, blend_absent=())
    five = replace(bare, pool=False, neighbors=5, weighting="uniform")
    return {
        "borrow, 5 passes": replace(five, correction=0.0),
        "corrected, 5 passes": replace(five, correction=1.0),
        "pooled, not corrected": replace(bare, correction=0.0),
        "pooled and corrected": replace(bare, correction=chosen.correction or 1.0),
        "specialist alone": replace(chosen, blend=everything, blend_absent=()),
    }


def pick(forecasts: NDArray[np.float32], test: Windows, part: Windows) -> NDArray[np.float32]:
    """The rows of `forecasts` that belong to a part of the test windows."""
    first = test.starts.index(part.starts[0])
    return forecasts[first : first + len(part)]


def oracle_blend(
    robust: SubsetForecaster, val: Windows, metric: str, plain: NDArray[np.float32], test: Windows
) -> Method:
    """The oracle blended with a specialist that sees all variables too, its share tuned on validation windows."""
    engine, _ = robust._fitted()
    everyone = np.arange(engine.n)
    settings = replace(robust.settings_, blend=tuple((1.0,) * engine.horizon for _ in robust.settings_.shares))
    places = split_validation(val)[0]
    places = places[:: max(1, len(places) // 150)]
    tuner = Tuner(engine, val, places, metric, 0)
    own = specialist(engine, tuner.arrived, everyone, settings)
    model = engine.run(val.batch(places).inputs, None)
    errors = np.stack([tuner.errors(model + np.float32(b) * (own - model), everyone) for b in BLENDS])
    blend = BLENDS[errors.argmin(axis=0)].astype(np.float32)[:, None]  # [h, 1]
    best = specialist(engine, engine.arrive(test), everyone, settings)
    mixed = (1 - blend) * plain + blend * best
    return lambda windows, present: pick(mixed, test, windows)[:, :, present]


def specialist(engine: Any, arrived: Any, everyone: NDArray[np.int64], settings: Settings) -> NDArray[np.float32]:
    """The specialist's forecasts with all variables in, a few windows at a time."""
    parts = []
    for first in range(0, len(arrived), 128):
        part = arrived[first : first + 128]
        done = engine.complete(part, everyone, settings, engine.find(part, everyone, settings))
        parts.append(engine.specialist(done, settings))
    return np.concatenate(parts)


def count_passes(robust: SubsetForecaster, windows: Windows, present: NDArray[np.int64]) -> float:
    """Windows sent through the model for each window forecast, those for the neighbors' own forecasts included."""
    engine, _ = robust._fitted()
    before = engine.passes
    robust.predict_many(windows, present=present)
    return (engine.passes - before) / len(windows)


def row(found: Any, name: str) -> dict[str, Any]:
    """Errors and gaps of one method at the step of record."""
    figures: dict[str, Any] = {}
    for metric in ("mae", "rmse"):
        errors = found.errors(name, metric, STEP)
        gap = found.gap(name, metric, STEP)
        figures |= {
            metric: float(errors.mean()),
            f"{metric}_deviation": float(errors.std(ddof=1)),
            f"{metric}_gap": gap.gap,
            f"{metric}_gap_interval": [gap.lower, gap.upper],
        }
    return figures


def coverage(robust: SubsetForecaster, test: Windows) -> dict[str, Any]:
    """The share of test targets inside their interval, over all steps, and its mean width."""
    n = len(robust.variables)
    figures = {}
    for share, count in COVERAGE.items():
        inside, width, points = 0.0, 0.0, 0
        for present in draw_subsets(n, share=share, draws=count, seed=SEED):
            present = np.sort(present)
            for first in range(0, len(test), 512):
                part = test[first : first + 512]
                forecast = robust.predict_many(part, present=present, levels=(LEVEL,))
                truth = part.targets[:, :, present]
                known = ~np.isnan(truth)
                inside += float(((truth >= forecast.lower) & (truth <= forecast.upper))[known].sum())
                width += float((forecast.upper - forecast.lower)[known].sum())
                points += int(known.sum())
        figures[f"{share:.0%}"] = {"level": LEVEL, "coverage": inside / points, "width": width / points, "draws": count}
    return figures


if __name__ == "__main__":
    main()
