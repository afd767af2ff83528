"""The sentences at the end of an evaluation."""

import numpy as np
import pytest

from subcast.commands.verdict import verdict
from subcast.comparison import Comparison, Tally

RIVALS = {"own-past": "boosting", "ridge": "a ridge"}


def comparison(draws=8, windows=60, **errors):
    """Methods whose absolute error is a given number, times noise that all share."""
    noise = np.random.default_rng(0).uniform(0.9, 1.1, size=(draws, windows, 2, 3))
    tallies = {}
    for name, size in errors.items():
        own = np.random.default_rng(len(name)).uniform(0.99, 1.01, size=noise.shape)
        each = [Tally.of(size * noise[draw] * own[draw], np.zeros((windows, 2, 3))) for draw in range(draws)]
        tallies[name.replace("_", "-")] = Tally.join(each)
    return Comparison(tallies, [np.array([0, 1, 2])] * draws, range(windows))


@pytest.mark.parametrize(
    ("without", "sentence"),
    [
        (1.1, "Your model adds 10."),
        (0.9, "Your model adds nothing: without it the MAE is 10."),
        (1.0, "Your model adds nothing that can be measured here ("),
    ],
)
def test_what_the_model_adds(without, sentence):
    assert verdict(comparison(subcast=1.0, without_model=without), RIVALS)[0].startswith(sentence)


@pytest.mark.parametrize(
    ("ridge", "sentence"),
    [
        (1.28, "Nothing simpler is better: the MAE of subcast is 21."),
        (0.8, "Something simpler is better here: a ridge; the MAE of subcast is 25."),
        (1.0, "subcast and a ridge cannot be told apart here ("),
    ],
)
def test_the_best_rival_is_named(ridge, sentence):
    (said,) = verdict(comparison(subcast=1.0, own_past=2.0, ridge=ridge), RIVALS)
    assert said.startswith(sentence)


@pytest.mark.parametrize(
    ("ridge", "first", "last"),
    [(1.3, "Nothing simpler", "Your model adds 10."), (0.8, "Your model adds 10.", "Something simpler is better")],
)
def test_the_last_sentence_is_what_the_model_adds_unless_something_simpler_is_better(ridge, first, last):
    said = verdict(comparison(subcast=1.0, without_model=1.1, ridge=ridge), RIVALS)
    assert [said[0].startswith(first), said[1].startswith(last)] == [True, True]


def test_the_metric_of_the_wrapper_is_compared():
    rng = np.random.default_rng(3)
    rare = np.where(rng.random((60, 2, 3)) < 0.1, 9.0, 0.1)  # MAE 1.0, RMSE 2.8
    tallies = {"subcast": np.full(rare.shape, 1.5), "ridge": rare}
    each = {name: Tally.join([Tally.of(e, np.zeros_like(e))] * 8) for name, e in tallies.items()}
    both = Comparison(each, [np.arange(3)] * 8, range(60))
    assert verdict(both, RIVALS, metric="mae")[0].startswith("Something simpler is better here: a ridge; the MAE")
    assert verdict(both, RIVALS, metric="rmse")[0].startswith("Nothing simpler is better: the RMSE")


def test_few_draws_are_said():
    said = verdict(comparison(draws=2, subcast=1.0, without_model=1.1, ridge=0.9), RIVALS)
    assert [("too few draws" in sentence) for sentence in said] == [True, True]


def test_without_rivals_nothing_is_said():
    assert verdict(comparison(subcast=1.0), RIVALS) == []
