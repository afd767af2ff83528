"""Tests of the errors for wrong arguments, and of experts, assist, holidays and forecasts without the model."""

import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import subcast as sc
from subcast.errors import InputError
from subcast.screening import Screener
from subcast.series import Series
from subcast.service.forecasting import make
from subcast.service.grid import Grid
from subcast.subset.completion import complete, weigh_by_distance
from subset.examples import HORIZON, LOOKBACK, Counting, assert_one_sentence, last_reading, learn, mixing, walk, waves

INF = float("inf")


@pytest.fixture(scope="module")
def frame(wave_parts):
    return wave_parts.test.series.to_frame().iloc[:LOOKBACK]


def refuses(call, *words):
    with pytest.raises(InputError) as error:
        call()
    assert_one_sentence(error, *words)


# The constructor


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"metric": "mape"}, ("metric", "'mape'", "mae")),
        ({"neighbours": 5}, ("'neighbours'", "neighbors")),
        ({"effort": 0}, ("effort", "0")),
        ({"effort": "much"}, ("effort", "'much'")),
        ({"levels": [1.2]}, ("levels", "1.2")),
        ({"levels": 0}, ("levels", "0")),
        ({"levels": ["many"]}, ("levels", "'many'")),
        ({"seconds": 0}, ("seconds", "0")),
        ({"seconds": -3}, ("seconds", "-3")),
        ({"neighbors": 0}, ("neighbors", "0")),
        ({"weighting": "forecast"}, ("weighting", "pool=False")),
        ({"settings": sc.Settings(), "ridge": 1.0}, ("settings", "'ridge'")),
    ],
    ids=str,
)
def test_constructor(options, words):
    refuses(lambda: sc.SubsetForecaster(mixing, **options), *words)


def test_unknown_option_of_the_published_method():
    refuses(lambda: sc.SubsetForecaster.paper(mixing, neighbours=3), "'neighbours'")


# Fitting


def windows_of(part, variables):
    return part.series.select(variables).windows(LOOKBACK, HORIZON)


def fit(train, val=None, model=mixing, **options):
    return sc.SubsetForecaster(model, progress=False, **options).fit(train, val)


@pytest.mark.parametrize(
    ("train", "val", "words"),
    [
        (lambda p: p.train.series, lambda p: p.val, ("train", "Series")),
        (lambda p: p.train.readings, lambda p: None, ("train", "ndarray")),
        (lambda p: p, lambda p: None, ("train", "Split")),
        (lambda p: None, lambda p: None, ("train", "NoneType")),
        (lambda p: p.train, lambda p: p.val.series.to_frame(), ("val", "DataFrame")),
        (lambda p: p.train[:0], lambda p: None, ("train", "no windows")),
        (lambda p: p.train, lambda p: p.val.series.windows(5, HORIZON), ("val", "5 + 3", "6 + 3")),
        (lambda p: p.train, lambda p: p.val.series.windows(LOOKBACK, 2), ("val", "6 + 2")),
        (
            lambda p: p.train,
            lambda p: p.val.series.select([1, 0, 2, 3, 4, 5]).windows(LOOKBACK, HORIZON),
            ("val", "variables"),
        ),
        (lambda p: p.train, lambda p: p.val.series.select([0, 1]).windows(LOOKBACK, HORIZON), ("val", "variables")),
    ],
)
def test_fit(wave_parts, train, val, words):
    refuses(lambda: fit(train(wave_parts), val(wave_parts)), *words)


def test_val_with_other_time_features(wave_parts):
    other = wave_parts.val.series.with_features("time_of_day").windows(LOOKBACK, HORIZON)
    refuses(lambda: fit(wave_parts.train, other), "features")


class Noise:
    """A model that never says the same twice."""

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def __call__(self, x):
        return mixing(x) + self.rng.normal(size=(len(x), HORIZON, x.shape[2]))


class Dropout(Noise):
    """Half of the variables are dropped, others every time."""

    def __call__(self, x):
        return mixing(x * (self.rng.random((1, 1, x.shape[2], 1)) < 0.5))


def batch_statistics(x):
    """A forecast that depends on the other windows of the batch."""
    return mixing(x) - x[..., 0].mean()


@pytest.mark.parametrize(
    ("model", "words"),
    [
        pytest.param(lambda x: mixing(x)[:, :2], ("(4, 2, 6)", "(4, 3, 6)"), id="a step short"),
        pytest.param(lambda x: mixing(x)[:, :, :5], ("(4, 3, 5)", "(4, 3, 6)"), id="a variable short"),
        pytest.param(lambda x: mixing(x).swapaxes(1, 2), ("(4, 6, 3)", "(4, 3, 6)"), id="axes in another order"),
        pytest.param(lambda x: mixing(x)[0], ("(3, 6)",), id="no batch"),
        pytest.param(lambda x: float(mixing(x).mean()), ("shape ()",), id="a number"),
        pytest.param(lambda x: None, ("NoneType",), id="nothing"),
        pytest.param(lambda x: np.full((len(x), 3, 6), "rain"), ("not an array of numbers",), id="text"),
        pytest.param(lambda x: mixing(x) * np.nan, ("NaN",), id="NaN"),
        pytest.param(Noise(), ("not deterministic", "evaluation mode"), id="noise"),
        pytest.param(Dropout(), ("not deterministic", "evaluation mode"), id="dropout"),
        pytest.param(batch_statistics, ("not deterministic", "batch"), id="batch statistics"),
    ],
)
def test_models(wave_parts, model, words):
    refuses(lambda: fit(wave_parts.train, model=model), *words)


def test_a_model_of_other_sizes(wave_parts):
    model = sc.adapters.from_callable(mixing, lookback=12, horizon=HORIZON)
    refuses(lambda: fit(wave_parts.train, model=model), "lookback 12", "6")
    named = sc.adapters.from_callable(mixing, lookback=LOOKBACK, horizon=HORIZON, variables=list("abcdef"))
    refuses(lambda: fit(wave_parts.train, model=named), "variables", "'wave-0'")


def test_no_model_at_all(wave_parts):
    refuses(lambda: fit(wave_parts.train, model=42), "model", "int")


def test_a_model_that_writes_into_its_inputs_is_accepted(wave_parts):
    def scribbling(x):
        y = mixing(x)
        x[...] = -1e6
        return y

    ours, theirs = (fit(wave_parts.train, model=model, settings=sc.Settings()) for model in (scribbling, mixing))
    np.testing.assert_array_equal(
        ours.predict_many(wave_parts.test, [1, 2]).mean, theirs.predict_many(wave_parts.test, [1, 2]).mean
    )


def test_a_blend_of_another_horizon(wave_parts):
    refuses(lambda: fit(wave_parts.train, settings=sc.Settings(blend=((0.5,) * 2,) * 3)), "blend", "3")


# Before fitting


@pytest.mark.parametrize(
    "call",
    [
        lambda robust: robust.predict(np.zeros((6, 6))),
        lambda robust: robust.predict_many(np.zeros((1, 6, 6))),
        lambda robust: robust.update(np.zeros(6)),
        lambda robust: robust.save("nowhere"),
        lambda robust: robust.variables,
        lambda robust: robust.lookback,
        lambda robust: robust.horizon,
    ],
)
def test_not_fitted(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refuses(lambda: call(sc.SubsetForecaster(mixing)), "not fitted", "fit(train, val)")
    assert not list(tmp_path.iterdir())


# predict


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param(lambda f: f.iloc[:4], ("recent", "4 steps", "6"), id="too short"),
        pytest.param(lambda f: f.rename(columns={"wave-3": "wave-33"}), ("wave-33", "wave-3"), id="unknown column"),
        pytest.param(lambda f: f.iloc[::-1], ("recent", "back in time"), id="backwards"),
        pytest.param(lambda f: f.set_axis([f.index[0]] * 6), ("recent", "twice"), id="the same time"),
        pytest.param(
            lambda f: f.set_axis(pd.date_range("2024-03-20", periods=6, freq="10min")), ("recent", "10", "h"), id="rate"
        ),
        pytest.param(
            lambda f: f.set_axis(pd.date_range("2024-03-20", periods=6, freq="2h")), ("recent", "2", "h"), id="slower"
        ),
        pytest.param(lambda f: f.assign(**{"wave-2": INF}), ("recent", "infinite", "'wave-2'"), id="infinity"),
        pytest.param(lambda f: f.assign(**{"wave-2": "rain"}), ("'wave-2'", "'rain'"), id="text"),
        pytest.param(lambda f: f * np.nan, ("recent", "no reading"), id="nothing there"),
        pytest.param(lambda f: f[[]], ("recent", "no reading"), id="no columns"),
        pytest.param(lambda f: f.to_numpy()[:, :4], ("recent", "6 variables", "4"), id="unnamed array"),
        pytest.param(lambda f: f.to_numpy()[None], ("recent", "(1, 6, 6)"), id="an axis too many"),
        pytest.param(lambda f: "recent.csv", ("recent", "Series.read"), id="a path"),
        pytest.param(lambda f: None, ("recent", "NoneType"), id="nothing"),
    ],
)
def test_predict(tuned, frame, change, words):
    refuses(lambda: tuned.predict(change(frame)), *words)


def test_names_and_times_of_an_array(tuned, frame):
    values = frame.to_numpy()
    refuses(lambda: tuned.predict(values[:, :2], names=["wave-0", "tide"]), "tide")
    refuses(lambda: tuned.predict(values[:, :2], names=["wave-0"]), "names", "2")
    refuses(lambda: tuned.predict(values, times=frame.index[:3]), "times", "6")
    refuses(lambda: tuned.predict(values, levels=[2]), "levels", "2")
    refuses(lambda: tuned.predict(frame, names=list(frame.columns)), "names")


# predict_many


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param(lambda w: w[:, :5], ("windows", "6 steps", "5"), id="lookback"),
        pytest.param(lambda w: w[:, :, :4], ("windows", "6 variables", "4"), id="variables"),
        pytest.param(lambda w: w[0], ("windows", "(6, 6)"), id="one window"),
        pytest.param(lambda w: np.stack([w, w], axis=3), ("windows", "1 features", "2"), id="features"),
        pytest.param(lambda w: np.where(w == w[0, 0, 0], INF, w), ("windows", "infinities"), id="infinity"),
        pytest.param(lambda w: w.astype(str), ("windows", "numbers"), id="text"),
        pytest.param(lambda w: w * np.nan, ("windows", "no reading"), id="nothing there"),
    ],
)
def test_predict_many(tuned, wave_parts, change, words):
    refuses(lambda: tuned.predict_many(change(np.array(wave_parts.test.readings[:3]))), *words)


@pytest.mark.parametrize(
    ("present", "words"),
    [
        (["wave-1", "tide"], ("present", "'tide'")),
        ([0, 6], ("present", "6", "0 to 5")),
        ([0, 0], ("present", "twice")),
        ([], ("present", "empty")),
        (np.zeros(6, dtype=bool), ("present", "no True")),
        (np.ones(5, dtype=bool), ("present", "6", "5")),
        ([0.5], ("present", "float")),
    ],
    ids=str,
)
def test_present(tuned, wave_parts, present, words):
    refuses(lambda: tuned.predict_many(wave_parts.test[:3], present), *words)


def test_other_windows(tuned, wave_parts):
    series = wave_parts.test.series
    refuses(lambda: tuned.predict_many(series.windows(5, HORIZON)), "windows", "5", "6")
    refuses(lambda: tuned.predict_many(windows_of(wave_parts.test, [1, 0, 2, 3, 4, 5])), "variables")
    refuses(lambda: tuned.predict_many(walk(n=6, steps=50).windows(LOOKBACK, HORIZON)), "variables")


def test_times_of_windows(tuned, wave_parts):
    windows = np.array(wave_parts.test.readings[:3])
    times = wave_parts.test.series.times
    refuses(lambda: tuned.predict_many(windows, times=times[:2]), "times", "3", "(2,)")


@pytest.mark.parametrize(
    ("windows", "times", "words"),
    [
        pytest.param([[1.0, 2.0], [3.0]], None, ("windows",), id="ragged"),
        pytest.param(np.ones((1, LOOKBACK, 6)), ["noon"], ("times", "noon"), id="times"),
    ],
)
def test_windows_or_times_that_numpy_cannot_read(tuned, windows, times, words):
    refuses(lambda: tuned.predict_many(windows, times=times), *words)


def test_time_features_are_needed(wave_parts):
    series = waves(n=4, steps=300, features=("time_of_day",))
    windows = series.windows(LOOKBACK, HORIZON)
    robust = fit(windows, settings=sc.Settings())
    refuses(lambda: robust.predict_many(np.array(windows.readings[:2])), "windows", "features")
    refuses(lambda: robust.predict(np.ones((LOOKBACK, 4))), "times", "time_of_day")
    inputs = windows.batch([0, 1]).inputs
    inputs[1, 2, :, 1] = np.nan
    refuses(lambda: robust.predict_many(inputs), "windows", "time features")


def test_time_features_of_the_present_variables_are_enough():
    windows = waves(n=4, steps=300, features=("time_of_day",)).windows(LOOKBACK, HORIZON)
    robust = fit(windows, settings=sc.Settings())
    inputs = windows.batch([0, 9]).inputs
    whole = robust.predict_many(inputs, [1, 3]).mean
    inputs[:, :, [0, 2]] = np.nan
    np.testing.assert_array_equal(robust.predict_many(inputs).mean, whole)


def test_a_failed_fit_raises_and_the_next_fit_works(wave_parts):
    robust = sc.SubsetForecaster(last_reading, progress=False, settings=sc.Settings())
    refuses(lambda: robust.fit(wave_parts.train[:0]), "train")
    robust.fit(wave_parts.train)
    assert np.isfinite(robust.predict_many(wave_parts.test, [0]).mean).all()


def test_a_series_with_infinities_is_refused():
    refuses(lambda: Series(np.array([[1.0, INF]])), "values", "infinities")


def test_validation_windows_that_are_training_windows(wave_parts):
    refuses(lambda: sc.SubsetForecaster(mixing, progress=False).fit(wave_parts.train, wave_parts.train), "val", "train")


def test_a_refused_model_is_not_kept(wave_parts):
    noise = np.random.default_rng(0)
    robust = sc.SubsetForecaster(lambda x: mixing(x) + noise.normal(size=()), progress=False)
    refuses(lambda: robust.fit(wave_parts.train), "deterministic")
    refuses(lambda: robust.predict_many(np.array(wave_parts.test.readings[:2])), "not fitted")


def test_a_level_that_is_too_high_is_refused():
    refuses(lambda: sc.SubsetForecaster(mixing, levels=(0.999,)), "levels", "0.99")


def test_settings_that_need_moments(wave_parts):
    robust = sc.SubsetForecaster.paper(mixing, progress=False).fit(wave_parts.train)
    refuses(lambda: robust.with_settings(sc.Settings.paper(correction=1.0)), "moments")


# The experts


def test_a_blend_may_name_the_boosted_expert_where_the_history_is_too_short(wave_parts):
    """It is the regression then."""
    train, val, test = wave_parts
    rows = ((1.0,) * HORIZON,) * 3
    boosted, linear = (
        sc.SubsetForecaster(mixing, progress=False, neighbors=5, ridge=0.1, blend={name: rows}).fit(train, val)
        for name in ("boosted", "linear")
    )
    found, expected = (each.predict_many(test[:3], [0, 1, 2]).mean for each in (boosted, linear))
    np.testing.assert_array_equal(found, expected)


def test_where_the_history_is_too_short_there_is_no_boosted_expert(tuned):
    assert "boosted" not in tuned.fitted_.experts


def test_the_boosted_expert_is_trained_where_the_history_is_long(boosted_wrapper):
    assert boosted_wrapper.fitted_.experts["boosted"].models is not None


# assist


@pytest.fixture(scope="module")
def assisting(boosted_wrapper):
    settings = boosted_wrapper.settings_
    return boosted_wrapper.with_settings(replace(settings, assist="always"))


def test_by_default_complete_windows_get_the_forecast_of_the_model(boosted_wrapper, boosted_parts):
    windows = boosted_parts.test[:6]
    mean = boosted_wrapper.predict_many(windows).mean
    np.testing.assert_array_equal(mean, boosted_wrapper.fitted_.run(windows.batch().inputs))


def test_with_assist_the_experts_help_with_complete_windows_too(assisting, boosted_wrapper, boosted_parts):
    windows = boosted_parts.test[:6]
    everything = np.arange(3)
    fitted, settings = assisting.fitted_, assisting.settings_
    arrived = fitted.arrive(windows)
    neighbors = fitted.retrieve(arrived, everything, settings.neighbors, settings.exponent)
    done = complete(fitted, settings, arrived, everything, neighbors, weigh_by_distance(neighbors, settings))
    expected = fitted.run(windows.batch().inputs)
    for name in ("specialist", "linear", "boosted", "own_trees"):
        expected = 0.7 * expected + 0.3 * fitted.experts[name].forecast(done, everything)
    mean = assisting.predict_many(windows).mean
    np.testing.assert_allclose(mean, expected, rtol=1e-4, atol=1e-4)
    assert np.abs(mean - boosted_wrapper.predict_many(windows).mean).max() > 0.01


def test_with_assist_one_row_more_is_tuned(wave_parts, learned):
    train, val, test = wave_parts
    robust = sc.SubsetForecaster(learned, progress=False, assist="always", neighbors=5, correction=0.5, exponent=0.5)
    robust.fit(train, val)
    assert robust.settings_.shares == (0.15, 0.5, 0.85, 1.0)
    assert all(len(rows) == 4 for rows in robust.settings_.blend.values())
    bounds = robust.predict_many(test[:4]).bounds
    assert np.isfinite(bounds).all()


def test_assist_and_a_blend_can_be_given_together():
    blend = ((0.5,) * HORIZON,) * 3
    robust = sc.SubsetForecaster(mixing, assist="always", blend=blend)
    assert robust.settings_.shares == (0.15, 0.5, 0.85)
    assert robust.settings_.blend == {"specialist": blend}


# Without the model


def test_without_the_model_it_is_never_run(boosted_parts, boosted_wrapper, wave_parts):
    for wrapper, windows in ((boosted_wrapper, boosted_parts.test), (None, wave_parts.test)):
        counter = Counting(learn(boosted_parts.train)) if wrapper else Counting()
        if wrapper is None:  # the published method runs the model for each neighbor
            wrapper = sc.SubsetForecaster.paper(counter, progress=False).fit(wave_parts.train)
        else:
            wrapper = copy.copy(wrapper)
            wrapper._fitted = replace(wrapper.fitted_, model=adapt_like(wrapper, counter))
        alone = wrapper.without_model()
        before = counter.windows
        for present in (None, [0], [0, 1]):
            forecast = alone.predict_many(windows[:4], present, absent=True)
            assert np.isfinite(forecast.mean).all()
        alone.predict(windows.series.to_frame().iloc[:LOOKBACK])
        assert counter.windows == before
        wrapper.predict_many(windows[:4], [0])
        assert counter.windows > before


def adapt_like(wrapper, model):
    """A model in the form that the wrapper's model has."""
    from subcast.adapters import adapt

    sizes = {"lookback": wrapper.lookback, "horizon": wrapper.horizon, "variables": wrapper.variables}
    return adapt(model, n_features=1, **sizes)


def test_without_the_model_the_shares_are_those_that_tuning_chose(wave_parts, learned):
    train, val, test = wave_parts
    robust = sc.SubsetForecaster(learned, progress=False, neighbors=5, correction=0.5, exponent=0.5).fit(train, val)
    alone = robust.without_model()
    part = next(part for part in robust.report_["tried"] if part["part"] == "shares without the model")
    rows = {name: tuple(map(tuple, own)) for name, own in part["rows"].items()}
    assert alone.settings_.blend == {"specialist": ((1.0,) * HORIZON,) * 3, **rows}
    assert alone.settings_.blend_of(absent=False).rest(0.4).tolist() == [0] * HORIZON
    assert robust.settings_.assist == "missing"  # the wrapper itself stays as it was
    assert np.abs(alone.predict_many(test[:9]).mean - robust.predict_many(test[:9]).mean).max() > 1e-3


def test_without_the_model_and_without_tuning_the_specialist_forecasts(wave_parts):
    train, _, test = wave_parts
    robust = sc.SubsetForecaster(mixing, settings=sc.Settings(), progress=False).fit(train)
    specialist = robust.with_settings(replace(robust.settings_, blend=((1.0,) * HORIZON,) * 3, assist="always"))
    found, expected = (each.predict_many(test[:4], [0, 2]).mean for each in (robust.without_model(), specialist))
    np.testing.assert_array_equal(found, expected)


# Holidays


def weekly_hours(weeks, holidays=(), seed=0):
    """Hourly readings, low on weekends and on holidays."""
    times = np.datetime64("2024-01-01") + np.arange(24 * 7 * weeks) * np.timedelta64(1, "h")
    moments = times.astype("datetime64[s]").astype(object)
    free = np.array([moment.weekday() >= 5 or str(moment.date()) in holidays for moment in moments])
    wave = 10 + 3 * np.sin(2 * np.pi * (np.arange(len(times)) % 24) / 24)
    noise = 0.3 * np.random.default_rng(seed).normal(size=(len(times), 3))
    return Series((wave - 5 * free)[:, None] + noise, times=times, freq="h")


@pytest.fixture(scope="module")
def on_holidays():
    """A wrapper that knows a holiday of the training and one to come."""
    train = weekly_hours(5, ("2024-01-17",)).windows(LOOKBACK, HORIZON)
    blend = {"linear": ((1.0,) * HORIZON,) * 3}
    days = ["2024-01-17", "2024-02-14"]
    robust = sc.SubsetForecaster(last_reading, progress=False, holidays=days, blend=blend, assist="always")
    return robust.fit(train)


def midnight_window(day):
    """A usual window at the end of the day before, whose steps ahead are the first of the day."""
    steps = np.datetime64(day) - np.arange(LOOKBACK, 0, -1) * np.timedelta64(1, "h")
    moments = steps.astype("datetime64[s]").astype(object)
    readings = [[10 + 3 * np.sin(2 * np.pi * moment.hour / 24)] * 3 for moment in moments]
    return pd.DataFrame(readings, index=pd.DatetimeIndex(steps), columns=["0", "1", "2"])


def test_a_holiday_is_forecast_like_a_sunday(on_holidays):
    names = list(on_holidays.variables)
    means = {}
    for day in ("2024-02-14", "2024-02-21"):  # two Wednesdays, the first a holiday
        means[day] = on_holidays.predict(midnight_window(day).set_axis(names, axis=1)).mean
    np.testing.assert_allclose(means["2024-02-21"][0], 10, atol=1)
    assert (means["2024-02-14"] < means["2024-02-21"] - 3).all()
    usual = on_holidays.fitted_.normalizer
    sunday = usual.center[usual.cycle.rows[6 * 24 + 1]]
    np.testing.assert_allclose(means["2024-02-14"][1], sunday, atol=1)


def test_holidays_are_saved_and_loaded(on_holidays, tmp_path):
    on_holidays.save(tmp_path / "plant")
    again = sc.load(tmp_path / "plant", model=last_reading)
    assert again.settings_.holidays == ("2024-01-17", "2024-02-14")
    window = midnight_window("2024-02-14").set_axis(list(again.variables), axis=1)
    np.testing.assert_array_equal(again.predict(window).mean, on_holidays.predict(window).mean)


def test_a_stream_and_a_batch_over_a_holiday_are_like_predict(on_holidays):
    series = weekly_hours(7, ("2024-01-17", "2024-02-14"))
    frame, first = series.to_frame(), (31 + 13) * 24 - 9
    windows = series.windows(LOOKBACK, HORIZON)[first : first + 14]
    batch = on_holidays.predict_many(windows, [0, 2])
    feed = on_holidays.stream()
    for number, (time, row) in enumerate(frame.iloc[first : first + LOOKBACK + 13, [0, 2]].iterrows()):
        pushed = feed.push(row, time)
        if pushed is not None:
            own = on_holidays.predict(frame.iloc[first + number - LOOKBACK + 1 : first + number + 1, [0, 2]]).mean
            np.testing.assert_allclose(pushed.mean, own, rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(batch.mean[number - LOOKBACK + 1], own, rtol=1e-5, atol=1e-5)


def test_holidays_cannot_be_changed_after_fit(on_holidays):
    settings = replace(on_holidays.settings_, holidays=())
    refuses(lambda: on_holidays.with_settings(settings), "holidays", "fit a new wrapper")


# The season of the year


def yearly_level(times):
    year = (times - times.astype("datetime64[Y]")) / np.timedelta64(1, "D") / 365.2425
    return 20 + 10 * np.cos(2 * np.pi * year)


@pytest.fixture(scope="module")
def with_a_season():
    """Readings every six hours over three years, whose level follows the year, and a wrapper of them."""
    rng = np.random.default_rng(0)
    times = np.datetime64("2020-01-01T00", "h") + np.arange(4 * 1100) * np.timedelta64(6, "h")
    values = yearly_level(times)[:, None] + rng.normal(size=(len(times), 4))
    series = Series(values, times=times, freq="6h")
    train = series[:4200].windows(LOOKBACK, HORIZON)
    robust = sc.SubsetForecaster(last_reading, settings=sc.Settings(), progress=False).fit(train)
    return series, robust


def test_a_season_is_found_named_and_used_by_every_way_to_forecast(with_a_season, tmp_path):
    series, robust = with_a_season
    assert "season of the year" in str(robust)
    last = series[4200 : 4200 + LOOKBACK]
    present = [0, 2]
    names = [series.variables[number] for number in present]
    whole = robust.predict_many(series[4200 : 4200 + LOOKBACK + HORIZON].windows(LOOKBACK, HORIZON), names)
    one = robust.predict(last.to_frame()[names])
    np.testing.assert_allclose(one.mean, whole.mean[0], rtol=1e-5)
    stream = robust.stream()
    for step in range(LOOKBACK):
        pushed = stream.push(dict(zip(names, last.values[step, present], strict=True)), last.times[step])
    np.testing.assert_allclose(pushed.mean, one.mean, rtol=1e-5)
    robust.save(tmp_path / "plant")
    loaded = sc.load(tmp_path / "plant", model=last_reading)
    np.testing.assert_array_equal(loaded.predict(last.to_frame()[names]).mean, one.mean)


@pytest.mark.parametrize("first", [100, 700])  # in winter and in summer
def test_the_screener_and_the_usual_forecast_of_the_service_know_the_season(with_a_season, first):
    series, robust = with_a_season
    window = series[first : first + LOOKBACK]
    stamps = window.times.astype("datetime64[ns]").view(np.int64)
    level = float(yearly_level(window.times[-1:])[0])
    assert abs(level - 20) > 3
    screener = Screener.fit(robust, series[:4200])
    found, of_the_mean = (screener.deviations(np.full(4, value), int(stamps[-1])) for value in (level, 20.0))
    assert np.abs(found).max() < 0.3 * np.abs(of_the_mean).min()
    made = make(robust, Grid.of(robust.metadata_), stamps, np.full((LOOKBACK, 4), np.nan))
    assert made.mean == pytest.approx(level, abs=1.0)


def test_a_season_is_guessed_where_windows_have_no_times(with_a_season):
    series, robust = with_a_season
    windows = series[4200:4290].windows(LOOKBACK, HORIZON)
    known = robust.predict_many(windows, [0, 1]).mean
    guessed = robust.predict_many(windows.readings, [0, 1]).mean
    error, error_guessed = (np.abs(each - windows.targets[:, :, :2]).mean() for each in (known, guessed))
    assert error_guessed < 1.5 * error
