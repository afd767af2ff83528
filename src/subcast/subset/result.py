"""Turn a method's forecast into a `Forecast` with intervals, quality and the times of its neighbors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subcast.errors import InputError
from subcast.forecast import Forecast
from subcast.limits import Limits
from subcast.retrieval import Neighbors
from subcast.subset.arrived import Arrived
from subcast.subset.completion import weigh_by_distance
from subcast.subset.conformal import Calibration
from subcast.subset.fitted import Fitted
from subcast.subset.metadata import TrainingMetadata
from subcast.subset.methods import forecast_windows
from subcast.subset.methods.protocol import MethodForecast
from subcast.subset.settings import Settings
from subcast.tables.live import Recent
from subcast.tables.steps import UserClock
from subcast.weighting import uniform

_GOOD, _FAIR = 2.0, 10.0  # largest expected gap in percent of a "good" and of a "fair" forecast


class Ahead(NamedTuple):
    """The times of the steps ahead as the user writes times, how that is, and notes for the forecast."""

    times: NDArray[np.datetime64] | None  # [b, h]
    clock: UserClock
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class ForecastMaker:
    """Makes a `Forecast` from windows and S."""

    fitted: Fitted
    metadata: TrainingMetadata
    settings: Settings
    calibration: Calibration | None
    limits: Limits | None = None

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
    ) -> Forecast:
        """Return the forecasts of many windows with the same S."""
        return self._batch(arrived, present, ahead, absent=absent, levels=levels, neighbors=None)[0]

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
        complete = len(present) == fitted.n and bool(has_reading.all())
        if complete:
            searched = calibration is not None and bool(levels)
            method_forecast = self._plain(arrived, present, neighbors, with_neighbors=searched)
        else:
            settings = self.settings
            method_forecast = forecast_windows(fitted, settings, arrived, present, absent=absent, neighbors=neighbors)
        share = len(present) / fitted.n
        # Missing readings count as absent.
        read_share = float(has_reading.mean()) * share if has_reading.size else share
        gap = None if calibration is None else calibration.gap_at(read_share)
        starts = fitted.starts_of(method_forecast.neighbors)
        observed = np.zeros((len(method_forecast.mean), len(variables)), dtype=np.float32)
        observed[:, : len(present)] = has_reading.mean(axis=1)
        bounds = self._bounds(arrived, method_forecast, present, variables, levels)
        _refuse_infinite(method_forecast.mean, bounds)
        forecast = Forecast(
            variables=tuple(self.metadata.variables[i] for i in variables),
            mean=method_forecast.mean,
            levels=levels if calibration is not None else (),
            bounds=bounds,
            observed=observed,
            observed_share=has_reading.mean(axis=(1, 2)) * share,
            times=ahead.times,
            zone=ahead.clock.zone,
            neighbor_index=starts,
            neighbor_distance=method_forecast.neighbors.distance,
            weights=method_forecast.weights,
            neighbor_times=ahead.clock.shown(self.metadata.last_times(starts), past=True),
            quality=_quality(complete, gap, read_share, self._least_share()),
            expected_gap=0.0 if complete else gap,
            freq=self.metadata.freq,
            unit=self.metadata.unit,
            notes=ahead.notes,
        )
        return forecast, method_forecast.neighbors

    def _least_share(self) -> float:
        return 0.0 if self.calibration is None else float(self.calibration.shares[0])

    def _plain(
        self, arrived: Arrived, present: NDArray[np.int64], neighbors: Neighbors | None, *, with_neighbors: bool
    ) -> MethodForecast:
        """Return the model's forecast of complete windows; neighbors are needed for the intervals only."""
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
        present: NDArray[np.int64],
        variables: NDArray[np.int64],
        levels: tuple[float, ...],
    ) -> NDArray[np.float32] | None:
        """Return the bounds of the intervals, [levels, 2, b, h, s]."""
        if self.calibration is None or not levels:
            return None
        share = len(present) / self.fitted.n
        unit = self.fitted.uncertainty_scale(arrived, method_forecast.neighbors, variables)  # [b, h, s]
        bounds = np.empty((len(levels), 2, *method_forecast.mean.shape), dtype=np.float32)
        for number, level in enumerate(levels):
            quantiles = [self.calibration.bounds(level, share, present, absent=False)]
            if len(variables) > len(present):
                quantiles.append(self.calibration.bounds(level, share, variables[len(present) :], absent=True))
            bounds[number] = method_forecast.mean + np.concatenate(quantiles, axis=2)[:, None] * unit
        return bounds


def _refuse_infinite(mean: NDArray[np.float32], bounds: NDArray[np.float32] | None) -> None:
    """Raise unless all numbers of a forecast are finite."""
    if not np.isfinite(mean).all() or (bounds is not None and not np.isfinite(bounds).all()):
        raise InputError(
            "the forecast is NaN or infinite, because readings or numbers in the wrapper are too large to compute "
            "with: check the readings, or fit the wrapper again"
        )


def _quality(complete: bool, gap: float | None, share: float, least: float) -> str:
    """Return the quality as a word.

    It is never "good" if the share of readings is below half of the smallest share used in calibration.
    """
    if complete:
        return "full"
    if gap is None:  # without a calibration the share of readings decides
        return "good" if share >= 0.85 else "fair" if share >= 0.5 else "poor"
    if gap > _FAIR:
        return "poor"
    return "good" if gap <= _GOOD and share >= 0.5 * least else "fair"
