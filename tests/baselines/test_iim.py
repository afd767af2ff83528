"""IIM against its slow twin, a worked example and its two extremes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from baselines.examples import PRESENT, hourly, parts, sentence
from subcast.baselines import IIMImputer, KNNEImputer, RidgeImputer
from subcast.baselines.iim import regressions, vote
from subcast.errors import InputError
from twins import baselines_twins as twins


@pytest.mark.parametrize(
    "setting",
    [
        {},
        {"holes": 0.06},
        {"features": ("time_of_day",)},
        {"protocol": "paper"},
    ],
    ids=["plain", "holes", "time of day", "paper"],
)
def test_as_the_slow_twin(setting):
    train, _, test = parts(steps=150, **setting)
    windows = test[:6:3]
    imputer = IIMImputer.fit(train, neighbors=3, learning_neighbors=12, ridge=0.5)
    by_hand = twins.Setting(train, windows, per_variable=setting.get("protocol") != "paper")
    wanted = twins.iim(by_hand, PRESENT.tolist(), 3, 12, 0.5)
    np.testing.assert_allclose(imputer.complete(windows, PRESENT)[..., 0], wanted, rtol=1e-3, atol=1e-3)


def test_a_worked_example_of_two_streets():
    """Eight tuples on two lines: each side's model says what its own side would, and the vote lies between.

    Least squares by hand on the four left tuples: 5.564 - 0.867 x; on the four right ones: -4.462 + 1.119 x.
    """
    left = np.array([[0, 5.8], [0.8, 4.6], [1.9, 3.8], [2.9, 3.2]])
    right = np.array([[6.8, 3], [7.5, 4.1], [8.2, 4.8], [9, 5.5]])
    models = regressions(np.stack([left, right])[:, :, :1], np.stack([left, right])[:, :, 1:], ridge=1e-9)
    np.testing.assert_allclose(models.slope[:, 0, 0], [-0.867, 1.119], atol=1e-3)
    np.testing.assert_allclose(models.level[:, 0], [5.564, -4.462], atol=2e-3)
    candidates = models.slope[:, 0, 0] * 5 + models.level[:, 0]  # 1.228 and 1.133
    both_left = np.array([candidates[0], candidates[0], candidates[1]])[None, :, None]
    # distances to the others: d, d and 2 d; weights 2/5, 2/5 and 1/5
    wanted = 0.8 * candidates[0] + 0.2 * candidates[1]
    np.testing.assert_allclose(vote(both_left, np.ones((1, 3), bool)), [[wanted]], rtol=1e-6)


def test_learning_from_itself_alone_is_the_nearest_neighbors_own_reading():
    train, _, test = parts(steps=150)
    one = IIMImputer.fit(train, neighbors=1, learning_neighbors=1).complete(test, PRESENT)
    plain = KNNEImputer.fit(train, neighbors=1, members=1, share=1.0, unit="step").complete(test, PRESENT)
    np.testing.assert_allclose(one, plain, rtol=1e-5)


def test_learning_from_every_step_is_one_global_regression():
    train, _, test = parts(steps=150)
    every = IIMImputer.fit(train, learning_neighbors=10_000, ridge=1e-6).complete(test, PRESENT)
    plain = RidgeImputer.fit(train, ridge=1e-9).complete(test, PRESENT)
    np.testing.assert_allclose(every, plain, rtol=1e-3, atol=1e-3)


def test_where_nothing_changes_the_reading_is_repeated():
    series = hourly(np.broadcast_to([1.0, 2.0, 3.0], (40, 3)).astype(np.float32))
    train = series.windows(4, 2)
    filled = IIMImputer.fit(train).complete(train[:3], np.array([0]))
    np.testing.assert_allclose(filled[..., 0], train[:3].readings, rtol=1e-6)


def test_models_are_learned_once_for_one_s_and_forgotten_for_another(monkeypatch):
    train, _, test = parts(steps=150)
    imputer = IIMImputer.fit(train)
    learned = []
    monkeypatch.setattr(
        "subcast.baselines.iim.regressions", lambda x, y, ridge: learned.append(len(x)) or regressions(x, y, ridge)
    )
    first = imputer.complete(test, PRESENT)
    count = sum(learned)
    again = imputer.complete(test, PRESENT)
    np.testing.assert_array_equal(again, first)
    assert 0 < count == sum(learned)
    imputer.complete(test, np.array([1, 2]))
    assert sum(learned) > count


finite = st.floats(-100, 100, allow_nan=False, width=32)


@settings(max_examples=80)
@given(arrays(np.float64, st.tuples(st.just(1), st.integers(1, 5), st.just(1)), elements=finite))
def test_the_vote_is_the_twins_and_lies_among_the_candidates(candidates):
    said = vote(candidates, np.ones(candidates.shape[:2], bool)).item()
    assert said == pytest.approx(twins.vote(candidates.ravel().tolist()), rel=1e-6, abs=1e-6)
    assert candidates.min() - 1e-6 <= said <= candidates.max() + 1e-6


def test_candidates_that_were_not_found_have_no_vote():
    candidates = np.array([[[1.0], [2.0], [4.0], [900.0]], [[7.0], [0.0], [0.0], [0.0]], [[5.0], [6.0], [7.0], [8.0]]])
    found = np.array([[True, True, True, False], [True, False, False, False], [False, False, False, False]])
    wanted = [twins.vote([1.0, 2.0, 4.0]), 7.0, 0.0]
    np.testing.assert_allclose(vote(candidates, found).ravel(), wanted)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"neighbors": 0}, "neighbors must be a whole number of at least 1, got 0"),
        ({"learning_neighbors": 0}, "learning_neighbors must be a whole number of at least 1, got 0"),
        ({"ridge": 0}, "ridge must be a number above 0, got 0"),
        ({"ridge": float("nan")}, "ridge must be a number above 0, got nan"),
    ],
)
def test_bad_options_are_told(options, words):
    train, _, _ = parts(steps=150)
    with pytest.raises(InputError, match=sentence(words)):
        IIMImputer.fit(train, **options)
