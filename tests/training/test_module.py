"""TrainingModule: patience, and sums of errors."""

from dataclasses import replace

import torch
from torch import nn

from subcast.forecasters import TCN
from subcast.training import TrainConfig, train
from subcast.training.module import Progress, TrainingModule
from training.examples import QUICK

MASKED = {"variable_dropout": 0.85, "variable_dropout_least": 0.85}


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


class TestAbsentVariables:
    def task(self, **changes):
        model = TCN(n_variables=200, lookback=3, horizon=2, channels=4)
        return TrainingModule(model, torch.zeros(1), torch.ones(1), replace(QUICK, **changes), 2, 1)

    def shares(self, task):
        return [1 - float(task._random_present(torch.zeros(1, 3, 200, 1)).float().mean()) for _ in range(20)]

    def test_share_of_absent_variables_is_between_least_and_most(self):
        assert all(abs(share - 0.85) < 0.1 for share in self.shares(self.task(**MASKED)))
        assert min(self.shares(self.task(variable_dropout=0.85))) < 0.5

    def test_validation_has_the_same_absent_variables_in_every_epoch(self):
        task = self.task(**MASKED)
        batch = (torch.zeros(4, 3, 200, 1), torch.ones(4, 2, 200))
        counts = []
        for _ in range(2):
            task.on_validation_epoch_start()
            task.validation_step(batch, 0)
            counts.append(task._val_sums[1].tolist())
        assert counts[0] == counts[1]
        assert counts[0][0] < 0.3 * 4 * 200

    def test_validation_has_all_variables_without_a_least_share(self):
        task = self.task(variable_dropout=0.85)
        task.validation_step((torch.zeros(4, 3, 200, 1), torch.ones(4, 2, 200)), 0)
        assert task._val_sums[1].tolist() == [4 * 200] * 2
