"""What a method got wrong under one draw of S, and gaps between methods that allow for draws and for windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.metrics import ErrorSums

STRETCHES = 50  # of consecutive test windows, resampled as a whole: neighboring windows overlap
LEAST_DRAWS = 6  # with fewer, percentiles of resampled draws are little more than the smallest and the largest
RESAMPLES = 1000
LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class Tally:
    """Errors of one method under one draw of S.

    Parameters
    ----------
    mae, rmse
        by step, [h]
    absolute, squared, count
        sums over each stretch of test windows at the step of record, [stretches]
    """

    mae: NDArray[np.float64]
    rmse: NDArray[np.float64]
    absolute: NDArray[np.float64]
    squared: NDArray[np.float64]
    count: NDArray[np.float64]

    @classmethod
    def of(cls, forecast: NDArray[np.floating[Any]], targets: NDArray[np.floating[Any]], step: int) -> Tally:
        """Tally forecasts [b, h, s] against targets, NaN where none counts."""
        whole = ErrorSums.of(forecast, targets)
        off = forecast[:, step - 1].astype(np.float64) - targets[:, step - 1]  # [b, s]
        each = np.stack([np.nansum(np.abs(off), axis=1), np.nansum(off**2, axis=1), (~np.isnan(off)).sum(axis=1)])
        parts = np.array_split(each, min(STRETCHES, max(1, each.shape[1])), axis=1)
        return cls(whole.mae_by_step, whole.rmse_by_step, *np.stack([part.sum(axis=1) for part in parts], axis=1))

    def to_dict(self) -> dict[str, list[float]]:
        """Give it as plain values, for JSON."""
        return {name: getattr(self, name).tolist() for name in self.__dataclass_fields__}

    @classmethod
    def from_dict(cls, told: dict[str, list[float]]) -> Tally:
        """The inverse of `to_dict`."""
        return cls(**{name: np.asarray(told[name], dtype=np.float64) for name in cls.__dataclass_fields__})


def gap_between(ours: Sequence[Tally], base: Sequence[Tally], metric: str, step: int) -> list[float | None]:
    """The gap of mean errors in per cent, and its 95 % interval where there are draws enough.

    Draws of S and stretches of test windows are resampled, the same ones for both methods: another S, and another
    time, would have given another gap.

    Parameters
    ----------
    ours, base
        of each draw of S, in the same order
    metric
        "mae" or "rmse"
    step
        the step of record

    Returns
    -------
    list
        gap, lower and upper end; None for both ends with few draws
    """
    means = [np.mean([getattr(tally, metric)[step - 1] for tally in tallies]) for tallies in (ours, base)]
    gap = float(100 * (means[0] / means[1] - 1))
    if len(ours) < LEAST_DRAWS:
        return [gap, None, None]
    rng = np.random.default_rng(0)
    draws, stretches = len(ours), len(ours[0].count)
    windows = rng.multinomial(stretches, np.full(stretches, 1 / stretches), size=RESAMPLES)  # [r, stretches]
    picked = rng.multinomial(draws, np.full(draws, 1 / draws), size=RESAMPLES)  # [r, draws]
    resampled = [_resampled(tallies, metric, windows, picked) for tallies in (ours, base)]
    gaps = 100 * (resampled[0] / resampled[1] - 1)
    low, high = np.nanquantile(gaps, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return [gap, float(low), float(high)]


def _resampled(
    tallies: Sequence[Tally], metric: str, windows: NDArray[np.int64], picked: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The mean error over draws for each resampling, [r]."""
    sums = np.stack([tally.absolute if metric == "mae" else tally.squared for tally in tallies])  # [draws, stretches]
    count = np.stack([tally.count for tally in tallies])
    with np.errstate(invalid="ignore", divide="ignore"):
        errors = (windows @ sums.T) / (windows @ count.T)  # [r, draws]
    errors = errors if metric == "mae" else np.sqrt(errors)
    return np.asarray((errors * picked).sum(axis=1) / picked.sum(axis=1), dtype=np.float64)
