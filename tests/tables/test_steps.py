"""Live times on the steps of the training, against plain loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcast.tables.steps import Steps, UserClock, duration_text
from subcast.tables.zones import HOUR

MINUTE = HOUR // 60
DAY = 24 * HOUR


def stamp(text):
    return int(np.datetime64(text, "ns").view(np.int64))


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([1, 7, 10, 60, 90, 1440]),
    st.integers(-(10**6), 10**6),
    st.lists(st.tuples(st.integers(0, 300), st.integers(-499, 499)), min_size=1, max_size=6, unique_by=lambda x: x[0]),
)
def test_places_against_a_plain_loop(minutes, start, rows):
    """Each row goes to its nearest step; it is off if it lies further away than a tenth of a step."""
    step, start = minutes * MINUTE, start * 7_919_000_000
    rows = sorted(rows)
    stamps = [start + number * step + step * late // 1000 for number, late in rows]
    placed = Steps(f"{minutes}min", start=start).place(np.array(stamps))
    for row, (number, _) in enumerate(rows):
        nearest = start + number * step
        assert placed.offsets[row] == number - rows[-1][0]
        assert placed.moved[row] == nearest - stamps[row]
        assert placed.off[row] == (abs(nearest - stamps[row]) > step / 10)
    grid = [start + number * step for number in range(rows[0][0], rows[-1][0] + 1)]
    assert placed.grid.tolist() == grid


def test_without_a_start_the_last_row_is_on_a_step():
    placed = Steps("1h").place(np.array([0, 61, 123]) * MINUTE)
    assert placed.offsets.tolist() == [-2, -1, 0]
    assert placed.moved.tolist() == [3 * MINUTE, 2 * MINUTE, 0]


def test_days_over_changes_of_summer_time():
    steps = Steps("1D", "Europe/Berlin", stamp("2024-01-01") - HOUR, on_wall=True)
    for first, hours in (("2024-03-30", [24, 23, 24]), ("2024-10-26", [24, 25, 24])):
        offset = HOUR if first < "2024-04" else 2 * HOUR
        ahead = steps.ahead(np.array([stamp(first) - offset]), 0, 4)[0]
        assert (np.diff(ahead) // HOUR).tolist() == hours
        placed = steps.place(ahead)
        assert placed.offsets.tolist() == [-3, -2, -1, 0]
        assert not placed.moved.any()


def test_months_are_those_of_the_wall_clock():
    steps = Steps("MS", "Europe/Berlin", stamp("2024-01-01") - HOUR)
    ahead = steps.ahead(np.array([stamp("2024-03-01") - HOUR]), 1, 2)[0]
    assert ahead.tolist() == [stamp("2024-04-01") - 2 * HOUR, stamp("2024-05-01") - 2 * HOUR]
    late = steps.snap(ahead + 10 * MINUTE)
    assert late.stamps.tolist() == ahead.tolist()
    assert steps.snap(ahead + DAY).off.all()


def test_a_rate_is_found_only_if_the_times_are_even():
    even = np.array([0, 5, 10], dtype="datetime64[m]")
    assert Steps.of(None, None, even).freq == "5min"
    assert Steps.of(None, None, even[[0, 1, 2, 2]] + np.arange(4).astype("timedelta64[m]")).freq is None
    assert Steps.of(None, None, None) == Steps()


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "Europe/Berlin"])
def test_times_are_given_back_as_they_came(zone):
    moments = np.array([stamp("2024-07-01"), stamp("2024-07-01") + HOUR])
    for steps, given_zone, assumed in (
        (Steps("1h", "Europe/Berlin"), zone, False),
        (Steps("1h"), zone, False),
        (Steps("1D"), zone, False),
        (Steps("1h"), None, False),
    ):
        own, clock = steps.on_own_clock(moments, given_zone, assumed=assumed)
        shown = clock.shown(own.view("datetime64[ns]"))
        np.testing.assert_array_equal(shown.view(np.int64), moments)
        assert clock.zone == given_zone


def test_assumptions_are_noted():
    assert UserClock("Europe/Berlin", "UTC").note == UserClock().note == ""
    assert "read as Europe/Berlin" in UserClock("Europe/Berlin", None).note
    assert "wall clock of Asia/Tokyo" in UserClock(None, "Asia/Tokyo").note


def test_moved_rows_are_noted():
    steps = Steps("1h")
    assert steps.moved_note(np.zeros(3, dtype=np.int64)) == ""
    note = steps.moved_note(np.array([0, -MINUTE, 90 * 10**9]))
    assert note == "2 rows were off the 1h steps by up to 1.5 min: moved to the nearest step"


def test_durations():
    assert [duration_text(length) for length in (5, 2000, 10**9, 2 * HOUR, 36 * HOUR)] == [
        "5 ns", "2 us", "1 s", "2 h", "1.5 days",
    ]  # fmt: skip
