"""The top of the report: an overview, where something simpler wins, and what was run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from subcast.experiments.declaration import load_experiments
from subcast.experiments.report.agreement import count_claims
from subcast.experiments.report.records import (
    METHODS,
    ORIGINALS,
    AllRecords,
    Record,
    iterate_records,
    published_number,
    training_label,
)
from subcast.experiments.report.rivals import SIMPLE, Contest, contests
from subcast.experiments.report.tables import markdown_table
from subcast.experiments.report.verdicts import main_gaps
from subcast.names import plural

_COMMANDS = """```sh
subcast reproduce all          # every experiment; --scale full for the paper's size
subcast report                 # this page
```"""
_METHOD_NAMES = {
    "partial": "Nothing done (Partial)",
    "fdw": "The paper's method (FDW)",
    "subcast": "The default of `subcast`",
}
_CLAIM_VERBS = {
    "yes": "hold",
    "in part": "hold in part",
    "no": "do not hold",
    "undecided": "are undecided",
    "not measured": "are not measured",
}


def overview_section(all_records: AllRecords) -> Iterator[str]:
    """Yield the main results in a few lines."""
    yield "## In short"
    lines = [f"- {_contest_sentence('Simple baselines', _simple(contests(all_records)))}"]
    lines += [line for method in _METHOD_NAMES for line in _span_of_gaps(all_records, method)]
    counts = count_claims(all_records)
    claims = ", ".join(f"{count} {_CLAIM_VERBS[answer]}" for answer, count in counts.items())
    lines.append(f"- Of the {sum(counts.values())} claims of the paper that are tested [below](#its-claims), {claims}.")
    yield "\n".join(lines)


def _span_of_gaps(all_records: AllRecords, method: str) -> Iterator[str]:
    """Yield a line with the smallest and largest gap of a method, none if it was not measured."""
    spans = []
    for datasets, paper_data in (("ECG5000", True), ("the other datasets", False)):
        values = main_gaps(all_records, method, paper_data=paper_data)
        if values:
            span = f"{min(values):+.1f} to {max(values):+.1f} %" if len(values) > 1 else f"{values[0]:+.1f} %"
            spans.append(f"{span} on {datasets} ({plural(len(values), 'cell')})")
    if spans:
        yield f"- {_METHOD_NAMES[method]}: gap of MAE {'; '.join(spans)}."


def simpler_methods_section(all_records: AllRecords) -> Iterator[str]:
    """Yield which methods do better than the default of subcast, simple ones first."""
    yield "## Where something simpler wins"
    every = contests(all_records)
    simple = _simple(every)
    others = [contest for contest in every if contest.rival not in (*SIMPLE, "partial")]
    if not every:
        yield "Not measured yet: no record has the default of `subcast` beside another method."
        return
    names = ", ".join(METHODS[name] for name in SIMPLE if any(contest.rival == name for contest in simple))
    yield _contest_sentence("Simple baselines" + (f" ({names})" if names else ""), simple)
    yield from _table(simple)
    yield _contest_sentence("Other methods (the paper's FDW, imputation, models trained for a known S)", others)
    yield from _table(others)
    partial = [contest for contest in every if contest.rival == "partial"]
    if partial:
        yield _contest_sentence("Doing nothing (Partial)", partial)
        yield from _table(partial)


def _simple(every: Sequence[Contest]) -> list[Contest]:
    return [contest for contest in every if contest.rival in SIMPLE]


def _contest_sentence(who: str, compared: Sequence[Contest]) -> str:
    if not compared:
        return f"{who}: none is recorded beside the default of `subcast` yet."
    lost = [contest for contest in compared if contest.lost]
    clearly_better = sum(contest.clear for contest in lost)
    clearly_worse = sum(contest.clear for contest in compared if not contest.lost)
    return (
        f"{who}: **better than the default of `subcast` in {len(lost):,} of {len(compared):,} comparisons** of MAE or "
        f"RMSE, significantly (by the 95 % intervals) in {clearly_better:,}; significantly worse in {clearly_worse:,}."
    )


def _table(compared: Sequence[Contest]) -> Iterator[str]:
    """Yield a table with one row for each method that is better than the default in a cell."""
    cells: dict[tuple[str, str, str, str], dict[str, Contest]] = {}
    for contest in compared:
        key = (contest.record.experiment, contest.record.label, contest.group, contest.rival)
        cells.setdefault(key, {})[contest.metric] = contest
    rows = []
    for (experiment, label, group, rival), by_metric in cells.items():
        if any(contest.lost for contest in by_metric.values()):
            subset = f"{group} clusters" if experiment == "table-correlated" else group
            link = f"[{experiment}](#{experiment})"
            texts = (_contest_text(by_metric[metric]) for metric in ("mae", "rmse"))
            rows.append([link, label, subset, METHODS.get(rival, rival), *texts])
    if rows:
        columns = ["experiment", "cell", "S", "method", "MAE: its error against ours", "RMSE: its error against ours"]
        yield markdown_table(columns, rows, left=4)


def _contest_text(contest: Contest) -> str:
    significant = ", significant" if contest.clear else ""
    text = f"{contest.theirs:.2f} against {contest.ours:.2f} ({contest.difference:+.2f} %{significant})"
    return f"**{text}**" if contest.lost else text


def runs_section(
    all_records: AllRecords, others: int, trainings: Sequence[Mapping[str, Any]], data: Mapping[str, str]
) -> Iterator[str]:
    """Yield data, machine, hours, versions, dates, and the commands that run everything again."""
    records = list(iterate_records(all_records))
    yield "## What was run"
    yield "\n".join(_dataset_line(records, name, text) for name, text in data.items())
    yield _effort(records, others, trainings)
    yield from _stored_intervals(records)
    if trainings:
        yield _training_table(trainings)
        yield (
            "Cells of models that are not in this table are declared too. They can be run after their model is "
            "trained: `python benchmarks/train_records.py MODEL-DATASET`, as in `astgcn-clouds`."
        )
    yield (
        "To run it again, put the folder of the data in `SUBCAST_DATA` and the trained models in "
        "`results/checkpoints/`. Cells that have a record are skipped, and an interrupted cell is resumed:"
    )
    yield _COMMANDS


def _stored_intervals(records: Sequence[Record]) -> Iterator[str]:
    """Yield a line about the records whose intervals cannot be computed again."""
    stored = sum(record.has_stored_intervals for record in records)
    if stored:
        yield (
            f"{plural(stored, 'record', 'has')} no tallies of errors by draw and stretch of windows, so the intervals "
            "stored at the time of measuring are shown. All other intervals are computed from tallies."
        )


def _dataset_line(records: Sequence[Record], name: str, text: str) -> str:
    """Return a line on a dataset, with the number of variables in its record and in the paper."""
    record = next((r for r in records if r.experiment == "table-datasets" and r.dataset == name), None)
    if record is None:
        return f"- `{name}` {text}"
    published = published_number(record, "", "variables")
    original = "" if published is None else f"; {ORIGINALS[name].upper()} has {published.mean:,.0f}"
    return f"- `{name}` ({record.figures['variables']:,} variables{original}) {text}"


def _effort(records: Sequence[Record], others: int, trainings: Sequence[Mapping[str, Any]]) -> str:
    """Return hours, machine, versions, dates, and numbers of draws and trainings."""
    hours = sum(record.seconds for record in records) / 3600
    versions = ", ".join(sorted({record.version for record in records}))
    days = sorted({record.date[:10] for record in records})
    period = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    text = f"{plural(len(records), 'record')}, {_hours_text(hours)} of measuring"
    if trainings:
        text += f" and {_hours_text(sum(training['hours'] for training in trainings))} of training"
    text += f", on {_machine(records, trainings)}, with subcast {versions}, {period}. "
    text += _draws_and_trainings(records)
    if others:
        text += f"{plural(others, 'record', 'is')} of other datasets (quick checks): not shown."
    return text.strip()


def _draws_and_trainings(records: Sequence[Record]) -> str:
    """Return the numbers of draws and trainings, ours and the paper's; "" where no record has draws."""
    draws = sorted(record.draws for record in records if record.groups)
    if not draws:
        return ""
    scales = [experiment.scales["full"] for experiment in load_experiments().values()]
    paper_draws = max(int(scale.get("draws", 0)) for scale in scales)
    paper_trainings = max(int(scale.get("seeds", 1)) for scale in scales)
    our_draws = f"{draws[0]}" if draws[0] == draws[-1] else f"{draws[0]} to {draws[-1]}"
    our_trainings = plural(max(record.seed for record in records) + 1, "training")
    return (
        f"Each cell has {our_draws} draws of S and at most {our_trainings}; the paper has {paper_draws} and "
        f"{paper_trainings}. "
    )


def _hours_text(hours: float) -> str:
    return f"{hours:.1f} hours" if hours >= 1 else f"{60 * hours:.0f} minutes"


def _machine(records: Sequence[Record], trainings: Sequence[Mapping[str, Any]]) -> str:
    machine = next((t["machine"] for t in trainings if "cpu" in t.get("machine", {})), None)
    pythons = ", ".join(sorted({str(record.machine["python"]) for record in records}))
    processors = ", ".join(sorted({str(record.machine["processor"]) for record in records}))
    if machine is None:
        return f"{processors} with Python {pythons}"
    cores = plural(int(machine["cores"]), "core")
    return f"{cores} of {machine['cpu']} ({processors}, {machine['system']}) with Python {pythons}"


def _training_table(trainings: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        [
            f"`{training['dataset']}`",
            training_label(training),
            training.get("preset", training["protocol"]),
            training["protocol"],
            _every_text(training.get("every", 1)),
            str(training["config"]["epochs"]),
            str(len(training["epochs"])),
            f"{training['hours']:.2f}",
        ]
        for training in trainings
    ]
    columns = [
        "trained on",
        "model",
        "settings",
        "split and scaling",
        "training windows",
        "epochs at most",
        "epochs run",
        "hours",
    ]
    return markdown_table(columns, rows, left=5)


def _every_text(every: int) -> str:
    """Write which training windows were used.

    >>> _every_text(1), _every_text(2), _every_text(4)
    ('all', 'every 2nd', 'every 4th')
    """
    return {1: "all", 2: "every 2nd", 3: "every 3rd"}.get(every, f"every {every}th")
