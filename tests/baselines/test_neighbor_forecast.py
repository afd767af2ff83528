"""The nearest-neighbor forecast against its slow twin."""

import numpy as np
import pytest

from baselines.examples import HORIZON, PRESENT, factors, hourly, parts, sentence
from subcast.baselines import NeighborForecast
from subcast.errors import InputError
from twins import baselines_twins as twins


@pytest.mark.parametrize(
    "setting",
    [{}, {"holes": 0.06}, {"features": ("time_of_day",)}, {"protocol": "paper"}],
    ids=["plain", "holes", "time of day", "paper"],
)
@pytest.mark.parametrize("exponent", [0.5, 2])
def test_as_the_slow_twin(setting, exponent):
    train, _, test = parts(steps=180, **setting)
    windows = test[:8]
    by_hand = twins.Setting(train, windows, per_variable=setting.get("protocol") != "paper")
    wanted = twins.neighbor_forecast(by_hand, PRESENT.tolist(), 5, exponent, train.target_values)
    said = NeighborForecast.fit(train, exponent=exponent)(windows, PRESENT)
    np.testing.assert_allclose(said, wanted, rtol=1e-4, atol=1e-4)


def test_the_published_weights_of_five():
    """Rank-order centroid for m = 5: 137/300, 77/300, 47/300, 27/300, 12/300."""
    values = np.zeros((400, 1), dtype=np.float32)
    values[::20, 0] = 1 + np.arange(20) / 100  # twenty marked steps, then what followed each
    values[1::20, 0] = np.arange(20) * 10
    train = hourly(values).windows(1, 1)[::20]
    asked = hourly(np.array([[1.0], [0.0]], dtype=np.float32)).windows(1, 1)
    said = NeighborForecast.fit(train)(asked, np.array([0])).item()
    assert said == pytest.approx((77 * 10 + 47 * 20 + 27 * 30 + 12 * 40) / 300, rel=1e-5)


def test_zeros_do_not_count_as_futures_in_the_paper_unless_readings_are_wanted():
    values = factors(200)
    values[::3, 0] = 0.0
    train, _, test = hourly(values).split(5, HORIZON, protocol="paper")
    by_hand = twins.Setting(train, test[:5], per_variable=False)
    for futures, followed in (("targets", train.target_values), ("readings", train.series.values)):
        wanted = twins.neighbor_forecast(by_hand, PRESENT.tolist(), 5, 0.5, followed)
        said = NeighborForecast.fit(train, futures=futures)(test[:5], PRESENT)
        np.testing.assert_allclose(said, wanted, rtol=1e-4, atol=1e-4)


def test_where_no_future_is_known_the_forecast_is_the_mean():
    values = factors(60)
    values[:, 1] = np.nan
    values[:30, 1] = 5.0
    train = hourly(values).windows(5, HORIZON)[30:]  # from then on variable 1 has no reading
    said = NeighborForecast.fit(train)(train[:2], np.array([0, 1]))
    assert np.isfinite(said).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"neighbors": 0}, "neighbors must be a whole number of at least 1, got 0"),
        ({"exponent": 0}, "exponent must be a number above 0, got 0"),
        ({"futures": "inputs"}, "futures must be one of targets, readings, got 'inputs'"),
    ],
)
def test_bad_options_are_told(options, words):
    train, _, _ = parts(steps=150)
    with pytest.raises(InputError, match=sentence(words)):
        NeighborForecast.fit(train, **options)
