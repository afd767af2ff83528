"""The intervals in README.md and docs/: from the tallies of a record, or as stored in a record without tallies."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from subcast.comparison import Comparison, Tally

SPEC = importlib.util.spec_from_file_location(
    "figures", Path(__file__).parent.parent.parent / "benchmarks" / "figures.py"
)
figures = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(figures)


def accuracy_record(share=0.15, dataset="metr-la-29", model="tcn-calendar"):
    """A record with the layout of benchmarks/accuracy_records.py; errors of a method are its spread times the same."""
    spreads = {"oracle": 2.0, "ridge on S": 1.5, "own past (mae)": 1.4}
    for metric in ("mae", "rmse"):
        spreads |= {f"subcast ({metric})": 1.0, f"subcast without f ({metric})": 1.1}
    noise = np.random.default_rng(0).normal(size=(8, 60, 12, 3))
    tallies = {
        name: Tally.join([Tally.of(spread * errors, np.zeros_like(errors)) for errors in noise])
        for name, spread in spreads.items()
    }
    comparison = Comparison(tallies, [np.arange(3)] * 8, range(60))
    rows = {
        metric: {"default": f"subcast ({metric})", "chosen_rival": "ridge on S", "best_on_test": "own past (mae)"}
        for metric in ("mae", "rmse")
    }
    cost = {"fit_seconds": 2.0, "request_ms": 3.25, "megabytes": None}
    content = {"step": 12, "rows": rows, "methods": dict.fromkeys(spreads, cost)}
    content["tallies"] = {"test": comparison.to_record(12)}
    facts = {"pair": f"{model}-{dataset}", "dataset": dataset, "model": model, "share": share}
    return {**facts, "figures": content}, comparison


@pytest.fixture
def accuracy_folder(tmp_path, monkeypatch):
    (tmp_path / "results").mkdir()
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    return tmp_path / "results"


def row_cells(line):
    return line.strip("| ").split(" | ")


def test_the_tables_of_accuracy_are_computed_from_the_tallies(accuracy_folder):
    assert figures.accuracy() == ""
    for share, model in ((0.5, "tcn-calendar"), (0.15, "tcn-calendar"), (0.15, "mtgnn"), (0.15, "linear")):
        record, comparison = accuracy_record(share, model=model)
        (accuracy_folder / f"accuracy-{model}-metr-la-29-{round(100 * share)}.json").write_text(json.dumps(record))
    lines = [line for line in figures.accuracy_all().splitlines() if line.startswith("| metr-la-29")]
    assert [line.split(" | ")[1:3] for line in lines] == [  # no row for the ridge over all variables
        ["MTGNN", "15 %"],
        ["TCN, calendar", "15 %"],
        ["TCN, calendar", "50 %"],
    ]
    cells = row_cells(lines[0])[3:]
    mae, rmse = (comparison.row("subcast (mae)", 12)[metric] for metric in ("mae", "rmse"))
    assert cells[0] == f"{2 * mae:.3f} / {2 * rmse:.3f}"
    assert cells[1] == "– / –"
    assert cells[2] == f"{mae:.3f} / {rmse:.3f}"
    assert cells[3] == f"ridge on S {1.5 * mae:.3f} / ridge on S {1.5 * rmse:.3f}"
    assert cells[4].startswith("own past (mae) ")
    assert cells[5] == "-33.3 (-33.3 to -33.3) / -33.3 (-33.3 to -33.3)"
    assert cells[6] == "+10.0 (+10.0 to +10.0) / +10.0 (+10.0 to +10.0)"
    first = figures.accuracy().splitlines()
    short = [row_cells(line) for line in first if line.startswith("| metr-la-29")]
    assert [row[1] for row in short] == ["MTGNN", "TCN, calendar"]
    assert short[0][2:] == [*cells[:4], *cells[5:]]
    answer = " ".join(first).split("**")[1:3]
    assert answer[0] == "6 comparisons"
    assert "15 %, 50 % present" in answer[1]
    assert answer[1].count("the smaller error in 6 (significantly in 6) and the larger one in 0") == 2


def test_gaps_to_the_oracle_are_computed_from_the_tallies(accuracy_folder):
    record, comparison = accuracy_record()
    (accuracy_folder / "accuracy-tcn-calendar-metr-la-29-15.json").write_text(json.dumps(record))
    for metric, table in (("mae", figures.gaps()), ("rmse", figures.gaps_rmse())):
        cells = row_cells(table.splitlines()[2])
        gap = comparison.gap(f"subcast ({metric})", metric, 12)
        assert cells[2] == f"{comparison.row('oracle', 12)[metric]:.3f}"
        assert cells[3:6] == ["–"] * 3  # what was not measured
        assert cells[6] == f"{gap.gap:+.1f} ({gap.lower:+.1f} to {gap.upper:+.1f})"


def test_the_costs_are_those_of_the_smallest_share(accuracy_folder):
    for share, seconds in ((0.15, 2.0), (0.5, 7.0)):
        record, _ = accuracy_record(share)
        for costs in record["figures"]["methods"].values():
            costs["fit_seconds"] = seconds
        (accuracy_folder / f"accuracy-x-{share}.json").write_text(json.dumps(record))
    lines = figures.accuracy_costs().splitlines()
    assert lines[0] == "| method | metr-la-29, TCN, calendar |"
    assert len(lines) == 2 + 7
    assert lines[2] == "| oracle | 2.0 s, 3.2 ms, – MB |"


def test_missingness_shows_every_pattern_and_size(accuracy_folder):
    def gaps(metric):
        bases = {"oracle": 1.0, f"own past ({metric})": -2.0, "ridge on S": -3.04}
        return {base: {"gap": gap, "interval": [gap - 1, gap + 1]} for base, gap in bases.items()}

    cell = {"share_with_a_reading": 0.138, "gaps_of_default": {metric: gaps(metric) for metric in ("mae", "rmse")}}
    alone = {**cell, "gaps_of_default": json.loads(json.dumps(cell["gaps_of_default"]))}
    alone["gaps_of_default"]["rmse"]["oracle"]["interval"] = None
    record = {"pair": "tcn-x", "figures": {"cells": {"dies, 15%": cell, "rising, all but one": alone}}}
    (accuracy_folder / "missingness-tcn-x.json").write_text(json.dumps(record))
    first, second = (row_cells(line) for line in figures.missingness().splitlines()[2:])
    assert first[:4] == ["tcn-x", "dies", "15%", "14%"]
    assert first[4] == "+1.0 (+0.0 to +2.0) / +1.0 (+0.0 to +2.0)"
    assert first[6] == "-3.0 (-4.0 to -2.0) / -3.0 (-4.0 to -2.0)"
    assert second[1:3] == ["rising", "all but one"]
    assert second[4] == "+1.0 (+0.0 to +2.0) / +1.0"


def tallied(draws, **spreads):
    noise = np.random.default_rng(1).normal(size=(draws, 60, 12, 3))
    tallies = {
        name: Tally.join([Tally.of(spread * errors, np.zeros_like(errors)) for errors in noise])
        for name, spread in spreads.items()
    }
    return Comparison(tallies, [np.arange(3)] * draws, range(60))


def test_models_of_a_known_s_stand_beside_the_default_on_the_same_draws(accuracy_folder):
    record, comparison = accuracy_record()
    (accuracy_folder / "accuracy-tcn-calendar-metr-la-29-15.json").write_text(json.dumps(record))
    known = tallied(3, **{"S apriori (TCN)": 4.0})
    apriori = {**record, "figures": {"step": 12, "tallies": {"test": known.to_record(12)}}}
    path = accuracy_folder / "apriori-tcn-calendar-metr-la-29-15.json"
    path.write_text(json.dumps(apriori))
    cells = row_cells(figures.apriori().splitlines()[2])
    own = [comparison.errors(f"subcast ({metric})", metric, 12)[:3].mean() for metric in ("mae", "rmse")]
    alone = [known.errors("S apriori (TCN)", metric, 12).mean() for metric in ("mae", "rmse")]
    assert cells[:4] == ["metr-la-29", "TCN, calendar", "15%", "3"]
    assert cells[4:6] == [f"{a:.3f} / {b:.3f}" for a, b in (alone, own)]
    gaps = [float(text.split()[0]) for text in cells[6].split(" / ")]
    assert gaps == pytest.approx([100 * (a / b - 1) for a, b in zip(own, alone, strict=True)], abs=0.06)
    apriori["figures"]["tallies"]["test"]["draws"][1] = [0, 1, 4]
    path.write_text(json.dumps(apriori))
    with pytest.raises(ValueError, match="must have the same windows and draws of S"):
        figures.apriori()


def test_models_trained_further_are_compared_with_the_default(accuracy_folder):
    names = {"subcast ({})": 1.0, "subcast, model trained further ({})": 0.9}
    spreads = {name.format(metric): spread for name, spread in names.items() for metric in ("mae", "rmse")}
    test = tallied(4, **spreads, **{"model trained further, given S alone": 1.2})
    figures_ = {"step": 12, "training_seconds": 33.3, "tallies": {"test": test.to_record(12)}}
    (accuracy_folder / "finetuned-tcn-x.json").write_text(
        json.dumps({"pair": "tcn-x", "epochs": 6, "figures": figures_})
    )
    cells = row_cells(figures.finetuned().splitlines()[2])
    assert cells[:3] == ["tcn-x", "6", "33 s"]
    assert [float(text.split()[0]) for text in cells[3].split(" / ")] == [-10, -10]
    assert [float(text.split()[0]) for text in cells[4].split(" / ")] == [20, 20]
