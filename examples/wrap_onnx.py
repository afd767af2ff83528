"""Wrap an ONNX file. Here one is written by hand from a ridge regression; torch.onnx or skl2onnx write them as well.

Run: python examples/wrap_onnx.py   (needs onnxruntime and onnx: pip install onnxruntime onnx)
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.linear_model import Ridge

import subcast as sc
from subcast.adapters import flatten, from_onnx

try:
    import onnx
    import onnxruntime  # noqa: F401
except ModuleNotFoundError as error:
    print(f"This example needs {error.name}: pip install onnxruntime onnx")
    sys.exit(0)

series = sc.load_dataset("clouds", n_plants=12, n_steps=2000)
train, val, test = series.split(lookback=12, horizon=12)
ridge = Ridge(alpha=100).fit(*flatten(train))


def write_ridge(path):
    """[b, t, n] -> flat -> times the coefficients -> [b, h, n]."""
    helper, numbers = onnx.helper, onnx.TensorProto.FLOAT
    weights = {"weights": ridge.coef_.T.astype(np.float32), "intercept": ridge.intercept_.astype(np.float32)}
    nodes = [
        helper.make_node("Flatten", ["readings"], ["flat"], axis=1),
        helper.make_node("Gemm", ["flat", "weights", "intercept"], ["steps"]),
        helper.make_node("Reshape", ["steps", "shape"], ["forecast"]),
    ]
    graph = helper.make_graph(
        nodes,
        "ridge",
        [helper.make_tensor_value_info("readings", numbers, ["b", 12, 12])],
        [helper.make_tensor_value_info("forecast", numbers, ["b", 12, 12])],
        [onnx.numpy_helper.from_array(values, name) for name, values in weights.items()]
        + [onnx.numpy_helper.from_array(np.array([-1, 12, 12]), "shape")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "ridge.onnx"
    write_ridge(path)
    model = from_onnx(path, variables=series.variables)  # lookback and horizon are read from the file
    print(model)
    robust = sc.SubsetForecaster(model, effort=0.2).fit(train, val)  # 0.2 is quick, 1 is the default
    recent = test.series.to_frame().between_time("11:00", "12:50").tail(12)  # the last two hours we know
    forecast = robust.predict(recent[["plant-000", "plant-004", "plant-007"]])
    in_two_hours = forecast.frame.query("step == 12")[["variable", "time", "mean", "lower", "upper"]]
    print("Three plants report, nine are silent; in two hours the three will give (MW):")
    print(in_two_hours.to_string(index=False, float_format="%.1f"))
