"""Reading records, and the published number for each of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.report.examples import STEP, comparison, errors, load_one, report, write_record
from subcast.comparison import Comparison
from subcast.errors import DataError
from subcast.experiments.declaration import load_experiments
from subcast.experiments.report.records import METHODS, ORIGINALS, published_number, read_records
from subcast.experiments.summaries import summarize


def test_broken_record_is_named(tmp_path: Path) -> None:
    path = write_record(tmp_path, "table-main", "ecg5000", "tcn")
    path.write_text(path.read_text()[:-20])
    with pytest.raises(DataError, match=r"table-main/ecg5000-tcn.json cannot be read .* run its cell again"):
        read_records(tmp_path)


def test_records_of_undeclared_datasets_are_counted_and_left_out(tmp_path: Path) -> None:
    write_record(tmp_path / "r", "table-main", "ecg5000", "tcn")
    write_record(tmp_path / "r", "table-main", "clouds-small", "tcn")
    all_records, others = read_records(tmp_path / "r")
    assert [record.dataset for record in all_records["table-main"]] == ["ecg5000"]
    assert others == 1
    pages = report(tmp_path)
    assert "1 record is of other datasets" in pages["runs"]
    assert not any("clouds-small" in page for page in pages.values())


@pytest.mark.parametrize(
    ("experiment", "dataset", "model", "method", "metric", "group", "mean"),
    [
        ("table-oracle-partial", "ecg5000", "mtgnn", "oracle", "mae", "15%", 3.43),
        ("table-main", "ecg5000", "mtgnn", "partial", "delta_mae", "15%", 13.11),
        ("table-main", "pems-bay-67", "mtgnn", "fdw", "delta_mae", "15%", 7.50),
        ("table-main", "clouds", "tcn", "fdw", "delta_rmse", "15%", 18.12),
        ("table-main", "traffic-20", "tcn", "fdw", "delta_mae", "15%", 0.38),
        ("table-ablation", "ecg5000", "mstgcn", "b=0.5", "delta_mae", "15%", 1.13),
        ("table-ablation", "ecg5000", "mstgcn", "tau=0.1", "delta_rmse", "15%", 0.59),
        ("table-ablation", "ecg5000", "mstgcn", "tau=10", "delta_mae", "15%", 0.66),
        ("table-ablation", "ecg5000", "tcn", "b=0.5", "delta_mae", "15%", 1.07),
        ("figure-neighbors", "clouds", "astgcn", "m=5", "delta_mae", "15%", 4.32),
        ("table-correlated", "clouds", "astgcn", "fdw", "delta_mae", "7", 3.23),
        ("table-correlated", "clouds", "mstgcn", "partial", "rmse", "11", 7.02),
        ("table-correlated-mrr", "clouds", "", "", "mrr", "4", 0.5706),
        ("table-datasets", "metr-la-29", "", "", "variables", "15%", 207),
    ],
)
def test_printed_numbers_are_joined(
    tmp_path: Path, experiment: str, dataset: str, model: str, method: str, metric: str, group: str, mean: float
) -> None:
    record = load_one(tmp_path, experiment, dataset, model)
    number = published_number(record, method, metric, group)
    assert number is not None
    assert number.mean == mean


def test_what_the_paper_does_not_print_is_empty(tmp_path: Path) -> None:
    record = load_one(tmp_path, "table-correlated", "ecg5000", "mtgnn")
    assert published_number(record, "fdw", "delta_mae", "7") is None
    subset = load_one(tmp_path, "figure-subset-size", "ecg5000", "mtgnn")
    assert published_number(subset, "partial", "mae", "50%") is None  # table 1 is of 15 %
    assert published_number(subset, "partial", "mae", "15%") is not None


def test_every_method_and_dataset_has_a_name() -> None:
    for experiment in load_experiments().values():
        names = [measured["name"] for measured in experiment.options.get("methods", [])]
        assert all(name in METHODS or "=" in name for name in names)
        assert set(experiment.datasets) <= set(ORIGINALS)


def with_tallies(methods: dict[str, float]) -> dict:
    """Figures as a measurement writes them: the short summary, and the tallies."""
    tallies = comparison(methods).to_record(STEP)
    rows = summarize(Comparison.from_record(tallies), STEP)
    return {"test_windows": 9, "groups": {"15%": rows}, "tallies": {"15%": tallies}}


def test_intervals_are_computed_from_the_tallies_of_a_record(tmp_path: Path) -> None:
    """Those to Oracle are the stored ones to the bit; those of other pairs are not stored at all."""
    measured = with_tallies({"oracle": 0.0, "fdw": 0.03, "subcast": 0.01})
    record = load_one(tmp_path, "table-main", "ecg5000", "tcn", measured)
    assert "mae_against" not in measured["groups"]["15%"]["fdw"]
    for name, stored in measured["groups"]["15%"].items():
        row = record.methods[name]
        assert {key: row[key] for key in stored} == stored
    expected = comparison({"oracle": 0.0, "fdw": 0.03, "subcast": 0.01}).gap("fdw", "rmse", STEP, base="subcast")
    found = record.methods["fdw"]["rmse_against"]["subcast"]
    assert found == pytest.approx([expected.gap, expected.lower, expected.upper], abs=1e-5)
    assert not record.has_stored_intervals


def test_the_tallies_win_over_what_is_stored(tmp_path: Path) -> None:
    measured = with_tallies({"oracle": 0.0, "fdw": 0.03})
    stored = measured["groups"]["15%"]["fdw"]["mae_gap_interval"]
    measured["groups"]["15%"]["fdw"]["mae_gap_interval"] = [0.0, 99.0]
    record = load_one(tmp_path, "table-main", "ecg5000", "tcn", measured)
    assert record.methods["fdw"]["mae_gap_interval"] == stored


def test_a_record_without_tallies_keeps_its_stored_intervals(tmp_path: Path) -> None:
    measured = {"test_windows": 9, "groups": {"15%": errors({"oracle": 0.0, "fdw": 0.03})}}
    measured["groups"]["15%"]["fdw"]["mae_gap_interval"] = [-1.0, 7.0]
    record = load_one(tmp_path, "table-main", "ecg5000", "tcn", measured)
    assert record.has_stored_intervals
    assert record.methods["fdw"]["mae_gap_interval"] == [-1.0, 7.0]
    ranks = load_one(tmp_path, "figure-reciprocal-rank", "ecg5000", "")
    assert not ranks.has_stored_intervals  # it has no gap at all


def test_ways_to_set_ranges_have_one_spelling(tmp_path: Path) -> None:
    measured = {"neighbors": [1], "tables": {"tenth neighbour, all x 2": {"rounds": [1.0], "compared": [0.1]}}}
    record = load_one(tmp_path, "figure-rounds", "ecg5000", "", measured)
    assert list(record.figures["tables"]) == ["tenth neighbor, all x 2"]
