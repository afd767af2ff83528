"""Bounded samples for the experts: stretches from everywhere, and forecasts as good as from the whole series."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import subcast as sc
from retrieval.sharding.examples import new_folder
from subcast.subset.experts import sampled
from subcast.subset.experts.practice import Practice
from subcast.subset.experts.sampled import Material, stretches


@pytest.fixture(scope="module")
def parts():
    return sc.load_dataset("clouds", n_plants=5, n_steps=1400).split(lookback=6, horizon=3)


def wrapper(parts, steps=200, **options):
    bank = sc.WindowBank(parts.train.series.values, 6, starts=np.asarray(parts.train.starts))
    folder = new_folder()
    bank.write_shards(folder, steps=steps)

    def last_reading(x):
        return np.repeat(x[:, -1:, :, 0], 3, axis=1)

    return sc.SubsetForecaster(last_reading, bank=sc.ShardedBank(folder), progress=False, effort=0.2, **options)


def test_a_small_series_is_taken_whole(parts):
    robust = wrapper(parts).fit(parts.train)
    material = Material.of(parts.train, robust.fitted_)
    normalizer, slots = robust.fitted_.normalizer, robust.fitted_.bank_slots
    assert np.array_equal(material.readings, normalizer.normalize(parts.train.series.values, slots), equal_nan=True)
    assert len(material.starts) == len(parts.train)


def test_a_large_one_is_sampled_from_everywhere(parts, monkeypatch):
    robust = wrapper(parts).fit(parts.train)
    fitted = robust.fitted_
    monkeypatch.setattr(sampled, "MOST_CELLS", 400 * 5)
    monkeypatch.setattr(sampled, "STRETCHES", 4)
    monkeypatch.setattr(sampled, "_WINDOWS_LONG", 5)
    material = Material.of(parts.train, fitted)
    n_steps = len(parts.train.series)
    assert len(material.readings) < 500 < n_steps
    whole = fitted.normalizer.normalize(parts.train.series.values, fitted.bank_slots)
    for start in material.starts[::7].tolist():  # every window is one of the series, with its future and its slots
        window, slots = material.readings[start : start + 9], material.slots[start : start + 9]
        same = [
            step
            for step in range(n_steps - 8)
            if np.array_equal(whole[step : step + 9], window, equal_nan=True)
            and np.array_equal(fitted.bank_slots[step : step + 9], slots)
        ]
        assert same
        assert np.array_equal(material.targets[start : start + 9], window, equal_nan=True)
    practice = Practice.of(parts.train, fitted)
    assert all(
        (half.starts < material.middle).all() or (half.starts >= material.middle).all() for half in practice.halves
    )


@given(st.integers(0, 50), st.integers(20, 5000), st.integers(1, 3000), st.integers(1, 30))
def test_stretches_lie_inside_and_do_not_exceed_the_bound(first, length, most, lags):
    parts = stretches(first, first + length, most, lags)
    assert parts[0][0] == first
    assert all(first <= a < b <= first + length for a, b in parts)
    assert all(a <= b for (a, _), (b, _) in pairwise(parts))
    assert sum(b - a for a, b in parts) <= max(most, 20 * lags)
