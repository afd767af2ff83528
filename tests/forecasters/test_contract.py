"""Every forecaster keeps one contract, and agrees with its straightforward twin."""

import copy

import numpy as np
import pytest
import torch

from subcast.errors import InputError
from subcast.forecasters import FORECASTERS
from subcast.forecasters.graph import Propagation
from twins.forecasters_twins import TWINS, mtgnn_adjacency

MODELS = sorted(FORECASTERS)
GRAPH_MODELS = ["astgcn", "mstgcn", "mtgnn"]


def build(name, n=7, lookback=12, horizon=5, n_features=1, seed=0, **settings):
    """A small model with nothing left at its trivial start (scales of 1, shifts of 0)."""
    torch.manual_seed(seed)
    if FORECASTERS[name].needs_graph and "graph" not in settings:
        settings["graph"] = (torch.rand(n, n) * (torch.rand(n, n) < 0.6)).numpy()
    model = FORECASTERS[name](
        n_variables=n, lookback=lookback, horizon=horizon, n_features=n_features, **settings
    ).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def inputs(b=3, n=7, lookback=12, n_features=1, seed=1):
    return torch.randn(b, lookback, n, n_features, generator=torch.Generator().manual_seed(seed))


def run(model, x, **options):
    with torch.no_grad():
        return model(x, **options)


@pytest.mark.parametrize("name", MODELS)
class TestContract:
    @pytest.mark.parametrize(
        ("n", "lookback", "horizon", "n_features"),
        [(7, 12, 5, 1), (1, 12, 12, 1), (2, 1, 1, 1), (5, 3, 7, 2), (4, 40, 2, 3), (70, 12, 3, 2)],
    )
    def test_any_size(self, name, n, lookback, horizon, n_features):
        model = build(name, n, lookback, horizon, n_features)
        out = run(model, inputs(2, n, lookback, n_features))
        assert out.shape == (2, horizon, n)
        assert torch.isfinite(out).all()

    def test_deterministic_in_evaluation(self, name):
        model, x = build(name), inputs()
        assert torch.equal(run(model, x), run(model, x))
        assert torch.equal(run(model, x), run(build(name), x))

    def test_dropout_only_in_training(self, name):
        model, x = build(name).train(), inputs()
        assert not torch.equal(run(model, x), run(model, x))

    def test_input_untouched(self, name):
        model, x = build(name), inputs()
        before = x.clone()
        run(model, x, present=torch.arange(7) < 3)
        model.train()(x).sum().backward()
        assert torch.equal(x, before)

    def test_batch_order_and_company_are_irrelevant(self, name):
        model, x = build(name), inputs(b=6)
        together = run(model, x)
        order = [4, 0, 5, 1, 3, 2]
        torch.testing.assert_close(run(model, x[order]), together[order], atol=1e-5, rtol=0)
        torch.testing.assert_close(run(model, x[2:3]), together[2:3], atol=1e-5, rtol=0)

    def test_more_windows_than_are_worked_on_at_once(self, name):
        model, x = build(name), inputs(b=9)
        whole = run(model, x)
        model.rows_at_once = 14
        torch.testing.assert_close(run(model, x), whole, atol=1e-5, rtol=0)

    def test_no_window_at_all(self, name):
        assert run(build(name), inputs(b=0)).shape == (0, 5, 7)

    def test_wanted_is_a_choice_of_outputs(self, name):
        model, x = build(name), inputs()
        wanted = torch.tensor([5, 0, 3])
        torch.testing.assert_close(run(model, x, wanted=wanted), run(model, x)[:, :, wanted], atol=1e-5, rtol=0)

    def test_absent_inputs_do_not_count(self, name):
        model, x = build(name, n_features=2), inputs(n_features=2)
        present = torch.tensor([True, False, True, True, False, True, True])
        other = x.clone()
        other[:, :, ~present] = 99.0
        assert torch.equal(run(model, x, present=present), run(model, other, present=present))
        assert not torch.equal(run(model, x, present=present), run(model, x))
        other[:, :, ~present] = torch.nan
        assert torch.equal(run(model, x, present=present), run(model, other, present=present))

    def test_every_parameter_learns(self, name):
        model = build(name, n=8).train()
        model(inputs(n=8)).square().sum().backward()
        idle = {
            key
            for key, parameter in model.named_parameters()
            if parameter.grad is None or not bool((parameter.grad != 0).any())
        }
        assert all("no_graph" in key for key in idle), idle

    def test_weights_make_the_model(self, name):
        model, x = build(name), inputs()
        twin = build(name, seed=5)
        assert not torch.equal(run(twin, x), run(model, x))
        twin.load_state_dict(copy.deepcopy(model.state_dict()))
        assert torch.equal(run(twin, x), run(model, x))

    @pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
    def test_moves_to_the_gpu_and_back(self, name):
        model, x = build(name), inputs()
        here = run(model, x)
        there = run(model.cuda(), x.cuda()).cpu()
        torch.testing.assert_close(there, here, atol=1e-4, rtol=1e-4)
        assert torch.equal(run(model.cpu(), x), here)

    @pytest.mark.parametrize("shape", [(3, 12, 7), (3, 11, 7, 1), (3, 12, 6, 1), (3, 12, 7, 2)])
    def test_wrong_shapes_get_a_sentence(self, name, shape):
        with pytest.raises(InputError, match=r"x must be \[b, t, n, f\] with 12 steps, 7 variables and 1 features"):
            build(name)(torch.zeros(shape))

    def test_present_must_be_a_mask(self, name):
        with pytest.raises(InputError, match="present must be a boolean mask of the 7 variables"):
            build(name)(inputs(), present=torch.tensor([0, 1]))

    @pytest.mark.parametrize("bad", [{"horizon": 0}, {"lookback": -1}, {"n": 0}, {"dropout": 1.0}])
    def test_bad_settings_get_a_sentence(self, name, bad):
        with pytest.raises(InputError, match="must be"):
            build(name, **{"graph": np.zeros((7, 7)), **bad} if FORECASTERS[name].needs_graph else bad)


@pytest.mark.parametrize("name", MODELS)
class TestAgainstTwin:
    @pytest.mark.parametrize("n_features", [1, 2])
    @pytest.mark.parametrize("n", [1, 6, 80])  # 80: sparse graphs are gathered
    def test_forecasts(self, name, n, n_features):
        model, x = sparse(name, n, n_features), inputs(4, n, n_features=n_features)
        present = torch.rand(n, generator=torch.Generator().manual_seed(3)) < 0.5
        for mask in (None, present):
            with torch.no_grad():
                expected = TWINS[name](model, x, mask)
            torch.testing.assert_close(run(model, x, present=mask), expected, atol=1e-4, rtol=1e-4)

    @pytest.mark.parametrize("n", [6, 80])
    def test_gradients(self, name, n):
        model, x = sparse(name, n, 2).double(), inputs(3, n, n_features=2).double()
        fast, plain = (gradients(model, forward, x) for forward in (model, lambda x: TWINS[name](model, x)))
        assert fast.keys() == plain.keys()
        for key in plain:
            torch.testing.assert_close(
                fast[key], plain[key], atol=1e-6, rtol=1e-5, msg=lambda m, key=key: f"{key}: {m}"
            )

    @pytest.mark.parametrize(("lookback", "horizon"), [(1, 1), (5, 3), (30, 2)])
    def test_other_lengths(self, name, lookback, horizon):
        model, x = build(name, 5, lookback, horizon), inputs(2, 5, lookback)
        with torch.no_grad():
            expected = TWINS[name](model, x)
        torch.testing.assert_close(run(model, x), expected, atol=1e-4, rtol=1e-4)


def sparse(name, n, n_features):
    """A model whose graph is sparse where it is large."""
    settings = {}
    if FORECASTERS[name].needs_graph:
        generator = torch.Generator().manual_seed(2)
        settings["graph"] = (
            torch.rand(n, n, generator=generator) * (torch.rand(n, n, generator=generator) < min(1, 8 / n))
        ).numpy()
    if name == "mtgnn":
        settings["neighbors"] = 10
    return build(name, n, 12, 3, n_features, **settings)


def gradients(model, forward, x):
    model.zero_grad()
    forward(x).abs().sum().backward()
    return {key: parameter.grad.clone() for key, parameter in model.named_parameters() if parameter.grad is not None}


def graph_convolution(name, model, moved):
    """The variables that the first graph convolution changes when one variable of its input moves."""
    layer = model.layers[0].mix_hop if name == "mtgnn" else model.blocks[0].graph_conv
    channels = 32 if name == "mtgnn" else 2
    shared = model._shared(None)
    x = torch.rand(2, 7, 3, channels, generator=torch.Generator().manual_seed(4))
    other = x.clone()
    other[:, moved] += 1.0
    more = (torch.softmax(torch.rand(2, 7, 7), dim=1),) if name == "astgcn" else ()
    graph = shared if name == "mtgnn" else (shared,)
    before, after = (layer(h, *graph, *more) for h in (x, other))
    return set((before != after).any(dim=3).any(dim=2).any(dim=0).nonzero().flatten().tolist())


@pytest.mark.parametrize("name", GRAPH_MODELS)
class TestGraphs:
    def test_absent_variables_lose_their_edges(self, name):
        present = torch.tensor([True, False, True, True, False, True, True])
        adjacency = build(name).adjacency(present)
        assert (adjacency[~present] == 0).all()
        assert (adjacency[:, ~present] == 0).all()
        assert (adjacency[present][:, present] != 0).any()

    @pytest.mark.parametrize("graph", ["identity", "full"])
    def test_identity_graph_passes_nothing_between_variables(self, name, graph):
        # The graph convolution alone: MTGNN's normalization and ASTGCN's attention run over all variables anyway.
        model = build(name, n_features=2, graph="identity" if graph == "identity" else np.ones((7, 7)))
        changed = graph_convolution(name, model, moved=2)
        assert changed == ({2} if graph == "identity" else set(range(7)))

    def test_identity_is_a_graph_without_edges(self, name):
        model, x = build(name, graph="identity"), inputs()
        assert (model.adjacency() == 0).all()
        assert torch.equal(run(model, x), run(build(name, graph=np.zeros((7, 7))), x))

    def test_the_diagonal_does_not_count(self, name):
        graph = np.random.default_rng(0).random((7, 7))
        x = inputs()
        with_loops, without = build(name, graph=graph), build(name, graph=graph * (1 - np.eye(7)))
        assert torch.equal(run(with_loops, x), run(without, x))
        assert (with_loops.adjacency().diagonal() == 0).all()

    def test_bad_graphs_get_a_sentence(self, name):
        for graph, sentence in (
            (np.zeros((3, 3)), r"graph must be \[n, n\] = \(7, 7\), got shape \(3, 3\)"),
            (np.full((7, 7), np.nan), "finite weights of 0 or more"),
            ("roads", "graph must be"),
        ):
            with pytest.raises(InputError, match=sentence):
                build(name, graph=graph)


class TestMTGNN:
    def test_published_number_of_parameters(self):
        model = FORECASTERS["mtgnn"](n_variables=140, lookback=12, horizon=12)
        assert sum(parameter.numel() for parameter in model.parameters()) == 308_796

    def test_edges_are_removed_before_the_strongest_are_chosen(self):
        model = build("mtgnn", n=12, neighbors=3)
        present = torch.arange(12) % 2 == 0
        adjacency = model.adjacency(present)
        torch.testing.assert_close(adjacency, mtgnn_adjacency(model, present))
        # A variable that keeps three present listeners must have found them among the present alone.
        best = model.graph_learning.neighbors
        whole = model.adjacency()
        assert ((adjacency != 0).sum(1) <= best).all()
        assert ((adjacency != 0).sum(1)[present] >= ((whole != 0) & present[None])[present].sum(1)).all()
        assert ((adjacency != 0).sum(1)[present] > ((whole != 0) & present[None])[present].sum(1)).any()

    def test_saturated_scores_are_still_told_apart(self):
        model = build("mtgnn", n=30, neighbors=2)
        with torch.no_grad():
            for embedding in (model.graph_learning.embedding1, model.graph_learning.embedding2):
                embedding.weight.mul_(50)
            learning = model.graph_learning
            m1 = torch.tanh(3 * learning.linear1(learning.embedding1.weight))
            m2 = torch.tanh(3 * learning.linear2(learning.embedding2.weight))
            score = m1 @ m2.T - m2 @ m1.T
        assert (torch.tanh(3 * score) == 1).sum(1).max() > 2  # more than two look equally strong
        for row, chosen in enumerate(model.adjacency()):
            kept = set(chosen.nonzero().flatten().tolist())
            assert kept <= set(score[row].argsort(descending=True)[:2].tolist())

    def test_no_randomness_in_the_graph_while_training(self):
        model = build("mtgnn", n=12, neighbors=3).train()
        assert torch.equal(model.adjacency(), model.adjacency())

    def test_noise_chooses_among_saturated_edges_in_training_alone(self):
        model = build("mtgnn", n=30, neighbors=3, graph_noise=0.01)
        with torch.no_grad():
            for embedding in (model.graph_learning.embedding1, model.graph_learning.embedding2):
                embedding.weight.mul_(50)
        assert torch.equal(model.adjacency(), mtgnn_adjacency(model))  # a forecast draws nothing
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
            assert torch.equal(adjacency[kept], plain[kept])  # what is kept keeps its strength
            lost = (plain > 0) & ~kept
            for row in range(30):
                if kept[row].any() and lost[row].any():  # nothing is given up for what is weaker by more than the noise
                    assert plain[row][lost[row]].max() <= plain[row][kept[row]].min() + 0.01

    def test_noise_of_weak_edges_takes_the_strongest(self):
        model = build("mtgnn", n=12, neighbors=3, graph_noise=1e-12).train()
        with torch.no_grad():
            for name, parameter in model.graph_learning.named_parameters():
                parameter.mul_(0.05 if "embedding" in name else 0.3)
        assert model.adjacency().max() < 0.99  # far from saturated
        torch.testing.assert_close(model.adjacency(), mtgnn_adjacency(model))

    def test_kernels_must_share_the_channels(self):
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
    def test_bad_settings_get_a_sentence(self, bad, sentence):
        with pytest.raises(InputError, match=sentence):
            build("mtgnn", **bad)


@pytest.mark.parametrize("name", ["mstgcn", "astgcn"])
def test_chebyshev_weights_start_as_wide_as_glorot_says(name):
    torch.manual_seed(0)
    model = FORECASTERS[name](n_variables=3, lookback=4, horizon=2, graph="identity", filters=64, time_filters=48)
    for block in model.blocks:
        theta = block.graph_conv.theta.detach()
        _, c, d = theta.shape
        expected = (2 / (c + d)) ** 0.5
        for matrix in theta:
            assert float(matrix.square().mean().sqrt()) == pytest.approx(expected, rel=0.25)


class TestTCN:
    def test_autoregressive_feeds_its_forecasts_back(self):
        model, x = build("tcn", autoregressive=True), inputs()
        with torch.no_grad():
            expected = TWINS["tcn"](model, x)
        torch.testing.assert_close(run(model, x), expected, atol=1e-5, rtol=1e-5)
        wanted = torch.tensor([6, 1])
        torch.testing.assert_close(run(model, x, wanted=wanted), expected[:, :, wanted], atol=1e-5, rtol=1e-5)

    def test_forecasts_of_absent_variables_are_not_fed_back(self):
        model, x = build("tcn", autoregressive=True), inputs()
        present = torch.tensor([True, False, True, True, False, True, True])
        with torch.no_grad():
            expected = TWINS["tcn"](model, x, present)
        forecast = run(model, x, present=present)
        torch.testing.assert_close(forecast, expected, atol=1e-5, rtol=1e-5)
        with torch.no_grad():  # shifting what it says of an absent variable shifts no other forecast
            model.output.bias[1] += 5.0
        shifted = run(model, x, present=present)
        torch.testing.assert_close(shifted[:, :, present], forecast[:, :, present], atol=1e-6, rtol=0)

    def test_autoregressive_needs_inputs_it_can_make(self):
        with pytest.raises(InputError, match="autoregressive needs inputs without time features"):
            build("tcn", n_features=2, autoregressive=True)


class TestLSTNet:
    @pytest.mark.parametrize("settings", [{"skip": 0}, {"highway": 0}, {"skip": 2, "highway": 3}, {"kernel": 20}])
    def test_parts_can_be_left_out(self, settings):
        model, x = build("lstnet", **settings), inputs()
        with torch.no_grad():
            expected = TWINS["lstnet"](model, x)
        torch.testing.assert_close(run(model, x), expected, atol=1e-5, rtol=1e-5)


def test_large_sparse_graphs_are_gathered():
    a = torch.zeros(100, 100)
    a[torch.arange(100), (torch.arange(100) + 1) % 100] = 1.0
    assert Propagation(a).values.shape == (100,)
    assert Propagation(torch.ones(100, 100)).values.shape == (100, 100)
