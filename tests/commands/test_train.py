"""`subcast train`: its output, its folder, and its errors."""

import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from subcast.cli import app
from subcast.commands.train import run_training
from subcast.errors import InputError
from subcast.forecasters.trained import TrainedForecaster
from subcast.series import Series


@pytest.fixture
def table(tmp_path):
    values = np.random.default_rng(0).normal(10, 1, size=(120, 3))
    Series(values.astype(np.float32), ["a", "b", "c"]).save(tmp_path / "readings.csv")
    return str(tmp_path / "readings.csv")


def test_prints_the_error_and_saves_the_model(table, tmp_path, capsys):
    folder = tmp_path / "model"
    run_training(table, "tcn", folder, lookback=4, horizon=3, epochs=1, threads=1, progress=False)
    output = capsys.readouterr().out
    assert "best epoch 1 of 1" in output
    assert "at step 1," in output
    assert "at step 3" in output
    assert TrainedForecaster.load(folder).variables == ("a", "b", "c")


def test_graph_of_a_trained_model(table, tmp_path, capsys):
    options = {"lookback": 4, "horizon": 3, "epochs": 1, "threads": 1, "progress": False}
    run_training(table, "mtgnn", tmp_path / "first", **options)
    run_training(table, "mstgcn", tmp_path / "second", graph=str(tmp_path / "first"), **options)
    assert "graph: learned by mtgnn" in capsys.readouterr().out


def test_bad_presets_are_rejected(table, tmp_path):
    with pytest.raises(InputError, match="--preset must be one of default, paper, got 'quick'"):
        run_training(table, "tcn", tmp_path, preset="quick")
    with pytest.raises(InputError, match=r"--preset paper needs a dataset with published settings .* got 'readings'"):
        run_training(table, "tcn", tmp_path, preset="paper", lookback=4, horizon=3)


@pytest.mark.parametrize("package", ["lightning", "safetensors"])
def test_missing_packages_are_reported(table, tmp_path, monkeypatch, package):
    for module in [module for module in sys.modules if module.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.delitem(sys.modules, "subcast.training.module", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    arguments = ["train", table, "--model", "tcn", "-o", str(tmp_path / "model"), "--lookback", "4", "--horizon", "3"]
    result = CliRunner().invoke(app, [*arguments, "--epochs", "1", "--no-progress"])
    assert isinstance(result.exception, InputError)
    assert f"training needs {package}" in str(result.exception)
    assert "pip install 'subcast[models]'" in str(result.exception)
