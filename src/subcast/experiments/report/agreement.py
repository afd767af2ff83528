"""How near our numbers come to the paper's: sizes of gaps, published deviations, the order of methods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from scipy import stats

from subcast.comparison import LEAST_DRAWS
from subcast.experiments.report.paper_claims import CLAIMS
from subcast.experiments.report.records import METHODS, WHOLE, Found, Record, printed
from subcast.experiments.report.verdicts import in_a_word, told_better

NEAR = 2.0  # points: about the half of our intervals of small gaps
FACTS = ("steps", "variables", "lookback", "horizon")


@dataclass(frozen=True)
class Comparison:
    """One comparison with the paper.

    Parameters
    ----------
    kind
        "gap within 2 points", "error in its 95 % interval", "order of methods" or "facts of the dataset"
    cell, what
        where, and what was compared
    agrees
        whether ours agrees
    numbers
        both, in words
    """

    kind: str
    cell: str
    what: str
    agrees: bool
    numbers: str


def comparisons(records: Sequence[Record]) -> list[Comparison]:
    """Every comparison of the records of an experiment on the paper's own dataset."""
    found: list[Comparison] = []
    for record in records:
        if record.dataset in WHOLE:
            found += [*_sizes(record), *_deviations(record), *_orders(record), *_facts(record)]
    return found


def agreement(found: Sequence[Comparison]) -> str:
    """Count them by kind.

    >>> agreement([Comparison("sign", "a", "b", True, ""), Comparison("sign", "a", "c", False, "")])
    'sign: 1 of 2'
    """
    kinds = dict.fromkeys(one.kind for one in found)
    return "; ".join(
        f"{kind}: {sum(one.agrees for one in found if one.kind == kind)} of {sum(one.kind == kind for one in found)}"
        for kind in kinds
    )


def claims_in_short(experiment: str, found: Found) -> str:
    """How many of an experiment's claims hold, in part or not; nothing when none was measured."""
    found_out = claims_counted(found, experiment)
    told = ", ".join(f"{count} {kind}" for kind, count in found_out.items())
    return "" if set(found_out) <= {"not measured"} else f"claims: {told}"


def claims_counted(found: Found, experiment: str | None = None) -> dict[str, int]:
    """How many claims, of one experiment or of all, come to what."""
    words = [in_a_word(claim.ask(found)) for claim in CLAIMS if experiment in (None, claim.experiment)]
    kinds = ("yes", "in part", "no", "cannot be told", "not measured")
    return {kind: words.count(kind) for kind in kinds if kind in words}


def _compared(record: Record) -> list[tuple[str, str]]:
    """Group and method of all errors of a record."""
    if not record.methods or "mrr" in record.methods:
        return []
    return [(group, method) for group, rows in record.groups.items() for method in rows]


def _repeated(record: Record, method: str) -> bool:
    """Whether the paper repeats another table's number here: FDW of table 4, Oracle and Partial of table 1."""
    if method in ("fdw", "b=0.5", "tau=0.1"):
        return record.experiment not in ("table-main", "table-correlated")
    return method in ("oracle", "partial") and record.experiment not in ("table-oracle-partial", "table-correlated")


def _sizes(record: Record) -> Iterator[Comparison]:
    """Gaps beside the published ones; a number that the paper repeats in a further table counts once."""
    for group, method in _compared(record):
        for metric in ("mae", "rmse"):
            number = None if _repeated(record, method) else printed(record, method, f"delta_{metric}", group, own=True)
            if number is not None:
                ours = record.groups[group][method][f"{metric}_gap"]
                what = f"{METHODS.get(method, method)}, gap of {metric.upper()}"
                text = f"{ours:.2f} %, published {number.mean:.2f} %"
                yield Comparison("gap within 2 points", record.label, what, abs(ours - number.mean) <= NEAR, text)


def _deviations(record: Record) -> Iterator[Comparison]:
    """Errors beside the published means, by what our few draws of S leave open."""
    for group, method in _compared(record):
        for metric in ("mae", "rmse"):
            number = None if _repeated(record, method) else printed(record, method, metric, group, own=True)
            row = record.groups[group][method]
            if number is not None and row["draws"] >= LEAST_DRAWS:
                error = row[f"{metric}_deviation"] / row["draws"] ** 0.5
                near = abs(row[metric] - number.mean) <= stats.t.ppf(0.975, row["draws"] - 1) * error
                text = f"{row[metric]:.2f} ± {error:.2f} (standard error), published {number.mean:.2f}"
                what = f"{METHODS.get(method, method)}, {metric.upper()}"
                yield Comparison("error in its 95 % interval", record.label, what, bool(near), text)


def _orders(record: Record) -> Iterator[Comparison]:
    """Pairs of methods whose gaps of MAE the paper puts in order, one at least in the experiment's own table.

    Only those that our paired intervals tell apart.
    """
    gaps = {
        method: (record.methods[method]["mae_gap"], number.mean)
        for group, method in _compared(record)
        if group == "15%" and method != "tau=0.1" and (number := printed(record, method, "delta_mae")) is not None
    }
    for first, second in combinations(gaps, 2):
        (ours, theirs), (our_other, their_other) = gaps[first], gaps[second]
        its_own = any(printed(record, method, "delta_mae", own=True) for method in (first, second))
        if its_own and theirs != their_other and told_better(record, first, second) is not None:
            what = f"{METHODS.get(first, first)} and {METHODS.get(second, second)}"
            text = f"{ours:.2f} and {our_other:.2f} %, published {theirs:.2f} and {their_other:.2f} %"
            same = (ours < our_other) == (theirs < their_other)
            yield Comparison("order of methods", record.label, what, same, text)


def _facts(record: Record) -> Iterator[Comparison]:
    for fact in FACTS:
        number = printed(record, "", fact)
        if number is not None and fact in record.figures:
            ours = record.figures[fact]
            text = f"{ours:,}, published {number.mean:,.0f}"
            yield Comparison("facts of the dataset", record.label, fact, ours == number.mean, text)
