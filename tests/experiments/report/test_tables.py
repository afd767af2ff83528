"""The tables: our numbers beside the published ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from experiments.report.examples import errors, gaps_of, load_one, row_of
from subcast.experiments.declaration import load_experiments
from subcast.experiments.report.tables import TABLES, make_tables, markdown_table, windows_text


def test_table_shows_both_and_the_difference_on_the_same_data_only(tmp_path: Path) -> None:
    measured = {"test_windows": 9, "groups": {"15%": errors({"oracle": 0, "partial": 0.3, "fdw": 0.03})}}
    row = measured["groups"]["15%"]["fdw"]
    same = make_tables("errors", "table-main", [load_one(tmp_path, "table-main", "ecg5000", "tcn", measured)])
    low, high = row["mae_gap_interval"]
    cells = row_of(same, "", "FDW")
    assert cells[2] == f"{row['mae']:.2f} ± {row['mae_deviation']:.2f}"
    implied = 3.71 * 1.0107  # the published Oracle of TCN, and the gap of FDW
    assert cells[3] == f"implied {implied:.2f} ({row['mae'] - implied:+.2f})"
    assert cells[4] == f"**{row['mae_gap']:.2f} [{low:.2f}, {high:.2f}]**"
    assert cells[5] == f"1.07 ({row['mae_gap'] - 1.07:+.2f})"
    assert "published gap of MAE, % (ours minus published)" in same
    stand_in = make_tables("errors", "table-main", [load_one(tmp_path, "table-main", "metr-la-29", "tcn", measured)])
    assert row_of(stand_in, "", "FDW")[5] == "1.98"
    assert "METR-LA's published gap of MAE, %" in stand_in
    assert "published numbers are of METR-LA and not directly comparable" in stand_in


def test_a_gap_is_bold_only_when_it_differs_significantly_from_all_others(tmp_path: Path) -> None:
    near = gaps_of(fdw=2.0, ddw=2.0001, uw=9)
    text = make_tables("errors", "table-weighting", [load_one(tmp_path, "table-weighting", "ecg5000", "tcn", near)])
    assert "**2." not in text
    clear = gaps_of(fdw=2.0, ddw=4, uw=9)
    text = make_tables("errors", "table-weighting", [load_one(tmp_path, "table-weighting", "ecg5000", "tcn", clear)])
    assert row_of(text, "", "FDW")[4].startswith("**")
    assert not row_of(text, "", "DDW")[4].startswith("**")


def test_single_draw_has_no_deviation_and_no_interval(tmp_path: Path) -> None:
    rows = {
        name: {"draws": 1, "mae": 2.0, "mae_deviation": None, "mae_by_step": [2.0] * 12, "mae_gap": 1.0,
               "mae_gap_interval": None, "rmse": 3.0, "rmse_deviation": None, "rmse_by_step": [3.0] * 12,
               "rmse_gap": 1.5, "rmse_gap_interval": None}
        for name in ("oracle", "partial")
    }  # fmt: skip
    record = load_one(tmp_path, "table-oracle-partial", "ecg5000", "tcn", {"groups": {"15%": rows}})
    cells = row_of(make_tables("errors", "table-oracle-partial", [record]), "", "Partial")
    assert (cells[2], cells[4]) == ("2.00", "1.00")


def test_empty_columns_go() -> None:
    assert markdown_table(["a", "b"], [["x", ""]]) == "| a |\n|:--|\n| x |"


def test_every_measurement_has_a_table() -> None:
    assert {experiment.measure for experiment in load_experiments().values()} <= set(TABLES)


def test_clusters_are_described(pages: dict[str, str]) -> None:
    for name in ("table-correlated", "table-correlated-mrr"):
        text = pages[name]
        assert "DBSCAN finds 11 clusters (radius 0.250, at least 3 variables; sizes 2, 2," in text
        assert "on average 2.0 instead of 1 (5 draws)." in text


def test_windows_that_are_left_out_are_named(tmp_path: Path) -> None:
    record = load_one(tmp_path, "table-main", "ecg5000", "tcn")
    assert windows_text([record], "test") == "100 test windows (every 10th)"
    assert windows_text([replace(record, every=1)], "test") == "100 test windows"
    thin = replace(record, every=4, figures={**record.figures, "test_windows": 249})
    assert windows_text([record, thin], "test") == "100 to 249 test windows (every 4th or every 10th)"
    ranks = load_one(tmp_path, "figure-reciprocal-rank", "ecg5000", "")
    assert windows_text([ranks], "validation") == "50 validation windows"


def test_clusters_of_other_draws_have_a_sentence_of_their_own(tmp_path: Path) -> None:
    first = load_one(tmp_path, "table-correlated", "clouds", "mtgnn")
    widened = {**first.figures["clusters"], "widened_draws": dict.fromkeys(first.groups, 0) | {"1": 3}}
    other = replace(first, model="tcn", draws=20, figures={**first.figures, "clusters": widened})
    alike = replace(first, model="lstnet")
    text = make_tables("errors", "table-correlated", [first, alike, other])
    assert text.count("DBSCAN finds 11 clusters") == 2
    assert "With 6 draws of S: DBSCAN" in text
    assert "With 20 draws of S: DBSCAN" in text
    assert "2.0 instead of 1 (3 draws)" in text
    assert "With 6 draws" not in make_tables("errors", "table-correlated", [first, alike])
