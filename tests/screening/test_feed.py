import numpy as np

from screening.examples import stepwise


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
    assert feed.push(test.values[1], test.times[1]).flags[0] == 1


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
    assert step.flags[2] == 1
    assert step.holes[:-1, 2].all()
    assert not step.holes[-1, 2]
    everyone_else = [place for place in range(len(screener.variables)) if place != 2]
    assert np.array_equal(step.holes[:, everyone_else], untouched.holes[:, everyone_else])
    assert feed.state()["signals"]["run"][0] == other.state()["signals"]["run"][0]
