"""Tests of quality, expected gap and notes: few variables, strange windows, missing readings, a bad model."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import subcast as sc
from subcast.errors import FitWarning
from subcast.forecast import QUALITIES
from subcast.series import Series
from subcast.subset.conformal import PROBABILITIES, Calibration
from subcast.subset.trust import Judge
from subcast.subset.usefulness import Usefulness
from subset.examples import HORIZON, LOOKBACK, last_reading, learn, waves

N = 16


def calibration(gaps=(20.0, 5.0, 0.0), strangeness=(0.1, 0.2, 0.4)):
    table = np.zeros((3, len(PROBABILITIES), 2, N), np.float32)
    return Calibration(np.array([1, 4, N]), table, table, np.array(gaps), np.array(strangeness))


def useless(bad=tuple(range(N))):
    return Usefulness("mae", 40, 9.0, {"the last value": 0.3}, "the model is bad", bad, "the last value")


def judge(gaps=(20.0, 5.0, 0.0), usefulness=None, variables=(0, 1), **options):
    return Judge(N, calibration(gaps, **options), usefulness, np.array(variables))


def one(judging, count, strangeness=0.0):
    return judging.windows(np.array([float(count)]), np.array([strangeness]))[0]


@pytest.mark.parametrize(
    ("count", "gaps", "word"),
    [
        (N, (20.0, 5.0, 0.0), "full"),
        (1, (20.0, 5.0, 0.0), "poor"),
        (4, (20.0, 5.0, 0.0), "fair"),
        (15.9, (20.0, 5.0, 0.0), "good"),
        (1, (2.0, 1.0, 0.0), "good"),
        (1, (2.01, 1.0, 0.0), "fair"),
        (1, (10.01, 1.0, 0.0), "poor"),
        (1, (-5.0, -1.0, 0.0), "good"),
    ],
)
def test_the_word_follows_the_expected_gap(count, gaps, word):
    assert one(judge(gaps), count).quality == word


@given(st.floats(0.05, N), st.lists(st.floats(-90, 400), min_size=3, max_size=3), st.floats(0, 3), st.booleans())
def test_a_large_expected_gap_is_never_called_good(count, gaps, strangeness, bad):
    trust = one(judge(gaps, useless() if bad else None), count, strangeness)
    if count < N and trust.expected_gap > 2:
        assert trust.quality in ("fair", "poor")
    if trust.notes or bad:
        assert trust.quality in ("fair", "poor")


@pytest.mark.parametrize(("count", "share", "word"), [(15, 0.9, "good"), (8, 0.5, "fair"), (2, 0.1, "poor")])
def test_without_a_calibration_the_share_of_readings_decides(count, share, word):
    assert one(Judge(N, None, None, np.arange(2)), count, 5.0).quality == word
    assert one(Judge(N, None, None, np.arange(2)), count).expected_gap is None


@pytest.mark.parametrize(
    ("ratio", "before", "after"),
    [
        (1.19, "good", "good"),
        (1.3, "good", "fair"),
        (2.5, "good", "poor"),
        (1.3, "fair", "poor"),
        (1.3, "full", "fair"),
    ],
)
def test_a_strange_window_lowers_the_quality_and_says_so(ratio, before, after):
    gaps = {"good": (1.0, 1.0, 0.0), "fair": (5.0, 5.0, 0.0), "full": (1.0, 1.0, 0.0)}[before]
    count = N if before == "full" else 4
    usual = 0.4 if before == "full" else 0.2
    trust = one(judge(gaps), count, ratio * usual)
    assert trust.quality == after
    assert bool(trust.notes) == (ratio > 1.2)
    if trust.notes:
        assert f"{ratio:.1f} times as far away" in trust.notes[0]


def test_fewer_readings_than_one_variable_are_extrapolated_with_a_note():
    trust = one(judge((1.0, 1.0, 0.0)), 0.5)
    assert trust.quality == "fair"
    assert trust.expected_gap == 1.0
    assert "only 50% of the readings of one variable" in trust.notes[0]
    assert one(judge((1.0, 1.0, 0.0)), 1.0).notes == ()


def test_a_bad_model_limits_the_quality_of_the_variables_it_is_bad_for():
    gaps = (-10.0, -10.0, 3000.0)
    concerned = judge(gaps, useless(bad=(1, 7)), variables=(0, 1))
    assert one(concerned, 4).quality == "fair"
    assert concerned.reference == "the last value"
    assert one(concerned, N).quality == "poor"  # all present: the model's own forecast
    assert one(concerned, N).expected_gap == 3000
    other = judge(gaps, useless(bad=(1, 7)), variables=(0, 2))
    assert one(other, 4).quality == "good"
    assert other.reference == ""


def test_a_batch_has_a_summary():
    judging = judge((1.0, 1.0, 0.0))
    counts, strangeness = np.full(10, 4.0), np.full(10, 0.1)
    assert judging.batch(counts, strangeness).quality == "good"
    strangeness[3] = 0.5
    few = judging.batch(counts, strangeness)
    assert few.quality == "good"
    assert few.notes[0].startswith("1 of 10 windows are unlike")
    strangeness[:5] = 0.3
    assert judging.batch(counts, strangeness).quality == "fair"
    strangeness[:] = 0.9
    assert judging.batch(counts, strangeness).quality == "poor"
    assert judging.batch(counts[:0], strangeness[:0]).quality in QUALITIES


# With a wrapper


@pytest.fixture(scope="module")
def factors():
    """Twelve variables that follow three factors; each alone tells little of the others, and a good model."""
    rng = np.random.default_rng(0)
    steps = 1600
    factor = np.zeros((steps, 3))
    for step in range(1, steps):
        factor[step] = 0.9 * factor[step - 1] + rng.normal(size=3)
    lead = np.roll(factor, 2, axis=0)  # other variables know what comes
    values = np.concatenate([factor @ rng.normal(size=(3, 6)), lead @ rng.normal(size=(3, 6))], axis=1)
    series = Series(values + 0.1 * rng.normal(size=values.shape))
    parts = series.split(LOOKBACK, HORIZON, shares=(0.5, 0.25, 0.25))
    with warnings.catch_warnings():
        warnings.simplefilter("error", FitWarning)
        robust = sc.SubsetForecaster(learn(parts.train), progress=False, settings=sc.Settings()).fit(*parts[:2])
    return robust, parts.test


def measured_gap(robust, test, count):
    rng = np.random.default_rng(1)
    errors = np.zeros(2)
    for _ in range(12):
        present = np.sort(rng.choice(12, count, replace=False))
        truth = test.targets[:, :, present]
        spread = robust.fitted_.normalizer.spread_of(present)
        full = robust.predict_many(test).mean[:, :, present]
        for place, mean in enumerate((robust.predict_many(test, present).mean, full)):
            errors[place] += np.abs((mean - truth) / spread).mean()
    return 100 * (errors[0] / errors[1] - 1)


def test_the_expected_gap_is_right_down_to_one_variable(factors):
    robust, test = factors
    for count in (1, 2, 6):
        claimed = robust.predict_many(test, list(range(count))).expected_gap
        measured = measured_gap(robust, test, count)
        assert claimed == pytest.approx(measured, abs=max(5.0, 0.35 * abs(measured))), count
    assert robust.predict_many(test, [0]).expected_gap > 10
    assert robust.predict_many(test, [0]).quality == "poor"


@pytest.mark.parametrize("present", [[0], [3, 9], list(range(12))], ids=str)
def test_untouched_windows_are_not_strange_and_absurd_ones_are(factors, present):
    robust, test = factors
    usual = robust.predict_many(test, present)
    strange = [trust for trust in usual.trust if trust.notes]
    assert len(strange) < 0.03 * len(test)
    absurd = robust.predict_many(test.readings * 100, present)
    assert sum(bool(trust.notes) for trust in absurd.trust) > 0.9 * len(test)
    assert absurd.quality == "poor"
    assert absurd[0].quality in ("fair", "poor")


@pytest.fixture(scope="module")
def smooth():
    """Twelve waves with little noise, so that each window has near neighbors."""
    rng = np.random.default_rng(0)
    phase, height = rng.uniform(0, 2 * np.pi, 12), rng.uniform(1, 4, 12)
    values = height * np.sin(2 * np.pi * np.arange(1200)[:, None] / 50 + phase) + 0.1 * rng.normal(size=(1200, 12))
    parts = Series(values).split(LOOKBACK, HORIZON, shares=(0.5, 0.25, 0.25))
    robust = sc.SubsetForecaster(learn(parts.train), progress=False, settings=sc.Settings(), limits=None)
    return robust.fit(*parts[:2]), parts.test


@pytest.mark.parametrize("kind", ["variables exchanged", "random", "doubled", "another level"])
def test_windows_unlike_any_other_are_strange(smooth, kind):
    robust, test = smooth
    rng = np.random.default_rng(2)
    values = {
        "variables exchanged": test.readings[:, :, np.roll(np.arange(12), 5)],
        "random": rng.uniform(-1, 1, test.readings.shape) * 3 * test.readings.std(axis=(0, 1)),
        "doubled": 2 * test.readings,
        "another level": test.readings + 6 * test.readings.std(axis=(0, 1)),
    }[kind].astype(np.float32)
    found = robust.predict_many(values, list(range(12)))
    assert np.mean([any("unlike" in note for note in trust.notes) for trust in found.trust]) > 0.9
    assert found.quality in ("fair", "poor")


def test_another_season_is_strange():
    """A wrapper that saw only winter does not call a window of July good."""
    series = waves(n=6, steps=900)
    train, val, test = series.split(LOOKBACK, HORIZON, shares=(0.6, 0.3, 0.1))
    robust = sc.SubsetForecaster(learn(train), progress=False, settings=sc.Settings(), limits=None).fit(train, val)
    window = test.series.to_frame().iloc[:LOOKBACK]
    summer = window + 25
    found = robust.predict(summer[["wave-0", "wave-3", "wave-4"]])
    assert found.quality == "poor"
    assert "unlike" in found.notes[0]
    assert "note: this window is unlike" in repr(found)
    assert found.to_dict()["notes"] == list(found.notes)


def test_a_single_window_and_a_stream_judge_like_a_batch(factors):
    robust, test = factors
    values = test.readings[:1] * np.float32(20)
    batch = robust.predict_many(values, [0, 5])
    alone = robust.predict(values[0][:, [0, 5]], names=[robust.variables[0], robust.variables[5]])
    stream = robust.stream()
    for row in values[0]:
        pushed = stream.push({robust.variables[0]: float(row[0]), robust.variables[5]: float(row[5])})
    for forecast in (alone, pushed):
        assert (forecast.quality, forecast.expected_gap) == (batch[0].quality, batch[0].expected_gap)
        assert forecast.notes == batch[0].notes != ()


def test_a_saved_wrapper_judges_alike(factors, tmp_path):
    robust, test = factors
    robust.save(tmp_path / "wrapper")
    again = sc.load(tmp_path / "wrapper", model=robust.model)
    for present in ([0], [1, 2, 3]):
        one_batch, other = (each.predict_many(test[:40], present) for each in (robust, again))
        assert one_batch.trust == other.trust


def test_the_model_of_the_examples_is_judged():
    """Repeating the last reading adds nothing to itself."""
    series = waves(n=4, steps=500)
    train, val, _ = series.split(LOOKBACK, HORIZON)
    with pytest.warns(FitWarning, match="what needs no model"):
        sc.SubsetForecaster(last_reading, progress=False, settings=sc.Settings()).fit(train, val)
