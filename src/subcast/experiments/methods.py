"""The methods that experiments compare, by name: each takes windows and S, and returns forecasts of S."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast import baselines
from subcast.evaluation import Method, partial_inputs, wrapped
from subcast.experiments.study import Context
from subcast.experiments.tuned import TunedMethod, chosen_settings, tune_fdw
from subcast.subset.methods import forecast_windows
from subcast.subset.methods.paper import PaperMethod
from subcast.windows import Windows

Maker = Callable[..., Method]
METHODS: dict[str, Maker] = {}
TUNED_METHODS = ("fdw-tuned",)
"""Methods whose settings are chosen in the cell: its record has them."""


def method(name: str) -> Callable[[Maker], Maker]:
    """Register a function that builds a method."""

    def register(maker: Maker) -> Maker:
        METHODS[name] = maker
        return maker

    return register


def make_method(context: Context, name: str, **options: Any) -> Method:
    """Return the method of a name for a cell."""
    return METHODS[name](context, **options)


@method("oracle")
def _oracle(context: Context) -> Method:
    def forecast(windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
        return context.oracle_forecasts[:, :, present]

    return forecast


@method("partial")
def _partial(context: Context) -> Method:
    return partial_inputs(context.study.paper)


@method("fdw")
def _fdw(context: Context, **changes: Any) -> Method:
    """Return the published method; its weightings share the forecasts of the completed windows."""
    robust = context.study.paper_with(**changes)

    def forecast(windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
        completed = context.completions(robust, windows, present)
        method = PaperMethod(robust.fitted_, robust.settings_)
        return method.weighted_sum(completed.each, completed.neighbors, present)[0]

    return forecast


@method("fdw-tuned")
def _fdw_tuned(context: Context, windows: int = 60, draws: int = 3) -> Method:
    """Return FDW with b, tau and m from the paper's grids, chosen on validation windows and other draws of S."""
    chosen = tune_fdw(context, windows, draws)
    return TunedMethod(_fdw(context, **chosen_settings(chosen)), chosen)


@method("scalable")
def _scalable(context: Context, **options: Any) -> Method:
    """Return FDW with neighbors from the query table of the appendix."""
    fitted, settings = context.study.paper.fitted_, context.study.paper.settings_
    table = context.study.query_table(context.study.paper, **options)

    def forecast(windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
        arrived = fitted.arrive(windows)
        neighbors = table.nearest(
            fitted.normalize(arrived, present),
            present,
            settings.neighbors,
            settings.exponent,
            shared=fitted.shared(arrived),
        ).neighbors
        return forecast_windows(fitted, settings, arrived, present, neighbors=neighbors).mean

    return forecast


@method("subcast")
def _subcast(context: Context) -> Method:
    return wrapped(context.study.default)


@method("neighbor-forecast")
def _neighbor_forecast(context: Context, neighbors: int = 5) -> Method:
    return baselines.NeighborForecast.fit(context.study.split.train, neighbors=neighbors)


IMPUTERS: dict[str, Callable[[Windows], baselines.Imputer]] = {
    "knne": baselines.KNNEImputer.fit,
    "iim": baselines.IIMImputer.fit,
    "ridge": baselines.RidgeImputer.fit,
    "knn-imputer": baselines.ScikitImputer.knn,
    "iterative-imputer": baselines.ScikitImputer.iterative,
}


def _imputer(fit: Callable[[Windows], baselines.Imputer]) -> Maker:
    def maker(context: Context) -> Method:
        return baselines.imputed(context.study.model, fit(context.study.split.train))

    return maker


METHODS |= {name: _imputer(fit) for name, fit in IMPUTERS.items()}


@method("last-value")
def _last_value(context: Context) -> Method:
    return baselines.LastValue.fit(context.study.split.train)


@method("seasonal-naive")
def _seasonal_naive(context: Context) -> Method:
    return baselines.SeasonalNaive.fit(context.study.split.train, history=context.study.series)


@method("linear")
def _linear(context: Context) -> Method:
    return baselines.LinearForecaster.fit(context.study.split.train, loss="absolute")


def _variant(variant: str, inputs: str) -> Maker:
    """Return a maker for a variant of the model that is given S alone ("S", as in Partial) or all variables ("all")."""

    def maker(context: Context) -> Method:
        model = context.study.trained(variant)

        def forecast(windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
            given = present if inputs == "S" else None
            return np.asarray(model.predict(windows.batch().inputs, present=given, wanted=present))

        return forecast

    return maker


# The trained variant that each of these methods runs, and the variables that it is given.
VARIANT_METHODS = {
    "hardened": ("hardened", "S"),
    "identity": ("identity", "all"),
    "identity-partial": ("identity", "S"),
}
METHODS |= {name: _variant(*variant) for name, variant in VARIANT_METHODS.items()}
