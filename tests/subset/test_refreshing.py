"""Tests of `refresh`: later readings in the bank are the same as if the bank had been built with them."""

import os
import threading

import numpy as np
import pytest

import subcast as sc
from subcast.errors import InputError
from subcast.subset.conformal import Calibration
from subcast.subset.refreshing import LEAST_CALIBRATION, mixed
from subset.examples import HORIZON, LOOKBACK, assert_one_sentence, last_reading, learn, waves

TRAINED, STEPS = 300, 460
NEEDED = LOOKBACK + HORIZON


@pytest.fixture(scope="module")
def series():
    return waves(n=4, steps=STEPS)


@pytest.fixture(scope="module")
def parts(series):
    return series[:TRAINED].split(LOOKBACK, HORIZON, shares=(0.6, 0.2, 0.2))


@pytest.fixture(scope="module")
def robust(parts):
    """A wrapper of the first part of the series, with a bank that ends where validation begins."""
    return sc.SubsetForecaster(learn(parts.train), progress=False, effort=0.2).fit(parts.train, parts.val)


def known(robust):
    return robust.fitted_.bank.n_steps


def moment(series, step):
    return str(series.times[step].astype("datetime64[s]"))


def slow_moments(z, lags):
    """E[z_t z_{t+l}'] by loops over steps; a missing reading is 0."""
    filled = np.where(np.isnan(z), 0.0, z.astype(np.float64))
    totals = np.zeros((lags, z.shape[1], z.shape[1]))
    for lag in range(lags):
        for t in range(len(z) - lag):
            totals[lag] += np.outer(filled[t], filled[t + lag])
    return totals / len(z)


class TestJoined:
    def test_readings_that_follow_directly_equal_a_bank_of_the_joined_data(self, series, robust):
        end = known(robust)
        later = robust.refresh(series[end:])
        bank, normalizer = later.fitted_.bank, robust.fitted_.normalizer
        slots = normalizer.cycle.positions(series.wall_times)
        shared = robust.fitted_.shared_at(series.features, slots)
        joined = sc.WindowBank(
            normalizer.normalize(series.values, slots),
            LOOKBACK,
            starts=np.arange(STEPS - NEEDED + 1),
            shared=shared,
            names=series.variables,
        )
        assert bank.fingerprint() == joined.fingerprint()
        assert np.array_equal(bank.data, joined.data)
        assert np.array_equal(bank.starts, joined.starts)
        assert np.array_equal(later.fitted_.moments.whole, joined.moments(NEEDED).whole)
        assert np.array_equal(later.fitted_.bank_slots, slots)
        assert np.array_equal(later.metadata_.times, series.times.astype("datetime64[ns]"))

    def test_moments_agree_with_loops_when_steps_are_left_out(self, series, robust):
        end = known(robust)
        later = robust.refresh(series[end + 7 :])
        data = later.fitted_.bank.data[:4].T
        gap = np.full((NEEDED - 1, 4), np.nan)
        expected = slow_moments(np.concatenate([data[:end], gap, data[end:]]), NEEDED)
        assert np.allclose(later.fitted_.moments.whole, expected, atol=1e-5)

    def test_no_window_reaches_over_steps_that_were_left_out(self, series, robust):
        end = known(robust)
        later = robust.refresh(series[end + 1 :])
        bank = later.fitted_.bank
        assert bank.offsets.tolist() == [0, end, STEPS - 1]
        reaching = (bank.starts < end) & (bank.starts + NEEDED > end)
        assert not reaching.any()
        assert len(bank) == (end - NEEDED + 1) + (STEPS - 1 - end - NEEDED + 1)

    def test_a_step_at_a_time_gives_the_same_bank_as_all_at_once(self, series, robust):
        end = known(robust)
        step_by_step = robust
        for first, last in ((end, end + 1), (end + 1, end + 3), (end + 3, end + 30)):
            step_by_step = step_by_step.refresh(series[first:last])
        at_once = robust.refresh(series[end : end + 30])
        assert step_by_step.fitted_.bank.fingerprint() == at_once.fitted_.bank.fingerprint()
        assert np.array_equal(step_by_step.fitted_.moments.whole, at_once.fitted_.moments.whole)

    def test_new_windows_are_found_as_neighbors(self, series, robust):
        window = series[STEPS - 40 : STEPS - 40 + LOOKBACK].to_frame()
        later = robust.refresh(series[known(robust) :])
        last = series.times[STEPS - 40 + LOOKBACK - 1]
        assert last in later.predict(window).neighbor_times
        assert (robust.predict(window).neighbor_times < series.times[known(robust)]).all()


class TestWhatStays:
    def test_the_wrapper_itself_its_model_and_settings_are_unchanged(self, series, robust):
        before, window = robust.fitted_.bank.fingerprint(), series[200:206].to_frame()[["wave-1", "wave-3"]]
        forecast = robust.predict(window).mean
        later = robust.refresh(series[known(robust) :])
        assert robust.fitted_.bank.fingerprint() == before
        assert np.array_equal(robust.predict(window).mean, forecast)
        assert "refreshes" not in robust.report_
        assert later.settings_ == robust.settings_
        assert later.fitted_.model is robust.fitted_.model
        assert later.fitted_.normalizer is robust.fitted_.normalizer

    def test_the_record_says_what_was_appended(self, series, robust):
        record = robust.refresh(series[known(robust) :]).report_["refreshes"]
        steps = STEPS - known(robust)
        assert record == [
            {
                "first": moment(series, known(robust)),
                "last": moment(series, -1),
                "steps": steps,
                "windows": steps,
                "beyond_limits": 0,
                "calibrated": steps - NEEDED + 1,
            }
        ]

    def test_an_absent_sensor_and_another_order_of_columns(self, series, robust):
        end = known(robust)
        some = series[end:].select(["wave-3", "wave-0", "wave-1"])
        bank = robust.refresh(some).fitted_.bank
        whole = robust.refresh(series[end:]).fitted_.bank
        assert np.isnan(bank.data[2, end:]).all()
        assert np.array_equal(bank.data[[0, 1, 3]], whole.data[[0, 1, 3]])

    def test_readings_beyond_the_limits_become_holes(self, series, robust):
        end = known(robust)
        values = series.values[end:].copy()
        values[5, 2] = 99999.0
        later = robust.refresh(sc.Series(values, series.variables, series.times[end:], freq="h"))
        assert np.isnan(later.fitted_.bank.data[2, end + 5])
        assert later.report_["refreshes"][0]["beyond_limits"] == 1


class TestIntervals:
    def test_wider_where_the_new_readings_are_noisier(self, series, robust):
        end = known(robust)
        rng = np.random.default_rng(0)
        noisy = series.values[end:] + 3 * rng.normal(size=(STEPS - end, 4)).astype(np.float32)
        later = robust.refresh(sc.Series(noisy, series.variables, series.times[end:], freq="h"))
        assert later.report_["refreshes"][0]["calibrated"] > LEAST_CALIBRATION
        ends = [wrapper.calibration_.present[:, [0, -1]] for wrapper in (robust, later)]
        assert (np.abs(ends[1]).mean()) > 1.2 * np.abs(ends[0]).mean()

    def test_few_new_windows_leave_them_as_they_were(self, series, robust):
        end = known(robust)
        assert robust.refresh(series[end : end + 30]).calibration_ is robust.calibration_

    def test_no_intervals_without_validation_windows(self, series, parts):
        plain = sc.SubsetForecaster(last_reading, progress=False).fit(parts.train)
        assert plain.refresh(series[known(plain) :]).calibration_ is None

    def test_the_mean_is_weighted(self):
        def of(value):
            table = np.full((1, 3, 1, 1), value, dtype=np.float32)
            return Calibration(np.array([1]), table, table, np.array([value]), np.array([value]))

        result = mixed(of(1.0), of(5.0), 0.25)
        assert (result.present == 2.0).all()
        assert (result.absent.dtype, result.gaps[0], result.strangeness[0]) == (np.float32, 2.0, 2.0)


def test_the_paper_method_keeps_its_known_forecasts(parts, series):
    calls = []

    def counting(x):
        calls.append(len(x))
        return last_reading(x)

    paper = sc.SubsetForecaster.paper(counting, progress=False).fit(parts.train)
    paper.state()  # computes the forecasts of all windows
    calls.clear()
    later = paper.refresh(series[known(paper) :])
    later.state()
    assert sum(calls) == len(later.fitted_.bank) - len(paper.fitted_.bank)
    window = series[200:206].to_frame()[["wave-1"]]
    assert np.isfinite(later.predict(window).mean).all()


def test_targets_and_time_features_go_on_with_the_protocol():
    series = waves(n=3, steps=300, features=("time_of_day",))
    values = series.values.copy()
    values[::7, 0] = 0.0
    zeros = sc.Series(values, series.variables, series.times, freq="h", time_features=("time_of_day",))
    split = zeros[:200].split(LOOKBACK, HORIZON, protocol="paper")
    model = sc.adapters.from_callable(last_reading, lookback=LOOKBACK, horizon=HORIZON)
    robust = sc.SubsetForecaster(model, progress=False, limits=None).fit(split.train)
    end = known(robust)
    later = robust.refresh(zeros[end:])
    targets = later.fitted_.bank.targets
    assert np.array_equal(np.isnan(targets[0]), values[:, 0] == 0)
    assert np.array_equal(later.fitted_.features, zeros.features)


class TestSaved:
    def test_replaced_in_one_step_while_it_is_read(self, series, parts, tmp_path):
        model = learn(parts.train)
        robust = sc.SubsetForecaster(model, progress=False, settings=sc.Settings(neighbors=5)).fit(parts.train)
        robust.save(tmp_path / "plant")
        old = sc.load(tmp_path / "plant", model)  # maps the files that are replaced
        window = series[200:206].to_frame()
        expected, seen, stop = old.predict(window).mean, set(), threading.Event()

        def read():
            while not stop.is_set():
                seen.add(len(sc.load(tmp_path / "plant", model).fitted_.bank))

        reader = threading.Thread(target=read)
        reader.start()
        try:
            current = robust
            for first in range(known(robust), known(robust) + 8):
                current = current.refresh(series[first : first + 1])
                current.save(tmp_path / "plant")
        finally:
            stop.set()
            reader.join()
        sizes = {len(robust.fitted_.bank) + more for more in range(9)}
        assert seen <= sizes
        assert np.array_equal(old.predict(window).mean, expected)
        loaded = sc.load(tmp_path / "plant", model)
        assert loaded.fitted_.bank.fingerprint() == current.fitted_.bank.fingerprint()
        assert loaded.report_ == current.report_
        names = {name.split("-")[-1] for name in os.listdir(tmp_path / "plant")}
        assert len(names - {"wrapper.json"}) <= 2  # the files of one save, all with one token

    def test_a_bank_of_two_stretches_is_loaded(self, series, parts, tmp_path):
        model = learn(parts.train)
        robust = sc.SubsetForecaster(model, progress=False, effort=0.2).fit(parts.train, parts.val)
        later = robust.refresh(series[known(robust) + 5 :])
        later.save(tmp_path / "plant")
        loaded = sc.load(tmp_path / "plant", model)
        window = series[200:206].to_frame()[["wave-0", "wave-2"]]
        assert np.array_equal(loaded.predict(window).mean, later.predict(window).mean)
        assert np.array_equal(loaded.predict(window).lower, later.predict(window).lower)


class TestRefused:
    def test_unknown_sensors(self, series, robust):
        other = sc.Series(series.values, ("wave-0", "wave-1", "wave-2", "wave-9"), series.times, freq="h")
        with pytest.raises(InputError) as error:
            robust.refresh(other[known(robust) :])
        assert_one_sentence(error, "'wave-9'", "does not know")

    @pytest.mark.parametrize("back", [1, 50])
    def test_overlap(self, series, robust, back):
        with pytest.raises(InputError) as error:
            robust.refresh(series[known(robust) - back :])
        assert_one_sentence(
            error, moment(series, known(robust) - 1), moment(series, known(robust) - back), "only what came after"
        )

    def test_another_rate(self, series, robust):
        end = known(robust)
        for step in (30, 120):
            times = series.times[end] + np.arange(40) * np.timedelta64(step, "m")
            other = sc.Series(series.values[end : end + 40], series.variables, times, freq=f"{step}min")
            with pytest.raises(InputError) as error:
                robust.refresh(other)
            assert_one_sentence(error, "one every h", f"one every {step}min")

    def test_times_between_the_steps(self, series, robust):
        moved = series.times + np.timedelta64(20, "m")
        with pytest.raises(InputError) as error:
            robust.refresh(sc.Series(series.values, series.variables, moved, freq="h")[known(robust) :])
        assert_one_sentence(error, "other times")

    def test_no_times_or_another_clock(self, series, robust):
        end = known(robust)
        with pytest.raises(InputError) as error:
            robust.refresh(sc.Series(series.values[end:], series.variables))
        assert_one_sentence(error, "no times")
        with pytest.raises(InputError) as error:
            robust.refresh(sc.Series(series.values[end:], series.variables, series.times[end:], freq="h", zone="UTC"))
        assert_one_sentence(error, "zone")

    def test_too_few_steps_after_a_gap(self, series, robust):
        end = known(robust) + 3
        with pytest.raises(InputError) as error:
            robust.refresh(series[end : end + NEEDED - 1])
        assert_one_sentence(error, f"at least {NEEDED}")

    @pytest.mark.parametrize("what", [None, "readings.csv", np.zeros((3, 4))])
    def test_no_series(self, robust, what):
        with pytest.raises(InputError) as error:
            robust.refresh(what)
        assert_one_sentence(error, "must be a Series")

    def test_no_reading(self, series, robust):
        end = known(robust)
        empty = np.full((20, 4), np.nan, dtype=np.float32)
        with pytest.raises(InputError) as error:
            robust.refresh(sc.Series(empty, series.variables, series.times[end : end + 20], freq="h"))
        assert_one_sentence(error, "no reading at all")
