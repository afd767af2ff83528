"""Make the tiny checkpoints that the tests of loading read.

    python tests/data/make_checkpoints.py tests/data/checkpoints

Run it only when the format changes, and keep the old folders: a newer version must read what an older one wrote.
"""

import json
import sys
from pathlib import Path

import numpy as np

from subcast.series import Series
from subcast.training import TrainConfig, train

SMALL = {
    "mtgnn": {"conv_channels": 8, "residual_channels": 8, "skip_channels": 8, "end_channels": 8, "embedding": 4},
    "astgcn": {"filters": 8, "time_filters": 8},
    "mstgcn": {"filters": 8, "time_filters": 8},
    "lstnet": {"conv_filters": 8, "hidden": 8},
    "tcn": {"channels": 8},
}


def series() -> Series:
    """Five waves with noise and a few gaps, over ten days."""
    rng = np.random.default_rng(0)
    hours = np.arange(240)
    values = 20 + 5 * np.sin(2 * np.pi * (hours[:, None] / 24 + np.arange(5) / 5)) + rng.normal(size=(240, 5))
    values[rng.random(values.shape) < 0.02] = np.nan
    times = np.datetime64("2024-01-01") + hours * np.timedelta64(1, "h")
    names = ("north", "east", "south", "west", "center")
    return Series(values.astype(np.float32), names, times, time_features=("time_of_day",), name="waves")


def main(folder: Path) -> None:
    """Train each for two epochs, and keep what it forecasts for two windows."""
    train_part, val_part, test_part = series().split(12, 4)
    inputs = test_part.batch([0, 5]).inputs
    for name, settings in SMALL.items():
        target = folder / name
        config = TrainConfig(epochs=2, batch_size=32, progress=False, threads=1, device="cpu")
        forecaster = train(name, train_part, val_part, config, settings=settings)
        forecaster.save(target)
        probe = {"inputs": inputs.tolist(), "forecast": forecaster(inputs).tolist()}
        (target / "probe.json").write_text(json.dumps(probe) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
