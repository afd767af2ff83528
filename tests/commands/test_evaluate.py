"""`subcast evaluate`: its record, its table, and its errors."""

import json

import numpy as np
import pytest

import subcast
from commands.examples import CHECKPOINT, refuse, run, waves
from subcast.commands.evaluate import DESCRIPTIONS, NAMES, RIVALS, repeated_readings, rivals_for
from subcast.errors import InputError


@pytest.fixture(scope="module")
def record(fitted):
    """The record that `evaluate` wrote, which equals the one it printed."""
    arguments = ["evaluate", fitted[0] / "plant", fitted[0] / "waves.csv", "--present", "40%", "--draws", "3"]
    result = run(*arguments, "--every", "2", "--seed", "5", "--json", "-o", fitted[0] / "record.json")
    written = json.loads((fitted[0] / "record.json").read_text(), parse_constant=refuse)
    assert json.loads(result.stdout, parse_constant=refuse) == written
    return written


def test_the_record(record):
    assert [row["method"] for row in record["table"]] == [
        "oracle", "partial", "paper", "subcast", "usual-fill", "without-model", "own-past", "ridge", "calendar-linear",
        "own-past-each", "last-value", "day-ago",
    ]  # fmt: skip
    assert len(record["verdict"]) == 2
    assert (record["present_count"], record["variables"], record["step"], record["seed"]) == (2, 5, 4, 5)
    assert record["draws"] == subcast.draw_subsets(5, share=0.4, draws=3, seed=5).tolist()
    test = waves().split(12, 4).test
    assert record["windows"] == len(test[::2])
    assert np.shape(record["mae"]["subcast"]) == (3, 4)
    assert record["table"][0]["mae_gap"] == 0


def test_error_of_the_oracle_is_that_of_the_model(record):
    model = subcast.TrainedForecaster.load(CHECKPOINT)
    batch = waves().with_features("time_of_day").split(12, 4).test[::2].batch()
    off = np.abs(model(batch.inputs) - batch.targets)[:, -1]  # [b, n] of the last step
    expected = np.mean([off[:, draw].mean() for draw in record["draws"]])
    assert record["table"][0]["mae"] == pytest.approx(expected, rel=1e-5)


def test_a_day_ago_is_known_to_the_first_test_windows_too(record):
    series, test = waves(), waves().split(12, 4).test[::2]
    first = test.series.offset + test.lookback + test.horizon - 1  # the last target of the first window
    errors = []
    for draw in record["draws"]:
        off = [
            abs(series.values[first + start, n] - series.values[first + start - 24, n])
            for start in test.starts
            for n in draw
        ]
        errors.append(np.mean(off))
    found = next(row["mae"] for row in record["table"] if row["method"] == "day-ago")
    assert found == pytest.approx(np.mean(errors), rel=1e-5)


def test_the_table(fitted):
    arguments = ["evaluate", fitted[0] / "plant", fitted[0] / "waves.csv", "--present", "2", "--draws", "2"]
    output = run(*arguments, "--every", "9", "--step", "1").output
    assert "2 of 5 variables present, 2 draws," in output
    assert "test windows, step 1" in output
    for text in (
        "Oracle",
        "Partial",
        "paper",
        "subcast",
        "no model",
        "own past",
        "own, each",
        "linear",
        "last",
        "a day ago",
        "too few draws",
        "MAE",
        "RMSE",
        "gap in % [95 %]",
        " ± ",
    ):
        assert text in output


def test_without_rivals_there_is_no_verdict(fitted):
    arguments = ["evaluate", fitted[0] / "plant", fitted[0] / "waves.csv", "--draws", "1", "--every", "9"]
    record = json.loads(run(*arguments, "--no-rivals", "--json").stdout, parse_constant=refuse)
    assert [row["method"] for row in record["table"]] == ["oracle", "partial", "paper", "subcast"]
    assert record["verdict"] == []


def test_many_variables_have_no_model_each(fitted, monkeypatch):
    robust, split = subcast.load(fitted[0] / "plant"), waves().with_features("time_of_day").split(12, 4)
    monkeypatch.setattr("subcast.commands.evaluate.MOST_EACH", 4)
    methods = rivals_for(robust, split)
    assert "own-past-each" not in methods
    assert set(RIVALS) - set(methods) == {"own-past-each"}


@pytest.mark.parametrize(("times", "known"), [(None, False), (7, False), (720, True)])
def test_a_day_ago_needs_a_day_of_whole_steps(times, known):
    stamps = None if times is None else np.datetime64("2024-01-01") + np.arange(300) * np.timedelta64(times, "m")
    train = subcast.Series(np.arange(600.0).reshape(300, 2), times=stamps).windows(3, 2)
    assert ("day-ago" in repeated_readings(train)) == known


def test_every_method_has_a_name_and_a_description():
    assert set(NAMES) == set(DESCRIPTIONS)
    assert set(RIVALS) < set(NAMES)
    assert max(map(len, NAMES.values())) < 10  # the width of their column


def test_one_draw_has_no_standard_deviation(fitted):
    arguments = ["evaluate", fitted[0] / "plant", fitted[0] / "waves.csv", "--draws", "1", "--every", "9"]
    assert json.loads(run(*arguments, "--json").stdout, parse_constant=refuse)["table"][1]["mae_deviation"] is None
    assert "±" not in run(*arguments).output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--present", "most"], "present must be a share such as '15%'"),
        (["--present", "6"], "count must be at most the number of variables, 5, got 6"),
        (["--draws", "0"], "--draws must be a whole number"),
        (["--every", "0"], "--every must be a whole number"),
        (["--step", "5"], "--step must be between 1 and the horizon of 4, got 5"),
        (["--preset", "quick"], "--preset must be one of default, paper, got 'quick'"),
        (["-o", "record.txt"], "the file must end in .json, got 'record.txt'"),
    ],
)
def test_bad_options_are_rejected(fitted, arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        run("evaluate", fitted[0] / "plant", fitted[0] / "waves.csv", "--every", "40", "--draws", "1", *arguments)


def test_other_data_are_rejected(fitted):
    with pytest.raises(InputError, match="'clouds' lacks 'north', 'east', 'south' and 2 more of the 5 variables"):
        run("evaluate", fitted[0] / "plant", "clouds")
