"""A live stream that keeps the last steps in memory and updates the search with every step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subcast.calendar import slot_of_day, time_features_of
from subcast.errors import InputError
from subcast.forecast import Forecast
from subcast.retrieval import Neighbors
from subcast.retrieval.protocol import BankStream
from subcast.subset.arrived import window_slots
from subcast.subset.conformal import checked_levels
from subcast.subset.result import ForecastMaker
from subcast.subset.screened import refuse_all, refuse_beyond
from subcast.tables.convention import NumberFormat
from subcast.tables.live import Recent, read_recent
from subcast.tables.rows import holds_truth


class ForecastStream:
    """A stream of readings and its forecasts, returned by `SubsetForecaster.stream`.

    Streams have independent state: any number of them can run on one wrapper, also in several threads (one thread for
    each stream). While the same variables arrive, a new step costs the search of one step; when S changes, all steps
    in memory are searched again.

    Parameters
    ----------
    maker
        makes forecasts with what the wrapper has learned when the stream begins; a later `fit` does not change it
    levels
        of the intervals, when none are asked for
    strict
        whether steps with readings beyond the limits are refused
    """

    def __init__(self, maker: ForecastMaker, levels: tuple[float, ...], *, strict: bool = False) -> None:
        self._maker, self._levels, self._strict = maker, levels, strict
        self._fitted, self._metadata, self._settings = maker.fitted, maker.metadata, maker.settings
        fitted, metadata = maker.fitted, maker.metadata
        self._columns = {name: column for column, name in enumerate(metadata.variables)}
        self._raw = np.full((fitted.lookback, fitted.n), np.nan, dtype=np.float32)  # as they came
        self._values = self._raw  # without those beyond the limits
        self._causes: NDArray[np.uint8] | None = None  # why they are beyond the limits
        self._times: list[np.datetime64] = []
        self._count = 0
        self._search: BankStream | None = None
        self._present = np.zeros(0, dtype=np.int64)
        self._first_slot = 0  # slot of the first step of the window that was searched last
        self._neighbors: Neighbors | None = None

    def __len__(self) -> int:
        """Return the number of steps added so far."""
        return self._count

    @property
    def ready(self) -> bool:
        """Whether there are enough steps for a forecast."""
        return self._count >= self._fitted.lookback

    @property
    def last_time(self) -> np.datetime64 | None:
        """The time of the last step; None without times."""
        return self._times[-1] if self._times else None

    def push(
        self,
        step: Any,
        time: Any = None,
        *,
        absent: bool = False,
        levels: Sequence[float] | None = None,
        strict: bool | None = None,
    ) -> Forecast | None:
        """Add one step and forecast from the last `lookback` steps.

        Parameters
        ----------
        step
            a mapping or Series of names to readings, or an array [n] in the variables' order; a variable that is left
            out or NaN is absent
        time
            the time of the step; needed at the first step if the model or the daily profile needs times, then optional
        absent, levels
            as in `SubsetForecaster.predict`
        strict
            refuse a step with readings beyond the limits; as chosen for the stream by default

        Returns
        -------
        Forecast, or None until `lookback` steps have been added

        Raises
        ------
        InputError
            if the step is invalid, and then it is not added; or if none of the last `lookback` steps has a reading,
            and then it is
        """
        self._add(self._row(step), time, strict)
        return self.forecast(absent=absent, levels=levels) if self.ready else None

    def extend(
        self,
        recent: Any,
        *,
        names: Sequence[str] | None = None,
        times: Any = None,
        decimal: str | None = None,
        thousands: str | None = None,
        absent: bool = False,
        levels: Sequence[float] | None = None,
        strict: bool | None = None,
    ) -> Forecast | None:
        """Add several steps at once and forecast from the last `lookback` steps.

        Parameters
        ----------
        recent, names, times, decimal, thousands
            the steps, as `SubsetForecaster.predict` takes them; one is enough
        absent, levels
            as in `SubsetForecaster.predict`
        strict
            as in `push`; if a step is refused, none is added
        """
        self.add(recent, names=names, times=times, decimal=decimal, thousands=thousands, strict=strict)
        return self.forecast(absent=absent, levels=levels) if self.ready else None

    def add(
        self,
        recent: Any,
        *,
        names: Sequence[str] | None = None,
        times: Any = None,
        decimal: str | None = None,
        thousands: str | None = None,
        strict: bool | None = None,
    ) -> None:
        """Add several steps at once without a forecast; arguments as in `extend`."""
        window = read_recent(
            recent,
            variables=self._metadata.variables,
            lookback=None,
            freq=self._metadata.freq,
            names=names,
            times=times,
            numbers=NumberFormat(decimal, thousands),
        )
        before = dict(self.__dict__)
        try:
            for number, row in enumerate(window.values):
                self._add(row, None if window.times is None else window.times[number], strict)
        except InputError:
            self.__dict__.update(before)
            self._search = None  # it has the steps that were added
            raise

    def forecast(self, *, absent: bool = False, levels: Sequence[float] | None = None) -> Forecast:
        """Forecast from the last steps without adding one; the stream is not changed."""
        if not self.ready:
            raise InputError(
                f"the stream has {self._count} of the {self._fitted.lookback} steps that a forecast needs: push more"
            )
        present = np.flatnonzero(~np.isnan(self._values).all(axis=0))
        notes = self._limit_notes()
        if not present.size and notes:
            refuse_all("the stream", notes)
        if not present.size:
            raise InputError(f"none of the last {self._fitted.lookback} steps has a reading: nothing can be forecast")
        if self._neighbors is None:
            self._neighbors = self._nearest(present)
        window = Recent(self._values, self._window_times(), self._features(), notes)
        chosen_levels = self._levels if levels is None else checked_levels(levels)
        slots = window_slots(window, self._fitted)
        return self._maker.single(window, slots, self._neighbors, absent=absent, levels=chosen_levels)

    def readings(self) -> tuple[NDArray[np.float32], NDArray[np.datetime64] | None]:
        """Return the steps in memory [t, n] and their times [t], from which a stream can be started again."""
        steps = min(self._count, self._fitted.lookback)
        times = np.array(self._times[-steps:], dtype="datetime64[ns]") if self._times else None
        return self._raw[len(self._raw) - steps :].copy(), times

    def _add(self, row: NDArray[np.float32], time: Any, strict: bool | None = None) -> None:
        raw = np.concatenate([self._raw[1:], row[None]])
        values, causes = (raw, None) if self._maker.limits is None else self._maker.limits.screen(raw)
        if causes is not None and (self._strict if strict is None else strict):
            self._refuse_beyond(raw, causes, time)
        self._add_time(time)
        if not (self._causes is None and causes is None) and not _same(self._values[1:], values[:-1]):
            self._search = None  # an earlier step is judged otherwise now
        self._raw, self._values, self._causes = raw, values, causes
        self._count += 1
        self._neighbors = None
        if self.ready:
            present = np.flatnonzero(~np.isnan(self._values).all(axis=0))
            if present.size:
                self._neighbors = self._nearest(present)
            else:
                self._search = None

    def _refuse_beyond(self, raw: NDArray[np.float32], causes: NDArray[np.uint8], time: Any) -> None:
        """Raise if the last step has a reading beyond the limits."""
        limits = self._maker.limits
        if limits is None or not causes[-1].any():
            return
        moment = self._following_time() if time is None else self._checked_time(time)
        times = None if moment is None else np.array([moment], dtype="datetime64[ns]")
        refuse_beyond("step", limits.notes(raw[-1:], causes[-1:], times))

    def _limit_notes(self) -> tuple[str, ...]:
        """Return the notes about readings in memory that are beyond the limits."""
        limits = self._maker.limits
        return (
            ()
            if limits is None or self._causes is None
            else limits.notes(self._raw, self._causes, self._window_times())
        )

    def _nearest(self, present: NDArray[np.int64]) -> Neighbors:
        """Return the neighbors of the steps in memory; only the last step is searched while S stays the same."""
        fitted = self._fitted
        slots = self._slots(present)
        follows_last = slots[0] == (self._first_slot + 1) % fitted.normalizer.slots  # a guessed time of day may jump
        search_all = self._search is None or not np.array_equal(present, self._present) or not follows_last
        self._first_slot = int(slots[0])
        if search_all:
            k = min(self._settings.neighbors, len(fitted.bank))
            self._search = fitted.bank.stream(present, k, self._settings.exponent)
            self._present = present
        neighbors = None
        for position in range(0 if search_all else fitted.lookback - 1, fitted.lookback):
            step = self._values[None, position : position + 1, present]
            normal = fitted.normalizer.normalize(step, slots[None, position : position + 1], present)
            neighbors = self._search.push(normal[0, 0], shared=self._shared(position, slots))  # type: ignore[union-attr]
        if neighbors is None:
            raise RuntimeError("the bank's stream returned no neighbors after a full window")
        return neighbors

    def _slots(self, present: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the slots of the day of the steps in memory, [t]."""
        fitted = self._fitted
        if fitted.normalizer.slots == 1:
            return np.zeros(fitted.lookback, dtype=np.int64)
        times = self._window_times()
        if times is not None:
            return slot_of_day(times, fitted.normalizer.slots)
        first = fitted.normalizer.guess_slots(self._values[None][:, :, present], present)
        return (first[0] + np.arange(fitted.lookback)) % fitted.normalizer.slots

    def _shared(self, position: int, slots: NDArray[np.int64]) -> NDArray[np.float32] | None:
        features = self._features()
        return self._fitted.shared_at(None if features is None else features[position], slots[position])

    def _row(self, step: Any) -> NDArray[np.float32]:
        """Return one step over all variables, NaN where there is no reading."""
        if hasattr(step, "to_dict") and not isinstance(step, Mapping):
            step = step.to_dict()
        if holds_truth(list(step.values()) if isinstance(step, Mapping) else step):
            raise InputError("step has True or False, which are not readings: write NaN, 0 or 1")
        row = self._named_row(step) if isinstance(step, Mapping) else self._plain_row(step)
        if np.isinf(row).any():
            name = self._metadata.variables[int(np.flatnonzero(np.isinf(row))[0])]
            raise InputError(f"step has an infinity for {name!r}: mark a missing reading as NaN")
        return row

    def _named_row(self, step: Mapping[Any, Any]) -> NDArray[np.float32]:
        unknown = [str(name) for name in step if str(name) not in self._columns]
        if unknown:
            raise InputError(f"step names {unknown[0]!r}, which is not among the {self._fitted.n} variables")
        row = np.full(self._fitted.n, np.nan, dtype=np.float32)
        for name, value in step.items():
            try:
                row[self._columns[str(name)]] = np.nan if value is None else float(value)
            except (TypeError, ValueError):
                raise InputError(f"step has {value!r} for {str(name)!r}, which is not a number") from None
        return row

    def _plain_row(self, step: ArrayLike) -> NDArray[np.float32]:
        try:
            row = np.array(step, dtype=np.float32)
        except (TypeError, ValueError):
            raise InputError(f"step must be numbers, or a mapping of names to numbers, got {step!r}") from None
        if row.shape != (self._fitted.n,):
            raise InputError(
                f"step must have a reading (or NaN) for each of the {self._fitted.n} variables, got shape {row.shape}; "
                "give a mapping of names to readings for fewer"
            )
        return row

    def _add_time(self, time: Any) -> None:
        """Store the time of the step; by default one step after the last."""
        moment = self._following_time() if time is None else self._checked_time(time)
        if moment is None:
            return
        lookback = self._fitted.lookback
        self._times = [*self._times[-lookback + 1 :], moment] if lookback > 1 else [moment]

    def _following_time(self) -> np.datetime64 | None:
        if not self._times:
            if self._metadata.time_features:
                raise InputError(
                    f"time is needed at the first step: the model looks at {self._metadata.time_features[0]}"
                )
            return None
        next_time = self._metadata.next_time(self._times[-1])
        if next_time is None:
            raise InputError("time is needed at every step: the wrapper was fitted on a single step")
        return next_time

    def _checked_time(self, time: Any) -> np.datetime64:
        try:
            moment = np.datetime64(time, "ns")
        except (TypeError, ValueError):
            raise InputError(f"time must be a moment such as '2024-01-01 12:00', got {time!r}") from None
        if self._count and not self._times:
            raise InputError(
                "time was not given at earlier steps of this stream: start a new stream and give it from the first step"
            )
        if self._times and moment <= self._times[-1]:
            raise InputError(
                f"time must increase: {moment} is not after {self._times[-1]}, the time of the previous step"
            )
        expected = self._metadata.next_time(self._times[-1]) if self._times else None
        if expected is not None and moment != expected:
            step = self._metadata.freq or self._metadata.step
            raise InputError(
                f"time jumped from {self._times[-1]} to {moment}, and steps are {step} apart: push a step of NaN for "
                "each missing step, or start a new stream"
            )
        return moment

    def _window_times(self) -> NDArray[np.datetime64] | None:
        return np.array(self._times, dtype="datetime64[ns]") if len(self._times) == self._fitted.lookback else None

    def _features(self) -> NDArray[np.float32] | None:
        times = self._window_times()
        if not self._metadata.time_features or times is None:
            return None
        return time_features_of(times, self._metadata.time_features)


def _same(first: NDArray[np.float32], second: NDArray[np.float32]) -> bool:
    return np.array_equal(first, second, equal_nan=True)
