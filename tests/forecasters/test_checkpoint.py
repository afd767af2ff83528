"""Checkpoints: bit-equal after saving and loading, and a sentence for every folder that is not one."""

import json
import shutil
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch

from sealed import page_of, write_page
from subcast.errors import DataError, DataNotFoundError
from subcast.forecasters import FORECASTERS
from subcast.forecasters.checkpoint import KIND, load_forecaster, save_forecaster
from subcast.forecasters.trained import TrainedForecaster
from subcast.storage import folders, pages

STORED = Path(__file__).parents[1] / "data" / "checkpoints"
PAGE = "forecaster.json"


@pytest.fixture
def folder(tmp_path):
    """A copy of a saved forecaster, to damage."""
    return Path(shutil.copytree(STORED / "tcn", tmp_path / "saved"))


def change(folder, **fields):
    page = page_of(folder, KIND)
    page["facts"].update(fields)
    write_page(folder, KIND, page)


def weights_of(folder):
    (path,) = folder.glob("*.safetensors")
    return path


@pytest.mark.parametrize("name", sorted(FORECASTERS))
class TestStored:
    def test_forecasts_as_when_it_was_written(self, name):
        forecaster = TrainedForecaster.load(STORED / name)
        probe = json.loads((STORED / name / "probe.json").read_text())
        inputs = np.array(probe["inputs"], dtype=np.float32)
        np.testing.assert_allclose(forecaster(inputs), probe["forecast"], rtol=1e-4)

    def test_saved_again_it_is_bit_equal(self, name, tmp_path):
        forecaster = TrainedForecaster.load(STORED / name)
        forecaster.save(tmp_path / "again")
        again = TrainedForecaster.load(tmp_path / "again")
        inputs = np.random.default_rng(0).normal(20, 5, size=(3, 12, 5, 2)).astype(np.float32)
        assert np.array_equal(again(inputs), forecaster(inputs))
        assert np.array_equal(again.predict(inputs, present=["west"]), forecaster.predict(inputs, present=["west"]))
        assert weights_of(tmp_path / "again").read_bytes() == weights_of(STORED / name).read_bytes()
        assert page_of(tmp_path / "again", KIND)["facts"] == page_of(STORED / name, KIND)["facts"]

    def test_carries_what_is_known_about_it(self, name):
        forecaster = TrainedForecaster.load(STORED / name)
        assert forecaster.variables == ("north", "east", "south", "west", "center")
        assert (forecaster.lookback, forecaster.horizon, forecaster.n_features) == (12, 4, 2)
        assert forecaster.time_features == ("time_of_day",)
        assert forecaster.training["protocol"] == "default"
        assert len(forecaster.history) == 2
        assert set(forecaster.versions) == {"subcast", "torch", "numpy", "python"}
        expected = {"mtgnn": "learned", "astgcn": "correlation", "mstgcn": "correlation"}.get(name)
        assert forecaster.graph_source == expected

    def test_loading_draws_no_random_numbers(self, name):
        torch.manual_seed(0)
        before = torch.get_rng_state()
        load_forecaster(STORED / name)
        assert torch.equal(torch.get_rng_state(), before)


class TestRefused:
    def test_no_such_folder(self, tmp_path):
        with pytest.raises(DataNotFoundError, match="nowhere does not exist: give a folder that"):
            load_forecaster(tmp_path / "nowhere")

    def test_another_folder(self, tmp_path):
        with pytest.raises(DataNotFoundError, match=r"has no forecaster\.json"):
            load_forecaster(tmp_path)

    def test_somebody_elses_json(self, folder):
        for text in ('{"format": "another"}', "[1, 2]"):
            (folder / PAGE).write_text(text)
            with pytest.raises(DataError, match=r"forecaster\.json is damaged or was changed by hand"):
                load_forecaster(folder)

    def test_json_cut_short(self, folder):
        text = (folder / PAGE).read_text()
        (folder / PAGE).write_text(text[: len(text) // 2])
        with pytest.raises(DataError, match=r"forecaster\.json is damaged or was changed by hand"):
            load_forecaster(folder)

    def test_weights_cut_short(self, folder):
        raw = weights_of(folder).read_bytes()
        weights_of(folder).write_bytes(raw[:-4])
        with pytest.raises(DataError, match=r"has \d+ bytes instead of \d+, it was cut short"):
            load_forecaster(folder)

    def test_one_bit_of_the_weights_flipped(self, folder):
        raw = bytearray(weights_of(folder).read_bytes())
        raw[len(raw) // 2] ^= 1
        weights_of(folder).write_bytes(bytes(raw))
        with pytest.raises(DataError, match="its checksum differs"):
            load_forecaster(folder)

    def test_weights_of_another_model(self, folder):
        shutil.copy(weights_of(STORED / "lstnet"), weights_of(folder))
        with pytest.raises(DataError, match=r"has \d+ bytes instead of \d+"):
            load_forecaster(folder)

    def test_no_weights(self, folder):
        weights_of(folder).unlink()
        with pytest.raises(DataError, match=r"forecaster-weights-[0-9a-f]{16}\.safetensors is missing"):
            load_forecaster(folder)

    def test_newer_format(self, folder):
        write_page(folder, KIND, page_of(folder, KIND), version=pages.FORMAT + 1)
        with pytest.raises(DataError, match=r"is of format 2, and this version .* reads format 1: install a newer"):
            load_forecaster(folder)

    def test_unknown_model(self, folder):
        change(folder, model="oracle")
        with pytest.raises(DataError, match="holds a 'oracle', and this version of subcast knows mtgnn"):
            load_forecaster(folder)

    def test_a_field_is_missing(self, folder):
        page = page_of(folder, KIND)
        del page["facts"]["scaler"]
        write_page(folder, KIND, page)
        with pytest.raises(DataError, match="it has no scaler"):
            load_forecaster(folder)

    def test_settings_that_do_not_fit_the_weights(self, folder):
        change(folder, settings={**page_of(folder, KIND)["facts"]["settings"], "channels": 9})
        with pytest.raises(DataError, match="do not fit its settings"):
            load_forecaster(folder)

    def test_a_failed_save_leaves_the_old_one(self, folder):
        forecaster = load_forecaster(folder)
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        next(forecaster.module.parameters()).data.add_(1.0)
        forecaster.training = {"unwritable": object()}
        with pytest.raises(TypeError):
            forecaster.save(folder)
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


class TestDamaged:
    @pytest.mark.parametrize(
        ("fields", "sentence"),
        [
            ({"model": ["tcn"]}, r"its model must be a text, got \['tcn'\]"),
            ({"settings": None}, "its settings must be facts by name, got None"),
            ({"settings": {}}, "its settings have None as n_variables instead of 5"),
            ({"lookback": True}, "its lookback must be a whole number from 1 to .*, got True"),
            ({"history": "long"}, "its history must be a list, got 'long'"),
            ({"history": [3]}, r"its history must be a list of rows, got \[3\]"),
            ({"scaler": {}}, "it has no mean"),
            ({"scaler": 3}, "its scaler must be facts by name, got 3"),
            ({"scaler": {"mean": [1.0], "scale": [0.0]}}, "as many scales above 0"),
            ({"means": ["a"] * 5}, "its means must be a list of finite numbers"),
            ({"means": [float("nan")] * 5}, "its means must be a list of finite numbers"),
            ({"scaler": {"mean": [1.0] * 4, "scale": [1.0] * 4}}, "its scaler must have 1 or 5 means"),
            ({"scaler": {"mean": [1.0], "scale": [1.0] * 5}}, "its scaler must have 1 or 5 means"),
            ({"means": [1.0]}, "its means must be a list of 5 entries"),
            ({"variables": ["north"]}, "its settings have 5 as n_variables instead of 1"),
            ({"variables": [1, 2, 3, 4, 5]}, "its variables must be a list of different texts"),
            ({"variables": ["a", "a", "b", "c", "d"]}, "its variables must be a list of different texts"),
            ({"lookback": 11}, "its settings have 12 as lookback instead of 11"),
            ({"horizon": 5}, "its settings have 4 as horizon instead of 5"),
            ({"n_features": 1}, "its settings have 2 as n_features instead of 1"),
            ({"time_features": {"a": 1}}, "its time_features must be a list"),
            ({"graph_source": 3}, "its graph_source must be a text"),
            ({"versions": []}, "its versions must be facts by name"),
        ],
    )
    def test_fields_that_are_not_what_they_should_be(self, folder, fields, sentence):
        change(folder, **fields)
        with pytest.raises(DataError, match=sentence):
            load_forecaster(folder)

    @pytest.mark.parametrize(
        "settings",
        [
            {"channels": 10**9},
            {"blocks": 10**9},
            {"blocks": 60_000},
            {"kernel": 10**9},
            {"kernel": 10**30},
            {"channels": "8"},
            {"channels": None},
            {"dropout": [0.1] * 100},
            {"unheard": 1},
            {"n_variables": 10**9},
        ],
    )
    def test_settings_that_would_take_much_memory_are_refused_before_it_is_taken(self, folder, settings):
        change(folder, settings={**page_of(folder, KIND)["facts"]["settings"], **settings})
        tracemalloc.start()
        try:
            with pytest.raises(DataError, match=r"do not fit its settings|instead of 5"):
                load_forecaster(folder)
            assert tracemalloc.get_traced_memory()[1] < 50e6
        finally:
            tracemalloc.stop()

    @pytest.mark.parametrize("name", ["mtgnn", "astgcn", "mstgcn", "lstnet"])
    def test_every_size_of_every_model_is_compared_with_the_weights(self, name, tmp_path):
        folder = Path(shutil.copytree(STORED / name, tmp_path / "saved"))
        settings = page_of(folder, KIND)["facts"]["settings"]
        sizes = [key for key, value in settings.items() if type(value) is int and key not in ("neighbors", "skip")]
        assert len(sizes) > 6
        for key in sizes:
            if key in ("highway", "lookback") and name == "lstnet":  # at most the lookback: no more than it has
                continue
            change(folder, settings={**settings, key: 10**7})
            with pytest.raises(DataError, match=r"do not fit its settings|instead of"):
                load_forecaster(folder)

    def test_weights_that_are_not_finite(self, folder):
        forecaster = load_forecaster(folder)
        next(forecaster.module.parameters()).data[0] = torch.nan
        forecaster.save(folder)
        with pytest.raises(DataError, match="is not finite"):
            load_forecaster(folder)

    def test_weights_of_another_type(self, folder):
        forecaster = load_forecaster(folder)
        forecaster.module.double()
        forecaster.save(folder)
        with pytest.raises(DataError, match="do not fit its settings"):
            load_forecaster(folder)

    def test_settings_out_of_range(self, folder):
        change(folder, settings={**page_of(folder, KIND)["facts"]["settings"], "channels": 0})
        with pytest.raises(DataError, match=r"do not fit its settings .*channels must be a whole number"):
            load_forecaster(folder)


class TestSavingOver:
    def changed(self, folder):
        forecaster = load_forecaster(folder)
        next(forecaster.module.parameters()).data.add_(1.0)
        return forecaster

    def test_the_new_one_alone_is_left(self, folder):
        inputs = np.zeros((1, 12, 5, 2), dtype=np.float32)
        forecaster = self.changed(folder)
        before = weights_of(folder)
        save_forecaster(forecaster, folder)
        assert weights_of(folder) != before
        assert np.array_equal(load_forecaster(folder)(inputs), forecaster(inputs))

    def test_stopped_before_the_page_is_replaced_the_old_one_loads(self, folder, monkeypatch):
        inputs = np.zeros((1, 12, 5, 2), dtype=np.float32)
        save_forecaster(self.changed(folder), folder)
        before = load_forecaster(folder)(inputs)

        def stopped(*_):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(folders.os, "replace", stopped)
            with pytest.raises(KeyboardInterrupt):
                save_forecaster(self.changed(folder), folder)
        assert np.array_equal(load_forecaster(folder)(inputs), before)
        assert len(list(folder.glob("*.safetensors"))) == 1

    def test_other_files_of_a_training_stay(self, tmp_path):
        (tmp_path / "history.csv").write_text("epoch")
        save_forecaster(load_forecaster(STORED / "tcn"), tmp_path)
        assert (tmp_path / "history.csv").read_text() == "epoch"
