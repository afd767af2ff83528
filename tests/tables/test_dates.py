"""Dates as text in any order, as numbers, as periods, with zones; and entries that cannot be read."""

import datetime as dt
import zoneinfo

import numpy as np
import pandas as pd
import pytest

from subcast.errors import DataError, DataWarning
from subcast.tables.clean import frame_to_table
from subcast.tables.dates import to_stamps
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

    @pytest.mark.parametrize("texts", [["07.1x.24 02-15"], ["31.02.2024 10:00+01:00", "x"]])
    def test_what_ends_like_an_offset_and_cannot_be_read(self, texts):
        with pytest.raises(DataError, match=f"{len(texts)} of {len(texts)} times in the frame cannot be read"):
            self.read_dates(texts)

    def test_blanks_do_not_hide_offsets(self):
        with pytest.warns(DataWarning, match="the times have the offsets"):
            table = self.read_dates([" 2024-10-27 02:30+02:00 ", " 2024-10-27 02:30+01:00 ", "2024-10-27 03:30+01:00"])
        assert minutes_of(table)[:2] == ["2024-10-27T00:30", "2024-10-27T01:30"]

    def test_text_that_pandas_takes_for_different_zones(self):
        with pytest.raises(DataError, match="2 of 2 times in the frame cannot be read"):
            self.read_dates(["20-Jun-2010 05:00;-2", "20-Jun-2010 06:00;-3"])

    @pytest.mark.parametrize("days", [[4, 5, 7, 8, 9], [11, 7, 4, 5, 8, 9, 6, 10], [1, 2, 3, 5, 6, 7]])
    def test_days_that_might_be_months_with_a_gap_or_shuffled_are_noted(self, days):
        with pytest.warns(DataWarning, match="can be read in two ways"):
            self.read_dates([f"{day:02d}.01.24 00:00" for day in days])

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

    def test_a_zone_is_kept_and_the_times_are_moments(self):
        table = frame_to_table(wide(index=HOURS.tz_localize("Europe/Berlin")))
        assert minutes_of(table)[0] == "2023-12-31T23:00"
        assert (table.zone, table.repairs) == ("Europe/Berlin", ())

    @pytest.mark.parametrize(
        ("ending", "zone"),
        [
            ("Z", "UTC"),
            ("+00:00", "UTC"),
            (" UTC", "UTC"),
            ("+02:00", "+02:00"),
            ("-0330", "-03:30"),
            ("+02", "+02:00"),
            ("", None),
        ],
    )
    def test_offsets_in_text(self, ending, zone):
        table = frame_to_table(wide(index=[f"2024-01-01T{hour:02d}:00{ending}" for hour in range(4)]))
        assert (table.zone, table.repairs) == (zone, ())
        first = pd.Timestamp(f"2024-01-01T00:00{ending}".replace(" UTC", "Z"))
        moment = first if first.tz is None else first.tz_convert("UTC").tz_localize(None)
        assert table.times[0] == moment.to_datetime64()

    @pytest.mark.parametrize(
        "dates", [[f"{day}-12-2023" for day in range(10, 16)], [f"2024-{month:02d}-0101"[:7] for month in range(1, 6)]]
    )
    def test_dates_with_dashes_are_no_offsets(self, dates):
        assert self.read_dates(dates).zone is None

    def test_zone_objects_of_python(self):
        zone = zoneinfo.ZoneInfo("Europe/Berlin")
        times = [dt.datetime(2024, 3, 31, hour, tzinfo=zone) for hour in (0, 1, 3, 4)]
        table = frame_to_table(wide(index=pd.Index(times, dtype=object)))
        assert (table.zone, table.freq, table.repairs) == ("Europe/Berlin", "1h", ())

    def test_numbers_since_1970_are_in_utc_and_dates_as_numbers_in_no_zone(self):
        assert self.read_dates(HOURS.as_unit("s").asi8).zone == "UTC"
        assert self.read_dates(HOURS.strftime("%Y%m%d%H").astype("int64")).zone is None

    def test_written_offsets_keep_the_hour_that_comes_twice_apart(self):
        texts = ["T01:00+02:00", "T02:00+02:00", "T02:00+01:00", "T03:00+01:00"]
        table = read_with_one_warning(wide(index=[f"2024-10-27{text}" for text in texts]))
        assert minutes_of(table) == [f"2024-10-{moment}" for moment in ("26T23:00", "27T00:00", "27T01:00", "27T02:00")]
        assert table.zone == "Europe/Berlin"
        assert "offsets '+01:00', '+02:00' as Europe/Berlin has them: taken in that zone" in table.repairs[0]

    def test_offsets_that_no_zone_has_are_taken_in_utc(self):
        texts = ["T01:00+02:00", "T01:00+01:00", "T04:30+03:30", "T03:00+01:00"]
        table = read_with_one_warning(wide(index=[f"2024-06-27{text}" for text in texts]))
        assert table.zone == "UTC"
        assert "which no zone has at these times: taken in UTC" in table.repairs[0]

    def test_times_with_and_without_a_zone_are_refused(self):
        texts = ["2024-01-01T00:00+01:00", "2024-01-01T01:00", "2024-01-01T02:00+01:00"]
        with pytest.raises(
            DataError, match=r"with and without a zone \('2024-01-01T00:00\+01:00' and '2024-01-01T01:00'"
        ):
            frame_to_table(wide(index=texts, a=[1.0, 2.0, 4.0]))

    def test_local_times_in_a_zone_that_is_named(self):
        local = ["2024-10-27 01:30", "2024-10-27 02:30", "2024-10-27 02:30", "2024-10-27 03:30"]
        table = frame_to_table(wide(index=local), zone="Europe/Berlin")
        assert minutes_of(table)[:2] == ["2024-10-26T23:30", "2024-10-27T00:30"]
        assert (table.freq, len(table.values), table.repairs) == ("1h", 4, ())

    def test_local_times_of_a_long_table_in_a_zone(self):
        local = pd.date_range("2024-10-27", periods=5, freq="h", tz="Europe/Berlin").tz_localize(None)
        rows = [(name, time, 1.0 * step) for step, time in enumerate(local) for name in ("a", "b")]
        table = frame_to_table(pd.DataFrame(rows, columns=["unique_id", "ds", "y"]), zone="Europe/Berlin")
        assert table.values[:, 1].tolist() == [0, 1, 2, 3, 4]

    def test_rows_in_the_hour_that_clocks_skip_are_dropped(self):
        local = pd.date_range("2024-03-31 00:00", periods=6, freq="h")
        table = read_with_one_warning(wide(index=local, a=[1.0, 2, 9, 4, 5, 6]), zone="Europe/Berlin")
        assert table.values[:, 0].tolist() == [1, 2, 4, 5, 6]
        assert table.repairs == (
            "1 row has a time that clocks in Europe/Berlin skip (the first is 2024-03-31 02:00:00): dropped",
        )

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


def test_shuffled_weekly_dates_with_two_digit_years_are_read_in_one_order():
    days = pd.date_range("2024-11-13", periods=24, freq="7D")
    for seed in range(8):
        shuffled = days[np.random.default_rng(seed).permutation(len(days))]
        text = pd.Series(shuffled.strftime("%d.%m.%y %H:%M"))
        stamps = to_stamps(text, "the frame").moments
        np.testing.assert_array_equal(stamps, shuffled.to_numpy(dtype="datetime64[ns]"))
