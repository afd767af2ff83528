"""A user's weighting in one file: a function of the evidence, given directly or by name."""

import numpy as np
import pytest

import subcast as sc
from subcast.errors import InputError
from subcast.weighting import WEIGHTINGS, Weighting
from subset.examples import mixing, waves

PRESENT = [0, 3]


def nearest_only(evidence):
    """Give everything to the nearest neighbor."""
    weights = np.zeros(evidence.distance.shape, dtype=np.float32)
    weights[:, 0] = np.isfinite(evidence.distance[:, 0])
    return weights


def agreeing(evidence):
    """Prefer neighbors whose own forecast is like that of the completed window."""
    return (evidence.forecast_distance() <= evidence.forecast_distance().min(axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def parts():
    return waves(steps=400).split(6, 3)


def fitted(parts, **options):
    return sc.SubsetForecaster(mixing, progress=False, **options).fit(parts.train)


def test_a_function(parts):
    robust = fitted(parts, settings=sc.Settings(weighting=nearest_only, neighbors=5))
    one = fitted(parts, settings=sc.Settings(neighbors=1))
    ours, alone = (each.predict_many(parts.test, PRESENT) for each in (robust, one))
    assert (ours.weights[:, 0] == 1).all()
    assert (ours.weights[:, 1:] == 0).all()
    np.testing.assert_allclose(ours.mean, alone.mean, rtol=1e-5)


def test_a_name(parts, monkeypatch):
    monkeypatch.setitem(WEIGHTINGS, "nearest", Weighting(nearest_only))
    robust = fitted(parts, settings=sc.Settings(weighting="nearest", neighbors=5))
    assert (robust.predict_many(parts.test, PRESENT).weights[:, 0] == 1).all()


def test_one_that_compares_forecasts(parts, monkeypatch):
    monkeypatch.setitem(WEIGHTINGS, "agreeing", Weighting(agreeing, needs_forecasts=True))
    paper = sc.SubsetForecaster.paper(mixing, weighting="agreeing", progress=False).fit(parts.train)
    weights = paper.predict_many(parts.test, PRESENT).weights
    assert set(np.unique(weights)) == {0.0, 1.0}
    with pytest.raises(InputError, match="'agreeing' needs the forecast of each completed window: set pool=False"):
        sc.Settings(weighting="agreeing")


def test_a_function_cannot_be_saved(parts, tmp_path):
    robust = fitted(parts, settings=sc.Settings(weighting=nearest_only))
    with pytest.raises(InputError, match=r"put it into subcast\.weighting\.WEIGHTINGS and give its name"):
        robust.save(tmp_path / "plant")
    assert not (tmp_path / "plant").exists()


def test_an_unknown_name_is_refused():
    with pytest.raises(InputError, match="weighting must be one of uniform, distance, forecast, rank or a function"):
        sc.Settings(weighting="nearset")


class TestWrongWeights:
    """A weighting that returns something else than weights is refused in a sentence, in both methods."""

    @pytest.mark.parametrize("paper", [False, True], ids=["pooled", "paper"])
    @pytest.mark.parametrize(
        ("weighting", "words"),
        [
            (lambda evidence: np.ones_like(evidence.distance), "sum to 1 for each window"),
            (lambda evidence: np.full_like(evidence.distance, np.nan), "got negative or non-finite ones"),
            (lambda evidence: -np.ones_like(evidence.distance), "got negative or non-finite ones"),
            (lambda evidence: np.ones(3), r"must return weights \[b, k\]"),
        ],
        ids=["sums", "nan", "negative", "shape"],
    )
    def test_it_is_refused(self, parts, paper, weighting, words):
        settings = sc.Settings.paper(weighting=weighting) if paper else sc.Settings(weighting=weighting)
        robust = fitted(parts, settings=settings)
        with pytest.raises(InputError, match=words):
            robust.predict_many(parts.test, PRESENT)

    @pytest.mark.parametrize("paper", [False, True], ids=["pooled", "paper"])
    def test_everything_present_needs_no_weights(self, parts, paper):
        settings = sc.Settings.paper(weighting=agreeing) if paper else sc.Settings(weighting=nearest_only)
        robust = fitted(parts, settings=settings)
        assert robust.predict_many(parts.test).quality == "full"
