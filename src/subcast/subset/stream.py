"""A live stream: the last steps in memory, the search carried from step to step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subcast.calendar import slot_of_day, time_features_of
from subcast.errors import InputError
from subcast.retrieval import Neighbors
from subcast.retrieval.sliding import Stream
from subcast.subset.checks import Frame
from subcast.subset.engine import Engine, shared_features
from subcast.subset.settings import Settings
from subcast.tables.live import Recent


class Live:
    """The last `lookback` steps, and the distances of the bank's steps from them.

    While the same variables arrive, each step is searched for the cost of one step; when S changes, the steps in
    memory are gone through once more.
    """

    def __init__(self, engine: Engine, frame: Frame) -> None:
        self.engine, self.frame = engine, frame
        self.values = np.full((engine.lookback, engine.n), np.nan, dtype=np.float32)
        self.times: list[np.datetime64] = []
        self.count = 0
        self._places = {name: place for place, name in enumerate(frame.variables)}
        self._stream: Stream | None = None
        self._present = np.zeros(0, dtype=np.int64)
        self._slot = 0  # of the window's first step, when it was last searched

    def push(self, step: Any, time: Any, settings: Settings) -> tuple[Recent, Neighbors] | None:
        """Take in a step; the window and its neighbors once there are steps enough."""
        row = self._row(step)
        self._take_time(time)
        self.values = np.concatenate([self.values[1:], row[None]])
        self.count += 1
        if self.count < self.engine.lookback:
            return None
        present = np.flatnonzero(~np.isnan(self.values).all(axis=0))
        if not present.size:
            raise InputError(f"none of the last {self.engine.lookback} steps has a reading: nothing can be forecast")
        window = Recent(self.values, self._window_times(), self._features())
        return window, self._neighbors(present, settings)

    def _neighbors(self, present: NDArray[np.int64], settings: Settings) -> Neighbors:
        engine = self.engine
        k = min(settings.neighbors, len(engine.bank))
        slots = self._slots(present)
        moved_on = slots[0] == (self._slot + 1) % engine.space.slots  # a guessed hour may jump
        again = self._stream is None or not np.array_equal(present, self._present) or not moved_on
        self._slot = int(slots[0])
        if again:
            self._stream = engine.bank.stream(present, k, settings.exponent)
            self._present = present
        assert self._stream is not None
        found = None
        first = 0 if again else engine.lookback - 1
        for place in range(first, engine.lookback):
            normal = engine.space.normalize(
                self.values[None, place : place + 1, present], slots[None, place : place + 1], present
            )
            found = self._stream.push(normal[0, 0], shared=self._shared(place, slots, settings))
        assert found is not None
        return found

    def _slots(self, present: NDArray[np.int64]) -> NDArray[np.int64]:
        engine = self.engine
        if engine.space.slots == 1:
            return np.zeros(engine.lookback, dtype=np.int64)
        times = self._window_times()
        if times is not None:
            return slot_of_day(times, engine.space.slots)
        first = engine.space.guess_slots(self.values[None][:, :, present], present)
        return (first[0] + np.arange(engine.lookback)) % engine.space.slots

    def _shared(self, place: int, slots: NDArray[np.int64], settings: Settings) -> NDArray[np.float32] | None:
        features = self._features()
        own = None if features is None else features[place]
        return shared_features(own, slots[place], self.engine.space.slots, settings, self.engine.time_of_day_weight)

    def _row(self, step: Any) -> NDArray[np.float32]:
        """One step over all variables, NaN where nothing came."""
        if hasattr(step, "to_dict") and not isinstance(step, Mapping):
            step = step.to_dict()
        if isinstance(step, Mapping):
            unknown = [str(name) for name in step if str(name) not in self._places]
            if unknown:
                raise InputError(f"step names {unknown[0]!r}, which is not among the {self.engine.n} variables")
            row = np.full(self.engine.n, np.nan, dtype=np.float32)
            for name, value in step.items():
                try:
                    row[self._places[str(name)]] = np.nan if value is None else float(value)
                except (TypeError, ValueError):
                    raise InputError(f"step has {value!r} for {str(name)!r}, which is not a number") from None
        else:
            row = self._plain_row(step)
        if np.isinf(row).any():
            name = self.frame.variables[int(np.flatnonzero(np.isinf(row))[0])]
            raise InputError(f"step has an infinity for {name!r}: mark a missing reading as NaN")
        return row

    def _plain_row(self, step: ArrayLike) -> NDArray[np.float32]:
        try:
            row = np.array(step, dtype=np.float32)
        except (TypeError, ValueError):
            raise InputError(f"step must be numbers, or a mapping of names to numbers, got {step!r}") from None
        if row.shape != (self.engine.n,):
            raise InputError(
                f"step must have a reading (or NaN) for each of the {self.engine.n} variables, got shape {row.shape}; "
                "give a mapping of names to readings for fewer"
            )
        return row

    def _take_time(self, time: Any) -> None:
        """Keep the time of the step; one left out is one step after the last."""
        if time is None:
            if not self.times:
                if self.frame.time_features:
                    raise InputError(
                        f"time is needed at the first step: the model looks at {self.frame.time_features[0]}"
                    )
                return
            follows = self.frame.next_time(self.times[-1])
            if follows is None:
                raise InputError("time is needed at every step: the wrapper was fitted on a single one")
            moment = follows
        else:
            try:
                moment = np.datetime64(time, "ns")
            except (TypeError, ValueError):
                raise InputError(f"time must be a moment such as '2024-01-01 12:00', got {time!r}") from None
            if self.count and not self.times:
                raise InputError(
                    "time was left out at earlier steps of this stream: call reset() and give it from the first"
                )
            if self.times and moment <= self.times[-1]:
                raise InputError(f"time must move on: {moment} is not after {self.times[-1]}, the step before")
            expected = self.frame.next_time(self.times[-1]) if self.times else None
            if expected is not None and moment != expected:
                apart = self.frame.freq or self.frame.step
                raise InputError(
                    f"time jumped from {self.times[-1]} to {moment}, and steps are {apart} apart: push "
                    "a step of NaN for each that is missing, or call reset()"
                )
        self.times = [*self.times[-self.engine.lookback + 1 :], moment] if self.engine.lookback > 1 else [moment]

    def _window_times(self) -> NDArray[np.datetime64] | None:
        return np.array(self.times, dtype="datetime64[ns]") if len(self.times) == self.engine.lookback else None

    def _features(self) -> NDArray[np.float32] | None:
        times = self._window_times()
        if not self.frame.time_features or times is None:
            return None
        return time_features_of(times, self.frame.time_features)
