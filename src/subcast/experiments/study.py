"""What the cells of one trained model share: its data, the model, wrappers fitted once, and forecasts."""

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
from subcast.forecasters import FORECASTERS
from subcast.forecasters.checkpoint import is_saved_forecaster, load_forecaster
from subcast.retrieval import Neighbors, QueryTable, WindowBank
from subcast.series import Series
from subcast.subset import Settings, SubsetForecaster
from subcast.subset.arrived import Arrived
from subcast.subset.methods.paper import PaperMethod
from subcast.subsets import draw_subsets
from subcast.windows import Split, Windows

LOOKBACK, HORIZON, STEP, SHARE, SEED = 12, 12, 12, 0.15, 2022
EFFORT = 1.0
"""Of tuning the default; tests use less."""
AT_ONCE = 256  # windows completed together
KEPT_BYTES = 512 << 20  # most bytes of forecasts of completed windows
QUICK_TO_TRAIN = "clouds-small"
OPTIONS: dict[str, dict[str, Any]] = {
    "clouds": {"n_plants": 137, "n_steps": 10_000},
    "clouds-solar-size": {"n_plants": 137, "n_steps": 52_560},
    "clouds-small": {"n_plants": 20, "n_steps": 2_500},
}
# Datasets whose models of record were trained with the default protocol; all others follow the paper's.
DEFAULT_PROTOCOL = ("metr-la-29", "pems-bay-67", "beijing-pollutants")
CALENDAR = ("time_of_day", "day_of_week")  # time features of the training variant "calendar"


def open_data(dataset: str, variant: str = "") -> Series:
    """Return a dataset with the options that the experiments use, and the time features of a training variant."""
    name = "clouds" if dataset.startswith("clouds") else dataset
    series = load_dataset(name, **OPTIONS.get(dataset, {}))
    return series.with_features(*CALENDAR) if variant == "calendar" else series


def split_data(series: Series, dataset: str) -> Split:
    """Return its training, validation and test windows."""
    protocol = "default" if dataset in DEFAULT_PROTOCOL else "paper"
    return series.split(LOOKBACK, HORIZON, protocol=protocol)


# Training variants, with what differs from the plain training.
VARIANTS = {
    "identity": "no edge between variables",
    "hardened": "random variables dropped while it learns",
    "masked": "as many variables dropped while it learns as in the test",
    "noise": "noise before MTGNN chooses its strongest edges while it learns",
    "calendar": "time of day and day of the week as further inputs",
}
HARDENED = 0.9  # the share of dropped variables is drawn anew for every batch, up to this
MASKED = 1 - SHARE  # the share of dropped variables in every batch
NOISE = 0.01  # that of the code of MTGNN's authors


def variant_changes(model: str, variant: str) -> dict[str, Any]:
    """Return what a variant changes: in the training configuration, in the model's settings, and its graph.

    >>> variant_changes("tcn", "hardened")
    {'config': {'variable_dropout': 0.9}, 'settings': {}, 'graph': None}
    """
    config: dict[str, float] = {}
    settings: dict[str, float] = {}
    if variant == "hardened":
        config["variable_dropout"] = HARDENED
    if variant == "masked":
        config |= {"variable_dropout": MASKED, "variable_dropout_least": MASKED}
    if variant == "noise" and FORECASTERS[model].learns_graph:
        settings["graph_noise"] = NOISE
    return {"config": config, "settings": settings, "graph": "identity" if variant == "identity" else None}


def trained_name(model: str, dataset: str, seed: int = 0, variant: str = "") -> str:
    """Return the name of the folder and of the record of a trained model.

    >>> trained_name("tcn", "ecg5000"), trained_name("mtgnn", "ecg5000", seed=1, variant="identity")
    ('tcn-ecg5000', 'mtgnn-identity-ecg5000-seed1')
    """
    middle = f"-{variant}" if variant else ""
    return f"{model}{middle}-{dataset}" + (f"-seed{seed}" if seed else "")


def thin_windows(windows: Windows, count: int) -> Windows:
    """Return about `count` of the windows, evenly spread."""
    return windows[:: max(1, len(windows) // count)]


@dataclass(frozen=True, eq=False)
class Completions:
    """Forecasts of the published method before they are weighted, the nearest neighbors first.

    Parameters
    ----------
    each, seen
        forecasts of the windows completed from each neighbor, and of the neighbors themselves, [b, k, h, s]
    neighbors
        the neighbors
    """

    each: NDArray[np.float32]
    seen: NDArray[np.float32]
    neighbors: Neighbors

    @property
    def size(self) -> int:
        """Number of bytes."""
        return self.each.nbytes + self.seen.nbytes

    @classmethod
    def join(cls, batches: Iterable[Completions]) -> Completions:
        """Join the forecasts of batches of windows."""
        batches = list(batches)
        index, distance = (
            np.concatenate([getattr(batch.neighbors, name) for batch in batches]) for name in ("index", "distance")
        )
        return cls(
            np.concatenate([batch.each for batch in batches]),
            np.concatenate([batch.seen for batch in batches]),
            Neighbors(index, distance),
        )

    def nearest(self, m: int) -> Completions:
        """Return those of the m nearest neighbors."""
        nearest = Neighbors(self.neighbors.index[:, :m], self.neighbors.distance[:, :m])
        return Completions(self.each[:, :m], self.seen[:, :m], nearest)


def complete_windows(robust: SubsetForecaster, arrived: Arrived, present: NDArray[np.int64]) -> Completions:
    """Complete windows from each neighbor and forecast them, together with the neighbors' own forecasts."""
    fitted, settings = robust.fitted_, robust.settings_
    neighbors = fitted.retrieve(arrived, present, settings.neighbors, settings.exponent)
    each = PaperMethod(fitted, settings).forecast_each(arrived, present, neighbors, present)
    return Completions(each, fitted.forecasts_of_neighbors(neighbors)[..., present], neighbors)


@dataclass
class Study:
    """One trained model on one dataset, with everything that its cells share; each part is made when first needed.

    Parameters
    ----------
    dataset, kind, seed
        the dataset, the kind of model ("" for none) and the seed of its training
    variant
        training variant: one of VARIANTS, "" for the plain training
    checkpoints
        folders of trained models, searched in order; a model that is trained here is saved in the last
    progress
        whether to show progress bars
    """

    dataset: str
    kind: str
    seed: int
    variant: str
    checkpoints: tuple[Path, ...]
    progress: bool = True
    tallies: dict[Hashable, Tally] = field(default_factory=dict)
    """Tallies by method, draw of S and windows: many experiments need the same ones."""
    completions: dict[Hashable, Completions] = field(default_factory=dict)
    """Forecasts of completed windows, the newest last: weightings with the same bank share them."""

    @classmethod
    def of(cls, cell: Cell, checkpoints: tuple[Path, ...], progress: bool = True) -> Study:
        """Return the study that a cell belongs to."""
        return cls(cell.dataset, cell.model, cell.seed, cell.variant, checkpoints, progress)

    def serves(self, cell: Cell) -> bool:
        """Return whether a cell belongs to this study."""
        needed = (cell.dataset, cell.model, cell.seed, cell.variant)
        return needed == (self.dataset, self.kind, self.seed, self.variant)

    @cached_property
    def series(self) -> Series:
        """The data."""
        return open_data(self.dataset, self.variant)

    @cached_property
    def split(self) -> Split:
        """Training, validation and test windows."""
        return split_data(self.series, self.dataset)

    @property
    def n(self) -> int:
        """The number of variables."""
        return self.series.n_variables

    def validation_windows(self, count: int) -> Windows:
        """Return about `count` validation windows, evenly spread."""
        return thin_windows(self.split.val, count)

    @cached_property
    def model(self) -> Any:
        """The trained model."""
        return self.trained()

    def trained_name(self, variant: str = "") -> str:
        """Return the name of the folder of the model, or of a variant of it."""
        return trained_name(self.kind, self.dataset, self.seed, variant or self.variant)

    def folder(self, variant: str = "") -> Path | None:
        """Return the folder of the trained model, or of a variant of it; None if it was not trained."""
        folders = (checkpoints / self.trained_name(variant) for checkpoints in self.checkpoints)
        return next((folder for folder in folders if is_saved_forecaster(folder)), None)

    def has_trained(self, variant: str) -> bool:
        """Return whether a variant of the model was trained, or can be trained quickly."""
        return self.dataset == QUICK_TO_TRAIN or self.folder(variant) is not None

    @cached_property
    def weights(self) -> str | None:
        """The fingerprint of the model."""
        return self.fingerprint()

    def fingerprint(self, variant: str = "") -> str | None:
        """Return a checksum of the weights of the model, or of a variant of it; None if it was not trained.

        A model that is quick to train is trained first.
        """
        if self.kind and self.dataset == QUICK_TO_TRAIN and self.folder(variant) is None:
            self.trained(variant)
        folder = self.folder(variant) if self.kind else None
        if folder is None:
            return None
        files = [path.read_bytes() for path in sorted(folder.glob("*.safetensors"))]
        return hashlib.sha256(b"".join(files)).hexdigest()[:16]

    def trained(self, variant: str = "") -> Any:
        """Return the model or a variant of it: loaded, or trained where that is quick."""
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
        """Train a small model for the small dataset, and save it for the other experiments."""
        from subcast.training import TrainConfig, train

        changes = variant_changes(self.kind, variant)
        config = replace(TrainConfig(epochs=4, seed=self.seed, progress=False), **changes["config"])
        options = {"settings": changes["settings"], "graph": changes["graph"]}
        trained = train(self.kind, self.split.train, self.split.val, config, **options)
        trained.save(self.checkpoints[-1] / name)
        return trained

    @cached_property
    def paper(self) -> SubsetForecaster:
        """The published method; settings that need no other bank share its engine."""
        return SubsetForecaster.paper(self.model, progress=self.progress).fit(self.split.train)

    @cached_property
    def default(self) -> SubsetForecaster:
        """The default of subcast, tuned on validation windows."""
        robust = SubsetForecaster(self.model, effort=EFFORT, progress=self.progress)
        return robust.fit(self.split.train, self.split.val)

    def paper_with(self, fraction: float = 1.0, **changes: Any) -> SubsetForecaster:
        """Return the published method with other settings; the neighbors' own forecasts are computed once."""
        settings = Settings.paper(**changes)
        if fraction < 1.0:
            settings = replace(settings, bank_share=fraction)
            return SubsetForecaster(self.model, settings=settings, progress=False).fit(self.split.train)
        return self.paper.with_settings(settings)

    def query_table(self, robust: SubsetForecaster, **options: Any) -> QueryTable:
        """Return the appendix's query table over the bank of a wrapper, with first ranges from validation windows."""
        fitted = robust.fitted_
        if not isinstance(fitted.bank, WindowBank):
            raise InputError(
                f"bank must be a WindowBank for the query table of the appendix, got {type(fitted.bank).__name__}"
            )
        return QueryTable(fitted.bank, fitted.whole_windows(self.validation_windows(200)), **options)


@dataclass
class Context:
    """A cell with the study that it is measured on.

    Parameters
    ----------
    cell
        what is measured
    study
        the trained model and its data
    """

    cell: Cell
    study: Study

    @cached_property
    def test(self) -> Windows:
        """Every Nth test window."""
        return self.study.split.test[:: self.cell.every]

    def draws(self, share: float = SHARE, draws: int | None = None) -> list[NDArray[np.int64]]:
        """Return the draws of S, the same for every method and experiment."""
        count = self.cell.draws if draws is None else draws
        return [np.sort(draw) for draw in draw_subsets(self.study.n, share=share, draws=count, seed=SEED)]

    @cached_property
    def oracle_forecasts(self) -> NDArray[np.float32]:
        """The model's forecasts of the test windows, given all variables, [b, h, n]."""
        return forecast_all(self.study.model, self.test)

    def tally(self, forecast: NDArray[np.floating[Any]], present: NDArray[np.int64]) -> Tally:
        """Tally the errors of forecasts of S on the test windows."""
        return Tally.of(forecast, self.test.targets[:, :, present], steps=(STEP,))

    def measured(self, method: Hashable, present: NDArray[np.int64], forecast: Method) -> Tally:
        """Return the tally of a method under a draw of S; forecasts only if no other experiment did before."""
        key = (method, self.test.starts, present.tobytes())
        if key not in self.study.tallies:
            self.study.tallies[key] = self.tally(forecast(self.test, present), present)
        return self.study.tallies[key]

    def completions(self, robust: SubsetForecaster, windows: Windows, present: NDArray[np.int64]) -> Completions:
        """Return the forecasts that a wrapper of the published kind weights, computed once for the same neighbors."""
        settings, fitted, cache = robust.settings_, robust.fitted_, self.study.completions
        key = (windows.starts, present.tobytes(), settings.exponent, settings.bank_share)
        completions = cache.pop(key, None)
        m = min(settings.neighbors, len(fitted.bank))
        if completions is None or completions.each.shape[1] < m:
            arrived = fitted.arrive(windows)
            completions = Completions.join(
                complete_windows(robust, arrived[first : first + AT_ONCE], present)
                for first in range(0, len(arrived), AT_ONCE)
            )
        cache[key] = completions
        while len(cache) > 1 and sum(cached.size for cached in cache.values()) > KEPT_BYTES:
            cache.pop(next(iter(cache)))
        return completions.nearest(m)
