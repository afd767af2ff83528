"""How far ours and a published number may be apart by chance."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from experiments.report.examples import gaps_of, write_record
from subcast.comparison import Comparison, Tally
from subcast.experiments.report.records import Record, read_records
from subcast.experiments.report.uncertainty import (
    beside_published,
    cells,
    resampled,
    spread_between_trainings,
    training_spreads,
    window_error,
    with_trainings,
)

DRAWS, WINDOWS, STEPS = 8, 60, 12


def varied(seed: int = 0, partial: float = 1.3) -> Comparison:
    """Oracle and Partial whose errors vary over draws and windows."""
    rng = np.random.default_rng(seed)
    tallies: dict[str, list[Tally]] = {"oracle": [], "partial": []}
    for _ in range(DRAWS):
        target = np.zeros((WINDOWS, STEPS, 3))
        errors = (
            np.abs(rng.normal(3.5, 1.0, size=target.shape))
            + rng.normal()
            + np.sin(np.arange(WINDOWS) / 9)[:, None, None]
        )
        tallies["oracle"].append(Tally.of(errors, target))
        tallies["partial"].append(Tally.of(partial * errors + 0.3 * rng.normal(size=target.shape), target))
    draws = [np.arange(3) + draw for draw in range(DRAWS)]
    return Comparison({name: Tally.join(own) for name, own in tallies.items()}, draws, range(0, WINDOWS * 4, 4))


def record_of(folder: Path, comparison: Comparison, *, seed: int = 0, every: int = 4, model: str = "tcn") -> Record:
    measured = {"test_windows": WINDOWS, "tallies": {"15%": comparison.to_record(12)}, "groups": {}}
    path = write_record(folder, "table-oracle-partial", "ecg5000", model, seed=seed, measured=measured)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"every": every, "draws": DRAWS}))
    records = read_records(folder)[0]["table-oracle-partial"]
    return next(record for record in records if (record.seed, record.model) == (seed, model))


def slow_error(comparison: Comparison, method: str, metric: str, draw: int) -> float:
    sums = comparison.tallies[method].by_stretch[12]
    total = count = 0.0
    for stretch in range(sums.count.shape[1]):
        total += (sums.absolute if metric == "mae" else sums.squared)[draw, stretch]
        count += sums.count[draw, stretch]
    return total / count if metric == "mae" else (total / count) ** 0.5


@pytest.mark.parametrize("figure", ["mae", "rmse", "mae_gap", "rmse_gap"])
def test_draws_are_resampled_and_windows_stay(tmp_path: Path, figure: str) -> None:
    comparison, metric = varied(), figure.removesuffix("_gap")
    record = record_of(tmp_path, comparison, every=1)
    samples = resampled([record], "partial", figure)
    rng = np.random.default_rng(0)
    rng.multinomial(50, np.full(50, 1 / 50), size=1000)  # of the stretches, which are not resampled here
    weights = rng.multinomial(DRAWS, np.full(DRAWS, 1 / DRAWS), size=1000)
    for resample in (0, 1, 999):
        means = {}
        for method in ("oracle", "partial"):
            taken = [
                slow_error(comparison, method, metric, d) for d in range(DRAWS) for _ in range(weights[resample, d])
            ]
            means[method] = sum(taken) / len(taken)
        expected = means["partial"] if figure == metric else 100 * (means["partial"] / means["oracle"] - 1)
        assert samples[resample] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("figure", ["mae", "rmse", "mae_gap", "rmse_gap"])
def test_windows_left_out_cost_what_neighboring_stretches_say(tmp_path: Path, figure: str) -> None:
    comparison, metric = varied(), figure.removesuffix("_gap")
    tallies = {method: comparison.tallies[method].by_stretch[12] for method in ("oracle", "partial")}

    def by_stretch(method: str) -> list[float]:
        values, sums = [], tallies[method]
        for stretch in range(sums.count.shape[1]):
            of_draws = []
            for draw in range(DRAWS):
                n = sums.count[draw, stretch]
                if metric == "mae":
                    of_draws.append(sums.absolute[draw, stretch] / n)
                else:
                    of_draws.append(
                        sums.squared[draw, stretch] / n / (2 * slow_error(comparison, method, metric, draw))
                    )
            values.append(sum(of_draws) / DRAWS)
        return values

    values = by_stretch("partial")
    if figure != metric:
        ours, oracle = (
            sum(slow_error(comparison, m, metric, d) for d in range(DRAWS)) / DRAWS for m in ("partial", "oracle")
        )
        values = [
            100 / oracle * (own - ours / oracle * other)
            for own, other in zip(values, by_stretch("oracle"), strict=True)
        ]
    k = len(values)
    variance = sum((after - before) ** 2 for before, after in pairwise(values)) / (2 * (k - 1))
    expected = (0.75 * variance / k) ** 0.5
    assert window_error(comparison, "partial", figure, 4) == pytest.approx(expected, rel=1e-3)
    assert window_error(comparison, "partial", figure, 1) == 0.0
    record = record_of(tmp_path, comparison)
    whole = resampled([replace(record, every=1)], "partial", figure)
    assert (resampled([record], "partial", figure) - whole).std() == pytest.approx(expected, rel=0.1)


def test_numbers_of_one_dataset_vary_alike_by_their_windows(tmp_path: Path) -> None:
    first = record_of(tmp_path, varied())
    other = record_of(tmp_path, varied(1), model="lstnet")
    shifts = [
        resampled([record], "oracle", "mae") - resampled([replace(record, every=1)], "oracle", "mae")
        for record in (first, other)
    ]
    assert np.corrcoef(shifts)[0, 1] == pytest.approx(1.0)


def student(parts: list[tuple[float, float]]) -> float:
    """What independent errors with these degrees of freedom may come to in 95 of 100 cases (Welch)."""
    total = sum(error**2 for error, _ in parts)
    freedom = total**2 / sum(error**4 / degrees for error, degrees in parts)
    return stats.t(freedom).interval(0.95)[1] * total**0.5


def test_a_record_without_tallies_has_its_stored_interval(tmp_path: Path) -> None:
    stored = gaps_of(partial=33.0)
    row = stored["groups"]["15%"]["partial"]
    row["mae_gap_interval"], row["mae_deviation"] = [30.0, 40.0], 0.6
    write_record(tmp_path, "table-oracle-partial", "ecg5000", "tcn", measured=stored)
    (record,) = read_records(tmp_path)[0]["table-oracle-partial"]
    assert resampled([record], "partial", "mae") is None
    gap = beside_published([record], "partial", "mae_gap", "15%", {})
    paper = 100 * (0.56**2 + 0.65**2) ** 0.5 / 1000**0.5 / 3.71
    assert gap.allowed == pytest.approx(student([(10 / 3.92, 5), (paper, 1e9)]), rel=1e-4)
    error = beside_published([record], "partial", "mae", "15%", {})
    assert error.allowed == pytest.approx(student([(0.6 / 6**0.5, 5), (0.65 / 1000**0.5, 1e9)]), rel=1e-4)
    few = gaps_of(partial=33.0)
    few["groups"]["15%"]["partial"]["draws"] = 5
    write_record(tmp_path, "table-oracle-partial", "ecg5000", "tcn", measured=few)
    (record,) = read_records(tmp_path)[0]["table-oracle-partial"]
    assert beside_published([record], "partial", "mae_gap", "15%", {}) is None


def test_the_spread_is_that_of_all_models_with_several_trainings(tmp_path: Path) -> None:
    for model, partials in (("tcn", (30.0, 34.0)), ("lstnet", (5.0, 6.0, 7.0)), ("mtgnn", (20.0,))):
        for seed, partial in enumerate(partials):
            for experiment in ("table-oracle-partial", "table-main"):  # the second is not counted again
                write_record(tmp_path, experiment, "ecg5000", model, seed=seed, measured=gaps_of(partial=partial))
    write_record(tmp_path, "table-oracle-partial", "clouds", "tcn", seed=0, measured=gaps_of(partial=3))
    write_record(tmp_path, "table-oracle-partial", "clouds", "tcn", seed=1, measured=gaps_of(partial=90))
    spreads = training_spreads(read_records(tmp_path)[0])
    spread, freedom = spreads["", "partial", "mae_gap"]
    assert spread == pytest.approx(((2 * 2.0**2 + 2 * 1.0**2) / 3) ** 0.5, rel=0.05)
    assert freedom == 3
    assert spreads["", "oracle", "mae"][0] == pytest.approx(0.0, abs=1e-9)
    values = [np.array([1.30, 1.34]), np.array([1.05, 1.06, 1.07])]
    squares = sum((((v - v.mean()) / v.mean()) ** 2).sum() for v in values)
    assert spreads["", "partial", "mae"][0] == pytest.approx((squares / 3) ** 0.5, rel=0.05)
    error, _ = spread_between_trainings(spreads, "mtgnn", "partial", "mae", 4.0)
    assert error == pytest.approx(4 * spreads["", "partial", "mae"][0])
    assert spread_between_trainings(spreads, "mtgnn", "partial", "mae_gap", 4.0) == (spread, 3)
    own = spread_between_trainings(spreads, "lstnet", "partial", "mae_gap", 4.0)  # three trainings
    assert own == (pytest.approx(1.0, rel=0.05), 2)
    two = spread_between_trainings(spreads, "tcn", "partial", "mae_gap", 4.0)
    assert two == (spread, 3)
    borrowed = {("", "fdw", "mae_gap"): (0.4, 5)}
    assert spread_between_trainings(borrowed, "tcn", "uw", "mae_gap", 9.0) == (0.4, 5)
    assert spread_between_trainings({}, "tcn", "uw", "mae_gap", 9.0)[0] == 0.0


def test_trainings_on_other_windows_are_left_out(tmp_path: Path) -> None:
    first = record_of(tmp_path, varied())
    second, third = replace(first, seed=1), replace(first, seed=2, every=3)
    other = replace(first, model="lstnet")
    assert list(cells([first, second, third, other])) == [[first, second], [other]]


def test_several_trainings_vary_less_than_one(tmp_path: Path) -> None:
    first = record_of(tmp_path, varied())
    samples, spreads = np.full(1000, 3.0), {("", "oracle", "mae"): (0.02, 1000)}
    one = with_trainings(samples, [first], "oracle", "mae", spreads)
    four = with_trainings(samples, [first] * 4, "oracle", "mae", spreads)
    assert one.std() == pytest.approx(0.06, rel=0.1)
    assert four.std() == pytest.approx(0.03, rel=0.1)
    both = with_trainings(samples, [first], "oracle", "rmse", {("", "oracle", "rmse"): (0.01, 1000)})
    assert np.corrcoef(one, both)[0, 1] == pytest.approx(1.0)
    own = with_trainings(samples, [replace(first, model="lstnet")], "oracle", "mae", spreads)
    assert abs(np.corrcoef(one, own)[0, 1]) < 0.2


def test_a_model_trained_for_each_draw_has_no_other_training(tmp_path: Path) -> None:
    measured = gaps_of(partial=9.0, apriori=4.0, fdw=2.0)
    write_record(tmp_path, "table-apriori", "ecg5000", "mtgnn", measured=measured)
    (record,) = read_records(tmp_path)[0]["table-apriori"]
    spreads = {("", "fdw", "mae_gap"): (5.0, 6)}
    lower, upper = record.methods["apriori"]["mae_gap_interval"]
    paper = 100 * 0.54 * 2**0.5 / 50**0.5 / 3.43  # 50 trainings, the deviation of Oracle for both
    allowed = beside_published([record], "apriori", "mae_gap", "15%", spreads).allowed
    assert allowed == pytest.approx(student([((upper - lower) / 3.92, 5), (paper, 1e9)]), rel=1e-4)
