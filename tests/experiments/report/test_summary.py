"""The first page of the report: overview, main results, other methods by name; and what was run."""

from __future__ import annotations

import json
from pathlib import Path

from experiments.report.examples import DRAWS, STEP, comparison, gaps_of, report, row_of, section, write_record
from subcast.experiments.declaration import load_experiments
from subcast.experiments.report.records import read_records
from subcast.experiments.report.summary import headlines

TRAINING = {"protocol": "paper", "config": {"epochs": 1}, "epochs": [], "hours": 1}


def test_effort_is_summed(pages: dict[str, str]) -> None:
    text = pages["runs"]
    count = sum(len(experiment.cells("quick")) for experiment in load_experiments().values())
    assert f"{count} records, {count * 0.5:.1f} hours of measuring and 1.2 hours of training" in text
    assert "2 cores of Some CPU" in text
    assert f"{DRAWS} draws of S and at most 1 training; the paper has 100 and 10" in text
    assert "- `ecg5000` (140 variables; ECG5000 has 140) complete" in text
    assert row_of(text, "`ecg5000`", "TCN")[2:] == [
        "paper", "paper", "all", "100", "7", "1.25", "to be trained again",
    ]  # fmt: skip


def test_models_that_are_not_committed_are_named(tmp_path: Path) -> None:
    write_record(tmp_path / "r", "table-main", "ecg5000", "tcn")
    for model, variant in (("tcn", ""), ("mtgnn", "noise")):
        training = TRAINING | {"dataset": "ecg5000", "model": model, "variant": variant}
        (tmp_path / f"training-{model}.json").write_text(json.dumps(training))
    (tmp_path / "checkpoints" / "tcn-ecg5000").mkdir(parents=True)
    pages = report(tmp_path)
    text = pages["runs"]
    assert "measured again: `mtgnn-noise-ecg5000`. ([what was run](page/runs.md))" in section(
        pages["page"], "## In short"
    )
    assert "1 of 2 trained models are in `results/checkpoints/`. The others must be trained again" in text
    assert "measured again: `mtgnn-noise-ecg5000`." in text
    assert row_of(text, "`ecg5000`", "TCN")[-1] == "committed"
    assert row_of(text, "`ecg5000`", "MTGNN noise")[-1] == "to be trained again"


def test_other_methods_are_counted_by_name(tmp_path: Path) -> None:
    measured = gaps_of(partial=9, fdw=3, subcast=2, linear=-4, last_value=50)
    write_record(tmp_path / "r", "table-main", "ecg5000", "tcn", measured=measured)
    page = report(tmp_path)["page"]
    text = section(page, "## Other methods, by name")
    assert row_of(text, "linear, per variable")[1:] == ["1", "1", "1", "0", "0", "1", "0", "0"]
    assert row_of(text, "last value")[1:] == ["1", "1", "0", "1", "0", "0", "1", "0"]
    assert row_of(text, "Partial")[1:] == ["1", "1", "0", "1", "0", "0", "1", "0"]
    cells = row_of(text, "[table-main](page/table-main.md)", "ecg5000 TCN", "15%", "linear, per variable")
    rows = measured["groups"]["15%"]
    assert cells[4].startswith(f"**{rows['linear']['mae']:.2f} against {rows['subcast']['mae']:.2f} (-")
    short = section(page, "## In short")
    assert "beat the default of `subcast` somewhere: linear, per variable on ecg5000 in MAE beside TCN (-" in short
    assert "nowhere beat it: last value ([by name]" in short
    assert "8 comparisons are made, and none is corrected for their number" in text


def test_the_papers_method_is_named_where_it_is_significantly_better(tmp_path: Path) -> None:
    write_record(tmp_path / "r", "table-main", "ecg5000", "tcn", measured=gaps_of(partial=9, fdw=-3, subcast=2))
    short = section(report(tmp_path)["page"], "## In short")
    assert "significantly better than it somewhere: FDW on ecg5000 TCN in MAE (-" in short


def test_no_other_method_wins(page: str) -> None:
    text = section(page, "## Other methods, by name")
    assert "Every comparison that another method wins" not in text
    assert "somewhere" not in section(page, "## In short")


def test_the_overview_spans_the_cells_of_each_order(tmp_path: Path) -> None:
    for model, gap in (("tcn", 9), ("mtgnn", 30)):
        write_record(tmp_path / "r", "table-main", "ecg5000", model, measured=gaps_of(partial=gap, fdw=3, subcast=2))
    write_record(tmp_path / "r", "table-main", "ecg5000-test-first", "tcn", measured=gaps_of(partial=5, fdw=3))
    short = section(report(tmp_path)["page"], "## In short")
    gaps = [gaps_of(partial=gap, fdw=3, subcast=2)["groups"]["15%"]["partial"]["mae_gap"] for gap in (9, 30)]
    assert f"{gaps[0]:+.1f} to {gaps[1]:+.1f} % on ECG5000 with its training rows first (2 cells)." in short
    assert "on ECG5000 with its test rows first (1 cell);" in short
    assert "ECG5000 with its training rows first (MTGNN, TCN): " in short
    assert "ECG5000 with its test rows first (TCN): " in short


def test_claims_are_counted_by_verdict(tmp_path: Path) -> None:
    write_record(tmp_path / "r", "table-oracle-partial", "ecg5000", "tcn", measured=gaps_of(partial=9))
    short = section(report(tmp_path)["page"], "## In short")
    assert "1 holds, 37 are not measured." in short


def test_seasonal_naive_that_beats_oracle_is_named(tmp_path: Path) -> None:
    better = gaps_of(partial=9, subcast=2, seasonal_naive=-3)
    write_record(tmp_path / "r", "table-main", "traffic-20", "tcn", measured=better)
    write_record(tmp_path / "r", "table-main", "clouds", "tcn", measured=gaps_of(subcast=2, seasonal_naive=3))
    short = section(report(tmp_path)["page"], "## In short")
    rows = better["groups"]["15%"]
    numbers = f"{rows['seasonal-naive']['mae']:.2f} against {rows['oracle']['mae']:.2f}"
    assert f"On traffic-20 TCN the seasonal naive forecast beats Oracle in MAE: {numbers}." in short
    assert "On clouds TCN" not in short


def test_models_without_a_clock_are_named(tmp_path: Path) -> None:
    facts = {"steps": 9, "variables": 20, "lookback": 12, "horizon": 12, "missing_share": 0.0, "windows": [5, 2, 2]}
    clocks = {"clouds": ("10min", []), "metr-la-29": ("5min", ["time_of_day"]), "ecg5000": (None, [])}
    for dataset, (rate, features) in clocks.items():
        measured = facts | {"rate": rate, "time_features": features}
        write_record(tmp_path / "r", "table-datasets", dataset, "", measured=measured)
    short = section(report(tmp_path)["page"], "## In short")
    assert "On `clouds` the model has no clock among its inputs" in short


def test_the_main_table_has_published_numbers_and_the_best_simple_method(tmp_path: Path) -> None:
    measured = gaps_of(partial=9, fdw=3, subcast=2, linear=7, last_value=50)
    write_record(tmp_path / "r", "table-main", "ecg5000", "tcn", measured=measured)
    write_record(tmp_path / "r", "table-main", "clouds", "tcn", measured=gaps_of(partial=9, fdw=3))
    text = section(report(tmp_path)["page"], "## The main results")
    gap = {name: f"{row['mae_gap']:.1f}" for name, row in measured["groups"]["15%"].items()}
    assert row_of(text, "`ecg5000`", "TCN")[5:] == [
        "3.71", gap["partial"], "33.1", gap["fdw"], "1.1", gap["subcast"], f"linear, per variable {gap['linear']}",
    ]  # fmt: skip
    assert row_of(text, "`clouds`", "TCN")[5] == "(4.70)"


def test_days_of_the_default_are_told_apart(tmp_path: Path) -> None:
    write_record(tmp_path / "r", "table-main", "ecg5000", "tcn", measured=gaps_of(subcast=2))
    path = write_record(tmp_path / "r", "table-main", "ecg5000", "mtgnn", measured=gaps_of(subcast=2))
    assert "It changed in between" not in report(tmp_path)["runs"]
    path.write_text(path.read_text().replace("2026-11-16T", "2026-11-18T"))
    assert "measured in 1 record on 2026-11-16, 1 record on 2026-11-18. It changed" in report(tmp_path)["runs"]


def test_records_without_tallies_are_counted(tmp_path: Path) -> None:
    write_record(tmp_path / "r", "table-main", "ecg5000", "tcn", measured=gaps_of(partial=9))
    tallies = comparison({"oracle": 0.0, "partial": 0.1}).to_record(STEP)
    measured = {"test_windows": 9, "groups": {}, "tallies": {"15%": tallies}}
    write_record(tmp_path / "r", "table-main", "ecg5000", "mtgnn", measured=measured)
    line = "1 record has no tallies of errors by draw and stretch of windows, so the intervals stored"
    assert line in report(tmp_path)["runs"]
    write_record(tmp_path / "r", "table-main", "ecg5000", "tcn", measured=measured)
    assert "tallies" not in report(tmp_path)["runs"]


def test_models_without_a_part_in_the_default_are_named(tmp_path: Path) -> None:
    for model, subcast in (("tcn", 2.0), ("lstnet", 2.0), ("mtgnn", 3.0)):
        write_record(tmp_path / "r", "table-main", "ecg5000", model, measured=gaps_of(partial=9, subcast=subcast))
    text = section(report(tmp_path)["page"], "## The main results")
    assert "no part in the default's forecasts, which are the same, for each of: `ecg5000` LSTNet, TCN." in text


def test_the_order_that_is_not_the_papers_counts_only_alone(tmp_path: Path) -> None:
    write_record(tmp_path / "r", "table-oracle-partial", "ecg5000", "tcn", measured=gaps_of(partial=9))
    short = section(report(tmp_path)["page"], "## In short")
    assert "For 1 of them there is only ECG5000 with its training rows first." in short
    write_record(tmp_path / "r", "table-oracle-partial", "ecg5000-test-first", "tcn", measured=gaps_of(partial=9))
    assert "there is only ECG5000" not in section(report(tmp_path)["page"], "## In short")


def test_further_trainings_are_no_cells(tmp_path: Path) -> None:
    for seed, fdw in enumerate((3.0, 30.0)):
        measured = gaps_of(partial=9, fdw=fdw, subcast=2)
        write_record(tmp_path / "r", "table-main", "ecg5000", "tcn", seed=seed, measured=measured)
    page = report(tmp_path)["page"]
    line = next(line for line in page.splitlines() if line.startswith("- The paper's method (FDW): gap of MAE +3.0"))
    assert "(1 cell)" in line
    assert row_of(section(page, "## Other methods, by name"), "FDW")[1:3] == ["1", "1"]


def test_headlines_say_where_the_papers_method_is_better(tmp_path: Path) -> None:
    measured = gaps_of(partial=9, fdw=1, subcast=4)
    write_record(tmp_path / "r", "table-main", "ecg5000-test-first", "tcn", measured=measured)
    write_record(tmp_path / "r", "table-main", "clouds", "tcn", measured=gaps_of(partial=9, fdw=7, subcast=4))
    lines = list(headlines(read_records(tmp_path / "r")[0]))
    assert lines[0].startswith("ECG5000 with its test rows first (TCN): ")
    assert "if all of ours were 0" not in lines[0]
    assert lines[1].startswith("No model was measured in both orders yet, ")
    assert lines[-1].startswith(
        "Against the paper's method, the default of `subcast` has a significantly smaller error in 2 of 4"
    )
    assert "larger one in 2: FDW on ecg5000-test-first TCN in MAE (-" in lines[-1]
    assert " %); FDW on ecg5000-test-first TCN in RMSE (-" in lines[-1]
