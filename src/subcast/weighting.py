"""How much each neighbor's forecast counts: four ways to weigh, each giving weights that sum to 1 over the neighbors.

A neighbor that does not exist (a distance of infinity) has weight 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subcast.axes import check_axes
from subcast.errors import InputError

WEIGHTINGS = ("uniform", "distance", "forecast", "rank")


def uniform(distance: ArrayLike) -> NDArray[np.float32]:
    """Weigh all neighbors alike (UW).

    >>> uniform([[0.2, 0.4, np.inf, np.inf]])
    array([[0.5, 0.5, 0. , 0. ]], dtype=float32)
    """
    return _shares(np.isfinite(_distances(distance)).astype(np.float64))


def by_distance(distance: ArrayLike, temperature: float = 0.1) -> NDArray[np.float32]:
    """Weigh by the distance on S: softmax of -distance / temperature (DDW).

    Parameters
    ----------
    distance
        [..., k], as retrieval gives them
    temperature
        tau > 0: the smaller, the more the nearest counts

    Examples
    --------
    >>> by_distance([0.0, 0.1], temperature=0.1).round(3)
    array([0.731, 0.269], dtype=float32)
    """
    if not temperature > 0:
        raise InputError(f"temperature must be above 0, got {temperature}")
    found = _distances(distance)
    finite = np.isfinite(found)
    nearest = np.min(np.where(finite, found, np.inf), axis=-1, keepdims=True, initial=np.inf)
    nearest = np.where(np.isfinite(nearest), nearest, 0.0)
    # where nothing is finite the exponent of -inf gives weights of 0, which `_shares` leaves as they are
    return _shares(np.exp(np.where(finite, -(found - nearest) / temperature, -np.inf)))


def forecast_distance(new: ArrayLike, neighbors: ArrayLike) -> NDArray[np.float64]:
    """Measure how far the forecasts of neighbors are from those of the window they completed (equation 6).

    Errors at later steps count less: the difference at step q is divided by q.

    Parameters
    ----------
    new
        [b, k, h, s]: the forecast of the new window, completed by each neighbor
    neighbors
        [b, k, h, s]: the forecast of each neighbor's own window, in the same (normalized) units

    Returns
    -------
    NDArray
        [b, k], the mean over steps and variables

    Examples
    --------
    >>> new = np.zeros((1, 1, 2, 1))
    >>> float(forecast_distance(new, new + [[4.0], [2.0]]).item())  # (4 / 1 + 2 / 2) / 2
    2.5
    """
    ours, theirs = np.asarray(new), np.asarray(neighbors)
    check_axes("new", ours, "bkhs")
    if ours.shape != theirs.shape:
        raise InputError(f"neighbors must have the shape of new, {ours.shape}, got {theirs.shape}")
    steps = np.arange(1, ours.shape[2] + 1, dtype=np.float64)[:, None]  # [h, 1]
    return np.asarray((np.abs(ours.astype(np.float64) - theirs) / steps).mean(axis=(2, 3)))


def by_forecast(new: ArrayLike, neighbors: ArrayLike, temperature: float = 0.1) -> NDArray[np.float32]:
    """Weigh by the distance in forecast space: softmax of -distance / temperature (FDW, equation 7).

    `new` and `neighbors` as in `forecast_distance`. A neighbor with a forecast of NaN has weight 0.

    >>> new = np.zeros((1, 2, 1, 1))
    >>> by_forecast(new, [[[[0.0]], [[0.1]]]]).round(3)
    array([[0.731, 0.269]], dtype=float32)
    """
    distance = forecast_distance(new, neighbors)
    return by_distance(np.where(np.isnan(distance), np.inf, distance), temperature)


def by_rank(distance: ArrayLike) -> NDArray[np.float32]:
    """Weigh by rank alone: the rank-order centroid, (1 / m) sum of 1 / j for j from the rank to m.

    `distance` is in increasing order, as retrieval gives it.

    >>> by_rank([[0.1, 0.5, 0.9]]).round(3)
    array([[0.611, 0.278, 0.111]], dtype=float32)
    """
    finite = np.isfinite(_distances(distance))
    k = finite.shape[-1]
    count = finite.sum(axis=-1, keepdims=True)  # [..., 1]
    rank = np.arange(1, k + 1)
    terms = np.where(rank <= count, 1.0 / rank, 0.0)  # [..., k]
    tails = np.flip(np.cumsum(np.flip(terms, axis=-1), axis=-1), axis=-1)
    return _shares(np.where(finite, tails, 0.0))


def _distances(distance: ArrayLike) -> NDArray[np.float64]:
    found = np.asarray(distance, dtype=np.float64)
    if found.ndim == 0:
        raise InputError("distance must have one entry for each neighbor along its last axis, got a single number")
    if np.isnan(found).any():
        raise InputError("distance must be numbers, infinite where there is no neighbor, got NaN")
    return found


def _shares(raw: NDArray[np.float64]) -> NDArray[np.float32]:
    total = raw.sum(axis=-1, keepdims=True)
    return np.divide(raw, total, out=np.zeros_like(raw), where=total > 0).astype(np.float32)
