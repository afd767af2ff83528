"""The linear forecaster against its slow twin."""

import numpy as np
import pytest

from baselines.examples import HORIZON, LOOKBACK, PRESENT, factors, hourly, parts, sentence
from subcast.baselines import LinearForecaster
from subcast.baselines.linear import moving_average
from subcast.errors import InputError
from twins import baselines_twins as twins


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("loss", ["squared", "absolute"])
@pytest.mark.parametrize("holes", [0.0, 0.1])
def test_as_the_slow_twin(shared, loss, holes):
    train, _, test = parts(steps=130, n=6, holes=holes)
    rounds = 2
    said = LinearForecaster.fit(train, shared=shared, loss=loss, kernel=3, ridge=0.01, rounds=rounds)
    by_hand = twins.Setting(train, test[:4], True)
    wanted = twins.linear(by_hand, PRESENT.tolist(), 3, 0.01, rounds if loss == "absolute" else 0, shared)
    np.testing.assert_allclose(said(test[:4], PRESENT), wanted, rtol=2e-4, atol=2e-4)


def test_the_moving_average_may_be_wider_than_the_window():
    train, _, test = parts(steps=130)
    said = LinearForecaster.fit(train, kernel=25, ridge=0.01)(test[:3], PRESENT)
    wanted = twins.linear(twins.Setting(train, test[:3], True), PRESENT.tolist(), 25, 0.01, 0, False)
    np.testing.assert_allclose(said, wanted, rtol=2e-4, atol=2e-4)
    np.testing.assert_allclose(moving_average(4, 9).sum(axis=1), 1)


def test_the_absolute_loss_has_the_smaller_absolute_error_in_training():
    rng = np.random.default_rng(0)
    values = factors(400) + (rng.random((400, 7)) < 0.08) * rng.exponential(30, size=(400, 7))
    train = hourly(values.astype(np.float32)).windows(LOOKBACK, HORIZON)
    everyone = np.arange(7)
    error = {}
    for loss in ("squared", "absolute"):
        said = LinearForecaster.fit(train, loss=loss)(train, everyone)
        error[loss] = np.abs(said - train.targets).mean(), ((said - train.targets) ** 2).mean()
    assert error["absolute"][0] < 0.98 * error["squared"][0]
    assert error["absolute"][1] > error["squared"][1]


def test_targets_that_do_not_count_do_not_move_it():
    values = factors(200)
    values[::4, 0] = 0.0
    train, _, test = hourly(values).split(LOOKBACK, HORIZON, protocol="paper")
    by_hand = twins.Setting(train, test[:3], True)
    wanted = twins.linear(by_hand, [0], 5, 1e-4, 0, False)
    np.testing.assert_allclose(LinearForecaster.fit(train)(test[:3], np.array([0])), wanted, rtol=5e-4, atol=5e-4)


def test_a_variable_without_any_target_is_forecast_by_its_mean():
    values = factors(100)
    train, _, test = hourly(values).split(LOOKBACK, HORIZON, protocol="paper")
    targets = np.array(train.target_values)
    targets[:, 2] = np.nan
    silent = type(train)(train.series, LOOKBACK, HORIZON, target_values=targets, protocol=train.protocol)
    said = LinearForecaster.fit(silent)(test[:2], np.array([2, 3]))
    usual = train.series.values[twins.steps_seen(train), 2].mean()
    np.testing.assert_allclose(said[:, :, 0], usual, rtol=0.05)
    assert np.isfinite(said).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loss": "huber"}, "loss must be one of squared, absolute, got 'huber'"),
        ({"kernel": 4}, "kernel must be odd, so that the average is centered on its step, got 4"),
        ({"kernel": 0}, "kernel must be a whole number of at least 1, got 0"),
        ({"ridge": 0}, "ridge must be a number above 0, got 0"),
        ({"rounds": 0}, "rounds must be a whole number of at least 1, got 0"),
    ],
)
def test_bad_options_are_told(options, words):
    train, _, _ = parts(steps=130)
    with pytest.raises(InputError, match=sentence(words)):
        LinearForecaster.fit(train, **options)
