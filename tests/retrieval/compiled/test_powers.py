"""|difference|^b in single precision against double precision."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from subcast.errors import InputError
from subcast.retrieval import WindowBank
from subcast.retrieval.compiled import powers


@pytest.mark.parametrize("exponent", [0.5, 1, 2, 1 / 3, 0.33, 0.1, 0.7, 1.5, 3])
def test_powers_are_near_single_precision(exponent):
    rng = np.random.default_rng(0)
    x = np.exp(rng.uniform(-20, 20, size=4000)).astype(np.float32)
    x[:3] = [0, 1, 2]
    x[3:200] = rng.uniform(0, 4, size=197)
    expected = x.astype(np.float64) ** exponent
    actual = WindowBank(x[:, None], 1).distances(np.zeros((1, 1, 1)), [0], exponent)[0]
    assert np.all(np.abs(actual - expected) <= 4e-7 * expected)
    assert actual[0] == 0
    with_nan = np.concatenate([x, [np.nan]])
    again = WindowBank(with_nan[:, None], 1).distances(np.zeros((1, 1, 1)), [0], exponent)[0]
    assert np.array_equal(again[:-1], actual)
    assert np.isinf(again[-1])


@pytest.mark.parametrize("exponent", [0.5, 1 / 3, 0.8])
def test_the_position_in_memory_does_not_change_a_distance(exponent):
    """The vectorized part of a loop and its scalar remainder give the same bits."""
    values = np.full((67, 1), 0.7371, dtype=np.float32)
    every = WindowBank(values, 3).distances(np.full((1, 3, 1), 0.1117), [0], exponent)
    assert np.unique(every).size == 1


@pytest.mark.parametrize(
    ("exponent", "mode"), [(0.5, powers.ROOT), (1, powers.PLAIN), (2.0, powers.SQUARE), (1 / 3, powers.CUBE_ROOT)]
)
def test_common_exponents_have_a_mode_of_their_own(exponent, mode):
    assert powers.power_of(exponent)[0] == mode
    assert powers.power_of(exponent * 1.01)[0] == powers.GENERAL


@pytest.mark.parametrize("exponent", [0.33, 0.7, 3.3, 1e-3])
def test_the_parameters_of_a_power_add_up(exponent):
    b, high, low = powers.power_of(exponent)[1].tolist()
    assert b == np.float32(exponent)
    assert high + low == pytest.approx(exponent, rel=1e-7)
    assert np.float32(high).view(np.int32) % 4096 == 0  # twelve free bits: its product with an exponent is exact


@pytest.mark.parametrize("exponent", [0, -1, np.inf, np.nan, "x", None])
def test_bad_exponents(exponent):
    with pytest.raises(InputError, match="exponent must be a finite number above 0, got"):
        powers.power_of(exponent)


def test_newton_roots_are_almost_always_correctly_rounded():
    x = np.random.default_rng(0).uniform(1, 4, size=20_000).astype(np.float32)
    roots = np.array([newton(value) for value in x], dtype=np.float32)
    exact = np.sqrt(x.astype(np.float64)).astype(np.float32)
    assert np.all(np.abs(roots - exact) <= np.spacing(exact))
    assert np.count_nonzero(roots != exact) <= 5
    assert newton(np.float32(0)) == 0


@numba.njit
def newton(value):
    return powers.newton_root(value)
