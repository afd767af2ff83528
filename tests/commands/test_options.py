"""The options of the command line."""

import importlib
import json
import warnings

import numpy as np
import pytest

from commands.examples import CHECKPOINT, run, shell, waves
from subcast.commands import options
from subcast.commands.datasets import open_series
from subcast.errors import DataWarning, InputError
from subcast.forecasters import FORECASTERS
from subcast.series import Series

SMALL = ["--lookback", "6", "--horizon", "2", "--epochs", "1", "--threads", "1", "--no-progress"]
LONG = ["--id", "station", "--time", "when", "--value", "level", "--freq", "1h", "--decimal", ",", "--thousands", "."]


def test_the_help_lists_the_registered_models(monkeypatch):
    monkeypatch.setitem(FORECASTERS, "drift", object)
    try:
        reloaded = importlib.reload(options)
        assert "mtgnn, astgcn, mstgcn, lstnet, tcn or drift" in reloaded.TrainModel.__metadata__[0].help
        assert "tcn or drift" in reloaded.FitModel.__metadata__[0].help
    finally:
        monkeypatch.undo()
        importlib.reload(options)
    assert "lstnet or tcn." in options.TrainModel.__metadata__[0].help


@pytest.fixture
def long_file(tmp_path):
    """The waves as a long table with names and marks of its own: a thousand times as large, 1.234,5."""
    table = waves().to_frame(long=True).rename(columns={"unique_id": "station", "ds": "when", "y": "level"})
    table["level"] = [f"{1000 * level:,.1f}".translate(str.maketrans(",.", ".,")) for level in table["level"]]
    table.to_csv(tmp_path / "long.csv", sep=";", index=False)
    return tmp_path / "long.csv"


def test_every_command_reads_a_long_table_with_marks_of_its_own(long_file, tmp_path):
    """inspect, export, fit, forecast and evaluate."""
    inspected = json.loads(run("datasets", "inspect", long_file, *LONG, "--json").stdout)
    assert (inspected["steps"], inspected["rate"], len(inspected["variables"])) == (240, "1h", 5)
    run("datasets", "export", long_file, tmp_path / "wide.csv", *LONG)
    exported = Series.read(tmp_path / "wide.csv")
    np.testing.assert_allclose(exported.values, 1000 * waves().values, atol=0.06)
    fit = ["fit", long_file, "--model", CHECKPOINT, "-o", tmp_path / "plant", "--effort", "0.1", "--no-progress"]
    assert "written to" in run(*fit, *LONG).output
    long = json.loads(run("forecast", tmp_path / "plant", long_file, *LONG, "--json").stdout)
    wide = json.loads(run("forecast", tmp_path / "plant", tmp_path / "wide.csv", "--json").stdout)
    np.testing.assert_allclose(long["mean"], wide["mean"], rtol=1e-5)
    evaluate = ["evaluate", tmp_path / "plant", long_file, *LONG, "--draws", "1", "--every", "20", "--no-progress"]
    assert json.loads(run(*evaluate, "--json").stdout)["variables"] == 5


def test_training_reads_with_the_same_options(long_file, tmp_path):
    result = run("train", long_file, "--model", "tcn", "-o", tmp_path / "model", *SMALL, *LONG)
    assert "240 steps x 5 variables" in result.output


def test_without_the_options_a_note_says_what_was_taken(long_file, tmp_path):
    with pytest.warns(DataWarning, match=r"decimal comma .* and points between thousands"):
        open_series(str(long_file), id="station", time="when", value="level")


def test_a_forecast_notes_the_convention(fitted, recent, tmp_path):
    path = tmp_path / "comma.csv"
    path.write_text(recent.read_text().replace(",", ";").replace(".", ","))
    result = json.loads(run("forecast", fitted[0] / "plant", path, "--json").stdout)
    expected = json.loads(run("forecast", fitted[0] / "plant", recent, "--json").stdout)
    np.testing.assert_allclose(result["mean"], expected["mean"], rtol=1e-6)
    assert result["notes"][0].startswith("numbers read with a decimal comma")
    given = json.loads(run("forecast", fitted[0] / "plant", path, "--decimal", ",", "--json").stdout)
    assert not any("decimal" in note for note in given["notes"])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--id", "place"], "--id place names no column of recent.csv"),
        (
            ["--id", "west"],
            "recent.csv has no column 'y': name the columns of a long table with --id, --time and --value",
        ),
        (["--freq", "2h"], "--freq is 2h, but the wrapper was fitted on steps of 1h"),
        (["--decimal", ";"], "decimal must be"),
    ],
)
def test_wrong_options_of_a_forecast(fitted, recent, arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        run("forecast", fitted[0] / "plant", recent, *arguments)


def test_the_time_column_of_a_wide_file(fitted, recent, tmp_path):
    (tmp_path / "other.csv").write_text(recent.read_text().replace("time,", "moment of it,", 1))
    first, second = (
        json.loads(run("forecast", fitted[0] / "plant", path, "--time", name, "--json").stdout)
        for path, name in ((recent, "time"), (tmp_path / "other.csv", "moment of it"))
    )
    assert first["mean"] == second["mean"]


def test_advice_on_the_command_line_names_options(tmp_path):
    (tmp_path / "a.csv").write_text("time;a\n2024-01-01;980\n2024-01-02;1.010\n")
    done = shell("datasets", "inspect", tmp_path / "a.csv")
    assert done.returncode == 2
    assert done.stderr.strip().endswith("give --decimal '.' or --thousands '.'")
    (tmp_path / "b.csv").write_text("a;b\n1;2\n2;5\n")
    done = shell("datasets", "inspect", tmp_path / "b.csv", "--freq", "1h")
    assert (
        done.stderr.strip() == "subcast: --freq '1h' was given, but b.csv has no times: name their column with --time"
    )


def test_repairs_are_noted_once(tmp_path):
    """Although `fit` trains and wraps."""
    lines = Series(waves().values, times=waves().times).to_frame().round(2).to_csv().splitlines()
    lines[5] = lines[5].rpartition(",")[0] + ",broken"
    (tmp_path / "dirty.csv").write_text("\n".join(lines) + "\n")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run("fit", tmp_path / "dirty.csv", "--model", "tcn", "-o", tmp_path / "plant", "--effort", "0.1", *SMALL)
    notes = [str(warning.message) for warning in caught if issubclass(warning.category, DataWarning)]
    assert notes == ["dirty.csv: 1 cell was text in 'v4': now missing"]
