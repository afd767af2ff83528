"""An interrupted training is resumed, or rejected if something changed."""

import json
import logging
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from subcast.errors import DataError, InputError
from subcast.forecasters.trained import TrainedForecaster
from subcast.training import train
from subcast.training.loop import HISTORY_FILE
from subcast.training.resume import STATE_FILE
from subcast.training.run import PLOT_FILE
from training.examples import QUICK, SMALL, interrupted, waves

KILLED = """
    import os, sys
    sys.path[:0] = [{tests!r}]
    import torch
    torch.set_num_threads(1)
    from dataclasses import replace
    from training.examples import QUICK, SMALL, waves
    from subcast.training import train
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


class TestResume:
    def start(self, folder, epoch):
        """Train in a separate process that dies in the middle of an epoch."""
        code = textwrap.dedent(KILLED).format(tests=str(Path(__file__).parents[1]), folder=str(folder), epoch=epoch)
        return subprocess.run([sys.executable, "-c", code], check=False, timeout=300).returncode

    def test_killed_training_resumes_bit_equal(self, tmp_path, parts):
        folder = tmp_path / "killed"
        assert self.start(folder, epoch=2) == 9
        assert (folder / STATE_FILE).is_file()
        config = replace(QUICK, epochs=4)
        resumed = train("tcn", parts.train, parts.val, config, settings=SMALL, folder=folder)
        whole = train("tcn", parts.train, parts.val, config, settings=SMALL, folder=tmp_path / "whole")
        assert resumed.history == whole.history
        for pattern in ("*.safetensors", HISTORY_FILE):
            (resumed_file,), (whole_file,) = folder.glob(pattern), (tmp_path / "whole").glob(pattern)
            assert resumed_file.read_bytes() == whole_file.read_bytes()
        assert not (folder / STATE_FILE).exists()
        assert (folder / PLOT_FILE).is_file()
        assert list((folder / "tensorboard").glob("events*"))
        with pytest.raises(InputError, match="holds a finished model"):
            train("tcn", parts.train, parts.val, config, settings=SMALL, folder=folder)

    def test_log_messages(self, tmp_path, parts, caplog):
        options = {"settings": SMALL, "folder": tmp_path}
        interrupted(train, "tcn", parts.train, parts.val, QUICK, **options)
        with caplog.at_level(logging.INFO, logger="subcast"):
            forecaster = train("tcn", parts.train, parts.val, QUICK, **options)
        messages = [record.getMessage() for record in caplog.records if record.name.startswith("subcast.training")]
        best, errors = forecaster.training["best_epoch"], [row["val"] for row in forecaster.history]
        assert messages == [
            f"training tcn on series: {len(parts.train)} windows, 2 epochs",
            f"resuming after epoch 1 from {tmp_path / STATE_FILE}",
            f"epoch 2: validation error {errors[1]:.6g}",
            f"trained tcn: best epoch {best}, error {min(errors):.6g}",
            f"saved tcn to {tmp_path}",
        ]

    def test_another_model_is_rejected(self, tmp_path, parts):
        (tmp_path / STATE_FILE).write_bytes(b"")
        (tmp_path / "run.json").write_text(json.dumps({"model": "mtgnn"}))
        with pytest.raises(InputError, match=r"interrupted training with another model \('mtgnn', now 'tcn'\)"):
            train("tcn", parts.train, parts.val, QUICK, settings=SMALL, folder=tmp_path)

    def stopped_before_saving(self, monkeypatch, folder, parts, config, **options):
        """Train to the end and stop before the model is saved, so that the state remains."""

        def stop(*_):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(TrainedForecaster, "save", stop)
            with pytest.raises(KeyboardInterrupt):
                train("tcn", parts.train, parts.val, config, settings=SMALL, folder=folder, **options)
        assert (folder / STATE_FILE).is_file()

    def test_early_stopped_training_is_not_continued(self, tmp_path, parts, monkeypatch):
        config = replace(QUICK, epochs=20, learning_rate=1.0, clip=100.0, curriculum=0, patience=1, schedule="constant")
        self.stopped_before_saving(monkeypatch, tmp_path / "run", parts, config)
        before = torch.load(tmp_path / "run" / STATE_FILE, weights_only=True)["progress"]["history"]
        assert len(before) < 20
        resumed = train("tcn", parts.train, parts.val, config, settings=SMALL, folder=tmp_path / "run")
        assert list(resumed.history) == before

    def test_damaged_state_is_rejected(self, tmp_path, parts, monkeypatch):
        self.stopped_before_saving(monkeypatch, tmp_path, parts, QUICK)
        raw = (tmp_path / STATE_FILE).read_bytes()
        for damaged in (b"", raw[: len(raw) // 2], raw[:-30], b"another file", b"nothing of the kind"):
            (tmp_path / STATE_FILE).write_bytes(damaged)
            with pytest.raises(DataError, match="is cut short or is not the state of a training: remove it"):
                train("tcn", parts.train, parts.val, QUICK, settings=SMALL, folder=tmp_path)
        torch.save({"progress": {}}, tmp_path / STATE_FILE)
        with pytest.raises(DataError, match="is cut short or is not the state of a training"):
            train("tcn", parts.train, parts.val, QUICK, settings=SMALL, folder=tmp_path)

    def test_another_graph_is_rejected(self, tmp_path, parts):
        options = {"settings": {"filters": 4}, "folder": tmp_path}
        graph = np.eye(3, k=1)
        interrupted(train, "mstgcn", parts.train, parts.val, QUICK, graph=graph, **options)
        with pytest.raises(InputError, match="interrupted training with another graph weights"):
            train("mstgcn", parts.train, parts.val, QUICK, graph=2 * graph, **options)

    def test_other_time_features_are_rejected(self, tmp_path):
        def parts_from(hour):
            times = np.datetime64(f"2024-01-01T{hour:02}") + np.arange(160) * np.timedelta64(1, "h")
            return waves(times=times, time_features=("time_of_day",)).split(6, 4)

        first, second = parts_from(0), parts_from(5)
        options = {"settings": SMALL, "folder": tmp_path}
        interrupted(train, "tcn", first.train, first.val, QUICK, **options)
        with pytest.raises(InputError, match="interrupted training with another time features"):
            train("tcn", second.train, second.val, QUICK, **options)

    def test_another_number_of_threads_is_rejected(self, tmp_path, parts):
        options = {"settings": SMALL, "folder": tmp_path}
        interrupted(train, "tcn", parts.train, parts.val, QUICK, **options)
        torch.set_num_threads(2)
        try:
            with pytest.raises(InputError, match=r"another processor threads \(1, now 2\)"):
                train("tcn", parts.train, parts.val, QUICK, **options)
        finally:
            torch.set_num_threads(1)

    def test_run_of_an_earlier_version_is_resumed(self, tmp_path, parts):
        options = {"settings": SMALL, "folder": tmp_path}
        interrupted(train, "tcn", parts.train, parts.val, QUICK, **options)
        run = json.loads((tmp_path / "run.json").read_text())
        for key in ("graph weights", "time features", "processor threads"):
            del run[key]
        (tmp_path / "run.json").write_text(json.dumps(run))
        forecaster = train("tcn", parts.train, parts.val, QUICK, **options)
        assert len(forecaster.history) == 2
        assert forecaster.training["processor_threads"] == 1

    def test_state_without_run_file_is_rejected(self, tmp_path, parts):
        (tmp_path / STATE_FILE).write_bytes(b"")
        with pytest.raises(DataError, match=r"holds the state of a training but no run.json"):
            train("tcn", parts.train, parts.val, QUICK, settings=SMALL, folder=tmp_path)
