"""The plot of the losses of a training."""

import numpy as np

from subcast.training.plots import plot_losses

HISTORY = [
    {"epoch": 0, "level": 1, "train": 3.0, "val": 5.0},
    {"epoch": 1, "level": 4, "train": 2.0, "val": 3.5},
    {"epoch": 2, "level": 4, "train": 1.0, "val": 4.0},
]


def test_losses_by_epoch_with_the_best_one_marked():
    axis, levels = plot_losses(HISTORY, "tcn on waves").axes
    assert axis.get_title() == "tcn on waves"
    lines = {line.get_label(): line.get_xydata() for line in axis.lines}
    np.testing.assert_array_equal(lines["training, steps 1 to L"], [[1, 3], [2, 2], [3, 1]])
    np.testing.assert_array_equal(lines["validation, all steps"], [[1, 5], [2, 3.5], [3, 4]])
    np.testing.assert_array_equal(lines["best: 3.5"], [[2, 3.5]])
    assert levels.get_ylabel() == "L: steps in the training loss"
    assert levels.get_ylim()[1] > 4
