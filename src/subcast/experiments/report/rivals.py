"""Where something else does better than the default of subcast: found in the records, and told first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from subcast.experiments.report.records import Found, Record, same_cell
from subcast.experiments.report.verdicts import parted

SIMPLE = ("last-value", "seasonal-naive", "linear", "neighbor-forecast", "hardened", "identity-partial")
EXPERIMENTS = ("table-main", "table-imputation", "table-apriori", "table-identity", "table-correlated")
_WITH_ALL = ("oracle", "identity", "subcast")  # no rivals: what is given all variables, and the default itself
_SEEN = 0.005  # per cent; what two decimals do not show is a tie


@dataclass(frozen=True)
class Contest:
    """Another method against the default of subcast in one cell.

    Parameters
    ----------
    record, group, rival, metric
        where, and against which
    ours, theirs
        mean errors
    difference
        theirs over ours in per cent: below 0 they are better
    clear
        whether the intervals part the two: that of their paired difference where both are in one record, else those
        of the two gaps to Oracle
    """

    record: Record
    group: str
    rival: str
    metric: str
    ours: float
    theirs: float
    difference: float
    clear: bool

    @property
    def lost(self) -> bool:
        """Whether the other is better."""
        return self.difference < -_SEEN


def contests(found: Found) -> list[Contest]:
    """Every method against the default of subcast on the same windows and draws of S, each rival where it belongs.

    Partial and FDW count in the table of main results and where S comes from some of the clusters, not where other
    experiments repeat them.
    """
    held = []
    for experiment in EXPERIMENTS:
        for record in found.get(experiment, []):
            for group, methods in record.groups.items():
                for rival, theirs in _rivals(found, record, group, methods):
                    for metric in ("mae", "rmse"):
                        held.append(_contest(record, group, rival, metric, methods["subcast"], theirs))
    return held


def _rivals(found: Found, record: Record, group: str, methods: Any) -> Iterator[tuple[str, Any]]:
    if "subcast" not in methods:
        return
    some_clusters = record.experiment == "table-correlated" and group != list(record.groups)[-1]
    repeated = () if record.experiment == "table-main" or some_clusters else ("partial", "fdw")
    yield from ((name, row) for name, row in methods.items() if name not in (*_WITH_ALL, *repeated))
    knn = same_cell(found, "table-knn", record) if record.experiment == "table-main" else None
    if knn is not None and (knn.draws, knn.every) == (record.draws, record.every):
        yield "neighbor-forecast", knn.methods["neighbor-forecast"]


def _contest(record: Record, group: str, rival: str, metric: str, ours: Any, theirs: Any) -> Contest:
    difference = 100 * (theirs[metric] - ours[metric]) / ours[metric]
    return Contest(
        record, group, rival, metric, ours[metric], theirs[metric], difference, _is_clear(metric, ours, theirs)
    )


def _is_clear(metric: str, ours: Any, theirs: Any) -> bool:
    paired = theirs.get(f"{metric}_against", {}).get("subcast")
    if paired is not None:
        return parted(paired[1:])
    first, second = ours.get(f"{metric}_gap_interval"), theirs.get(f"{metric}_gap_interval")
    return bool(first and second and (second[1] < first[0] or first[1] < second[0]))
