import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcast.screening.signals import Arrival, Habits, Scales, Signals
from twins.screening_twins import OneSensor, crowd


def habits_of(n, rows, rng):
    positive = [rng.uniform(0.2, 2.0, size=(rows, n)) for _ in range(4)]
    one = rng.uniform(0.3, 2.0, size=(5, n))
    return Habits(one[0], one[1] / 2, -one[2] - 1, one[3] + 1, one[4], *positive)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 4), st.integers(0, 10_000), st.floats(0, 0.6))
def test_all_numbers_equal_those_of_single_sensors(n, seed, missing):
    rng = np.random.default_rng(seed)
    scales, habits = Scales(3, 7, 11), habits_of(n, 2, rng)
    signals, twins = Signals(habits, scales), [OneSensor(habits, scales, sensor) for sensor in range(n)]
    level = 1.0
    for step in range(25):
        readings = np.round(rng.normal(size=n))  # so that some are equal
        readings[rng.random(n) < missing] = np.nan
        deviations, differences = readings / 2, readings / 3 + 0.1
        asleep, ill, frozen, wild = rng.random((4, n)) < 0.3
        row = step % 2
        spikes = signals.spike(differences)
        signals.advance(Arrival(readings, deviations, differences, asleep, row), wild, ill, frozen)
        signals.believe(differences, ~wild)
        for sensor, twin in enumerate(twins):
            values = (None if np.isnan(array[sensor]) else float(array[sensor]) for array in
                      (readings, deviations, differences))  # fmt: skip
            reading, deviation, difference = values
            marks = (each[sensor] for each in (wild, ill, frozen))
            spike = twin.spike(difference)
            assert np.isnan(spikes[:, sensor]).all() if spike is None else spikes[:, sensor] == pytest.approx(spike)
            twin.advance(reading, deviation, difference, asleep[sensor], row, *marks, level)
            twin.believe(difference, not wild[sensor])
            assert (signals.run[sensor], signals.gap[sensor], signals.age[sensor]) == (twin.run, twin.gap, twin.age)
            assert signals.smooth[:, sensor] == pytest.approx(twin.smooth, rel=1e-9, abs=1e-12)
            assert signals.base[sensor] == pytest.approx(twin.base, rel=1e-9, abs=1e-12)
            assert signals.heard[sensor] == twin.heard
        counted = ~np.isnan(readings) & ~asleep & ~ill
        level += 2 / 8 * (crowd((differences / habits.size[row])[counted].tolist()) - level)
        assert signals.crowd[0] == pytest.approx(level)


def test_a_change_is_known_only_shortly_after_a_believed_reading():
    rng = np.random.default_rng(0)
    signals = Signals(habits_of(1, 1, rng), Scales.of(24))
    assert np.isnan(signals.changes(np.ones(1))).all()
    signals.believe(np.ones(1), np.ones(1, dtype=bool))
    assert signals.changes(np.ones(1))[0] == pytest.approx(1 - signals.habits.memory[0])
    signals.skip(3)
    assert np.isnan(signals.changes(np.ones(1))).all()
