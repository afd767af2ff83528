"""Batches of windows as tensors."""

import numpy as np
import torch

from subcast.scaling import Scaler
from subcast.series import Series
from subcast.training.data import EpochBatches, TensorWindows
from training.examples import waves


class TestTensorWindows:
    def test_batches_equal_those_of_windows(self, parts):
        scaler = Scaler.fit(parts.train)
        which = torch.tensor([5, 0, 17])
        inputs, targets = TensorWindows(parts.train, scaler, scaler.mean)[which]
        batch = parts.train.batch(which.numpy())
        np.testing.assert_allclose(inputs[..., 0], scaler.transform(batch.inputs[..., 0]), atol=1e-6)
        np.testing.assert_array_equal(targets, batch.targets)

    def test_strides_and_time_features(self):
        times = np.datetime64("2024-01-01") + np.arange(100) * np.timedelta64(1, "h")
        windows = waves(100, times=times, time_features=("time_of_day",)).windows(6, 4)[3::7]
        scaler = Scaler.fit(windows)
        inputs, targets = TensorWindows(windows, scaler, scaler.mean)[torch.arange(len(windows))]
        batch = windows.batch()
        np.testing.assert_array_equal(inputs[..., 1], batch.inputs[..., 1])
        np.testing.assert_array_equal(targets, batch.targets)

    def test_each_epoch_has_every_window_once_in_another_order(self):
        batches = EpochBatches(10, 4, seed=0)
        first = torch.cat(list(batches)).tolist()
        assert sorted(first) == list(range(10))
        assert torch.cat(list(batches)).tolist() == first
        batches.epoch = lambda: 1
        assert torch.cat(list(batches)).tolist() != first
        assert len(batches) == len(list(batches)) == 3


def test_zero_targets_are_missing_in_the_paper_protocol():
    values = np.array(waves().values)
    values[40:60] = 0.0
    train_part = Series(values).split(6, 4, protocol="paper").train
    served = TensorWindows(train_part, Scaler.fit(train_part), np.zeros(3))
    expected = train_part.batch()
    inputs, targets = served[torch.arange(len(train_part))]
    np.testing.assert_array_equal(targets, expected.targets)
    assert torch.isnan(targets).any()
    assert torch.isfinite(inputs).all()
