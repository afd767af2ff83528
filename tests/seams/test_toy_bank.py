"""A user's bank in one file: plain loops over windows give the same forecasts as `WindowBank`."""

import numpy as np
import pytest

import subcast as sc
from subcast.errors import DataError, InputError
from subcast.retrieval import Bank, LagMoments, Neighbors
from subcast.storage.state import State
from subcast.subset.saving import BANKS
from subset.examples import HORIZON, LOOKBACK, mixing, waves

BLEND = ((0.3, 0.4, 0.5),) * 3


class ListBank:
    """Windows in a list, searched one by one."""

    def __init__(self, values, lookback, starts, shared=None):
        self.values, self.lookback, self.starts, self.common = values, lookback, np.asarray(starts), shared
        self.n_steps, self.n = values.shape

    def __len__(self):
        return len(self.starts)

    def normalized(self, normalizer, slots, shared=None):
        return ListBank(normalizer.normalize(self.values, slots), self.lookback, self.starts, shared)

    def nearest(self, windows, variables, k, exponent=0.5, *, shared=None):
        index, distance = [], []
        for place, window in enumerate(windows):
            common = None if shared is None else shared[place]
            away = [self._distance(window, variables, exponent, common, start) for start in self.starts]
            order = sorted(range(len(away)), key=lambda i: (away[i], i))[:k]
            index.append(order)
            distance.append([away[i] for i in order])
        return Neighbors(np.array(index, dtype=np.int64), np.array(distance, dtype=np.float32))

    def _distance(self, window, variables, exponent, common, start):
        cells = list(np.abs(window - self.values[start : start + self.lookback][:, variables]).ravel() ** exponent)
        if common is not None:
            own = np.abs(common - self.common[start : start + self.lookback]) ** exponent
            cells += list(np.repeat(own.ravel(), len(variables)))
        return np.float32(sum(float(c) for c in cells) / len(cells))

    def nearest_sliding(self, steps, variables, k, exponent=0.5, *, shared=None):
        count = len(steps) - self.lookback + 1
        windows = np.stack([steps[j : j + self.lookback] for j in range(count)])
        common = None if shared is None else np.stack([shared[j : j + self.lookback] for j in range(count)])
        return self.nearest(windows, variables, k, exponent, shared=common)

    def stream(self, variables, k, exponent=0.5):
        return ListStream(self, variables, k, exponent)

    def windows(self, index):
        return np.stack([self.values[self.starts[i] : self.starts[i] + self.lookback] for i in index])

    def paths(self, index, variables, length):
        return np.stack([self.values[self.starts[i] : self.starts[i] + length][:, variables] for i in index])

    def _gather(self, index, variables, skip, length):
        first = self.starts[index]  # [b, k]
        return self.values[(first[..., None] + skip + np.arange(length))][..., variables]  # [b, k, length, s]

    def pool_windows(self, index, weights, variables):
        gathered = self._gather(index, variables, 0, self.lookback)
        total = weights.sum(axis=1)[:, None, None]
        return (np.einsum("bk,bkts->bts", weights, gathered) / total).astype(np.float32)

    def pool_futures(self, index, weights, variables, horizon, center="median"):
        return np.median(self._gather(index, variables, self.lookback, horizon), axis=1).astype(np.float32)

    def future_deviation(self, index, variables, horizon):
        return self._gather(index, variables, self.lookback, horizon).std(axis=1).astype(np.float32)

    def moments(self, lags, first, last):
        return LagMoments.fit(self.values[first:last], lags)

    def state(self):
        return State({"kind": "list"})

    def fingerprint(self):
        return f"list-{len(self)}"


class ListStream:
    def __init__(self, bank, variables, k, exponent):
        self.bank, self.options, self.steps, self.shared = bank, (variables, k, exponent), [], []

    def push(self, step, *, shared=None):
        self.steps.append(step)
        self.shared.append(shared)
        if len(self.steps) < self.bank.lookback:
            return None
        window = np.stack(self.steps[-self.bank.lookback :])[None]
        last = self.shared[-self.bank.lookback :]
        common = None if last[0] is None else np.stack(last)[None]
        return self.bank.nearest(window, *self.options, shared=common)


@pytest.fixture(scope="module")
def parts():
    return waves(steps=260).split(LOOKBACK, HORIZON)


@pytest.fixture(scope="module")
def banks(parts):
    train = parts.train
    starts = np.asarray(train.starts)
    own = ListBank(train.series.values, LOOKBACK, starts)
    raw = sc.WindowBank(train.series.values, LOOKBACK, starts=starts)
    settings = sc.Settings(blend=BLEND, neighbors=7)
    make = [sc.SubsetForecaster(mixing, settings=settings, progress=False, bank=bank) for bank in (None, raw, own)]
    return [robust.fit(parts.train, parts.val) for robust in make]


def test_it_implements_the_protocol(parts):
    assert isinstance(ListBank(np.zeros((9, 2)), 3, [0]), Bank)
    assert isinstance(sc.WindowBank(np.zeros((9, 2)), 3), Bank)


def test_a_given_window_bank_equals_the_one_that_fit_makes(banks, parts):
    made, raw, _ = (robust.predict_many(parts.test[:8], [0, 3], absent=True) for robust in banks)
    np.testing.assert_array_equal(made.mean, raw.mean)
    np.testing.assert_array_equal(made.bounds, raw.bounds)


def test_a_bank_of_loops_gives_the_same_forecasts(banks, parts):
    made, _, own = (robust.predict_many(parts.test[:8], [0, 3], absent=True) for robust in banks)
    np.testing.assert_array_equal(made.neighbor_index, own.neighbor_index)
    np.testing.assert_allclose(made.mean, own.mean, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(made.bounds, own.bounds, rtol=2e-3, atol=2e-3)


def test_a_bank_of_loops_gives_the_same_stream(banks, parts):
    frame = parts.test.series.to_frame().iloc[:12, [0, 3]]
    answers = []
    for robust in (banks[0], banks[2]):
        feed = robust.stream()
        answers.append([feed.push(row, time) for time, row in frame.iterrows()])
    for one, other in zip(*answers, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(one.mean, other.mean, rtol=1e-4, atol=1e-4)


def test_a_bank_of_other_sizes_is_refused(parts):
    short = sc.WindowBank(parts.train.series.values[:-1], LOOKBACK)
    with pytest.raises(InputError, match="bank must hold windows of the training series"):
        sc.SubsetForecaster(mixing, bank=short, progress=False).fit(parts.train)
    with pytest.raises(InputError, match=r"bank must implement the protocol subcast\.retrieval\.Bank, got list"):
        sc.SubsetForecaster(mixing, bank=[], progress=False).fit(parts.train)


def test_a_bank_of_other_readings_or_without_room_for_the_horizon(parts):
    values, starts = parts.train.series.values, np.asarray(parts.train.starts)
    other = sc.WindowBank(values + 1, LOOKBACK, starts=starts)
    with pytest.raises(InputError, match="bank must hold the raw readings of train, and its window at step"):
        sc.SubsetForecaster(mixing, bank=other, progress=False).fit(parts.train)
    with pytest.raises(InputError, match="bank must leave room for the 3 steps that follow each window"):
        sc.SubsetForecaster(mixing, bank=sc.WindowBank(values, LOOKBACK), progress=False).fit(parts.train)


def test_it_is_saved_and_loaded_with_a_reader(banks, parts, tmp_path, monkeypatch):
    own = banks[2]
    own.save(tmp_path / "plant")
    with pytest.raises(DataError, match="a bank of kind 'list', which has no reader here"):
        sc.load(tmp_path / "plant", model=mixing)
    monkeypatch.setitem(BANKS, "list", lambda state: ListBank(np.zeros((9, 6)), LOOKBACK, [0]))
    with pytest.raises(DataError, match="was saved with another bank"):
        sc.load(tmp_path / "plant", model=mixing)
    monkeypatch.setitem(BANKS, "list", lambda state: own.fitted_.bank)
    loaded = sc.load(tmp_path / "plant", model=mixing)
    np.testing.assert_array_equal(
        loaded.predict_many(parts.test[:3], [0, 3]).mean, own.predict_many(parts.test[:3], [0, 3]).mean
    )


def test_errors_of_the_users_model_come_through(banks, tmp_path):
    banks[0].save(tmp_path / "plant")

    def broken(x):
        raise TypeError("my model broke")

    with pytest.raises(TypeError, match="my model broke"):
        sc.load(tmp_path / "plant", model=broken)
