"""Training: `train` and its `TrainConfig`, the same for all models."""

from __future__ import annotations

from subcast.training.config import TrainConfig
from subcast.training.run import train

__all__ = ["TrainConfig", "train"]
