"""Missingness as it happens: what each pattern lets through, and that windows are asked with what arrived."""

import numpy as np
import pytest

import subcast as sc
from baselines.examples import hourly, parts
from benchmarks.scripts import script

missingness = script("missingness_records")


class TinyPair:
    """What the patterns need of a pair."""

    def __init__(self, split):
        self.split, self.n = split, split.train.series.n_variables


@pytest.fixture(scope="module")
def split():
    return parts(steps=1200, n=9)


@pytest.fixture(scope="module")
def test(split):
    return missingness.spaced(split.test, 40)


PRESENT = np.array([1, 2, 5, 7])


def arrives(pattern, split, test, seed=0):
    return missingness.PATTERNS[pattern](test, TinyPair(split), PRESENT, np.random.default_rng(seed))


def test_windows_share_no_input(test):
    assert test.starts.step > test.lookback
    assert test.starts.step % 2
    assert test.starts.step % 3


@pytest.mark.parametrize("pattern", ["absent", "dies", "streaks", "bursts"])
def test_only_s_arrives(split, test, pattern):
    arrived = arrives(pattern, split, test)
    assert not arrived[:, np.setdiff1d(np.arange(9), PRESENT)].any()
    assert arrived[:, PRESENT].any(axis=0).all()
    assert arrived[:, PRESENT].all() == (pattern == "absent")


def test_a_dead_variable_stays_silent_and_had_a_reading(split, test):
    arrived, died = arrives("dies", split, test), 0
    for start in test.starts:
        window = arrived[start : start + test.lookback][:, PRESENT]
        assert window[0].all()
        assert (np.diff(window.astype(int), axis=0) <= 0).all()
        died += (~window[-1]).sum()
    assert 0.15 < died / (len(test) * len(PRESENT)) < 0.45


def test_streaks_are_as_long_and_as_frequent_as_declared():
    silent = missingness.silent_streaks((4000, 20), np.random.default_rng(1))
    begins = (np.diff(silent.astype(int), axis=0) == 1).sum()
    assert 0.17 < silent.mean() < 0.23
    assert 20 < silent.sum() / begins < 28


def test_bursts_silence_whole_clusters(split, test):
    arrived = missingness.bursts(test, TinyPair(split), np.arange(9), np.random.default_rng(0))
    assert len(np.unique(arrived.T, axis=0)) <= 3


def test_failures_rise_until_s_is_left(split, test):
    arrived = arrives("rising", split, test)
    counts = arrived.sum(axis=1)
    assert (counts[0], counts[-1]) == (9, 4)
    assert (np.diff(counts) <= 0).all()
    assert np.array_equal(np.flatnonzero(arrived[-1]), PRESENT)


def test_windows_are_asked_with_the_variables_that_arrived(split, test):
    def last_reading(x):
        return np.repeat(x[:, -1:, :, 0], split.train.horizon, axis=1)

    robust = sc.SubsetForecaster(last_reading, settings=sc.Settings(), limits=None, progress=False).fit(split.train)
    holed, scored = missingness.apply(test, arrives("streaks", split, test))
    forecast = missingness.forecast_what_arrived(robust, holed, scored)
    assert np.array_equal(~np.isnan(forecast[:, 0]), scored)
    for window in range(0, len(test), 7):
        present = np.flatnonzero(scored[window])
        alone = robust.predict_many(holed[window : window + 1], present=present, levels=()).mean
        np.testing.assert_allclose(forecast[window][:, present], alone[0], rtol=1e-4, atol=1e-4)


def test_targets_stay_when_readings_go(split, test):
    holed, scored = missingness.apply(test, arrives("dies", split, test))
    np.testing.assert_array_equal(holed.targets, test.targets)
    assert np.array_equal(scored, np.isin(np.arange(9), PRESENT)[None] | np.zeros((len(test), 1), dtype=bool))


def test_sizes_appear_once():
    assert missingness.sizes_of(29) == {"5%": 2, "15%": 5, "30%": 9, "50%": 15, "85%": 25, "all but one": 28}
    assert missingness.sizes_of(4) == {"5%": 1, "30%": 2, "all but one": 3}


def test_series_without_times_are_asked_too():
    windows = hourly(np.zeros((60, 3), dtype=np.float32)).windows(5, 3)
    assert len(missingness.spaced(windows, 10)) > 3
