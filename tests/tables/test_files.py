"""Files that are missing, empty, cut short or of another kind; Parquet files."""

import bz2
import gzip
import lzma

import pandas as pd
import pytest

from subcast.errors import DataError, DataNotFoundError
from subcast.tables.files import read_table
from table_samples import CSV, CSV_VALUES


class TestBadPaths:
    def test_an_absent_file(self, tmp_path):
        with pytest.raises(
            DataNotFoundError, match=r"there is no file '.*gone.csv': check the path \(its folder exists\)"
        ):
            read_table(tmp_path / "gone.csv")
        with pytest.raises(FileNotFoundError, match="its folder does not exist either"):
            read_table(tmp_path / "no" / "gone.csv")

    def test_a_folder(self, tmp_path):
        with pytest.raises(DataError, match="is a folder: give one file of readings"):
            read_table(tmp_path)

    @pytest.mark.parametrize("name", ["a.csv", "a.npz", "a.h5", "a.parquet", "a.txt.gz"])
    def test_an_empty_file(self, read, name):
        with pytest.raises(DataError, match=f"{name} is empty: there is nothing to read"):
            read(b"", name)

    @pytest.mark.parametrize("name", ["a.xlsx", "a.pkl", "a", "a.gz"])
    def test_an_unknown_ending(self, read, name):
        with pytest.raises(DataError, match=rf"{name} is of no known kind: give .csv, .* \(a pickle is never read\)"):
            read(b"something", name)

    def test_a_packed_archive(self, read):
        with pytest.raises(DataError, match=r"a.npz.gz is compressed, and only text files may be: unpack it first"):
            read(gzip.compress(b"something"), "a.npz.gz")

    @pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
    def test_a_packed_text_cut_short(self, read, pack):
        ending = {gzip.compress: "gz", bz2.compress: "bz2", lzma.compress: "xz"}[pack]
        packed = pack((CSV * 50).encode())
        with pytest.raises(DataError, match=rf"a.csv.{ending} is cut short or damaged: fetch it again"):
            read(packed[: len(packed) // 2], f"a.csv.{ending}")

    def test_a_packed_text_that_is_not_packed(self, read):
        with pytest.raises(DataError, match=r"a.csv.gz is cut short or damaged"):
            read(CSV, "a.csv.gz")


class TestParquet:
    def test_a_frame_comes_back(self, tmp_path):
        frame = pd.DataFrame(CSV_VALUES, columns=["a", "b"], index=pd.date_range("2024-01-01", periods=3, freq="h"))
        frame.to_parquet(tmp_path / "t.parquet")
        table = read_table(tmp_path / "t.parquet")
        assert (table.variables, table.values.tolist(), table.freq) == (("a", "b"), CSV_VALUES, "1h")

    @pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
    def test_cut_short(self, tmp_path, share):
        path = tmp_path / "t.parquet"
        pd.DataFrame(CSV_VALUES, columns=["a", "b"]).to_parquet(path)
        whole = path.read_bytes()
        path.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(DataError, match=r"t.parquet is cut short or not a Parquet file"):
            read_table(path)

    def test_text_named_parquet(self, read):
        with pytest.raises(DataError, match=r"t.parquet is cut short or not a Parquet file"):
            read(CSV, "t.parquet")

    def test_two_variables_of_one_name_are_refused(self, tmp_path):
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table([pa.array([1.0, 2.0]), pa.array([3.0, 4.0])], names=["a", "a"]), tmp_path / "t.parquet")
        with pytest.raises(DataError, match=r"t.parquet"):
            read_table(tmp_path / "t.parquet")
