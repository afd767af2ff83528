"""`subcast train`: train a forecaster on a table of readings and save it to a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from subcast.commands.datasets import check_preset, open_series
from subcast.errors import InputError
from subcast.forecasters.trained import TrainedForecaster
from subcast.metrics import ErrorSums
from subcast.series import Series
from subcast.training import TrainConfig, train
from subcast.training.config import PAPER_CURRICULUM
from subcast.windows import Windows


def run_training(
    data: str | Series,
    model: str,
    output: Path,
    *,
    table: Mapping[str, str | None] | None = None,
    preset: str = "default",
    lookback: int = 12,
    horizon: int = 12,
    epochs: int | None = None,
    graph: str | None = None,
    **config: Any,
) -> None:
    """Train a model on a dataset or a file, print its test error, and save it to a folder.

    Parameters
    ----------
    data
        name of a dataset, a file of readings, or a series that was read before
    table
        how the file is read, as in `open_series`
    model
        a name in `FORECASTERS`
    output
        the folder; an interrupted training in it is resumed
    preset
        "default", or "paper" for the published settings and protocol
    lookback, horizon
        number of past steps and of steps to forecast
    epochs
        maximum number of epochs; the preset decides by default
    graph
        "series", "correlation", "identity", or the folder of a trained model with a graph
    config
        other fields of `TrainConfig`: `seed`, `threads`, `device`, `progress`
    """
    check_preset(preset)
    series = data if isinstance(data, Series) else open_series(data, **(table or {}))
    split = series.split(lookback, horizon, protocol=preset)
    settings = _train_config(preset, series.name, {**config, **({} if epochs is None else {"epochs": epochs})})
    graph_source = TrainedForecaster.load(graph) if graph is not None and Path(graph).is_dir() else graph
    console = Console(highlight=False)
    console.print(series, f"{split.train}, {len(split.val):,} for validation, {len(split.test):,} for test", sep="\n")
    forecaster = train(model, split.train, split.val, settings, graph=graph_source, folder=output)
    console.print(f"best epoch {forecaster.training['best_epoch']} of {len(forecaster.history)}")
    if forecaster.graph_source is not None:
        console.print(f"graph: {forecaster.graph_source}")
    console.print(_test_errors(forecaster, split.test, series.unit))
    console.print(f"written to {output} (losses.png shows the training and validation losses)")


def _train_config(preset: str, dataset: str, changes: dict[str, Any]) -> TrainConfig:
    if preset != "paper":
        return TrainConfig(**changes)
    if dataset not in PAPER_CURRICULUM:
        raise InputError(
            f"--preset paper needs a dataset with published settings ({', '.join(PAPER_CURRICULUM)}), got {dataset!r}: "
            "use --preset default"
        )
    return TrainConfig.paper(dataset, **changes)


def _test_errors(forecaster: TrainedForecaster, test: Windows, unit: str) -> str:
    """Describe the mean absolute error at the first, middle and last step."""
    sums = ErrorSums.nothing(test.horizon)
    for batch in test.batches(256):
        sums += ErrorSums.of(forecaster(batch.inputs), batch.targets)
    steps = sorted({1, (test.horizon + 1) // 2, test.horizon})
    errors = ", ".join(f"{sums.at(step).mae:.4g} at step {step}" for step in steps)
    return f"mean absolute error on the test windows{f', in {unit}' if unit else ''}: {errors}"
