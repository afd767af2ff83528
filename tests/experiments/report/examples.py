"""Records made by hand for every kind of measurement, and helpers to read the report."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from functools import cache
from pathlib import Path

import numpy as np

from subcast.comparison import Comparison, Tally
from subcast.experiments.declaration import Experiment, get_experiment
from subcast.experiments.report.page import write_report
from subcast.experiments.report.paper_claims import CLAIMS
from subcast.experiments.report.records import Record, read_records
from subcast.experiments.summaries import summarize_pairs
from subcast.metrics import Sums

DRAWS, STEP = 6, 12
OFF = {"oracle": 0.0, "partial": 0.3, "fdw": 0.03, "subcast": 0.01, "identity": 0.5, "apriori": 0.05}
CHOSEN = {
    "settings": {"exponent": 1.0, "temperature": 0.01, "neighbors": 20.0}, "validation_mae": 3.2,
    "validation_mae_of_fixed": 3.3, "validation_windows": 60, "validation_draws": 3, "tried": 80,
}  # fmt: skip
"""What a tuned method chose."""


def errors(methods: dict[str, float]) -> dict:
    """Rows of methods that are worse than the oracle by a share of its error, more so at later steps."""
    return deepcopy(_errors(tuple(methods.items())))


@cache
def _errors(methods: tuple[tuple[str, float], ...]) -> dict:
    return summarize_pairs(comparison(dict(methods)), STEP)


def comparison(methods: dict[str, float]) -> Comparison:
    """A comparison of such methods under six draws of S."""
    rng = np.random.default_rng(0)
    tallies: dict[str, list[Tally]] = {name: [] for name in methods}
    for _ in range(DRAWS):
        oracle = 3.4 + rng.normal() * 0.4 + np.arange(12) * 0.05
        for name, off in methods.items():
            noise = 0 if name == "oracle" else 0.001 * rng.normal()
            tallies[name].append(tally(oracle * (1 + off * np.linspace(0.5, 1, 12) + noise)))
    draws = [np.arange(3) + draw for draw in range(DRAWS)]
    return Comparison({name: Tally.join(own) for name, own in tallies.items()}, draws, range(0, 100, 10))


def tally(mae: np.ndarray) -> Tally:
    """A method's errors under one draw, the same in every stretch of windows; RMSE is 1.7 times MAE."""
    rmse = 1.7 * mae
    by_step = Sums(10 * mae[None], 10 * rmse[None] ** 2, np.full((1, 12), 10))
    stretches = np.ones((1, 5))
    by_stretch = Sums(2 * mae[-1] * stretches, 2 * rmse[-1] ** 2 * stretches, np.full((1, 5), 2))
    return Tally(by_step, {STEP: by_stretch})


def clusters(groups: dict) -> dict:
    """The facts about clusters in a record."""
    return {
        "found": 11, "eps": 0.25, "min_samples": 3, "sizes": [2] * 11, "left_alone_then_joined": 4,
        "mean_used": {group: float(group) + (group == "1") for group in groups},
        "widened_draws": {group: 5 * (group == "1") for group in groups},
    }  # fmt: skip


def ranked(ddw: float, fdw: float, spread: float = 0.001) -> dict:
    """Figures of the ranks that the two weightings give."""
    differences = [fdw - ddw - spread, fdw - ddw, fdw - ddw + spread]
    return {"validation_windows": 50, "ddw": ddw, "fdw": fdw, "difference_by_draw": differences}


def figures(experiment: Experiment, dataset: str) -> dict:
    """Figures of a record, in the form of the experiment's measurement."""
    return FIGURES_BY_MEASURE[experiment.measure](experiment, dataset)


def _error_figures(experiment: Experiment, dataset: str) -> dict:
    options = experiment.options
    names = [declared["name"] for declared in options.get("methods", [])]
    names = names or ["oracle", "partial", "apriori", "fdw", "subcast"]
    offs = {name: OFF.get(name, 0.2 / (1 + place)) for place, name in enumerate(names)}
    if "clusters" in options:
        groups = {str(count): errors({k: v * 3 / count for k, v in offs.items()}) for count in options["clusters"]}
        return {"test_windows": 100, "clusters": clusters(groups), "groups": groups}
    shares = options.get("shares")
    chosen = {"chosen": {"fdw-tuned": CHOSEN}} if "fdw-tuned" in names else {}
    if shares is None:
        return {"test_windows": 100, **chosen, "groups": {"15%": errors(offs)}}
    groups = {f"{round(100 * share)}%": errors({k: v * (1 - share) for k, v in offs.items()}) for share in shares}
    return {"test_windows": 100, "groups": groups}


def _rank_figures(experiment: Experiment, dataset: str) -> dict:
    mean = 0.5 if dataset in ("ecg5000", "traffic-20") else 0.1
    bars = np.linspace(1 - mean, mean, 20)
    histogram = (bars / bars.sum()).tolist()
    names = [str(count) for count in experiment.options.get("clusters", [])] or ["15%"]
    groups = {name: {"mrr": mean + 0.01 * place, "histogram": histogram} for place, name in enumerate(names)}
    facts = {"clusters": clusters(groups)} if "clusters" in experiment.options else {}
    return {"validation_windows": 50, **facts, "edges": np.linspace(0, 1, 21).tolist(), "groups": groups}


def _pagerank_figures(experiment: Experiment, dataset: str) -> dict:
    x = np.linspace(0.8, 0.9, 30)
    y = x + np.random.default_rng(0).normal(size=30) * 0.03
    return {"correlation": float(np.corrcoef(x, y)[0, 1]), "pagerank": x.tolist(), "gap": y.tolist()}


def _rounds_figures(experiment: Experiment, dataset: str) -> dict:
    table = {"rounds": [1.2, 1.8, 2.1, 2.4, 2.8], "compared": [0.01, 0.02, 0.04, 0.07, 0.1]}
    return {"neighbors": [1, 5, 10, 20, 50], "tables": {"all x 2": table}}


def _dataset_figures(experiment: Experiment, dataset: str) -> dict:
    steps, variables = (5000, 140) if dataset == "ecg5000" else (100, 20)
    facts = {"steps": steps, "variables": variables, "rate": None, "lookback": 12, "horizon": 12}
    return facts | {"missing_share": 0.077, "windows": [3484, 498, 995]}


FIGURES_BY_MEASURE = {
    "errors": _error_figures,
    "apriori": _error_figures,
    "reciprocal-rank": _rank_figures,
    "weighting-rank": lambda experiment, dataset: ranked(0.45, 0.47),
    "pagerank": _pagerank_figures,
    "rounds": _rounds_figures,
    "datasets": _dataset_figures,
}


def write_record(
    folder: Path, name: str, dataset: str, model: str, *, seed: int = 0, measured: dict | None = None
) -> Path:
    experiment = get_experiment(name)
    record = {
        "record": f"{name}/{dataset}-{model}",
        "version": "0.1.0",
        "date": "2026-11-16T01:00:00+00:00",
        "machine": {"processor": "x86_64", "python": "3.11.7"},
        "experiment": name,
        "dataset": dataset,
        "model": model,
        "seed": seed,
        "draws": DRAWS,
        "every": 10,
        "scale": "quick",
        "seconds": 1800.0,
        "command": f"subcast reproduce {name}",
        "figures": measured or figures(experiment, dataset),
    }
    path = folder / name / f"{dataset}-{model or 'none'}{seed or ''}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record))
    return path


def load_one(folder: Path, name: str, dataset: str, model: str, measured: dict | None = None) -> Record:
    write_record(folder, name, dataset, model, measured=measured)
    return next(r for r in read_records(folder)[0][name] if (r.dataset, r.model) == (dataset, model))


def section(page: str, heading: str) -> str:
    """The text under a heading, up to the next heading of its level or higher."""
    level = heading.split(" ")[0]
    after = page.split(f"\n{heading}\n", 1)[1]
    return re.split(rf"\n#{{2,{len(level)}}} ", after)[0]


def report(folder: Path) -> dict[str, str]:
    """The pages written from the records in `r`, by name, the first page under "page"."""
    first = write_report(folder / "r", folder / "page.md", folder / "figures")
    return {path.stem: path.read_text(encoding="utf-8") for path in [first, *(folder / "page").glob("*.md")]}


def row_of(text: str, *starts: str) -> list[str]:
    """The cells of the table row that begins with these."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[: len(starts)] == list(starts):
            return cells
    raise AssertionError(f"no row {starts} in {text}")


def ask(tmp_path: Path, words: str, *records: tuple[str, str, str, dict]) -> list[bool]:
    """The outcomes of a claim for records of these figures."""
    for name, dataset, model, measured in records:
        write_record(tmp_path, name, dataset, model, measured=measured)
    (claim,) = [claim for claim in CLAIMS if claim.words == words]
    return [outcome.holds for outcome in claim.ask(read_records(tmp_path)[0])]


def gaps_of(**offs: float) -> dict:
    """Figures with these gaps of MAE (in per cent) in one group."""
    shares = {name.replace("_", "-"): off / 100 for name, off in offs.items()}
    return {"test_windows": 9, "groups": {"15%": errors({"oracle": 0.0} | shares)}}


def rounds_of(*tables, compared=(0.1, 0.2, 0.3)) -> dict:
    """Figures of query tables with these rounds."""
    named = {f"way {place}": {"rounds": rounds, "compared": list(compared)} for place, rounds in enumerate(tables)}
    return {"neighbors": [1, 5, 10], "tables": named}


def settings_of(letter: str, values: dict[float, float]) -> dict:
    """Figures with these gaps of MAE (in per cent) for values of a setting."""
    shares = {f"{letter}={value:g}": off / 100 for value, off in values.items()}
    return {"test_windows": 9, "groups": {"15%": errors({"oracle": 0.0} | shares)}}
