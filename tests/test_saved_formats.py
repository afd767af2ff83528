"""Folders of earlier versions are read for ever after, and forecast what they did.

The folders in data/format-1 were written once by data/make_format_1.py. If one of these tests fails, the change to the
package is wrong, not the folder (see "Which versions read which folders" in docs/guide/save-and-load.md).
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import subcast as sc
from subcast.retrieval import WindowBank

DATA = Path(__file__).parent / "data"
FORMAT_1 = DATA / "format-1"


@pytest.fixture(scope="module")
def maker():
    spec = importlib.util.spec_from_file_location("make_format_1", DATA / "make_format_1.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def expected(name):
    with np.load(FORMAT_1 / f"{name}.npz") as file:
        return dict(file)


def assert_close(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["default", "paper", "without-times"])
@pytest.mark.parametrize("again", [False, True], ids=["as it is", "saved again"])
def test_wrappers_of_format_1(maker, name, again, tmp_path):
    pytest.importorskip("torch")
    model = maker.drift if name == "without-times" else None
    robust = sc.load(FORMAT_1 / name, model=model)
    if again:
        robust.save(tmp_path / name)
        robust = sc.load(tmp_path / name, model=model)
    wanted = expected(name)
    times = None if model is not None else wanted["times"]
    forecast = robust.predict_many(wanted["inputs"], maker.PRESENT, times=times, absent=True)
    assert_close(forecast.mean, wanted["mean"])
    assert (forecast.bounds is None) == ("bounds" not in wanted)
    if forecast.bounds is not None:
        assert_close(forecast.bounds, wanted["bounds"])
    assert_close(robust.predict_many(np.nan_to_num(wanted["inputs"], nan=20.0), times=times).mean, wanted["whole"])
    assert robust.variables == maker.NAMES


def test_a_checkpoint_of_format_1():
    pytest.importorskip("torch")
    wanted = expected("checkpoint")
    assert_close(sc.TrainedForecaster.load(FORMAT_1 / "checkpoint")(wanted["inputs"]), wanted["mean"])


def test_a_bank_of_format_1(maker):
    wanted = expected("bank")
    found = WindowBank.open(FORMAT_1 / "bank").nearest(wanted["inputs"], list(maker.PRESENT), k=3)
    np.testing.assert_array_equal(found.index, wanted["index"])
    assert_close(found.distance, wanted["distance"])


def test_the_folders_are_those_that_were_committed():
    assert sorted(path.name for path in FORMAT_1.iterdir() if path.is_dir()) == [
        "bank",
        "checkpoint",
        "default",
        "paper",
        "without-times",
    ]
