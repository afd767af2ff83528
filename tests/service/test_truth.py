"""Scores of past forecasts, and intervals that follow their coverage."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcast.service import truth
from subcast.service.truth import PastForecast, Score

N, H = 3, 2


def forecast(share=1.0, factor=1.0, mean=10.0, half=2.0, expected=1.0):
    ones = np.ones((H, N), dtype=np.float32)
    return PastForecast(0, share, factor, 0.9, mean * ones, (mean - half) * ones, (mean + half) * ones, expected * ones)


def test_readings_are_compared_with_each_forecast_of_the_step():
    values = np.array([11.0, np.nan, 13.0])
    scored = truth.score(0, values, [(1, forecast()), (2, forecast(share=0.2, mean=12.0))], H)
    assert scored.readings == 4
    assert scored.groups[4] == {
        "readings": 2, "error": 4, "expected": 2, "inside": 1, "inside_unadapted": 1, "bounded": 2,
    }  # fmt: skip
    assert scored.groups[1]["error"] == 2
    assert scored.sensors.tolist() == [[2, 0, 4], [2, 0, 2]]
    assert scored.ahead.tolist() == [[4, 2], [2, 2]]


def test_coverage_without_the_factor():
    scored = truth.score(0, np.array([11.5, 11.5, 11.5]), [(1, forecast(factor=2.0))], H)
    assert scored.groups[4]["inside"] == 3
    assert scored.groups[4]["inside_unadapted"] == 0


def test_forecasts_without_intervals_have_an_error_alone():
    bare = PastForecast(0, 1.0, 1.0, None, np.ones((H, N), np.float32), None, None, np.zeros((0, 0), np.float32))
    scored = truth.score(0, np.zeros(N), [(1, bare)], H)
    assert scored.groups[4]["bounded"] == 0
    assert scored.groups[4]["error"] == N


@pytest.mark.parametrize("scale", [0.5, 1.0, 3.0])
def test_coverage_comes_near_the_level_whatever_the_noise(scale):
    rng = np.random.default_rng(0)
    factors, inside = (1.0,) * 5, []
    for step in range(3000):
        half = 1.645 * factors[4]
        values = 10 + scale * rng.normal(size=50)
        ones = np.ones((1, 50), dtype=np.float32)
        past = PastForecast(0, 1.0, factors[4], 0.9, 10 * ones, (10 - half) * ones, (10 + half) * ones, ones)
        scored = truth.score(step, values, [(1, past)], 1)
        factors = truth.adapted(factors, scored, 0.9)
        inside.append(scored.groups[4]["inside"] / 50)
    assert np.mean(inside[1000:]) == pytest.approx(0.9, abs=0.01)
    assert factors[:4] == (1.0,) * 4


@given(st.lists(st.floats(0, 1), min_size=1, max_size=200))
def test_factors_stay_within_bounds(shares):
    factors = (1.0,) * 5
    for share in shares:
        one = Score({0: {"bounded": 1.0, "inside": share}}, np.zeros((2, 1)), np.zeros((2, 1)))
        factors = truth.adapted(factors, one, 0.9)
        assert 0.25 <= factors[0] <= 8


def test_rows_give_back_what_was_stored():
    scored = truth.score(0, np.array([11.0, np.nan, 13.0]), [(1, forecast())], H)
    row = SimpleNamespace(**truth.to_row(7, scored, (1.0, 2.0, 3.0, 4.0, 5.0), 0.9))
    assert truth.factors_of(row.shares) == (1.0, 2.0, 3.0, 4.0, 5.0)
    assert truth.factors_of(None) == (1.0,) * 5
    found = truth.summary([row, row], N, H)
    assert found["steps"] == 2
    assert found["total"]["error"] == 8
    assert found["sensors"].tolist() == [[2, 0, 6], [2, 0, 2]]
    assert truth.summary([row], N + 1, H)["sensors"].sum() == 0  # of other sensors


@pytest.mark.parametrize(
    ("error", "inside", "words"), [(1.0, 0.9, None), (1.5, 0.9, "50 % larger"), (1.0, 0.7, "70 % of the readings")]
)
def test_a_model_that_has_aged(error, inside, words):
    total = {"readings": 100.0, "error": 100 * error, "expected": 100.0, "bounded": 100.0,
             "inside": 90.0, "inside_unadapted": 100 * inside}  # fmt: skip
    found = {"steps": 200, "total": total}
    sentence = truth.aging(found, 0.9)
    assert (sentence is None) == (words is None)
    if words:
        assert words in sentence
    assert truth.aging({**found, "steps": 10}, 0.9) is None
