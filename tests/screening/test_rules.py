import numpy as np
import pytest

from subcast.errors import DataError
from subcast.screening.rules import Rules


def test_rules_are_saved_and_read_whole(hourly):
    rules = hourly[0].rules
    n, rows = len(rules.rest), len(rules.sleepy)
    again = Rules.from_state(rules.state(), n, rows)
    assert again.scales == rules.scales
    for name, array in rules.state().arrays.items():
        np.testing.assert_array_equal(again.state().arrays[name], array)


@pytest.mark.parametrize(("name", "value"), [("instant", -1.0), ("unit", 0.0), ("lasting", np.inf), ("size", 0.0)])
def test_impossible_rules_are_refused(hourly, name, value):
    rules = hourly[0].rules
    state = rules.state()
    state.arrays[name] = np.full_like(state.arrays[name], value)
    with pytest.raises(DataError, match=name):
        Rules.from_state(state, len(rules.rest), len(rules.sleepy))


def test_the_longest_run_depends_on_whether_a_sensor_rests(hourly):
    rules = hourly[0].rules
    rest, run = np.full(len(rules.rest), 5.0), rules.run
    resting = Rules(**{**vars(rules), "rest": rest, "rest_run": run + 10})
    readings = np.where(np.arange(len(rest)) == 1, 5.0, 6.0)
    assert (resting.longest_run(readings) - run).tolist() == [0, 10, 0, 0, 0, 0]
