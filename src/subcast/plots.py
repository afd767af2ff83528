"""Plots: each function returns a matplotlib figure, and `save_figure` writes it to a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subcast.axes import check_whole, variable_indices
from subcast.errors import InputError
from subcast.names import plural
from subcast.series import Series
from subcast.storage.files import whole_file
from subcast.tables.zones import wall_clock

if TYPE_CHECKING:
    from subcast.forecast import Forecast

INK, ACCENT, SOFT, ALARM = "#1f2933", "#1f6feb", "#c9d6e8", "#d1495b"
_MOST_BINS = 600


def plot_series(series: Series, variables: list[str] | None = None) -> Any:
    """Plot variables over the whole period, with a map of the missing readings above them.

    Parameters
    ----------
    series
        the series
    variables
        names of the variables; by default up to six, spread evenly

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    names = variables or _spread(series.variables, 6)
    values = series.select(names).values
    gaps = bool(np.isnan(series.values).any())
    heights = ([1.2] if gaps else []) + [1.0] * len(names)
    figure = Figure(figsize=(9, 0.9 + 1.05 * len(heights)), layout="constrained")
    axes = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    x = _positions(series)
    if gaps:
        _draw_gaps(axes[0], series, x)
    for axis, name, column in zip(axes[-len(names) :], names, values.T, strict=True):
        _draw_values(axis, x, column)
        axis.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=8)
    axes[-1].set_xlabel("" if series.times is not None else "step")
    title = f"{series.name}: {len(series):,} steps x {series.n_variables} variables"
    extra = [f"every {series.freq}"] if series.freq else []
    extra += [f"in {series.unit}"] if series.unit else []
    figure.suptitle(", ".join([title, *extra]), fontsize=10, color=INK)
    return figure


def plot_forecast(forecast: Forecast, variables: ArrayLike | Sequence[str] | None = None, most: int = 4) -> Any:
    """Plot a forecast of one window: readings, forecast, prediction intervals and neighbors.

    Parameters
    ----------
    forecast
        the forecast of one window; for a batch use `forecast[i]`
    variables
        names, indices or a boolean mask of the variables; by default up to `most` variables, spread evenly, of which at
        most half have no readings
    most
        maximum number of variables if `variables` is not given

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    if forecast.is_batch:
        raise InputError(
            f"a plot shows one window, and this forecast has {forecast.mean.shape[0]}: select one, as in forecast[0]"
        )
    names = forecast.variables
    selected = _variables_to_draw(forecast, check_whole("most", most)) if variables is None else variables
    indices = variable_indices(selected, len(names), names)
    steps = _steps_of(forecast)
    layout = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.05)  # inches
    figure = Figure(figsize=(8.5, 1.4 + 1.5 * len(indices)), layout=layout)
    axes = figure.subplots(len(indices), 1, sharex=True, squeeze=False)[:, 0]
    for axis, index in zip(axes, indices, strict=True):
        _draw_forecast(axis, forecast, steps, int(index))
        axis.set_ylabel(_with_unit(names[index], forecast.unit), fontsize=8, color=INK)
    _label_steps(axes, steps)
    figure.align_ylabels(axes)
    figure.suptitle(_forecast_title(forecast, len(indices)), fontsize=10, color=INK, x=0.01, ha="left")
    _draw_legend(figure, axes)
    return figure


def save_figure(figure: Any, path: str | Path) -> None:
    """Write a figure to a .png, .pdf or .svg file; the file is complete or not written at all."""
    with whole_file(path, (".png", ".pdf", ".svg")) as temporary:
        figure.savefig(temporary, dpi=150)


def _variables_to_draw(forecast: Forecast, most: int) -> list[str]:
    """Return at most `most` variables, spread evenly; those without readings are at most half of them."""
    has_readings = forecast.observed > 0
    observed, silent = (
        tuple(name for name, has in zip(forecast.variables, has_readings, strict=True) if has == wanted)
        for wanted in (True, False)
    )
    if not observed:
        return _spread(silent, most)
    n_silent = min(len(silent), len(observed), most // 2)
    return _spread(observed, most - n_silent) + _spread(silent, n_silent)


def _spread(names: tuple[str, ...], most: int) -> list[str]:
    """Return at most `most` names, spread evenly."""
    if not most:
        return []
    indices = np.unique(np.linspace(0, len(names) - 1, min(most, len(names))).astype(int))
    return [names[index] for index in indices]


def _positions(series: Series) -> NDArray[Any]:
    return np.arange(len(series)) if series.wall_times is None else series.wall_times


def _draw_values(axis: Any, x: NDArray[Any], values: NDArray[np.float32]) -> None:
    """Plot readings as a line; for a long series, the range and the mean of each of 600 bins."""
    if values.size <= 2 * _MOST_BINS:
        axis.plot(x, values, color=ACCENT, linewidth=0.8)
    else:
        low, mean, high, middle = _bins(values)
        axis.fill_between(x[middle], low, high, color=SOFT, linewidth=0)
        axis.plot(x[middle], mean, color=ACCENT, linewidth=0.8)
    axis.tick_params(labelsize=7)
    axis.margins(x=0)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def _bins(values: NDArray[np.float32]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the minimum, mean, maximum and middle step of each bin; NaN for a bin without a reading."""
    bounds = np.linspace(0, values.size, _MOST_BINS + 1).astype(int)
    starts = bounds[:-1]
    observed = ~np.isnan(values)
    count = np.add.reduceat(observed, starts, dtype=np.int64)
    mean = np.add.reduceat(np.where(observed, values, 0), starts, dtype=np.float64) / np.where(count, count, 1)
    low = np.minimum.reduceat(np.where(observed, values, np.inf), starts)
    high = np.maximum.reduceat(np.where(observed, values, -np.inf), starts)
    empty = count == 0
    return (
        np.where(empty, np.nan, low),
        np.where(empty, np.nan, mean),
        np.where(empty, np.nan, high),
        (starts + bounds[1:] - 1) // 2,
    )


def _draw_gaps(axis: Any, series: Series, x: NDArray[Any]) -> None:
    """Plot the share of missing readings: one row per variable, one column per bin of steps."""
    bins = min(_MOST_BINS, len(series))
    starts = np.linspace(0, len(series), bins + 1).astype(int)[:-1]
    lengths = np.diff([*starts, len(series)])
    share = np.add.reduceat(np.isnan(series.values), starts, axis=0, dtype=np.int64) / lengths[:, None]  # [bins, n]
    step = x[-1] - x[-2] if len(x) > 1 else np.zeros(1, dtype=np.int64)[0]
    edges = np.append(x[starts], x[-1] + step)  # the last step is as wide as the previous one
    axis.pcolormesh(edges, np.arange(series.n_variables + 1), share.T, cmap="Reds", vmin=0, vmax=1, rasterized=True)
    axis.set_ylabel("missing\n(all variables)", rotation=0, ha="right", va="center", fontsize=8, color=ALARM)
    axis.set_yticks([])


@dataclass(frozen=True)
class _Steps:
    """Positions of the steps of a forecast on the x axis, and the neighbors' paths over them."""

    before: NDArray[Any]  # [t], empty without history
    after: NDArray[Any]  # [h]
    now: Any  # the end of the window, None if unknown
    paths: NDArray[np.float32]  # [k, t + h, s], or [k, h, s] if only their futures are plotted

    @property
    def dated(self) -> bool:
        return self.after.dtype.kind == "M"


def _steps_of(forecast: Forecast) -> _Steps:
    t, h = 0 if forecast.history is None else len(forecast.history), forecast.horizon
    paths = np.zeros((forecast.weights.size, 0, len(forecast.variables)), np.float32)
    if forecast.paths is not None:
        paths = np.asarray(forecast.paths())
    paths = paths[:, -(t + h) :] if paths.shape[1] >= t + h else paths[:, -h:]
    if forecast.times is None or (t and forecast.history_times is None):
        return _Steps(np.arange(1 - t, 1), np.arange(1, h + 1), 0, paths)
    after = wall_clock(forecast.times, forecast.zone)
    if t and forecast.history_times is not None:
        before = wall_clock(forecast.history_times, forecast.zone)
        return _Steps(before, after, before[-1], paths)
    return _Steps(after[:0], after, after[0] - (after[1] - after[0]) if h > 1 else None, paths)


def _draw_forecast(axis: Any, forecast: Forecast, steps: _Steps, index: int) -> None:
    """Plot one variable, from back to front: intervals, neighbors, now, readings, forecast."""
    both = np.concatenate([steps.before, steps.after])
    history = np.zeros(0, np.float32) if forecast.history is None else forecast.history[:, index]
    last = history[-1:][~np.isnan(history[-1:])]  # the line starts at the last reading, if it exists
    x = both[both.size - steps.after.size - last.size :]
    levels = sorted(forecast.levels, reverse=True)
    for rank, level in enumerate(levels, start=1):
        lower, upper = (np.concatenate([last, bound[:, index]]) for bound in forecast.interval(level))
        color = _tint(0.14 * rank) if len(levels) < 5 else _tint(0.6 * rank / len(levels))
        axis.fill_between(x, lower, upper, color=color, linewidth=0, label=f"{100 * level:g} % interval")
    heaviest = float(forecast.weights.max(initial=0))
    for path, weight in zip(steps.paths, forecast.weights, strict=True):
        if weight > 0 and path.size:
            strength = 0.08 + 0.27 * float(weight) / heaviest
            axis.plot(both[-len(path) :], path[:, index], color=INK, alpha=strength, linewidth=0.7, label="neighbors")
    if steps.now is not None:
        axis.axvline(steps.now, color=INK, linewidth=0.8, linestyle=(0, (2, 3)))
    if forecast.observed[index] == 0:
        axis.set_title("no readings", loc="left", fontsize=8, color=ALARM, pad=3)
    elif history.size:
        size = 3.5 if history.size <= 60 else 2  # large enough to see a single reading between gaps
        axis.plot(steps.before, history, ".-", color=INK, linewidth=1.4, markersize=size, label="readings")
    mean = np.concatenate([last, forecast.mean[:, index]])
    axis.plot(x, mean, ".-" if mean.size == 1 else "-", color=ACCENT, linewidth=1.8, label="forecast")
    _style(axis)


def _tint(strength: float) -> tuple[float, ...]:
    """Return ACCENT mixed with white; opaque, so that the legend shows the same color."""
    from matplotlib.colors import to_rgb

    return tuple(1 - strength * (1 - channel) for channel in to_rgb(ACCENT))


def _style(axis: Any) -> None:
    axis.margins(x=0.01)
    axis.locator_params(axis="y", nbins=4)
    axis.grid(axis="y", color=SOFT, linewidth=0.5, alpha=0.7)
    axis.set_axisbelow(True)
    axis.tick_params(labelsize=7.5, color=SOFT, labelcolor=INK)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    for side in ("bottom", "left"):
        axis.spines[side].set_color(SOFT)


def _label_steps(axes: NDArray[Any], steps: _Steps) -> None:
    last = axes[-1]
    if steps.dated:
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator(minticks=4, maxticks=9)
        last.xaxis.set_major_locator(locator)
        last.xaxis.set_major_formatter(ConciseDateFormatter(locator))
        last.xaxis.get_offset_text().set(size=8, color=INK)
    else:
        from matplotlib.ticker import MaxNLocator

        last.xaxis.set_major_locator(MaxNLocator(integer=True))
        last.set_xlabel("steps from now", fontsize=8, color=INK)
    if steps.now is not None:
        axes[0].annotate(
            "now", (steps.now, 1), xycoords=("data", "axes fraction"), xytext=(0, 2), textcoords="offset points",
            ha="center", va="bottom", fontsize=8, color=INK,
        )  # fmt: skip


def _forecast_title(forecast: Forecast, drawn: int) -> str:
    s = len(forecast.variables)
    variables = plural(s, "variable") + (f" ({drawn} drawn)" if drawn < s else "")
    observed = f"{100 * float(forecast.observed_share):.0f} % of the readings in the window observed"
    return f"Forecast of {variables}, {observed}\n{forecast.quality_words.capitalize()}"


def _with_unit(name: str, unit: str) -> str:
    return f"{name}\n({unit})" if unit else name


def _draw_legend(figure: Any, axes: NDArray[Any]) -> None:
    """Add one legend below all panels, with one entry per kind of line."""
    entries: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    order = sorted(entries, key=lambda label: {"readings": 0, "forecast": 1, "neighbors": 3}.get(label, 2))
    figure.legend(
        [entries[label] for label in order], order, loc="outside lower center", ncols=len(order), frameon=False,
        fontsize=8, labelcolor=INK,
    )  # fmt: skip
