"""Turn a method's forecast into a `Forecast` with intervals, quality and the times of its neighbors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subcast.blas_threads import one_blas_thread
from subcast.errors import InputError
from subcast.forecast import Forecast
from subcast.limits import Limits
from subcast.retrieval import Neighbors
from subcast.subset.arrived import Arrived
from subcast.subset.completion import weigh_by_distance
from subcast.subset.conformal import Calibration
from subcast.subset.familiarity import strangeness_of
from subcast.subset.fitted import Fitted
from subcast.subset.metadata import TrainingMetadata
from subcast.subset.methods import forecast_windows
from subcast.subset.methods.protocol import MethodForecast
from subcast.subset.settings import Settings
from subcast.subset.spread import out_of_units, residual_units
from subcast.subset.trust import Judge
from subcast.subset.usefulness import Usefulness
from subcast.tables.live import Recent
from subcast.tables.steps import UserClock
from subcast.weighting import uniform


class Ahead(NamedTuple):
    """The times of the steps ahead as the user writes times, how that is, and notes for the forecast."""

    times: NDArray[np.datetime64] | None  # [b, h]
    clock: UserClock
    notes: tuple[str, ...] = ()


class _Part(NamedTuple):
    """The forecast of some windows of a batch (rows), the columns of it that are wanted, and its neighbors."""

    rows: NDArray[np.int64]
    columns: list[int]
    forecast: Forecast
    neighbors: Neighbors


@dataclass(frozen=True, eq=False)
class ForecastMaker:
    """Makes a `Forecast` from windows and S."""

    fitted: Fitted
    metadata: TrainingMetadata
    settings: Settings
    calibration: Calibration | None
    limits: Limits | None = None
    usefulness: Usefulness | None = None

    def single(
        self,
        window: Recent,
        arrived: Arrived,
        neighbors: Neighbors | None,
        *,
        absent: bool,
        levels: tuple[float, ...],
    ) -> Forecast:
        """Return the forecast of one window (as read, and as it arrived), with its history and neighbors' paths."""
        present = np.flatnonzero(~np.isnan(window.values).all(axis=0))
        begins = None if window.times is None else window.times[:1]
        ahead = Ahead(window.clock.shown(self.metadata.steps_after(begins)), window.clock, window.notes)
        batch, used_neighbors = self._batch(arrived, present, ahead, absent=absent, levels=levels, neighbors=neighbors)
        variables = self.fitted.order(present, absent)
        index = used_neighbors.index[0][used_neighbors.index[0] >= 0]
        return replace(
            batch[0],
            history=window.values[:, variables],
            history_times=window.clock.shown(window.times),
            paths=partial(self.fitted.paths_of, index, variables) if index.size else None,
        )

    def batch(
        self,
        arrived: Arrived,
        present: NDArray[np.int64],
        ahead: Ahead,
        *,
        absent: bool,
        levels: tuple[float, ...],
        silenced: NDArray[np.bool_] | None = None,
    ) -> Forecast:
        """Return the forecasts of many windows with the same S.

        `silenced` [b, s] are variables of S that lost all readings of a window to the limits: the window is forecast as
        if they were absent, and they have the forecast of an absent variable.
        """
        if silenced is None or not silenced.any():
            return self._batch(arrived, present, ahead, absent=absent, levels=levels, neighbors=None)[0]
        variables = self.fitted.order(present, absent)
        parts = []
        for silent, rows in _groups(silenced):
            rest, also = present[~silent], absent or bool(silent.any())
            times = None if ahead.times is None else ahead.times[rows]
            part, neighbors = self._batch(
                arrived[rows], rest, ahead._replace(times=times), absent=also, levels=levels, neighbors=None
            )
            place = {int(variable): column for column, variable in enumerate(self.fitted.order(rest, also))}
            parts.append(_Part(rows, [place[int(variable)] for variable in variables], part, neighbors))
        return self._joined(parts, variables, ahead)

    def _joined(self, parts: list[_Part], variables: NDArray[np.int64], ahead: Ahead) -> Forecast:
        """Return the forecasts of parts of a batch as one, in the order of its windows."""
        order = np.argsort(np.concatenate([part.rows for part in parts]))
        mean, observed = (
            np.concatenate([getattr(part.forecast, name)[..., part.columns] for part in parts])[order]
            for name in ("mean", "observed")
        )
        shares = np.concatenate([np.asarray(part.forecast.observed_share) for part in parts])[order]
        bounds = [part.forecast.bounds[..., part.columns] for part in parts if part.forecast.bounds is not None]
        width = max(part.neighbors.index.shape[1] for part in parts)
        index = _padded([part.neighbors.index for part in parts], width, -1)[order]
        distance = _padded([part.neighbors.distance for part in parts], width, np.inf)[order]
        weights = _padded([part.forecast.weights for part in parts], width, 0)[order]
        neighbors = Neighbors(index, distance)
        return replace(
            parts[0].forecast,
            variables=tuple(self.metadata.variables[i] for i in variables),
            mean=mean,
            bounds=np.concatenate(bounds, axis=2)[:, :, order] if bounds else None,
            observed=observed,
            observed_share=shares,
            times=ahead.times,
            **self._neighbor_fields(MethodForecast(mean, neighbors, weights), ahead.clock),
            **self._trust_fields(shares * self.fitted.n, neighbors, variables, ahead.notes),
        )

    @one_blas_thread()
    def _batch(
        self,
        arrived: Arrived,
        present: NDArray[np.int64],
        ahead: Ahead,
        *,
        absent: bool,
        levels: tuple[float, ...],
        neighbors: Neighbors | None,
    ) -> tuple[Forecast, Neighbors]:
        fitted, calibration = self.fitted, self.calibration
        variables = fitted.order(present, absent)
        has_reading = ~np.isnan(arrived.values[:, :, present])  # [b, t, s]
        if len(present) == fitted.n and bool(has_reading.all()) and self.settings.assist == "missing":
            method_forecast = self._plain(arrived, present, neighbors, with_neighbors=calibration is not None)
        else:
            method_forecast = forecast_windows(
                fitted, self.settings, arrived, present, absent=absent, neighbors=neighbors
            )
        counts = has_reading.sum(axis=(1, 2)) / fitted.lookback  # [b]: missing readings count as absent
        observed = np.zeros((len(method_forecast.mean), len(variables)), dtype=np.float32)
        observed[:, : len(present)] = has_reading.mean(axis=1)
        bounds = self._bounds(arrived, method_forecast, counts, len(present), variables, levels)
        _refuse_infinite(method_forecast.mean, bounds)
        return (
            Forecast(
                variables=tuple(self.metadata.variables[i] for i in variables),
                mean=method_forecast.mean,
                levels=levels if calibration is not None else (),
                bounds=bounds,
                observed=observed,
                observed_share=counts / fitted.n,
                times=ahead.times,
                zone=ahead.clock.zone,
                freq=self.metadata.freq,
                unit=self.metadata.unit,
                **self._neighbor_fields(method_forecast, ahead.clock),
                **self._trust_fields(counts, method_forecast.neighbors, variables, ahead.notes),
            ),
            method_forecast.neighbors,
        )

    def _neighbor_fields(self, method_forecast: MethodForecast, clock: UserClock) -> dict[str, Any]:
        """Return what a forecast says about the neighbors."""
        starts = self.fitted.starts_of(method_forecast.neighbors)
        return {
            "neighbor_index": starts,
            "neighbor_distance": method_forecast.neighbors.distance,
            "weights": method_forecast.weights,
            "neighbor_times": clock.shown(self.metadata.last_times(starts), past=True),
        }

    def _trust_fields(
        self,
        counts: NDArray[np.float64],
        neighbors: Neighbors,
        variables: NDArray[np.int64],
        notes: tuple[str, ...],
    ) -> dict[str, Any]:
        """Return what a forecast says about its quality, after `notes` about what arrived.

        `counts` [b] is the number of variables that arrived.
        """
        judge = Judge(self.fitted.n, self.calibration, self.usefulness, variables)
        strangeness = strangeness_of(neighbors)
        summary = judge.batch(counts, strangeness)
        return {
            "quality": summary.quality,
            "expected_gap": summary.expected_gap,
            "notes": (*notes, *summary.notes),
            "reference": judge.reference,
            "trust": tuple(replace(each, notes=(*notes, *each.notes)) for each in judge.windows(counts, strangeness)),
        }

    def _plain(
        self, arrived: Arrived, present: NDArray[np.int64], neighbors: Neighbors | None, *, with_neighbors: bool
    ) -> MethodForecast:
        """Return the model's forecast of complete windows; neighbors are for the intervals and the trust in it."""
        mean = self.fitted.plain_forecast(arrived)
        if neighbors is None and with_neighbors:
            neighbors = self.fitted.retrieve(arrived, present, self.settings.neighbors, self.settings.exponent)
        if neighbors is None:
            count = len(mean)
            neighbors = Neighbors(np.zeros((count, 0), dtype=np.int64), np.zeros((count, 0), dtype=np.float32))
        has_neighbors = self.settings.pool and neighbors.index.shape[1] > 0
        weights = weigh_by_distance(neighbors, self.settings) if has_neighbors else uniform(neighbors.distance)
        return MethodForecast(mean, neighbors, weights)

    def _bounds(
        self,
        arrived: Arrived,
        method_forecast: MethodForecast,
        counts: NDArray[np.float64],
        n_present: int,
        variables: NDArray[np.int64],
        levels: tuple[float, ...],
    ) -> NDArray[np.float32] | None:
        """Return the bounds of the intervals, [levels, 2, b, h, s]; the mean always lies inside.

        `variables` are the `n_present` that are present and then the absent ones; `counts` [b] is the number of
        variables whose readings arrived.
        """
        calibration, mean = self.calibration, method_forecast.mean
        if calibration is None or not levels:
            return None
        present, absent = variables[:n_present], variables[n_present:]
        fitted, settings, neighbors = self.fitted, self.settings, method_forecast.neighbors
        units = residual_units(fitted, settings, arrived, present, neighbors, mean, method_forecast.completed)
        bounds = np.empty((len(levels), 2, *mean.shape), dtype=np.float32)
        for count in np.unique(counts):
            rows = np.flatnonzero(counts == count)
            for number, level in enumerate(levels):
                quantiles = calibration.bounds(level, count, present, absent=False)  # [2, h, s]
                if absent.size:
                    of_absent = calibration.bounds(level, count, absent, absent=True)
                    quantiles = np.concatenate([quantiles, of_absent], axis=2)
                bounds[number][:, rows] = mean[rows] + out_of_units(quantiles[:, None], units[:, None, rows])
        bounds[:, 0] = np.minimum(bounds[:, 0], mean)
        bounds[:, 1] = np.maximum(bounds[:, 1], mean)
        return bounds


def _groups(silenced: NDArray[np.bool_]) -> list[tuple[NDArray[np.bool_], NDArray[np.int64]]]:
    """Return the sets of silenced variables [s] and the windows of each; a window keeps at least one variable.

    >>> _groups(np.array([[False, True], [True, True], [False, False]]))
    [(array([False, False]), array([1, 2])), (array([False,  True]), array([0]))]
    """
    kept = silenced & ~silenced.all(axis=1, keepdims=True)
    patterns, which = np.unique(kept, axis=0, return_inverse=True)
    return [(pattern, np.flatnonzero(which.ravel() == number)) for number, pattern in enumerate(patterns)]


def _padded(arrays: list[NDArray[Any]], width: int, fill: float) -> NDArray[Any]:
    """Return arrays [b, k] below one another, filled up to the same width."""
    return np.concatenate(
        [np.pad(array, ((0, 0), (0, width - array.shape[1])), constant_values=fill) for array in arrays]
    )


def _refuse_infinite(mean: NDArray[np.float32], bounds: NDArray[np.float32] | None) -> None:
    """Raise unless all numbers of a forecast are finite."""
    if not np.isfinite(mean).all() or (bounds is not None and not np.isfinite(bounds).all()):
        raise InputError(
            "the forecast is NaN or infinite, because readings or numbers in the wrapper are too large to compute "
            "with: check the readings, or fit the wrapper again"
        )
