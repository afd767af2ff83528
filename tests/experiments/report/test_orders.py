"""Which order of ECG5000's rows gives the published numbers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from experiments.report.examples import STEP, comparison, report, row_of, section, write_record
from subcast.experiments.report.orders import (
    Quantity,
    agreeing_checks,
    like_for_like,
    nearer_order,
    order_verdict,
    quantities,
)
from subcast.experiments.report.records import read_records

OLD, NEW = "ecg5000", "ecg5000-test-first"


def tallied(**gaps: float) -> dict:
    """Figures with these gaps of MAE (in per cent), with tallies."""
    shares = {name.replace("_", "-"): gap / 100 for name, gap in gaps.items()}
    tallies = comparison({"oracle": 0.0} | shares).to_record(STEP)
    return {"test_windows": 9, "tallies": {"15%": tallies}, "groups": {}}


def write_both(folder: Path, experiment: str, model: str, gaps: dict[str, tuple[float, ...]], **others: float) -> None:
    for dataset, of_seeds in gaps.items():
        for seed, partial in enumerate(of_seeds):
            measured = tallied(partial=partial, **others)
            write_record(folder / "r", experiment, dataset, model, seed=seed, measured=measured)


def quantity(published: float, old: float, new: float, noise: float = 0.0) -> Quantity:
    """An error with these values in both orders, and with noise of its own in each."""
    rng = np.random.default_rng(0)
    samples = {OLD: old + noise * rng.standard_normal(1000), NEW: new + noise * rng.standard_normal(1000)}
    return Quantity("tcn", "Oracle, MAE", published, {OLD: (old,), NEW: (new,)}, samples, 20)


@pytest.mark.parametrize(
    ("old", "new", "noise", "answer"),
    [
        (3.3, 3.6, 0.02, NEW),
        (3.68, 3.5, 0.02, OLD),
        (3.6, 3.64, 0.1, None),  # nearer by less than chance
        (3.8, 3.6001, 0.01, None),  # as far on the other side
    ],
)
def test_the_nearer_order_must_differ_by_more_than_chance(old, new, noise, answer) -> None:
    own = quantity(3.7, old, new, noise)
    assert own.difference == pytest.approx(100 * (abs(new - 3.7) - abs(old - 3.7)) / 3.7)
    expected = [
        100 * (abs(b - 3.7) - abs(a - 3.7)) / 3.7 for a, b in zip(own.samples[OLD], own.samples[NEW], strict=True)
    ]
    centered = [value - np.mean(expected) + own.difference for value in expected]
    np.testing.assert_allclose(own.differences, centered)
    assert nearer_order(own.differences) == answer


def test_errors_in_both_orders_are_collected_and_counted(tmp_path: Path) -> None:
    write_both(tmp_path, "table-oracle-partial", "tcn", {OLD: (60.0,), NEW: (33.0, 33.1)})
    all_records = read_records(tmp_path / "r")[0]
    by_name = {quantity.what: quantity for quantity in quantities(all_records)}
    assert set(by_name) == {"Oracle, MAE", "Oracle, RMSE", "Partial, MAE", "Partial, RMSE"}
    partial = by_name["Partial, MAE"]
    assert partial.published == 4.94
    assert partial.spread == pytest.approx(max(partial.ours[NEW]) - min(partial.ours[NEW]))
    assert nearer_order(partial.differences) == NEW
    assert nearer_order(by_name["Oracle, MAE"].differences) is None  # the same in both
    means = [np.mean([abs(np.mean(q.ours[d]) / q.published - 1) for q in by_name.values()]) for d in (NEW, OLD)]
    text = order_verdict(all_records)
    assert text.startswith("The 4 published errors were measured in both orders (TCN). Ours are ")
    assert (
        f"Ours are {100 * means[0]:.1f} % from them on average with the test rows first, and {100 * means[1]:.1f} %"
        in text
    )
    assert f"training rows first: a difference of {100 * (means[0] - means[1]):+.1f} [" in text
    assert "one by one, 2 are nearer with the test rows first and 0 with the training rows first; for 2 the" in text
    assert "the paper has the **test rows first** (`ecg5000-test-first`)." in text
    assert text.endswith(" Not measured in both orders: MTGNN, ASTGCN, MSTGCN, LSTNet.")


def test_the_other_order_can_win_and_neither_may(tmp_path: Path) -> None:
    write_both(tmp_path, "table-oracle-partial", "tcn", {OLD: (33.0,), NEW: (60.0,)})
    assert "the paper has the **training rows first**" in order_verdict(read_records(tmp_path / "r")[0])
    write_both(tmp_path, "table-oracle-partial", "tcn", {NEW: (33.0,)})
    assert "The numbers do not decide" in order_verdict(read_records(tmp_path / "r")[0])


def test_a_decision_that_rests_on_one_model_says_so(tmp_path: Path) -> None:
    write_both(tmp_path, "table-oracle-partial", "tcn", {OLD: (60.0,), NEW: (33.0,)})
    write_both(tmp_path, "table-oracle-partial", "mtgnn", {OLD: (13.0,), NEW: (13.0,)})
    assert "This rests on a single model: without TCN the difference is +0.0 [+0.0, +0.0]." in order_verdict(
        read_records(tmp_path / "r")[0]
    )
    write_both(tmp_path, "table-oracle-partial", "mtgnn", {OLD: (40.0,), NEW: (13.0,)})
    assert "The same order is nearer when any one model is left out." in order_verdict(read_records(tmp_path / "r")[0])


def test_only_equal_draws_and_windows_are_compared(tmp_path: Path) -> None:
    write_both(tmp_path, "table-oracle-partial", "tcn", {OLD: (52.0,), NEW: (32.0,)})
    path = write_record(tmp_path / "r", "table-oracle-partial", NEW, "tcn", measured=tallied(partial=32.0))
    path.write_text(json.dumps(json.loads(path.read_text()) | {"every": 3}))
    all_records = read_records(tmp_path / "r")[0]
    assert quantities(all_records) == []
    assert agreeing_checks(all_records, "tcn") == {}
    assert order_verdict(all_records).startswith("No model was measured in both orders yet, on equal windows")


def test_the_neighbor_forecast_needs_no_model(tmp_path: Path) -> None:
    write_both(tmp_path, "table-row-order", "lstnet", {OLD: (9.0,), NEW: (5.0,)}, neighbor_forecast=15)
    collected = quantities(read_records(tmp_path / "r")[0])
    mae, rmse = [quantity for quantity in collected if not quantity.model]
    assert (mae.what, rmse.what) == ("nearest-neighbor forecast, MAE", "nearest-neighbor forecast, RMSE")
    assert (mae.published, rmse.published) == pytest.approx((4.0, 6.6), abs=0.01)  # what the paper's table 6 implies
    assert {quantity.what for quantity in collected if quantity.model} == {
        "Oracle, MAE", "Oracle, RMSE", "Partial, MAE", "Partial, RMSE",
    }  # fmt: skip


def test_agreement_is_counted_for_experiments_in_both_orders(tmp_path: Path) -> None:
    write_both(tmp_path, "table-oracle-partial", "tcn", {OLD: (60.0,), NEW: (33.0, 33.1)})
    write_record(tmp_path / "r", "table-main", OLD, "tcn", measured=tallied(partial=33, fdw=1))  # in one order only
    all_records = read_records(tmp_path / "r")[0]
    counts = agreeing_checks(all_records, "tcn")
    assert [every for _, every in counts.values()] == [6, 6]
    assert counts[NEW][0] > counts[OLD][0]
    text = f"{counts[NEW][0]} of 6 agree with the test rows first and {counts[OLD][0]} of 6 agree with the training"
    assert text in like_for_like(all_records)
    assert text in section(report(tmp_path)["page"], "## In short")


def test_the_pages_show_both_orders_and_what_trainings_move(tmp_path: Path) -> None:
    write_both(tmp_path, "table-row-order", "tcn", {OLD: (60.0,), NEW: (32.0, 33.0)}, neighbor_forecast=15)
    pages = report(tmp_path)
    orders = section(pages["page"], "## ECG5000: which order of rows?")
    assert row_of(orders, "without a model")[1] == "2"
    assert row_of(orders, "TCN")[5] == "undecided"  # two trainings say little
    assert "trainings of TCN that differ in their seed alone: Oracle, MAE by 0.00; Partial, MAE by 0." in orders
    text = pages["table-row-order"]
    cells = row_of(section(text, "## Every error in both orders"), "TCN", "Partial, MAE")
    assert cells[2:4] == ["6", "4.94"]
    assert cells[4].count(",") == 1  # two trainings
    assert cells[-1] in ("test rows first", "undecided")
    moved = row_of(section(text, "## What another training moves"), "TCN", "Partial, MAE")
    first, second = (float(value) for value in cells[4].split(","))
    assert float(moved[2]) == pytest.approx(second - first, abs=0.011)
    assert float(moved[3]) == pytest.approx((first + second) / 2 - float(cells[5]), abs=0.011)


def test_the_neighbor_forecast_may_decide(tmp_path: Path) -> None:
    gaps = {OLD: (13.0,), NEW: (13.0,)}
    write_both(tmp_path, "table-row-order", "mtgnn", gaps, neighbor_forecast=15)
    write_record(tmp_path / "r", "table-row-order", OLD, "mtgnn", measured=tallied(partial=13, neighbor_forecast=60))
    text = order_verdict(read_records(tmp_path / "r")[0])
    assert text.startswith(
        "The 4 published errors, and 2 of the nearest-neighbor forecast that follow from published gaps"
    )
    assert "(MTGNN). Ours" in text
    assert "without the nearest-neighbor forecast the difference is" in text
