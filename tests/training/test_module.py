"""TrainingModule: patience, and sums of errors."""

import torch
from torch import nn

from subcast.training import TrainConfig, train
from subcast.training.module import Progress, TrainingModule
from training.examples import QUICK


class TestPatience:
    def rows(self, count):
        return [{"epoch": epoch} for epoch in range(count)]

    def test_counts_only_at_the_full_horizon(self):
        progress = Progress(history=self.rows(8), best_epoch=0)
        assert progress.stalled(full_from=10) == 0
        assert progress.stalled(full_from=5) == 3
        assert progress.stalled(full_from=0) == 7

    def test_counts_from_the_best_epoch(self):
        assert Progress(history=self.rows(8), best_epoch=7).stalled(full_from=2) == 0
        assert Progress(history=self.rows(8), best_epoch=5).stalled(full_from=2) == 2

    def test_stops(self, parts):
        config = TrainConfig(
            epochs=30, batch_size=16, learning_rate=1e-9, curriculum=0, patience=2, progress=False, schedule="constant"
        )

        class Constant(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.zeros(()))

            def forward(self, x):
                return 0 * self.weight + torch.zeros(len(x), 4, 3)

        assert len(train(Constant(), parts.train, parts.val, config).history) == 3


def test_errors_are_summed_on_the_cpu():
    class OnTheDevice:  # one that has no doubles, as MPS
        def cpu(self):
            return torch.ones(2, 4, 3)

    task = TrainingModule(nn.Identity(), torch.zeros(1), torch.ones(1), QUICK, 4, 1)
    task._absolute_errors = lambda *_: OnTheDevice()
    task.validation_step((torch.zeros(2, 6, 3, 1), torch.zeros(2, 4, 3)), 0)
    assert task._val_sums.tolist() == [[6.0] * 4] * 2
