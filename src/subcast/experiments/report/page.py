"""Write the report from the records: a page with the verdicts, one for each experiment, on causes and on what was run.

All measured numbers come from the records and all published numbers from `published.csv`; descriptions of the data and
likely reasons for differences are in `text.toml`. Texts link to experiments as `(#table-main)` and to the page on what
was run as `(#runs)`; the links are made when the pages are written.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from subcast.errors import InputError
from subcast.experiments.declaration import load_experiments
from subcast.experiments.report.causes import causes_page, causes_sentence, read_causes
from subcast.experiments.report.experiment_page import (
    Cells,
    claim_text,
    count_cells,
    experiment_page,
    experiment_verdict,
)
from subcast.experiments.report.figures import make_figure
from subcast.experiments.report.items import items_table
from subcast.experiments.report.orders import order_summary
from subcast.experiments.report.paper_claims import CLAIMS
from subcast.experiments.report.records import ORDERS, AllRecords, read_records, read_trainings
from subcast.experiments.report.summary import (
    committed_sentence,
    main_table,
    overview_section,
    rivals_section,
    runs_section,
)
from subcast.experiments.report.tables import markdown_table
from subcast.experiments.report.verdicts import Claim, Outcome, verdict
from subcast.plots import save_figure
from subcast.storage.files import whole_file

RUNS, CAUSES = "runs", "causes"
"""Names of the pages on what was run and on tested causes."""


def write_report(results: Path, page: Path, figures: Path) -> Path:
    """Write the pages and their figures from the records, and return the path of the first page.

    Parameters
    ----------
    results
        folder of the records, as `subcast reproduce` fills it (`<experiment>/<cell>.json`); records of trainings
        (`training-*.json`), of tested causes (`partial-causes-*.json`) and trained models (`checkpoints/`) are read
        from the folder above
    page
        path of the first page; the others are written into a folder of the same name
    figures
        folder for the figures
    """
    if page.suffix.lower() != ".md":
        raise InputError(f"the page must be a file that ends in .md, got {page.name!r}: other pages go into its folder")
    all_records, others = read_records(results)
    if not any(all_records.values()):
        raise InputError(f"there are no records in {str(results)!r}: run subcast reproduce first, or name their folder")
    folder = page.with_suffix("")
    for path in (folder, figures):
        path.mkdir(parents=True, exist_ok=True)
    texts, trainings = read_texts(), read_trainings(results.parent)
    trained = {(training["dataset"], training["model"], training.get("variant", "")) for training in trainings}
    figure_links = _draw_figures(all_records, figures, folder)
    committed = {path.name.removesuffix(".onnx") for path in (results.parent / "checkpoints").glob("*")}
    models = committed_sentence(trainings, committed)
    models += " ([what was run](#runs))" if models else ""
    causes = read_causes(results.parent)
    _write(page, _first_page(all_records, texts, trained, [causes_sentence(causes), models]), f"{folder.name}/")
    _write(folder / f"{CAUSES}.md", causes_page(causes, texts["causes"]))
    runs = runs_section(all_records, others, trainings, texts["data"], committed)
    _write(folder / f"{RUNS}.md", _runs_page(runs, texts))
    for name, experiment in load_experiments().items():
        text = experiment_page(experiment, all_records, texts, figure_links.get(name), trained)
        _write(folder / f"{name}.md", text)
    return page


def read_texts() -> dict[str, Any]:
    """Return the texts of the report that are written by hand."""
    return tomllib.loads(resources.files("subcast.experiments.report").joinpath("text.toml").read_text("utf-8"))


def linked(text: str, prefix: str = "") -> str:
    """Return a text in which links to experiments lead to their pages, in a folder beside the page or its own.

    >>> linked("[a](#table-main), [b](#in-short)", "reproduction/"), linked("[c](#runs)")
    ('[a](reproduction/table-main.md), [b](#in-short)', '[c](runs.md)')
    """
    names = "|".join([*load_experiments(), RUNS, CAUSES])
    return re.sub(rf"\(#({names})\)", rf"({prefix}\1.md)", text)


def _write(path: Path, paragraphs: Iterable[str], prefix: str = "") -> None:
    text = linked("\n\n".join(paragraphs), prefix)
    with whole_file(path, (".md",)) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def _draw_figures(all_records: AllRecords, folder: Path, pages: Path) -> dict[str, str]:
    """Draw the figures of all experiments that have one, and return their paths relative to the pages' folder."""
    links = {}
    for name, records in all_records.items():
        figure = make_figure(name, records) if records else None
        if figure is not None:
            path = folder / f"reproduction-{name}.png"
            save_figure(figure, path)
            links[name] = Path(os.path.relpath(path, pages)).as_posix()
    return links


def _first_page(
    all_records: AllRecords, texts: Mapping[str, Any], trained: Cells, sentences: Sequence[str]
) -> Iterator[str]:
    head = texts["head"]
    yield "# The paper's evaluation, measured again"
    yield head["introduction"]
    yield from overview_section(all_records, sentences)
    yield "## The main results"
    yield head["main"]
    yield main_table(all_records)
    yield "## ECG5000: which order of rows?"
    yield head["orders"]
    yield from order_summary(all_records)
    yield "## The paper's claims"
    yield head["claims"]
    yield _claims_table(all_records)
    yield "## Other methods, by name"
    yield head["rivals"]
    yield from rivals_section(all_records)
    yield "## Every experiment"
    yield _summary(all_records, head["summary"], trained)
    yield "## Every table and figure of the paper"
    yield head["items"]
    yield items_table(all_records)
    yield "## Terms"
    yield _bullets([f"**{word}**: {meaning}" for word, meaning in texts["words"].items()])


def _runs_page(runs: Iterable[str], texts: Mapping[str, Any]) -> Iterator[str]:
    yield "# What was run"
    yield from runs
    yield "## How our evaluation differs from the paper's"
    yield _bullets(texts["paper"]["differences"])
    yield "## Where the paper's tables and text disagree with each other"
    yield _bullets(texts["paper"]["inconsistencies"])


def _summary(all_records: AllRecords, note: str, trained: Cells) -> str:
    rows = []
    for experiment in load_experiments().values():
        cells = count_cells(experiment, all_records[experiment.name], trained)
        rows.append([_link(experiment.name), experiment.paper, cells, experiment_verdict(experiment, all_records)])
    return note + "\n\n" + markdown_table(["experiment", "in the paper", "cells recorded", "verdict"], rows, left=4)


def _claims_table(all_records: AllRecords) -> str:
    columns = ["experiment", "claim", *(f"ECG5000, {order}" for order in ORDERS.values()), "the other datasets"]
    rows = [_claim_row(claim, claim.ask(all_records)) for claim in CLAIMS]
    return markdown_table(columns, rows, left=len(columns))


def _claim_row(claim: Claim, outcomes: Sequence[Outcome]) -> list[str]:
    by_dataset: dict[str | None, list[Outcome]] = {dataset: [] for dataset in (*ORDERS, None)}
    for outcome in outcomes:
        by_dataset[outcome.dataset if outcome.dataset in ORDERS else None].append(outcome)
    verdicts = [verdict(cells) if cells else "" for cells in by_dataset.values()]
    if not outcomes:
        verdicts[-1] = verdict([])
    return [_link(claim.experiment), claim_text(claim), *verdicts]


def _link(experiment: str) -> str:
    return f"[{experiment}](#{experiment})"


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
