"""`subcast forecast`: its table, plot and JSON, and its errors."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import subcast
from commands.examples import CHECKPOINT, NAMES, PNG, refuse, run, shell, waves
from subcast.errors import InputError
from subcast.series import Series


def test_writes_the_table_and_the_plot(fitted, recent, tmp_path):
    output, plot = tmp_path / "forecast.csv", tmp_path / "forecast.png"
    result = run("forecast", fitted[0] / "plant", recent, "-o", output, "--plot", plot)
    assert "Forecast of 2 variables, 4 steps ahead of 1h: 2024-01-11 00:00 to 2024-01-11 03:00" in result.output
    assert "01-11 03:00" in result.output
    assert f"forecast written to {output}\nplot written to {plot}\n" in result.output
    table = pd.read_csv(output)
    assert table["variable"].tolist() == ["north"] * 4 + ["west"] * 4
    assert {"time", "step", "mean", "lower_50", "upper_90", "observed"} <= set(table.columns)
    assert plot.read_bytes().startswith(PNG)


def test_equals_the_forecast_in_python(fitted, recent):
    result = json.loads(run("forecast", fitted[0] / "plant", recent, "--json").stdout, parse_constant=refuse)
    robust = subcast.load(fitted[0] / "plant")
    expected = robust.predict(pd.read_csv(recent, index_col=0, parse_dates=True))
    np.testing.assert_allclose(result["mean"], expected.mean, rtol=1e-6)
    assert [interval["level"] for interval in result["intervals"]] == [0.5, 0.9]
    assert (result["variables"], result["times"][0]) == (["north", "west"], "2024-01-11T00:00:00")


def test_absent_variables_and_other_levels(fitted, recent):
    arguments = ["forecast", fitted[0] / "plant", recent, "--json", "--absent", "--level", "0.8"]
    result = json.loads(run(*arguments).stdout)
    assert result["variables"] == ["north", "west", "east", "south", NAMES[4]]
    assert [interval["level"] for interval in result["intervals"]] == [0.8]


@pytest.mark.parametrize(
    ("width", "steps"), [(200, ["00:00", "01:00", "03:00"]), (70, ["00:00", "03:00"]), (44, ["03:00"])]
)
def test_names_and_numbers_are_not_cut_on_a_narrow_screen(fitted, recent, monkeypatch, width, steps):
    monkeypatch.setenv("COLUMNS", str(width))
    lines = run("forecast", fitted[0] / "plant", recent, "--absent").output.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("variable"))
    assert lines[head].split()[1:] == [word for step in steps for word in ("01-11", step)]
    rows = lines[head + 1 : head + 6]
    assert [row.split("  ")[0] for row in rows] == ["north", "west", "east", "south", NAMES[4]]
    assert all(row.count(" to ") == len(steps) and row.endswith(")") and "…" not in row for row in rows)


@pytest.mark.parametrize("ending", [".parquet", ".npz", "-long.csv"])
def test_other_file_formats_give_the_same_forecast(fitted, recent, tmp_path, ending):
    frame = pd.read_csv(recent, index_col=0, parse_dates=True)
    path = tmp_path / f"other{ending}"
    if ending == "-long.csv":
        long = frame.rename_axis("ds").reset_index().melt("ds", var_name="unique_id", value_name="y")
        long.sample(frac=1, random_state=0).to_csv(path, index=False)
    else:
        Series.from_frame(frame).save(path)
    first, second = (json.loads(run("forecast", fitted[0] / "plant", p, "--json").stdout) for p in (recent, path))
    np.testing.assert_allclose(first["mean"], second["mean"], rtol=1e-5)


def test_a_note_about_times_is_printed_once(fitted, recent, tmp_path, recwarn):
    frame = pd.read_csv(recent, index_col=0, parse_dates=True).tz_localize("Asia/Tokyo")
    frame.to_csv(tmp_path / "tokyo.csv")
    output = run("forecast", fitted[0] / "plant", tmp_path / "tokyo.csv").output
    assert output.count("the times have a zone and the training had none") == 1
    assert not [caught for caught in recwarn.list if "zone" in str(caught.message)]


def test_bad_readings_are_rejected(fitted, recent, tmp_path):
    frame = pd.read_csv(recent, index_col=0)
    cases = {
        "recent goes back in time": frame.iloc[::-1],
        "recent has 5 steps, and the forecaster looks back over 12": frame.iloc[-5:],
        "did you mean 'west'": frame.rename(columns={"west": "wset"}),
        "recent comes every 2h, and the forecaster was trained on steps of 1h": frame.iloc[::2],
        "column 'west' of recent holds text": frame.astype(object).replace(frame.iloc[-1, 0], "broken"),
        "recent has no reading of any": frame * np.nan,
    }
    for sentence, table in cases.items():
        table.to_csv(tmp_path / "bad.csv")
        with pytest.raises(InputError, match=sentence):
            run("forecast", fitted[0] / "plant", tmp_path / "bad.csv")


def test_bad_paths_are_rejected(fitted, recent, tmp_path):
    for folder, file, sentence in [
        (tmp_path / "gone", recent, "gone does not exist: give a folder that `subcast fit` or `save` wrote"),
        (CHECKPOINT, recent, "holds a trained model, not a wrapper"),
        (fitted[0] / "plant", tmp_path / "gone.csv", "there is no file"),
        (fitted[0] / "plant", tmp_path, "is a folder: give one file of recent readings"),
        (fitted[0] / "plant", fitted[0] / "plant" / "wrapper.json", "is of no known kind"),
    ]:
        with pytest.raises(InputError, match=sentence):
            run("forecast", folder, file)
    with pytest.raises(InputError, match=r"the file must end in .csv, got 'forecast.xls'"):
        run("forecast", fitted[0] / "plant", recent, "-o", tmp_path / "forecast.xls")


def test_wrapper_without_its_model_is_rejected(recent, tmp_path):
    train, val, _ = waves().split(6, 2)
    robust = subcast.SubsetForecaster(lambda x: x[:, -2:, :, 0], progress=False, effort=0.1).fit(train, val)
    robust.save(tmp_path / "plant")
    with pytest.raises(
        InputError, match=r"plant was saved without its model .*: wrap a folder that `subcast train` wrote"
    ):
        run("forecast", tmp_path / "plant", recent)
    with pytest.raises(InputError, match="so the command line cannot use it"):
        run("evaluate", tmp_path / "plant", "clouds")


def test_missing_package_is_reported(fitted, recent):
    code = "import sys; sys.modules['torch'] = None; from subcast.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "forecast", str(fitted[0] / "plant"), str(recent)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "needs torch: install it with pip install 'subcast[models]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_level_needs_calibrated_intervals(fitted, recent, tmp_path):
    arguments = ["fit", fitted[0] / "waves.csv", "--model", CHECKPOINT, "-o", tmp_path / "plant", "--paper"]
    run(*arguments, "--no-progress")
    with pytest.raises(InputError, match=r"--level needs calibrated intervals, and the wrapper in .*plant has none"):
        run("forecast", tmp_path / "plant", recent, "--level", "0.9")


class TestLimits:
    @pytest.fixture
    def absurd(self, recent):
        frame = pd.read_csv(recent, index_col=0)
        frame.iloc[-1, 1] = 999999
        frame.to_csv(recent)
        return recent

    def test_a_note_in_words_in_json_and_in_the_table(self, fitted, absurd, tmp_path):
        output = run("forecast", fitted[0] / "plant", absurd, "-o", tmp_path / "forecast.csv").output
        sentence = "'north' reads 999999 at 2024-01-10 23:00:00, above its limit of "
        assert f"note: {sentence}" in output
        assert pd.read_csv(tmp_path / "forecast.csv")["note"][0].startswith(sentence)
        (note,) = json.loads(run("forecast", fitted[0] / "plant", absurd, "--json").stdout)["notes"]
        assert note.startswith(sentence)

    def test_strict(self, fitted, absurd):
        done = shell("forecast", fitted[0] / "plant", absurd, "--strict")
        assert (done.returncode, done.stdout) == (2, "")
        assert "which strict does not allow: 'north' reads 999999" in done.stderr

    def test_other_limits_for_one_forecast(self, fitted, absurd):
        result = json.loads(run("forecast", fitted[0] / "plant", absurd, "--json", "--no-limits").stdout)
        (note,) = result["notes"]
        assert note.startswith("this window is unlike those this wrapper was tested on")
        result = json.loads(run("forecast", fitted[0] / "plant", absurd, "--json", "--limit", "west=:5").stdout)
        assert sum("not used" in note for note in result["notes"]) == 2

    def test_wrong_limits(self, fitted, absurd):
        with pytest.raises(InputError, match="--limit and --no-limits cannot both be given"):
            run("forecast", fitted[0] / "plant", absurd, "--no-limits", "--limit", "west=0:1")
        with pytest.raises(InputError, match="did you mean 'west'"):
            run("forecast", fitted[0] / "plant", absurd, "--limit", "wset=0:1")

    def test_a_wrapper_without_limits(self, fitted, absurd, tmp_path):
        data, plant = fitted[0] / "waves.csv", tmp_path / "free"
        run("fit", data, "--model", CHECKPOINT, "-o", plant, "--no-limits", "--effort", "0.1", "--no-progress")
        (note,) = json.loads(run("forecast", plant, absurd, "--json", "--strict").stdout)["notes"]
        assert note.startswith("this window is unlike those this wrapper was tested on")
        with pytest.raises(InputError, match=r"--limit changes limits, and the wrapper in .* has none"):
            run("forecast", plant, absurd, "--limit", "west=0:1")
