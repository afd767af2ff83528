"""Claims of the paper, what cells say of them, and the small questions that claims are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from subcast.comparison import LEAST_DRAWS
from subcast.experiments.published import load_published
from subcast.experiments.report.records import METHODS, MODELS, WHOLE, Found, Record


@dataclass(frozen=True)
class Outcome:
    """What one cell says of a claim.

    Parameters
    ----------
    cell
        dataset and model
    holds
        whether the claim holds there; None where the intervals do not tell
    evidence
        the numbers
    """

    cell: str
    holds: bool | None
    evidence: str


@dataclass(frozen=True)
class Claim:
    """A statement of the paper.

    Parameters
    ----------
    experiment
        which asks it
    words
        what is claimed; that of `published.csv` where it stands there
    how
        when it counts as holding
    ask
        gives the outcomes of the cells that can tell
    """

    experiment: str
    words: str
    how: str
    ask: Callable[[Found], list[Outcome]]


def verdict(outcomes: Sequence[Outcome]) -> str:
    """Put the outcomes in a few words.

    >>> verdict([Outcome("a", True, ""), Outcome("b", False, "")]), verdict([])
    ('holds in 1 of 2 cells', 'not measured')
    >>> verdict([Outcome("a", True, ""), Outcome("b", None, ""), Outcome("c", False, "")])
    'holds in 1 of 3 cells, cannot be told in 1'
    >>> verdict([Outcome("a", None, ""), Outcome("b", None, ""), Outcome("c", False, "")])
    'cannot be told in 2 of 3 cells, does not hold in 1'
    """
    kind, count = in_a_word(outcomes), len(outcomes)
    words = {True: "holds", False: "does not hold", None: "cannot be told"}
    counts = {word: sum(outcome.holds is holds for outcome in outcomes) for holds, word in words.items()}
    there = [word for word in words.values() if counts[word]]
    if len(there) == 1 and there[0] == "holds" and count > 1:
        return f"holds (all {count} cells)"
    if len(there) < 2:
        return there[0] if there else kind
    first = {"no": "does not hold", "cannot be told": "cannot be told"}.get(kind, "holds")
    # Where it holds in some cells, it goes without saying that it does not in the rest.
    rest = [word for word in there if word != first and (first, word) != ("holds", "does not hold")]
    return f"{first} in {counts[first]} of {count} cells" + "".join(f", {word} in {counts[word]}" for word in rest)


def in_a_word(outcomes: Sequence[Outcome]) -> str:
    """What the outcomes come to: "cannot be told" where most cannot, else what those say that can.

    >>> in_a_word([Outcome("a", None, ""), Outcome("b", False, "")]), in_a_word([Outcome("a", True, "")] * 2)
    ('no', 'yes')
    """
    told = [outcome.holds for outcome in outcomes if outcome.holds is not None]
    if not outcomes:
        return "not measured"
    if 2 * len(told) < len(outcomes):
        return "cannot be told"
    return "yes" if all(told) else "in part" if any(told) else "no"


def all_told(answers: Iterable[bool | None]) -> bool | None:
    """Whether all are so: not when one is not, and untold when one is untold.

    >>> all_told([True, True]), all_told([True, None]), all_told([None, False])
    (True, None, False)
    """
    told = set(answers)
    return False if False in told else None if None in told else True


def told_better(record: Record, ours: str, other: str, metric: str = "mae") -> bool | None:
    """Whether a method's error is the smaller: None where the interval of their paired difference holds 0."""
    gap, *interval = record.methods[ours][f"{metric}_against"][other]
    return bool(gap < 0) if parted(interval) else None


def told_no_worse(record: Record, ours: str, other: str, within: float = 2.0) -> bool | None:
    """Whether a method's MAE is smaller than the other's or at most so many per cent above it, as far as it is told."""
    low, high = record.methods[ours]["mae_against"][other][1:]
    if low is None or high is None:
        return None
    return True if high <= within else False if low > 0 else None


def parted(interval: Sequence[float | None]) -> bool:
    """Whether an interval is known and leaves 0 out.

    >>> parted([0.1, 0.4]), parted([-0.1, 0.4]), parted([None, None])
    (True, False, False)
    """
    low, high = interval
    return low is not None and high is not None and (high < 0 or low > 0)


def papers_cells(claim: Claim) -> str:
    """Where the paper makes the claim, as far as `published.csv` says: dataset, model and method."""
    rows = load_published()
    rows = rows[(rows["experiment"] == claim.experiment) & (rows["claim"] == claim.words)]
    named = zip(rows["dataset"], rows["model"], rows["setting"], strict=True)
    cells = [
        " ".join([data.upper(), MODELS.get(model, ""), METHODS.get(how, "").split(" (")[0]]).split()
        for data, model, how in named
    ]
    return ", ".join(dict.fromkeys(" ".join(cell) for cell in cells))


def strictly(values: Sequence[float], sign: int) -> bool:
    """Whether each value is above (sign 1) or below (-1) the one before.

    >>> strictly([3, 2, 1], -1), strictly([3, 2, 2], -1)
    (True, False)
    """
    return bool((sign * np.diff(values) > 0).all())


def mostly(values: Sequence[float], sign: int, least: float = 0.8) -> bool:
    """Whether the values rise (sign 1) or fall (-1) on the whole: rank correlation with their order of 0.8 or more.

    >>> mostly([1, 3, 2, 4, 5], 1), mostly([1, 1, 1], 1)
    (True, False)
    """
    ranks = [float(np.mean([(other < value) + (other <= value) for other in values])) for value in values]
    if len(values) < 2 or min(ranks) == max(ranks):
        return False
    return bool(sign * np.corrcoef(np.arange(len(values)), ranks)[0, 1] >= least - 1e-9)


def diminishing(values: Sequence[float], places: Sequence[float], sign: int, within: float = 0.005) -> bool:
    """Whether the values rise (sign 1) or fall (-1) by less and less for one more of place.

    What two decimals do not show does not count: each step may fall short of the claim by `within`.

    >>> diminishing([10, 6, 5], [1, 5, 10], -1), diminishing([10, 9, 1], [1, 5, 10], -1)
    (True, False)
    >>> diminishing([10, 6, 7], [1, 5, 10], -1), diminishing([3.1, 3.2, 3.2, 3.19], [1, 5, 10, 20], 1)
    (False, False)
    """
    widths = np.diff(places)
    slopes = sign * np.diff(values) / widths
    return bool((slopes >= -within / widths).all() and (np.diff(slopes) <= within / widths[1:]).all())


def main_gaps(found: Found, method: str, *, whole: bool) -> list[float]:
    """A method's gaps of MAE in the table of main results, on the paper's own data or on the others."""
    records = [record for record in found["table-main"] if (record.dataset in WHOLE) == whole]
    return [gaps(record, [method])[0] for record in records if method in record.methods]


def gaps(record: Record, names: Iterable[str], metric: str = "mae") -> list[float]:
    """The gaps of some methods, in the order given."""
    return [float(record.methods[name][f"{metric}_gap"]) for name in names]


def course(values: Sequence[float], digits: int = 2) -> str:
    """Write values one after the other."""
    return " → ".join(f"{value:.{digits}f}" for value in values)


def gap_by_step(record: Record, method: str = "partial") -> list[float]:
    """How much a method's MAE is above Oracle's at every step."""
    rows = record.methods
    return [
        float(theirs - best)
        for theirs, best in zip(rows[method]["mae_by_step"], rows["oracle"]["mae_by_step"], strict=True)
    ]


def correlation_interval(record: Record) -> tuple[float, float] | None:
    """The 95 % interval (Fisher) of a record's correlation; None for too few draws."""
    value, count = record.figures["correlation"], len(record.figures["gap"])
    if value is None or count < LEAST_DRAWS:
        return None
    middle, half = np.arctanh(value), 1.96 / np.sqrt(count - 3)
    return float(np.tanh(middle - half)), float(np.tanh(middle + half))
