"""Measure whether what forecasts say about themselves is true: expected gap, intervals, and which windows are strange.

    python benchmarks/quality.py                # all datasets
    python benchmarks/quality.py clouds         # one; the others stay as they are in the record

A ridge regression on all variables, in deviations from the daily profile, is wrapped with the defaults. On test
windows, for one variable and for 5, 15, 50 and 85 % of them: the claimed and the measured gap, the coverage of the 90 %
intervals, and the share of windows that are called unlike those of the validation. The same share is measured for
windows that never arrived: doubled, ten times as large, with variables or times of day exchanged, shuffled, random.
Writes results/quality.json.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import records
from numpy.typing import NDArray

from subcast import SubsetForecaster, draw_subsets, load_dataset
from subcast.calendar import slot_of_share
from subcast.profile import SAME_DAYS, Profile
from subcast.subset.normalizer import Normalizer
from subcast.subset.trust import STRANGE
from subcast.subsets import subset_size
from subcast.windows import Windows

DATASETS: dict[str, dict[str, Any]] = {
    "clouds": {"n_plants": 60},
    "metr-la-29": {},
    "pems-bay-67": {},
    "beijing-pollutants": {},
}
LOOKBACK = HORIZON = 12
SHARES = (0.05, 0.15, 0.5, 0.85)
LEVEL = 0.9
DRAWS = 12  # of S for each size
WINDOWS = 360  # test windows for each size, divided among the draws
STRANGE_DRAWS, STRANGE_WINDOWS = 4, 80
SEED = 2026
TRAINING_WINDOWS = 4000


def main() -> None:
    """Measure the datasets named on the command line and write the record."""
    parser = argparse.ArgumentParser(description="Measure what forecasts say about themselves.")
    parser.add_argument("datasets", nargs="*", default=list(DATASETS), help="names of the datasets, all by default")
    names = parser.parse_args().datasets
    path = records.RESULTS / "quality.json"
    figures = json.loads(path.read_text())["figures"] if path.exists() else {}
    for name in names:
        started = time.perf_counter()
        figures[name] = measure(name)
        print(json.dumps({name: figures[name]}, indent=1), f"{time.perf_counter() - started:.0f} s", flush=True)
        figures = {known: figures[known] for known in DATASETS if known in figures}
        records.write_record(
            "quality",
            figures,
            packages=("numpy", "numba"),
            command="python benchmarks/quality.py",
            model="ridge regression on the deviations of all variables from the daily profile",
            level=LEVEL,
            draws=DRAWS,
            windows=WINDOWS,
            strange_from=STRANGE,
            seed=SEED,
        )


def measure(name: str) -> dict[str, Any]:
    """Return the figures of one dataset."""
    train, val, test = load_dataset(name, **DATASETS[name]).with_features("time_of_day").split(LOOKBACK, HORIZON)
    robust = SubsetForecaster(ridge_model(train), progress=False).fit(train, val)
    n = len(robust.variables)
    sizes = sorted({1, *(subset_size(n, share) for share in SHARES)})
    return {
        "variables": n,
        "validation": {**robust.report_["model"], "variables_with_a_problem": len(robust.usefulness_.bad)},
        "sizes": {str(size): honesty(robust, test, size) for size in sizes},
        "strange": {
            str(size): strange_shares(robust, test, size) for size in (subset_size(n, 0.15), subset_size(n, 0.5), n)
        },
    }


def ridge_model(train: Windows) -> Any:
    """Return a ridge regression of all variables and steps ahead on all deviations from the daily profile."""
    used = slice(min(train.starts), max(train.starts) + LOOKBACK + HORIZON)
    profile = Profile.fit(train.series.values[used], train.series.wall_times[used], day_classes=SAME_DAYS)
    space = Normalizer(profile.center.astype(np.float32), profile.spread.astype(np.float32), profile.cycle)
    batch = train[:: max(1, len(train) // TRAINING_WINDOWS)].batch()
    past, future = slots_of(batch.inputs, space.slots)
    x = np.nan_to_num(space.normalize(batch.inputs[..., 0], past)).reshape(len(past), -1).astype(np.float64)
    y = np.nan_to_num(space.normalize(batch.targets, future)).reshape(len(past), -1).astype(np.float64)
    gram = x.T @ x
    weights = np.linalg.solve(gram + 0.1 * np.trace(gram) / len(gram) * np.eye(len(gram)), x.T @ y)

    def model(windows: NDArray[np.float32]) -> NDArray[np.float32]:
        past, future = slots_of(windows, space.slots)
        flat = space.normalize(windows[..., 0], past).reshape(len(windows), -1)
        return space.restore((flat @ weights).reshape(-1, HORIZON, windows.shape[2]), future)

    return model


def slots_of(windows: NDArray[np.float32], slots: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the slots of the day of the steps of windows [b, t, n, f] and of the steps after them."""
    first = slot_of_share(windows[:, 0, 0, 1], slots)
    steps = (first[:, None] + np.arange(LOOKBACK + HORIZON)) % slots
    return steps[:, :LOOKBACK], steps[:, LOOKBACK:]


def samples(test: Windows, n: int, size: int, draws: int, windows: int) -> Iterator[tuple[Windows, NDArray[np.int64]]]:
    """Yield test windows, spread over the whole test part, and S: other windows for each draw."""
    step = max(1, draws * len(test) // windows)
    for draw, present in enumerate(draw_subsets(n, count=size, share=None, draws=draws, seed=SEED)):
        yield test[draw * step // draws :: step], np.sort(present)


def honesty(robust: SubsetForecaster, test: Windows, size: int) -> dict[str, float]:
    """Return claimed and measured gap in percent, coverage, and the share of strange windows."""
    spread = robust.fitted_.normalizer.spread_of(np.arange(len(robust.variables)))
    errors, claimed, inside, strange = [], [], [], []
    for windows, present in samples(test, len(robust.variables), size, DRAWS, WINDOWS):
        forecast = robust.predict_many(windows, present=present, levels=(LEVEL,))
        oracle = robust.fitted_.plain_forecast(robust.fitted_.arrive(windows))[:, :, present]
        truth = windows.targets[:, :, present]
        known = ~np.isnan(truth)
        scaled = [np.abs((each - truth) / spread[present])[known].sum() for each in (forecast.mean, oracle)]
        errors.append(scaled)
        claimed.append(forecast.expected_gap)
        inside.append(float(((truth >= forecast.lower) & (truth <= forecast.upper))[known].mean()))
        strange.append(strange_share(forecast))
    sums = np.array(errors)  # [draws, 2]
    rng = np.random.default_rng(SEED)
    again = sums[rng.integers(len(sums), size=(2000, len(sums)))].sum(axis=1)
    low, high = np.quantile(100 * (again[:, 0] / again[:, 1] - 1), [0.025, 0.975])
    return {
        "claimed_gap": round(float(np.mean(claimed)), 2),
        "measured_gap": round(float(100 * (sums[:, 0].sum() / sums[:, 1].sum() - 1)), 2),
        "measured_gap_low": round(float(low), 2),
        "measured_gap_high": round(float(high), 2),
        "coverage": round(float(np.mean(inside)), 4),
        "strange": round(float(np.mean(strange)), 4),
    }


def strange_share(forecast: Any) -> float:
    """Return the share of windows of a batch that have a note about strangeness."""
    return float(np.mean([any("unlike" in note for note in each.notes) for each in forecast.trust]))


def strange_shares(robust: SubsetForecaster, test: Windows, size: int) -> dict[str, float]:
    """Return the share of windows called strange, for each kind of windows that never arrived."""
    shares: dict[str, list[float]] = {}
    for windows, present in samples(test, len(robust.variables), size, STRANGE_DRAWS, STRANGE_WINDOWS):
        series = windows.series
        begins = None if series.times is None else series.times[np.asarray(windows.starts)]
        features = windows.batch().inputs[..., 1:]  # [b, t, n, f - 1]
        for kind, values, moments in changed(windows.readings, begins):
            inputs = np.concatenate([values[..., None], features], axis=3).astype(np.float32)
            forecast = robust.predict_many(inputs, present=present, times=moments)
            shares.setdefault(kind, []).append(strange_share(forecast))
    return {kind: round(float(np.mean(each)), 3) for kind, each in shares.items()}


def changed(values: NDArray[np.float32], begins: Any) -> Iterator[tuple[str, NDArray[Any], Any]]:
    """Yield windows [b, t, n] that no plant ever sent, with their times."""
    rng = np.random.default_rng(SEED)
    low, high = (function(values, axis=(0, 1)) for function in (np.nanmin, np.nanmax))
    yield "as they are", values, begins
    yield "doubled", 2 * values, begins
    yield "ten times as large", 10 * values, begins
    yield "variables exchanged", values[:, :, rng.permutation(values.shape[2])], begins
    yield "steps shuffled", rng.permuted(values, axis=1), begins
    yield "uniform random", low + (high - low) * rng.random(values.shape), begins
    if begins is not None:
        yield "twelve hours off", values, begins + np.timedelta64(12, "h")


if __name__ == "__main__":
    main()
