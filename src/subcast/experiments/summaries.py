"""The figures that records and the report show of a comparison: means, deviations, gaps, and paired differences."""

from __future__ import annotations

from typing import Any

from subcast.comparison import Comparison
from subcast.metrics import METRICS

Row = dict[str, Any]


def summarize(comparison: Comparison, step: int) -> dict[str, Row]:
    """Return for each method the mean error, its deviation and gap at one step, and the mean errors of all steps."""
    errors = {"mae": comparison.mae, "rmse": comparison.rmse}
    return {
        method: {
            "draws": len(comparison.draws),
            **comparison.row(method, step),
            **{f"{metric}_by_step": errors[metric][method].mean(axis=0).tolist() for metric in METRICS},
        }
        for method in comparison.methods
    }


def summarize_pairs(comparison: Comparison, step: int) -> dict[str, Row]:
    """Return what `summarize` does, and each method's gap to every other method: [gap, lower end, upper end].

    Both ends are None with too few draws for an interval.
    """
    rows = summarize(comparison, step)
    for method, row in rows.items():
        for metric in METRICS:
            others = [other for other in comparison.methods if other != method]
            row[f"{metric}_against"] = {other: _plain_gap(comparison, method, other, metric, step) for other in others}
    return rows


def _plain_gap(comparison: Comparison, method: str, other: str, metric: str, step: int) -> list[float | None]:
    gap = comparison.gap(method, metric, step, base=other)
    lower, upper = gap.interval or (None, None)
    return [gap.gap, lower, upper]
