"""Files of readings: text in all its ways, Parquet, NPZ; absent, empty, cut short, of another kind."""

import bz2
import gzip
import lzma
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

from subcast.errors import DataError, DataNotFoundError, DataWarning
from subcast.tables.files import read_table

NAN = float("nan")
WIDE = "time,a,b\n2024-01-01,1,2.5\n2024-01-02,2,3.5\n2024-01-03,4,5.5\n"
VALUES = [[1, 2.5], [2, 3.5], [4, 5.5]]


@pytest.fixture
def read(tmp_path):
    """Write a file and read it."""

    def write_and_read(content, name="table.csv", **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_table(path, **options)

    return write_and_read


@pytest.fixture
def read_with_one_warning(read):
    def warned(content, name="table.csv", **options):
        with pytest.warns(DataWarning) as said:
            table = read(content, name, **options)
        assert [str(warning.message) for warning in said] == [f"{name}: {'; '.join(table.repairs)}"]
        return table

    return warned


def days(table):
    return table.times.astype("datetime64[D]").astype(str).tolist()


class TestText:
    def test_a_plain_csv_is_read_without_a_word(self, read):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            table = read(WIDE)
        assert table.variables == ("a", "b")
        assert table.values.tolist() == VALUES
        assert days(table) == ["2024-01-01", "2024-01-02", "2024-01-03"]

    @pytest.mark.parametrize(
        ("ending", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress), ("", bytes)]
    )
    def test_packed(self, read, ending, pack):
        assert read(pack(WIDE.encode()), f"table.txt{ending}").values.tolist() == VALUES

    @pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
    def test_separators(self, read, separator):
        assert read(WIDE.replace(",", separator)).values.tolist() == VALUES

    def test_spaces_between_numbers(self, read):
        assert read("1 2.5\n2  3.5\n4\t5.5\n", "table.txt").values.tolist() == VALUES

    def test_semicolons_and_decimal_commas(self, read):
        text = WIDE.replace(",", ";").replace(".5", ",5")
        assert read(text).values.tolist() == VALUES

    def test_a_decimal_comma_far_down(self, read):
        rows = "".join(
            f"{day:%Y-%m-%d};{place};{place}\n" for place, day in enumerate(pd.date_range("2024", periods=60))
        )
        table = read(f"time;a;b\n{rows}2024-03-01;2,25;9\n")
        assert table.values[-1].tolist() == [2.25, 9]

    def test_one_decimal_comma_among_points_is_text(self, read_with_one_warning):
        table = read_with_one_warning(WIDE.replace(",", ";").replace("3.5", "3,5"))
        np.testing.assert_array_equal(table.values[:, 1], [2.5, NAN, 5.5])

    def test_commas_in_quotes_belong_to_the_name(self, read):
        assert read(WIDE.replace("a,b", '"a, upper",b')).variables == ("a, upper", "b")

    def test_line_ends_of_windows(self, read):
        assert read(WIDE.replace("\n", "\r\n")).values.tolist() == VALUES

    def test_blank_lines_are_passed_over(self, read):
        assert read("\n\n" + WIDE.replace("\n", "\n\n")).values.tolist() == VALUES

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16"])
    def test_encodings(self, read, encoding):
        table = read(WIDE.replace("a,b", "Zürich,b").encode(encoding))
        assert table.variables == ("Zürich", "b")
        assert table.freq == "1D"

    def test_remarks_above_the_table_are_passed_over(self, read):
        assert read("# station 7\n# unit: mm, daily\n" + WIDE).values.tolist() == VALUES

    def test_a_remark_with_as_many_fields_names_the_columns(self, read):
        assert read("# made by hand\n# " + WIDE).variables == ("a", "b")

    def test_one_column(self, read):
        assert read("a\n1\n2\n3\n").variables == ("a",)

    def test_one_row_has_no_rate(self, read):
        table = read("time,a\n2024-01-01,1\n")
        assert (table.values.tolist(), table.freq) == ([[1]], None)


class TestHeaders:
    def test_two_variables_of_one_name_are_refused(self, read):
        """Which pandas alone would call a and a.1."""
        with pytest.raises(DataError, match=r"table.csv has 2 variables named 'a': give each"):
            read("time,a,a\n2024-01-01,1,2\n2024-01-02,3,4\n")

    def test_names_that_differ_only_by_spaces_are_refused(self, read):
        with pytest.raises(DataError, match=r"has 2 variables named 'a'"):
            read("time,a, a\n2024-01-01,1,2\n2024-01-02,3,4\n")

    def test_a_name_ending_in_a_number_is_one_of_its_own(self, read):
        assert read("time,a,a.1\n2024-01-01,1,2\n2024-01-02,3,4\n").variables == ("a", "a.1")

    def test_no_header_numbers_the_variables(self, read):
        table = read("1,2.5\n2,3.5\n4,5.5\n")
        assert (table.variables, table.values.tolist()) == (("v0", "v1"), VALUES)

    def test_no_header_above_dates(self, read):
        table = read(WIDE.partition("\n")[2])
        assert (days(table)[0], table.values.tolist()) == ("2024-01-01", VALUES)

    def test_no_header_and_a_first_line_with_a_hole(self, read):
        np.testing.assert_array_equal(read("1.5,,NA\n2,3,4\n").values, [[1.5, NAN, NAN], [2, 3, 4]])

    def test_sensor_numbers_as_header(self, read):
        assert read("773869,767541\n64.4,67.6\n62.7,68.6\n").variables == ("773869", "767541")
        assert read("time,773869,767541\n2024-01-01,64,67\n2024-01-02,62,68\n").variables == ("773869", "767541")
        assert read(",773869,767541\n2024-01-01,64,67\n2024-01-02,62,68\n").variables == ("773869", "767541")

    @pytest.mark.parametrize("first", ["0,1", "1,2"])
    def test_counted_columns_are_a_header(self, read, first):
        assert read(f"{first}\n0.5,2.5\n1.5,2.5\n3,4\n").variables == tuple(first.split(","))

    @pytest.mark.parametrize("first", ["0,0", "0,5", "2,1", "2,nan"])
    def test_whole_readings_above_fractions_are_readings(self, read, first):
        assert len(read(f"{first}\n0.5,5.5\n1.5,2.5\n").values) == 3

    def test_a_saved_index_is_no_variable(self, read):
        assert read(",a,b\n0,1,2.5\n1,2,3.5\n2,4,5.5\n").values.tolist() == VALUES

    def test_a_saved_index_beside_times(self, read):
        table = read(",time,a,b\n0,2024-01-01,1,2.5\n1,2024-01-02,2,3.5\n2,2024-01-03,4,5.5\n")
        assert (table.variables, table.freq) == (("a", "b"), "1D")

    def test_a_saved_index_out_of_order(self, read_with_one_warning):
        table = read_with_one_warning(",a,b\n2,4,5.5\n0,1,2.5\n1,2,3.5\n")
        assert table.values.tolist() == VALUES
        assert table.repairs == ("the row numbers were out of order: sorted",)

    def test_row_names_without_a_header(self, read):
        table = read("a,b\n2024-01-01,1,2.5\n2024-01-02,2,3.5\n2024-01-03,4,5.5\n")
        assert (days(table)[0], table.values.tolist()) == ("2024-01-01", VALUES)

    def test_a_comma_at_the_end_of_each_line(self, read):
        assert read("time,a,b\n2024-01-01,1,2.5,\n2024-01-02,2,3.5,\n2024-01-03,4,5.5,\n").values.tolist() == VALUES

    def test_a_comma_at_the_end_of_each_line_and_of_the_header(self, read_with_one_warning):
        table = read_with_one_warning(WIDE.replace("\n", ",\n"))
        assert (table.variables, table.values.tolist()) == (("a", "b"), VALUES)
        assert table.repairs == ("1 column has neither a name nor a reading: left out",)

    def test_a_column_without_a_name(self, read_with_one_warning):
        table = read_with_one_warning(WIDE.replace("a,b", "a,"))
        assert table.variables == ("a", "column 3")
        assert table.repairs == ("1 column has no name: called 'column 3'",)


class TestDirtyText:
    def test_everything_at_once_is_one_warning(self, read_with_one_warning):
        table = read_with_one_warning(
            "time,a,b,c\n2024-01-01,1,2,7\n2024-01-03,inf,3,7\n2024-01-02,2,error,7\n2024-01-02,3,1,7\n2024-01-05,4,5,7\n"
        )
        np.testing.assert_array_equal(table.values[:, :2], [[1, 2], [3, 1], [NAN, 3], [NAN, NAN], [4, 5]])
        assert table.repairs == (
            "1 cell was text in 'b': now missing",
            "1 reading was infinite: now missing",
            "1 row was out of order: sorted",
            "1 row repeats a time: merged, the last reading is kept",
            "1 step was missing from the 1D grid: filled with missing readings",
            "1 variable is constant ('c'): kept",
        )

    def test_text_in_a_number_column(self, read_with_one_warning, read):
        assert read_with_one_warning(WIDE.replace("2.5", "n.d.")).repairs == ("1 cell was text in 'b': now missing",)
        with pytest.raises(DataError, match=r"column 'b' of table.csv holds text \('n.d.'\), not readings"):
            read(WIDE.replace("2.5", "n.d.").replace("3.5", "n.d."))

    def test_a_short_line_misses_its_last_readings(self, read):
        np.testing.assert_array_equal(read(WIDE.replace(",3.5", "")).values[1], [2, NAN])

    def test_a_line_with_too_many_fields_is_refused(self, read):
        with pytest.raises(DataError, match=r"table.csv is not a table: Expected 3 fields in line 3, saw 4; every"):
            read(WIDE.replace("3.5", "3.5,9"))

    def test_readings_beyond_the_header_are_never_dropped(self, read):
        """All lines end in a comma, but one far down has a reading after it."""
        rows = [f"{day:%Y-%m-%d},1,{place}," for place, day in enumerate(pd.date_range("2024", periods=40))]
        rows[30] += "5"
        with pytest.raises(DataError, match=r"table.csv is not a table: .*; every line needs the same fields"):
            read("time,a,b\n" + "\n".join(rows) + "\n")

    def test_an_open_quote_is_refused(self, read):
        with pytest.raises(DataError, match=r"table.csv is not a table: EOF inside string"):
            read(WIDE.replace("2024-01-02", '"2024-01-02'))

    def test_a_header_alone_is_refused(self, read):
        with pytest.raises(DataError, match=r"table.csv has 0 rows of 3 columns: there is nothing to read"):
            read("time,a,b\n")

    def test_only_blank_lines(self, read):
        with pytest.raises(DataError, match="holds only blank lines"):
            read("\n \n\n")

    def test_numbers_that_are_not_text_at_all(self, read):
        with pytest.raises(DataError, match=r"table.csv is not text: give the file the ending of its kind"):
            read(np.arange(50).tobytes())

    def test_options_reach_the_frame(self, read):
        text = "when,where,pm\n2024-01-01,x,1\n2024-01-01,y,2\n2024-01-02,x,3\n"
        table = read(text, time="when", id="where", value="pm")
        assert table.variables == ("x", "y")


class TestWhatIsNoFile:
    def test_an_absent_file(self, tmp_path):
        with pytest.raises(
            DataNotFoundError, match=r"there is no file '.*gone.csv': check the path .*folder is there\)"
        ):
            read_table(tmp_path / "gone.csv")
        with pytest.raises(FileNotFoundError, match="the folder is not there either"):
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
        with pytest.raises(DataError, match=r"a.npz.gz is compressed, which only text files may be: unpack it first"):
            read(gzip.compress(b"something"), "a.npz.gz")

    @pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
    def test_a_packed_text_cut_short(self, read, pack):
        ending = {gzip.compress: "gz", bz2.compress: "bz2", lzma.compress: "xz"}[pack]
        packed = pack((WIDE * 50).encode())
        with pytest.raises(DataError, match=rf"a.csv.{ending} is cut short or damaged: fetch it again"):
            read(packed[: len(packed) // 2], f"a.csv.{ending}")

    def test_a_packed_text_that_is_not_packed(self, read):
        with pytest.raises(DataError, match=r"a.csv.gz is cut short or damaged"):
            read(WIDE, "a.csv.gz")


class TestParquet:
    def test_a_frame_comes_back(self, tmp_path):
        frame = pd.DataFrame(VALUES, columns=["a", "b"], index=pd.date_range("2024-01-01", periods=3, freq="h"))
        frame.to_parquet(tmp_path / "t.parquet")
        table = read_table(tmp_path / "t.parquet")
        assert (table.variables, table.values.tolist(), table.freq) == (("a", "b"), VALUES, "1h")

    @pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
    def test_cut_short(self, tmp_path, share):
        path = tmp_path / "t.parquet"
        pd.DataFrame(VALUES, columns=["a", "b"]).to_parquet(path)
        whole = path.read_bytes()
        path.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(DataError, match=r"t.parquet is cut short or no Parquet file"):
            read_table(path)

    def test_text_named_parquet(self, read):
        with pytest.raises(DataError, match=r"t.parquet is cut short or no Parquet file"):
            read(WIDE, "t.parquet")

    def test_two_variables_of_one_name_are_refused(self, tmp_path):
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table([pa.array([1.0, 2.0]), pa.array([3.0, 4.0])], names=["a", "a"]), tmp_path / "t.parquet")
        with pytest.raises(DataError, match=r"t.parquet"):
            read_table(tmp_path / "t.parquet")


class TestNpz:
    @pytest.fixture
    def archive(self, tmp_path):
        def write_and_read(options=None, **arrays):
            path = tmp_path / "t.npz"
            np.savez_compressed(path, **arrays)
            return read_table(path, **(options or {}))

        return write_and_read

    def test_values_names_and_times(self, archive):
        times = np.array(["2024-01-01", "2024-01-02", "2024-01-03"], dtype="datetime64[ns]")
        table = archive(
            values=VALUES, variables=["x", "y"], times=times, adjacency=np.eye(2), positions=np.ones((2, 2))
        )
        assert (table.variables, table.values.tolist(), table.freq) == (("x", "y"), VALUES, "1D")
        assert table.graph.dtype == table.positions.dtype == np.float32

    @pytest.mark.parametrize("kind", ["U", "S"])
    def test_start_and_rate(self, archive, kind):
        start, freq = np.array("2024-01-01", dtype=kind), np.array("5min", dtype=kind)
        table = archive(values=VALUES, variables=np.array(["x", "y"], dtype=kind), start=start, freq=freq)
        assert table.variables == ("x", "y")
        assert table.times[1] == np.datetime64("2024-01-01T00:05")
        assert table.freq == "5min"

    @pytest.mark.parametrize(
        "times", [["2024-01-01", "2024-01-02", "2024-01-03"], [1704067200, 1704153600, 1704240000]]
    )
    def test_times_as_text_or_numbers(self, archive, times):
        assert archive(values=VALUES, times=np.array(times)).freq == "1D"

    def test_times_that_are_no_dates(self, archive):
        with pytest.warns(DataWarning, match=r"t.npz: 1 row has no readable time: dropped"):
            table = archive(values=VALUES, times=np.array(["2024-01-01", "x", "2024-01-02"]))
        assert len(table.values) == 2
        with pytest.raises(DataError, match=r"2 of 3 times in t.npz cannot be read"):
            archive(values=VALUES, times=np.array(["2024-01-01", "x", "y"]))

    def test_times_of_another_length(self, archive):
        with pytest.raises(DataError, match=r"'times' of t.npz must have one entry for each of the 3 steps"):
            archive(values=VALUES, times=np.array(["2024-01-01"], dtype="datetime64[ns]"))

    def test_a_rate_that_places_nothing_in_time(self, archive):
        with pytest.warns(DataWarning, match="rate '1h, ten a day' do not place the steps in time: they are only num"):
            table = archive(values=VALUES, start="2006-01-01", freq="1h, ten a day")
        assert table.times is None

    def test_a_rate_without_a_start_is_refused(self, archive):
        with pytest.raises(DataError, match=r"freq='h' was given, but t.npz has no times: add an array 'times' or"):
            archive({"freq": "h"}, values=VALUES)

    def test_no_names_number_the_variables(self, archive):
        assert archive(values=VALUES).variables == ("v0", "v1")

    def test_too_few_names(self, archive):
        with pytest.raises(DataError, match=r"t.npz names 1 variables for 2 columns: one name a column is needed"):
            archive(values=VALUES, variables=["x"])

    def test_two_variables_of_one_name_are_refused(self, archive):
        with pytest.raises(DataError, match=r"t.npz has 2 variables named 'x'"):
            archive(values=VALUES, variables=["x", "x"])

    def test_infinities_and_constants(self, archive):
        with pytest.warns(DataWarning, match=r"t.npz: 1 reading was infinite: now missing; 1 variable is constant"):
            archive(values=[[np.inf, 1], [2, 1], [3, 1]])

    def test_the_only_table_needs_no_name(self, archive):
        assert archive(speed=VALUES, labels=np.arange(3)).values.tolist() == VALUES

    def test_several_tables_need_a_key(self, archive):
        with pytest.raises(DataError, match=r"has no array 'values' \[t, n\]: name one with key= \('p', 'q'\)"):
            archive(p=VALUES, q=VALUES)
        assert archive({"key": "q"}, p=np.zeros((3, 2)), q=VALUES).values.tolist() == VALUES

    def test_a_key_that_is_not_there(self, archive):
        with pytest.raises(DataError, match=r"key='z' names no array of t.npz \(it holds 'values'\)"):
            archive({"key": "z"}, values=VALUES)

    def test_a_last_axis_of_one_is_dropped(self, archive):
        assert archive(data=np.array(VALUES)[:, :, None]).values.tolist() == VALUES

    @pytest.mark.parametrize("values", [np.zeros(3), np.zeros((3, 2, 4)), np.array([["x", "y"]])])
    def test_what_is_no_table(self, archive, values):
        with pytest.raises(DataError, match=r"array 'values' of t.npz must be numbers \[t, n\] \(steps x variables\)"):
            archive(values=values)

    def test_no_rows(self, archive):
        with pytest.raises(DataError, match=r"t.npz has 0 rows of 2 variables"):
            archive(values=np.zeros((0, 2)))

    def test_a_graph_that_is_no_numbers(self, archive):
        with pytest.raises(DataError, match=r"array 'adjacency' of t.npz must be numbers"):
            archive(values=VALUES, adjacency=np.array([["x"]]))

    @pytest.mark.parametrize("name", ["values", "variables"])
    def test_pickled_objects_are_refused_unread(self, tmp_path, name):
        class Trap:
            def __reduce__(self):
                return (pytest.fail, ("unpickled",))

        arrays = {"values": np.array(VALUES)} | {name: np.array([Trap()], dtype=object)}
        np.savez(tmp_path / "t.npz", **arrays)
        with pytest.raises(DataError, match=r"t.npz holds pickled objects, which are never loaded"):
            read_table(tmp_path / "t.npz")

    def test_a_pickle_named_npz_is_refused_unread(self, read):
        with pytest.raises(DataError, match=r"t.npz (holds pickled objects|is cut short)"):
            read(pickle.dumps({"values": VALUES}), "t.npz")

    def test_an_npy_named_npz(self, tmp_path):
        with (tmp_path / "t.npz").open("wb") as file:
            np.save(file, np.array(VALUES))
        with pytest.raises(DataError, match=r"t.npz is cut short or no NPZ archive"):
            read_table(tmp_path / "t.npz")

    @pytest.mark.parametrize("share", [0.05, 0.5, 0.99])
    def test_cut_short(self, tmp_path, share):
        path = tmp_path / "t.npz"
        np.savez_compressed(path, values=np.random.default_rng(0).normal(size=(200, 5)))
        whole = path.read_bytes()
        path.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(DataError, match=r"t.npz is cut short"):
            read_table(path)

    def test_damaged_in_the_middle(self, tmp_path):
        path = tmp_path / "t.npz"
        np.savez(path, values=np.random.default_rng(0).normal(size=(200, 5)))
        whole = bytearray(path.read_bytes())
        whole[1000:1010] = b"0123456789"
        path.write_bytes(bytes(whole))
        with pytest.raises(DataError, match=r"t.npz is cut short or no NPZ archive"):
            read_table(path)
