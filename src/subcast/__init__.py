"""Keep forecasting when only some of the variables arrive.

The public names, in the order data flow through them; each is imported when it is first used, so that
`import subcast` stays quick.
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from subcast.data_protocol import PROTOCOLS, DataProtocol
    from subcast.datasets import DATASETS, load_dataset
    from subcast.errors import (
        ClusterError,
        DataError,
        DataNotFoundError,
        DataWarning,
        FitWarning,
        InputError,
        SubcastError,
        WriteError,
    )
    from subcast.forecast import Forecast
    from subcast.forecasters.protocol import Forecaster
    from subcast.forecasters.trained import TrainedForecaster
    from subcast.limits import Limits
    from subcast.retrieval import Bank, Neighbors, QueryTable, ShardedBank, ShardWriter, WindowBank
    from subcast.scaling import Scaler
    from subcast.series import Series
    from subcast.subset import Settings, SubsetForecaster
    from subcast.subset.experts import Expert
    from subcast.subset.saving import load
    from subcast.subset.stream import ForecastStream
    from subcast.subsets import cluster_variables, draw_cluster_subsets, draw_subsets
    from subcast.training import TrainConfig, train
    from subcast.windows import Split, Windows

__version__ = "0.1.0"

logging.getLogger("subcast").addHandler(logging.NullHandler())  # silent unless the user adds a handler

_HOMES = {
    "DATASETS": "datasets",
    "load_dataset": "datasets",
    "Series": "series",
    "Windows": "windows",
    "Split": "windows",
    "Scaler": "scaling",
    "DataProtocol": "data_protocol",
    "PROTOCOLS": "data_protocol",
    "draw_subsets": "subsets",
    "cluster_variables": "subsets",
    "draw_cluster_subsets": "subsets",
    "Bank": "retrieval",
    "WindowBank": "retrieval",
    "Neighbors": "retrieval",
    "ShardedBank": "retrieval",
    "ShardWriter": "retrieval",
    "QueryTable": "retrieval",
    "train": "training",
    "TrainConfig": "training",
    "Forecaster": "forecasters.protocol",
    "TrainedForecaster": "forecasters.trained",
    "SubsetForecaster": "subset",
    "Settings": "subset",
    "ForecastStream": "subset.stream",
    "Expert": "subset.experts",
    "Limits": "limits",
    "Forecast": "forecast",
    "load": "subset.saving",
    "SubcastError": "errors",
    "ClusterError": "errors",
    "InputError": "errors",
    "DataError": "errors",
    "DataNotFoundError": "errors",
    "WriteError": "errors",
    "DataWarning": "errors",
    "FitWarning": "errors",
}
_MODULES = (
    "adapters",
    "datasets",
    "evaluation",
    "forecasters",
    "metrics",
    "retrieval",
    "series",
    "subsets",
    "training",
    "weighting",
    "windows",
    "subset",
)

__all__ = [
    "DATASETS",
    "PROTOCOLS",
    "Bank",
    "ClusterError",
    "DataError",
    "DataNotFoundError",
    "DataProtocol",
    "DataWarning",
    "Expert",
    "FitWarning",
    "Forecast",
    "ForecastStream",
    "Forecaster",
    "InputError",
    "Limits",
    "Neighbors",
    "QueryTable",
    "Scaler",
    "Series",
    "Settings",
    "ShardWriter",
    "ShardedBank",
    "Split",
    "SubcastError",
    "SubsetForecaster",
    "TrainConfig",
    "TrainedForecaster",
    "WindowBank",
    "Windows",
    "WriteError",
    "cluster_variables",
    "draw_cluster_subsets",
    "draw_subsets",
    "load",
    "load_dataset",
    "train",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(_home(name), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return import_module(f"subcast.{name}")
    raise AttributeError(f"module 'subcast' has no attribute {name!r}")


def _home(name: str) -> Any:
    try:
        return import_module(f"subcast.{_HOMES[name]}")
    except ModuleNotFoundError as error:
        from subcast.errors import missing_extra

        sentence = missing_extra(error, f"subcast.{name}")
        if sentence is None:
            raise
        raise ModuleNotFoundError(sentence, name=error.name) from None


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES, "__version__"])
