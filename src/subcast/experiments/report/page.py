"""The report: `docs/reproduction.md` from the records, ours beside the paper's.

Everything that is measured comes from the records and everything published from `published.csv`; what a person has to
add (what the data are, likely reasons) stands in `text.toml`.
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
from subcast.experiments.report.agreement import agreement, claims_in_short, comparisons
from subcast.experiments.report.figures import make_figure
from subcast.experiments.report.paper_claims import CLAIMS
from subcast.experiments.report.records import METHODS, MODELS, WHOLE, Found, Record, read_records, read_trainings
from subcast.experiments.report.summary import in_short, simpler_section, what_was_run
from subcast.experiments.report.tables import make_tables, markdown_table
from subcast.experiments.report.verdicts import Claim, papers_cells, verdict
from subcast.plots import save_figure
from subcast.storage.files import whole_file

_MOST = 4  # cells named against a claim


def write_report(results: Path, page: Path, figures: Path) -> Path:
    """Write the page and its figures from the records, and give the page's path.

    Parameters
    ----------
    results
        folder of the records, as `subcast reproduce` fills it (`<experiment>/<cell>.json`); records of trainings
        (`training-*.json`) are looked for in the folder above
    page
        what the page will be called
    figures
        folder for its figures
    """
    found, others = read_records(results)
    if not any(found.values()):
        raise InputError(f"there are no records in {str(results)!r}: run subcast reproduce first, or name their folder")
    page.parent.mkdir(parents=True, exist_ok=True)
    figures.mkdir(parents=True, exist_ok=True)
    pictures = _draw(found, figures, page)
    trainings = read_trainings(results.parent)
    text = "\n\n".join(_page(found, others, trainings, pictures))
    with whole_file(page, (".md",)) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")
    return page


def read_texts() -> dict[str, Any]:
    """What a person has to add."""
    return tomllib.loads(resources.files("subcast.experiments.report").joinpath("text.toml").read_text("utf-8"))


def _draw(found: Found, folder: Path, page: Path) -> dict[str, str]:
    """Draw what has a figure, and give the paths as the page links them."""
    links = {}
    for name, records in found.items():
        figure = make_figure(name, records) if records else None
        if figure is not None:
            path = folder / f"reproduction-{name}.png"
            save_figure(figure, path)
            links[name] = Path(os.path.relpath(path, page.parent)).as_posix()
    return links


def _page(
    found: Found, others: int, trainings: Sequence[Mapping[str, Any]], pictures: Mapping[str, str]
) -> Iterator[str]:
    texts = read_texts()
    trained = {(told["dataset"], told["model"]) for told in trainings if not told.get("variant")}
    yield "# The paper's evaluation, measured again"
    yield texts["head"]["introduction"]
    yield _bullets([f"**{word}**: {meaning}" for word, meaning in texts["words"].items()])
    yield from in_short(found)
    yield from simpler_section(found)
    yield from what_was_run(found, others, trainings, texts["data"])
    yield "## Summary"
    yield _summary(found, texts["head"]["summary"])
    yield from _agreement_section(found, texts)
    yield "## The experiments"
    yield texts["head"]["experiments"]
    for experiment in load_experiments().values():
        records = found[experiment.name]
        yield from _section(experiment, records, found, texts, pictures)
        yield from _missing(experiment, records, trained)


def _summary(found: Found, note: str) -> str:
    rows = []
    for experiment in load_experiments().values():
        records = found[experiment.name]
        link = f"[{experiment.name}](#{experiment.name})"
        rows.append([link, experiment.paper, _recorded(experiment, records), _verdict(experiment, found)])
    return note + "\n\n" + markdown_table(["experiment", "in the paper", "cells recorded", "verdict"], rows, left=4)


def _recorded(experiment: Experiment, records: Sequence[Record]) -> str:
    declared = {(cell.dataset, cell.model) for cell in experiment.cells("quick")}
    there = {(record.dataset, record.model) for record in records}
    return f"{len(there & declared)} of {len(declared)}"


def _verdict(experiment: Experiment, found: Found) -> str:
    records = found[experiment.name]
    if not records:
        return f"not run yet: `subcast reproduce {experiment.name}`"
    parts = [agreement(comparisons(records)), claims_in_short(experiment.name, found)]
    return "; ".join(part for part in parts if part) or "recorded; nothing to compare with the paper"


def _agreement_section(found: Found, texts: Mapping[str, Any]) -> Iterator[str]:
    yield "## What agrees with the paper, and what does not"
    yield "### Its claims"
    yield texts["head"]["claims"]
    rows = []
    for claim in CLAIMS:
        outcomes = claim.ask(found)
        against = [f"{outcome.cell} ({outcome.evidence})" for outcome in outcomes if outcome.holds is False]
        here = [outcome for outcome in outcomes if outcome.cell.startswith(WHOLE)]
        elsewhere = [outcome for outcome in outcomes if outcome not in here]
        rows.append(
            [
                f"[{claim.experiment}](#{claim.experiment})",
                _worded(claim),
                claim.how,
                *(f"**{verdict(some)}**" if some or not outcomes else "" for some in (here, elsewhere)),
                "; ".join(against[:_MOST]) + (f"; and {len(against) - _MOST} more" if len(against) > _MOST else ""),
            ]
        )
    columns = [
        "experiment",
        "claim",
        "counts as holding when",
        "on ECG5000",
        "on the other datasets",
        "where it does not",
    ]
    yield markdown_table(columns, rows, left=6)
    yield "### ECG5000: what differs from the published numbers"
    yield _differing(found)
    yield "### Where our way differs from the paper's"
    yield _bullets(texts["paper"]["differences"])
    yield "### Where the paper's tables and text disagree among themselves"
    yield _bullets(texts["paper"]["inconsistencies"])


def _worded(claim: Claim) -> str:
    """A claim, and where the paper makes it."""
    where = papers_cells(claim)
    return f"{claim.words.removesuffix('.')} ({where})." if where else claim.words


def _differing(found: Found) -> str:
    every = [(name, one) for name, records in found.items() if name != "table-datasets" for one in comparisons(records)]
    if not every:
        return "Nothing is recorded on ECG5000 that the paper prints too."
    rows = [[f"[{name}](#{name})", one.cell, one.kind, one.what, one.numbers] for name, one in every if not one.agrees]
    said = f"{len(every) - len(rows)} of {len(every)} comparisons agree ({agreement([one for _, one in every])})."
    if not rows:
        return said
    columns = ["experiment", "cell", "what differs", "of", "ours and published"]
    return f"{said} The others, with likely reasons in each experiment's section:\n\n" + markdown_table(
        columns, rows, 5
    )


def _section(
    experiment: Experiment,
    records: Sequence[Record],
    found: Found,
    texts: Mapping[str, Any],
    pictures: Mapping[str, str],
) -> Iterator[str]:
    why, captions = texts["why"].get(experiment.name, ""), texts["captions"]
    yield f"### {experiment.name}"
    yield f"**{experiment.title}** ({experiment.paper}). {experiment.question}"
    if not records:
        yield f"Not run yet: `subcast reproduce {experiment.name}`."
        return
    yield f"Verdict: {_verdict(experiment, found)}."
    if experiment.name in pictures:
        yield f"![{experiment.title}]({pictures[experiment.name]})"
        yield f"*{captions[experiment.name]}*"
    yield make_tables(experiment.measure, experiment.name, records)
    yield from _left_out(records)
    outcomes = [(claim, claim.ask(found)) for claim in CLAIMS if claim.experiment == experiment.name]
    told = [f"{_worded(claim)} **{verdict(outcome).capitalize()}.**" for claim, outcome in outcomes]
    if told:
        yield _bullets(told)
    if why:
        yield f"*Likely reasons and notes.* {why}"


def _left_out(records: Sequence[Record]) -> Iterator[str]:
    """Methods that some cells could not ask, by reason."""
    cells: dict[tuple[str, str], list[str]] = {}
    for record in records:
        for method, reason in record.left_out.items():
            why = "no such model was trained" if method == "hardened" else reason
            cells.setdefault((METHODS.get(method, method), why), []).append(record.label)
    if cells:
        yield (
            "Left out: " + "; ".join(f"{what} ({why}) for {', '.join(who)}" for (what, why), who in cells.items()) + "."
        )


def _missing(experiment: Experiment, records: Sequence[Record], trained: Set[tuple[str, str]]) -> Iterator[str]:
    """The cells without a record that the command runs: of models that are trained, or of none."""
    there = {(record.dataset, record.model) for record in records}
    lacking = [(cell.dataset, cell.model) for cell in experiment.cells("quick")]
    lacking = [cell for cell in dict.fromkeys(lacking) if cell not in there]
    ready = [cell for cell in lacking if not cell[1] or cell in trained]
    if records and ready:
        yield f"Not run yet: {_named(ready)}; `subcast reproduce {experiment.name}` runs what is missing."


def _named(cells: Sequence[tuple[str, str]]) -> str:
    """Cells by dataset, with their models."""
    models: dict[str, list[str]] = {}
    for dataset, model in cells:
        models.setdefault(dataset, []).append(MODELS.get(model, ""))
    return ", ".join(f"`{data}`" + (f" ({', '.join(who)})" if any(who) else "") for data, who in models.items())


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
