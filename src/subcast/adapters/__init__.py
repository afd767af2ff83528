"""Adapters: any fitted model as a function of windows, [b, t, n, f] -> [b, h, n], in raw units.

None of the libraries is imported before its adapter is called.
"""

from __future__ import annotations

from subcast.adapters.base import AdaptedForecaster
from subcast.adapters.choose import adapt
from subcast.adapters.darts import from_darts
from subcast.adapters.function import from_callable
from subcast.adapters.neuralforecast import from_neuralforecast
from subcast.adapters.onnx import from_onnx
from subcast.adapters.pytorch import from_torch
from subcast.adapters.sklearn import flatten, from_sklearn

__all__ = [
    "AdaptedForecaster",
    "adapt",
    "flatten",
    "from_callable",
    "from_darts",
    "from_neuralforecast",
    "from_onnx",
    "from_sklearn",
    "from_torch",
]
