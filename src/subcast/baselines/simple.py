"""Forecasts that need no fitting: the last value, and the value of the same time a season ago."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subcast.axes import check_whole
from subcast.baselines.base import Shape, check_train
from subcast.errors import InputError
from subcast.scaling import Scaler
from subcast.series import Series
from subcast.windows import Windows

_DAY = np.timedelta64(1, "D")
_SEASONS = 7  # number of seasons back in which a missing reading is searched for


@dataclass(frozen=True, eq=False)
class LastValue:
    """Repeat the last reading of each variable.

    Where the last reading is missing, the latest known reading in the window is used; a variable without a reading in
    the window is forecast by its training mean.

    Parameters
    ----------
    shape
        of the training windows
    means
        [n], raw

    Examples
    --------
    >>> train = Series(np.arange(20.0).reshape(10, 2)).windows(lookback=3, horizon=2)
    >>> LastValue.fit(train)(train[:1], np.array([1]))[0, :, 0]
    array([5., 5.], dtype=float32)
    """

    shape: Shape
    means: NDArray[np.float64]

    @classmethod
    def fit(cls, train: Windows) -> LastValue:
        """Compute the training means."""
        check_train(train)
        return cls(Shape.of(train), Scaler.fit(train, per_variable=True).mean)

    def __call__(self, windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
        """Forecast S: [b, h, s], raw units."""
        present = self.shape.check(windows, present)
        last = np.broadcast_to(self.means[present], (len(windows), present.size)).astype(np.float32)
        for step in range(self.shape.lookback):
            reading = windows.readings[:, step, present]  # [b, s]
            last = np.where(np.isnan(reading), last, reading)
        return np.repeat(last[:, None], self.shape.horizon, axis=1)


@dataclass(frozen=True, eq=False)
class SeasonalNaive:
    """Repeat the reading of the same time a season (a day, say) ago.

    The reading is taken from the most recent season before the forecast; if it is missing there, from the season
    before, up to seven seasons back. If none has a reading, the last value is repeated.

    Readings from before a window are looked up in the series that the window was cut from, and in `history`.

    Parameters
    ----------
    last
        forecast where there is no history
    period
        steps in a season
    history
        a longer stretch of the same series, readings from before the windows' own series included

    Examples
    --------
    >>> wave = np.arange(40)[:, None] % 4 + np.zeros((1, 2))
    >>> windows = Series(wave).windows(lookback=3, horizon=2)
    >>> forecast = SeasonalNaive.fit(windows, period=4)(windows[5:], np.array([0]))
    >>> bool((forecast == windows[5:].targets[:, :, :1]).all())
    True
    """

    last: LastValue
    period: int
    history: Series | None = None

    @classmethod
    def fit(cls, train: Windows, *, period: int | None = None, history: Series | None = None) -> SeasonalNaive:
        """Determine the length of the season.

        Parameters
        ----------
        train
            the training windows
        period
            steps in a season; by default those of a day, which needs times
        history
            the whole series that training and test windows were cut from, so that the first test windows know the
            season before them too
        """
        last = LastValue.fit(train)
        steps_in_season = steps_a_day(train.series) if period is None else check_whole("period", period)
        if history is not None and history.variables != train.series.variables:
            raise InputError(
                f"history must have the {train.series.n_variables} variables of the training windows, in their order, "
                f"got {history.n_variables}"
            )
        return cls(last, steps_in_season, history)

    def __call__(self, windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
        """Forecast S: [b, h, s], raw units."""
        present = self.last.shape.check(windows, present)
        forecast = self.last(windows, present)
        known, offset = self._known(windows.series)
        starts = np.asarray(windows.starts, dtype=np.int64) + windows.series.offset - offset
        targets = starts[:, None] + windows.lookback + np.arange(windows.horizon)  # [b, h], steps of `known`
        seasons_back = -(-(np.arange(windows.horizon) + 1) // self.period)  # [h], seasons back to before the forecast
        unfilled = np.ones(forecast.shape, dtype=bool)
        for back in range(_SEASONS):
            steps = targets - (seasons_back + back) * self.period  # [b, h]
            inside = (steps >= 0) & (steps < len(known))
            readings = known[np.clip(steps, 0, len(known) - 1)][:, :, present]  # [b, h, s]
            usable = unfilled & inside[:, :, None] & ~np.isnan(readings)
            forecast = np.where(usable, readings, forecast)
            unfilled &= ~usable
        return forecast

    def _known(self, series: Series) -> tuple[NDArray[np.float32], int]:
        """Return the readings of past seasons, and the position of their first step in the original series."""
        if self.history is None:
            return series.values, series.offset
        first, last = self.history.offset, self.history.offset + len(self.history)
        if not first <= series.offset <= last:
            raise InputError(
                f"history must reach the windows' series without a gap, got steps {first} to {last - 1} of the "
                f"original for windows that begin at {series.offset}"
            )
        before = self.history.values[: series.offset - first]
        return np.concatenate([before, series.values]), first


def steps_a_day(series: Series) -> int:
    """Return the number of steps in a day, by the most common distance of two steps.

    >>> times = np.datetime64("2020-01-01") + np.arange(50) * np.timedelta64(1, "h")
    >>> steps_a_day(Series(np.zeros((50, 1)), times=times))
    24
    """
    if series.times is None or len(series) < 2:
        raise InputError(f"{series.name!r} has no times, so the length of a day is unknown: give period, in steps")
    distances, count = np.unique(np.diff(series.times), return_counts=True)
    step = distances[np.argmax(count)]
    if _DAY % step != np.timedelta64(0) or step >= _DAY:
        raise InputError(f"a day is not a whole number of steps of {series.name!r} ({step}): give period, in steps")
    return int(_DAY // step)
