"""Claims of the paper, their outcomes in cells, verdicts over cells, and the small tests that claims are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from subcast.comparison import LEAST_DRAWS
from subcast.experiments.published import load_published
from subcast.experiments.report.records import (
    METHODS,
    MODELS,
    OTHER_ORDER,
    PAPER_DATASETS,
    PAPER_ORDER,
    AllRecords,
    Record,
    dataset_of,
)


@dataclass(frozen=True)
class Outcome:
    """Whether a claim holds in one cell.

    Parameters
    ----------
    cell
        dataset and model
    holds
        whether the claim holds there; None where the intervals do not decide it
    evidence
        the numbers
    """

    cell: str
    holds: bool | None
    evidence: str

    @property
    def dataset(self) -> str:
        """The dataset of the cell."""
        return dataset_of(self.cell)


@dataclass(frozen=True)
class Claim:
    """A statement of the paper.

    Parameters
    ----------
    experiment
        the experiment that tests it
    words
        the statement, as in `published.csv` where it is quoted there
    how
        the condition under which it counts as holding
    ask
        returns the outcomes of the cells that can test it
    """

    experiment: str
    words: str
    how: str
    ask: Callable[[AllRecords], list[Outcome]]


def verdict(outcomes: Sequence[Outcome]) -> str:
    """Summarize outcomes in a few words.

    >>> verdict([Outcome("a", True, ""), Outcome("b", False, "")]), verdict([])
    ('holds in 1 of 2 cells', 'not measured')
    >>> verdict([Outcome("a", True, ""), Outcome("b", None, ""), Outcome("c", False, "")])
    'holds in 1 of 3 cells, undecided in 1'
    >>> verdict([Outcome("a", None, ""), Outcome("b", None, ""), Outcome("c", False, "")])
    'undecided in 2 of 3 cells, does not hold in 1'
    """
    outcomes = counted(outcomes)
    answer, cells = overall_answer(outcomes), len(outcomes)
    words = {True: "holds", False: "does not hold", None: "undecided"}
    counts = {word: sum(outcome.holds is holds for outcome in outcomes) for holds, word in words.items()}
    occurring = [word for word in words.values() if counts[word]]
    if occurring == ["holds"] and cells > 1:
        return f"holds (all {cells} cells)"
    if len(occurring) < 2:
        return occurring[0] if occurring else answer
    first = {"no": "does not hold", "undecided": "undecided"}.get(answer, "holds")
    # After "holds in 1 of 2 cells" the number of cells where it does not hold need not be said.
    rest = [word for word in occurring if word != first and (first, word) != ("holds", "does not hold")]
    return f"{first} in {counts[first]} of {cells} cells" + "".join(f", {word} in {counts[word]}" for word in rest)


def counted(outcomes: Sequence[Outcome]) -> Sequence[Outcome]:
    """Return the outcomes that count: those of the other order of rows only in cells that the paper's order lacks.

    >>> cells = ("ecg5000 TCN", "ecg5000 LSTNet", "ecg5000-test-first TCN")
    >>> [outcome.cell for outcome in counted([Outcome(cell, True, "") for cell in cells])]
    ['ecg5000 LSTNet', 'ecg5000-test-first TCN']
    """
    cells = {outcome.cell for outcome in outcomes}

    def stands_twice(outcome: Outcome) -> bool:
        return outcome.dataset == OTHER_ORDER and outcome.cell.replace(OTHER_ORDER, PAPER_ORDER, 1) in cells

    return [outcome for outcome in outcomes if not stands_twice(outcome)]


def overall_answer(outcomes: Sequence[Outcome]) -> str:
    """Return the answer of all cells: "undecided" where most are, else that of the cells that decide.

    >>> overall_answer([Outcome("a", None, ""), Outcome("b", False, "")]), overall_answer([Outcome("a", True, "")] * 2)
    ('no', 'yes')
    """
    outcomes = counted(outcomes)
    decided = [outcome.holds for outcome in outcomes if outcome.holds is not None]
    if not outcomes:
        return "not measured"
    if 2 * len(decided) < len(outcomes):
        return "undecided"
    return "yes" if all(decided) else "in part" if any(decided) else "no"


def all_hold(answers: Iterable[bool | None]) -> bool | None:
    """Return whether all answers are True: False if one is False, None if one is undecided.

    >>> all_hold([True, True]), all_hold([True, None]), all_hold([None, False])
    (True, None, False)
    """
    distinct = set(answers)
    return False if False in distinct else None if None in distinct else True


def is_better(record: Record, method: str, other: str, metric: str = "mae") -> bool | None:
    """Return whether a method's error is the smaller; None where the interval of the paired difference contains 0."""
    gap, *interval = record.methods[method][f"{metric}_against"][other]
    return bool(gap < 0) if excludes_zero(interval) else None


def is_no_worse(record: Record, method: str, other: str, tolerance: float = 2.0) -> bool | None:
    """Return whether a method's MAE is at most `tolerance` per cent above the other's; None where undecided."""
    lower, upper = record.methods[method]["mae_against"][other][1:]
    if lower is None or upper is None:
        return None
    return True if upper <= tolerance else False if lower > 0 else None


def excludes_zero(interval: Sequence[float | None]) -> bool:
    """Return whether an interval is known and does not contain 0.

    >>> excludes_zero([0.1, 0.4]), excludes_zero([-0.1, 0.4]), excludes_zero([None, None])
    (True, False, False)
    """
    lower, upper = interval
    return lower is not None and upper is not None and (upper < 0 or lower > 0)


def cells_of_paper(claim: Claim) -> str:
    """Return the dataset, model and method for which the paper makes a claim, as far as `published.csv` says."""
    rows = load_published()
    rows = rows[(rows["experiment"] == claim.experiment) & (rows["claim"] == claim.words)]
    keys = zip(rows["dataset"], rows["model"], rows["setting"], strict=True)
    cells = [
        " ".join([dataset.upper(), MODELS.get(model, ""), METHODS.get(setting, "").split(" (")[0]]).split()
        for dataset, model, setting in keys
    ]
    return ", ".join(dict.fromkeys(" ".join(cell) for cell in cells))


def strictly_monotonic(values: Sequence[float], sign: int) -> bool:
    """Return whether each value is above (sign 1) or below (-1) the one before.

    >>> strictly_monotonic([3, 2, 1], -1), strictly_monotonic([3, 2, 2], -1)
    (True, False)
    """
    return bool((sign * np.diff(values) > 0).all())


def mostly_monotonic(values: Sequence[float], sign: int, least: float = 0.8) -> bool:
    """Return whether the values rise (sign 1) or fall (-1) overall: rank correlation with their order of 0.8 or more.

    >>> mostly_monotonic([1, 3, 2, 4, 5], 1), mostly_monotonic([1, 1, 1], 1)
    (True, False)
    """
    ranks = [float(np.mean([(other < value) + (other <= value) for other in values])) for value in values]
    if len(values) < 2 or min(ranks) == max(ranks):
        return False
    return bool(sign * np.corrcoef(np.arange(len(values)), ranks)[0, 1] >= least - 1e-9)


def diminishing(values: Sequence[float], positions: Sequence[float], sign: int, tolerance: float = 0.005) -> bool:
    """Return whether the values rise (sign 1) or fall (-1) with the position, at a rate that never grows.

    Differences that two decimals do not show are ignored: each step may miss the condition by `tolerance`.

    >>> diminishing([10, 6, 5], [1, 5, 10], -1), diminishing([10, 9, 1], [1, 5, 10], -1)
    (True, False)
    >>> diminishing([10, 6, 7], [1, 5, 10], -1), diminishing([3.1, 3.2, 3.2, 3.19], [1, 5, 10, 20], 1)
    (False, False)
    """
    widths = np.diff(positions)
    slopes = sign * np.diff(values) / widths
    return bool((slopes >= -tolerance / widths).all() and (np.diff(slopes) <= tolerance / widths[1:]).all())


def main_gaps(all_records: AllRecords, method: str, dataset: str | None) -> list[float]:
    """Return a method's gaps of MAE in the table of main results, on a dataset; None: on those not the paper's own.

    A cell has the gap of its first training.
    """
    records = [
        record
        for record in all_records["table-main"]
        if (record.dataset not in PAPER_DATASETS if dataset is None else record.dataset == dataset) and record.is_first
    ]
    return [gaps(record, [method])[0] for record in records if method in record.methods]


def gaps(record: Record, methods: Iterable[str], metric: str = "mae") -> list[float]:
    """Return the gaps of some methods, in the given order."""
    return [float(record.methods[method][f"{metric}_gap"]) for method in methods]


def series_text(values: Sequence[float], digits: int = 2) -> str:
    """Write values with arrows between them.

    >>> series_text([3.1, 2.5])
    '3.10 → 2.50'
    """
    return " → ".join(f"{value:.{digits}f}" for value in values)


def gap_by_step(record: Record, method: str = "partial", metric: str = "mae") -> list[float]:
    """Return how much a method's error is above Oracle's at every step."""
    rows = record.methods
    return [
        float(error - oracle)
        for error, oracle in zip(rows[method][f"{metric}_by_step"], rows["oracle"][f"{metric}_by_step"], strict=True)
    ]


def correlation_interval(record: Record) -> tuple[float, float] | None:
    """Return the 95 % interval (Fisher) of a record's correlation; None with too few draws."""
    correlation, draws = record.figures["correlation"], len(record.figures["gap"])
    if correlation is None or draws < LEAST_DRAWS:
        return None
    center, half_width = np.arctanh(correlation), 1.96 / np.sqrt(draws - 3)
    return float(np.tanh(center - half_width)), float(np.tanh(center + half_width))
