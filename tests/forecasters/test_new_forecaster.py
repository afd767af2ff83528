"""A new forecaster is one class: registered in FORECASTERS, it is trained, saved and loaded by its name."""

import numpy as np
import pytest
import torch
from torch import nn

from subcast.commands.train import run_training
from subcast.errors import InputError
from subcast.forecasters import FORECASTERS, ForecastModule
from subcast.forecasters.base import take
from subcast.forecasters.graph import check_graph
from subcast.forecasters.trained import TrainedForecaster
from subcast.training import train
from training.examples import QUICK, waves


class Drift(ForecastModule):
    """The last reading plus a learned change per step; with a graph, plus a share of the neighbors' mean."""

    title = "Drift"
    learns_graph = True

    def __init__(self, *, n_variables, lookback, horizon, n_features=1, graph="learned", start=0.0):
        name = graph if isinstance(graph, str) else "given"
        sizes = {"n_variables": n_variables, "lookback": lookback, "horizon": horizon, "n_features": n_features}
        super().__init__(**sizes, graph=name, start=start)
        self.change = nn.Parameter(torch.full((horizon, n_variables), start))
        if name == "learned":
            self.edges = nn.Parameter(torch.full((n_variables, n_variables), 0.01))
        else:
            given = torch.zeros(n_variables, n_variables) if isinstance(graph, str) else check_graph(graph, n_variables)
            self.register_buffer("edges", given)

    def adjacency(self, present=None):
        return self.edges

    def _windows(self, x, shared, wanted):
        last = x[:, -1:, :, 0]  # [b, 1, n]
        return take(last + last @ self.adjacency().T + self.change, wanted, 2)


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    monkeypatch.setitem(FORECASTERS, "drift", Drift)


@pytest.fixture(scope="module")
def parts():
    return waves().split(6, 4)


def test_trained_by_name_with_settings(parts):
    forecaster = train("drift", parts.train, parts.val, QUICK, settings={"start": 0.5})
    assert (forecaster.model, forecaster.graph_source) == ("drift", "learned")
    assert forecaster.module.settings["start"] == 0.5
    x = parts.test.batch().inputs
    assert forecaster(x).shape == (len(x), 4, 3)
    np.testing.assert_allclose(forecaster.predict(x, wanted=["v2"]), forecaster(x)[:, :, [2]], rtol=1e-5)


def test_an_instance_gets_the_registered_name(parts):
    module = Drift(n_variables=3, lookback=6, horizon=4, graph="identity")
    forecaster = train(module, parts.train, parts.val, QUICK)
    assert (forecaster.model, forecaster.graph_source) == ("drift", "identity")


def test_saved_and_loaded(parts, tmp_path):
    forecaster = train("drift", parts.train, parts.val, QUICK, folder=tmp_path / "drift")
    x = parts.test.batch().inputs
    np.testing.assert_array_equal(TrainedForecaster.load(tmp_path / "drift")(x), forecaster(x))


def test_its_graph_serves_another_model(parts):
    forecaster = train("drift", parts.train, parts.val, QUICK)
    other = train("mstgcn", parts.train, parts.val, QUICK, settings={"filters": 4}, graph=forecaster)
    assert other.graph_source == "learned by drift"


@pytest.mark.parametrize(
    ("declared", "source"),
    [({"needs_graph": True, "learns_graph": False}, "correlation"), ({"learns_graph": True}, "learned")],
)
def test_declared_abilities_decide_on_the_graph(parts, monkeypatch, declared, source):
    for ability, value in declared.items():
        monkeypatch.setattr(Drift, ability, value)
    assert train("drift", parts.train, parts.val, QUICK).graph_source == source


def test_without_a_graph_none_can_be_given(parts, monkeypatch):
    monkeypatch.setattr(Drift, "learns_graph", False)
    with pytest.raises(InputError, match="graph cannot be given for drift, which uses no graph"):
        train("drift", parts.train, parts.val, QUICK, graph="identity")


def test_trained_by_name_from_the_command_line(tmp_path, capsys):
    waves().save(tmp_path / "readings.csv")
    options = {"lookback": 6, "horizon": 4, "epochs": 1, "threads": 1, "progress": False}
    run_training(str(tmp_path / "readings.csv"), "drift", tmp_path / "model", **options)
    assert "graph: learned" in capsys.readouterr().out
    assert TrainedForecaster.load(tmp_path / "model").model == "drift"
