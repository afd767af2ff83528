"""Completing a window: the neighbors' readings where a variable is absent, corrected by a regression on S."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subcast.errors import InputError
from subcast.retrieval import Neighbors
from subcast.subset.arrived import Arrived
from subcast.subset.fitted import Fitted
from subcast.subset.regression import Regression
from subcast.subset.settings import Settings
from subcast.weighting import get_weighting


@dataclass(frozen=True, eq=False)
class Completed:
    """Windows with their neighbors and what follows from them, in normalized units: what experts look at.

    Parameters
    ----------
    fitted, settings
        what was learned, and how it is used
    arrived
        the windows in raw units
    present
        S, variable numbers in increasing order
    neighbors, weights
        the nearest training windows and how much each counts, [b, k]
    readings
        [b, t, s], those of S with holes filled
    pooled
        [b, t, n], the weighted mean of the neighbors' readings
    solved
        [b, p], what all regressions on S share, None without regression
    regression
        of everything else on S, None without
    """

    fitted: Fitted
    settings: Settings
    arrived: Arrived
    present: NDArray[np.int64]
    neighbors: Neighbors
    weights: NDArray[np.float32]
    readings: NDArray[np.float32]
    pooled: NDArray[np.float32]
    solved: NDArray[np.float32] | None
    regression: Regression | None


@dataclass(frozen=True, eq=False)
class DistanceEvidence:
    """What a weighting may look at when no forecast of a neighbor's completion is made."""

    distance: NDArray[np.float32]
    temperature: float

    def forecast_distance(self) -> NDArray[np.float64]:
        """Refuse: there are no forecasts to compare."""
        raise InputError("this weighting compares forecasts of each completed window: set pool=False")


def weigh_by_distance(neighbors: Neighbors, settings: Settings) -> NDArray[np.float32]:
    """Return the weights of neighbors, [b, k], from their distances alone; equal ones where forecasts are needed."""
    weighting = get_weighting("uniform" if get_weighting(settings.weighting).needs_forecasts else settings.weighting)
    return weighting.weigh(DistanceEvidence(neighbors.distance, settings.temperature))


def complete(
    fitted: Fitted,
    settings: Settings,
    arrived: Arrived,
    present: NDArray[np.int64],
    neighbors: Neighbors,
    weights: NDArray[np.float32],
) -> Completed:
    """Average the neighbors, fill holes of S from them, and regress what they get wrong on S."""
    pooled = fitted.bank.pool_windows(neighbors.index, weights, np.arange(fitted.n))
    readings = fill_holes(fitted.normalize(arrived, present), pooled[:, :, present])
    regression = solved = None
    if fitted.regressions is not None and settings.uses_regression:
        regression = fitted.regressions.get(present, settings.ridge)
        solved = regression.solve(readings - pooled[:, :, present])
    return Completed(fitted, settings, arrived, present, neighbors, weights, readings, pooled, solved, regression)


def model_inputs(done: Completed, *, borrow_features: bool = False) -> NDArray[np.float32]:
    """Return the completed windows in raw units as the model takes them, [b, t, n, f].

    With `borrow_features` absent variables get the first neighbor's time features too, as in the published method.
    """
    fitted, regression, correction = done.fitted, done.regression, done.settings.correction
    normal = done.pooled.copy()  # [b, t, n]
    if correction > 0 and regression is not None and done.solved is not None and regression.absent.size:
        normal[:, :, regression.absent] += np.float32(correction) * regression.inputs(done.solved)
    normal[:, :, done.present] = done.readings
    raw = fitted.normalizer.restore(normal, fitted.slots(done.arrived, fitted.lookback))
    arrived = done.arrived.values[:, :, done.present]
    raw[:, :, done.present] = np.where(np.isnan(arrived), raw[:, :, done.present], arrived)  # what arrived stays
    inputs = fitted.with_features(raw, done.arrived.features)
    if borrow_features and done.arrived.features is not None:
        absent = fitted.others(done.present)
        borrowed = fitted.bank.windows(done.neighbors.index[:, 0])[..., 1 : fitted.n_features]  # [b, t, n, f - 1]
        inputs[:, :, absent, 1:] = np.where(np.isnan(borrowed), inputs[..., 1:], borrowed)[:, :, absent]
    return inputs


def fill_holes(readings: NDArray[np.float32], pooled: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return readings [b, t, s] without NaN: the neighbors' course, moved by the offset before and after each hole."""
    holes = np.isnan(readings)
    if not holes.any():
        return readings
    filled = readings.copy()
    steps = np.arange(readings.shape[1])
    for window, variable in np.argwhere(holes.any(axis=1)):
        known = ~holes[window, :, variable]
        path = pooled[window, :, variable]
        if known.any():
            offset = np.interp(steps, steps[known], (readings[window, :, variable] - path)[known])
            filled[window, ~known, variable] = (path + offset)[~known]
        else:
            filled[window, :, variable] = path
    return filled
