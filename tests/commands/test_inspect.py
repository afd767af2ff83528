"""`subcast inspect`: what a wrapper is, in words and as JSON."""

import json
import shutil

import numpy as np
import pytest

import subcast
from commands.examples import CHECKPOINT, NAMES, refuse, run, shell, waves


def test_shows_what_a_wrapper_is(fitted):
    output = run("inspect", fitted[0] / "plant").output
    assert f"wrapper in {fitted[0] / 'plant'}: " in output
    assert f"written by subcast {subcast.__version__}" in output
    assert "model: TrainedForecaster 'tcn'" in output
    assert "data: waves, 5 variables" in output
    assert "training: 2024-01-01 00:00:00 to " in output
    assert "every 1h, times without a zone" in output
    assert "12 steps back, 4 ahead; " in output
    assert "intervals at 50 % and 90 %" in output
    assert "neighbors 7" in output
    assert "expected gap to all variables: " in output
    assert "error with all variables, in each variable's spread: model " in output
    assert "warning: the model is worse than what needs no model" in output
    for name in NAMES:
        assert name in output


def test_json_agrees_with_the_wrapper(fitted):
    record = json.loads(run("inspect", fitted[0] / "plant", "--json").stdout, parse_constant=refuse)
    robust = subcast.load(fitted[0] / "plant")
    assert record["variables"] == list(robust.variables)
    assert (record["lookback"], record["horizon"], record["rate"]) == (12, 4, "1h")
    assert record["windows"] == len(robust.fitted_.bank)
    assert (record["start"], record["steps"]) == ("2024-01-01T00:00:00", len(robust.metadata_.times))
    assert record["settings"] == json.loads(json.dumps(robust.settings_.to_dict()))
    assert record["limits"] == robust.limits_.to_dict()
    assert [gap["present"] for gap in record["expected_gaps"]] == robust.calibration_.shares.round(4).tolist()
    assert record["usefulness"] == {"line": robust.usefulness_.line, "problem": robust.usefulness_.problem}
    files = [path for path in (fitted[0] / "plant").iterdir() if path.is_file()]
    assert record["size"] == sum(path.stat().st_size for path in files)


def test_a_wrapper_saved_without_its_model(tmp_path):
    train = waves().split(6, 3).train

    def last_reading(x):
        return np.repeat(x[:, -1:, :, 0], 3, axis=1)

    robust = subcast.SubsetForecaster(last_reading, progress=False, effort=0.1, limits=None).fit(train)
    robust.save(tmp_path / "plant")
    output = run("inspect", tmp_path / "plant").output
    assert "not saved with the wrapper" in output
    assert "no limits of the readings" in output
    record = json.loads(run("inspect", tmp_path / "plant", "--json").stdout)
    assert (record["limits"], record["expected_gaps"], record["model"]["stored"]) == (None, None, None)
    assert record["usefulness"] is None


def test_the_zone_of_the_training(tmp_path):
    frame = waves().to_frame().tz_localize("UTC").tz_convert("Asia/Tokyo")
    train = subcast.Series.from_frame(frame).split(6, 3).train
    subcast.SubsetForecaster(lambda x: x[:, -3:, :, 0], progress=False).fit(train).save(tmp_path / "plant")
    record = json.loads(run("inspect", tmp_path / "plant", "--json").stdout)
    assert record["zone"] == "Asia/Tokyo"
    assert record["start"] == "2024-01-01T09:00:00"
    assert "2024-01-01 09:00:00 to " in run("inspect", tmp_path / "plant").output


def test_many_variables_are_cut_short(tmp_path):
    values = np.random.default_rng(0).normal(size=(200, 25))
    train = subcast.Series(values, [f"v[{number}]" for number in range(25)]).windows(4, 2)
    robust = subcast.SubsetForecaster(lambda x: x[:, -2:, :, 0], progress=False).fit(train)
    robust.save(tmp_path / "plant")
    output = run("inspect", tmp_path / "plant").output
    assert "20 of 25 variables; --all shows every variable" in output
    assert "steps without times" in output
    assert "v[24]" not in output
    assert "v[24]" in run("inspect", tmp_path / "plant", "--all").output


@pytest.mark.parametrize("kind", ["gone", "model", "damaged"])
def test_another_folder(fitted, tmp_path, kind):
    folder, sentence = tmp_path / "gone", "does not exist"
    if kind == "model":
        folder, sentence = CHECKPOINT, "holds a trained model, not a wrapper"
    if kind == "damaged":
        folder, sentence = tmp_path / "plant", "plant"
        shutil.copytree(fitted[0] / "plant", folder)
        (folder / "wrapper.json").write_text("{}")
    done = shell("inspect", folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert sentence in done.stderr
