"""Which objects are frames, told without loading a library."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

from subcast.tables.rows import is_frame


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
