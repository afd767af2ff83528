"""The top of the report: where something simpler wins, then what was run, on what, and for how long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from subcast.experiments.declaration import load_experiments
from subcast.experiments.report.agreement import claims_counted
from subcast.experiments.report.records import METHODS, ORIGINALS, Found, Record, everything, printed, trained_label
from subcast.experiments.report.rivals import SIMPLE, Contest, contests
from subcast.experiments.report.tables import markdown_table
from subcast.experiments.report.verdicts import main_gaps
from subcast.names import plural

_COMMANDS = """```sh
subcast reproduce all          # every experiment; --scale full for the paper's size
subcast report                 # this page
```"""


def in_short(found: Found) -> Iterator[str]:
    """What came of it, in a few lines."""
    yield "## In short"
    told = {
        "partial": "Nothing done (Partial)",
        "fdw": "The paper's method (FDW)",
        "subcast": "The default of `subcast`",
    }
    lines = [f"- {_told('Simple baselines', _simple(contests(found)))}"]
    for method, name in told.items():
        parts = []
        for where, whole in (("ECG5000", True), ("the other datasets", False)):
            values = main_gaps(found, method, whole=whole)
            if values:
                span = f"{min(values):+.1f} to {max(values):+.1f} %" if len(values) > 1 else f"{values[0]:+.1f} %"
                parts.append(f"{span} on {where} ({plural(len(values), 'cell')})")
        if parts:
            lines.append(f"- {name}: gap of MAE {'; '.join(parts)}.")
    counted = claims_counted(found)
    words = {"yes": "hold", "in part": "hold in part", "no": "do not", "cannot be told": "cannot be told",
             "not measured": "are not measured"}  # fmt: skip
    claims = ", ".join(f"{count} {words[kind]}" for kind, count in counted.items())
    lines.append(f"- Of the paper's {sum(counted.values())} claims asked [below](#its-claims), {claims}.")
    yield "\n".join(lines)


def simpler_section(found: Found) -> Iterator[str]:
    """What does better than the default of subcast, simple things first."""
    yield "## Where something simpler wins"
    held = contests(found)
    simple = _simple(held)
    others = [contest for contest in held if contest.rival not in (*SIMPLE, "partial")]
    if not held:
        yield "Not measured yet: no record has the default of `subcast` beside anything else."
        return
    names = ", ".join(METHODS[name] for name in SIMPLE if any(contest.rival == name for contest in simple))
    yield _told("Simple baselines" + (f" ({names})" if names else ""), simple)
    yield from _table(simple)
    yield _told("Other methods (the paper's FDW, imputation, models trained for a known S)", others)
    yield from _table(others)
    undone = [contest for contest in held if contest.rival == "partial"]
    if undone:
        yield _told("Doing nothing (Partial)", undone)
        yield from _table(undone)


def _simple(held: Sequence[Contest]) -> list[Contest]:
    return [contest for contest in held if contest.rival in SIMPLE]


def _told(who: str, held: Sequence[Contest]) -> str:
    if not held:
        return f"{who}: none is recorded beside the default of `subcast` yet."
    lost = [contest for contest in held if contest.lost]
    clearly = sum(contest.clear for contest in lost)
    worse = sum(contest.clear for contest in held if not contest.lost)
    return (
        f"{who}: **better than the default of `subcast` in {len(lost):,} of {len(held):,} comparisons** of MAE or "
        f"RMSE, clearly (the 95 % intervals part the two) in {clearly:,}; clearly worse in {worse:,}."
    )


def _table(held: Sequence[Contest]) -> Iterator[str]:
    """One row for each method that wins somewhere in a cell."""
    cells: dict[tuple[str, str, str, str], dict[str, Contest]] = {}
    for contest in held:
        key = (contest.record.experiment, contest.record.label, contest.group, contest.rival)
        cells.setdefault(key, {})[contest.metric] = contest
    rows = []
    for (experiment, label, group, rival), both in cells.items():
        if any(contest.lost for contest in both.values()):
            what = f"{group} clusters" if experiment == "table-correlated" else group
            link = f"[{experiment}](#{experiment})"
            rows.append([link, label, what, METHODS.get(rival, rival), *(_one(both[m]) for m in ("mae", "rmse"))])
    if rows:
        columns = ["experiment", "cell", "S", "what", "MAE: its error against ours", "RMSE: its error against ours"]
        yield markdown_table(columns, rows, left=4)


def _one(contest: Contest) -> str:
    clear = ", clear" if contest.clear else ""
    text = f"{contest.theirs:.2f} against {contest.ours:.2f} ({contest.difference:+.2f} %{clear})"
    return f"**{text}**" if contest.lost else text


def what_was_run(
    found: Found, others: int, trainings: Sequence[Mapping[str, Any]], data: Mapping[str, str]
) -> Iterator[str]:
    """Data, machine, hours, versions, dates, and how to do it again."""
    records = list(everything(found))
    yield "## What was run"
    yield "\n".join(_dataset_line(records, name, text) for name, text in data.items())
    yield _effort(records, others, trainings)
    if trainings:
        yield _training_table(trainings)
        yield (
            "Cells of models that are not in this table are declared too, and run once their model is trained: "
            "`python benchmarks/train_records.py MODEL-DATASET`, as in `astgcn-clouds`."
        )
    yield (
        "To run it again, with the data's folder in `SUBCAST_DATA` and the trained models in `results/checkpoints/` "
        "(a cell that has a record is passed over, one that was interrupted goes on where it was):"
    )
    yield _COMMANDS


def _dataset_line(records: Sequence[Record], name: str, text: str) -> str:
    """A dataset, with the numbers of variables from its record and from the paper."""
    facts = next((r for r in records if r.experiment == "table-datasets" and r.dataset == name), None)
    if facts is None:
        return f"- `{name}` {text}"
    number = printed(facts, "", "variables")
    theirs = "" if number is None else f"; {ORIGINALS[name].upper()} has {number.mean:,.0f}"
    return f"- `{name}` ({facts.figures['variables']:,} variables{theirs}) {text}"


def _effort(records: Sequence[Record], others: int, trainings: Sequence[Mapping[str, Any]]) -> str:
    hours = sum(record.seconds for record in records) / 3600
    versions = ", ".join(sorted({record.version for record in records}))
    days = sorted({record.date[:10] for record in records})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    draws = sorted(record.draws for record in records if record.groups)
    full = max(int(experiment.scales["full"].get("draws", 0)) for experiment in load_experiments().values())
    seeds = max(int(experiment.scales["full"].get("seeds", 1)) for experiment in load_experiments().values())
    text = f"{plural(len(records), 'record')}, {_long(hours)} of measuring"
    if trainings:
        text += f" and {_long(sum(told['hours'] for told in trainings))} of training"
    text += f", on {_machine(records, trainings)}, with subcast {versions}, {when}. "
    if draws:
        drawn = f"{draws[0]}" if draws[0] == draws[-1] else f"{draws[0]} to {draws[-1]}"
        trained = max(record.seed for record in records) + 1
        ours = f"{drawn} draws of S and {plural(trained, 'training')} at most"
        text += f"Each cell has {ours}; the paper has {full} and {seeds}. "
    if others:
        text += f"{plural(others, 'record', 'is')} of other datasets (quick checks): not shown."
    return text.strip()


def _long(hours: float) -> str:
    return f"{hours:.1f} hours" if hours >= 1 else f"{60 * hours:.0f} minutes"


def _machine(records: Sequence[Record], trainings: Sequence[Mapping[str, Any]]) -> str:
    told = next((t["machine"] for t in trainings if "cpu" in t.get("machine", {})), None)
    pythons = ", ".join(sorted({str(record.machine["python"]) for record in records}))
    kinds = ", ".join(sorted({str(record.machine["processor"]) for record in records}))
    if told is None:
        return f"{kinds} with Python {pythons}"
    return f"{plural(int(told['cores']), 'core')} of {told['cpu']} ({kinds}, {told['system']}) with Python {pythons}"


def _training_table(trainings: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        [
            f"`{told['dataset']}`",
            trained_label(told),
            told.get("preset", told["protocol"]),
            told["protocol"],
            {1: "all", 2: "every 2nd", 3: "every 3rd"}.get(told.get("every", 1), f"every {told.get('every')}th"),
            str(told["config"]["epochs"]),
            str(len(told["epochs"])),
            f"{told['hours']:.2f}",
        ]
        for told in trainings
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
