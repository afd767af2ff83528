"""The paper's five models, each in a file of its own; `FORECASTERS` holds them by name.

Importing this package does not import torch: a model is imported when it is first used.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from subcast.forecasters.astgcn import ASTGCN
    from subcast.forecasters.base import ForecastModule
    from subcast.forecasters.lstnet import LSTNet
    from subcast.forecasters.mstgcn import MSTGCN
    from subcast.forecasters.mtgnn import MTGNN
    from subcast.forecasters.tcn import TCN
    from subcast.forecasters.trained import TrainedForecaster

_MODULES = {
    "MTGNN": "mtgnn",
    "ASTGCN": "astgcn",
    "MSTGCN": "mstgcn",
    "LSTNet": "lstnet",
    "TCN": "tcn",
    "ForecastModule": "base",
    "TrainedForecaster": "trained",
}


class _Registry(MutableMapping[str, "type[ForecastModule]"]):
    """Model classes by name; those of subcast are imported when they are first used."""

    def __init__(self, class_names: dict[str, str]) -> None:
        self._classes: dict[str, str | type[ForecastModule]] = dict(class_names)

    def __getitem__(self, name: str) -> type[ForecastModule]:
        entry = self._classes[name]  # a class, or the name of one that is not imported yet
        return __getattr__(entry) if isinstance(entry, str) else entry

    def __setitem__(self, name: str, kind: type[ForecastModule]) -> None:
        self._classes[name] = kind

    def __delitem__(self, name: str) -> None:
        del self._classes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)

    def __len__(self) -> int:
        return len(self._classes)


FORECASTERS: MutableMapping[str, type[ForecastModule]] = _Registry(
    {"mtgnn": "MTGNN", "astgcn": "ASTGCN", "mstgcn": "MSTGCN", "lstnet": "LSTNet", "tcn": "TCN"}
)
"""Model classes by the name that `subcast.train` and the command line take; add your own to train it by name."""

__all__ = ["ASTGCN", "FORECASTERS", "MSTGCN", "MTGNN", "TCN", "ForecastModule", "LSTNet", "TrainedForecaster"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'subcast.forecasters' has no attribute {name!r}")
    value = getattr(import_module(f"subcast.forecasters.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
