"""Completing windows: absent variables get the neighbors' readings, corrected by a regression on S."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from subcast.errors import InputError
from subcast.retrieval import Neighbors
from subcast.subset.arrived import Arrived
from subcast.subset.fitted import Fitted
from subcast.subset.regression import Regression
from subcast.subset.segments import FEW_WINDOWS
from subcast.subset.settings import Settings
from subcast.weighting import get_weighting, weigh


@dataclass(frozen=True, eq=False)
class Completed:
    """Completed windows in normalized units, with their neighbors: the input of the experts.

    Parameters
    ----------
    fitted, settings
        the fitted model and bank, and the settings of the method
    arrived
        the windows in raw units
    present
        S, variable numbers in increasing order
    neighbors, weights
        the nearest training windows and their weights, [b, k]
    readings
        [b, t, s], the readings of S with missing ones filled in
    pooled
        [b, t, n], the weighted mean of the neighbors' readings
    solved
        [b, p], the result of `Regression.solve`; None without a regression
    regression
        the regression of the other variables on S; None without one
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
    _kept: dict[tuple[str, bytes], NDArray[np.float32]] = field(init=False, default_factory=dict, repr=False)

    @cached_property
    def solved_readings(self) -> NDArray[np.float32]:
        """[b, p], the result of `Regression.solve` for the readings of S themselves."""
        if self.regression is None:
            raise InputError("a forecast by regression on S needs moments: fit a new wrapper with correction=0.5")
        return self.regression.solve(self.readings)

    @property
    def moved(self) -> Completed:
        """The same windows, variables that left the levels of the training moved back to them.

        For experts that know only these levels; `arrived.offsets` says by how much, None if nothing was moved.
        """
        return self._moved or self

    @cached_property
    def _moved(self) -> Completed | None:
        """What `moved` returns; None for the windows themselves, which would keep themselves in memory."""
        followed = self.fitted.follow(self.arrived)
        if followed.offsets is None:
            return None
        return complete(self.fitted, self.settings, followed, self.present, self.neighbors, self.weights)

    def deviation_ahead(self, variables: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the regression's forecast of variables in normalized units, [b, h, s]; not to be changed in place."""
        return self.kept("ahead", variables, lambda: self._future("ahead", variables))

    def difference_ahead(self, variables: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the same of their differences from the neighbors' futures; not to be changed in place."""
        return self.kept("difference", variables, lambda: self._future("difference", variables))

    def _future(self, name: str, variables: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return one of the two; of few windows both are computed, so that the covariances are read once."""
        settings, solved, few = self.settings, self.solved, 2 * len(self.arrived) <= FEW_WINDOWS
        together = few and solved is not None and settings.uses_specialist and settings.regression_share > 0
        asked = self.solved_readings if solved is None or together or name == "ahead" else solved
        if self.regression is None:
            raise AssertionError("solved_readings has refused this")
        if not together or solved is None:
            return self.regression.future(asked, variables)
        futures = np.split(self.regression.future(np.concatenate([asked, solved]), variables), 2)
        for each, future in zip(("ahead", "difference"), futures, strict=True):
            self._kept.setdefault((each, variables.tobytes()), future)
        return futures[name == "difference"]

    def kept(
        self, name: str, variables: NDArray[np.int64], compute: Callable[[], NDArray[np.float32]]
    ) -> NDArray[np.float32]:
        """Return what `compute` gave for these variables, computed once; not to be changed in place."""
        key = name, variables.tobytes()
        if key not in self._kept:
            self._kept[key] = compute()
        return self._kept[key]


@dataclass(frozen=True, eq=False)
class DistanceEvidence:
    """The distances that a weighting may use when there is no forecast for each neighbor."""

    distance: NDArray[np.float32]
    temperature: float

    def forecast_distance(self) -> NDArray[np.float64]:
        """Raise: there are no forecasts to compare."""
        raise InputError(
            "the weighting compares a forecast for each neighbor, which pool=True does not make: set pool=False"
        )


def weigh_by_distance(neighbors: Neighbors, settings: Settings) -> NDArray[np.float32]:
    """Return the weights of the neighbors, [b, k], computed from their distances on S.

    A weighting that needs forecasts is replaced by uniform weights.
    """
    weighting = "uniform" if get_weighting(settings.weighting).needs_forecasts else settings.weighting
    return weigh(weighting, DistanceEvidence(neighbors.distance, settings.temperature))


def complete(
    fitted: Fitted,
    settings: Settings,
    arrived: Arrived,
    present: NDArray[np.int64],
    neighbors: Neighbors,
    weights: NDArray[np.float32],
) -> Completed:
    """Complete windows: average the neighbors, fill in missing readings of S, and solve the regression on S."""
    pooled = fitted.bank.pool_windows(neighbors.index, weights, np.arange(fitted.n))
    readings = fill_holes(fitted.normalize(arrived, present), pooled[:, :, present])
    regression = solved = None
    if fitted.regressions is not None and settings.uses_regression:
        regression = fitted.regressions.get(present, settings.ridge)
        solved = regression.solve(readings - pooled[:, :, present])
    return Completed(fitted, settings, arrived, present, neighbors, weights, readings, pooled, solved, regression)


def model_inputs(done: Completed, *, borrow_features: bool = False) -> NDArray[np.float32]:
    """Return the completed windows in raw units as the model takes them, [b, t, n, f].

    If `borrow_features` is True, absent variables also get the first neighbor's time features, as in the paper.
    """
    fitted, regression, correction = done.fitted, done.regression, done.settings.correction
    normal = done.pooled.copy()  # [b, t, n]
    if correction > 0 and regression is not None and done.solved is not None and regression.absent.size:
        normal[:, :, regression.absent] += np.float32(correction) * regression.inputs(done.solved)
    normal[:, :, done.present] = done.readings
    raw = fitted.normalizer.restore(normal, fitted.slots(done.arrived, fitted.lookback))
    arrived = done.arrived.values[:, :, done.present]
    raw[:, :, done.present] = np.where(
        np.isnan(arrived), raw[:, :, done.present], arrived
    )  # readings that arrived are kept
    inputs = fitted.with_features(raw, done.arrived.features)
    if borrow_features and done.arrived.features is not None:
        absent = fitted.others(done.present)
        borrowed = fitted.bank.windows(done.neighbors.index[:, 0])[..., 1 : fitted.n_features]  # [b, t, n, f - 1]
        inputs[:, :, absent, 1:] = np.where(np.isnan(borrowed), inputs[..., 1:], borrowed)[:, :, absent]
    return inputs


def fill_holes(readings: NDArray[np.float32], pooled: NDArray[np.float32]) -> NDArray[np.float32]:
    """Fill in the NaN of readings [b, t, s] from the mean of the neighbors, `pooled` [b, t, s].

    The mean of the neighbors is shifted by its difference from the readings, interpolated over the missing steps.
    """
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
