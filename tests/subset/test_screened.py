"""Readings beyond the limits in a wrapper: holes with notes, or refused, in every way that readings arrive."""

import json

import numpy as np
import pandas as pd
import pytest

import subcast as sc
from subcast.errors import DataError, FitWarning, InputError
from subcast.limits import Limits
from subcast.storage.state import State
from subcast.subset.screened import batch_notes, saved_limits

LOOKBACK, HORIZON, STATIONS = 8, 4, 9


def last_and_mean(x):
    """A model in which every station enters the forecast of all."""
    readings = x[..., 0]
    mixed = 0.7 * readings[:, -1:] + 0.3 * readings.mean(axis=(1, 2), keepdims=True)
    return np.repeat(mixed, HORIZON, axis=1)


@pytest.fixture(scope="module")
def temperatures():
    """Thirty days of nine stations, in degrees Celsius."""
    rng = np.random.default_rng(3)
    hours = np.arange(24 * 30)
    common = 20 + 8 * np.sin(2 * np.pi * hours / 24) + np.convolve(rng.normal(size=hours.size), np.ones(12) / 4, "same")
    values = common[:, None] + np.arange(STATIONS) / 2 + 0.3 * rng.normal(size=(hours.size, STATIONS))
    index = pd.date_range("2024-01-01", periods=hours.size, freq="h")
    return pd.DataFrame(values, index=index, columns=[f"station-{number}" for number in range(STATIONS)])


@pytest.fixture(scope="module")
def parts(temperatures):
    return sc.Series.from_frame(temperatures).split(LOOKBACK, HORIZON)


def fit(parts, kind=sc.SubsetForecaster, **options):
    return kind(last_and_mean, progress=False, **options).fit(parts.train, parts.val)


@pytest.fixture(scope="module")
def robust(parts):
    return fit(parts, effort=0.1)


@pytest.fixture(scope="module")
def paper(parts):
    return fit(parts, sc.SubsetForecaster.paper)


@pytest.fixture
def recent(temperatures):
    return temperatures.iloc[-LOOKBACK:].copy()


def same(first, second):
    """Whether two forecasts are equal to the bit."""
    bounds = (first.bounds is None and second.bounds is None) or np.array_equal(first.bounds, second.bounds)
    return first.variables == second.variables and np.array_equal(first.mean, second.mean) and bounds


ABSURD = {
    "a code": lambda readings: 0 * readings + 999999,
    "another code": lambda readings: 0 * readings - 999,
    "Fahrenheit": lambda readings: 1.8 * readings + 32,
    "Kelvin": lambda readings: readings + 273.15,
    "a thousand times": lambda readings: 1000 * readings,
}


class TestOneAbsurdStation:
    @pytest.mark.parametrize("kind", ABSURD)
    def test_is_as_absent_to_the_bit(self, robust, recent, kind):
        without = robust.predict(recent.drop(columns="station-3"))
        recent["station-3"] = ABSURD[kind](recent["station-3"])
        forecast = robust.predict(recent)
        assert same(forecast, without)
        (note,) = forecast.notes
        assert note.startswith("'station-3' has 8 readings beyond its limits (the last is ")
        assert "at 2024-01-30 23:00:00" in note
        assert (forecast.quality, forecast.expected_gap) == (without.quality, without.expected_gap)

    def test_in_the_paper_method(self, paper, recent):
        without = paper.predict(recent.drop(columns="station-3"))
        recent["station-3"] = 999999
        assert same(paper.predict(recent), without)

    def test_as_virtual_sensor(self, robust, recent):
        without = robust.predict(recent.drop(columns="station-3"), absent=True)
        recent["station-3"] = 999999
        forecast = robust.predict(recent, absent=True)
        assert same(forecast, without)
        assert forecast.variables[-1] == "station-3"

    def test_one_reading_becomes_a_hole(self, robust, recent):
        hole = recent.copy()
        hole.iloc[5, 2] = np.nan
        recent.iloc[5, 2] = -999
        forecast = robust.predict(recent)
        assert same(forecast, robust.predict(hole))
        assert forecast.observed[2] == 7 / 8
        limit = f"{robust.limits_.low[2]:.4g}"
        expected = (
            f"'station-2' reads -999 at 2024-01-30 21:00:00, below its limit of {limit}: this reading is not used"
        )
        assert forecast.notes == (expected,)

    def test_as_array_without_times(self, robust, recent):
        recent["station-0"] = 999999
        assert "at step 8 of 8" in robust.predict(recent.to_numpy()).notes[0]


class TestShown:
    @pytest.fixture
    def forecast(self, robust, recent):
        recent.iloc[-1, 0] = 999999
        return robust.predict(recent)

    def test_printed(self, forecast):
        assert "note: 'station-0' reads 999999 at " in repr(forecast)

    def test_in_the_table(self, forecast, robust, recent, tmp_path):
        assert forecast.frame["note"].tolist() == [forecast.notes[0]] * len(forecast.frame)
        forecast.to_csv(tmp_path / "forecast.csv")
        assert pd.read_csv(tmp_path / "forecast.csv")["note"][0] == forecast.notes[0]
        assert "note" not in robust.predict(recent.drop(columns="station-0")).frame

    def test_in_json(self, forecast):
        assert json.loads(json.dumps(forecast.to_dict()))["notes"] == list(forecast.notes)


class TestManyWindows:
    def test_equals_one_by_one(self, robust, parts):
        windows = np.array(parts.test.readings[:6])
        windows[2, :, 4] = 999999
        windows[4, 3, 1] = -999
        windows[5, -1, 0] += 60  # too large a change, and too high
        batch = robust.predict_many(windows, present=np.arange(STATIONS))
        for number in range(6):
            alone = robust.predict_many(windows[[number]], present=np.arange(STATIONS))
            np.testing.assert_array_equal(batch[number].mean, alone[0].mean)
            assert batch[number].notes == alone[0].notes
        assert [len(batch[number].notes) for number in range(6)] == [0, 0, 1, 0, 1, 1]
        assert batch[-1].notes == batch[5].notes
        (summary,) = batch.notes
        assert summary.startswith(
            "3 of 6 windows have readings beyond the limits, which are not used: in window 2, 'sta"
        )
        assert batch.frame.groupby("window")["note"].first()[0] == ""

    def test_windows_of_a_series(self, robust, parts, temperatures):
        start = len(temperatures) - len(parts.test.series)
        dirty, holes = temperatures.copy(), temperatures.copy()
        for column, row in ((1, 5), (7, 11)):
            dirty.iloc[start + row, column] = 999999
            holes.iloc[start + row, column] = np.nan
        windows, with_holes = (
            sc.Series.from_frame(frame).split(LOOKBACK, HORIZON).test[:20] for frame in (dirty, holes)
        )
        forecast, expected = robust.predict_many(windows), robust.predict_many(with_holes)
        np.testing.assert_array_equal(forecast.mean, expected.mean)
        assert 0 < len(forecast.window_notes) < 20
        number = next(iter(forecast.window_notes))
        assert str(temperatures.index[start + 5]) in forecast[number].notes[0]

    def test_a_change_that_two_windows_judge_differently(self, robust, parts, temperatures):
        start = len(temperatures) - len(parts.test.series)
        steps = temperatures.copy()
        limits = robust.limits_.with_change("station-0", 4.0)
        steps.iloc[start + 10 :, 0] += 12  # a change of level, within the range
        windows = sc.Series.from_frame(steps).split(LOOKBACK, HORIZON).test[:16]
        other = sc.SubsetForecaster(last_and_mean, progress=False, limits=limits, effort=0.1).fit(
            parts.train, parts.val
        )
        batch = other.predict_many(windows)
        frame = steps.iloc[start:]
        for number in range(16):
            alone = other.predict(frame.iloc[number : number + LOOKBACK])
            np.testing.assert_array_equal(batch[number].mean, alone.mean)
            assert batch[number].notes == alone.notes
        assert 0 < len(batch.window_notes) < 16

    def test_readings_of_other_variables_are_not_looked_at(self, robust, parts):
        windows = np.array(parts.test.readings[:2])
        windows[:, :, 8] = 999999
        assert robust.predict_many(windows, present=[0, 1, 2], strict=True).notes == ()

    def test_a_station_without_any_possible_reading_is_absent(self, robust, parts):
        windows = np.array(parts.test.readings[:2])
        windows[:, :, 8] = 999999
        assert "station-8" not in robust.predict_many(windows).variables

    @pytest.mark.parametrize("absent", [False, True])
    @pytest.mark.parametrize("named", [False, True])
    def test_each_window_is_as_if_its_absurd_stations_were_absent(
        self, robust, paper, parts, temperatures, named, absent
    ):
        start = len(temperatures) - len(parts.test.series)
        dirty = temperatures.copy()
        dirty.iloc[start : start + 9, 4] = 999999  # all of the windows 0 and 1
        dirty.iloc[start : start + 8, 7] = -999  # all of the window 0
        windows = sc.Series.from_frame(dirty).split(LOOKBACK, HORIZON).test[:12]
        for wrapper in (robust, paper):
            batch = wrapper.predict_many(windows, present=list(range(STATIONS)) if named else None, absent=absent)
            assert batch.variables == tuple(temperatures.columns)
            for number in (0, 1, 2, 11):
                alone = wrapper.predict(dirty.iloc[start + number :][:LOOKBACK], absent=True)
                columns = [alone.variables.index(name) for name in batch.variables]
                np.testing.assert_allclose(batch[number].mean, alone.mean[:, columns], rtol=1e-6)
                np.testing.assert_array_equal(batch[number].observed, alone.observed[columns])
                if alone.neighbor_index.size:  # a complete window alone needs none
                    np.testing.assert_array_equal(batch[number].neighbor_index, alone.neighbor_index)
                np.testing.assert_array_equal(batch[number].times, alone.times)
                if alone.bounds is not None:
                    np.testing.assert_allclose(batch[number].bounds, alone.bounds[..., columns], rtol=1e-5)
                assert (batch[number].quality, batch[number].notes) == (alone.quality, alone.notes)
                assert batch[number].expected_gap == alone.expected_gap

    def test_an_absurd_station_that_is_named_as_present(self, robust, parts):
        windows = np.array(parts.test.readings[:3])
        others = np.delete(np.arange(STATIONS), 3)
        without = robust.predict_many(windows, present=others)
        windows[:, :, 3] = 999999
        forecast = robust.predict_many(windows, present=np.arange(STATIONS))
        np.testing.assert_array_equal(forecast.mean[:, :, others], without.mean)
        np.testing.assert_array_equal(forecast.bounds[..., others], without.bounds)
        assert (forecast.quality, forecast.expected_gap) == (without.quality, without.expected_gap)

    def test_a_window_without_any_possible_reading_among_others(self, robust, parts):
        windows = np.array(parts.test.readings[:3])
        windows[1] = 999999
        forecast = robust.predict_many(windows)
        assert np.isfinite(forecast.mean).all()
        np.testing.assert_array_equal(forecast[0].mean, robust.predict_many(windows[:1])[0].mean)

    def test_no_windows(self, robust, parts):
        assert robust.predict_many(parts.test[:0]).notes == ()


class TestStreams:
    def steps(self, temperatures):
        steps = temperatures.iloc[-3 * LOOKBACK :].copy()
        steps.iloc[9, 2] = 999999
        steps.iloc[12:, 5] += 12.0
        return steps

    @pytest.mark.parametrize(("change", "least"), [(np.inf, 2), (4.0, 4)])
    def test_push_equals_predict(self, robust, parts, temperatures, change, least):
        other = fit(parts, effort=0.1, limits=robust.limits_.with_change("station-5", change))
        steps, stream = self.steps(temperatures), other.stream()
        judged = set()
        for row in range(len(steps)):
            forecast = stream.push(steps.iloc[row], steps.index[row])
            if forecast is not None:
                alone = other.predict(steps.iloc[row + 1 - LOOKBACK : row + 1])
                assert same(forecast, alone)
                assert forecast.notes == alone.notes
                judged.add(forecast.notes)
        assert len(judged) >= least

    def test_update_and_extend(self, robust, temperatures):
        steps = self.steps(temperatures).iloc[:10]
        robust.reset()
        for row in range(10):
            updated = robust.update(steps.iloc[row], steps.index[row])
        robust.reset()
        stream = robust.stream(steps.iloc[:4])
        assert same(stream.extend(steps.iloc[4:]), updated)
        assert updated.notes[0].startswith("'station-2' reads 999999")

    def test_stored_readings_start_a_stream_again(self, robust, temperatures):
        stream = robust.stream(self.steps(temperatures).iloc[:12])
        values, times = stream.readings()
        assert 999999 in values
        assert same(robust.stream(values, times=times).forecast(), stream.forecast())

    @pytest.mark.parametrize("when", ["of the stream", "of the step"])
    def test_strict_does_not_add_the_step(self, robust, recent, when):
        stream = robust.stream(recent, strict=when == "of the stream")
        before = stream.forecast()
        step = recent.iloc[-1].copy()
        step["station-4"] = 999999
        time = recent.index[-1] + pd.Timedelta("1h")
        with pytest.raises(
            InputError, match=r"step has readings beyond the limits, .*'station-4' reads 999999 at 2024-01-31"
        ):
            stream.push(step, time, strict=None if when == "of the stream" else True)
        assert len(stream) == LOOKBACK
        assert same(stream.forecast(), before)
        assert stream.push(recent.iloc[-1], time) is not None

    def test_strict_refuses_the_new_step_alone(self, robust, recent):
        dirty = recent.copy()
        dirty.iloc[-1, 0] = -999
        stream = robust.stream(dirty)
        assert stream.push(recent.iloc[-1], strict=True).notes

    def test_strict_extend_adds_all_or_nothing(self, robust, temperatures, recent):
        stream = robust.stream(temperatures.iloc[-2 * LOOKBACK : -LOOKBACK])
        before = stream.forecast()
        dirty = recent.copy()
        dirty.iloc[3, 0] = -999
        with pytest.raises(InputError, match="strict does not allow"):
            stream.extend(dirty, strict=True)
        assert len(stream) == LOOKBACK
        assert same(stream.forecast(), before)
        assert same(stream.extend(recent, strict=True), robust.predict(recent))

    def test_strict_refuses_late_readings(self, robust, recent):
        stream = robust.stream(recent, strict=True)
        for arguments in ({"time": recent.index[3]}, {"back": LOOKBACK - 4}):
            with pytest.raises(
                InputError, match="strict does not allow: 'station-3' reads 999999 at 2024-01-30 19:00:00"
            ):
                stream.late({"station-3": 999999.0}, **arguments)
        assert same(stream.forecast(), robust.predict(recent))
        stream.late({"station-3": 999999.0}, recent.index[3], strict=False)
        assert "'station-3' reads 999999 at 2024-01-30 19:00:00" in stream.forecast().notes[0]

    def test_strict_refuses_late_readings_of_a_stream_without_times(self, robust, recent):
        stream = robust.stream(recent.to_numpy(), strict=True)
        with pytest.raises(InputError, match="strict does not allow: 'station-3' reads 999999"):
            stream.late({"station-3": 999999.0}, back=2)

    def test_update_strict(self, robust, recent):
        robust.reset()
        with pytest.raises(InputError, match="strict does not allow"):
            robust.update(recent.iloc[0] * 1000, recent.index[0], strict=True)
        robust.reset()

    def test_everything_becomes_a_hole(self, robust, recent):
        stream = robust.stream()
        with pytest.raises(
            InputError, match="the stream has no reading within the limits, so nothing can be forecast: 's"
        ):
            stream.extend(1000 * recent)
        assert len(stream) == LOOKBACK


class TestRefused:
    def test_strict(self, robust, recent):
        recent.iloc[-1, 0] = -999
        with pytest.raises(InputError) as raised:
            robust.predict(recent, strict=True)
        sentence = str(raised.value)
        assert sentence.startswith(
            "recent has readings beyond the limits, which strict does not allow: 'station-0' reads "
        )
        assert sentence.endswith("; correct them, or widen the limits")
        assert "not used" not in sentence

    def test_strict_with_possible_readings(self, robust, recent):
        assert same(robust.predict(recent, strict=True), robust.predict(recent))

    def test_strict_in_a_batch(self, robust, parts):
        windows = np.array(parts.test.readings[:3])
        windows[1, 0, 0] = 999999
        with pytest.raises(InputError, match="window 1 has readings beyond the limits"):
            robust.predict_many(windows, strict=True)

    def test_everything(self, robust, parts, recent):
        with pytest.raises(
            InputError, match=r"recent has no reading within the limits, .*'station-0' .*, and others; "
        ):
            robust.predict(1000 * recent)
        with pytest.raises(InputError, match="windows has no reading within the limits"):
            robust.predict_many(1000 * np.array(parts.test.readings[:2]))


def limit_notes(forecast):
    """The notes about readings beyond limits; a strange window has a note of its own."""
    return [note for note in forecast.notes if "unlike" not in note]


class TestChosen:
    def test_possible_readings_give_the_same_forecasts_as_without_limits(self, robust, parts, recent):
        off = fit(parts, effort=0.1, limits=None)
        assert off.limits_ is None
        assert same(off.predict(recent), robust.predict(recent))
        assert same(off.predict_many(parts.test), robust.predict_many(parts.test))
        recent["station-3"] = 999999
        assert not limit_notes(off.predict(recent))
        assert off.predict(recent).mean.max() > 1000
        stream = off.stream(recent)
        assert same(stream.forecast(), off.predict(recent))

    def test_a_heat_wave_passes(self, robust, recent):
        assert not limit_notes(robust.predict(recent + 8))

    def test_ranges(self, parts, recent):
        narrow = fit(parts, effort=0.1, limits={"station-1": (None, 10), "station-2": (-np.inf, None)})
        assert narrow.limits_.high[1] == 10
        assert np.isinf(narrow.limits_.low[2])
        assert np.isfinite(narrow.limits_.low[1])
        assert "above its limit of 10" in narrow.predict(recent).notes[0]

    def test_changed_afterwards(self, parts, recent, robust):
        other = robust.with_settings(robust.settings_)
        other.limits_ = other.limits_.with_range("station-0", high=1e7).with_change("station-0", np.inf)
        recent["station-0"] = 5e6
        assert other.predict(recent).notes == ()
        assert robust.predict(recent).notes != ()
        other.limits_ = None
        assert other.predict(recent).notes == ()

    def test_update_goes_on_with_other_limits(self, robust, recent):
        other = robust.with_settings(robust.settings_)
        recent.iloc[3, 0] = 5e6
        for row in range(LOOKBACK - 1):
            other.update(recent.iloc[row], recent.index[row])
        other.limits_ = other.limits_.without("station-0")
        forecast = other.update(recent.iloc[-1], recent.index[-1])
        assert forecast.notes == ()
        assert same(forecast, other.predict(recent))

    def test_strays_in_training_give_a_warning(self, temperatures):
        dirty = temperatures.copy()
        dirty.iloc[100, 2] = -999
        train = sc.Series.from_frame(dirty).split(LOOKBACK, HORIZON).train
        with pytest.warns(FitWarning, match="train has 1 reading far from all others, such as -999 of 'station-2'"):
            sc.SubsetForecaster(last_and_mean, progress=False).fit(train)

    @pytest.mark.parametrize(
        ("limits", "sentence"),
        [
            (False, "limits must be 'learned', None for no limits, a dict"),
            ("off", "limits must be 'learned', None for no limits, a dict"),
            ({"station-0": 50}, r"limits must give \(low, high\) for 'station-0'"),
        ],
    )
    def test_refused_by_the_constructor(self, limits, sentence):
        with pytest.raises(InputError, match=sentence):
            sc.SubsetForecaster(last_and_mean, limits=limits)

    def test_refused_by_fit(self, parts):
        with pytest.raises(InputError, match="did you mean 'station-"):
            fit(parts, limits={"station0": (0, 1)})
        with pytest.raises(InputError, match="the low of 'station-0' must be a number"):
            fit(parts, limits={"station-0": ("cold", 1)})

    def test_limits_of_other_variables(self, robust, parts):
        two = robust.limits_.select(np.array([0, 1]))
        with pytest.raises(InputError, match="limits must be those of the 9 variables"):
            fit(parts, limits=two)
        with pytest.raises(InputError, match="limits must be those of the 9 variables"):
            robust.limits_ = two
        with pytest.raises(InputError, match="limits_ must be Limits, or None for no limits, got dict"):
            robust.limits_ = {"station-0": (0, 1)}


class TestSaved:
    @pytest.mark.parametrize("limits", ["learned", None, {"station-1": (None, 44.0)}])
    def test_restored(self, parts, recent, tmp_path, limits):
        saved = fit(parts, effort=0.1, limits=limits)
        saved.save(tmp_path / "plant")
        restored = sc.load(tmp_path / "plant", model=last_and_mean)
        assert restored.limits == limits
        recent["station-3"] = 999999
        first, second = restored.predict(recent), saved.predict(recent)
        assert same(first, second)
        assert first.notes == second.notes

    def test_limits_given_whole(self, robust, parts, tmp_path):
        given = robust.limits_.with_range("station-1", high=44)
        fit(parts, limits=given, effort=0.1).save(tmp_path / "plant")
        restored = sc.load(tmp_path / "plant", model=last_and_mean)
        assert isinstance(restored.limits, Limits)
        assert restored.fit(parts.train).limits_.high[1] == 44

    def test_changed_and_saved(self, parts, tmp_path):
        changed = fit(parts, effort=0.1)
        changed.limits_ = changed.limits_.with_range("station-1", high=44)
        changed.save(tmp_path / "plant")
        assert sc.load(tmp_path / "plant", model=last_and_mean).limits_.high[1] == 44

    @pytest.mark.parametrize("given", [5, "all", {"a": 3}])
    def test_damaged(self, given):
        with pytest.raises(DataError, match="is damaged or was changed by hand"):
            saved_limits(State({"has_limits": False, "given_limits": given}), ("a",))

    def test_limits_that_are_gone(self):
        with pytest.raises(DataError, match="it has no limits"):
            saved_limits(State({"has_limits": True, "given_limits": "learned"}), ("a",))


def test_batch_notes():
    assert batch_notes({}, 5) == ()
    assert batch_notes({3: ("'a' reads 5",)}, 5)[0].startswith("1 of 5 windows has readings beyond the limits")
