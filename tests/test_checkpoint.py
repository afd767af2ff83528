"""Checkpoints: bit-equal after saving and loading, and a sentence for every folder that is not one."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from subcast.checkpoint import SETTINGS_FILE, WEIGHTS_FILE, load_forecaster
from subcast.errors import DataError, DataNotFoundError
from subcast.forecasters import FORECASTERS
from subcast.forecasters.trained import TrainedForecaster

DATA = Path(__file__).parent / "data"


@pytest.fixture
def folder(tmp_path):
    """A copy of a saved forecaster, to damage."""
    return Path(shutil.copytree(DATA / "forecaster-tcn", tmp_path / "saved"))


def change(folder, **fields):
    record = json.loads((folder / SETTINGS_FILE).read_text())
    record.update(fields)
    (folder / SETTINGS_FILE).write_text(json.dumps({key: value for key, value in record.items() if value is not None}))


@pytest.mark.parametrize("name", sorted(FORECASTERS))
class TestStored:
    def test_forecasts_as_when_it_was_written(self, name):
        forecaster = TrainedForecaster.load(DATA / f"forecaster-{name}")
        probe = json.loads((DATA / f"forecaster-{name}" / "probe.json").read_text())
        inputs = np.array(probe["inputs"], dtype=np.float32)
        np.testing.assert_allclose(forecaster(inputs), probe["forecast"], rtol=1e-4)

    def test_saved_again_it_is_bit_equal(self, name, tmp_path):
        forecaster = TrainedForecaster.load(DATA / f"forecaster-{name}")
        forecaster.save(tmp_path / "again")
        again = TrainedForecaster.load(tmp_path / "again")
        inputs = np.random.default_rng(0).normal(20, 5, size=(3, 12, 5, 2)).astype(np.float32)
        assert np.array_equal(again(inputs), forecaster(inputs))
        assert np.array_equal(again.predict(inputs, present=["west"]), forecaster.predict(inputs, present=["west"]))
        for file in (SETTINGS_FILE, WEIGHTS_FILE):
            assert (tmp_path / "again" / file).read_bytes() == (DATA / f"forecaster-{name}" / file).read_bytes()

    def test_carries_what_is_known_about_it(self, name):
        forecaster = TrainedForecaster.load(DATA / f"forecaster-{name}")
        assert forecaster.variables == ("north", "east", "south", "west", "centre")
        assert (forecaster.lookback, forecaster.horizon, forecaster.n_features) == (12, 4, 2)
        assert forecaster.time_features == ("time_of_day",)
        assert forecaster.training["protocol"] == "default"
        assert len(forecaster.history) == 2
        assert set(forecaster.versions) == {"subcast", "torch", "numpy", "python"}
        expected = {"mtgnn": "learnt", "astgcn": "correlation", "mstgcn": "correlation"}.get(name)
        assert forecaster.graph_source == expected

    def test_loading_draws_no_random_numbers(self, name):
        torch.manual_seed(0)
        before = torch.get_rng_state()
        load_forecaster(DATA / f"forecaster-{name}")
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
        raw = (folder / WEIGHTS_FILE).read_bytes()
        (folder / WEIGHTS_FILE).write_bytes(raw[:-4])
        with pytest.raises(DataError, match="is cut short or is not the file"):
            load_forecaster(folder)

    def test_weights_of_another_model(self, folder):
        shutil.copy(DATA / "forecaster-lstnet" / WEIGHTS_FILE, folder / WEIGHTS_FILE)
        with pytest.raises(DataError, match="is cut short or is not the file"):
            load_forecaster(folder)

    def test_no_weights(self, folder):
        (folder / WEIGHTS_FILE).unlink()
        with pytest.raises(DataNotFoundError, match=r"has no weights\.safetensors"):
            load_forecaster(folder)

    def test_newer_format(self, folder):
        change(folder, format_version=2)
        with pytest.raises(DataError, match=r"is of format 2, and this version .* reads up to 1: install a newer"):
            load_forecaster(folder)

    def test_unknown_model(self, folder):
        change(folder, model="oracle")
        with pytest.raises(DataError, match="holds a 'oracle', and this version of subcast knows mtgnn"):
            load_forecaster(folder)

    def test_a_field_is_missing(self, folder):
        change(folder, scaler=None)
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
