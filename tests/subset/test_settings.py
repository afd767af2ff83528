"""Tests of the settings: checks, storage as plain values, and linear interpolation of blends."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcast.errors import InputError
from subcast.subset import Settings
from subset.examples import assert_one_sentence
from twins.subset_twins import blend_of

TABLE = ((0.4, 0.6, 0.9), (0.2, 0.2, 0.5), (0.1, 0.0, 0.3))


@given(st.floats(0.01, 1.0), st.booleans())
def test_blend_against_linear_interpolation(share, is_absent):
    chosen = Settings(blend=TABLE, blend_absent=TABLE[::-1] if is_absent else ())
    shares = chosen.blend_of(absent=is_absent).share_of("specialist", share)
    np.testing.assert_allclose(shares, [blend_of(chosen, share, q, is_absent) for q in range(3)], atol=1e-9)


def test_blend_fades_to_zero():
    chosen = Settings(blend=TABLE)
    blend = chosen.blend_of(absent=False)
    assert (blend.share_of("specialist", 1.0) == 0).all()
    sizes = [blend.share_of("specialist", 1 - away).max() for away in (0.1, 0.01, 0.001)]
    np.testing.assert_allclose(sizes, [0.2, 0.02, 0.002], atol=1e-9)


def test_virtual_sensors_do_not_fade():
    blend = Settings(blend=TABLE).blend_of(absent=True)
    np.testing.assert_allclose(blend.share_of("specialist", 0.999), TABLE[-1])


def test_without_a_blend_the_forecast_is_the_model():
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
        ({"assist": "never"}, ("assist", "'never'", "missing", "always")),
        ({"assist": True}, ("assist", "True")),
        ({"holidays": "2024-12-25"}, ("holidays", "'2024-12-25'", "list")),
        ({"holidays": ["2024-13-01"]}, ("holidays", "'2024-13-01'")),
        ({"holidays": None}, ("holidays", "None")),
        ({"blend": ((0.5, 0.5, 0.5),)}, ("blend", "3")),
    ],
    ids=str,
)
def test_bad_settings_are_refused_with_a_clear_error(changes, words):
    with pytest.raises(InputError) as error:
        Settings(**changes)
    assert_one_sentence(error, *words)


@pytest.mark.parametrize(
    "changes",
    [{"shares": ()}, {"shares": (0.5, 0.1, 0.9)}, {"blend": 0.5}, {"blend": ((5.0,), (0.1,), (0.1,))}],
    ids=str,
)
def test_bad_blends_are_refused_with_a_clear_error(changes):
    with pytest.raises(InputError) as error:
        Settings(**changes)
    assert_one_sentence(error, next(iter(changes)))


def test_unknown_stored_settings():
    with pytest.raises(InputError) as error:
        Settings.from_dict({"neighbours": 3})
    assert_one_sentence(error, "neighbours")


def test_holidays_are_days_in_order_and_survive_json():
    given = Settings(holidays=[np.datetime64("2024-12-25"), "2024-01-01T10:00", "2024-12-25"])
    assert given.holidays == ("2024-01-01", "2024-12-25")
    assert Settings.from_dict(json.loads(json.dumps(given.to_dict()))) == given


def test_with_assist_the_experts_keep_their_share_with_all_variables_present():
    rows = ((0.4, 0.2), (0.2, 0.2), (0.2, 0.6))
    missing, always = (Settings(blend=rows, assist=assist).blend_of(absent=False) for assist in ("missing", "always"))
    assert missing.share_of("specialist", 1.0).tolist() == [0, 0]
    assert always.share_of("specialist", 1.0).tolist() == [0.2, 0.6]
    assert missing.rest(1.0).tolist() == [1, 1]
    assert always.rest(1.0).tolist() == [0.8, 0.4]
