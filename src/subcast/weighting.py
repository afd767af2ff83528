"""Weightings of the neighbors, by name; the weights sum to 1 over the neighbors.

A neighbor that does not exist (a distance of infinity) has weight 0. To add a weighting, put a `Weighting` into
`WEIGHTINGS`, or give a function of `Evidence` as the setting `weighting`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subcast.axes import check_axes
from subcast.errors import InputError


class Evidence(Protocol):
    """The distances that a weighting may use."""

    @property
    def distance(self) -> NDArray[np.float32]:
        """[b, k], how far each neighbor is from the window on S; infinite where there is no neighbor."""
        ...

    @property
    def temperature(self) -> float:
        """The setting `temperature` (tau)."""
        ...

    def forecast_distance(self) -> NDArray[np.float64]:
        """Return [b, k], the distance in forecast space (equation 7); infinite where there is no neighbor."""
        ...


@dataclass(frozen=True)
class Weighting:
    """A function that weighs neighbors, and what it needs.

    Parameters
    ----------
    weigh
        function of `Evidence` that returns weights [b, k]
    uses_temperature
        whether it depends on the temperature, so that tuning tries several
    needs_forecasts
        whether it calls `forecast_distance`, which needs a forecast of each neighbor's completion
    """

    weigh: Callable[[Evidence], NDArray[np.float32]]
    uses_temperature: bool = False
    needs_forecasts: bool = False


def uniform(distance: ArrayLike) -> NDArray[np.float32]:
    """Return equal weights for all neighbors (UW).

    >>> uniform([[0.2, 0.4, np.inf, np.inf]])
    array([[0.5, 0.5, 0. , 0. ]], dtype=float32)
    """
    return _shares(np.isfinite(_distances(distance)).astype(np.float64))


def by_distance(distance: ArrayLike, temperature: float = 0.1) -> NDArray[np.float32]:
    """Return weights by the distance on S: softmax of -distance / temperature (DDW, equation 6).

    Parameters
    ----------
    distance
        [..., k], as retrieval returns them
    temperature
        tau > 0: a smaller value gives the nearest neighbors more weight

    Examples
    --------
    >>> by_distance([0.0, 0.1], temperature=0.1).round(3)
    array([0.731, 0.269], dtype=float32)
    """
    if not temperature > 0:
        raise InputError(f"temperature must be above 0, got {temperature}")
    distances = _distances(distance)
    finite = np.isfinite(distances)
    nearest = np.min(np.where(finite, distances, np.inf), axis=-1, keepdims=True, initial=np.inf)
    nearest = np.where(np.isfinite(nearest), nearest, 0.0)
    # if no distance is finite, exp(-inf) gives weights of 0, which `_shares` does not change
    return _shares(np.exp(np.where(finite, -(distances - nearest) / temperature, -np.inf)))


def forecast_distance(new: ArrayLike, neighbors: ArrayLike) -> NDArray[np.float64]:
    """Return the distance between the forecasts of the completed windows and of the neighbors (equation 7).

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
        [b, k], the mean over steps and variables; infinite where a forecast is NaN

    Examples
    --------
    >>> new = np.zeros((1, 1, 2, 1))
    >>> float(forecast_distance(new, new + [[4.0], [2.0]]).item())  # (4 / 1 + 2 / 2) / 2
    2.5
    """
    new_forecasts, neighbor_forecasts = np.asarray(new), np.asarray(neighbors)
    check_axes("new", new_forecasts, "bkhs")
    if new_forecasts.shape != neighbor_forecasts.shape:
        raise InputError(f"neighbors must have the shape of new, {new_forecasts.shape}, got {neighbor_forecasts.shape}")
    steps = np.arange(1, new_forecasts.shape[2] + 1, dtype=np.float64)[:, None]  # [h, 1]
    distance = (np.abs(new_forecasts.astype(np.float64) - neighbor_forecasts) / steps).mean(axis=(2, 3))
    return np.where(np.isnan(distance), np.inf, distance)


def by_forecast(new: ArrayLike, neighbors: ArrayLike, temperature: float = 0.1) -> NDArray[np.float32]:
    """Return weights by the distance in forecast space: softmax of -distance / temperature (FDW, equation 8).

    `new` and `neighbors` as in `forecast_distance`. A neighbor with a forecast of NaN has weight 0.

    >>> new = np.zeros((1, 2, 1, 1))
    >>> by_forecast(new, [[[[0.0]], [[0.1]]]]).round(3)
    array([[0.731, 0.269]], dtype=float32)
    """
    return by_distance(forecast_distance(new, neighbors), temperature)


def by_rank(distance: ArrayLike) -> NDArray[np.float32]:
    """Return weights by rank alone: the rank-order centroid, (1 / m) sum of 1 / j for j from the rank to m.

    `distance` is in increasing order, as retrieval returns it.

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
    distances = np.asarray(distance, dtype=np.float64)
    if distances.ndim == 0:
        raise InputError("distance must have one entry for each neighbor along its last axis, got a single number")
    if np.isnan(distances).any():
        raise InputError("distance must be numbers, infinite where there is no neighbor, got NaN")
    return distances


def _shares(raw: NDArray[np.float64]) -> NDArray[np.float32]:
    total = raw.sum(axis=-1, keepdims=True)
    return np.divide(raw, total, out=np.zeros_like(raw), where=total > 0).astype(np.float32)


def _weigh_uniform(evidence: Evidence) -> NDArray[np.float32]:
    return uniform(evidence.distance)


def _weigh_by_distance(evidence: Evidence) -> NDArray[np.float32]:
    return by_distance(evidence.distance, evidence.temperature)


def _weigh_by_rank(evidence: Evidence) -> NDArray[np.float32]:
    return by_rank(evidence.distance)


def _weigh_by_forecast(evidence: Evidence) -> NDArray[np.float32]:
    return by_distance(evidence.forecast_distance(), evidence.temperature)


WEIGHTINGS: dict[str, Weighting] = {
    "uniform": Weighting(_weigh_uniform),
    "distance": Weighting(_weigh_by_distance, uses_temperature=True),
    "forecast": Weighting(_weigh_by_forecast, uses_temperature=True, needs_forecasts=True),
    "rank": Weighting(_weigh_by_rank),
}
"""Weightings by the name that the setting `weighting` takes: UW, DDW, FDW and the rank-order centroid."""


def weigh(
    weighting: str | Weighting | Callable[[Evidence], NDArray[np.float32]], evidence: Evidence
) -> NDArray[np.float32]:
    """Return the weights of the neighbors, [b, k], and check them.

    They must be at least 0 and sum to 1 for each window, or to 0 where there is no neighbor.
    """
    weights = np.asarray(get_weighting(weighting).weigh(evidence), dtype=np.float32)
    if weights.shape != evidence.distance.shape:
        raise InputError(f"weighting must return weights [b, k] = {evidence.distance.shape}, got {weights.shape}")
    total = weights.sum(axis=1)
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise InputError("weighting must return weights of at least 0, got negative or non-finite ones")
    wrong = ~(np.isclose(total, 1, atol=1e-3) | (total == 0))
    if wrong.any():
        raise InputError(
            f"weighting must return weights that sum to 1 for each window (0 without neighbors), got "
            f"{total[wrong][0]:g}: divide them by their sum"
        )
    return weights


def get_weighting(weighting: str | Weighting | Callable[[Evidence], NDArray[np.float32]]) -> Weighting:
    """Return the weighting with a given name, or one made from a function.

    >>> get_weighting("rank").needs_forecasts
    False
    >>> get_weighting("nearest")
    Traceback (most recent call last):
        ...
    subcast.errors.InputError: weighting must be one of uniform, distance, forecast, rank or a function, got 'nearest'
    """
    if isinstance(weighting, Weighting):
        return weighting
    if isinstance(weighting, str) and weighting in WEIGHTINGS:
        return WEIGHTINGS[weighting]
    if callable(weighting) and not isinstance(weighting, type):
        return Weighting(weighting)
    raise InputError(f"weighting must be one of {', '.join(WEIGHTINGS)} or a function, got {weighting!r}")
