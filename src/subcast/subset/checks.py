"""What a wrapper knows of its data, and what it asks of a model before it trusts it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import NDArray

from subcast.errors import InputError
from subcast.tables.rates import fixed_step
from subcast.windows import Windows

if TYPE_CHECKING:
    from subcast.subset.engine import Engine

PROBES = 4
_LOOKED_AT = 64  # windows among which the liveliest are chosen
_ALIKE = 1e-3  # of a variable's spread: what a model's rounding may differ by from batch to batch


@dataclass(frozen=True, eq=False)
class Frame:
    """Names, times and units of the data a wrapper was fitted on.

    Parameters
    ----------
    variables, time_features, freq, unit, name
        as in the training series
    times
        [t] of its steps, or None
    """

    variables: tuple[str, ...]
    time_features: tuple[str, ...]
    freq: str | None
    unit: str
    name: str
    times: NDArray[np.datetime64] | None

    @classmethod
    def of(cls, train: Windows) -> Frame:
        """Take them from the training windows."""
        series = train.series
        return cls(series.variables, series.time_features, series.freq, series.unit, series.name, series.times)

    @property
    def step(self) -> np.timedelta64 | None:
        """The time from one step to the next, when there are times."""
        if self.times is None or len(self.times) < 2:
            return None
        return np.median(np.diff(self.times).astype("timedelta64[ns]").view(np.int64)).astype("timedelta64[ns]")

    def steps_after(self, begins: NDArray[np.datetime64] | None, engine: Engine) -> NDArray[np.datetime64] | None:
        """When the steps ahead are, [b, h], for windows that begin at some times."""
        if begins is None or self.step is None:
            return None
        if fixed_step(self.freq) is None and self.freq is not None:  # months, business days: by the calendar
            count = engine.lookback + engine.horizon
            rows = [_calendar(begin, count, self.freq)[engine.lookback :] for begin in begins]
            return np.array(rows, dtype="datetime64[ns]").reshape(len(begins), engine.horizon)
        first = begins.astype("datetime64[ns]")[:, None]
        return np.asarray(first + self.step * (engine.lookback + np.arange(engine.horizon)), dtype="datetime64[ns]")

    def next_time(self, moment: np.datetime64) -> np.datetime64 | None:
        """When the step after a moment is."""
        if self.freq is not None and fixed_step(self.freq) is None:
            return _calendar(moment, 2, self.freq)[1]
        return None if self.step is None else moment + self.step

    def last_times(self, starts: NDArray[np.int64], lookback: int) -> NDArray[np.datetime64] | None:
        """When windows that begin at steps of the training series end; NaT where the step is -1."""
        if self.times is None:
            return None
        ends = self.times[np.maximum(starts, 0) + lookback - 1].astype("datetime64[ns]")
        return np.where(starts >= 0, ends, np.datetime64("NaT"))


def _calendar(first: np.datetime64, count: int, freq: str) -> NDArray[np.datetime64]:
    """So many moments of a calendar rate, from one of them on."""
    import pandas as pd

    found: NDArray[np.datetime64] = pd.date_range(first, periods=count, freq=freq).to_numpy(dtype="datetime64[ns]")
    return found


def check_model(engine: Engine) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Run the model on a few training windows and refuse it when its answers change; give windows and answers."""
    some = np.unique(np.linspace(0, len(engine.bank) - 1, min(_LOOKED_AT, len(engine.bank))).astype(np.int64))
    inputs = engine.bank_inputs(some)
    lively = inputs[..., 0].std(axis=1).mean(axis=1)  # nights tell no model from another
    inputs = inputs[np.sort(np.argsort(-lively, kind="stable")[:PROBES])]
    forecasts = engine.run(inputs.copy(), None)
    expected = (len(inputs), engine.horizon, engine.n)
    if forecasts.shape != expected:
        raise InputError(
            f"the model must turn windows of shape {inputs.shape} into forecasts [b, h, n] = {expected}, "
            f"got {forecasts.shape}"
        )
    if not np.isfinite(forecasts).all():
        raise InputError("the model's forecasts of complete training windows are not all finite: train it again")
    for again in (engine.run(inputs.copy(), None), np.concatenate([engine.run(x[None].copy(), None) for x in inputs])):
        off = difference(engine, forecasts, again)
        if off > _ALIKE:
            raise InputError(
                f"the model is not deterministic: the same windows gave forecasts {off:.2g} deviations apart; put it "
                "in evaluation mode (no dropout, no noise, no batch statistics)"
            )
    return inputs, forecasts


def check_probe(engine: Engine, inputs: NDArray[np.float32], forecasts: NDArray[np.float32]) -> None:
    """Refuse a model that does not give the stored forecasts."""
    answer = engine.run(np.array(inputs), None)
    if answer.shape != forecasts.shape:
        raise InputError(
            f"the model gives forecasts of shape {answer.shape}, the one this was saved with {forecasts.shape}: "
            "give the same model"
        )
    off = difference(engine, answer, forecasts)
    if not off <= 10 * _ALIKE:
        raise InputError(
            f"the model is not the one this wrapper was fitted with: on the stored windows its forecasts are {off:.2g} "
            "deviations away; give the same model, or fit a new wrapper"
        )


def difference(engine: Engine, first: NDArray[np.float32], second: NDArray[np.float32]) -> float:
    """The largest difference of two forecasts in deviations of the variables."""
    spread = engine.space.spread_of(np.arange(engine.n))
    return float(np.max(np.abs(first.astype(np.float64) - second) / spread, initial=0.0))


def refuse_overlap(train: Windows, val: Windows) -> None:
    """Refuse validation windows that are training windows: each would find itself as its nearest neighbor."""
    ours, theirs = train.series, val.series
    if ours.times is not None and theirs.times is not None:
        last, first = ours.times[max(train.starts)], theirs.times[min(val.starts)]
        overlap = bool(first <= last) and bool(theirs.times[max(val.starts)] >= ours.times[min(train.starts)])
    elif np.shares_memory(ours.values, theirs.values):
        first_start, last_start = theirs.offset + min(val.starts), theirs.offset + max(val.starts)
        begin, end = ours.offset + min(train.starts), ours.offset + max(train.starts)
        overlap = first_start <= end and last_start >= begin
    else:
        overlap = False
    if overlap:
        raise InputError(
            "val holds windows of the time that train covers, so tuning would find each of them again: give later "
            "windows, such as those of series.split(lookback=..., horizon=...)"
        )


def refuse_unfitted() -> NoReturn:
    """Say what to do first."""
    raise InputError("the SubsetForecaster is not fitted: call fit(train, val) first, or load a saved one")
