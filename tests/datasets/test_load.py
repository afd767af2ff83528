"""Datasets by name: the formats of their public homes, where files are looked for, and how they are fetched."""

import dataclasses
import gzip
import hashlib
import os
import re

import h5py
import numpy as np
import pandas as pd
import pytest

from subcast.datasets import DATASETS, load_dataset
from subcast.datasets import base as base_module
from subcast.datasets.base import Source, cache_folder, data_folders, fetch, find_files, load_files
from subcast.datasets.published import row_order_checksum
from subcast.errors import DataError, DataNotFoundError, DataWarning

REAL_FOLDER = os.environ.get("SUBCAST_DATA")
NAN = float("nan")
NUMBERS = np.round(np.random.default_rng(0).random((6, 4)), 6)
FILED = [name for name, dataset in DATASETS.items() if dataset.sources]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    """No test sees the files of the machine it runs on, unless it asks for them."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SUBCAST_DATA", raising=False)


def small(name, steps=6, n_variables=4, **fields):
    """A dataset by name, of another size."""
    return dataclasses.replace(DATASETS[name], steps=steps, n_variables=n_variables, **fields)


def write_text(path, values, separator=",", header=None):
    lines = ([header] if header else []) + [separator.join(f"{value:.6f}" for value in row) for row in values]
    raw = ("\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)


class TestMetrLa:
    INDEX = pd.date_range("2012-03-01", periods=6, freq="5min")
    NAMES = ("773869", "767541", "767542", "717447")

    def values(self):
        values = NUMBERS * 70
        values[2, 1] = values[4, 0] = 0
        return values

    def check(self, folder):
        series = load_files(small("metr-la"), folder, download=False)
        assert (series.name, series.variables, series.freq, series.unit) == ("metr-la", self.NAMES, "5min", "mph")
        assert (series.time_features, series.missing_code) == (("time_of_day",), 0.0)
        np.testing.assert_array_equal(series.times, self.INDEX.to_numpy())
        expected = np.where(self.values() == 0, NAN, self.values())
        np.testing.assert_allclose(series.values, expected, rtol=1e-6)

    def test_as_it_is_published(self, tmp_path):
        """Old pandas: nanoseconds, and an index of kind datetime64."""
        with h5py.File(tmp_path / "metr-la.h5", "w") as file:
            group = file.create_group("df")
            group.attrs.update(pandas_type=b"frame", nblocks=1, ndim=2, pandas_version=b"0.15.2")
            names = np.array([name.encode() for name in self.NAMES])
            group["axis0"], group["block0_items"] = names, names
            group["axis1"], group["block0_values"] = self.INDEX.as_unit("ns").asi8, self.values()
            group["axis1"].attrs["kind"] = b"datetime64"
        self.check(tmp_path)

    def test_as_pandas_writes_it(self, tmp_path):
        pytest.importorskip("tables", reason="writing HDF5 with pandas needs the package tables")
        frame = pd.DataFrame(self.values(), index=self.INDEX, columns=list(self.NAMES))
        frame.to_hdf(tmp_path / "metr-la.h5", key="df")
        self.check(tmp_path)

    def test_cut_short(self, tmp_path):
        (tmp_path / "metr-la.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + b"0" * 100)
        with pytest.raises(DataError, match=r"metr-la.h5 is cut short or not an HDF5 file"):
            load_files(small("metr-la"), tmp_path, download=False)


@pytest.mark.parametrize("ending", ["", ".gz"])
class TestText:
    def test_solar(self, tmp_path, ending):
        write_text(tmp_path / f"solar_AL.txt{ending}", NUMBERS)
        series = load_files(small("solar"), tmp_path, download=False)
        np.testing.assert_allclose(series.values, NUMBERS, rtol=1e-6)
        assert (series.variables[0], series.freq, series.unit) == ("plant-0", "10min", "MW")
        assert str(series.times[1])[:16] == "2006-01-01T00:10"

    def test_traffic_is_times_1000(self, tmp_path, ending):
        write_text(tmp_path / f"traffic.txt{ending}", NUMBERS)
        series = load_files(small("traffic"), tmp_path, download=False)
        np.testing.assert_allclose(series.values, 1000 * NUMBERS, rtol=1e-6)
        assert (series.variables[-1], series.freq) == ("sensor-3", "1h")
        assert str(series.times[1])[:16] == "2015-01-01T01:00"

    def test_a_line_that_is_cut(self, tmp_path, ending):
        path = tmp_path / f"traffic.txt{ending}"
        text = "0.1,0.2,0.3,0.4\n0.1,0.2,0.3,0.4\n0.1,0.2\n"
        path.write_bytes(gzip.compress(text.encode()) if ending else text.encode())
        with pytest.raises(DataError, match=r"traffic.txt(.gz)? is cut short or damaged: line 3 has fewer than 4 num"):
            load_files(small("traffic"), tmp_path, download=False)

    def test_lines_that_are_missing(self, tmp_path, ending):
        write_text(tmp_path / f"traffic.txt{ending}", NUMBERS[:5])
        with pytest.raises(DataError, match="'traffic' has 6 steps of 4 variables, but the file has 5 of 4: fetch it"):
            load_files(small("traffic"), tmp_path, download=False)

    def test_a_web_page_in_its_place(self, tmp_path, ending):
        page = b"<html>\n<body>not found</body>\n</html>\n"
        (tmp_path / f"solar_AL.txt{ending}").write_bytes(gzip.compress(page) if ending else page)
        with pytest.raises(DataError, match=r"is not the table of numbers it should be .* fetch it again"):
            load_files(small("solar"), tmp_path, download=False)


def test_a_gzip_that_is_cut(tmp_path):
    write_text(tmp_path / "solar_AL.txt.gz", NUMBERS)
    path = tmp_path / "solar_AL.txt.gz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match=r"solar_AL.txt.gz is cut short or damaged: fetch it again"):
        load_files(small("solar"), tmp_path, download=False)


class TestEcg5000:
    def test_the_pair_of_tables(self, tmp_path):
        """The class first, then the samples; train rows before test rows; times 10."""
        labelled = np.column_stack([np.arange(1, 7), NUMBERS])
        write_text(tmp_path / "ECG5000_TRAIN.tsv", labelled[:2], "\t")
        write_text(tmp_path / "ECG5000_TEST.tsv", labelled[2:], "\t")
        series = load_files(small("ecg5000"), tmp_path, download=False)
        np.testing.assert_allclose(series.values, 10 * NUMBERS, rtol=1e-6)
        assert (series.variables, series.times) == (("t000", "t001", "t002", "t003"), None)

    def test_half_of_the_pair_is_not_enough(self, tmp_path):
        write_text(tmp_path / "ECG5000_TRAIN.tsv", NUMBERS, "\t")
        with pytest.raises(DataNotFoundError, match=r"get ECG5000_TRAIN.tsv and ECG5000_TEST.tsv from the UCR archive"):
            load_files(small("ecg5000"), tmp_path, download=False)

    @pytest.mark.parametrize("header", [None, "t0,t1,t2,t3", "0,1,2,3", "1,2,3,4"])
    @pytest.mark.parametrize("name", ["ECG_data.csv", "ecg5000.csv"])
    def test_the_csv_with_and_without_a_header(self, tmp_path, name, header):
        write_text(tmp_path / name, NUMBERS, header=header)
        series = load_files(small("ecg5000"), tmp_path, download=False)
        np.testing.assert_allclose(series.values, 10 * NUMBERS, rtol=1e-6)

    def test_a_line_that_is_cut_below_a_header_is_named_as_it_stands(self, tmp_path):
        (tmp_path / "ecg5000.csv").write_text("a,b\n1,2\n3\n")
        with pytest.raises(DataError, match="line 3 has fewer than 2 numbers"):
            load_files(small("ecg5000"), tmp_path, download=False)

    def test_the_archive(self, tmp_path):
        np.savez(tmp_path / "ecg5000.npz", values=NUMBERS, variables=np.arange(4).astype(str))
        with pytest.warns(DataWarning, match="ecg5000.npz is not the file of record"):
            series = load_files(small("ecg5000"), tmp_path, download=False)
        np.testing.assert_allclose(series.values, 10 * NUMBERS, rtol=1e-6)

    def test_another_archive_of_that_name(self, tmp_path):
        np.savez(tmp_path / "ecg5000.npz", x=NUMBERS)
        with (
            pytest.warns(DataWarning, match="not the file of record"),
            pytest.raises(DataError, match=r"ecg5000.npz must hold the array 'values', got x"),
        ):
            load_files(small("ecg5000"), tmp_path, download=False)


@pytest.fixture
def two_orders(monkeypatch):
    """Six beats in two orders (two rows of the one file, four of the other), known by their checksums."""
    beats = np.random.default_rng(3).normal(size=(6, 4)).astype(np.float32)
    swapped = np.roll(beats, -2, axis=0)
    orders = {"ecg5000": row_order_checksum(beats), "ecg5000-test-first": row_order_checksum(swapped)}
    monkeypatch.setattr("subcast.datasets.published.ECG_ORDERS", orders)
    monkeypatch.setattr("subcast.datasets.published.ECG_ROWS", {"ecg5000": 2, "ecg5000-test-first": 4})
    return {"ecg5000": beats, "ecg5000-test-first": swapped}


ORDERS = ("ecg5000", "ecg5000-test-first")


class TestOrdersOfEcg5000:
    """A file is recognised by its content: whichever order it has, each name gives its own."""

    @pytest.mark.parametrize("wanted", ["ecg5000", "ecg5000-test-first"])
    @pytest.mark.parametrize("in_file", ["ecg5000", "ecg5000-test-first"])
    def test_either_file_serves_either_name(self, tmp_path, two_orders, wanted, in_file):
        write_text(tmp_path / "ECG_data.csv", two_orders[in_file])
        series = load_files(small(wanted), tmp_path, download=False)
        np.testing.assert_allclose(series.values, 10 * two_orders[wanted], atol=1e-4)
        assert series.name == wanted

    def test_an_unknown_order_is_said(self, tmp_path, two_orders):
        write_text(tmp_path / "ECG_data.csv", two_orders["ecg5000"][::-1])
        with pytest.warns(DataWarning, match=r"ECG_data.csv has the size of ECG5000 but neither .* taken as it is"):
            series = load_files(small("ecg5000"), tmp_path, download=False)
        np.testing.assert_allclose(series.values, 10 * two_orders["ecg5000"][::-1], atol=1e-4)

    def test_scale_and_last_digits_do_not_matter(self, two_orders):
        beats = two_orders["ecg5000"]
        assert row_order_checksum(beats) == row_order_checksum(np.round(10 * beats, 4))

    @pytest.mark.data
    def test_the_real_beats_in_both_orders(self):
        if not REAL_FOLDER or find_files(DATASETS["ecg5000"], data_folders(REAL_FOLDER)) is None:
            pytest.skip("the files of ecg5000 are not in the folder named by SUBCAST_DATA")
        one, other = (load_dataset(name, folder=REAL_FOLDER, download=False) for name in ORDERS)
        np.testing.assert_array_equal(one.values[500:], other.values[:4500])
        np.testing.assert_array_equal(one.values[:500], other.values[4500:])


class TestArchives:
    def load(self, name, folder, **arrays):
        """Write the archive of a dataset with its own checksum, and load it."""
        (source,) = DATASETS[name].sources
        path = folder / source.files[0]
        np.savez_compressed(path, **arrays)
        recorded = dataclasses.replace(source, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
        values = arrays.get("values", NUMBERS)
        dataset = small(name, *np.shape(values), sources=(recorded,))
        return load_files(dataset, folder, download=False)

    def arrays(self, **others):
        names = np.array(["p", "q", "r", "s"])
        return {"values": NUMBERS, "variables": names, "start": "2012-03-01", "freq": "5min"} | others

    def test_zeros_of_traffic_speeds_are_missing(self, tmp_path):
        values = NUMBERS * 60
        values[3, 2] = 0
        series = self.load("metr-la-29", tmp_path, **self.arrays(values=values, adjacency=np.eye(4)))
        assert np.argwhere(np.isnan(series.values)).tolist() == [[3, 2]]
        assert (series.variables, series.missing_code, series.freq) == (("p", "q", "r", "s"), 0.0, "5min")
        assert series.time_features == ("time_of_day",)
        np.testing.assert_array_equal(series.graph, np.eye(4))

    def test_zeros_of_the_filled_week_are_values(self, tmp_path):
        series = self.load("metr-la-week", tmp_path, **self.arrays(values=np.zeros((6, 4))))
        assert (series.missing_share, series.missing_code) == (0, None)

    def test_occupancy_is_times_1000(self, tmp_path):
        series = self.load("traffic-20", tmp_path, **self.arrays(start="2015-01-01", freq="1h"))
        np.testing.assert_allclose(series.values, 1000 * NUMBERS, rtol=1e-6)

    def test_the_hour_that_daylight_saving_skips(self, tmp_path):
        series = self.load("pems-bay-67", tmp_path, **self.arrays(start="2017-03-12 01:50"))
        assert [str(time)[11:16] for time in series.times] == ["01:50", "01:55", "03:00", "03:05", "03:10", "03:15"]

    def test_pollutants_leave_the_weather_out(self, tmp_path):
        names = np.array(["Dongsi:PM2.5", "Dongsi:TEMP", "Tiantan:O3", "Tiantan:RAIN"])
        arrays = self.arrays(variables=names, start="2013-03-01", freq="1h")
        (source,) = DATASETS["beijing-pollutants"].sources
        np.savez_compressed(tmp_path / source.files[0], **arrays)
        series = DATASETS["beijing-pollutants"].read(source, [tmp_path / source.files[0]])
        assert series.variables == ("Dongsi:PM2.5", "Tiantan:O3")

    @pytest.mark.parametrize("name", ["solar-fl", "exchange-rate"])
    def test_steps_that_are_only_numbered(self, tmp_path, name):
        series = self.load(name, tmp_path, **self.arrays())
        assert (series.times, series.freq) == (None, None)

    def test_an_altered_archive_is_pointed_out(self, tmp_path):
        np.savez(tmp_path / "exchange_rate.npz", **self.arrays())
        expected = DATASETS["exchange-rate"].sources[0].sha256[:12]
        message = rf"exchange_rate.npz is not the file of record \(sha256 \w{{12}}... instead of {expected}...\)"
        with pytest.warns(DataWarning, match=message) as said:
            load_files(small("exchange-rate"), tmp_path, download=False)
        assert len(said) == 1

    @pytest.mark.parametrize("gone", ["values", "variables", "start"])
    def test_an_array_that_is_not_there(self, tmp_path, gone):
        arrays = self.arrays()
        del arrays[gone]
        with pytest.raises(DataError, match=rf"metr_la_subset.npz must hold the array.*'{gone}'"):
            self.load("metr-la-29", tmp_path, **arrays)

    def test_pickled_objects_are_refused(self, tmp_path):
        with pytest.raises(DataError, match=r"metr_la_subset.npz holds pickled objects, which are never loaded"):
            self.load("metr-la-29", tmp_path, **self.arrays(variables=np.array([None] * 4, dtype=object)))


class TestWhereFilesAreLookedFor:
    def test_the_folder_given_is_the_only_one(self, tmp_path, monkeypatch):
        monkeypatch.setenv("SUBCAST_DATA", str(tmp_path / "named"))
        assert data_folders(tmp_path / "given") == [tmp_path / "given"]

    def test_the_named_folder_comes_before_the_cache(self, tmp_path, monkeypatch):
        monkeypatch.setenv("SUBCAST_DATA", str(tmp_path / "named"))
        assert data_folders() == [tmp_path / "named", tmp_path / "cache" / "subcast"]

    def test_the_cache_alone(self, tmp_path):
        assert data_folders() == [tmp_path / "cache" / "subcast"]

    def test_the_cache_is_in_the_home_by_default(self, monkeypatch):
        monkeypatch.delenv("XDG_CACHE_HOME")
        assert cache_folder().parts[-2:] == (".cache", "subcast")

    def test_the_first_name_and_the_first_folder_win(self, tmp_path):
        one, two = tmp_path / "one", tmp_path / "two"
        for path in (one / "b", two / "a", two / "b"):
            path.parent.mkdir(exist_ok=True)
            path.touch()
        alone = dataclasses.replace(DATASETS["solar"], sources=(Source(("a", "b"), "home"),))
        pair = dataclasses.replace(DATASETS["solar"], sources=(Source(("a", "b"), "home", together=True),))
        assert find_files(alone, [one, two])[1] == [one / "b"]
        assert find_files(alone, [two, one])[1] == [two / "a"]
        assert find_files(pair, [one, two])[1] == [two / "a", two / "b"]
        assert find_files(alone, [tmp_path / "none"]) is None

    def test_the_nearer_folder_wins_over_the_better_source(self, tmp_path, monkeypatch):
        """The csv in the folder the user named, before the tsv pair in the cache."""
        monkeypatch.setenv("SUBCAST_DATA", str(tmp_path / "named"))
        (tmp_path / "named").mkdir()
        write_text(tmp_path / "named" / "ECG_data.csv", NUMBERS)
        cache_folder().mkdir(parents=True)
        labelled = np.column_stack([np.arange(1, 7), NUMBERS * 0])
        write_text(cache_folder() / "ECG5000_TRAIN.tsv", labelled[:2], "\t")
        write_text(cache_folder() / "ECG5000_TEST.tsv", labelled[2:], "\t")
        series = load_files(small("ecg5000"), None, download=False)
        np.testing.assert_allclose(series.values, 10 * NUMBERS, rtol=1e-6)

    @pytest.mark.parametrize("name", FILED)
    def test_absent_and_offline_is_one_sentence_that_helps(self, name, tmp_path):
        source = DATASETS[name].sources[0]
        with pytest.raises(DataNotFoundError) as caught:
            load_dataset(name, folder=tmp_path, download=False)
        sentence = str(caught.value)
        for part in (repr(name), str(tmp_path), *source.files[:1], source.home, "SUBCAST_DATA"):
            assert part in sentence
        assert "\n" not in sentence

    @pytest.mark.parametrize("name", ["metr-la", "solar", "traffic", "ecg5000"])
    def test_absent_and_without_network(self, name, tmp_path, monkeypatch):
        def no_network(*_, **__):
            raise OSError("no network")

        monkeypatch.setattr("urllib.request.urlopen", no_network)
        with pytest.raises(
            DataNotFoundError, match=r"and could not be fetched \(no network\): get .* and put it there"
        ):
            load_dataset(name, folder=tmp_path)
        assert list(tmp_path.iterdir()) == []


class TestFetching:
    @pytest.fixture
    def home(self, tmp_path):
        """A folder that stands for the web."""
        folder = tmp_path / "web"
        folder.mkdir()
        write_text(folder / "traffic.txt.gz", NUMBERS)
        return folder

    def dataset(self, home, **fields):
        url = (home / "traffic.txt.gz").as_uri()
        source = Source(("traffic.txt.gz", "traffic.txt"), "the home of traffic", url, **fields)
        return small("traffic", sources=(source,))

    def checksum(self, home):
        return hashlib.sha256((home / "traffic.txt.gz").read_bytes()).hexdigest()

    def test_into_the_folder_given(self, home, tmp_path):
        series = load_files(self.dataset(home, sha256=self.checksum(home)), tmp_path / "new", download=True)
        np.testing.assert_allclose(series.values, 1000 * NUMBERS, rtol=1e-6)
        assert os.listdir(tmp_path / "new") == ["traffic.txt.gz"]

    def test_into_the_cache(self, home, tmp_path):
        load_files(self.dataset(home), None, download=True)
        assert os.listdir(tmp_path / "cache" / "subcast") == ["traffic.txt.gz"]

    def test_into_the_named_folder(self, home, tmp_path, monkeypatch):
        monkeypatch.setenv("SUBCAST_DATA", str(tmp_path / "named"))
        load_files(self.dataset(home), None, download=True)
        assert os.listdir(tmp_path / "named") == ["traffic.txt.gz"]
        assert not (tmp_path / "cache").exists()

    def test_into_the_cache_when_the_named_folder_may_only_be_read(self, home, tmp_path, monkeypatch):
        named = tmp_path / "named"
        named.mkdir()
        may = os.access
        monkeypatch.setattr(base_module.os, "access", lambda path, mode: path != named and may(path, mode))
        for folder in (named, named / "below"):
            monkeypatch.setenv("SUBCAST_DATA", str(folder))
            load_files(self.dataset(home), None, download=True)
            (tmp_path / "cache" / "subcast" / "traffic.txt.gz").unlink()
        assert os.listdir(named) == []

    def test_a_folder_that_cannot_be_made(self, home, tmp_path):
        (tmp_path / "file").touch()
        with pytest.raises(
            DataNotFoundError, match=r"could not be fetched \(.*\): get traffic.txt.gz from the home of"
        ):
            load_files(self.dataset(home), tmp_path / "file" / "below", download=True)

    def test_what_is_there_is_not_fetched_again(self, home, tmp_path, monkeypatch):
        load_files(self.dataset(home), tmp_path / "new", download=True)
        monkeypatch.setattr("subcast.datasets.base.fetch", lambda *_: pytest.fail("fetched again"))
        load_files(self.dataset(home), tmp_path / "new", download=True)

    def test_nothing_is_fetched_when_not_wanted(self, home, tmp_path):
        with pytest.raises(DataNotFoundError, match=r"'traffic' is not in \S+new: get traffic.txt.gz from the home of"):
            load_files(self.dataset(home), tmp_path / "new", download=False)
        assert not (tmp_path / "new").exists()

    def test_another_checksum_leaves_no_file(self, home, tmp_path):
        with pytest.raises(DataNotFoundError) as caught:
            load_files(self.dataset(home, sha256="0" * 64), tmp_path / "new", download=True)
        sentence = str(caught.value)
        for part in ("another checksum than expected", "the home of traffic", str(tmp_path / "new"), "is not it"):
            assert part in sentence
        assert os.listdir(tmp_path / "new") == []

    @pytest.mark.parametrize(
        "content",
        [b"<html>please log in</html>", gzip.compress(b"1,2\n3,4\n", mtime=0), b""],
        ids=["a page", "another table", "nothing"],
    )
    def test_what_is_not_the_file_leaves_none(self, home, tmp_path, content):
        (home / "traffic.txt.gz").write_bytes(content)
        with pytest.raises(DataNotFoundError, match=r"what came from file:.* is not it .* get traffic.txt.gz from the"):
            load_files(self.dataset(home), tmp_path / "new", download=True)
        assert os.listdir(tmp_path / "new") == []

    def test_a_url_that_leads_nowhere(self, home, tmp_path):
        (home / "traffic.txt.gz").unlink()
        with pytest.raises(DataNotFoundError, match="and could not be fetched"):
            load_files(self.dataset(home), tmp_path / "new", download=True)

    def test_a_connection_that_breaks(self, home, tmp_path, monkeypatch):
        class Broken:
            headers = {"Content-Length": "1000"}  # noqa: RUF012
            blocks = [b"x" * 10, b""]  # noqa: RUF012

            def __enter__(self):
                return self

            def __exit__(self, *_):
                return False

            def read(self, _):
                return self.blocks.pop(0)

        monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: Broken())
        with pytest.raises(DataNotFoundError, match="the connection broke after 10 of 1,000 bytes"):
            load_files(self.dataset(home), tmp_path / "new", download=True)
        assert os.listdir(tmp_path / "new") == []

    def test_progress_adds_up(self, home, tmp_path, monkeypatch):
        import rich.progress

        steps = []
        update = rich.progress.Progress.update
        monkeypatch.setattr(
            rich.progress.Progress,
            "update",
            lambda self, task, **how: (steps.append((how["advance"], self.tasks[0].total)), update(self, task, **how))[
                1
            ],
        )
        big = home / "big"
        big.write_bytes(os.urandom(600_000))
        fetch(big.as_uri(), tmp_path / "copy", hashlib.sha256(big.read_bytes()).hexdigest())
        assert (tmp_path / "copy").read_bytes() == big.read_bytes()
        assert len(steps) > 1
        assert (sum(step for step, _ in steps), steps[0][1]) == (600_000, 600_000)


class TestByName:
    def test_an_unknown_name_lists_the_known_ones(self):
        with pytest.raises(
            DataError, match=r"name must be one of clouds, metr-la, .*got 'metrla'; use Series.read for"
        ):
            load_dataset("metrla")

    def test_options_go_only_with_clouds(self):
        with pytest.raises(
            DataError, match="seed only goes with 'clouds', which is generated; 'solar' is read as it is"
        ):
            load_dataset("solar", seed=1)

    def test_clouds_needs_no_file(self, monkeypatch):
        series = load_dataset("clouds", n_plants=5, n_steps=144, seed=3)
        assert (len(series), series.n_variables, series.freq) == (144, 5, "10min")
        assert series.graph is not None
        assert series.positions is not None

    def test_every_name_is_its_own(self):
        assert all(name == dataset.name for name, dataset in DATASETS.items())

    @pytest.mark.parametrize("name", DATASETS)
    def test_the_docstring_states_the_facts(self, name):
        dataset = DATASETS[name]
        text = " ".join((dataset.read.__doc__ or "").split())
        assert f"{dataset.steps:,} steps of {dataset.n_variables} variables" in text
        rate = dataset.rate if dataset.rate.startswith("one ") else f"every {dataset.rate.partition(',')[0]}"
        assert rate in text
        stated = re.search(r"([\d.]+) % of the readings are missing", text)
        assert float(stated[1]) == pytest.approx(100 * dataset.missing, rel=1e-9)
        assert re.search(rf"scale factor {dataset.scale}\b", text)

    @pytest.mark.parametrize("name", FILED)
    def test_every_source_says_where_a_person_finds_it(self, name):
        for source in DATASETS[name].sources:
            assert len(source.home) > 10
            assert source.url is None or source.url.startswith("https://")
            assert source.sha256 is None or re.fullmatch(r"[0-9a-f]{64}", source.sha256)


@pytest.mark.data
@pytest.mark.parametrize("name", FILED)
def test_the_real_data_are_as_stated(name):
    dataset = DATASETS[name]
    if not REAL_FOLDER:
        pytest.skip("SUBCAST_DATA names no folder of real data")
    if find_files(dataset, data_folders(REAL_FOLDER)) is None:
        pytest.skip(f"the files of {name} are not in the folder named by SUBCAST_DATA")
    series = load_dataset(name, folder=REAL_FOLDER, download=False)
    assert (len(series), series.n_variables) == (dataset.steps, dataset.n_variables)
    assert series.freq == (dataset.rate if re.fullmatch(r"\d+\w+", dataset.rate) else None)
    assert float(f"{series.missing_share:.3g}") == pytest.approx(dataset.missing, rel=0.02)
    assert (series.times is None) == (series.freq is None)
    if series.freq and name != "pems-bay-67":
        assert (np.diff(series.times) == pd.Timedelta(series.freq).to_timedelta64()).all()
