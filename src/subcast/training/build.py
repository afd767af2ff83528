"""Build the module that is trained: a model by name with its graph, or a module of the user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import nn

from subcast.errors import InputError
from subcast.forecasters import FORECASTERS
from subcast.forecasters.base import ForecastModule
from subcast.forecasters.graph import correlation_graph
from subcast.forecasters.trained import TrainedForecaster
from subcast.training.config import TrainConfig
from subcast.training.data import TensorWindows
from subcast.windows import Windows

Graph = str | ArrayLike | TrainedForecaster


def build_module(
    model: str | nn.Module, train: Windows, settings: Mapping[str, Any], graph: Graph | None
) -> tuple[str, nn.Module, str | None]:
    """Return the name of a model, its module, and where its graph comes from.

    Parameters
    ----------
    model
        a name in `FORECASTERS`, or a module
    train
        the training windows, which give the sizes and a graph
    settings, graph
        as in `subcast.train`
    """
    if isinstance(model, nn.Module):
        if settings or graph is not None:
            raise InputError("settings and graph can only be given for a model by name: build your module with them")
        return name_of(model), model, model.settings.get("graph") if isinstance(model, ForecastModule) else None
    if not isinstance(model, str) or model not in FORECASTERS:
        raise InputError(f"model must be one of {', '.join(FORECASTERS)}, or a torch module, got {model!r}")
    kind = FORECASTERS[model]
    options = dict(settings)
    source: str | None = None
    if kind.needs_graph or kind.learns_graph:
        options["graph"], source = choose_graph(kind, train, graph)
    elif graph is not None:
        raise InputError(f"graph cannot be given for {model}, which uses no graph: leave it out")
    sizes = {"n_variables": train.series.n_variables, "lookback": train.lookback, "horizon": train.horizon}
    try:
        return model, kind(**sizes, n_features=train.series.n_features, **options), source
    except TypeError as error:
        raise InputError(f"settings do not fit {model}: {error}") from None


def name_of(module: nn.Module) -> str:
    """Return the name of a module in `FORECASTERS`, or the name of its class."""
    return next((name for name, kind in FORECASTERS.items() if type(module) is kind), type(module).__name__)


def can_be_saved(name: str, module: nn.Module) -> bool:
    """Return whether a checkpoint can rebuild the module: its class is in `FORECASTERS` under this name."""
    return type(module) is FORECASTERS.get(name)


def choose_graph(
    kind: type[ForecastModule], train: Windows, graph: Graph | None
) -> tuple[str | NDArray[np.float32], str]:
    """Return the graph for a model and where it comes from.

    Without `graph`, a model that can learn its graph does so; others use the graph of the series, or correlations if
    the series has none.
    """
    series = train.series
    if graph is None:
        graph = "learned" if kind.learns_graph else "series" if series.graph is not None else "correlation"
    if isinstance(graph, TrainedForecaster):
        learned = graph.graph()
        if learned is None or graph.variables != series.variables:
            raise InputError("graph must be a trained model with a graph of the same variables, such as an MTGNN")
        return learned, f"learned by {graph.model}"
    if not isinstance(graph, str):
        return np.asarray(graph, dtype=np.float32), "given"
    if graph == "series":
        if series.graph is None:
            raise InputError("graph='series' needs a series with a graph, and this one has none: use 'correlation'")
        return series.graph, "series"
    if graph == "correlation":
        first, last = min(train.starts), max(train.starts) + train.lookback
        return correlation_graph(series.values[first:last]), "correlation"
    if graph == "identity" or (graph == "learned" and kind.learns_graph):
        return graph, graph
    words = ["series", "correlation", "identity", *(["learned"] if kind.learns_graph else [])]
    choices = ", ".join(repr(word) for word in words)
    raise InputError(f"graph must be {choices}, an adjacency [n, n] or a trained model with a graph, got {graph!r}")


def check_module(module: nn.Module, served: TensorWindows, train: Windows, config: TrainConfig) -> None:
    """Raise an InputError unless the module forecasts a window in the shape that training needs."""
    name = type(module).__name__
    parameter = next(module.parameters(), None)
    if parameter is None:
        raise InputError(f"model must have weights to train, and {name} has none")
    if config.variable_dropout and not isinstance(module, ForecastModule):
        raise InputError(f"variable_dropout needs a model of this package, and {name} is another module: set it to 0")
    x = served[torch.tensor([0])][0]
    expected = (1, train.horizon, train.series.n_variables)
    sentence = f"model must map inputs [b, t, n, f] such as {tuple(x.shape)} to forecasts [b, h, n] such as {expected}"
    mode = module.training
    module.eval()
    try:
        with torch.no_grad():
            y = module(x.to(parameter.device))
    except InputError:
        raise
    except (RuntimeError, TypeError, ValueError, IndexError, AttributeError, NotImplementedError) as error:
        raise InputError(f"{sentence}, and {name} failed: {error}") from error
    finally:
        module.train(mode)
    if not isinstance(y, torch.Tensor) or tuple(y.shape) != expected:
        received = tuple(y.shape) if isinstance(y, torch.Tensor) else type(y).__name__
        raise InputError(f"{sentence}, and {name} returned {received}")
