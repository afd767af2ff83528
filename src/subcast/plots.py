"""Pictures: each function draws one figure and gives it back; `save_figure` writes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subcast.axes import check_whole, variable_indices
from subcast.errors import InputError
from subcast.series import Series
from subcast.storage.files import whole_file

if TYPE_CHECKING:
    from subcast.forecast import Forecast

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


def plot_forecast(forecast: Forecast, variables: ArrayLike | Sequence[str] | None = None, most: int = 4) -> Any:
    """Draw the forecast of some variables: what was read, what is to come, how sure that is, and the neighbors.

    Parameters
    ----------
    forecast
        of one window; pick one of a batch with `forecast[i]`
    variables
        which, by name, by number or by a boolean mask, all of them drawn; by default `most` of them spread evenly
    most
        how many at most, where `variables` are not given

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    if forecast.is_batch:
        raise InputError(
            f"a picture shows one window, and this forecast has {forecast.mean.shape[0]}: pick one, as in forecast[0]"
        )
    names = forecast.variables
    wanted = _spread(names, check_whole("most", most)) if variables is None else variables
    chosen = variable_indices(wanted, len(names), names)
    course = _course_of(forecast)
    layout = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.05)  # inches
    figure = Figure(figsize=(8.5, 1.4 + 1.5 * len(chosen)), layout=layout)
    axes = figure.subplots(len(chosen), 1, sharex=True, squeeze=False)[:, 0]
    for axis, place in zip(axes, chosen, strict=True):
        _draw_forecast(axis, forecast, course, int(place))
        axis.set_ylabel(_with_unit(names[place], forecast.unit), fontsize=8, color=INK)
    _label_steps(axes, course)
    figure.align_ylabels(axes)
    figure.suptitle(_forecast_title(forecast, len(chosen)), fontsize=10, color=INK, x=0.01, ha="left")
    _draw_legend(figure, axes)
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


@dataclass(frozen=True)
class _Course:
    """Where the steps of a forecast lie on the x axis, and the neighbors' paths over them."""

    before: NDArray[Any]  # [t], empty without history
    after: NDArray[Any]  # [h]
    now: Any  # the end of the window, None when unknown
    paths: NDArray[np.float32]  # [k, t + h, s], or [k, h, s] when only their futures fit

    @property
    def dated(self) -> bool:
        return self.after.dtype.kind == "M"


def _course_of(forecast: Forecast) -> _Course:
    t, h = 0 if forecast.history is None else len(forecast.history), forecast.horizon
    paths = np.zeros((forecast.weights.size, 0, len(forecast.variables)), np.float32)
    if forecast.paths is not None:
        paths = np.asarray(forecast.paths())
    paths = paths[:, -(t + h) :] if paths.shape[1] >= t + h else paths[:, -h:]
    if forecast.times is None or (t and forecast.history_times is None):
        return _Course(np.arange(1 - t, 1), np.arange(1, h + 1), 0, paths)
    after = forecast.times
    if t and forecast.history_times is not None:
        return _Course(forecast.history_times, after, forecast.history_times[-1], paths)
    return _Course(after[:0], after, after[0] - (after[1] - after[0]) if h > 1 else None, paths)


def _draw_forecast(axis: Any, forecast: Forecast, course: _Course, place: int) -> None:
    """One variable, from the back to the front: intervals, neighbors, now, history, forecast."""
    both = np.concatenate([course.before, course.after])
    history = np.zeros(0, np.float32) if forecast.history is None else forecast.history[:, place]
    last = history[-1:][~np.isnan(history[-1:])]  # the forecast is joined to the last reading, where there is one
    x = both[both.size - course.after.size - last.size :]
    levels = sorted(forecast.levels, reverse=True)
    for rank, level in enumerate(levels, start=1):
        lower, upper = (np.concatenate([last, bound[:, place]]) for bound in forecast.interval(level))
        color = _tint(0.14 * rank) if len(levels) < 5 else _tint(0.6 * rank / len(levels))
        axis.fill_between(x, lower, upper, color=color, linewidth=0, label=f"{100 * level:g} % interval")
    heaviest = float(forecast.weights.max(initial=0))
    for path, weight in zip(course.paths, forecast.weights, strict=True):
        if weight > 0 and path.size:
            strength = 0.08 + 0.27 * float(weight) / heaviest
            axis.plot(both[-len(path) :], path[:, place], color=INK, alpha=strength, linewidth=0.7, label="neighbors")
    if course.now is not None:
        axis.axvline(course.now, color=INK, linewidth=0.8, linestyle=(0, (2, 3)))
    if forecast.observed[place] == 0:
        axis.set_title("no readings", loc="left", fontsize=8, color=ALARM, pad=3)
    elif history.size:
        size = 3.5 if history.size <= 60 else 2  # large enough to see a lone reading between holes
        axis.plot(course.before, history, ".-", color=INK, linewidth=1.4, markersize=size, label="readings")
    mean = np.concatenate([last, forecast.mean[:, place]])
    axis.plot(x, mean, ".-" if mean.size == 1 else "-", color=ACCENT, linewidth=1.8, label="forecast")
    _quiet(axis)


def _tint(strength: float) -> tuple[float, ...]:
    """The accent on white paper; not see-through, so that the legend shows the same."""
    from matplotlib.colors import to_rgb

    return tuple(1 - strength * (1 - part) for part in to_rgb(ACCENT))


def _quiet(axis: Any) -> None:
    axis.margins(x=0.01)
    axis.locator_params(axis="y", nbins=4)
    axis.grid(axis="y", color=SOFT, linewidth=0.5, alpha=0.7)
    axis.set_axisbelow(True)
    axis.tick_params(labelsize=7.5, color=SOFT, labelcolor=INK)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    for side in ("bottom", "left"):
        axis.spines[side].set_color(SOFT)


def _label_steps(axes: NDArray[Any], course: _Course) -> None:
    last = axes[-1]
    if course.dated:
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator(minticks=4, maxticks=9)
        last.xaxis.set_major_locator(locator)
        last.xaxis.set_major_formatter(ConciseDateFormatter(locator))
        last.xaxis.get_offset_text().set(size=8, color=INK)
    else:
        from matplotlib.ticker import MaxNLocator

        last.xaxis.set_major_locator(MaxNLocator(integer=True))
        last.set_xlabel("steps from now", fontsize=8, color=INK)
    if course.now is not None:
        axes[0].annotate(
            "now", (course.now, 1), xycoords=("data", "axes fraction"), xytext=(0, 2), textcoords="offset points",
            ha="center", va="bottom", fontsize=8, color=INK,
        )  # fmt: skip


def _forecast_title(forecast: Forecast, drawn: int) -> str:
    s = len(forecast.variables)
    some = f"{drawn} of {s} variables" if drawn < s else f"{s} variable{'s' if s > 1 else ''}"
    seen = f"{100 * float(forecast.observed_share):.0f} % of the window's readings were there"
    return f"Forecast of {some}; {seen}\n{forecast.quality_words.capitalize()}"


def _with_unit(name: str, unit: str) -> str:
    return f"{name}\n({unit})" if unit else name


def _draw_legend(figure: Any, axes: NDArray[Any]) -> None:
    """One legend below all panels, each kind of line once."""
    entries: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    order = sorted(entries, key=lambda label: {"readings": 0, "forecast": 1, "neighbors": 3}.get(label, 2))
    figure.legend(
        [entries[label] for label in order], order, loc="outside lower center", ncols=len(order), frameon=False,
        fontsize=8, labelcolor=INK,
    )  # fmt: skip
