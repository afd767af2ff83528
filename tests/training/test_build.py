"""Building the module to train: models by name, their graphs, and modules of the user."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from subcast.errors import InputError
from subcast.training import train
from training.examples import QUICK, SMALL, waves


class TestGraphChoice:
    @pytest.mark.parametrize(
        ("graph", "own", "source"),
        [
            (None, True, "series"),
            (None, False, "correlation"),
            ("correlation", True, "correlation"),
            ("identity", True, "identity"),
            (np.ones((3, 3)), False, "given"),
        ],
    )
    def test_given_graphs(self, graph, own, source):
        series = waves(graph=np.eye(3, k=1) if own else None)
        train_part, val_part, _ = series.split(6, 4)
        config = replace(QUICK, epochs=1)
        forecaster = train("mstgcn", train_part, val_part, config, settings={"filters": 4}, graph=graph)
        assert forecaster.graph_source == source
        if source == "series":
            assert np.array_equal(forecaster.graph(), np.eye(3, k=1))

    def test_graph_learned_by_another_model(self, parts, trained):
        learner = train("mtgnn", parts.train, parts.val, replace(QUICK, epochs=1))
        assert learner.graph_source == "learned"
        forecaster = train("astgcn", parts.train, parts.val, replace(QUICK, epochs=1), graph=learner)
        assert forecaster.graph_source == "learned by mtgnn"
        assert np.array_equal(forecaster.graph(), learner.graph())
        with pytest.raises(InputError, match="graph must be a trained model with a graph of the same variables"):
            train("astgcn", parts.train, parts.val, QUICK, graph=trained)

    def test_series_without_a_graph_is_rejected(self, parts):
        with pytest.raises(InputError, match="graph='series' needs a series with a graph"):
            train("mstgcn", parts.train, parts.val, QUICK, graph="series")
        with pytest.raises(InputError, match="graph must be 'series', 'correlation', 'identity', an adjacency"):
            train("mstgcn", parts.train, parts.val, QUICK, graph="learned")


def test_settings_for_a_module_are_rejected(parts):
    with pytest.raises(InputError, match="settings and graph can only be given for a model by name"):
        train(nn.Linear(1, 1), parts.train, parts.val, QUICK, settings=SMALL)


@pytest.mark.parametrize(
    ("forward", "sentence"),
    [
        (lambda x, w: w * x[:, -1:, :, 0], r"such as \(1, 4, 3\), and Own returned \(1, 1, 3\)"),
        (lambda x, w: [w], r"to forecasts \[b, h, n\] .* and Own returned list"),
        (lambda x, w: x @ torch.zeros(5, 2), r"inputs \[b, t, n, f\] such as \(1, 6, 3, 1\) .* and Own failed: "),
    ],
)
def test_module_with_wrong_output_is_rejected(parts, tmp_path, forward, sentence):
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(()))

        def forward(self, x):
            return forward(x, self.weight)

    with pytest.raises(InputError, match=sentence):
        train(Own(), parts.train, parts.val, QUICK, folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_variable_dropout_needs_a_model_of_the_package(parts):
    with pytest.raises(InputError, match="variable_dropout needs a model of this package, and Linear is"):
        train(nn.Linear(1, 1), parts.train, parts.val, replace(QUICK, variable_dropout=0.5))


def test_module_without_weights_is_rejected(parts):
    with pytest.raises(InputError, match="model must have weights to train, and Identity has none"):
        train(nn.Identity(), parts.train, parts.val, QUICK)
