"""HDF5 as pandas writes it, read with h5py alone."""

import datetime as dt

import h5py
import numpy as np
import pandas as pd
import pytest

from subcast.errors import DataError, DataWarning
from subcast.tables.files import read_table
from subcast.tables.hdf5 import read_hdf5_frame

INDEX = pd.date_range("2012-03-01", periods=4, freq="5min")
FRAME = pd.DataFrame(np.arange(8.0).reshape(4, 2) ** 2, index=INDEX, columns=["773869", "767541"])


def write_old_style(path, *, kind=b"datetime64", transposed=False, **replaced):
    """The layout of metr-la.h5: groups and attributes as old versions of pandas wrote them."""
    values = FRAME.to_numpy()
    names = np.array([b"773869", b"767541"])
    with h5py.File(path, "w") as file:
        group = file.create_group("df")
        group.attrs.update(pandas_type=b"frame", nblocks=1, ndim=2, encoding=b"UTF-8", pandas_version=b"0.15.2")
        for name, data in {
            "axis0": names,
            "axis1": INDEX.as_unit("ns").asi8,
            "block0_items": names,
            "block0_values": values.T if transposed else values,
        }.items():
            group.create_dataset(name, data=replaced.get(name, data))
            group[name].attrs["kind"] = kind if name == "axis1" else b"string"
        group["axis1"].attrs["freq"] = b"cpandas.tseries.offsets\nMinute\n."  # a pickle, never to be opened


@pytest.fixture
def stored(tmp_path):
    """Write a frame with pandas itself."""
    pytest.importorskip("tables", reason="writing HDF5 with pandas needs the package tables")

    def write(frame, **options):
        path = tmp_path / "t.h5"
        frame.to_hdf(path, key="df", **options)
        return path

    return write


class TestFixedFormat:
    def test_as_old_pandas_wrote_it(self, tmp_path):
        write_old_style(tmp_path / "metr-la.h5")
        pd.testing.assert_frame_equal(
            read_hdf5_frame(tmp_path / "metr-la.h5"), FRAME.set_axis(INDEX.as_unit("ns")), check_freq=False
        )

    def test_blocks_stored_the_other_way_round(self, tmp_path):
        write_old_style(tmp_path / "t.h5", transposed=True)
        np.testing.assert_array_equal(read_hdf5_frame(tmp_path / "t.h5").to_numpy(), FRAME.to_numpy())

    def test_columns_in_another_order_than_their_block(self, tmp_path):
        write_old_style(tmp_path / "t.h5", axis0=np.array([b"767541", b"773869"]))
        frame = read_hdf5_frame(tmp_path / "t.h5")
        assert list(frame.columns) == ["767541", "773869"]
        assert frame["767541"].tolist() == FRAME["767541"].tolist()

    @pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
    def test_as_pandas_writes_it(self, stored, unit):
        table = read_table(stored(FRAME.set_axis(INDEX.as_unit(unit))))
        assert table.variables == ("773869", "767541")
        np.testing.assert_array_equal(table.values, FRAME.to_numpy())
        np.testing.assert_array_equal(table.times, INDEX.to_numpy())
        assert table.freq == "5min"

    def test_blocks_of_several_types(self, stored):
        frame = FRAME.assign(count=[1, 2, 3, 5], flag=[True, False, True, True])[["count", "773869", "flag", "767541"]]
        table = read_table(stored(frame))
        assert table.variables == ("count", "773869", "flag", "767541")
        np.testing.assert_array_equal(table.values, frame.to_numpy(dtype=np.float32))

    def test_whole_numbers_as_names(self, stored):
        assert read_table(stored(FRAME.set_axis([7, 8], axis=1))).variables == ("7", "8")

    def test_names_beyond_ascii(self, stored):
        assert read_table(stored(FRAME.set_axis(["Zürich", "Øst"], axis=1))).variables == ("Zürich", "Øst")

    def test_no_times(self, stored):
        assert read_table(stored(FRAME.reset_index(drop=True))).times is None

    def test_dates_as_index(self, stored):
        days = [dt.date(2024, 2, 27) + dt.timedelta(days=day) for day in range(4)]
        table = read_table(stored(FRAME.set_axis(pd.Index(days, dtype=object))))
        assert (str(table.times[-1])[:10], table.freq) == ("2024-03-01", "1D")

    def test_a_zone_is_kept(self, stored):
        table = read_table(stored(FRAME.tz_localize("Europe/Berlin")))
        assert table.times[0] == np.datetime64("2012-02-29T23:00")
        assert (table.zone, table.repairs) == ("Europe/Berlin", ())

    def test_repairs_are_one_warning(self, stored):
        path = stored(FRAME.iloc[[2, 0, 1, 1]].assign(x=np.inf))
        with pytest.warns(DataWarning, match="infinite.*out of order.*repeats a time.*no reading") as said:
            read_table(path)
        assert len(said) == 1


class TestTableFormat:
    def test_data_columns(self, stored):
        table = read_table(stored(FRAME.set_axis(["a", "b"], axis=1), format="table", data_columns=True))
        assert (table.variables, table.freq) == (("a", "b"), "5min")
        np.testing.assert_array_equal(table.values, FRAME.to_numpy())

    def test_a_long_frame(self, stored):
        frame = pd.DataFrame({"unique_id": ["å", "bb", "å"], "ds": INDEX[[0, 0, 1]], "y": [1.0, 2.0, 3.0]})
        table = read_table(stored(frame, format="table", data_columns=True))
        assert table.variables == ("å", "bb")
        np.testing.assert_array_equal(table.values, [[1, 2], [3, np.nan]])

    def test_pickled_names_are_refused(self, stored):
        with pytest.raises(
            DataError, match=r"t.h5 is in pandas' table format, whose column names are pickled: save it"
        ):
            read_table(stored(FRAME, format="table"))


class TestRefused:
    def test_pickled_columns(self, stored):
        frame = FRAME.assign(text=["p", "q", "r", "s"])
        with pytest.raises(DataError, match=r"t.h5 holds pickled objects, which are never loaded: save it again with"):
            read_table(stored(frame))

    def test_an_empty_frame(self, stored):
        with pytest.raises(DataError, match=r"t.h5 holds a frame that is empty"):
            read_table(stored(FRAME.iloc[:0]))

    def test_columns_of_several_levels(self, stored):
        frame = FRAME.set_axis(pd.MultiIndex.from_tuples([("a", str(i)) for i in range(FRAME.shape[1])]), axis=1)
        with pytest.raises(DataError, match=r"t.h5 has columns of several levels: join their names"):
            read_table(stored(frame))

    def test_a_pandas_series(self, stored):
        with pytest.raises(DataError, match=r"t.h5 holds a pandas 'series', not a frame"):
            read_table(stored(FRAME["773869"]))

    def test_several_frames_need_a_key(self, tmp_path):
        path = tmp_path / "t.h5"
        write_old_style(path)
        with h5py.File(path, "a") as file:
            file.copy("df", "folder/other")
        with pytest.raises(DataError, match=r"t.h5 holds 2 frames \('df', 'folder/other'\): name one with key="):
            read_table(path)
        assert read_table(path, key="/folder/other").variables == ("773869", "767541")
        with pytest.raises(DataError, match=r"key='x' names no frame of t.h5 \(it holds 'df', 'folder/other'\)"):
            read_table(path, key="x")

    def test_no_frame(self, tmp_path):
        with h5py.File(tmp_path / "t.h5", "w") as file:
            file["values"] = np.zeros((3, 2))
        with pytest.raises(DataError, match=r"t.h5 holds no frame of pandas: save it again with DataFrame.to_parquet"):
            read_table(tmp_path / "t.h5")

    def test_a_frame_that_lacks_a_part(self, tmp_path):
        write_old_style(tmp_path / "t.h5")
        with h5py.File(tmp_path / "t.h5", "a") as file:
            del file["df/block0_values"]
        with pytest.raises(DataError, match=r"t.h5 is cut short or not an HDF5 file"):
            read_table(tmp_path / "t.h5")

    @pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
    def test_cut_short(self, tmp_path, share):
        path = tmp_path / "t.h5"
        write_old_style(path)
        whole = path.read_bytes()
        path.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(DataError, match=r"t.h5 is cut short or not an HDF5 file \(.*\): fetch it again"):
            read_table(path)

    def test_a_web_page_named_h5(self, tmp_path):
        (tmp_path / "t.h5").write_text("<html>Too many downloads</html>" * 100)
        with pytest.raises(DataError, match=r"t.h5 is cut short or not an HDF5 file"):
            read_table(tmp_path / "t.h5")
