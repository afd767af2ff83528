"""The last rows on the steps that a forecaster looks back over, against plain loops."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from subcast.errors import InputError
from subcast.tables.lookback import last_steps
from subcast.tables.rows import Rows
from subcast.tables.steps import Steps
from twins import tables_twins

MINUTE = 60 * 10**9


def rows_at(stamps, counted=False):
    values = np.arange(len(stamps), dtype=np.float32)[:, None]
    return Rows(["a"], values, len(stamps), np.array(stamps, dtype=np.int64), counted)


def placed(rows, steps, lookback):
    """Return the readings of one variable on the last steps."""
    window = np.full(lookback, np.nan)
    for value, offset in zip(rows.values[-lookback:, 0], steps.offsets, strict=True):
        if offset > -lookback:
            window[offset + lookback - 1] = value
    return window


@st.composite
def gappy_rows(draw):
    lookback = draw(st.integers(1, 6))
    present = draw(st.lists(st.booleans(), min_size=lookback - 1, max_size=lookback + 6))
    positions = [position for position, kept in enumerate([*present, True]) if kept]
    assume(positions[-1] - positions[0] + 1 >= lookback)
    gaps = np.diff(positions[-lookback:])
    assume(gaps.size == 0 or 1 in gaps)  # else the rows have another rate
    return positions, lookback


@settings(max_examples=200)
@given(gappy_rows(), st.sampled_from([1, 5, 60]), st.data())
def test_times_with_gaps_and_jitter_against_the_slow_twin(case, minutes, data):
    positions, lookback = case
    step = minutes * MINUTE
    late = data.draw(st.lists(st.integers(-step // 25, step // 25), min_size=len(positions), max_size=len(positions)))
    stamps = [position * step + delay for position, delay in zip(positions, late, strict=True)]
    rows = rows_at(stamps)
    steps = last_steps(rows, lookback, Steps(f"{minutes}min"))
    times, readings = tables_twins.window(stamps, rows.values.tolist(), ["a"], ["a"], lookback, step, limit=step // 10)
    assert steps.times.astype(np.int64).tolist() == times
    np.testing.assert_array_equal(placed(rows, steps, lookback), np.array(readings)[:, 0])


@settings(max_examples=100)
@given(gappy_rows(), st.integers(-3, 3))
def test_step_numbers_with_gaps_against_the_slow_twin(case, start):
    positions, lookback = case
    numbers = [start + position for position in positions]
    rows = rows_at(numbers, counted=True)
    gaps = np.diff(numbers[-lookback:]).tolist()
    assume(not gaps or gaps.count(1) > len(gaps) / 2)
    steps = last_steps(rows, lookback, Steps())
    _, readings = tables_twins.window(numbers, rows.values.tolist(), ["a"], ["a"], lookback, 1)
    assert steps.times is None
    np.testing.assert_array_equal(placed(rows, steps, lookback), np.array(readings)[:, 0])


def test_rows_without_times_are_consecutive_steps():
    steps = last_steps(Rows(["a"], np.zeros((3, 1)), 5), 3, Steps("5min"))
    assert steps.offsets.tolist() == [-2, -1, 0]
    assert steps.times is None


def test_the_source_is_named_in_every_refusal():
    for rows, lookback, freq in (
        (rows_at([0, 0]), 1, None),
        (rows_at([5, 3]), 1, None),
        (rows_at([0]), 2, None),
        (rows_at([0, 1, 3, 5], counted=True), 4, None),
        (rows_at([0, 10 * MINUTE, 20 * MINUTE]), 3, "5min"),
        (rows_at([0, 5 * MINUTE, 12 * MINUTE, 15 * MINUTE]), 3, "5min"),
    ):
        with pytest.raises(InputError, match=r"^the feed (has|goes|comes) "):
            last_steps(rows, lookback, Steps(freq), "the feed")
