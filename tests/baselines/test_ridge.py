"""Ridge imputation against its slow twin."""

import numpy as np
import pytest

from baselines.examples import PRESENT, hourly, parts, sentence
from subcast.baselines import RidgeImputer
from subcast.errors import InputError
from twins import baselines_twins as twins


@pytest.mark.parametrize("whole_window", [False, True])
@pytest.mark.parametrize("holes", [0.0, 0.06])
def test_as_the_slow_twin(whole_window, holes):
    train, _, test = parts(steps=200, holes=holes)
    imputer = RidgeImputer.fit(train, ridge=0.05, whole_window=whole_window)
    wanted = twins.ridge(twins.Setting(train, test[:6], True), PRESENT.tolist(), 0.05, whole_window)
    np.testing.assert_allclose(imputer.complete(test[:6], PRESENT)[..., 0], wanted, rtol=1e-4, atol=1e-4)


def test_a_strong_ridge_gives_the_means():
    train, _, test = parts()
    filled = RidgeImputer.fit(train, ridge=1e9).complete(test[:3], PRESENT)
    usual = [train.series.values[twins.steps_seen(train), v].mean() for v in (1, 3)]
    np.testing.assert_allclose(filled[:, :, [1, 3], 0], np.broadcast_to(usual, (3, 5, 2)), rtol=1e-4)


def test_present_variables_that_never_change_say_nothing():
    values = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
    values[:, 0] = 4.0
    train = hourly(values).windows(3, 2)
    filled = RidgeImputer.fit(train).complete(train[:2], np.array([0]))
    assert np.ptp(filled[:, :, 1, 0]) < 1e-6


def test_too_many_inputs_are_refused():
    train = hourly(np.random.default_rng(0).normal(size=(60, 310)).astype(np.float32)).windows(20, 2)
    with pytest.raises(InputError, match=sentence("from 6180 readings a window is more than the 6000")):
        RidgeImputer.fit(train, whole_window=True).complete(train[:2], np.arange(309))


def test_bad_options_are_told():
    train, _, _ = parts(steps=150)
    with pytest.raises(InputError, match="ridge must be a number above 0, got -1"):
        RidgeImputer.fit(train, ridge=-1)
