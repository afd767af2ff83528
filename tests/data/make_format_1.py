"""Make the saved folders of format 1 that every later version must read, with what they forecast.

    python tests/data/make_format_1.py tests/data/format-1

The folders are kept for ever: run it again only into another folder, for another format.
"""

import sys
from pathlib import Path

import numpy as np

import subcast as sc
from subcast.retrieval import WindowBank

CHECKPOINTS = Path(__file__).parent / "checkpoints"
LOOKBACK, HORIZON = 12, 4
NAMES = ("north", "east", "south", "west", "center")
PRESENT = ("east", "west")


def series(with_times: bool) -> sc.Series:
    """Five waves with noise and a few gaps, over eight days."""
    rng = np.random.default_rng(1)
    hours = np.arange(192)
    values = 20 + 5 * np.sin(2 * np.pi * (hours[:, None] / 24 + np.arange(5) / 5)) + rng.normal(size=(192, 5))
    values[rng.random(values.shape) < 0.02] = np.nan
    if not with_times:
        return sc.Series(values.astype(np.float32), NAMES, name="waves")
    times = np.datetime64("2024-01-01") + hours * np.timedelta64(1, "h")
    return sc.Series(values.astype(np.float32), NAMES, times, freq="h", time_features=("time_of_day",), name="waves")


def drift(x: np.ndarray) -> np.ndarray:
    """Return the last readings, moved on by their mean change: the model of the wrapper without times."""
    step = (x[:, -1, :, 0] - x[:, 0, :, 0]) / (LOOKBACK - 1)
    return np.stack([x[:, -1, :, 0] + 0.5 * ahead * step for ahead in range(1, HORIZON + 1)], axis=1)


def main(folder: Path) -> None:
    """Save two wrappers of own models, one of a function, a checkpoint and a bank."""
    quick = {"progress": False, "effort": 0.05}
    wrappers = {
        "default": sc.SubsetForecaster(CHECKPOINTS / "tcn", neighbors=8, **quick),
        "paper": sc.SubsetForecaster.paper(CHECKPOINTS / "mtgnn", progress=False),
        "without-times": sc.SubsetForecaster(drift, neighbors=8, **quick),
    }
    for name, wrapper in wrappers.items():
        train, val, test = series(name != "without-times").split(LOOKBACK, HORIZON, shares=(0.6, 0.25, 0.15))
        wrapper.fit(train, val).save(folder / name)
        inputs = test.batch([0, 7]).inputs
        times = None if test.series.times is None else test.series.times[np.asarray(test.starts)[[0, 7]]]
        forecast = wrapper.predict_many(inputs, PRESENT, times=times, absent=True)
        whole = wrapper.predict_many(np.nan_to_num(inputs, nan=20.0), times=times).mean
        optional = {"bounds": forecast.bounds, "times": times}
        found = {key: array for key, array in optional.items() if array is not None}
        np.savez(folder / f"{name}.npz", inputs=inputs, mean=forecast.mean, whole=whole, **found)
    _save_checkpoint(folder)
    _save_bank(folder)


def _save_checkpoint(folder: Path) -> None:
    forecaster = sc.TrainedForecaster.load(CHECKPOINTS / "mtgnn")
    forecaster.save(folder / "checkpoint")
    inputs = series(True).windows(LOOKBACK, HORIZON).batch([3, 30]).inputs
    np.savez(folder / "checkpoint.npz", inputs=inputs, mean=forecaster(inputs))


def _save_bank(folder: Path) -> None:
    values = series(False).values
    bank = WindowBank(values, LOOKBACK, starts=np.arange(0, 150, 2), names=NAMES, targets=np.nan_to_num(values))
    bank.save(folder / "bank")
    inputs = values[None, 160 : 160 + LOOKBACK]
    found = bank.nearest(inputs, list(PRESENT), k=3)
    np.savez(folder / "bank.npz", inputs=inputs, index=found.index, distance=found.distance)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
