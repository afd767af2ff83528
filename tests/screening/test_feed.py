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
