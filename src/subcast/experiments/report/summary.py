"""The first page of the report: an overview, the main results, other methods by name; and what was run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from subcast.experiments.declaration import load_experiments
from subcast.experiments.report.agreement import (
    PaperCheck,
    agreeing_with_no_gap,
    agreement,
    count_claims,
    paper_checks,
)
from subcast.experiments.report.orders import like_for_like, order_verdict
from subcast.experiments.report.paper_claims import CLAIMS
from subcast.experiments.report.records import (
    METHODS,
    MODELS,
    ORDERS,
    ORIGINALS,
    OTHER_ORDER,
    PAPER_ORDER,
    AllRecords,
    Record,
    iterate_records,
    published_number,
    training_label,
)
from subcast.experiments.report.rivals import SIMPLE, Contest, contests
from subcast.experiments.report.tables import draws_and_windows, every_text, markdown_table
from subcast.experiments.report.verdicts import main_gaps
from subcast.experiments.study import trained_name
from subcast.names import plural

_COMMANDS = """```sh
subcast reproduce all          # every experiment; --scale full for the paper's size
subcast report                 # these pages
```"""
_METHOD_NAMES = {
    "partial": "Nothing done (Partial)",
    "fdw": "The paper's method (FDW)",
    "subcast": "The default of `subcast`",
}
_VARIANTS_WITH_CELLS = ("", "identity", "hardened", "noise")
_CLAIM_VERBS = {
    "yes": ("holds", "hold"),
    "in part": ("holds in part", "hold in part"),
    "no": ("does not hold", "do not hold"),
    "undecided": ("is undecided", "are undecided"),
    "not measured": ("is not measured", "are not measured"),
}
"""What a claim does, and what several do."""


def overview_section(all_records: AllRecords, sentences: Sequence[str]) -> Iterator[str]:
    """Yield the main results in a few lines, and further sentences that are not empty."""
    yield "## In short"
    lines = [f"- {_claims_sentence(all_records)}"]
    lines += [line for method in _METHOD_NAMES for line in _span_of_gaps(all_records, method)]
    lines += [f"- {text}" for text in (*_rivals_sentences(all_records), *_clock_sentences(all_records))]
    lines += [f"- {text}" for text in _agreement_sentences(all_records)]
    question = "[Which order of ECG5000's rows](#ecg5000-which-order-of-rows) is the paper's?"
    lines.append(f"- {question} {order_verdict(all_records)}")
    lines += [f"- {text}" for text in sentences if text]
    yield "\n".join(lines)


def headlines(all_records: AllRecords) -> Iterator[str]:
    """Yield a few sentences for a reader of another page: what agrees, which order of rows, and where FDW is better."""
    checks = _checks_of(all_records, PAPER_ORDER)
    if checks:
        yield _agreement_sentence(all_records, PAPER_ORDER, checks)
    yield order_verdict(all_records)
    yield _claims_sentence(all_records, "")
    every = [contest for contest in contests(all_records) if contest.rival == "fdw"]
    lost = [contest for contest in every if contest.lost and contest.clear]
    won = sum(contest.clear and not contest.lost for contest in every)
    where = "; ".join(_contest_words(contest, "") for contest in lost)
    yield (
        f"Against the paper's method, the default of `subcast` has a significantly smaller error in {won} of "
        f"{len(every)} comparisons, and a significantly larger one in {len(lost)}{f': {where}' if where else ''}."
    )


def _claims_sentence(all_records: AllRecords, link: str = " ([below](#the-papers-claims))") -> str:
    counts = count_claims(all_records)
    claims = ", ".join(f"{count} {_CLAIM_VERBS[answer][count > 1]}" for answer, count in counts.items())
    text = f"Of the {sum(counts.values())} claims of the paper that are tested{link}, {claims}."
    alone = [claim for claim in CLAIMS if {outcome.dataset for outcome in claim.ask(all_records)} == {OTHER_ORDER}]
    if alone:
        text += f" For {len(alone)} of them there is only ECG5000 with its {ORDERS[OTHER_ORDER]}."
    return text


def _checks_of(all_records: AllRecords, dataset: str) -> list[PaperCheck]:
    """Return the comparisons with the paper's numbers on a dataset, without the facts of the dataset."""
    experiments = (of_one for name, of_one in all_records.items() if name != "table-datasets")
    records = [record for of_one in experiments for record in of_one if record.dataset == dataset]
    return paper_checks(records, all_records)


def _agreement_sentence(all_records: AllRecords, dataset: str, checks: Sequence[PaperCheck]) -> str:
    records = [record for record in iterate_records(all_records) if record.dataset == dataset and record.model]
    models = ", ".join(MODELS[model] for model in MODELS if any(record.model == model for record in records))
    return (
        f"ECG5000 with its {ORDERS[dataset]} ({models}): {sum(check.agrees for check in checks)} of {len(checks)} "
        f"comparisons with the published numbers agree ({agreement(checks)})."
    )


def _agreement_sentences(all_records: AllRecords) -> Iterator[str]:
    """Yield how many comparisons with the published ECG5000 numbers agree, in each order."""
    for dataset in ORDERS:
        checks = _checks_of(all_records, dataset)
        if checks:
            text = _agreement_sentence(all_records, dataset, checks)
            no_gap = agreeing_with_no_gap(checks)
            if no_gap:
                text += (
                    f" FDW's gaps are small and agree in {no_gap[0]} of {no_gap[2]}; if all of ours were 0, "
                    f"{no_gap[1]} would."
                )
            yield text
    both = like_for_like(all_records)
    if both:
        yield both


def _span_of_gaps(all_records: AllRecords, method: str) -> Iterator[str]:
    """Yield a line with the smallest and largest gap of a method, none if it was not measured."""
    spans = []
    for dataset in (*ORDERS, None):
        values = main_gaps(all_records, method, dataset)
        name = "the other datasets" if dataset is None else f"ECG5000 with its {ORDERS[dataset]}"
        if values:
            span = f"{min(values):+.1f} to {max(values):+.1f} %" if len(values) > 1 else f"{values[0]:+.1f} %"
            spans.append(f"{span} on {name} ({plural(len(values), 'cell')})")
    if spans and method == "subcast":
        days = sorted({r.date[:10] for r in all_records["table-main"] if method in r.methods and r.is_first})
        spans[-1] += f"; measured {days[0]}" + (f" to {days[-1]}; it changed in between" if days[1:] else "")
    if spans:
        yield f"- {_METHOD_NAMES[method]}: gap of MAE {'; '.join(spans)}."


def _rivals_sentences(all_records: AllRecords) -> Iterator[str]:
    """Yield which methods beat the default of subcast somewhere, and which simple ones nowhere, by name."""
    every = contests(all_records)
    simple = [contest for contest in every if contest.rival in SIMPLE]
    better = [METHODS[name] for name in SIMPLE if any(c.lost for c in simple if c.rival == name)]
    never = [METHODS[name] for name in SIMPLE if any(c.rival == name for c in simple) and METHODS[name] not in better]
    if better:
        where = "; ".join(_words_by_dataset(simple))
        yield f"Simple methods that beat the default of `subcast` somewhere: {where}."
    if never:
        yield f"Simple methods that nowhere beat it: {', '.join(never)} ([by name](#other-methods-by-name))."
    others = [contest for contest in every if contest.rival not in SIMPLE and contest.lost and contest.clear]
    if others:
        where = "; ".join(_contest_words(contest) for contest in others)
        yield f"Other methods that are significantly better than it somewhere: {where}."


def _words_by_dataset(compared: Sequence[Contest]) -> Iterator[str]:
    """Yield where a simple method wins, in a phrase for each dataset: most have the same error beside every model."""
    by_dataset: dict[tuple[str, str, str], list[Contest]] = {}
    for contest in compared:
        by_dataset.setdefault((contest.rival, contest.record.dataset, contest.metric), []).append(contest)
    for (rival, dataset, metric), own in by_dataset.items():
        won = [contest for contest in own if contest.lost]
        if won:
            sizes = [contest.difference for contest in won]
            span = f"{min(sizes):+.2f} to {max(sizes):+.2f} %" if len(sizes) > 1 else f"{sizes[0]:+.2f} %"
            models = ", ".join(MODELS[contest.record.model] for contest in won)
            clear = sum(contest.clear for contest in won)
            yield f"{METHODS[rival]} on {dataset} in {metric.upper()} beside {models} ({span}, {clear} significant)"


def _contest_words(contest: Contest, note: str = ", significant") -> str:
    size = f"{contest.difference:+.2f} %{note}"
    return f"{METHODS[contest.rival]} on {contest.record.label} in {contest.metric.upper()} ({size})"


def _clock_sentences(all_records: AllRecords) -> Iterator[str]:
    """Yield where the model has no clock and the default of subcast has, and where seasonal naive beats Oracle."""
    without = [
        f"`{record.dataset}`"
        for record in all_records.get("table-datasets", [])
        if record.figures["rate"] and record.figures.get("time_features") == []
    ]
    if without:
        yield (
            f"On {', '.join(without)} the model has no clock among its inputs, and the default of `subcast` has: "
            "part of its lead there is the time of day, not the missing sensors."
        )
    for record in all_records.get("table-main", []):
        naive, oracle = record.methods.get("seasonal-naive"), record.methods["oracle"]
        for metric in ("mae", "rmse"):
            if naive is not None and naive[metric] < oracle[metric]:
                yield (
                    f"On {record.label} the seasonal naive forecast beats Oracle in {metric.upper()}: "
                    f"{naive[metric]:.2f} against {oracle[metric]:.2f}. Oracle is no bound there."
                )


def main_table(all_records: AllRecords) -> str:
    """Return the main results: Oracle, Partial, FDW, the default, and the best simple method, a row for each cell."""
    rows = [_main_row(record) for record in all_records["table-main"]]
    columns = [
        "dataset", "model", "draws, windows", "measured", "Oracle, MAE", "published", "Partial, gap %", "published",
        "FDW, gap %", "published", "subcast, gap %", "best simple method, gap %",
    ]  # fmt: skip
    return "\n\n".join([markdown_table(columns, rows, left=4), *_without_their_model(all_records["table-main"])])


def _without_their_model(records: Sequence[Record]) -> Iterator[str]:
    """Yield for which models the default has the same forecasts, so that none of them has a part in it."""
    by_error: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        if "subcast" in record.methods and record.is_first:
            row = record.methods["subcast"]
            key = (record.dataset, record.size, f"{row['mae']:.6g}", f"{row['rmse']:.6g}")
            by_error.setdefault(key, []).append(record)
    texts = [
        f"`{own[0].dataset}` {', '.join(record.model_title for record in own)}"
        for own in by_error.values()
        if len(own) > 1
    ]
    if texts:
        yield (
            "Tuning gives the model no part in the default's forecasts, which are the same, for each of: "
            f"{'; '.join(texts)}."
        )


def _main_row(record: Record) -> list[str]:
    row = [f"`{record.dataset}`", record.model_title, draws_and_windows(record), record.date[:10]]
    row += [f"{record.methods['oracle']['mae']:.2f}", _published_cell(record, "oracle", "mae")]
    for method in ("partial", "fdw"):
        row += [_gap_cell(record, method), _published_cell(record, method, "delta_mae")]
    simple = [name for name in SIMPLE if name in record.methods]
    best = min(simple, key=lambda name: float(record.methods[name]["mae"]), default=None)
    return [*row, _gap_cell(record, "subcast"), "" if best is None else f"{METHODS[best]} {_gap_cell(record, best)}"]


def _gap_cell(record: Record, method: str) -> str:
    return f"{record.methods[method]['mae_gap']:.1f}" if method in record.methods else ""


def _published_cell(record: Record, method: str, metric: str) -> str:
    """Return the published number, in brackets where the dataset is only a stand-in."""
    number = published_number(record, method, metric)
    if number is None:
        return ""
    text = f"{number.mean:.1f}" if metric.startswith("delta") else f"{number.mean:.2f}"
    return text if record.dataset in ORDERS else f"({text})"


def rivals_section(all_records: AllRecords) -> Iterator[str]:
    """Yield every other method by name: in how many cells it is better or worse than the default of subcast."""
    every = contests(all_records)
    if not every:
        yield "Not measured yet: no record has the default of `subcast` beside another method."
        return
    names = list(dict.fromkeys(contest.rival for contest in every))
    names.sort(key=lambda name: (name not in SIMPLE, name == "partial"))
    rows = []
    for name in names:
        own = [contest for contest in every if contest.rival == name]
        cells = len({(c.record.experiment, c.record.label, c.group) for c in own})
        datasets = len({contest.record.dataset for contest in own})
        rows.append(
            [
                METHODS[name],
                str(cells),
                str(datasets),
                *(text for metric in ("mae", "rmse") for text in _scores(own, metric)),
            ]
        )
    columns = ["method", "cells", "datasets"]
    columns += [f"{metric}: {word}" for metric in ("MAE", "RMSE") for word in ("better", "worse", "undecided")]
    yield markdown_table(columns, rows)
    lost = [contest for contest in every if contest.lost]
    chance = 0.025 * len(every)
    yield (
        f"{len(every)} comparisons are made, and none is corrected for their number: if no method differed from the "
        f"default, about {chance:.0f} would be significantly better by chance, and as many worse."
    )
    if lost:
        yield "Every comparison that another method wins:"
        yield from _table(every)


def _scores(own: Sequence[Contest], metric: str) -> list[str]:
    """Return in how many cells a method is significantly better, significantly worse, and neither."""
    of_metric = [contest for contest in own if contest.metric == metric]
    better = sum(contest.clear and contest.lost for contest in of_metric)
    worse = sum(contest.clear and not contest.lost for contest in of_metric)
    return [str(better), str(worse), str(len(of_metric) - better - worse)]


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
    all_records: AllRecords,
    others: int,
    trainings: Sequence[Mapping[str, Any]],
    data: Mapping[str, str],
    committed: Set[str],
) -> Iterator[str]:
    """Yield data, machine, hours, versions, dates, trainings, and the commands that run everything again."""
    records = list(iterate_records(all_records))
    yield "## Data"
    yield "\n".join(_dataset_line(records, name, text) for name, text in data.items())
    yield "## Effort"
    yield _effort(records, others, trainings)
    yield from _stored_intervals(records)
    yield from _default_dates(all_records)
    if trainings:
        yield "## Trainings"
        yield committed_sentence(trainings, committed)
        yield _training_table(trainings, committed)
        yield (
            "Cells of models that are not in this table are declared too, and are counted nowhere. They can be run "
            "after their model is trained: `python benchmarks/train_records.py MODEL-DATASET`, as in `astgcn-clouds`."
        )
    yield "## To run it again"
    yield (
        "Put the folder of the data in `SUBCAST_DATA` and the trained models in `results/checkpoints/`. Cells that "
        "have a record with the same draws and windows are skipped, and an interrupted cell is resumed:"
    )
    yield _COMMANDS


def training_name(training: Mapping[str, Any]) -> str:
    """Return the name of a trained model, as in `results/checkpoints/`."""
    names = (training["model"], training["dataset"], int(training.get("seed", 0)), training.get("variant", ""))
    return trained_name(*names)


def committed_sentence(trainings: Sequence[Mapping[str, Any]], committed: Set[str]) -> str:
    """Return which trained models with cells are committed, and which must be trained again; "" without trainings."""
    names = [training_name(training) for training in trainings if _has_cells(training)]
    if not names:
        return ""
    absent = [name for name in names if name not in committed]
    text = f"{len(names) - len(absent)} of {plural(len(names), 'trained model')} are in `results/checkpoints/`."
    if not absent:
        return text
    return (
        f"{text} The others must be trained again before their cells can be measured again: "
        f"{', '.join(f'`{name}`' for name in absent)}."
    )


def _has_cells(training: Mapping[str, Any]) -> bool:
    """Return whether experiments of the paper use a trained model; others are for comparisons of the method page."""
    used = training["dataset"] in ORIGINALS and training["model"] in MODELS
    return used and training.get("variant", "") in _VARIANTS_WITH_CELLS


def _default_dates(all_records: AllRecords) -> Iterator[str]:
    """Yield when the default of subcast was measured, since it has changed between records of one version."""
    records = [record for record in iterate_records(all_records) if "subcast" in record.methods]
    days = Counter(record.date[:10] for record in records)
    if len(days) > 1:
        counts = ", ".join(f"{plural(count, 'record')} on {day}" for day, count in sorted(days.items()))
        yield (
            f"The default of `subcast` was measured in {counts}. It changed in between, so its numbers of different "
            "days are not of the same method; Oracle, Partial and FDW are."
        )


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


def _training_table(trainings: Sequence[Mapping[str, Any]], committed: Set[str]) -> str:
    rows = [
        [
            f"`{training['dataset']}`",
            training_label(training),
            training.get("preset", training["protocol"]),
            training["protocol"],
            every_text(training.get("every", 1)),
            str(training["config"]["epochs"]),
            str(len(training["epochs"])),
            f"{training['hours']:.2f}",
            "committed" if training_name(training) in committed else "to be trained again",
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
        "weights",
    ]
    return markdown_table(columns, rows, left=5)
