"""Rates: fixed steps and calendar rates, the commonest step, and steps and times as text."""

import collections
import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcast.errors import DataError
from subcast.tables.rates import (
    calendar_positions,
    check_rate,
    commonest_step,
    fixed_step,
    jitter_limit,
    moment_text,
    step_name,
)

SECOND = 10**9


@pytest.mark.parametrize(("freq", "seconds"), [("5min", 300), ("h", 3600), ("2D", 172_800), ("250ms", 0.25)])
def test_fixed_steps(freq, seconds):
    assert fixed_step(freq) == check_rate(freq) == seconds * SECOND


@pytest.mark.parametrize("freq", ["MS", "B", "QS-OCT", "YE"])
def test_calendar_rates_have_no_fixed_step(freq):
    assert fixed_step(freq) is None
    assert check_rate(freq) is None


@pytest.mark.parametrize("freq", ["fortnight", "", "5 bananas"])
def test_text_that_is_not_a_rate(freq):
    for reader in (fixed_step, check_rate):
        with pytest.raises(DataError, match=f"freq must be a rate as pandas writes it, .*, got '{freq}'"):
            reader(freq)


@pytest.mark.parametrize("freq", ["-1h", "0h"])
def test_a_given_rate_must_lead_forward(freq):
    with pytest.raises(DataError, match=f"freq must be a rate as pandas writes it, .*, got '{freq}'"):
        check_rate(freq)


@pytest.mark.parametrize("step", [7, 1000, 250 * 10**6, 90 * SECOND, 3600 * SECOND, 86_400 * SECOND])
def test_step_names_are_read_back_by_pandas(step):
    assert fixed_step(step_name(step)) == step


def test_moments_as_text():
    stamp = pd.Timestamp("2024-03-01 00:05").value
    assert moment_text(stamp) == "2024-03-01 00:05:00"
    assert moment_text(stamp + 1) == "2024-03-01 00:05:00.000000001"
    assert moment_text(12, counted=True) == "step 12"


@given(st.lists(st.integers(-20, 20), min_size=2, max_size=12, unique=True).map(sorted))
def test_commonest_step_against_a_counter(times):
    counts = collections.Counter(after - before for before, after in itertools.pairwise(times))
    most = max(counts.values())
    step, share = commonest_step(np.array(times))
    assert step == min(step for step, count in counts.items() if count == most)
    assert share == pytest.approx(most / (len(times) - 1))


def test_jitter_is_at_most_a_tenth_of_a_step_and_half_a_day():
    assert jitter_limit(300 * SECOND) == 30 * SECOND
    assert jitter_limit(30 * 86_400 * SECOND) == 43_200 * SECOND


def test_positions_on_a_calendar_grid():
    days = pd.DatetimeIndex(["2024-01-05", "2024-01-08", "2024-01-10", "2024-01-13"]).as_unit(
        "ns"
    )  # Friday, ..., Saturday
    grid, positions = calendar_positions(days.asi8, "B")
    assert positions.tolist() == [0, 1, 3, -1]
    assert pd.DatetimeIndex(grid)[[0, -1]].strftime("%d").tolist() == ["05", "12"]
