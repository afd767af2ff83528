"""Plot of the losses of a training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from subcast.plots import ACCENT, INK, SOFT


def plot_losses(history: Sequence[dict[str, float]], title: str = "") -> Any:
    """Plot the training and validation error by epoch, and the steps of the horizon in the training loss.

    Parameters
    ----------
    history
        one row per epoch, as in `TrainedForecaster.history`
    title
        title of the figure

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axis = figure.subplots()
    epochs = [row["epoch"] + 1 for row in history]
    axis.plot(epochs, [row["train"] for row in history], color=INK, linewidth=1, label="training, steps 1 to L")
    axis.plot(epochs, [row["val"] for row in history], color=ACCENT, label="validation, all steps")
    best = min(history, key=lambda row: row["val"])
    axis.plot(best["epoch"] + 1, best["val"], "o", color=ACCENT, label=f"best: {best['val']:.4g}")
    axis.set(xlabel="epoch", ylabel="mean absolute error, raw units", title=title)
    levels = axis.twinx()
    levels.fill_between(epochs, [row["level"] for row in history], step="mid", color=SOFT, alpha=0.5, linewidth=0)
    levels.set_ylabel("L: steps in the training loss")
    levels.set_ylim(0, 1.05 * max(row["level"] for row in history))
    axis.set_zorder(levels.get_zorder() + 1)
    axis.patch.set_visible(False)
    axis.legend(frameon=False, fontsize=8)
    for side in (axis, levels):
        side.spines["top"].set_visible(False)
    return figure
