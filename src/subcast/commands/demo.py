"""`subcast demo`: solar plants under drifting clouds, most of them silenced, and what that costs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from subcast.commands.datasets import show_summary
from subcast.datasets import load_dataset
from subcast.metrics import gap, mae_by_step
from subcast.plots import ACCENT, INK, SOFT, save_figure
from subcast.scaling import Scaler
from subcast.series import Series
from subcast.subsets import draw_subsets
from subcast.summary import summarise
from subcast.windows import Windows

if TYPE_CHECKING:
    from sklearn.linear_model import Ridge

SHARE = 0.15
STEPS = (1, 6, 12)
SHRINKAGE = 100.0


def run_demo(output: Path, seed: int) -> None:
    """Generate a cloud field, silence 85 % of its plants, and show what their silence costs a forecast."""
    output.mkdir(parents=True, exist_ok=True)
    console = Console()
    console.rule("Solar plants under drifting clouds")
    series = load_dataset("clouds", seed=seed)
    show_summary(summarise(series))
    train, _, test = series.split(lookback=12, horizon=12)
    present = draw_subsets(series.n_variables, share=SHARE, draws=1, seed=seed)[0]
    console.rule(f"{len(present)} of {series.n_variables} plants still report")
    console.print(_cost_table(train, test, present))
    console.print(
        "A plant's neighbours know what is coming with the wind. Without them the same kind of model, fitted anew to "
        "the plants that are left, errs more: that gap is what subcast is there to close."
    )
    picture = output / "clouds.png"
    save_figure(plot_field(series, present), picture)
    console.print(f"picture written to {picture}")


def _cost_table(train: Windows, test: Windows, present: NDArray[np.int64]) -> Table:
    """Errors of last value, and of ridge regression on the plants present and on all of them."""
    scaler = Scaler.fit(train)
    everyone = np.arange(train.series.n_variables)
    targets = test.batch().targets[:, :, present]
    last = np.repeat(test.readings[:, -1:, present], test.horizon, axis=1)
    rows = {
        "last value": last,
        f"a linear model of the {len(present)} plants present": _ridge(train, test, scaler, present, present),
        f"a linear model of all {everyone.size} plants": _ridge(train, test, scaler, everyone, present),
    }
    errors = {name: mae_by_step(forecast, targets, zeros_missing=True) for name, forecast in rows.items()}  # [h] each
    best = list(errors.values())[-1]
    table = Table(title="Mean absolute error by day, in MW (and the gap to all plants)", title_justify="left")
    table.add_column("forecast")
    for step in STEPS:
        table.add_column(f"in {step * 10} min", justify="right")
    for name, error in errors.items():
        gaps = [f"{error[s - 1]:.2f} ({gap(error[s - 1], best[s - 1]):+.0f} %)" for s in STEPS]
        table.add_row(name, *(f"{error[s - 1]:.2f}" for s in STEPS) if error is best else gaps)
    return table


def _ridge(
    train: Windows, test: Windows, scaler: Scaler, inputs: NDArray[np.int64], outputs: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Forecasts [b, h, s] of the outputs from the last steps of the inputs, by ridge regression."""
    from sklearn.linear_model import Ridge

    def features(windows: Windows) -> NDArray[np.float32]:
        normal = scaler.transform(windows.readings)[:, 2::3, :][
            :, :, inputs
        ]  # every third step up to the last: [b, 4, s]
        return normal.reshape(len(windows), -1)

    model: Ridge = Ridge(alpha=SHRINKAGE).fit(features(train), train.targets[:, :, outputs].reshape(len(train), -1))
    forecast: NDArray[np.float32] = model.predict(features(test))
    return forecast.reshape(len(test), test.horizon, len(outputs))


def plot_field(series: Series, present: NDArray[np.int64]) -> Any:
    """Draw the plants on a map, and three days of a few that report."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.2), layout="constrained")
    chart, lines = figure.subplots(1, 2, width_ratios=[1, 1.9])
    positions = series.positions if series.positions is not None else np.zeros((series.n_variables, 2))
    chart.scatter(*positions.T, s=36, color=SOFT, label="silent")
    chart.scatter(*positions[present].T, s=48, color=ACCENT, label="reporting")
    chart.set(title="The plants", xlabel="km east", ylabel="km north", aspect="equal")
    chart.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2, frameon=False)
    days = series[: 3 * 144]
    hours = np.arange(len(days)) / 6
    order = present[np.argsort(positions[present, 0])][:4]
    for place, shade in zip(order, colormaps["viridis"](np.linspace(0.0, 0.85, len(order))), strict=True):
        capacity = float(np.nanmax(series.values[:, place]))
        lines.plot(hours, days.values[:, place] / capacity, color=shade, label=series.variables[place])
    lines.set(title="Three days, west to east", xlabel="hours", ylabel="share of the largest output")
    lines.legend(frameon=False, fontsize=8, ncols=len(order), loc="upper center", bbox_to_anchor=(0.5, -0.14))
    for axis in (chart, lines):
        axis.title.set_color(INK)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    return figure
