"""Write the numbers of the records into README.md and docs/, so that none is typed by hand.

Run `python benchmarks/figures.py` after a benchmark; a test compares the pages with the records.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from subcast.comparison import Comparison, has_tallies
from subcast.experiments.report.records import MODELS, read_trainings, training_label

ROOT = Path(__file__).resolve().parent.parent
PAIRS = ("mtgnn", "tcn", "lstnet", "mstgcn", "astgcn")
DATASETS = ("ecg5000", "metr-la-29", "pems-bay-67", "clouds")
ACCURACY = ("metr-la-29", "pems-bay-67", "beijing-pollutants", "clouds", "traffic-20")  # order of the first table
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
    figures = load("wrapper-speed")
    if figures is None:
        return []
    test, request, script = figures["test_set"], figures["request"]["whole"], "benchmarks/wrapper.py"
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
            script,
        ),
        ("what a new subset adds to it", f"{figures['new_subset']['solving']['median_ms']:.1f} ms", script),
    ]


def pairs() -> list[tuple[str, str, dict[str, Any]]]:
    """Return dataset, model and figures of every pair that was measured."""
    declared = [(dataset, model, load(f"wrapper-{model}-{dataset}")) for dataset in DATASETS for model in PAIRS]
    return [(dataset, model, figures) for dataset, model, figures in declared if figures is not None]


def speed() -> str:
    """Return the table of speeds."""
    rows = [(what, measured, f"`python {script}`") for what, measured, script in speed_rows()]
    return markdown(("what", "measured", "command"), rows)


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
    """Return README's first table: the Oracles, subcast and its best rivals; nothing without records."""
    rows = [accuracy_row(record) for record in accuracy_records()]
    if not rows:
        return ""
    heads = ("data", "model", "present", "Oracle", "Oracle with the same help", "subcast", "best rival")
    return f"{ACCURACY_TEXT}\n" + markdown(
        (*heads, "best rival on test", "subcast against best rival, %", "your model adds, %"), rows
    )


ACCURACY_TEXT = """\
Is there something simpler that does better? Errors at step 12 as MAE / RMSE, subcast tuned for each. *Oracle* is the
model with all variables, *with the same help* blended with subcast's other experts. The *best rival* is the best of all
that a user could do instead, with or without the model, chosen on validation windows; beside it the one that turned out
best on test. Gaps in per cent with 95 % intervals over draws of S and stretches of test windows: below zero, subcast is
better. *Your model adds*: by how much the error grows when subcast is fitted without the model.
"""


def accuracy_row(record: dict[str, Any]) -> tuple[str, ...]:
    """Return a row of the first table, computed from the tallies of the record."""
    comparison, figures = Comparison.from_record(record, "test"), record["figures"]
    cells: list[list[str]] = []
    for metric, row in figures["rows"].items():

        def error(name: str, metric: str = metric, label: str = "") -> str:
            known = name in comparison.methods
            return f"{label}{comparison.row(name, figures['step'])[metric]:.3f}" if known else "–"

        def gap_of(name: str, base: str, metric: str = metric) -> str:
            gap = comparison.gap(name, metric, figures["step"], base=base)
            return f"{gap.gap:+.1f}" + (f" ({gap.lower:+.1f} to {gap.upper:+.1f})" if gap.interval else "")

        chosen, best, default = row["chosen_rival"], row["best_on_test"], row["default"]
        cells.append(
            [
                error("oracle"),
                error(f"oracle with help ({metric})"),
                error(default),
                error(chosen, label=f"{chosen} "),
                error(best, label=f"{best} "),
                gap_of(default, chosen),
                gap_of(f"subcast without f ({metric})", default),
            ]
        )
    both = (" / ".join(pair) for pair in zip(*cells, strict=True))
    return (record["dataset"], model_label(record["model"]), f"{record['share']:.0%}".replace("%", " %"), *both)


def model_label(kind: str) -> str:
    """Return the name of a model and of its variant, such as "TCN, calendar"."""
    base, _, variant = kind.partition("-")
    return {**MODELS, **MODERN}.get(base, base) + (f", {variant}" if variant else "")


def accuracy_costs() -> str:
    """Return fit seconds, request milliseconds and megabytes of each method at the smallest share of each pair."""
    rows = []
    for record in accuracy_records():
        if record["share"] == min(each["share"] for each in accuracy_records() if each["pair"] == record["pair"]):
            for name, method in record["figures"]["methods"].items():
                size = "–" if method["megabytes"] is None else f"{method['megabytes']:.1f}"
                costs = (f"{method['fit_seconds']:.1f}", f"{method['request_ms']:.1f}", size)
                rows.append((record["dataset"], model_label(record["model"]), name, *costs))
    return markdown(("data", "model", "method", "fit, s", "a request, ms", "stored, MB"), rows)


def gaps() -> str:
    """Return the gaps of MAE to the oracle with 95 % intervals, a row for each pair."""
    return gap_table("mae", {"Partial": "partial", "paper (FDW)": "fdw", "subcast": "subcast"})


def gaps_rmse() -> str:
    """Return the gaps of RMSE to the oracle, also of the wrapper tuned for RMSE."""
    columns = {"Partial": "partial", "paper (FDW)": "fdw", "subcast": "subcast"}
    return gap_table("rmse", {**columns, "tuned for RMSE": "subcast, tuned for rmse"})


def gap_table(metric: str, columns: dict[str, str]) -> str:
    """Return the gaps of methods, by heading, beside the oracle and the oracle with a specialist of its own."""
    return markdown(
        ("data", "model", f"Oracle {metric.upper()}", *columns, "Oracle with a specialist"),
        [
            (
                dataset,
                MODELS[model],
                f"{figures['methods']['oracle'][metric]:.3f}",
                *(gap(figures, name, metric) for name in columns.values()),
                gap(figures, f"oracle with a specialist, tuned for {metric}", metric, interval=False),
            )
            for dataset, model, figures in pairs()
        ],
    )


def ablation() -> str:
    """Return the gaps of MAE and RMSE of the parts of the default."""
    heads = ("data", "model", "FDW, 10 passes", *ABLATION, "blend (the default)")
    return markdown(
        heads,
        [
            (
                dataset,
                MODELS[model],
                *(
                    both_gaps({**figures["methods"], **figures["parts"]}[name])
                    for name in ("fdw", *ABLATION, "subcast")
                ),
            )
            for dataset, model, figures in pairs()
        ],
    )


def coverage() -> str:
    """Return coverage and width of the 90 % intervals."""
    shares = ("15%", "50%", "100%")
    return markdown(
        ("data", "model", *(f"{share} present" for share in shares)),
        [
            (
                dataset,
                MODELS[model],
                *(
                    f"{figures['coverage'][s]['coverage']:.1%} (width {figures['coverage'][s]['width']:.2f})"
                    for s in shares
                ),
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


def gap(figures: dict[str, Any], name: str, metric: str, *, interval: bool = True) -> str:
    """Return a gap in per cent with its interval, computed from the tallies of the record where it has them.

    An interval of a record without tallies resamples draws of S only and is marked with a dagger.
    """
    row = comparison_row(figures, name)
    lower, upper = row[f"{metric}_gap_interval"]
    mark = "" if has_tallies(figures) else "†"
    return f"{row[f'{metric}_gap']:+.1f} %" + (f" ({lower:+.1f} to {upper:+.1f}){mark}" if interval else "")


def comparison_row(figures: dict[str, Any], name: str) -> dict[str, Any]:
    """Return errors and gaps of a method: computed from the tallies, or as stored in a record without tallies."""
    if not has_tallies(figures):
        stored: dict[str, Any] = figures["methods"][name]
        return stored
    return Comparison.from_record(figures, "main").row(name, figures["step"])


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
            cells = [
                f"{each['coverage']:.1%}, width {each['width']:.2f}, score {each['interval_score']:.2f}"
                for each in (methods["subcast"], methods["quantile boosting"])
            ]
            rows.append((record["record"].removeprefix("intervals-"), share, *cells))
    return markdown(("model and data", "present", "subcast", "quantile boosting on own past"), rows)


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


def markdown(heads: tuple[str, ...], body: list[tuple[str, ...]]) -> str:
    """Return a Markdown table."""
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in body)]) + "\n"


BLOCKS = {
    "README.md": {"accuracy": accuracy, "speed": speed, "gaps": gaps},
    "docs/guide/limits.md": {"limits": limits},
    "docs/forecasters.md": {"trainings": trainings},
    "docs/method.md": {
        "further": further,
        "gaps": gaps,
        "gaps-rmse": gaps_rmse,
        "ablation": ablation,
        "intervals": intervals,
        "coverage": coverage,
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
