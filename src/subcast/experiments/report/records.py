"""What the report reads: the records of the experiments, the trainings, and the paper's number for each of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from subcast.errors import DataError
from subcast.experiments.declaration import Experiment, load_experiments
from subcast.experiments.published import load_published

WHOLE = ("ecg5000",)
ORIGINALS = {
    "ecg5000": "ecg5000",
    "metr-la-29": "metr-la",
    "pems-bay-67": "metr-la",
    "traffic-20": "traffic",
    "clouds": "solar",
}
MODELS = {"mtgnn": "MTGNN", "astgcn": "ASTGCN", "mstgcn": "MSTGCN", "lstnet": "LSTNet", "tcn": "TCN"}
METHODS = {
    "oracle": "Oracle",
    "partial": "Partial",
    "fdw": "FDW",
    "ddw": "DDW",
    "uw": "UW",
    "subcast": "subcast",
    "apriori": "S apriori",
    "identity": "identity graph",
    "identity-partial": "identity graph, S alone",
    "neighbor-forecast": "nearest-neighbor forecast",
    "linear": "linear, per variable",
    "last-value": "last value",
    "seasonal-naive": "seasonal naive",
    "hardened": "hardened model",
    "knne": "kNNE",
    "iim": "IIM",
    "ridge": "ridge imputation",
    "knn-imputer": "KNNImputer",
    "iterative-imputer": "IterativeImputer",
    "scalable": "FDW, query table (half x 1.5)",
    "scalable-wide": "FDW, query table (all x 4)",
}
# Settings that are the paper's FDW under another name.
_PLAIN_FDW = ("b=0.5", "tau=0.1", "m=5", "r=1")
_USUAL = "15%"


@dataclass(frozen=True)
class Record:
    """What one cell of an experiment left.

    Parameters
    ----------
    experiment, dataset, model, seed, draws, every, scale
        which cell, and how it was run
    seconds, date, version, machine, command
        what it took, when, with what, where, and how to do it again
    figures
        what was measured, as the measurement's summary gives it
    left_out
        methods that could not be asked, and why
    """

    experiment: str
    dataset: str
    model: str
    seed: int
    draws: int
    every: int
    scale: str
    seconds: float
    date: str
    version: str
    machine: Mapping[str, Any]
    command: str
    figures: Mapping[str, Any]
    left_out: Mapping[str, str]

    @property
    def who(self) -> str:
        """The model, and the seed where it is not the first."""
        name = MODELS.get(self.model, self.model)
        return f"{name}, seed {self.seed}" if self.seed else name

    @property
    def label(self) -> str:
        """Dataset and model."""
        return f"{self.dataset} {self.who}".strip()

    @property
    def groups(self) -> Mapping[str, Any]:
        """What was found for each size of S or number of clusters."""
        groups: Mapping[str, Any] = self.figures.get("groups", {})
        return groups

    @property
    def methods(self) -> Mapping[str, Any]:
        """What was found for each method with 15 % of the variables, or whichever group there is."""
        usual: Mapping[str, Any] = self.groups.get(_USUAL) or next(iter(self.groups.values()), {})
        return usual


Found = Mapping[str, list[Record]]
"""The records of each experiment, in the order in which it declares datasets and models."""


@dataclass(frozen=True)
class Printed:
    """A number of the paper.

    Parameters
    ----------
    mean, deviation
        as printed; deviation is None where there is none
    """

    mean: float
    deviation: float | None


def read_records(folder: Path) -> tuple[dict[str, list[Record]], int]:
    """All records of the declared cells, and how many there are of others (such as those of a quick check)."""
    found: dict[str, list[Record]] = {}
    others = 0
    for experiment in load_experiments().values():
        records = [_read(path) for path in sorted((folder / experiment.name).glob("*.json"))]
        declared = [record for record in records if record.dataset in experiment.datasets]
        others += len(records) - len(declared)
        found[experiment.name] = sorted(declared, key=lambda record: _place(experiment, record))
    return found, others


def read_trainings(folder: Path) -> list[dict[str, Any]]:
    """The records of the trainings, in the order of dataset and model."""
    trainings = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("training-*.json"))]
    order = list(ORIGINALS)

    def place(told: Mapping[str, Any]) -> tuple[int, int, str]:
        return _index(order, told["dataset"]), _index(list(MODELS), told["model"]), told.get("variant", "")

    return sorted(trainings, key=place)


def trained_label(told: Mapping[str, Any]) -> str:
    """The model of a training, with its variant and its seed."""
    name = " ".join(filter(None, (MODELS.get(told["model"], told["model"]), told.get("variant", ""))))
    return f"{name}, seed {told['seed']}" if told.get("seed") else name


def everything(found: Found) -> Iterator[Record]:
    """All records, experiment by experiment."""
    for records in found.values():
        yield from records


def same_cell(found: Found, experiment: str, record: Record) -> Record | None:
    """The record of another experiment for the same dataset, model and seed, if there is one."""
    for other in found.get(experiment, []):
        if (other.dataset, other.model, other.seed) == (record.dataset, record.model, record.seed):
            return other
    return None


def printed(record: Record, method: str, metric: str, group: str = _USUAL, *, own: bool = False) -> Printed | None:
    """The paper's number for a method, on the same dataset or on the one that ours stands for.

    Oracle, Partial and FDW are those of tables 1 and 4 wherever the experiment's own table does not repeat them.

    Parameters
    ----------
    record
        whose experiment, dataset and model
    method
        as the experiment names it
    metric
        mae, rmse, delta_mae, delta_rmse, mrr, correlation, ...
    group
        the size of S, or the number of clusters it comes from
    own
        whether to look at the experiment's own table only
    """
    original, numbers = ORIGINALS.get(record.dataset, ""), _numbers()
    for experiment, model, setting in _settings(record, method, group):
        number = numbers.get((experiment, original, model, setting, metric))
        if number is not None:
            return number
        if own:
            break
    return None


def _settings(record: Record, method: str, group: str) -> Iterator[tuple[str, str, str]]:
    """Where to look in turn: experiment, model and setting as the published table names them."""
    experiment, model = record.experiment, record.model
    if experiment == "table-correlated-mrr":
        yield "table-correlated", "", f"clusters={group}"
        return
    if experiment == "table-correlated":
        names = {"fdw": f"clusters={group}", "partial": f"partial clusters={group}"}
        yield experiment, model, names.get(method, method)
        return
    if group != _USUAL:
        return
    yield experiment, model, "b=0.5 tau=0.1" if method in ("b=0.5", "tau=0.1") else method
    if method in ("oracle", "partial"):
        yield "table-oracle-partial", model, method
    if method == "fdw" or method in _PLAIN_FDW:
        yield "table-main", model, "fdw"


@cache
def _numbers() -> dict[tuple[str, ...], Printed]:
    rows = load_published()
    rows = rows[rows["mean"].notna()]
    keys = rows[["experiment", "dataset", "model", "setting", "metric"]].itertuples(index=False, name=None)
    return {
        key: Printed(float(mean), None if deviation != deviation else float(deviation))
        for key, mean, deviation in zip(keys, rows["mean"], rows["deviation"], strict=True)
    }


def _read(path: Path) -> Record:
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        told.setdefault("left_out", {})
        return Record(**{name: told[name] for name in Record.__dataclass_fields__})
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise DataError(
            f"the record {path.parent.name}/{path.name} cannot be read ({error}): delete it and run its cell again"
        ) from None


def _place(experiment: Experiment, record: Record) -> tuple[int, int, int]:
    return _index(experiment.datasets, record.dataset), _index(tuple(MODELS), record.model), record.seed


def _index(names: Any, name: str) -> int:
    return int(names.index(name)) if name in names else len(names)
