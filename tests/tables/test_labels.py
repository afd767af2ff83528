"""Columns that may hold no readings: labels, counters, and the index that pandas writes."""

import numpy as np
import pandas as pd
import pytest

from subcast.errors import DataWarning, InputError
from subcast.tables.clean import frame_to_table
from subcast.tables.live import read_recent
from subcast.tables.steps import Steps
from table_samples import HOURS, NAN, long, read_with_one_warning, wide


class TestLabels:
    @pytest.mark.parametrize("name", ["id", "Year", "index", "No", "row number", "Unnamed: 3", "day_of_week"])
    def test_names_of_labels_are_kept_and_noted(self, name):
        table = read_with_one_warning(pd.DataFrame({name: [3.0, 1, 4, 1], "b": [1.0, 4, 2, 8]}, index=HOURS))
        assert table.variables == (name, "b")
        note = f"1 variable has the name of a label ({name!r}): kept, drop the column if it holds no readings"
        assert table.repairs == (note,)

    @pytest.mark.parametrize(("start", "gone"), [(0, ()), (1, ()), (2000, (3, 4)), (-3, ())])
    def test_counters_are_kept_and_noted(self, start, gone):
        hours = pd.date_range("2024-01-01", periods=12, freq="h")
        frame = pd.DataFrame({"n": start + np.arange(12.0), "b": np.arange(12.0) ** 2}, index=hours)
        frame.iloc[list(gone), 0] = NAN
        table = read_with_one_warning(frame)
        note = "1 variable counts up by one in every row ('n'): kept, drop the column if it holds no readings"
        assert table.repairs == (note,)
        assert table.variables == ("n", "b")

    def test_a_counter_of_rows_with_gaps_in_time(self):
        hours = pd.date_range("2024-01-01", periods=12, freq="h")[[0, 1, 2, 3, 5, 6, 7, 8, 9]]
        table = read_with_one_warning(pd.DataFrame({"n": np.arange(9.0), "b": np.arange(9.0) ** 2}, index=hours))
        assert table.repairs[0].startswith("1 variable counts up by one in every row ('n')")

    @pytest.mark.parametrize(
        "readings", [np.arange(12.0) / 2, 0.5 + np.arange(12), np.arange(12) % 6, -np.arange(12.0)]
    )
    def test_other_readings_are_no_counters(self, readings):
        hours = pd.date_range("2024-01-01", periods=12, freq="h")
        assert frame_to_table(pd.DataFrame({"a": readings}, index=hours)).repairs == ()


class TestIndexColumns:
    @pytest.mark.parametrize("name", ["index", "Unnamed: 0", "level_0"])
    @pytest.mark.parametrize("first", [0, 500])
    def test_the_index_column_of_pandas_is_ignored_and_noted(self, name, first):
        frame = wide().reset_index(names="time")
        frame.insert(0, name, range(first, first + 4))
        table = read_with_one_warning(frame)
        assert table.variables == ("a", "b")
        assert table.repairs == (f"1 column numbers the rows ({name!r}): ignored",)

    def test_a_column_called_index_with_readings_is_kept(self):
        table = read_with_one_warning(pd.DataFrame({"index": [3, 1, 4, 1], "b": [1.0, 4.0, 2.0, 8.0]}, index=HOURS))
        assert table.variables == ("index", "b")

    def test_the_only_column_is_kept(self):
        with pytest.warns(DataWarning, match="name of a label"):
            assert frame_to_table(pd.DataFrame({"index": [0, 1, 2]}, index=HOURS[:3])).variables == ("index",)


def test_long_tables_have_no_such_columns():
    frame = pd.concat([long(ds=HOURS[[row, row, row + 1, row + 1]], y=[row, row, row + 1, row + 1]) for row in (0, 2)])
    assert frame_to_table(frame).repairs == ()


def test_live_readings_may_have_the_index_column_too():
    frame = wide().reset_index(names="time")
    frame.insert(0, "index", range(70, 74))
    assert read_recent(frame, variables=("a", "b"), lookback=4, steps=Steps("1h")).values[:, 0].tolist() == [1, 2, 3, 5]
    with pytest.raises(InputError, match="1 column that is not among the 2 variables of the training"):
        read_recent(frame.assign(index=[7, 9, 9, 9]), variables=("a", "b"), lookback=4, steps=Steps("1h"))
    known = read_recent(frame, variables=("a", "b", "index"), lookback=4, steps=Steps("1h"))
    assert known.values[:, 2].tolist() == [70, 71, 72, 73]
