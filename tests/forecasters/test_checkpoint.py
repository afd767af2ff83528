"""Checkpoints: bit-equal after saving and loading, and a sentence for every folder that is not one."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from subcast.errors import DataError, DataNotFoundError
from subcast.forecasters import FORECASTERS, checkpoint
from subcast.forecasters.checkpoint import SETTINGS_FILE, load_forecaster, save_forecaster
from subcast.forecasters.trained import TrainedForecaster

DATA = Path(__file__).parents[1] / "data"
FORMATS = {1: DATA, 2: DATA / "format-2"}


@pytest.fixture
def folder(tmp_path):
    """A copy of a saved forecaster, to damage."""
    return Path(shutil.copytree(FORMATS[2] / "forecaster-tcn", tmp_path / "saved"))


def change(folder, **fields):
    record = json.loads((folder / SETTINGS_FILE).read_text())
    record.update(fields)
    (folder / SETTINGS_FILE).write_text(json.dumps(record))


def weights_of(folder):
    (path,) = folder.glob("weights*.safetensors")
    return path


@pytest.mark.parametrize("version", FORMATS)
@pytest.mark.parametrize("name", sorted(FORECASTERS))
class TestStored:
    def test_forecasts_as_when_it_was_written(self, name, version):
        forecaster = TrainedForecaster.load(FORMATS[version] / f"forecaster-{name}")
        probe = json.loads((FORMATS[version] / f"forecaster-{name}" / "probe.json").read_text())
        inputs = np.array(probe["inputs"], dtype=np.float32)
        np.testing.assert_allclose(forecaster(inputs), probe["forecast"], rtol=1e-4)

    def test_saved_again_it_is_bit_equal(self, name, version, tmp_path):
        forecaster = TrainedForecaster.load(FORMATS[version] / f"forecaster-{name}")
        forecaster.save(tmp_path / "again")
        again = TrainedForecaster.load(tmp_path / "again")
        inputs = np.random.default_rng(0).normal(20, 5, size=(3, 12, 5, 2)).astype(np.float32)
        assert np.array_equal(again(inputs), forecaster(inputs))
        assert np.array_equal(again.predict(inputs, present=["west"]), forecaster.predict(inputs, present=["west"]))
        before, after = FORMATS[version] / f"forecaster-{name}", tmp_path / "again"
        assert weights_of(after).read_bytes() == weights_of(before).read_bytes()
        old, new = (json.loads((folder / SETTINGS_FILE).read_text()) for folder in (before, after))
        assert old.pop("format_version") == version
        assert new.pop("format_version") == 2
        assert new.pop("weights_file") == weights_of(after).name
        old.pop("weights_file", None)
        assert new == old

    def test_carries_what_is_known_about_it(self, name, version):
        forecaster = TrainedForecaster.load(FORMATS[version] / f"forecaster-{name}")
        assert forecaster.variables == ("north", "east", "south", "west", "center")
        assert (forecaster.lookback, forecaster.horizon, forecaster.n_features) == (12, 4, 2)
        assert forecaster.time_features == ("time_of_day",)
        assert forecaster.training["protocol"] == "default"
        assert len(forecaster.history) == 2
        assert set(forecaster.versions) == {"subcast", "torch", "numpy", "python"}
        expected = {"mtgnn": "learned", "astgcn": "correlation", "mstgcn": "correlation"}.get(name)
        assert forecaster.graph_source == expected

    def test_loading_draws_no_random_numbers(self, name, version):
        torch.manual_seed(0)
        before = torch.get_rng_state()
        load_forecaster(FORMATS[version] / f"forecaster-{name}")
        assert torch.equal(torch.get_rng_state(), before)


class TestRefused:
    def test_no_such_folder(self, tmp_path):
        with pytest.raises(DataNotFoundError, match="nowhere does not exist: give a folder that"):
            load_forecaster(tmp_path / "nowhere")

    def test_another_folder(self, tmp_path):
        with pytest.raises(DataNotFoundError, match=r"has no forecaster\.json"):
            load_forecaster(tmp_path)

    def test_somebody_elses_json(self, folder):
        (folder / SETTINGS_FILE).write_text('{"format": "another"}')
        with pytest.raises(DataError, match="was not written by subcast"):
            load_forecaster(folder)
        (folder / SETTINGS_FILE).write_text("[1, 2]")
        with pytest.raises(DataError, match="was not written by subcast"):
            load_forecaster(folder)

    def test_json_cut_short(self, folder):
        text = (folder / SETTINGS_FILE).read_text()
        (folder / SETTINGS_FILE).write_text(text[: len(text) // 2])
        with pytest.raises(DataError, match="is cut short or is not JSON"):
            load_forecaster(folder)

    def test_weights_cut_short(self, folder):
        raw = weights_of(folder).read_bytes()
        weights_of(folder).write_bytes(raw[:-4])
        with pytest.raises(DataError, match="is cut short or is not the file"):
            load_forecaster(folder)

    def test_weights_of_another_model(self, folder):
        shutil.copy(weights_of(DATA / "forecaster-lstnet"), weights_of(folder))
        with pytest.raises(DataError, match="is cut short or is not the file"):
            load_forecaster(folder)

    def test_no_weights(self, folder):
        weights_of(folder).unlink()
        with pytest.raises(DataNotFoundError, match=r"has no weights-[0-9a-f]{8}\.safetensors"):
            load_forecaster(folder)

    def test_newer_format(self, folder):
        change(folder, format_version=3)
        with pytest.raises(DataError, match=r"is of format 3, and this version .* reads up to 2: install a newer"):
            load_forecaster(folder)

    def test_unknown_model(self, folder):
        change(folder, model="oracle")
        with pytest.raises(DataError, match="holds a 'oracle', and this version of subcast knows mtgnn"):
            load_forecaster(folder)

    def test_a_field_is_missing(self, folder):
        record = json.loads((folder / SETTINGS_FILE).read_text())
        del record["scaler"]
        (folder / SETTINGS_FILE).write_text(json.dumps(record))
        with pytest.raises(DataError, match="does not tell scaler"):
            load_forecaster(folder)

    def test_settings_that_do_not_fit_the_weights(self, folder):
        record = json.loads((folder / SETTINGS_FILE).read_text())
        change(folder, settings={**record["settings"], "channels": 9})
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
            ({"model": ["tcn"]}, r"has \['tcn'\] as its model"),
            ({"settings": None}, "has None as its settings"),
            ({"lookback": True}, "has True as its lookback"),
            ({"history": "long"}, "has 'long' as its history"),
            ({"weights_sha256": 7}, "has 7 as its weights_sha256"),
            ({"weights_file": "../weights.safetensors"}, "names '../weights.safetensors' as its weights"),
            ({"weights_file": 3}, "names 3 as its weights"),
            ({"scaler": {}}, "has no numbers as its scaler or means"),
            ({"means": ["a"] * 5}, "has no numbers as its scaler or means"),
            ({"scaler": {"mean": [1.0] * 4, "scale": [1.0] * 4}}, "its scaler and its settings do not fit"),
            ({"scaler": {"mean": [1.0], "scale": [1.0] * 5}}, "its scaler and its settings do not fit"),
            ({"means": [1.0]}, "its means and its settings do not fit"),
            ({"variables": ["north"]}, "its variables and its settings do not fit"),
            ({"variables": [1, 2, 3, 4, 5]}, "its variables and its settings do not fit"),
            ({"lookback": 11}, "its lookback and its settings do not fit"),
            ({"horizon": 5}, "its horizon and its settings do not fit"),
            ({"n_features": 1}, "its n_features and its settings do not fit"),
        ],
    )
    def test_fields_that_are_not_what_they_should_be(self, folder, fields, sentence):
        change(folder, **fields)
        with pytest.raises(DataError, match=sentence):
            load_forecaster(folder)

    def test_settings_out_of_range(self, folder):
        record = json.loads((folder / SETTINGS_FILE).read_text())
        change(folder, settings={**record["settings"], "channels": 0})
        with pytest.raises(DataError, match=r"do not fit its settings .*channels must be a whole number"):
            load_forecaster(folder)


class TestSavingOver:
    def changed(self, folder):
        forecaster = load_forecaster(folder)
        next(forecaster.module.parameters()).data.add_(1.0)
        return forecaster

    @pytest.mark.parametrize("version", FORMATS)
    def test_the_new_one_alone_is_left(self, tmp_path, version):
        folder = Path(shutil.copytree(FORMATS[version] / "forecaster-tcn", tmp_path / "saved"))
        inputs = np.zeros((1, 12, 5, 2), dtype=np.float32)
        forecaster = self.changed(folder)
        before = weights_of(folder)
        save_forecaster(forecaster, folder)
        assert weights_of(folder) != before
        assert np.array_equal(load_forecaster(folder)(inputs), forecaster(inputs))

    def test_stopped_between_weights_and_settings_the_old_one_loads(self, folder, monkeypatch):
        inputs = np.zeros((1, 12, 5, 2), dtype=np.float32)
        save_forecaster(self.changed(folder), folder)
        before = load_forecaster(folder)(inputs)
        whole_file = checkpoint.whole_file

        def stopped(path):
            if path.name == SETTINGS_FILE:
                raise KeyboardInterrupt
            return whole_file(path)

        monkeypatch.setattr(checkpoint, "whole_file", stopped)
        with pytest.raises(KeyboardInterrupt):
            save_forecaster(self.changed(folder), folder)
        assert np.array_equal(load_forecaster(folder)(inputs), before)
