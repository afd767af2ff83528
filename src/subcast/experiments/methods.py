"""The methods that experiments compare, by name: each takes the cell's test windows and S, and forecasts S."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast import baselines
from subcast.evaluation import Method, partial_inputs, wrapped
from subcast.experiments.study import Context
from subcast.subset.methods import forecast_windows
from subcast.subset.methods.paper import PaperMethod
from subcast.windows import Windows

Maker = Callable[..., Method]
METHODS: dict[str, Maker] = {}


def method(name: str) -> Callable[[Maker], Maker]:
    """Register what makes a method."""

    def register(maker: Maker) -> Maker:
        METHODS[name] = maker
        return maker

    return register


def make_method(context: Context, name: str, **options: Any) -> Method:
    """The method of a name for a cell."""
    return METHODS[name](context, **options)


@method("oracle")
def _oracle(context: Context) -> Method:
    def forecast(windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
        return context.whole[:, :, present]

    return forecast


@method("partial")
def _partial(context: Context) -> Method:
    return partial_inputs(context.study.paper)


@method("fdw")
def _fdw(context: Context, **changes: Any) -> Method:
    """The published method: its weightings share the forecasts of the filled windows."""
    robust = context.study.paper_with(**changes)

    def forecast(windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
        made = context.fillings(robust, windows, present)
        return PaperMethod(robust._fitted, robust.settings_).weighted_sum(made.each, made.neighbors, present)[0]

    return forecast


@method("scalable")
def _scalable(context: Context, **told: Any) -> Method:
    """FDW with neighbors from the query table of the appendix."""
    fitted, settings = context.study.paper._fitted, context.study.paper.settings_
    table = context.study.query_table(context.study.paper, **told)

    def forecast(part: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
        arrived = fitted.arrive(part)
        found = table.nearest(
            fitted.normalize(arrived, present),
            present,
            settings.neighbors,
            settings.exponent,
            shared=fitted.shared(arrived),
        ).neighbors
        return forecast_windows(fitted, settings, arrived, present, neighbors=found).mean

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


def _variant(variant: str, arrives: str) -> Maker:
    """A model trained in another way, with S alone ("S", as in Partial) or with all variables in ("all")."""

    def maker(context: Context) -> Method:
        model = context.study.trained(variant)

        def forecast(windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
            there = present if arrives == "S" else None
            return np.asarray(model.predict(windows.batch().inputs, present=there, wanted=present))

        return forecast

    return maker


# Which trained variant these methods run, and what it is given.
OF_VARIANTS = {"hardened": ("hardened", "S"), "identity": ("identity", "all"), "identity-partial": ("identity", "S")}
METHODS |= {name: _variant(*told) for name, told in OF_VARIANTS.items()}
