"""The plot and the HTML page of the demo."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast import __version__
from subcast.plots import ACCENT, ALARM, INK, SOFT

_TINT = "#cfe0fb"  # a light tint of ACCENT, for the interval
_LETTERS = "AB"
READINGS, OBSERVED, ALONE, WRAPPED = "readings", "observed afterwards", "model alone", "model with subcast"
INTERVAL = "90 % interval"
_LEGEND = (READINGS, OBSERVED, ALONE, WRAPPED, INTERVAL)


@dataclass(frozen=True, eq=False)
class DemoWindow:
    """The window of the demo that is plotted.

    Parameters
    ----------
    positions
        [n, 2] of all plants, in km
    present, shown
        indices of the plants that report, and of those whose forecasts are plotted
    names, unit
        names of the plotted plants, and the unit of their readings
    past, readings
        [p] times up to now, and the readings [p, s] of the plotted plants
    ahead, truth
        [h] times of the steps ahead, and the readings observed then [h, s]
    forecast, bounds
        forecast of the wrapper [h, s] and its interval [2, h, s]
    partial
        [h, s] forecast of the model alone
    steps
        the steps of the test series that are the model's input
    """

    positions: NDArray[np.float32]
    present: NDArray[np.int64]
    shown: NDArray[np.int64]
    names: tuple[str, ...]
    unit: str
    past: NDArray[np.datetime64]
    readings: NDArray[np.float32]
    ahead: NDArray[np.datetime64]
    truth: NDArray[np.float32]
    forecast: NDArray[np.float32]
    bounds: NDArray[np.float32] | None
    partial: NDArray[np.float32]
    steps: slice


def plot_window(window: DemoWindow) -> Any:
    """Plot the map of the reporting plants on the left, and the forecasts of two plants on the right."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 5.2), layout="constrained")
    grid = figure.add_gridspec(1, 2, width_ratios=[1, 1.6])
    left, right = figure.add_subfigure(grid[0]), figure.add_subfigure(grid[1])
    _draw_map(left, window)
    axes = right.subplots(len(window.shown), 1, sharex=True, squeeze=False)[:, 0]
    for column, axis in enumerate(axes):
        _draw_plant(axis, window, column)
    _label_hours(axes[-1])
    _title(right, "Forecast of plants A and B for two hours" if len(axes) > 1 else "Forecast of plant A for two hours")
    handles = dict(zip(*reversed(axes[0].get_legend_handles_labels()), strict=True))
    order = [label for label in _LEGEND if label in handles]
    right.legend(
        [handles[label] for label in order], order, loc="outside lower center", ncols=3, frameon=False, fontsize=9,
        labelcolor=INK,
    )  # fmt: skip
    return figure


def _title(subfigure: Any, text: str) -> None:
    subfigure.suptitle(text, fontsize=13, color=INK, x=0.02, ha="left")


def _draw_map(subfigure: Any, window: DemoWindow) -> None:
    axis = subfigure.subplots()
    n, s = len(window.positions), len(window.present)
    missing = np.setdiff1d(np.arange(n), window.present)
    axis.scatter(*window.positions[missing].T, s=55, facecolor="white", edgecolor="#9aa8ba", linewidth=1.2,
                 label=f"{n - s} not reporting")  # fmt: skip
    axis.scatter(*window.positions[window.present].T, s=75, color=ACCENT, label=f"{s} reporting", zorder=3)
    for letter, plant in zip(_LETTERS, window.shown, strict=False):
        axis.annotate(letter, window.positions[plant], xytext=(0, 8), textcoords="offset points", ha="center",
                      fontsize=11, fontweight="bold", color=INK)  # fmt: skip
    _title(subfigure, f"{s} of {n} solar plants report")
    axis.set(xlabel="km east", ylabel="km north", aspect="equal", anchor="N")
    subfigure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9, labelcolor=INK)
    _style(axis)


def _draw_plant(axis: Any, window: DemoWindow, column: int) -> None:
    """Plot the readings of one plant, its forecasts with and without subcast, and the readings observed afterwards."""
    last = window.readings[-1:, column]
    x = np.concatenate([window.past[-1:], window.ahead])

    def joined(values: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.concatenate([last, values[:, column]])

    if window.bounds is not None:
        lower, upper = (joined(bound) for bound in window.bounds)
        axis.fill_between(x, np.maximum(lower, 0), upper, color=_TINT, linewidth=0, label=INTERVAL)
    axis.axvline(window.past[-1], color=INK, linewidth=0.8, linestyle=(0, (2, 3)))
    axis.plot(window.past, window.readings[:, column], color=INK, linewidth=1.6, label=READINGS)
    axis.plot(x, joined(window.partial), color=ALARM, linewidth=1.6, linestyle=(0, (4, 2)), label=ALONE)
    axis.plot(window.ahead, window.truth[:, column], color=INK, linewidth=0, marker="o", markersize=3.2, label=OBSERVED)
    axis.plot(x, joined(window.forecast), color=ACCENT, linewidth=2.4, label=WRAPPED)
    axis.set_ylabel(f"{window.names[column]} ({window.unit})", fontsize=9, color=INK)
    axis.text(
        0.01, 0.93, _LETTERS[column], transform=axis.transAxes, fontsize=12, fontweight="bold", color=INK, va="top"
    )
    if column == 0:
        axis.annotate("now", (window.past[-1], 1), xycoords=("data", "axes fraction"), xytext=(0, 2),
                      textcoords="offset points", ha="center", va="bottom", fontsize=9, color=INK)  # fmt: skip
    axis.set_ylim(bottom=min(0.0, float(window.partial[:, column].min())))
    _style(axis)


def _label_hours(axis: Any) -> None:
    from matplotlib.dates import DateFormatter, HourLocator

    axis.xaxis.set_major_locator(HourLocator())
    axis.xaxis.set_major_formatter(DateFormatter("%H:%M"))


def _style(axis: Any) -> None:
    axis.margins(x=0.02)
    axis.grid(color=SOFT, linewidth=0.5, alpha=0.7)
    axis.set_axisbelow(True)
    axis.tick_params(labelsize=8.5, color=SOFT, labelcolor=INK)
    axis.xaxis.label.set(size=9, color=INK)
    axis.yaxis.label.set(size=9, color=INK)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    for side in ("bottom", "left"):
        axis.spines[side].set_color(SOFT)


# The page

_LABELS = {
    "oracle": ("All plants report", "the model with all its inputs (Oracle)"),
    "partial": ("15 % report, model alone", "missing plants set to their mean (Partial)"),
    "paper": ("15 % report, published method", "missing plants filled from similar days, ten model passes (FDW)"),
    "subcast": ("15 % report, subcast", "the same model with subcast, one model pass"),
    "usual-fill": ("15 % report, usual values", "missing plants set to their usual output at that hour"),
    "without-model": ("15 % report, subcast alone", "what subcast does without the model"),
    "own-past": ("15 % report, own past", "no model: boosted trees on each plant's own past and the calendar"),
    "ridge": ("15 % report, ridge", "no model: ridge regression on the plants that report"),
    "last-value": ("15 % report, last", "no model: the last reading, repeated"),
    "day-ago": ("15 % report, a day ago", "no model: the reading of the same time a day ago"),
}

_STYLE = """
:root { --ink: #1f2933; --dim: #5b6b7d; --accent: #1f6feb; --alarm: #d1495b; --soft: #c9d6e8; --paper: #fbfcfe; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 17px/1.6 system-ui, -apple-system, "Segoe UI",
  Roboto, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: clamp(1.7rem, 5vw, 2.5rem); line-height: 1.15; margin: 0 0 1rem; letter-spacing: -0.02em; }
h2 { font-size: 1.15rem; margin: 2.75rem 0 0.75rem; }
p { max-width: 42rem; margin: 0 0 0.75rem; }
.lead { font-size: 1.12rem; }
figure { margin: 2rem 0 0; }
img { display: block; width: 100%; height: auto; background: white; border: 1px solid var(--soft);
  border-radius: 10px; }
figcaption, .dim { color: var(--dim); font-size: 0.9rem; }
figcaption { margin-top: 0.5rem; }
.bars { display: grid; gap: 1rem; margin: 0; padding: 0; list-style: none; }
.bars .name { display: flex; flex-wrap: wrap; gap: 0 0.6rem; align-items: baseline; }
.bars .line { display: flex; align-items: center; gap: 0.7rem; }
.bars .track { flex: 1; height: 0.85rem; background: #eef2f8; border-radius: 99px; overflow: hidden; }
.bars .bar { height: 100%; border-radius: 99px; background: #9fb0c5; }
.bars .partial .bar { background: var(--alarm); }
.bars .subcast .bar { background: var(--accent); }
.bars .subcast b { color: var(--accent); }
.bars .figure { min-width: 9.5rem; font-variant-numeric: tabular-nums; white-space: nowrap; font-size: 0.95rem; }
pre { background: #1f2933; color: #eef2f8; padding: 0.9rem 1.1rem; border-radius: 10px; overflow-x: auto;
  font: 0.9rem/1.6 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
footer { margin-top: 3rem; color: var(--dim); font-size: 0.85rem; }
@media (max-width: 32rem) { .bars .line { flex-direction: column; align-items: stretch; gap: 0.2rem; }
  .bars .track { flex: none; } }
"""

_HOW_IT_WORKS = """subcast finds past windows in which the reporting plants had similar readings, fills in the
missing plants from them, corrects the difference to the current readings, and runs the model once. It also returns
prediction intervals and the past windows that were used."""

_PYTHON = """import subcast as sc

train, val, test = sc.Series.read("readings.csv").split(lookback=12, horizon=12)
robust = sc.SubsetForecaster(model).fit(train, val)   # your model, or sc.train("mtgnn", train, val)
forecast = robust.predict(recent)                     # a frame with the columns that are present"""


def page(summary: str, rows: Sequence[dict[str, Any]], plot: bytes, commands: Sequence[str], unit: str) -> str:
    """Return an HTML page that needs no other file.

    Parameters
    ----------
    summary
        the result in two sentences
    rows
        rows of the table, with method, mae and mae_gap
    plot
        a PNG image
    commands
        commands to run next
    unit
        unit of the errors
    """
    bars = "\n".join(_bar(row, max(float(other["mae"]) for other in rows), unit) for row in rows)
    lines = escape("\n".join(commands))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>subcast: forecasts when most of the plants stop reporting</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<h1>Most of the plants stop reporting. The forecast continues.</h1>
<p class="lead">{escape(summary)}</p>
<figure>
<img alt="Left: a map of the plants, of which only a few report. Right: forecasts of two plants for the next two hours;
the model with subcast follows the readings, the model alone does not." src="data:image/png;base64,{
        b64encode(plot).decode("ascii")
    }">
<figcaption>Noon on a day with broken clouds, which was not in the training data. The dots are the readings observed
afterwards; the blue line is the forecast of the model with subcast, made from the reporting plants alone.</figcaption>
</figure>
<h2>Forecast error two hours ahead</h2>
<p class="dim">Mean absolute error on test days, averaged over several random subsets of reporting plants; shorter is
better.</p>
<ul class="bars">
{bars}
</ul>
<h2>How it works</h2>
<p>{_HOW_IT_WORKS}</p>
<h2>Next steps</h2>
<pre><code>{lines}</code></pre>
<p>Or in Python:</p>
<pre><code>{escape(_PYTHON)}</code></pre>
<footer>subcast {escape(__version__)}; generated data and fixed seeds: a second run gives the same numbers.</footer>
</main>
</body>
</html>
"""


def _bar(row: dict[str, Any], longest: float, unit: str) -> str:
    name, what = _LABELS[row["method"]]
    width = 100 * float(row["mae"]) / longest if longest > 0 else 0.0
    gap = "" if row["method"] == "oracle" or row["mae_gap"] is None else f" ({row['mae_gap']:+.0f} %)"
    return (
        f'<li class="{escape(row["method"])}"><div class="name"><b>{escape(name)}</b>'
        f'<span class="dim">{escape(what)}</span></div>'
        f'<div class="line"><div class="track"><div class="bar" style="width: {width:.1f}%"></div></div>'
        f'<span class="figure">{row["mae"]:.2f} {escape(unit)}{gap}</span></div></li>'
    )
