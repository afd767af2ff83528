"""The changes that are tried as causes of what Partial loses: each changes what it says, and nothing stays changed."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from benchmarks.scripts import script
from forecasters.examples import build, inputs, run
from subcast import load_dataset
from subcast.training import TrainConfig, train
from twins.forecasters_twins import TWINS, chebyshev_terms

causes = script("partial_causes")
PRESENT = np.array([1, 3, 4])


@pytest.fixture(scope="module")
def windows():
    return load_dataset("clouds", n_plants=6, n_steps=600).split(12, 3, protocol="paper")


@pytest.fixture(scope="module")
def models(windows):
    config = TrainConfig(epochs=1, progress=False)
    graphs = {"mtgnn": None, "astgcn": np.ones((6, 6)), "mstgcn": np.ones((6, 6))}
    return {name: train(name, windows.train, windows.val, config, graph=graph) for name, graph in graphs.items()}


def normalized(model, windows, absent=None):
    """The inputs as the module takes them, [b, t, n, 1], with absent variables at a value in raw units."""
    raw = windows.batch().inputs.astype(np.float64)
    if absent is not None:
        for variable in set(range(6)) - set(PRESENT):
            raw[:, :, variable, 0] = absent[variable]
    return torch.tensor((raw - model.scaler.mean) / model.scaler.scale, dtype=torch.float32)


def raw_forecast(model, x, **options):
    with torch.no_grad():
        forecast = model.module(x, **options)
    return (forecast.numpy() * model.scaler.scale + model.scaler.mean)[:, :, PRESENT]


@pytest.mark.parametrize("name", ["mtgnn", "astgcn", "mstgcn"])
def test_absent_inputs_get_the_value_and_edges_stay(models, windows, name):
    model, test = models[name], windows.test[::7]
    values = {
        causes.edges_kept: np.full(6, model.scaler.mean[0]),
        causes.own_mean: model.means,
        causes.raw_zero: np.zeros(6),
    }
    for change, value in values.items():
        expected = raw_forecast(model, normalized(model, test, value))
        np.testing.assert_allclose(change(model, test, PRESENT), expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("name", ["astgcn", "mstgcn"])
def test_only_edges_are_removed(models, windows, name):
    model, test = models[name], windows.test[::7]
    x, mask = normalized(model, test), torch.zeros(6, dtype=torch.bool)
    mask[PRESENT] = True
    with torch.no_grad():
        forecast = TWINS[name](model.module, x, terms=chebyshev_terms(model.module, mask)).numpy()
    expected = (forecast * model.scaler.scale + model.scaler.mean)[:, :, PRESENT]
    np.testing.assert_allclose(causes.only_edges_removed(model, test, PRESENT), expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("name", ["mtgnn", "astgcn", "mstgcn"])
def test_a_change_leaves_the_model_as_it_was(models, windows, name):
    model, test = models[name], windows.test[::7]
    before = causes.as_published(model, test, PRESENT)
    changed = [causes.only_edges_removed] * (name != "mstgcn")  # there, nothing but edges carries other variables
    changed += [causes.attention_to_present] * (name == "astgcn") + [causes.own_eigenvalue] * (name != "mtgnn")
    changed += [causes.degrees_kept] * (name != "mtgnn") + [causes.polynomials_masked] * (name == "astgcn")
    for change in changed:
        assert not np.allclose(change(model, test, PRESENT), before, rtol=1e-5)
        np.testing.assert_array_equal(causes.as_published(model, test, PRESENT), before)


@pytest.mark.parametrize("name", ["astgcn", "mstgcn"])
def test_the_diagonal_of_the_laplacian_stays(models, windows, name):
    model, test = models[name], windows.test[::7]
    module = model.module
    laplacian = chebyshev_terms(module)[1].numpy()
    for i in range(6):
        for j in range(6):
            if i != j and not {i, j} <= set(PRESENT):
                laplacian[i, j] = 0
    eye = np.eye(6)
    terms = [torch.tensor(term, dtype=torch.float32) for term in (eye, laplacian, 2 * laplacian @ laplacian - eye)]
    mask = torch.zeros(6, dtype=torch.bool)
    mask[PRESENT] = True
    with torch.no_grad():
        forecast = TWINS[name](module, normalized(model, test), present=mask, terms=terms).numpy()
    expected = (forecast * model.scaler.scale + model.scaler.mean)[:, :, PRESENT]
    np.testing.assert_allclose(causes.degrees_kept(model, test, PRESENT), expected, rtol=1e-4, atol=1e-3)


def test_absent_rows_of_the_polynomials_are_removed(models, windows):
    model, test = models["astgcn"], windows.test[::7]
    mask = torch.zeros(6, dtype=torch.bool)
    mask[PRESENT] = True
    first, *terms = chebyshev_terms(model.module)
    terms = [first, *(term * (mask[:, None] & mask[None, :]) for term in terms)]
    with torch.no_grad():
        forecast = TWINS["astgcn"](model.module, normalized(model, test), present=mask, terms=terms).numpy()
    expected = (forecast * model.scaler.scale + model.scaler.mean)[:, :, PRESENT]
    np.testing.assert_allclose(causes.polynomials_masked(model, test, PRESENT), expected, rtol=1e-4, atol=1e-3)


def test_variables_can_be_left_out(models, windows):
    model, test = models["mtgnn"], windows.test[::7]
    every = np.arange(6)
    whole = model.predict(test.batch().inputs)
    np.testing.assert_allclose(causes.variables_left_out(model, test, every), whole, rtol=1e-4, atol=1e-3)
    alone = causes.variables_left_out(model, test, PRESENT)
    assert alone.shape == (len(test), 3, 3)
    assert not np.allclose(alone, causes.as_published(model, test, PRESENT), rtol=1e-3)


@pytest.mark.parametrize("feed_absent", [True, False])
@pytest.mark.parametrize("name", ["lstnet", "tcn"])
def test_recursive_models_are_fed_their_own_forecasts(name, feed_absent):
    model = causes.Recursive(build(name, horizon=1), 4, feed_absent=feed_absent).eval()
    x, present = inputs(), torch.tensor([True, False, True, True, False, True, True])
    expected, history = [], torch.where(present[:, None], x, torch.zeros(()))
    for _ in range(4):
        with torch.no_grad():
            step = TWINS[name](model.one_step, history)[:, 0]  # [b, n]
        expected.append(step)
        fed = step if feed_absent else step * present
        history = torch.cat([history[:, 1:], fed[:, None, :, None]], dim=1)
    torch.testing.assert_close(run(model, x, present=present), torch.stack(expected, 1), atol=1e-5, rtol=1e-5)


def test_recursive_models_are_trained_for_one_step(windows, monkeypatch):
    monkeypatch.setattr(causes, "_config", lambda dataset: TrainConfig(epochs=1, progress=False))
    model = causes.recursive("clouds", feed_absent=False, highway=0)(windows)
    one_step, test = model.module.one_step, windows.test[::7]
    assert (one_step.horizon, one_step.highway, model.horizon) == (1, None, 3)
    assert causes.as_published(model, test, PRESENT).shape == (len(test), 3, 3)


@pytest.mark.parametrize("transposed", [False, True])
def test_hubs_are_the_variables_with_most_edges(transposed, monkeypatch):
    ring = np.roll(np.eye(30, dtype=bool), 1, axis=1)  # all variables have two edges, so the first 20 are taken
    monkeypatch.setattr(causes, "untrained_graphs", lambda settings: [ring] if settings == {"of": "it"} else [])
    graph = torch.zeros(30, 30)
    graph[:, :20] = 1.0
    graph[28, 25] = 1.0
    module = SimpleNamespace(adjacency=lambda: graph.T if transposed else graph, settings={"of": "it"})
    monkeypatch.setattr(causes, "_learns_graph", lambda asked: asked is module)
    draws = [np.array([0, 1, 21]), np.array([21, 22, 23])]
    errors = {"oracle": np.ones((2, 12)), "partial": np.array([[1.5] * 12, [1.1] * 12])}
    hubs = causes.hubs(SimpleNamespace(module=module), draws, errors)
    assert hubs["share_of_edges"] == pytest.approx(600 / 601)
    assert hubs["share_untrained"] == pytest.approx(21 / 30)  # 9 edges lie between the other ten
    assert hubs["hubs_in_subset"] == [2, 0]
    assert hubs["correlation"] == pytest.approx(1.0)


def test_graphs_before_the_training_are_those_of_new_models(models):
    graphs = list(causes.untrained_graphs(models["mtgnn"].module.settings))
    assert len(graphs) == 5
    assert all(graph.shape == (6, 6) and graph.dtype == bool for graph in graphs)
    assert not np.array_equal(graphs[0], graphs[1])
    torch.manual_seed(1)
    expected = causes.MTGNN(**models["mtgnn"].module.settings).adjacency().detach().numpy() > 0
    np.testing.assert_array_equal(graphs[1], expected)


def test_short_trainings_change_what_they_say(windows, monkeypatch):
    asked = []
    monkeypatch.setattr(causes, "train", lambda *given, **named: asked.append((given[3], named["settings"])))
    for change in causes._of_graph_learning("ecg5000-test-first"):
        if change.build is not None:
            change.build(windows)
    plain = asked[0][0]
    assert (plain.epochs, plain.learning_rate, plain.weight_decay, asked[0][1]) == (12, 1e-3, 1e-4, None)
    assert [settings for _, settings in asked[1:]] == [{"graph_noise": 0.01}, None]
    changed = [{k: v for k, v in c.to_dict().items() if v != plain.to_dict()[k]} for c, _ in asked[1:]]
    assert changed == [{}, {"learning_rate": 1e-3 / 3}]


def test_astgcn_is_given_the_graphs_of_two_trainings(windows, monkeypatch):
    asked = []
    monkeypatch.setattr(causes.TrainedForecaster, "load", lambda folder: folder.name)
    monkeypatch.setattr(causes, "train", lambda *given, **named: asked.append((given[3].seed, named["graph"])))
    for change in causes._of_given_graphs("ecg5000-test-first"):
        change.build(windows)
    first = "mtgnn-ecg5000-test-first"
    assert asked == [(0, first), (0, f"{first}-seed1"), (1, first)]
