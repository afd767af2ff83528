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


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    """A record on disk with the layout of benchmarks/wrapper_records.py."""
    rng = np.random.default_rng(0)
    target = np.zeros((80, 12, 3))
    spreads = {"oracle": 1.0, "subcast": 1.1}
    tallies = {
        name: Tally.join([Tally.of(spread * rng.normal(size=target.shape), target) for _ in range(8)])
        for name, spread in spreads.items()
    }
    comparison = Comparison(tallies, [np.arange(3)] * 8, range(80))
    rounded = Comparison.from_record(comparison.to_record(12))
    content = {
        "step": 12,
        "methods": {name: rounded.row(name, 12) for name in spreads},
        "tallies": {"main": rounded.to_record(12), "parts": rounded.to_record(12)},
    }
    path = tmp_path_factory.mktemp("results") / "wrapper-x.json"
    path.write_text(json.dumps({"figures": content}))
    return path


def test_the_printed_interval_is_that_of_the_tallies_on_disk(record):
    content = json.loads(record.read_text())["figures"]
    gap = Comparison.from_record(json.loads(record.read_text()), "main").gap("subcast", "mae", 12)
    printed = figures.gap(content, "subcast", "mae")
    assert printed == f"{gap.gap:+.1f} % ({gap.lower:+.1f} to {gap.upper:+.1f})"
    assert content["methods"]["subcast"]["mae_gap_interval"] == [gap.lower, gap.upper]
    content["methods"]["subcast"]["mae_gap_interval"] = [-99.0, 99.0]
    assert figures.gap(content, "subcast", "mae") == printed  # what is stored does not matter
    assert figures.gap(content, "subcast", "mae", interval=False) == f"{gap.gap:+.1f} %"


def test_a_record_without_tallies_shows_its_stored_interval(record):
    content = json.loads(record.read_text())["figures"]
    del content["tallies"]
    content["methods"]["subcast"] |= {"mae_gap": 3.0, "mae_gap_interval": [-1.0, 7.0]}
    assert figures.gap(content, "subcast", "mae") == "+3.0 % (-1.0 to +7.0)†"


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


def test_the_first_table_is_computed_from_the_tallies(accuracy_folder):
    assert figures.accuracy() == ""
    for share, model in ((0.5, "tcn-calendar"), (0.15, "tcn-calendar"), (0.15, "mtgnn"), (0.15, "linear")):
        record, comparison = accuracy_record(share, model=model)
        (accuracy_folder / f"accuracy-{model}-metr-la-29-{round(100 * share)}.json").write_text(json.dumps(record))
    lines = [line for line in figures.accuracy().splitlines() if line.startswith("| metr-la-29")]
    assert [line.split(" | ")[1:3] for line in lines] == [  # no row for the ridge over all variables
        ["MTGNN", "15 %"],
        ["TCN, calendar", "15 %"],
        ["TCN, calendar", "50 %"],
    ]
    cells = lines[0].strip("| ").split(" | ")[3:]
    mae, rmse = (comparison.row("subcast (mae)", 12)[metric] for metric in ("mae", "rmse"))
    assert cells[0] == f"{2 * mae:.3f} / {2 * rmse:.3f}"
    assert cells[1] == "– / –"
    assert cells[2] == f"{mae:.3f} / {rmse:.3f}"
    assert cells[3] == f"ridge on S {1.5 * mae:.3f} / ridge on S {1.5 * rmse:.3f}"
    assert cells[4].startswith("own past (mae) ")
    assert cells[5] == "-33.3 (-33.3 to -33.3) / -33.3 (-33.3 to -33.3)"
    assert cells[6] == "+10.0 (+10.0 to +10.0) / +10.0 (+10.0 to +10.0)"


def test_the_costs_are_those_of_the_smallest_share(accuracy_folder):
    for share in (0.15, 0.5):
        record, _ = accuracy_record(share)
        (accuracy_folder / f"accuracy-x-{share}.json").write_text(json.dumps(record))
    lines = figures.accuracy_costs().splitlines()[2:]
    assert len(lines) == 7
    assert lines[0] == "| metr-la-29 | TCN, calendar | oracle | 2.0 | 3.2 | – |"
