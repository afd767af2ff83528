"""What the boosted expert sees: every cell against loops, for any holes, cycles and units."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcast.cycle import DAY_CLASSES, Cycle
from subcast.subset.experts.features import Features, crowd_of
from subcast.subset.normalizer import Normalizer
from twins import experts_twins as twins

CYCLES = [Cycle(), Cycle(3), Cycle(2, DAY_CLASSES["weekdays, weekend"]), Cycle(1, weekly=True), Cycle(yearly=True)]
CYCLES += [Cycle(weekly=True, yearly=True)]


def normalizer_of(cycle, n, seed=0, unit=1.0):
    rng = np.random.default_rng(seed)
    center = unit * (5 + rng.normal(size=(cycle.n_rows, n)))
    spread = unit * rng.uniform(0.3, 2, size=(cycle.n_rows, n))
    return Normalizer(center.astype(np.float32), spread.astype(np.float32), cycle)


def holed(shape, seed, share=0.3):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=shape).astype(np.float32)
    values[rng.random(shape) < share] = np.nan
    return values


@pytest.mark.parametrize("cycle", CYCLES, ids=lambda cycle: cycle.words or "no cycle")
def test_rows_against_loops(cycle):
    n, b, t, h = 4, 3, 5, 4
    variables, steps, lags = np.array([1, 3]), np.array([0, 1, 3]), np.array([1, 3, 4])
    normalizer = normalizer_of(cycle, n)
    features = Features(normalizer, steps, lags)
    readings, crowd = holed((b, t, 2), 1), holed((b, 3), 2, 0.0)
    linear = holed((b, 3, 2), 3, 0.0)
    slots = np.random.default_rng(4).integers(0, cycle.length, size=(b, t + h))
    rows = features.rows(readings, linear, slots, variables, crowd)
    assert rows.shape == (b * 3 * 2, features.count)
    number = 0
    for window in range(b):
        by_step = [int(cycle.rows[slot]) for slot in slots[window]]
        for place, step in enumerate(steps):
            for column, variable in enumerate(variables):
                position = int(slots[window, t + step])
                clocks = [position % cycle.slots] if cycle.slots > 1 else []
                clocks += [position // (366 if cycle.yearly else cycle.slots)] if cycle.weekly else []
                clocks += [position % 366] if cycle.yearly else []
                expected = twins.feature_row(
                    readings[window, :, column].tolist(),
                    float(linear[window, place, column]),
                    (normalizer.center[:, variable].tolist(), normalizer.spread[:, variable].tolist()),
                    by_step[t:],
                    by_step[:t],
                    lags.tolist(),
                    int(step),
                    int(variable),
                    crowd[window].tolist(),
                    clocks,
                )
                np.testing.assert_allclose(rows[number], expected, rtol=1e-4, atol=1e-5)
                number += 1


@pytest.mark.parametrize("cycle", CYCLES, ids=lambda cycle: cycle.words or "no cycle")
def test_deviations_invert_in_units(cycle):
    features = Features(normalizer_of(cycle, 3), np.arange(2), np.arange(2))
    deviations, variables = holed((4, 2, 2), 1), np.array([0, 2])
    slots = np.random.default_rng(2).integers(0, cycle.length, size=(4, 2))
    again = features.deviations(features.in_units(deviations, slots, variables), slots, variables)
    np.testing.assert_allclose(again, deviations, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("unit", [1e-28, 1e25])
def test_very_small_and_very_large_units_give_the_same_rows(unit):
    cycle = Cycle(3)
    readings, linear, crowd = holed((3, 4, 2), 1), holed((3, 2, 2), 2, 0.0), holed((3, 3), 3, 0.0)
    slots = np.random.default_rng(4).integers(0, 3, size=(3, 6))
    usual, scaled = (
        Features(normalizer_of(cycle, 2, unit=each), np.arange(2), np.arange(4)).rows(
            readings, linear, slots, np.arange(2), crowd
        )
        for each in (1.0, unit)
    )
    np.testing.assert_allclose(scaled, usual, rtol=1e-3, atol=1e-4)


@settings(max_examples=40)
@given(st.integers(1, 6), st.integers(1, 4), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_crowd_against_loops(t, s, share, seed):
    readings = holed((3, t, s), seed, share)
    found = crowd_of(readings, 7)
    for window in range(3):
        np.testing.assert_allclose(found[window], twins.crowd(readings[window].tolist(), 7), rtol=1e-5, atol=1e-6)


def test_a_window_without_any_reading_has_a_usual_crowd():
    assert crowd_of(np.full((2, 4, 3), np.nan, dtype=np.float32), 5).tolist() == [[0, 0, 0]] * 2
