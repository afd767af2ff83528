"""Measure what each choice in the wrapper is worth, changing one setting at a time, on the TCNs of record.

    python benchmarks/wrapper_choices.py        # a few minutes; writes results/wrapper-choices.json

Validation windows are used, so that test windows decide no choice. For each variant, the record has the gap to the
oracle of the two parts of the forecast before they are blended: the model on completed windows, and the specialist.
Nothing is tuned: all variants start from the same settings.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import records
from train_records import CHECKPOINTS, HORIZON, JOBS
from wrapper_records import SHARE, rows_of

from subcast import SubsetForecaster, TrainedForecaster, draw_subsets
from subcast.evaluation import evaluate, forecast_all, wrapped
from subcast.subset import Settings
from subcast.subset.experts.specialist import Specialist

NAMES = ("tcn-ecg5000", "tcn-metr-la-29", "tcn-clouds")
DRAWS, SEED, STEP, WINDOWS = 4, 7, 12, 120
BASE = Settings(neighbors=20, correction=1.0, ridge=0.1)
VARIANTS: dict[str, dict[str, Any]] = {
    "as a start: 20 neighbors, exponent 0.5, ridge 0.1": {},
    "no daily profile": {"daily_profile": False},
    "daily profile, time of day not in the distance": {"time_of_day_weight": 0.0},
    "time of day in the distance, ten times as much": {"time_of_day_weight": 0.5},
    "one scale for all variables": {"per_variable": False},
    "5 neighbors": {"neighbors": 5},
    "50 neighbors": {"neighbors": 50},
    "100 neighbors": {"neighbors": 100},
    "exponent 1": {"exponent": 1.0},
    "exponent 2": {"exponent": 2.0},
    "neighbors weighted by distance, tau 0.1": {"weighting": "distance"},
    "neighbors weighted by rank": {"weighting": "rank"},
    "not corrected; specialist without regression": {"correction": 0.0, "regression_share": 0.0},
    "half corrected; specialist with half of it": {"correction": 0.5, "regression_share": 0.5},
    "ridge 0.01": {"ridge": 0.01},
    "ridge 1": {"ridge": 1.0},
    "ridge 10": {"ridge": 10.0},
    "specialist on the mean of the futures": {"center": "mean"},
}


def main() -> None:
    """Measure all variants and write the record."""
    figures = {job.name: measure(job) for job in JOBS if job.name in NAMES}
    records.write_record(
        "wrapper-choices", figures, packages=("numpy", "torch", "numba"), share=SHARE, draws=DRAWS, seed=SEED, step=STEP
    )


def measure(job: Any) -> dict[str, Any]:
    """Return the gaps of every variant for one model on its dataset."""
    split = job.split()
    model = TrainedForecaster.load(CHECKPOINTS / job.name)
    windows = split.val[:: max(1, len(split.val) // WINDOWS)]
    oracle_forecasts = forecast_all(model, windows)
    draws = draw_subsets(len(model.variables), share=SHARE, draws=DRAWS, seed=SEED)
    methods = {"oracle": lambda batch, present: rows_of(oracle_forecasts, windows, batch)[:, :, present]}
    for name, changes in VARIANTS.items():
        settings = replace(BASE, **changes)
        for part, share in (("model", 0.0), ("specialist", 1.0)):
            blend = {Specialist.name: ((share,) * HORIZON,) * len(settings.shares)}
            robust = SubsetForecaster(model, settings=replace(settings, blend=blend), progress=False).fit(split.train)
            methods[f"{name}|{part}"] = wrapped(robust)
    comparison = evaluate(methods, windows, draws, progress=False)
    variants = {
        name: {
            part: {f"{metric}_gap": comparison.gap(f"{name}|{part}", metric, STEP).gap for metric in ("mae", "rmse")}
            for part in ("model", "specialist")
        }
        for name in VARIANTS
    }
    print(job.name, variants, flush=True)
    return {"test_windows": len(windows), "variants": variants}


if __name__ == "__main__":
    main()
