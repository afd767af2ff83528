"""`subcast datasets`: list, inspect and export."""

import json
import os

import numpy as np
import pandas as pd
import pytest

from commands.examples import PNG, REAL_FOLDER, refuse, run
from subcast.commands.datasets import dataset_rows, open_series
from subcast.datasets import DATASETS
from subcast.errors import DataError, DataNotFoundError, DataWarning, InputError
from subcast.series import Series


class TestInspect:
    def test_csv(self, table):
        result = run("datasets", "inspect", table)
        assert result.exit_code == 0
        for text in (
            "400 steps x 3 variables",
            "2024-01-01 00:00 to 2024-01-02 09:15, every 5min",
            "1 cell was text in 'outflow [bold]': now missing",
            "5 steps were missing from the 5min grid",
            "1 variable is constant ('valve')",
            "training",
            "1.50 %",
        ):
            assert text in result.output
        assert not result.stderr

    def test_brackets_in_names_are_shown(self, table):
        output = run("datasets", "inspect", table).output
        assert "inflow [m3]" in output
        assert "outflow [bold]" in output

    def test_npz(self, tmp_path):
        Series(np.random.default_rng(0).normal(size=(60, 30))).save(tmp_path / "t.npz")
        output = run("datasets", "inspect", tmp_path / "t.npz").output
        assert "60 steps x 30 variables" in output
        assert "no times: the steps are numbered" in output
        assert "12 of 30 variables" in output
        assert "v29" not in output
        assert "v29" in run("datasets", "inspect", tmp_path / "t.npz", "--all").output

    def test_dataset_by_name(self):
        output = run("datasets", "inspect", "clouds").output
        assert "8,640 steps x 40 variables, in MW" in output
        assert "positions" in output

    def test_a_dataset_is_preferred_to_a_folder_but_not_to_a_file(self, tmp_path):
        (tmp_path / "clouds").mkdir()
        assert "8,640 steps" in run("datasets", "inspect", "clouds").output
        (tmp_path / "clouds").rmdir()
        (tmp_path / "clouds").write_text("a\n1\n")
        with pytest.raises(DataError, match="clouds is of no known kind"):
            run("datasets", "inspect", "clouds")

    def test_json_parses_and_has_no_nan(self, tmp_path):
        frame = pd.DataFrame({"time": pd.date_range("2024", periods=4), "a": [1.0, np.nan, 3.0, 4.0], "b": [None] * 4})
        frame.to_csv(tmp_path / "t.csv", index=False)

        output = run("datasets", "inspect", tmp_path / "t.csv", "--json").stdout
        summary = json.loads(output, parse_constant=refuse)
        assert (summary["steps"], summary["n_variables"], summary["windows"]) == (4, 2, None)
        assert summary["variables"][1]["mean"] is None
        assert summary["repairs"] == ["1 variable has no reading ('b'): kept as missing"]

    @pytest.mark.parametrize("as_json", [[], ["--json"]])
    def test_plot(self, table, tmp_path, as_json):
        result = run("datasets", "inspect", table, "--plot", tmp_path / "p.png", *as_json)
        assert (tmp_path / "p.png").read_bytes().startswith(PNG)
        assert ("plot written to" in result.output) != bool(as_json)

    def test_plot_with_unknown_ending_is_rejected(self, table, tmp_path):
        with pytest.raises(InputError, match=r"must end in .png, .pdf, .svg, got 'p.bmp'"):
            run("datasets", "inspect", table, "--plot", tmp_path / "p.bmp")

    def test_long_table(self, tmp_path):
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
        assert "too short for training with 12 past steps and 12 steps to forecast" in output

    def test_copies_are_reported(self, tmp_path):
        walk = np.random.default_rng(0).normal(size=100).cumsum()
        Series(np.stack([walk, walk], axis=1), ["x", "y"]).save(tmp_path / "t.npz")
        assert "copies: x and y have equal readings" in run("datasets", "inspect", tmp_path / "t.npz").output

    def test_own_table_with_the_file_name_of_a_dataset(self, tmp_path):
        (tmp_path / "traffic.txt").write_text("1,2\n3,5\n4,4\n")
        assert "3 steps x 2 variables" in run("datasets", "inspect", tmp_path / "traffic.txt").output

    def test_altered_archive_gives_a_warning(self, tmp_path):
        values = np.random.default_rng(0).normal(size=(7588, 8))
        np.savez(tmp_path / "exchange_rate.npz", values=values, variables=list("abcdefgh"))
        with pytest.warns(DataWarning, match="exchange_rate.npz differs from the original file"):
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
            assert dataset.content in output
        assert "cache" in output
        assert "SUBCAST_DATA" in output

    def test_json(self):
        rows = {row["name"]: row for row in json.loads(run("datasets", "list", "--json").stdout)}
        assert rows.keys() == DATASETS.keys()
        assert (rows["clouds"]["state"], rows["metr-la"]["state"], rows["solar-fl"]["state"]) == (
            "generated",
            "download",
            "not found",
        )
        assert rows["traffic"]["scale"] == 1000

    def test_local_file(self, tmp_path, monkeypatch):
        (tmp_path / "solar_fl_dayahead.npz").touch()
        monkeypatch.setenv("SUBCAST_DATA", str(tmp_path))
        (row,) = [row for row in dataset_rows() if row["name"] == "solar-fl"]
        assert (row["state"], row["path"]) == ("on this machine", str(tmp_path / "solar_fl_dayahead.npz"))


class TestExport:
    @pytest.mark.parametrize("ending", [".csv", ".parquet", ".npz"])
    def test_round_trip(self, tmp_path, ending):
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

    def test_unknown_ending_writes_nothing(self, tmp_path):
        with pytest.raises(InputError, match=r"must end in .csv, .parquet, .npz, got 'out.xlsx'"):
            run("datasets", "export", "clouds", tmp_path / "out.xlsx")
        assert not (tmp_path / "out.xlsx").exists()

    def test_missing_folder_is_rejected(self, tmp_path):
        with pytest.raises(InputError, match=r"the folder of 'out.csv' does not exist: make"):
            run("datasets", "export", "clouds", tmp_path / "no" / "out.csv")


class TestOpenSeries:
    def test_neither_file_nor_dataset(self):
        with pytest.raises(DataNotFoundError, match=r"there is no file 'metrla' and no dataset of that name: .* list"):
            open_series("metrla")

    def test_options_of_a_file_for_a_dataset(self):
        with pytest.raises(InputError, match="--time, --freq can only be used with a file, and 'clouds' is a dataset"):
            open_series("clouds", time="when", freq="1h")

    def test_a_file_of_a_dataset_is_scaled_and_says_so(self, tmp_path):
        values = np.random.default_rng(0).integers(1, 9, (17544, 20))
        path = tmp_path / "traffic_subset.npz"
        np.savez(path, values=values, variables=[f"s{number}" for number in range(20)], start="2015-01-01")
        with pytest.warns(DataWarning, match="differs from the original file"):
            series = open_series(str(path))
        assert series.repairs == ("read as dataset 'traffic-20': values times 1000",)
        np.testing.assert_array_equal(series.values, 1000 * values)
