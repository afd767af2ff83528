"""NPZ files: names, times, graphs; damaged archives and pickled objects."""

import pickle
import zipfile

import numpy as np
import pytest

from subcast.errors import DataError, DataWarning
from subcast.tables.files import read_table
from table_samples import CSV_VALUES


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
            values=CSV_VALUES, variables=["x", "y"], times=times, adjacency=np.eye(2), positions=np.ones((2, 2))
        )
        assert (table.variables, table.values.tolist(), table.freq) == (("x", "y"), CSV_VALUES, "1D")
        assert table.graph.dtype == table.positions.dtype == np.float32

    @pytest.mark.parametrize("kind", ["U", "S"])
    def test_start_and_rate(self, archive, kind):
        start, freq = np.array("2024-01-01", dtype=kind), np.array("5min", dtype=kind)
        table = archive(values=CSV_VALUES, variables=np.array(["x", "y"], dtype=kind), start=start, freq=freq)
        assert table.variables == ("x", "y")
        assert table.times[1] == np.datetime64("2024-01-01T00:05")
        assert table.freq == "5min"

    @pytest.mark.parametrize(
        "times", [["2024-01-01", "2024-01-02", "2024-01-03"], [1704067200, 1704153600, 1704240000]]
    )
    def test_times_as_text_or_numbers(self, archive, times):
        assert archive(values=CSV_VALUES, times=np.array(times)).freq == "1D"

    def test_times_that_are_no_dates(self, archive):
        with pytest.warns(DataWarning, match=r"t.npz: 1 row has no readable time: dropped"):
            table = archive(values=CSV_VALUES, times=np.array(["2024-01-01", "x", "2024-01-02"]))
        assert len(table.values) == 2
        with pytest.raises(DataError, match=r"2 of 3 times in t.npz cannot be read"):
            archive(values=CSV_VALUES, times=np.array(["2024-01-01", "x", "y"]))

    def test_times_of_another_length(self, archive):
        with pytest.raises(DataError, match=r"'times' of t.npz must have one entry for each of the 3 steps"):
            archive(values=CSV_VALUES, times=np.array(["2024-01-01"], dtype="datetime64[ns]"))

    def test_a_rate_that_does_not_define_times(self, archive):
        with pytest.warns(DataWarning, match="rate '1h, ten a day' do not define times: the steps are only numbered"):
            table = archive(values=CSV_VALUES, start="2006-01-01", freq="1h, ten a day")
        assert table.times is None

    def test_a_rate_without_a_start_is_refused(self, archive):
        with pytest.raises(DataError, match=r"freq='h' was given, but t.npz has no times: add an array 'times' or"):
            archive({"freq": "h"}, values=CSV_VALUES)

    def test_no_names_number_the_variables(self, archive):
        assert archive(values=CSV_VALUES).variables == ("v0", "v1")

    def test_too_few_names(self, archive):
        with pytest.raises(DataError, match=r"t.npz names 1 variables for 2 columns: give one name for each column"):
            archive(values=CSV_VALUES, variables=["x"])

    def test_two_variables_of_one_name_are_refused(self, archive):
        with pytest.raises(DataError, match=r"t.npz has 2 variables named 'x'"):
            archive(values=CSV_VALUES, variables=["x", "x"])

    def test_infinities_and_constants(self, archive):
        with pytest.warns(DataWarning, match=r"t.npz: 1 reading was infinite: now missing; 1 variable is constant"):
            archive(values=[[np.inf, 1], [2, 1], [3, 1]])

    def test_the_only_table_needs_no_name(self, archive):
        assert archive(speed=CSV_VALUES, labels=np.arange(3)).values.tolist() == CSV_VALUES

    def test_several_tables_need_a_key(self, archive):
        with pytest.raises(DataError, match=r"has no array 'values' \[t, n\]: name one with key= \('p', 'q'\)"):
            archive(p=CSV_VALUES, q=CSV_VALUES)
        assert archive({"key": "q"}, p=np.zeros((3, 2)), q=CSV_VALUES).values.tolist() == CSV_VALUES

    def test_a_key_that_is_not_there(self, archive):
        with pytest.raises(DataError, match=r"key='z' names no array of t.npz \(it holds 'values'\)"):
            archive({"key": "z"}, values=CSV_VALUES)

    def test_a_last_axis_of_one_is_dropped(self, archive):
        assert archive(data=np.array(CSV_VALUES)[:, :, None]).values.tolist() == CSV_VALUES

    @pytest.mark.parametrize("values", [np.zeros(3), np.zeros((3, 2, 4)), np.array([["x", "y"]])])
    def test_what_is_no_table(self, archive, values):
        with pytest.raises(DataError, match=r"array 'values' of t.npz must be numbers \[t, n\] \(steps x variables\)"):
            archive(values=values)

    def test_no_rows(self, archive):
        with pytest.raises(DataError, match=r"t.npz has 0 rows of 2 variables"):
            archive(values=np.zeros((0, 2)))

    def test_a_graph_that_is_no_numbers(self, archive):
        with pytest.raises(DataError, match=r"array 'adjacency' of t.npz must be numbers"):
            archive(values=CSV_VALUES, adjacency=np.array([["x"]]))

    @pytest.mark.parametrize("name", ["values", "variables"])
    def test_pickled_objects_are_refused_unread(self, tmp_path, name):
        class Trap:
            def __reduce__(self):
                return (pytest.fail, ("unpickled",))

        arrays = {"values": np.array(CSV_VALUES)} | {name: np.array([Trap()], dtype=object)}
        np.savez(tmp_path / "t.npz", **arrays)
        with pytest.raises(DataError, match=r"t.npz holds pickled objects, which are never loaded"):
            read_table(tmp_path / "t.npz")

    def test_a_pickle_named_npz_is_refused_unread(self, read):
        with pytest.raises(DataError, match=r"t.npz (holds pickled objects|is cut short)"):
            read(pickle.dumps({"values": CSV_VALUES}), "t.npz")

    def test_an_npy_named_npz(self, tmp_path):
        with (tmp_path / "t.npz").open("wb") as file:
            np.save(file, np.array(CSV_VALUES))
        with pytest.raises(DataError, match=r"t.npz is cut short or not an NPZ archive"):
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
        with pytest.raises(DataError, match=r"t.npz is cut short or not an NPZ archive"):
            read_table(path)


def npz_with(path, header, content=bytes(64), name="values.npy"):
    """Write an archive of one array with any header."""
    text = header.encode() + b"\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + content)
    return path


class TestHostileArchives:
    @pytest.mark.parametrize("shape", [(10**6, 10**6), (2**40, 2), (2**62, 4), (-1, 3), (9, 1)])
    def test_a_header_that_promises_more_than_the_archive_holds(self, tmp_path, shape):
        header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
        with pytest.raises(DataError, match=r"t.npz is cut short or damaged: fetch it again"):
            read_table(npz_with(tmp_path / "t.npz", header))

    @pytest.mark.parametrize(
        "header", ["{", "[1, 2]", "x" * 200, "{'descr': '|O'}", "{'descr': '<f8', 'fortran_order': 0, 'shape': 3}"]
    )
    def test_a_header_that_is_none(self, tmp_path, header):
        with pytest.raises(DataError, match=r"t.npz is cut short or"):
            read_table(npz_with(tmp_path / "t.npz", header))

    def test_arrays_too_large_for_the_memory(self, tmp_path, monkeypatch):
        def full(*_, **__):
            raise MemoryError

        np.savez(tmp_path / "t.npz", values=np.ones((3, 2)))
        monkeypatch.setattr(np, "load", full)
        with pytest.raises(DataError, match=r"t.npz holds arrays that are too large for the memory: save fewer steps"):
            read_table(tmp_path / "t.npz")

    @pytest.mark.parametrize("name", ["values.npy/", "readme.txt", "../values"])
    def test_members_that_are_no_arrays_are_ignored(self, tmp_path, name):
        path = tmp_path / "t.npz"
        np.savez(path, values=np.array(CSV_VALUES))
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(name, b"text")
        assert read_table(path).values.tolist() == CSV_VALUES

    @pytest.mark.parametrize("facts", ["[" * 5000, "{", "[]", '{"freq": 3}', "null"])
    def test_facts_that_cannot_be_read(self, tmp_path, facts):
        np.savez(tmp_path / "t.npz", values=np.array(CSV_VALUES), subcast=np.array(facts))
        with pytest.raises(DataError, match=r"the facts stored in t.npz cannot be read: save the series again"):
            read_table(tmp_path / "t.npz")

    def test_an_archive_without_arrays(self, tmp_path):
        path = tmp_path / "t.npz"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("values.npy/", b"text")
        with pytest.raises(DataError, match=r"t.npz has no array 'values' \[t, n\]"):
            read_table(path)
