"""Declarations of experiments: a small TOML file each, with datasets, models, methods and sizes."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from itertools import product
from typing import Any

from subcast.axes import check_whole
from subcast.errors import InputError

SCALES = ("quick", "full")


@dataclass(frozen=True)
class Experiment:
    """One table or figure.

    Parameters
    ----------
    name
        its name for `subcast reproduce`
    paper
        the table or figure of the paper
    title
        what it shows
    question
        the question that it answers
    measure
        name of the measurement that is made in each cell
    datasets, models
        each pair is a cell; models may be empty for a measurement that needs none
    options
        options of the measurement
    scales
        for "quick" and "full": number of `draws` and `seeds`, `every` (evaluate every Nth test window), and `options`
        of the measurement
    """

    name: str
    paper: str
    title: str
    question: str
    measure: str
    datasets: tuple[str, ...]
    models: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    scales: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def cells(
        self,
        scale: str,
        *,
        datasets: tuple[str, ...] = (),
        models: tuple[str, ...] = (),
        seeds: int | None = None,
        draws: int | None = None,
        every: int | None = None,
    ) -> list[Cell]:
        """Return the cells at a scale, of all declared datasets and models or of the given ones."""
        if scale not in SCALES:
            raise InputError(f"scale must be one of {', '.join(SCALES)}, got {scale!r}")
        sizes = dict(self.scales.get(scale, {}))
        given = {"seeds": seeds, "draws": draws, "every": every}
        for name, value in given.items():
            if value is not None:
                check_whole(name, value)
        sizes |= {name: value for name, value in given.items() if value is not None}
        cell_datasets = datasets or tuple(sizes.get("datasets", self.datasets))
        cell_models = models or tuple(sizes.get("models", self.models)) if self.models else ("",)
        return [
            Cell(self, dataset, model, seed, int(sizes.get("draws", 20)), int(sizes.get("every", 1)), scale)
            for dataset, model, seed in product(cell_datasets, cell_models, range(int(sizes.get("seeds", 1))))
        ]


@dataclass(frozen=True)
class Cell:
    """One dataset, model and seed of an experiment; each cell has one record."""

    experiment: Experiment
    dataset: str
    model: str
    seed: int
    draws: int
    every: int
    scale: str = "quick"

    @property
    def options(self) -> dict[str, Any]:
        """Options of the measurement; those of the scale override those of the experiment."""
        return {**self.experiment.options, **self.experiment.scales.get(self.scale, {}).get("options", {})}

    @property
    def variant(self) -> str:
        """Name of the training variant of its model, "" for the plain training."""
        return str(self.options.get("variant", ""))

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that it compares."""
        return tuple(declared.get("method", declared["name"]) for declared in self.options.get("methods", ()))

    @property
    def name(self) -> str:
        """Name of its record."""
        names = [name for name in (self.dataset, self.model) if name]
        return "-".join(names) + (f"-seed{self.seed}" if self.seed else "")


@cache
def load_experiments() -> dict[str, Experiment]:
    """Return all experiments of the catalog by name, in the order of the paper."""
    ordered = []
    for file in resources.files("subcast.experiments").joinpath("catalog").iterdir():
        if file.name.endswith(".toml"):
            declared = tomllib.loads(file.read_text(encoding="utf-8"))
            ordered.append((declared.pop("order"), _experiment(file.name, declared)))
    return {experiment.name: experiment for _, experiment in sorted(ordered, key=lambda pair: pair[0])}


def get_experiment(name: str) -> Experiment:
    """Return an experiment by name.

    >>> get_experiment("table-main").paper
    'table 4'
    """
    experiments = load_experiments()
    if name not in experiments:
        raise InputError(f"there is no experiment {name!r}; there are {', '.join(experiments)}")
    return experiments[name]


def _experiment(file: str, declared: dict[str, Any]) -> Experiment:
    scales = {scale: declared.pop(scale, {}) for scale in SCALES}
    try:
        lists = {"datasets": tuple(declared["datasets"]), "models": tuple(declared.get("models", ()))}
        return Experiment(**{**declared, **lists}, scales=scales)
    except (KeyError, TypeError) as error:
        raise InputError(f"the declaration {file} lacks a field or has an unknown one: {error}") from None
