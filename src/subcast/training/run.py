"""`train`: from windows to a trained forecaster, resumable when given a folder."""

from __future__ import annotations

import csv
import logging
import os
import platform
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import nn

from subcast import __version__
from subcast.errors import InputError
from subcast.forecasters import FORECASTERS
from subcast.forecasters.graph import correlation_graph
from subcast.forecasters.trained import TrainedForecaster
from subcast.plots import save_figure
from subcast.scaling import Scaler
from subcast.storage.files import whole_file
from subcast.training.config import TrainConfig
from subcast.training.data import EpochBatches, TensorWindows, epoch_seed
from subcast.training.plots import plot_losses
from subcast.training.resume import STATE_FILE, describe_run, prepare_folder, read_state
from subcast.windows import Windows

if TYPE_CHECKING:
    from lightning import Trainer

    from subcast.training.module import Progress, TrainingModule

HISTORY_FILE, PLOT_FILE, LOGS_FOLDER = "history.csv", "losses.png", "tensorboard"

Graph = str | ArrayLike | TrainedForecaster


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
    """Train a model and give it back as a forecaster in raw units, at its best epoch on the validation windows.

    Parameters
    ----------
    model
        "mtgnn", "astgcn", "mstgcn", "lstnet" or "tcn", or a module of your own that maps normalized [b, t, n, f] to
        [b, h, n]
    train, val
        the windows to learn from and to choose the epoch by, as `Series.split` gives them
    config
        how to train; the defaults are for people in a hurry
    settings
        what the model is built with beyond its sizes, such as {"dropout": 0.1}
    graph
        for graph models: "series" (the series' own), "correlation" (from the training readings), "identity" (no
        edges), an adjacency [n, n], or a trained MTGNN (the graph it learned). MTGNN learns its graph by default; the
        others take the series' own, and the correlations where it has none
    folder
        where the finished model, its logs and the state go. A training that was interrupted goes on from the end of
        its last epoch when it is started again with the same folder, and ends as if nothing had happened.

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
    with torch.random.fork_rng(devices=[]), _threads(config.threads):
        torch.manual_seed(epoch_seed(config.seed, -1 % 2**32))
        name, module, source = _build(model, train, settings or {}, graph)
        run = describe_run(name, module, source, train, val, config)
        scaler = Scaler.fit(train)
        means = Scaler.fit(train, per_variable=True).mean
        _check_module(module, TensorWindows(train, scaler, means), train)
        if folder is not None and name in FORECASTERS:
            import_module("safetensors.torch")  # what saving will need: missing, it is missed now, not in hours
        place = None if folder is None else prepare_folder(Path(folder), run)
        progress = _fit(module, train, val, scaler, means, config, place)
        module.load_state_dict(progress.best_weights)
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
        training={
            "config": config.to_dict(),
            "processor_threads": run["processor threads"],
            "dataset": train.series.name,
            "protocol": train.protocol.name,
            "train_windows": len(train),
            "val_windows": len(val),
            "best_epoch": progress.best_epoch + 1,
            "best_val_mae": progress.best_error,
            "hours": round(progress.seconds / 3600, 4),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        },
        history=tuple(progress.history),
        versions=versions(),
    )
    if place is not None:
        save_figure(plot_losses(forecaster.history, f"{name} on {train.series.name}"), place / PLOT_FILE)
    if place is not None and name in FORECASTERS:
        forecaster.save(place)
        (place / STATE_FILE).unlink(missing_ok=True)
    return forecaster


def versions() -> dict[str, str]:
    """What a training depends on."""
    return {
        "subcast": __version__,
        "torch": str(torch.__version__),
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


# What is trained


def _check_windows(train: Windows, val: Windows) -> None:
    for argument, windows in (("train", train), ("val", val)):
        if not isinstance(windows, Windows):
            raise InputError(f"{argument} must be Windows, as Series.split gives them, got {type(windows).__name__}")
        if not len(windows):
            raise InputError(f"{argument} holds no windows: give a longer series, or a shorter lookback or horizon")
    for what in ("lookback", "horizon"):
        if getattr(train, what) != getattr(val, what):
            raise InputError(f"val must have the {what} of train, {getattr(train, what)}, got {getattr(val, what)}")
    if train.series.variables != val.series.variables or train.series.n_features != val.series.n_features:
        raise InputError("val must have the variables and time features of train: split one series into both")
    if not np.isfinite(val.targets).any() or not np.isfinite(train.targets).any():
        raise InputError("train and val must hold targets that are not NaN: there is nothing to learn from")


def _build(
    model: str | nn.Module, train: Windows, settings: Mapping[str, Any], graph: Graph | None
) -> tuple[str, nn.Module, str | None]:
    """The model's name, the module, and where its graph came from."""
    if isinstance(model, nn.Module):
        if settings or graph is not None:
            raise InputError("settings and graph go with a model by name: build your module with them")
        name = next((name for name, kind in FORECASTERS.items() if type(model) is kind), type(model).__name__)
        return name, model, getattr(model, "settings", {}).get("graph")
    if not isinstance(model, str) or model not in FORECASTERS:
        raise InputError(f"model must be one of {', '.join(FORECASTERS)}, or a torch module, got {model!r}")
    kind = FORECASTERS[model]
    options = dict(settings)
    source: str | None = None
    if kind.needs_graph or model == "mtgnn":
        options["graph"], source = _choose_graph(model, train, graph)
    elif graph is not None:
        raise InputError(f"{model} uses no graph: leave graph out")
    try:
        module = kind(
            n_variables=train.series.n_variables,
            lookback=train.lookback,
            horizon=train.horizon,
            n_features=train.series.n_features,
            **options,
        )
    except TypeError as error:
        raise InputError(f"settings do not fit {model}: {error}") from None
    return model, module, source


def _check_module(module: nn.Module, served: TensorWindows, train: Windows) -> None:
    """Raise one clear sentence unless the module forecasts a window in the shape that training needs."""
    parameter = next(module.parameters(), None)
    if parameter is None:
        raise InputError(f"model must have weights to train, and {type(module).__name__} has none")
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
        raise InputError(f"{sentence}, and {type(module).__name__} failed: {error}") from error
    finally:
        module.train(mode)
    if not isinstance(y, torch.Tensor) or tuple(y.shape) != expected:
        got = tuple(y.shape) if isinstance(y, torch.Tensor) else type(y).__name__
        raise InputError(f"{sentence}, and {type(module).__name__} gave {got}")


def _choose_graph(model: str, train: Windows, graph: Graph | None) -> tuple[str | NDArray[np.float32], str]:
    own = train.series.graph
    if graph is None:
        graph = "learned" if model == "mtgnn" else "series" if own is not None else "correlation"
    if isinstance(graph, TrainedForecaster):
        learned = graph.graph()
        if learned is None or graph.variables != train.series.variables:
            raise InputError("graph must be a trained graph model of the same variables, such as a trained MTGNN")
        return learned, f"learned by {graph.model}"
    if not isinstance(graph, str):
        return np.asarray(graph, dtype=np.float32), "given"
    if graph == "series":
        if own is None:
            raise InputError("graph='series' needs a series with a graph, and this one has none: use 'correlation'")
        return own, "series"
    if graph == "correlation":
        first, last = min(train.starts), max(train.starts) + train.lookback
        return correlation_graph(train.series.values[first:last]), "correlation"
    if graph == "identity" or (graph == "learned" and model == "mtgnn"):
        return graph, graph
    choices = "'series', 'correlation', 'identity', an adjacency [n, n] or a trained MTGNN"
    raise InputError(f"graph must be {choices}{', or learned' if model == 'mtgnn' else ''}, got {graph!r}")


# Training it


def _fit(
    module: nn.Module,
    train: Windows,
    val: Windows,
    scaler: Scaler,
    means: NDArray[np.float64],
    config: TrainConfig,
    folder: Path | None,
) -> Progress:
    from torch.utils.data import DataLoader

    from subcast.training.module import TrainingModule

    batches = EpochBatches(len(train), config.batch_size, config.seed)
    in_order = EpochBatches(len(val), 4 * config.batch_size)
    task = TrainingModule(
        module,
        torch.as_tensor(scaler.mean, dtype=torch.float32),
        torch.as_tensor(scaler.scale, dtype=torch.float32),
        config,
        train.horizon,
        len(batches),
    )
    batches.epoch = lambda: task.current_epoch
    state = None if folder is None else folder / STATE_FILE
    resumed = state is not None and state.is_file()
    if state is not None and resumed:
        task.on_load_checkpoint(read_state(state))
        if task.finished():
            return task.progress
    module.train()
    trainer = _trainer(config, folder)
    with _quiet(), _interruptible():
        trainer.fit(
            task,
            DataLoader(TensorWindows(train, scaler, means), batch_size=None, sampler=batches),
            DataLoader(TensorWindows(val, scaler, means), batch_size=None, sampler=in_order),
            ckpt_path=str(state) if resumed else None,
            weights_only=True,
        )
    module.cpu()
    return task.progress


def _trainer(config: TrainConfig, folder: Path | None) -> Trainer:
    from lightning import Callback, Trainer
    from lightning.pytorch.callbacks import RichProgressBar

    class Bar(RichProgressBar):  # type: ignore[misc]
        """Without the number of the log."""

        def get_metrics(self, *arguments: Any) -> dict[str, Any]:
            return {name: value for name, value in super().get_metrics(*arguments).items() if name != "v_num"}

    class EndOfEpoch(Callback):  # type: ignore[misc]
        """Stop when nothing gets better, and write down what resuming needs."""

        def on_train_epoch_end(self, trainer: Trainer, pl_module: TrainingModule) -> None:
            progress = pl_module.progress
            if pl_module.finished():
                trainer.should_stop = True
            if folder is not None:
                _write_history(progress.history, folder)
                partial = folder / f".{STATE_FILE}"
                trainer.save_checkpoint(partial)
                os.replace(partial, folder / STATE_FILE)

    logger: Any = False
    if folder is not None:
        logger = _tensorboard(folder)
    with _quiet():
        return Trainer(
            max_epochs=config.epochs,
            accelerator=config.device,
            devices=1,
            logger=logger,
            callbacks=[EndOfEpoch(), *([Bar()] if config.progress else [])],
            enable_checkpointing=False,
            enable_model_summary=False,
            enable_progress_bar=config.progress,
            num_sanity_val_steps=0,
            log_every_n_steps=50,
        )


def _tensorboard(folder: Path) -> Any:
    from lightning.pytorch.loggers import TensorBoardLogger

    try:
        return TensorBoardLogger(folder, name=None, version=LOGS_FOLDER, default_hp_metric=False)
    except ModuleNotFoundError:  # tensorboard is not installed: history.csv has it all
        return False


def _write_history(history: list[dict[str, float]], folder: Path) -> None:
    with whole_file(folder / HISTORY_FILE) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(history[0]))
        writer.writeheader()
        writer.writerows(history)


# Surroundings


@contextmanager
def _threads(wanted: int | None) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(wanted or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C be Ctrl-C, of which Lightning makes an exit."""
    try:
        yield
    except SystemExit as stop:
        if isinstance(stop.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise


@contextmanager
def _quiet() -> Iterator[None]:
    """Without Lightning's advice, which is about things decided here."""
    loggers = [logging.getLogger(name) for name in ("lightning.pytorch", "lightning.fabric")]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.WARNING)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="lightning.*")
            warnings.filterwarnings("ignore", message=".*does not have many workers.*")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
