"""Training: repeatable, resumable, masked, and best at its best epoch."""

import json
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from subcast.errors import DataError, InputError, SubcastError
from subcast.forecasters import TCN
from subcast.forecasters.trained import TrainedForecaster
from subcast.scaling import Scaler
from subcast.series import Series
from subcast.training import TrainConfig, train
from subcast.training.config import curriculum_level
from subcast.training.data import EpochBatches, TensorWindows
from subcast.training.module import Progress, TrainingModule
from subcast.training.run import HISTORY_FILE, PLOT_FILE, STATE_FILE

QUICK = TrainConfig(epochs=2, batch_size=16, progress=False)
SMALL = {"channels": 8}


def waves(steps=160, n=3, seed=0, **fields):
    rng = np.random.default_rng(seed)
    t = np.arange(steps)[:, None]
    values = 50 + 10 * np.sin(t / 5 + np.arange(n)) + rng.normal(size=(steps, n))
    return Series(values.astype(np.float32), **fields)


@pytest.fixture(scope="module")
def parts():
    return waves().split(6, 4)


@pytest.fixture(scope="module")
def trained(parts):
    return train("tcn", parts.train, parts.val, QUICK, settings=SMALL)


class TestTrain:
    def test_equal_seeds_give_equal_models(self, parts, trained):
        again = train("tcn", parts.train, parts.val, QUICK, settings=SMALL)
        other = train("tcn", parts.train, parts.val, replace(QUICK, seed=1), settings=SMALL)
        x = parts.test.batch().inputs
        assert np.array_equal(again(x), trained(x))
        assert again.history == trained.history
        assert not np.array_equal(other(x), trained(x))

    def test_it_learns(self, parts):
        config = TrainConfig(epochs=25, batch_size=16, learning_rate=0.01, progress=False, patience=None)
        forecaster = train("tcn", parts.train, parts.val, config, settings={"channels": 16, "dropout": 0.0})
        batch = parts.test.batch()
        error = np.abs(forecaster(batch.inputs) - batch.targets).mean()
        last = np.abs(batch.inputs[:, -1:, :, 0] - batch.targets).mean()
        assert error < 0.7 * last

    def test_the_callers_random_numbers_are_left_alone(self, parts):
        torch.manual_seed(0)
        expected = torch.rand(3)
        torch.manual_seed(0)
        train("tcn", parts.train, parts.val, replace(QUICK, epochs=1), settings=SMALL)
        assert torch.equal(torch.rand(3), expected)

    def test_best_epoch_is_kept(self, parts):
        config = TrainConfig(
            epochs=6, batch_size=16, learning_rate=0.5, clip=100.0, schedule="constant", progress=False
        )
        forecaster = train("tcn", parts.train, parts.val, config, settings=SMALL)
        errors = [row["val"] for row in forecaster.history]
        assert forecaster.training["best_epoch"] == 1 + int(np.argmin(errors))
        batch = parts.val.batch()
        measured = np.abs(forecaster(batch.inputs) - batch.targets).mean()
        assert measured == pytest.approx(min(errors), rel=1e-4)

    def test_validation_is_averaged_over_points(self):
        series = waves(200)
        values = np.array(series.values)
        values[150:170] = np.nan  # some batches of the validation part count few points
        series = Series(values)
        windows = series.windows(6, 4)
        forecaster = train("tcn", windows[:100], windows[120:], replace(QUICK, epochs=1, batch_size=2), settings=SMALL)
        batch = windows[120:].batch()
        errors = np.abs(forecaster(batch.inputs) - batch.targets)
        assert forecaster.history[0]["val"] == pytest.approx(np.nanmean(errors), rel=1e-4)

    def test_gaps_train_and_count_as_the_mean(self):
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

    def test_zeros_among_targets_do_not_count_in_the_paper_protocol(self):
        values = np.array(waves().values)
        values[40:60] = 0.0
        train_part = Series(values).split(6, 4, protocol="paper").train
        served = TensorWindows(train_part, Scaler.fit(train_part), np.zeros(3))
        expected = train_part.batch()
        inputs, targets = served[torch.arange(len(train_part))]
        np.testing.assert_array_equal(targets, expected.targets)
        assert torch.isnan(targets).any()
        assert torch.isfinite(inputs).all()

    def test_a_module_of_your_own(self, parts):
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

    def test_a_module_with_settings_gets_a_sentence(self, parts):
        with pytest.raises(InputError, match="settings and graph go with a model by name"):
            train(nn.Linear(1, 1), parts.train, parts.val, QUICK, settings=SMALL)

    @pytest.mark.parametrize(
        ("forward", "sentence"),
        [
            (lambda x, w: w * x[:, -1:, :, 0], r"such as \(1, 4, 3\), and Own gave \(1, 1, 3\)"),
            (lambda x, w: [w], r"to forecasts \[b, h, n\] .* and Own gave list"),
            (lambda x, w: x @ torch.zeros(5, 2), r"inputs \[b, t, n, f\] such as \(1, 6, 3, 1\) .* and Own failed: "),
        ],
    )
    def test_a_module_that_does_not_fit_gets_a_sentence(self, parts, tmp_path, forward, sentence):
        class Own(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.zeros(()))

            def forward(self, x):
                return forward(x, self.weight)

        with pytest.raises(InputError, match=sentence):
            train(Own(), parts.train, parts.val, QUICK, folder=tmp_path / "run")
        assert not (tmp_path / "run").exists()

    def test_a_module_without_weights_gets_a_sentence(self, parts):
        with pytest.raises(InputError, match="model must have weights to train, and Identity has none"):
            train(nn.Identity(), parts.train, parts.val, QUICK)

    def test_a_module_in_evaluation_is_trained_in_training(self, parts):
        module = TCN(n_variables=3, lookback=6, horizon=4, channels=8).eval()
        modes = set()
        module.register_forward_hook(lambda module, *_: modes.add((torch.is_grad_enabled(), module.training)))
        train(module, parts.train, parts.val, QUICK)
        assert modes == {(True, True), (False, False)}

    def test_errors_are_summed_where_there_are_doubles(self):
        class OnTheDevice:  # one that has no doubles, as MPS
            def cpu(self):
                return torch.ones(2, 4, 3)

        task = TrainingModule(nn.Identity(), torch.zeros(1), torch.ones(1), QUICK, 4, 1)
        task._absolute_errors = lambda *_: OnTheDevice()
        task.validation_step((torch.zeros(2, 6, 3, 1), torch.zeros(2, 4, 3)), 0)
        assert task._val_sums.tolist() == [[6.0] * 4] * 2

    def test_ctrl_c_stays_ctrl_c(self, parts, monkeypatch):
        def pressed(*_):
            raise KeyboardInterrupt

        before = signal.getsignal(signal.SIGINT)
        monkeypatch.setattr(TrainingModule, "training_step", pressed)
        with pytest.raises(KeyboardInterrupt):
            train("tcn", parts.train, parts.val, QUICK, settings=SMALL)
        assert signal.getsignal(signal.SIGINT) is before

    def test_what_saving_needs_is_missed_before_training(self, parts, tmp_path, monkeypatch):
        without_package(monkeypatch, "safetensors")
        monkeypatch.setattr(TrainingModule, "training_step", lambda *_: pytest.fail("it trained"))
        with pytest.raises(ModuleNotFoundError):
            train("tcn", parts.train, parts.val, QUICK, settings=SMALL, folder=tmp_path / "run")

    def test_divergence_is_told(self, parts):
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
            ({"graph": "series"}, "tcn uses no graph"),
            ({"train": np.zeros(3)}, "train must be Windows"),
        ],
    )
    def test_bad_input_gets_a_sentence(self, parts, change, sentence):
        arguments = {"model": "tcn", "train": parts.train, "val": parts.val, "config": QUICK, **change}
        with pytest.raises(InputError, match=sentence):
            train(**arguments)

    def test_parts_of_different_series_get_a_sentence(self, parts):
        with pytest.raises(InputError, match="val must have the horizon of train, 4, got 3"):
            train("tcn", parts.train, waves().split(6, 3).val, QUICK)
        with pytest.raises(InputError, match="val must have the variables"):
            train("tcn", parts.train, waves(n=2).split(6, 4).val, QUICK)


class TestGraphChoice:
    @pytest.mark.parametrize(
        ("graph", "own", "source"),
        [
            (None, True, "series"),
            (None, False, "correlation"),
            ("correlation", True, "correlation"),
            ("identity", True, "identity"),
            (np.ones((3, 3)), False, "given"),
        ],
    )
    def test_given_graphs(self, graph, own, source):
        series = waves(graph=np.eye(3, k=1) if own else None)
        train_part, val_part, _ = series.split(6, 4)
        config = replace(QUICK, epochs=1)
        forecaster = train("mstgcn", train_part, val_part, config, settings={"filters": 4}, graph=graph)
        assert forecaster.graph_source == source
        if source == "series":
            assert np.array_equal(forecaster.graph(), np.eye(3, k=1))

    def test_the_graph_another_model_learned(self, parts, trained):
        learner = train("mtgnn", parts.train, parts.val, replace(QUICK, epochs=1))
        assert learner.graph_source == "learned"
        forecaster = train("astgcn", parts.train, parts.val, replace(QUICK, epochs=1), graph=learner)
        assert forecaster.graph_source == "learned by mtgnn"
        assert np.array_equal(forecaster.graph(), learner.graph())
        with pytest.raises(InputError, match="graph must be a trained graph model of the same variables"):
            train("astgcn", parts.train, parts.val, QUICK, graph=trained)

    def test_a_series_without_a_graph_gets_a_sentence(self, parts):
        with pytest.raises(InputError, match="graph='series' needs a series with a graph"):
            train("mstgcn", parts.train, parts.val, QUICK, graph="series")
        with pytest.raises(InputError, match="graph must be 'series', 'correlation'"):
            train("mstgcn", parts.train, parts.val, QUICK, graph="learned")


KILLED = """
    import os, sys
    sys.path[:0] = [{tests!r}]
    import torch
    torch.set_num_threads(1)
    from test_train import QUICK, SMALL, replace, train, waves
    from subcast.training.module import TrainingModule

    if {epoch} >= 0:
        whole = TrainingModule.training_step
        def until(self, batch, number):
            if self.current_epoch == {epoch} and number == 2:
                os._exit(9)
            whole(self, batch, number)
        TrainingModule.training_step = until
    parts = waves().split(6, 4)
    train("tcn", parts.train, parts.val, replace(QUICK, epochs=4), settings=SMALL, folder={folder!r})
"""


def without_package(monkeypatch, name):
    """Make importing a package fail, as where it is not installed."""
    for module in [module for module in sys.modules if module.partition(".")[0] == name]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, name, None)


def interrupted(train, *arguments, **options):
    """Train one epoch and stop in the second."""
    with pytest.MonkeyPatch.context() as patch:
        whole = TrainingModule.training_step

        def until(self, batch, number):
            if self.current_epoch == 1:
                raise KeyboardInterrupt
            whole(self, batch, number)

        patch.setattr(TrainingModule, "training_step", until)
        with pytest.raises(KeyboardInterrupt):
            train(*arguments, **options)


class TestResume:
    def start(self, folder, epoch):
        """Train in a process of its own, which dies in the middle of an epoch."""
        from pathlib import Path

        code = textwrap.dedent(KILLED).format(tests=str(Path(__file__).parent), folder=str(folder), epoch=epoch)
        return subprocess.run([sys.executable, "-c", code], check=False, timeout=300).returncode

    def test_killed_in_mid_epoch_ends_bit_equal(self, tmp_path, parts):
        folder = tmp_path / "killed"
        assert self.start(folder, epoch=2) == 9
        assert (folder / STATE_FILE).is_file()
        config = replace(QUICK, epochs=4)
        resumed = train("tcn", parts.train, parts.val, config, settings=SMALL, folder=folder)
        whole = train("tcn", parts.train, parts.val, config, settings=SMALL, folder=tmp_path / "whole")
        assert resumed.history == whole.history
        (weights,) = folder.glob("weights-*.safetensors")
        for name in (weights.name, HISTORY_FILE):
            assert (folder / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
        assert not (folder / STATE_FILE).exists()
        assert (folder / PLOT_FILE).is_file()
        assert list((folder / "tensorboard").glob("events*"))
        with pytest.raises(InputError, match="holds a finished model"):
            train("tcn", parts.train, parts.val, config, settings=SMALL, folder=folder)

    def test_another_configuration_gets_a_sentence(self, tmp_path, parts):
        (tmp_path / STATE_FILE).write_bytes(b"")
        (tmp_path / "run.json").write_text(json.dumps({"model": "mtgnn"}))
        with pytest.raises(InputError, match=r"interrupted training with another model \('mtgnn', now 'tcn'\)"):
            train("tcn", parts.train, parts.val, QUICK, settings=SMALL, folder=tmp_path)

    def stopped_before_saving(self, monkeypatch, folder, parts, config, **options):
        """Train to the end, and stop where the model would be saved: the state stays."""

        def stop(*_):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(TrainedForecaster, "save", stop)
            with pytest.raises(KeyboardInterrupt):
                train("tcn", parts.train, parts.val, config, settings=SMALL, folder=folder, **options)
        assert (folder / STATE_FILE).is_file()

    def test_stopped_early_it_stays_stopped(self, tmp_path, parts, monkeypatch):
        config = replace(QUICK, epochs=20, learning_rate=1.0, clip=100.0, curriculum=0, patience=1, schedule="constant")
        self.stopped_before_saving(monkeypatch, tmp_path / "run", parts, config)
        before = torch.load(tmp_path / "run" / STATE_FILE, weights_only=True)["progress"]["history"]
        assert len(before) < 20
        resumed = train("tcn", parts.train, parts.val, config, settings=SMALL, folder=tmp_path / "run")
        assert list(resumed.history) == before

    def test_a_damaged_state_gets_a_sentence(self, tmp_path, parts, monkeypatch):
        self.stopped_before_saving(monkeypatch, tmp_path, parts, QUICK)
        raw = (tmp_path / STATE_FILE).read_bytes()
        for damaged in (b"", raw[: len(raw) // 2], raw[:-30], b"nothing of the kind"):
            (tmp_path / STATE_FILE).write_bytes(damaged)
            with pytest.raises(DataError, match="is cut short or is not the state of a training: remove it"):
                train("tcn", parts.train, parts.val, QUICK, settings=SMALL, folder=tmp_path)
        torch.save({"progress": {}}, tmp_path / STATE_FILE)
        with pytest.raises(DataError, match="is cut short or is not the state of a training"):
            train("tcn", parts.train, parts.val, QUICK, settings=SMALL, folder=tmp_path)

    def test_another_graph_gets_a_sentence(self, tmp_path, parts):
        options = {"settings": {"filters": 4}, "folder": tmp_path}
        graph = np.eye(3, k=1)
        interrupted(train, "mstgcn", parts.train, parts.val, QUICK, graph=graph, **options)
        with pytest.raises(InputError, match="interrupted training with another graph weights"):
            train("mstgcn", parts.train, parts.val, QUICK, graph=2 * graph, **options)

    def test_other_time_features_get_a_sentence(self, tmp_path):
        def parts_from(hour):
            times = np.datetime64(f"2024-01-01T{hour:02}") + np.arange(160) * np.timedelta64(1, "h")
            return waves(times=times, time_features=("time_of_day",)).split(6, 4)

        first, second = parts_from(0), parts_from(5)
        options = {"settings": SMALL, "folder": tmp_path}
        interrupted(train, "tcn", first.train, first.val, QUICK, **options)
        with pytest.raises(InputError, match="interrupted training with another time features"):
            train("tcn", second.train, second.val, QUICK, **options)

    def test_another_number_of_threads_gets_a_sentence(self, tmp_path, parts):
        options = {"settings": SMALL, "folder": tmp_path}
        interrupted(train, "tcn", parts.train, parts.val, QUICK, **options)
        torch.set_num_threads(2)
        try:
            with pytest.raises(InputError, match=r"another processor threads \(1, now 2\)"):
                train("tcn", parts.train, parts.val, QUICK, **options)
        finally:
            torch.set_num_threads(1)

    def test_a_run_of_an_earlier_version_goes_on(self, tmp_path, parts):
        options = {"settings": SMALL, "folder": tmp_path}
        interrupted(train, "tcn", parts.train, parts.val, QUICK, **options)
        run = json.loads((tmp_path / "run.json").read_text())
        for key in ("graph weights", "time features", "processor threads"):
            del run[key]
        (tmp_path / "run.json").write_text(json.dumps(run))
        forecaster = train("tcn", parts.train, parts.val, QUICK, **options)
        assert len(forecaster.history) == 2
        assert forecaster.training["processor_threads"] == 1

    def test_a_state_without_its_run_gets_a_sentence(self, tmp_path, parts):
        (tmp_path / STATE_FILE).write_bytes(b"")
        with pytest.raises(DataError, match="holds a state without"):
            train("tcn", parts.train, parts.val, QUICK, settings=SMALL, folder=tmp_path)


class TestConfig:
    def test_paper(self):
        config = TrainConfig.paper("ecg5000", seed=3)
        assert (config.epochs, config.patience, config.curriculum, config.schedule, config.seed) == (
            100,
            None,
            400,
            "constant",
            3,
        )
        assert (config.batch_size, config.learning_rate, config.weight_decay, config.clip) == (64, 1e-3, 1e-4, 5.0)
        with pytest.raises(InputError, match="dataset must be one whose curriculum is published"):
            TrainConfig.paper("clouds")

    @pytest.mark.parametrize(("iterations", "horizon"), [(1, 12), (10, 12), (36, 12), (37, 12), (5500, 12), (100, 1)])
    def test_default_curriculum_ends_by_30_per_cent(self, iterations, horizon):
        steps = TrainConfig().curriculum_steps(iterations, horizon)
        first_full = next(i for i in range(1, iterations + 1) if curriculum_level(i, steps, horizon) == horizon)
        assert first_full <= max(1, 0.3 * iterations)

    @pytest.mark.parametrize(
        "bad",
        [
            {"epochs": 0},
            {"epochs": 2.5},
            {"batch_size": True},
            {"learning_rate": 0.0},
            {"clip": -1.0},
            {"weight_decay": -1.0},
            {"schedule": "steps"},
            {"device": "tpu"},
            {"patience": 0},
            {"curriculum": -1},
        ],
    )
    def test_bad_values_get_a_sentence(self, bad):
        with pytest.raises(InputError, match=f"{next(iter(bad))} must be"):
            TrainConfig(**bad)


class TestPatience:
    def rows(self, count):
        return [{"epoch": epoch} for epoch in range(count)]

    def test_counts_only_at_the_full_horizon(self):
        progress = Progress(history=self.rows(8), best_epoch=0)
        assert progress.stalled(full_from=10) == 0
        assert progress.stalled(full_from=5) == 3
        assert progress.stalled(full_from=0) == 7

    def test_counts_from_the_best_epoch(self):
        assert Progress(history=self.rows(8), best_epoch=7).stalled(full_from=2) == 0
        assert Progress(history=self.rows(8), best_epoch=5).stalled(full_from=2) == 2

    def test_stops(self, parts):
        config = TrainConfig(
            epochs=30, batch_size=16, learning_rate=1e-9, curriculum=0, patience=2, progress=False, schedule="constant"
        )

        class Constant(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.zeros(()))

            def forward(self, x):
                return 0 * self.weight + torch.zeros(len(x), 4, 3)

        assert len(train(Constant(), parts.train, parts.val, config).history) == 3


class TestServing:
    def test_batches_are_what_windows_give(self, parts):
        scaler = Scaler.fit(parts.train)
        which = torch.tensor([5, 0, 17])
        inputs, targets = TensorWindows(parts.train, scaler, scaler.mean)[which]
        batch = parts.train.batch(which.numpy())
        np.testing.assert_allclose(inputs[..., 0], scaler.transform(batch.inputs[..., 0]), atol=1e-6)
        np.testing.assert_array_equal(targets, batch.targets)

    def test_strides_and_time_features(self):
        times = np.datetime64("2024-01-01") + np.arange(100) * np.timedelta64(1, "h")
        windows = waves(100, times=times, time_features=("time_of_day",)).windows(6, 4)[3::7]
        scaler = Scaler.fit(windows)
        inputs, targets = TensorWindows(windows, scaler, scaler.mean)[torch.arange(len(windows))]
        batch = windows.batch()
        np.testing.assert_array_equal(inputs[..., 1], batch.inputs[..., 1])
        np.testing.assert_array_equal(targets, batch.targets)

    def test_every_window_once_an_epoch_in_another_order(self):
        batches = EpochBatches(10, 4, seed=0)
        first = torch.cat(list(batches)).tolist()
        assert sorted(first) == list(range(10))
        assert torch.cat(list(batches)).tolist() == first
        batches.epoch = lambda: 1
        assert torch.cat(list(batches)).tolist() != first
        assert len(batches) == len(list(batches)) == 3


class TestTrainedForecaster:
    def test_raw_units_and_choices(self, parts, trained):
        x = parts.test.batch().inputs
        before = x.copy()
        whole = trained.predict(x)
        assert whole.shape == (len(x), 4, 3)
        assert whole.dtype == np.float32
        assert 30 < whole.mean() < 70
        np.testing.assert_allclose(trained.predict(x, wanted=["v2", "v0"]), whole[:, :, [2, 0]], rtol=1e-5)
        np.testing.assert_allclose(trained.predict(x[..., 0], batch_size=2), whole, rtol=1e-5)
        x[0, 0, 0] = np.nan
        trained.predict(x)
        assert np.isnan(x[0, 0, 0])
        np.testing.assert_array_equal(x[1:], before[1:])

    def test_present_sets_the_others_to_the_mean(self, parts, trained):
        x = parts.test.batch().inputs
        partial = trained.predict(x, present=["v1"])
        filled = x.copy()
        for place in (0, 2):
            filled[:, :, place] = trained.scaler.mean[place]
        np.testing.assert_allclose(partial, trained.predict(filled), rtol=1e-3)

    def test_bad_input_gets_a_sentence(self, parts, trained):
        x = parts.test.batch().inputs
        with pytest.raises(InputError, match=r"inputs must be \[b, t, n, f\].*with 6 steps, got 5"):
            trained(x[:, 1:])
        with pytest.raises(InputError, match="present names 'v9'"):
            trained.predict(x, present=["v9"])
        with pytest.raises(InputError, match="batch_size must be 1 or more"):
            trained.predict(x, batch_size=0)
        x[0, 0, 0] = np.inf
        with pytest.raises(InputError, match="inputs holds infinities"):
            trained(x)

    def test_shows_itself(self, trained):
        assert repr(trained) == "TrainedForecaster 'tcn': 6 + 4 steps of 3 variables"
        assert isinstance(trained, TrainedForecaster)
        assert trained.graph() is None
