"""Screening without a screener, and its stored state."""

import json

import numpy as np
import pytest

from subcast.errors import InputError
from subcast.screening import Screener
from subcast.service.screens import (
    WITH_SCREENER,
    WITHOUT_SCREENER,
    LimitsScreener,
    load_screener,
    packed,
    unpacked,
)

TIME = np.datetime64("2026-03-12T00:00", "ns")
STEP = np.timedelta64(10, "m")


def test_a_folder_without_a_screener_has_gross_limits(wrapper, plant):
    screener, sentence = load_screener(plant, wrapper)
    assert isinstance(screener, LimitsScreener)
    assert sentence == WITHOUT_SCREENER


def test_the_screener_of_the_folder_is_used(wrapper, plant, series):
    Screener.fit(wrapper, series.split(lookback=6, horizon=4)[0]).save(plant)
    screener, sentence = load_screener(plant, wrapper)
    assert isinstance(screener, Screener)
    assert sentence == WITH_SCREENER


def test_limits_flag_what_is_impossible_and_silence_is_death(wrapper):
    feed = LimitsScreener(wrapper).start()
    row = np.array([60.0, np.nan, 1e30, 60, 60, 60])
    for step in range(6):
        found = feed.push(row, TIME + step * STEP)
    assert found.flags.tolist() == [1, 9, 4, 1, 1, 1]
    assert np.isnan(found.values[1:3]).all()
    assert found.ill.tolist() == [False, True, True, False, False, False]
    assert found.holes[:, 2].all()
    assert not found.holes[:, 1].any()
    assert feed.health["b"].state == "dead"
    assert feed.health["b"].since == TIME
    assert found.reasons[2][0][0] == "gross range"


def test_overrides_win(wrapper):
    feed = LimitsScreener(wrapper).start()
    feed.override("a", "bad")
    feed.override("c", "good")
    row = np.array([60.0, 60, 1e6, 60, 60, 60])
    assert feed.push(row, TIME).flags.tolist() == [4, 1, 1, 1, 1, 1]
    assert feed.health["a"].state == "dead"
    feed.override("a", None)
    assert feed.push(row, TIME + STEP).flags[0] == 1


def test_the_state_goes_on_as_if_never_stopped(wrapper):
    rng = np.random.default_rng(0)
    screener = LimitsScreener(wrapper)
    one = other = screener.start()
    for step in range(20):
        row = np.where(rng.random(6) < 0.3, np.nan, rng.choice([60.0, 1e9], 6))
        other = screener.resume(unpacked(packed(other.state())))
        first, second = one.push(row, TIME + step * STEP), other.push(row, TIME + step * STEP)
        assert first.flags.tolist() == second.flags.tolist()
        assert (first.holes == second.holes).all()
    assert json.dumps(one.state()) == json.dumps(unpacked(packed(other.state())))
    assert one.health == other.health


def test_the_state_of_another_feed_is_refused(wrapper):
    with pytest.raises(InputError, match="start a new one"):
        LimitsScreener(wrapper).resume({"limits": ["x"]})
