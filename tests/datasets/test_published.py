"""The paper's datasets in the file formats of their public sources."""

import gzip

import h5py
import numpy as np
import pandas as pd
import pytest

from datasets.examples import NUMBERS, REAL_FOLDER, small, write_text
from subcast.datasets import DATASETS, load_dataset
from subcast.datasets.base import data_folders, find_files, load_files
from subcast.datasets.published import row_order_checksum
from subcast.errors import DataError, DataNotFoundError, DataWarning

NAN = float("nan")
ORDERS = ("ecg5000", "ecg5000-test-first")


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

    def test_incomplete_file_is_rejected(self, tmp_path):
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

    def test_incomplete_line_is_rejected(self, tmp_path, ending):
        path = tmp_path / f"traffic.txt{ending}"
        text = "0.1,0.2,0.3,0.4\n0.1,0.2,0.3,0.4\n0.1,0.2\n"
        path.write_bytes(gzip.compress(text.encode()) if ending else text.encode())
        with pytest.raises(DataError, match=r"traffic.txt(.gz)? is incomplete: line 3 has fewer than 4 num"):
            load_files(small("traffic"), tmp_path, download=False)

    def test_missing_lines_are_rejected(self, tmp_path, ending):
        write_text(tmp_path / f"traffic.txt{ending}", NUMBERS[:5])
        with pytest.raises(
            DataError, match="'traffic' has 6 steps of 4 variables, but the file has 5 of 4: download it"
        ):
            load_files(small("traffic"), tmp_path, download=False)

    def test_web_page_instead_of_the_file_is_rejected(self, tmp_path, ending):
        page = b"<html>\n<body>not found</body>\n</html>\n"
        (tmp_path / f"solar_AL.txt{ending}").write_bytes(gzip.compress(page) if ending else page)
        with pytest.raises(DataError, match=r"is not a table of numbers .* download it again"):
            load_files(small("solar"), tmp_path, download=False)


def test_incomplete_gzip_is_rejected(tmp_path):
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

    def test_both_files_are_needed(self, tmp_path):
        write_text(tmp_path / "ECG5000_TRAIN.tsv", NUMBERS, "\t")
        with pytest.raises(DataNotFoundError, match=r"get ECG5000_TRAIN.tsv and ECG5000_TEST.tsv from the UCR archive"):
            load_files(small("ecg5000"), tmp_path, download=False)

    @pytest.mark.parametrize("header", [None, "t0,t1,t2,t3", "0,1,2,3", "1,2,3,4"])
    @pytest.mark.parametrize("name", ["ECG_data.csv", "ecg5000.csv"])
    def test_the_csv_with_and_without_a_header(self, tmp_path, name, header):
        write_text(tmp_path / name, NUMBERS, header=header)
        series = load_files(small("ecg5000"), tmp_path, download=False)
        np.testing.assert_allclose(series.values, 10 * NUMBERS, rtol=1e-6)

    def test_incomplete_line_below_a_header_has_the_right_number(self, tmp_path):
        (tmp_path / "ecg5000.csv").write_text("a,b\n1,2\n3\n")
        with pytest.raises(DataError, match="line 3 has fewer than 2 numbers"):
            load_files(small("ecg5000"), tmp_path, download=False)

    def test_the_archive(self, tmp_path):
        np.savez(tmp_path / "ecg5000.npz", values=NUMBERS, variables=np.arange(4).astype(str))
        with pytest.warns(DataWarning, match="ecg5000.npz differs from the original file"):
            series = load_files(small("ecg5000"), tmp_path, download=False)
        np.testing.assert_allclose(series.values, 10 * NUMBERS, rtol=1e-6)

    def test_other_archive_of_the_same_name_is_rejected(self, tmp_path):
        np.savez(tmp_path / "ecg5000.npz", x=NUMBERS)
        with (
            pytest.warns(DataWarning, match="differs from the original file"),
            pytest.raises(DataError, match=r"ecg5000.npz must hold the array 'values', got x"),
        ):
            load_files(small("ecg5000"), tmp_path, download=False)


@pytest.fixture
def two_orders(monkeypatch):
    """Six beats in two orders (two rows of one file, four of the other), known by their checksums."""
    beats = np.random.default_rng(3).normal(size=(6, 4)).astype(np.float32)
    swapped = np.roll(beats, -2, axis=0)
    orders = {"ecg5000": row_order_checksum(beats), "ecg5000-test-first": row_order_checksum(swapped)}
    monkeypatch.setattr("subcast.datasets.published.ECG_ORDERS", orders)
    monkeypatch.setattr("subcast.datasets.published.ECG_ROWS", {"ecg5000": 2, "ecg5000-test-first": 4})
    return {"ecg5000": beats, "ecg5000-test-first": swapped}


class TestOrdersOfEcg5000:
    """The order of a file is recognized by its content, and each dataset has its own order."""

    @pytest.mark.parametrize("wanted", ["ecg5000", "ecg5000-test-first"])
    @pytest.mark.parametrize("in_file", ["ecg5000", "ecg5000-test-first"])
    def test_either_file_can_be_used_for_either_dataset(self, tmp_path, two_orders, wanted, in_file):
        write_text(tmp_path / "ECG_data.csv", two_orders[in_file])
        series = load_files(small(wanted), tmp_path, download=False)
        np.testing.assert_allclose(series.values, 10 * two_orders[wanted], atol=1e-4)
        assert series.name == wanted

    def test_unknown_order_gives_a_warning(self, tmp_path, two_orders):
        write_text(tmp_path / "ECG_data.csv", two_orders["ecg5000"][::-1])
        with pytest.warns(DataWarning, match=r"ECG_data.csv has the size of ECG5000 but neither .* its order is kept"):
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
