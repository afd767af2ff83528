"""Measure the default, the Oracle and everything a user could do instead, at 15, 50 and 85 % of the variables present.

    python benchmarks/accuracy_records.py                            # all pairs of the table that have a checkpoint
    python benchmarks/accuracy_records.py tcn-metr-la-29 --again     # measure one pair again
    python benchmarks/accuracy_records.py tcn-metr-la-29 --own       # only what depends on the default
    python benchmarks/accuracy_records.py tcn-pems-bay-67 --rivals-of mtgnn-pems-bay-67    # rivals without a model
    python benchmarks/accuracy_records.py tcn-metr-la-29 --hardened  # add models trained with variables dropped
    python benchmarks/accuracy_records.py linear-exchange-rate       # a ridge over all variables as the model
    python benchmarks/accuracy_records.py --model linear traffic-20  # the same, the names being datasets
    python benchmarks/accuracy_records.py linear-clouds-seed3 --draws 6 --every 40 --effort 0.2 --to /tmp/trial
    python benchmarks/accuracy_records.py --list

A pair is a folder or .onnx file of results/checkpoints (or of --checkpoints), named MODEL-DATASET, or linear-DATASET.
Every method sees the same test windows and the same draws of S. The best rival of a row is chosen on windows of the
second half of the validation part, under draws of their own; the rival that is best on test stands beside it. Writes
results/accuracy-NAME-SHARE.json as soon as a share is finished; a share that has a record is skipped. Records hold the
tallies of errors by draw and stretch (`subcast.comparison.Comparison.from_record(record, "test")`). What needs no model
is fitted once for all pairs of a dataset that are measured by one command. With --own, rivals and the published method
keep the figures of the record, which must have the same windows and draws; the record says when they were measured.
With --rivals-of, rivals that need no model are those of the record of another pair of the same dataset. With
--hardened, all figures are those of the record, and models trained with variables dropped are added.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import pickle
import statistics
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import records
from numpy.typing import NDArray

from subcast import SubsetForecaster, baselines, draw_subsets
from subcast.adapters import from_onnx
from subcast.baselines.own_past import MOST_ROWS
from subcast.comparison import Comparison, Gap
from subcast.datasets import DATASETS, load_dataset
from subcast.errors import DataNotFoundError, FitWarning, InputError
from subcast.evaluation import Method, evaluate, oracle, partial_inputs, wrapped
from subcast.experiments.study import CALENDAR, HORIZON, LOOKBACK, OPTIONS, open_data, split_data
from subcast.forecasters.checkpoint import is_saved_forecaster, load_forecaster
from subcast.scaling import Scaler
from subcast.series import Series
from subcast.windows import Split, Windows

RESULTS = records.RESULTS
RUNS = RESULTS.parent / "runs"
CHECKPOINTS = (RESULTS / "checkpoints", RUNS / "checkpoints")
TABLE = ("metr-la-29", "pems-bay-67", "beijing-pollutants", "clouds", "traffic-20")  # datasets of README's first table
SHARES, DRAWS, SEED, STEP = (0.15, 0.5, 0.85), 20, 2022, 12
VAL_DRAWS, VAL_SEED, VAL_WINDOWS = 8, 7, 250
TEST_WINDOWS = 400  # about as many test windows are evaluated, where EVERY does not say
# As in wrapper_records.py:
EVERY = {"ecg5000": 3, "ecg5000-test-first": 3, "metr-la-29": 19, "pems-bay-67": 41, "clouds": 7}
METRICS = {"mae": "absolute", "rmse": "squared"}  # each with the loss of its linear models
ROWS_OF_EACH = 1_500_000  # training rows of all models of `OwnPast(each=True)` together
APRIORI_DRAWS = 5
HARDENED = ("hardened", "masked")  # training variants that drop variables: any number of them, or 85 %
UNIVARIATE = {"nhits": "NHITS"}  # models that look at one variable at a time: an absent variable costs them nothing
NOT_WRAPPED = {*HARDENED, *UNIVARIATE, "identity", "noise"}  # models and training variants that are no pairs
LINEAR = "linear"
COSTS = ("fit_seconds", "request_ms", "batch_ms", "megabytes")


def main() -> None:
    """Measure the pairs named on the command line."""
    parser = argparse.ArgumentParser(description="Measure the default, the Oracle and all rivals.")
    parser.add_argument("names", nargs="*", help="pairs such as tcn-metr-la-29 or linear-exchange-rate, all by default")
    parser.add_argument("--model", choices=[LINEAR], help="wrap a ridge over all variables: the names are datasets")
    parser.add_argument("--share", type=float, nargs="*", default=SHARES, help="shares of the variables present")
    parser.add_argument("--again", action="store_true", help="also measure shares that have a record")
    parser.add_argument(
        "--own", action="store_true", help="measure the default again, and keep the rivals of the record"
    )
    parser.add_argument(
        "--hardened", action="store_true", help="add models trained with variables dropped to the record"
    )
    parser.add_argument("--rivals-of", metavar="PAIR", help="keep the rivals without a model of another pair's record")
    parser.add_argument("--list", action="store_true", help="show the pairs and which shares have a record")
    parser.add_argument("--draws", type=int, help=f"draws of S, {DRAWS} by default; needs --to")
    parser.add_argument("--every", type=int, help="evaluate every Nth test window; needs --to")
    parser.add_argument("--effort", type=float, help="effort of tuning, also scales training rows; needs --to")
    parser.add_argument("--to", type=Path, default=records.RESULTS, help="folder for the records")
    parser.add_argument("--checkpoints", type=Path, nargs="*", default=[], help="further folders of trained models")
    parser.add_argument("--apriori", action="store_true", help=f"train a TCN on S, for {APRIORI_DRAWS} draws: slow")
    arguments = parser.parse_args()
    trial = any(value is not None for value in (arguments.draws, arguments.every, arguments.effort))
    if trial and arguments.to == records.RESULTS:
        parser.error("--draws, --every and --effort are for trials: give --to, a folder outside of results")
    kinds = (arguments.own, arguments.rivals_of is not None, arguments.hardened, arguments.apriori)
    if sum(kinds) > 1:
        parser.error("give at most one of --own, --rivals-of, --hardened and --apriori")
    records.RESULTS = arguments.to  # where records are written
    folders = (*CHECKPOINTS, *arguments.checkpoints)
    names = [f"{arguments.model}-{name}" if arguments.model else name for name in arguments.names]
    size = Size(arguments.draws or DRAWS, arguments.every, arguments.effort or 1.0)
    for name in names or table_pairs(folders):
        pair = Pair.named(name, folders, size)
        if arguments.list:
            done = [f"{share:.0%}" for share in SHARES if record_path(arguments.to, name, share).exists()]
            print(f"{name:<32} {', '.join(done) or 'to do'}")
            continue
        again = arguments.again or arguments.own or arguments.hardened
        kind = "apriori" if arguments.apriori else "accuracy"
        todo = [s for s in arguments.share if again or not record_path(arguments.to, name, s, kind).exists()]
        for share in todo:
            if arguments.apriori:
                measure_apriori(pair, share, arguments.to)
            elif arguments.hardened:
                add_hardened(pair, share, arguments.to)
            else:
                measure(pair, share, arguments.to, kept_rivals(arguments, name, share))


def kept_rivals(arguments: argparse.Namespace, name: str, share: float) -> Kept | None:
    """Return the rivals that need not be measured again: of the pair's own record, or of another pair's; or None."""
    if arguments.rivals_of is None:
        return Kept.of(arguments.to, name, share) if arguments.own else None
    kept = Kept.of(arguments.to, arguments.rivals_of, share)
    if kept is None or kept.record["dataset"] != dataset_of(name):
        raise InputError(f"--rivals-of needs a pair of {dataset_of(name)} with a record, got {arguments.rivals_of!r}")
    return replace(kept, without_model=True)


def table_pairs(folders: Sequence[Path]) -> list[str]:
    """Return the pairs of the table that have a checkpoint; models that were hardened are rivals, not pairs."""
    files = (path for folder in folders if folder.exists() for path in folder.iterdir())
    found = {path.name.removesuffix(".onnx") for path in files if is_model(path)}
    of_table = [name for name in found if name.endswith(tuple(f"-{dataset}" for dataset in TABLE))]
    kept = [name for name in of_table if not set(name.split("-")) & NOT_WRAPPED]
    return sorted(kept, key=lambda name: (TABLE.index(dataset_of(name)), name))


def is_model(path: Path) -> bool:
    """Return whether a path is a trained model: a folder of subcast, or an ONNX file of modern_records.py."""
    return path.suffix == ".onnx" or is_saved_forecaster(path)


def load_model(path: Path) -> tuple[Any, tuple[str, ...]]:
    """Return a trained model and its time features, which an ONNX file does not name."""
    if path.suffix != ".onnx":
        trained = load_forecaster(path)
        return trained, tuple(trained.time_features)
    features = CALENDAR if "calendar" in path.stem.split("-") else ()
    return from_onnx(path, lookback=LOOKBACK, horizon=HORIZON), features


def record_path(folder: Path, name: str, share: float, kind: str = "accuracy") -> Path:
    """Return where the record of a pair and share is."""
    return folder / f"{kind}-{name}-{round(100 * share)}.json"


def dataset_of(name: str) -> str:
    """Return the dataset of a pair: the longest name of a dataset that the name of the pair ends with.

    A last -seedN belongs to the model, but to the dataset for `clouds`, which is generated.
    """
    known = [*DATASETS, *OPTIONS]
    if name.startswith(f"{LINEAR}-"):
        return name.removeprefix(f"{LINEAR}-")
    plain = name.rpartition("-seed")[0] if "-seed" in name else name
    fitting = [dataset for dataset in known if plain.endswith(f"-{dataset}")]
    if not fitting:
        raise InputError(f"{name!r} is no pair: write MODEL-DATASET with one of {', '.join(known)}")
    return max(fitting, key=len)


def open_series(dataset: str) -> Series:
    """Return a dataset as the experiments use it; clouds-seedN is `clouds` with another seed and 40 plants."""
    if dataset.startswith("clouds-seed"):
        return load_dataset("clouds", seed=int(dataset.removeprefix("clouds-seed")))
    return open_data(dataset)


def split_series(series: Series, dataset: str) -> Split:
    """Return training, validation and test windows: as the experiments use them, if they use the dataset."""
    used = dataset in (*TABLE, *EVERY) or dataset.startswith("clouds")
    return split_data(series, dataset) if used else series.split(LOOKBACK, HORIZON)


def thin(windows: Windows, count: int) -> Windows:
    """Return about `count` windows, evenly spread, by a step that divides neither a day nor a week."""
    step = max(1, len(windows) // count)
    while step > 1 and math.gcd(step, 2 * 3 * 5 * 7) > 1:
        step += 1
    return windows[::step]


@dataclass(frozen=True)
class Size:
    """How large a measurement is.

    Attributes
    ----------
    draws
        draws of S
    every
        every Nth test window, None for that of the record
    effort
        effort of tuning; also scales the training rows of boosted rivals
    """

    draws: int = DRAWS
    every: int | None = None
    effort: float = 1.0


@dataclass(eq=False)
class RidgeModel:
    """The simplest model that uses all variables: one ridge regression of all future readings on all past readings.

    Parameters
    ----------
    scaler
        of each variable
    coefficients
        [t * n, h * n], in normalized units
    horizon
        steps ahead
    """

    scaler: Scaler
    coefficients: NDArray[np.float64]
    horizon: int

    @classmethod
    def fit(cls, train: Windows, ridge: float = 0.1) -> RidgeModel:
        """Fit on all training windows; a missing input counts as the mean, a missing target is left out."""
        scaler = Scaler.fit(train, per_variable=True)
        inputs, outputs = (train.series.n_variables * length for length in (train.lookback, train.horizon))
        gram, cross, count = np.zeros((inputs, inputs)), np.zeros((inputs, outputs)), np.zeros(outputs)
        for first in range(0, len(train), 2048):
            batch = train[first : first + 2048]
            x = np.nan_to_num(scaler.transform(batch.readings)).reshape(len(batch), -1).astype(np.float64)
            y = scaler.transform(batch.targets).reshape(len(batch), -1)
            gram += x.T @ x
            cross += x.T @ np.nan_to_num(y)
            count += (~np.isnan(y)).sum(axis=0)
        gram = gram / len(train) + ridge * np.eye(inputs)
        return cls(scaler, np.linalg.solve(gram, cross / np.maximum(count, 1)), train.horizon)

    def __call__(self, inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the forecasts of windows [b, t, n, f], [b, h, n]."""
        normal = np.nan_to_num(self.scaler.transform(inputs[..., 0])).reshape(len(inputs), -1)
        return self.scaler.inverse((normal @ self.coefficients).reshape(len(inputs), self.horizon, -1))


@dataclass(eq=False)
class Pair:
    """A model on a dataset, with its windows; each part is made when first needed.

    Parameters
    ----------
    name, dataset
        names of the pair and of its dataset
    folders
        folders of trained models
    size
        how large its measurement is
    """

    name: str
    dataset: str
    folders: Sequence[Path]
    size: Size

    @classmethod
    def named(cls, name: str, folders: Sequence[Path], size: Size) -> Pair:
        """Return the pair of a name."""
        return cls(name, dataset_of(name), folders, size)

    @property
    def kind(self) -> str:
        """The name of the model without that of the dataset."""
        return LINEAR if self.name.startswith(f"{LINEAR}-") else self.name.partition(f"-{self.dataset}")[0]

    def find(self, name: str) -> Path | None:
        """Return the path of a trained model, None if there is none."""
        paths = (folder / file for folder in self.folders for file in (name, f"{name}.onnx"))
        return next((path for path in paths if path.exists() and is_model(path)), None)

    @cached_property
    def trained(self) -> tuple[Any, tuple[str, ...]]:
        """The trained model of the pair and its time features."""
        path = self.find(self.name)
        if path is None:
            raise DataNotFoundError(f"there is no trained model {self.name} in {' or '.join(map(str, self.folders))}")
        return load_model(path)

    @cached_property
    def model(self) -> Any:
        """The model that is wrapped."""
        return RidgeModel.fit(self.split.train) if self.kind == LINEAR else self.trained[0]

    @cached_property
    def series(self) -> Series:
        """The data, with the time features of the model."""
        return open_series(self.dataset).with_features(*(() if self.kind == LINEAR else self.trained[1]))

    @cached_property
    def split(self) -> Split:
        """Training, validation and test windows."""
        return split_series(self.series, self.dataset)

    @cached_property
    def test(self) -> Windows:
        """The test windows that are evaluated."""
        every = self.size.every or EVERY.get(self.dataset)
        return self.split.test[::every] if every else thin(self.split.test, TEST_WINDOWS)

    @cached_property
    def val(self) -> Windows:
        """The validation windows on which the best rival is chosen."""
        later = self.split.val[len(self.split.val) // 2 :]
        return thin(later, min(VAL_WINDOWS, len(self.test)))

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.series.n_variables

    def wrapper(self, metric: str, **options: Any) -> SubsetForecaster:
        """Return a wrapper with its defaults, tuned for a metric."""
        robust = SubsetForecaster(self.model, metric=metric, effort=self.size.effort, progress=False, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FitWarning)  # the record says how good the model is
            return robust.fit(self.split.train, self.split.val)

    @cached_property
    def tuned(self) -> dict[str, tuple[SubsetForecaster, float]]:
        """The default tuned for each metric, and the seconds that fitting took."""
        return {metric: timed(lambda metric=metric: self.wrapper(metric)) for metric in METRICS}

    @cached_property
    def own(self) -> list[Candidate]:
        """What depends on the default of subcast."""
        return list(announced(own_candidates(self)))

    @cached_property
    def model_rivals(self) -> list[Candidate]:
        """What a user could do with the model instead of wrapping it."""
        return list(announced(model_rivals(self)))

    @cached_property
    def published(self) -> Candidate:
        """The published method, which is slow."""
        robust, seconds = timed(lambda: SubsetForecaster.paper(self.model, progress=False).fit(self.split.train))
        return Candidate("published (FDW)", wrapped(robust), seconds, is_rival=True)


@dataclass(eq=False)
class Candidate:
    """A method with its costs.

    Parameters
    ----------
    name
        as it is called in tables
    method
        windows, S -> forecasts of S
    fit_seconds
        seconds that fitting took
    is_rival
        whether it may be the best rival: something that a user could do instead
    needs_s
        whether the forecast of a variable depends on which other variables are present; where not, the forecasts of
        all variables are computed once
    spent, windows
        seconds of all forecasts so far, and their windows
    """

    name: str
    method: Method
    fit_seconds: float
    is_rival: bool = False
    needs_s: bool = True
    spent: float = 0.0
    windows: int = 0
    _known: dict[Any, NDArray[np.float32]] = field(default_factory=dict)
    _cost: dict[str, float | None] = field(default_factory=dict)

    def __call__(self, windows: Windows, present: NDArray[np.int64]) -> NDArray[np.floating[Any]]:
        """Forecast S, [b, h, s]."""
        if self.needs_s:
            return self._forecast(windows, present)
        key = (windows.series.offset, windows.starts)
        if key not in self._known:
            self._known[key] = self._forecast(windows, np.arange(windows.series.n_variables))
        return self._known[key][:, :, present]

    def _forecast(self, windows: Windows, present: NDArray[np.int64]) -> NDArray[np.floating[Any]]:
        forecast, seconds = timed(lambda: self.method(windows, present))
        self.spent, self.windows = self.spent + seconds, self.windows + len(windows)
        return np.asarray(forecast)

    def cost(self, windows: Windows, present: NDArray[np.int64]) -> dict[str, float | None]:
        """Return the costs: seconds of fitting, milliseconds of a request and of a window of a batch, stored megabytes.

        A request is one window with an S that was seen before; the batches of the evaluation include solving for S.
        """
        if self._cost and not self.needs_s:
            return self._cost
        asked = present if self.needs_s or self.is_rival else np.arange(windows.series.n_variables)
        durations = [records.seconds(lambda: self.method(windows[:1], asked)) for _ in range(12)]
        self._cost = {
            "fit_seconds": round(self.fit_seconds, 2),
            "request_ms": round(1000 * statistics.median(durations[2:]), 3),
            "batch_ms": round(1000 * self.spent / max(1, self.windows), 3),
            "megabytes": megabytes(self.method),
        }
        return self._cost


def timed(build: Callable[[], Any]) -> tuple[Any, float]:
    """Return what a function builds, and the seconds that it took."""
    started = time.perf_counter()
    built = build()
    return built, time.perf_counter() - started


class _Counter:
    """A file that counts the bytes written to it."""

    size = 0

    def write(self, content: Any) -> int:
        length = memoryview(content).nbytes
        self.size += length
        return length


def megabytes(method: Method) -> float | None:
    """Return the size of everything that a method needs, as it is pickled; None if it cannot be."""
    counter = _Counter()
    try:
        pickle.Pickler(counter, protocol=5).dump(method)  # type: ignore[arg-type]
    except (TypeError, AttributeError, pickle.PicklingError):
        return None
    return round(counter.size / 1e6, 2)


def announced(candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """Yield candidates, and print the seconds that fitting each of them took."""
    for candidate in candidates:
        print(f"{candidate.name}: fitted in {candidate.fit_seconds:.1f} s", flush=True)
        yield candidate


def own_candidates(pair: Pair) -> Iterator[Candidate]:
    """Yield the Oracle, the Oracle with the same help, and the default."""
    yield Candidate("oracle", oracle(pair.tuned["mae"][0]), 0.0, needs_s=False)
    for metric, (robust, seconds) in pair.tuned.items():
        yield Candidate(f"subcast ({metric})", wrapped(robust), seconds)
        helped, helped_seconds = timed(lambda robust=robust: always_helped(robust, pair.split.val))
        yield Candidate(f"oracle with help ({metric})", wrapped(helped), helped_seconds, needs_s=False)
    yield from without_model(pair)


def always_helped(robust: SubsetForecaster, val: Windows) -> SubsetForecaster:
    """Return what a fit with assist="always" gives, without learning from the training windows once more."""
    helped = copy.copy(robust)
    helped.given = {**robust.given, "assist": "always"}
    helped.settings_ = replace(helped._initial_settings(), ridge=robust.settings_.ridge)
    fixed = {*helped.given, "ridge"}  # the ridge is chosen on training windows
    helped._tune_and_calibrate(robust.fitted_, val, fixed)
    return helped


def model_rivals(pair: Pair) -> Iterator[Candidate]:
    """Yield what a user could do with the model instead of wrapping it."""
    train, robust = pair.split.train, pair.tuned["mae"][0]
    fills = {"usual values filled in": baselines.UsualValue, "ridge imputation": baselines.RidgeImputer}
    for name, imputer in fills.items():
        filled = timed(lambda imputer=imputer: baselines.imputed(robust.fitted_.model, imputer.fit(train)))
        yield Candidate(f"f, {name}", *filled, is_rival=True)
    yield Candidate("f, means filled in", partial_inputs(robust), 0.0, is_rival=True)
    yield from hardened_candidates(pair)


_MODEL_FREE: dict[tuple[str, Size], list[Candidate]] = {}


def model_free(pair: Pair) -> list[Candidate]:
    """Return what needs no model: the same for every model of a dataset, so pairs measured together share it."""
    key = (pair.dataset, pair.size)
    if key not in _MODEL_FREE:
        _MODEL_FREE.clear()
        plain = split_series(pair.series.with_features(), pair.dataset)
        own = chain(boosted_and_linear(pair, plain.train), simple(plain.train), univariate_candidates(pair))
        _MODEL_FREE[key] = list(announced(own))
    return _MODEL_FREE[key]


@dataclass(eq=False)
class WithFeatures:
    """A method that is given windows with time features of its own, whatever those of the pair's model."""

    method: Method
    features: tuple[str, ...] = ()

    def __call__(self, windows: Windows, present: NDArray[np.int64]) -> NDArray[np.floating[Any]]:
        """Forecast S, [b, h, s]."""
        if windows.series.time_features != self.features:
            windows = replace(windows, series=windows.series.with_features(*self.features))
        return self.method(windows, present)


def without_model(pair: Pair) -> Iterator[Candidate]:
    """Yield what subcast does without the model, with shares tuned without it."""
    for metric, (robust, _) in pair.tuned.items():
        yield Candidate(f"subcast without f ({metric})", wrapped(robust.without_model()), 0.0)


def rival(name: str, build: Callable[[], Method], needs_s: bool = False) -> Candidate:
    """Return a rival that needs no model."""
    method, seconds = timed(build)
    return Candidate(name, WithFeatures(method), seconds, is_rival=True, needs_s=needs_s)


def boosted_and_linear(pair: Pair, train: Windows) -> Iterator[Candidate]:
    """Yield models of a variable's own past, for each metric."""
    fewer = thin(train, 20_000)
    rows = int(MOST_ROWS * pair.size.effort), int(max(20_000, ROWS_OF_EACH // pair.n) * pair.size.effort)
    for metric, loss in METRICS.items():
        one = {"metric": metric, "most_rows": rows[0]}
        each = {"metric": metric, "most_rows": rows[1], "each": True}
        yield rival(f"own past ({metric})", lambda options=one: baselines.OwnPast.fit(train, **options))
        yield rival(f"own past, each ({metric})", lambda options=each: baselines.OwnPast.fit(train, **options))
        yield rival(f"calendar linear ({metric})", lambda loss=loss: baselines.CalendarLinear.fit(train, loss=loss))
        yield rival(f"linear ({metric})", lambda loss=loss: baselines.LinearForecaster.fit(fewer, loss=loss))


def simple(train: Windows) -> Iterator[Candidate]:
    """Yield methods without a loss of their own."""
    yield rival("ridge on S", lambda: baselines.ProfileRidge.fit(train), needs_s=True)
    yield rival("usual value", lambda: baselines.UsualValue.fit(train))
    yield rival("last value", lambda: baselines.LastValue.fit(train))
    yield rival("neighbors' futures", lambda: baselines.NeighborForecast.fit(train), needs_s=True)


def hardened_candidates(pair: Pair) -> Iterator[Candidate]:
    """Yield the models that were trained with variables dropped, if there are any."""
    for variant in HARDENED:
        name = f"{pair.kind.partition('-')[0]}-{variant}-{pair.dataset}"
        path = pair.find(name)
        if path is not None:
            model, features = load_model(path)
            train = split_series(pair.series.with_features(*features), pair.dataset).train
            robust = SubsetForecaster.paper(model, progress=False).fit(train)
            method = WithFeatures(partial_inputs(robust), features)
            yield Candidate(f"{variant} f", method, training_seconds(name), is_rival=True)


def univariate_candidates(pair: Pair) -> Iterator[Candidate]:
    """Yield networks that look at one variable at a time, if there are any; their holes get usual values."""
    for kind in UNIVARIATE:
        name = f"{kind}-calendar-{pair.dataset}"
        path = pair.find(name)
        if path is not None:
            model, features = load_model(path)
            train = split_series(pair.series.with_features(*features), pair.dataset).train
            method = WithFeatures(baselines.imputed(model, baselines.UsualValue.fit(train)), features)
            yield Candidate(UNIVARIATE[kind], method, training_seconds(name), is_rival=True, needs_s=False)


def training_seconds(name: str) -> float:
    """Return how long a model was trained, by its record; 0 without a record."""
    path = RESULTS / f"training-{name}.json"
    return 3600 * float(json.loads(path.read_text())["hours"]) if path.exists() else 0.0


@dataclass(frozen=True, eq=False)
class Kept:
    """The rivals of an earlier record.

    Parameters
    ----------
    record
        the record
    comparison
        its tallies on test windows
    without_model
        whether the record is another pair's, of which only the rivals that need no model are kept
    """

    record: dict[str, Any]
    comparison: Comparison
    without_model: bool = False

    @classmethod
    def of(cls, folder: Path, name: str, share: float) -> Kept | None:
        """Return the record of a pair at a share; None if there is none."""
        path = record_path(folder, name, share)
        if not path.exists():
            return None
        record = json.loads(path.read_text())
        return cls(record, Comparison.from_record(record, "test"))

    def names(self, measured: Iterable[str]) -> list[str]:
        """Return the methods that are kept: those that were not measured now."""
        kept = [name for name in self.comparison.methods if name not in set(measured)]
        return [name for name in kept if not needs_model(name)] if self.without_model else kept

    def facts(self) -> dict[str, Any]:
        """Return when the rivals were measured, and of which pair they are if it is another one."""
        figures = self.record["figures"]
        facts = {"rivals_measured": figures.get("rivals_measured", self.record["date"])}
        if self.without_model:
            return {**facts, "rivals_of": self.record["pair"]}
        return {**facts, "rivals_of": figures["rivals_of"]} if "rivals_of" in figures else facts

    def validation(self, measured: dict[str, Any]) -> dict[str, Any]:
        """Return the errors on validation windows of the rivals that are kept and of those that were measured now."""
        before = self.record["figures"]["validation"]
        errors = {name: before["errors"][name] for name in self.names(measured["errors"]) if name in before["errors"]}
        sizes = {key: value for key, value in before.items() if key != "errors"}
        if measured["errors"] and {**measured, "errors": {}} != {**sizes, "errors": {}}:
            raise InputError("the record must have the same validation windows and draws: measure it with --again")
        return {**sizes, "errors": {**errors, **measured["errors"]}}

    def join(self, own: Comparison) -> Comparison:
        """Return a comparison of the default's methods and the rivals; raise if windows or draws differ."""
        same_draws = len(own.draws) == len(self.comparison.draws) and all(
            np.array_equal(a, b) for a, b in zip(own.draws, self.comparison.draws, strict=True)
        )
        if own.starts != self.comparison.starts or not same_draws:
            raise InputError("the record must have the same windows and draws of S: measure it with --again")
        rivals = {name: self.comparison.tallies[name] for name in self.names(own.methods)}
        return Comparison({**own.tallies, **rivals}, own.draws, own.starts)


def needs_model(name: str) -> bool:
    """Return whether a method of a record depends on the model of its pair.

    >>> [needs_model(name) for name in ("oracle", "subcast without f (mae)", "hardened f", "f, ridge imputation")]
    [True, True, True, True]
    >>> [needs_model(name) for name in ("own past (mae)", "ridge on S", "NHITS")]
    [False, False, False]
    """
    of_subcast = name.startswith(("oracle", "subcast", "published"))
    return of_subcast or name.startswith("f, ") or name.endswith(" f")


def measure(pair: Pair, share: float, folder: Path, kept: Kept | None = None) -> None:
    """Measure a pair at one share and write its record; rivals that are kept are not measured again."""
    started = time.perf_counter()
    candidates = list(pair.own)
    if kept is None or kept.without_model:
        candidates += [*pair.model_rivals, *([pair.published] if share == SHARES[0] else [])]
    if kept is None:
        candidates += model_free(pair)
    settings = {metric: robust.settings_.to_dict() for metric, (robust, _) in pair.tuned.items()}
    write_measured(pair, share, folder, candidates, settings, kept, started)


def add_hardened(pair: Pair, share: float, folder: Path) -> None:
    """Add models that were trained with variables dropped to the record of a pair and share."""
    started = time.perf_counter()
    kept = Kept.of(folder, pair.name, share)
    candidates = list(announced(hardened_candidates(pair)))
    if kept is None or not candidates:
        missing = f"a record of {pair.name} at {share:.0%}" if kept is None else f"a trained model {HARDENED[0]}"
        raise InputError(f"--hardened needs {missing}, and there is none")
    figures = kept.record["figures"]
    facts = {"default_measured": figures.get("default_measured", kept.record["date"])}
    write_measured(pair, share, folder, candidates, figures["settings"], kept, started, facts)


def write_measured(
    pair: Pair,
    share: float,
    folder: Path,
    candidates: Sequence[Candidate],
    settings: dict[str, Any],
    kept: Kept | None,
    started: float,
    more_facts: Mapping[str, Any] | None = None,
) -> None:
    """Measure methods at one share and write the record, with those of an earlier record that are kept."""
    draws = draw_subsets(pair.n, share=share, draws=pair.size.draws, seed=SEED)
    test = evaluate({each.name: each for each in candidates}, pair.test, draws, progress=False)
    costs = {each.name: each.cost(pair.test, draws[0]) for each in candidates}
    validation = on_validation(pair, share, [each for each in candidates if each.is_rival])
    facts: dict[str, Any] = {}
    if kept is not None:
        methods = kept.record["figures"]["methods"]
        costs |= {name: {key: methods[name][key] for key in COSTS} for name in kept.names(test.methods)}
        test, validation, facts = kept.join(test), kept.validation(validation), {**kept.facts(), **(more_facts or {})}
    test = Comparison.from_record(test.to_record(STEP))  # what the rounded sums give can be computed again to the bit
    figures = {
        "step": STEP,
        "test_windows": len(pair.test),
        "every": pair.test.starts.step,
        **facts,
        "validation": validation,
        "methods": {name: {**test.row(name, STEP), **costs[name]} for name in test.methods},
        "rows": {metric: compare(test, validation["errors"], metric) for metric in METRICS},
        "settings": settings,
        "tallies": {"test": test.to_record(STEP)},
    }
    write(pair, share, folder, "accuracy", figures, started)
    print(test.table(STEP)[["mae_gap", "rmse_gap"]].round(2).to_string())
    for metric, row in figures["rows"].items():
        print(f"{pair.name} {share:.0%} {metric}: {sentence(row)}", flush=True)


def on_validation(pair: Pair, share: float, rivals: Sequence[Candidate]) -> dict[str, Any]:
    """Return the mean errors of rivals on validation windows, with the windows and draws."""
    draws = draw_subsets(pair.n, share=share, draws=min(VAL_DRAWS, pair.size.draws), seed=VAL_SEED)
    sizes = {"windows": len(pair.val), "draws": len(draws), "seed": VAL_SEED}
    methods = {each.name: each for each in rivals}
    return {**sizes, "errors": means(evaluate(methods, pair.val, draws, progress=False)) if rivals else {}}


def write(pair: Pair, share: float, folder: Path, kind: str, figures: dict[str, Any], started: float) -> None:
    """Write a record."""
    path = record_path(folder, pair.name, share, kind)
    folder.mkdir(parents=True, exist_ok=True)
    minutes = round((time.perf_counter() - started) / 60, 1)
    command = f"python benchmarks/accuracy_records.py {pair.name} --share {share:g}"
    records.write_record(
        path.stem,
        figures,
        packages=("numpy", "torch", "numba", "scikit-learn"),
        command=f"{command} --again"
        + (" --apriori" if kind == "apriori" else "")
        + (f" --rivals-of {figures['rivals_of']}" if "rivals_of" in figures else "")
        + (f" && {command} --hardened" if "default_measured" in figures else ""),
        pair=pair.name,
        model=pair.kind,
        dataset=pair.dataset,
        protocol=pair.split.train.protocol.name,
        share=share,
        variables=pair.n,
        draws=pair.size.draws,
        seed=SEED,
        effort=pair.size.effort,
        minutes=minutes,
    )
    print(f"{path} written after {minutes} minutes", flush=True)


def means(comparison: Comparison) -> dict[str, dict[str, float]]:
    """Return the mean errors of each method at the step of the record."""
    return {
        name: {metric: float(comparison.errors(name, metric, STEP).mean()) for metric in METRICS}
        for name in comparison.methods
    }


def compare(test: Comparison, on_validation: dict[str, dict[str, float]], metric: str) -> dict[str, Any]:
    """Return the gaps of the default, tuned for a metric, to the Oracles and to the best rivals."""
    default = f"subcast ({metric})"
    chosen = min(on_validation, key=lambda name: on_validation[name][metric])
    best = min(on_validation, key=lambda name: float(test.errors(name, metric, STEP).mean()))
    helped = f"oracle with help ({metric})"
    gaps = {"oracle": "oracle", "chosen_rival": chosen, "best_on_test": best}
    gaps |= {"oracle_with_help": helped} if helped in test.methods else {}
    return {
        "default": default,
        "chosen_rival": chosen,
        "best_on_test": best,
        "gaps_of_default": {key: gap_facts(test.gap(default, metric, STEP, base=base)) for key, base in gaps.items()},
        "model_adds": gap_facts(test.gap(f"subcast without f ({metric})", metric, STEP, base=default)),
    }


def gap_facts(gap: Gap) -> dict[str, Any]:
    """Return a gap and its interval as plain values."""
    return {"gap": gap.gap, "interval": gap.interval}


def sentence(row: dict[str, Any]) -> str:
    """Describe the comparison of a row."""
    texts = [f"to {key.replace('_', ' ')} {gap_text(gap)}" for key, gap in row["gaps_of_default"].items()]
    return (
        f"default {'; '.join(texts)}; the model adds {gap_text(row['model_adds'])}; "
        f"rival chosen on validation: {row['chosen_rival']}; best on test: {row['best_on_test']}"
    )


def gap_text(gap: dict[str, Any]) -> str:
    """Return a gap as text, such as '-2.1 [-3.0, -1.2]'."""
    ends = "" if gap["interval"] is None else " [{:+.1f}, {:+.1f}]".format(*gap["interval"])
    return f"{gap['gap']:+.1f}{ends}"


def measure_apriori(pair: Pair, share: float, folder: Path) -> None:
    """Train a TCN on S alone for a few draws, and write the record of its errors."""
    from subcast.comparison import Tally
    from subcast.evaluation import forecast_all
    from subcast.training import TrainConfig, train

    started = time.perf_counter()
    draws = draw_subsets(pair.n, share=share, draws=min(APRIORI_DRAWS, pair.size.draws), seed=SEED)
    tallies = []
    for number, present in enumerate(draws):
        part = split_series(pair.series.select(np.sort(present)), pair.dataset)
        config = TrainConfig(seed=0, progress=False, **({} if pair.size.effort == 1 else {"epochs": 2}))
        work = RUNS / f"apriori-{pair.dataset}-{round(100 * share)}-{number}"
        model = train("tcn", part.train, part.val, config, folder=work)
        test = part.test[:: pair.test.starts.step]
        tallies.append(Tally.of(forecast_all(model, test), test.targets, steps=(STEP,)))
    comparison = Comparison({"S apriori (TCN)": Tally.join(tallies)}, list(draws), pair.test.starts)
    figures = {"step": STEP, "errors": means(comparison), "tallies": {"test": comparison.to_record(STEP)}}
    write(pair, share, folder, "apriori", figures, started)


if __name__ == "__main__":
    main()
