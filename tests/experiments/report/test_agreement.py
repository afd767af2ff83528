"""Checks of our numbers against the published ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.report.examples import DRAWS, STEP, comparison, errors, gaps_of, load_one, write_record
from subcast.experiments.report.agreement import agreeing_with_no_gap, agreement, paper_checks, too_few_draws
from subcast.experiments.report.records import iterate_records, read_records


def checks_of(folder: Path, *names: tuple[str, str, str, dict | None]) -> list:
    """Checks of some records, with nothing else recorded."""
    for name, dataset, model, measured in names:
        write_record(folder, name, dataset, model, measured=measured)
    all_records = read_records(folder)[0]
    wanted = {name[:3] for name in names}
    records = [r for r in iterate_records(all_records) if (r.experiment, r.dataset, r.model) in wanted]
    return paper_checks(records, all_records)


def test_agreement_counts_sizes_and_orders(tmp_path: Path) -> None:
    rows = errors({"oracle": 0, "partial": 0.3, "fdw": -0.05})
    measured = {"test_windows": 9, "groups": {"15%": rows}}
    checks = checks_of(tmp_path, ("table-main", "ecg5000", "tcn", measured))
    assert [(check.kind, check.what, check.agrees) for check in checks] == [
        ("gap", "FDW, gap of MAE", False),
        ("gap", "FDW, gap of RMSE", False),
        ("order of methods", "Partial and FDW", True),
    ]
    assert agreement(checks) == "gap: 0 of 2 (half may differ by up to 1.5 points by chance); order of methods: 1 of 1"
    assert agreeing_with_no_gap(checks) == (0, 2, 2)  # a gap of 0 is within the paper's own chance
    checks = checks_of(tmp_path, ("table-oracle-partial", "ecg5000", "tcn", measured))
    assert {check.what: check.agrees for check in checks if check.kind == "gap"} == {
        "Partial, gap of MAE": False,  # 30 %, published 33.15 %
        "Partial, gap of RMSE": True,  # published 30.21 %
    }
    assert agreeing_with_no_gap(checks) is None
    near = {check.what: check.agrees for check in checks if check.kind == "error"}
    assert set(near) == {"Oracle, MAE", "Oracle, RMSE", "Partial, MAE", "Partial, RMSE"}
    for mean, deviation, method in ((3.71, 0.56, "Oracle"), (4.94, 0.65, "Partial")):  # table 1, TCN
        row = rows[method.lower()]
        (beside,) = [check.beside for check in checks if check.what == f"{method}, MAE"]
        assert (beside.ours, beside.published) == (row["mae"], mean)
        assert 2.5 < beside.allowed / (row["mae_deviation"] ** 2 / DRAWS + deviation**2 / 1000) ** 0.5 < 2.6  # t of 5
        assert near[f"{method}, MAE"] == (abs(row["mae"] - mean) <= beside.allowed)
    closer = {"test_windows": 9, "groups": {"15%": errors({"oracle": 0, "partial": 0.33, "fdw": 0.01})}}
    checks = checks_of(tmp_path, ("table-oracle-partial", "ecg5000", "tcn", closer))
    assert [check.agrees for check in checks if check.what == "Partial, gap of MAE"] == [True]
    checks = checks_of(tmp_path, ("table-knn", "ecg5000", "tcn", closer))
    assert not any(check.what.startswith("FDW, gap") for check in checks)  # table 4's, counted there
    far = {"test_windows": 9, "groups": {"15%": errors({"oracle": 0, "partial": 0.8})}}
    checks = checks_of(tmp_path, ("table-oracle-partial", "ecg5000", "tcn", far))
    assert {check.what: check.agrees for check in checks if check.kind == "error"}["Partial, MAE"] is False


def test_trainings_are_compared_together_once(tmp_path: Path) -> None:
    for seed, partial in enumerate((25.0, 33.0, 41.0)):
        measured = gaps_of(partial=partial)
        write_record(tmp_path, "table-oracle-partial", "ecg5000", "tcn", seed=seed, measured=measured)
    checks = checks_of(tmp_path, ("table-oracle-partial", "ecg5000", "tcn", gaps_of(partial=25.0)))
    (gap,) = [check for check in checks if check.what == "Partial, gap of MAE"]
    assert gap.cell == "ecg5000 TCN, 3 trainings"
    assert gap.beside.ours == pytest.approx(33.0, abs=0.2)
    between = 8.0 * (1 / 3 + 1 / 10) ** 0.5  # the deviation of the three gaps
    assert gap.beside.allowed == pytest.approx(4.30 * between, rel=0.1)  # t of 2 degrees of freedom
    assert gap.agrees
    assert f"(may be {gap.beside.allowed:.2f} points apart by chance)" in gap.numbers


def test_only_the_papers_own_data_are_compared(tmp_path: Path) -> None:
    assert checks_of(tmp_path, ("table-main", "clouds", "tcn", None)) == []
    assert checks_of(tmp_path, ("table-main", "ecg5000", "tcn", None)) != []


def test_an_order_counts_only_when_it_is_significant(tmp_path: Path) -> None:
    near = gaps_of(uw=2.0, ddw=2.0001, fdw=1.0)
    checks = checks_of(tmp_path, ("table-weighting", "ecg5000", "mstgcn", near))
    orders = {check.what: check.agrees for check in checks if check.kind == "order of methods"}
    assert orders == {"UW and FDW": True, "DDW and FDW": True}  # table 8: 2.21, 2.67 and 1.13 %


def test_facts_of_the_dataset_are_compared(tmp_path: Path) -> None:
    assert agreement(checks_of(tmp_path, ("table-datasets", "ecg5000", "", None))) == "facts of the dataset: 4 of 4"


def test_the_record_with_more_draws_is_compared(tmp_path: Path) -> None:
    few, many = gaps_of(partial=60.0), gaps_of(partial=33.0, neighbor_forecast=9.0)
    tallies = comparison({"oracle": 0.0, "partial": 0.33, "neighbor-forecast": 0.09}).to_record(STEP)
    few["groups"]["15%"]["partial"]["draws"] = 6
    path = write_record(tmp_path, "table-row-order", "ecg5000", "tcn", measured={**many, "tallies": {"15%": tallies}})
    path.write_text(json.dumps(json.loads(path.read_text()) | {"draws": 100}))
    checks = checks_of(tmp_path, ("table-oracle-partial", "ecg5000", "tcn", few))
    (gap,) = [check for check in checks if check.what == "Partial, gap of MAE"]
    assert gap.beside.ours == pytest.approx(33.0, abs=0.2)
    checks = checks_of(tmp_path, ("table-knn", "ecg5000", "tcn", gaps_of(neighbor_forecast=30.0, fdw=1.0)))
    (gap,) = [check for check in checks if check.what == "nearest-neighbor forecast, gap of MAE"]
    assert gap.beside.ours == pytest.approx(9.0, abs=0.2)


def test_numbers_from_too_few_draws_are_counted(tmp_path: Path) -> None:
    measured = gaps_of(partial=30.0)
    for row in measured["groups"]["15%"].values():
        row["draws"] = 3
    write_record(tmp_path, "table-oracle-partial", "ecg5000", "tcn", measured=measured)
    all_records = read_records(tmp_path)[0]
    records = all_records["table-oracle-partial"]
    assert [check.kind for check in paper_checks(records, all_records) if check.beside] == []
    assert too_few_draws(records) == 6  # errors of Oracle and Partial, gaps of Partial
    enough = load_one(tmp_path, "table-oracle-partial", "ecg5000", "tcn", gaps_of(partial=30.0))
    assert too_few_draws([enough]) == 0
