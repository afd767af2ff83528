import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from screening.examples import fitted, plant, stepwise
from subcast.errors import InputError
from subcast.series import Series


def test_an_override_wins_over_the_tests(hourly):
    screener, test = hourly
    feed = screener.start()
    feed.override("s0", "bad")
    feed.override("s1", "good")
    row = test.values[0].astype(float)
    row[1] = 999999
    step = feed.push(row, test.times[0])
    assert (step.flags[0], step.flags[1]) == (4, 1)
    assert np.isnan(step.values[0])
    assert step.values[1] == 999999
    feed.override("s0", None)
    assert feed.push(test.values[1], test.times[1]).flags[0] == 2  # too early to say


def test_a_window_is_hidden_where_readings_are_not_believed(hourly):
    screener, test = hourly
    rows = test.values.astype(float)
    rows[10, 2] = 999999
    _, steps = stepwise(screener, test, rows[:12])
    window = steps[-1].hide(rows[6:12])
    assert np.isnan(window[4, 2])
    assert np.isnan(window).sum() == 1


def test_a_replaced_sensor_begins_anew_and_the_others_go_on(hourly):
    screener, test = hourly
    rows = test.values.astype(float)
    rows[5:, 2] = rows[5, 2]  # stuck
    feed, _ = stepwise(screener, test, rows[:60])
    other, _ = stepwise(screener, test, rows[:60])
    assert feed.health_of("s2").ill
    feed.forget("s2")
    assert not feed.health_of("s2").ill
    step, untouched = (each.push(test.values[60], test.times[60]) for each in (feed, other))
    assert step.flags[2] == 2  # the first reading of the new device
    assert step.holes[:-1, 2].all()
    assert not step.holes[-1, 2]
    everyone_else = [place for place in range(len(screener.variables)) if place != 2]
    assert np.array_equal(step.holes[:, everyone_else], untouched.holes[:, everyone_else])
    assert feed.state()["signals"]["run"][0] == other.state()["signals"]["run"][0]


def test_a_replaced_sensor_does_not_fall_ill_in_an_unusual_season(hourly):
    screener, test = hourly
    rows = test.values[:120].astype(float) + 6  # all sensors read more than usual
    feed, _ = stepwise(screener, test, rows[:100])
    feed.forget("s2")
    for step in range(100, 120):
        assert feed.push(rows[step], test.times[step]).flags[2] == (2 if step < 103 else 1)


def faulty_rows(test, seed):
    """Readings with holes, a stuck stretch, an offset, noise and a few impossible ones."""
    rng = np.random.default_rng(seed)
    rows = test.values[:120].astype(float)
    rows[30:70, 1] = rows[30, 1]
    rows[20:60, 2] += 9
    rows[50:, 3] += rng.normal(size=70) * 5
    rows[rng.random(rows.shape) < 0.05] = np.nan
    rows[rng.random(rows.shape) < 0.01] = 1e9
    return rows


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stop=st.integers(0, 119), seed=st.integers(0, 1000))
def test_a_feed_resumed_at_any_step_goes_on_to_the_bit(hourly, stop, seed):
    screener, test = hourly
    rows = faulty_rows(test, seed)
    _, whole = stepwise(screener, test, rows)
    feed, _ = stepwise(screener, test, rows[:stop])
    again = screener.resume(json.loads(json.dumps(feed.state())))
    for number in range(stop, len(rows)):
        step = again.push(rows[number], test.times[number])
        for name in ("flags", "values", "ill", "holes"):
            np.testing.assert_array_equal(getattr(step, name), getattr(whole[number], name))
        assert step.reasons == whole[number].reasons


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1000), share=st.floats(0, 1))
def test_readings_missing_anywhere_are_missing_and_never_an_error(hourly, seed, share):
    screener, test = hourly
    rows = test.values[:60].astype(float)
    rows[np.random.default_rng(seed).random(rows.shape) < share] = np.nan
    _, steps = stepwise(screener, test, rows)
    for row, step in zip(rows, steps, strict=True):
        np.testing.assert_array_equal(step.flags == 9, np.isnan(row))
        assert np.isnan(step.values[np.isnan(row)]).all()
        assert set(np.unique(step.flags)) <= {1, 2, 3, 4, 9}


def test_the_order_of_sensors_does_not_matter():
    series = plant(n=5, days=40)
    order = ["s3", "s0", "s4", "s1", "s2"]
    first, test = fitted(series)
    second, other = fitted(series.select(order))
    rows = faulty_rows(test, 3)
    places = [test.variables.index(name) for name in other.variables]
    _, here = stepwise(first, test, rows)
    _, there = stepwise(second, other, rows[:, places])
    for step, twin in zip(here, there, strict=True):
        np.testing.assert_array_equal(step.flags[places], twin.flags)


def test_an_event_that_moves_all_sensors_is_not_a_fault(hourly):
    screener, test = hourly
    rows = test.values[:80].astype(float)
    rows[40:60] += 8
    _, steps = stepwise(screener, test, rows)
    assert not any(step.ill.any() for step in steps[40:60])


def test_an_offset_of_one_sensor_is_found_and_explained(hourly):
    screener, test = hourly
    rows = test.values[:120].astype(float)
    rows[40:, 4] += 8
    feed, steps = stepwise(screener, test, rows)
    assert feed.health["s4"].state in ("biased", "drifting")
    assert "above what the other sensors say" in feed.health["s4"].reason
    assert [name for name, each in feed.health.items() if each.ill] == ["s4"]
    found = next(number for number, step in enumerate(steps) if step.ill[4])
    assert 40 <= found < 60
    assert np.isnan(steps[-1].values[4])


def test_one_spike_makes_one_hole(hourly):
    screener, test = hourly
    rows = test.values[:60].astype(float)
    rows[30, 0] += 12
    _, steps = stepwise(screener, test, rows)
    assert [number for number, step in enumerate(steps) if step.flags[0] == 4] == [30]
    assert steps[30].reasons[0][0][0] in ("spike", "cross check")
    assert not any(step.ill.any() for step in steps)
    assert steps[31].holes[:, 0].sum() == 1


def test_steps_that_were_left_out_count_as_gaps(hourly):
    screener, test = hourly
    feed = screener.start()
    feed.push(test.values[0], test.times[0])
    step = feed.push(np.full(6, np.nan), test.times[200])
    assert step.ill.all()
    assert {each.state for each in feed.health.values()} == {"dead"}
    assert feed.health["s0"].since == test.times[0]


@pytest.mark.parametrize(
    "damage", [{"signals": {}}, {"holes": ["zz"]}, {"stamp": "x"}, {"beyond": [1]}, {"seen": None}]
)
def test_a_damaged_state_is_refused_in_a_sentence(hourly, damage):
    screener, test = hourly
    feed, _ = stepwise(screener, test, test.values[:5])
    with pytest.raises(InputError, match="start a new feed"):
        screener.resume({**feed.state(), **damage})


def test_the_first_readings_and_a_lonely_one_are_not_evaluated(hourly):
    screener, test = hourly
    _, steps = stepwise(screener, test, test.values[:8])
    assert [int(step.flags[0]) for step in steps] == [2, 2, 2, 1, 1, 1, 1, 1]
    assert steps[1].reasons[0] == (
        ("flat line", 2, "has sent 2 readings so far, and 4 are needed to judge it by them"),
    )
    rows = test.values[:8].astype(float)
    rows[7, 1:] = np.nan
    _, steps = stepwise(screener, test, rows)
    assert steps[7].flags[0] == 2
    assert "no other sensor" in steps[7].reasons[0][0][2]
    assert steps[7].values[0] == rows[7, 0]  # it is used all the same


def test_a_small_spike_is_a_hole_one_step_later_and_no_more(hourly):
    screener, test = hourly
    rules = replace(screener.rules, instant=9 * screener.rules.instant, lasting=3 * screener.rules.lasting)
    lenient = replace(screener, rules=rules)
    rows = test.values[:60].astype(float)
    rows[30, 0] += 2 * screener.rules.spike[0, 0] * screener.rules.habits.unit[0]
    _, steps = stepwise(lenient, test, rows)
    assert not any(step.ill.any() for step in steps)
    assert [number for number, step in enumerate(steps) if step.spiked.any()] == [31]
    assert steps[31].spiked.tolist() == [True] + [False] * 5
    assert steps[31].holes[:, 0].tolist() == [False] * (screener.lookback - 2) + [True, False]
    screened = lenient.screen(Series(rows.astype(np.float32), test.variables, test.times[:60]))
    assert np.flatnonzero(screened.flags[:, 0] == 4).tolist() == [30]
    assert np.flatnonzero(np.isnan(screened.values[:, 0])).tolist() == [30]


def test_a_stuck_sensor_is_not_well_while_it_repeats_itself(hourly):
    screener, test = hourly
    rows = test.values[:200].astype(float)
    rows[30:150, 3] = rows[30, 3]
    _, steps = stepwise(screener, test, rows)
    ill = [number for number, step in enumerate(steps) if step.ill[3]]
    assert set(range(ill[0], 150)) <= set(ill)
    assert ill[0] < 45
