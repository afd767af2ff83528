"""Abilities are declared: those of trained networks, of users' modules and of adapted models."""

from pathlib import Path

import numpy as np
import pytest
from torch import nn

from subcast.adapters import from_callable
from subcast.forecasters import FORECASTERS
from subcast.forecasters.protocol import Abilities, AbleForecaster, Forecaster
from subcast.forecasters.trained import TrainedForecaster
from subcast.scaling import Scaler

STORED = Path(__file__).parents[1] / "data" / "checkpoints"


@pytest.mark.parametrize("name", sorted(FORECASTERS))
def test_the_packages_own_models_can_do_everything(name):
    model = TrainedForecaster.load(STORED / name)
    assert isinstance(model, AbleForecaster)
    assert model.abilities == Abilities(partial=True, missing=True, storable=True)
    x = np.random.default_rng(0).normal(20, 5, size=(2, 12, 5, 2)).astype(np.float32)
    np.testing.assert_allclose(model(x, np.array([3, 1])), model(x)[:, :, [3, 1]], rtol=1e-4, atol=1e-4)
    partial = model.forecast_partial(x, np.array([1, 3]), np.array([3]))
    np.testing.assert_array_equal(partial, model.predict(x, present=["east", "west"], wanted=["west"]))
    has_graph = FORECASTERS[name].needs_graph or FORECASTERS[name].learns_graph
    assert (model.graph() is not None) == has_graph


def test_a_module_of_the_users_own_takes_missing_readings_only():
    class Last(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(nn.Linear(1, 1).weight.detach())

        def forward(self, x):
            return x[:, -2:, :, 0]

    model = TrainedForecaster(Last(), "Last", Scaler(np.zeros(3), np.ones(3)), np.zeros(3), ("a", "b", "c"), 4, 2)
    assert model.abilities == Abilities(missing=True)
    assert model.graph() is None


def test_an_adapted_function_can_only_forecast():
    def last(x):
        return x[:, -2:, :, 0]

    model = from_callable(last, lookback=3, horizon=2)
    assert isinstance(model, Forecaster)
    assert model.abilities == Abilities()
