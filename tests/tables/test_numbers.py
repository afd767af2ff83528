"""Numbers from columns of any type, and text among them."""

import numpy as np
import pandas as pd
import pytest

from subcast.errors import DataError, DataWarning
from subcast.tables.clean import frame_to_table
from subcast.tables.convention import NumberFormat
from subcast.tables.files import read_table
from table_samples import HOURS, NAN, long, read_with_one_warning, wide


class TestText:
    def test_a_little_text_among_numbers_is_missing(self):
        table = read_with_one_warning(wide(a=["1", "error", "3", "5"], b=["1", "2", "--", "4"]))
        np.testing.assert_array_equal(table.values, [[1, 1], [NAN, 2], [3, NAN], [5, 4]])
        assert table.repairs == ("2 cells were text in 'a', 'b': now missing",)

    def test_a_column_that_is_half_text_is_refused(self):
        with pytest.raises(DataError, match=r"column 'b' of the frame holds text \('low'\), not readings: drop it"):
            frame_to_table(wide(a=[1.0, 2.0, 3.0, 4.0], b=["1", "low", "high", "2"]))

    def test_blank_cells_are_missing_without_a_note(self):
        assert np.isnan(frame_to_table(wide(a=["1", " ", "", "4"])).values[1:3]).all()

    def test_text_readings(self):
        table = read_with_one_warning(long(y=["1", "2", "broken", "4"]))
        assert table.repairs == ("1 cell was text in 'y': now missing",)


class TestTypes:
    def test_whole_numbers_that_no_float_holds_are_infinite(self):
        table = read_with_one_warning(wide(a=[10**400, 5, -(10**400), "7"]))
        np.testing.assert_array_equal(table.values[:, 0], [NAN, 5, NAN, 7])
        assert table.repairs[0] == "2 readings were infinite: now missing"

    def test_nullable_columns(self):
        frame = wide(
            index=HOURS[:3],
            a=pd.array([1, None, 3], dtype="Int64"),
            b=pd.array([2, None, 9], dtype="UInt8"),
            c=pd.array([1.5, None, 3], dtype="Float64"),
            d=pd.array([1, None, 3], dtype="int64[pyarrow]"),
        )
        expected = [[1, 2, 1.5, 1], [NAN] * 4, [3, 9, 3, 3]]
        np.testing.assert_array_equal(frame_to_table(frame).values, expected)

    @pytest.mark.parametrize("column", [[True, False, True], [None, True, False], pd.array([True, None, False])])
    def test_true_and_false_are_not_readings(self, column):
        with pytest.raises(DataError, match=r"column 'a' of the frame holds text \('True'\), not readings"):
            frame_to_table(wide(index=HOURS[:3], a=column))

    def test_true_among_numbers_is_missing(self):
        table = read_with_one_warning(wide(a=pd.Series([1.5, True, "2.5", 4], dtype=object).to_numpy()))
        np.testing.assert_array_equal(table.values[:, 0], [1.5, NAN, 2.5, 4])
        assert table.repairs == ("1 cell was text in 'a': now missing",)

    def test_categories_of_numbers_are_numbers(self):
        frame = wide(index=HOURS[:3], a=pd.Categorical([1.5, 2.5, 1.5]))
        assert frame_to_table(frame).values[:, 0].tolist() == [1.5, 2.5, 1.5]

    def test_categories_of_text_are_refused(self):
        with pytest.raises(DataError, match=r"column 'a' of the frame holds text \('x'\)"):
            frame_to_table(wide(index=HOURS[:3], a=pd.Categorical(["x", "y", "x"])))

    @pytest.mark.parametrize(
        ("column", "kind"),
        [
            (pd.to_timedelta([1, 2, 3], unit="s"), "timedelta64"),
            (HOURS[:3], "datetime64"),
            ([1 + 2j, 2, 3], "complex128"),
        ],
    )
    def test_columns_that_are_not_readings_are_refused(self, column, kind):
        with pytest.raises(DataError, match=rf"column 'a' of the frame holds {kind}.*, not readings: drop it"):
            frame_to_table(wide(index=HOURS[:3], a=column))

    def test_objects_are_refused(self):
        with pytest.raises(
            DataError, match=r"column 'a' of the frame holds text \('\[1, 2\]'\), not readings: drop it"
        ):
            frame_to_table(wide(index=HOURS[:2], a=[[1, 2], [3]]))


class TestConvention:
    def test_text_columns_of_a_frame_have_one_convention(self):
        table = read_with_one_warning(wide(a=["980", "990", "1.010", "1.020"], b=["1,5", "2,5", "3", ""]))
        np.testing.assert_array_equal(table.values, [[980, 1.5], [990, 2.5], [1010, 3], [1020, NAN]])
        assert table.repairs == (
            "numbers read with a decimal comma ('1,5' is 1.5) and points between thousands ('1.010' is 1010)",
        )

    def test_what_stays_undecided_is_refused_unless_given(self):
        frame = wide(a=["980", "990", "1.010", "1.020"])
        with pytest.raises(DataError, match=r"the frame has numbers such as '1.010' in column 'a', which can be"):
            frame_to_table(frame)
        given = frame_to_table(frame, numbers=NumberFormat(thousands="."))
        assert given.values[:, 0].tolist() == [980, 990, 1010, 1020]
        given = frame_to_table(frame, numbers=NumberFormat("."))
        np.testing.assert_allclose(given.values[:, 0], [980, 990, 1.01, 1.02])

    def test_numbers_that_pandas_read_from_a_file_of_decimal_commas(self):
        table = read_with_one_warning(wide(a=[980, 990, 1.01, 1.02], b=["1,5", "2,5", "3", ""], c=[1.0, 2.0, 5.0, 0.5]))
        assert table.repairs[1:] == (
            "column 'a' holds numbers such as 1.01 beside text with decimal commas: if it comes from the same file, "
            "1.010 may mean 1010 there",
        )

    def test_unused_columns_of_a_long_frame_count_and_its_times_do_not(self):
        with pytest.raises(DataError, match="which can be"):
            frame_to_table(long(y=["1.010", "980", "1.020", "990"]))
        table = read_with_one_warning(long(y=["1.010", "980", "1.020", "990"], height=["0,5", "1,5", "0,5", "1,5"]))
        assert table.values.tolist() == [[1010, 980], [1020, 990]]

    @pytest.mark.parametrize("kind", [object, "str", "category"])
    def test_kinds_of_text(self, kind):
        table = read_with_one_warning(wide(a=pd.Series(["1,5", "2,5", None, "4"], dtype=kind).to_numpy()))
        np.testing.assert_array_equal(table.values[:, 0], [1.5, 2.5, NAN, 4])

    @pytest.mark.parametrize("writer", ["to_parquet", "to_hdf"])
    def test_text_columns_of_files(self, tmp_path, writer):
        frame = wide(a=["980", "990", "1.010", "1.020"], b=["1,5", "2,5", "3", "4"])
        if writer == "to_hdf":
            path = tmp_path / "t.h5"
            frame.reset_index(names="time").to_hdf(path, key="t", format="table", data_columns=True)
        else:
            path = tmp_path / "t.parquet"
            frame.to_parquet(path)
        with pytest.warns(DataWarning, match="points between thousands"):
            assert read_table(path).values[:, 0].tolist() == [980, 990, 1010, 1020]
