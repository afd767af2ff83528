"""Train networks of neuralforecast on the windows of the experiments; each leaves an ONNX file and a record.

    python benchmarks/modern_records.py                                  # all that are not finished yet
    python benchmarks/modern_records.py tsmixer-calendar-metr-la-29      # one or more of them, by name
    python benchmarks/modern_records.py --list                           # names, and which are finished

iTransformer and TSMixer see all variables; NHITS forecasts each variable from its own past, so that an absent variable
costs the others nothing. The networks are those of neuralforecast (it must be installed, with onnx, onnxscript and
onnxruntime); `subcast.train` trains them as modules of the user, with the loss, windows and choice of the best epoch of
all other models of record. Time of day and day of the week are further inputs.

An interrupted training resumes after its last finished epoch when the same command is given again. The finished model
goes to results/checkpoints/NAME.onnx, which maps raw windows [b, t, n, f] to raw forecasts [b, h, n]:

    subcast.adapters.from_onnx("results/checkpoints/tsmixer-calendar-metr-la-29.onnx")
"""

from __future__ import annotations

import argparse
import logging
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import records
import torch
from torch import Tensor, nn
from train_records import CHECKPOINTS, Job, figures

from subcast.adapters import from_onnx
from subcast.experiments.study import CALENDAR, HORIZON, LOOKBACK
from subcast.forecasters.trained import TrainedForecaster
from subcast.training import TrainConfig, train
from subcast.windows import Windows

MARKS = 2 * len(CALENDAR)  # sine and cosine of each time feature
IDENTITY = 16  # learned numbers by which iTransformer, which treats all series alike, knows a variable
TOLERANCE = 1e-3  # of a standard deviation, between torch and onnxruntime


@dataclass(frozen=True)
class ModernJob(Job):
    """One training: `every`, `epochs` and the settings of its network."""

    variant: str = "calendar"
    preset: str = "default"
    learning_rate: float = 1e-3
    settings: dict[str, Any] = field(default_factory=dict)

    def config(self, progress: bool) -> TrainConfig:
        """Return the configuration of the training."""
        epochs = self.epochs or TrainConfig.epochs
        return TrainConfig(epochs=epochs, seed=self.seed, learning_rate=self.learning_rate, progress=progress)

    @property
    def file(self) -> Path:
        """The ONNX file of the trained model."""
        return CHECKPOINTS / f"{self.name}.onnx"


_MIXER = {"n_block": 4, "ff_dim": 128, "dropout": 0.1}
_TRANSFORMER = {"hidden_size": 128, "d_ff": 256, "n_heads": 4, "e_layers": 2, "dropout": 0.1}
_HITS = {"mlp_units": 3 * [[128, 128]]}
JOBS = [
    ModernJob("tsmixer", "metr-la-29", settings=_MIXER),
    ModernJob("itransformer", "metr-la-29", every=2, epochs=15, settings=_TRANSFORMER),
    ModernJob("nhits", "metr-la-29", every=4, epochs=12, settings=_HITS),
    ModernJob("tsmixer", "pems-bay-67", every=4, epochs=20, settings=_MIXER),
    ModernJob("itransformer", "pems-bay-67", every=3, epochs=12, settings=_TRANSFORMER),
    ModernJob("tsmixer", "beijing-pollutants", every=2, epochs=15, settings=_MIXER),
    ModernJob("itransformer", "beijing-pollutants", every=3, epochs=12, settings=_TRANSFORMER),
]


class Multivariate(nn.Module):  # type: ignore[misc]
    """A network over all variables at once; the marks of the time features are further series of it.

    Parameters
    ----------
    network
        maps series [b, t + identity, n + marks] to forecasts of each
    n
        number of variables
    identity
        learned numbers of each series that are appended to its steps, for a network that treats all series alike
    """

    def __init__(self, network: nn.Module, n: int, identity: int = 0) -> None:
        super().__init__()
        self.network = network
        self.identity = nn.Parameter(torch.randn(identity, n + MARKS))

    def forward(self, x: Tensor) -> Tensor:
        """Forecast normalized windows [b, t, n, f]: [b, h, n]."""
        series = torch.cat([x[..., 0], time_marks(x)], dim=2)  # [b, t, n + marks]
        series = torch.cat([series, self.identity.expand(len(x), -1, -1)], dim=1)
        return self.network({"insample_y": series})[:, :, : x.shape[2]]


class Univariate(nn.Module):  # type: ignore[misc]
    """A network over one variable at a time, which is told the time and which variable it is."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        """Forecast normalized windows [b, t, n, f]: [b, h, n]."""
        b, t, n, _ = x.shape
        own = x[..., 0].transpose(1, 2).reshape(b * n, t, 1)
        marks = time_marks(x)[:, None].expand(b, n, t, MARKS).reshape(b * n, t, MARKS)
        which = torch.eye(n)[None].expand(b, n, n).reshape(b * n, n)
        inputs = {"insample_y": own, "insample_mask": torch.ones_like(own), "futr_exog": None}
        return self.network({**inputs, "hist_exog": marks, "stat_exog": which}).view(b, n, -1).transpose(1, 2)


class RawUnits(nn.Module):  # type: ignore[misc]
    """A trained module with its normalization: raw windows [b, t, n, f] -> raw forecasts [b, h, n]."""

    def __init__(self, trained: TrainedForecaster) -> None:
        super().__init__()
        self.module = trained.module
        for name in ("mean", "scale"):
            self.register_buffer(name, torch.as_tensor(getattr(trained.scaler, name), dtype=torch.float32))

    def forward(self, x: Tensor) -> Tensor:
        """Normalize, forecast, and return to raw units."""
        readings = (x[..., 0] - self.mean) / self.scale
        return self.module(torch.cat([readings[..., None], x[..., 1:]], dim=3)) * self.scale + self.mean


def time_marks(x: Tensor) -> Tensor:
    """Return sine and cosine of the time features of windows [b, t, n, f]: [b, t, marks]."""
    angle = 2 * math.pi * x[:, :, 0, 1:]
    return torch.cat([angle.sin(), angle.cos()], dim=2)


def make_module(job: ModernJob, n: int) -> nn.Module:
    """Return the network of a training with random weights."""
    from neuralforecast.models import NHITS, TSMixer, iTransformer

    logging.getLogger("lightning_fabric").setLevel(logging.WARNING)  # neuralforecast sets a seed and says so
    sizes = {"h": HORIZON, "input_size": LOOKBACK, "random_seed": job.seed}
    if job.model == "nhits":
        exogenous = {"hist_exog_list": _names("mark", MARKS), "stat_exog_list": _names("variable", n)}
        return Univariate(NHITS(**sizes, **exogenous, **job.settings))
    # Normalizing each window would remove the level of the time marks, and the readings are normalized already.
    if job.model == "tsmixer":
        return Multivariate(TSMixer(**sizes, n_series=n + MARKS, revin=False, **job.settings), n)
    sizes["input_size"] += IDENTITY
    return Multivariate(iTransformer(**sizes, n_series=n + MARKS, use_norm=False, **job.settings), n, IDENTITY)


def _names(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{number}" for number in range(count)]


def main() -> None:
    """Train the models named on the command line."""
    parser = argparse.ArgumentParser(description="Train networks of neuralforecast.")
    parser.add_argument("names", nargs="*", help="names of the trainings, all that are not finished by default")
    parser.add_argument("--list", action="store_true", help="show the names of all trainings and which are finished")
    parser.add_argument(
        "--work", type=Path, default=records.RESULTS.parent / "runs", help="folder for logs and unfinished trainings"
    )
    parser.add_argument("--no-progress", action="store_true", help="show no progress bar, for a log file")
    arguments = parser.parse_args()
    jobs = {job.name: job for job in JOBS}
    unknown = [name for name in arguments.names if name not in jobs]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; the trainings are {', '.join(jobs)}")
    for name in arguments.names or jobs:
        finished = jobs[name].file.is_file()
        if arguments.list:
            print(f"{name:<40} {'finished' if finished else ''}")
        elif not finished:
            print(f"{name}: training", flush=True)
            run(jobs[name], arguments.work, progress=not arguments.no_progress)


def run(job: ModernJob, work: Path, progress: bool) -> None:
    """Train one model, or resume its training, and write its record and its ONNX file."""
    split = job.split()
    module = make_module(job, split.train.series.n_variables)
    trained = train(module, split.train[:: job.every], split.val, job.config(progress), folder=work / job.name)
    content = work / job.name / "model.onnx"
    export(trained, split.test, content)
    path = records.write_record(
        f"training-{job.name}",
        figures(job, trained, split),
        packages=("numpy", "torch", "lightning", "neuralforecast", "onnxruntime"),
        command=f"python benchmarks/modern_records.py {job.name}",
        seed=job.seed,
        every=job.every,
        model=job.model,
        dataset=job.dataset,
        preset=job.preset,
        variant=job.variant,
        settings=job.settings,
        protocol=split.train.protocol.name,
        config=trained.training["config"],
        processor_threads=trained.training.get("processor_threads"),
        hours=trained.training["hours"],
        epochs=list(trained.history),
    )
    job.file.write_bytes(content.read_bytes())
    print(f"{job.name}: {path.name} written", flush=True)


def export(trained: TrainedForecaster, test: Windows, path: Path) -> None:
    """Write a trained model to an ONNX file, and check that the file gives its forecasts."""
    inputs = test.batch(range(0, len(test), max(1, len(test) // 50))).inputs
    inputs = np.where(np.isnan(inputs), trained.means[:, None], inputs).astype(np.float32)
    torch.onnx.export(
        RawUnits(trained).eval(),
        (torch.from_numpy(inputs),),
        path,
        input_names=["x"],
        output_names=["y"],
        dynamic_shapes={"x": {0: torch.export.Dim("b")}},
        external_data=False,
        dynamo=True,
        verbose=False,
    )
    onnx_forecasts = from_onnx(path, horizon=trained.horizon)(inputs)
    worst = float((np.abs(onnx_forecasts - trained(inputs)) / trained.scaler.scale).max())
    if worst > TOLERANCE:
        raise SystemExit(f"{path} differs from the trained model by {worst} standard deviations")


if __name__ == "__main__":
    main()
