"""The season of the year: columns and coefficients against plain loops, who has a season, and who has none."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcast.calendar import spans_two_years
from subcast.cycle import Cycle
from subcast.season import COLUMNS, fit_season, season_columns

HOUR, DAY = np.timedelta64(1, "h"), np.timedelta64(1, "D")
CYCLE = Cycle(4, weekly=True, seasonal=True)


def every_six_hours(days, start="2020-01-01"):
    return np.datetime64(start, "h") + np.arange(4 * days) * 6 * HOUR


def noise(times, n, seed=0):
    return np.random.default_rng(seed).normal(size=(len(times), n))


def year_angle(time):
    return 2 * math.pi * int((time.astype("datetime64[D]") - time.astype("datetime64[Y]")) / DAY) / 365.2425


def waves(times, size=3.0):
    """A wave of the year, and one of the day whose size follows the year."""
    angle = np.array([year_angle(time) for time in times])
    hour = 2 * np.pi * (times - times.astype("datetime64[D]")) / DAY
    return size * np.cos(angle), size * np.cos(angle) * np.sin(hour)


def columns_by_loops(slots):
    rows = []
    for week in range(53):
        for slot in range(slots):
            angle = 2 * math.pi * (7 * week + 3.5) / 365.2425
            row = [1.0, math.sin(angle), math.cos(angle)]
            for number in (1, 2):
                for wave in (math.sin, math.cos):
                    row += [
                        wave(2 * math.pi * number * slot / slots) * yearly(angle) for yearly in (math.sin, math.cos)
                    ]
            rows.append(row)
    return np.array(rows)


@pytest.mark.parametrize("slots", [2, 5, 24])
def test_columns_by_loops(slots):
    np.testing.assert_allclose(season_columns(slots), columns_by_loops(slots), atol=1e-12)


def cell_of(time, slots):
    day = int((time.astype("datetime64[D]") - time.astype("datetime64[Y]")) / DAY)
    slot = round(float((time - time.astype("datetime64[D]")) / DAY) * slots)
    return day // 7 * slots + slot


def season_by_loops(left, times, slots):
    """Each variable by itself: least squares on single steps, errors of each half of the years by the other half."""
    table, forms = columns_by_loops(slots), (1, 3, 11)
    result = np.zeros((11, left.shape[1]))
    for variable in range(left.shape[1]):
        steps = [step for step in range(len(times)) if not math.isnan(left[step, variable])]
        cells = {step: cell_of(times[step], slots) for step in steps}
        years = [int(int(float((time - times[0]) / DAY)) / 365.2425) for time in times]

        def solution(some, count, variable=variable, cells=cells):
            x = np.array([table[cells[step], :count] for step in some])
            y = np.array([left[step, variable] for step in some])
            return np.linalg.solve(x.T @ x + 1e-6 * max(len(some), 1) * np.eye(count), x.T @ y)

        chosen = 0
        for form in (1, 2):
            clear = True
            for half in (0, 1):
                own = [step for step in steps if years[step] % 2 == half]
                other = [step for step in steps if years[step] % 2 != half]
                simple, rich = (solution(other, count) for count in (forms[form - 1], forms[form]))
                fell, total = {}, 0.0
                for step in range(len(times)):
                    if years[step] % 2 == half:
                        fell.setdefault(int(float((times[step] - times[0]) / DAY)) // 30, 0.0)
                for step in own:
                    simple_error, rich_error = (
                        (left[step, variable] - table[cells[step], : len(each)] @ each) ** 2 for each in (simple, rich)
                    )
                    fell[int(float((times[step] - times[0]) / DAY)) // 30] += simple_error - rich_error
                    total += simple_error
                by_month = list(fell.values())
                mean = sum(by_month) / len(by_month)
                doubt = math.sqrt(sum((each - mean) ** 2 for each in by_month) / (len(by_month) - 1) / len(by_month))
                clear = clear and sum(by_month) >= 0.02 * total and mean > 1.5 * doubt
            if not clear:
                break
            chosen = form
        if chosen:
            result[: forms[chosen], variable] = solution(steps, forms[chosen])
    return result


@settings(deadline=None, max_examples=8)
@given(st.integers(0, 1000), st.floats(0, 0.6), st.integers(731, 1200))
def test_season_against_loops(seed, holes, days):
    times = every_six_hours(days, "2019-05-17")
    yearly, daily = waves(times)
    left = noise(times, 4, seed)
    left[:, 1] += yearly
    left[:, 2] += yearly + daily
    left[:, 3] += 0.25 * yearly  # about as much as is clear
    left[np.random.default_rng(seed).random(left.shape) < holes] = np.nan
    expected = season_by_loops(left, times, 4)
    found = fit_season(left, times, CYCLE)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_who_has_a_season():
    times = every_six_hours(1100)
    yearly, daily = waves(times)
    left = np.column_stack([noise(times, 1), noise(times, 1, 1) + yearly[:, None], noise(times, 1, 2) + daily[:, None]])
    season = fit_season(left, times, CYCLE)
    assert season.shape == (COLUMNS, 3)
    assert not season[:, 0].any()  # noise
    assert season[1:3, 1].any()
    assert not season[3:, 1].any()  # the same at all hours
    assert not season[:, 2].any()  # the waves of the day come after a wave of the year
    added = (season_columns(4) @ season)[CYCLE.slot_of_year(CYCLE.positions(times))]
    assert np.abs(added[:, 1] - yearly).max() < 0.5


def test_a_wave_of_one_year_only_is_no_season():
    times = every_six_hours(1100)
    yearly, _ = waves(times)
    first = (times < np.datetime64("2021-01-01"))[:, None]
    assert not fit_season(noise(times, 2) + yearly[:, None] * np.where(first, 1, -1), times, CYCLE).any()


@pytest.mark.parametrize("memory", [5, 20, 60])
def test_readings_with_a_long_memory_have_no_season(memory):
    """What lasts for weeks may happen to look alike in both halves of two years."""
    times = every_six_hours(760)
    keep, left = math.exp(-1 / (4 * memory)), noise(times, 100, memory)
    for step in range(1, len(times)):
        left[step] += keep * left[step - 1]
    found = fit_season(left, times, CYCLE)
    assert found.any(axis=0).sum() <= 2


@pytest.mark.parametrize(
    ("first", "last", "known"),
    [
        ("2021-01-01T00", "2022-12-31T23", True),  # two calendar years
        ("2021-01-01T00", "2022-12-31T22", False),
        ("2019-03-01T00", "2019-03-01T00", False),
        ("2019-03-01T00", "2025-03-01T00", True),
    ],
)
def test_two_years(first, last, known):
    hours = np.arange(np.datetime64(first, "h"), np.datetime64(last, "h") + HOUR)
    assert spans_two_years(hours) == known
    assert not spans_two_years(hours[:0])


def test_variables_without_readings_or_variation_have_none():
    times = every_six_hours(800)
    left = np.column_stack([np.full(len(times), np.nan), np.zeros(len(times)), noise(times, 1) / 9])
    assert not fit_season(left, times, CYCLE).any()
    left[:, 2] += waves(times)[0]
    season = fit_season(left, times, CYCLE)
    assert season.any()
    assert not season[:, :2].any()
    assert np.isfinite(season).all()
