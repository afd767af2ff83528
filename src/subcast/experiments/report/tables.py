"""The tables of the report in Markdown: our numbers beside the published ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from subcast.experiments.report.records import (
    METHODS,
    ORIGINALS,
    PAPER_DATASETS,
    PublishedNumber,
    Record,
    published_number,
)
from subcast.experiments.report.verdicts import correlation_interval, gap_by_step, is_better

WINDOWS_BY_NUMBER = ("figure-reciprocal-rank", "table-correlated-mrr", "table-weighting-mrr", "figure-rounds")
"""Experiments that take about a given number of windows, whatever their `every`."""
_TESTED, _RANKED = "draws of S, test windows", "draws of S, validation windows"


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """Return rows as a Markdown table without empty columns; the first `left` columns hold words and always stay.

    >>> print(markdown_table(["a", "b", "c"], [["x", "", "1"], ["y", "", "2"]]))
    | a | c |
    |:--|--:|
    | x | 1 |
    | y | 2 |
    """
    body = [list(row) for row in rows]
    kept = [column for column in range(len(columns)) if column < left or any(row[column] for row in body)]
    lines = [[columns[column] for column in kept], *([row[column] for column in kept] for row in body)]
    text = ["| " + " | ".join(line) + " |" for line in lines]
    text.insert(1, "|" + "|".join(":--" if column < left else "--:" for column in kept) + "|")
    return "\n".join(text)


def make_tables(measure: str, name: str, records: Sequence[Record]) -> str:
    """Return the tables of an experiment that has records."""
    if name in _TABLES_BY_EXPERIMENT:
        return _TABLES_BY_EXPERIMENT[name](records)
    return TABLES[measure](records)


def mean_text(mean: float, deviation: float | None) -> str:
    """Write a mean with its deviation.

    >>> mean_text(3.4321, 0.5), mean_text(3.4321, None)
    ('3.43 ± 0.50', '3.43')
    """
    return f"{mean:.2f}" if deviation is None else f"{mean:.2f} ± {deviation:.2f}"


def gap_text(row: Mapping[str, Any], metric: str) -> str:
    """Write a gap with its interval.

    >>> gap_text({"mae_gap": 2.14, "mae_gap_interval": [1.4, 2.9]}, "mae")
    '2.14 [1.40, 2.90]'
    """
    return interval_text(row[f"{metric}_gap"], row.get(f"{metric}_gap_interval"))


def interval_text(value: float, interval: Sequence[float] | None) -> str:
    """Write a number with its interval, if it has one.

    >>> interval_text(0.59, (0.2, 0.81)), interval_text(0.59, None)
    ('0.59 [0.20, 0.81]', '0.59')
    """
    return f"{value:.2f}" + (f" [{interval[0]:.2f}, {interval[1]:.2f}]" if interval else "")


def _by_dataset(records: Sequence[Record], table: Callable[[Sequence[Record]], str]) -> str:
    """Return a heading and a table for each dataset."""
    sections = []
    for dataset in dict.fromkeys(record.dataset for record in records):
        of_dataset = [record for record in records if record.dataset == dataset]
        original = ORIGINALS[dataset].upper()
        note = "" if dataset in PAPER_DATASETS else f"; published numbers are of {original} and not directly comparable"
        sections.append(f"**`{dataset}`**, {_size_text(of_dataset)}{note}\n\n{table(of_dataset)}")
    return "\n\n".join(sections)


def _size_text(records: Sequence[Record]) -> str:
    """Return the numbers of draws and test windows of the cells of a dataset."""
    draws = span([record.draws for record in records])
    tested = [record for record in records if "test_windows" in record.figures]
    return f"{draws} draws of S" + (f", {windows_text(tested, 'test')}" if tested else "")


def windows_text(records: Sequence[Record], split: str, words: str | None = None) -> str:
    """Return how many windows of a split the records have, the words after the number, and which of them if thinned.

    Only the experiments on test windows leave out some of them by `every`; others take a number of validation windows.
    """
    having = [record for record in records if f"{split}_windows" in record.figures]
    counts = span([int(record.figures[f"{split}_windows"]) for record in having])
    steps = sorted({record.every for record in having})
    thinned = split == "test" and having[0].experiment not in WINDOWS_BY_NUMBER and steps != [1]
    every = f" ({' or '.join(every_text(step) for step in steps)})" if thinned else ""
    return f"{counts}{f' {split} windows' if words is None else words}{every}"


def every_text(every: int) -> str:
    """Write which windows were used.

    >>> every_text(1), every_text(2), every_text(4)
    ('all', 'every 2nd', 'every 4th')
    """
    return {1: "all", 2: "every 2nd", 3: "every 3rd"}.get(every, f"every {every}th")


def span(numbers: Sequence[int]) -> str:
    """Write the smallest and the largest number.

    >>> span([249, 1040]), span([20, 20])
    ('249 to 1,040', '20')
    """
    smallest, largest = min(numbers), max(numbers)
    return f"{smallest:,}" if smallest == largest else f"{smallest:,} to {largest:,}"


def _errors(records: Sequence[Record]) -> str:
    return _by_dataset(records, _errors_of_one)


def _errors_of_one(records: Sequence[Record]) -> str:
    """Return errors and gaps of all methods; a gap that is significantly smaller than all others is bold."""
    dataset = records[0].dataset
    columns = ["model", "method"]
    for metric in ("MAE", "RMSE"):
        columns += [metric, heading(dataset, metric), f"gap of {metric}, %", heading(dataset, f"gap of {metric}, %")]
    rows = []
    for record in records:
        for name, row in record.methods.items():
            line = [record.model_title if name == next(iter(record.methods)) else "", METHODS.get(name, name)]
            for metric in ("mae", "rmse"):
                line += _error_and_gap_cells(record, name, row, metric)
            rows.append(line)
    return markdown_table(columns, rows, left=2)


def _tuned(records: Sequence[Record]) -> str:
    """Return errors and gaps, and below them the settings that were chosen in each cell."""
    rows = []
    for record in records:
        for name, chosen in record.figures["chosen"].items():
            settings = chosen["settings"]
            sizes = f"{chosen['validation_draws']}, {chosen['validation_windows']:,}"
            texts = [f"{settings[setting]:g}" for setting in ("exponent", "temperature", "neighbors")]
            errors = [f"{chosen[key]:.3f}" for key in ("validation_mae_of_fixed", "validation_mae")]
            rows.append([record.label, METHODS.get(name, name), sizes, *texts, *errors])
    columns = ["cell", "method", _RANKED, "b", "tau", "m", "validation MAE with fixed settings", "with the chosen ones"]
    return f"{_errors(records)}\n\nThe settings that were chosen:\n\n{markdown_table(columns, rows, left=2)}"


def _apriori(records: Sequence[Record]) -> str:
    """Return errors and gaps, and below them how the models of each S were trained."""
    rows = []
    for record in records:
        trainings = record.figures.get("trainings", [])
        if trainings:
            late = [100 * late_improvement(training["validation_mae"]) for training in trainings]
            columns = ("epochs_at_most", "epochs", "full_horizon_from_epoch", "best_epoch")
            spans = [span([int(training[name]) for training in trainings]) for name in columns]
            hours = sum(float(training["hours"]) for training in trainings)
            rows.append([record.label, str(len(trainings)), *spans, f"{np.mean(late):.1f} %", f"{hours:.2f}"])
    if not rows:
        return _errors(records)
    headings = ["cell", "trainings", "epochs at most", "epochs run", "all 12 steps in the loss from epoch"]
    headings += ["best epoch", "gain of the last quarter", "hours"]
    note = (
        "How the models of each S were trained. The gain of the last quarter says how much the best validation MAE of "
        "all epochs is below that of the first three quarters: near 0, validation has flattened."
    )
    return f"{_errors(records)}\n\n{note}\n\n{markdown_table(headings, rows)}"


def late_improvement(errors: Sequence[float]) -> float:
    """Return by which share the smallest of all values is below the smallest of the first three quarters.

    >>> late_improvement([4.0, 3.0, 2.0, 1.5]), late_improvement([4.0, 3.0, 2.0, 2.5])
    (0.25, 0.0)
    """
    before = min(errors[: max(1, len(errors) * 3 // 4)])
    return 1 - min(errors) / before


def heading(dataset: str, what: str) -> str:
    """Return the heading of a column of published numbers, with the dataset where it is not ours."""
    if dataset in PAPER_DATASETS:
        return f"published {what} (ours minus published)"
    return f"{ORIGINALS[dataset].upper()}'s published {what}"


def _error_and_gap_cells(record: Record, name: str, row: Mapping[str, Any], metric: str) -> list[str]:
    """Return four cells: the error, the published error, the gap, the published gap."""
    error, gap = published_number(record, name, metric), published_number(record, name, f"delta_{metric}")
    others = [other for other in record.methods if other not in ("oracle", name)]
    ours = "" if name == "oracle" else gap_text(row, metric)
    if ours and others and all(is_better(record, name, other, metric) for other in others):
        ours = f"**{ours}**"
    return [
        mean_text(row[metric], row[f"{metric}_deviation"]),
        published_text(record, error, row[metric]) or _implied(record, gap, metric, row[metric]),
        ours,
        published_text(record, gap, row[f"{metric}_gap"]),
    ]


def _implied(record: Record, gap: PublishedNumber | None, metric: str, ours: float) -> str:
    """Return the error implied by a published gap and the published Oracle, where the paper prints only the gap."""
    best = published_number(record, "oracle", metric)
    if gap is None or best is None:
        return ""
    return "implied " + published_text(record, PublishedNumber(best.mean * (1 + gap.mean / 100), None), ours)


def published_text(record: Record, number: PublishedNumber | None, ours: float, digits: int = 2) -> str:
    """Return the published number, with the difference of ours where the dataset is the same."""
    if number is None:
        return ""
    deviation = "" if number.deviation is None else f" ± {number.deviation:.{digits}f}"
    text = f"{number.mean:.{digits}f}{deviation}"
    return f"{text} ({ours - number.mean:+.{digits}f})" if record.dataset in PAPER_DATASETS else text


def _settings(records: Sequence[Record]) -> str:
    """Return a row of gaps of MAE for each cell, a column for each setting, with the published gaps below."""
    names = [name for name in records[0].methods if name != "oracle"]
    rows = []
    for record in records:
        rows.append(
            [record.label, draws_and_windows(record), *(gap_text(record.methods[name], "mae") for name in names)]
        )
        numbers = [published_number(record, name, "delta_mae") for name in names]
        if any(numbers):
            rows.append([_published_label(record), "", *_mean_texts(numbers)])
    return "Gap of MAE in per cent, with 95 % intervals.\n\n" + markdown_table(["cell", _TESTED, *names], rows)


def draws_and_windows(record: Record, split: str = "test") -> str:
    """Return the numbers of draws and windows of a record."""
    return f"{record.draws}, {windows_text([record], split, '')}"


def _mean_texts(numbers: Sequence[PublishedNumber | None], digits: int = 2) -> list[str]:
    return ["" if number is None else f"{number.mean:.{digits}f}" for number in numbers]


def _published_label(record: Record) -> str:
    if record.dataset in PAPER_DATASETS:
        return "*published*"
    return f"*{ORIGINALS[record.dataset].upper()}, published; not directly comparable*"


def _sizes(records: Sequence[Record]) -> str:
    """Return a row of errors for each cell and method, a column for each size of S."""
    groups = list(records[0].groups)
    rows = [
        [
            record.label if name == "oracle" else "",
            draws_and_windows(record) if name == "oracle" else "",
            METHODS.get(name, name),
            *(mean_text(record.groups[group][name]["mae"], None) for group in groups),
        ]
        for record in records
        for name in record.methods
    ]
    return "MAE by the share of variables that are present.\n\n" + markdown_table(
        ["cell", _TESTED, "method", *groups], rows, left=3
    )


def _clusters(records: Sequence[Record]) -> str:
    """Return a table for each dataset, since each has its own number of clusters."""
    return _by_dataset(records, _clusters_of_one)


def _clusters_text(record: Record) -> str:
    """Return a sentence on the clusters, and one on the draws of S that needed more of them."""
    clusters = record.figures["clusters"]
    widened = clusters["widened_draws"]
    used = ", ".join(
        f"{mean:.1f} instead of {count} ({widened[count]} draws)"
        for count, mean in clusters["mean_used"].items()
        if widened[count]
    )
    text = (
        f"DBSCAN finds {clusters['found']} clusters (radius {clusters['eps']:.3f}, at least "
        f"{clusters['min_samples']} variables; sizes {', '.join(map(str, clusters['sizes']))}, including "
        f"{clusters['left_alone_then_joined']} variables that it left alone, which joined the nearest cluster)."
    )
    return text + (f" Where the clusters were too small for S, more were used: on average {used}." if used else "")


def _clusters_of_one(records: Sequence[Record]) -> str:
    """Return a row for each cell and quantity, a column for each number of clusters, with published numbers below."""
    groups = list(records[0].groups)
    rows = []
    for record in records:
        for name in (name for name in record.methods if name != "oracle"):
            for metric in ("mae", "rmse"):
                of_groups = [record.groups[group][name] for group in groups]
                what = f"{METHODS[name]}, gap of {metric.upper()}, %"
                rows.append([record.label, what, *(gap_text(row, metric) for row in of_groups)])
                rows += _published_rows(record, name, metric, groups, of_groups)
    table = markdown_table(["cell", "S from clusters:", *groups], rows, left=2)
    by_draws = {record.draws: record for record in records}  # models on the same draws have the same clusters
    texts = [_clusters_text(record) for record in by_draws.values()]
    if len(texts) > 1:
        texts = [f"With {draws} draws of S: {text}" for draws, text in zip(by_draws, texts, strict=True)]
    return "\n\n".join([*texts, table])


def _published_rows(
    record: Record, name: str, metric: str, groups: Sequence[str], of_groups: Sequence[Mapping[str, Any]]
) -> list[list[str]]:
    """Return the rows that tables 10 and 11 print: FDW's gaps, and Partial's errors with ours above them."""
    rows = []
    numbers = [published_number(record, name, f"delta_{metric}", group) for group in groups]
    if any(numbers):
        rows.append([_published_label(record), "", *_mean_texts(numbers)])
    errors = [published_number(record, name, metric, group) for group in groups]
    if name == "partial":
        ours = [mean_text(row[metric], row[f"{metric}_deviation"]) for row in of_groups]
        rows.append([record.label, f"{METHODS[name]}, {metric.upper()}", *ours])
    if any(errors):
        rows.append(
            [_published_label(record), "", *("" if n is None else mean_text(n.mean, n.deviation) for n in errors)]
        )
    return rows


def _steps(records: Sequence[Record]) -> str:
    """Return for each metric a row for each cell with the gap between Partial and Oracle, a column for each step."""
    tables = []
    for metric in ("mae", "rmse"):
        values = {record.label: gap_by_step(record, metric=metric) for record in records}
        steps = [str(step + 1) for step in range(len(next(iter(values.values()))))]
        rows = [
            [record.label, draws_and_windows(record), *(f"{value:.2f}" for value in values[record.label])]
            for record in records
        ]
        heading = f"{metric.upper()} of Partial minus {metric.upper()} of Oracle, by step."
        tables.append(f"{heading}\n\n{markdown_table(['cell', _TESTED, *steps], rows)}")
    return "\n\n".join(tables)


def _ranks(records: Sequence[Record]) -> str:
    groups = list(records[0].groups)
    if groups != ["15%"]:
        return _by_dataset(records, lambda of_dataset: f"{_clusters_text(of_dataset[0])}\n\n{_ranks_table(of_dataset)}")
    return _ranks_table(records)


def _ranks_table(records: Sequence[Record]) -> str:
    groups = list(records[0].groups)
    rows = []
    for record in records:
        means = (f"{record.groups[group]['mrr']:.4f}" for group in groups)
        rows.append([record.label, *means, draws_and_windows(record, "validation")])
        numbers = [published_number(record, "", "mrr", group) for group in groups]
        if any(numbers):
            rows.append([_published_label(record), *_mean_texts(numbers, digits=4), ""])
    headings = ["mean reciprocal rank"] if groups == ["15%"] else [f"{group} clusters" for group in groups]
    return markdown_table(["dataset", *headings, _RANKED], rows)


def _weighting_ranks(records: Sequence[Record]) -> str:
    rows = []
    for record in records:
        traffic = replace(record, dataset="traffic-20")
        numbers = [published_number(traffic, name, "mrr") for name in ("ddw", "fdw")]
        rows.append(
            [
                record.label,
                draws_and_windows(record, "validation"),
                *(f"{record.figures[name]:.4f}" for name in ("ddw", "fdw")),
                *_mean_texts(numbers, digits=4),
            ]
        )
    rows.append(["*five neighbors in random order*", "", *[f"{np.mean(1 / np.arange(1, 6)):.4f}"] * 2, "", ""])
    note = "TRAFFIC's published {}"
    columns = ["cell", _RANKED, "DDW", "FDW", note.format("DDW"), note.format("FDW")]
    return markdown_table(columns, rows)


def _pagerank(records: Sequence[Record]) -> str:
    rows = []
    for record in records:
        correlation = record.figures["correlation"]
        number = published_number(record, "partial", "correlation")
        published = "" if number is None else f"{number.mean:.2f} ({ORIGINALS[record.dataset].upper()})"
        ours = "" if correlation is None else interval_text(correlation, correlation_interval(record))
        sums = record.figures["pagerank"]
        rows.append([record.label, str(record.draws), f"{min(sums):.2f} to {max(sums):.2f}", ours, published])
    columns = ["cell", "draws of S", "sum of PageRank", "correlation", "published on the original"]
    return markdown_table(columns, rows)


def _rounds(records: Sequence[Record]) -> str:
    counts = records[0].figures["neighbors"]
    rows = [
        [record.label, name, *map(_rounds_cell, table["rounds"], table["compared"])]
        for record in records
        for name, table in record.figures["tables"].items()
    ]
    note = "Mean rounds by number of neighbors, and in brackets the share of the bank that is then compared in full."
    columns = ["dataset", "first ranges, and how they are widened", *(f"m={m}" for m in counts)]
    return f"{note}\n\n{markdown_table(columns, rows)}"


def _rounds_cell(rounds: float, compared: float) -> str:
    return f"{rounds:.2f} ({100 * compared:.3g} %)"


def _datasets(records: Sequence[Record]) -> str:
    columns = ["dataset", "steps", "variables", "rate", "lookback", "horizon", "missing", "windows: train / val / test"]
    rows = [row for record in records for row in (_dataset_row(record), _published_dataset_row(record))]
    return markdown_table(columns, rows)


def _dataset_row(record: Record) -> list[str]:
    facts = record.figures
    return [
        f"`{record.dataset}`",
        *(f"{facts[name]:,}" for name in ("steps", "variables")),
        str(facts["rate"] or "none"),
        *(str(facts[name]) for name in ("lookback", "horizon")),
        f"{100 * facts['missing_share']:.1f} %",
        " / ".join(f"{count:,}" for count in facts["windows"]),
    ]


def _published_dataset_row(record: Record) -> list[str]:
    numbers = [published_number(record, "", metric) for metric in ("steps", "variables", "lookback", "horizon")]
    steps, variables, lookback, horizon = ("" if number is None else f"{number.mean:,.0f}" for number in numbers)
    minutes = published_number(record, "", "minutes_between_steps")
    rate = "none" if minutes is None else f"{minutes.mean:.0f} min"
    return [f"*{ORIGINALS[record.dataset].upper()}, published*", steps, variables, rate, lookback, horizon, "", ""]


TABLES: dict[str, Callable[[Sequence[Record]], str]] = {
    "errors": _errors,
    "apriori": _apriori,
    "reciprocal-rank": _ranks,
    "weighting-rank": _weighting_ranks,
    "pagerank": _pagerank,
    "rounds": _rounds,
    "datasets": _datasets,
}
_TABLES_BY_EXPERIMENT: dict[str, Callable[[Sequence[Record]], str]] = {
    "figure-subset-size": _sizes,
    "figure-neighbors": _settings,
    "figure-retrieval-size": _settings,
    "figure-horizon": _steps,
    "table-correlated": _clusters,
    "table-tuned": _tuned,
}
