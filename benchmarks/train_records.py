"""Train the models of record one after the other; each leaves a checkpoint and a record.

    python benchmarks/train_records.py                     # all that are not finished yet, the most useful first
    python benchmarks/train_records.py mtgnn-ecg5000       # one or more of them, by name
    python benchmarks/train_records.py tcn-hardened-pems-bay-67    # any other model, variant or seed of these datasets
    python benchmarks/train_records.py --list              # names of all trainings, and which are finished

An interrupted training resumes after its last finished epoch when the same command is given again. The finished
model goes to results/checkpoints/NAME (most variants to checkpoints/ in --work), its record to
results/training-NAME.json; logs and states stay in --work.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import records

from subcast.forecasters.checkpoint import is_saved_forecaster
from subcast.datasets.published import ECG_ORDERS
from subcast.experiments.study import (
    HORIZON,
    SEED,
    SHARE,
    VARIANTS,
    open_data,
    split_data,
    trained_name,
    variant_changes,
)
from subcast.experiments.published import find_one
from subcast.forecasters import FORECASTERS
from subcast.forecasters.trained import TrainedForecaster
from subcast.metrics import ErrorSums
from subcast.subsets import draw_subsets
from subcast.training import TrainConfig, train
from subcast.windows import Split, Windows

CHECKPOINTS = records.RESULTS / "checkpoints"
# Datasets whose models of a variant are committed, and all models without one.
COMMITTED = {
    "calendar": ("metr-la-29", "pems-bay-67", "beijing-pollutants"),
    "masked": ("metr-la-29",),
    "identity": ("metr-la-29", "clouds", "traffic-20"),
    "hardened": ("metr-la-29", "clouds"),
}
DRAWS = 5  # of the present variables, for the errors of the Partial setting


@dataclass(frozen=True)
class Job:
    """One training of record."""

    model: str
    dataset: str
    preset: str = "paper"
    seed: int = 0
    every: int = 1  # train on every Nth window: neighboring windows are much alike
    epochs: int | None = None  # that of the preset by default
    graph_of: str | None = None  # the trained model whose graph is used
    variant: str = ""  # one of VARIANTS

    @property
    def name(self) -> str:
        """Name of its folder and of its record."""
        return trained_name(self.model, self.dataset, self.seed, self.variant)

    def kept_in(self, work: Path) -> Path:
        """Return the folder of the trained model; most variants are not committed."""
        committed = not self.variant or self.dataset in COMMITTED.get(self.variant, ())
        return (CHECKPOINTS if committed else work / "checkpoints") / self.name

    def split(self) -> Split:
        """Return its training, validation and test windows, as the experiments use them."""
        return split_data(open_data(self.dataset, self.variant), self.dataset)

    def config(self, progress: bool) -> TrainConfig:
        """Return the configuration of the training."""
        changes = variant_changes(self.model, self.variant)["config"]
        changes |= {} if self.epochs is None else {"epochs": self.epochs}
        if self.preset == "paper":
            return replace(TrainConfig.paper(self.dataset, seed=self.seed, progress=progress), **changes)
        return TrainConfig(seed=self.seed, progress=progress, **changes)


# The most useful first. MSTGCN and ASTGCN need the graph of MTGNN.
JOBS = [
    Job("mtgnn", "ecg5000"),
    Job("tcn", "ecg5000"),
    Job("lstnet", "ecg5000"),
    Job("mstgcn", "ecg5000", graph_of="mtgnn-ecg5000"),
    Job("astgcn", "ecg5000", graph_of="mtgnn-ecg5000"),
    Job("tcn", "ecg5000-test-first"),
    Job("lstnet", "ecg5000-test-first"),
    Job("mtgnn", "ecg5000-test-first"),
    Job("mstgcn", "ecg5000-test-first", graph_of="mtgnn-ecg5000-test-first"),
    Job("astgcn", "ecg5000-test-first", graph_of="mtgnn-ecg5000-test-first"),
    Job("tcn", "ecg5000-test-first", seed=1),
    Job("tcn", "ecg5000-test-first", seed=2),
    Job("mtgnn", "ecg5000-test-first", seed=1),
    Job("mtgnn", "ecg5000-test-first", seed=2),
    Job("tcn", "pems-bay-67", preset="default"),
    Job("tcn", "metr-la-29", preset="default"),
    Job("mtgnn", "metr-la-29", preset="default", every=2),
    Job("mtgnn", "pems-bay-67", preset="default", every=4, epochs=20),
    Job("tcn", "clouds", preset="default"),
    Job("mtgnn", "clouds", preset="default", every=2, epochs=15),
    Job("tcn", "clouds-solar-size", preset="default", every=3, epochs=20),
    Job("mtgnn", "clouds-solar-size", preset="default", every=8, epochs=15),
    Job("tcn", "ecg5000", variant="hardened"),
    Job("lstnet", "ecg5000", variant="hardened"),
    Job("tcn", "clouds", preset="default", variant="hardened"),
    Job("tcn", "metr-la-29", preset="default", variant="hardened"),
    Job("tcn", "traffic-20", preset="default"),
    Job("mtgnn", "traffic-20", preset="default", every=4, epochs=20),
    Job("tcn", "metr-la-29", preset="default", variant="calendar"),
    Job("tcn", "beijing-pollutants", preset="default"),
    Job("mtgnn", "metr-la-29", preset="default", every=2, variant="calendar"),
    Job("tcn", "pems-bay-67", preset="default", variant="calendar"),
    Job("tcn", "clouds", preset="default", variant="calendar"),
    Job("tcn", "traffic-20", preset="default", variant="calendar"),
    Job("tcn", "metr-la-29", preset="default", variant="masked"),
    Job("mtgnn", "metr-la-29", preset="default", every=2, variant="masked"),
    Job("tcn", "pems-bay-67", preset="default", every=2, epochs=20, variant="masked"),
    Job("mtgnn", "beijing-pollutants", preset="default", every=6, epochs=10),
    Job("mtgnn", "pems-bay-67", preset="default", every=4, epochs=20, variant="calendar"),
    Job("mtgnn", "ecg5000", preset="default", epochs=30, variant="identity"),
    Job("mtgnn", "metr-la-29", preset="default", every=2, variant="identity"),
    Job("mtgnn", "clouds", preset="default", every=2, epochs=15, variant="identity"),
    Job("mtgnn", "traffic-20", preset="default", every=4, epochs=20, variant="identity"),
    Job("mstgcn", "clouds", preset="default", every=2, epochs=15, graph_of="mtgnn-clouds"),
    Job("astgcn", "clouds", preset="default", every=2, epochs=15, graph_of="mtgnn-clouds"),
    Job("mstgcn", "metr-la-29", preset="default", every=4, epochs=20, graph_of="mtgnn-metr-la-29"),
    Job("astgcn", "metr-la-29", preset="default", every=4, epochs=20, graph_of="mtgnn-metr-la-29"),
    Job("mstgcn", "traffic-20", preset="default", every=4, epochs=20, graph_of="mtgnn-traffic-20"),
    Job("astgcn", "traffic-20", preset="default", every=4, epochs=20, graph_of="mtgnn-traffic-20"),
    Job("mtgnn", "ecg5000", preset="default", epochs=30, variant="hardened"),
    Job("mtgnn", "ecg5000", variant="noise"),
    Job("mtgnn", "ecg5000", seed=1),
]


def jobs_by_name() -> dict[str, Job]:
    """Return the trainings of record by name."""
    return {job.name: job for job in JOBS}


def job_named(name: str) -> Job | None:
    """Return the training of a name: one of those above, or one derived from them for another model, variant or seed.

    It is derived from a training of the same model and dataset if there is one, else of the same dataset.
    """
    if name in jobs_by_name():
        return jobs_by_name()[name]
    _, _, seed = name.partition("-seed")
    if seed and not seed.isdigit():
        return None
    for similar in sorted(JOBS, key=lambda job: job.model != name.split("-")[0]):  # those of the same model first
        for model, variant in product(FORECASTERS, ("", *VARIANTS)):
            graph_of = _graph_of(model, similar.dataset, variant)
            job = replace(similar, model=model, variant=variant, seed=int(seed or 0), graph_of=graph_of)
            if job.name == name:
                return job
    return None


def _graph_of(model: str, dataset: str, variant: str) -> str | None:
    """Return the name of the trained model whose learned graph a model is given; None if it needs none."""
    if not FORECASTERS[model].needs_graph or variant == "identity":
        return None
    learner = next(name for name, kind in FORECASTERS.items() if kind.learns_graph)
    return trained_name(learner, dataset)


def main() -> None:
    """Train the models named on the command line."""
    parser = argparse.ArgumentParser(description="Train the models of record.")
    parser.add_argument("names", nargs="*", help="names of the trainings, all that are not finished by default")
    parser.add_argument("--list", action="store_true", help="show the names of all trainings and which are finished")
    parser.add_argument(
        "--work", type=Path, default=records.RESULTS.parent / "runs", help="folder for logs and unfinished trainings"
    )
    parser.add_argument("--no-progress", action="store_true", help="show no progress bar, for a log file")
    arguments = parser.parse_args()
    named = {name: job_named(name) for name in arguments.names}
    unknown = [name for name, job in named.items() if job is None]
    if unknown:
        parser.error(
            f"unknown: {', '.join(unknown)}; names are MODEL[-{'|-'.join(VARIANTS)}]-DATASET[-seedN], those of record: "
            f"{', '.join(job.name for job in JOBS)}"
        )
    for job in [job for job in named.values() if job] or JOBS:
        finished = is_saved_forecaster(job.kept_in(arguments.work))
        if arguments.list:
            print(f"{job.name:<28} {'finished' if finished else ''}")
        elif not finished:
            print(f"{job.name}: training", flush=True)
            run(job, arguments.work, progress=not arguments.no_progress)


def run(job: Job, work: Path, progress: bool) -> None:
    """Train one model, or resume its training, and write checkpoint and record."""
    split = job.split()
    folder = work / job.name
    if is_saved_forecaster(folder):  # finished, but stopped before its record was written
        forecaster = TrainedForecaster.load(folder)
    else:
        changes = variant_changes(job.model, job.variant)
        graph = changes["graph"]
        if job.graph_of:
            graph = TrainedForecaster.load(jobs_by_name()[job.graph_of].kept_in(work))
        windows = split.train[:: job.every]
        forecaster = train(
            job.model,
            windows,
            split.val,
            job.config(progress),
            settings=changes["settings"],
            graph=graph,
            folder=folder,
        )
    path = records.write_record(
        f"training-{job.name}",
        figures(job, forecaster, split),
        packages=("numpy", "torch", "lightning"),
        command=f"python benchmarks/train_records.py {job.name}",
        seed=job.seed,
        every=job.every,
        model=job.model,
        dataset=job.dataset,
        preset=job.preset,
        **({"variant": job.variant} if job.variant else {}),
        protocol=split.train.protocol.name,
        graph=forecaster.graph_source,
        config=forecaster.training["config"],
        processor_threads=forecaster.training.get("processor_threads"),
        hours=forecaster.training["hours"],
        epochs=list(forecaster.history),
    )
    forecaster.save(job.kept_in(work))
    print(f"{job.name}: {path.name} written", flush=True)


def figures(job: Job, forecaster: TrainedForecaster, split: Split) -> dict[str, Any]:
    """Return the errors with all variables present, over all variables: what the Oracle has on average over S."""
    sums = errors(forecaster, split.test)
    result: dict[str, Any] = {
        "parameters": sum(parameter.numel() for parameter in forecaster.module.parameters()),
        "best_epoch": forecaster.training["best_epoch"],
        "best_val_mae": forecaster.training["best_val_mae"],
        "test_windows": len(split.test),
        "oracle_mae_step_12": sums.at(HORIZON).mae,
        "oracle_rmse_step_12": sums.at(HORIZON).rmse,
        "oracle_mae_by_step": sums.mae_by_step.tolist(),
        "oracle_rmse_by_step": sums.rmse_by_step.tolist(),
    }
    if forecaster.abilities.partial:
        result |= {"partial_draws": DRAWS, **partial_errors(forecaster, split.test)}
    if job.dataset in ECG_ORDERS and not job.variant:
        cell = {"experiment": "table-oracle-partial", "dataset": "ecg5000", "model": job.model, "setting": "oracle"}
        mae, rmse = (find_one(**cell, metric=metric) for metric in ("mae", "rmse"))
        result |= {
            "published_mae": mae.mean,
            "published_mae_deviation": mae.deviation,
            "published_rmse": rmse.mean,
            "mae_against_published_percent": 100 * (result["oracle_mae_step_12"] / mae.mean - 1),
        }
    return result


def errors(forecaster: TrainedForecaster, windows: Windows) -> ErrorSums:
    """Return the errors of the forecasts of all windows."""
    sums = ErrorSums.nothing(windows.horizon)
    for batch in windows.batches(256):
        sums += ErrorSums.of(forecaster(batch.inputs), batch.targets)
    return sums


def partial_errors(forecaster: TrainedForecaster, windows: Windows) -> dict[str, float]:
    """Return the errors at the last step with 15 % of the variables present, over the first draws of S."""
    sums = ErrorSums.nothing(windows.horizon)
    for present in draw_subsets(forecaster.n_variables, share=SHARE, draws=DRAWS, seed=SEED):
        for batch in windows.batches(256):
            forecasts = forecaster.forecast_partial(batch.inputs, present, present)
            sums += ErrorSums.of(forecasts, batch.targets[:, :, present])
    last = sums.at(HORIZON)
    return {"partial_mae_step_12": last.mae, "partial_rmse_step_12": last.rmse}


if __name__ == "__main__":
    main()
