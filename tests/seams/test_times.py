"""Times through the whole wrapper: zones, summer time, jitter and late readings, in every way of forecasting."""

import warnings

import numpy as np
import pandas as pd
import pytest

import subcast as sc
from subcast.commands.forecast import read_readings
from subcast.errors import DataWarning, InputError
from subset.examples import assert_one_sentence

LOOKBACK, HORIZON = 6, 3
BERLIN = "Europe/Berlin"
NAMES = ["a", "b", "c", "d"]
S = ["a", "c"]  # with all variables present no neighbors are searched
CHANGES = {"spring": "2024-03-31", "autumn": "2024-10-27"}


def last_reading(x):
    return np.repeat(x[:, -1:, :, 0], HORIZON, axis=1)


def clock_model(x):
    """The last reading plus what the time of day of the last step says."""
    return last_reading(x) + 10 * x[:, -1:, :, 1]


def frame_of(index, seed=0):
    """Readings that follow the wall clock: the shape of the day is the same in summer and in winter."""
    hours = index.hour.to_numpy() + index.minute.to_numpy() / 60
    rng = np.random.default_rng(seed)
    shape = np.sin(2 * np.pi * hours[:, None] / 24 + np.arange(len(NAMES))) * 5
    values = 20 + shape + 0.1 * rng.normal(size=(len(index), len(NAMES)))
    return pd.DataFrame(values.astype(np.float32), index=index.rename("time"), columns=NAMES)


def wrapper(frame, *, model=last_reading, features=(), **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        series = sc.Series.from_frame(frame, time_features=features, **options)
    windows = series.windows(LOOKBACK, HORIZON)
    return sc.SubsetForecaster(model, progress=False, settings=sc.Settings(), limits=None).fit(windows)


@pytest.fixture(scope="module")
def training():
    """Fifteen months in Berlin, hourly, over three changes."""
    return frame_of(pd.date_range("2023-07-01", "2024-09-30", freq="h", tz=BERLIN))


@pytest.fixture(scope="module")
def aware(training):
    return wrapper(training, model=clock_model, features=("time_of_day",))


@pytest.fixture(scope="module")
def naive():
    """Trained on local times without a zone."""
    index = pd.date_range("2024-04-01", "2024-06-30", freq="h")
    return wrapper(frame_of(index), model=clock_model, features=("time_of_day",))


@pytest.fixture
def quiet():
    """Warnings about zones are not the subject."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        yield


def recent_around(day, zone=BERLIN, freq="h", *, hours=(0, 6), seed=1):
    """Steps of a night in Berlin."""
    first = pd.Timestamp(day, tz=BERLIN) + pd.Timedelta(hours=hours[0])
    last = first + pd.Timedelta(hours=hours[1] - hours[0])
    return frame_of(pd.date_range(first, last, freq=freq), seed).tz_convert(zone)


def streamed(robust, frame, times=None):
    """Push the rows of a frame, and return the last forecast."""
    stream = robust.stream()
    forecast = None
    for time, (_, row) in zip(frame.index if times is None else times, frame.iterrows(), strict=True):
        forecast = stream.push(row, time)
    return forecast


def as_window(frame):
    """Return the last window of a frame as an array [1, t, n, f] with the time of day in Berlin, and its begin."""
    window = frame.iloc[-LOOKBACK:]
    wall = window.index.tz_convert(BERLIN)
    inputs = np.empty((1, LOOKBACK, len(NAMES), 2), dtype=np.float32)
    inputs[0, :, :, 0] = window.to_numpy()
    inputs[0, :, :, 1] = ((wall.hour + wall.minute / 60).to_numpy() / 24)[:, None]
    return inputs, window.index[:1]


def assert_same(found, wanted):
    np.testing.assert_array_equal(found.mean, wanted.mean)
    np.testing.assert_array_equal(found.neighbor_index, wanted.neighbor_index)
    np.testing.assert_array_equal(found.times, wanted.times)
    assert found.zone == wanted.zone


class TestZones:
    def test_the_zone_of_the_training_is_kept_and_saved(self, aware, naive, tmp_path):
        assert aware.metadata_.zone == BERLIN
        assert naive.metadata_.zone is None
        for robust in (aware, naive):
            robust.save(tmp_path / "plant")
            loaded = sc.load(tmp_path / "plant", model=clock_model)
            assert loaded.metadata_.zone == robust.metadata_.zone

    def test_the_daily_profile_is_of_the_wall_clock(self, aware):
        """The shape of the day does not blur over summer and winter."""
        normalizer = aware.fitted_.normalizer
        assert normalizer.cycle.slots == 24
        hours = np.arange(24)[:, None]
        shape = 20 + 5 * np.sin(2 * np.pi * hours / 24 + np.arange(4))
        np.testing.assert_allclose(normalizer.center, shape, atol=0.05)

    @pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kolkata", "+02:00"])
    @pytest.mark.parametrize("day", ["2024-01-15", "2024-07-15", *CHANGES.values()])
    def test_the_same_moments_in_another_zone_are_forecast_alike(self, aware, zone, day):
        here, there = recent_around(day), recent_around(day, zone)
        forecast, other = aware.predict(here[["a", "c"]]), aware.predict(there[["a", "c"]])
        np.testing.assert_array_equal(forecast.mean, other.mean)
        assert forecast.wide.index.tz is not None
        pd.testing.assert_index_equal(other.wide.index, forecast.wide.index.tz_convert(there.index.tz), exact=False)
        assert other.wide.index[0] == there.index[-1] + pd.Timedelta(hours=1)
        assert str(other.frame["time"].dt.tz) == str(there.index.tz)
        assert_same(streamed(aware, there[["a", "c"]].iloc[-LOOKBACK:]), other)
        inputs, begin = as_window(there)
        many = aware.predict_many(inputs, times=begin)
        np.testing.assert_array_equal(many[0].times, aware.predict(there).times)
        np.testing.assert_array_equal(many[0].mean, aware.predict(there).mean)

    def test_times_without_a_zone_are_read_in_that_of_the_training_and_said_once(self, training):
        robust = wrapper(training)
        recent = recent_around("2024-07-15")
        plain = recent.tz_localize(None)
        with pytest.warns(DataWarning, match=f"times have no zone and the training had one: read as {BERLIN}") as said:
            first, second = robust.predict(plain), robust.predict(plain)
        assert len(said) == 1
        wanted = robust.predict(recent)
        for forecast in (first, second):
            np.testing.assert_array_equal(forecast.mean, wanted.mean)
            assert forecast.wide.index[0] == plain.index[-1] + pd.Timedelta(hours=1)
            assert (forecast.zone, forecast.wide.index.tz) == (None, None)
            assert any(BERLIN in note for note in forecast.notes)
        assert wanted.notes == ()

    def test_a_stream_says_once_what_it_assumes(self, training):
        robust = wrapper(training)
        plain = recent_around("2024-07-15").tz_localize(None)
        with pytest.warns(DataWarning, match="no zone") as said:
            forecast = streamed(robust, plain)
        assert len(said) == 1
        assert any(BERLIN in note for note in forecast.notes)

    @pytest.mark.usefixtures("quiet")
    def test_times_with_a_zone_are_taken_by_their_wall_clock_if_the_training_had_none(self, naive):
        plain = recent_around("2024-07-15").tz_localize(None)
        wanted = naive.predict(plain)
        for zone in (BERLIN, "Asia/Tokyo", "UTC"):
            zoned = plain.tz_localize(zone)
            for forecast in (naive.predict(zoned), streamed(naive, zoned.iloc[-LOOKBACK:])):
                np.testing.assert_array_equal(forecast.mean, wanted.mean)
                assert forecast.wide.index[0] == zoned.index[-1] + pd.Timedelta(hours=1)
                assert forecast.wide.index.tz is not None
                assert any(zone in note for note in forecast.notes)
        with pytest.warns(DataWarning, match="had none: the wall clock of Asia/Tokyo is taken as it is"):
            naive.stream().push(plain.iloc[0], plain.index[0].tz_localize("Asia/Tokyo"))

    def test_windows_of_a_series_in_another_zone(self, aware):
        series = sc.Series.from_frame(recent_around("2024-07-15", hours=(0, 48)), time_features=["time_of_day"])
        here = aware.predict_many(series.windows(LOOKBACK, HORIZON))
        there = aware.predict_many(series.to_zone("Asia/Tokyo").windows(LOOKBACK, HORIZON))
        np.testing.assert_array_equal(here.mean, there.mean)
        np.testing.assert_array_equal(here.times, there.times)
        assert (here.zone, there.zone) == (BERLIN, "Asia/Tokyo")
        plain = sc.Series(series.values, series.variables, series.wall_times, freq="1h", time_features=("time_of_day",))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            local = aware.predict_many(plain.windows(LOOKBACK, HORIZON))
        np.testing.assert_array_equal(here.mean, local.mean)
        assert local.zone is None
        assert any("no zone" in note for note in local.notes)
        np.testing.assert_array_equal(local.times[0], plain.times[LOOKBACK : LOOKBACK + HORIZON])

    def test_validation_in_another_zone_is_refused(self, training):
        train, val, _ = sc.Series.from_frame(training.iloc[:400]).split(LOOKBACK, HORIZON)
        other = val.series.to_zone("UTC").windows(LOOKBACK, HORIZON)
        with pytest.raises(InputError) as error:
            sc.SubsetForecaster(last_reading, progress=False).fit(train, other)
        assert_one_sentence(error, "zone UTC", BERLIN)

    @pytest.mark.parametrize("kind", ["csv", "parquet", "npz"])
    @pytest.mark.parametrize("zone", [BERLIN, "UTC", "+05:30", None])
    def test_files_keep_the_zone(self, tmp_path, kind, zone):
        """Also where the times have one offset only, which many zones share."""
        index = pd.date_range("2024-07-01", periods=30, freq="h").tz_localize(zone)
        series = sc.Series.from_frame(frame_of(index))
        series.save(tmp_path / f"a.{kind}")
        back = sc.Series.read(tmp_path / f"a.{kind}")
        assert (back.zone, back.freq, back.repairs, back.variables) == (zone, "1h", (), tuple(NAMES))
        np.testing.assert_array_equal(back.times, series.times)
        np.testing.assert_array_equal(back.wall_times, index.tz_localize(None).to_numpy())
        assert sc.Series.from_frame(series.to_frame(long=True)).zone == zone

    @pytest.mark.usefixtures("quiet")
    @pytest.mark.parametrize("form", ["%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M:%S%z", "%Y-%m-%d %H:%M"])
    def test_csv_files_for_the_command_line(self, aware, tmp_path, form):
        """Z, offsets that change, and local times, in the night in which clocks are set back."""
        recent = recent_around("2024-10-27")[S]
        times = (recent.tz_convert("UTC") if form.endswith("Z") else recent).index.strftime(form)
        recent.set_axis(pd.Index(times, name="time")).to_csv(tmp_path / "recent.csv")
        forecast, wanted = aware.predict(read_readings(tmp_path / "recent.csv", [], {})), aware.predict(recent)
        np.testing.assert_allclose(forecast.mean, wanted.mean, rtol=1e-5)
        assert forecast.zone == {"Z": "UTC", "z": BERLIN, "M": None}[form[-1]]
        if forecast.zone:
            np.testing.assert_array_equal(forecast.times, wanted.times)

    def test_json_has_offsets(self, aware):
        plain = aware.predict(recent_around("2024-07-15")[S]).to_dict()
        assert plain["times"][0] == "2024-07-15T07:00:00+02:00"
        assert plain["zone"] == BERLIN
        assert plain["neighbors"]["end"][0].endswith(("+01:00", "+02:00"))

    def test_a_forecast_prints_wall_times(self, aware):
        assert "2024-07-15 07:00 to 2024-07-15 09:00 (Europe/Berlin)" in repr(
            aware.predict(recent_around("2024-07-15"))
        )

    def test_plots_draw_wall_times(self, aware):
        figure = aware.predict(recent_around("2024-07-15")).plot()
        low, high = figure.axes[0].get_xlim()
        noon = 19919 + 0.5  # days since 1970 of 2024-07-15 12:00
        assert low < noon - 0.35 < high  # 03:36 on the wall clock lies within


class TestSummerTime:
    """The hour that comes twice and the hour that is missing."""

    @pytest.mark.parametrize("season", CHANGES)
    @pytest.mark.parametrize("freq", ["10min", "30min", "h"])
    def test_steps_up_to_an_hour(self, season, freq):
        """Aware times: 23- and 25-hour days; every way of forecasting agrees at every step of the night."""
        day = pd.Timestamp(CHANGES[season], tz=BERLIN)
        index = pd.date_range(day - pd.Timedelta(days=8), day + pd.Timedelta(days=8), freq=freq)
        robust = wrapper(frame_of(index), model=clock_model, features=("time_of_day",))
        series = sc.Series.from_frame(frame_of(index, 1), time_features=["time_of_day"])
        assert len(series) == len(index)
        assert series.repairs == ()
        night = frame_of(index, 1).loc[day : day + pd.Timedelta(hours=6), S]
        stream = robust.stream()
        for last in range(len(night)):
            found = stream.push(night.iloc[last], night.index[last])
            if last < LOOKBACK - 1:
                continue
            wanted = robust.predict(night.iloc[: last + 1])
            assert_same(found, wanted)
            ahead = night.index[last] + pd.Timedelta(freq if freq[0].isdigit() else f"1{freq}") * np.arange(
                1, HORIZON + 1
            )
            assert list(wanted.wide.index) == list(ahead)
            start = index.get_loc(night.index[last]) - LOOKBACK + 1
            many = robust.predict_many(series.windows(LOOKBACK, HORIZON)[start : start + 1], S)
            np.testing.assert_array_equal(many.mean[0], wanted.mean)
            np.testing.assert_array_equal(many.neighbor_index[0], wanted.neighbor_index)

    @pytest.mark.usefixtures("quiet")
    @pytest.mark.parametrize("season", CHANGES)
    @pytest.mark.parametrize("freq", ["10min", "h"])
    def test_local_times_without_a_zone_on_a_wrapper_with_one(self, aware, season, freq):
        robust = (
            aware if freq == "h" else wrapper(frame_of(pd.date_range("2024-07-01", periods=999, freq=freq, tz=BERLIN)))
        )
        night = recent_around(CHANGES[season], freq=freq, hours=(0, 7))[S]
        plain = night.tz_localize(None)
        for last in range(LOOKBACK, len(night) + 1):
            wanted, found = robust.predict(night.iloc[:last]), robust.predict(plain.iloc[:last])
            np.testing.assert_array_equal(found.mean, wanted.mean)
            assert list(found.wide.index) == list(wanted.wide.index.tz_localize(None))
        forecast = streamed(robust, night, plain.index)
        np.testing.assert_array_equal(forecast.mean, robust.predict(night).mean)
        long = plain.rename_axis("ds").reset_index().melt("ds", var_name="unique_id", value_name="y")
        np.testing.assert_array_equal(robust.predict(long).mean, robust.predict(night).mean)

    @pytest.mark.parametrize("freq", ["10min", "h"])
    def test_the_hour_that_comes_twice_on_a_wrapper_without_a_zone(self, freq):
        robust = wrapper(frame_of(pd.date_range("2024-07-01", periods=999, freq=freq)))
        night = recent_around(CHANGES["autumn"], freq=freq, hours=(0, 7)).tz_localize(None)[S]
        assert night.index.has_duplicates
        stream = robust.stream()
        for last in range(len(night)):
            found = stream.push(night.iloc[last], night.index[last])
            if last < LOOKBACK - 1:
                continue
            window = night.iloc[last + 1 - LOOKBACK : last + 1]
            for recent in (window, night.iloc[: last + 1], window.rename_axis("when").reset_index()):
                forecast = robust.predict(recent)
                assert_same(found, forecast)
                np.testing.assert_array_equal(forecast.history, window.to_numpy())  # no reading is lost
            assert found.wide.index[0] == night.index[last] + pd.Timedelta("10min" if freq == "10min" else "1h")
        chunks = robust.stream(night.iloc[:10])
        assert_same(chunks.extend(night.iloc[10:]), found)

    def test_the_hour_that_comes_twice_is_noted(self, naive):
        night = recent_around(CHANGES["autumn"], hours=(-3, 4)).tz_localize(None)
        assert any("set back" in note for note in naive.predict(night).notes)
        assert any("set back" in note for note in streamed(naive, night).notes)

    @pytest.mark.usefixtures("quiet")
    def test_the_hour_that_is_missing_on_a_wrapper_without_a_zone_is_a_hole(self, naive):
        night = recent_around(CHANGES["spring"], hours=(-4, 5)).tz_localize(None)
        forecast = naive.predict(night)
        assert forecast.wide.index[0] == night.index[-1] + pd.Timedelta(hours=1)
        assert np.isnan(forecast.history).all(axis=1).sum() == 1

    def test_repeated_times_on_other_days_are_refused(self, naive):
        day = recent_around("2024-10-28", hours=(-3, 4)).tz_localize(None)
        twice = day.iloc[[0, 1, 2, 3, 4, 4, 5, 6]]
        with pytest.raises(InputError, match="twice"):
            naive.predict(twice)
        stream = naive.stream(day.iloc[:5])
        with pytest.raises(InputError, match="not after"):
            stream.push(day.iloc[4], day.index[4])

    @pytest.mark.usefixtures("quiet")
    def test_a_time_that_clocks_skip_is_refused(self, aware):
        plain = frame_of(pd.date_range("2024-03-30 22:00", periods=8, freq="h"))
        stream = aware.stream()
        with pytest.raises(InputError) as error:
            aware.predict(plain)
        assert_one_sentence(error, "2024-03-31 02:00:00", BERLIN, "skip", "give times with their zone")
        with pytest.raises(InputError) as error:
            stream.add(plain)
        assert_one_sentence(error, "2024-03-31 02:00:00", BERLIN)
        for time in plain.index[:4]:
            stream.push(plain.loc[time], time)
        with pytest.raises(InputError) as error:
            stream.push(plain.iloc[4], plain.index[4])
        assert_one_sentence(error, "2024-03-31 02:00:00", BERLIN)

    @pytest.mark.parametrize("season", CHANGES)
    @pytest.mark.parametrize("freq", ["D", "7D", "12h", "6h", "3h", "MS", "W-SUN", "B"])
    def test_days_and_longer_steps_of_the_wall_clock(self, season, freq):
        """Local midnights are 23, 24 or 25 hours apart."""
        day = pd.Timestamp(CHANGES[season])
        wall = pd.date_range(day - 60 * pd.tseries.frequencies.to_offset(freq), periods=64, freq=freq)
        index = wall.tz_localize(BERLIN, nonexistent="shift_forward", ambiguous=np.ones(64, dtype=bool))
        frame = frame_of(index)
        series = sc.Series.from_frame(frame)
        np.testing.assert_array_equal(series.times, index.tz_convert("UTC").tz_localize(None).to_numpy())
        assert series.missing_share == 0
        assert series.freq in (freq, f"1{freq}", "W-SUN")
        robust = wrapper(frame)
        stream = robust.stream()
        for last in range(40, 64):
            found = stream.push(frame[S].iloc[last], index[last])
            if last - 40 < LOOKBACK - 1:
                continue
            recent = frame[S].iloc[last + 1 - LOOKBACK : last + 1]
            wanted = robust.predict(recent)
            assert_same(found, wanted)
            np.testing.assert_array_equal(robust.predict(recent.tz_convert("UTC")).times, wanted.times)
            expected = index[last + 1 : last + 1 + HORIZON]
            assert list(wanted.wide.index[: len(expected)]) == list(expected)
            np.testing.assert_array_equal(wanted.history, recent.to_numpy())

    @pytest.mark.parametrize("freq", ["12h", "6h", "2h", "D"])
    def test_a_training_without_a_change_takes_steps_of_the_wall_clock_and_of_utc(self, freq):
        day = pd.Timestamp(CHANGES["autumn"])
        wall = pd.date_range(day - 60 * pd.tseries.frequencies.to_offset(freq), periods=64, freq=freq)
        of_wall = wall.tz_localize(BERLIN, ambiguous=np.ones(64, dtype=bool))
        of_utc = pd.date_range(of_wall[0], periods=64, freq="24h" if freq == "D" else freq)
        for index in (of_wall, of_utc):
            frame = frame_of(index)[S]
            robust = wrapper(frame_of(of_wall[:50]))
            recent = frame.iloc[-LOOKBACK:]
            forecast = robust.predict(recent)
            np.testing.assert_array_equal(forecast.history, recent.to_numpy())
            assert_same(streamed(robust, recent), forecast)
            assert forecast.wide.index[0] > index[-1]

    def test_steps_of_a_day_in_utc_shown_in_a_zone(self):
        """Daily readings at midnight UTC, written in local time, stay 24 hours apart."""
        index = pd.date_range("2024-01-01", periods=120, freq="24h", tz="UTC").tz_convert(BERLIN)
        robust = wrapper(frame_of(index))
        recent = frame_of(index, 1)[S].iloc[84:92]
        forecast = robust.predict(recent)
        assert list(forecast.wide.index) == list(index[92:95])
        assert_same(streamed(robust, recent.iloc[-LOOKBACK:]), forecast)

    def test_a_table_of_local_times_is_read_in_its_zone(self, tmp_path):
        index = pd.date_range("2024-10-26", "2024-10-29", freq="10min", tz=BERLIN)
        frame = frame_of(index)
        frame.tz_localize(None).to_csv(tmp_path / "local.csv")
        series = sc.Series.read(tmp_path / "local.csv", zone=BERLIN)
        assert (series.zone, series.repairs) == (BERLIN, ())
        np.testing.assert_allclose(series.values, frame.to_numpy(), rtol=1e-5)
        np.testing.assert_array_equal(series.times, index.tz_convert("UTC").tz_localize(None).to_numpy())


class TestSteps:
    """Rows that are a little off the steps, and rows between the steps."""

    @pytest.mark.parametrize("minutes", [0.5, -3, 5.9, -5.9])
    def test_jitter_is_taken_alike_and_noted(self, naive, minutes):
        recent = recent_around("2024-07-15").tz_localize(None).iloc[-LOOKBACK:]
        late = recent.copy()
        late.index = recent.index + pd.to_timedelta([minutes, 0, 0, minutes, 0, minutes], unit="min")
        wanted = naive.predict(recent)
        inputs, _ = as_window(recent.tz_localize(BERLIN))
        found = [
            naive.predict(late),
            naive.predict(late.rename_axis("when").reset_index()),
            naive.stream(late).forecast(),
            streamed(naive, late),
            naive.predict_many(inputs, times=late.index[:1])[0],
        ]
        for forecast in found:
            np.testing.assert_array_equal(forecast.mean, wanted.mean)
            np.testing.assert_array_equal(forecast.times, wanted.times)
            assert any("off the 1h steps by up to" in note and "moved" in note for note in forecast.notes)
        assert [forecast.notes for forecast in found[:4]] == [found[0].notes] * 4

    @pytest.mark.parametrize("minutes", [6.5, 15, 30, -30, -7])
    def test_rows_between_the_steps_are_refused_alike(self, naive, minutes):
        recent = recent_around("2024-07-15").tz_localize(None).iloc[-LOOKBACK:]
        shifted = recent.copy()
        shifted.index = recent.index + pd.Timedelta(minutes=minutes)
        inputs, _ = as_window(recent.tz_localize(BERLIN))
        naive.reset()
        for attempt in (
            lambda: naive.predict(shifted),
            lambda: naive.stream(shifted),
            lambda: naive.stream().push(shifted.iloc[0], shifted.index[0]),
            lambda: naive.update(shifted.iloc[0], shifted.index[0]),
            lambda: naive.predict_many(inputs, times=shifted.index[:1]),
        ):
            with pytest.raises(InputError) as error:
                attempt()
            assert_one_sentence(error, "between two steps", "every 1h")

    @pytest.mark.parametrize("time", ["1600-01-01", "9999-12-31", pd.NaT, np.datetime64("NaT"), "soon", "01/02/2024"])
    def test_times_that_are_none(self, naive, time):
        recent = recent_around("2024-07-15").tz_localize(None).iloc[-LOOKBACK:]
        inputs, _ = as_window(recent.tz_localize(BERLIN))
        for attempt in (
            lambda: naive.stream().push(recent.iloc[0], time),
            lambda: naive.predict_many(inputs, times=[time]),
            lambda: naive.predict(recent.to_numpy(), times=[*recent.index[:-1], time]),
        ):
            with pytest.raises(InputError) as error:
                attempt()
            assert_one_sentence(error, "2024-01-31")

    def test_descending_rows_are_refused(self, naive):
        recent = recent_around("2024-07-15").tz_localize(None)
        for attempt in (naive.predict, naive.stream):
            with pytest.raises(InputError, match="goes back in time"):
                attempt(recent.iloc[::-1])

    def test_no_message_shows_nanoseconds(self, naive):
        recent = recent_around("2024-07-15").tz_localize(None)
        stream = naive.stream(recent)
        last = recent.index[-1]
        for time in (last, last + pd.Timedelta("2h"), last + pd.Timedelta("30min"), last - pd.Timedelta("9D")):
            with pytest.raises(InputError) as error:
                stream.push(recent.iloc[0], time)
            assert "000000" not in str(error.value)


class TestLateReadings:
    @pytest.fixture
    def recent(self):
        return recent_around("2024-07-15", hours=(0, 11)).tz_localize(None)[["a", "c"]]

    @pytest.mark.parametrize("back", range(LOOKBACK))
    def test_the_next_forecast_is_that_of_a_stream_that_got_it_in_time(self, naive, recent, back):
        in_time, late = naive.stream(), naive.stream()
        for time, row in recent.iterrows():
            in_time.push(row, time)
            late.push({} if time == recent.index[-1 - back] else row, time)
        late.late({"a": recent["a"].iloc[-1 - back]}, recent.index[-1 - back])
        late.late({"c": recent["c"].iloc[-1 - back]}, back=back)
        wanted, found = in_time.forecast(), late.forecast()
        assert_same(found, wanted)
        np.testing.assert_array_equal(found.weights, wanted.weights)
        following = recent_around("2024-07-15", hours=(12, 15)).tz_localize(None)[["a", "c"]]
        for time, row in following.iterrows():
            assert_same(late.push(row, time), in_time.push(row, time))

    def test_a_late_variable_joins_s(self, naive, recent):
        stream = naive.stream(recent[["a"]])
        stream.late({"c": recent["c"].iloc[-2]}, recent.index[-2])
        window = recent.iloc[-LOOKBACK:].copy()
        window["c"] = window["c"].where(window.index == recent.index[-2])
        assert_same(stream.forecast(), naive.predict(window))

    def test_what_is_not_given_stays(self, naive, recent):
        stream, other = naive.stream(recent), naive.stream(recent)
        stream.late({"a": np.nan, "b": None}, recent.index[-3])
        assert_same(stream.forecast(), other.forecast())

    @pytest.mark.usefixtures("quiet")
    def test_a_late_reading_in_another_zone_and_a_little_off(self, aware):
        recent = recent_around("2024-07-15")[["a", "b", "c"]]
        stream = aware.stream(recent)
        stream.late({"b": 99.0}, recent.index[-2].tz_convert("Asia/Tokyo") + pd.Timedelta("20s"))
        stream.late({"c": 98.0}, recent.index[-2].tz_localize(None))
        changed = recent.copy()
        changed.iloc[-2, [1, 2]] = [99.0, 98.0]
        assert_same(stream.forecast(), aware.predict(changed))

    def test_refused(self, naive, recent):
        stream = naive.stream(recent)
        oldest = recent.index[-LOOKBACK]
        for time, words in (
            (oldest - pd.Timedelta("1h"), ("too late", f"keeps {LOOKBACK} steps", str(oldest))),
            (recent.index[-1] + pd.Timedelta("1h"), ("not late", "push")),
            (recent.index[-2] + pd.Timedelta("30min"), ("between two steps",)),
        ):
            with pytest.raises(InputError) as error:
                stream.late({"a": 1.0}, time)
            assert_one_sentence(error, "time", *words)
        for arguments in ({}, {"time": recent.index[-1], "back": 0}, {"back": LOOKBACK}, {"back": -1}):
            with pytest.raises(InputError) as error:
                stream.late({"a": 1.0}, **arguments)
            assert_one_sentence(error, "back")
        with pytest.raises(InputError) as error:
            naive.stream().late({"a": 1.0}, recent.index[-1])
        assert_one_sentence(error, "no steps yet", "push")
        before = stream.forecast()
        assert_same(before, naive.predict(recent))

    def test_a_stream_starts_again_from_its_readings(self, aware, naive, recent):
        for robust, frame in ((naive, recent), (aware, recent_around("2024-10-27", hours=(-4, 3))[S])):
            stream = robust.stream(frame)
            values, times = stream.readings()
            assert_same(robust.stream(values, times=times).forecast(), stream.forecast())
