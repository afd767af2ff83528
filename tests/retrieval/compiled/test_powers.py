"""|difference|^b in single precision against double precision."""

from __future__ import annotations

import numpy as np
import pytest

from subcast.retrieval import WindowBank


@pytest.mark.parametrize("exponent", [0.5, 1, 2, 1 / 3, 0.33, 0.1, 0.7, 1.5, 3])
def test_powers_are_near_single_precision(exponent):
    rng = np.random.default_rng(0)
    x = np.exp(rng.uniform(-20, 20, size=4000)).astype(np.float32)
    x[:3] = [0, 1, 2]
    x[3:200] = rng.uniform(0, 4, size=197)
    wanted = x.astype(np.float64) ** exponent
    got = WindowBank(x[:, None], 1).distances(np.zeros((1, 1, 1)), [0], exponent)[0]
    assert np.all(np.abs(got - wanted) <= 4e-7 * wanted)
    assert got[0] == 0
    holed = np.concatenate([x, [np.nan]])
    again = WindowBank(holed[:, None], 1).distances(np.zeros((1, 1, 1)), [0], exponent)[0]
    assert np.array_equal(again[:-1], got)
    assert np.isinf(again[-1])


@pytest.mark.parametrize("exponent", [0.5, 1 / 3, 0.8])
def test_place_in_memory_does_not_change_a_distance(exponent):
    """The vector body of a loop and its scalar rest give the same bits."""
    values = np.full((67, 1), 0.7371, dtype=np.float32)
    every = WindowBank(values, 3).distances(np.full((1, 3, 1), 0.1117), [0], exponent)
    assert np.unique(every).size == 1
