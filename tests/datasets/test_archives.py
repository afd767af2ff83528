"""Subsets and stand-in datasets in NPZ archives."""

import dataclasses
import hashlib

import numpy as np
import pytest

from datasets.examples import NUMBERS, small
from subcast.datasets import DATASETS
from subcast.datasets.base import load_files
from subcast.errors import DataError, DataWarning


class TestArchives:
    def load(self, name, folder, **arrays):
        """Write the archive of a dataset with its own checksum, and load it."""
        (source,) = DATASETS[name].sources
        path = folder / source.files[0]
        np.savez_compressed(path, **arrays)
        recorded = dataclasses.replace(source, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
        values = arrays.get("values", NUMBERS)
        dataset = small(name, *np.shape(values), sources=(recorded,))
        return load_files(dataset, folder, download=False)

    def arrays(self, **others):
        names = np.array(["p", "q", "r", "s"])
        return {"values": NUMBERS, "variables": names, "start": "2012-03-01", "freq": "5min"} | others

    def test_zeros_of_traffic_speeds_are_missing(self, tmp_path):
        values = NUMBERS * 60
        values[3, 2] = 0
        series = self.load("metr-la-29", tmp_path, **self.arrays(values=values, adjacency=np.eye(4)))
        assert np.argwhere(np.isnan(series.values)).tolist() == [[3, 2]]
        assert (series.variables, series.missing_code, series.freq) == (("p", "q", "r", "s"), 0.0, "5min")
        assert series.time_features == ("time_of_day",)
        np.testing.assert_array_equal(series.graph, np.eye(4))

    def test_zeros_of_the_filled_week_are_values(self, tmp_path):
        series = self.load("metr-la-week", tmp_path, **self.arrays(values=np.zeros((6, 4))))
        assert (series.missing_share, series.missing_code) == (0, None)

    def test_occupancy_is_times_1000(self, tmp_path):
        series = self.load("traffic-20", tmp_path, **self.arrays(start="2015-01-01", freq="1h"))
        np.testing.assert_allclose(series.values, 1000 * NUMBERS, rtol=1e-6)

    def test_hour_skipped_by_daylight_saving_time(self, tmp_path):
        series = self.load("pems-bay-67", tmp_path, **self.arrays(start="2017-03-12 01:50"))
        assert [str(time)[11:16] for time in series.times] == ["01:50", "01:55", "03:00", "03:05", "03:10", "03:15"]

    def test_pollutants_have_no_weather(self, tmp_path):
        names = np.array(["Dongsi:PM2.5", "Dongsi:TEMP", "Tiantan:O3", "Tiantan:RAIN"])
        arrays = self.arrays(variables=names, start="2013-03-01", freq="1h")
        (source,) = DATASETS["beijing-pollutants"].sources
        np.savez_compressed(tmp_path / source.files[0], **arrays)
        series = DATASETS["beijing-pollutants"].read(source, [tmp_path / source.files[0]])
        assert series.variables == ("Dongsi:PM2.5", "Tiantan:O3")

    @pytest.mark.parametrize("name", ["solar-fl", "exchange-rate"])
    def test_steps_without_times(self, tmp_path, name):
        series = self.load(name, tmp_path, **self.arrays())
        assert (series.times, series.freq) == (None, None)

    def test_altered_archive_gives_a_warning(self, tmp_path):
        np.savez(tmp_path / "exchange_rate.npz", **self.arrays())
        expected = DATASETS["exchange-rate"].sources[0].sha256[:12]
        message = rf"exchange_rate.npz differs from the original file \(sha256 \w{{12}}... instead of {expected}...\)"
        with pytest.warns(DataWarning, match=message) as caught:
            load_files(small("exchange-rate"), tmp_path, download=False)
        assert len(caught) == 1

    @pytest.mark.parametrize("gone", ["values", "variables", "start"])
    def test_missing_array_is_rejected(self, tmp_path, gone):
        arrays = self.arrays()
        del arrays[gone]
        with pytest.raises(DataError, match=rf"metr_la_subset.npz must hold the array.*'{gone}'"):
            self.load("metr-la-29", tmp_path, **arrays)

    def test_pickled_objects_are_rejected(self, tmp_path):
        with pytest.raises(DataError, match=r"metr_la_subset.npz holds pickled objects, which are never loaded"):
            self.load("metr-la-29", tmp_path, **self.arrays(variables=np.array([None] * 4, dtype=object)))
