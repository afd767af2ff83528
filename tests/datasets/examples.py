"""Small datasets and files for tests."""

import dataclasses
import gzip
import os

import numpy as np

from subcast.datasets import DATASETS

REAL_FOLDER = os.environ.get("SUBCAST_DATA")
NUMBERS = np.round(np.random.default_rng(0).random((6, 4)), 6)
FILED = [name for name, dataset in DATASETS.items() if dataset.sources]


def small(name, steps=6, n_variables=4, **fields):
    """A dataset with another size."""
    return dataclasses.replace(DATASETS[name], steps=steps, n_variables=n_variables, **fields)


def write_text(path, values, separator=",", header=None):
    lines = ([header] if header else []) + [separator.join(f"{value:.6f}" for value in row) for row in values]
    raw = ("\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
