"""What the measurements of a cell share: data, the trained model, and wrappers that are fitted once."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.comparison import Tally
from subcast.datasets import load_dataset
from subcast.errors import DataNotFoundError, InputError
from subcast.evaluation import Method, forecast_all
from subcast.experiments.declaration import Cell
from subcast.forecasters.checkpoint import is_saved_forecaster, load_forecaster
from subcast.retrieval import Neighbors, QueryTable, WindowBank
from subcast.series import Series
from subcast.subset import Settings, SubsetForecaster
from subcast.subset.arrived import Arrived
from subcast.subset.methods.paper import PaperMethod
from subcast.subsets import draw_subsets
from subcast.windows import Split, Windows

LOOKBACK, HORIZON, STEP, SHARE, SEED = 12, 12, 12, 0.15, 2022
AT_ONCE = 256  # windows filled together
KEPT_BYTES = 512 << 20  # of forecasts of filled windows
QUICK_TO_TRAIN = "clouds-small"
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


# What is different in the training of a variant.
VARIANTS = {
    "identity": "no edge between variables",
    "hardened": "random variables dropped while it learns",
    "noise": "noise before MTGNN chooses its strongest edges while it learns",
}
HARDENED = 0.9  # at most this share of the variables is dropped, a different one in every batch
NOISE = 0.01  # of the code of MTGNN's authors


def variant_changes(model: str, variant: str) -> dict[str, Any]:
    """What a variant changes: of the config of the training, of the model's settings, and of its graph."""
    config, settings = {}, {}
    if variant == "hardened":
        config["variable_dropout"] = HARDENED
    if variant == "noise" and model == "mtgnn":
        settings["graph_noise"] = NOISE
    return {"config": config, "settings": settings, "graph": "identity" if variant == "identity" else None}


def trained_name(model: str, dataset: str, seed: int = 0, variant: str = "") -> str:
    """What the folder and the record of a trained model are called.

    >>> trained_name("tcn", "ecg5000"), trained_name("mtgnn", "ecg5000", seed=1, variant="identity")
    ('tcn-ecg5000', 'mtgnn-identity-ecg5000-seed1')
    """
    middle = f"-{variant}" if variant else ""
    return f"{model}{middle}-{dataset}" + (f"-seed{seed}" if seed else "")


def thinned(windows: Windows, most: int) -> Windows:
    """About so many of the windows, evenly spread."""
    return windows[:: max(1, len(windows) // most)]


@dataclass(frozen=True, eq=False)
class Fillings:
    """What the published method forecasts before it weighs: the nearest neighbors first.

    Parameters
    ----------
    each, seen
        forecasts of the windows filled from each neighbor, and of the neighbors themselves, [b, k, h, s]
    neighbors
        the neighbors
    """

    each: NDArray[np.float32]
    seen: NDArray[np.float32]
    neighbors: Neighbors

    @property
    def size(self) -> int:
        """Bytes."""
        return self.each.nbytes + self.seen.nbytes

    @classmethod
    def joined(cls, parts: Iterable[Fillings]) -> Fillings:
        """One after the other."""
        parts = list(parts)
        index, distance = (
            np.concatenate([getattr(part.neighbors, name) for part in parts]) for name in ("index", "distance")
        )
        return cls(
            np.concatenate([part.each for part in parts]),
            np.concatenate([part.seen for part in parts]),
            Neighbors(index, distance),
        )

    def nearest(self, m: int) -> Fillings:
        """Those of the m nearest alone."""
        near = Neighbors(self.neighbors.index[:, :m], self.neighbors.distance[:, :m])
        return Fillings(self.each[:, :m], self.seen[:, :m], near)


def fill_windows(robust: SubsetForecaster, arrived: Arrived, present: NDArray[np.int64]) -> Fillings:
    """Fill windows from each neighbor and forecast them; the neighbors' own forecasts beside them."""
    fitted, settings = robust._fitted, robust.settings_
    neighbors = fitted.retrieve(arrived, present, settings.neighbors, settings.exponent)
    each = PaperMethod(fitted, settings).forecast_each(arrived, present, neighbors, present)
    return Fillings(each, fitted.forecasts_of_neighbors(neighbors)[..., present], neighbors)


@dataclass
class Study:
    """One trained model on one dataset: what all its cells share, each part made when it is first needed.

    Parameters
    ----------
    dataset, kind, seed
        the data, the kind of model ("" for none) and the seed it was trained with
    variant
        what was different in its training ("" for nothing): one of VARIANTS
    checkpoints
        folders of trained models, looked through in turn; a model trained on the way goes to the last
    progress
        whether to show bars
    """

    dataset: str
    kind: str
    seed: int
    variant: str
    checkpoints: tuple[Path, ...]
    progress: bool = True
    tallies: dict[Hashable, Tally] = field(default_factory=dict)
    """What was measured, by method, draw of S and windows: many experiments ask for the same."""
    fillings: dict[Hashable, Fillings] = field(default_factory=dict)
    """Forecasts of filled windows, the newest last: the weightings of one bank share them."""

    @classmethod
    def of(cls, cell: Cell, checkpoints: tuple[Path, ...], progress: bool = True) -> Study:
        """The study that a cell belongs to."""
        return cls(cell.dataset, cell.model, cell.seed, cell.variant, checkpoints, progress)

    def serves(self, cell: Cell) -> bool:
        """Whether a cell belongs to it."""
        asked = (cell.dataset, cell.model, cell.seed, cell.variant)
        return asked == (self.dataset, self.kind, self.seed, self.variant)

    @cached_property
    def series(self) -> Series:
        """The data."""
        return open_data(self.dataset)

    @cached_property
    def split(self) -> Split:
        """Its parts."""
        return split_data(self.series, self.dataset)

    @property
    def n(self) -> int:
        """The number of variables."""
        return self.series.n_variables

    def some_of_validation(self, most: int) -> Windows:
        """About so many validation windows, evenly spread."""
        return thinned(self.split.val, most)

    @cached_property
    def model(self) -> Any:
        """The trained model."""
        return self.trained()

    def trained_name(self, variant: str = "") -> str:
        """What the folder of the model, or of a variant of it, is called."""
        return trained_name(self.kind, self.dataset, self.seed, variant or self.variant)

    def folder(self, variant: str = "") -> Path | None:
        """The folder of the trained model, or of a variant of it; None where there is none."""
        named = (folder / self.trained_name(variant) for folder in self.checkpoints)
        return next((folder for folder in named if is_saved_forecaster(folder)), None)

    def has_trained(self, variant: str) -> bool:
        """Whether a variant of the model is there, or is quick to train."""
        return self.dataset == QUICK_TO_TRAIN or self.folder(variant) is not None

    @cached_property
    def weights(self) -> str | None:
        """The fingerprint of the model."""
        return self.fingerprint()

    def fingerprint(self, variant: str = "") -> str | None:
        """What tells the weights of the model, or of a variant of it, from those of another training.

        A model that is quick to train is trained now, if it has not been.
        """
        if self.kind and self.dataset == QUICK_TO_TRAIN and self.folder(variant) is None:
            self.trained(variant)
        folder = self.folder(variant) if self.kind else None
        if folder is None:
            return None
        parts = [path.read_bytes() for path in sorted(folder.glob("*.safetensors"))]
        return hashlib.sha256(b"".join(parts)).hexdigest()[:16]

    def trained(self, variant: str = "") -> Any:
        """The model or a variant of it: loaded, or trained where that is quick."""
        name, folder = self.trained_name(variant), self.folder(variant)
        if folder is not None:
            return load_forecaster(folder)
        if self.dataset != QUICK_TO_TRAIN:
            where = " or ".join(str(folder) for folder in self.checkpoints)
            raise DataNotFoundError(
                f"there is no trained model {name} in {where}: train it first "
                f"(python benchmarks/train_records.py {name}, or subcast train)"
            )
        return self._train(name, variant or self.variant)

    def _train(self, name: str, variant: str) -> Any:
        """A small model for the small dataset, kept for the other experiments."""
        from subcast.training import TrainConfig, train

        changes = variant_changes(self.kind, variant)
        config = replace(TrainConfig(epochs=4, seed=self.seed, progress=False), **changes["config"])
        options = {"settings": changes["settings"], "graph": changes["graph"]}
        trained = train(self.kind, self.split.train, self.split.val, config, **options)
        trained.save(self.checkpoints[-1] / name)
        return trained

    @cached_property
    def paper(self) -> SubsetForecaster:
        """The published method, whose engine serves all its variants of the same bank."""
        return SubsetForecaster.paper(self.model, progress=self.progress).fit(self.split.train)

    @cached_property
    def default(self) -> SubsetForecaster:
        """The default of subcast, tuned on validation windows for as long as it takes."""
        robust = SubsetForecaster(self.model, progress=self.progress)
        return robust.fit(self.split.train, self.split.val)

    def paper_with(self, fraction: float = 1.0, **changes: Any) -> SubsetForecaster:
        """The published method with other settings; what the neighbors' own forecasts cost is paid once."""
        settings = Settings.paper(**changes)
        if fraction < 1.0:
            settings = replace(settings, bank_share=fraction)
            return SubsetForecaster(self.model, settings=settings, progress=False).fit(self.split.train)
        return self.paper.with_settings(settings)

    def query_table(self, robust: SubsetForecaster, **options: Any) -> QueryTable:
        """The appendix's table over the bank of a wrapper, its first ranges set by validation windows."""
        fitted = robust._fitted
        if not isinstance(fitted.bank, WindowBank):
            raise InputError("the query table of the appendix searches a WindowBank alone")
        return QueryTable(fitted.bank, fitted.whole_windows(self.some_of_validation(200)), **options)


@dataclass
class Context:
    """A cell at work.

    Parameters
    ----------
    cell
        what is measured
    study
        the trained model and data it is measured on
    """

    cell: Cell
    study: Study

    @cached_property
    def test(self) -> Windows:
        """Every so many test windows."""
        return self.study.split.test[:: self.cell.every]

    def draws(self, share: float = SHARE, draws: int | None = None) -> list[NDArray[np.int64]]:
        """The draws of S, the same for every method and experiment."""
        count = self.cell.draws if draws is None else draws
        return [np.sort(draw) for draw in draw_subsets(self.study.n, share=share, draws=count, seed=SEED)]

    @cached_property
    def whole(self) -> NDArray[np.float32]:
        """The model's forecasts of all test windows with all variables in, [b, h, n]."""
        return forecast_all(self.study.model, self.test)

    def tally(self, forecast: NDArray[np.floating[Any]], present: NDArray[np.int64]) -> Tally:
        """The errors of forecasts of S over the test windows."""
        return Tally.of(forecast, self.test.targets[:, :, present], STEP)

    def measured(self, method: Hashable, present: NDArray[np.int64], forecast: Method) -> Tally:
        """The errors of a method under a draw of S: forecast now, or known from an experiment before."""
        key = (method, self.test.starts, present.tobytes())
        if key not in self.study.tallies:
            self.study.tallies[key] = self.tally(forecast(self.test, present), present)
        return self.study.tallies[key]

    def fillings(self, robust: SubsetForecaster, windows: Windows, present: NDArray[np.int64]) -> Fillings:
        """What a wrapper of the published kind weighs, made once for all that share neighbors and windows."""
        settings, fitted, kept = robust.settings_, robust._fitted, self.study.fillings
        key = (windows.starts, present.tobytes(), settings.exponent, settings.bank_share)
        found = kept.pop(key, None)
        m = min(settings.neighbors, len(fitted.bank))
        if found is None or found.each.shape[1] < m:
            arrived = fitted.arrive(windows)
            found = Fillings.joined(
                fill_windows(robust, arrived[first : first + AT_ONCE], present)
                for first in range(0, len(arrived), AT_ONCE)
            )
        kept[key] = found
        while len(kept) > 1 and sum(one.size for one in kept.values()) > KEPT_BYTES:
            kept.pop(next(iter(kept)))
        return found.nearest(m)
