"""Compare every other method in the records with the default of subcast, to report first where it loses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from subcast.experiments.report.records import AllRecords, Record, same_cell
from subcast.experiments.report.verdicts import excludes_zero

SIMPLE = ("last-value", "seasonal-naive", "linear", "neighbor-forecast", "hardened", "identity-partial")
EXPERIMENTS = ("table-main", "table-imputation", "table-apriori", "table-identity", "table-correlated")
_NO_RIVALS = ("oracle", "identity", "subcast")  # methods that are given all variables, and the default itself
_VISIBLE = 0.005  # per cent; a difference that two decimals do not show is a tie


@dataclass(frozen=True)
class Contest:
    """The error of another method beside that of the default of subcast in one cell.

    Parameters
    ----------
    record, group, rival, metric
        the cell, the group of draws of S, the other method and the metric
    ours, theirs
        mean errors
    difference
        theirs over ours in per cent: below 0 the other method is better
    clear
        whether the difference is significant: the interval of the paired difference excludes 0 where both are in one
        record, else the intervals of the two gaps to Oracle do not overlap
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
        """Whether the other method is better."""
        return self.difference < -_VISIBLE


def contests(all_records: AllRecords) -> list[Contest]:
    """Compare every method with the default of subcast on the same windows and draws of S.

    A model counts by its first training. Partial and FDW are compared in the table of main results and where S comes
    from some of the clusters, not where other experiments repeat them.
    """
    return [
        _contest(record, group, rival, metric, rows["subcast"], rival_row)
        for experiment in EXPERIMENTS
        for record in all_records.get(experiment, [])
        if record.is_first
        for group, rows in record.groups.items()
        for rival, rival_row in _rivals(all_records, record, group, rows)
        for metric in ("mae", "rmse")
    ]


def _rivals(all_records: AllRecords, record: Record, group: str, rows: Any) -> Iterator[tuple[str, Any]]:
    """Yield name and row of the methods to compare with the default of subcast in a group of a record."""
    if "subcast" not in rows:
        return
    some_clusters = record.experiment == "table-correlated" and group != list(record.groups)[-1]
    repeated = () if record.experiment == "table-main" or some_clusters else ("partial", "fdw")
    yield from ((name, row) for name, row in rows.items() if name not in (*_NO_RIVALS, *repeated))
    knn = same_cell(all_records, "table-knn", record) if record.experiment == "table-main" else None
    if knn is not None and (knn.draws, knn.every) == (record.draws, record.every):
        yield "neighbor-forecast", knn.methods["neighbor-forecast"]


def _contest(record: Record, group: str, rival: str, metric: str, our_row: Any, rival_row: Any) -> Contest:
    ours, theirs = our_row[metric], rival_row[metric]
    difference = 100 * (theirs - ours) / ours
    return Contest(record, group, rival, metric, ours, theirs, difference, _is_clear(metric, our_row, rival_row))


def _is_clear(metric: str, our_row: Any, rival_row: Any) -> bool:
    paired = rival_row.get(f"{metric}_against", {}).get("subcast")
    if paired is not None:
        return excludes_zero(paired[1:])
    ours, theirs = our_row.get(f"{metric}_gap_interval"), rival_row.get(f"{metric}_gap_interval")
    return bool(ours and theirs and (theirs[1] < ours[0] or ours[1] < theirs[0]))
