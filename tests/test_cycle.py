"""The cycle: positions against Python's own calendar, the rows of a profile, and what is refused."""

from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcast.cycle import DAY_CLASSES, Cycle, as_days
from subcast.errors import DataError, InputError
from subcast.storage.state import State

MOMENTS = st.datetimes(datetime(1901, 1, 1), datetime(2099, 12, 31))
SLOTS = st.sampled_from([1, 2, 3, 4, 24, 48, 96, 144, 288, 1440])


def as_times(moments):
    return np.array(moments, dtype="datetime64[us]").astype("datetime64[ns]")


def nearest_slot(moment, slots):
    """The day and the slot whose begin is nearest to a moment, by trying all slots of the day; None if two are near."""
    midnight = datetime(moment.year, moment.month, moment.day)
    begins = [(midnight + timedelta(days=1) * number / slots, number) for number in range(slots + 1)]
    apart = sorted((abs(begin - moment), number) for begin, number in begins)
    if (apart[1][0] - apart[0][0]) * slots < timedelta(days=0.001):
        return None
    number = apart[0][1]
    return midnight.date() + timedelta(days=number // slots), number % slots


@given(MOMENTS, SLOTS)
def test_positions_of_the_day_and_of_the_week(moment, slots):
    nearest = nearest_slot(moment, slots) if slots > 1 else (moment, 0)  # a day counts as itself
    if nearest is None:
        return
    day, slot = nearest
    times = as_times([moment])
    assert Cycle(slots).positions(times).tolist() == [slot]
    assert Cycle(slots, weekly=True).positions(times).tolist() == [day.weekday() * slots + slot]


@given(MOMENTS)
def test_positions_of_the_year(moment):
    day = moment.timetuple().tm_yday
    assert Cycle(yearly=True).positions(as_times([moment])).tolist() == [day - 1]


@pytest.mark.parametrize("moment", ["1969-12-31", "1970-01-01", "2023-12-31", "2024-02-29", "2024-12-31", "1900-03-01"])
def test_named_days(moment):
    date = datetime.fromisoformat(moment)
    assert Cycle(yearly=True).positions(as_times([date])).tolist() == [date.timetuple().tm_yday - 1]
    assert Cycle(weekly=True).positions(as_times([date])).tolist() == [date.weekday()]


@pytest.mark.parametrize(("minutes", "first"), [(60, 30), (720, 360), (480, 240), (30, 15), (5, 2)])
def test_readings_between_two_slots_have_a_slot_each(minutes, first):
    """Hourly readings at half past, for example: each hour is a slot of its own, and positions follow one another."""
    slots = 1440 // minutes
    cycle = Cycle(slots, weekly=True)
    times = (
        np.datetime64("2024-01-01") + np.arange(9 * slots) * np.timedelta64(minutes, "m") + np.timedelta64(first, "m")
    )
    positions = cycle.positions(times)
    assert np.unique(np.diff(positions) % cycle.length).tolist() == [1]
    np.testing.assert_array_equal(positions, cycle.after(positions[:1], len(times))[0])


def test_a_holiday_is_a_sunday_until_midnight():
    cycle = Cycle(24, DAY_CLASSES["weekdays, Saturday, Sunday"], holidays=as_days(["2024-12-25"]))
    times = as_times(
        ["2024-12-24T23:20", "2024-12-24T23:40", "2024-12-25T12:00", "2024-12-25T23:40", "2024-12-29T05:00"]
    )
    assert cycle.positions(times).tolist() == [24 + 23, 6 * 24, 6 * 24 + 12, 3 * 24, 6 * 24 + 5]
    assert cycle.rows[cycle.positions(times)].tolist() == [23, 48, 60, 0, 53]


@pytest.mark.parametrize(
    ("cycle", "follows_on"),
    [
        (Cycle(24), True),
        (Cycle(24, weekly=True), True),
        (Cycle(24, holidays=as_days(["2024-01-02"])), True),
        (Cycle(24, weekly=True, holidays=as_days(["2024-01-02"])), False),
        (Cycle(yearly=True), False),
    ],
)
def test_whether_positions_follow_one_another(cycle, follows_on):
    step = timedelta(days=1) / cycle.slots
    times = as_times([datetime(2023, 12, 28) + number * step for number in range(8 * cycle.slots)])
    positions = cycle.positions(times)
    assert cycle.follows_on == follows_on
    assert np.array_equal(positions, cycle.after(positions[:1], len(times))[0]) == follows_on


@pytest.mark.parametrize("name", DAY_CLASSES)
@pytest.mark.parametrize("slots", [1, 3])
def test_rows_by_loops(name, slots):
    cycle = Cycle(slots, DAY_CLASSES[name], weekly=True)
    rows = [DAY_CLASSES[name][day] * slots + slot for day in range(7) for slot in range(slots)]
    assert cycle.rows.tolist() == rows
    assert (cycle.length, cycle.n_rows) == (7 * slots, max(rows) + 1)


def test_after_by_loops():
    cycle = Cycle(4, weekly=True)
    found = cycle.after(np.array([0, 26]), length=3, skip=1)
    assert found.tolist() == [[1, 2, 3], [27, 0, 1]]


def test_clocks_say_slot_weekday_and_day_of_the_year():
    positions = np.array([0, 5, 47, 167])
    slot, weekday = Cycle(24, weekly=True).clocks(positions)
    assert (slot.tolist(), weekday.tolist()) == ([0, 5, 23, 23], [0, 0, 1, 6])
    assert [each.tolist() for each in Cycle(24).clocks(positions % 24)] == [[0, 5, 23, 23]]
    assert [each.tolist() for each in Cycle(yearly=True).clocks(positions)] == [positions.tolist()]
    both = Cycle(weekly=True, yearly=True).clocks(np.array([0, 365, 366, 6 * 366 + 31]))
    assert [each.tolist() for each in both] == [[0, 0, 1, 6], [0, 365, 0, 31]]
    assert Cycle().clocks(np.zeros(3, dtype=int)) == []


def test_compatible_positions_by_loops():
    cycle = Cycle(3, weekly=True)
    slot, weekday = np.array([0, 2]), np.array([6, 1])
    for given_slot, given_weekday in ((slot, weekday), (slot, None), (None, weekday)):
        fits = cycle.compatible(given_slot, given_weekday)
        for window in range(2):
            for place in range(21):
                by_slot = given_slot is None or place % 3 == slot[window]
                by_day = given_weekday is None or place // 3 == weekday[window]
                assert fits[window, place] == (by_slot and by_day)


def test_days_of_the_year_and_of_the_week():
    cycle = Cycle(weekly=True, yearly=True, holidays=as_days(["2024-12-25"]))
    times = as_times(["2024-01-01", "2024-12-31", "2023-07-02", "2024-12-25"])  # Monday, Tuesday, Sunday, a holiday
    positions = cycle.positions(times)
    assert (positions // 366).tolist() == [0, 1, 6, 6]
    assert (positions % 366).tolist() == [0, 365, 182, 359]
    assert cycle.rows[positions].tolist() == [0, 365, 182, 359]  # the profile is that of the year
    assert (cycle.length, cycle.n_rows, cycle.has_classes, cycle.follows_on) == (7 * 366, 366, False, False)
    fits = cycle.compatible(None, np.array([3]))
    assert np.flatnonzero(fits[0]).tolist() == list(range(3 * 366, 4 * 366))
    np.testing.assert_array_equal(cycle.circle(positions, 1.0), Cycle(yearly=True).circle(positions % 366, 1.0))


def test_without_a_week_the_weekday_does_not_matter():
    fits = Cycle(3).compatible(np.array([1]), np.array([4]))
    assert fits.tolist() == [[False, True, False]]


def test_the_circle_is_that_of_the_day_or_else_of_the_week_or_year():
    def angle(cycle, position):
        x, y = cycle.circle(np.array(position), 1.0)
        return np.arctan2(x, y) % (2 * np.pi)

    assert angle(Cycle(24, weekly=True), 24 + 6) == pytest.approx(np.pi / 2, abs=1e-6)
    assert angle(Cycle(weekly=True), 1) == pytest.approx(2 * np.pi / 7, abs=1e-6)
    assert angle(Cycle(yearly=True), 183) == pytest.approx(np.pi, abs=1e-6)


@pytest.mark.parametrize(
    ("cycle", "words"),
    [
        (Cycle(), ""),
        (Cycle(24), ", 24 slots a day"),
        (Cycle(24, DAY_CLASSES["weekdays, weekend"]), ", 24 slots a day, weekdays, weekend"),
        (Cycle(1, DAY_CLASSES["each day of the week"]), ", each day of the week"),
        (Cycle(yearly=True), ", days of the year"),
        (Cycle(weekly=True, yearly=True), ", days of the year and of the week"),
    ],
)
def test_words(cycle, words):
    assert cycle.words == words


@pytest.mark.parametrize("classes", [(0,) * 6, (0, 0, 0, 0, 0, 0, 2), (1,) * 7])
def test_classes_without_a_gap_are_needed(classes):
    with pytest.raises(InputError, match="day_classes must be seven numbers"):
        Cycle(24, classes)


# Holidays


@pytest.mark.parametrize(
    "day",
    ["2024-12-25", "2024-12-25T23:00", datetime(2024, 12, 25), np.datetime64("2024-12-25"), datetime(2024, 12, 25, 9)],
)
def test_days_in_many_forms(day):
    assert as_days([day, day]).tolist() == [datetime(2024, 12, 25).date()]


@pytest.mark.parametrize(
    "holidays",
    ["2024-12-25", None, 5, ["x"], [None], ["NaT"], ["2024-12"], ["2024"], [20241225], ["25.12.2024"], ["9999-01-01"]],
)
def test_what_is_not_a_list_of_days_is_refused(holidays):
    with pytest.raises(InputError, match="holidays must be"):
        as_days(holidays)


# State


@pytest.mark.parametrize(
    "cycle",
    [
        Cycle(),
        Cycle(24, weekly=True),
        Cycle(yearly=True),
        Cycle(weekly=True, yearly=True),
        Cycle(96, DAY_CLASSES["weekdays, weekend"], holidays=as_days(["1969-05-01", "2024-12-25"])),
    ],
)
def test_the_state_gives_the_same_cycle(cycle):
    again = Cycle.from_state(cycle.state())
    for name in ("slots", "day_classes", "weekly", "yearly"):
        assert getattr(again, name) == getattr(cycle, name)
    np.testing.assert_array_equal(again.holidays, cycle.holidays)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("slots", 0),
        ("slots", 2000),
        ("day_classes", [0] * 6),
        ("day_classes", [0, 0, 0, 0, 0, 0, 0.5]),
        ("day_classes", [0, 0, 0, 0, 0, 0, 1e300]),
        ("weekly", 1),
        ("yearly", None),
    ],
)
def test_damaged_facts_are_refused(name, value):
    state = Cycle(24).state()
    with pytest.raises(DataError, match="damaged"):
        Cycle.from_state(State({**state.facts, name: value}, state.arrays, source="plant"))


@pytest.mark.parametrize("days", [np.array([1 << 40]), np.array([0.5]), np.zeros((1, 1), dtype=np.int64)])
def test_damaged_holidays_are_refused(days):
    state = Cycle(24).state()
    with pytest.raises(DataError, match="damaged"):
        Cycle.from_state(State(state.facts, {"holidays": days}, source="plant"))


def test_weeks_of_the_year():
    cycle = Cycle(4, DAY_CLASSES["weekdays, weekend"], seasonal=True)
    times = as_times(["2024-01-01T00", "2024-01-07T18", "2024-12-31T06", "2023-01-08T12"])  # Mon, Sun, Tue, Sun
    positions = cycle.positions(times)
    assert positions.tolist() == [0, 27, 52 * 28 + 5, 28 + 26]
    assert (cycle.length, cycle.n_rows) == (53 * 28, 8)
    assert cycle.rows[positions].tolist() == [0, 7, 1, 6]  # the week of the year does not matter
    slot, weekday = cycle.clocks(positions)
    assert (slot.tolist(), weekday.tolist()) == ([0, 3, 1, 2], [0, 6, 1, 6])
    assert cycle.day_of_week(positions).tolist() == [0, 6, 1, 6]
    assert cycle.slot_of_year(positions).tolist() == [0, 3, 52 * 4 + 1, 4 + 2]
    assert not cycle.follows_on
    assert cycle.after(positions[1:2], 3).tolist() == [[27, 0, 1]]  # the week of the year stays
    np.testing.assert_allclose(cycle.circle(positions, 0.5), Cycle(4).circle(np.array([0, 3, 1, 2]), 0.5), atol=1e-6)
    assert cycle.words == ", 4 slots a day, weekdays, weekend, season of the year"


@given(MOMENTS, SLOTS.filter(lambda slots: slots > 1))
def test_the_week_of_the_year_of_any_time(moment, slots):
    nearest = nearest_slot(moment, slots)
    if nearest is None:
        return
    day, slot = nearest
    times = as_times([moment])
    assert Cycle(slots, seasonal=True).positions(times).tolist() == [(day.timetuple().tm_yday - 1) // 7 * slots + slot]


def test_seasonal_cycles_are_saved_and_others_as_before():
    cycle = Cycle(4, weekly=True, seasonal=True)
    assert Cycle.from_state(cycle.state()).seasonal
    assert "seasonal" not in Cycle(4).state().facts
    assert not Cycle.from_state(Cycle(4).state()).seasonal
    with pytest.raises(InputError, match="seasonal and yearly must not both be True"):
        Cycle(yearly=True, seasonal=True)
