"""Honest tiny folders of every kind, with what each answers: wrappers, checkpoints, banks, a query table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import subcast as sc
from subcast.retrieval import QueryTable, WindowBank

CHECKPOINTS = Path(__file__).resolve().parent.parent / "tests" / "data" / "checkpoints"
LOOKBACK, HORIZON, N = 12, 4, 5
NAMES = ("north", "east", "south", "west", "center")


@dataclass
class Example:
    """A saved object.

    Parameters
    ----------
    kind
        the kind of its page
    folder
        where it was saved
    open
        opens such a folder
    answer
        what the opened object answers
    expected
        what the honest one answers
    own_model
        whether the user gives the model; then it may be refused instead of the folder
    """

    kind: str
    folder: Path
    open: Callable[[Path], Any]
    answer: Callable[[Any], list[np.ndarray]]
    expected: list[np.ndarray]
    own_model: bool = False


def make_examples(work: Path) -> dict[str, Example]:
    """Save all examples below a folder and return them by name."""
    examples = _wrappers(work) | _checkpoints() | _banks(work)
    for name, example in examples.items():
        example.expected = example.answer(example.open(example.folder))
        if not all(np.isfinite(part).all() for part in example.expected):
            raise ValueError(f"the example {name} does not answer with finite numbers")
    return examples


def series(hours: bool = True, steps: int = 240) -> sc.Series:
    """Five waves with noise and a few gaps."""
    rng = np.random.default_rng(3)
    time = np.arange(steps)
    values = 20 + 5 * np.sin(2 * np.pi * (time[:, None] / 24 + np.arange(N) / N)) + rng.normal(size=(steps, N))
    values[rng.random(values.shape) < 0.02] = np.nan
    times = np.datetime64("2024-01-01") + time * np.timedelta64(1, "h") if hours else None
    features = ("time_of_day",) if hours else ()
    return sc.Series(values.astype(np.float32), NAMES, times, freq="h" if hours else None, time_features=features)


def drift(x: np.ndarray) -> np.ndarray:
    """Return a forecast that depends on every variable: [b, t, n, f] to [b, h, n]."""
    readings = x[..., 0]
    step = readings[:, -1] - readings[:, -4]
    return np.stack([readings[:, -1] + 0.2 * h * np.tanh(step + np.roll(step, 1, axis=1)) for h in range(HORIZON)], 1)


def _wrappers(work: Path) -> dict[str, Example]:
    timed, plain = series(), series(hours=False)
    quick = {"progress": False, "effort": 0.02, "neighbors": 4}
    made = {
        "default": (sc.SubsetForecaster(CHECKPOINTS / "tcn", **quick), timed, None),
        "callable": (sc.SubsetForecaster(drift, **quick), timed, drift),
        "boosted": (sc.SubsetForecaster(drift, **quick), series(steps=2000), drift),
        "paper": (sc.SubsetForecaster.paper(CHECKPOINTS / "mtgnn", progress=False, neighbors=3), timed, None),
        "without-times": (sc.SubsetForecaster(drift, progress=False, settings=sc.Settings()), plain, drift),
    }
    examples = {}
    for name, (wrapper, data, model) in made.items():
        train, val, test = data.split(LOOKBACK, HORIZON, shares=(0.6, 0.25, 0.15))
        wrapper.fit(train, val).save(work / name)
        if (name == "boosted") != ("boosted" in wrapper.fitted_.experts):
            raise ValueError(f"the example {name} has other experts than it should have")
        opening = partial(sc.load, model=model)
        examples[name] = Example("wrapper", work / name, opening, _forecasts_of(test), [], model is not None)
    return examples


def _forecasts_of(test: Any) -> Callable[[Any], list[np.ndarray]]:
    windows = np.array(test.batch([0, 3]).inputs)
    recent = test.series.to_frame().iloc[:LOOKBACK][["east", "center"]]

    def answer(robust: Any) -> list[np.ndarray]:
        many = robust.predict_many(windows, ["north", "west"], absent=True)
        whole = robust.predict_many(windows)
        one = robust.predict(recent)
        bounds = [forecast.bounds for forecast in (many, whole, one) if forecast.bounds is not None]
        return [many.mean, many.weights, whole.mean, one.mean, *bounds]

    return answer


def _checkpoints() -> dict[str, Example]:
    windows = np.array(series().windows(LOOKBACK, HORIZON).batch([5, 9]).inputs)

    def answer(forecaster: Any) -> list[np.ndarray]:
        return [forecaster(windows), forecaster.predict(windows, present=["west"], wanted=["north"])]

    names = ("tcn", "mtgnn", "astgcn", "lstnet")
    return {
        f"checkpoint-{name}": Example("forecaster", CHECKPOINTS / name, sc.TrainedForecaster.load, answer, [])
        for name in names
    }


def _banks(work: Path) -> dict[str, Example]:
    values = np.random.default_rng(5).normal(size=(90, 3)).astype(np.float32)
    holes = values.copy()
    holes[10:13, 1] = np.nan
    shared = np.sin(np.arange(90.0))[:, None]
    banks = {
        "bank": WindowBank(values, 4, starts=[2, 3, 4, 30, 31, 80], names=["a", "b", "c"]),
        "bank-of-series": WindowBank([holes[:40], holes[40:]], 5, shared=[shared[:40], shared[40:]], targets=holes),
    }
    examples = {}
    for name, bank in banks.items():
        bank.save(work / name)
        examples[name] = Example("bank", work / name, WindowBank.open, _neighbors_of(values), [])
    table = QueryTable(banks["bank"], values[None, 20:24], neighbor=2)
    table.save(work / "table")

    def answer(opened: Any) -> list[np.ndarray]:
        found = opened.nearest(values[None, 50:54], variables=[0, 2], k=2).neighbors
        return [found.index, np.nan_to_num(found.distance, posinf=-1)]

    examples["table"] = Example("table", work / "table", lambda path: QueryTable.open(path, banks["bank"]), answer, [])
    return examples


def _neighbors_of(values: np.ndarray) -> Callable[[Any], list[np.ndarray]]:
    def answer(bank: Any) -> list[np.ndarray]:
        width, steps = bank.n, bank.lookback
        windows = np.resize(values, (2, steps, width))
        shared = np.zeros((2, steps, bank.f - 1), dtype=np.float32) if bank.f > 1 else None
        found = bank.nearest(windows, np.arange(width), 3, shared=shared)
        weights = np.full(found.index.shape, 1 / 3, dtype=np.float32)
        pooled = bank.pool_windows(found.index, weights, np.arange(width))
        return [found.index, np.nan_to_num(found.distance, posinf=-1), pooled]

    return answer
