"""Write the figures of the records into README.md and docs/; nothing there is typed.

Run `python benchmarks/figures.py` after a benchmark; a test compares what stands there with the records.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from subcast.experiments.report.records import MODELS, read_trainings, trained_label

ROOT = Path(__file__).resolve().parent.parent
PAIRS = ("mtgnn", "tcn", "lstnet", "mstgcn", "astgcn")
DATASETS = ("ecg5000", "metr-la-29", "pems-bay-67", "clouds")
ABLATION = (
    "borrow, 5 passes",
    "corrected, 5 passes",
    "pooled, not corrected",
    "pooled and corrected",
    "specialist alone",
)


def load(name: str) -> dict[str, Any] | None:
    """The figures of a record, or None when it has not been made."""
    path = ROOT / "results" / f"{name}.json"
    figures: dict[str, Any] | None = json.loads(path.read_text())["figures"] if path.exists() else None
    return figures


def rows() -> list[tuple[str, str, str]]:
    """What, how much, and the command that measures it."""
    table: list[tuple[str, str, str]] = []
    if data := load("data"):
        windows, full = data["windows_as_views"], data["clouds_full"]
        command = "benchmarks/data.py"
        table += [
            (
                f"all windows of a {windows['series_mb']:.0f} MB series ({windows['windows_mb_if_copied']:,.0f} MB "
                "as copies)",
                f"{windows['windows_extra_mb']:.2f} MB more",
                command,
            ),
            ("`clouds`, 137 plants x 52,560 steps", f"{full['seconds']:.1f} s, {full['peak_mb']:.0f} MB", command),
            ("`import subcast`, start of Python included", f"{data['importing']['wall_s']:.2f} s", command),
        ]
    if retrieval := load("retrieval"):
        shape, grown = retrieval["metr_la_shape"], retrieval["growth"][-1]
        command = "benchmarks/retrieval.py"
        repeated, plain = shape["sliding_against_torch_repeated"], shape["sliding_against_torch_broadcast"]
        table += [
            ("one query of a whole test set, METR-LA shape", f"{shape['sliding_ms_a_query']:.3f} ms", command),
            (
                "against torch, eight queries at once (repeated as the published code does; plain broadcasting)",
                f"{repeated:,.0f}x; {plain:,.0f}x",
                command,
            ),
            ("against faiss, Lp", f"{shape['sliding_against_faiss']:,.0f}x", command),
            ("one query alone, against faiss, Lp", f"{shape['independent_against_faiss']:.0f}x", command),
            (
                f"one query among {grown['windows']:,} windows, 3 of 20 variables, exact",
                f"{grown['index_ms_a_query']:.0f} ms",
                command,
            ),
        ]
    if models := load("forecasters"):
        for row in models["cases"]:
            if row["model"] == "mtgnn":
                table.append(
                    (
                        f"MTGNN at the shape of {row['shape']}, against its plain formulation (forward; training step)",
                        f"{row['forward_ratio']:.1f}x; {row['step_ratio']:.1f}x",
                        "benchmarks/forecasters.py",
                    )
                )
    if wrapper := load("wrapper-speed"):
        test, command = wrapper["test_set"], "benchmarks/wrapper.py"
        table += [
            (
                f"a test set of {test['windows']:,} windows, 32 of 207 variables, with MTGNN",
                f"{test['default_seconds_in_all']:.0f} s",
                command,
            ),
            (
                "against the paper's procedure written plainly (with our faster MTGNN)",
                f"{test['ratio']:,.0f}x ({test['ratio_with_our_model']:,.0f}x)",
                command,
            ),
            (
                "one request, a frame in and a Forecast out (median; 99th percentile)",
                f"{wrapper['request']['whole']['median_ms']:.1f} ms; {wrapper['request']['whole']['p99_ms']:.1f} ms",
                command,
            ),
            ("what a new subset adds to it", f"{wrapper['new_subset']['solving']['median_ms']:.1f} ms", command),
        ]
    return table


def pairs() -> list[tuple[str, str, dict[str, Any]]]:
    """Dataset, model and figures of every pair that was measured."""
    found = [(dataset, model, load(f"wrapper-{model}-{dataset}")) for dataset in DATASETS for model in PAIRS]
    return [(dataset, model, figures) for dataset, model, figures in found if figures is not None]


def speed() -> str:
    """The table of speeds."""
    return markdown(("what", "measured", "command"), [(w, m, f"`python {c}`") for w, m, c in rows()])


def gaps() -> str:
    """Gaps of MAE to the oracle with 95 % intervals, a row a pair."""
    return gap_table("mae", {"Partial": "partial", "paper (FDW)": "fdw", "subcast": "subcast"})


def gaps_rmse() -> str:
    """The same for RMSE: the default, and the wrapper tuned for it."""
    columns = {"Partial": "partial", "paper (FDW)": "fdw", "subcast": "subcast"}
    return gap_table("rmse", {**columns, "tuned for RMSE": "subcast, tuned for rmse"})


def gap_table(metric: str, columns: dict[str, str]) -> str:
    """Gaps of some methods, by their heading, beside the oracle and the oracle with a specialist of its own."""
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
    """MAE / RMSE gaps of the parts."""
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
    """Coverage and width of the 90 % intervals."""
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
    """The models of record: errors with all variables in, beside the published ones where there are."""
    body = []
    for record in read_trainings(ROOT / "results"):
        found = record["figures"]
        beside = "", ""
        if "published_mae" in found:
            beside = (
                f"{found['published_mae']:.2f} ± {found['published_mae_deviation']:.2f}",
                f"{found['mae_against_published_percent']:+.1f} %",
            )
        body.append(
            (
                record["dataset"],
                trained_label(record),
                f"{found['parameters']:,}",
                f"{found['best_epoch']} of {len(record['epochs'])}",
                f"{found['oracle_mae_step_12']:.3f}",
                f"{found['oracle_rmse_step_12']:.3f}",
                *beside,
                f"{60 * record['hours']:.0f} min",
            )
        )
    heads = ("data", "model", "parameters", "best epoch", "MAE", "RMSE", "published MAE", "off by", "trained")
    return markdown(heads, sorted(body))


def choices() -> str:
    """What was tried in the making: gaps of the model's part and of the specialist alone."""
    found = load("wrapper-choices")
    if found is None:
        return ""
    names = list(found)
    parts = [(name, part) for name in names for part in ("model", "specialist")]

    return markdown(
        ("variant", *(f"{name}: {part}" for name, part in parts)),
        [
            (variant, *(both_gaps(found[name]["variants"][variant][part]) for name, part in parts))
            for variant in found[names[0]]["variants"]
        ],
    )


def gap(figures: dict[str, Any], name: str, metric: str, *, interval: bool = True) -> str:
    """A gap in per cent with its interval."""
    method = figures["methods"][name]
    low, high = method[f"{metric}_gap_interval"]
    return f"{method[f'{metric}_gap']:+.1f} %" + (f" ({low:+.1f} to {high:+.1f})" if interval else "")


def both_gaps(errors: dict[str, Any]) -> str:
    """The gaps of MAE and RMSE, side by side."""
    return f"{errors['mae_gap']:+.1f} / {errors['rmse_gap']:+.1f}"


def markdown(heads: tuple[str, ...], body: list[tuple[str, ...]]) -> str:
    """A table."""
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in body)]) + "\n"


BLOCKS = {
    "README.md": {"speed": speed, "gaps": gaps},
    "docs/forecasters.md": {"trainings": trainings},
    "docs/method.md": {
        "gaps": gaps,
        "gaps-rmse": gaps_rmse,
        "ablation": ablation,
        "coverage": coverage,
        "choices": choices,
    },
}


def marks(name: str) -> tuple[str, str]:
    """What stands before and after a block."""
    return f"<!-- {name}: written by benchmarks/figures.py -->\n", f"<!-- /{name} -->\n"


def main() -> None:
    """Put every block into its page."""
    for page, blocks in BLOCKS.items():
        path = ROOT / page
        text = path.read_text()
        for name, write in blocks.items():
            start, end = marks(name)
            before, found, rest = text.partition(start)
            if found:
                text = f"{before}{start}{write()}{end}{rest.partition(end)[2]}"
        path.write_text(text)


if __name__ == "__main__":
    main()
