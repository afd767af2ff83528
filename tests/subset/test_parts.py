"""The two parts of validation share no step; settings between shares lie on straight lines."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcast.errors import InputError
from subcast.series import Series
from subcast.subset import Settings
from subcast.subset.validation import split_validation
from subcast.windows import Windows
from subset.examples import assert_one_sentence
from twins.subset_twins import blend_of


def steps_of(windows, places):
    """All steps that some windows read or forecast."""
    size = windows.lookback + windows.horizon
    return {windows.starts[int(place)] + step for place in places for step in range(size)}


@settings(max_examples=150)
@given(st.data())
def test_parts_share_no_step(data):
    lookback, horizon = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 8))
    size = lookback + horizon
    steps = data.draw(st.integers(size, 400))
    most = steps - size + 1
    first = data.draw(st.integers(0, most - 1))
    stride = data.draw(st.sampled_from([1, 1, 1, 2, 7, -1]))
    starts = range(first, most, stride) if stride > 0 else range(most - 1, first - 1, -1)
    val = Windows(Series(np.zeros((steps, 1))), lookback, horizon, starts=starts)
    tuning, calibration = split_validation(val)
    assert len(tuning)
    assert not set(tuning.tolist()) & set(calibration.tolist())
    assert set(tuning.tolist()) | set(calibration.tolist()) <= set(range(len(val)))
    if max(val.starts) - min(val.starts) >= size:  # there are two windows that share no step
        assert len(calibration)
        assert not steps_of(val, tuning) & steps_of(val, calibration)


def test_both_see_early_and_late_days_and_most_windows_are_used():
    val = Series(np.zeros((1000, 1))).windows(6, 3)
    tuning, calibration = split_validation(val)
    assert min(tuning) < 150
    assert max(calibration) > 850
    assert 0.4 < len(tuning) / len(calibration) < 2.5
    assert len(tuning) + len(calibration) > 0.85 * len(val)


def test_one_window_is_for_tuning():
    tuning, calibration = split_validation(Series(np.zeros((9, 1))).windows(6, 3))
    assert (len(tuning), len(calibration)) == (1, 0)


# Settings

TABLE = ((0.4, 0.6, 0.9), (0.2, 0.2, 0.5), (0.1, 0.0, 0.3))


@given(st.floats(0.01, 1.0), st.booleans())
def test_blend_against_straight_lines(share, is_absent):
    chosen = Settings(blend=TABLE, blend_absent=TABLE[::-1] if is_absent else ())
    shares = chosen.blend_of(absent=is_absent).share_of("specialist", share)
    np.testing.assert_allclose(shares, [blend_of(chosen, share, q, is_absent) for q in range(3)], atol=1e-9)


def test_blend_fades_to_nothing():
    chosen = Settings(blend=TABLE)
    blend = chosen.blend_of(absent=False)
    assert (blend.share_of("specialist", 1.0) == 0).all()
    sizes = [blend.share_of("specialist", 1 - away).max() for away in (0.1, 0.01, 0.001)]
    np.testing.assert_allclose(sizes, [0.2, 0.02, 0.002], atol=1e-9)


def test_virtual_sensors_do_not_fade():
    blend = Settings(blend=TABLE).blend_of(absent=True)
    np.testing.assert_allclose(blend.share_of("specialist", 0.999), TABLE[-1])


def test_no_blend_is_the_model_alone():
    first = np.ones((2, 4, 3), dtype=np.float32)
    np.testing.assert_array_equal(Settings().blend_of(absent=False).combine(first, {}, 0.1), first)
    assert not Settings().uses_specialist


def test_settings_survive_json():
    chosen = Settings(neighbors=7, blend=TABLE, blend_absent=TABLE, center="mean", shares=(0.1, 0.5, 0.9))
    assert Settings.from_dict(json.loads(json.dumps(chosen.to_dict()))) == chosen
    assert Settings.from_dict(json.loads(json.dumps(Settings.paper().to_dict()))) == Settings.paper()


def test_the_published_settings():
    paper = Settings.paper()
    assert (paper.neighbors, paper.exponent, paper.temperature, paper.weighting) == (5, 0.5, 0.1, "forecast")
    assert (paper.pool, paper.correction, paper.per_variable, paper.features_in_distance) == (False, 0, False, True)
    assert Settings.paper(neighbors=10, weighting="uniform").neighbors == 10


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"neighbors": 0}, ("neighbors", "0")),
        ({"neighbors": 2.5}, ("neighbors", "2.5")),
        ({"neighbors": True}, ("neighbors", "True")),
        ({"exponent": 0}, ("exponent", "0")),
        ({"exponent": float("inf")}, ("exponent", "inf")),
        ({"temperature": -1.0}, ("temperature", "-1.0")),
        ({"correction": 1.5}, ("correction", "1.5")),
        ({"ridge": -0.1}, ("ridge", "-0.1")),
        ({"ridge": "much"}, ("ridge", "'much'")),
        ({"regression_share": float("nan")}, ("regression_share", "nan")),
        ({"time_of_day_weight": -1}, ("time_of_day_weight", "-1")),
        ({"weighting": "softly"}, ("weighting", "'softly'", "rank")),
        ({"weighting": "forecast"}, ("weighting", "pool=False")),
        ({"center": "mode"}, ("center", "'mode'")),
        ({"blend": ((0.5, 0.5, 0.5),)}, ("blend", "3")),
    ],
    ids=str,
)
def test_bad_settings_in_one_sentence(changes, words):
    with pytest.raises(InputError) as error:
        Settings(**changes)
    assert_one_sentence(error, *words)


@pytest.mark.parametrize(
    "changes",
    [{"shares": ()}, {"shares": (0.5, 0.1, 0.9)}, {"blend": 0.5}, {"blend": ((5.0,), (0.1,), (0.1,))}],
    ids=str,
)
def test_bad_tables_in_one_sentence(changes):
    with pytest.raises(InputError) as error:
        Settings(**changes)
    assert_one_sentence(error, next(iter(changes)))


def test_unknown_stored_settings():
    with pytest.raises(InputError) as error:
        Settings.from_dict({"neighbours": 3})
    assert_one_sentence(error, "neighbours")
