"""Train a model on a known S, with a scaler, a graph and windows of its own."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.evaluation import forecast_all
from subcast.experiments.study import Context, split_data
from subcast.forecasters import FORECASTERS
from subcast.forecasters.checkpoint import is_saved_forecaster
from subcast.forecasters.trained import TrainedForecaster
from subcast.training import TrainConfig, train
from subcast.windows import Split

MODELS_OF_SUBSETS = "of-subsets"
"""Folder of the trained models among the checkpoints: a cell that is measured again does not train again."""


def train_on(
    context: Context, present: NDArray[np.int64], options: Mapping[str, Any]
) -> tuple[NDArray[np.float32], dict[str, Any]]:
    """Train the cell's kind of model on S alone, and return its forecasts of the cell's test windows, [b, h, s].

    The trained model is kept. An interrupted training resumes after its last finished epoch.

    Returns
    -------
    tuple
        the forecasts, and facts of the training: its epochs, the best of them and the validation error of each
    """
    study, cell = context.study, context.cell
    split = split_data(study.series.select(present), cell.dataset)
    preset, changes = options.get("preset", "default"), _changes(context, options)
    config = TrainConfig.paper(cell.dataset, **changes) if preset == "paper" else TrainConfig(**changes)
    subset = hashlib.sha256(present.tobytes()).hexdigest()[:12]
    name = f"{study.trained_name()}-{subset}-{preset}-{config.epochs}"
    folder = study.checkpoints[-1] / MODELS_OF_SUBSETS / name
    if is_saved_forecaster(folder):
        model = TrainedForecaster.load(folder)
    else:
        begun = study.checkpoints[-1] / "begun" / name
        model = _train(context, split, present, config, begun)
        model.save(folder)
        shutil.rmtree(begun)
    return forecast_all(model, split.test[:: cell.every]), _facts(model, config)


def _changes(context: Context, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what differs from the preset; `epochs` is a number, or a table of numbers by model."""
    cell = context.cell
    epochs = options.get("epochs")
    if isinstance(epochs, Mapping):
        epochs = epochs.get(cell.model)
    changes: dict[str, Any] = {"seed": cell.seed, "progress": False}
    return changes if epochs is None else changes | {"epochs": int(epochs)}


def _train(context: Context, split: Split, present: NDArray[np.int64], config: TrainConfig, folder: Any) -> Any:
    study, model = context.study, context.cell.model
    graph = study.model.graph()[np.ix_(present, present)] if FORECASTERS[model].needs_graph else None
    return train(model, split.train, split.val, config, graph=graph, folder=folder)


def _facts(model: TrainedForecaster, config: TrainConfig) -> dict[str, Any]:
    """Return the facts of a training for the record."""
    levels = [epoch["level"] for epoch in model.history]
    return {
        "epochs_at_most": config.epochs,
        "epochs": len(model.history),
        "full_horizon_from_epoch": levels.index(model.horizon) + 1 if model.horizon in levels else None,
        "best_epoch": model.training["best_epoch"],
        "hours": model.training["hours"],
        "validation_mae": [round(float(epoch["val"]), 4) for epoch in model.history],
    }
