"""The training loop: one Lightning run, resumed from the state in a folder if there is one."""

from __future__ import annotations

import csv
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from subcast.scaling import Scaler
from subcast.storage.files import whole_file
from subcast.training.config import TrainConfig
from subcast.training.data import EpochBatches, TensorWindows
from subcast.training.resume import STATE_FILE, read_state
from subcast.windows import Windows

if TYPE_CHECKING:
    from lightning import Trainer

    from subcast.training.module import Progress, TrainingModule

HISTORY_FILE, LOGS_FOLDER = "history.csv", "tensorboard"

logger = logging.getLogger(__name__)


def fit_module(
    module: nn.Module,
    train: Windows,
    val: Windows,
    scaler: Scaler,
    means: NDArray[np.float64],
    config: TrainConfig,
    folder: Path | None,
) -> Progress:
    """Train a module in place and return the history and the weights of the best epoch.

    Parameters
    ----------
    module
        maps normalized [b, t, n, f] to [b, h, n]
    train, val
        windows to learn from, and to select the best epoch
    scaler, means
        normalization of the readings, and the raw value [n] of a missing reading
    config
        how to train
    folder
        where history, logs and state are written; training resumes from a state that is there
    """
    batches = EpochBatches(len(train), config.batch_size, config.seed)
    task = _task(module, scaler, config, train.horizon, len(batches))
    batches.epoch = lambda: task.current_epoch
    state = None if folder is None else folder / STATE_FILE
    resumed = state is not None and state.is_file()
    if state is not None and resumed:
        task.on_load_checkpoint(read_state(state))
        logger.info("resuming after epoch %d from %s", len(task.progress.history), state)
        if task.finished():
            return task.progress
    _run(task, TensorWindows(train, scaler, means), TensorWindows(val, scaler, means), batches, folder, resumed)
    return task.progress


@contextmanager
def processor_threads(count: int | None) -> Iterator[None]:
    """Set the number of torch's processor threads for the duration of a block; None keeps it."""
    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _task(module: nn.Module, scaler: Scaler, config: TrainConfig, horizon: int, batches: int) -> TrainingModule:
    from subcast.training.module import TrainingModule

    mean, scale = (torch.as_tensor(array, dtype=torch.float32) for array in (scaler.mean, scaler.scale))
    return TrainingModule(module, mean, scale, config, horizon, batches)


def _run(
    task: TrainingModule,
    train: TensorWindows,
    val: TensorWindows,
    batches: EpochBatches,
    folder: Path | None,
    resumed: bool,
) -> None:
    from torch.utils.data import DataLoader

    config = task.config
    task.model.train()
    trainer = _trainer(config, folder)
    with _without_lightning_messages(), _keyboard_interrupt():
        trainer.fit(
            task,
            DataLoader(train, batch_size=None, sampler=batches),
            DataLoader(val, batch_size=None, sampler=EpochBatches(len(val), 4 * config.batch_size)),
            ckpt_path=str(folder / STATE_FILE) if folder is not None and resumed else None,
            weights_only=True,
        )
    task.model.cpu()


def _trainer(config: TrainConfig, folder: Path | None) -> Trainer:
    from lightning import Trainer

    callbacks = [_end_of_epoch(folder), *([_progress_bar()] if config.progress else [])]
    with _without_lightning_messages():
        return Trainer(
            max_epochs=config.epochs,
            accelerator=config.device,
            devices=1,
            logger=False if folder is None else _tensorboard(folder),
            callbacks=callbacks,
            enable_checkpointing=False,
            enable_model_summary=False,
            enable_progress_bar=config.progress,
            num_sanity_val_steps=0,
            log_every_n_steps=50,
        )


def _progress_bar() -> Any:
    from lightning.pytorch.callbacks import RichProgressBar

    class Bar(RichProgressBar):  # type: ignore[misc]
        """The progress bar without the version number of the log."""

        def get_metrics(self, *arguments: Any) -> dict[str, Any]:
            return {name: value for name, value in super().get_metrics(*arguments).items() if name != "v_num"}

    return Bar()


def _end_of_epoch(folder: Path | None) -> Any:
    from lightning import Callback

    class EndOfEpoch(Callback):  # type: ignore[misc]
        """Stop when patience is used up, and write the history and the state for resuming."""

        def on_train_epoch_end(self, trainer: Trainer, pl_module: TrainingModule) -> None:
            history = pl_module.progress.history
            logger.info("epoch %d: validation error %.6g", len(history), history[-1]["val"])
            if pl_module.finished():
                trainer.should_stop = True
            if folder is not None:
                _write_history(history, folder)
                with whole_file(folder / STATE_FILE) as temporary:
                    trainer.save_checkpoint(temporary)

    return EndOfEpoch()


def _tensorboard(folder: Path) -> Any:
    from lightning.pytorch.loggers import TensorBoardLogger

    try:
        return TensorBoardLogger(folder, name=None, version=LOGS_FOLDER, default_hp_metric=False)
    except ModuleNotFoundError:
        logger.info("tensorboard is not installed: the losses are only written to %s", HISTORY_FILE)
        return False


def _write_history(history: list[dict[str, float]], folder: Path) -> None:
    with whole_file(folder / HISTORY_FILE) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(history[0]))
        writer.writeheader()
        writer.writerows(history)


@contextmanager
def _keyboard_interrupt() -> Iterator[None]:
    """Raise KeyboardInterrupt for Ctrl-C, which Lightning turns into SystemExit."""
    try:
        yield
    except SystemExit as stop:
        if isinstance(stop.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise


@contextmanager
def _without_lightning_messages() -> Iterator[None]:
    """Suppress Lightning's informational messages and its advice on settings that are fixed here."""
    loggers = [logging.getLogger(name) for name in ("lightning.pytorch", "lightning.fabric")]
    levels = [lightning_logger.level for lightning_logger in loggers]
    try:
        for lightning_logger in loggers:
            lightning_logger.setLevel(logging.WARNING)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="lightning.*")
            warnings.filterwarnings("ignore", message=".*does not have many workers.*")
            yield
    finally:
        for lightning_logger, level in zip(loggers, levels, strict=True):
            lightning_logger.setLevel(level)
