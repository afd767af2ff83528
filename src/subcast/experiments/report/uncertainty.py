"""How far ours and a published number may be apart by chance: other draws of S, windows left out, other trainings."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from subcast.comparison import LEAST_DRAWS, RESAMPLES, Comparison
from subcast.experiments.report.records import ORDERS, AllRecords, Record, published_number

FIGURES = ("mae", "rmse", "mae_gap", "rmse_gap")
TRAININGS = 10
"""Trainings of each model in the paper."""
_DRAWS = 1000  # of S in the paper: 100 for each training
_DRAWS_OF = {"table-apriori": 50}
_Z = 1.96
Spreads = Mapping[tuple[str, str, str], tuple[float, int]]
"""By model ("" for all together), method and figure: the deviation between trainings, for errors as a share of the
error, for gaps in points; and its degrees of freedom."""
LEAST_TRAININGS = 3
"""Least number of trainings of a model whose own deviation is used."""


@dataclass(frozen=True)
class Beside:
    """A number of ours beside the published one.

    Parameters
    ----------
    ours, published
        the mean over our trainings, and the number of the paper
    allowed
        how far they may be apart by chance (95 %)
    """

    ours: float
    published: float
    allowed: float

    @property
    def agree(self) -> bool:
        """Whether the difference may be chance."""
        return abs(self.ours - self.published) <= self.allowed


def cells(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Yield the trainings of each cell of each experiment that are on the draws and windows of the first of them."""
    by_cell: dict[tuple[str, str, str], list[Record]] = {}
    for record in records:
        by_cell.setdefault((record.experiment, record.dataset, record.model), []).append(record)
    for trainings in by_cell.values():
        yield [record for record in trainings if record.size == trainings[0].size]


def training_spreads(all_records: AllRecords) -> dict[tuple[str, str, str], tuple[float, int]]:
    """Return how far trainings that differ in their seed alone are apart: of each model, and of all that have several.

    A method that several experiments have is taken from the first of them.
    """
    squares: dict[tuple[str, str, str], list[tuple[float, int]]] = {}
    seen: set[tuple[str, ...]] = set()
    for records in all_records.values():
        for trainings in cells(record for record in records if record.dataset in ORDERS):
            first = trainings[0]
            for method in first.methods if len(trainings) > 1 and "oracle" in first.methods else ():
                key = (first.dataset, first.model, method)
                if key in seen or not all(method in record.methods for record in trainings):
                    continue
                seen.add(key)
                for figure in FIGURES:
                    values = np.array([record.methods[method][figure] for record in trainings])
                    scale = 1.0 if figure.endswith("gap") else values.mean()
                    entry = (float(((values - values.mean()) ** 2).sum()) / scale**2, len(values) - 1)
                    squares.setdefault(("", method, figure), []).append(entry)
                    if len(values) >= LEAST_TRAININGS:
                        squares.setdefault((first.model, method, figure), []).append(entry)
    spreads = {}
    for key, own in squares.items():
        freedom = sum(n for _, n in own)
        spreads[key] = (float(np.sqrt(sum(s for s, _ in own) / freedom)), freedom)
    return spreads


def spread_between_trainings(spreads: Spreads, model: str, method: str, figure: str, value: float) -> tuple[float, int]:
    """Return the deviation between trainings of a number, and its degrees of freedom.

    A model with few trainings takes that of all models together, and a method that has none that of FDW.
    """
    keys = [(name, way, figure) for way in (method, "fdw") for name in (model, "")]
    spread, freedom = next((spreads[key] for key in keys if key in spreads), (0.0, 1))
    return (spread if figure.endswith("gap") else spread * value), freedom


def mean_over(trainings: Sequence[Record], method: str, figure: str, group: str = "15%") -> float:
    """Return the mean of a number over trainings."""
    return float(np.mean([record.groups[group][method][figure] for record in trainings]))


def resampled(trainings: Sequence[Record], method: str, figure: str, group: str = "15%") -> NDArray[np.float64] | None:
    """Return the mean of a number over trainings for each resampling of the draws of S; None without tallies.

    The paper has the same test windows, so these are not resampled. Where only every so many of them are forecast, the
    numbers vary by what that costs (`window_error`), all numbers of a dataset alike. Numbers of cells with as many
    draws are resampled alike.
    """
    samples = []
    for record in trainings:
        comparison = record.comparison(group)
        if comparison is None or method not in comparison.tallies or len(comparison.draws) < LEAST_DRAWS:
            return None
        metric, step = figure.removesuffix("_gap"), max(comparison.tallies[method].by_stretch)
        errors = comparison.resampled_errors(method, metric, step, windows=False)
        if figure != metric:
            oracle = comparison.resampled_errors("oracle", metric, step, windows=False)
            errors = 100 * (errors - oracle) / oracle
        normal = _normal(f"windows {record.dataset}")
        samples.append(errors + window_error(comparison, method, figure, record.every) * normal)
    return np.asarray(np.mean(samples, axis=0))


def window_error(comparison: Comparison, method: str, figure: str, every: int) -> float:
    """Return the standard error of a number that comes from forecasting only every so many of the windows.

    That of a systematic sample, from the differences of neighboring stretches of windows.
    """
    metric, step = figure.removesuffix("_gap"), max(comparison.tallies[method].by_stretch)
    values = _by_stretch(comparison, method, metric, step)
    if figure != metric:
        mean, oracle = (float(comparison.errors(name, metric, step).mean()) for name in (method, "oracle"))
        values = 100 / oracle * (values - mean / oracle * _by_stretch(comparison, "oracle", metric, step))
    if every == 1 or len(values) < 2:
        return 0.0
    variance = float((np.diff(values) ** 2).sum()) / (2 * (len(values) - 1))
    return float(np.sqrt((1 - 1 / every) * variance / len(values)))


def _by_stretch(comparison: Comparison, method: str, metric: str, step: int) -> NDArray[np.float64]:
    """Return what each stretch of windows has in an error, the mean over draws, up to a constant, [stretches]."""
    sums = comparison.tallies[method].by_stretch[step]
    count = np.maximum(sums.count, 1)
    if metric == "mae":
        return np.asarray((sums.absolute / count).mean(axis=0))
    root = comparison.errors(method, metric, step)[:, None]
    return np.asarray((sums.squared / count / (2 * root)).mean(axis=0))


def _normal(name: str) -> NDArray[np.float64]:
    """Return a standard normal number for each resampling, the same ones for the same name."""
    return np.random.default_rng(zlib.crc32(name.encode())).standard_normal(RESAMPLES)


def with_trainings(
    samples: NDArray[np.float64], trainings: Sequence[Record], method: str, figure: str, spreads: Spreads
) -> NDArray[np.float64]:
    """Return resampled numbers that vary with the training too; MAE and RMSE of a method vary alike."""
    first = trainings[0]
    spread, freedom = spread_between_trainings(spreads, first.model, method, figure, float(samples.mean()))
    normal = _normal(f"{first.dataset} {first.model} {method}")
    student = stats.t.ppf(stats.norm.cdf(normal), freedom)  # the spread is known from few trainings
    return np.asarray(samples + spread / np.sqrt(len(trainings)) * student)


def beside_published(
    trainings: Sequence[Record], method: str, figure: str, group: str, spreads: Spreads
) -> Beside | None:
    """Set a number beside the published one of the experiment's own table; None if one of them is missing.

    They may be apart by what comes from our draws of S, from the test windows that ours leaves out, from our trainings
    and the paper's, and from the paper's draws of S, which are others for every method.
    """
    record, metric = trainings[0], figure.removesuffix("_gap")
    published = published_number(record, method, figure if figure == metric else f"delta_{metric}", group, own=True)
    sampling = _sampling_error(trainings, method, figure, group)
    if published is None or sampling is None:
        return None
    ours = mean_over(trainings, method, figure, group)
    spread, freedom = spread_between_trainings(spreads, record.model, method, figure, ours)
    if method == "apriori":  # a training of its own for each draw
        spread = 0.0
    parts = [
        (sampling**2, record.groups[group][method]["draws"] - 1),
        (spread**2 * (1 / len(trainings) + 1 / TRAININGS), freedom),
        (_error_of_published(record, method, figure) ** 2, np.inf),
    ]
    return Beside(ours, published.mean, _allowed(parts))


def _allowed(parts: Sequence[tuple[float, float]]) -> float:
    """Return how large a sum of independent parts may be by chance (95 %), given their variances and freedoms."""
    variance = sum(part for part, _ in parts)
    if variance == 0:
        return 0.0
    freedom = variance**2 / max(sum(part**2 / degrees for part, degrees in parts), 1e-300)  # Welch and Satterthwaite
    return float(stats.t.ppf(0.975, min(freedom, 1e6)) * np.sqrt(variance))


def _sampling_error(trainings: Sequence[Record], method: str, figure: str, group: str) -> float | None:
    """Return the standard error of a number over draws of S and windows; without tallies from the stored figures."""
    samples = resampled(trainings, method, figure, group)
    row = trainings[0].groups[group][method]
    if samples is not None:
        return float(samples.std(ddof=1)) * float(np.sqrt(row["draws"] / (row["draws"] - 1)))
    if row["draws"] < LEAST_DRAWS:
        return None
    if figure.endswith("gap"):
        lower, upper = row[f"{figure}_interval"]
        return float(upper - lower) / (2 * _Z)
    return float(row[f"{figure}_deviation"]) / row["draws"] ** 0.5


def _error_of_published(record: Record, method: str, figure: str) -> float:
    """Return the standard error of a published number; for a gap that of the difference of two unpaired means."""
    metric, draws = figure.removesuffix("_gap"), _DRAWS_OF.get(record.experiment, _DRAWS)
    oracle = published_number(record, "oracle", metric)
    own = published_number(record, method, metric) or oracle
    if oracle is None or own is None or oracle.deviation is None:
        return 0.0
    deviation = own.deviation if own.deviation is not None else oracle.deviation
    if figure == metric:
        return deviation / draws**0.5
    return 100 * float(np.hypot(deviation, oracle.deviation)) / draws**0.5 / oracle.mean
