"""Write the report, `docs/reproduction.md`, from the records: our numbers beside the published ones.

All measured numbers come from the records and all published numbers from `published.csv`; descriptions of the data and
likely reasons for differences are in `text.toml`.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence, Set
from importlib import resources
from pathlib import Path
from typing import Any

from subcast.errors import InputError
from subcast.experiments.declaration import Experiment, load_experiments
from subcast.experiments.report.agreement import agreement, claims_summary, paper_checks
from subcast.experiments.report.figures import make_figure
from subcast.experiments.report.paper_claims import CLAIMS
from subcast.experiments.report.records import (
    METHODS,
    MODELS,
    PAPER_DATASETS,
    AllRecords,
    Record,
    read_records,
    read_trainings,
)
from subcast.experiments.report.summary import overview_section, runs_section, simpler_methods_section
from subcast.experiments.report.tables import make_tables, markdown_table
from subcast.experiments.report.verdicts import Claim, Outcome, cells_of_paper, verdict
from subcast.plots import save_figure
from subcast.storage.files import whole_file

_MOST_CELLS = 4  # cells named where a claim does not hold


def write_report(results: Path, page: Path, figures: Path) -> Path:
    """Write the page and its figures from the records, and return the path of the page.

    Parameters
    ----------
    results
        folder of the records, as `subcast reproduce` fills it (`<experiment>/<cell>.json`); records of trainings
        (`training-*.json`) are read from the folder above
    page
        path of the page
    figures
        folder for its figures
    """
    all_records, others = read_records(results)
    if not any(all_records.values()):
        raise InputError(f"there are no records in {str(results)!r}: run subcast reproduce first, or name their folder")
    page.parent.mkdir(parents=True, exist_ok=True)
    figures.mkdir(parents=True, exist_ok=True)
    figure_links = _draw_figures(all_records, figures, page)
    trainings = read_trainings(results.parent)
    text = "\n\n".join(_page(all_records, others, trainings, figure_links))
    with whole_file(page, (".md",)) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")
    return page


def read_texts() -> dict[str, Any]:
    """Return the texts of the report that are written by hand."""
    return tomllib.loads(resources.files("subcast.experiments.report").joinpath("text.toml").read_text("utf-8"))


def _draw_figures(all_records: AllRecords, folder: Path, page: Path) -> dict[str, str]:
    """Draw the figures of all experiments that have one, and return their paths relative to the page."""
    links = {}
    for name, records in all_records.items():
        figure = make_figure(name, records) if records else None
        if figure is not None:
            path = folder / f"reproduction-{name}.png"
            save_figure(figure, path)
            links[name] = Path(os.path.relpath(path, page.parent)).as_posix()
    return links


def _page(
    all_records: AllRecords, others: int, trainings: Sequence[Mapping[str, Any]], figure_links: Mapping[str, str]
) -> Iterator[str]:
    texts = read_texts()
    trained = {(training["dataset"], training["model"]) for training in trainings if not training.get("variant")}
    yield "# The paper's evaluation, measured again"
    yield texts["head"]["introduction"]
    yield _bullets([f"**{word}**: {meaning}" for word, meaning in texts["words"].items()])
    yield from overview_section(all_records)
    yield from simpler_methods_section(all_records)
    yield from runs_section(all_records, others, trainings, texts["data"])
    yield "## Summary"
    yield _summary(all_records, texts["head"]["summary"])
    yield from _agreement_section(all_records, texts)
    yield "## The experiments"
    yield texts["head"]["experiments"]
    for experiment in load_experiments().values():
        records = all_records[experiment.name]
        yield from _section(experiment, all_records, texts, figure_links)
        yield from _missing_cells(experiment, records, trained)


def _summary(all_records: AllRecords, note: str) -> str:
    rows = []
    for experiment in load_experiments().values():
        link = _link(experiment.name)
        recorded = _recorded(experiment, all_records[experiment.name])
        rows.append([link, experiment.paper, recorded, _verdict(experiment, all_records)])
    return note + "\n\n" + markdown_table(["experiment", "in the paper", "cells recorded", "verdict"], rows, left=4)


def _recorded(experiment: Experiment, records: Sequence[Record]) -> str:
    declared = {(cell.dataset, cell.model) for cell in experiment.cells("quick")}
    recorded = {(record.dataset, record.model) for record in records}
    return f"{len(recorded & declared)} of {len(declared)}"


def _verdict(experiment: Experiment, all_records: AllRecords) -> str:
    records = all_records[experiment.name]
    if not records:
        return f"not run yet: `subcast reproduce {experiment.name}`"
    verdicts = [agreement(paper_checks(records)), claims_summary(experiment.name, all_records)]
    return "; ".join(text for text in verdicts if text) or "recorded; nothing to compare with the paper"


def _agreement_section(all_records: AllRecords, texts: Mapping[str, Any]) -> Iterator[str]:
    yield "## What agrees with the paper, and what does not"
    yield "### Its claims"
    yield texts["head"]["claims"]
    yield _claims_table(all_records)
    yield "### ECG5000: what differs from the published numbers"
    yield _differences(all_records)
    yield "### How our evaluation differs from the paper's"
    yield _bullets(texts["paper"]["differences"])
    yield "### Where the paper's tables and text disagree with each other"
    yield _bullets(texts["paper"]["inconsistencies"])


def _claims_table(all_records: AllRecords) -> str:
    columns = [
        "experiment",
        "claim",
        "counts as holding when",
        "on ECG5000",
        "on the other datasets",
        "where it does not hold",
    ]
    return markdown_table(columns, [_claim_row(claim, claim.ask(all_records)) for claim in CLAIMS], left=6)


def _claim_row(claim: Claim, outcomes: Sequence[Outcome]) -> list[str]:
    failing = [f"{outcome.cell} ({outcome.evidence})" for outcome in outcomes if outcome.holds is False]
    on_paper_data = [outcome for outcome in outcomes if outcome.cell.startswith(PAPER_DATASETS)]
    on_others = [outcome for outcome in outcomes if outcome not in on_paper_data]
    more = f"; and {len(failing) - _MOST_CELLS} more" if len(failing) > _MOST_CELLS else ""
    return [
        _link(claim.experiment),
        _claim_text(claim),
        claim.how,
        *(f"**{verdict(cells)}**" if cells or not outcomes else "" for cells in (on_paper_data, on_others)),
        "; ".join(failing[:_MOST_CELLS]) + more,
    ]


def _claim_text(claim: Claim) -> str:
    """Return a claim with the cells of the paper that it is about."""
    cells = cells_of_paper(claim)
    return f"{claim.words.removesuffix('.')} ({cells})." if cells else claim.words


def _differences(all_records: AllRecords) -> str:
    """Return the checks on ECG5000 that do not agree with the paper, with both numbers."""
    checks = [
        (name, check)
        for name, records in all_records.items()
        if name != "table-datasets"
        for check in paper_checks(records)
    ]
    if not checks:
        return "No record on ECG5000 has a number that the paper prints."
    rows = [
        [_link(name), check.cell, check.kind, check.what, check.numbers] for name, check in checks if not check.agrees
    ]
    counts = agreement([check for _, check in checks])
    text = f"{len(checks) - len(rows)} of {len(checks)} comparisons agree ({counts})."
    if not rows:
        return text
    columns = ["experiment", "cell", "kind", "quantity", "ours and published"]
    table = markdown_table(columns, rows, left=5)
    return f"{text} The others, with likely reasons in each experiment's section:\n\n{table}"


def _section(
    experiment: Experiment, all_records: AllRecords, texts: Mapping[str, Any], figure_links: Mapping[str, str]
) -> Iterator[str]:
    records = all_records[experiment.name]
    yield f"### {experiment.name}"
    yield f"**{experiment.title}** ({experiment.paper}). {experiment.question}"
    if not records:
        yield f"Not run yet: `subcast reproduce {experiment.name}`."
        return
    yield f"Verdict: {_verdict(experiment, all_records)}."
    if experiment.name in figure_links:
        yield f"![{experiment.title}]({figure_links[experiment.name]})"
        yield f"*{texts['captions'][experiment.name]}*"
    yield make_tables(experiment.measure, experiment.name, records)
    yield from _left_out(records)
    claims = [claim for claim in CLAIMS if claim.experiment == experiment.name]
    if claims:
        yield _bullets(
            [f"{_claim_text(claim)} **{verdict(claim.ask(all_records)).capitalize()}.**" for claim in claims]
        )
    if experiment.name in texts["why"]:
        yield f"*Likely reasons and notes.* {texts['why'][experiment.name]}"


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


def _missing_cells(experiment: Experiment, records: Sequence[Record], trained: Set[tuple[str, str]]) -> Iterator[str]:
    """Yield the cells without a record that can be run: those of trained models, or without a model."""
    recorded = {(record.dataset, record.model) for record in records}
    declared = dict.fromkeys((cell.dataset, cell.model) for cell in experiment.cells("quick"))
    ready = [cell for cell in declared if cell not in recorded and (not cell[1] or cell in trained)]
    if records and ready:
        yield f"Not run yet: {_cells_text(ready)}; `subcast reproduce {experiment.name}` runs the missing cells."


def _cells_text(cells: Sequence[tuple[str, str]]) -> str:
    """Return cells by dataset, with their models."""
    models: dict[str, list[str]] = {}
    for dataset, model in cells:
        models.setdefault(dataset, []).append(MODELS.get(model, ""))
    return ", ".join(
        f"`{dataset}`" + (f" ({', '.join(titles)})" if any(titles) else "") for dataset, titles in models.items()
    )


def _link(experiment: str) -> str:
    return f"[{experiment}](#{experiment})"


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
