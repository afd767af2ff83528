"""What the measurements of a cell share: data, the trained model, and wrappers that are fitted once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.checkpoint import is_saved_forecaster, load_forecaster
from subcast.datasets import load_dataset
from subcast.errors import DataNotFoundError
from subcast.experiments.declare import Cell
from subcast.metrics import ErrorSums
from subcast.retrieval import QueryTable
from subcast.series import Series
from subcast.subsets import draw_subsets
from subcast.windows import Split, Windows
from subcast.wrapper import Settings, SubsetForecaster

LOOKBACK, HORIZON, STEP, SHARE, SEED = 12, 12, 12, 0.15, 2022
OPTIONS: dict[str, dict[str, Any]] = {
    "clouds": {"n_plants": 137, "n_steps": 10_000},
    "clouds-small": {"n_plants": 20, "n_steps": 2_500},
}
# Datasets whose models of record were trained with the default protocol; all others follow the paper's.
DEFAULT_PROTOCOL = ("metr-la-29", "pems-bay-67")


def open_data(dataset: str) -> Series:
    """A dataset as the experiments take it."""
    name = "clouds" if dataset.startswith("clouds") else dataset
    return load_dataset(name, **OPTIONS.get(dataset, {}))


def split_data(series: Series, dataset: str) -> Split:
    """Its three parts."""
    protocol = "default" if dataset in DEFAULT_PROTOCOL else "paper"
    return series.split(LOOKBACK, HORIZON, protocol=protocol)


def thinned(windows: Windows, most: int) -> Windows:
    """About so many of the windows, evenly spread."""
    return windows[:: max(1, len(windows) // most)]


@dataclass
class Context:
    """A cell at work.

    Parameters
    ----------
    cell
        what is measured
    checkpoints
        folders of trained models, looked through in turn; a model trained on the way goes to the last
    progress
        whether to show bars
    """

    cell: Cell
    checkpoints: tuple[Path, ...]
    progress: bool = True

    @cached_property
    def series(self) -> Series:
        """The data."""
        return open_data(self.cell.dataset)

    @cached_property
    def split(self) -> Split:
        """Its parts."""
        return split_data(self.series, self.cell.dataset)

    @cached_property
    def test(self) -> Windows:
        """Every so many test windows."""
        return self.split.test[:: self.cell.every]

    def some_of_validation(self, most: int) -> Windows:
        """About so many validation windows, evenly spread."""
        return thinned(self.split.val, most)

    @cached_property
    def model(self) -> Any:
        """The trained model of the cell."""
        return self.trained()

    @property
    def n(self) -> int:
        """The number of variables."""
        return self.series.n_variables

    def trained(self, variant: str = "") -> Any:
        """A model by the cell's name and a variant (identity, hardened): loaded, or trained where that is quick."""
        seed = f"-seed{self.cell.seed}" if self.cell.seed else ""
        name = f"{self.cell.model}{f'-{variant}' if variant else ''}-{self.cell.dataset}{seed}"
        for folder in self.checkpoints:
            if is_saved_forecaster(folder / name):
                return load_forecaster(folder / name)
        if self.cell.dataset != "clouds-small":
            where = " or ".join(str(folder) for folder in self.checkpoints)
            raise DataNotFoundError(
                f"there is no trained model {name} in {where}: train it first "
                f"(python benchmarks/train_records.py {name}, or subcast train)"
            )
        return self._train(name, variant)

    def _train(self, name: str, variant: str) -> Any:
        """A small model for the small dataset, kept for the other experiments."""
        from subcast.training import TrainConfig, train

        options: dict[str, Any] = {"graph": "identity"} if variant == "identity" else {}
        settings = TrainConfig(epochs=4, seed=self.cell.seed, progress=False)
        if variant == "hardened":
            settings = replace(settings, variable_dropout=0.5)
        trained = train(self.cell.model, self.split.train, self.split.val, settings, **options)
        trained.save(self.checkpoints[-1] / name)
        return trained

    def draws(self, share: float = SHARE, draws: int | None = None) -> list[NDArray[np.int64]]:
        """The draws of S, the same for every method and experiment."""
        count = self.cell.draws if draws is None else draws
        return [np.sort(draw) for draw in draw_subsets(self.n, share=share, draws=count, seed=SEED)]

    @cached_property
    def whole(self) -> NDArray[np.float32]:
        """The model's forecasts of all test windows with all variables in, [b, h, n]."""
        parts = [self.model(batch.inputs) for batch in self.test.batches(256)]
        return np.concatenate(parts)

    @cached_property
    def paper(self) -> SubsetForecaster:
        """The published method, whose engine serves all its variants of the same bank."""
        return SubsetForecaster.paper(self.model, progress=self.progress).fit(self.split.train)

    def paper_with(self, **changes: Any) -> SubsetForecaster:
        """The published method with other settings; what the neighbours' own forecasts cost is paid once."""
        fraction = changes.pop("fraction", 1.0)
        settings = Settings.paper(**changes)
        if fraction < 1.0:
            settings = replace(settings, bank_share=fraction)
            return SubsetForecaster(self.model, settings=settings, progress=False).fit(self.split.train)
        return self.paper.with_settings(settings)

    @cached_property
    def default(self) -> SubsetForecaster:
        """The default of subcast, tuned on validation windows."""
        return SubsetForecaster(self.model, progress=self.progress).fit(self.split.train, self.split.val)

    def query_table(self, robust: SubsetForecaster, **options: Any) -> QueryTable:
        """The appendix's table over the bank of a wrapper, its first ranges set by validation windows."""
        windows = robust.engine.windows_in_space(self.some_of_validation(200), robust.settings)
        return QueryTable(robust.engine.bank, windows, **options)

    def errors(self, forecast: NDArray[np.floating[Any]], present: NDArray[np.int64]) -> ErrorSums:
        """The errors of forecasts of S over the test windows."""
        return ErrorSums.of(forecast, self.test.targets[:, :, present])
