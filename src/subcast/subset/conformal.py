"""Prediction intervals from residuals on validation windows, by how many variables are present (split conformal)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.progress import progress_bar
from subcast.storage.state import State
from subcast.subset.arrived import Arrived
from subcast.subset.fitted import Fitted
from subcast.subset.methods import forecast_windows
from subcast.subset.settings import Settings
from subcast.subsets import draw_subsets, subset_size
from subcast.windows import Windows

PROBABILITIES = np.array([0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45,
                          0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.975, 0.99, 0.995])  # fmt: skip
DRAWS = {0.15: 24, 0.5: 12, 0.85: 8, 1.0: 1}  # how many draws of S of each share: the smaller, the more it takes
RESIDUALS = 1152  # windows for each share, divided among the draws
_ARRAYS = ("shares", "present", "absent", "gaps")
_ENOUGH = 40  # residuals of a variable of its own; below it those of all variables serve alone


@dataclass(frozen=True, eq=False)
class Calibration:
    """Quantiles of the residuals, in units of how far the neighbors' futures lie apart.

    Parameters
    ----------
    shares
        [c], the |S| / N at which they were taken
    present, absent
        [c, probabilities, h, n]: for variables in S, and for those that are not
    gaps
        [c], by how much the error was above that with all variables, in per cent, over all steps
    """

    shares: NDArray[np.float64]
    present: NDArray[np.float32]
    absent: NDArray[np.float32]
    gaps: NDArray[np.float64]

    def bounds(self, level: float, share: float, variables: NDArray[np.int64], *, absent: bool) -> NDArray[np.float32]:
        """Return lower and upper quantiles of the residuals at a level, [2, h, s], when this share is present."""
        table = (self.absent if absent else self.present)[..., variables]  # [c, probabilities, h, s]
        place = float(np.interp(share, self.shares, np.arange(len(self.shares))))
        low = int(place)
        high = min(low + 1, len(self.shares) - 1)
        weight = place - low
        mixed = (1 - weight) * table[low] + weight * table[high]  # [probabilities, h, s]
        ends = [(1 - level) / 2, (1 + level) / 2]
        return np.stack([_at_probability(mixed, end) for end in ends])

    def gap_at(self, share: float) -> float:
        """Return the expected gap to all variables, in per cent, when this share is present."""
        return float(np.interp(share, self.shares, self.gaps))

    def state(self) -> State:
        """Return what is kept on disk."""
        return State({}, {name: getattr(self, name) for name in _ARRAYS})

    @classmethod
    def from_state(cls, state: State) -> Calibration:
        """Return the calibration that `state` described."""
        return cls(*(np.asarray(state.arrays[name]) for name in _ARRAYS))


def calibrate(
    fitted: Fitted,
    windows: Windows,
    places: NDArray[np.int64],
    settings: Settings,
    *,
    metric: str,
    seed: int,
    progress: bool,
) -> Calibration:
    """Collect residuals on validation windows that tuning did not use."""
    places = places[:: max(1, -(-len(places) // RESIDUALS))]
    arrived, targets = fitted.arrive(windows)[places], windows.targets[places]
    whole = np.concatenate([fitted.plain_forecast(arrived[i : i + 256]) for i in range(0, len(arrived), 256)])
    n = fitted.n
    shares = [share for share in DRAWS if share == 1.0 or subset_size(n, share) < n]
    tables, hidden, gaps = [], [], []
    with progress_bar("Calibrating prediction intervals", sum(DRAWS[share] for share in shares), progress) as advance:
        for place, share in enumerate(shares):
            residuals = _Residuals(fitted, arrived, targets, whole, settings, metric)
            size = min(RESIDUALS // DRAWS[share], len(arrived))
            for draw, present in enumerate(draw_subsets(n, share=share, draws=DRAWS[share], seed=seed + 1000 + place)):
                rng = np.random.default_rng([seed, place, draw])
                some = np.sort(rng.choice(len(arrived), size=size, replace=False))
                residuals.add(np.sort(present), some)
                advance(1)
            tables.append(residuals.quantiles(absent=False))
            hidden.append(residuals.quantiles(absent=True))
            gaps.append(residuals.gap())
    gaps[-1] = 0.0
    if len(shares) > 1:  # when all are present none is absent: the last but one share serves up to there
        hidden[-1] = hidden[-2]
    return Calibration(np.array(shares), np.stack(tables), np.stack(hidden), np.array(gaps))


class _Residuals:
    """Residuals of one share, gathered draw by draw."""

    def __init__(
        self,
        fitted: Fitted,
        arrived: Arrived,
        targets: NDArray[np.float32],
        whole: NDArray[np.float32],
        settings: Settings,
        metric: str,
    ) -> None:
        self.fitted, self.arrived, self.targets, self.settings, self.metric = fitted, arrived, targets, settings, metric
        self.whole = whole  # [b, h, n]: the plain forecasts
        self.found: dict[bool, list[NDArray[np.float32]]] = {False: [], True: []}
        self.errors = np.zeros(2)

    def add(self, present: NDArray[np.int64], some: NDArray[np.int64]) -> None:
        """Forecast some windows from S and keep what was off, [b, h, n] with NaN for those of the other kind."""
        fitted, arrived = self.fitted, self.arrived[some]
        truth = self.targets[some]  # [b, h, n]
        whole = self.whole[some]
        neighbors = fitted.retrieve(arrived, present, self.settings.neighbors, self.settings.exponent)
        order = fitted.order(present, True)
        if len(present) == fitted.n:
            mean = whole
        else:
            forecast = forecast_windows(fitted, self.settings, arrived, present, absent=True, neighbors=neighbors)
            mean = forecast.mean
        off = np.full(truth.shape, np.nan, dtype=np.float32)
        off[:, :, order] = truth[:, :, order] - mean
        scaled = off / fitted.uncertainty_scale(arrived, neighbors, np.arange(fitted.n))  # [b, h, n]
        there = np.isin(np.arange(fitted.n), present)
        self.found[False].append(np.where(there, scaled, np.nan))
        self.found[True].append(np.where(there, np.nan, scaled))
        unit = fitted.normalizer.spread_of(present)
        ours = off[:, :, present] / unit
        best = (truth[:, :, present] - whole[:, :, present]) / unit
        power = 1 if self.metric == "mae" else 2
        self.errors += [np.nansum(np.abs(ours) ** power), np.nansum(np.abs(best) ** power)]

    def gap(self) -> float:
        """In per cent above the error with all variables."""
        ours, best = self.errors ** (1 if self.metric == "mae" else 0.5)
        return float(100 * (ours / best - 1)) if best > 0 else 0.0

    def quantiles(self, *, absent: bool) -> NDArray[np.float32]:
        """[probabilities, h, n]: halfway between a variable's own, which few days decide, and those of all."""
        residuals = np.concatenate(self.found[absent])  # [b, h, n]
        _, horizon, n = residuals.shape
        table = np.zeros((len(PROBABILITIES), horizon, n), dtype=np.float32)
        for step in range(horizon):
            everyone = residuals[:, step][~np.isnan(residuals[:, step])]
            common = conformal_quantiles(everyone) if everyone.size else np.zeros(len(PROBABILITIES))
            for variable in range(n):
                own = residuals[:, step, variable]
                own = own[~np.isnan(own)]
                table[:, step, variable] = (conformal_quantiles(own) + common) / 2 if own.size >= _ENOUGH else common
        return table


def conformal_quantiles(residuals: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Quantiles moved outwards by what a finite sample asks for: the ceil((n + 1) p)-th of n.

    >>> conformal_quantiles(np.arange(1.0, 100.0))[PROBABILITIES == 0.95].item()
    95.0
    """
    ordered = np.sort(residuals)
    count = len(ordered)
    upper = np.clip(np.ceil(np.round((count + 1) * PROBABILITIES, 9)), 1, count).astype(int) - 1
    lower = np.clip(np.floor(np.round((count + 1) * PROBABILITIES, 9)), 1, count).astype(int) - 1
    return np.asarray(np.where(PROBABILITIES >= 0.5, ordered[upper], ordered[lower]), dtype=np.float64)


def _at_probability(table: NDArray[np.float32], probability: float) -> NDArray[np.float32]:
    place = float(np.interp(probability, PROBABILITIES, np.arange(len(PROBABILITIES))))
    low = int(place)
    high = min(low + 1, len(PROBABILITIES) - 1)
    return np.asarray((1 - (place - low)) * table[low] + (place - low) * table[high], dtype=np.float32)
