"""Small series, quick settings and helpers for tests of training."""

import sys

import numpy as np
import pytest

from subcast.series import Series
from subcast.training import TrainConfig
from subcast.training.module import TrainingModule

QUICK = TrainConfig(epochs=2, batch_size=16, progress=False)
SMALL = {"channels": 8}


def waves(steps=160, n=3, seed=0, **fields):
    rng = np.random.default_rng(seed)
    t = np.arange(steps)[:, None]
    values = 50 + 10 * np.sin(t / 5 + np.arange(n)) + rng.normal(size=(steps, n))
    return Series(values.astype(np.float32), **fields)


def without_package(monkeypatch, name):
    """Make importing a package fail, as if it were not installed."""
    for module in [module for module in sys.modules if module.partition(".")[0] == name]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, name, None)


def interrupted(train, *arguments, **options):
    """Train one epoch and interrupt the second."""
    with pytest.MonkeyPatch.context() as patch:
        whole = TrainingModule.training_step

        def until(self, batch, number):
            if self.current_epoch == 1:
                raise KeyboardInterrupt
            whole(self, batch, number)

        patch.setattr(TrainingModule, "training_step", until)
        with pytest.raises(KeyboardInterrupt):
            train(*arguments, **options)
