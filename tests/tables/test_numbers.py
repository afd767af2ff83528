"""Numbers from columns of any type, and text among them."""

import numpy as np
import pandas as pd
import pytest

from subcast.errors import DataError
from subcast.tables.clean import frame_to_table
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
    def test_nullable_columns(self):
        frame = wide(
            index=HOURS[:3],
            a=pd.array([1, None, 3], dtype="Int64"),
            b=pd.array([True, None, False], dtype="boolean"),
            c=pd.array([1.5, None, 3], dtype="Float64"),
            d=pd.array([1, None, 3], dtype="int64[pyarrow]"),
        )
        expected = [[1, 1, 1.5, 1], [NAN] * 4, [3, 0, 3, 3]]
        np.testing.assert_array_equal(frame_to_table(frame).values, expected)

    def test_true_and_false_are_one_and_zero(self):
        frame = wide(index=HOURS[:3], a=[True, False, True], b=pd.Series([True, None, False], dtype=object).to_numpy())
        np.testing.assert_array_equal(frame_to_table(frame).values, [[1, 1], [0, NAN], [1, 0]])

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
