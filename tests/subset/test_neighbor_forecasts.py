"""Tests of the forecasts of training windows: computed once, saved, and shared by threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from subcast.subset.neighbor_forecasts import NeighborForecasts

SHAPE = (20, 2, 3)


class Compute:
    def __init__(self):
        self.asked = []

    def __call__(self, index):
        self.asked += index.tolist()
        return np.broadcast_to(index[:, None, None].astype(np.float32), (len(index), 2, 3))


def test_each_forecast_is_computed_once():
    forecasts, compute = NeighborForecasts(), Compute()
    answer = forecasts.get(np.array([[3, 5], [5, -1]]), SHAPE, compute)
    assert answer.shape == (2, 2, 2, 3)
    assert answer[0, 1, 0, 0] == 5
    assert np.isnan(answer[1, 1]).all()
    forecasts.get(np.array([5, 7]), SHAPE, compute)
    assert compute.asked == [3, 5, 7]
    assert forecasts.count == 3


def test_the_state_keeps_the_known_forecasts():
    forecasts, compute = NeighborForecasts(), Compute()
    assert forecasts.state() is None
    forecasts.get(np.array([3]), SHAPE, compute)
    back, fresh = NeighborForecasts.from_state(forecasts.state()), Compute()
    np.testing.assert_array_equal(back.get(np.array([3]), SHAPE, fresh), forecasts.get(np.array([3]), SHAPE, compute))
    assert fresh.asked == []
    back.fill(SHAPE, fresh)
    assert sorted(fresh.asked) == [i for i in range(20) if i != 3]
    whole = NeighborForecasts.from_state(back.state())
    assert whole.count == 20
    assert NeighborForecasts.from_state(None).count == 0


def test_threads_compute_each_forecast_once():
    forecasts, compute = NeighborForecasts(), Compute()
    rng = np.random.default_rng(0)
    asked = [rng.integers(0, 20, size=6) for _ in range(30)]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda index: forecasts.get(index, SHAPE, compute), asked))
    for index, answer in zip(asked, answers, strict=True):
        np.testing.assert_array_equal(answer[:, 0, 0], index)
    assert len(compute.asked) == len(set(compute.asked))
