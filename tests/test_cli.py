"""The command: what it shows, what it writes, and how it says no."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from typer.testing import CliRunner

import subcast
from subcast.cli import app
from subcast.commands.datasets import dataset_rows, open_series
from subcast.datasets import DATASETS, load_dataset
from subcast.errors import DataError, DataWarning, InputError
from subcast.series import Series

REAL_FOLDER = os.environ.get("SUBCAST_DATA")
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    """An empty cache, no named folder, and a wide terminal without colors."""
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
        assert summary["repairs"] == ["1 variable has no reading ('b'): kept as missing"]

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


# The wrapper: fit, forecast, evaluate

CHECKPOINT = Path(__file__).parent / "data" / "format-2" / "forecaster-tcn"  # 12 + 4 steps of 5, with the time of day
NAMES = ("north", "east", "south", "west", "center")


def waves():
    """Five waves over ten days, kin of what the checkpoint was trained on."""
    rng = np.random.default_rng(1)
    hours = np.arange(240)
    values = 20 + 5 * np.sin(2 * np.pi * (hours[:, None] / 24 + np.arange(5) / 5)) + rng.normal(size=(240, 5))
    return Series(values, NAMES, np.datetime64("2024-01-01") + hours * np.timedelta64(1, "h"), name="waves")


def refuse(word):
    raise AssertionError(f"{word} is no JSON")


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A folder with the data, the wrapper of the checkpoint, and what the command said."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("fitted")
    waves().save(folder / "waves.csv")
    arguments = ["fit", folder / "waves.csv", "--model", CHECKPOINT, "-o", folder / "plant", "--level", "0.5"]
    result = run(*arguments, "--level", "0.9", "--seconds", "2", "--set", "neighbors=7", "--no-progress")
    return folder, result.output


@pytest.fixture
def recent(tmp_path):
    """The last day of two of the five, columns in another order, with a hole."""
    frame = waves().to_frame().iloc[-24:][["west", "north"]].copy()
    frame.iloc[-3, 0] = np.nan
    frame.to_csv(tmp_path / "recent.csv")
    return tmp_path / "recent.csv"


class TestFit:
    def test_says_what_was_chosen_and_what_to_do_next(self, fitted):
        folder, said = fitted
        assert "SubsetForecaster of TrainedForecaster 'tcn': 12 + 4 steps of 5 variables" in said
        assert "7 neighbors" in said
        assert "tuned for MAE:" in said
        assert f"written to {folder / 'plant'}" in said
        assert f"subcast forecast {folder / 'plant'} recent.csv -o forecast.csv --plot forecast.png" in said
        assert f"subcast evaluate {folder / 'plant'} {folder / 'waves.csv'} --present 15% --draws 20" in said

    def test_sizes_features_and_split_come_from_the_model(self, fitted):
        robust = subcast.load(fitted[0] / "plant")
        assert (robust.lookback, robust.horizon, robust.variables) == (12, 4, NAMES)
        assert (robust.levels, robust.settings.neighbors) == ((0.5, 0.9), 7)
        assert robust.report["protocol"] == "default"

    def test_a_name_is_trained_beside_and_json_is_alone_on_stdout(self, tmp_path):
        load_dataset("clouds", n_plants=4, n_steps=500).save(tmp_path / "clouds.npz")
        arguments = ["fit", tmp_path / "clouds.npz", "--model", "tcn", "-o", tmp_path / "plant", "--json"]
        sizes = ["--lookback", "6", "--horizon", "3", "--epochs", "1", "--seconds", "1", "--threads", "1"]
        result = run(*arguments, *sizes, "--no-progress")
        record = json.loads(result.stdout, parse_constant=refuse)
        assert "best epoch 1 of 1" in result.stderr
        assert (record["lookback"], record["horizon"], record["variables"], record["metric"]) == (6, 3, 4, "mae")
        assert record["settings"]["pool"] is True
        assert (tmp_path / "plant-training" / "forecaster.json").is_file()
        before = (tmp_path / "plant-training" / "forecaster.json").stat().st_mtime_ns
        again = run(*arguments, *sizes, "--no-progress", "--paper")  # the training is finished: only wrapped anew
        assert json.loads(again.stdout)["settings"]["weighting"] == "forecast"
        assert "is finished: taking its model" in again.stderr
        assert (tmp_path / "plant-training" / "forecaster.json").stat().st_mtime_ns == before
        with pytest.raises(
            InputError, match=r"plant-training holds a finished training with another seed \(0, now 3\)"
        ):
            run(*arguments, *sizes, "--seed", "3")
        load_dataset("clouds", n_plants=4, n_steps=500, seed=1).save(tmp_path / "clouds.npz")
        with pytest.raises(InputError, match="plant-training holds a finished training with other readings"):
            run(*arguments, *sizes)

    def test_an_onnx_file(self, tmp_path):
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
        options = ["-o", tmp_path / "plant", "--seconds", "1", "--no-progress"]
        assert "'onnx'" in run("fit", tmp_path / "waves.npz", "--model", tmp_path / "model.onnx", *options).output
        assert subcast.load(tmp_path / "plant").horizon == 2
        waves().to_frame().iloc[-6:, :2].to_csv(tmp_path / "recent.csv")
        assert "Forecast of 2 variables" in run("forecast", tmp_path / "plant", tmp_path / "recent.csv").output

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (["--model", "gpt"], "--model must be one of mtgnn, astgcn, mstgcn, lstnet, tcn to train, a folder that"),
            (["--model", CHECKPOINT, "--lookback", "3"], "--lookback is 3, and the model in .* has 12: leave"),
            (["--model", "gone.onnx"], "there is no ONNX file at gone.onnx"),
            (["--preset", "quick"], "preset must be one of default, paper, got 'quick'"),
            (["--metric", "mape"], "metric must be one of mae, rmse, got 'mape'"),
            (["--level", "90"], "levels must be above 0 and at most 0.99, such as 0.9, got 90"),
            (["--set", "neighbors=3"], "--set must be name=value with one of neighbors, exponent, .*'neighbors=3'"),
            (["--set", "neighbors=few"], "--set neighbors must be a whole number, got 'few'"),
            (["--set", "pool=perhaps"], "--set pool must be yes or no, got 'perhaps'"),
            (["--set", "shares=half"], "--set shares must be a list such as"),
            (["--set", "correction=2"], "correction must be a number at least 0 and at most 1, got 2"),
        ],
    )
    def test_mistakes_get_a_sentence_before_anything_is_trained(self, fitted, tmp_path, arguments, sentence):
        with pytest.raises(InputError, match=sentence):
            run("fit", fitted[0] / "waves.csv", "-o", tmp_path / "plant", *arguments)
        assert not list(tmp_path.glob("plant*"))

    def test_a_folder_of_other_things_is_left_alone(self, fitted, tmp_path):
        (tmp_path / "thesis.txt").touch()
        with pytest.raises(InputError, match="exists and holds no wrapper"):
            run("fit", fitted[0] / "waves.csv", "--model", CHECKPOINT, "-o", tmp_path)

    def test_data_of_other_variables(self, tmp_path):
        waves().select(["north", "east"]).save(tmp_path / "two.csv")
        with pytest.raises(InputError, match="the model takes 5 variables, but the windows have 2"):
            run("fit", tmp_path / "two.csv", "--model", CHECKPOINT, "-o", tmp_path / "plant")


class TestForecast:
    def test_writes_the_table_and_the_picture(self, fitted, recent, tmp_path):
        output, plot = tmp_path / "forecast.csv", tmp_path / "forecast.png"
        result = run("forecast", fitted[0] / "plant", recent, "-o", output, "--plot", plot)
        assert "Forecast of 2 variables, 4 steps ahead of 1h: 2024-01-11 00:00 to 2024-01-11 03:00" in result.output
        assert "01-11 03:00" in result.output
        assert f"forecast written to {output}\nplot written to {plot}\n" in result.output
        table = pd.read_csv(output)
        assert table["variable"].tolist() == ["north"] * 4 + ["west"] * 4
        assert {"time", "step", "mean", "lower_50", "upper_90", "observed"} <= set(table.columns)
        assert plot.read_bytes().startswith(PNG)

    def test_equals_what_python_says(self, fitted, recent):
        said = json.loads(run("forecast", fitted[0] / "plant", recent, "--json").stdout, parse_constant=refuse)
        robust = subcast.load(fitted[0] / "plant")
        expected = robust.predict(pd.read_csv(recent, index_col=0, parse_dates=True))
        np.testing.assert_allclose(said["mean"], expected.mean, rtol=1e-6)
        assert [interval["level"] for interval in said["intervals"]] == [0.5, 0.9]
        assert (said["variables"], said["times"][0]) == (["north", "west"], "2024-01-11T00:00:00")

    def test_absent_ones_and_other_levels(self, fitted, recent):
        arguments = ["forecast", fitted[0] / "plant", recent, "--json", "--absent", "--level", "0.8"]
        said = json.loads(run(*arguments).stdout)
        assert said["variables"] == ["north", "west", "east", "south", "center"]
        assert [interval["level"] for interval in said["intervals"]] == [0.8]

    @pytest.mark.parametrize("ending", [".parquet", ".npz", "-long.csv"])
    def test_other_files_say_the_same(self, fitted, recent, tmp_path, ending):
        frame = pd.read_csv(recent, index_col=0, parse_dates=True)
        path = tmp_path / f"other{ending}"
        if ending == "-long.csv":
            long = frame.rename_axis("ds").reset_index().melt("ds", var_name="unique_id", value_name="y")
            long.sample(frac=1, random_state=0).to_csv(path, index=False)
        else:
            Series.from_frame(frame).save(path)
        first, second = (json.loads(run("forecast", fitted[0] / "plant", p, "--json").stdout) for p in (recent, path))
        np.testing.assert_allclose(first["mean"], second["mean"], rtol=1e-5)

    def test_bad_readings_get_the_wrappers_sentence(self, fitted, recent, tmp_path):
        frame = pd.read_csv(recent, index_col=0)
        cases = {
            "recent goes back in time": frame.iloc[::-1],
            "recent has 5 steps, and the forecaster looks back over 12": frame.iloc[-5:],
            "did you mean 'west' for 'wset'": frame.rename(columns={"west": "wset"}),
            "recent comes every 2h, and the forecaster was trained on steps of 1h": frame.iloc[::2],
            "column 'west' of recent holds text": frame.astype(object).replace(frame.iloc[-1, 0], "broken"),
            "recent has no reading of any": frame * np.nan,
        }
        for sentence, table in cases.items():
            table.to_csv(tmp_path / "bad.csv")
            with pytest.raises(InputError, match=sentence):
                run("forecast", fitted[0] / "plant", tmp_path / "bad.csv")

    def test_bad_paths(self, fitted, recent, tmp_path):
        for folder, file, sentence in [
            (tmp_path / "gone", recent, "gone is not there: give a folder that `subcast fit` or `save` wrote"),
            (CHECKPOINT, recent, "holds a trained model, not a wrapper"),
            (fitted[0] / "plant", tmp_path / "gone.csv", "there is no file"),
            (fitted[0] / "plant", tmp_path, "is a folder: give one file of recent readings"),
            (fitted[0] / "plant", fitted[0] / "plant" / "wrapper.json", "is of no known kind"),
        ]:
            with pytest.raises(InputError, match=sentence):
                run("forecast", folder, file)
        with pytest.raises(InputError, match=r"the file must end in .csv, got 'forecast.xls'"):
            run("forecast", fitted[0] / "plant", recent, "-o", tmp_path / "forecast.xls")

    def test_a_wrapper_without_its_model(self, recent, tmp_path):
        train, val, _ = waves().split(6, 2)
        robust = subcast.SubsetForecaster(lambda x: x[:, -2:, :, 0], progress=False, seconds=1).fit(train, val)
        robust.save(tmp_path / "plant")
        with pytest.raises(InputError, match=r"plant was saved without its model .* use it from Python, subcast.load"):
            run("forecast", tmp_path / "plant", recent)
        with pytest.raises(InputError, match="so the command line cannot use it"):
            run("evaluate", tmp_path / "plant", "clouds")

    def test_a_missing_library_gets_a_sentence(self, fitted, recent):
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


@pytest.fixture(scope="module")
def record(fitted):
    """What `evaluate` wrote, which is what it printed."""
    arguments = ["evaluate", fitted[0] / "plant", fitted[0] / "waves.csv", "--present", "40%", "--draws", "3"]
    result = run(*arguments, "--every", "2", "--seed", "5", "--json", "-o", fitted[0] / "record.json")
    written = json.loads((fitted[0] / "record.json").read_text(), parse_constant=refuse)
    assert json.loads(result.stdout, parse_constant=refuse) == written
    return written


class TestEvaluate:
    def test_the_record(self, record):
        assert [row["method"] for row in record["table"]] == ["oracle", "partial", "paper", "subcast"]
        assert (record["present_count"], record["variables"], record["step"], record["seed"]) == (2, 5, 4, 5)
        assert record["draws"] == subcast.draw_subsets(5, share=0.4, draws=3, seed=5).tolist()
        test = waves().split(12, 4).test
        assert record["windows"] == len(test[::2])
        assert np.shape(record["mae"]["subcast"]) == (3, 4)
        assert record["table"][0]["mae_gap"] == 0

    def test_the_oracles_error_is_the_models(self, record):
        model = subcast.TrainedForecaster.load(CHECKPOINT)
        batch = waves().with_features("time_of_day").split(12, 4).test[::2].batch()
        off = np.abs(model(batch.inputs) - batch.targets)[:, -1]  # [b, n] of the last step
        expected = np.mean([off[:, draw].mean() for draw in record["draws"]])
        assert record["table"][0]["mae"] == pytest.approx(expected, rel=1e-5)

    def test_the_table(self, fitted):
        arguments = ["evaluate", fitted[0] / "plant", fitted[0] / "waves.csv", "--present", "2", "--draws", "2"]
        said = run(*arguments, "--every", "9", "--step", "1").output
        assert "2 of 5 variables present, 2 draws," in said
        assert "test windows, step 1" in said
        for part in ("Oracle", "Partial", "paper", "subcast", "MAE", "RMSE", "gap in % [95 %]", " ± "):
            assert part in said

    def test_one_draw_has_no_deviation(self, fitted):
        arguments = ["evaluate", fitted[0] / "plant", fitted[0] / "waves.csv", "--draws", "1", "--every", "9"]
        assert json.loads(run(*arguments, "--json").stdout, parse_constant=refuse)["table"][1]["mae_deviation"] is None
        assert "±" not in run(*arguments).output

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (["--present", "most"], "the share must be like '15%'"),
            (["--present", "6"], "count must be at most the 5 variables there are, got 6"),
            (["--draws", "0"], "draws must be"),
            (["--every", "0"], "every must be"),
            (["--step", "5"], "--step must be between 1 and the horizon of 4, got 5"),
            (["--preset", "quick"], "preset must be one of default, paper, got 'quick'"),
            (["-o", "record.txt"], "the file must end in .json, got 'record.txt'"),
        ],
    )
    def test_mistakes_get_a_sentence(self, fitted, arguments, sentence):
        with pytest.raises(InputError, match=sentence):
            run("evaluate", fitted[0] / "plant", fitted[0] / "waves.csv", "--every", "40", "--draws", "1", *arguments)

    def test_other_data(self, fitted):
        with pytest.raises(InputError, match="'clouds' has no 'north', 'east', 'south' and 2 more of the 5 variables"):
            run("evaluate", fitted[0] / "plant", "clouds")


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

    def test_a_bad_option_of_a_wrapper_too(self, tmp_path):
        done = shell("forecast", tmp_path / "gone", tmp_path / "recent.csv", "--json")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1
        assert done.stderr.startswith("subcast: ")

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


class TestReproduce:
    def test_list_names_every_experiment_even_in_a_narrow_terminal(self, monkeypatch):
        monkeypatch.setenv("COLUMNS", "80")
        told = json.loads(run("reproduce", "--list", "--json").stdout)
        shown = run("reproduce", "--list").stdout
        assert len(told) >= 20
        assert all(row["name"] in shown for row in told)
        assert max(map(len, shown.splitlines())) <= 80

    def test_json_names_the_records_and_what_was_passed_over(self, tmp_path):
        options = ("--dataset", "clouds-small,ecg5000", "--models", "tcn", "--draws", 2, "--every", 97, "--json")
        told = json.loads(run("reproduce", "table-oracle-partial", *options).stdout)
        assert [Path(path).name for path in told["records"]] == ["clouds-small-tcn.json"]
        assert all(Path(path).exists() for path in told["records"])
        assert list(told["passed_over"]) == ["table-oracle-partial ecg5000-tcn"]
        assert "SUBCAST_DATA" in told["passed_over"]["table-oracle-partial ecg5000-tcn"]

    def test_nothing_named_gets_a_sentence(self):
        with pytest.raises(InputError, match="name an experiment"):
            run("reproduce")
