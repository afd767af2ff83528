"""Which order of ECG5000's rows gives the published numbers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from experiments.report.examples import gaps_of, report, row_of, section, write_record
from subcast.experiments.report.orders import (
    Quantity,
    agreeing_checks,
    like_for_like,
    nearer,
    order_verdict,
    quantities,
    spread_of,
)
from subcast.experiments.report.records import read_records

OLD, NEW = "ecg5000", "ecg5000-test-first"


def quantity(published: float, old: tuple[float, ...], new: tuple[float, ...], model: str = "tcn") -> Quantity:
    return Quantity(model, "Oracle, MAE", published, {OLD: old, NEW: new})


@pytest.mark.parametrize(
    ("old", "new", "answer"),
    [
        ((3.3,), (3.6, 3.64), NEW),
        ((3.68,), (3.6, 3.5), OLD),
        ((3.6,), (3.6, 3.64), None),  # nearer by less than two trainings differ
        ((3.8,), (3.6, 3.61), None),  # as far on the other side
    ],
)
def test_the_nearer_order_must_differ_by_more_than_two_trainings(old, new, answer) -> None:
    own = quantity(3.7, old, new)
    assert nearer(own, [own]) == answer


def test_a_single_training_takes_the_spread_of_another_model() -> None:
    single, repeated = quantity(3.7, (3.5,), (3.6,), "lstnet"), quantity(3.7, (3.5,), (3.4, 3.7))
    assert single.spread is None
    assert spread_of(single, [single]) == 0.0
    assert spread_of(single, [single, repeated]) == pytest.approx(0.3)
    assert nearer(single, [single]) == NEW
    assert nearer(single, [single, repeated]) is None
    without_model = quantity(4.0, (3.8,), (4.04,), "")
    assert nearer(without_model, [without_model, repeated]) == NEW


def write_both(folder: Path, experiment: str, model: str, gaps: dict[str, tuple[float, ...]], **others: float) -> None:
    for dataset, of_seeds in gaps.items():
        for seed, partial in enumerate(of_seeds):
            measured = gaps_of(partial=partial, **others)
            write_record(folder / "r", experiment, dataset, model, seed=seed, measured=measured)


def test_numbers_of_both_orders_are_collected_and_counted(tmp_path: Path) -> None:
    write_both(tmp_path, "table-oracle-partial", "tcn", {OLD: (52.0,), NEW: (32.0, 33.0)})
    all_records = read_records(tmp_path / "r")[0]
    by_name = {quantity.what: quantity for quantity in quantities(all_records)}
    assert set(by_name) == {
        "Oracle, MAE", "Oracle, RMSE", "Partial, MAE", "Partial, RMSE", "Partial, gap of MAE, %",
        "Partial, gap of RMSE, %",
    }  # fmt: skip
    gap = by_name["Partial, gap of MAE, %"]
    assert gap.published == 33.15
    assert gap.ours[NEW] == pytest.approx((32, 33), abs=0.3)
    assert nearer(gap, list(by_name.values())) == NEW
    assert nearer(by_name["Oracle, MAE"], list(by_name.values())) is None  # the same in both
    text = order_verdict(all_records)
    assert text.startswith("Of 6 published numbers that were measured in both orders (TCN), ")
    assert "the paper has the **test rows first** (`ecg5000-test-first`)." in text
    assert text.endswith(" Not measured in both orders: MTGNN, ASTGCN, MSTGCN, LSTNet.")


def test_the_other_order_can_win_and_neither_may(tmp_path: Path) -> None:
    write_both(tmp_path, "table-oracle-partial", "tcn", {OLD: (33.0,), NEW: (52.0,)})
    assert "the paper has the **training rows first**" in order_verdict(read_records(tmp_path / "r")[0])
    write_both(tmp_path, "table-oracle-partial", "tcn", {NEW: (33.0,)})
    assert "The numbers do not decide" in order_verdict(read_records(tmp_path / "r")[0])


def test_only_equal_draws_and_windows_are_compared(tmp_path: Path) -> None:
    write_both(tmp_path, "table-oracle-partial", "tcn", {OLD: (52.0,), NEW: (32.0,)})
    path = write_record(tmp_path / "r", "table-oracle-partial", NEW, "tcn", measured=gaps_of(partial=32.0))
    path.write_text(json.dumps(json.loads(path.read_text()) | {"every": 3}))
    all_records = read_records(tmp_path / "r")[0]
    assert quantities(all_records) == []
    assert order_verdict(all_records) == "No model was measured in both orders yet."


def test_the_neighbor_forecast_needs_no_model(tmp_path: Path) -> None:
    write_both(tmp_path, "table-row-order", "lstnet", {OLD: (9.0,), NEW: (5.0,)}, neighbor_forecast=15)
    collected = quantities(read_records(tmp_path / "r")[0])
    mae, rmse = [quantity for quantity in collected if not quantity.model]
    assert (mae.what, rmse.what) == ("nearest-neighbor forecast, MAE", "nearest-neighbor forecast, RMSE")
    assert (mae.published, rmse.published) == pytest.approx((4.0, 6.6), abs=0.01)  # what the paper's table 6 implies
    own = [quantity.what for quantity in collected if quantity.model == "lstnet"]
    assert own.count("nearest-neighbor forecast, gap of MAE, %") == 1


def test_agreement_is_counted_for_experiments_in_both_orders(tmp_path: Path) -> None:
    write_both(tmp_path, "table-oracle-partial", "tcn", {OLD: (52.0,), NEW: (33.0, 52.0)})
    write_record(tmp_path / "r", "table-main", OLD, "tcn", measured=gaps_of(partial=33, fdw=1))  # in one order only
    all_records = read_records(tmp_path / "r")[0]
    counts = agreeing_checks(all_records, "tcn")
    (old,), (first, second) = counts[OLD], counts[NEW]
    assert old == second
    assert first[0] > second[0]
    assert {every for _, every in (old, first, second)} == {6}
    text = f"{first[0]} of 6 with the test rows first, {old[0]} of 6 with the training rows first."
    assert like_for_like(all_records).endswith(text)  # the second training is not counted again
    assert text in section(report(tmp_path)["page"], "## In short")


def test_the_pages_show_both_orders_and_what_trainings_move(tmp_path: Path) -> None:
    write_both(tmp_path, "table-row-order", "tcn", {OLD: (52.0,), NEW: (32.0, 36.0)}, neighbor_forecast=15)
    pages = report(tmp_path)
    orders = section(pages["page"], "## ECG5000: which order of rows?")
    assert row_of(orders, "without a model")
    assert "trainings of TCN that differ in their seed alone: Oracle, MAE by 0.00; Partial, MAE by 0." in orders
    assert re.search(r"Partial, gap of MAE by (3\.[89]|4\.[01])\d points;", orders)
    text = pages["table-row-order"]
    cells = row_of(section(text, "## Every number in both orders"), "TCN", "Partial, gap of MAE, %")
    assert cells[2] == "33.15"
    assert cells[3].count(",") == 1  # two trainings
    assert cells[-1] == "test rows first"
    moved = row_of(section(text, "## What another training moves"), "TCN", "Partial, gap of MAE, %")
    assert float(moved[2]) == pytest.approx(4, abs=0.3)
    assert float(moved[3]) == pytest.approx(-18, abs=0.5)
