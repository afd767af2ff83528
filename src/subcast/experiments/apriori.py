"""A model trained on a known S: its own scaler, its own graph, its own windows."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.evaluation import forecast_all
from subcast.experiments.study import Context, split_data
from subcast.training import TrainConfig, train


def train_on(context: Context, present: NDArray[np.int64], options: Mapping[str, Any]) -> NDArray[np.float32]:
    """Train the cell's kind of model on S alone and forecast the cell's test windows of S, [b, h, s].

    A training that was interrupted goes on from the end of its last epoch.
    """
    study, cell = context.study, context.cell
    split = split_data(study.series.select(present), cell.dataset)
    changes: dict[str, Any] = {"seed": cell.seed, "progress": False}
    if "epochs" in options:
        changes["epochs"] = int(options["epochs"])
    preset = options.get("preset", "default")
    config = TrainConfig.paper(cell.dataset, **changes) if preset == "paper" else TrainConfig(**changes)
    graph = None
    if study.model.module.needs_graph:
        graph = study.model.graph()[np.ix_(present, present)]
    name = f"apriori-{study.trained_name()}-{hashlib.sha256(present.tobytes()).hexdigest()[:12]}-{preset}"
    folder = study.checkpoints[-1] / "begun" / name
    model = train(cell.model, split.train, split.val, config, graph=graph, folder=folder)
    forecast = forecast_all(model, split.test[:: cell.every])
    shutil.rmtree(folder)
    return forecast
