"""Every table and figure of the paper: where it is, on what data, with how many trainings, draws and windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from subcast.experiments.declaration import Experiment, load_experiments
from subcast.experiments.published import load_published
from subcast.experiments.report.records import MODELS, ORIGINALS, AllRecords, Record
from subcast.experiments.report.tables import markdown_table, span, windows_text

_COLUMNS = (
    "in the paper", "page", "the paper's data", "our data", "models", "trainings of each", "draws of S", "windows",
    "not run",
)  # fmt: skip
# Where the published numbers of an experiment stand under another one's name.
_PRINTED_WITH = {"table-correlated-mrr": "table-correlated"}


def items_table(all_records: AllRecords) -> str:
    """Return a row for each item of the paper and dataset, "not run" where there is no record."""
    rows = [
        ["figure 1", "", "", "", "", "", "", "", "nothing to run: a drawing of the problem"],
        *(row for experiment in load_experiments().values() for row in _rows(experiment, all_records[experiment.name])),
    ]
    return markdown_table(_COLUMNS, rows, left=len(_COLUMNS))


def _rows(experiment: Experiment, records: Sequence[Record]) -> Iterator[list[str]]:
    """Yield the rows of an experiment: the paper's datasets with ours, and then ours that the paper does not print."""
    item, link = experiment.paper, f"[{experiment.name}](#{experiment.name})"
    printed = printed_models(experiment.name)
    for original, models in printed.items():
        ours = [record for record in records if ORIGINALS[record.dataset] == original]
        missing = _missing_text(models if experiment.models else (), ours)
        if not ours:
            yield [item, link, original.upper(), "", "", "", "", "", f"**not run**{missing}"]
        for number, of_dataset in enumerate(_by_dataset(ours)):
            yield [item, link, original.upper(), *_sizes(of_dataset), missing if number == 0 else ""]
    others = [record for record in records if ORIGINALS[record.dataset] not in printed]
    for of_dataset in _by_dataset(others):
        yield [item, link, "not in the paper", *_sizes(of_dataset), ""]
    if not printed and not records:
        yield [item, link, "not in the paper", "", "", "", "", "", "**not run**"]


def printed_models(experiment: str) -> dict[str, list[str]]:
    """Return the models for which the paper prints numbers or curves of an experiment, by the paper's datasets.

    >>> printed_models("table-identity")
    {'metr-la': ['mtgnn'], 'solar': ['mtgnn'], 'traffic': ['mtgnn']}
    >>> printed_models("table-correlated-mrr"), printed_models("table-noise")
    ({'solar': []}, {})
    """
    rows = load_published()
    own = rows["experiment"] == _PRINTED_WITH.get(experiment, experiment)
    if experiment == "table-weighting":  # table 7 prints the gaps on TRAFFIC
        own |= (rows["experiment"] == "table-weighting-mrr") & rows["metric"].str.startswith("delta")
    rows = rows[own]
    if experiment in _PRINTED_WITH:
        rows = rows[rows["metric"] == "mrr"]
    models: dict[str, list[str]] = {}
    for dataset, model in zip(rows["dataset"], rows["model"], strict=True):
        names = models.setdefault(dataset, [])
        if model and model not in names:
            names.append(model)
    return models


def _missing_text(models: Sequence[str], ours: Sequence[Record]) -> str:
    """Return the models of the paper that have no record on any dataset that stands for the paper's."""
    recorded = {record.model for record in ours}
    missing = [MODELS[model] for model in models if model not in recorded]
    if not ours:
        return f": {', '.join(missing)}" if missing else ""
    return f"**not run**: {', '.join(missing)}" if missing else ""


def _by_dataset(records: Sequence[Record]) -> list[list[Record]]:
    datasets = dict.fromkeys(record.dataset for record in records)
    return [[record for record in records if record.dataset == dataset] for dataset in datasets]


def _sizes(records: Sequence[Record]) -> list[str]:
    """Return dataset, models, trainings, draws and windows of the records of one dataset."""
    trainings: dict[str, int] = {}
    for record in records:
        own = record.draws if record.experiment == "table-apriori" else 1  # there, each draw of S has its own
        trainings[record.model] = trainings.get(record.model, 0) + own
    counts, trained = list(trainings.values()), any(trainings)
    return [
        f"`{records[0].dataset}`",
        ", ".join(MODELS[model] for model in trainings if model) or "none needed",
        (span(counts) if len(set(counts)) == 1 else ", ".join(map(str, counts))) if trained else "",
        span([record.draws for record in records]) if records[0].experiment != "table-datasets" else "",
        _windows_text(records),
    ]


def _windows_text(records: Sequence[Record]) -> str:
    """Return the number of windows, and of which split; "" for a record without windows."""
    for split in ("test", "validation"):
        if any(f"{split}_windows" in record.figures for record in records):
            return windows_text(records, split, f" {split}")
    return ""
