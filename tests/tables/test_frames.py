"""Frames, wide and long, pandas and polars, clean and dirty."""

import datetime as dt
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from subcast.errors import DataError, DataWarning
from subcast.tables.clean import frame_to_table, rows_to_table
from subcast.tables.policy import Repair
from subcast.tables.rows import Rows

HOURS = pd.date_range("2024-01-01", periods=4, freq="h")
NAN = float("nan")


def wide(index=HOURS, **columns):
    return pd.DataFrame(columns or {"a": [1.0, 2.0, 3.0, 5.0], "b": [2.0, 3.0, 4.0, 9.0]}, index=index)


def long(**columns):
    table = {"unique_id": ["a", "b", "a", "b"], "ds": HOURS[[0, 0, 1, 1]], "y": [1.0, 2.0, 3.0, 4.0]}
    return pd.DataFrame(table | columns)


def read_with_one_warning(frame, **options):
    """The table, and the one warning (its repairs), after checking that there is exactly one."""
    with pytest.warns(DataWarning) as said:
        table = frame_to_table(frame, **options)
    assert [str(warning.message) for warning in said] == [f"the frame: {'; '.join(table.repairs)}"]
    return table


def starts(table):
    return table.times.astype("datetime64[m]").astype(str).tolist()


class TestWide:
    def test_a_clean_frame_is_read_without_a_word(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            table = frame_to_table(wide())
        assert table.variables == ("a", "b")
        assert table.values.dtype == np.float32
        np.testing.assert_array_equal(table.values, wide().to_numpy())
        assert (table.freq, table.repairs) == ("1h", ())

    @pytest.mark.parametrize("name", ["time", "Timestamp", "DATE", "ds", " datetime "])
    def test_times_are_found_by_the_name_of_their_column(self, name):
        table = frame_to_table(wide(index=None, **{"a": [1.0, 2.0, 3.0, 5.0], name: HOURS.astype(str)}))
        assert table.variables == ("a",)
        assert starts(table)[:2] == ["2024-01-01T00:00", "2024-01-01T01:00"]

    def test_times_are_found_by_the_type_of_their_column(self):
        assert frame_to_table(wide(index=None, a=[1.0, 2.0, 3.0, 4.0], moment=HOURS)).freq == "1h"

    def test_times_are_named_with_time(self):
        frame = wide(index=None, a=[1.0, 2.0, 3.0, 4.0], start=HOURS.astype(str))
        assert frame_to_table(frame, time="start").freq == "1h"
        assert frame_to_table(frame.set_index("start"), time="start").freq == "1h"

    def test_a_time_column_that_is_not_there(self):
        with pytest.raises(DataError, match=r"time='when' names no column of the frame \(its columns: 'a', 'b'\)"):
            frame_to_table(wide(), time="when")

    def test_no_times_number_the_steps(self):
        table = frame_to_table(wide(index=None))
        assert (table.times, table.freq, table.repairs) == (None, None, ())

    def test_a_rate_without_times_is_refused(self):
        with pytest.raises(DataError, match=r"freq='h' was given, but the frame has no times: .* time="):
            frame_to_table(wide(index=None), freq="h")

    def test_a_rate_for_step_numbers_is_refused(self):
        with pytest.raises(DataError, match=r"freq='h' was given"):
            frame_to_table(wide(index=pd.Index([1, 2, 3, 4], name="step")), freq="h")

    def test_text_indices_that_are_no_dates_are_left_out(self):
        with pytest.warns(DataWarning, match=r"the row names \('p', ...\) are not times: ignored"):
            assert frame_to_table(wide(index=["p", "q", "r", "s"])).times is None

    def test_a_frame_on_its_side_is_refused(self):
        frame = wide(index=pd.date_range("2024-01-01", periods=4, freq="D")).T
        with pytest.raises(DataError, match=r"dates for column names .*: transpose it \(frame.T\)"):
            frame_to_table(frame)

    def test_a_long_table_with_numbers_for_ids_is_not_read_as_wide(self):
        times = pd.date_range("2024-01-01", periods=50, freq="h")
        frame = pd.DataFrame({"sensor": np.repeat([1, 2, 3], 50), "timestamp": np.tile(times, 3), "level": range(150)})
        with pytest.raises(
            DataError,
            match=r"100 rows of 150 that repeat a time with other readings: if it is a long table, name its columns",
        ):
            frame_to_table(frame)
        assert frame_to_table(frame, id="sensor", value="level", time="timestamp").variables == ("1", "2", "3")

    def test_a_table_exported_twice_is_merged(self):
        frame = wide(index=pd.date_range("2024-01-01", periods=4, freq="D"))
        with pytest.warns(DataWarning, match="4 rows repeat a time: merged"):
            assert len(frame_to_table(pd.concat([frame, frame])).values) == 4

    def test_a_meter_that_counts_beyond_seven_digits_is_pointed_out(self):
        frame = pd.DataFrame({"kwh": 1e9 + np.arange(100.0), "level": np.sin(np.arange(100.0))})
        with pytest.warns(DataWarning, match=r"1 variable has steps too small for float32's seven digits \('kwh'\)"):
            frame_to_table(frame)

    @pytest.mark.parametrize("frame", [pd.DataFrame(), pd.DataFrame(index=HOURS), pd.DataFrame({"a": []})])
    def test_an_empty_frame_is_refused(self, frame):
        with pytest.raises(DataError, match=r"has \d rows of \d columns: there is nothing to read"):
            frame_to_table(frame)

    def test_a_frame_of_times_alone_is_refused(self):
        with pytest.raises(DataError, match=r"4 rows of 0 variables: there is nothing to read"):
            frame_to_table(pd.DataFrame({"time": HOURS}))

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
    def test_what_is_no_frame_is_refused(self, other):
        with pytest.raises(DataError, match=f"must be a pandas or polars DataFrame, got {type(other).__name__}"):
            frame_to_table(other)

    def test_the_frame_is_not_modified(self):
        frame = wide(index=HOURS[[2, 0, 0, 1]], a=[1.0, np.inf, 3.0, 4.0], b=["1", "x", "3", "4"])
        before = frame.copy(deep=True)
        read_with_one_warning(frame)
        pd.testing.assert_frame_equal(frame, before)


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

    def test_gaps_in_an_index_without_a_name_say_nothing(self):
        assert len(frame_to_table(wide(index=[0, 1, 7, 9])).values) == 4

    def test_frames_put_one_below_the_other_keep_their_order(self):
        """Row numbers that repeat (pd.concat) are no order."""
        assert frame_to_table(wide(index=[0, 1, 0, 1])).values[:, 0].tolist() == [1, 2, 3, 5]

    def test_a_column_of_steps_comes_back_as_such(self):
        table = frame_to_table(wide(index=None).rename_axis("step").reset_index())
        assert table.variables == ("a", "b")


class TestDirtyColumns:
    def test_a_little_text_among_numbers_is_missing(self):
        table = read_with_one_warning(wide(a=["1", "error", "3", "5"], b=["1", "2", "--", "4"]))
        np.testing.assert_array_equal(table.values, [[1, 1], [NAN, 2], [3, NAN], [5, 4]])
        assert table.repairs == ("2 cells were text in 'a', 'b': now missing",)

    def test_a_column_that_is_half_text_is_refused(self):
        with pytest.raises(DataError, match=r"column 'b' of the frame holds text \('low'\), not readings: drop it"):
            frame_to_table(wide(a=[1.0, 2.0, 3.0, 4.0], b=["1", "low", "high", "2"]))

    def test_blank_cells_are_missing_without_a_word(self):
        assert np.isnan(frame_to_table(wide(a=["1", " ", "", "4"])).values[1:3]).all()

    def test_infinities_are_missing(self):
        table = read_with_one_warning(wide(a=[np.inf, 2.0, -np.inf, 5.0]))
        np.testing.assert_array_equal(table.values[:, 0], [NAN, 2, NAN, 5])
        assert table.repairs == ("2 readings were infinite: now missing",)

    @pytest.mark.parametrize("b", [[1.0, 2.0, 3.0, 4.0], ["1", "2", "3", "4"]])
    def test_what_float32_cannot_hold_is_missing(self, b):
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            table = read_with_one_warning(wide(a=[1e300, 1.0, 2.0, 3.0], b=b))
        assert table.repairs == ("1 reading was infinite: now missing",)

    def test_constant_variables_are_kept_and_pointed_out(self):
        table = read_with_one_warning(wide(a=[1.0, 2.0, 3.0, 4.0], b=[7.0] * 4, c=[7.0, NAN, 7.0, 7.0]))
        assert table.values.shape == (4, 3)
        assert table.repairs == ("2 variables are constant ('b', 'c'): kept",)

    def test_variables_without_a_reading_are_kept_and_pointed_out(self):
        table = read_with_one_warning(wide(a=[1.0, 2.0, 3.0, 4.0], b=[NAN] * 4))
        assert np.isnan(table.values[:, 1]).all()
        assert table.repairs == ("1 variable has no reading ('b'): kept as missing",)

    def test_a_single_reading_is_not_called_constant(self):
        assert frame_to_table(wide(a=[1.0, 2.0, 3.0, 4.0], b=[NAN, 5.0, NAN, NAN])).repairs == ()

    def test_many_repairs_are_one_warning(self):
        frame = wide(index=HOURS[[3, 0, 0, 1]], a=[1.0, np.inf, 3.0, 4.0], b=["1", "x", "3", "4"], c=[2.0] * 4)
        table = read_with_one_warning(frame)
        for words in ("text in 'b'", "infinite", "out of order", "repeats a time", "1 step was missing", "constant"):
            assert sum(words in repair for repair in table.repairs) == 1

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

    def test_true_and_false_are_one_and_nought(self):
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
    def test_what_is_no_reading_is_refused(self, column, kind):
        with pytest.raises(DataError, match=rf"column 'a' of the frame holds {kind}.*, not readings: drop it"):
            frame_to_table(wide(index=HOURS[:3], a=column))

    def test_objects_are_refused(self):
        with pytest.raises(
            DataError, match=r"column 'a' of the frame holds text \('\[1, 2\]'\), not readings: drop it"
        ):
            frame_to_table(wide(index=HOURS[:2], a=[[1, 2], [3]]))

    def test_clean_table_refuses_two_variables_of_one_name(self):
        with pytest.raises(DataError, match="has 2 variables named 'a'"):
            rows_to_table(Rows(["a", "a"], np.zeros((2, 2), dtype=np.float32), 2), Repair("the table"))


class TestDates:
    def read_dates(self, texts):
        return frame_to_table(pd.DataFrame({"date": texts, "a": np.arange(len(texts)) ** 2.0}))

    @pytest.mark.filterwarnings("error")
    @pytest.mark.parametrize("first", [10, 13])
    def test_day_first(self, first):
        table = self.read_dates([f"{day}/02/2024 06:00" for day in range(first, 16)])
        assert starts(table)[0] == f"2024-02-{first}T06:00"
        assert table.freq == "1D"

    def test_month_first(self):
        assert starts(self.read_dates([f"02/{day}/2024" for day in range(10, 16)]))[0] == "2024-02-10T00:00"

    def test_day_first_with_dots(self):
        assert starts(self.read_dates([f"{day}.12.2023" for day in range(10, 16)]))[0] == "2023-12-10T00:00"

    def test_days_that_might_be_months_follow_the_even_steps(self):
        """Hours of 1 to 4 February, not of the second day of four months."""
        texts = [f"{day:02d}/02/2024 {hour:02d}:00" for day in range(1, 5) for hour in range(24)]
        table = self.read_dates(texts)
        assert (starts(table)[-1], table.freq, table.repairs) == ("2024-02-04T23:00", "1h", ())

    def test_dates_that_do_not_tell_are_pointed_out(self):
        texts = [f"0{day}/02/2024" for day in range(1, 6)]
        table = read_with_one_warning(pd.DataFrame({"date": texts, "a": np.arange(5) ** 2.0}))
        assert starts(table)[-1] == "2024-02-05T00:00"
        assert table.repairs == ("dates such as '01/02/2024' can be read in two ways: read day first",)

    def test_months_that_might_be_days_are_read_month_first_and_pointed_out(self):
        texts = [f"{month:02d}/01/2024" for month in range(1, 13)]
        table = read_with_one_warning(pd.DataFrame({"date": texts, "a": np.arange(12) ** 2.0}))
        assert table.freq == "MS"
        assert "read month first" in table.repairs[0]

    def test_years_of_months_are_months(self):
        table = self.read_dates([f"{month:02d}/01/{year}" for year in (2022, 2023) for month in range(1, 13)])
        assert (table.freq, table.repairs) == ("MS", ())

    def test_dates_with_and_without_a_time_of_day(self):
        assert self.read_dates(["2024-01-01", "2024-01-01 12:00", "2024-01-02", "2024-01-02 12:00:00"]).freq == "12h"

    @pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
    def test_numbers_since_1970(self, unit):
        numbers = HOURS.as_unit(unit).asi8
        assert starts(self.read_dates(numbers))[1] == "2024-01-01T01:00"

    @pytest.mark.parametrize(("form", "freq"), [("%Y%m%d", "1D"), ("%Y%m%d%H", "1h"), ("%Y%m%d%H%M%S", "1min")])
    def test_dates_written_as_one_number(self, form, freq):
        moments = pd.date_range("2024-02-27", periods=5, freq=freq)
        table = self.read_dates(moments.strftime(form).astype("int64"))
        np.testing.assert_array_equal(table.times, moments.to_numpy())

    def test_numbers_too_small_to_be_dates_are_refused(self):
        with pytest.raises(DataError, match=r"numbers around 1.5, too small for seconds since 1970"):
            self.read_dates([0, 1, 2, 3])

    def test_true_and_false_are_no_times(self):
        with pytest.raises(DataError, match="true and false: name the column of times"):
            self.read_dates([True, False, True])

    @pytest.mark.parametrize("column", [HOURS - HOURS[0]])
    def test_durations_are_no_times(self, column):
        with pytest.raises(DataError, match="are durations: add the moment they count from"):
            self.read_dates(column)
        with pytest.raises(DataError, match="are durations: add the moment they count from"):
            frame_to_table(wide(index=column))

    def test_periods_are_their_first_moment(self):
        months = pd.period_range("2024-01", periods=4, freq="M")
        assert frame_to_table(wide(index=months)).freq == "MS"
        assert self.read_dates(months).freq == "MS"

    def test_date_objects(self):
        days = [dt.date(2024, 2, day) for day in (27, 28, 29)]
        for frame in (wide(index=days, a=[1.0, 2.0, 4.0]), wide(index=None, day=days, a=[1.0, 2.0, 4.0])):
            table = frame_to_table(frame)
            assert (table.freq, table.variables) == ("1D", ("a",))

    def test_a_date_and_a_clock_are_joined(self):
        frame = pd.DataFrame({"Date": ["16/12/2006"] * 3, "Time": ["17:24:00", "17:25:00", "17:26:00"], "a": [1, 2, 4]})
        assert frame_to_table(frame).freq == "1min"

    def test_a_zone_is_turned_into_utc(self):
        table = read_with_one_warning(wide(index=HOURS.tz_localize("Europe/Berlin")))
        assert starts(table)[0] == "2023-12-31T23:00"
        assert table.repairs == ("times with a zone: converted to UTC",)

    def test_utc_needs_no_word(self):
        assert frame_to_table(wide(index=HOURS.tz_localize("UTC"))).repairs == ()

    def test_written_zones_keep_the_hour_that_comes_twice_apart(self):
        texts = ["T01:00+02:00", "T02:00+02:00", "T02:00+01:00", "T03:00+01:00"]
        table = read_with_one_warning(wide(index=[f"2024-10-27{text}" for text in texts]))
        assert starts(table) == [f"2024-10-{moment}" for moment in ("26T23:00", "27T00:00", "27T01:00", "27T02:00")]

    def test_rows_without_a_readable_time_are_dropped(self):
        table = read_with_one_warning(wide(index=[HOURS[0], pd.NaT, HOURS[1], HOURS[2]]))
        assert table.values[:, 0].tolist() == [1, 3, 5]
        assert table.repairs == ("1 row has no readable time: dropped",)

    def test_one_entry_that_is_no_date(self):
        table = read_with_one_warning(
            pd.DataFrame({"date": ["2024-01-01", "oops", "2024-01-02"], "a": [1.0, 2.0, 3.0]})
        )
        assert table.repairs == ("1 row has no readable time: dropped",)

    @pytest.mark.parametrize("year", ["1024", "9999"])
    def test_dates_beyond_what_can_be_told_are_not_readable(self, year):
        texts = ["2024-01-01", "2024-01-02", f"{year}-12-31", "2024-01-03"]
        table = read_with_one_warning(pd.DataFrame({"date": texts, "a": [1.0, 2.0, 9.0, 4.0]}))
        assert table.values[:, 0].tolist() == [1, 2, 4]

    def test_times_that_are_half_unreadable_are_refused(self):
        with pytest.raises(DataError, match=r"2 of 4 times in the frame cannot be read \(the first is 'x'\): write"):
            self.read_dates(["2024-01-01", "x", "y", "2024-01-02"])


class TestLong:
    def test_a_row_for_each_reading(self):
        table = frame_to_table(long())
        assert table.variables == ("a", "b")
        assert table.values.tolist() == [[1, 2], [3, 4]]
        assert table.repairs == ()

    def test_pairs_that_are_not_there_are_missing(self):
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
    def test_a_column_that_is_not_there(self, option, name):
        with pytest.raises(DataError, match=rf"{option}='{name}' names no column of the frame"):
            frame_to_table(long(), **{option: name})

    def test_extra_columns_are_left_out(self):
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

    def test_a_rate_for_integer_times_is_refused(self):
        with pytest.raises(
            DataError, match=r"freq='h' was given, but the frame only has step numbers, no times: leave"
        ):
            frame_to_table(long(ds=[1, 1, 2, 2]), freq="h")

    def test_rows_without_a_name_are_dropped(self):
        table = read_with_one_warning(long(unique_id=["a", None, "a", "b"]))
        assert table.repairs == ("1 row has no name in 'unique_id': dropped",)
        np.testing.assert_array_equal(table.values, [[1, NAN], [3, 4]])

    def test_numbers_as_names_stay_whole_beside_a_missing_one(self):
        assert read_with_one_warning(long(unique_id=[7.0, 8.0, 7.0, NAN])).variables == ("7", "8")

    def test_no_name_at_all_is_refused(self):
        with pytest.raises(DataError, match="has no row with both a name in 'unique_id' and a readable time"):
            frame_to_table(long(unique_id=[None] * 4))

    def test_of_several_readings_the_last_that_is_there_counts(self):
        frame = pd.DataFrame({"unique_id": list("aaab"), "ds": HOURS[[0, 0, 0, 1]], "y": [1.0, 2.0, NAN, 4.0]})
        table = read_with_one_warning(frame)
        np.testing.assert_array_equal(table.values, [[2, NAN], [NAN, 4]])
        assert table.repairs == ("2 readings repeat a variable and time: the last one is kept",)

    def test_unsorted_rows_need_no_word(self):
        assert frame_to_table(long().iloc[[3, 0, 2, 1]]).values.tolist() == [[2, 1], [4, 3]]

    def test_times_that_are_mostly_unreadable_are_refused(self):
        with pytest.raises(DataError, match=r"3 of 4 times in the frame cannot be read"):
            frame_to_table(long(ds=["2024-01-01", "x", "y", "z"]))

    def test_text_readings(self):
        table = read_with_one_warning(long(y=["1", "2", "broken", "4"]))
        assert table.repairs == ("1 cell was text in 'y': now missing",)

    def test_categories_as_names(self):
        assert frame_to_table(long(unique_id=pd.Categorical(["b", "a", "b", "a"]))).variables == ("b", "a")

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

    def test_the_frame_is_not_modified(self):
        frame = long(unique_id=["a", None, "a", "b"], flag=1)
        before = frame.copy(deep=True)
        read_with_one_warning(frame)
        pd.testing.assert_frame_equal(frame, before)


class TestPolars:
    def test_eager(self):
        frame = pl.DataFrame({"time": HOURS.to_numpy(), "a": [1, 2, None, 4], "b": [True, None, False, True]})
        table = frame_to_table(frame)
        assert table.freq == "1h"
        np.testing.assert_array_equal(table.values, [[1, 1], [2, NAN], [NAN, 0], [4, 1]])

    def test_long(self):
        frame = pl.from_pandas(long()).with_columns(pl.col("unique_id").cast(pl.Categorical))
        assert frame_to_table(frame).variables == ("a", "b")

    def test_dates(self):
        frame = pl.DataFrame({"day": [dt.date(2024, 1, day) for day in (1, 2, 3)], "a": [1, 2, 4]})
        assert frame_to_table(frame).freq == "1D"

    def test_a_zone_is_turned_into_utc(self):
        frame = pl.DataFrame({"time": HOURS, "a": [1, 2, 3, 5]}).with_columns(
            pl.col("time").dt.replace_time_zone("Europe/Berlin")
        )
        table = read_with_one_warning(frame)
        assert (starts(table)[0], table.repairs) == ("2023-12-31T23:00", ("times with a zone: converted to UTC",))

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
