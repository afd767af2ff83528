"""The paper's five models: `FORECASTERS` by name, each in a file of its own, all keeping the contract of `base`."""

from __future__ import annotations

from subcast.forecasters.astgcn import ASTGCN
from subcast.forecasters.base import ForecastModule
from subcast.forecasters.lstnet import LSTNet
from subcast.forecasters.mstgcn import MSTGCN
from subcast.forecasters.mtgnn import MTGNN
from subcast.forecasters.tcn import TCN

FORECASTERS: dict[str, type[ForecastModule]] = {
    "mtgnn": MTGNN,
    "astgcn": ASTGCN,
    "mstgcn": MSTGCN,
    "lstnet": LSTNet,
    "tcn": TCN,
}

__all__ = ["ASTGCN", "FORECASTERS", "MSTGCN", "MTGNN", "TCN", "ForecastModule", "LSTNet"]
