"""The scikit-learn imputers: the nearest steps by plain loops, the rounds of the iterative one by what it finds."""

import math

import numpy as np
import pytest

from baselines.examples import LOOKBACK, PRESENT, hourly, parts, sentence
from subcast.baselines import ScikitImputer
from subcast.errors import InputError
from twins import baselines_twins as twins


def test_knn_as_the_slow_twin():
    train, _, test = parts(steps=150)
    windows = test[:4:2]
    by_hand = twins.Setting(train, windows, per_variable=True)
    steps = twins.steps_seen(train)

    def estimate(i, step, v):
        row = by_hand.asked[windows.starts[i] + step]
        by_distance = sorted(steps, key=lambda j: math.fsum((by_hand.rows[j][s] - row[s]) ** 2 for s in PRESENT))
        return twins.mean_of([by_hand.rows[j][v] for j in by_distance[:5]])

    wanted = by_hand.filled(PRESENT.tolist(), estimate)
    np.testing.assert_allclose(ScikitImputer.knn(train).complete(windows, PRESENT)[..., 0], wanted, rtol=1e-4)


def test_iterative_goes_through_all_rounds_and_finds_what_is_linear():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(300, 2))
    values = np.column_stack([base, base @ [0.6, 0.4], base @ [0.3, -0.5]]) + 5
    train, _, test = hourly(values.astype(np.float32)).split(LOOKBACK, 3)
    imputer = ScikitImputer.iterative(train, rounds=15, nearest=None)
    assert imputer.imputer.n_iter_ == 15
    filled = imputer.complete(test, np.array([0, 1]))
    np.testing.assert_allclose(filled[..., 0], test.readings, atol=0.02)


def test_a_sample_of_the_steps_depends_on_the_seed():
    train, _, test = parts()
    said = [ScikitImputer.knn(train, sample=60, seed=seed).complete(test[:5], PRESENT) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(said[0], said[1])
    assert (said[0] != said[2]).any()


def test_a_variable_never_seen_is_filled_with_the_mean():
    train, _, _ = parts(steps=150)
    values = np.array(train.series.values)
    values[:, 3] = np.nan
    silent = hourly(values).windows(LOOKBACK, 3)
    for imputer in (ScikitImputer.knn(silent), ScikitImputer.iterative(silent, rounds=2)):
        assert np.isfinite(imputer.complete(silent[:3], PRESENT)).all()


def test_too_many_variables_are_refused():
    train, _, _ = parts(steps=150)
    with pytest.raises(InputError, match=sentence("on 7 variables is above most_variables = 6")):
        ScikitImputer.iterative(train, most_variables=6)


@pytest.mark.parametrize(
    ("make", "options", "words"),
    [
        (ScikitImputer.knn, {"neighbors": 0}, "neighbors must be a whole number of at least 1, got 0"),
        (ScikitImputer.knn, {"weights": "rank"}, "weights must be one of uniform, distance, got 'rank'"),
        (ScikitImputer.knn, {"sample": 0}, "sample must be a whole number of at least 1, got 0"),
        (ScikitImputer.iterative, {"rounds": 0}, "rounds must be a whole number of at least 1, got 0"),
        (ScikitImputer.iterative, {"nearest": 0}, "nearest must be a whole number of at least 1, got 0"),
        (ScikitImputer.iterative, {"seed": -1}, "seed must be a whole number of at least 0, got -1"),
    ],
)
def test_bad_options_are_told(make, options, words):
    train, _, _ = parts(steps=150)
    with pytest.raises(InputError, match=sentence(words)):
        make(train, **options)
