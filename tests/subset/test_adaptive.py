"""Intervals that follow the coverage that they had."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import subcast as sc
from subcast.errors import InputError
from subcast.subset.adaptive import GROUPS, AdaptiveWidths, followed
from subset.examples import HORIZON, LOOKBACK, assert_one_sentence, last_reading, mixing, walk


def factors_by_loops(forecasts, readings, level):
    """The factors after all steps: the definition in plain loops; forecasts are (step, share, bounds)."""
    logs = [0.0] * 5
    for step, values in enumerate(readings):
        for group in range(5):
            compared = inside = 0
            for made, share, bounds in forecasts:
                in_group = sum(share >= edge for edge in (0.15, 0.5, 0.85, 0.999)) == group
                ahead = step - made - 1
                if not in_group or ahead < 0 or ahead >= len(bounds[0]):
                    continue
                for n, value in enumerate(values):
                    low, high = bounds[0][ahead][n], bounds[1][ahead][n]
                    if math.isnan(value) or math.isnan(low):
                        continue
                    compared += 1
                    inside += low <= value <= high
            if compared:
                logs[group] += 0.06 * ((compared - inside) / compared - (1 - level))
                logs[group] = min(max(logs[group], math.log(0.25)), math.log(8))
    return [math.exp(each) for each in logs]


@given(st.integers(0, 2**31), st.integers(1, 4), st.sampled_from([0.5, 0.9]))
def test_factors_equal_those_of_plain_loops(seed, horizon, level):
    rng = np.random.default_rng(seed)
    readings = np.where(rng.random((12, 3)) < 0.2, np.nan, rng.normal(size=(12, 3)))
    forecasts, widths = [], AdaptiveWidths(level)
    for step, values in enumerate(readings):
        widths = widths.scored(step, values)
        share, half = rng.choice([0.1, 0.15, 0.6, 1.0]), rng.random((horizon, 3))
        bounds = np.stack([-half, half])
        bounds[:, :, rng.random(3) < 0.2] = np.nan
        forecasts.append((step, share, bounds))
        widths = widths.remembering(step, share, bounds)
    assert widths.factors == pytest.approx(factors_by_loops(forecasts, readings, level), rel=1e-12)
    assert len(widths.made) <= horizon


@given(st.lists(st.floats(0, 1), max_size=300))
def test_a_factor_stays_within_its_range(shares):
    factor = 1.0
    for inside in shares:
        factor = followed(factor, inside, 0.9)
        assert 0.25 <= factor <= 8


@pytest.fixture(scope="module")
def calm():
    """A wrapper of a walk, and a test part whose changes are three times as large as those of validation."""
    series = walk(steps=1_200)
    values = series.values.astype(np.float64)
    late = len(values) * 8 // 10
    values[late:] = values[late] + 3 * (values[late:] - values[late])
    train, val, test = sc.Series(values, series.variables).split(LOOKBACK, HORIZON, shares=(0.6, 0.2, 0.2))
    return sc.SubsetForecaster(mixing, progress=False, effort=0.2).fit(train, val), test.series.values


def coverage(stream, values, *, after):
    """Return the share of readings inside the intervals of the forecasts made after a number of steps."""
    counts = np.zeros(2)
    for step, row in enumerate(values[:-HORIZON]):
        forecast = stream.push(row)
        if forecast is not None and step >= after:
            truth = values[step + 1 : step + 1 + HORIZON]
            inside = (truth >= forecast.lower) & (truth <= forecast.upper)
            counts += inside.sum(), inside.size
    return counts[0] / counts[1]


def test_coverage_comes_nearer_to_the_level(calm):
    robust, values = calm
    adapting = robust.stream(adapt=True)
    fixed, adapted = (coverage(stream, values, after=80) for stream in (robust.stream(), adapting))
    assert fixed < 0.85
    assert abs(adapted - 0.9) < abs(fixed - 0.9) / 2
    assert adapting.interval_factors[GROUPS.index("all")] > 1.1
    assert adapting.interval_factors[0] == 1  # no forecast had so few readings


def test_intervals_are_those_of_predict_times_the_factor(calm):
    robust, values = calm
    stream = robust.stream(adapt=(2,) * 5)
    for row in values[:LOOKBACK]:
        found = stream.push(row)
    wanted = robust.predict(values[:LOOKBACK])
    np.testing.assert_allclose(found.mean, wanted.mean, rtol=1e-5)
    np.testing.assert_allclose(found.upper - found.mean, 2 * (wanted.upper - wanted.mean), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found.mean - found.lower, 2 * (wanted.mean - wanted.lower), rtol=1e-4, atol=1e-4)
    other = stream.forecast(levels=(0.5,))
    plain = robust.predict(values[:LOOKBACK], levels=(0.5,))
    np.testing.assert_allclose(other.upper - other.mean, 2 * (plain.upper - plain.mean), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("absent", [False, True])
@pytest.mark.parametrize("levels", [None, (0.5,), ()])
def test_each_sensor_is_compared_with_its_own_interval(calm, absent, levels):
    """Sensors fail and come back, the forecasts are those of S or of all, and other levels may be asked for."""
    robust, values = calm
    values = values[:70].copy()
    rng = np.random.default_rng(5)
    for first in range(0, 70, 14):
        values[first : first + 14, rng.choice(6, size=rng.integers(0, 5), replace=False)] = np.nan
    stream, made, screened = robust.stream(adapt=True), [], []
    names = list(robust.variables)
    for row in values:
        forecast = stream.push(row, absent=absent, levels=levels)
        screened.append(stream._values[-1])  # what is beyond the limits is no reading
        if forecast is None:
            continue
        asked = robust.levels if levels is None else levels
        assert forecast.levels == tuple(asked)
        assert (forecast.bounds is None) == (not asked)
        own = stream.forecast(absent=absent)  # with the level that is scored
        bounds = np.full((2, HORIZON, 6), np.nan)
        for column, name in enumerate(own.variables):
            bounds[:, :, names.index(name)] = own.lower[:, column], own.upper[:, column]
        made.append((len(screened) - 1, float(own.observed_share), bounds))
    expected = factors_by_loops(made, screened, max(robust.levels))
    assert stream.interval_factors == pytest.approx(expected, rel=1e-6)
    assert len({round(factor, 6) for factor in expected}) > 2  # several shares were met


def test_widened_intervals_end_at_the_limits(calm):
    robust, values = calm
    plain = robust.predict(values[:LOOKBACK])
    low, high = robust.limits_.low, robust.limits_.high
    widest = robust.stream(values[:LOOKBACK], adapt=(8,) * 5).forecast()
    assert (widest.lower >= np.minimum(low, plain.lower) - 1e-4).all()
    assert (widest.upper <= np.maximum(high, plain.upper) + 1e-4).all()
    assert (widest.lower <= np.maximum(low, plain.lower) + 1e-4).all()
    assert ((widest.lower <= widest.mean) & (widest.mean <= widest.upper)).all()


def test_streams_do_not_adapt_unless_asked(calm):
    robust, values = calm
    assert robust.stream(values[:60]).interval_factors is None
    assert robust.stream(adapt=np.False_).interval_factors is None
    assert robust.stream(adapt=np.True_).interval_factors == (1,) * len(GROUPS)


def test_a_stream_goes_on_with_the_factors_of_another(calm):
    robust, values = calm
    first = robust.stream(adapt=True)
    for row in values[:60]:
        first.push(row)
    again = robust.stream(values[:60], adapt=first.interval_factors)
    np.testing.assert_allclose(again.forecast().bounds, first.forecast().bounds, rtol=1e-5)


def test_zeros_do_not_count_where_the_protocol_has_no_errors_of_them():
    """Intervals of solar plants must not become narrow by day because every reading of the night is inside."""
    series = sc.load_dataset("clouds", n_plants=6, n_steps=2_200)
    train, val, test = series.split(LOOKBACK, HORIZON, protocol="paper")
    robust = sc.SubsetForecaster(last_reading, progress=False, effort=0.1).fit(train, val)
    rows, stream = test.series.to_frame(), robust.stream(adapt=True)
    dark = (rows == 0).all(axis=1).to_numpy()
    changed = []
    for step, (time, row) in enumerate(rows.iloc[:300].iterrows()):
        before = stream.interval_factors
        stream.push(row, time)
        if step > LOOKBACK:
            changed.append((dark[step], stream.interval_factors != before))
    assert sum(at_night for at_night, _ in changed) > 50
    assert not any(moved for at_night, moved in changed if at_night)
    assert any(moved for at_night, moved in changed if not at_night)


def test_a_refused_step_changes_no_factor(calm):
    robust, values = calm
    stream = robust.stream(adapt=True)
    for row in values[:60]:
        stream.push(row)
    before = stream.interval_factors
    with pytest.raises(InputError):
        stream.push(np.full(values.shape[1], np.inf))
    assert stream.interval_factors == before


@pytest.mark.parametrize(
    "adapt", ["yes", "11111", dict.fromkeys(range(1, 6)), 3, (1.0, 2.0), (1, 1, 1, 1, 0), (1, 1, 1, 1, np.nan), None]
)
def test_factors_that_are_none(calm, adapt):
    with pytest.raises(InputError, match="adapt must be True, False or the interval_factors") as error:
        calm[0].stream(adapt=adapt)
    assert_one_sentence(error.value)


def test_a_wrapper_without_intervals_cannot_adapt_them():
    train = walk().split(LOOKBACK, HORIZON).train
    robust = sc.SubsetForecaster.paper(mixing, progress=False).fit(train)
    with pytest.raises(InputError, match="adapt needs prediction intervals") as error:
        robust.stream(adapt=True)
    assert_one_sentence(error.value)
