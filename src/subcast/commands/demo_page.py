"""The demo's picture and page: what a newcomer should understand at a glance."""

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

_TINT = "#cfe0fb"  # the accent, as an interval
_LETTERS = "AB"
_LEGEND = ("readings", "what really came", "the model as it is", "the same model, wrapped", "its 90 % interval")


@dataclass(frozen=True, eq=False)
class Story:
    """One window of the demo, for the picture.

    Parameters
    ----------
    positions
        [n, 2] of all plants, in km
    present, shown
        the plants that report, and those of them whose forecasts are drawn
    names, unit
        of those drawn, and what their readings are in
    past, readings
        [p] moments up to now, and the readings [p, s] of the plants drawn
    ahead, truth
        [h] moments of the steps ahead, and what really came [h, s]
    forecast, bounds
        the wrapper's [h, s] and its interval [2, h, s]
    partial
        [h, s] what the model as it is says
    window
        the steps of the test series that were looked at
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
    window: slice


def plot_story(story: Story) -> Any:
    """Draw the map of who reports on the left, and the forecasts of two plants on the right."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 5.2), layout="constrained")
    grid = figure.add_gridspec(1, 2, width_ratios=[1, 1.6])
    left, right = figure.add_subfigure(grid[0]), figure.add_subfigure(grid[1])
    _draw_map(left, story)
    axes = right.subplots(len(story.shown), 1, sharex=True, squeeze=False)[:, 0]
    for place, axis in enumerate(axes):
        _draw_plant(axis, story, place)
    _label_hours(axes[-1])
    _title(right, "The next two hours of A and B" if len(axes) > 1 else "The next two hours of A")
    handles = dict(zip(*reversed(axes[0].get_legend_handles_labels()), strict=True))
    order = [label for label in _LEGEND if label in handles]
    right.legend(
        [handles[label] for label in order], order, loc="outside lower center", ncols=3, frameon=False, fontsize=9,
        labelcolor=INK,
    )  # fmt: skip
    return figure


def _title(part: Any, text: str) -> None:
    part.suptitle(text, fontsize=13, color=INK, x=0.02, ha="left")


def _draw_map(part: Any, story: Story) -> None:
    axis = part.subplots()
    n, s = len(story.positions), len(story.present)
    silent = np.setdiff1d(np.arange(n), story.present)
    axis.scatter(*story.positions[silent].T, s=55, facecolor="white", edgecolor="#9aa8ba", linewidth=1.2,
                 label=f"{n - s} silent")  # fmt: skip
    axis.scatter(*story.positions[story.present].T, s=75, color=ACCENT, label=f"{s} reporting", zorder=3)
    for letter, plant in zip(_LETTERS, story.shown, strict=False):
        axis.annotate(letter, story.positions[plant], xytext=(0, 8), textcoords="offset points", ha="center",
                      fontsize=11, fontweight="bold", color=INK)  # fmt: skip
    _title(part, f"{s} of {n} solar plants still report")
    axis.set(xlabel="km east", ylabel="km north", aspect="equal", anchor="N")
    part.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9, labelcolor=INK)
    _quiet(axis)


def _draw_plant(axis: Any, story: Story, place: int) -> None:
    """Readings up to now, then what came, what the wrapper said and what the model as it is said."""
    last = story.readings[-1:, place]
    x = np.concatenate([story.past[-1:], story.ahead])

    def joined(values: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.concatenate([last, values[:, place]])

    if story.bounds is not None:
        lower, upper = (joined(bound) for bound in story.bounds)
        axis.fill_between(x, np.maximum(lower, 0), upper, color=_TINT, linewidth=0, label="its 90 % interval")
    axis.axvline(story.past[-1], color=INK, linewidth=0.8, linestyle=(0, (2, 3)))
    axis.plot(story.past, story.readings[:, place], color=INK, linewidth=1.6, label="readings")
    axis.plot(x, joined(story.partial), color=ALARM, linewidth=1.6, linestyle=(0, (4, 2)), label="the model as it is")
    axis.plot(
        story.ahead, story.truth[:, place], color=INK, linewidth=0, marker="o", markersize=3.2, label="what really came"
    )
    axis.plot(x, joined(story.forecast), color=ACCENT, linewidth=2.4, label="the same model, wrapped")
    axis.set_ylabel(f"{story.names[place]} ({story.unit})", fontsize=9, color=INK)
    axis.text(
        0.01, 0.93, _LETTERS[place], transform=axis.transAxes, fontsize=12, fontweight="bold", color=INK, va="top"
    )
    if place == 0:
        axis.annotate("now", (story.past[-1], 1), xycoords=("data", "axes fraction"), xytext=(0, 2),
                      textcoords="offset points", ha="center", va="bottom", fontsize=9, color=INK)  # fmt: skip
    axis.set_ylim(bottom=min(0.0, float(story.partial[:, place].min())))
    _quiet(axis)


def _label_hours(axis: Any) -> None:
    from matplotlib.dates import DateFormatter, HourLocator

    axis.xaxis.set_major_locator(HourLocator())
    axis.xaxis.set_major_formatter(DateFormatter("%H:%M"))


def _quiet(axis: Any) -> None:
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
    "oracle": ("All plants report", "the model as it was meant to be (Oracle)"),
    "partial": ("15 % report, model as it is", "what is missing counts as average (Partial)"),
    "paper": ("15 % report, published method", "borrow from similar days, ten passes (FDW)"),
    "subcast": ("15 % report, subcast", "the same model, wrapped, one pass"),
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

_PYTHON = """import subcast as sc

train, val, test = sc.Series.read("readings.csv").split(lookback=12, horizon=12)
robust = sc.SubsetForecaster(model).fit(train, val)   # your model, or sc.train("mtgnn", train, val)
forecast = robust.predict(recent)                     # a frame with whatever columns arrived"""


def page(said: str, rows: Sequence[dict[str, Any]], picture: bytes, commands: Sequence[str], unit: str) -> str:
    """One HTML page that needs no other file.

    Parameters
    ----------
    said
        what the table says, in two sentences
    rows
        of the table: method, mae, mae_gap
    picture
        a PNG
    commands
        what to try next
    unit
        of the errors
    """
    bars = "\n".join(_bar(row, max(float(other["mae"]) for other in rows), unit) for row in rows)
    lines = escape("\n".join(commands))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>subcast: most of the plants are silent, the forecast goes on</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<h1>Most of the plants are silent. The forecast goes on.</h1>
<p class="lead">{escape(said)}</p>
<figure>
<img alt="Left: a map of the plants, a few reporting and most silent. Right: forecasts of two of them for the next two
hours; the wrapped model follows what really came, the model as it is does not." src="data:image/png;base64,{
        b64encode(picture).decode("ascii")
    }">
<figcaption>A noon of broken clouds, on a day the model has never seen. The dots are what really came; blue is what the
wrapped model said beforehand from the reporting plants alone.</figcaption>
</figure>
<h2>How far off, two hours ahead</h2>
<p class="dim">Mean absolute error on test days, over several draws of the plants that report; shorter is better.</p>
<ul class="bars">
{bars}
</ul>
<h2>How it works</h2>
<p>subcast looks up past moments when the reporting plants behaved as they do now, fills in the silent ones from
there, corrects what those moments got wrong, and runs the model once. It tells how sure it is, and which days it
leaned on.</p>
<h2>What next</h2>
<pre><code>{lines}</code></pre>
<p>Or in Python:</p>
<pre><code>{escape(_PYTHON)}</code></pre>
<footer>subcast {escape(__version__)}; generated data, fixed seeds: run it again and the figures are the same.</footer>
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
