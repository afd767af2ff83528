"""Read the records of experiments and trainings, and the published number for each of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from subcast.comparison import Comparison, has_tallies
from subcast.errors import DataError
from subcast.experiments.declaration import Experiment, load_experiments
from subcast.experiments.published import load_published
from subcast.experiments.summaries import summarize_pairs
from subcast.forecasters import FORECASTERS

ORDERS = {"ecg5000-test-first": "test rows first", "ecg5000": "training rows first"}
"""The paper's own dataset, complete, in two orders of its rows: that of ECG_data.csv, which the numbers say is the
paper's, and that of the archive."""
PAPER_ORDER, OTHER_ORDER = ORDERS
PAPER_DATASETS = tuple(ORDERS)
"""Datasets that are the paper's own, complete."""
ORIGINALS = {
    "ecg5000-test-first": "ecg5000",
    "ecg5000": "ecg5000",
    "metr-la-29": "metr-la",
    "pems-bay-67": "metr-la",
    "traffic-20": "traffic",
    "clouds": "solar",
    "clouds-solar-size": "solar",
}
"""The paper's dataset that each of ours is, is a part of, or stands in for."""
MODELS = {name: module.title for name, module in FORECASTERS.items()}
"""Titles of the models by name, in the order of tables."""
METHODS = {
    "oracle": "Oracle",
    "partial": "Partial",
    "fdw": "FDW",
    "fdw-tuned": "FDW, tuned",
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
"""Titles of the methods by name."""
# Names of settings that equal the paper's FDW.
_PLAIN_FDW = ("b=0.5", "tau=0.1", "m=5", "r=1")
_USUAL_GROUP = "15%"


@dataclass(frozen=True)
class Record:
    """The record of one cell of an experiment.

    Parameters
    ----------
    experiment, dataset, model, seed, draws, every, scale
        the cell and its size
    seconds, date, version, machine, command
        duration, date, version of subcast, machine, and the command that runs the cell again
    figures
        what was measured, as the summary of the measurement gives it; with tallies, all intervals are computed from
        them when the record is read
    left_out
        methods that could not be run, with the reason
    is_first
        whether no other record of its cell has a smaller seed
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
    is_first: bool = True
    _comparisons: dict[str, Comparison] = field(default_factory=dict, init=False, repr=False, compare=False)

    def comparison(self, group: str = _USUAL_GROUP) -> Comparison | None:
        """Return the tallies of a group, by the size of S or the number of clusters; None if there are none."""
        tallies = self.figures.get("tallies", {}).get(group)
        if tallies is not None and group not in self._comparisons:
            self._comparisons[group] = Comparison.from_record(tallies)
        return self._comparisons.get(group)

    @property
    def size(self) -> tuple[int, int]:
        """Number of draws of S, and which windows: every so many."""
        return self.draws, self.every

    @property
    def model_title(self) -> str:
        """Title of the model, with the seed where it is not the first."""
        name = MODELS.get(self.model, self.model)
        return f"{name}, seed {self.seed}" if self.seed else name

    @property
    def label(self) -> str:
        """Dataset and model."""
        return f"{self.dataset} {self.model_title}".strip()

    @property
    def groups(self) -> Mapping[str, Any]:
        """Figures of each method, by the size of S or the number of clusters that S comes from."""
        groups: Mapping[str, Any] = self.figures.get("groups", {})
        return groups

    @property
    def methods(self) -> Mapping[str, Any]:
        """Figures of each method with 15 % of the variables, or of the first group where there is no such size."""
        rows: Mapping[str, Any] = self.groups.get(_USUAL_GROUP) or next(iter(self.groups.values()), {})
        return rows

    @property
    def has_stored_intervals(self) -> bool:
        """Whether it has no tallies, so that its intervals are those that were stored with it."""
        return not has_tallies({"figures": self.figures}) and any("mae_by_step" in row for row in self._rows())

    def _rows(self) -> list[Mapping[str, Any]]:
        return [row for rows in self.groups.values() for row in rows.values() if isinstance(row, Mapping)]


AllRecords = Mapping[str, list[Record]]
"""The records of each experiment, in the order in which it declares datasets and models."""


@dataclass(frozen=True)
class PublishedNumber:
    """A number that the paper prints.

    Parameters
    ----------
    mean, deviation
        as printed; deviation is None where none is printed
    """

    mean: float
    deviation: float | None


def read_records(folder: Path) -> tuple[dict[str, list[Record]], int]:
    """Return the records of the declared datasets, and the number of records of other datasets (quick checks)."""
    all_records: dict[str, list[Record]] = {}
    others = 0
    for experiment in load_experiments().values():
        records = [_read(path) for path in sorted((folder / experiment.name).glob("*.json"))]
        declared = [record for record in records if record.dataset in experiment.datasets]
        others += len(records) - len(declared)
        first: dict[tuple[str, str], int] = {}
        for record in declared:
            first[record.dataset, record.model] = min(
                record.seed, first.get((record.dataset, record.model), record.seed)
            )
        marked = [replace(one, is_first=one.seed == first[one.dataset, one.model]) for one in declared]
        all_records[experiment.name] = sorted(marked, key=lambda record: _sort_key(experiment, record))
    return all_records, others


def read_trainings(folder: Path) -> list[dict[str, Any]]:
    """Return the records of the trainings, in the order of dataset and model."""
    trainings = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("training-*.json"))]
    order = list(ORIGINALS)

    def sort_key(training: Mapping[str, Any]) -> tuple[int, int, str]:
        dataset, model = training["dataset"], training["model"]
        return _index(order, dataset), _index(list(MODELS), model), training.get("variant", "")

    return sorted(trainings, key=sort_key)


def training_label(training: Mapping[str, Any]) -> str:
    """Return the title of the model of a training, with its variant and its seed."""
    names = (MODELS.get(training["model"], training["model"]), training.get("variant", ""))
    label = " ".join(name for name in names if name)
    return f"{label}, seed {training['seed']}" if training.get("seed") else label


def iterate_records(all_records: AllRecords) -> Iterator[Record]:
    """Yield all records, experiment by experiment."""
    for records in all_records.values():
        yield from records


def dataset_of(label: str) -> str:
    """Return the dataset that the label of a cell begins with.

    >>> dataset_of("ecg5000-test-first TCN, seed 1"), dataset_of("clouds, all x 4")
    ('ecg5000-test-first', 'clouds')
    """
    return re.split(r"[^\w-]", label, maxsplit=1)[0]


def same_cell(all_records: AllRecords, experiment: str, record: Record) -> Record | None:
    """Return the record of another experiment for the same dataset, model and seed; None if there is none."""
    for other in all_records.get(experiment, []):
        if (other.dataset, other.model, other.seed) == (record.dataset, record.model, record.seed):
            return other
    return None


def published_number(
    record: Record, method: str, metric: str, group: str = _USUAL_GROUP, *, own: bool = False
) -> PublishedNumber | None:
    """Return the published number for a method, on the same dataset or on the one that ours stands in for.

    Oracle and Partial are looked up in table 1, FDW in table 4 and the nearest-neighbor forecast in table 6 where the
    experiment's own table does not print them.

    Parameters
    ----------
    record
        its experiment, dataset and model are looked up
    method
        name of the method in the experiment
    metric
        mae, rmse, delta_mae, delta_rmse, mrr, correlation, ...
    group
        the size of S, or the number of clusters it comes from
    own
        whether to look in the experiment's own table only
    """
    original, numbers = ORIGINALS.get(record.dataset, ""), _published_numbers()
    for experiment, model, setting in _settings(record, method, group):
        number = numbers.get((experiment, original, model, setting, metric))
        if number is not None:
            return number
        if own:
            break
    return None


def _settings(record: Record, method: str, group: str) -> Iterator[tuple[str, str, str]]:
    """Yield the keys to look up, in order: experiment, model and setting as in `published.csv`."""
    experiment, model = record.experiment, record.model
    if experiment == "table-correlated-mrr":
        yield "table-correlated", "", f"clusters={group}"
        return
    if experiment == "table-correlated":
        names = {"fdw": f"clusters={group}", "partial": f"partial clusters={group}"}
        yield experiment, model, names.get(method, method)
        return
    if group != _USUAL_GROUP:
        return
    yield experiment, model, "b=0.5 tau=0.1" if method in ("b=0.5", "tau=0.1") else method
    if experiment == "table-weighting":  # table 7 prints the gaps on TRAFFIC
        yield "table-weighting-mrr", model, method
    if method in ("oracle", "partial"):
        yield "table-oracle-partial", model, method
    if method in ("fdw", "fdw-tuned") or method in _PLAIN_FDW:
        yield "table-main", model, "fdw"
    if method == "neighbor-forecast":
        yield "table-knn", model, method


@cache
def _published_numbers() -> dict[tuple[str, ...], PublishedNumber]:
    rows = load_published()
    rows = rows[rows["mean"].notna()]
    keys = rows[["experiment", "dataset", "model", "setting", "metric"]].itertuples(index=False, name=None)
    return {
        key: PublishedNumber(float(mean), None if deviation != deviation else float(deviation))
        for key, mean, deviation in zip(keys, rows["mean"], rows["deviation"], strict=True)
    }


def _read(path: Path) -> Record:
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        stored.setdefault("left_out", {})
        stored["figures"] = _with_names(_with_intervals(stored["figures"]))
        return Record(
            **{field.name: stored[field.name] for field in fields(Record) if field.init and field.name in stored}
        )
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise DataError(
            f"the record {path.parent.name}/{path.name} cannot be read ({error}): delete it and run its cell again"
        ) from None


def _with_intervals(figures: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of a record with gaps and intervals computed from its tallies, where it has them."""
    if not has_tallies({"figures": figures}):
        return figures
    groups = {
        group: summarize_pairs(Comparison.from_record(tallies), int(tallies["step"]))
        for group, tallies in figures["tallies"].items()
    }
    return {**figures, "groups": groups}


def _with_names(figures: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of a record with the ways to set ranges under one spelling."""
    if "tables" not in figures:
        return figures
    return {**figures, "tables": {name.replace("neighbour", "neighbor"): t for name, t in figures["tables"].items()}}


def _sort_key(experiment: Experiment, record: Record) -> tuple[int, int, int]:
    return _index(experiment.datasets, record.dataset), _index(tuple(MODELS), record.model), record.seed


def _index(names: Any, name: str) -> int:
    return int(names.index(name)) if name in names else len(names)
