"""Frames with levels, repeated names, and polars frames."""

import datetime as dt
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from subcast.errors import DataError
from subcast.tables.clean import frame_to_table
from table_samples import HOURS, NAN, long, minutes_of, read_with_one_warning


class TestPandas:
    @pytest.mark.parametrize("columns", [["a", "a"], [1, "1"]])
    def test_two_variables_of_one_name_are_refused(self, columns):
        with pytest.raises(DataError, match=r"has 2 variables named '\w': give each variable a name of its own"):
            frame_to_table(pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=columns))

    def test_names_of_several_levels_are_joined(self):
        columns = pd.MultiIndex.from_tuples([("north", "pm10"), ("south", "")])
        frame = pd.DataFrame([[1.0, 2.0], [3.0, 5.0]], columns=columns, index=HOURS[:2])
        assert frame_to_table(frame).variables == ("north/pm10", "south")

    def test_a_pandas_series_is_a_frame_of_one_variable(self):
        assert frame_to_table(pd.Series([1.0, 2.0, 4.0], index=HOURS[:3], name="x")).variables == ("x",)

    @pytest.mark.parametrize("other", [[[1, 2]], {"a": [1]}, np.zeros((2, 2)), None])
    def test_objects_that_are_not_frames_are_refused(self, other):
        with pytest.raises(DataError, match=f"must be a pandas or polars DataFrame, got {type(other).__name__}"):
            frame_to_table(other)

    def test_names_and_times_in_the_index(self):
        for index in (["unique_id", "ds"], ["unique_id"], ["ds"]):
            assert frame_to_table(long().set_index(index)).values.tolist() == [[1, 2], [3, 4]]

    def test_an_index_of_levels_without_names_is_refused(self):
        frame = long().set_index(["unique_id", "ds"]).rename_axis([None, None])
        with pytest.raises(DataError, match="index of 2 levels without names: name them"):
            frame_to_table(frame)

    def test_two_columns_of_one_name_are_refused(self):
        frame = pd.concat([long(), long()[["y"]]], axis=1)
        with pytest.raises(DataError, match="has 2 variables named 'y'"):
            frame_to_table(frame)


class TestPolars:
    @pytest.mark.parametrize("entries", [[True, None, False], [True, False, True]])
    def test_true_and_false_are_no_readings(self, entries):
        with pytest.raises(DataError, match="column 'on' of the frame holds"):
            frame_to_table(pl.DataFrame({"a": [1.0, 2.0, 4.0], "on": entries}))

    def test_eager(self):
        frame = pl.DataFrame({"time": HOURS.to_numpy(), "a": [1, 2, None, 4], "b": ["1", None, "0.5", "1"]})
        table = frame_to_table(frame)
        assert table.freq == "1h"
        np.testing.assert_array_equal(table.values, [[1, 1], [2, NAN], [NAN, 0.5], [4, 1]])

    def test_long(self):
        frame = pl.from_pandas(long()).with_columns(pl.col("unique_id").cast(pl.Categorical))
        assert frame_to_table(frame).variables == ("a", "b")

    def test_dates(self):
        frame = pl.DataFrame({"day": [dt.date(2024, 1, day) for day in (1, 2, 3)], "a": [1, 2, 4]})
        assert frame_to_table(frame).freq == "1D"

    def test_a_zone_is_kept(self):
        frame = pl.DataFrame({"time": HOURS, "a": [1, 2, 3, 5]}).with_columns(
            pl.col("time").dt.replace_time_zone("Europe/Berlin")
        )
        table = frame_to_table(frame)
        assert (minutes_of(table)[0], table.zone, table.repairs) == ("2023-12-31T23:00", "Europe/Berlin", ())

    def test_text_among_numbers(self):
        frame = pl.DataFrame({"time": HOURS[:3].to_numpy(), "a": ["1", "x", "3"]})
        assert read_with_one_warning(frame).repairs == ("1 cell was text in 'a': now missing",)

    def test_lazy_is_refused_without_a_warning(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(
                DataError, match=r"is a polars LazyFrame: give an eager DataFrame \(call .collect\(\)\)"
            ):
                frame_to_table(pl.LazyFrame({"a": [1, 2]}))

    def test_a_polars_series_is_refused(self):
        with pytest.raises(DataError, match="must be a pandas or polars DataFrame, got Series"):
            frame_to_table(pl.Series("a", [1, 2]))
