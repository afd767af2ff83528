"""How a model is trained: one dataclass, a preset with the paper's values, and the curriculum over the horizon."""

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
"""Iterations for each further step of the horizon, by dataset; those of the parts and kin are those of the whole."""

_CURRICULUM_SHARE = 0.3
SCHEDULES = ("constant", "cosine")


@dataclass(frozen=True)
class TrainConfig:
    """How to train; the defaults are for people in a hurry, `TrainConfig.paper(dataset)` is the published setting.

    Parameters
    ----------
    epochs
        how often to go through the training windows, at most
    batch_size
        windows in a batch
    learning_rate, weight_decay
        of Adam
    schedule
        "cosine": the learning rate falls to 0 along half a cosine; "constant"
    clip
        the gradient's norm is cut to this
    curriculum
        the loss covers steps 1 to L of the horizon, L growing by one every so many iterations; None: such that L
        reaches the horizon at 30 % of the planned iterations; 0: the whole horizon from the start
    patience
        stop when so many epochs have brought nothing better, counted from where the curriculum is at the full horizon;
        None: never
    variable_dropout
        harden the model: in each batch a share of the variables, up to this, is absent as in the paper's Partial
        setting, and only the others are forecast; 0 for none, only for the package's own models
    seed
        of the weights, the order of windows and the dropout: equal seeds give equal models, bit for bit on one machine
    threads
        processor threads, what torch chooses by default
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
        if not self.weight_decay >= 0:
            raise InputError(f"weight_decay must be 0 or more, got {self.weight_decay!r}")
        if self.schedule not in SCHEDULES:
            raise InputError(f"schedule must be one of {', '.join(SCHEDULES)}, got {self.schedule!r}")
        if self.device not in ("cpu", "gpu", "auto"):
            raise InputError(f"device must be 'cpu', 'gpu' or 'auto', got {self.device!r}")

    @classmethod
    def paper(cls, dataset: str, **changes: Any) -> TrainConfig:
        """The published setting for a dataset; it goes with windows of `split(..., protocol="paper")`."""
        if dataset not in PAPER_CURRICULUM:
            raise InputError(
                f"dataset must be one whose curriculum is published ({', '.join(PAPER_CURRICULUM)}), got {dataset!r}"
            )
        settings: dict[str, Any] = {
            "epochs": 100,
            "schedule": "constant",
            "curriculum": PAPER_CURRICULUM[dataset],
            "patience": None,
        }
        return cls(**{**settings, **changes})

    def to_dict(self) -> dict[str, Any]:
        """All settings, for JSON."""
        return asdict(self)

    def curriculum_steps(self, iterations: int, horizon: int) -> int:
        """Iterations for each further step of the horizon, of so many planned; 0 for no curriculum.

        >>> TrainConfig().curriculum_steps(iterations=1100, horizon=12)
        30
        """
        if self.curriculum is not None:
            return self.curriculum
        return int(_CURRICULUM_SHARE * iterations / (horizon - 1)) if horizon > 1 else 0


def curriculum_level(iteration: int, steps: int, horizon: int) -> int:
    """How many steps of the horizon the loss covers at an iteration, counted from 1.

    >>> [curriculum_level(i, 400, 12) for i in (1, 399, 400, 4399, 4400, 9999)]
    [1, 1, 2, 11, 12, 12]
    """
    return horizon if steps == 0 else min(horizon, 1 + iteration // steps)
