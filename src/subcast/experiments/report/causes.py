"""The page of tested causes: what changes the loss of Partial, from the records of `benchmarks/partial_causes.py`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from subcast.comparison import Comparison
from subcast.experiments.published import find_one
from subcast.experiments.report.records import MODELS, ORDERS, ORIGINALS, OTHER_ORDER
from subcast.experiments.report.tables import gap_text, markdown_table
from subcast.experiments.summaries import summarize_pairs
from subcast.names import plural

AS_RUN = "as in the experiments"
"""Name of the entry of a record that changes nothing."""


@dataclass(frozen=True)
class Published:
    """Errors of Oracle and Partial of a model in table 1 with the gaps, and the gap of FDW's MAE in table 4."""

    oracle: float
    partial: float
    gap: float
    oracle_rmse: float
    rmse_gap: float
    fdw_gap: float


@dataclass(frozen=True)
class CauseRecord:
    """The changes that were measured on one model.

    Parameters
    ----------
    model, dataset, draws
        the cell, and the number of draws of S
    changes
        for each change what differs, the rows of Oracle and Partial, and facts of the training or the graph
    """

    model: str
    dataset: str
    draws: int
    changes: Mapping[str, Mapping[str, Any]]

    @property
    def label(self) -> str:
        """Model and dataset."""
        return f"{MODELS[self.model]} on `{self.dataset}`"

    @property
    def published(self) -> Published:
        """What the paper prints."""
        cell = {"experiment": "table-oracle-partial", "dataset": ORIGINALS[self.dataset], "model": self.model}
        wanted = [("oracle", "mae"), ("partial", "mae"), ("partial", "delta_mae")]
        wanted += [("oracle", "rmse"), ("partial", "delta_rmse")]
        numbers = [find_one(**cell, setting=setting, metric=metric).mean for setting, metric in wanted]
        numbers.append(find_one(**{**cell, "experiment": "table-main"}, setting="fdw", metric="delta_mae").mean)
        return Published(*map(float, numbers))

    @property
    def tried(self) -> list[str]:
        """Names of the changes that differ from the model as it was run, each kind of forecast once."""
        distinct: dict[tuple[str, ...], str] = {}
        for name, change in self.changes.items():
            distinct.setdefault(tuple(f"{gap:.4g}" for gap in change["gap_by_draw"]), name)
        own = [name for name in distinct.values() if name != AS_RUN]
        return [name for name in own if not self.changes[name].get("another_seed")]

    def explains(self, name: str, metric: str = "mae") -> bool:
        """Return whether the published gap lies in the interval of a change, where it does not as the model was run."""
        return AS_RUN in self.changes and self.covers(name, metric) and not self.covers(AS_RUN, metric)

    def covers(self, name: str, metric: str = "mae") -> bool:
        """Return whether the published gap lies in the interval of a change."""
        interval = self.changes[name]["partial"].get(f"{metric}_gap_interval")
        published = self.published.gap if metric == "mae" else self.published.rmse_gap
        return bool(interval) and interval[0] <= published <= interval[1]


def read_causes(folder: Path) -> list[CauseRecord]:
    """Return the records of tested causes, in the order of datasets and models; intervals come from the tallies."""
    records = []
    for path in sorted(folder.glob("partial-causes-*.json")):
        stored = json.loads(path.read_text(encoding="utf-8"))
        names = sorted(stored["figures"], key=lambda name: name != AS_RUN)  # the model as it was run comes first
        changes = {name: _with_rows(stored["figures"][name]) for name in names}
        records.append(CauseRecord(stored["model"], stored["dataset"], int(stored["draws"]), changes))
    order, models = list(ORIGINALS), list(MODELS)
    return sorted(records, key=lambda record: (order.index(record.dataset), models.index(record.model)))


def _with_rows(entry: Mapping[str, Any]) -> dict[str, Any]:
    comparison, step = Comparison.from_record(entry["tallies"]), int(entry["tallies"]["step"])
    ratios = comparison.errors("partial", "mae", step) / comparison.errors("oracle", "mae", step)
    return {**entry, **summarize_pairs(comparison, step), "gap_by_draw": (100 * (ratios - 1)).tolist()}


def causes_sentence(records: Sequence[CauseRecord]) -> str:
    """Return in a sentence how many changes were tried, and which bring Partial's gap to the published one.

    Those in the order of rows that is not the paper's are named only where there are no others.
    """
    records = [record for record in records if record.dataset != OTHER_ORDER] or list(records)
    tried = [(record, name) for record in records for name in record.tried]
    if not tried:
        return ""
    datasets = " and ".join(f"`{dataset}`" for dataset in dict.fromkeys(record.dataset for record in records))
    covered = [MODELS[record.model] for record in records if AS_RUN in record.changes and record.covers(AS_RUN)]
    explaining = [
        f"{name} ({MODELS[record.model]}{_in_rmse_too(record, name)})"
        for record, name in tried
        if record.explains(name)
    ]
    text = f"Partial's gap of MAE on {datasets} ([tested causes](#causes)): "
    text += f"the published one is in the 95 % interval of ours for {', '.join(covered) or 'no model'}. "
    text += f"Of {plural(len(tried), 'change')} tried as a cause, "
    if not explaining:
        return text + "none brings another model's interval there."
    return text + f"these bring another model's interval there: {', '.join(explaining)}."


def _in_rmse_too(record: CauseRecord, name: str) -> str:
    return ", in RMSE too" if record.covers(name, "rmse") else ", but not in RMSE"


def causes_page(records: Sequence[CauseRecord], texts: Mapping[str, str]) -> Iterator[str]:
    """Yield the paragraphs of the page.

    Parameters
    ----------
    records
        what was measured
    texts
        the texts that are written by hand: `introduction`, `unknown`, and one for each `MODEL-DATASET` that has one
    """
    yield "# Tested causes of what Partial loses"
    yield texts["introduction"]
    if not records:
        yield "Not run yet: `python benchmarks/partial_causes.py`."
        return
    for record in records:
        yield f"## {MODELS[record.model]}, {ORDERS.get(record.dataset, record.dataset)} (`{record.dataset}`)"
        yield _table(record)
        yield from _by_draw(record)
        yield from _hubs(record)
        text = texts.get(f"{record.model}-{record.dataset}")
        if text:
            yield text
    yield "## What is not known"
    yield texts["unknown"]


def _table(record: CauseRecord) -> str:
    """Return a row for each change, with the published numbers in the last row."""
    rows = []
    for name, change in record.changes.items():
        oracle, partial = change["oracle"], change["partial"]
        rows.append(
            [
                name,
                change["text"],
                "trained anew" if change["trained"] else "",
                f"{oracle['mae']:.2f}",
                f"{partial['mae']:.2f}",
                gap_text(partial, "mae"),
                f"{np.median(change['gap_by_draw']):.2f}",
                f"{oracle['rmse']:.2f}",
                gap_text(partial, "rmse"),
                gap_text(change["fdw"], "mae") if "fdw" in change else "",
            ]
        )
    published = record.published
    numbers = [f"{number:.2f}" for number in (published.oracle, published.partial, published.gap)]
    rmse = [f"{number:.2f}" for number in (published.oracle_rmse, published.rmse_gap)]
    fdw = f"{published.fdw_gap:.2f}" if any("fdw" in change for change in record.changes.values()) else ""
    rows.append(["*published*", "", "", *numbers, "", *rmse, fdw])
    windows = next(iter(record.changes.values()))["test_windows"]
    columns = ["change", "what differs", "model", "Oracle, MAE", "Partial, MAE", "gap of MAE, %"]
    columns += ["median gap of the draws, %", "Oracle, RMSE", "gap of RMSE, %", "FDW, gap of MAE, %"]
    table = markdown_table(columns, rows, left=3)
    return f"{record.draws} draws of S, {windows:,} test windows, the same in every row.\n\n{table}"


def _by_draw(record: CauseRecord) -> Iterator[str]:
    """Yield the median and the largest loss of the draws of S, and how many lose more than twice the median."""
    if AS_RUN in record.changes:
        gaps = np.array(record.changes[AS_RUN]["gap_by_draw"])
        middle = float(np.median(gaps))
        many = int((gaps > 2 * max(middle, 1.0)).sum())
        yield (
            f"As the model was run, half of the draws lose at most {middle:.1f} %, and the largest loss is "
            f"{gaps.max():.0f} %. Draws that lose more than twice the median: {many} of {record.draws}."
        )


def _hubs(record: CauseRecord) -> Iterator[str]:
    """Yield how the edges of the graph are spread, how the gap of a draw goes with that, and what training changes."""
    hubs = record.changes.get(AS_RUN, {}).get("hubs")
    if hubs is None:
        return
    text = f"Of the graph's edges {_percent(hubs['share_of_edges'])} begin or end at the same 20 variables"
    if hubs.get("share_untrained") is not None:
        text += f" ({_percent(hubs['share_untrained'])} in models that are not trained)"
    text += f". A draw of S has {np.mean(hubs['hubs_in_subset']):.1f} of the 20 on average"
    if hubs["correlation"] is not None:
        text += "; this number and the gap of the draw have a correlation of "
        text += f"{hubs['correlation']:.2f} ({record.draws} draws)"
    yield f"{text}."
    if sum("hubs" in change for change in record.changes.values()) > 1:
        yield _graphs_table(record)


def _graphs_table(record: CauseRecord) -> str:
    """Return a row for each training whose graph is known: its edges at few variables, and what Partial loses."""
    rows = []
    for name, change in record.changes.items():
        if "hubs" in change:
            shares = [change["hubs"].get("share_untrained"), change["hubs"]["share_of_edges"]]
            texts = ["" if share is None else _percent(share) for share in shares]
            correlation = change["hubs"]["correlation"]
            last = "" if correlation is None else f"{correlation:.2f}"
            rows.append([name, change["text"], *texts, gap_text(change["partial"], "mae"), last])
    columns = [
        "training",
        "what differs",
        "edges at 20 variables, five untrained models",
        "after the training",
        "gap of MAE, %",
    ]
    columns += ["correlation of a draw's gap with the number of the 20 in S"]
    return "The graphs of the trainings:\n\n" + markdown_table(columns, rows, left=2)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
