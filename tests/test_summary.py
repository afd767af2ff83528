"""Summaries of series, against counting in plain loops."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcast.errors import InputError
from subcast.series import Series
from subcast.summary import longest_run, sparkline, summarize

NAN = float("nan")


def hourly(values, **fields):
    values = np.asarray(values, dtype=np.float32)
    times = np.datetime64("2024-01-01T06:00", "ns") + np.arange(len(values)) * np.timedelta64(1, "h")
    return Series(values, times=times, freq="1h", **fields)


def slow_longest_run(flags):
    best = run = 0
    for flag in flags:
        run = run + 1 if flag else 0
        best = max(best, run)
    return best


@given(st.lists(st.booleans(), max_size=30))
def test_longest_run_agrees_with_counting(flags):
    assert longest_run(np.array(flags, dtype=bool)) == slow_longest_run(flags)


@given(st.lists(st.lists(st.one_of(st.just(NAN), st.integers(-5, 5).map(float)), min_size=3, max_size=3), min_size=1))
def test_figures_agree_with_counting(rows):
    summary = summarize(Series(np.array(rows, dtype=np.float32), ["a", "b", "c"]))
    assert summary.steps == len(rows)
    assert summary.missing == pytest.approx(sum(math.isnan(x) for row in rows for x in row) / (3 * len(rows)))
    assert summary.complete_steps == pytest.approx(sum(not any(math.isnan(x) for x in row) for row in rows) / len(rows))
    for column, variable in enumerate(summary.variables):
        readings = [row[column] for row in rows if not math.isnan(row[column])]
        assert variable.missing == pytest.approx(1 - len(readings) / len(rows))
        assert variable.longest_gap == slow_longest_run([math.isnan(row[column]) for row in rows])
        if readings:
            assert (variable.low, variable.high) == (min(readings), max(readings))
            assert variable.mean == pytest.approx(sum(readings) / len(readings))
        else:
            assert math.isnan(variable.low)
            assert math.isnan(variable.mean)
            assert math.isnan(variable.high)


def test_period_rate_and_extras():
    graph = np.array([[1, 0.5], [0, 1]])
    series = hourly(
        np.arange(10).reshape(5, 2), graph=graph, positions=np.ones((2, 2)), unit="mm", time_features=("time_of_day",)
    )
    summary = summarize(series)
    assert (summary.start, summary.end, summary.rate) == ("2024-01-01 06:00", "2024-01-01 10:00", "1h")
    assert (summary.edges, summary.has_positions, summary.unit) == (1, True, "mm")
    assert summary.time_features == ("time_of_day",)


def test_no_times():
    summary = summarize(Series(np.zeros((3, 1))))
    assert (summary.start, summary.end, summary.rate, summary.edges) == (None, None, None, None)


def test_seconds_are_shown_only_if_not_zero():
    times = np.array(["2024-01-01T00:00:00", "2024-01-01T00:00:10"], dtype="datetime64[ns]")
    summary = summarize(Series(np.zeros((2, 1)), times=times))
    assert (summary.start, summary.end) == ("2024-01-01 00:00", "2024-01-01 00:00:10")


def test_window_counts_are_those_of_the_default_split():
    series = Series(np.random.default_rng(0).normal(size=(400, 2)))
    assert summarize(series).windows == tuple(len(part) for part in series.split(12, 12))


def test_series_shorter_than_a_window():
    assert summarize(Series(np.zeros((20, 2)))).windows is None


def test_empty_series_is_rejected():
    with pytest.raises(InputError, match="series 'x' has no steps: there is nothing to summarize"):
        summarize(Series(np.zeros((5, 2)), name="x")[:0])


def test_repairs_are_kept():
    assert summarize(Series(np.zeros((2, 1)), repairs=("sorted",))).repairs == ("sorted",)


class TestSparkline:
    def test_lowest_and_highest_character(self):
        assert sparkline(np.arange(8, dtype=np.float32)) == "▁▂▃▄▅▆▇█"

    def test_each_character_is_a_mean(self):
        assert sparkline(np.repeat(np.arange(8, dtype=np.float32), 10), width=8) == "▁▂▃▄▅▆▇█"

    def test_constant(self):
        assert sparkline(np.full(30, 7.0, dtype=np.float32)) == "▁" * 18

    def test_missing_readings_are_dots(self):
        assert sparkline(np.array([NAN, 1, NAN, 2], dtype=np.float32)) == "·▁·█"
        assert sparkline(np.full(4, NAN, dtype=np.float32)) == "····"

    @given(st.lists(st.floats(-(2.0**100), 2.0**100, width=32), min_size=1, max_size=50), st.integers(1, 20))
    def test_width(self, values, width):
        assert len(sparkline(np.array(values, dtype=np.float32), width)) == min(width, len(values))


class TestCopies:
    def walk(self, *, seed=0, steps=300):
        return np.random.default_rng(seed).normal(size=steps).cumsum()

    def test_a_copy_is_found(self):
        walk, other = self.walk(), self.walk(seed=1)
        assert summarize(Series(np.stack([walk, other, walk], axis=1), ["a", "b", "c"])).copies == (("a", "c"),)

    def test_a_copy_with_other_gaps_is_found(self):
        one, two = self.walk(), self.walk()
        one[10:50], two[100:120] = NAN, NAN
        assert summarize(Series(np.stack([one, two], axis=1), ["a", "b"])).copies == (("a", "b"),)

    def test_variables_that_are_often_equal_are_not_copies(self):
        one, two = self.walk(), self.walk()
        two[::20] += 1
        assert summarize(Series(np.stack([one, two], axis=1))).copies == ()

    def test_constants_are_not_copies(self):
        assert summarize(Series(np.ones((300, 3)))).copies == ()


def test_plain_values_are_json_without_nan():
    values = np.array([[1, NAN], [2, NAN]], dtype=np.float32)
    plain = summarize(hourly(values, repairs=("x",))).to_dict()
    text = json.dumps(plain, allow_nan=False)
    again = json.loads(text)
    assert again["variables"][1]["mean"] is None
    assert again["variables"][0]["mean"] == 1.5
    assert again["repairs"] == ["x"]
