"""Frames, wide and long: the same readings in any form, and rows of long frames that are not usable."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcast.errors import DataError, InputError
from subcast.series import Series
from subcast.tables.clean import frame_to_table
from subcast.tables.frames import Columns, frame_rows
from subcast.tables.live import read_recent
from subcast.tables.policy import Repair, Strict
from subcast.tables.steps import Steps
from table_samples import HOURS, NAN, long, read_with_one_warning, wide
from twins import tables_twins


class TestWide:
    def test_a_clean_frame_is_read_without_a_warning(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            table = frame_to_table(wide())
        assert table.variables == ("a", "b")
        assert table.values.dtype == np.float32
        np.testing.assert_array_equal(table.values, wide().to_numpy())
        assert (table.freq, table.repairs) == ("1h", ())

    def test_a_long_table_with_numbers_for_ids_is_not_read_as_wide(self):
        times = pd.date_range("2024-01-01", periods=50, freq="h")
        frame = pd.DataFrame({"sensor": np.repeat([1, 2, 3], 50), "timestamp": np.tile(times, 3), "level": range(150)})
        with pytest.raises(
            DataError,
            match=r"100 rows of 150 that repeat a time with other readings: if it is a long table, name its columns",
        ):
            frame_to_table(frame)
        assert frame_to_table(frame, id="sensor", value="level", time="timestamp").variables == ("1", "2", "3")

    def test_the_frame_is_not_modified(self):
        frame = wide(index=HOURS[[2, 0, 0, 1]], a=[1.0, np.inf, 3.0, 4.0], b=["1", "x", "3", "4"])
        before = frame.copy(deep=True)
        read_with_one_warning(frame)
        pd.testing.assert_frame_equal(frame, before)


class TestLong:
    def test_a_row_for_each_reading(self):
        table = frame_to_table(long())
        assert table.variables == ("a", "b")
        assert table.values.tolist() == [[1, 2], [3, 4]]
        assert table.repairs == ()

    def test_absent_pairs_of_variable_and_time_are_missing(self):
        np.testing.assert_array_equal(frame_to_table(long().iloc[:3]).values, [[1, 2], [3, NAN]])

    def test_variables_come_in_order_of_appearance(self):
        assert frame_to_table(long(unique_id=["z", "a", "z", "a"])).variables == ("z", "a")

    def test_columns_can_be_named(self):
        frame = long().rename(columns={"unique_id": "station", "ds": "when", "y": "pm10"})
        np.testing.assert_array_equal(
            frame_to_table(frame, id="station", time="when", value="pm10").values, [[1, 2], [3, 4]]
        )

    def test_the_times_of_a_long_frame_are_found_by_name_too(self):
        frame = long().rename(columns={"unique_id": "station", "ds": "time", "y": "pm10"})
        assert frame_to_table(frame, id="station", value="pm10").freq == "1h"

    @pytest.mark.parametrize(("option", "name"), [("id", "station"), ("time", "when"), ("value", "pm10")])
    def test_a_column_that_does_not_exist(self, option, name):
        with pytest.raises(DataError, match=rf"{option}='{name}' names no column of the frame"):
            frame_to_table(long(), **{option: name})

    def test_unused_columns_are_ignored(self):
        table = read_with_one_warning(long(flag=["ok"] * 4, x=[1, 2, 3, 4]))
        assert table.repairs == ("2 columns were not needed ('flag', 'x'): ignored",)

    def test_integer_times_count_steps(self):
        table = read_with_one_warning(long(ds=[1, 1, 4, 2]))
        np.testing.assert_array_equal(table.values, [[1, 2], [NAN, 4], [NAN, NAN], [3, NAN]])
        assert table.times is None
        assert table.repairs == ("1 step was missing from the 1-step grid: filled with missing readings",)

    def test_integer_times_with_a_hole(self):
        table = read_with_one_warning(long(ds=pd.array([1, 1, None, 2], dtype="Int64")))
        assert table.repairs == ("1 row has no readable time: dropped",)
        np.testing.assert_array_equal(table.values, [[1, 2], [NAN, 4]])

    def test_rows_without_a_name_are_dropped(self):
        table = read_with_one_warning(long(unique_id=["a", None, "a", "b"]))
        assert table.repairs == ("1 row has no name in 'unique_id': dropped",)
        np.testing.assert_array_equal(table.values, [[1, NAN], [3, 4]])

    def test_numbers_as_names_stay_whole_beside_a_missing_one(self):
        assert read_with_one_warning(long(unique_id=[7.0, 8.0, 7.0, NAN])).variables == ("7", "8")

    def test_no_name_at_all_is_refused(self):
        with pytest.raises(DataError, match="has no row with both a name in 'unique_id' and a readable time"):
            frame_to_table(long(unique_id=[None] * 4))

    def test_the_last_of_several_readings_is_kept(self):
        frame = pd.DataFrame({"unique_id": list("aaab"), "ds": HOURS[[0, 0, 0, 1]], "y": [1.0, 2.0, NAN, 4.0]})
        table = read_with_one_warning(frame)
        np.testing.assert_array_equal(table.values, [[2, NAN], [NAN, 4]])
        assert table.repairs == ("2 readings repeat a variable and time: the last one is kept",)

    def test_unsorted_rows_are_not_noted(self):
        assert frame_to_table(long().iloc[[3, 0, 2, 1]]).values.tolist() == [[2, 1], [4, 3]]

    def test_times_that_are_mostly_unreadable_are_refused(self):
        with pytest.raises(DataError, match=r"3 of 4 times in the frame cannot be read"):
            frame_to_table(long(ds=["2024-01-01", "x", "y", "z"]))

    def test_categories_as_names(self):
        assert frame_to_table(long(unique_id=pd.Categorical(["b", "a", "b", "a"]))).variables == ("b", "a")

    def test_the_frame_is_not_modified(self):
        frame = long(unique_id=["a", None, "a", "b"], flag=1)
        before = frame.copy(deep=True)
        read_with_one_warning(frame)
        pd.testing.assert_frame_equal(frame, before)


@st.composite
def clean_wide_frames(draw):
    """Return a wide frame of floats on regular times, no variable constant or without a reading."""
    steps, n = draw(st.integers(3, 8)), draw(st.integers(1, 4))
    numbers = st.floats(-1e6, 1e6, width=32) | st.just(NAN)
    values = np.array(draw(st.lists(st.lists(numbers, min_size=n, max_size=n), min_size=steps, max_size=steps)))
    values[0], values[-1] = np.arange(n), np.arange(n) + 1.5
    names = draw(st.permutations(["inflow", "outflow", "7", "pm 2.5"]))[:n]
    index = pd.date_range("2024-02-27", periods=steps, freq=draw(st.sampled_from(["5min", "h", "D"])), name="time")
    return pd.DataFrame(values, index=index, columns=names)


def other_forms(frame, order):
    """Return the same readings in other forms: columns in another order, a time column, long and shuffled, polars."""
    columns = frame.rename_axis(columns="unique_id").stack(future_stack=True)
    long_frame = columns.rename("y").rename_axis(["ds", "unique_id"]).reset_index()
    shuffled = long_frame.sample(frac=1, random_state=len(order))
    return {
        "shuffled columns": frame[order],
        "time column": frame.reset_index(),
        "long": long_frame,
        "long, shuffled": shuffled,
        "polars": pl.from_pandas(frame.reset_index()),
        "polars, long": pl.from_pandas(shuffled),
        "text": frame.astype(object).where(frame.notna(), "").astype(str),
    }


@settings(max_examples=60)
@given(clean_wide_frames(), st.data())
def test_every_form_of_a_clean_frame_is_read_alike_under_both_policies(frame, data):
    names = tuple(frame.columns)
    order = data.draw(st.permutations(names))
    lookback = data.draw(st.integers(1, len(frame)))
    forms = other_forms(frame, order)
    values = frame.to_numpy(dtype=np.float32)
    series = Series.from_array(frame.to_numpy(), names, frame.index)
    np.testing.assert_array_equal(series.values, values)
    options = {"variables": names, "lookback": lookback, "steps": Steps(series.freq)}
    live = read_recent(frame.to_numpy(), times=frame.index, **options)
    np.testing.assert_array_equal(live.values, values[-lookback:])
    for form in ({"wide": frame} | forms).values():
        table = Series.from_frame(form).select(names)
        np.testing.assert_array_equal(table.values, series.values)
        np.testing.assert_array_equal(table.times, series.times)
        assert (table.freq, table.repairs) == (series.freq, ())
        recent = read_recent(form, **options)
        np.testing.assert_array_equal(recent.values, live.values)
        np.testing.assert_array_equal(recent.times, live.times)


@st.composite
def long_tables(draw):
    rows = draw(st.integers(1, 14))
    ids = draw(st.lists(st.sampled_from("abc"), min_size=rows, max_size=rows))
    stamps = draw(st.lists(st.integers(0, 5), min_size=rows, max_size=rows))
    numbers = st.sampled_from([NAN, 0.0, -1.5, 3.0])
    return ids, stamps, draw(st.lists(numbers, min_size=rows, max_size=rows))


@settings(max_examples=150)
@given(long_tables())
def test_rows_of_a_long_frame_against_the_slow_twin(table):
    ids, stamps, readings = table
    frame = pd.DataFrame({"unique_id": ids, "ds": stamps, "y": readings})
    variables, times, values = tables_twins.pivot(ids, stamps, readings)
    repeated = len(ids) - len(set(zip(ids, stamps, strict=True)))
    policy = Repair("the frame")
    rows = frame_rows(frame, policy, Columns())
    assert (rows.names, rows.stamps.tolist(), rows.counted) == (variables, times, True)
    np.testing.assert_array_equal(rows.values, np.array(values, dtype=np.float32))
    assert [note.split()[0] for note in policy.notes] == ([str(repeated)] if repeated else [])
    if repeated:
        with pytest.raises(InputError, match="more than once"):
            frame_rows(frame, Strict("recent"), Columns())
    else:
        last = frame_rows(frame, Strict("recent"), Columns(), last=2)
        np.testing.assert_array_equal(last.values, np.array(values, dtype=np.float32)[-2:])
        assert last.total == len(times)
