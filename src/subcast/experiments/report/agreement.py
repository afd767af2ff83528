"""Check our numbers against the published ones: sizes of gaps, errors, the order of methods, facts of datasets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from scipy import stats

from subcast.comparison import LEAST_DRAWS
from subcast.experiments.report.paper_claims import CLAIMS
from subcast.experiments.report.records import METHODS, ORDERS, PAPER_DATASETS, AllRecords, Record, published_number
from subcast.experiments.report.verdicts import is_better, overall_answer

GAP_TOLERANCE = 2.0  # points: about half the width of our intervals of small gaps
FACTS = ("steps", "variables", "lookback", "horizon")


@dataclass(frozen=True)
class PaperCheck:
    """One of our numbers, or an order of two, checked against the paper.

    Parameters
    ----------
    kind
        "gap within 2 points", "error in its 95 % interval", "order of methods" or "facts of the dataset"
    cell, what
        the cell, and what was checked
    agrees
        whether ours agrees with the paper
    numbers
        both numbers as text
    """

    kind: str
    cell: str
    what: str
    agrees: bool
    numbers: str


def paper_checks(records: Sequence[Record]) -> list[PaperCheck]:
    """Return every check of the records of an experiment that are of the paper's own dataset."""
    checks: list[PaperCheck] = []
    for record in records:
        if record.dataset in PAPER_DATASETS:
            checks += [*_gap_checks(record), *_error_checks(record), *_order_checks(record), *_fact_checks(record)]
    return checks


def agreement(checks: Sequence[PaperCheck]) -> str:
    """Count the checks that agree, by kind.

    >>> agreement([PaperCheck("sign", "a", "b", True, ""), PaperCheck("sign", "a", "c", False, "")])
    'sign: 1 of 2'
    """
    kinds = dict.fromkeys(check.kind for check in checks)
    by_kind = {kind: [check.agrees for check in checks if check.kind == kind] for kind in kinds}
    return "; ".join(f"{kind}: {sum(agrees)} of {len(agrees)}" for kind, agrees in by_kind.items())


def agreement_by_order(records: Sequence[Record]) -> str:
    """Count the checks that agree by kind, for each order of ECG5000's rows that has records."""
    texts = []
    for dataset, order in ORDERS.items():
        counts = agreement(paper_checks([record for record in records if record.dataset == dataset]))
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


def _gap_checks(record: Record) -> Iterator[PaperCheck]:
    """Check gaps against the published ones; a number that the paper repeats in another table is checked once."""
    for group, method in _groups_and_methods(record):
        for metric in ("mae", "rmse"):
            if _is_repeated(record, method):
                continue
            published = published_number(record, method, f"delta_{metric}", group, own=True)
            if published is not None:
                gap = record.groups[group][method][f"{metric}_gap"]
                what = f"{METHODS.get(method, method)}, gap of {metric.upper()}"
                numbers = f"{gap:.2f} %, published {published.mean:.2f} %"
                agrees = abs(gap - published.mean) <= GAP_TOLERANCE
                yield PaperCheck("gap within 2 points", record.label, what, agrees, numbers)


def _error_checks(record: Record) -> Iterator[PaperCheck]:
    """Check errors against the published means, within the 95 % interval of our mean over draws of S."""
    for group, method in _groups_and_methods(record):
        for metric in ("mae", "rmse"):
            if _is_repeated(record, method):
                continue
            published = published_number(record, method, metric, group, own=True)
            row = record.groups[group][method]
            if published is not None and row["draws"] >= LEAST_DRAWS:
                error = row[f"{metric}_deviation"] / row["draws"] ** 0.5
                agrees = abs(row[metric] - published.mean) <= stats.t.ppf(0.975, row["draws"] - 1) * error
                numbers = f"{row[metric]:.2f} ± {error:.2f} (standard error), published {published.mean:.2f}"
                what = f"{METHODS.get(method, method)}, {metric.upper()}"
                yield PaperCheck("error in its 95 % interval", record.label, what, bool(agrees), numbers)


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
            yield PaperCheck("order of methods", record.label, what, agrees, numbers)


def _fact_checks(record: Record) -> Iterator[PaperCheck]:
    for fact in FACTS:
        published = published_number(record, "", fact)
        if published is not None and fact in record.figures:
            ours = record.figures[fact]
            numbers = f"{ours:,}, published {published.mean:,.0f}"
            yield PaperCheck("facts of the dataset", record.label, fact, ours == published.mean, numbers)
