"""The golden forecasts: today's code makes from given settings what was written before the restructuring."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parent / "data" / "golden"


def _maker():
    spec = importlib.util.spec_from_file_location("make_golden", FOLDER / "make_golden.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAKER = _maker()


@pytest.mark.parametrize("name", MAKER.CASES)
def test_golden_forecasts_hold(name):
    with np.load(FOLDER / "forecasts.npz", allow_pickle=False) as stored:
        golden = {key: stored[key] for key in stored.files if key.split("/")[0] == name}
    made = MAKER.make(name)
    assert set(made) == set(golden)
    for key, expected in golden.items():
        if expected.dtype.kind in "iu":
            np.testing.assert_array_equal(made[key], expected, err_msg=key)
        else:
            tolerance = 1e-3 if key.endswith("expected_gap") else 1e-5  # a gap is the small difference of two errors
            np.testing.assert_allclose(made[key], expected, rtol=tolerance, atol=tolerance, err_msg=key)
