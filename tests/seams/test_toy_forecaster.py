"""A user's forecaster in one file: four members, or an object with a `predict`."""

import numpy as np
import pytest

import subcast as sc
from subcast.adapters import adapt
from subcast.errors import InputError
from subcast.forecasters.protocol import Abilities, AbleForecaster, Forecaster
from subcast.storage.state import State
from subset.examples import HORIZON, LOOKBACK, mixing, waves

PRESENT = [0, 3]


@pytest.fixture(scope="module")
def parts():
    return waves(steps=400).split(LOOKBACK, HORIZON)


class Plain:
    """The protocol and nothing else."""

    lookback, horizon, variables = LOOKBACK, HORIZON, waves().variables

    def __init__(self):
        self.asked = []

    def __call__(self, inputs, wanted=None):
        self.asked.append(wanted)
        forecasts = mixing(inputs)
        return forecasts if wanted is None else forecasts[:, :, wanted]


class WithPredict:
    """An object with sizes and a `predict(x)` of its own, which knows nothing of `wanted`."""

    lookback, horizon, variables = LOOKBACK, HORIZON, waves().variables

    def predict(self, x):
        return mixing(x)


class CallableWithPredict(WithPredict):
    """It can be called, too."""

    def __call__(self, x):
        return mixing(x)


@pytest.mark.parametrize("model", [Plain(), WithPredict(), CallableWithPredict()], ids=lambda m: type(m).__name__)
def test_it_forecasts_like_the_function_inside(parts, model):
    settings = sc.Settings()
    ours = sc.SubsetForecaster(model, settings=settings, progress=False).fit(parts.train)
    plain = sc.SubsetForecaster(mixing, settings=settings, progress=False).fit(parts.train)
    for absent in (False, True):
        np.testing.assert_array_equal(
            ours.predict_many(parts.test, PRESENT, absent=absent).mean,
            plain.predict_many(parts.test, PRESENT, absent=absent).mean,
        )


def test_it_is_called_with_the_wanted_variables(parts):
    model = Plain()
    robust = sc.SubsetForecaster(model, settings=sc.Settings(), progress=False).fit(parts.train)
    model.asked.clear()
    robust.predict_many(parts.test[:2], PRESENT)
    assert [wanted.tolist() for wanted in model.asked] == [PRESENT]


@pytest.mark.parametrize("model", [Plain(), WithPredict(), mixing], ids=["plain", "with predict", "function"])
def test_adapt_always_returns_a_forecaster(model):
    forecaster = adapt(model, lookback=LOOKBACK, horizon=HORIZON, variables=waves().variables)
    assert isinstance(forecaster, AbleForecaster)
    assert isinstance(forecaster, Forecaster)
    x = np.random.default_rng(0).normal(size=(2, LOOKBACK, 6, 1)).astype(np.float32)
    np.testing.assert_array_equal(forecaster(x, np.array([4, 1])), forecaster(x)[:, :, [4, 1]])


class Able(Plain):
    """One that declares what else it can do."""

    abilities = Abilities(partial=True, missing=True)

    def forecast_partial(self, inputs, present, wanted=None):
        return np.full((len(inputs), HORIZON, len(wanted)), 7.0, dtype=np.float32)

    def state(self):
        return State()


def test_declared_abilities_are_used(parts):
    from subcast.evaluation import partial_inputs

    model = Able()
    robust = sc.SubsetForecaster(model, settings=sc.Settings(), progress=False).fit(parts.train)
    assert robust.fitted_.model is model
    assert (partial_inputs(robust)(parts.test, np.array(PRESENT)) == 7).all()
    plain = sc.SubsetForecaster(Plain(), settings=sc.Settings(), progress=False).fit(parts.train)
    assert not (partial_inputs(plain)(parts.test, np.array(PRESENT)) == 7).any()


class Crowded(WithPredict):
    """`wanted` is not the second argument."""

    def predict(self, x, present=None, wanted=None):
        assert present is None
        forecasts = mixing(x)
        return forecasts if wanted is None else forecasts[:, :, wanted]


class KeywordOnly(WithPredict):
    variables = None

    def predict(self, x, *, wanted=None):
        forecasts = mixing(x)
        return forecasts if wanted is None else forecasts[:, :, wanted]


@pytest.mark.parametrize("model", [Crowded(), KeywordOnly()], ids=["third", "keyword"])
def test_wanted_is_passed_by_name(parts, model):
    ours = sc.SubsetForecaster(model, settings=sc.Settings(), progress=False).fit(parts.train)
    plain = sc.SubsetForecaster(mixing, settings=sc.Settings(), progress=False).fit(parts.train)
    np.testing.assert_array_equal(
        ours.predict_many(parts.test, PRESENT).mean, plain.predict_many(parts.test, PRESENT).mean
    )


def test_abilities_without_their_members_are_refused(parts):
    class Half(Plain):
        abilities = Abilities(missing=True)

    with pytest.raises(InputError, match="declares abilities, so it must have forecast_partial, state"):
        sc.SubsetForecaster(Half(), progress=False).fit(parts.train)
