"""The page of one experiment."""

from __future__ import annotations

import json
from pathlib import Path

from experiments.report.examples import errors, gaps_of, report, row_of, section, write_record
from subcast.experiments.declaration import get_experiment
from subcast.experiments.report.experiment_page import count_cells

TRAINING = {"protocol": "paper", "config": {"epochs": 1}, "epochs": [], "hours": 1}


def test_what_is_not_run_is_listed_with_its_command(tmp_path: Path) -> None:
    write_record(tmp_path / "r", "table-main", "ecg5000", "tcn")
    pages = report(tmp_path)
    row = row_of(section(pages["page"], "## Every experiment"), "[table-knn](page/table-knn.md)")
    assert row[2:] == ["0 of 0", "not run yet: `subcast reproduce table-knn`"]
    assert "Not run yet: `subcast reproduce table-knn`." in pages["table-knn"]
    assert "Not run yet" not in pages["table-main"]  # no other model is trained
    assert " `ecg5000` (MTGNN, ASTGCN, MSTGCN, LSTNet), " in pages["table-main"]


def test_cells_are_counted_once_their_model_is_trained(tmp_path: Path) -> None:
    write_record(tmp_path / "r", "table-main", "ecg5000", "tcn")
    training = TRAINING | {"dataset": "ecg5000", "model": "mtgnn"}
    (tmp_path / "training-mtgnn-ecg5000.json").write_text(json.dumps(training))
    pages = report(tmp_path)
    said = "Not run yet: `ecg5000` (MTGNN); `subcast reproduce table-main` runs the missing cells."
    assert said in pages["table-main"]
    assert row_of(pages["page"], "[table-main](page/table-main.md)", "table 4")[2] == "1 of 2"
    assert "1 of 2 cells whose model is trained are recorded (2026-11-16)" in pages["table-main"]
    assert "can be run after their model is trained" in pages["runs"]


def test_a_second_seed_is_a_row_of_its_own(tmp_path: Path) -> None:
    write_record(tmp_path / "r", "table-main", "ecg5000", "tcn")
    write_record(tmp_path / "r", "table-main", "ecg5000", "tcn", seed=1)
    pages = report(tmp_path)
    assert row_of(pages["table-main"], "TCN, seed 1", "Oracle")
    assert "and at most 2 trainings" in pages["runs"]
    assert row_of(pages["page"], "[table-main](page/table-main.md)", "table 4")[2] == "1 of 1"


def test_methods_left_out_are_named_with_the_reason(tmp_path: Path) -> None:
    for model in ("tcn", "mtgnn"):
        path = write_record(tmp_path / "r", "table-main", "ecg5000", model)
        measured = json.loads(path.read_text())
        path.write_text(json.dumps(measured | {"left_out": {"seasonal-naive": "the data have no times"}}))
    said = "Left out: seasonal naive (the data have no times) for ecg5000 MTGNN, ecg5000 TCN."
    assert said in report(tmp_path)["table-main"]


def test_agreement_and_disagreement_are_listed_with_both_numbers(tmp_path: Path) -> None:
    rows = errors({"oracle": 0, "partial": 0.3, "fdw": -0.05})
    write_record(tmp_path / "r", "table-main", "ecg5000", "tcn", measured={"test_windows": 9, "groups": {"15%": rows}})
    text = report(tmp_path)["table-main"]
    cells = row_of(section(text, "## What does not"), "ecg5000 TCN", "gap", "FDW, gap of MAE")
    assert cells[3].startswith(f"{rows['fdw']['mae_gap']:.2f} %, published 1.07 % (may be ")
    agreeing = section(text, "## What agrees with the paper")
    assert "- FDW recovers much of what Partial loses. **Holds**." in agreeing
    assert "- ecg5000 TCN, Partial and FDW: " in agreeing
    assert "Verdict: ECG5000 with training rows first: gap: 0 of 2 (half may differ by up to " in text


def test_a_claim_that_fails_names_the_cells(tmp_path: Path) -> None:
    write_record(tmp_path / "r", "table-oracle-partial", "traffic-20", "tcn", measured=gaps_of(partial=9))
    write_record(tmp_path / "r", "table-oracle-partial", "clouds", "tcn", measured=gaps_of(partial=-9))
    write_record(tmp_path / "r", "table-oracle-partial", "ecg5000-test-first", "tcn", measured=gaps_of(partial=9))
    write_record(tmp_path / "r", "table-oracle-partial", "ecg5000", "tcn", measured=gaps_of(partial=-9))  # not counted
    text = section(report(tmp_path)["table-oracle-partial"], "## What does not")
    cells = row_of(text, "Partial loses against Oracle.")
    assert cells[2] == "**holds in 2 of 3 cells**"
    assert cells[3].startswith("clouds TCN (Partial -")


def test_an_experiment_without_published_numbers_has_no_verdict_on_them(tmp_path: Path) -> None:
    write_record(tmp_path / "r", "table-noise", "ecg5000", "mtgnn")
    text = report(tmp_path)["table-noise"]
    assert "Verdict: recorded; nothing to compare with the paper." in text
    assert "## What agrees" not in text


def test_a_claim_that_holds_in_some_cells_names_them(tmp_path: Path) -> None:
    for dataset, partial in (("traffic-20", 9), ("clouds", -9)):
        write_record(tmp_path / "r", "table-oracle-partial", dataset, "tcn", measured=gaps_of(partial=partial))
    agreeing = section(report(tmp_path)["table-oracle-partial"], "## What agrees with the paper")
    assert "- Partial loses against Oracle. **Holds in 1 of 2 cells**: traffic-20 TCN." in agreeing


def test_a_cell_needs_every_model_that_it_uses(tmp_path: Path) -> None:
    experiment = get_experiment("table-identity")
    plain = {(dataset, "mtgnn", "") for dataset in experiment.datasets}
    assert count_cells(experiment, [], plain) == "0 of 0"
    assert count_cells(experiment, [], plain | {("clouds", "mtgnn", "identity")}) == "0 of 1"
    assert count_cells(get_experiment("table-noise"), [], {("ecg5000", "mtgnn", "")}) == "0 of 0"
    assert count_cells(get_experiment("table-noise"), [], {("ecg5000", "mtgnn", "noise")}) == "0 of 1"


def test_numbers_are_listed_in_the_papers_order_of_rows(tmp_path: Path) -> None:
    write_record(tmp_path / "r", "table-main", "ecg5000", "tcn", measured=gaps_of(partial=30, fdw=9))
    alone = report(tmp_path)["table-main"]
    assert row_of(section(alone, "## What does not"), "ecg5000 TCN", "gap", "FDW, gap of MAE")
    write_record(tmp_path / "r", "table-main", "ecg5000-test-first", "tcn", measured=gaps_of(partial=30, fdw=20))
    text = section(report(tmp_path)["table-main"], "## What does not")
    assert row_of(text, "ecg5000-test-first TCN", "gap", "FDW, gap of MAE")
    assert "| ecg5000 TCN | gap" not in text
    assert "Numbers with ECG5000's training rows first are not listed here" in text
