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
