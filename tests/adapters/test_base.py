"""AdaptedForecaster: batches, checks, and a model that cannot do harm."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcast.adapters import AdaptedForecaster
from subcast.errors import InputError


def weighted_sum(x):
    """A forecast that tells every window, step, variable and feature apart: [b, t, n, f] -> [b, 2, n]."""
    t, f = x.shape[1], x.shape[3]
    weights = np.arange(1, t * f + 1).reshape(t, f)
    first = np.einsum("btnf,tf->bn", x, weights)
    return np.stack([first, first - x[:, -1, :, 0]], axis=1)


def loop_weighted_sum(x):
    """The same in plain loops."""
    b, t, n, f = x.shape
    out = np.zeros((b, 2, n))
    for window in range(b):
        for variable in range(n):
            total = 0.0
            for step in range(t):
                for feature in range(f):
                    total += (step * f + feature + 1) * x[window, step, variable, feature]
            out[window, 0, variable] = total
            out[window, 1, variable] = total - x[window, t - 1, variable, 0]
    return out


def forecaster(run=weighted_sum, **changes):
    options = {"lookback": 3, "horizon": 2, "kind": "callable", **changes}
    return AdaptedForecaster(run, **options)


@settings(max_examples=50, deadline=None)
@given(
    b=st.integers(0, 9),
    n=st.integers(1, 4),
    f=st.integers(1, 3),
    batch_size=st.integers(1, 11),
    dtype=st.sampled_from([np.float32, np.float64, np.int64]),
    fortran=st.booleans(),
)
def test_batches_of_any_size_give_the_same(b, n, f, batch_size, dtype, fortran):
    x = np.random.default_rng(0).integers(-9, 9, size=(b, 3, n, f)).astype(dtype)
    before = x.copy()
    seen = []

    def run(part):
        seen.append(len(part))
        assert part.dtype == np.float32
        assert part.flags.c_contiguous
        return weighted_sum(part)

    y = forecaster(run, batch_size=batch_size)(np.asfortranarray(x) if fortran else x)
    assert y.dtype == np.float32
    np.testing.assert_array_equal(y, loop_weighted_sum(x))
    np.testing.assert_array_equal(x, before)
    assert sum(seen) == b
    assert max(seen, default=0) <= batch_size


def test_a_model_that_writes_into_its_input_does_not_change_the_windows():
    x = np.ones((4, 3, 2, 1), dtype=np.float32)

    def vandal(part):
        y = np.repeat(part[:, -1:, :, 0], 2, axis=1)
        part[:] = 7
        return y

    assert (forecaster(vandal)(x) == 1).all()
    assert (x == 1).all()


def test_a_result_that_is_the_model_s_own_memory_is_copied():
    memory = np.zeros((1, 2, 2), dtype=np.float32)

    def run(part):
        memory[:] = part[0, -1, 0, 0]
        return memory

    x = np.arange(3.0)[:, None, None, None] * np.ones((3, 3, 2, 1))
    np.testing.assert_array_equal(forecaster(run, batch_size=1)(x)[:, 0, 0], [0, 1, 2])


def test_the_feature_axis_may_be_left_out():
    x = np.random.default_rng(0).normal(size=(4, 3, 2))
    for features in (None, 1):
        np.testing.assert_array_equal(forecaster(n_features=features)(x), forecaster()(x[..., None]))
    with pytest.raises(InputError, match=r"inputs must be \[b, t, n, f\] .* got shape \(4, 3, 2\)"):
        forecaster(n_features=2)(x)


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        ((4, 5, 2, 1), "with 3 steps, got 5"),
        ((4, 3, 3, 1), "with 2 variables, got 3"),
        ((4, 3, 2, 2), "with 1 features, got 2"),
        ((3, 2), r"got shape \(3, 2\)"),
    ],
)
def test_inputs_of_another_shape(shape, sentence):
    with pytest.raises(InputError, match=sentence):
        forecaster(variables=("a", "b"), n_features=1)(np.zeros(shape))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_inputs_must_be_complete(bad):
    x = np.zeros((5, 3, 2, 1))
    x[3, 1, 0, 0] = bad
    with pytest.raises(InputError, match="NaN or infinities in window 3, and a callable model"):
        forecaster(batch_size=2)(x)


def test_inputs_must_be_numbers():
    with pytest.raises(InputError, match="inputs must be numbers, got values of type <U1"):
        forecaster()(np.full((1, 3, 2, 1), "x"))


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        (
            np.zeros((4, 2)),
            r"\[b, h, n\] \(windows x horizon steps x variables\) = \(4, 2, 2\), but gave shape \(4, 2\)",
        ),
        (np.zeros((4, 3, 2)), r"but gave shape \(4, 3, 2\)"),
        (np.zeros((3, 2, 2)), r"but gave shape \(3, 2, 2\)"),
        (np.full((4, 2, 2), np.nan), "but 16 of its 16 numbers are NaN or infinite"),
        (np.full((4, 2, 2), 1e300), "but 16 of its 16 numbers are NaN or infinite"),
        (None, "but gave a NoneType that is not an array of numbers"),
        ([[1, 2], [3]], "but gave a list that is not an array of numbers"),
        (np.full((4, 2, 2), "1"), "but gave a ndarray that is not an array of numbers"),
    ],
)
def test_results_that_are_no_forecasts(result, sentence):
    with pytest.raises(InputError, match=sentence):
        forecaster(lambda x: result)(np.zeros((4, 3, 2, 1)))


def test_sizes_and_names_are_checked():
    with pytest.raises(InputError, match="lookback must be a whole number of at least 1, got 0"):
        forecaster(lookback=0)
    with pytest.raises(InputError, match="2 variables named 'a'"):
        forecaster(variables=("a", "a"))
    with pytest.raises(InputError, match="the callable model has 3 variables, but variables names 2"):
        forecaster(variables=("a", "b"), n_variables=3)
    with pytest.raises(InputError, match="variables must be a list of names, got the text 'ab'"):
        forecaster(variables="ab")
    assert forecaster(variables=["a", "b"]).variables == ("a", "b")
