"""kNNE against its slow twin."""

import numpy as np
import pytest

from baselines.examples import HORIZON, LOOKBACK, PRESENT, hourly, parts, sentence
from subcast.baselines import KNNEImputer
from subcast.errors import InputError
from twins import baselines_twins as twins


@pytest.mark.parametrize("unit", ["window", "step"])
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
def test_as_the_slow_twin(unit, setting):
    train, _, test = parts(steps=150, **setting)
    windows = test[:6:2]
    imputer = KNNEImputer.fit(train, neighbors=3, members=3, unit=unit, seed=4)
    by_hand = twins.Setting(train, windows, per_variable=setting.get("protocol") != "paper")
    draws = [draw.tolist() for draw in imputer.draws(PRESENT)]
    wanted = twins.knne(by_hand, PRESENT.tolist(), draws, 3, 2, unit)
    np.testing.assert_allclose(imputer.complete(windows, PRESENT)[..., 0], wanted, rtol=1e-4, atol=1e-4)


def test_one_member_that_looks_at_all_of_s_is_the_plain_nearest_neighbors():
    train, _, test = parts(steps=150)
    imputer = KNNEImputer.fit(train, neighbors=2, members=1, share=1.0, exponent=0.5)
    assert imputer.draws(PRESENT)[0].tolist() == PRESENT.tolist()
    by_hand = twins.Setting(train, test[:3], per_variable=True)
    wanted = twins.knne(by_hand, PRESENT.tolist(), [PRESENT.tolist()], 2, 0.5, "window")
    np.testing.assert_allclose(imputer.complete(test[:3], PRESENT)[..., 0], wanted, rtol=1e-4, atol=1e-4)


def test_a_window_seen_in_training_is_found_again():
    train, _, _ = parts()
    filled = KNNEImputer.fit(train, neighbors=1).complete(train[10:12], PRESENT)
    np.testing.assert_allclose(filled[..., 0], train[10:12].readings, rtol=1e-5)


def test_draws_are_parts_of_s_that_depend_on_seed_and_s_alone():
    train, _, _ = parts()
    present = np.array([0, 1, 3, 4, 6])
    draws = KNNEImputer.fit(train, seed=1).draws(present)
    assert len(draws) == 10
    assert all(len(set(draw.tolist())) == 3 and set(draw.tolist()) <= set(present.tolist()) for draw in draws)
    assert len({tuple(draw.tolist()) for draw in draws}) > 1
    turned = KNNEImputer.fit(train, seed=1).draws(present[::-1])
    assert [draw.tolist() for draw in turned] == [draw.tolist() for draw in draws]
    other = KNNEImputer.fit(train, seed=2).draws(present)
    assert [draw.tolist() for draw in other] != [draw.tolist() for draw in draws]


def test_one_variable_is_enough_and_neighbors_may_be_too_few():
    train = hourly(np.arange(36.0).reshape(12, 3)).windows(LOOKBACK, HORIZON)  # 5 windows
    filled = KNNEImputer.fit(train, neighbors=9).complete(train, np.array([1]))
    absent = train.readings[:, :, [0, 2]].mean(axis=0)
    np.testing.assert_allclose(filled[:, :, [0, 2], 0], np.broadcast_to(absent, (5, LOOKBACK, 2)), rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"neighbors": 0}, "neighbors must be a whole number of at least 1, got 0"),
        ({"members": 2.5}, "members must be a whole number of at least 1, got 2.5"),
        ({"share": 0}, "share must be above 0 and at most 1, got 0"),
        ({"exponent": -1}, "exponent must be a number above 0, got -1"),
        ({"seed": -3}, "seed must be a whole number of at least 0, got -3"),
        ({"unit": "day"}, "unit must be one of window, step, got 'day'"),
    ],
)
def test_bad_options_are_told(options, words):
    train, _, _ = parts(steps=150)
    with pytest.raises(InputError, match=sentence(words)):
        KNNEImputer.fit(train, **options)
