"""The training loop: interruption by the user."""

import signal

import pytest

from subcast.training import train
from subcast.training.module import TrainingModule
from training.examples import QUICK, SMALL


def test_ctrl_c_raises_keyboard_interrupt(parts, monkeypatch):
    def pressed(*_):
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(TrainingModule, "training_step", pressed)
    with pytest.raises(KeyboardInterrupt):
        train("tcn", parts.train, parts.val, QUICK, settings=SMALL)
    assert signal.getsignal(signal.SIGINT) is before
