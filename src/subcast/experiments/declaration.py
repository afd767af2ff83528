"""Experiments as they are declared: a small TOML file each, saying what varies and what is held."""

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
        what `subcast reproduce` calls it
    paper
        where it stands in the paper
    title
        what it shows
    question
        what a reader wants to know from it
    measure
        which measurement makes a cell of it
    datasets, models
        each pair is a cell; models may be empty for what needs none
    options
        what the measurement is told
    scales
        for "quick" and "full": how many draws and seeds, every how many test windows, and options of their own
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
        """The cells at a scale, those of some datasets and models when named."""
        if scale not in SCALES:
            raise InputError(f"scale must be one of {', '.join(SCALES)}, got {scale!r}")
        told = dict(self.scales.get(scale, {}))
        given = {"seeds": seeds, "draws": draws, "every": every}
        for name, value in given.items():
            if value is not None:
                check_whole(name, value)
        told |= {name: value for name, value in given.items() if value is not None}
        chosen = datasets or tuple(told.get("datasets", self.datasets))
        kinds = models or tuple(told.get("models", self.models)) or ("",)
        if not self.models:
            kinds = ("",)
        return [
            Cell(self, dataset, model, seed, int(told.get("draws", 20)), int(told.get("every", 1)), scale)
            for dataset, model, seed in product(chosen, kinds, range(int(told.get("seeds", 1))))
        ]


@dataclass(frozen=True)
class Cell:
    """One dataset and model of an experiment, at one seed: what leaves one record."""

    experiment: Experiment
    dataset: str
    model: str
    seed: int
    draws: int
    every: int
    scale: str = "quick"

    @property
    def options(self) -> dict[str, Any]:
        """What the measurement is told, that of the scale first."""
        return {**self.experiment.options, **self.experiment.scales.get(self.scale, {}).get("options", {})}

    @property
    def variant(self) -> str:
        """What was different in the training of its model, "" for nothing."""
        return str(self.options.get("variant", ""))

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that it compares."""
        return tuple(told.get("method", told["name"]) for told in self.options.get("methods", ()))

    @property
    def name(self) -> str:
        """What its record is called."""
        parts = [part for part in (self.dataset, self.model) if part]
        return "-".join(parts) + (f"-seed{self.seed}" if self.seed else "")


@cache
def load_experiments() -> dict[str, Experiment]:
    """All experiments of the catalog by name, in the order of the paper."""
    found = []
    for file in resources.files("subcast.experiments").joinpath("catalog").iterdir():
        if file.name.endswith(".toml"):
            told = tomllib.loads(file.read_text(encoding="utf-8"))
            found.append((told.pop("order"), _experiment(file.name, told)))
    return {experiment.name: experiment for _, experiment in sorted(found, key=lambda pair: pair[0])}


def get_experiment(name: str) -> Experiment:
    """An experiment by name.

    >>> get_experiment("table-main").paper
    'table 4'
    """
    experiments = load_experiments()
    if name not in experiments:
        raise InputError(f"there is no experiment {name!r}; there are {', '.join(experiments)}")
    return experiments[name]


def _experiment(file: str, told: dict[str, Any]) -> Experiment:
    scales = {scale: told.pop(scale, {}) for scale in SCALES}
    try:
        return Experiment(
            **{**told, "datasets": tuple(told["datasets"]), "models": tuple(told.get("models", ()))}, scales=scales
        )
    except (KeyError, TypeError) as error:
        raise InputError(f"the declaration {file} is not complete: {error}") from None
