"""`subcast train`: from a table of readings to a trained forecaster in a folder."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from subcast.commands.datasets import open_series
from subcast.errors import InputError
from subcast.forecasters.trained import TrainedForecaster
from subcast.metrics import ErrorSums
from subcast.training import TrainConfig, train
from subcast.windows import Windows


def run_training(
    data: str,
    model: str,
    output: Path,
    *,
    preset: str = "default",
    lookback: int = 12,
    horizon: int = 12,
    epochs: int | None = None,
    seed: int = 0,
    graph: str | None = None,
    threads: int | None = None,
    device: str = "auto",
    progress: bool = True,
) -> None:
    """Train a model on a dataset by name or a file, say how well it does, and leave it in a folder.

    Parameters
    ----------
    data
        a dataset by name, or a file of readings
    model
        one of `FORECASTERS`
    output
        the folder; one with an interrupted training goes on
    preset
        "default", or "paper" for the published settings and protocol
    lookback, horizon
        steps seen and steps forecast
    epochs, seed, threads, device, progress
        as in `TrainConfig`; epochs as the preset says by default
    graph
        "series", "correlation", "identity", or the folder of a trained MTGNN
    """
    if preset not in ("default", "paper"):
        raise InputError(f"preset must be 'default' or 'paper', got {preset!r}")
    series = open_series(data)
    split = series.split(lookback, horizon, protocol=preset)
    changes = {"seed": seed, "threads": threads, "device": device, "progress": progress}
    if epochs is not None:
        changes["epochs"] = epochs
    config = TrainConfig.paper(series.name, **changes) if preset == "paper" else TrainConfig(**changes)  # type: ignore[arg-type]
    console = Console(highlight=False)
    console.print(f"{series}\n{split.train}, {len(split.val):,} to choose the epoch by, {len(split.test):,} to test")
    chosen = TrainedForecaster.load(graph) if graph is not None and Path(graph).is_dir() else graph
    forecaster = train(model, split.train, split.val, config, graph=chosen, folder=output)
    console.print(f"best epoch {forecaster.training['best_epoch']} of {len(forecaster.history)}")
    if forecaster.graph_source is not None:
        console.print(f"graph: {forecaster.graph_source}")
    _show_errors(console, forecaster, split.test, series.unit)
    console.print(f"written to {output} (losses.png shows the course of the training)")


def _show_errors(console: Console, forecaster: TrainedForecaster, test: Windows, unit: str) -> None:
    sums = ErrorSums.nothing(test.horizon)
    for batch in test.batches(256):
        sums += ErrorSums.of(forecaster(batch.inputs), batch.targets)
    ends = sorted({1, (test.horizon + 1) // 2, test.horizon})
    steps = ", ".join(f"{sums.at(step).mae:.4g} at step {step}" for step in ends)
    console.print(f"mean absolute error on the test windows{f', in {unit}' if unit else ''}: {steps}")
