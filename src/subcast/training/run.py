"""`train`: train a model on windows and return it as a forecaster; resumable if given a folder."""

from __future__ import annotations

import logging
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from subcast import __version__
from subcast.errors import InputError
from subcast.forecasters.trained import TrainedForecaster
from subcast.plots import save_figure
from subcast.scaling import Scaler
from subcast.training.build import Graph, build_module, can_be_saved, check_module
from subcast.training.config import TrainConfig
from subcast.training.data import TensorWindows, epoch_seed
from subcast.training.loop import fit_module, processor_threads
from subcast.training.plots import plot_losses
from subcast.training.resume import STATE_FILE, describe_run, prepare_folder
from subcast.windows import Windows

if TYPE_CHECKING:
    from subcast.training.module import Progress

PLOT_FILE = "losses.png"

logger = logging.getLogger(__name__)


def train(
    model: str | nn.Module,
    train: Windows,
    val: Windows,
    config: TrainConfig | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    graph: Graph | None = None,
    folder: str | Path | None = None,
) -> TrainedForecaster:
    """Train a model and return it as a forecaster in raw units, with the weights of its best validation epoch.

    Parameters
    ----------
    model
        a name in `subcast.forecasters.FORECASTERS` ("mtgnn", "astgcn", "mstgcn", "lstnet" or "tcn"), or a module of
        your own that maps normalized [b, t, n, f] to [b, h, n]
    train, val
        the windows to learn from and the windows to select the best epoch, as `Series.split` returns them
    config
        how to train; the defaults favor a short training
    settings
        constructor arguments of the model beyond its sizes, such as {"dropout": 0.1}
    graph
        for graph models: "series" (the graph of the series), "correlation" (from the training readings), "identity"
        (no edges), an adjacency [n, n], or a trained model whose graph is taken, such as an MTGNN. By default a model
        that can learn its graph (MTGNN) does so; others use the graph of the series, or correlations if it has none
    folder
        where the trained model, its logs and the state are written. If an interrupted training is started again with
        the same folder, it resumes after its last complete epoch and gives the same result as without interruption.

    Returns
    -------
    TrainedForecaster

    Examples
    --------
    >>> from subcast import load_dataset
    >>> train_windows, val_windows, _ = load_dataset("clouds", n_plants=3, n_steps=300).split(12, 3)
    >>> forecaster = train("tcn", train_windows, val_windows, TrainConfig(epochs=1, progress=False))
    >>> forecaster(val_windows.batch([0, 1]).inputs).shape
    (2, 3, 3)
    """
    config = config or TrainConfig()
    _check_windows(train, val)
    with torch.random.fork_rng(devices=[]), processor_threads(config.threads):
        torch.manual_seed(epoch_seed(config.seed, -1 % 2**32))
        name, module, source = build_module(model, train, settings or {}, graph)
        run = describe_run(name, module, source, train, val, config)
        scaler = Scaler.fit(train)
        means = Scaler.fit(train, per_variable=True).mean
        check_module(module, TensorWindows(train, scaler, means), train, config)
        if folder is not None and can_be_saved(name, module):
            import_module("safetensors.torch")  # needed for saving: if it is not installed, fail before training
        run_folder = None if folder is None else prepare_folder(Path(folder), run)
        logger.info("training %s on %s: %d windows, %d epochs", name, train.series.name, len(train), config.epochs)
        progress = fit_module(module, train, val, scaler, means, config, run_folder)
        module.load_state_dict(progress.best_weights)
    logger.info("trained %s: best epoch %d, error %.6g", name, progress.best_epoch + 1, progress.best_error)
    record = _training_record(train, val, config, progress, run["processor threads"])
    forecaster = TrainedForecaster(
        module=module,
        model=name,
        scaler=scaler,
        means=means,
        variables=train.series.variables,
        lookback=train.lookback,
        horizon=train.horizon,
        n_features=train.series.n_features,
        time_features=train.series.time_features,
        graph_source=source,
        training=record,
        history=tuple(progress.history),
        versions=versions(),
    )
    if run_folder is not None:
        _write_results(forecaster, run_folder)
    return forecaster


def versions() -> dict[str, str]:
    """Return the versions of the packages that a training depends on."""
    return {
        "subcast": __version__,
        "torch": str(torch.__version__),
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def _check_windows(train: Windows, val: Windows) -> None:
    for argument, windows in (("train", train), ("val", val)):
        if not isinstance(windows, Windows):
            raise InputError(f"{argument} must be Windows, as Series.split returns, got {type(windows).__name__}")
        if not len(windows):
            raise InputError(f"{argument} has no windows: give a longer series, or a shorter lookback or horizon")
    for size in ("lookback", "horizon"):
        if getattr(train, size) != getattr(val, size):
            raise InputError(f"val must have the {size} of train, {getattr(train, size)}, got {getattr(val, size)}")
    if train.series.variables != val.series.variables or train.series.n_features != val.series.n_features:
        raise InputError("val must have the variables and time features of train: split one series into both")
    if not np.isfinite(val.targets).any() or not np.isfinite(train.targets).any():
        raise InputError("train and val must each have targets that are not NaN, and one of them has none")


def _training_record(
    train: Windows, val: Windows, config: TrainConfig, progress: Progress, threads: int
) -> dict[str, Any]:
    """Return what a trained forecaster stores about its training."""
    return {
        "config": config.to_dict(),
        "processor_threads": threads,
        "dataset": train.series.name,
        "protocol": train.protocol.name,
        "train_windows": len(train),
        "val_windows": len(val),
        "best_epoch": progress.best_epoch + 1,
        "best_val_mae": progress.best_error,
        "hours": round(progress.seconds / 3600, 4),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _write_results(forecaster: TrainedForecaster, folder: Path) -> None:
    """Write the plot of the losses and, for a model of this package, the model; then remove the state."""
    title = f"{forecaster.model} on {forecaster.training['dataset']}"
    save_figure(plot_losses(forecaster.history, title), folder / PLOT_FILE)
    if can_be_saved(forecaster.model, forecaster.module):
        forecaster.save(folder)
        (folder / STATE_FILE).unlink(missing_ok=True)
        logger.info("saved %s to %s", forecaster.model, folder)
