"""Sums over shards against plain loops over the series."""

from __future__ import annotations

import numpy as np
import pytest

from retrieval.examples import random_walk
from retrieval.sharding.examples import sharded
from subcast.retrieval import WindowBank
from subcast.retrieval.sharding import moments
from subcast.retrieval.sharding.moments import FactorSums
from twins import sharding_twins as naive


@pytest.mark.parametrize("at_once", [7, 31, 1 << 15])
@pytest.mark.parametrize("with_targets", [False, True])
def test_moments_equal_plain_loops(monkeypatch, at_once, with_targets):
    monkeypatch.setattr(moments, "_STEPS_AT_ONCE", at_once)
    values, targets = random_walk(90, 2, missing=0.1), random_walk(90, 2, seed=4, missing=0.3)
    bank = WindowBank(values, 3, starts=np.arange(80), targets=targets if with_targets else None)
    shards = sharded(bank, 20)
    expected = naive.lagged_products((targets if with_targets else values).tolist(), 5, 4, 88)
    assert np.allclose(shards.moments(5, 4, 88).whole, expected, rtol=1e-5, atol=1e-5)


def test_factor_sums_of_parts_add_up():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(50, 6)).astype(np.float32)
    z[3, 2] = np.nan
    loadings = np.linalg.qr(rng.normal(size=(6, 2)))[0].astype(np.float32)
    whole = FactorSums.of(z, 4, 50, loadings)
    parts = FactorSums.of(z[:23], 4, 20, loadings) + FactorSums.of(z[20:], 4, 30, loadings)
    assert parts.steps == whole.steps
    assert np.allclose(parts.scores, whole.scores, atol=1e-5)
    assert np.allclose(parts.own, whole.own, atol=1e-5)
