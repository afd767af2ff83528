"""A user's expert in one file is tuned, saved and loaded like the others."""

import numpy as np
import pytest

import subcast as sc
from subcast.errors import DataError
from subcast.storage.state import State
from subcast.subset.experts import EXPERTS, Expert
from subset.examples import last_reading, waves

PRESENT = [0, 3]


class Climate:
    """Each variable's mean over the training windows, whatever arrives."""

    name = "climate"

    def __init__(self, means=None):
        self.means = means

    def fit(self, train, fitted):
        self.means = np.nanmean(train.series.values, axis=0).astype(np.float32)

    def forecast(self, done, variables):
        shape = (len(done.arrived), done.fitted.horizon, len(variables))
        return np.broadcast_to(self.means[variables], shape).astype(np.float32)

    def state(self):
        return State({}, {"means": self.means})

    @classmethod
    def from_state(cls, state):
        return cls(np.asarray(state.arrays["means"]))


@pytest.fixture(scope="module")
def parts():
    return waves(steps=600).split(6, 3, shares=(0.6, 0.2, 0.2))


def whole_share(parts):
    return {"climate": ((1.0,) * 3,) * 3}


def test_it_implements_the_protocol():
    assert isinstance(Climate(), Expert)


def test_an_expert_with_the_full_share_is_the_forecast(parts):
    settings = sc.Settings(blend=whole_share(parts))
    robust = sc.SubsetForecaster(last_reading, experts=[Climate()], settings=settings, progress=False).fit(parts.train)
    found = robust.predict_many(parts.test, PRESENT)
    means = np.nanmean(parts.train.series.values, axis=0)[PRESENT]
    fade = np.interp(2 / 6, [*settings.shares, 1.0], [1, 1, 1, 0])
    assert fade == 1
    np.testing.assert_allclose(found.mean, np.broadcast_to(means, found.mean.shape), rtol=1e-5)


def test_tuning_finds_its_share(parts):
    """Beside a useless model the climate earns a share; a share of nothing would be the same forecast without it."""

    def useless(x):
        return np.full((len(x), 3, x.shape[2]), 1000.0)

    robust = sc.SubsetForecaster(useless, experts=[Climate()], progress=False).fit(parts.train, parts.val)
    rows = robust.settings_.blend["climate"]
    assert np.shape(rows) == (3, 3)
    without = sc.SubsetForecaster(useless, progress=False).fit(parts.train, parts.val)
    truth = parts.test.targets[:, :, PRESENT]
    errors = [np.nanmean(np.abs(r.predict_many(parts.test, PRESENT).mean - truth)) for r in (robust, without)]
    assert errors[0] <= errors[1] * 1.02


def test_it_is_saved_and_loaded(parts, tmp_path, monkeypatch):
    robust = sc.SubsetForecaster(
        last_reading, experts=[Climate()], settings=sc.Settings(blend=whole_share(parts)), progress=False
    ).fit(parts.train)
    robust.save(tmp_path / "plant")
    with pytest.raises(DataError, match="was saved with the expert 'climate', which is not in EXPERTS"):
        sc.load(tmp_path / "plant", model=last_reading)
    monkeypatch.setitem(EXPERTS, "climate", Climate)
    loaded = sc.load(tmp_path / "plant", model=last_reading)
    np.testing.assert_array_equal(
        loaded.predict_many(parts.test, PRESENT).mean, robust.predict_many(parts.test, PRESENT).mean
    )
