"""Datasets by name, and their stated facts."""

import re

import numpy as np
import pandas as pd
import pytest

from datasets.examples import FILED, REAL_FOLDER
from subcast.datasets import DATASETS, load_dataset
from subcast.datasets.base import data_folders, find_files
from subcast.errors import DataError


class TestByName:
    def test_unknown_name_is_rejected_with_the_known_names(self):
        with pytest.raises(
            DataError, match=r"name must be one of clouds, metr-la, .*got 'metrla'; use Series.read for"
        ):
            load_dataset("metrla")

    def test_options_are_only_for_clouds(self):
        with pytest.raises(DataError, match="seed can only be given for 'clouds', got dataset 'solar'"):
            load_dataset("solar", seed=1)

    def test_clouds_needs_no_file(self, monkeypatch):
        series = load_dataset("clouds", n_plants=5, n_steps=144, seed=3)
        assert (len(series), series.n_variables, series.freq) == (144, 5, "10min")
        assert series.graph is not None
        assert series.positions is not None

    def test_names_agree(self):
        assert all(name == dataset.name for name, dataset in DATASETS.items())

    @pytest.mark.parametrize("name", DATASETS)
    def test_docstring_states_the_facts(self, name):
        dataset = DATASETS[name]
        text = " ".join((dataset.read.__doc__ or "").split())
        assert f"{dataset.steps:,} steps of {dataset.n_variables} variables" in text
        rate = dataset.rate if dataset.rate.startswith("one ") else f"every {dataset.rate.partition(',')[0]}"
        assert rate in text
        stated = re.search(r"([\d.]+) % of the readings are missing", text)
        assert float(stated[1]) == pytest.approx(100 * dataset.missing, rel=1e-9)
        assert re.search(rf"scale factor {dataset.scale}\b", text)

    @pytest.mark.parametrize("name", FILED)
    def test_every_source_has_a_home(self, name):
        for source in DATASETS[name].sources:
            assert len(source.home) > 10
            assert source.url is None or source.url.startswith("https://")
            assert source.sha256 is None or re.fullmatch(r"[0-9a-f]{64}", source.sha256)


@pytest.mark.data
@pytest.mark.parametrize("name", FILED)
def test_real_data_are_as_stated(name):
    dataset = DATASETS[name]
    if not REAL_FOLDER:
        pytest.skip("SUBCAST_DATA names no folder of real data")
    if find_files(dataset, data_folders(REAL_FOLDER)) is None:
        pytest.skip(f"the files of {name} are not in the folder named by SUBCAST_DATA")
    series = load_dataset(name, folder=REAL_FOLDER, download=False)
    assert (len(series), series.n_variables) == (dataset.steps, dataset.n_variables)
    assert series.freq == (dataset.rate if re.fullmatch(r"\d+\w+", dataset.rate) else None)
    assert float(f"{series.missing_share:.3g}") == pytest.approx(dataset.missing, rel=0.02)
    assert (series.times is None) == (series.freq is None)
    if series.freq and name != "pems-bay-67":
        assert (np.diff(series.times) == pd.Timedelta(series.freq).to_timedelta64()).all()
