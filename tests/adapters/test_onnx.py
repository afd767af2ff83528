"""from_onnx: files of a few nodes, built here, with open and with fixed axes."""

import sys

import numpy as np
import pytest

from subcast.adapters import from_onnx
from subcast.errors import DataError, DataNotFoundError, InputError

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


def write_model(path, source, target, nodes=None, more_inputs=(), more_outputs=(), kind=None):
    """Write a file that forecasts each variable by a matrix [t, h] over its steps: [b, t, n(, f)] -> [b, h, n]."""
    helper, float32 = onnx.helper, onnx.TensorProto.FLOAT
    kind = kind or float32
    weights = np.array([[0, 1], [0, 2], [1, 3]], dtype=np.float32)  # [t, h]: first step is the last reading
    if nodes is None:
        nodes, readings = [], "x"
        if len(source) == 4:
            nodes.append(helper.make_node("Gather", ["x", "zero"], ["readings"], axis=3))
            readings = "readings"
        nodes += [
            helper.make_node("Transpose", [readings], ["nodes"], perm=[0, 2, 1]),  # [b, n, t]
            helper.make_node("MatMul", ["nodes", "weights"], ["steps"]),  # [b, n, h]
            helper.make_node("Transpose", ["steps"], ["y"], perm=[0, 2, 1]),
        ]
    graph = helper.make_graph(
        nodes,
        "forecaster",
        [helper.make_tensor_value_info("x", kind, source)]
        + [helper.make_tensor_value_info(name, float32, [1]) for name in more_inputs],
        [helper.make_tensor_value_info("y", kind, target)]
        + [helper.make_tensor_value_info(name, float32, None) for name in more_outputs],
        initializer=[
            onnx.numpy_helper.from_array(weights.astype(helper.tensor_dtype_to_np_dtype(kind)), "weights"),
            onnx.numpy_helper.from_array(np.array(0), "zero"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, path)
    return path


def loop_forecast(x):
    """What such a file says, in loops."""
    y = np.zeros((x.shape[0], 2, x.shape[2]))
    for window in range(x.shape[0]):
        for variable in range(x.shape[2]):
            steps = [float(number) for number in x[window, :, variable, 0]]
            y[window, 0, variable] = steps[2]
            y[window, 1, variable] = steps[0] + 2 * steps[1] + 3 * steps[2]
    return y


@pytest.mark.parametrize("batch", ["b", None, 1, 4], ids=str)
@pytest.mark.parametrize("features", [(), (1,), (2,), ("f",)], ids=str)
def test_forecasts_against_loops(tmp_path, batch, features):
    path = write_model(tmp_path / "m.onnx", [batch, 3, 5, *features], [batch, 2, 5])
    forecaster = from_onnx(path)
    assert (forecaster.lookback, forecaster.horizon, forecaster.n_variables, forecaster.path) == (3, 2, 5, path)
    assert forecaster.n_features == (None if features == ("f",) else features[0] if features else 1)
    x = np.random.default_rng(0).normal(size=(7, 3, 5, 2 if features in ((2,), ("f",)) else 1))
    np.testing.assert_allclose(forecaster(x), loop_forecast(x), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(forecaster(x)[3], forecaster(x[3:4])[0])


def test_double_precision(tmp_path):
    path = write_model(tmp_path / "m.onnx", ["b", 3, 2, 1], ["b", 2, 2], kind=onnx.TensorProto.DOUBLE)
    x = np.random.default_rng(0).normal(size=(4, 3, 2, 1))
    np.testing.assert_allclose(from_onnx(path)(x), loop_forecast(x), rtol=1e-5, atol=1e-5)


def test_the_caller_must_give_open_axes(tmp_path):
    same = onnx.helper.make_node("Identity", ["x"], ["y"])
    path = write_model(tmp_path / "m.onnx", ["b", "t", "n"], ["b", "h", "n"], [same])
    with pytest.raises(InputError, match=r"m.onnx leaves its lookback open: give lookback="):
        from_onnx(path)
    with pytest.raises(InputError, match=r"m.onnx leaves its horizon open: give horizon="):
        from_onnx(path, lookback=3)
    forecaster = from_onnx(str(path), lookback=3, horizon=3, variables=["a", "b"])
    assert forecaster.variables == ("a", "b")
    x = np.random.default_rng(0).normal(size=(4, 3, 2)).astype(np.float32)
    np.testing.assert_array_equal(forecaster(x), x)


def test_sizes_that_contradict_the_file(tmp_path):
    path = write_model(tmp_path / "m.onnx", ["b", 3, 5, 1], ["b", 2, 5])
    with pytest.raises(InputError, match=r"m.onnx was exported for lookback 3, not 12: use lookback=3"):
        from_onnx(path, lookback=12)
    with pytest.raises(InputError, match=r"m.onnx was exported for horizon 2, not 12: use horizon=2"):
        from_onnx(path, horizon=12)
    with pytest.raises(InputError, match="the onnx model has 5 variables, but variables names 2"):
        from_onnx(path, variables=["a", "b"])


def test_files_that_are_no_forecaster(tmp_path):
    with pytest.raises(DataNotFoundError, match="there is no ONNX file at"):
        from_onnx(tmp_path / "none.onnx")
    (tmp_path / "text.onnx").write_text("not a model")
    with pytest.raises(DataError, match="cannot be read as an ONNX model"):
        from_onnx(tmp_path / "text.onnx")
    (tmp_path / "empty.onnx").write_bytes(b"")
    with pytest.raises(DataError, match="cannot be read as an ONNX model"):
        from_onnx(tmp_path / "empty.onnx")
    whole = write_model(tmp_path / "whole.onnx", ["b", 3, 5, 1], ["b", 2, 5]).read_bytes()
    (tmp_path / "half.onnx").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="cannot be read as an ONNX model"):
        from_onnx(tmp_path / "half.onnx")


def test_graphs_of_another_shape(tmp_path):
    two = onnx.helper.make_node("Add", ["x", "z"], ["y"])
    with pytest.raises(DataError, match=r"must have one input, but has 2 \(x, z\)"):
        from_onnx(write_model(tmp_path / "a.onnx", ["b", 3, 5], ["b", 3, 5], [two], more_inputs=["z"]))
    split = onnx.helper.make_node("Split", ["x"], ["y", "z"], axis=1, num_outputs=2)
    with pytest.raises(DataError, match=r"must have one output, but has 2 \(y, z\)"):
        from_onnx(write_model(tmp_path / "b.onnx", ["b", 4, 5], ["b", 2, 5], [split], more_outputs=["z"]))
    same = onnx.helper.make_node("Identity", ["x"], ["y"])
    with pytest.raises(DataError, match=r"must map \[b, t, n, f\] or \[b, t, n\] to \[b, h, n\]"):
        from_onnx(write_model(tmp_path / "c.onnx", ["b", 3], ["b", 3], [same]))
    with pytest.raises(DataError, match=r"must take an array of floats, but its input is a tensor\(int64\)"):
        from_onnx(write_model(tmp_path / "d.onnx", ["b", 3, 5], ["b", 3, 5], [same], kind=onnx.TensorProto.INT64))
    last = onnx.helper.make_node("Gather", ["x", "zero"], ["g"], axis=2)
    wider = onnx.helper.make_node("Unsqueeze", ["g", "two"], ["y"])
    two_axis = onnx.helper.make_node("Constant", [], ["two"], value_ints=[2])
    with pytest.raises(DataError, match="takes 5 variables but forecasts 1"):
        from_onnx(write_model(tmp_path / "e.onnx", ["b", 3, 5], ["b", 3, 1], [last, two_axis, wider]))


def test_without_onnxruntime(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(
        ModuleNotFoundError, match="from_onnx needs onnxruntime: install it with pip install onnxruntime"
    ):
        from_onnx(tmp_path / "m.onnx")
