"""TrainConfig: the settings of a training, the paper's preset, and the curriculum over the horizon."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from subcast.axes import check_whole
from subcast.errors import InputError

PAPER_CURRICULUM = {
    "ecg5000": 400,
    "ecg5000-test-first": 400,
    "metr-la": 2500,
    "metr-la-29": 2500,
    "metr-la-week": 2500,
    "pems-bay-67": 2500,
    "pems-bay-84": 2500,
    "solar": 2500,
    "traffic": 1000,
    "traffic-20": 1000,
}
"""Iterations per additional step of the horizon, by dataset; a subset or stand-in uses the value of its original."""

_CURRICULUM_SHARE = 0.3
SCHEDULES = ("constant", "cosine")


@dataclass(frozen=True)
class TrainConfig:
    """Settings of a training; the defaults favor a short one, `TrainConfig.paper(dataset)` has the published values.

    Parameters
    ----------
    epochs
        maximum number of passes through the training windows
    batch_size
        windows in a batch
    learning_rate, weight_decay
        parameters of the Adam optimizer
    schedule
        "cosine" (the learning rate falls to 0 along half a cosine) or "constant"
    clip
        maximum norm of the gradient
    curriculum
        number of iterations after which the loss covers one more step of the horizon. None chooses it so that the
        loss covers the full horizon after 30 % of the planned iterations; 0 uses the full horizon from the start
    patience
        stop after this many epochs without improvement, counted once the loss covers the full horizon; None never
        stops early
    variable_dropout
        maximum share of the variables that are absent in a batch, drawn at random; absent variables are treated as in
        the paper's Partial setting and only the others are forecast. 0 disables it; only for models of this package
    variable_dropout_least
        minimum of that share, 0 by default. Above 0, validation has absent variables too, the same in every epoch: the
        best epoch is then the best for forecasts from some of the variables
    seed
        random seed for weights, order of windows and dropout; equal seeds give equal models on one machine, bit for bit
    threads
        number of processor threads; by default torch chooses
    device
        "cpu", "gpu", or "auto"
    progress
        whether to show a progress bar

    Examples
    --------
    >>> TrainConfig.paper("ecg5000").curriculum
    400
    """

    epochs: int = 30
    batch_size: int = 64
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    schedule: str = "cosine"
    clip: float = 5.0
    curriculum: int | None = None
    patience: int | None = 6
    variable_dropout: float = 0.0
    variable_dropout_least: float = 0.0
    seed: int = 0
    threads: int | None = None
    device: str = "auto"
    progress: bool = True

    def __post_init__(self) -> None:
        for argument, least in (("epochs", 1), ("batch_size", 1), ("seed", 0)):
            check_whole(argument, getattr(self, argument), least)
        for argument, least in (("curriculum", 0), ("patience", 1), ("threads", 1)):
            if getattr(self, argument) is not None:
                check_whole(argument, getattr(self, argument), least)
        for argument in ("learning_rate", "clip"):
            if not getattr(self, argument) > 0:
                raise InputError(f"{argument} must be above 0, got {getattr(self, argument)!r}")
        if not 0 <= self.variable_dropout < 1:
            raise InputError(f"variable_dropout must be 0 or more and below 1, got {self.variable_dropout!r}")
        if not 0 <= self.variable_dropout_least <= self.variable_dropout:
            raise InputError(
                f"variable_dropout_least must be 0 or more and at most variable_dropout ({self.variable_dropout}), "
                f"got {self.variable_dropout_least!r}"
            )
        if not self.weight_decay >= 0:
            raise InputError(f"weight_decay must be 0 or more, got {self.weight_decay!r}")
        if self.schedule not in SCHEDULES:
            raise InputError(f"schedule must be one of {', '.join(SCHEDULES)}, got {self.schedule!r}")
        if self.device not in ("cpu", "gpu", "auto"):
            raise InputError(f"device must be 'cpu', 'gpu' or 'auto', got {self.device!r}")

    @classmethod
    def paper(cls, dataset: str, **changes: Any) -> TrainConfig:
        """Return the published settings for a dataset, for windows of `split(..., protocol="paper")`."""
        if dataset not in PAPER_CURRICULUM:
            raise InputError(
                f"dataset must be one with a published curriculum ({', '.join(PAPER_CURRICULUM)}), got {dataset!r}"
            )
        settings: dict[str, Any] = {
            "epochs": 100,
            "schedule": "constant",
            "curriculum": PAPER_CURRICULUM[dataset],
            "patience": None,
        }
        return cls(**{**settings, **changes})

    def to_dict(self) -> dict[str, Any]:
        """Return all settings as plain values for JSON."""
        return asdict(self)

    def curriculum_steps(self, iterations: int, horizon: int) -> int:
        """Return the iterations per additional step of the horizon, given the planned total; 0 means no curriculum.

        >>> TrainConfig().curriculum_steps(iterations=1100, horizon=12)
        30
        """
        if self.curriculum is not None:
            return self.curriculum
        return int(_CURRICULUM_SHARE * iterations / (horizon - 1)) if horizon > 1 else 0


def curriculum_level(iteration: int, steps: int, horizon: int) -> int:
    """Return the number of horizon steps in the loss at an iteration, counted from 1.

    >>> [curriculum_level(i, 400, 12) for i in (1, 399, 400, 4399, 4400, 9999)]
    [1, 1, 2, 11, 12, 12]
    """
    return horizon if steps == 0 else min(horizon, 1 + iteration // steps)
