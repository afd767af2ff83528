"""The wrapper with a bank in files: fit, forecasts, streams, save and load equal those with the bank in memory."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import subcast as sc
from retrieval.sharding.examples import new_folder
from subcast.errors import DataError, InputError


def last_reading(x):
    return np.repeat(x[:, -1:, :, 0], 3, axis=1)


@pytest.fixture(scope="module")
def holed():
    series = sc.load_dataset("clouds", n_plants=6, n_steps=2500)
    values = series.values.copy()
    values[np.random.default_rng(0).random(values.shape) < 0.02] = np.nan
    return sc.Series(values, times=series.times, variables=series.variables)


@pytest.fixture(scope="module")
def parts(holed):
    return holed.split(lookback=6, horizon=3)


def write(parts, steps=300):
    folder = new_folder()
    bank = sc.WindowBank(parts.train.series.values, 6, starts=np.asarray(parts.train.starts))
    bank.write_shards(folder, steps=steps)
    return folder


def wrap(parts, bank=None, **options):
    return sc.SubsetForecaster(last_reading, bank=bank, progress=False, effort=0.2, **options).fit(
        parts.train, parts.val
    )


@pytest.fixture(scope="module")
def pair(parts):
    folder = write(parts)
    return wrap(parts), wrap(parts, sc.ShardedBank(folder)), folder


def assert_close(one, other):
    assert np.allclose(one.mean, other.mean, rtol=1e-6, atol=1e-6)
    for bound in ("lower", "upper"):
        assert np.allclose(getattr(one, bound), getattr(other, bound), rtol=1e-6, atol=1e-6)


def recent(parts, columns=(1, 4)):
    return parts.test.series.to_frame().iloc[60:66, list(columns)]


def test_forecasts_are_those_of_the_bank_in_memory(parts, pair):
    one, many, _ = pair
    assert one.settings_ == many.settings_
    assert_close(one.predict(recent(parts)), many.predict(recent(parts)))
    windows = parts.test[::7]
    present = np.array([0, 3, 5])
    ours, theirs = (each.predict_many(windows, present=present) for each in (many, one))
    assert np.allclose(ours.mean, theirs.mean, rtol=1e-6, atol=1e-6)


def test_streams_are_equal(parts, pair):
    one, many, _ = pair
    rows = parts.test.series.to_frame().iloc[60:70, [2, 5]]
    feeds = one.stream(), many.stream()
    for time, row in rows.iterrows():
        first, second = (feed.push(row, time) for feed in feeds)
        assert (first is None) == (second is None)
    assert_close(first, second)


def test_save_and_load(parts, pair, tmp_path):
    _, many, folder = pair
    many.save(tmp_path / "plant")
    saved = [name for name in many.state().arrays if name.startswith("fitted.bank.")]
    assert not any("rows" in name for name in saved)  # the readings are not saved again
    loaded = sc.load(tmp_path / "plant", model=last_reading)
    assert isinstance(loaded.fitted_.bank, sc.ShardedBank)
    assert loaded.fitted_.bank.fingerprint() == many.fitted_.bank.fingerprint()
    assert_close(loaded.predict(recent(parts)), many.predict(recent(parts)))
    sc.ShardedBank(folder).append(parts.val.series.values[:50])  # a later stretch does not change what was fitted
    again = sc.load(tmp_path / "plant", model=last_reading)
    assert_close(again.predict(recent(parts)), many.predict(recent(parts)))


def test_a_bank_that_is_gone_is_named(parts, tmp_path):
    folder = write(parts)
    sc.SubsetForecaster(last_reading, bank=sc.ShardedBank(folder), progress=False).fit(parts.train).save(tmp_path / "a")
    shutil.rmtree(folder)
    with pytest.raises(DataError, match=rf"a needs its bank in {folder}: the shard .* is missing"):
        sc.load(tmp_path / "a", model=last_reading)


def test_the_published_method(parts):
    folder = write(parts)
    one, many = (
        sc.SubsetForecaster.paper(last_reading, bank=bank, progress=False).fit(parts.train, parts.val)
        for bank in (None, sc.ShardedBank(folder))
    )
    ours, theirs = (each.predict_many(parts.test[::9], present=[1, 2]) for each in (many, one))
    assert np.allclose(ours.mean, theirs.mean, rtol=1e-6, atol=1e-6)


def test_a_bank_of_other_readings_is_refused(parts):
    folder = new_folder()
    sc.WindowBank(parts.train.series.values + 1, 6, starts=np.asarray(parts.train.starts)).write_shards(folder)
    with pytest.raises(InputError, match="bank must hold the raw readings of train"):
        wrap(parts, sc.ShardedBank(folder))
    sc.WindowBank(parts.val.series.values, 6).write_shards(folder)
    with pytest.raises(InputError, match="bank must hold windows of the training series"):
        wrap(parts, sc.ShardedBank(folder))


class TestRefresh:
    @pytest.mark.parametrize("gap", [0, 20])
    def test_later_readings_are_appended_as_in_memory(self, parts, holed, gap, tmp_path):
        end = len(parts.train.series)
        later = holed[end + gap : end + gap + 120]
        one, many = wrap(parts), wrap(parts, sc.ShardedBank(write(parts)))
        before = recent(parts)
        known = many.predict(before)
        ours, theirs = many.refresh(later), one.refresh(later)
        assert len(ours.fitted_.bank) == len(theirs.fitted_.bank) > len(many.fitted_.bank)
        assert np.array_equal(ours.fitted_.bank.starts, theirs.fitted_.bank.starts)
        assert_close(ours.predict(before), theirs.predict(before))
        assert ours.report_["refreshes"] == theirs.report_["refreshes"]
        assert_close(many.predict(before), known)  # the wrapper itself stays as it was
        ours.save(tmp_path / "plant")
        assert_close(sc.load(tmp_path / "plant", model=last_reading).predict(before), ours.predict(before))

    def test_an_interrupted_refresh_can_be_repeated(self, parts, holed):
        folder = write(parts)
        many, end = wrap(parts, sc.ShardedBank(folder)), len(parts.train.series)
        later = holed[end : end + 60]
        first = many.refresh(later[:25])  # written, but the wrapper with it is lost
        again = many.refresh(later)
        assert again.fitted_.bank.n_steps == end + 60
        assert first.fitted_.bank.n_steps == end + 25
        straight = wrap(parts, sc.ShardedBank(write(parts))).refresh(later)
        assert np.array_equal(again.fitted_.bank.starts, straight.fitted_.bank.starts)
        assert_close(again.predict(recent(parts)), straight.predict(recent(parts)))

    def test_other_readings_in_the_files_are_refused(self, parts, holed):
        folder = write(parts)
        many, end = wrap(parts, sc.ShardedBank(folder)), len(parts.train.series)
        sc.ShardedBank(folder).append(np.zeros((10, 6)))
        with pytest.raises(InputError, match="was extended by 10 steps with other readings"):
            many.refresh(holed[end : end + 60])
        sc.WindowBank(parts.train.series.values[5:], 6).write_shards(folder)
        with pytest.raises(InputError, match="was written again since it was opened"):
            many.refresh(holed[end : end + 60])
