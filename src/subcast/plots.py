"""Pictures: each function draws one figure and gives it back; `save_figure` writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.atomic import whole_file
from subcast.series import Series

INK, ACCENT, SOFT, ALARM = "#1f2933", "#1f6feb", "#c9d6e8", "#d1495b"
_MOST_BINS = 600


def plot_series(series: Series, variables: list[str] | None = None) -> Any:
    """Draw some variables over the whole period, and above them where readings are missing.

    Parameters
    ----------
    series
        what to draw
    variables
        which, up to a handful; by default six spread evenly

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    chosen = variables or _spread(series.variables, 6)
    part = series.select(chosen)
    gaps = bool(np.isnan(series.values).any())
    heights = ([1.2] if gaps else []) + [1.0] * len(chosen)
    figure = Figure(figsize=(9, 0.9 + 1.05 * len(heights)), layout="constrained")
    axes = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    x = _positions(series)
    if gaps:
        _draw_gaps(axes[0], series, x)
    for axis, name, column in zip(axes[-len(chosen) :], chosen, part.values.T, strict=True):
        _draw_course(axis, x, column)
        axis.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=8)
    axes[-1].set_xlabel("" if series.times is not None else "step")
    title = f"{series.name}: {len(series):,} steps x {series.n_variables} variables"
    extra = [f"every {series.freq}"] if series.freq else []
    extra += [f"in {series.unit}"] if series.unit else []
    figure.suptitle(", ".join([title, *extra]), fontsize=10, color=INK)
    return figure


def save_figure(figure: Any, path: str | Path) -> None:
    """Write a figure to a .png, .pdf or .svg file, whole or not at all."""
    with whole_file(path, (".png", ".pdf", ".svg")) as temporary:
        figure.savefig(temporary, dpi=150)


def _spread(names: tuple[str, ...], most: int) -> list[str]:
    places = np.unique(np.linspace(0, len(names) - 1, min(most, len(names))).astype(int))
    return [names[place] for place in places]


def _positions(series: Series) -> NDArray[Any]:
    return np.arange(len(series)) if series.times is None else series.times


def _draw_course(axis: Any, x: NDArray[Any], values: NDArray[np.float32]) -> None:
    """The readings as a line; of a long series the range and the mean of each of some hundred stretches."""
    if values.size <= 2 * _MOST_BINS:
        axis.plot(x, values, color=ACCENT, linewidth=0.8)
    else:
        low, mean, high, middle = _stretches(values)
        axis.fill_between(x[middle], low, high, color=SOFT, linewidth=0)
        axis.plot(x[middle], mean, color=ACCENT, linewidth=0.8)
    axis.tick_params(labelsize=7)
    axis.margins(x=0)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def _stretches(values: NDArray[np.float32]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    bounds = np.linspace(0, values.size, _MOST_BINS + 1).astype(int)
    starts = bounds[:-1]
    there = ~np.isnan(values)
    count = np.add.reduceat(there, starts, dtype=np.int64)
    mean = np.add.reduceat(np.where(there, values, 0), starts, dtype=np.float64) / np.where(count, count, 1)
    low = np.minimum.reduceat(np.where(there, values, np.inf), starts)
    high = np.maximum.reduceat(np.where(there, values, -np.inf), starts)
    blank = count == 0
    return (
        np.where(blank, np.nan, low),
        np.where(blank, np.nan, mean),
        np.where(blank, np.nan, high),
        (starts + bounds[1:] - 1) // 2,
    )


def _draw_gaps(axis: Any, series: Series, x: NDArray[Any]) -> None:
    """Every variable a row, every stretch of time a column, the darker the more is missing."""
    bins = min(_MOST_BINS, len(series))
    starts = np.linspace(0, len(series), bins + 1).astype(int)[:-1]
    lengths = np.diff([*starts, len(series)])
    share = np.add.reduceat(np.isnan(series.values), starts, axis=0, dtype=np.int64) / lengths[:, None]  # [bins, n]
    step = x[-1] - x[-2] if len(x) > 1 else np.zeros(1, dtype=np.int64)[0]
    edges = np.append(x[starts], x[-1] + step)  # the last step is as wide as the one before
    axis.pcolormesh(edges, np.arange(series.n_variables + 1), share.T, cmap="Reds", vmin=0, vmax=1, rasterized=True)
    axis.set_ylabel("missing\n(all variables)", rotation=0, ha="right", va="center", fontsize=8, color=ALARM)
    axis.set_yticks([])
