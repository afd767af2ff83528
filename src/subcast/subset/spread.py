"""How far a reading may lie below and above its forecast: the units of the residuals behind the intervals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from subcast.retrieval import Neighbors
from subcast.subset.arrived import Arrived
from subcast.subset.completion import Completed, complete, weigh_by_distance
from subcast.subset.experts import Boosted
from subcast.subset.experts.boosted import QUANTILES
from subcast.subset.fitted import Fitted
from subcast.subset.settings import Settings
from subcast.subsets import draw_subsets
from subcast.windows import Windows

_MOST_AT_ONCE, _CELLS_AT_ONCE = 256, 1 << 21  # windows that are completed together, and cells of their forecasts
_LEAST_SIDE = 0.25  # of half the distance between the bounds: the smallest distance of a bound from the forecast
_LEAST_SPREAD = 0.02  # of the usual spread
LEVEL_SHARES = (0.5, 0.0, 1.0)
_COMPARED, _COMPARED_SHARE, _COMPARED_DRAWS = 160, 0.15, 3  # windows, and draws of S, that choose the share


def residual_units(
    fitted: Fitted,
    settings: Settings,
    arrived: Arrived,
    present: NDArray[np.int64],
    neighbors: Neighbors,
    mean: NDArray[np.float32],
    completed: Completed | None = None,
) -> NDArray[np.float32]:
    """Return how far readings usually lie below and above a forecast, [2, b, h, s], raw units.

    For variables in S it is the distance to the bounds that the boosted expert learned; for absent variables, and
    without such an expert, the deviation of the neighbors' futures on both sides.

    Parameters
    ----------
    fitted, settings
        the fitted model and bank, and the settings of the method
    arrived, present, neighbors
        the windows, S in increasing order, and the nearest training windows
    mean
        [b, h, s], the forecast of S, or of S followed by the absent variables
    completed
        the completed windows if they are known; completed again by default
    """
    count = len(present)
    variables = fitted.order(present, mean.shape[2] > count)
    boosted = fitted.experts.get(Boosted.name)
    if not isinstance(boosted, Boosted) or boosted.bounds is None or fitted.regressions is None:
        both = fitted.uncertainty_scale(arrived, neighbors, variables)
        return np.stack([both, both])
    units = np.empty((2, *mean.shape), dtype=np.float32)
    if len(variables) > count:
        units[..., count:] = fitted.uncertainty_scale(arrived, neighbors, variables[count:])
    if completed is not None and completed.regression is not None:
        units[..., :count] = _sides(boosted, completed, mean[..., :count])
        return units
    at_once = int(np.clip(_CELLS_AT_ONCE // (fitted.horizon * count), 16, _MOST_AT_ONCE))
    for first in range(0, len(mean), at_once):
        rows = slice(first, first + at_once)
        done = _completed(fitted, settings, arrived[rows], present, neighbors, rows)
        units[:, rows, :, :count] = _sides(boosted, done, mean[rows, :, :count])
    return units


def _completed(
    fitted: Fitted,
    settings: Settings,
    arrived: Arrived,
    present: NDArray[np.int64],
    neighbors: Neighbors,
    rows: slice,
) -> Completed:
    """Return the windows completed as for a forecast, with the regression solved."""
    nearest = Neighbors(neighbors.index[rows], neighbors.distance[rows])
    settings = replace(settings, correction=settings.correction or 1.0)  # so that the regression is solved
    return complete(fitted, settings, arrived, present, nearest, weigh_by_distance(nearest, settings))


def _sides(boosted: Boosted, done: Completed, mean: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the distances of the learned bounds from a forecast of S, [2, b, h, s]."""
    fitted = done.fitted
    lower, upper = boosted.bounds_of(done)
    slots = fitted.slots(done.arrived, fitted.horizon, fitted.lookback)
    least = np.float32(_LEAST_SPREAD) * fitted.normalizer.spread_at(slots, done.present)
    least = np.maximum(least, np.float32(_LEAST_SIDE / 2) * (upper - lower))
    return np.stack([np.maximum(mean - lower, least), np.maximum(upper - mean, least)])


def choose_bounds(
    fitted: Fitted,
    settings: Settings,
    windows: Windows,
    index: NDArray[np.int64],
    seed: int,
) -> None:
    """Choose which of the boosted expert's bounds to use: those of what the regression leaves, of the reading, or half.

    The one with the smallest pinball loss on validation windows is taken, in units of each variable's spread, with
    15 % of the variables present.
    """
    boosted = fitted.experts.get(Boosted.name)
    if not isinstance(boosted, Boosted) or boosted.bounds is None or fitted.regressions is None or not len(index):
        return
    index = index[:: -(-len(index) // _COMPARED)]
    arrived, targets = fitted.arrive(windows)[index], windows.targets[index]
    losses = np.zeros(len(LEVEL_SHARES))
    for draw in draw_subsets(fitted.n, share=_COMPARED_SHARE, draws=_COMPARED_DRAWS, seed=seed):
        present = np.sort(draw)
        neighbors = fitted.retrieve(arrived, present, settings.neighbors, settings.exponent)
        done = _completed(fitted, settings, arrived, present, neighbors, slice(None))
        truth, scale = targets[:, :, present], fitted.normalizer.spread_of(present)
        for number, share in enumerate(LEVEL_SHARES):
            errors = (truth - boosted.bounds_of(done, share)) / scale  # [2, b, h, s]
            quantiles = np.array(QUANTILES).reshape(2, 1, 1, 1)
            losses[number] += np.nansum(np.maximum(quantiles * errors, (quantiles - 1) * errors))
    boosted.level_share = LEVEL_SHARES[int(losses.argmin())]


def in_units(residual: NDArray[np.float32], units: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return residuals [b, h, s] in the units of their side.

    >>> in_units(np.array([-1.0, 1.0, np.nan]), np.array([[2.0, 2.0, 2.0], [4.0, 4.0, 4.0]]))
    array([-0.5 ,  0.25,   nan])
    """
    return np.asarray(residual / np.where(residual < 0, units[0], units[1]))


def out_of_units(quantiles: NDArray[np.float32], units: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return quantiles of `in_units` as residuals.

    >>> out_of_units(np.array([-0.5, 0.25]), np.array([[2.0, 2.0], [4.0, 4.0]]))
    array([-1.,  1.])
    """
    return np.asarray(quantiles * np.where(quantiles < 0, units[0], units[1]))
