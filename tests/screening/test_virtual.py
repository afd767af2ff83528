import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcast.screening.virtual import VirtualSensors
from twins.screening_twins import difference


def covariance_of(n, seed):
    factors = np.random.default_rng(seed).normal(size=(n, n + 2))
    return factors @ factors.T / n


@given(st.integers(1, 7), st.integers(0, 10_000), st.data())
def test_differences_equal_a_regression_for_each_sensor(n, seed, data):
    trusted = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    deviations = np.random.default_rng(seed + 1).normal(size=n)
    covariance = covariance_of(n, seed)
    found = VirtualSensors(covariance, 0.1).differences(deviations, trusted)
    for sensor in range(n):
        expected = difference(covariance, 0.1, deviations, trusted, sensor)
        assert found[sensor] == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_a_sensor_that_is_not_trusted_does_not_move_the_others():
    virtual = VirtualSensors(covariance_of(5, 0), 0.1)
    deviations = np.ones(5)
    trusted = np.array([True, True, True, True, False])
    wild = deviations.copy()
    wild[4] = 1e6
    np.testing.assert_array_equal(virtual.differences(deviations, trusted)[:4], virtual.differences(wild, trusted)[:4])


def test_many_steps_at_once_equal_single_ones():
    virtual = VirtualSensors(covariance_of(4, 1), 0.2)
    steps = np.random.default_rng(2).normal(size=(6, 4))
    trusted = np.array([True, False, True, True])
    together = virtual.differences(steps, trusted)
    for step, row in zip(steps, together, strict=True):
        np.testing.assert_allclose(virtual.differences(step, trusted), row, rtol=1e-12)


def test_a_matrix_that_is_no_covariance_is_refused():
    with pytest.raises(ValueError, match="not one of any readings"):
        VirtualSensors(np.array([[1.0, 3.0], [3.0, 1.0]]), 0.01)


def test_constant_sensors_have_a_regression():
    virtual = VirtualSensors.fit(np.zeros((20, 3)), 0.05)
    assert np.isfinite(virtual.differences(np.ones(3), np.ones(3, dtype=bool))).all()
