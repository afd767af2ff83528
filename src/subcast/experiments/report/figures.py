"""The figures of the report, with colors for color-blind readers, and markers and dashes that print in gray."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.experiments.report.records import METHODS, Record
from subcast.experiments.report.verdicts import gap_by_step
from subcast.metrics import METRICS
from subcast.plots import INK, SOFT

# The palette of Okabe and Ito, with a marker and a dash for each.
_STYLES: dict[str, dict[str, Any]] = {
    "mtgnn": {"color": "#0072B2", "marker": "o", "linestyle": "-"},
    "astgcn": {"color": "#D55E00", "marker": "s", "linestyle": "--"},
    "mstgcn": {"color": "#009E73", "marker": "^", "linestyle": "-."},
    "lstnet": {"color": "#CC79A7", "marker": "D", "linestyle": ":"},
    "tcn": {"color": "#000000", "marker": "v", "linestyle": (0, (5, 1, 1, 1, 1, 1))},
    "": {"color": "#0072B2", "marker": "o", "linestyle": "-"},
    "oracle": {"color": "#000000", "marker": "o", "linestyle": "--", "markerfacecolor": "white"},
    "partial": {"color": "#D55E00", "marker": "s", "linestyle": "-"},
    "subcast": {"color": "#0072B2", "marker": "^", "linestyle": "-"},
}


def make_figure(name: str, records: Sequence[Record]) -> Any:
    """Return the figure of an experiment that has records; None for an experiment without a figure."""
    return FIGURES[name](records) if name in FIGURES else None


def _panels(titles: Sequence[str], width: float = 3.1, height: float = 2.7, **shared: Any) -> tuple[Any, NDArray[Any]]:
    """Return a figure with a panel for each title, at most two in a row, so that it can be read on a printed page."""
    from matplotlib.figure import Figure

    columns = min(2, len(titles))
    rows = -(-len(titles) // columns)
    figure = Figure(figsize=(max(width * columns, 4.2) + 0.3, height * rows + 0.5), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **shared).ravel()
    for axis in axes[len(titles) :]:
        axis.set_visible(False)
    for axis, title in zip(axes, titles, strict=False):
        axis.set_title(title, fontsize=9, color=INK, loc="left")
        axis.grid(color=SOFT, linewidth=0.5, alpha=0.7)
        axis.set_axisbelow(True)
        axis.tick_params(labelsize=8, labelcolor=INK)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    return figure, axes[: len(titles)]


def _label(figure: Any, x: str, y: str) -> None:
    figure.supxlabel(x, fontsize=9, color=INK)
    figure.supylabel(y, fontsize=9, color=INK)


def _legend(figure: Any, axes: NDArray[Any], width: float = 1.4) -> None:
    """Put one legend above all panels, with entries of a width in inches; none if there is a single line."""
    entries: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if len(entries) > 1:
        columns = min(len(entries), max(1, int(figure.get_figwidth() / width)))
        figure.legend(
            list(entries.values()), list(entries), loc="outside upper center", ncols=columns,
            frameon=False, fontsize=8, labelcolor=INK, handlelength=3.2,
        )  # fmt: skip


def _line(axis: Any, x: Sequence[float], y: Sequence[float], style: str, label: str, seed: int = 0) -> None:
    options = _STYLES[style] | ({"alpha": 0.5} if seed else {})
    axis.plot(x, y, label=label, linewidth=1.5, markersize=4.5, **options)


def _datasets_of(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(record.dataset for record in records))


def _subset_size(records: Sequence[Record]) -> Any:
    figure, axes = _panels([record.label for record in records])
    first: dict[str, Any] = {}  # panels of one dataset have one scale
    for axis, record in zip(axes, records, strict=True):
        if first.setdefault(record.dataset, axis) is not axis:
            axis.sharey(first[record.dataset])
        shares = [float(group.rstrip("%")) for group in record.groups]
        for name in record.methods:
            values = [rows[name]["mae"] for rows in record.groups.values()]
            _line(axis, shares, values, name, METHODS[name])
    _label(figure, "variables that are present, % of all", "MAE at step 12")
    _legend(figure, axes)
    return figure


def _reciprocal_rank(records: Sequence[Record]) -> Any:
    figure, axes = _panels([record.dataset for record in records], sharey=True)
    for axis, record in zip(axes, records, strict=True):
        edges, ranks = np.array(record.figures["edges"]), record.groups["15%"]
        axis.bar(
            edges[:-1], 100 * np.array(ranks["histogram"]), width=np.diff(edges), align="edge", color="#56B4E9",
            edgecolor=INK, linewidth=0.5,
        )  # fmt: skip
        axis.axvline(ranks["mrr"], color=INK, linestyle="--", linewidth=1.2)
        axis.set_title(f"{record.dataset}: mean {ranks['mrr']:.2f} (dashed)", fontsize=9, color=INK, loc="left")
    _label(figure, "reciprocal rank by S of the window nearest by all variables", "% of validation windows and draws")
    return figure


def _against(letter: str, x: str, *, percent: bool = False) -> Callable[[Sequence[Record]], Any]:
    """Return a function that draws the gap of MAE against the number in the names of methods."""

    def draw(records: Sequence[Record]) -> Any:
        datasets = _datasets_of(records)
        figure, axes = _panels(datasets)
        for axis, dataset in zip(axes, datasets, strict=True):
            for record in (record for record in records if record.dataset == dataset):
                names = [name for name in record.methods if name.startswith(f"{letter}=")]
                positions = [float(name[2:]) * (100 if percent else 1) for name in names]
                _with_interval(axis, positions, [record.methods[name] for name in names], record)
            _log_ticks(axis, positions)
            axis.axhline(0, color=INK, linewidth=0.8)
        _label(figure, x, "gap of MAE to Oracle, %")
        _legend(figure, axes)
        return figure

    return draw


def _log_ticks(axis: Any, positions: Sequence[float]) -> None:
    """Make the x axis logarithmic, with ticks at these positions alone."""
    from matplotlib.ticker import FixedLocator, NullLocator

    axis.set_xscale("log")
    axis.xaxis.set_major_locator(FixedLocator(list(positions)))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set_xticklabels([f"{position:g}" for position in positions])


def _with_interval(axis: Any, positions: Sequence[float], rows: Sequence[Any], record: Record) -> None:
    """Draw the gaps of MAE of one record as a line, with its intervals shaded."""
    values = [row["mae_gap"] for row in rows]
    _line(axis, positions, values, record.model, record.model_title, record.seed)
    intervals = [row["mae_gap_interval"] for row in rows]
    if all(intervals):
        lower, upper = np.array(intervals).T
        axis.fill_between(positions, lower, upper, color=_STYLES[record.model]["color"], alpha=0.12, linewidth=0)


def _horizon(records: Sequence[Record]) -> Any:
    """Draw a row of panels for each dataset: MAE on the left, RMSE on the right."""
    panels = [(dataset, metric) for dataset in _datasets_of(records) for metric in METRICS]
    figure, axes = _panels([f"{dataset}, {metric.upper()}" for dataset, metric in panels])
    for axis, (dataset, metric) in zip(axes, panels, strict=True):
        for record in (record for record in records if record.dataset == dataset):
            values = gap_by_step(record, metric=metric)
            _line(axis, list(range(1, len(values) + 1)), values, record.model, record.model_title, record.seed)
        axis.axhline(0, color=INK, linewidth=0.8)
        axis.set_xticks(range(1, len(values) + 1, 2 if len(values) > 6 else 1))
    _label(figure, "step of the forecast", "error of Partial minus error of Oracle")
    _legend(figure, axes)
    return figure


def _pagerank(records: Sequence[Record]) -> Any:
    from matplotlib.ticker import MaxNLocator

    figure, axes = _panels([record.label for record in records])
    for axis, record in zip(axes, records, strict=True):
        x, y = np.array(record.figures["pagerank"]), np.array(record.figures["gap"])
        style = _STYLES[record.model]
        axis.scatter(x, y, s=16, color=style["color"], marker=style["marker"], alpha=0.7, linewidth=0)
        axis.xaxis.set_major_locator(MaxNLocator(4))
        correlation = record.figures["correlation"]
        if correlation is not None:
            slope, intercept = np.polyfit(x, y, 1)
            ends = np.array([x.min(), x.max()])
            axis.plot(ends, intercept + slope * ends, color=INK, linewidth=1.2, linestyle="--")
            axis.set_title(f"{record.label}: r = {correlation:.2f}", fontsize=9, color=INK, loc="left")
    _label(figure, "sum of PageRank of the absent variables", "MAE of Partial minus MAE of Oracle")
    return figure


def _rounds(records: Sequence[Record]) -> Any:
    figure, axes = _panels([record.dataset for record in records], width=5.5)
    for axis, record in zip(axes, records, strict=True):
        counts, tables = record.figures["neighbors"], record.figures["tables"]
        for (name, table), style in zip(tables.items(), _STYLES, strict=False):
            _line(axis, counts, table["rounds"], style, name)
        axis.axhline(3, color=INK, linewidth=1, linestyle=":")
        axis.annotate(
            "3", (1, 3), xycoords=("axes fraction", "data"), xytext=(4, -3), textcoords="offset points", fontsize=8
        )
        axis.set_ylim(0, 1.1 * max(3.3, *(value for table in tables.values() for value in table["rounds"])))
        _log_ticks(axis, counts)
    _label(figure, "number of neighbors m", "mean rounds of the query table")
    _legend(figure, axes, width=2.8)
    return figure


FIGURES: dict[str, Callable[[Sequence[Record]], Any]] = {
    "figure-subset-size": _subset_size,
    "figure-reciprocal-rank": _reciprocal_rank,
    "figure-neighbors": _against("m", "number of neighbors m"),
    "figure-retrieval-size": _against("r", "training windows that may be neighbors, %", percent=True),
    "figure-horizon": _horizon,
    "figure-pagerank": _pagerank,
    "figure-rounds": _rounds,
}
