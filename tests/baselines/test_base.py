"""What every baseline promises, and what goes before a model."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baselines.examples import HORIZON, LOOKBACK, PRESENT, factors, hourly, parts, sentence
from subcast.baselines import (
    IIMImputer,
    KNNEImputer,
    LastValue,
    LinearForecaster,
    NeighborForecast,
    RidgeImputer,
    ScikitImputer,
    SeasonalNaive,
    imputed,
)
from subcast.baselines.base import without_holes
from subcast.errors import InputError
from subcast.evaluation import evaluate
from twins import baselines_twins as twins

IMPUTERS = {
    "knne": KNNEImputer.fit,
    "knne by step": lambda train: KNNEImputer.fit(train, unit="step"),
    "iim": IIMImputer.fit,
    "ridge": RidgeImputer.fit,
    "ridge, whole window": lambda train: RidgeImputer.fit(train, whole_window=True),
    "scikit knn": ScikitImputer.knn,
    "scikit iterative": lambda train: ScikitImputer.iterative(train, rounds=3),
}
FORECASTERS = {
    "neighbors": NeighborForecast.fit,
    "last value": LastValue.fit,
    "seasonal": SeasonalNaive.fit,
    "linear": LinearForecaster.fit,
    "linear, shared": lambda train: LinearForecaster.fit(train, shared=True),
    "linear, absolute": lambda train: LinearForecaster.fit(train, loss="absolute", rounds=2),
}


@pytest.fixture(scope="module")
def holed():
    return parts(holes=0.08, features=("time_of_day",))


@pytest.mark.parametrize("name", IMPUTERS)
def test_an_imputer_keeps_what_s_says_and_fills_the_rest(holed, name):
    train, _, test = holed
    windows = test[:30]
    given_inputs = windows.batch().inputs
    filled = IMPUTERS[name](train).complete(windows, PRESENT)
    assert filled.dtype == np.float32
    assert np.isfinite(filled).all()
    ours = np.isfinite(given_inputs[:, :, PRESENT, 0])
    assert not ours.all()
    assert (filled[:, :, PRESENT, 0][ours] == given_inputs[:, :, PRESENT, 0][ours]).all()
    assert (filled[..., 1:] == given_inputs[..., 1:]).all()


@pytest.mark.parametrize("name", IMPUTERS)
def test_an_imputer_never_looks_at_the_absent(name):
    train, _, test = parts()
    changed = np.array(test.series.values)
    absent = np.setdiff1d(np.arange(7), PRESENT)
    changed[:, absent] = np.random.default_rng(0).normal(size=(len(changed), 4)) * 100
    other = hourly(changed).windows(LOOKBACK, HORIZON)
    imputer = IMPUTERS[name](train)
    assert (imputer.complete(test[:20], PRESENT) == imputer.complete(other[:20], PRESENT)).all()


@pytest.mark.parametrize("name", FORECASTERS)
def test_a_forecaster_never_looks_at_the_absent(name):
    train, _, test = parts()
    changed = np.array(test.series.values)
    changed[:, np.setdiff1d(np.arange(7), PRESENT)] = np.nan
    other = hourly(changed).windows(LOOKBACK, HORIZON)
    forecaster = FORECASTERS[name](train)
    assert (forecaster(test[:20], PRESENT) == forecaster(other[:20], PRESENT)).all()


@pytest.mark.parametrize("name", IMPUTERS)
def test_an_imputation_depends_on_neither_the_batch_nor_what_was_asked_before(holed, name):
    train, _, test = holed
    imputer = IMPUTERS[name](train)
    whole = imputer.complete(test[:24], PRESENT)
    imputer.complete(test[:3], np.array([1, 4]))
    some = imputer.complete(test[1:24:2], PRESENT)
    again = IMPUTERS[name](train).complete(test[:24], PRESENT)
    np.testing.assert_allclose(some, whole[1::2], rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(again, whole)


@pytest.mark.parametrize("name", IMPUTERS)
def test_everything_present_stays_as_it_is(name):
    train, _, test = parts()
    filled = IMPUTERS[name](train).complete(test[:5], np.arange(7))
    assert (filled[..., 0] == test[:5].readings).all()


@pytest.mark.parametrize("name", IMPUTERS)
def test_an_imputer_takes_no_windows_at_all(name):
    train, _, test = parts()
    assert IMPUTERS[name](train).complete(test[:0], PRESENT).shape == (0, LOOKBACK, 7, 1)


@pytest.mark.parametrize("name", FORECASTERS)
def test_a_forecaster_gives_finite_forecasts_of_s_in_the_order_named(holed, name):
    train, _, test = holed
    forecaster = FORECASTERS[name](train)
    forecast = forecaster(test[:20], PRESENT)
    assert forecast.shape == (20, HORIZON, 3)
    assert forecast.dtype == np.float32
    assert np.isfinite(forecast).all()
    turned = forecaster(test[:20], PRESENT[::-1])
    np.testing.assert_allclose(turned[:, :, ::-1], forecast, rtol=1e-5)
    np.testing.assert_allclose(forecaster(test[:20:3], PRESENT), forecast[::3], rtol=1e-5)


@pytest.mark.parametrize("name", [*IMPUTERS, *FORECASTERS])
def test_nothing_given_is_changed(name):
    train, _, test = parts(holes=0.05)
    before, asked = train.series.values.copy(), test.series.values.copy()
    made = {**IMPUTERS, **FORECASTERS}[name](train)
    (made.complete if name in IMPUTERS else made)(test[:4], PRESENT)
    np.testing.assert_array_equal(train.series.values, before)
    np.testing.assert_array_equal(test.series.values, asked)


@pytest.mark.parametrize("name", [*IMPUTERS, *FORECASTERS])
def test_windows_cut_otherwise_are_refused(name):
    train, _, _ = parts()
    made = {**IMPUTERS, **FORECASTERS}[name](train)
    run = made.complete if name in IMPUTERS else made
    other = hourly(factors(60)).windows(LOOKBACK + 1, HORIZON)
    with pytest.raises(InputError, match=sentence("5 + 3 steps of 7 variables with 0 time features), got 6 + 3")):
        run(other, PRESENT)
    with pytest.raises(InputError, match="present holds index 7"):
        run(train[:2], np.array([1, 7]))
    with pytest.raises(InputError, match="windows must be Windows"):
        run(np.zeros((2, 5, 7)), PRESENT)
    with pytest.raises(InputError, match="present names 1 twice"):
        run(train[:2], np.array([1, 1]))


@pytest.mark.parametrize("name", [*IMPUTERS, *FORECASTERS])
def test_training_on_nothing_is_refused(name):
    train, _, _ = parts()
    fit = {**IMPUTERS, **FORECASTERS}[name]
    with pytest.raises(InputError, match="train has no window"):
        fit(train[:0])
    with pytest.raises(InputError, match="train must be Windows"):
        fit(train.series)


def test_the_model_runs_on_the_completed_windows():
    train, _, test = parts()
    imputer = RidgeImputer.fit(train)
    seen = []

    def model(x):
        seen.append(x)
        return np.repeat(x[:, -1:, :, 0], HORIZON, axis=1) + x.mean(axis=(1, 2, 3))[:, None, None]

    forecast = imputed(model, imputer)(test[:6], PRESENT)
    completed = imputer.complete(test[:6], PRESENT)
    np.testing.assert_array_equal(seen[0], completed)
    np.testing.assert_allclose(forecast, model(completed)[:, :, PRESENT])


def test_a_forecaster_is_asked_for_s_alone():
    train, _, test = parts()

    class Model:
        lookback, horizon, variables = LOOKBACK, HORIZON, test.series.variables
        wanted = None

        def __call__(self, inputs, wanted=None):
            self.wanted = wanted
            return np.zeros((len(inputs), HORIZON, len(wanted)))

    model = Model()
    assert imputed(model, RidgeImputer.fit(train))(test[:6], PRESENT).shape == (6, HORIZON, 3)
    assert model.wanted.tolist() == PRESENT.tolist()


def test_a_model_of_the_wrong_shape_is_told_so():
    train, _, test = parts()
    method = imputed(lambda x: x[:, :, :, 0], RidgeImputer.fit(train))
    with pytest.raises(
        InputError, match=sentence("the callable model must turn inputs of shape (6, 5, 7, 1) into [b, h, n]")
    ):
        method(test[:6], PRESENT)
    with pytest.raises(InputError, match="model must be a function"):
        imputed("mtgnn", RidgeImputer.fit(train))


def test_all_of_them_can_be_compared():
    train, _, test = parts()

    def model(x):
        return np.repeat(x.mean(axis=2)[:, -1:], HORIZON, axis=1) * 0.1 + np.repeat(x[:, -1:, :, 0], HORIZON, axis=1)

    methods = {name: imputed(model, fit(train)) for name, fit in IMPUTERS.items()}
    methods |= {name: fit(train) for name, fit in FORECASTERS.items()}
    methods["oracle"] = lambda windows, present: model(windows.batch().inputs)[:, :, present]
    found = evaluate(methods, test[::4], [PRESENT, np.array([1, 6])], progress=False)
    assert all(np.isfinite(errors).all() for errors in found.mae.values())
    assert found.gap("ridge").gap != found.gap("knne").gap


@settings(max_examples=60)
@given(st.lists(st.one_of(st.just(float("nan")), st.floats(-5, 5)), min_size=1, max_size=9))
def test_holes_are_filled_along_the_steps(column):
    filled = without_holes(np.array(column)[None, :, None])
    np.testing.assert_allclose(filled.ravel(), twins.interpolated(column), atol=1e-9)


def test_importing_the_baselines_brings_neither_torch_nor_scikit_learn():
    code = (
        "import sys, subcast.baselines; "
        "print([m for m in ('torch', 'sklearn', 'pandas', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
