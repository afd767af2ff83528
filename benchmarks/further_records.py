"""Measure the default beside simple rivals on data that are in no other table, and on which nothing was chosen.

    python benchmarks/further_records.py                       # all sets that have no record
    python benchmarks/further_records.py walks growth --again
    python benchmarks/further_records.py walks --effort 0.1 --draws 2 --to /tmp/trial

The model is a ridge regression over all variables. Generated sets have 20 variables and an hour a step:

    walks     random walks that share three others: nothing but the last reading can be known
    growth    daily cycles and levels that grow with time, with disturbances that variables share
    load      a daily and weekly pattern times levels that walk slowly, as consumers of electricity have
    regimes   daily cycles; every few days the mean and the size of what all variables share change at once
    seasons   an observation a day: a year and a week, with disturbances that variables share

Real ones: `exchange-rate` (8 rates, daily), `weather` (temperature, pressure, dew point, wind of eight stations of the
Beijing air data, hourly). Seeds differ from those that were looked at while the method was made. Writes
results/further-NAME.json with the tallies of errors by draw and stretch.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import records
from accuracy_records import METRICS, RidgeModel, thin
from numpy.typing import NDArray

from subcast import SubsetForecaster, baselines, draw_subsets
from subcast.comparison import Comparison
from subcast.datasets import load_dataset
from subcast.errors import FitWarning, InputError
from subcast.evaluation import Method, evaluate, oracle, wrapped
from subcast.series import Series
from subcast.windows import Windows

SHARES, DRAWS, WINDOWS = (0.15, 0.5), 10, 250
SEED, VARIABLES, HOURS, DAYS = 4101, 20, 6000, 2200
STATIONS = ("Aotizhongxin", "Changping", "Dongsi", "Gucheng", "Huairou", "Shunyi", "Wanliu", "Wanshouxigong")
WEATHER = ("TEMP", "PRES", "DEWP", "WSPM")

Values = NDArray[np.float64]


def disturbances(rng: np.random.Generator, steps: int, memory: float, own: float, common: float) -> Values:
    """Return what variables share and what each has alone, [steps, n], forgotten at a rate."""
    noise = own * rng.normal(size=(steps, VARIABLES)) + common * rng.normal(size=(steps, 1))
    values = np.zeros_like(noise)
    for step in range(1, steps):
        values[step] = memory * values[step - 1] + noise[step]
    return values


def walks(rng: np.random.Generator) -> Values:
    """Return random walks."""
    shared = np.cumsum(rng.normal(size=(HOURS, 3)), axis=0) @ rng.normal(size=(3, VARIABLES))
    return shared + np.cumsum(0.5 * rng.normal(size=(HOURS, VARIABLES)), axis=0)


def growth(rng: np.random.Generator) -> Values:
    """Return cycles and levels that grow."""
    time_ = np.arange(HOURS)[:, None]
    size, phase, slope = (rng.uniform(low, high, VARIABLES) for low, high in ((2, 5), (0, 0.6), (10, 50)))
    cycle = size * np.sin(2 * np.pi * time_ / 24 + phase) * (1 + time_ / HOURS)
    return 10 + cycle + slope * time_ / HOURS + disturbances(rng, HOURS, 0.9, 0.4, 0.5)


def load(rng: np.random.Generator) -> Values:
    """Return a daily and weekly pattern times levels that walk slowly."""
    time_ = np.arange(HOURS)[:, None]
    phase = rng.uniform(0, 3, VARIABLES)
    day = 1 + 0.5 * np.sin(2 * np.pi * time_ / 24 - 2) + 0.2 * np.sin(4 * np.pi * time_ / 24 + phase)
    week = np.where((time_ // 24 + 2) % 7 >= 5, rng.uniform(0.5, 0.9, VARIABLES), 1)
    level = rng.uniform(50, 500, VARIABLES) * np.exp(np.cumsum(0.004 * rng.normal(size=(HOURS, VARIABLES)), axis=0))
    noise = 0.05 * rng.normal(size=(HOURS, VARIABLES))
    return level * day * week * np.exp(disturbances(rng, HOURS, 0.95, 0.02, 0.02) + noise)


def regimes(rng: np.random.Generator) -> Values:
    """Return cycles whose common part changes its mean and size every few days."""
    time_ = np.arange(HOURS)[:, None]
    regime = np.cumsum(rng.random(HOURS) < 1 / 100)
    mean, size = rng.normal(size=regime[-1] + 1)[regime], rng.uniform(0.3, 2, regime[-1] + 1)[regime]
    shared = disturbances(rng, HOURS, 0.9, 0.0, 0.5)[:, :1] * size[:, None] + mean[:, None]
    cycle = rng.uniform(1, 3, VARIABLES) * np.sin(2 * np.pi * time_ / 24 + rng.uniform(0, 2, VARIABLES))
    return cycle + shared * rng.uniform(0.3, 1.5, VARIABLES) + disturbances(rng, HOURS, 0.8, 0.4, 0.0)


def seasons(rng: np.random.Generator) -> Values:
    """Return a year and a week."""
    day = np.arange(DAYS)[:, None]
    year = 8 * np.sin(2 * np.pi * day / 365.25 + rng.uniform(0, 1, VARIABLES))
    week = 2 * rng.normal(size=(7, VARIABLES))[np.arange(DAYS) % 7]
    return 20 + year + week + disturbances(rng, DAYS, 0.7, 1.0, 1.0)


GENERATED: dict[str, Callable[[np.random.Generator], Values]] = {
    made.__name__: made for made in (walks, growth, load, regimes, seasons)
}
REAL = ("exchange-rate", "weather")


def open_set(name: str) -> Series:
    """Return a set by name."""
    if name in GENERATED:
        number = list(GENERATED).index(name)
        values = GENERATED[name](np.random.default_rng([SEED, number])).astype(np.float32)
        unit = "D" if name == "seasons" else "h"
        times = np.datetime64("2018-01-01", unit) + np.arange(len(values))
        return Series(values, [f"s{number}" for number in range(VARIABLES)], times, freq=unit, name=name)
    if name == "weather":
        air = load_dataset("beijing-air")
        return air.select([f"{station}:{kind}" for station in STATIONS for kind in WEATHER])
    if name in REAL:
        return load_dataset(name)
    raise InputError(f"{name!r} is no set: write one of {', '.join([*GENERATED, *REAL])}")


def rivals(train: Windows, metric: str) -> dict[str, Method]:
    """Return what a user could do instead, made for a metric."""
    methods: dict[str, Method] = {
        "own past": baselines.OwnPast.fit(train, metric=metric),
        "own past, each": baselines.OwnPast.fit(train, metric=metric, each=True, most_rows=20_000),
        "ridge on S": baselines.ProfileRidge.fit(train),
        "calendar linear": baselines.CalendarLinear.fit(train, loss=METRICS[metric]),
        "usual value": baselines.UsualValue.fit(train),
        "last value": baselines.LastValue.fit(train),
    }
    return methods


def measure(name: str, draws: int, effort: float) -> dict[str, object]:
    """Return errors of the default tuned for each metric, and of every rival made for it."""
    series = open_set(name)
    train, val, test = series.split(12, 12)
    test = thin(test, WINDOWS)
    model = RidgeModel.fit(train)
    groups, figures = {}, []
    for metric in METRICS:
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FitWarning)
            robust = SubsetForecaster(model, metric=metric, effort=effort, progress=False).fit(train, val)
        seconds = time.process_time() - began
        methods = {"oracle": oracle(robust), "subcast": wrapped(robust), **rivals(train, metric)}
        for share in SHARES:
            subsets = list(draw_subsets(series.n_variables, share, draws, seed=SEED))
            comparison = evaluate(methods, test, subsets, progress=False)
            groups[f"{metric} {share:.0%}"] = comparison
            figures.append({**summary(comparison, metric, share), "fit_processor_seconds": round(seconds, 1)})
            print(name, figures[-1], flush=True)
    return {"rows": figures, **{key: each.to_record() for key, each in groups.items()}}


def summary(comparison: Comparison, metric: str, share: float) -> dict[str, object]:
    """Return the default against the Oracle and the rival that is best on test, at the last step, in percent."""
    simple = [method for method in comparison.methods if method not in ("oracle", "subcast")]
    last = comparison.horizon
    best = min(simple, key=lambda method: float(np.mean(comparison.errors(method, metric, last))))
    return {
        "metric": metric,
        "share": share,
        "best_rival": best,
        "to_best_rival": str(comparison.gap("subcast", metric, base=best)),
        "to_oracle": str(comparison.gap("subcast", metric)),
    }


def main() -> None:
    """Measure the sets named on the command line."""
    parser = argparse.ArgumentParser(description="Measure the default on data that are in no other table.")
    parser.add_argument("names", nargs="*", help=f"sets, all by default: {', '.join([*GENERATED, *REAL])}")
    parser.add_argument("--again", action="store_true", help="also measure sets that have a record")
    parser.add_argument("--draws", type=int, default=DRAWS, help="draws of S")
    parser.add_argument("--effort", type=float, default=1.0, help="effort of tuning")
    parser.add_argument("--to", type=Path, default=records.RESULTS, help="folder for the records")
    given = parser.parse_args()
    records.RESULTS = given.to
    for name in given.names or [*GENERATED, *REAL]:
        if given.again or not (given.to / f"further-{name}.json").exists():
            figures = measure(name, given.draws, given.effort)
            print(records.write_record(f"further-{name}", figures, seed=SEED, draws=given.draws, effort=given.effort))


if __name__ == "__main__":
    main()
