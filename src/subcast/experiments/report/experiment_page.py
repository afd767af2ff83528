"""The page of one experiment: its table, its picture, what agrees with the paper, what does not, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from subcast.experiments.declaration import Experiment
from subcast.experiments.report.agreement import (
    PaperCheck,
    agreement_by_order,
    claims_summary,
    paper_checks,
    too_few_draws,
)
from subcast.experiments.report.orders import order_details, order_summary
from subcast.experiments.report.paper_claims import CLAIMS
from subcast.experiments.report.records import METHODS, MODELS, ORDERS, OTHER_ORDER, PAPER_ORDER, AllRecords, Record
from subcast.experiments.report.tables import make_tables, markdown_table
from subcast.experiments.report.verdicts import Claim, Outcome, cells_of_paper, counted, overall_answer, verdict
from subcast.names import plural

_MOST_CELLS = 4  # cells named where a claim does not hold
Cells = Set[tuple[str, str, str]]
"""Datasets, models and variants of trainings."""
ClaimsAsked = list[tuple[Claim, list[Outcome]]]
"""Claims with their outcomes."""


def experiment_page(
    experiment: Experiment, all_records: AllRecords, texts: Mapping[str, Any], figure_link: str | None, trained: Cells
) -> Iterator[str]:
    """Yield the paragraphs of the page of an experiment.

    Parameters
    ----------
    experiment, all_records
        the experiment, and the records of all
    texts
        the texts that are written by hand
    figure_link
        path of its picture from the page; None for none
    trained
        datasets, models and variants of the trainings that are recorded
    """
    records = all_records[experiment.name]
    yield f"# {experiment.title}"
    yield f"`{experiment.name}`, {_place(experiment.paper)}. {experiment.question}"
    if not records:
        yield f"Not run yet: `subcast reproduce {experiment.name}`."
        return
    if experiment.name != "table-row-order":
        yield f"Verdict: {experiment_verdict(experiment, all_records)}."
    if experiment.name == "table-row-order":
        yield from order_summary(all_records)
    if figure_link is not None:
        yield f"![{experiment.title}]({figure_link})"
        yield f"*{texts['captions'][experiment.name]}*"
    yield make_tables(experiment.measure, experiment.name, records)
    yield from _left_out(records)
    if experiment.name == "table-row-order":
        yield from order_details(all_records)
    claims, checks = _claims(experiment, all_records), paper_checks(records, all_records)
    if claims or checks:
        yield from _agreeing(claims, checks, records)
        yield from _differing(claims, checks)
    yield f"## Why\n\n{texts['why'][experiment.name]}"
    yield "## How it was run"
    yield from _run(experiment, records, trained)


def experiment_verdict(experiment: Experiment, all_records: AllRecords) -> str:
    """Return in a line how far an experiment agrees with the paper."""
    records = all_records[experiment.name]
    if not records:
        return f"not run yet: `subcast reproduce {experiment.name}`"
    verdicts = [agreement_by_order(records, all_records), claims_summary(experiment.name, all_records)]
    return "; ".join(text for text in verdicts if text) or "recorded; nothing to compare with the paper"


def claim_text(claim: Claim) -> str:
    """Return a claim with the cells of the paper that it is about."""
    cells = cells_of_paper(claim)
    return f"{claim.words.removesuffix('.')} ({cells})." if cells else claim.words


def count_cells(experiment: Experiment, records: Sequence[Record], trained: Cells) -> str:
    """Return how many cells are recorded, of those whose model is trained or that need none."""
    recorded = {(record.dataset, record.model) for record in records}
    declared = _declared(experiment, trained)
    possible = {cell for cell, ready in declared.items() if ready or cell in recorded}
    return f"{len(recorded & set(declared))} of {len(possible)}"


def _declared(experiment: Experiment, trained: Cells) -> dict[tuple[str, str], bool]:
    """Return the cells of an experiment, and whether every model that a cell needs is trained."""
    methods = {method["name"] for method in experiment.options.get("methods", ())}
    variants = [experiment.options.get("variant", ""), *(["identity"] if "identity" in methods else [])]
    cells = dict.fromkeys((cell.dataset, cell.model) for cell in experiment.cells("quick"))
    return {
        (dataset, model): not model or all((dataset, model, variant) in trained for variant in variants)
        for dataset, model in cells
    }


def _place(paper: str) -> str:
    return paper if paper.startswith("not in the paper") else f"in the paper: {paper}"


def _claims(experiment: Experiment, all_records: AllRecords) -> ClaimsAsked:
    return [(claim, claim.ask(all_records)) for claim in CLAIMS if claim.experiment == experiment.name]


def _agreeing(claims: ClaimsAsked, checks: Sequence[PaperCheck], records: Sequence[Record]) -> Iterator[str]:
    """Yield the claims that hold, and the numbers that agree."""
    lines = [
        f"- {claim_text(claim)} **{verdict(outcomes).capitalize()}**{_holding(outcomes)}."
        for claim, outcomes in claims
        if any(outcome.holds for outcome in counted(outcomes))
    ]
    lines += [f"- {check.cell}, {check.what}: {check.numbers}." for check in _listed(checks) if check.agrees]
    yield "## What agrees with the paper"
    yield "\n".join(lines) or "Nothing that the paper prints or says could be confirmed here."
    few = too_few_draws([record for record in records if record.is_first])
    if few:
        yield f"{plural(few, 'published number', 'is')} not compared, since ours has too few draws of S."


def _listed(checks: Sequence[PaperCheck]) -> Sequence[PaperCheck]:
    """Return the checks to list: those in the paper's order of rows, or in the other one where it has none."""
    return [check for check in checks if check.dataset == PAPER_ORDER] or checks


def _differing(asked: ClaimsAsked, checks: Sequence[PaperCheck]) -> Iterator[str]:
    """Yield the claims that do not hold in all cells, and the numbers that differ."""
    yield "## What does not"
    claims = [
        [claim_text(claim), claim.how, f"**{verdict(outcomes)}**", _failing(outcomes)]
        for claim, outcomes in asked
        if overall_answer(outcomes) != "yes"
    ]
    numbers = [[check.cell, check.kind, check.what, check.numbers] for check in _listed(checks) if not check.agrees]
    if claims:
        yield markdown_table(["claim", "counts as holding when", "verdict", "where it does not hold"], claims, left=4)
    if numbers:
        yield markdown_table(["cell", "kind", "quantity", "ours and published"], numbers, left=4)
    if not claims and not numbers:
        yield "Nothing that was compared."
    if {check.dataset for check in checks} >= set(ORDERS):
        yield (
            f"Numbers with ECG5000's {ORDERS[OTHER_ORDER]} are not listed here; the verdict above counts how many of "
            "them agree."
        )


def _holding(outcomes: Sequence[Outcome]) -> str:
    """Return the cells where a claim holds, the first few by name, if it does not hold in all."""
    if overall_answer(outcomes) == "yes" and all(outcome.holds for outcome in counted(outcomes)):
        return ""
    holding = [outcome.cell for outcome in counted(outcomes) if outcome.holds]
    more = f" and {len(holding) - _MOST_CELLS} more" if len(holding) > _MOST_CELLS else ""
    return f": {', '.join(holding[:_MOST_CELLS])}{more}"


def _failing(outcomes: Sequence[Outcome]) -> str:
    """Return the cells where a claim does not hold, the first few by name."""
    failing = [f"{outcome.cell} ({outcome.evidence})" for outcome in counted(outcomes) if outcome.holds is False]
    more = f"; and {len(failing) - _MOST_CELLS} more" if len(failing) > _MOST_CELLS else ""
    return "; ".join(failing[:_MOST_CELLS]) + more


def _left_out(records: Sequence[Record]) -> Iterator[str]:
    """Yield the methods that could not be run in some cells, with the reason."""
    cells: dict[tuple[str, str], list[str]] = {}
    for record in records:
        for method, reason in record.left_out.items():
            text = "no such model was trained" if method == "hardened" else reason
            cells.setdefault((METHODS.get(method, method), text), []).append(record.label)
    if cells:
        texts = [f"{method} ({reason}) for {', '.join(labels)}" for (method, reason), labels in cells.items()]
        yield f"Left out: {'; '.join(texts)}."


def _run(experiment: Experiment, records: Sequence[Record], trained: Cells) -> Iterator[str]:
    """Yield the cells that have records, the dates, one command, and what can be run and was not."""
    days = sorted({record.date[:10] for record in records})
    period = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    yield (
        f"{count_cells(experiment, records, trained)} cells whose model is trained are recorded ({period}). Which "
        f"draws and windows each has stands in its record, `results/reproduce/{experiment.name}/`. The first of them: "
        f"`{records[0].command}`."
    )
    recorded = {(record.dataset, record.model) for record in records}
    declared = _declared(experiment, trained)
    ready = [cell for cell in declared if cell not in recorded and declared[cell]]
    if ready:
        yield f"Not run yet: {_cells_text(ready)}; `subcast reproduce {experiment.name}` runs the missing cells."
    untrained = [cell for cell in declared if cell not in recorded and cell not in ready]
    if untrained:
        yield f"Nobody has trained the models of {_cells_text(untrained)}, so these cells are not counted."


def _cells_text(cells: Sequence[tuple[str, str]]) -> str:
    """Return cells by dataset, with their models."""
    models: dict[str, list[str]] = {}
    for dataset, model in cells:
        models.setdefault(dataset, []).append(MODELS.get(model, ""))
    return ", ".join(
        f"`{dataset}`" + (f" ({', '.join(titles)})" if any(titles) else "") for dataset, titles in models.items()
    )
