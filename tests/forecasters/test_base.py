"""Every forecaster keeps the contract of ForecastModule, and agrees with its slow twin."""

import copy

import numpy as np
import pytest
import torch

from forecasters.examples import GRAPH_MODELS, MODELS, build, inputs, run
from subcast.errors import InputError
from subcast.forecasters import FORECASTERS
from twins.forecasters_twins import TWINS


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

    def test_dropout_only_in_training_mode(self, name):
        model, x = build(name).train(), inputs()
        assert not torch.equal(run(model, x), run(model, x))

    def test_input_is_not_modified(self, name):
        model, x = build(name), inputs()
        before = x.clone()
        run(model, x, present=torch.arange(7) < 3)
        model.train()(x).sum().backward()
        assert torch.equal(x, before)

    def test_forecast_does_not_depend_on_the_rest_of_the_batch(self, name):
        model, x = build(name), inputs(b=6)
        together = run(model, x)
        order = [4, 0, 5, 1, 3, 2]
        torch.testing.assert_close(run(model, x[order]), together[order], atol=1e-5, rtol=0)
        torch.testing.assert_close(run(model, x[2:3]), together[2:3], atol=1e-5, rtol=0)

    def test_more_windows_than_are_computed_at_once(self, name):
        model, x = build(name), inputs(b=9)
        whole = run(model, x)
        model.rows_at_once = 14
        torch.testing.assert_close(run(model, x), whole, atol=1e-5, rtol=0)

    def test_empty_batch(self, name):
        assert run(build(name), inputs(b=0)).shape == (0, 5, 7)

    def test_wanted_selects_outputs(self, name):
        model, x = build(name), inputs()
        wanted = torch.tensor([5, 0, 3])
        torch.testing.assert_close(run(model, x, wanted=wanted), run(model, x)[:, :, wanted], atol=1e-5, rtol=0)

    def test_absent_inputs_have_no_effect(self, name):
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

    def test_equal_weights_give_equal_forecasts(self, name):
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
    def test_wrong_shapes_are_rejected(self, name, shape):
        with pytest.raises(InputError, match=r"x must be \[b, t, n, f\] with 12 steps, 7 variables and 1 features"):
            build(name)(torch.zeros(shape))

    def test_present_must_be_a_mask(self, name):
        with pytest.raises(InputError, match="present must be a boolean mask of the 7 variables"):
            build(name)(inputs(), present=torch.tensor([0, 1]))

    @pytest.mark.parametrize("bad", [{"horizon": 0}, {"lookback": -1}, {"n": 0}, {"dropout": 1.0}])
    def test_bad_settings_are_rejected(self, name, bad):
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
    """Build a model whose graph is sparse if it is large."""
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
    """Return the variables whose output of the first graph convolution changes with one input variable."""
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
        # The graph convolution alone: MTGNN's normalization and ASTGCN's attention use all variables in any case.
        model = build(name, n_features=2, graph="identity" if graph == "identity" else np.ones((7, 7)))
        changed = graph_convolution(name, model, moved=2)
        assert changed == ({2} if graph == "identity" else set(range(7)))

    def test_identity_is_a_graph_without_edges(self, name):
        model, x = build(name, graph="identity"), inputs()
        assert (model.adjacency() == 0).all()
        assert torch.equal(run(model, x), run(build(name, graph=np.zeros((7, 7))), x))

    def test_the_diagonal_is_ignored(self, name):
        graph = np.random.default_rng(0).random((7, 7))
        x = inputs()
        with_loops, without = build(name, graph=graph), build(name, graph=graph * (1 - np.eye(7)))
        assert torch.equal(run(with_loops, x), run(without, x))
        assert (with_loops.adjacency().diagonal() == 0).all()

    def test_bad_graphs_are_rejected(self, name):
        for graph, sentence in (
            (np.zeros((3, 3)), r"graph must be \[n, n\] = \(7, 7\), got shape \(3, 3\)"),
            (np.full((7, 7), np.nan), "finite weights of 0 or more"),
            ("roads", "graph must be"),
        ):
            with pytest.raises(InputError, match=sentence):
                build(name, graph=graph)


class TestAbilities:
    def test_titles(self):
        titles = [kind.title for kind in FORECASTERS.values()]
        assert all(titles)
        assert len(set(titles)) == len(titles)

    @pytest.mark.parametrize("name", MODELS)
    def test_a_model_that_needs_a_graph_cannot_be_built_without(self, name):
        sizes = {"n_variables": 3, "lookback": 4, "horizon": 2}
        if FORECASTERS[name].needs_graph:
            with pytest.raises(TypeError, match="graph"):
                FORECASTERS[name](**sizes)
        else:
            assert FORECASTERS[name](**sizes).n_variables == 3

    @pytest.mark.parametrize("name", GRAPH_MODELS)
    def test_only_a_model_that_learns_its_graph_accepts_learned(self, name):
        if FORECASTERS[name].learns_graph:
            assert any("embedding" in key for key in build(name, graph="learned").state_dict())
        else:
            with pytest.raises(InputError, match="graph must be an adjacency"):
                build(name, graph="learned")

    @pytest.mark.parametrize("name", GRAPH_MODELS)
    def test_direction_of_the_graph(self, name):
        graph = np.zeros((7, 7))
        graph[2, 4] = 1.0
        model = build(name, n_features=2, graph=graph)
        if name == "mtgnn":  # it passes information both ways with weights of their own: keep those along the rows
            hop = model.layers[0].mix_hop
            with torch.no_grad():
                hop.backwards.weight.zero_()
        receiver, sender = (2, 4) if FORECASTERS[name].listens_along_rows else (4, 2)
        assert graph_convolution(name, model, moved=sender) == {sender, receiver}
        assert graph_convolution(name, model, moved=receiver) == {receiver}
