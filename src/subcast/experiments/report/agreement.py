"""Check our numbers against the published ones: sizes of gaps and errors, the order of methods, facts of datasets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from subcast.comparison import LEAST_DRAWS
from subcast.experiments.report.paper_claims import CLAIMS
from subcast.experiments.report.records import (
    METHODS,
    ORDERS,
    PAPER_DATASETS,
    AllRecords,
    Record,
    dataset_of,
    published_number,
)
from subcast.experiments.report.uncertainty import Beside, Spreads, beside_published, cells, training_spreads
from subcast.experiments.report.verdicts import is_better, overall_answer

FACTS = ("steps", "variables", "lookback", "horizon")
GAP, ERROR, ORDER, FACT = "gap", "error", "order of methods", "facts of the dataset"
"""Kinds of checks."""


@dataclass(frozen=True)
class PaperCheck:
    """One of our numbers, or an order of two, checked against the paper.

    Parameters
    ----------
    kind
        GAP, ERROR, ORDER or FACT
    cell, what
        the cell, and what was checked
    agrees
        whether ours agrees with the paper
    numbers
        both numbers as text
    beside
        both numbers of a gap or an error, with how far they may be apart by chance
    """

    kind: str
    cell: str
    what: str
    agrees: bool
    numbers: str
    beside: Beside | None = None

    @property
    def dataset(self) -> str:
        """The dataset of the cell."""
        return dataset_of(self.cell)


def paper_checks(records: Sequence[Record], all_records: AllRecords) -> list[PaperCheck]:
    """Return every check of some records that are of the paper's own dataset, one for each published number.

    Sizes are those of the mean over the trainings of a model, orders of methods those of its first training. Where
    `table-row-order` has the errors of Oracle and Partial, or of the nearest-neighbor forecast, under more draws of S,
    those are taken.

    Parameters
    ----------
    records
        the records to check
    all_records
        those of all experiments, which say how far trainings are apart
    """
    spreads = training_spreads(all_records)
    checks: list[PaperCheck] = []
    for trainings in cells(record for record in records if record.dataset in PAPER_DATASETS):
        measured = _with_more_draws(trainings, all_records)
        checks += [*_size_checks(measured, spreads), *_order_checks(trainings[0]), *_fact_checks(trainings[0])]
    return checks


def _with_more_draws(trainings: list[Record], all_records: AllRecords) -> list[Record]:
    """Return the same trainings in `table-row-order` under the name of their experiment, where they have more draws."""
    first = trainings[0]
    if first.experiment not in ("table-oracle-partial", "table-knn"):
        return trainings
    seeds = {record.seed for record in trainings}
    alike = [
        record
        for record in all_records.get("table-row-order", [])
        if (record.dataset, record.model) == (first.dataset, first.model) and record.seed in seeds
    ]
    found = next(cells(alike), [])
    if not found or found[0].draws <= first.draws or not all(record.comparison() for record in found):
        return trainings
    return [replace(record, experiment=first.experiment) for record in found]


def too_few_draws(records: Sequence[Record]) -> int:
    """Return how many published gaps and errors have none of ours beside them that is from enough draws of S."""
    count = 0
    for trainings in cells(record for record in records if record.dataset in PAPER_DATASETS):
        record = trainings[0]
        for group, method in _groups_and_methods(record):
            few = record.groups[group][method]["draws"] < LEAST_DRAWS and not _is_repeated(record, method)
            metrics = ("mae", "rmse", "delta_mae", "delta_rmse") if few else ()
            count += sum(published_number(record, method, metric, group, own=True) is not None for metric in metrics)
    return count


def agreeing_with_no_gap(checks: Sequence[PaperCheck], method: str = "fdw") -> tuple[int, int, int] | None:
    """Return how many gaps of a method agree, how many would if all of ours were 0, and how many there are."""
    own = [check.beside for check in checks if check.kind == GAP and check.what.startswith(f"{METHODS[method]}, gap")]
    beside = [one for one in own if one is not None]
    if not beside:
        return None
    return sum(one.agree for one in beside), sum(replace(one, ours=0.0).agree for one in beside), len(beside)


def agreement(checks: Sequence[PaperCheck]) -> str:
    """Count the checks that agree, by kind, with how far half of the numbers may be apart by chance.

    >>> agreement([PaperCheck("sign", "a", "b", True, ""), PaperCheck("sign", "a", "c", False, "")])
    'sign: 1 of 2'
    """
    texts = []
    for kind in dict.fromkeys(check.kind for check in checks):
        own = [check for check in checks if check.kind == kind]
        text = f"{kind}: {sum(check.agrees for check in own)} of {len(own)}"
        beside = [check.beside for check in own if check.beside is not None]
        if beside:
            allowed = [one.allowed if kind == GAP else 100 * one.allowed / one.published for one in beside]
            text += f" (half may differ by up to {np.median(allowed):.1f} {'points' if kind == GAP else '%'} by chance)"
        texts.append(text)
    return "; ".join(texts)


def agreement_by_order(records: Sequence[Record], all_records: AllRecords) -> str:
    """Count the checks that agree by kind, for each order of ECG5000's rows that has records."""
    texts = []
    for dataset, order in ORDERS.items():
        counts = agreement(paper_checks([record for record in records if record.dataset == dataset], all_records))
        if counts:
            texts.append(f"ECG5000 with {order}: {counts}")
    return "; ".join(texts)


def claims_summary(experiment: str, all_records: AllRecords) -> str:
    """Return how many of an experiment's claims hold, hold in part or do not; "" when none was measured."""
    counts = count_claims(all_records, experiment)
    text = ", ".join(f"{count} {answer}" for answer, count in counts.items())
    return "" if set(counts) <= {"not measured"} else f"claims: {text}"


def count_claims(all_records: AllRecords, experiment: str | None = None) -> dict[str, int]:
    """Count the claims, of one experiment or of all, by their overall answer."""
    answers = [overall_answer(claim.ask(all_records)) for claim in CLAIMS if experiment in (None, claim.experiment)]
    order = ("yes", "in part", "no", "undecided", "not measured")
    return {answer: answers.count(answer) for answer in order if answer in answers}


def _groups_and_methods(record: Record) -> list[tuple[str, str]]:
    """Return group and method of all errors of a record."""
    if not record.methods or "mrr" in record.methods:
        return []
    return [(group, method) for group, rows in record.groups.items() for method in rows]


def _is_repeated(record: Record, method: str) -> bool:
    """Return whether the paper repeats another table's number here: FDW of table 4, Oracle and Partial of table 1."""
    if method in ("fdw", "b=0.5", "tau=0.1"):
        return record.experiment not in ("table-main", "table-correlated")
    return method in ("oracle", "partial") and record.experiment not in ("table-oracle-partial", "table-correlated")


def _size_checks(trainings: Sequence[Record], spreads: Spreads) -> Iterator[PaperCheck]:
    """Check errors and gaps; a number that the paper repeats in another table is checked once."""
    record = trainings[0]
    cell = f"{record.label}, {len(trainings)} trainings" if len(trainings) > 1 else record.label
    for group, method in _groups_and_methods(record):
        for figure in () if _is_repeated(record, method) else ("mae", "rmse", "mae_gap", "rmse_gap"):
            beside = beside_published(trainings, method, figure, group, spreads)
            if beside is not None:
                metric, is_gap = figure.removesuffix("_gap").upper(), figure.endswith("gap")
                unit, off = (" %", "points") if is_gap else ("", "")
                numbers = f"{beside.ours:.2f}{unit}, published {beside.published:.2f}{unit}"
                numbers += f" (may be {beside.allowed:.2f} {off}".rstrip() + " apart by chance)"
                what = f"{METHODS.get(method, method)}, {'gap of ' if is_gap else ''}{metric}"
                yield PaperCheck(GAP if is_gap else ERROR, cell, what, beside.agree, numbers, beside)


def _order_checks(record: Record) -> Iterator[PaperCheck]:
    """Check the order of the gaps of MAE of two methods, at least one of them in the experiment's own table.

    Only pairs whose paired interval excludes 0 are checked.
    """
    gaps = {
        method: (record.methods[method]["mae_gap"], published.mean)
        for group, method in _groups_and_methods(record)
        if group == "15%"
        and method != "tau=0.1"
        and (published := published_number(record, method, "delta_mae")) is not None
    }
    for first, second in combinations(gaps, 2):
        (ours, theirs), (our_other, their_other) = gaps[first], gaps[second]
        in_own_table = any(published_number(record, method, "delta_mae", own=True) for method in (first, second))
        if in_own_table and theirs != their_other and is_better(record, first, second) is not None:
            what = f"{METHODS.get(first, first)} and {METHODS.get(second, second)}"
            numbers = f"{ours:.2f} and {our_other:.2f} %, published {theirs:.2f} and {their_other:.2f} %"
            agrees = (ours < our_other) == (theirs < their_other)
            yield PaperCheck(ORDER, record.label, what, agrees, numbers)


def _fact_checks(record: Record) -> Iterator[PaperCheck]:
    for fact in FACTS:
        published = published_number(record, "", fact)
        if published is not None and fact in record.figures:
            ours = record.figures[fact]
            numbers = f"{ours:,}, published {published.mean:,.0f}"
            yield PaperCheck(FACT, record.label, fact, ours == published.mean, numbers)
