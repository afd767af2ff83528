"""Write the numbers of the records into README.md and docs/, so that none is typed by hand.

Run `python benchmarks/figures.py` after a benchmark; a test compares the pages with the records.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from subcast.comparison import Comparison, Gap, Tally
from subcast.metrics import METRICS
from subcast.experiments.report.records import MODELS, read_records, read_trainings, training_label
from subcast.experiments.report.summary import headlines

ROOT = Path(__file__).resolve().parent.parent
PAIRS = ("mtgnn", "tcn", "lstnet", "mstgcn", "astgcn")
DATASETS = ("ecg5000", "metr-la-29", "pems-bay-67", "clouds")
# Order of the first table:
ACCURACY = ("metr-la-29", "pems-bay-67", "beijing-pollutants", "clouds", "traffic-20", "ecg5000-test-first")
MODERN = {"tsmixer": "TSMixer", "itransformer": "iTransformer"}
ABLATION = (
    "borrow, 5 passes",
    "corrected, 5 passes",
    "pooled, not corrected",
    "pooled and corrected",
    "specialist alone",
)


def load(name: str) -> dict[str, Any] | None:
    """Return the figures of a record, None if it was not measured."""
    path = ROOT / "results" / f"{name}.json"
    figures: dict[str, Any] | None = json.loads(path.read_text())["figures"] if path.exists() else None
    return figures


OTHER_RECORDS = {"benchmarks/wrapper.py": "wrapper-speed"}
"""Records whose name is not that of their script."""

SpeedRow = tuple[str, str, str]
"""What was measured, the number, and the script that measures it."""


def speed_rows() -> list[SpeedRow]:
    """Return the rows of the table of speeds."""
    return [*data_rows(), *retrieval_rows(), *forecaster_rows(), *wrapper_rows()]


def data_rows() -> list[SpeedRow]:
    """Return the speeds of loading and windowing data."""
    figures = load("data")
    if figures is None:
        return []
    windows, clouds = figures["windows_as_views"], figures["clouds_full"]
    script = "benchmarks/data.py"
    series, copies = f"{windows['series_mb']:.0f} MB", f"{windows['windows_mb_if_copied']:,.0f} MB"
    return [
        (
            f"all windows of a {series} series ({copies} as copies)",
            f"{windows['windows_extra_mb']:.2f} MB more",
            script,
        ),
        ("`clouds`, 137 plants x 52,560 steps", f"{clouds['seconds']:.1f} s, {clouds['peak_mb']:.0f} MB", script),
        ("`import subcast`, start of Python included", f"{figures['importing']['wall_s']:.2f} s", script),
    ]


def retrieval_rows() -> list[SpeedRow]:
    """Return the speeds of retrieval."""
    figures = load("retrieval")
    if figures is None:
        return []
    shape, largest = figures["metr_la_shape"], figures["growth"][-1]
    script = "benchmarks/retrieval.py"
    repeated, broadcast = shape["sliding_against_torch_repeated"], shape["sliding_against_torch_broadcast"]
    return [
        ("one query of a whole test set, METR-LA shape", f"{shape['sliding_ms_a_query']:.3f} ms", script),
        (
            "against torch, eight queries at once (repeated as the published code does; plain broadcasting)",
            f"{repeated:,.0f}x; {broadcast:,.0f}x",
            script,
        ),
        ("against faiss, Lp", f"{shape['sliding_against_faiss']:,.0f}x", script),
        ("one query alone, against faiss, Lp", f"{shape['independent_against_faiss']:.0f}x", script),
        (
            f"one query among {largest['windows']:,} windows, 3 of 20 variables, exact",
            f"{largest['index_ms_a_query']:.0f} ms",
            script,
        ),
    ]


def forecaster_rows() -> list[SpeedRow]:
    """Return the speeds of MTGNN."""
    figures = load("forecasters")
    cases = [] if figures is None else figures["cases"]
    return [
        (
            f"MTGNN at the shape of {case['shape']}, against its plain formulation (forward; training step)",
            f"{case['forward_ratio']:.1f}x; {case['step_ratio']:.1f}x",
            "benchmarks/forecasters.py",
        )
        for case in cases
        if case["model"] == "mtgnn"
    ]


def wrapper_rows() -> list[SpeedRow]:
    """Return the speeds of the wrapper."""
    figures, times = load("wrapper-speed"), load("request-times")
    if figures is None or times is None:
        return []
    test, request, script = figures["test_set"], times["one_client"]["one_thread"], "benchmarks/wrapper.py"
    return [
        (
            f"a test set of {test['windows']:,} windows, 32 of 207 variables, with MTGNN",
            f"{test['default_seconds_in_all']:.0f} s",
            script,
        ),
        (
            "against the paper's procedure written plainly (with our faster MTGNN)",
            f"{test['ratio']:,.0f}x ({test['ratio_with_our_model']:,.0f}x)",
            script,
        ),
        (
            "one request, a frame in and a Forecast out (median; 99th percentile)",
            f"{request['median_ms']:.1f} ms; {request['p99_ms']:.1f} ms",
            "benchmarks/request_times.py",
        ),
        ("what a new subset adds to it", f"{figures['new_subset']['solving']['median_ms']:.1f} ms", script),
    ]


def pairs() -> list[tuple[str, str, dict[str, Any]]]:
    """Return dataset, model and figures of every pair that was measured."""
    declared = [(dataset, model, load(f"wrapper-{model}-{dataset}")) for dataset in DATASETS for model in PAIRS]
    return [(dataset, model, figures) for dataset, model, figures in declared if figures is not None]


def speed() -> str:
    """Return the table of speeds."""
    rows = [(what, measured, measured_on(script), f"`python {script}`") for what, measured, script in speed_rows()]
    return markdown(("what", "measured", "on", "command"), rows)


def measured_on(script: str) -> str:
    """Return the day on which a script wrote its record, which has the script's name or is named in `OTHER_RECORDS`."""
    name = OTHER_RECORDS.get(script, Path(script).stem.replace("_", "-"))
    return str(json.loads((ROOT / "results" / f"{name}.json").read_text())["date"])[:10]


def accuracy_records() -> list[dict[str, Any]]:
    """Return the records of benchmarks/accuracy_records.py in the order of the table, those of other data left out."""
    found = [json.loads(path.read_text()) for path in (ROOT / "results").glob("accuracy-*.json")]
    kept = [record for record in found if record["dataset"] in ACCURACY and record["model"] != "linear"]

    def place(record: dict[str, Any]) -> tuple[int, int, str, float]:
        kind = record["model"].partition("-")[0]
        number = PAIRS.index(kind) if kind in PAIRS else len(PAIRS)
        return ACCURACY.index(record["dataset"]), number, record["model"], record["share"]

    return sorted(kept, key=place)


def accuracy() -> str:
    """Return README's first table: an answer in words, and the smallest share of each pair; nothing without records."""
    found = accuracy_records()
    if not found:
        return ""
    rows = [accuracy_row(record) for record in found if record["share"] == smallest_share(record, found)]
    heads = ("data", "model", "Oracle", "Oracle with the same help", "subcast", "best rival")
    table = markdown(
        (*heads, "subcast against best rival, %", "your model adds, %"),
        [(*row[:2], *row[3:7], *row[8:]) for row in rows],
    )
    return f"{accuracy_answer(found)}\n\n{ACCURACY_TEXT}\n{table}"


def accuracy_all() -> str:
    """Return the whole table of accuracy: all shares present, also the rival that is best on test."""
    heads = ("data", "model", "present", "Oracle", "Oracle with the same help", "subcast", "best rival")
    heads = (*heads, "best rival on test", "subcast against best rival, %", "your model adds, %")
    return markdown(heads, [accuracy_row(record) for record in accuracy_records()])


ACCURACY_TEXT = """\
The table has errors at step 12 as MAE / RMSE with 15 % of the variables present, subcast tuned for each. *Oracle*: the
model with all variables, *with the same help* blended with subcast's other experts. The *best rival* is the best of all
that a user could do instead, with or without the model, chosen on validation windows. Gaps in per cent with 95 %
intervals over draws of S and stretches of test windows: below zero, subcast is better. *Your model adds*: by how much
the error grows when subcast is fitted without the model.
"""


def accuracy_answer(found: Sequence[dict[str, Any]]) -> str:
    """Return in words how often subcast is better than the best rival, over all pairs, shares and both metrics."""
    sentences = []
    rivals = {"chosen_rival": "the best rival chosen on validation", "best_on_test": "the rival that is best on test"}
    for key, words in rivals.items():
        gaps = [accuracy_gap(record, metric, key) for record in found for metric in record["figures"]["rows"]]
        better, worse = (sum(sign * gap.gap < 0 for gap in gaps) for sign in (1, -1))
        clearly = [sum(gap.upper < 0 for gap in gaps), sum(gap.lower > 0 for gap in gaps)]
        sentences.append(
            f"against {words}, subcast has the smaller error in {better} (significantly in {clearly[0]}) and the "
            f"larger one in {worse} (significantly in {clearly[1]})"
        )
    shares = sorted({f"{record['share']:.0%}".replace("%", " %") for record in found}, key=lambda text: int(text[:-2]))
    return textwrap.fill(
        "Is there something simpler that does better? "
        f"**{len(found) * 2} comparisons** ({len({record['pair'] for record in found})} pairs of data and model, "
        f"{', '.join(shares)} present, MAE and RMSE): {sentences[0]}; {sentences[1]}. [All of them]"
        "(docs/method.md#against-everything-simpler).",
        120,
        break_on_hyphens=False,
    )


@cache
def _comparison(path_and_content: str) -> Comparison:
    return Comparison.from_record(json.loads(path_and_content), "test")


def comparison_of(record: dict[str, Any]) -> Comparison:
    """Return the tallies of a record of accuracy, read once."""
    return _comparison(json.dumps({"figures": {"tallies": record["figures"]["tallies"]}}))


def accuracy_gap(record: dict[str, Any], metric: str, base: str) -> Gap:
    """Return the gap of the default to one of the rivals of a row."""
    row = record["figures"]["rows"][metric]
    return comparison_of(record).gap(row["default"], metric, record["figures"]["step"], base=row[base])


def smallest_share(record: dict[str, Any], found: Sequence[dict[str, Any]]) -> float:
    """Return the smallest share present at which the pair of a record was measured."""
    return min(float(each["share"]) for each in found if each["pair"] == record["pair"])


def gap_words(gap: Gap) -> str:
    """Return a gap with its interval, if it has one."""
    return f"{gap.gap:+.1f}" + (f" ({gap.lower:+.1f} to {gap.upper:+.1f})" if gap.interval else "")


def accuracy_row(record: dict[str, Any]) -> tuple[str, ...]:
    """Return a row of the whole table, computed from the tallies of the record."""
    comparison, figures = comparison_of(record), record["figures"]
    cells: list[list[str]] = []
    for metric, row in figures["rows"].items():

        def error(name: str, metric: str = metric, label: str = "") -> str:
            known = name in comparison.methods
            return f"{label}{comparison.row(name, figures['step'])[metric]:.3f}" if known else "–"

        chosen, best, default = row["chosen_rival"], row["best_on_test"], row["default"]
        without = f"subcast without f ({metric})"
        cells.append(
            [
                error("oracle"),
                error(f"oracle with help ({metric})"),
                error(default),
                error(chosen, label=f"{chosen} "),
                error(best, label=f"{best} "),
                gap_words(accuracy_gap(record, metric, "chosen_rival")),
                gap_words(comparison.gap(without, metric, figures["step"], base=default)),
            ]
        )
    both = (" / ".join(pair) for pair in zip(*cells, strict=True))
    return (record["dataset"], model_label(record["model"]), f"{record['share']:.0%}".replace("%", " %"), *both)


def model_label(kind: str) -> str:
    """Return the name of a model and of its variant, such as "TCN, calendar"."""
    base, _, variant = kind.partition("-")
    return {**MODELS, **MODERN}.get(base, base) + (f", {variant}" if variant else "")


def accuracy_costs() -> str:
    """Return what each method costs on the first pair of each dataset: fit, a request, and what is stored."""
    found = accuracy_records()
    first = {
        record["dataset"]: record for record in reversed(found) if record["share"] == smallest_share(record, found)
    }
    shown = [first[dataset] for dataset in ACCURACY if dataset in first]
    names = list(dict.fromkeys(name for record in shown for name in record["figures"]["methods"]))
    heads = ("method", *(f"{record['dataset']}, {model_label(record['model'])}" for record in shown))
    return markdown(heads, [(name, *(cost_words(record, name) for record in shown)) for name in names])


def cost_words(record: dict[str, Any], name: str) -> str:
    """Return what a method costs in a record; a dash where it was not measured."""
    costs = record["figures"]["methods"].get(name)
    if costs is None:
        return "–"
    size = "–" if costs["megabytes"] is None else f"{costs['megabytes']:.1f}"
    return f"{costs['fit_seconds']:.1f} s, {costs['request_ms']:.1f} ms, {size} MB"


def gaps() -> str:
    """Return the gaps of MAE to the oracle with 95 % intervals, a row for each pair."""
    return gap_table("mae")


def gaps_rmse() -> str:
    """Return the gaps of RMSE to the oracle, of the wrapper tuned for RMSE."""
    return gap_table("rmse")


GAP_COLUMNS = {
    "Partial": "f, means filled in",
    "usual values filled in": "f, usual values filled in",
    "paper (FDW)": "published (FDW)",
    "subcast": "subcast ({})",
    "subcast without the model": "subcast without f ({})",
    "Oracle with the same help": "oracle with help ({})",
}


def gap_table(metric: str) -> str:
    """Return the gaps of methods to the oracle at the smallest share of each pair, from the records of accuracy."""
    found = accuracy_records()
    rows = []
    for record in found:
        if record["share"] == smallest_share(record, found):
            comparison, step = comparison_of(record), record["figures"]["step"]
            named = (name.format(metric) for name in GAP_COLUMNS.values())
            cells = (
                gap_words(comparison.gap(name, metric, step)) if name in comparison.methods else "–" for name in named
            )
            oracle = f"{comparison.row('oracle', step)[metric]:.3f}"
            rows.append((record["dataset"], model_label(record["model"]), oracle, *cells))
    return markdown(("data", "model", f"Oracle {metric.upper()}", *GAP_COLUMNS), rows)


def ablation() -> str:
    """Return the gaps of MAE and RMSE of the parts of the default."""
    heads = ("data", "model", "FDW, 10 passes", *ABLATION)
    return markdown(
        heads,
        [
            (
                dataset,
                MODELS[model],
                *(both_gaps({**figures["methods"], **figures["parts"]}[name]) for name in ("fdw", *ABLATION)),
            )
            for dataset, model, figures in pairs()
        ],
    )


def trainings() -> str:
    """Return the models of record: errors with all variables present, beside the published ones if there are any."""
    body = []
    for record in read_trainings(ROOT / "results"):
        figures = record["figures"]
        published, difference = "", ""
        if "published_mae" in figures:
            published = f"{figures['published_mae']:.2f} ± {figures['published_mae_deviation']:.2f}"
            difference = f"{figures['mae_against_published_percent']:+.1f} %"
        body.append(
            (
                record["dataset"],
                training_label(record),
                f"{figures['parameters']:,}",
                f"{figures['best_epoch']} of {len(record['epochs'])}",
                f"{figures['oracle_mae_step_12']:.3f}",
                f"{figures['oracle_rmse_step_12']:.3f}",
                published,
                difference,
                f"{60 * record['hours']:.0f} min",
            )
        )
    heads = ("data", "model", "parameters", "best epoch", "MAE", "RMSE", "published MAE", "off by", "trained")
    return markdown(heads, sorted(body))


def choices() -> str:
    """Return the gaps of variants of the settings: of the model's part and of the specialist alone."""
    figures = load("wrapper-choices")
    if figures is None:
        return ""
    names = list(figures)
    parts = [(name, part) for name in names for part in ("model", "specialist")]

    return markdown(
        ("variant", *(f"{name}: {part}" for name, part in parts)),
        [
            (variant, *(both_gaps(figures[name]["variants"][variant][part]) for name, part in parts))
            for variant in figures[names[0]]["variants"]
        ],
    )


def limits() -> str:
    """Return the table of what limits of readings let through and catch."""
    figures = load("limits") or {}
    kinds = ("999999", "-999", "times 1000", "other sign", "Fahrenheit for Celsius", "Kelvin for Celsius")
    errors = ("with", "absurd_with", "absurd_without")
    rows = [
        (
            name,
            f"{row['readings']:,}",
            f"{sum(row['holes'].values())}",
            *(
                f"{row['caught'][kind]['whole']:.0%}".replace("%", " %") if kind in row["caught"] else ""
                for kind in kinds
            ),
            *(f"{row['errors'][key]:.4g}" for key in errors),
        )
        for name, row in figures.items()
    ]
    heads = ("data", "test readings", "holes", *kinds, "MAE", "MAE, one variable at 999999", "the same without limits")
    return markdown(heads, rows)


def both_gaps(errors: dict[str, Any]) -> str:
    """Return the gaps of MAE and RMSE, side by side."""
    return f"{errors['mae_gap']:+.1f} / {errors['rmse_gap']:+.1f}"


def intervals() -> str:
    """Return coverage, width and interval score of the intervals beside those of quantile boosting on own past."""
    rows = []
    for path in sorted((ROOT / "results").glob("intervals-*.json")):
        record = json.loads(path.read_text())
        for share, methods in record["figures"].items():
            cells = (coverage_text(methods.get(name)) for name in ("subcast", "subcast, adapted", "quantile boosting"))
            rows.append((record["record"].removeprefix("intervals-"), share, *cells))
    heads = ("model and data", "present", "subcast", "subcast, adapted in a stream", "quantile boosting on own past")
    return markdown(heads, rows)


def coverage_text(scores: dict[str, float] | None) -> str:
    """Return coverage, width and interval score in words; a dash for what was not measured."""
    if scores is None:
        return "–"
    return f"{scores['coverage']:.1%}, width {scores['width']:.2f}, score {scores['interval_score']:.2f}"


def further() -> str:
    """Return the default beside the best simple rival on data that are in no other table."""
    rows = []
    for path in sorted((ROOT / "results").glob("further-*.json")):
        record = json.loads(path.read_text())
        for row in record["figures"]["rows"]:
            rows.append(
                (
                    record["record"].removeprefix("further-"),
                    f"{row['share']:.0%}",
                    row["metric"].upper(),
                    row["best_rival"],
                    row["to_best_rival"],
                    row["to_oracle"],
                )
            )
    heads = ("data", "present", "metric", "best rival on test", "subcast to it", "subcast to the oracle")
    return markdown(heads, rows)


def missingness() -> str:
    """Return the gaps of the default where readings go missing as they do in practice, by pattern and size."""
    rows = []
    for path in sorted((ROOT / "results").glob("missingness-*.json")):
        record = json.loads(path.read_text())
        for name, cell in record["figures"]["cells"].items():
            pattern, _, size = name.partition(", ")
            gaps = (
                " / ".join(_gap_of_pattern(cell["gaps_of_default"][metric], base.format(metric)) for metric in METRICS)
                for base in ("oracle", "own past ({})", "ridge on S")
            )
            rows.append((record["pair"], pattern, size, f"{cell['share_with_a_reading']:.0%}", *gaps))
    return markdown(("pair", "pattern", "drawn", "have a reading", "to Oracle", "to own past", "to ridge on S"), rows)


def _gap_of_pattern(gaps: dict[str, dict[str, Any]], base: str) -> str:
    """Return a stored gap with its interval, if it has one."""
    gap, interval = gaps[base]["gap"], gaps[base]["interval"]
    return f"{gap:+.1f}" + ("" if interval is None else f" ({interval[0]:+.1f} to {interval[1]:+.1f})")


def apriori() -> str:
    """Return the default beside a TCN that was trained on S alone, on the draws of S for which there is one."""
    rows = []
    for path in sorted((ROOT / "results").glob("apriori-*.json")):
        record = json.loads(path.read_text())
        known, step = comparison_of(record), record["figures"]["step"]
        default = json.loads(path.with_name(path.name.replace("apriori-", "accuracy-", 1)).read_text())
        both = beside(comparison_of(default), known)
        (name,) = known.methods
        errors, gaps = [], []
        for metric in METRICS:
            own = f"subcast ({metric})"
            errors.append([f"{both.errors(method, metric, step).mean():.3f}" for method in (name, own)])
            gaps.append(gap_words(both.gap(own, metric, step, base=name)))
        alone, ours = (" / ".join(pair) for pair in zip(*errors, strict=True))
        label = model_label(default["model"])
        rows.append(
            (record["dataset"], label, f"{record['share']:.0%}", str(len(both.draws)), alone, ours, " / ".join(gaps))
        )
    heads = ("data", "model that subcast wraps", "present", "draws", "a TCN for each S", "subcast", "subcast to it, %")
    return markdown(heads, rows)


def beside(comparison: Comparison, fewer: Comparison) -> Comparison:
    """Return a comparison with the methods of another one on its first draws of S and the same windows."""
    count = len(fewer.draws)
    same = len(comparison.draws) >= count and all(map(np.array_equal, comparison.draws, fewer.draws))
    if not same or comparison.starts != fewer.starts:
        raise ValueError("the two records must have the same windows and draws of S: measure the newer one again")
    tallies = {
        name: Tally(
            tally.by_step.map(lambda sums: sums[:count]),
            {step: by_step.map(lambda sums: sums[:count]) for step, by_step in tally.by_stretch.items()},
        )
        for name, tally in comparison.tallies.items()
    }
    return Comparison({**tallies, **fewer.tallies}, fewer.draws, fewer.starts)


def finetuned() -> str:
    """Return what it changes to train a model further with most variables absent before it is wrapped."""
    rows = []
    for path in sorted((ROOT / "results").glob("finetuned-*.json")):
        record = json.loads(path.read_text())
        test, step = comparison_of(record), record["figures"]["step"]
        wrapped, alone = (
            " / ".join(
                gap_words(test.gap(name.format(metric), metric, step, base=f"subcast ({metric})")) for metric in METRICS
            )
            for name in ("subcast, model trained further ({})", "model trained further, given S alone")
        )
        rows.append(
            (record["pair"], f"{record['epochs']}", f"{record['figures']['training_seconds']:.0f} s", wrapped, alone)
        )
    heads = ("pair", "further epochs", "they took", "subcast with that model, %", "that model, given S alone, %")
    return markdown(heads, rows)


def reproduction() -> str:
    """Return what the report says of the paper, in a few lines."""
    all_records, _ = read_records(ROOT / "results" / "reproduce")
    return "".join(
        textwrap.fill(f"- {text}", width=125, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        + "\n"
        for text in headlines(all_records)
    )


def markdown(heads: tuple[str, ...], body: list[tuple[str, ...]]) -> str:
    """Return a Markdown table."""
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in body)]) + "\n"


BLOCKS = {
    "README.md": {"accuracy": accuracy, "reproduction": reproduction, "speed": speed},
    "docs/guide/limits.md": {"limits": limits},
    "docs/forecasters.md": {"trainings": trainings},
    "docs/method.md": {
        "accuracy-all": accuracy_all,
        "costs": accuracy_costs,
        "further": further,
        "missingness": missingness,
        "apriori": apriori,
        "finetuned": finetuned,
        "gaps": gaps,
        "gaps-rmse": gaps_rmse,
        "ablation": ablation,
        "intervals": intervals,
        "choices": choices,
    },
}


def marks(name: str) -> tuple[str, str]:
    """Return the comments before and after a block."""
    return f"<!-- {name}: written by benchmarks/figures.py -->\n", f"<!-- /{name} -->\n"


def main() -> None:
    """Write every block into its page."""
    for page, blocks in BLOCKS.items():
        path = ROOT / page
        text = path.read_text()
        for name, write in blocks.items():
            start, end = marks(name)
            before, mark, rest = text.partition(start)
            if mark:
                text = f"{before}{start}{write()}{end}{rest.partition(end)[2]}"
        path.write_text(text)


if __name__ == "__main__":
    main()
