"""Times on a regular grid: each dirty case by name, and all of them at once against a slow twin."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from subcast.errors import DataError
from subcast.tables.grid import merge_equal, to_grid
from subcast.tables.rates import step_name
from twins import tables_twins

SECOND = 10**9
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
NAN = float("nan")


def column(*readings):
    return np.array(readings, dtype=np.float32)[:, None]


def nanoseconds(*dates):
    return np.array(dates, dtype="datetime64[ns]").view(np.int64)


def regular(steps, step=5 * MINUTE, start="2024-03-01"):
    return nanoseconds(start)[0] + np.arange(steps, dtype=np.int64) * step


def counting(times):
    return np.arange(len(times), dtype=np.float32)[:, None]


def dates(grid):
    return pd.DatetimeIndex(grid.times.view("datetime64[ns]"))


class TestClean:
    def test_a_regular_table_comes_back_as_it_is(self):
        times = regular(20)
        values = counting(times)
        grid = to_grid(times, values)
        assert grid.values is values
        np.testing.assert_array_equal(grid.times, times)
        assert (grid.freq, grid.repairs) == ("5min", ())

    def test_one_row_has_no_rate(self):
        grid = to_grid(regular(1), column(3.0))
        assert (grid.freq, grid.repairs, grid.values.tolist()) == (None, (), [[3.0]])

    def test_two_rows_have_the_rate_of_their_step(self):
        assert to_grid(regular(2, 7 * MINUTE), column(3.0, 4.0)).freq == "7min"

    @pytest.mark.parametrize(
        ("step", "name"),
        [(250 * 10**6, "250ms"), (10 * SECOND, "10s"), (HOUR, "1h"), (DAY, "1D"), (90 * SECOND, "90s"), (7, "7ns")],
    )
    def test_steps_are_named_as_pandas_names_them(self, step, name):
        assert step_name(step) == name
        assert pd.Timedelta(pd.tseries.frequencies.to_offset(name)).value == step

    def test_inputs_are_not_modified(self):
        times = regular(6)[[3, 0, 0, 1, 5, 4]]
        values = np.array([[1, NAN], [2, 3], [NAN, 4], [5, 6], [7, 8], [9, 1]], dtype=np.float32)
        before = times.copy(), values.copy()
        to_grid(times, values)
        np.testing.assert_array_equal(times, before[0])
        np.testing.assert_array_equal(values, before[1])


class TestOrderAndRepeats:
    def test_unsorted_rows_are_sorted(self):
        times = regular(5)
        grid = to_grid(times[[0, 3, 1, 2, 4]], column(0, 3, 1, 2, 4))
        assert grid.values[:, 0].tolist() == [0, 1, 2, 3, 4]
        assert grid.repairs == ("1 row was out of order: sorted",)

    def test_newest_first_is_turned_around(self):
        grid = to_grid(regular(5)[::-1], column(4, 3, 2, 1, 0))
        assert grid.values[:, 0].tolist() == [0, 1, 2, 3, 4]
        assert grid.repairs == ("4 rows were out of order: sorted",)

    def test_the_last_reading_of_a_repeated_time_is_kept(self):
        times = regular(3)[[0, 1, 1, 1, 2]]
        values = np.array([[1, 1], [2, 20], [3, NAN], [NAN, NAN], [5, 5]], dtype=np.float32)
        grid = to_grid(times, values)
        assert grid.values.tolist() == [[1, 1], [3, 20], [5, 5]]
        assert grid.repairs == ("2 rows repeat a time: merged, the last reading is kept",)

    def test_the_last_row_of_the_file_counts_even_when_rows_are_unsorted(self):
        times = regular(3)[[2, 1, 0, 1]]
        grid = to_grid(times, column(2, 1, 0, 11))
        assert grid.values[:, 0].tolist() == [0, 11, 2]
        assert [repair.split(":")[0] for repair in grid.repairs] == [
            "2 rows were out of order",
            "1 row repeats a time",
        ]

    def test_a_time_without_any_reading_stays_missing(self):
        times, values = merge_equal(np.array([1, 1, 2]), column(NAN, NAN, 4), [])
        assert times.tolist() == [1, 2]
        np.testing.assert_array_equal(values[:, 0], [NAN, 4])

    def test_many_rows_of_one_time(self):
        times = np.repeat(regular(3), 4000)
        merged, values = merge_equal(times, counting(times), [])
        assert merged.tolist() == regular(3).tolist()
        assert values[:, 0].tolist() == [3999, 7999, 11999]

    def test_clocks_set_back_give_each_time_of_the_hour_twice(self):
        """Local times without a zone: from 01:55 back to 01:00; the second pass counts."""
        night = regular(36, start="2024-11-03 00:00")  # three hours
        times = np.concatenate([night[:24], night[12:]])
        grid = to_grid(times, counting(times))
        assert len(grid.times) == 36
        assert grid.values[:, 0].tolist() == [*range(12), *range(24, 48)]
        assert grid.repairs == (
            "1 row was out of order: sorted",
            "12 rows repeat a time: merged, the last reading is kept",
        )

    def test_clocks_set_forward_leave_a_gap(self):
        night = regular(36, start="2024-03-10 00:00")
        times = np.delete(night, np.arange(24, 36))
        times = np.concatenate([times, night[-1] + np.arange(1, 6) * 5 * MINUTE])
        grid = to_grid(times, counting(times))
        assert np.isnan(grid.values[24:36, 0]).all()
        assert grid.repairs == ("12 steps were missing from the 5min grid: filled with missing readings",)


class TestRowsWithoutATime:
    def test_they_are_dropped(self):
        times = nanoseconds("2024-01-01", "NaT", "2024-01-02", "2024-01-03")
        grid = to_grid(times, column(0, 1, 2, 3))
        assert grid.values[:, 0].tolist() == [0, 2, 3]
        assert grid.repairs == ("1 row has no readable time: dropped",)

    def test_no_time_at_all_is_refused(self):
        with pytest.raises(DataError, match="2 of 2 times in the table cannot be read"):
            to_grid(nanoseconds("NaT", "NaT"), column(0, 1))


class TestGaps:
    def test_gaps_are_filled_with_missing_readings(self):
        grid = to_grid(regular(8)[[0, 1, 2, 5, 6, 7]], column(0, 1, 2, 5, 6, 7))
        np.testing.assert_array_equal(grid.values[:, 0], [0, 1, 2, NAN, NAN, 5, 6, 7])
        np.testing.assert_array_equal(grid.times, regular(8))
        assert grid.repairs == ("2 steps were missing from the 5min grid: filled with missing readings",)

    def test_a_recorder_that_went_from_5_to_10_minutes_keeps_the_finer_rate(self):
        times = np.concatenate([regular(12), regular(12)[-1] + np.arange(1, 12) * 10 * MINUTE])
        grid = to_grid(times, counting(times))
        assert grid.freq == "5min"
        assert np.isnan(grid.values).sum() == 11

    def test_one_wrong_year_is_refused_and_named(self):
        times = regular(500)
        times[250] = nanoseconds("2042-03-01")[0]
        with pytest.raises(
            DataError,
            match=r"grid would need 1,893,[\d,]+ steps for 500 rows: the widest gap .* and 2042-03-01 00:00:00",
        ):
            to_grid(times, counting(times))

    def test_one_wrong_year_under_a_calendar_rate_is_refused(self):
        times = nanoseconds("1750-01-01", "2024-01-01", "2024-02-01", "2024-03-01")
        with pytest.raises(DataError, match=r"MS grid would need 3,291 steps for 4 rows"):
            to_grid(times, counting(times), "MS")

    def test_a_short_table_may_have_a_wide_gap(self):
        grid = to_grid(regular(60)[[0, 1, 2, 59]], column(0, 1, 2, 59))
        assert len(grid.times) == 60


class TestRates:
    def test_mixed_rates_are_refused(self):
        steps = np.array([7, 11, 7, 11, 13] * 8) * MINUTE
        times = np.concatenate([[0], np.cumsum(steps)])
        with pytest.raises(DataError, match=r"no single rate: the commonest step, 7min, makes up only 40% .* freq="):
            to_grid(times, counting(times))

    def test_rows_between_the_steps_of_the_commonest_rate_are_refused(self):
        times = np.sort(np.concatenate([regular(60), regular(20, 15 * MINUTE) + 2 * MINUTE]))
        with pytest.raises(DataError, match=r"25% of the rows lie off the 5min grid"):
            to_grid(times, counting(times), "5min")

    def test_no_rate_at_all_is_refused(self):
        times = np.sort(np.random.default_rng(0).integers(0, DAY, 100))
        with pytest.raises(DataError, match=r"the times have no single rate"):
            to_grid(times, counting(times))

    def test_a_rate_can_be_named(self):
        grid = to_grid(regular(4, HOUR), column(0, 1, 2, 3), "30min")
        np.testing.assert_array_equal(grid.values[:, 0], [0, NAN, 1, NAN, 2, NAN, 3])
        assert grid.freq == "30min"

    def test_a_rate_that_does_not_fit_is_refused(self):
        with pytest.raises(DataError, match=r"50% of the rows lie off the 2h grid"):
            to_grid(regular(4, HOUR), column(0, 1, 2, 3), "2h")

    @pytest.mark.parametrize("freq", ["fortnight", "-1h", "0h", "", "5 bananas"])
    def test_a_rate_that_is_none_is_refused(self, freq):
        with pytest.raises(DataError, match=r"freq must be a rate as pandas writes it, such as '5min'"):
            to_grid(regular(4), column(0, 1, 2, 3), freq)

    def test_a_few_rows_off_the_grid_are_moved_to_it(self):
        times = regular(40)
        times[7] += 90 * SECOND
        grid = to_grid(times, counting(times))
        np.testing.assert_array_equal(grid.times, regular(40))
        assert grid.repairs == ("1 row was off the 5min grid: moved to the nearest step",)

    def test_jitter_of_a_few_seconds_is_taken_out(self):
        rng = np.random.default_rng(3)
        times = regular(200) + rng.integers(-5, 6, 200) * SECOND
        grid = to_grid(times, counting(times))
        assert grid.freq == "5min"
        np.testing.assert_array_equal(grid.times, regular(200))
        assert [repair.split(" ", 1)[1] for repair in grid.repairs] == [
            "rows were off the 5min grid: moved to the nearest step"
        ]

    def test_a_clock_that_is_always_late_keeps_its_phase(self):
        times = regular(100) + 137 * SECOND
        grid = to_grid(times, counting(times))
        np.testing.assert_array_equal(grid.times, times)
        assert grid.repairs == ()

    def test_jitter_finer_than_a_second(self):
        rng = np.random.default_rng(4)
        times = regular(100, 10 * SECOND) + rng.integers(0, 400, 100) * 10**6
        grid = to_grid(times, counting(times))
        assert grid.freq == "10s"
        np.testing.assert_array_equal(grid.times, regular(100, 10 * SECOND))

    def test_two_rows_moved_to_one_step_are_merged(self):
        times = np.insert(regular(30), 6, regular(30)[5] + 10 * SECOND)
        grid = to_grid(times, counting(times))
        assert len(grid.times) == 30
        assert grid.values[5, 0] == 6
        assert grid.repairs == (
            "1 row was off the 5min grid: moved to the nearest step",
            "1 row repeats a time: merged, the last reading is kept",
        )


class TestCalendar:
    @pytest.mark.parametrize("freq", ["MS", "ME", "B", "W-MON", "QS-JAN", "YS-JAN"])
    def test_calendar_rates_are_kept(self, freq):
        times = pd.date_range("2020-01-01", periods=30, freq=freq).as_unit("ns").asi8
        grid = to_grid(times, counting(times))
        assert (grid.freq, grid.repairs) == (freq, ())
        np.testing.assert_array_equal(grid.times, times)

    @pytest.mark.parametrize("freq", ["MS", "ME", "B", "QS", "YE"])
    def test_calendar_rates_are_found_with_gaps_too(self, freq):
        whole = pd.date_range("2020-01-01", periods=40, freq=freq).as_unit("ns").asi8
        gone = [4, 11, 12]
        grid = to_grid(np.delete(whole, gone), counting(np.delete(whole, gone)))
        assert grid.freq == freq
        np.testing.assert_array_equal(grid.times, whole)
        assert np.flatnonzero(np.isnan(grid.values[:, 0])).tolist() == gone
        assert grid.repairs == (f"3 steps were missing from the {freq} grid: filled with missing readings",)

    def test_weekdays_within_one_week_are_days_like_any_other(self):
        times = nanoseconds("2024-01-01", "2024-01-02", "2024-01-04", "2024-01-05")
        assert to_grid(times, counting(times)).freq == "1D"

    @pytest.mark.parametrize("months", [5, 24])
    def test_months_on_a_day_that_no_rate_has_are_refused(self, months):
        times = pd.date_range("2024-01-01", periods=months, freq="MS").as_unit("ns").asi8 + DAY
        with pytest.raises(DataError, match=r"mixed rates: .* off the 31D grid; resample"):
            to_grid(times, counting(times))

    def test_a_date_beside_a_named_calendar_rate_is_refused(self):
        times = nanoseconds("2024-01-01", "2024-02-01", "2024-03-02")
        with pytest.raises(DataError, match=r"do not follow freq='MS': 2024-03-02 00:00:00 is not one of its dates"):
            to_grid(times, counting(times), "MS")

    def test_readings_on_leap_days_are_days(self):
        times = regular(60, DAY, "2024-01-15")
        assert to_grid(times, counting(times)).freq == "1D"


class TestStepNumbers:
    def test_steps_are_sorted_and_filled_but_have_no_rate(self):
        grid = to_grid(np.array([3, 1, 2, 5]), column(3, 1, 2, 5), stamps=False)
        np.testing.assert_array_equal(grid.values[:, 0], [1, 2, 3, NAN, 5])
        assert grid.freq is None
        assert grid.repairs[1] == "1 step was missing from the 1-step grid: filled with missing readings"

    def test_step_numbers_without_a_rate_are_refused(self):
        with pytest.raises(DataError, match=r"step numbers have no single rate: the commonest step, 1, .* number the"):
            to_grid(np.array([0, 1, 5, 12, 40]), column(0, 1, 2, 3, 4), stamps=False)

    def test_one_step_number_far_away_is_refused(self):
        steps = np.append(np.arange(50), 10**6)
        with pytest.raises(
            DataError, match=r"1-step grid would need 1,000,001 steps .* between step 49 and step 1000000"
        ):
            to_grid(steps, counting(steps), stamps=False)


@st.composite
def dirty_tables(draw):
    """Rows of a regular grid, some left out, some repeated, shuffled, with holes."""
    steps = draw(st.integers(4, 25))
    kept = sorted(draw(st.sets(st.integers(0, steps - 1), min_size=4)))
    rows = kept + draw(st.lists(st.sampled_from(kept), max_size=8))
    rows = draw(st.permutations(rows))
    step = draw(st.sampled_from([250 * 10**6, SECOND, 5 * MINUTE, HOUR, 3 * HOUR]))
    start = draw(st.integers(0, 10**6)) * SECOND
    n = draw(st.integers(1, 3))
    reading = st.one_of(st.just(NAN), st.integers(-9, 9).map(float))
    values = draw(st.lists(st.lists(reading, min_size=n, max_size=n), min_size=len(rows), max_size=len(rows)))
    return [start + row * step for row in rows], values, step


@settings(max_examples=200)
@given(dirty_tables())
def test_agrees_with_the_slow_twin(table):
    times, rows, step = table
    expected, filled, backwards, repeated, absent = tables_twins.grid(times, rows, step)
    if tables_twins.looks_long(times, rows):
        with pytest.raises(DataError, match="if it is a long table, name its columns"):
            to_grid(np.array(times), np.array(rows, dtype=np.float32), step_name(step))
        return
    grid = to_grid(np.array(times), np.array(rows, dtype=np.float32), step_name(step))
    assert grid.times.tolist() == expected
    np.testing.assert_array_equal(grid.values, np.array(filled, dtype=np.float32))
    said = " / ".join(grid.repairs)
    for count, phrase in ((backwards, "out of order"), (repeated, " a time: merged"), (absent, "missing from the")):
        assert (phrase in said) == bool(count)
        assert not count or any(repair.startswith(f"{count} ") and phrase in repair for repair in grid.repairs)


@settings(max_examples=100)
@given(dirty_tables())
def test_the_rate_is_found_when_half_of_the_steps_have_it(table):
    times, rows, step = table
    unique = sorted(set(times))
    steps = [after - before for before, after in itertools.pairwise(unique)]
    assume(2 * steps.count(step) >= len(steps) and not tables_twins.looks_long(times, rows))
    found = to_grid(np.array(times), np.array(rows, dtype=np.float32))
    assert found.freq == step_name(step)
    assert found.times.tolist() == tables_twins.grid(times, rows, step)[0]


class TestCenturies:
    def test_two_rows_that_are_two_centuries_apart(self):
        times = np.array(["2024-04-06", "2224-03-30"], dtype="datetime64[ns]").view(np.int64)
        grid = to_grid(times, np.array([[1.0], [2.0]], dtype=np.float32))
        assert (grid.times.tolist(), grid.values[:, 0].tolist()) == (times.tolist(), [1.0, 2.0])

    def test_times_further_apart_than_nanoseconds_count(self):
        times = np.array(["2224-03-30", "1700-01-01", "1700-01-02"], dtype="datetime64[ns]").view(np.int64)
        with pytest.raises(
            DataError, match=r"the times of t reach from 1700-01-01 .* to 2224-03-30 .*, more than 292 years"
        ):
            to_grid(times, np.zeros((3, 1), dtype=np.float32), source="t")
