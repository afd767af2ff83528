"""Tests of the normalizer: the daily profile against loops, the inverse, and slots guessed from readings."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcast.calendar import circle_of_day, slot_of_day, slot_of_share, slots_a_day
from subcast.cycle import Cycle
from subcast.errors import DataError
from subcast.season import COLUMNS, season_columns
from subcast.series import Series
from subcast.subset.normalizer import Normalizer
from subset.examples import waves
from twins import subset_twins as twins


def times_every(minutes, count, start="2024-03-01T05:00"):
    return np.datetime64(start) + np.arange(count) * np.timedelta64(minutes, "m")


def minutes_of(moment):
    """Minutes since midnight, from the text of a moment."""
    clock = str(moment)[11:16]
    return int(clock[:2]) * 60 + int(clock[3:])


def seasonal(minutes, days, n=3, seed=0, holes=0.0):
    """Readings with a course of the day and a spread that depends on the hour."""
    rng = np.random.default_rng(seed)
    times = times_every(minutes, days * 1440 // minutes)
    angle = 2 * np.pi * np.array([minutes_of(t) for t in times]) / 1440
    values = 5 * np.sin(angle[:, None] + np.arange(n)) + (1.2 + np.cos(angle))[:, None] * rng.normal(
        size=(len(times), n)
    )
    values = values * [1, 10, 100][:n] + [0, 50, -20][:n]
    values[rng.random(values.shape) < holes] = np.nan
    return Series(values, times=times)


@pytest.mark.parametrize(("minutes", "holes"), [(60, 0.0), (10, 0.0), (10, 0.2), (30, 0.1)])
def test_profile_against_loops(minutes, holes):
    series = seasonal(minutes, 5, holes=holes)
    train = series.windows(4, 2)
    per_day = 1440 // minutes
    slots = [minutes_of(moment) // minutes for moment in series.times]
    center, spread = twins.space(series.values, slots, per_day, list(train.starts), 4)
    space = Normalizer.fit(train)
    assert space.slots == per_day
    scale = np.nanstd(series.values, axis=0)
    np.testing.assert_allclose(space.center / scale, np.array(center) / scale, atol=2e-6)
    np.testing.assert_allclose(space.spread / scale, np.array(spread) / scale, atol=2e-6)


def test_smoothing_wraps_around_midnight():
    series = seasonal(10, 5)
    changed = series.values.copy()
    minutes = np.array([minutes_of(moment) for moment in series.times])
    changed[minutes == 0, 0] += 40.0
    before, after = (
        Normalizer.fit(series.windows(4, 2)),
        Normalizer.fit(Series(changed, times=series.times).windows(4, 2)),
    )
    # the shift of all comes with the scaler: what is left differs where midnight is within a quarter of an hour
    moved = np.abs(after.center[:, 0] - before.center[:, 0])
    near = [0, 1, 2, 142, 143]
    assert moved[near].min() > 5 * np.delete(moved, near).max()


def test_a_constant_variable_is_only_shifted():
    values = seasonal(60, 6).values.copy()
    values[:, 1] = 7.0
    space = Normalizer.fit(Series(values, times=times_every(60, len(values))).windows(4, 2))
    np.testing.assert_allclose(space.center[:, 1], 7.0)
    np.testing.assert_allclose(space.spread[:, 1], 1.0)


def test_a_variable_without_a_reading_gets_finite_center_and_spread():
    values = seasonal(60, 6).values.copy()
    values[:, 2] = np.nan
    space = Normalizer.fit(Series(values, times=times_every(60, len(values))).windows(4, 2))
    assert np.isfinite(space.center).all()
    assert (space.spread > 0).all()


@pytest.mark.parametrize(
    "series",
    [
        pytest.param(Series(seasonal(60, 6).values), id="no times"),
        pytest.param(seasonal(60, 3), id="too few days"),
        pytest.param(Series(np.random.default_rng(0).normal(size=(60, 3)), times=times_every(1440, 60)), id="daily"),
        pytest.param(
            Series(np.random.default_rng(0).normal(size=(60, 3)), times=times_every(1440 * 7, 60)), id="weekly"
        ),
    ],
)
def test_one_slot_where_there_is_no_daily_profile(series):
    train = series.windows(4, 2)
    space = Normalizer.fit(train)
    center, spread = twins.space(series.values, [0] * len(series), 1, list(train.starts), 4)
    assert space.cycle.n_rows == 1
    np.testing.assert_allclose(space.center, center, rtol=2e-6, atol=1e-6)
    np.testing.assert_allclose(space.spread, spread, rtol=2e-6)


def test_without_a_profile_and_with_one_scale_for_all_variables():
    series = seasonal(60, 6)
    train = series.windows(4, 2)
    space = Normalizer.fit(train, per_variable=False, daily_profile=False)
    center, spread = twins.space(series.values, [0] * len(series), 1, list(train.starts), 4, per_variable=False)
    np.testing.assert_allclose(space.center, center, rtol=2e-6)
    np.testing.assert_allclose(space.spread, spread, rtol=2e-6)
    assert len(set(space.spread.ravel().tolist())) == 1


@settings(max_examples=40)
@given(st.integers(1, 5), st.integers(1, 6), st.integers(1, 4), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_restore_inverts_normalize(slots, b, t, n, seed):
    rng = np.random.default_rng(seed)
    space = Normalizer(
        rng.normal(size=(slots, n)).astype(np.float32) * 10,
        rng.uniform(0.5, 5, size=(slots, n)).astype(np.float32),
        Cycle(slots),
    )
    values = rng.normal(size=(b, t, n)) * 20
    when = rng.integers(0, slots, size=(b, t))
    chosen = rng.permutation(n)[: rng.integers(1, n + 1)]
    normal = space.normalize(values[:, :, chosen], when, chosen)
    for i in range(b):
        for p in range(t):
            for column, variable in enumerate(chosen):
                slot = when[i, p]
                wanted = (values[i, p, variable] - space.center[slot, variable]) / space.spread[slot, variable]
                assert abs(normal[i, p, column] - wanted) < 1e-4
    np.testing.assert_allclose(space.restore(normal, when, chosen), values[:, :, chosen], atol=1e-3)
    everything = space.normalize(values, when)
    np.testing.assert_array_equal(everything[:, :, chosen], normal)


def test_nan_stays_nan():
    space = Normalizer(np.ones((3, 2), np.float32), np.ones((3, 2), np.float32), Cycle(3))
    normal = space.normalize(np.array([[[np.nan, 4.0]]]), np.array([[2]]))
    assert np.isnan(normal[0, 0, 0])
    assert normal[0, 0, 1] == 3


def test_spread_of_is_the_root_of_the_mean_square():
    space = Normalizer(np.zeros((2, 3), np.float32), np.array([[1, 2, 3], [3, 2, 4]], np.float32), Cycle(2))
    np.testing.assert_allclose(space.spread_of(np.array([0, 2])), [np.sqrt(5), np.sqrt(12.5)])


# The hour


@pytest.mark.parametrize(("minutes", "slots"), [(5, 288), (10, 144), (15, 96), (60, 24), (720, 2), (1, 1440)])
def test_slots_a_day(minutes, slots):
    assert slots_a_day(times_every(minutes, 6 * 1440 // minutes)) == slots


def test_a_gap_does_not_change_the_slots():
    times = np.concatenate([times_every(10, 600), times_every(10, 600, start="2024-03-20T05:00")])
    assert slots_a_day(times) == 144


@pytest.mark.parametrize(
    ("moment", "slots", "slot"),
    [
        ("2024-03-01T00:00:00", 288, 0),
        ("2024-03-01T23:55:00", 288, 287),
        ("2024-03-01T23:59:50", 288, 0),  # a clock a little early
        ("2024-03-01T00:00:40", 288, 0),
        ("2024-03-01T12:00:00", 24, 12),
        ("1969-12-31T23:00:00", 24, 23),
        ("2024-03-01T18:00:00", 1, 0),
    ],
)
def test_slot_of_a_moment(moment, slots, slot):
    assert slot_of_day(np.array([moment], dtype="datetime64[ns]"), slots).tolist() == [slot]


def test_slot_of_against_the_text_of_the_moment():
    times = times_every(10, 400)
    assert slot_of_day(times, 144).tolist() == [minutes_of(moment) // 10 for moment in times]


def test_slot_of_a_share_of_the_day_as_a_feature_has_it():
    times = times_every(5, 288, start="2024-03-01T00:00")
    share = np.array([minutes_of(moment) / 1440 for moment in times], dtype=np.float32)
    assert slot_of_share(share, 288).tolist() == list(range(288))
    assert slot_of_share(np.nextafter(np.float32(1), np.float32(0)), 288) == 0


def test_circle_of_day_against_trigonometry():
    points = circle_of_day(np.arange(24), 24, 0.5)
    for hour in range(24):
        assert points[hour] == pytest.approx(
            [0.5 * np.sin(2 * np.pi * hour / 24), 0.5 * np.cos(2 * np.pi * hour / 24)], abs=1e-6
        )
    apart = np.linalg.norm(points - points[0], axis=1)
    assert apart[23] == pytest.approx(apart[1], abs=1e-6)
    assert apart.argmax() == 12


@pytest.mark.parametrize("present", [[0], [1, 3], [0, 1, 2, 3, 4, 5]])
def test_guess_slots_finds_the_hour(present):
    series = waves(steps=480)
    space = Normalizer.fit(series.windows(6, 3))
    rng = np.random.default_rng(0)
    starts = rng.integers(0, 24, size=40)
    steps = (starts[:, None] + np.arange(6)) % 24
    clean = space.center[steps] + 0.02 * space.spread[steps] * rng.normal(size=(40, 6, 6))  # what is usual at the hour
    clean[3, 2:4] = np.nan
    guess = space.guess_slots(clean[:, :, present], np.array(present))
    assert guess.tolist() == starts.tolist()


def test_guess_slots_of_a_batch_equals_guess_slots_of_each_window():
    series = waves(n=3, steps=480)
    space = Normalizer.fit(series.windows(6, 3))
    values = np.array(series.windows(6, 3).readings)
    together = space.guess_slots(values, np.arange(3))
    alone = [int(space.guess_slots(one[None], np.arange(3))[0]) for one in values[::37]]
    assert together[::37].tolist() == alone


def test_guess_slots_without_a_profile():
    space = Normalizer(np.zeros((1, 2), np.float32), np.ones((1, 2), np.float32), Cycle())
    assert space.guess_slots(np.ones((5, 6, 2)), np.arange(2)).tolist() == [0] * 5


def random_profile(cycle, n=2, seed=0):
    rng = np.random.default_rng(seed)
    center = rng.normal(size=(cycle.n_rows, n)).astype(np.float32)
    season = rng.normal(size=(COLUMNS, n)).astype(np.float32) if cycle.seasonal else None
    return Normalizer(center, rng.uniform(0.5, 2, size=center.shape).astype(np.float32), cycle, season)


def usual_by_loops(space, position, variable):
    """The center of a position, and what the time of the year adds to it."""
    cycle = space.cycle
    value = float(space.center[cycle.rows[position], variable])
    if cycle.seasonal:
        week, slot = position // (cycle.length // 53), position % cycle.slots
        for column, size in enumerate(space.season[:, variable]):
            value += float(size) * season_columns(cycle.slots)[week * cycle.slots + slot, column]
    return value


def steps_by_loops(cycle, first, count):
    """Positions of the steps that follow a first one; the week of the year stays."""
    week = 53 if cycle.seasonal else 1
    within = cycle.length // week
    return [first // within * within + (first + step) % within for step in range(count)]


@pytest.mark.parametrize(
    "cycle",
    [
        Cycle(4),
        Cycle(3, (0, 0, 0, 0, 0, 1, 1)),
        Cycle(3, weekly=True),
        Cycle(yearly=True),
        Cycle(weekly=True, yearly=True),
        Cycle(3, seasonal=True),
        Cycle(2, weekly=True, seasonal=True),
    ],
)
@pytest.mark.parametrize("chunk", [1 << 22, 30])
def test_guess_slots_against_loops(cycle, chunk, monkeypatch):
    monkeypatch.setattr("subcast.subset.normalizer._CHUNK", chunk)
    space = random_profile(cycle, n=3)
    rng = np.random.default_rng(1)
    values = rng.normal(size=(5, 4, 2))
    values[rng.random(values.shape) < 0.2] = np.nan
    one_week = cycle.length // 53 if cycle.seasonal else cycle.length
    possible = rng.random((5, one_week)) < 0.5  # the same in each week of the year
    possible[:, 1] = True
    variables = [2, 0]
    for allowed in (None, possible):
        expected = []
        for window in range(5):
            distances = []
            for position in range(cycle.length):
                total = 0.0
                for step, at in enumerate(steps_by_loops(cycle, position, 4)):
                    for column, variable in enumerate(variables):
                        value = values[window, step, column]
                        if value == value:
                            left = abs(value - usual_by_loops(space, at, variable))
                            total += left / space.spread[cycle.rows[at], variable]
                if cycle.seasonal and position // one_week % 9:  # every ninth week is tried
                    total = np.inf
                distances.append(round(total, 4) if allowed is None or allowed[window, position % one_week] else np.inf)
            expected.append(distances.index(min(distances)))
        assert space.guess_slots(values, np.array(variables), allowed).tolist() == expected


@pytest.mark.parametrize("unit", [1e-28, 1.0, 1e25])
def test_levels_against_loops(unit):
    space = random_profile(Cycle(5))
    scaled = Normalizer(space.center * np.float32(unit), space.spread * np.float32(unit), Cycle(5))
    for variable in range(2):
        center = [float(value) * unit for value in space.center[:, variable]]
        mean = sum(center) / 5
        square = (
            sum(
                (value - mean) ** 2 + (float(s) * unit) ** 2
                for value, s in zip(center, space.spread[:, variable], strict=True)
            )
            / 5
        )
        assert scaled.levels[0][variable] == pytest.approx(mean, rel=1e-4)
        assert scaled.levels[1][variable] == pytest.approx(square**0.5, rel=1e-4)


def of_three_years(seed=0):
    """Readings every six hours: a season, a season that the day follows, and none."""
    rng = np.random.default_rng(seed)
    times = np.datetime64("2020-01-01T00", "h") + np.arange(4 * 1100) * np.timedelta64(6, "h")
    year = (times - times.astype("datetime64[Y]")) / np.timedelta64(1, "D") / 365.2425
    hour = (times - times.astype("datetime64[D]")) / np.timedelta64(1, "D")
    values = rng.normal(size=(len(times), 3)) + 2 * np.sin(2 * np.pi * hour)[:, None]
    values[:, 0] += 10 * np.cos(2 * np.pi * year)
    values[:, 1] += 10 * np.cos(2 * np.pi * year) * (1 + np.sin(2 * np.pi * hour))
    return Series(values, times=times)


def test_what_the_season_leaves_has_no_season_and_comes_back():
    series = of_three_years()
    space = Normalizer.fit(series.windows(4, 2))
    slots = space.cycle.positions(series.times)
    assert space.cycle.seasonal
    assert space.spread.max() < 1.5  # the season is no spread
    normal = space.normalize(series.values, slots)
    winter = (series.times - series.times.astype("datetime64[Y]")) < np.timedelta64(60, "D")
    assert np.abs(normal[winter].mean(axis=0)).max() < 0.3
    np.testing.assert_allclose(space.restore(normal, slots), series.values, atol=1e-4)
    np.testing.assert_allclose(
        space.restore(normal[:, [2, 0]], slots, np.array([2, 0])), series.values[:, [2, 0]], atol=1e-4
    )
    np.testing.assert_allclose(
        space.usual_at(slots), series.values - normal * space.spread_at(slots, np.arange(3)), atol=1e-4
    )
    assert space.levels[1][0] == pytest.approx(np.std(series.values[:, 0]), rel=0.05)


def test_a_season_is_saved_and_checked():
    space = Normalizer.fit(of_three_years().windows(4, 2))
    state = space.state()
    again = Normalizer.from_state(state, 3)
    np.testing.assert_array_equal(again.season, space.season)
    slots = np.arange(0, space.slots, 7)
    np.testing.assert_array_equal(again.usual_at(slots), space.usual_at(slots))
    state.arrays["season"] = state.arrays["season"][:5]
    with pytest.raises(DataError, match="season"):
        Normalizer.from_state(state, 3)


def test_seasons_are_learned_some_variables_at_a_time(monkeypatch):
    windows = of_three_years().windows(4, 2)
    together = Normalizer.fit(windows)
    monkeypatch.setattr("subcast.subset.normalizer._VARIABLES", 2)
    np.testing.assert_allclose(Normalizer.fit(windows).season, together.season, atol=1e-6)


def test_less_than_two_years_have_no_season():
    series = of_three_years()
    assert Normalizer.fit(series[: 4 * 731].windows(4, 2)).cycle.seasonal
    assert not Normalizer.fit(series[: 4 * 729].windows(4, 2)).cycle.seasonal


def test_without_a_season_nothing_changes():
    series = of_three_years()
    space = Normalizer.fit(series.select([series.variables[2]]).windows(4, 2))
    assert not space.cycle.seasonal
    assert space.season is None
    assert "season" not in space.state().arrays
