"""Small data and settings that the tests of darts and of neuralforecast share."""

import logging
import warnings
from contextlib import contextmanager

import numpy as np
import pandas as pd

NAMES = ("a", "b", "c", "d")
T, H = 12, 4
QUIET = {
    "enable_progress_bar": False,
    "enable_model_summary": False,
    "enable_checkpointing": False,
    "logger": False,
    "accelerator": "cpu",
}
rng = np.random.default_rng(0)
VALUES = (np.sin(np.arange(240)[:, None] / 6 + np.arange(4)) * 5 + 20 + rng.normal(size=(240, 4))).astype(np.float32)
TIMES = pd.date_range("2024-01-01", periods=240, freq="h")


@contextmanager
def quiet():
    """Keep the libraries' loggers and warnings silent."""
    for name in ("pytorch_lightning", "lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
