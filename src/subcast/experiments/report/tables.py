"""The tables of the report, in Markdown: ours beside the paper's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from subcast.experiments.report.records import METHODS, ORIGINALS, WHOLE, Printed, Record, printed
from subcast.experiments.report.verdicts import correlation_interval, gap_by_step, told_better

_RAN, _RANKED = "draws of S, test windows", "draws of S, validation windows"


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """Rows as Markdown, without the columns that are empty in all of them; the first `left` are words.

    >>> print(markdown_table(["a", "b", "c"], [["x", "", "1"], ["y", "", "2"]]))
    | a | c |
    |:--|--:|
    | x | 1 |
    | y | 2 |
    """
    body = [list(row) for row in rows]
    kept = [place for place in range(len(columns)) if place < left or any(row[place] for row in body)]
    lines = [[columns[place] for place in kept], *([row[place] for place in kept] for row in body)]
    text = ["| " + " | ".join(line) + " |" for line in lines]
    text.insert(1, "|" + "|".join(":--" if place < left else "--:" for place in kept) + "|")
    return "\n".join(text)


def make_tables(measure: str, name: str, records: Sequence[Record]) -> str:
    """The tables of an experiment that has records."""
    if name in _SPECIAL:
        return _SPECIAL[name](records)
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
    """Write a number with its interval, where it has one.

    >>> interval_text(0.59, (0.2, 0.81)), interval_text(0.59, None)
    ('0.59 [0.20, 0.81]', '0.59')
    """
    return f"{value:.2f}" + (f" [{interval[0]:.2f}, {interval[1]:.2f}]" if interval else "")


def _by_dataset(records: Sequence[Record], table: Callable[[Sequence[Record]], str]) -> str:
    """A heading and a table for each dataset."""
    parts = []
    for dataset in dict.fromkeys(record.dataset for record in records):
        chosen = [record for record in records if record.dataset == dataset]
        whose = (
            ""
            if dataset in WHOLE
            else f"; published numbers are {ORIGINALS[dataset].upper()}'s, not comparable one to one"
        )
        parts.append(f"**`{dataset}`**, {_how(chosen)}{whose}\n\n{table(chosen)}")
    return "\n\n".join(parts)


def _how(records: Sequence[Record]) -> str:
    """How the cells of a dataset were run."""
    draws = _span([record.draws for record in records])
    windows = _span([record.figures.get("test_windows", 0) for record in records])
    tested = f", {windows} test windows" if windows != "0" else ""
    return f"{draws} draws of S{tested}"


def _span(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _errors(records: Sequence[Record]) -> str:
    return _by_dataset(records, _errors_of_one)


def _errors_of_one(records: Sequence[Record]) -> str:
    """Errors and gaps of all methods; a gap that is told to be smaller than all others of its model is bold."""
    dataset = records[0].dataset
    columns = ["model", "method"]
    for metric in ("MAE", "RMSE"):
        columns += [metric, heading(dataset, metric), f"gap of {metric}, %", heading(dataset, f"gap of {metric}, %")]
    rows = []
    for record in records:
        for name, row in record.methods.items():
            line = [record.who if name == next(iter(record.methods)) else "", METHODS.get(name, name)]
            for metric in ("mae", "rmse"):
                line += _pair(record, name, row, metric)
            rows.append(line)
    return markdown_table(columns, rows, left=2)


def heading(dataset: str, what: str) -> str:
    """The heading of a column of published numbers: on the same dataset, or on the one that ours stands for."""
    if dataset in WHOLE:
        return f"published {what} (ours less published)"
    return f"{ORIGINALS[dataset].upper()}'s published {what}"


def _pair(record: Record, name: str, row: Mapping[str, Any], metric: str) -> list[str]:
    """The error, the paper's, the gap, the paper's."""
    error, gap = printed(record, name, metric), printed(record, name, f"delta_{metric}")
    others = [other for other in record.methods if other not in ("oracle", name)]
    ours = "" if name == "oracle" else gap_text(row, metric)
    if ours and others and all(told_better(record, name, other, metric) for other in others):
        ours = f"**{ours}**"
    return [
        mean_text(row[metric], row[f"{metric}_deviation"]),
        beside(record, error, row[metric]) or _implied(record, gap, metric, row[metric]),
        ours,
        beside(record, gap, row[f"{metric}_gap"]),
    ]


def _implied(record: Record, gap: Printed | None, metric: str, ours: float) -> str:
    """The error that a published gap and the published Oracle come to, where the paper prints the gap alone."""
    best = printed(record, "oracle", metric)
    if gap is None or best is None:
        return ""
    return "implied " + beside(record, Printed(best.mean * (1 + gap.mean / 100), None), ours)


def beside(record: Record, number: Printed | None, ours: float, digits: int = 2) -> str:
    """The paper's number, and how ours differs where the dataset is the same."""
    if number is None:
        return ""
    deviation = "" if number.deviation is None else f" ± {number.deviation:.{digits}f}"
    text = f"{number.mean:.{digits}f}{deviation}"
    return f"{text} ({ours - number.mean:+.{digits}f})" if record.dataset in WHOLE else text


def _settings(records: Sequence[Record]) -> str:
    """One row a cell, the gap of MAE of each setting across; below it the paper's where there is one."""
    names = [name for name in records[0].methods if name != "oracle"]
    rows = []
    for record in records:
        rows.append([record.label, _ran(record), *(gap_text(record.methods[name], "mae") for name in names)])
        numbers = [printed(record, name, "delta_mae") for name in names]
        if any(numbers):
            rows.append([_whose(record), "", *("" if n is None else f"{n.mean:.2f}" for n in numbers)])
    return "Gap of MAE in per cent, with 95 % intervals.\n\n" + markdown_table(["cell", _RAN, *names], rows)


def _ran(record: Record, part: str = "test") -> str:
    """How many draws and windows a record has."""
    return f"{record.draws}, {record.figures[f'{part}_windows']:,}"


def _whose(record: Record) -> str:
    if record.dataset in WHOLE:
        return "*published*"
    return f"*{ORIGINALS[record.dataset].upper()}, published; not comparable one to one*"


def _sizes(records: Sequence[Record]) -> str:
    """One row a cell and method, the error at each size of S across."""
    groups = list(records[0].groups)
    rows = [
        [
            record.label if name == "oracle" else "",
            _ran(record) if name == "oracle" else "",
            METHODS.get(name, name),
            *(mean_text(record.groups[group][name]["mae"], None) for group in groups),
        ]
        for record in records
        for name in record.methods
    ]
    return "MAE by share of the variables that arrive.\n\n" + markdown_table(
        ["cell", _RAN, "method", *groups], rows, left=3
    )


def _clusters(records: Sequence[Record]) -> str:
    """A table for each dataset: the data fall into as many clusters as they do."""
    return _by_dataset(records, _clusters_of_one)


def _found_clusters(record: Record) -> str:
    """What the clusters were, and where S needed more of them."""
    told = record.figures["clusters"]
    used = ", ".join(
        f"{mean:.1f} where {count} {'was' if count == '1' else 'were'} asked for ({told['widened_draws'][count]} draws)"
        for count, mean in told["mean_used"].items()
        if told["widened_draws"][count]
    )
    text = (
        f"DBSCAN finds {told['found']} clusters (radius {told['eps']:.3f}, at least {told['min_samples']}; sizes "
        f"{', '.join(map(str, told['sizes']))}, in which {told['left_alone_then_joined']} variables that it left alone "
        "joined the nearest)."
    )
    return text + (f" Clusters too small for S were widened by further ones: on average {used}." if used else "")


def _clusters_of_one(records: Sequence[Record]) -> str:
    """One row a cell and quantity, the number of clusters across; below it the paper's."""
    groups = list(records[0].groups)
    rows = []
    for record in records:
        for name in (name for name in record.methods if name != "oracle"):
            for metric in ("mae", "rmse"):
                told = [record.groups[group][name] for group in groups]
                rows.append(
                    [
                        record.label,
                        f"{METHODS[name]}, gap of {metric.upper()}, %",
                        *(gap_text(row, metric) for row in told),
                    ]
                )
                rows += _printed_rows(record, name, metric, groups, told)
    table = markdown_table(["cell", "S from clusters:", *groups], rows, left=2)
    return f"{_found_clusters(records[0])}\n\n{table}"


def _printed_rows(
    record: Record, name: str, metric: str, groups: Sequence[str], told: Sequence[Mapping[str, Any]]
) -> list[list[str]]:
    """What tables 10 and 11 print: FDW's gaps, and Partial's errors with ours above them."""
    rows = []
    numbers = [printed(record, name, f"delta_{metric}", group) for group in groups]
    if any(numbers):
        rows.append([_whose(record), "", *("" if n is None else f"{n.mean:.2f}" for n in numbers)])
    errors = [printed(record, name, metric, group) for group in groups]
    if name == "partial":
        ours = [mean_text(row[metric], row[f"{metric}_deviation"]) for row in told]
        rows.append([record.label, f"{METHODS[name]}, {metric.upper()}", *ours])
    if any(errors):
        rows.append([_whose(record), "", *("" if n is None else mean_text(n.mean, n.deviation) for n in errors)])
    return rows


def _steps(records: Sequence[Record]) -> str:
    """One row a cell, the gap between Partial and Oracle at each step across."""
    values = {record.label: gap_by_step(record) for record in records}
    steps = [str(step + 1) for step in range(len(next(iter(values.values()))))]
    rows = [[record.label, _ran(record), *(f"{value:.2f}" for value in values[record.label])] for record in records]
    return "MAE of Partial less MAE of Oracle, by step.\n\n" + markdown_table(["cell", _RAN, *steps], rows)


def _ranks(records: Sequence[Record]) -> str:
    groups = list(records[0].groups)
    if groups != ["15%"]:
        return _by_dataset(records, lambda chosen: f"{_found_clusters(chosen[0])}\n\n{_ranks_table(chosen)}")
    return _ranks_table(records)


def _ranks_table(records: Sequence[Record]) -> str:
    groups = list(records[0].groups)
    rows = []
    for record in records:
        means = (f"{record.groups[group]['mrr']:.4f}" for group in groups)
        rows.append([record.label, *means, _ran(record, "validation")])
        numbers = [printed(record, "", "mrr", group) for group in groups]
        if any(numbers):
            rows.append([_whose(record), *("" if n is None else f"{n.mean:.4f}" for n in numbers), ""])
    what = ["mean reciprocal rank"] if groups == ["15%"] else [f"{group} clusters" for group in groups]
    return markdown_table(["dataset", *what, _RANKED], rows)


def _weighting_ranks(records: Sequence[Record]) -> str:
    rows = []
    for record in records:
        traffic = Record(**{**vars(record), "dataset": "traffic-20"})
        numbers = [printed(traffic, name, "mrr") for name in ("ddw", "fdw")]
        rows.append(
            [
                record.label,
                _ran(record, "validation"),
                *(f"{record.figures[name]:.4f}" for name in ("ddw", "fdw")),
                *("" if number is None else f"{number.mean:.4f}" for number in numbers),
            ]
        )
    rows.append(["*five neighbors in random order*", "", *[f"{np.mean(1 / np.arange(1, 6)):.4f}"] * 2, "", ""])
    note = "TRAFFIC's published {}"
    columns = ["cell", _RANKED, "DDW", "FDW", note.format("DDW"), note.format("FDW")]
    return markdown_table(columns, rows)


def _pagerank(records: Sequence[Record]) -> str:
    rows = []
    for record in records:
        value = record.figures["correlation"]
        number = printed(record, "partial", "correlation")
        where = "" if number is None else f"{number.mean:.2f} ({ORIGINALS[record.dataset].upper()})"
        ours = "" if value is None else interval_text(value, correlation_interval(record))
        sums = record.figures["pagerank"]
        rows.append([record.label, str(record.draws), f"{min(sums):.2f} to {max(sums):.2f}", ours, where])
    columns = ["cell", "draws of S", "sum of PageRank", "correlation", "published on the original"]
    return markdown_table(columns, rows)


def _rounds(records: Sequence[Record]) -> str:
    counts = records[0].figures["neighbors"]
    rows = [
        [record.label, name, *map(_rounds_cell, told["rounds"], told["compared"])]
        for record in records
        for name, told in record.figures["tables"].items()
    ]
    head = "Mean rounds by number of neighbors, and in brackets the share of the bank that is then compared in full."
    columns = ["dataset", "first ranges, and which are widened by what", *(f"m={m}" for m in counts)]
    return f"{head}\n\n{markdown_table(columns, rows)}"


def _rounds_cell(rounds: float, compared: float) -> str:
    return f"{rounds:.2f} ({100 * compared:.3g} %)"


def _datasets(records: Sequence[Record]) -> str:
    columns = ["dataset", "steps", "variables", "rate", "lookback", "horizon", "missing", "windows: train / val / test"]
    rows = []
    for record in records:
        facts = record.figures
        numbers = [printed(record, "", metric) for metric in ("steps", "variables", "lookback", "horizon")]
        steps, variables, lookback, horizon = ("" if n is None else f"{n.mean:,.0f}" for n in numbers)
        minutes = printed(record, "", "minutes_between_steps")
        counts = " / ".join(f"{count:,}" for count in facts["windows"])
        rows.append(
            [
                f"`{record.dataset}`",
                *(f"{facts[name]:,}" for name in ("steps", "variables")),
                str(facts["rate"] or "none"),
                *(str(facts[name]) for name in ("lookback", "horizon")),
                f"{100 * facts['missing_share']:.1f} %",
                counts,
            ]
        )
        rate = "none" if minutes is None else f"{minutes.mean:.0f} min"
        rows.append(
            [f"*{ORIGINALS[record.dataset].upper()}, published*", steps, variables, rate, lookback, horizon, "", ""]
        )
    return markdown_table(columns, rows)


TABLES: dict[str, Callable[[Sequence[Record]], str]] = {
    "errors": _errors,
    "apriori": _errors,
    "reciprocal-rank": _ranks,
    "weighting-rank": _weighting_ranks,
    "pagerank": _pagerank,
    "rounds": _rounds,
    "datasets": _datasets,
}
_SPECIAL: dict[str, Callable[[Sequence[Record]], str]] = {
    "figure-subset-size": _sizes,
    "figure-neighbors": _settings,
    "figure-retrieval-size": _settings,
    "figure-horizon": _steps,
    "table-correlated": _clusters,
}
