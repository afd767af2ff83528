import numpy as np
import pytest

from subcast.screening.health import FLAT, RANGE, SILENT, STATES, TESTS, Health, Illness


def test_a_sensor_gets_worse_but_not_better_by_another_cause():
    illness = Illness(2)
    assert illness.fall(np.array([FLAT, 0], dtype=np.int8)).tolist() == [True, False]
    assert illness.fall(np.array([6, 0], dtype=np.int8)).tolist() == [False, False]
    assert illness.fall(np.array([SILENT, RANGE], dtype=np.int8)).tolist() == [True, True]
    assert illness.cause.tolist() == [SILENT, RANGE]


def test_recovery_needs_enough_healthy_steps_in_a_row():
    illness = Illness(1)
    illness.fall(np.array([FLAT], dtype=np.int8))
    healthy, ill = np.array([True]), np.array([False])
    for look in (healthy, healthy, ill, healthy, healthy):
        assert not illness.recover(look, 3).any()
    assert illness.recover(healthy, 3).all()
    assert not illness.ill.any()
    assert illness.reason == [""]


@pytest.mark.parametrize("damage", [{"cause": [99]}, {"cause": [0, 0]}, {"reason": []}, {"since": ["x"]}])
def test_a_state_that_is_none_is_refused(damage):
    illness = Illness(1)
    with pytest.raises((ValueError, TypeError)):
        illness.resume({**illness.state(), **damage})


def test_each_cause_has_a_state_and_a_test():
    assert len(STATES) == len(TESTS)
    assert Health("stuck", None).ill
    assert not any(Health(state, None).ill for state in ("good", "suspect", "asleep"))
