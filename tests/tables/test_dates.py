"""Dates as text in any order, as numbers, as periods, with zones; and entries that cannot be read."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from subcast.errors import DataError
from subcast.tables.clean import frame_to_table
from table_samples import HOURS, minutes_of, read_with_one_warning, wide


class TestDates:
    def read_dates(self, texts):
        return frame_to_table(pd.DataFrame({"date": texts, "a": np.arange(len(texts)) ** 2.0}))

    @pytest.mark.filterwarnings("error")
    @pytest.mark.parametrize("first", [10, 13])
    def test_day_first(self, first):
        table = self.read_dates([f"{day}/02/2024 06:00" for day in range(first, 16)])
        assert minutes_of(table)[0] == f"2024-02-{first}T06:00"
        assert table.freq == "1D"

    def test_month_first(self):
        assert minutes_of(self.read_dates([f"02/{day}/2024" for day in range(10, 16)]))[0] == "2024-02-10T00:00"

    def test_day_first_with_dots(self):
        assert minutes_of(self.read_dates([f"{day}.12.2023" for day in range(10, 16)]))[0] == "2023-12-10T00:00"

    def test_days_that_might_be_months_follow_the_even_steps(self):
        """Hours of 1 to 4 February, not of the second day of four months."""
        texts = [f"{day:02d}/02/2024 {hour:02d}:00" for day in range(1, 5) for hour in range(24)]
        table = self.read_dates(texts)
        assert (minutes_of(table)[-1], table.freq, table.repairs) == ("2024-02-04T23:00", "1h", ())

    def test_ambiguous_dates_are_noted(self):
        texts = [f"0{day}/02/2024" for day in range(1, 6)]
        table = read_with_one_warning(pd.DataFrame({"date": texts, "a": np.arange(5) ** 2.0}))
        assert minutes_of(table)[-1] == "2024-02-05T00:00"
        assert table.repairs == ("dates such as '01/02/2024' can be read in two ways: read day first",)

    def test_months_that_might_be_days_are_read_month_first_and_noted(self):
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
        assert minutes_of(self.read_dates(numbers))[1] == "2024-01-01T01:00"

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

    def test_a_zone_is_converted_to_utc(self):
        table = read_with_one_warning(wide(index=HOURS.tz_localize("Europe/Berlin")))
        assert minutes_of(table)[0] == "2023-12-31T23:00"
        assert table.repairs == ("times with a zone: converted to UTC",)

    def test_utc_is_not_noted(self):
        assert frame_to_table(wide(index=HOURS.tz_localize("UTC"))).repairs == ()

    def test_written_zones_keep_the_hour_that_comes_twice_apart(self):
        texts = ["T01:00+02:00", "T02:00+02:00", "T02:00+01:00", "T03:00+01:00"]
        table = read_with_one_warning(wide(index=[f"2024-10-27{text}" for text in texts]))
        assert minutes_of(table) == [f"2024-10-{moment}" for moment in ("26T23:00", "27T00:00", "27T01:00", "27T02:00")]

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
    def test_dates_beyond_nanoseconds_are_unreadable(self, year):
        texts = ["2024-01-01", "2024-01-02", f"{year}-12-31", "2024-01-03"]
        table = read_with_one_warning(pd.DataFrame({"date": texts, "a": [1.0, 2.0, 9.0, 4.0]}))
        assert table.values[:, 0].tolist() == [1, 2, 4]

    def test_times_that_are_half_unreadable_are_refused(self):
        with pytest.raises(DataError, match=r"2 of 4 times in the frame cannot be read \(the first is 'x'\): write"):
            self.read_dates(["2024-01-01", "x", "y", "2024-01-02"])
