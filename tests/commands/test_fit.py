"""`subcast fit`: its output, the models it accepts, and its errors."""

import json

import pytest

import subcast
from commands.examples import CHECKPOINT, NAMES, refuse, run, waves
from subcast.datasets import load_dataset
from subcast.errors import FitWarning, InputError


def test_prints_the_settings_and_the_next_commands(fitted):
    folder, output = fitted
    assert "SubsetForecaster of TrainedForecaster 'tcn': 12 + 4 steps of 5 variables" in output
    assert "7 neighbors" in output
    assert "tuned for MAE:" in output
    assert f"written to {folder / 'plant'}" in output
    assert f"subcast forecast {folder / 'plant'} recent.csv -o forecast.csv --plot forecast.png" in output
    assert f"subcast evaluate {folder / 'plant'} {folder / 'waves.csv'} --present 15% --draws 20" in output


def test_sizes_features_and_split_come_from_the_model(fitted):
    robust = subcast.load(fitted[0] / "plant")
    assert (robust.lookback, robust.horizon, robust.variables) == (12, 4, NAMES)
    assert (robust.levels, robust.settings_.neighbors) == ((0.5, 0.9), 7)
    assert robust.metadata_.protocol == "default"


def test_model_by_name_is_trained_and_stdout_has_only_json(tmp_path):
    load_dataset("clouds", n_plants=4, n_steps=500).save(tmp_path / "clouds.npz")
    arguments = ["fit", tmp_path / "clouds.npz", "--model", "tcn", "-o", tmp_path / "plant", "--json"]
    sizes = ["--lookback", "6", "--horizon", "3", "--epochs", "1", "--effort", "0.1", "--threads", "1"]
    result = run(*arguments, *sizes, "--no-progress")
    record = json.loads(result.stdout, parse_constant=refuse)
    assert "best epoch 1 of 1" in result.stderr
    assert (record["lookback"], record["horizon"], record["variables"], record["metric"]) == (6, 3, 4, "mae")
    assert record["settings"]["pool"] is True
    assert (tmp_path / "plant-training" / "forecaster.json").is_file()
    before = (tmp_path / "plant-training" / "forecaster.json").stat().st_mtime_ns
    again = run(*arguments, *sizes, "--no-progress", "--paper")  # the training is finished: only wrapped again
    assert json.loads(again.stdout)["settings"]["weighting"] == "forecast"
    assert "is finished: using its model" in again.stderr
    assert (tmp_path / "plant-training" / "forecaster.json").stat().st_mtime_ns == before
    with pytest.raises(InputError, match=r"plant-training holds a finished training with another seed \(0, now 3\)"):
        run(*arguments, *sizes, "--seed", "3")
    load_dataset("clouds", n_plants=4, n_steps=500, seed=1).save(tmp_path / "clouds.npz")
    with pytest.raises(InputError, match="plant-training holds a finished training with other readings"):
        run(*arguments, *sizes)


def test_onnx_file(tmp_path):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper = onnx.helper
    ends = (helper.make_tensor_value_info(name, 1, ["b", t, 5]) for name, t in (("x", 6), ("y", 2)))
    first, last = (helper.make_tensor(name, 7, [1], [value]) for name, value in (("first", 4), ("last", 6)))
    axis = helper.make_tensor("axis", 7, [1], [1])
    node = helper.make_node("Slice", ["x", "first", "last", "axis"], ["y"])
    graph = helper.make_graph([node], "last two", [next(ends)], [next(ends)], [first, last, axis])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(made, tmp_path / "model.onnx")
    waves().save(tmp_path / "waves.npz")
    options = ["-o", tmp_path / "plant", "--effort", "0.1", "--no-progress"]
    assert "'onnx'" in run("fit", tmp_path / "waves.npz", "--model", tmp_path / "model.onnx", *options).output
    assert subcast.load(tmp_path / "plant").horizon == 2
    waves().to_frame().iloc[-6:, :2].to_csv(tmp_path / "recent.csv")
    assert "Forecast of 2 variables" in run("forecast", tmp_path / "plant", tmp_path / "recent.csv").output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--model", "gpt"], "--model must be one of mtgnn, astgcn, mstgcn, lstnet, tcn to train, a folder that"),
        (["--model", CHECKPOINT, "--lookback", "3"], "--lookback is 3, but the model in .* has 12: leave"),
        (["--model", "gone.onnx"], "there is no ONNX file at gone.onnx"),
        (["--preset", "quick"], "--preset must be one of default, paper, got 'quick'"),
        (["--metric", "mape"], "metric must be one of mae, rmse, got 'mape'"),
        (["--effort", "0"], "effort must be .*above 0, got 0"),
        (["--seconds", "-1"], "seconds must be .*above 0, got -1"),
        (["--level", "90"], "levels must be above 0 and at most 0.99, such as 0.9, got 90"),
        (["--set", "neighbor=3"], "--set must be name=value with one of neighbors, exponent, .*'neighbor=3'"),
        (["--set", "neighbors=few"], "--set neighbors must be a whole number, got 'few'"),
        (["--set", "pool=perhaps"], "--set pool must be yes or no, got 'perhaps'"),
        (["--set", "shares=half"], "--set shares must be a list such as"),
        (["--set", "correction=2"], "correction must be a number at least 0 and at most 1, got 2"),
        (["--limit", "north"], "--limit must be NAME=LOW:HIGH"),
        (["--limit", "nort=0:50"], "there is no variable 'nort' to limit .*: did you mean 'north'?"),
    ],
)
def test_bad_options_are_rejected_before_training(fitted, tmp_path, arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        run("fit", fitted[0] / "waves.csv", "-o", tmp_path / "plant", *arguments)
    assert not list(tmp_path.glob("plant*"))


def test_folder_with_other_files_is_rejected(fitted, tmp_path):
    (tmp_path / "notes.txt").touch()
    with pytest.raises(InputError, match="exists and holds no wrapper"):
        run("fit", fitted[0] / "waves.csv", "--model", CHECKPOINT, "-o", tmp_path)


def test_data_with_other_variables_are_rejected(tmp_path):
    waves().select(["north", "east"]).save(tmp_path / "two.csv")
    with pytest.raises(InputError, match="the model takes 5 variables, but the windows have 2"):
        run("fit", tmp_path / "two.csv", "--model", CHECKPOINT, "-o", tmp_path / "plant")


def test_effort_and_seconds_reach_the_wrapper(tmp_path):
    waves().save(tmp_path / "waves.csv")
    arguments = ["fit", tmp_path / "waves.csv", "--model", CHECKPOINT, "-o", tmp_path / "plant", "--no-progress"]
    with pytest.warns(FitWarning, match=r"tuning was cut short after 0\.001 seconds"):
        run(*arguments, "--effort", "0.25", "--seconds", "0.001")
    robust = subcast.load(tmp_path / "plant")
    assert (robust.effort, robust.seconds) == (0.25, 0.001)


def test_limits_reach_the_wrapper(fitted, tmp_path):
    arguments = ["fit", fitted[0] / "waves.csv", "--model", CHECKPOINT, "-o", tmp_path / "plant", "--no-progress"]
    run(*arguments, "--effort", "0.1", "--limit", "north=-10:60", "--limit", "east=:70")
    limits = subcast.load(tmp_path / "plant").limits_
    north, east = (NAMES.index(name) for name in ("north", "east"))
    assert (limits.low[north], limits.high[north], limits.high[east]) == (-10, 60, 70)
