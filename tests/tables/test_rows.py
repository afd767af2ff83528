"""Which objects are frames, told without loading a library."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

from subcast.tables.rows import holds_truth, is_frame


@pytest.mark.parametrize("table", [pd.DataFrame(), pd.Series(dtype=float), pl.DataFrame(), pl.LazyFrame()])
def test_frames(table):
    assert is_frame(table)


@pytest.mark.parametrize("table", [np.zeros((2, 2)), [[1.0]], pl.Series([1]), None, "frame.csv"])
def test_other_objects(table):
    assert not is_frame(table)


def test_no_library_is_loaded():
    code = (
        "import sys; from subcast.tables.rows import is_frame; is_frame([]);"
        "sys.exit('pandas' in sys.modules or 'polars' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.5, 2], False),
        ([1.5, True], True),
        ([[0, 1], (2, np.bool_(False))], True),
        (np.ones(3), False),
        (np.ones(3, dtype=bool), True),
        (np.array([1, None, "x"], dtype=object), False),
        (np.array([1, False], dtype=object), True),
        (True, True),
        (1, False),
    ],
)
def test_true_and_false_are_found(values, expected):
    assert holds_truth(values) is expected
