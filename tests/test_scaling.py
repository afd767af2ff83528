"""Scaler: fitted on the training inputs only."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import subcast as sc
from subcast.scaling import Scaler
from subcast.series import Series


def loop_moments(inputs):
    """Mean and population deviation of a nested list of numbers, leaving NaN out, in plain loops."""
    numbers = [float(x) for x in np.asarray(inputs).ravel() if not math.isnan(x)]
    if not numbers:
        return 0.0, 1.0
    mean = sum(numbers) / len(numbers)
    deviation = math.sqrt(sum((x - mean) ** 2 for x in numbers) / len(numbers))
    return mean, deviation


@st.composite
def dirty_values(draw):
    shape = draw(st.tuples(st.integers(60, 90), st.integers(1, 3)))
    numbers = st.integers(-50, 50).map(float) | st.just(float("nan"))
    return draw(hnp.arrays(np.float32, shape, elements=numbers))


@settings(max_examples=40, deadline=None)
@given(dirty_values(), st.integers(1, 4), st.sampled_from(["default", "paper"]), st.integers(1, 3))
def test_against_loops(values, lookback, protocol, stride):
    train = Series(values).split(lookback, 1, protocol=protocol).train[::stride]
    inputs = train.batch().inputs[..., 0]
    one = Scaler.fit(train, per_variable=False)
    mean, deviation = loop_moments(inputs)
    assert one.mean[0] == pytest.approx(mean, abs=1e-9)
    assert one.scale[0] == pytest.approx(deviation if deviation > 1e-9 else 1.0)
    each = Scaler.fit(train, per_variable=True)
    for column in range(values.shape[1]):
        mean, deviation = loop_moments(inputs[:, :, column])
        assert each.mean[column] == pytest.approx(mean, abs=1e-9)
        assert each.scale[column] == pytest.approx(deviation if deviation > 1e-9 else 1.0)


def test_protocol_decides_on_per_variable_scale():
    series = Series(np.random.default_rng(0).normal(size=(200, 4)))
    assert Scaler.fit(series.split(3, 2).train).mean.shape == (4,)
    assert Scaler.fit(series.split(3, 2, protocol="paper").train).mean.shape == (1,)


def test_validation_and_test_parts_have_no_effect():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(300, 2)).astype(np.float32)
    for protocol in ("default", "paper"):
        changed = values.copy()
        train = Series(values).split(5, 3, protocol=protocol).train
        changed[len(train) + 5 - 1 :] = 1e6  # everything after the last training input
        again = Series(changed).split(5, 3, protocol=protocol).train
        np.testing.assert_array_equal(Scaler.fit(train).mean, Scaler.fit(again).mean)
        np.testing.assert_array_equal(Scaler.fit(train).scale, Scaler.fit(again).scale)


def test_missing_code_enters_the_scaler_of_the_paper():
    values = np.full((100, 1), 10.0, dtype=np.float32)
    values[::2] = np.nan
    series = Series(values, missing_code=0.0)
    assert Scaler.fit(series.split(2, 1, protocol="paper").train).mean[0] == pytest.approx(5.0, abs=0.1)
    assert Scaler.fit(series.split(2, 1).train).mean[0] == 10.0


def test_constant_and_empty_variables_are_not_scaled():
    values = np.column_stack([np.full(100, 3.3), np.full(100, np.nan), np.arange(100.0)])
    scaler = Scaler.fit(Series(values).split(3, 2).train)
    np.testing.assert_array_equal(scaler.scale[:2], [1, 1])
    normal = scaler.transform(values.astype(np.float32))
    np.testing.assert_allclose(normal[:, 0], 0, atol=1e-6)
    assert np.isnan(normal[:, 1]).all()


def test_transform_and_inverse_along_any_axis():
    rng = np.random.default_rng(1)
    values = (rng.normal(size=(200, 3)) * [1, 100, 1e4] + [0, 5, -1e3]).astype(np.float32)
    scaler = Scaler.fit(Series(values).split(4, 2).train)
    batch = values[:24].reshape(2, 12, 3)
    np.testing.assert_allclose(scaler.inverse(scaler.transform(batch)), batch, rtol=1e-4, atol=1e-2)
    moved = np.moveaxis(batch, -1, 1)
    np.testing.assert_array_equal(scaler.transform(moved, axis=1), np.moveaxis(scaler.transform(batch), -1, 1))
    assert scaler.transform(values).dtype == np.float32


def test_inputs_keep_their_time_features():
    times = np.arange("2024-01-01", "2024-01-11", np.timedelta64(1, "h"), dtype="datetime64[h]")
    values = np.random.default_rng(0).normal(50, 10, size=(len(times), 3)).astype(np.float32)
    series = Series(values, times=times, time_features=("time_of_day",))
    for protocol in ("default", "paper"):
        train = series.split(4, 2, protocol=protocol).train
        scaler, inputs = Scaler.fit(train), train.batch().inputs
        before = inputs.copy()
        normal = scaler.transform_inputs(inputs)
        np.testing.assert_array_equal(inputs, before)
        np.testing.assert_array_equal(normal[..., 1], inputs[..., 1])
        np.testing.assert_array_equal(normal[..., 0], scaler.transform(inputs[..., 0]))
        assert abs(normal[..., 0].mean()) < 1e-3
        with pytest.raises(sc.InputError, match="use transform_inputs"):
            scaler.transform(inputs)


def test_select_and_json():
    scaler = Scaler(np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]))
    again = Scaler.from_dict(json.loads(json.dumps(scaler.to_dict())))
    np.testing.assert_array_equal(again.mean, scaler.mean)
    np.testing.assert_array_equal(again.scale, scaler.scale)
    np.testing.assert_array_equal(scaler.select([2, 0]).mean, [3, 1])
    one = Scaler(np.array([1.0]), np.array([2.0]))
    assert one.select([0, 5]) is one


def test_another_number_of_variables_is_rejected():
    with pytest.raises(sc.InputError, match=r"the 3 variables along axis -1 that .* got shape \(5, 2\)"):
        Scaler(np.zeros(3), np.ones(3)).transform(np.zeros((5, 2)))
