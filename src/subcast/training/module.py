"""TrainingModule: the LightningModule that trains every model (masked MAE in raw units, curriculum, best epoch)."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any

import lightning
import torch
from torch import Tensor, nn

from subcast.errors import SubcastError
from subcast.forecasters.base import ForecastModule
from subcast.training.config import TrainConfig, curriculum_level
from subcast.training.data import epoch_seed

_LEAST_WINDOWS = 8


@dataclass
class Progress:
    """The results up to the end of an epoch; part of the state for resuming."""

    history: list[dict[str, float]] = field(default_factory=list)
    best_epoch: int = -1
    best_error: float = math.inf
    best_weights: dict[str, Tensor] = field(default_factory=dict)
    seconds: float = 0.0

    def stalled(self, full_from: int) -> int:
        """Return the number of epochs without improvement, counted from epoch `full_from`."""
        last = len(self.history) - 1
        return max(0, last - max(self.best_epoch, full_from - 1)) if last >= full_from else 0


class TrainingModule(lightning.LightningModule):  # type: ignore[misc]
    """Train a model on (inputs, targets) batches.

    A step splits its batch into chunks that fit the processor's cache and sums their gradients, which is faster and
    gives the gradient of the whole batch.

    Parameters
    ----------
    model
        maps normalized [b, t, n, f] to [b, h, n]
    mean, scale
        [n] or [1], convert forecasts to raw units
    config
        how to train
    horizon
        number of steps to forecast
    batches
        number of batches in an epoch
    """

    def __init__(
        self, model: nn.Module, mean: Tensor, scale: Tensor, config: TrainConfig, horizon: int, batches: int
    ) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.model, self.config, self.horizon = model, config, horizon
        self.register_buffer("mean", mean, persistent=False)
        self.register_buffer("scale", scale, persistent=False)
        self.iterations = config.epochs * batches
        self.curriculum_steps = config.curriculum_steps(self.iterations, horizon)
        # The first epoch (from 0) whose every loss covers the whole horizon.
        self.full_from = math.ceil(max(0, self.curriculum_steps * (horizon - 1) - 1) / batches)
        self.progress = Progress()
        self._train_sums = torch.zeros(2, dtype=torch.float64)
        self._val_sums = torch.zeros(2, horizon, dtype=torch.float64)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Return the Adam optimizer."""
        return torch.optim.Adam(
            self.model.parameters(), lr=self.config.learning_rate, weight_decay=self.config.weight_decay
        )

    def on_train_epoch_start(self) -> None:
        """Reset the training sums."""
        self._train_sums.zero_()
        self._epoch_started = time.perf_counter()

    def training_step(self, batch: tuple[Tensor, Tensor], batch_number: int) -> None:
        """Take one step of the optimizer."""
        inputs, targets = batch
        if batch_number == 0:  # the same dropout after an interruption
            torch.manual_seed(epoch_seed(self.config.seed, self.current_epoch))
        iteration = self.current_epoch * self.trainer.num_training_batches + batch_number + 1
        level = curriculum_level(iteration, self.curriculum_steps, self.horizon)
        targets = targets[:, :level]
        present = self._random_present(inputs)
        if present is not None:
            targets = torch.where(present, targets, torch.nan)
        count = int(torch.isfinite(targets).sum())
        optimizer = self.optimizers()
        for group in optimizer.param_groups:
            group["lr"] = self._learning_rate(iteration)
        optimizer.zero_grad()
        total = 0.0
        chunk = self._windows_at_once(inputs)
        for x, y in zip(inputs.split(chunk), targets.split(chunk), strict=True):
            error = self._absolute_errors(x, y, present).sum()
            self.manual_backward(error / max(count, 1))
            total += float(error.detach())
        nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
        optimizer.step()
        self._train_sums += torch.tensor([total, count], dtype=torch.float64)
        self.log("train", total / max(count, 1), prog_bar=True, logger=False, batch_size=len(inputs))

    def on_validation_epoch_start(self) -> None:
        """Reset the validation sums."""
        self._val_sums.zero_()

    def validation_step(self, batch: tuple[Tensor, Tensor], batch_number: int) -> None:
        """Add the errors of a batch to the validation sums."""
        inputs, targets = batch
        present = None
        if self.config.variable_dropout_least:  # the same variables in every epoch
            generator = torch.Generator().manual_seed(epoch_seed(self.config.seed, batch_number))
            present = self._random_present(inputs, generator)
            targets = torch.where(present, targets, torch.nan)
        errors = self._absolute_errors(inputs, targets, present)  # [b, h, n]
        self._val_sums[0] += errors.cpu().double().sum((0, 2))  # not every device has doubles
        self._val_sums[1] += torch.isfinite(targets).sum((0, 2)).cpu()

    def on_validation_epoch_end(self) -> None:
        """Average the errors over all points, and keep the weights if this is the best epoch."""
        sums, counts = self._val_sums
        error = float(sums.sum() / counts.sum().clamp(min=1))
        last = float(sums[-1] / counts[-1].clamp(min=1))
        train = float(self._train_sums[0] / self._train_sums[1].clamp(min=1))
        if not (math.isfinite(train) and math.isfinite(error)):
            raise SubcastError(
                f"the training diverged in epoch {self.current_epoch + 1} (its errors are not finite): "
                "lower learning_rate or clip"
            )
        iteration = (self.current_epoch + 1) * self.trainer.num_training_batches
        level = curriculum_level(iteration, self.curriculum_steps, self.horizon)
        self.progress.history.append(
            {"epoch": self.current_epoch, "level": level, "train": train, "val": error, "val_last_step": last}
        )
        if error < self.progress.best_error:
            self.progress.best_epoch, self.progress.best_error = self.current_epoch, error
            self.progress.best_weights = {
                name: value.detach().cpu().clone() for name, value in self.model.state_dict().items()
            }
        self.progress.seconds += time.perf_counter() - self._epoch_started
        self.log_dict({"val": error, "best": self.progress.best_error}, prog_bar=True)
        self.log_dict({"train_loss": train, "val_last_step": last, "level": float(level)})

    def finished(self) -> bool:
        """Return whether all epochs are done or the patience is used up."""
        if len(self.progress.history) >= self.config.epochs:
            return True
        patience = self.config.patience
        return patience is not None and self.progress.stalled(self.full_from) >= patience

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add the progress to the state."""
        checkpoint["progress"] = dict(vars(self.progress))

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Read the progress from the state."""
        self.progress = Progress(**checkpoint["progress"])

    def _random_present(self, inputs: Tensor, generator: torch.Generator | None = None) -> Tensor | None:
        """Draw a mask [n] with a random share of absent variables, at most `variable_dropout`; None if that is 0."""
        least, most = self.config.variable_dropout_least, self.config.variable_dropout
        if not most:
            return None
        share = least + (most - least) * torch.rand((), generator=generator)
        order = torch.rand(inputs.shape[2], generator=generator)
        present = order >= torch.minimum(share, order.max())  # at least one variable stays present
        return present.to(inputs.device)

    def _absolute_errors(self, inputs: Tensor, targets: Tensor, present: Tensor | None = None) -> Tensor:
        """Return |forecast - target| in raw units [b, h, n], 0 where the target is missing."""
        forecast = self.model(inputs) if present is None else self.model(inputs, present=present)
        forecast = forecast[:, : targets.shape[1]] * self.scale + self.mean
        observed = torch.isfinite(targets)
        return torch.where(observed, forecast - torch.where(observed, targets, 0.0), 0.0).abs()

    def _learning_rate(self, iteration: int) -> float:
        if self.config.schedule == "constant":
            return self.config.learning_rate
        return self.config.learning_rate * 0.5 * (1 + math.cos(math.pi * (iteration - 1) / self.iterations))

    def _windows_at_once(self, inputs: Tensor) -> int:
        """Return how many windows of a batch to compute together."""
        if not isinstance(self.model, ForecastModule) or inputs.device.type != "cpu":
            return len(inputs)
        chunks = math.ceil(len(inputs) / max(_LEAST_WINDOWS, 2 * self.model.rows_at_once // inputs.shape[2]))
        return math.ceil(len(inputs) / chunks)
