"""Names, times and units of the data that a wrapper was fitted on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from subcast.calendar import TIME_FEATURES
from subcast.storage import fields
from subcast.storage.state import State
from subcast.tables.rates import check_rate
from subcast.tables.steps import Steps
from subcast.tables.zones import checked_zone
from subcast.windows import Windows

_FACTS = ("freq", "zone", "unit", "name", "protocol", "lookback", "horizon")
_LONGEST_RATE = 100  # letters
_FIRST, _LAST = -9 * 10**18, 9 * 10**18  # nanoseconds since 1970: the years 1684 to 2255

Times = NDArray[np.datetime64] | None


@dataclass(frozen=True, eq=False)
class TrainingMetadata:
    """Names, times and units of the training data.

    Parameters
    ----------
    variables, time_features, freq, zone, unit, name
        as in the training series
    protocol
        name of the data protocol of the training windows
    lookback, horizon
        sizes of the training windows
    times
        [t] of the steps of the training series, or None
    """

    variables: tuple[str, ...]
    time_features: tuple[str, ...]
    freq: str | None
    zone: str | None
    unit: str
    name: str
    protocol: str
    lookback: int
    horizon: int
    times: NDArray[np.datetime64] | None

    @classmethod
    def of(cls, train: Windows) -> TrainingMetadata:
        """Return the metadata of the training windows."""
        series = train.series
        return cls(
            variables=series.variables,
            time_features=series.time_features,
            freq=series.freq,
            zone=series.zone,
            unit=series.unit,
            name=series.name,
            protocol=train.protocol.name,
            lookback=train.lookback,
            horizon=train.horizon,
            times=series.times,
        )

    def state(self) -> State:
        """Return the state to save."""
        facts = {name: getattr(self, name) for name in _FACTS}
        facts |= {"variables": list(self.variables), "time_features": list(self.time_features)}
        times = {} if self.times is None else {"times": self.times.astype("datetime64[ns]").view(np.int64)}
        return State(facts, dict(times))

    @classmethod
    def from_state(cls, state: State) -> TrainingMetadata:
        """Return the metadata saved in `state`; raise a DataError unless all of it fits together."""
        freq, zone = _stored_rate(state), fields.optional_text(state, "zone")
        with fields.restoring(state):
            zone = checked_zone(zone)
        time_features = fields.texts(state, "time_features")
        unknown = [name for name in time_features if name not in TIME_FEATURES]
        if unknown:
            raise fields.wrong(state, "time_features", f"among {', '.join(TIME_FEATURES)}", unknown)
        variables = fields.texts(state, "variables")
        if not variables:
            raise state.damaged("it has no variables")
        return cls(
            variables,
            time_features,
            freq,
            zone,
            unit=fields.text(state, "unit"),
            name=fields.text(state, "name"),
            protocol=fields.text(state, "protocol"),
            lookback=fields.whole(state, "lookback", 1),
            horizon=fields.whole(state, "horizon", 1),
            times=_stored_times(state),
        )

    @cached_property
    def steps(self) -> Steps:
        """The steps of the training, on which live times are put."""
        return Steps.of(self.freq, self.zone, self.times)

    @property
    def step(self) -> np.timedelta64 | None:
        """The usual time from one step to the next; None without times."""
        if self.times is None or len(self.times) < 2:
            return None
        return np.median(np.diff(self.times).astype("timedelta64[ns]").view(np.int64)).astype("timedelta64[ns]")

    def window_times(self, begins: Times) -> Times:
        """Return the times of all steps, [b, t + h], of windows that begin at times of the training's clock, [b]."""
        if begins is None:
            return None
        count = self.lookback + self.horizon
        if self.steps.freq is not None:
            stamps = begins.astype("datetime64[ns]").view(np.int64)
            return self.steps.ahead(stamps, 0, count).view("datetime64[ns]")
        if self.step is None:
            return None
        return np.asarray(begins.astype("datetime64[ns]")[:, None] + self.step * np.arange(count), "datetime64[ns]")

    def steps_after(self, begins: Times) -> Times:
        """Return the times of the steps ahead, [b, h], of windows that begin at times of the training's clock, [b]."""
        times = self.window_times(begins)
        return None if times is None else times[:, self.lookback :]

    def next_time(self, moment: np.datetime64) -> np.datetime64 | None:
        """Return the time of the step after a moment; None if steps have no usual length."""
        if self.steps.freq is None:
            return None if self.step is None else moment + self.step
        stamp = np.array([moment], dtype="datetime64[ns]").view(np.int64)
        return self.steps.ahead(stamp, 1, 1).view("datetime64[ns]")[0, 0]

    def last_times(self, starts: NDArray[np.int64]) -> NDArray[np.datetime64] | None:
        """Return the last times of the training windows that begin at the steps `starts`; NaT where the step is -1."""
        if self.times is None:
            return None
        ends = self.times[np.maximum(starts, 0) + self.lookback - 1].astype("datetime64[ns]")
        return np.where(starts >= 0, ends, np.datetime64("NaT"))


def _stored_rate(state: State) -> str | None:
    freq = fields.optional_text(state, "freq")
    if freq is not None:
        with fields.restoring(state):
            check_rate(freq[:_LONGEST_RATE])
    return freq if freq is None else freq[:_LONGEST_RATE]


def _stored_times(state: State) -> Times:
    """Return the saved times, which must increase."""
    if not fields.has_array(state, "times"):
        return None
    stamps = fields.array(state, "times", np.int64, [None], low=_FIRST, high=_LAST)
    if (np.diff(stamps) <= 0).any():
        raise state.damaged("its times must increase")
    return np.asarray(stamps.view("datetime64[ns]"))
