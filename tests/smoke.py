"""Smoke test of an installed subcast without PyTorch; `make package` runs it in a clean environment."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np

import subcast as sc


def repeat_last(x: np.ndarray) -> np.ndarray:
    """Forecast six steps equal to the last reading: [b, t, n, f] -> [b, h, n]."""
    return np.repeat(x[:, -1:, :, 0], 6, axis=1)


def main() -> None:
    """Import, load, fit, predict, call the command line, and check that the package data are there."""
    package = Path(sc.__file__).parent
    assert "site-packages" in package.parts, f"the source is tested, not the installed package: {package}"
    assert version("subcast") == sc.__version__
    assert (package / "py.typed").exists()

    series = sc.load_dataset("clouds", n_plants=6, n_steps=1_440)
    train, val, test = series.split(lookback=12, horizon=6)
    robust = sc.SubsetForecaster(repeat_last, progress=False).fit(train, val)
    recent = test.series.to_frame().iloc[60:72][["plant-001", "plant-004"]]
    forecast = robust.predict(recent)
    assert forecast.mean.shape == (6, 2)
    assert np.isfinite(forecast.mean).all()

    command = Path(sys.executable).with_name("subcast")
    for arguments in (["--help"], ["--version"], ["datasets", "list"], ["reproduce", "--list"]):
        done = subprocess.run([str(command), *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"subcast {' '.join(arguments)}: {done.stderr}"
        assert done.stdout.strip()
    assert "torch" not in sys.modules
    print(f"subcast {sc.__version__} works in {package}")


if __name__ == "__main__":
    main()
