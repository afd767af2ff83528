"""The command: what it shows, what it writes, and how it says no."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import subcast
from subcast.cli import app
from subcast.commands.datasets import dataset_rows, open_series
from subcast.datasets import DATASETS
from subcast.errors import DataError, DataWarning, InputError
from subcast.series import Series

REAL_FOLDER = os.environ.get("SUBCAST_DATA")
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    """An empty cache, no named folder, and a wide terminal without colours."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SUBCAST_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(tmp_path)


def run(*arguments):
    """Run the command and give its result; a mistake stays an exception."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def shell(*arguments, **environment):
    """Run the command as a user does."""
    return subprocess.run(
        [sys.executable, "-c", "from subcast.cli import main; main()", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONWARNINGS": "default", **environment},
    )


@pytest.fixture
def table(tmp_path):
    """A dirty CSV: one gap, one word, one constant, and units in brackets."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        rng.normal(50, 5, (400, 3)).round(2),
        index=pd.date_range("2024-01-01", periods=400, freq="5min", name="time"),
        columns=["inflow [m3]", "outflow [bold]", "valve"],
    ).astype(object)
    frame.iloc[7, 1] = "error"
    frame["valve"] = 1
    frame.drop(frame.index[50:55]).to_csv(tmp_path / "plant.csv")
    return tmp_path / "plant.csv"


class TestInspect:
    def test_a_csv(self, table):
        result = run("datasets", "inspect", table)
        assert result.exit_code == 0
        for part in (
            "400 steps x 3 variables",
            "2024-01-01 00:00 to 2024-01-02 09:15, every 5min",
            "1 cell was text in 'outflow [bold]': now missing",
            "5 steps were missing from the 5min grid",
            "1 variable is constant ('valve')",
            "training",
            "1.50 %",
        ):
            assert part in result.output
        assert not result.stderr

    def test_brackets_in_names_are_shown(self, table):
        output = run("datasets", "inspect", table).output
        assert "inflow [m3]" in output
        assert "outflow [bold]" in output

    def test_an_npz(self, tmp_path):
        Series(np.random.default_rng(0).normal(size=(60, 30))).save(tmp_path / "t.npz")
        output = run("datasets", "inspect", tmp_path / "t.npz").output
        assert "60 steps x 30 variables" in output
        assert "no times: the steps are only numbered" in output
        assert "12 of 30 variables" in output
        assert "v29" not in output
        assert "v29" in run("datasets", "inspect", tmp_path / "t.npz", "--all").output

    def test_a_name(self):
        output = run("datasets", "inspect", "clouds").output
        assert "8,640 steps x 40 variables, in MW" in output
        assert "positions" in output

    def test_a_name_wins_over_a_folder_but_not_over_a_file(self, tmp_path):
        (tmp_path / "clouds").mkdir()
        assert "8,640 steps" in run("datasets", "inspect", "clouds").output
        (tmp_path / "clouds").rmdir()
        (tmp_path / "clouds").write_text("a\n1\n")
        with pytest.raises(DataError, match="clouds is of no known kind"):
            run("datasets", "inspect", "clouds")

    def test_json_parses_and_has_no_nan(self, tmp_path):
        frame = pd.DataFrame({"time": pd.date_range("2024", periods=4), "a": [1.0, np.nan, 3.0, 4.0], "b": [None] * 4})
        frame.to_csv(tmp_path / "t.csv", index=False)

        def refuse(word):
            raise AssertionError(f"{word} is no JSON")

        output = run("datasets", "inspect", tmp_path / "t.csv", "--json").stdout
        summary = json.loads(output, parse_constant=refuse)
        assert (summary["steps"], summary["n_variables"], summary["windows"]) == (4, 2, None)
        assert summary["variables"][1]["mean"] is None
        assert summary["repairs"] == ["1 variable has no reading at all ('b'): kept as missing"]

    @pytest.mark.parametrize("as_json", [[], ["--json"]])
    def test_a_plot(self, table, tmp_path, as_json):
        result = run("datasets", "inspect", table, "--plot", tmp_path / "p.png", *as_json)
        assert (tmp_path / "p.png").read_bytes().startswith(PNG)
        assert ("plot written to" in result.output) != bool(as_json)

    def test_a_plot_of_unknown_ending(self, table, tmp_path):
        with pytest.raises(InputError, match=r"must end in .png, .pdf, .svg, got 'p.bmp'"):
            run("datasets", "inspect", table, "--plot", tmp_path / "p.bmp")

    def test_a_long_table(self, tmp_path):
        days = pd.date_range("2024-01-01", periods=3)
        frame = pd.DataFrame({"station": list("xxxyyy"), "when": [*days, *days], "pm": [1, 2, 3, 4, 5, 7]})
        frame.to_csv(tmp_path / "t.csv", index=False)
        output = run(
            "datasets",
            "inspect",
            tmp_path / "t.csv",
            "--id",
            "station",
            "--time",
            "when",
            "--value",
            "pm",
            "--freq",
            "1D",
        ).output
        assert "3 steps x 2 variables" in output
        assert "too short to train on with 12 steps in and 12 out" in output

    def test_copies_are_pointed_out(self, tmp_path):
        walk = np.random.default_rng(0).normal(size=100).cumsum()
        Series(np.stack([walk, walk], axis=1), ["x", "y"]).save(tmp_path / "t.npz")
        assert "copies: x and y say the same" in run("datasets", "inspect", tmp_path / "t.npz").output

    def test_a_table_of_ones_own_may_bear_the_name_of_a_known_file(self, tmp_path):
        (tmp_path / "traffic.txt").write_text("1,2\n3,5\n4,4\n")
        assert "3 steps x 2 variables" in run("datasets", "inspect", tmp_path / "traffic.txt").output

    def test_an_archive_that_was_altered_is_pointed_out(self, tmp_path):
        values = np.random.default_rng(0).normal(size=(7588, 8))
        np.savez(tmp_path / "exchange_rate.npz", values=values, variables=list("abcdefgh"))
        with pytest.warns(DataWarning, match="exchange_rate.npz is not the file of record"):
            result = run("datasets", "inspect", tmp_path / "exchange_rate.npz")
        assert "7,588 steps x 8 variables" in result.output


@pytest.mark.data
@pytest.mark.parametrize("name", ["metr-la-week", "exchange-rate"])
def test_real_archives_are_inspected_by_name_and_by_file(name, monkeypatch):
    if not REAL_FOLDER:
        pytest.skip("SUBCAST_DATA names no folder of real data")
    monkeypatch.setenv("SUBCAST_DATA", REAL_FOLDER)
    (source,) = DATASETS[name].sources
    path = os.path.join(REAL_FOLDER, source.files[0])
    if not os.path.exists(path):
        pytest.skip(f"{source.files[0]} is not in the folder named by SUBCAST_DATA")
    by_name, by_file = (run("datasets", "inspect", what, "--json").stdout for what in (name, path))
    assert json.loads(by_name) == json.loads(by_file)
    assert json.loads(by_name)["steps"] == DATASETS[name].steps


class TestList:
    def test_every_dataset_is_listed(self):
        output = run("datasets", "list").output
        for name, dataset in DATASETS.items():
            assert name in output
            assert dataset.part in output
        assert "cache" in output
        assert "SUBCAST_DATA" in output

    def test_json(self):
        rows = {row["name"]: row for row in json.loads(run("datasets", "list", "--json").stdout)}
        assert rows.keys() == DATASETS.keys()
        assert (rows["clouds"]["state"], rows["metr-la"]["state"], rows["solar-fl"]["state"]) == (
            "made",
            "web",
            "not here",
        )
        assert rows["traffic"]["scale"] == 1000

    def test_a_file_that_is_here(self, tmp_path, monkeypatch):
        (tmp_path / "solar_fl_dayahead.npz").touch()
        monkeypatch.setenv("SUBCAST_DATA", str(tmp_path))
        (row,) = [row for row in dataset_rows() if row["name"] == "solar-fl"]
        assert (row["state"], row["where"]) == ("here", str(tmp_path / "solar_fl_dayahead.npz"))


class TestExport:
    @pytest.mark.parametrize("ending", [".csv", ".parquet", ".npz"])
    def test_there_and_back(self, tmp_path, ending):
        times = np.datetime64("2024-01-01", "ns") + np.arange(40) * np.timedelta64(1, "h")
        values = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
        values[3, 1] = np.nan
        Series(values, ["a", "b", "c"], times, freq="1h").save(tmp_path / "in.npz")
        result = run("datasets", "export", tmp_path / "in.npz", tmp_path / f"out{ending}")
        assert "40 steps x 3 variables" in result.output
        again = Series.read(tmp_path / f"out{ending}")
        np.testing.assert_allclose(again.values, values, rtol=1e-6)
        np.testing.assert_array_equal(again.times, times)
        assert (again.variables, again.freq) == (("a", "b", "c"), "1h")

    @pytest.mark.parametrize("ending", [".csv", ".parquet", ".npz"])
    def test_without_times(self, tmp_path, ending):
        series = Series(np.random.default_rng(0).normal(size=(9, 3)))
        series.save(tmp_path / "in.npz")
        run("datasets", "export", tmp_path / "in.npz", tmp_path / f"out{ending}")
        again = open_series(str(tmp_path / f"out{ending}"))
        np.testing.assert_allclose(again.values, series.values, rtol=1e-6)
        assert (again.times, again.variables) == (None, ("v0", "v1", "v2"))

    def test_an_unknown_ending_writes_nothing(self, tmp_path):
        with pytest.raises(InputError, match=r"must end in .csv, .parquet, .npz, got 'out.xlsx'"):
            run("datasets", "export", "clouds", tmp_path / "out.xlsx")
        assert not (tmp_path / "out.xlsx").exists()

    def test_a_folder_that_is_not_there(self, tmp_path):
        with pytest.raises(InputError, match=r"the folder of 'out.csv' does not exist: make"):
            run("datasets", "export", "clouds", tmp_path / "no" / "out.csv")


def test_demo(tmp_path):
    result = run("demo", "-o", tmp_path / "deep" / "folder")
    assert (tmp_path / "deep" / "folder" / "clouds.png").read_bytes().startswith(PNG)
    for part in ("6 of 40 plants still report", "last value", "a linear model of all 40 plants", "in 120 min"):
        assert part in result.output


def test_version():
    assert run("--version").output == f"subcast {subcast.__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["datasets"]])
def test_no_command_shows_the_help(arguments):
    assert "Usage" in run(*arguments).output


@pytest.mark.parametrize("arguments", [["nonsense"], ["datasets", "inspect"], ["demo", "--seed", "x"]])
def test_a_wrong_call_is_exit_code_2(arguments):
    assert run(*arguments).exit_code == 2


class TestAsAUser:
    def test_a_mistake_is_one_sentence_on_stderr_and_exit_code_2(self, tmp_path):
        done = shell("datasets", "inspect", tmp_path / "gone.csv")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("subcast: there is no file ")
        assert done.stderr.count("\n") == 1
        assert "Traceback" not in done.stderr

    def test_repairs_are_one_note_on_stderr(self, table, tmp_path):
        done = shell("datasets", "export", table, tmp_path / "clean.csv")
        assert done.returncode == 0
        assert done.stderr.startswith("note: plant.csv: 1 cell was text in")
        assert done.stderr.count("\n") == 1
        assert "written to" in done.stdout

    def test_a_folder_that_cannot_be_made_is_one_sentence(self, tmp_path):
        (tmp_path / "file").touch()
        done = shell("demo", "-o", tmp_path / "file" / "below")
        assert done.returncode == 2
        assert "subcast: " in done.stderr
        assert "Not a directory" in done.stderr
        assert "Traceback" not in done.stderr
