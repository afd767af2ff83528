"""Tests of live streams: every step gives the same forecast as `predict` on the window."""

import contextlib
import warnings

import numpy as np
import pandas as pd
import pytest

import subcast as sc
from subcast.errors import InputError
from subset.examples import HORIZON, LOOKBACK, assert_one_sentence, hidden, mixing, walk, waves

HOUR = np.timedelta64(1, "h")


@pytest.fixture
def live(tuned):
    tuned.reset()
    yield tuned
    tuned.reset()


@pytest.fixture(scope="module")
def bare():
    """A wrapper of data without times."""
    train, val, test = walk().split(LOOKBACK, HORIZON, shares=(0.6, 0.2, 0.2))
    return sc.SubsetForecaster(mixing, progress=False).fit(train, val), test


@pytest.fixture(scope="module")
def by_paper():
    """The published method on data with a time of day."""
    parts = waves(n=5, steps=300, features=("time_of_day",)).split(LOOKBACK, HORIZON)
    return sc.SubsetForecaster.paper(mixing, progress=False).fit(parts.train), parts.test


def assert_alike(found, wanted):
    assert found.variables == wanted.variables
    np.testing.assert_allclose(found.mean, wanted.mean, atol=1e-5)
    np.testing.assert_array_equal(found.neighbor_index, wanted.neighbor_index)
    np.testing.assert_allclose(found.weights, wanted.weights, atol=1e-5)
    if wanted.bounds is not None:
        np.testing.assert_allclose(found.bounds, wanted.bounds, atol=1e-5)
    if wanted.times is not None:
        np.testing.assert_array_equal(found.times, wanted.times)


def follow(robust, series, arriving, steps, *, timed, absent=False):
    """Push steps of which only some variables arrive, and compare with the window's own forecast."""
    robust.reset()
    compared = 0
    for step in range(steps):
        row = hidden(series.values[step], arriving(step))
        found = robust.update(row, series.times[step] if timed else None, absent=absent)
        if step < LOOKBACK - 1:
            assert found is None
            continue
        window = np.array([hidden(series.values[u], arriving(u)) for u in range(step - LOOKBACK + 1, step + 1)])
        times = series.times[step - LOOKBACK + 1 : step + 1] if timed else None
        assert_alike(found, robust.predict(window, times=times, absent=absent))
        compared += 1
    robust.reset()
    assert compared == steps - LOOKBACK + 1


@pytest.mark.parametrize("absent", [False, True])
def test_each_push_equals_predict_on_the_same_window(live, wave_parts, absent):
    follow(live, wave_parts.test.series, lambda step: [0, 3], 40, timed=True, absent=absent)


def test_s_may_change_during_the_stream(live, wave_parts):
    def arriving(step):
        return [0, 3] if step < 12 else [1, 2, 3] if step < 25 else [] if step == 30 else [4, 5]

    follow(live, wave_parts.test.series, arriving, 45, timed=True)


def test_s_may_change_at_every_step(live, wave_parts):
    rng = np.random.default_rng(0)
    sets = [rng.permutation(6)[: rng.integers(1, 7)].tolist() for _ in range(30)]
    follow(live, wave_parts.test.series, lambda step: sets[step], 30, timed=True)


def test_variables_may_drop_out_after_complete_windows(live, wave_parts):
    follow(live, wave_parts.test.series, lambda step: range(6) if step < 15 else [0, 1, 2], 30, timed=True)


def test_data_without_times(bare):
    robust, test = bare
    follow(robust, test.series, lambda step: [0, 3] if step % 11 else [0], 40, timed=False)


def test_the_published_method(by_paper):
    robust, test = by_paper
    follow(robust, test.series, lambda step: [0, 3] if step < 15 else [1, 3, 4], 25, timed=True)


def test_a_stream_without_times_of_data_that_have_them(live, wave_parts):
    follow(live, wave_parts.test.series, lambda step: [0, 3], 40, timed=False)


def test_the_stream_continues_after_steps_without_readings(live, wave_parts):
    series = wave_parts.test.series
    nothing = np.full(6, np.nan)
    found = None
    for step in range(30):
        quiet = 8 <= step < 8 + LOOKBACK + 2
        row = nothing if quiet else hidden(series.values[step], [0, 3])
        if 8 + LOOKBACK - 1 <= step < 8 + LOOKBACK + 2:
            with pytest.raises(InputError) as error:
                live.update(row, series.times[step])
            assert_one_sentence(error, f"last {LOOKBACK} steps")
        else:
            found = live.update(row, series.times[step])
    window = hidden(series.values[30 - LOOKBACK : 30], [0, 3])
    assert_alike(found, live.predict(window, times=series.times[30 - LOOKBACK : 30]))


# How a step may come


def test_mappings_series_and_arrays(live, wave_parts):
    series = wave_parts.test.series
    answers = []
    for dress in (
        lambda row: {"wave-3": float(row[3]), "wave-0": float(row[0])},
        lambda row: {"wave-0": row[0], "wave-3": row[3], "wave-5": None},
        lambda row: pd.Series({"wave-0": row[0], "wave-3": row[3]}),
        lambda row: hidden(row, [0, 3]),
        lambda row: hidden(row, [0, 3]).tolist(),
    ):
        live.reset()
        for step in range(LOOKBACK + 2):
            found = live.update(dress(series.values[step]), series.times[step])
        answers.append(found)
    for found in answers[1:]:
        assert_alike(found, answers[0])


def test_the_time_may_be_left_out_after_the_first(live, wave_parts):
    series = wave_parts.test.series
    answers = []
    for later in (True, False):
        live.reset()
        for step in range(LOOKBACK + 3):
            found = live.update(hidden(series.values[step], [1]), series.times[step] if later or step == 0 else None)
        answers.append(found)
    assert_alike(answers[1], answers[0])


@pytest.mark.parametrize(
    "dress", [str, pd.Timestamp, lambda t: t.astype("datetime64[s]").item()], ids=["text", "pandas", "datetime"]
)
def test_times_of_any_supported_type(live, wave_parts, dress):
    series = wave_parts.test.series
    for step in range(LOOKBACK):
        found = live.update(hidden(series.values[step], [1]), dress(series.times[step]))
    np.testing.assert_array_equal(found.times, series.times[LOOKBACK : LOOKBACK + HORIZON])


def test_reset_starts_a_new_stream(live, wave_parts, learned):
    series = wave_parts.test.series
    for step in range(LOOKBACK):
        live.update(series.values[step], series.times[step])
    live.reset()
    for step in range(20, 20 + LOOKBACK - 1):
        assert live.update(series.values[step], series.times[step]) is None
    found = live.update(series.values[25], series.times[25])
    np.testing.assert_allclose(found.mean, learned(series.values[None, 20:26, :, None])[0], atol=1e-5)


def test_fitting_again_starts_a_new_stream():
    train, _, test = walk(steps=300).split(LOOKBACK, HORIZON)
    robust = sc.SubsetForecaster(mixing, settings=sc.Settings(), progress=False).fit(train)
    for step in range(LOOKBACK):
        robust.update(test.series.values[step])
    robust.fit(train)
    assert robust.update(test.series.values[0]) is None


# Bad steps


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ({"wave-0": 1.0, "wave-9": 2.0}, ("step", "'wave-9'", "6 variables")),
        ({"wave-0": "windy"}, ("step", "'windy'", "'wave-0'")),
        ({"wave-0": float("inf")}, ("step", "infinity", "'wave-0'")),
        (np.array([1, 2, np.inf, 4, 5, 6]), ("step", "infinity", "'wave-2'")),
        ([1.0, 2.0], ("step", "6 variables", "(2,)")),
        (np.zeros((2, 6)), ("step", "6 variables", "(2, 6)")),
        ("calm", ("step", "'calm'")),
        (["a"] * 6, ("step", "numbers")),
    ],
    ids=str,
)
def test_bad_steps_are_refused_with_a_clear_error(live, step, words):
    with pytest.raises(InputError) as error:
        live.update(step, "2024-03-20 05:00")
    assert_one_sentence(error, *words)


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ("2024-03-20 04:00", ("time", "not after")),
        ("2024-03-20 05:00", ("time", "not after")),
        ("2024-03-20 07:00", ("time", "jumped", "new stream")),
        ("2024-03-20 05:30", ("time", "jumped")),
        ("noon", ("time", "'noon'")),
    ],
)
def test_bad_times_are_refused_and_the_stream_continues(live, wave_parts, second, words):
    row = wave_parts.test.series.values[0]
    live.update(row, "2024-03-20 05:00")
    with pytest.raises(InputError) as error:
        live.update(row, second)
    assert_one_sentence(error, *words)
    for hour in range(6, 5 + LOOKBACK):  # as if the bad step had never come
        found = live.update(row, f"2024-03-20 {hour:02d}:00")
    assert found is not None
    assert found.times[0] == np.datetime64("2024-03-20T11:00")


def test_a_time_given_only_at_a_later_step_is_refused(bare, live, wave_parts):
    row = wave_parts.test.series.values[0]
    live.update(row)
    with pytest.raises(InputError) as error:
        live.update(row, "2024-03-20 05:00")
    assert_one_sentence(error, "time", "new stream")


def test_a_time_that_the_model_needs(by_paper):
    robust, test = by_paper
    robust.reset()
    with pytest.raises(InputError) as error:
        robust.update(test.series.values[0])
    assert_one_sentence(error, "time", "time_of_day")


def test_a_bad_step_does_not_change_the_stream(live, wave_parts):
    series = wave_parts.test.series
    for step in range(LOOKBACK + 4):
        if step in (2, 7):
            with pytest.raises(InputError):
                live.update([1.0], series.times[step])
        found = live.update(hidden(series.values[step], [0, 3]), series.times[step])
    window = hidden(series.values[4 : 4 + LOOKBACK], [0, 3])
    assert_alike(found, live.predict(window, times=series.times[4 : 4 + LOOKBACK]))


def test_business_days_and_months():
    for freq in ("B", "MS"):
        times = pd.date_range("2020-01-01", periods=60, freq=freq).to_numpy()
        values = np.random.default_rng(0).normal(size=(len(times), 3)).cumsum(axis=0)
        series = sc.Series(values, times=times, freq=freq)
        train = series.windows(LOOKBACK, HORIZON)
        robust = sc.SubsetForecaster(mixing, progress=False, settings=sc.Settings()).fit(train)
        frame = series.to_frame().iloc[20 : 20 + LOOKBACK + 6]
        forecast = robust.predict(frame.iloc[:, [0]])
        assert forecast.times[0] == pd.date_range(frame.index[-1], periods=2, freq=freq)[1]
        for moment, row in frame.iterrows():
            live = robust.update(row, moment)
        assert (live.times == robust.predict(frame).times).all()


class TestFeeds:
    """Streams with a state of their own, extended by frames and started again from stored readings."""

    @pytest.fixture
    def frame(self, wave_parts):
        return wave_parts.test.series.to_frame().iloc[:20, [0, 2, 5]]

    def test_extending_by_a_frame_equals_pushing_its_steps(self, tuned, frame):
        one, other = tuned.stream(), tuned.stream()
        stepwise = [one.push(row, time) for time, row in frame.iterrows()]
        assert other.extend(frame.iloc[:4]) is None
        assert not other.ready
        together = other.extend(frame.iloc[4:])
        np.testing.assert_array_equal(together.mean, stepwise[-1].mean)
        np.testing.assert_array_equal(together.bounds, stepwise[-1].bounds)
        assert (len(one), len(other)) == (20, 20)

    def test_long_frames_in_any_order_and_gaps(self, tuned, frame):
        long = frame.rename_axis("ds").reset_index().melt("ds", var_name="unique_id", value_name="y")
        gap = frame.copy()
        gap.iloc[15] = np.nan
        expected = tuned.stream(gap).forecast()
        without_row = long[long["ds"] != frame.index[15]].sample(frac=1, random_state=0)
        np.testing.assert_array_equal(tuned.stream(without_row).forecast().mean, expected.mean)

    def test_forecast_at_other_levels_does_not_change_the_stream(self, tuned, frame):
        feed = tuned.stream(frame)
        usual = feed.forecast()
        narrow, both = feed.forecast(levels=(0.5,)), feed.forecast(levels=(0.9, 0.5), absent=True)
        assert narrow.levels == (0.5,)
        assert both.mean.shape[1] == 6
        np.testing.assert_array_equal(feed.forecast().mean, usual.mean)
        assert (narrow.upper - narrow.lower < usual.upper - usual.lower).all()

    def test_a_stream_restarted_from_its_readings_gives_the_same_forecasts(self, tuned, frame):
        feed = tuned.stream(frame.iloc[:15])
        values, times = feed.readings()
        again = tuned.stream(values, times=times)
        for time, row in frame.iloc[15:].iterrows():
            np.testing.assert_array_equal(feed.push(row, time).mean, again.push(row, time).mean)
        assert feed.last_time == again.last_time == np.datetime64(frame.index[-1])

    def test_update_uses_a_stream_of_its_own(self, tuned, frame):
        feed = tuned.stream(frame)
        tuned.reset()
        assert tuned.update(frame.iloc[0], frame.index[0]) is None
        np.testing.assert_array_equal(feed.forecast().mean, tuned.stream(frame).forecast().mean)
        tuned.reset()

    def test_a_forecast_with_too_few_steps_is_refused(self, tuned, frame):
        with pytest.raises(InputError) as error:
            tuned.stream(frame.iloc[:2]).forecast()
        assert_one_sentence(error, "2", "6", "steps")

    def test_a_frame_with_a_jump_in_time_does_not_change_the_stream(self, tuned, frame):
        feed = tuned.stream(frame.iloc[:10])
        before = feed.forecast().mean
        with pytest.raises(InputError) as error:
            feed.extend(frame.iloc[12:])
        assert_one_sentence(error, "jumped")
        assert len(feed) == 10
        np.testing.assert_array_equal(feed.forecast().mean, before)

    def test_a_later_fit_does_not_change_a_stream(self, wave_parts, learned, frame):
        robust = sc.SubsetForecaster(learned, settings=sc.Settings(), progress=False).fit(wave_parts.train)
        feed = robust.stream(frame.iloc[:10])
        expected = robust.stream(frame.iloc[:11]).forecast().mean
        robust.fit(wave_parts.train[:60])
        np.testing.assert_array_equal(feed.push(frame.iloc[10], frame.index[10]).mean, expected)

    def test_it_starts_again_from_an_outage(self, tuned, frame):
        feed = tuned.stream(frame.iloc[:8])
        for time in frame.index[8:14]:
            with contextlib.suppress(InputError):
                feed.push({}, time)
        values, times = feed.readings()
        assert np.isnan(values).all()
        again = tuned.stream(values, times=times)
        assert len(again) == 6
        one, other = (stream.push(frame.iloc[14], frame.index[14]) for stream in (feed, again))
        np.testing.assert_array_equal(one.mean, other.mean)


def test_true_is_not_a_reading(live, wave_parts):
    """Neither in a step, nor in a frame, a list or an array."""
    name, n = live.variables[0], len(live.variables)
    for step in ({name: True}, [True] + [1.0] * (n - 1), np.ones(n, dtype=bool), {name: np.bool_(False)}):
        with pytest.raises(InputError, match="step has True or False, which are not readings"):
            live.stream().push(step, wave_parts.test.series.times[0])
    recent = wave_parts.test.series.to_frame().iloc[:20]
    with pytest.raises(InputError, match=rf"column {name!r} of recent holds text \('True'\)"):
        live.predict(recent.assign(**{name: True}))
    for array in (recent.to_numpy() > 0, (recent.to_numpy() > 0).tolist()):
        with pytest.raises(InputError, match="recent must hold numbers, got True or False"):
            live.predict(array, times=recent.index)
        with pytest.raises(InputError, match="windows must hold numbers, got True or False"):
            live.predict_many([array[:LOOKBACK]])


def test_the_marks_of_numbers_written_as_text(live, wave_parts):
    recent = wave_parts.test.series.to_frame().iloc[:LOOKBACK]
    expected = live.predict(recent.round(2)).mean
    commas = recent.map(lambda reading: f"{reading:.2f}".replace(".", ","))
    np.testing.assert_allclose(live.predict(commas, decimal=",").mean, expected, rtol=1e-5)
    noted = live.predict(commas)
    np.testing.assert_allclose(noted.mean, expected, rtol=1e-5)
    assert any(note.startswith("numbers read with a decimal comma") for note in noted.notes)
    stream = live.stream()
    np.testing.assert_allclose(stream.extend(commas, decimal=",").mean, expected, rtol=1e-5)
    unclear = recent.map(lambda reading: "1.010").assign(**{live.variables[0]: "980"})
    unclear.iloc[0] = "980"
    with pytest.raises(InputError, match=r"recent has numbers such as '1.010' .*: give decimal='.' or thousands='.'"):
        live.predict(unclear)


def test_readings_too_large_or_missing_in_any_way(live, wave_parts, recwarn):
    """Never a raw error of Python, nor a warning of numpy."""
    name, n, time = live.variables[0], len(live.variables), wave_parts.test.series.times[0]
    for step in ({name: 10**400}, [10**400] * n, {name: 1e39}, [1e39] * n, {name: "1e39"}):
        with pytest.raises(InputError, match="too large for float32") as caught:
            live.stream().push(step, time)
        assert_one_sentence(caught)
    stream = live.stream()
    stream.push({name: pd.NA}, time)
    assert np.isnan(stream.readings()[0]).all()
    assert not recwarn.list


def test_text_with_a_point_before_three_digits_is_noted_once(live, wave_parts):
    series = wave_parts.test.series
    stream = live.stream()
    with pytest.warns(sc.DataWarning, match=r"numbers such as '1.010' read with a decimal point \(1.01, not 1010\)"):
        stream.push({live.variables[0]: "1.010"}, series.times[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stream.push({live.variables[0]: "1.010", live.variables[1]: "0.98"}, series.times[1])
    assert stream.readings()[0][0, 0] == np.float32(1.01)


def test_a_late_reading_of_an_empty_stream_is_refused(live, wave_parts):
    for arguments in ({"time": wave_parts.test.series.times[0]}, {"back": 0}):
        with pytest.raises(InputError, match="the stream has no steps yet: add the readings with push"):
            live.stream().late({live.variables[0]: 1.0}, **arguments)


def test_a_late_reading_by_its_time_in_a_stream_without_times_is_refused(bare):
    robust, test = bare
    stream = robust.stream(test.series.values[:LOOKBACK])
    with pytest.raises(InputError, match="this stream has no times: name the step of a late reading with back="):
        stream.late({robust.variables[0]: 1.0}, "2024-01-01")


def test_a_sensor_lost_or_back_does_not_search_all_steps_again(live, wave_parts, monkeypatch):
    bank = type(live.fitted_.bank)
    made, begin = [], bank.stream
    monkeypatch.setattr(bank, "stream", lambda *given, **named: made.append(1) or begin(*given, **named))
    frame = wave_parts.test.series.to_frame()
    stream = live.stream()
    for step in range(4 * LOOKBACK):
        row = frame.iloc[step].to_dict()
        if LOOKBACK <= step < 3 * LOOKBACK:
            del row[frame.columns[0]]
        stream.push(row, frame.index[step])
    assert len(made) == 1
