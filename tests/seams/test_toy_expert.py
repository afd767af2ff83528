"""A user's expert in one file is tuned, saved and loaded like the others."""

import numpy as np
import pytest

import subcast as sc
from subcast.errors import DataError, InputError
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


class Seer(Climate):
    """What really happens next, read from the whole series: any blend must give it nearly everything."""

    name = "seer"

    def forecast(self, done, variables):
        series = waves(steps=600)
        ahead = done.fitted.lookback + np.arange(done.fitted.horizon)
        first = [int(np.flatnonzero(series.values[:, 0] == window[0, 0])[0]) for window in done.arrived.values]
        return np.stack([series.values[start + ahead][:, variables] for start in first])


def test_tuning_gives_a_good_expert_nearly_everything(parts):
    robust = sc.SubsetForecaster(last_reading, experts=[Climate(), Seer()], progress=False).fit(parts.train, parts.val)
    assert set(robust.settings_.blend) == {"specialist", "linear", "own_linear", "climate", "seer"}
    assert np.min(robust.settings_.blend["seer"]) > 0.8
    assert np.min(robust.settings_.blend_absent["seer"]) > 0.8
    assert np.max(robust.settings_.blend["climate"]) < 0.3
    shares = next(trial for trial in robust.report_["tried"] if trial["part"] == "shares")
    assert min(shares["error_alone"], key=shares["error_alone"].get) == "seer"


def test_a_second_fit_does_not_change_the_first_wrapper(parts):
    shared = Climate()
    settings = sc.Settings(blend=whole_share(parts))
    first = sc.SubsetForecaster(last_reading, experts=[shared], settings=settings, progress=False).fit(parts.train)
    before = first.predict_many(parts.test, PRESENT).mean
    other = waves(steps=600, seed=9).split(6, 3).train
    sc.SubsetForecaster(last_reading, experts=[shared], settings=settings, progress=False).fit(other)
    np.testing.assert_array_equal(first.predict_many(parts.test, PRESENT).mean, before)


@pytest.mark.parametrize(
    ("experts", "words"),
    [
        ([3], "experts must be objects with name, fit, forecast"),
        ([Climate(), Climate()], "got 'climate' twice"),
        ([type("Specialist", (Climate,), {"name": "specialist"})()], "got 'specialist' twice"),
        ([type("Odd", (Climate,), {"name": "a/b"})()], "letters, digits and underscores, got 'a/b'"),
    ],
    ids=["no expert", "twice", "our name", "slash"],
)
def test_bad_experts_in_a_sentence(parts, experts, words):
    with pytest.raises(InputError, match=words):
        sc.SubsetForecaster(last_reading, experts=experts, progress=False).fit(parts.train)


def test_a_blend_that_names_nobody(parts):
    wrong = sc.Settings(blend={"nope": ((1.0,) * 3,) * 3})
    with pytest.raises(InputError, match="blend names the expert 'nope', and there are model, specialist"):
        sc.SubsetForecaster(last_reading, settings=wrong, progress=False).fit(parts.train)
    robust = sc.SubsetForecaster(last_reading, settings=sc.Settings(), progress=False).fit(parts.train)
    with pytest.raises(InputError, match="blend names the expert 'nope'"):
        robust.with_settings(wrong)


def test_a_forecast_of_another_shape(parts):
    class Short(Climate):
        name = "climate"

        def forecast(self, done, variables):
            return np.zeros((1, 1, 1), dtype=np.float32)

    settings = sc.Settings(blend=whole_share(parts))
    robust = sc.SubsetForecaster(last_reading, experts=[Short()], settings=settings, progress=False).fit(parts.train)
    with pytest.raises(InputError, match=r"the expert 'climate' must return forecasts \[b, h, s\]"):
        robust.predict_many(parts.test, PRESENT)


def test_it_is_saved_and_loaded(parts, tmp_path, monkeypatch):
    robust = sc.SubsetForecaster(
        last_reading, experts=[Climate()], settings=sc.Settings(blend=whole_share(parts)), progress=False
    ).fit(parts.train)
    robust.save(tmp_path / "plant")
    with pytest.raises(DataError, match="was saved with the expert 'climate', which is not in EXPERTS"):
        sc.load(tmp_path / "plant", model=last_reading)
    monkeypatch.setitem(EXPERTS, "climate", Climate)
    loaded = sc.load(tmp_path / "plant", model=last_reading)
    expected = robust.predict_many(parts.test, PRESENT).mean
    np.testing.assert_array_equal(loaded.predict_many(parts.test, PRESENT).mean, expected)
    np.testing.assert_array_equal(loaded.fit(parts.train).predict_many(parts.test, PRESENT).mean, expected)
    other = robust.with_settings(sc.Settings())
    assert [expert.name for expert in other.experts] == ["climate"]
