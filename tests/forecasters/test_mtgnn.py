"""MTGNN: the learned graph, its noise in training, and its settings."""

import pytest
import torch

from forecasters.examples import build
from subcast.errors import InputError
from subcast.forecasters import FORECASTERS
from twins.forecasters_twins import mtgnn_adjacency


def test_published_number_of_parameters():
    model = FORECASTERS["mtgnn"](n_variables=140, lookback=12, horizon=12)
    assert sum(parameter.numel() for parameter in model.parameters()) == 308_796


def test_edges_are_removed_before_the_strongest_are_chosen():
    model = build("mtgnn", n=12, neighbors=3)
    present = torch.arange(12) % 2 == 0
    adjacency = model.adjacency(present)
    torch.testing.assert_close(adjacency, mtgnn_adjacency(model, present))
    # With absent variables, the strongest edges are selected among the present variables only.
    best = model.graph_learning.neighbors
    whole = model.adjacency()
    assert ((adjacency != 0).sum(1) <= best).all()
    assert ((adjacency != 0).sum(1)[present] >= ((whole != 0) & present[None])[present].sum(1)).all()
    assert ((adjacency != 0).sum(1)[present] > ((whole != 0) & present[None])[present].sum(1)).any()


def test_saturated_scores_are_still_ordered():
    model = build("mtgnn", n=30, neighbors=2)
    with torch.no_grad():
        for embedding in (model.graph_learning.embedding1, model.graph_learning.embedding2):
            embedding.weight.mul_(50)
        learning = model.graph_learning
        m1 = torch.tanh(3 * learning.linear1(learning.embedding1.weight))
        m2 = torch.tanh(3 * learning.linear2(learning.embedding2.weight))
        score = m1 @ m2.T - m2 @ m1.T
    assert (torch.tanh(3 * score) == 1).sum(1).max() > 2  # more than two are equally strong after the tanh
    for row, weights in enumerate(model.adjacency()):
        kept = set(weights.nonzero().flatten().tolist())
        assert kept <= set(score[row].argsort(descending=True)[:2].tolist())


def test_graph_is_not_random_in_training():
    model = build("mtgnn", n=12, neighbors=3).train()
    assert torch.equal(model.adjacency(), model.adjacency())


def test_noise_selects_among_saturated_edges_only_in_training():
    model = build("mtgnn", n=30, neighbors=3, graph_noise=0.01)
    with torch.no_grad():
        for embedding in (model.graph_learning.embedding1, model.graph_learning.embedding2):
            embedding.weight.mul_(50)
    assert torch.equal(model.adjacency(), mtgnn_adjacency(model))  # no noise in forecasts
    present = torch.arange(30) % 3 > 0
    model.train()
    torch.manual_seed(0)
    drawn = [model.adjacency(present).detach() for _ in range(5)]
    assert any(not torch.equal(drawn[0], other) for other in drawn[1:])
    everything = build("mtgnn", n=30, neighbors=30)
    everything.load_state_dict(model.state_dict())
    plain = mtgnn_adjacency(everything, present)
    for adjacency in drawn:
        assert ((adjacency != 0).sum(1) <= 3).all()
        kept = adjacency != 0
        assert torch.equal(adjacency[kept], plain[kept])  # the kept edges keep their weights
        lost = (plain > 0) & ~kept
        for row in range(30):
            if kept[row].any() and lost[row].any():  # no edge is dropped for one that is weaker by more than the noise
                assert plain[row][lost[row]].max() <= plain[row][kept[row]].min() + 0.01


def test_tiny_noise_keeps_the_strongest_edges():
    model = build("mtgnn", n=12, neighbors=3, graph_noise=1e-12).train()
    with torch.no_grad():
        for name, parameter in model.graph_learning.named_parameters():
            parameter.mul_(0.05 if "embedding" in name else 0.3)
    assert model.adjacency().max() < 0.99  # far from saturated
    torch.testing.assert_close(model.adjacency(), mtgnn_adjacency(model))


def test_kernels_must_divide_the_channels():
    with pytest.raises(InputError, match="conv_channels must be a multiple of the 3 kernels"):
        build("mtgnn", kernels=(2, 3, 5))


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ({"skip_channels": 0}, "skip_channels must be a whole number of at least 1, got 0"),
        ({"end_channels": 0}, "end_channels must be"),
        ({"kernels": (0, 2)}, "each of kernels must be a whole number of at least 1, got 0"),
        ({"graph_noise": -0.01}, "graph_noise must be 0 or more, got -0.01"),
        ({"graph_noise": float("nan")}, "graph_noise must be 0 or more"),
        ({"saturation": 0}, "saturation must be above 0, got 0"),
        ({"saturation": float("nan")}, "saturation must be above 0"),
    ],
)
def test_bad_settings_are_rejected(bad, sentence):
    with pytest.raises(InputError, match=sentence):
        build("mtgnn", **bad)
