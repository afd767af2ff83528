"""Finding the times of a frame: by name, by type, in the index, as step numbers."""

import numpy as np
import pandas as pd
import pytest

from subcast.errors import DataError, DataWarning
from subcast.tables.clean import frame_to_table
from table_samples import HOURS, NAN, minutes_of, read_with_one_warning, wide


class TestTimes:
    @pytest.mark.parametrize("name", ["time", "Timestamp", "DATE", "ds", " datetime "])
    def test_times_are_found_by_the_name_of_their_column(self, name):
        table = frame_to_table(wide(index=None, **{"a": [1.0, 2.0, 3.0, 5.0], name: HOURS.astype(str)}))
        assert table.variables == ("a",)
        assert minutes_of(table)[:2] == ["2024-01-01T00:00", "2024-01-01T01:00"]

    def test_times_are_found_by_the_type_of_their_column(self):
        assert frame_to_table(wide(index=None, a=[1.0, 2.0, 3.0, 4.0], moment=HOURS)).freq == "1h"

    def test_times_are_named_with_time(self):
        frame = wide(index=None, a=[1.0, 2.0, 3.0, 4.0], start=HOURS.astype(str))
        assert frame_to_table(frame, time="start").freq == "1h"
        assert frame_to_table(frame.set_index("start"), time="start").freq == "1h"

    def test_a_time_column_that_does_not_exist(self):
        with pytest.raises(DataError, match=r"time='when' names no column of the frame \(its columns: 'a', 'b'\)"):
            frame_to_table(wide(), time="when")

    def test_no_times_number_the_steps(self):
        table = frame_to_table(wide(index=None))
        assert (table.times, table.freq, table.repairs) == (None, None, ())

    def test_an_index_of_text_that_is_not_dates_is_ignored(self):
        with pytest.warns(DataWarning, match=r"the row names \('p', ...\) are not times: ignored"):
            assert frame_to_table(wide(index=["p", "q", "r", "s"])).times is None

    def test_a_transposed_frame_is_refused(self):
        frame = wide(index=pd.date_range("2024-01-01", periods=4, freq="D")).T
        with pytest.raises(DataError, match=r"dates for column names .*: transpose it \(frame.T\)"):
            frame_to_table(frame)

    def test_a_date_and_a_clock_are_joined(self):
        frame = pd.DataFrame({"Date": ["16/12/2006"] * 3, "Time": ["17:24:00", "17:25:00", "17:26:00"], "a": [1, 2, 4]})
        assert frame_to_table(frame).freq == "1min"


class TestRowNumbers:
    def test_a_named_integer_index_counts_steps(self):
        table = read_with_one_warning(wide(index=pd.Index([4, 1, 2, 3], name="step")))
        assert table.values[:, 0].tolist() == [2, 3, 5, 1]
        assert table.times is None
        assert table.repairs == ("1 row was out of order: sorted",)

    def test_gaps_in_a_named_integer_index_are_filled(self):
        table = read_with_one_warning(wide(index=pd.Index([0, 1, 3, 4], name="step")))
        np.testing.assert_array_equal(table.values[:, 0], [1, 2, NAN, 3, 5])

    def test_a_shuffled_index_without_a_name_is_put_in_order(self):
        table = read_with_one_warning(wide(index=[3, 0, 1, 2]))
        assert table.values[:, 0].tolist() == [2, 3, 5, 1]
        assert table.repairs == ("the row numbers were out of order: sorted",)

    def test_gaps_in_an_index_without_a_name_are_ignored(self):
        assert len(frame_to_table(wide(index=[0, 1, 7, 9])).values) == 4

    def test_frames_put_one_below_the_other_keep_their_order(self):
        """Row numbers that repeat (pd.concat) are no order."""
        assert frame_to_table(wide(index=[0, 1, 0, 1])).values[:, 0].tolist() == [1, 2, 3, 5]

    def test_a_column_of_steps_comes_back_as_such(self):
        table = frame_to_table(wide(index=None).rename_axis("step").reset_index())
        assert table.variables == ("a", "b")
