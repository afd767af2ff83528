"""Running methods on the same windows and draws: errors against loops, the table, and the record of `evaluate`."""

import json
import math

import numpy as np
import pytest

import subcast as sc
from subcast.comparison import Comparison
from subcast.errors import InputError
from subcast.evaluation import (
    evaluate,
    oracle,
    partial_inputs,
    without_model,
    wrapped,
)
from subcast.series import Series
from subcast.subsets import draw_subsets
from subset.examples import HORIZON, LOOKBACK, assert_one_sentence, last_reading, learn, mixing, waves


@pytest.fixture(scope="module")
def parts():
    return waves(steps=420).split(LOOKBACK, HORIZON, shares=(0.6, 0.2, 0.2))


@pytest.fixture(scope="module")
def robust(parts):
    return sc.SubsetForecaster(learn(parts.train), settings=sc.Settings(), progress=False).fit(parts.train)


@pytest.fixture(scope="module")
def comparison(parts, robust):
    methods = {"oracle": oracle(robust), "partial": partial_inputs(robust), "subcast": wrapped(robust)}
    return evaluate(methods, parts.test, list(draw_subsets(6, 0.5, draws=8)), progress=False)


def loop_errors(forecasts, test, present):
    """MAE and RMSE of each step over windows and variables, a missing target left out."""
    mae, rmse = [], []
    for q in range(test.horizon):
        off = []
        for window, start in enumerate(test.starts):
            for column, variable in enumerate(present):
                truth = float(test.target_values[start + test.lookback + q][variable])
                if not math.isnan(truth):
                    off.append(float(forecasts[window][q][column]) - truth)
        mae.append(sum(abs(x) for x in off) / len(off))
        rmse.append(math.sqrt(sum(x * x for x in off) / len(off)))
    return mae, rmse


def drifting(windows, present):
    last = windows.readings[:, -1:, present]
    return last + np.arange(1, windows.horizon + 1)[:, None] * 0.1 * (1 + np.asarray(present))


def test_errors_against_loops():
    values = np.random.default_rng(0).normal(size=(1300, 4)).cumsum(axis=0)  # more windows than go at once
    values[np.random.default_rng(1).random(values.shape) < 0.05] = np.nan
    values = np.where(np.isnan(values), np.nan, values)
    test = Series(values).windows(3, 2)
    draws = [np.array([2, 0]), np.array([1, 3]), np.array([1])]

    def zero(windows, present):
        return np.zeros((len(windows), 2, len(present)))

    def place(windows, present):
        return zero(windows, present) + present

    comparison = evaluate({"zero": zero, "place": place}, test, draws, progress=False)
    assert comparison.windows == len(test)
    for row, draw in enumerate(draws):
        present = sorted(draw.tolist())
        for name, method in (("zero", zero), ("place", place)):
            mae, rmse = loop_errors(method(test, np.array(present)), test, present)
            np.testing.assert_allclose(comparison.mae[name][row], mae, rtol=1e-6)
            np.testing.assert_allclose(comparison.rmse[name][row], rmse, rtol=1e-6)


def test_every_method_sees_the_same_windows_and_draws(parts):
    seen = {"a": [], "b": []}

    def watching(name):
        def method(windows, present):
            seen[name].append((windows.starts, tuple(present)))
            return drifting(windows, present)

        return method

    draws = [draw[::-1] for draw in draw_subsets(6, 0.5, draws=5, seed=3)]
    comparison = evaluate({name: watching(name) for name in seen}, parts.test, draws, progress=False)
    assert seen["a"] == seen["b"]
    assert [present for _, present in seen["a"]] == [tuple(sorted(draw)) for draw in draws]
    np.testing.assert_array_equal(comparison.mae["a"], comparison.mae["b"])


def test_oracle_is_the_model_with_everything(parts, robust, comparison):
    plain = learn(parts.train)(parts.test.batch().inputs)
    for row, draw in enumerate(comparison.draws):
        mae, rmse = loop_errors(plain[:, :, draw], parts.test, draw)
        np.testing.assert_allclose(comparison.mae["oracle"][row], mae, rtol=1e-5)
        np.testing.assert_allclose(comparison.rmse["oracle"][row], rmse, rtol=1e-5)


def test_partial_has_the_mean_where_nothing_came(parts, robust):
    inputs = np.array(parts.test.batch().inputs, dtype=np.float64)
    usual = parts.train.series.values.mean(axis=0)
    for variable in (0, 2, 3, 5):
        inputs[:, :, variable, 0] = usual[variable]
    wanted = learn(parts.train)(inputs)[:, :, [1, 4]]
    got = partial_inputs(robust)(parts.test, np.array([1, 4]))
    spread = parts.train.series.values.std(axis=0)[[1, 4]]
    assert (np.abs(got - wanted) / spread).mean() < 0.1  # the mean over the day's hours is not quite the mean of all


def test_wrapped_is_the_wrapper(parts, robust, comparison):
    for row, draw in enumerate(comparison.draws):
        mae, _ = loop_errors(robust.predict_many(parts.test, draw).mean, parts.test, draw)
        np.testing.assert_allclose(comparison.mae["subcast"][row], mae, rtol=1e-5)


def test_completion_beats_leaving_out(comparison):
    assert comparison.gap("subcast").gap < 0.5 * comparison.gap("partial").gap
    assert comparison.gap("partial").gap > 10


def test_missing_inputs_count_as_usual(parts, robust):
    values = parts.test.series.values.copy()
    values[3:5, 2] = np.nan
    holed = Series(values, parts.test.series.variables, parts.test.series.times).windows(LOOKBACK, HORIZON)
    for method in (oracle(robust), partial_inputs(robust), wrapped(robust)):
        assert np.isfinite(method(holed, np.array([1, 4]))).all()


# What a wrapper does without its model


def constant(level):
    return lambda x: np.full((len(x), HORIZON, x.shape[2]), level, dtype=np.float32)


def blended(parts, level, rows):
    settings = sc.Settings(shares=(0.4, 0.7), blend=rows)
    return sc.SubsetForecaster(constant(level), settings=settings, progress=False).fit(parts.train)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("present", [[1], [0, 2, 4], [0, 1, 2, 3, 4]])  # below, between and above the shares
def test_without_the_model_its_forecasts_do_not_matter(parts, share, present):
    rows = {"specialist": ((share,) * HORIZON, (share,) * HORIZON)}
    methods = [without_model(blended(parts, level, rows)) for level in (0.0, 1000.0)]
    forecasts = [method(parts.test[:7], np.array(present)) for method in methods]
    np.testing.assert_array_equal(*forecasts)
    alone = blended(parts, 0.0, {"specialist": ((1.0,) * HORIZON, (1.0,) * HORIZON)})
    if len(present) < 5:  # above the last share the specialist alone would fade into the model
        np.testing.assert_allclose(forecasts[0], wrapped(alone)(parts.test[:7], np.array(present)), rtol=1e-5)


def test_without_the_model_it_never_runs(parts):
    def fragile(x):
        if calls:
            raise AssertionError("the model must not run")
        return last_reading(x)

    calls = []
    robust = sc.SubsetForecaster(fragile, progress=False, effort=0.1).fit(parts.train, parts.val)
    alone = without_model(robust)
    calls.append("fitted")
    assert np.isfinite(alone(parts.test, np.array([0, 3]))).all()
    assert np.isfinite(alone(parts.test, np.arange(5))).all()


def test_gap_and_table(comparison):
    table = comparison.table()
    assert list(table.index) == ["oracle", "partial", "subcast"]
    for metric, errors in (("mae", comparison.mae), ("rmse", comparison.rmse)):
        for method in table.index:
            last = [float(row[-1]) for row in errors[method]]
            best = [float(row[-1]) for row in errors["oracle"]]
            mean, base = sum(last) / len(last), sum(best) / len(best)
            deviation = math.sqrt(sum((x - mean) ** 2 for x in last) / (len(last) - 1))
            row = table.loc[method]
            assert row[metric] == pytest.approx(mean)
            assert row[f"{metric}_deviation"] == pytest.approx(deviation)
            assert row[f"{metric}_gap"] == pytest.approx(100 * (mean - base) / base)
            assert row[f"{metric}_gap_lower"] <= row[f"{metric}_gap"] + 1e-9
            assert row[f"{metric}_gap"] <= row[f"{metric}_gap_upper"] + 1e-9
    assert table.loc["oracle", "mae_gap"] == 0


def test_a_table_of_another_step(comparison):
    first = comparison.table(step=1)
    assert first.loc["subcast", "mae"] == pytest.approx(comparison.mae["subcast"][:, 0].mean())
    assert first.loc["subcast", "mae"] < comparison.table().loc["subcast", "mae"]


def test_a_gap_to_another_method(comparison):
    other = comparison.gap("subcast", "rmse", 2, base="partial")
    ours, theirs = comparison.rmse["subcast"][:, 1].mean(), comparison.rmse["partial"][:, 1].mean()
    assert other.gap == pytest.approx(100 * (ours - theirs) / theirs)


def test_one_draw_has_no_deviation_and_no_oracle_no_gap(parts):
    comparison = evaluate({"drifting": drifting}, parts.test, [np.array([0, 1])], progress=False)
    row = comparison.table().loc["drifting"]
    assert math.isnan(row["mae_deviation"])
    assert math.isnan(row["mae_gap"])
    assert row["mae"] > 0


def test_plain_values_for_json(comparison):
    stored = json.loads(json.dumps(comparison.to_dict()))
    assert stored["windows"] == comparison.windows
    assert stored["draws"] == [draw.tolist() for draw in comparison.draws]
    for metric, errors in (("mae", comparison.mae), ("rmse", comparison.rmse)):
        for name, by_draw in stored[metric].items():
            np.testing.assert_array_equal(by_draw, errors[name])


def test_the_table_of_a_record_is_the_table(comparison):
    again = Comparison.from_record(json.loads(json.dumps(comparison.to_record())))
    np.testing.assert_allclose(again.table(), comparison.table(), rtol=1e-6)
    assert again.table().index.equals(comparison.table().index)


def test_the_published_method_can_be_compared_too(parts):
    robust = sc.SubsetForecaster.paper(mixing, progress=False).fit(parts.train)
    comparison = evaluate(
        {"oracle": oracle(robust), "paper": wrapped(robust)}, parts.test[::9], [np.array([1, 3])], progress=False
    )
    assert np.isfinite(comparison.mae["paper"]).all()


# Bad input


def test_no_draws(parts):
    with pytest.raises(InputError) as error:
        evaluate({"drifting": drifting}, parts.test, [], progress=False)
    assert_one_sentence(error, "draws")


def test_draws_as_draw_subsets_gives_them(parts):
    draws = draw_subsets(6, 0.5, draws=3)
    comparison = evaluate({"drifting": drifting}, parts.test, draws, progress=False)
    assert comparison.mae["drifting"].shape == (3, HORIZON)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda comparison: comparison.table(step=0), ("step", "0")),
        (lambda comparison: comparison.table(step=HORIZON + 1), ("step", "4")),
        (lambda comparison: comparison.gap("subcast", "mape"), ("metric", "'mape'")),
        (lambda comparison: comparison.gap("magic"), ("'magic'",)),
    ],
    ids=["step 0", "step 4", "metric", "method"],
)
def test_questions_without_an_answer(comparison, call, words):
    with pytest.raises(InputError) as error:
        call(comparison)
    assert_one_sentence(error, *words)
