"""Helpers for tests of the command line."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from subcast.cli import app
from subcast.forecasters.trained import TrainedForecaster
from subcast.series import Series

REAL_FOLDER = os.environ.get("SUBCAST_DATA")
PNG = b"\x89PNG\r\n\x1a\n"
# 12 + 4 steps of 5 variables, with the time of day
CHECKPOINT = Path(__file__).parents[1] / "data" / "checkpoints" / "tcn"
NAMES = TrainedForecaster.load(CHECKPOINT).variables


def run(*arguments):
    """Run the command in this process and return its result; an error is raised."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def shell(*arguments, **environment):
    """Run the command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", "from subcast.cli import main; main()", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONWARNINGS": "default", **environment},
    )


def waves():
    """Five waves over ten days, similar to the training data of the checkpoint."""
    rng = np.random.default_rng(1)
    hours = np.arange(240)
    values = 20 + 5 * np.sin(2 * np.pi * (hours[:, None] / 24 + np.arange(5) / 5)) + rng.normal(size=(240, 5))
    return Series(values, NAMES, np.datetime64("2024-01-01") + hours * np.timedelta64(1, "h"), name="waves")


def refuse(word):
    """Reject NaN and infinity in JSON."""
    raise AssertionError(f"{word} is not JSON")
