"""adapt: whatever comes finds its adapter, or one sentence."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import subcast as sc
from subcast.adapters import AdaptedForecaster, adapt, flatten, from_callable, from_torch
from subcast.errors import DataNotFoundError, InputError
from subcast.series import Series

CHECKPOINT = Path(__file__).parent.parent / "data" / "checkpoints" / "tcn"
NAMES = ("a", "b", "c")
SIZES = {"lookback": 4, "horizon": 2, "variables": NAMES, "n_features": 1}


def last_two(x):
    return x[:, -2:, :, 0]


def windows():
    return Series(np.random.default_rng(0).normal(size=(60, 3)), NAMES).windows(lookback=4, horizon=2)


def test_a_function():
    forecaster = adapt(last_two, **SIZES)
    assert (forecaster.kind, forecaster.variables, forecaster.n_features) == ("callable", NAMES, 1)
    x = windows().batch().inputs
    np.testing.assert_array_equal(forecaster(x), x[:, -2:, :, 0])


def test_a_regressor():
    forecaster = adapt(LinearRegression().fit(*flatten(windows())), **SIZES)
    assert (forecaster.kind, forecaster.variables) == ("scikit-learn", NAMES)
    with pytest.raises(InputError, match=r"the LinearRegression is not fitted: fit it on adapters.flatten"):
        adapt(LinearRegression(), **SIZES)


def test_a_torch_module_even_one_that_looks_like_a_forecaster():
    torch = pytest.importorskip("torch")

    class Module(torch.nn.Module):
        lookback, horizon, variables = 4, 2, NAMES

        def forward(self, x):
            assert isinstance(x, torch.Tensor)
            return x[:, -2:, :, 0]

    forecaster = adapt(Module(), **SIZES)
    assert forecaster.kind == "torch"
    assert forecaster(windows().batch().inputs).shape == (55, 2, 3)


def test_an_adapted_forecaster_is_passed_on():
    forecaster = from_callable(last_two, lookback=4, horizon=2)
    assert adapt(forecaster, **SIZES) is forecaster
    forecaster = from_callable(last_two, lookback=4, horizon=2, variables=NAMES, n_features=1)
    assert adapt(forecaster, **SIZES) is forecaster


def test_a_trained_forecaster_and_its_folder():
    pytest.importorskip("torch")
    trained = sc.TrainedForecaster.load(CHECKPOINT)
    sizes = {
        "lookback": trained.lookback,
        "horizon": trained.horizon,
        "variables": trained.variables,
        "n_features": trained.n_features,
    }
    assert adapt(trained, **sizes) is trained
    loaded = adapt(str(CHECKPOINT), **sizes)
    x = np.random.default_rng(0).normal(size=(2, trained.lookback, trained.n_variables, trained.n_features))
    np.testing.assert_array_equal(loaded(x), trained(x))


def test_an_onnx_file(tmp_path):
    pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"])],
        "same",
        [helper.make_tensor_value_info("x", kind, ["b", 4, 3])],
        [helper.make_tensor_value_info("y", kind, ["b", 4, 3])],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "m.ONNX")
    forecaster = adapt(tmp_path / "m.ONNX", **{**SIZES, "horizon": 4})
    assert (forecaster.kind, forecaster.variables) == ("onnx", NAMES)
    with pytest.raises(InputError, match="exported for horizon 4, not 2: use horizon=4"):
        adapt(str(tmp_path / "m.ONNX"), **SIZES)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"lookback": 12}, "the model is made for lookback 4, but the windows have 12: split with lookback=4"),
        ({"horizon": 3}, "the model is made for horizon 2, but the windows have 3: split with horizon=2"),
        ({"variables": ("a", "b")}, "the model takes 3 variables, but the windows have 2"),
        ({"variables": ("a", "c", "b")}, r"same variables in another order \(at position 1 'b', the windows 'c'\)"),
        ({"variables": ("a", "b", "d")}, "does not know the variables 'd': it was fitted on 'a', 'b', 'c'"),
        ({"n_features": 2}, r"takes 1 feature \(the reading and 0 of time\), but the windows have 2"),
    ],
)
def test_a_model_of_other_sizes(changes, sentence):
    model = from_callable(last_two, lookback=4, horizon=2, variables=NAMES, n_features=1)
    with pytest.raises(InputError, match=sentence):
        adapt(model, **{**SIZES, **changes})


def test_a_model_of_one_variable():
    model = AdaptedForecaster(last_two, 4, 2, "darts", n_variables=1)
    with pytest.raises(InputError, match="takes 1 variable, but the windows have 3: fit it on all variables together"):
        adapt(model, **SIZES)


@pytest.mark.parametrize("thing", [3, None, np.zeros(3), object()])
def test_objects_that_are_no_models_are_refused(thing):
    with pytest.raises(InputError, match=r"model must be a model of subcast .*, a torch module, .* got "):
        adapt(thing, **SIZES)


def test_a_class_in_place_of_a_model():
    with pytest.raises(InputError, match=r"model is the class LinearRegression itself: give a fitted"):
        adapt(LinearRegression, **SIZES)


def test_paths_that_hold_no_model(tmp_path):
    for path in (tmp_path, tmp_path / "none", "mtgnn"):
        with pytest.raises(DataNotFoundError, match=r"is neither an .onnx file nor a folder with forecaster.json"):
            adapt(path, **SIZES)
    with pytest.raises(DataNotFoundError, match="there is no ONNX file"):
        adapt(tmp_path / "none.onnx", **SIZES)


def test_the_adapters_import_no_library():
    code = (
        "import sys, subcast.adapters as a; a.adapt(lambda x: x[:, -2:, :, 0], lookback=4, horizon=2, "
        "variables='abc', n_features=1); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "sklearn", "onnxruntime", "darts", "neuralforecast", "pandas"} & set(done.stdout.split())


def test_what_to_install_without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(
        ModuleNotFoundError, match=r"from_torch needs torch: install it with pip install 'subcast\[models\]'"
    ):
        from_torch(last_two, lookback=4, horizon=2)
