"""Measure the limits of readings: how many true readings they refuse, how many absurd ones, and what errors result.

Run `python benchmarks/limits.py [DATASET ...]`. It prints a table and writes results/limits.json. The limits are
learned from the training part of each dataset. Counted are the readings of the test part that would become holes, and
the share of absurd readings that would: each test reading in turn is replaced by an absurd one, alone in its window
("one") or together with the rest of its variable's window ("whole"). The forecast errors are those of an untuned
wrapper around a trained model of record, or around the last reading where there is none, with half of the variables
present, over a sample of the test windows; "absurd" means that one of those variables reads 999999 all the time, and
its own error is left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import subcast as sc
from records import in_turns, write_record
from subcast.limits import CAUSES, Limits

DATASETS = (
    *("clouds", "metr-la-29", "metr-la-week", "pems-bay-67", "pems-bay-84", "ecg5000", "ecg5000-test-first"),
    *("traffic-20", "beijing-air", "beijing-pollutants", "solar-fl", "exchange-rate"),
)
CHECKPOINTS = Path(__file__).resolve().parent.parent / "results" / "checkpoints"
TRAINED = ("metr-la-29", "pems-bay-67", "ecg5000", "ecg5000-test-first")
LOOKBACK = HORIZON = 12
SETTINGS = sc.Settings(blend=((0.5,) * HORIZON,) * 3)  # half of the forecast is that of the specialist
EVERY = 12  # windows with injected readings
WINDOWS = 200  # for the errors

Readings = NDArray[np.float32]
ABSURD: dict[str, Callable[[Readings], Readings]] = {
    "999999": lambda readings: 0 * readings + 999999,
    "-999": lambda readings: 0 * readings - 999,
    "-9999": lambda readings: 0 * readings - 9999,
    "times 1000": lambda readings: 1000 * readings,
    "other sign": lambda readings: -readings,
    "Fahrenheit for Celsius": lambda readings: 1.8 * readings + 32,
    "Kelvin for Celsius": lambda readings: readings + 273.15,
}


def main() -> None:
    """Measure the datasets that are named, all by default, and write the record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("datasets", nargs="*", default=DATASETS)
    names = parser.parse_args().datasets
    figures = {}
    for name in names:
        figures[name] = measure(name)
        Console().print(f"{name}: {figures[name]['holes']}")
    if tuple(names) == DATASETS:
        print(f"written to {write_record('limits', figures, every=EVERY, windows=WINDOWS)}")
    show(figures)


def measure(name: str) -> dict[str, Any]:
    """Return the figures of one dataset."""
    split = sc.load_dataset(name).split(lookback=LOOKBACK, horizon=HORIZON)
    robust, model = wrapper(name, split)
    limits = robust.limits_
    if limits is None:
        raise SystemExit("the wrapper has no limits, so there is nothing to measure")
    steps = split.test.series.values[min(split.test.starts) : max(split.test.starts) + LOOKBACK]
    causes = limits.causes(split.test.readings)
    beyond = (causes > 0).any(axis=2).sum()
    window = np.array(split.test.readings[len(split.test) // 2])
    return {
        "readings": int((~np.isnan(steps)).sum()),
        "readings_in_windows": int((~np.isnan(split.test.readings)).sum()),
        "holes": {cause: int((causes == number).sum()) for number, cause in enumerate(CAUSES) if cause},
        "windows": len(split.test),
        "windows_with_holes": int(beyond),
        "caught": {kind: caught(limits, split, kind) for kind in ABSURD if chosen_columns(limits, kind).size},
        "errors": {"model": model, **errors(robust, split)},
        "microseconds_a_window": round(1e6 * in_turns(200, screen=lambda: limits.screen(window))["screen"], 1),
    }


def wrapper(name: str, split: sc.Split) -> tuple[sc.SubsetForecaster, str]:
    """Return an untuned wrapper, and the name of its model."""
    model: Any = last_reading
    train = split.train
    if name in TRAINED:
        model = sc.TrainedForecaster.load(CHECKPOINTS / f"tcn-{name}")
        series = sc.load_dataset(name).with_features(*model.time_features)
        train = series.split(lookback=LOOKBACK, horizon=HORIZON).train
    robust = sc.SubsetForecaster(model, settings=SETTINGS, progress=False).fit(train)
    return robust, f"tcn-{name}" if name in TRAINED else "last reading"


def last_reading(x: Readings) -> Readings:
    """Return the last reading of each variable as the forecast of all steps."""
    return np.repeat(x[:, -1:, :, 0], HORIZON, axis=1)


def caught(limits: Limits, split: sc.Split, kind: str) -> dict[str, float]:
    """Return the share of absurd readings that become holes, one in a window or all of a variable's window."""
    columns = chosen_columns(limits, kind)
    part = limits.select(columns)
    windows = np.array(split.test.readings[::EVERY][:, :, columns])
    absurd = ABSURD[kind](windows)
    whole = part.causes(absurd) > 0
    known = ~np.isnan(windows) & (windows != 0)  # zero has no other sign
    one, of = 0, 0
    for step in range(0, LOOKBACK, 3):
        changed = windows.copy()
        changed[:, step] = absurd[:, step]
        one += int((part.causes(changed)[:, step] > 0)[known[:, step]].sum())
        of += int(known[:, step].sum())
    return {"one": round(one / of, 4), "whole": round(float(whole[known].mean()), 4)}


def chosen_columns(limits: Limits, kind: str) -> NDArray[np.int64]:
    """Return the variables for which a kind of absurd reading makes sense."""
    if "Celsius" in kind:
        return np.flatnonzero([name.endswith((":TEMP", ":DEWP")) for name in limits.variables])
    return np.flatnonzero(limits.seen_low >= 0) if kind == "other sign" else np.arange(len(limits.variables))


def errors(robust: sc.SubsetForecaster, split: sc.Split) -> dict[str, float]:
    """Return mean absolute errors with and without limits, of readings as they are and with one absurd variable."""
    test = sc.Series.windows(split.test.series.with_features(*robust.metadata_.time_features), LOOKBACK, HORIZON)
    chosen = test[:: max(1, len(test) // WINDOWS)]
    present = sc.draw_subsets(len(robust.variables), share=0.5, draws=1, seed=0)[0]
    batch = chosen.batch()
    inputs = np.array(batch.inputs if batch.inputs.shape[-1] > 1 else batch.inputs[..., 0])
    times = None if chosen.series.times is None else chosen.series.times[np.asarray(chosen.starts)]
    absurd = inputs.copy()
    absurd[(..., present[0], 0) if inputs.ndim == 4 else (..., present[0])] = 999999
    absent = present[1:]

    def error(windows: Readings, subset: NDArray[np.int64], limits: Limits | None) -> float:
        robust.limits_ = limits
        forecast = robust.predict_many(windows, present=subset, times=times)
        own = [forecast.variables.index(robust.variables[place]) for place in absent]
        return round(float(np.nanmean(np.abs(forecast.mean[:, :, own] - batch.targets[:, :, absent]))), 6)

    limits = robust.limits_
    return {
        "without": error(inputs, present, None),
        "with": error(inputs, present, limits),
        "absurd_without": error(absurd, present, None),
        "absurd_with": error(absurd, present, limits),
        "absent": error(inputs, absent, limits),
    }


def show(figures: dict[str, Any]) -> None:
    """Print a table of the figures."""
    table = Table(box=None, pad_edge=False)
    for column in ("dataset", "test readings", "holes", *ABSURD, "MAE with", "without", "absurd with", "without"):
        table.add_column(column, justify="left" if column == "dataset" else "right")
    for name, row in figures.items():
        shares = [f"{row['caught'][kind]['whole']:.1%}" if kind in row["caught"] else "" for kind in ABSURD]
        found = [f"{row['errors'][key]:.4g}" for key in ("with", "without", "absurd_with", "absurd_without")]
        table.add_row(name, f"{row['readings']:,}", f"{sum(row['holes'].values())}", *shares, *found)
    Console(width=220).print(table)


if __name__ == "__main__":
    main()
