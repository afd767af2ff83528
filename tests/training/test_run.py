"""`train`: repeatable, masked, and with the weights of its best epoch."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from subcast.errors import InputError, SubcastError
from subcast.forecasters import TCN
from subcast.series import Series
from subcast.training import TrainConfig, train
from subcast.training.module import TrainingModule
from training.examples import QUICK, SMALL, waves, without_package


def test_equal_seeds_give_equal_models(parts, trained):
    again = train("tcn", parts.train, parts.val, QUICK, settings=SMALL)
    other = train("tcn", parts.train, parts.val, replace(QUICK, seed=1), settings=SMALL)
    x = parts.test.batch().inputs
    assert np.array_equal(again(x), trained(x))
    assert again.history == trained.history
    assert not np.array_equal(other(x), trained(x))


def test_it_learns(parts):
    config = TrainConfig(epochs=25, batch_size=16, learning_rate=0.01, progress=False, patience=None)
    forecaster = train("tcn", parts.train, parts.val, config, settings={"channels": 16, "dropout": 0.0})
    batch = parts.test.batch()
    error = np.abs(forecaster(batch.inputs) - batch.targets).mean()
    last = np.abs(batch.inputs[:, -1:, :, 0] - batch.targets).mean()
    assert error < 0.7 * last


def test_random_state_of_the_caller_is_unchanged(parts):
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    train("tcn", parts.train, parts.val, replace(QUICK, epochs=1), settings=SMALL)
    assert torch.equal(torch.rand(3), expected)


def test_best_epoch_is_kept(parts):
    config = TrainConfig(epochs=6, batch_size=16, learning_rate=0.5, clip=100.0, schedule="constant", progress=False)
    forecaster = train("tcn", parts.train, parts.val, config, settings=SMALL)
    errors = [row["val"] for row in forecaster.history]
    assert forecaster.training["best_epoch"] == 1 + int(np.argmin(errors))
    batch = parts.val.batch()
    measured = np.abs(forecaster(batch.inputs) - batch.targets).mean()
    assert measured == pytest.approx(min(errors), rel=1e-4)


def test_validation_is_averaged_over_points():
    series = waves(200)
    values = np.array(series.values)
    values[150:170] = np.nan  # some batches of the validation part count few points
    series = Series(values)
    windows = series.windows(6, 4)
    forecaster = train("tcn", windows[:100], windows[120:], replace(QUICK, epochs=1, batch_size=2), settings=SMALL)
    batch = windows[120:].batch()
    errors = np.abs(forecaster(batch.inputs) - batch.targets)
    assert forecaster.history[0]["val"] == pytest.approx(np.nanmean(errors), rel=1e-4)


def test_missing_readings_count_as_the_mean():
    values = np.array(waves().values)
    values[::3, 1] = np.nan
    values[:, 2] = np.nan
    train_part, val_part, test_part = Series(values).split(6, 4)
    forecaster = train("lstnet", train_part, val_part, QUICK)
    assert all(np.isfinite(row["train"]) and np.isfinite(row["val"]) for row in forecaster.history)
    x = test_part.batch().inputs
    filled = np.where(np.isnan(x), forecaster.means[:, None], x)
    assert np.isfinite(forecaster(x)).all()
    np.testing.assert_allclose(forecaster(x), forecaster(filled.astype(np.float32)), rtol=1e-4)


def test_own_module(parts):
    class Last(nn.Module):
        def __init__(self):
            super().__init__()
            self.share = nn.Parameter(torch.zeros(()))

        def forward(self, x):
            return self.share * x[:, -1:, :, 0].expand(-1, 4, -1)

    config = replace(QUICK, learning_rate=0.05, curriculum=0, epochs=5)
    forecaster = train(Last(), parts.train, parts.val, config)
    assert float(forecaster.module.share.detach()) > 0.2
    x = parts.test.batch().inputs
    np.testing.assert_array_equal(forecaster.predict(x, wanted=["v2", "v0"]), forecaster(x)[:, :, [2, 0]])
    with pytest.raises(InputError, match="present goes with the package's own models, and Last is another module"):
        forecaster.predict(x, present=["v1"])
    with pytest.raises(InputError, match="only the package's own models"):
        forecaster.save("nowhere")


def test_module_in_evaluation_mode_is_trained_in_training_mode(parts):
    module = TCN(n_variables=3, lookback=6, horizon=4, channels=8).eval()
    modes = set()
    module.register_forward_hook(lambda module, *_: modes.add((torch.is_grad_enabled(), module.training)))
    train(module, parts.train, parts.val, QUICK)
    assert modes == {(True, True), (False, False)}


def test_missing_safetensors_fails_before_training(parts, tmp_path, monkeypatch):
    without_package(monkeypatch, "safetensors")
    monkeypatch.setattr(TrainingModule, "training_step", lambda *_: pytest.fail("it trained"))
    with pytest.raises(ModuleNotFoundError):
        train("tcn", parts.train, parts.val, QUICK, settings=SMALL, folder=tmp_path / "run")


def test_divergence_is_an_error(parts):
    class Broken(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.tensor(float("nan")))

        def forward(self, x):
            return self.weight * x[:, -1:, :, 0].expand(-1, 4, -1)

    with pytest.raises(SubcastError, match="diverged in epoch 1"):
        train(Broken(), parts.train, parts.val, QUICK)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"model": "arima"}, "model must be one of mtgnn, astgcn, mstgcn, lstnet, tcn"),
        ({"settings": {"wings": 2}}, "settings do not fit tcn: .*wings"),
        ({"graph": "series"}, "graph cannot be given for tcn, which uses no graph"),
        ({"train": np.zeros(3)}, "train must be Windows"),
    ],
)
def test_bad_input_is_rejected(parts, change, sentence):
    arguments = {"model": "tcn", "train": parts.train, "val": parts.val, "config": QUICK, **change}
    with pytest.raises(InputError, match=sentence):
        train(**arguments)


def test_windows_of_different_series_are_rejected(parts):
    with pytest.raises(InputError, match="val must have the horizon of train, 4, got 3"):
        train("tcn", parts.train, waves().split(6, 3).val, QUICK)
    with pytest.raises(InputError, match="val must have the variables"):
        train("tcn", parts.train, waves(n=2).split(6, 4).val, QUICK)
