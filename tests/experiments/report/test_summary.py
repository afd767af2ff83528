"""The top of the report: overview, simpler methods, and what was run."""

from __future__ import annotations

from pathlib import Path

from experiments.report.examples import DRAWS, STEP, comparison, gaps_of, row_of, section, write_record
from subcast.experiments.declaration import load_experiments
from subcast.experiments.report.page import write_report


def test_effort_is_summed(page: str) -> None:
    text = section(page, "## What was run")
    count = sum(len(experiment.cells("quick")) for experiment in load_experiments().values())
    assert f"{count} records, {count * 0.5:.1f} hours of measuring and 1.2 hours of training" in text
    assert "2 cores of Some CPU" in text
    assert f"{DRAWS} draws of S and at most 1 training; the paper has 100 and 10" in text
    assert "- `ecg5000` (140 variables; ECG5000 has 140) complete" in text
    assert row_of(text, "`ecg5000`", "TCN")[2:] == ["paper", "paper", "all", "100", "7", "1.25"]


def test_simpler_methods_that_win_come_first(tmp_path: Path) -> None:
    measured = gaps_of(partial=9, fdw=3, subcast=2, linear=-4, last_value=50)
    write_record(tmp_path / "r", "table-main", "ecg5000", "tcn", measured=measured)
    page = write_report(tmp_path / "r", tmp_path / "page.md", tmp_path / "figures").read_text(encoding="utf-8")
    text = section(page, "## Where something simpler wins")
    assert "better than the default of `subcast` in 2 of 4 comparisons** of MAE or RMSE, significantly (by" in text
    assert "intervals) in 2; significantly worse in 2." in text
    assert "Simple baselines: **better than the default of `subcast` in 2 of 4" in section(page, "## In short")
    cells = row_of(text, "[table-main](#table-main)", "ecg5000 TCN", "15%", "linear, per variable")
    rows = measured["groups"]["15%"]
    assert cells[4].startswith(f"**{rows['linear']['mae']:.2f} against {rows['subcast']['mae']:.2f} (-")
    assert "last value |" not in text
    assert "known S): **better than the default of `subcast` in 0 of 2 comparisons** of MAE or RMSE" in text
    assert "Doing nothing (Partial): **better than the default of `subcast` in 0 of 2 comparisons**" in text


def test_no_simpler_method_wins(page: str) -> None:
    text = section(page, "## Where something simpler wins")
    assert text.count("**better than the default of `subcast` in 0 of") == 3
    assert "| MAE: its error against ours |" not in text


def test_the_overview_spans_the_cells(tmp_path: Path) -> None:
    for model, gap in (("tcn", 9), ("mtgnn", 30)):
        write_record(tmp_path / "r", "table-main", "ecg5000", model, measured=gaps_of(partial=gap, fdw=3, subcast=2))
    page = write_report(tmp_path / "r", tmp_path / "page.md", tmp_path / "figures").read_text(encoding="utf-8")
    low, high = (gaps_of(partial=gap, fdw=3, subcast=2)["groups"]["15%"]["partial"]["mae_gap"] for gap in (9, 30))
    assert f"gap of MAE {low:+.1f} to {high:+.1f} % on ECG5000 (2 cells)." in section(page, "## In short")


def test_records_without_tallies_are_counted(tmp_path: Path) -> None:
    write_record(tmp_path / "r", "table-main", "ecg5000", "tcn", measured=gaps_of(partial=9))
    tallies = comparison({"oracle": 0.0, "partial": 0.1}).to_record(STEP)
    measured = {"test_windows": 9, "groups": {}, "tallies": {"15%": tallies}}
    write_record(tmp_path / "r", "table-main", "ecg5000", "mtgnn", measured=measured)
    line = "1 record has no tallies of errors by draw and stretch of windows, so the intervals stored"
    page = write_report(tmp_path / "r", tmp_path / "page.md", tmp_path / "figures").read_text(encoding="utf-8")
    assert line in section(page, "## What was run")
    write_record(tmp_path / "r", "table-main", "ecg5000", "tcn", measured=measured)
    page = write_report(tmp_path / "r", tmp_path / "page.md", tmp_path / "figures").read_text(encoding="utf-8")
    assert "tallies" not in section(page, "## What was run")
