"""A live stream that keeps the last steps in memory and updates the search with every step."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from subcast.axes import check_whole
from subcast.calendar import time_features_of
from subcast.errors import DataWarning, InputError
from subcast.forecast import Forecast
from subcast.retrieval import Neighbors, WindowBank
from subcast.retrieval.protocol import BankStream
from subcast.subset.adaptive import AdaptiveWidths, checked_factors, counted, widened_within
from subcast.subset.arrived import Arrived, arrive_window
from subcast.subset.conformal import checked_levels
from subcast.subset.result import ForecastMaker
from subcast.subset.screened import refuse_all, refuse_beyond
from subcast.tables.convention import NumberFormat, decimal_point_note
from subcast.tables.dates import read_time
from subcast.tables.live import Recent, read_recent
from subcast.tables.lookback import refuse_off_step
from subcast.tables.policy import Strict
from subcast.tables.rates import moment_text
from subcast.tables.rows import holds_truth
from subcast.tables.steps import REPEATED_HOUR, UserClock
from subcast.tables.zones import HOUR, nearest_moment, repeated_hour, time_index, wall_clock


class Arrival(NamedTuple):
    """When a step came: its time on the training's clock, how the user writes times, and what was done about it."""

    stamp: int | None
    clock: UserClock
    moved: int = 0
    notes: tuple[str, ...] = ()


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
    adapt
        whether intervals follow the coverage that those of earlier forecasts had, or the factors to begin with;
        readings that come late do not count
    """

    def __init__(
        self,
        maker: ForecastMaker,
        levels: tuple[float, ...],
        *,
        strict: bool = False,
        adapt: bool | Sequence[float] = False,
    ) -> None:
        self._maker, self._levels, self._strict = maker, levels, strict
        factors = checked_factors(adapt)
        self._widths = None if factors is None else _widths_of(maker, levels, factors)
        self._fitted, self._metadata, self._settings = maker.fitted, maker.metadata, maker.settings
        fitted, metadata = maker.fitted, maker.metadata
        self._columns = {name: column for column, name in enumerate(metadata.variables)}
        self._raw = np.full((fitted.lookback, fitted.n), np.nan, dtype=np.float32)  # as they came
        self._values = self._raw  # without those beyond the limits
        self._causes: NDArray[np.uint8] | None = None  # why they are beyond the limits
        self._times = np.zeros(0, dtype=np.int64)  # of the steps in memory, on the training's clock
        self._moved = np.zeros(fitted.lookback, dtype=np.int64)
        self._notes: list[tuple[str, ...]] = [()] * fitted.lookback
        self._clock = UserClock(metadata.zone, metadata.zone)
        self._said: set[str] = set()
        self._count = 0
        self._search: BankStream | None = None
        self._holed: NDArray[np.bool_] | None = None  # which variables have missing readings in the bank
        self._present = np.zeros(0, dtype=np.int64)
        self._slots = np.zeros(fitted.lookback, dtype=np.int64)  # of the window that was searched last
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
        """The time of the last step, in UTC if the times that came last have a zone; None without times."""
        shown = self._clock.shown(self._times[-1:].view("datetime64[ns]"))
        return shown[0] if shown is not None and shown.size else None

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
            the time of the step, in any zone; needed at the first step if the model or the daily profile needs times,
            then optional. As in `SubsetForecaster.predict`, a time that is a little off the steps of the training is
            moved to the nearest one
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
        row = self._row(step)
        if time is None:
            self._add(row, Arrival(self._following_time(), self._clock), strict)
        else:
            stamp, moved, clock = self._own_time(time)
            self._add_timed(row, Arrival(stamp, clock, moved), strict)
        return self.forecast(absent=absent, levels=levels) if self.ready else None

    def late(self, step: Any, time: Any = None, *, back: int | None = None, strict: bool | None = None) -> None:
        """Put readings that arrive late into a step that was added before, as if they had come in time.

        Readings of the step that are given replace those in memory; the others stay.

        Parameters
        ----------
        step
            the readings, as `push` takes them
        time
            the time of the step, one of the last `lookback`
        back
            the step by its number instead, for a stream without times: 0 the last, 1 the one before, ...
        strict
            as in `push`; readings that are refused are not put in
        """
        row = self._row(step)
        if (time is None) == (back is None):
            raise InputError("late needs the time of the step, or back= (0 the last step, 1 the one before): give one")
        position = self._position_back(back) if back is not None else self._position_of(time)
        raw = self._raw.copy()
        raw[position] = np.where(np.isnan(row), raw[position], row)
        values, causes = self._screen(raw)
        if causes is not None and self._is_strict(strict):
            stamps = self._times[position - len(raw) :][:1]  # none without times
            self._refuse_beyond(raw[position], causes[position], stamps, self._clock)
        self._raw, self._values, self._causes = raw, values, causes
        self._search, self._neighbors = None, None  # all steps are searched again

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
            steps=self._metadata.steps,
            names=names,
            times=times,
            numbers=NumberFormat(decimal, thousands),
        )
        self._say(window.clock.note)
        before = dict(self.__dict__)
        try:
            self._add_rows(window, strict)
        except InputError:
            self.__dict__.update(before)
            self._search = None  # it has the steps that were added
            raise

    def _add_rows(self, window: Recent, strict: bool | None) -> None:
        """Add the steps of a table."""
        notes = tuple(note for note in window.notes if note not in (window.clock.note, self._moved_note(window.moved)))
        stamps = None if window.times is None else window.times.view(np.int64)
        for number, row in enumerate(window.values):
            if stamps is None:
                self._add(row, Arrival(self._following_time(), self._clock), strict)
            else:
                arrival = Arrival(int(stamps[number]), window.clock, int(window.moved[number]), notes)
                self._add_timed(row, arrival, strict, window.clock.shift if number == 0 else 0)

    def forecast(self, *, absent: bool = False, levels: Sequence[float] | None = None) -> Forecast:
        """Forecast from the last steps without adding one."""
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
        window = self._window()
        arrived = arrive_window(window, self._fitted, self._metadata)
        if self._neighbors is None:
            self._neighbors = self._nearest(arrived, present)
        chosen_levels = self._levels if levels is None else checked_levels(levels)
        widths = self._widths
        scored = () if widths is None or widths.level in chosen_levels else (widths.level,)
        forecast = self._maker.single(window, arrived, self._neighbors, absent=absent, levels=(*chosen_levels, *scored))
        return forecast if widths is None else self._adapted(forecast, widths, len(chosen_levels))

    @property
    def interval_factors(self) -> tuple[float, ...] | None:
        """How many times as wide the intervals are than `predict` gives them; None if they are not adapted.

        One for each share of the readings that arrived: up to 15 %, 15 to 50 %, 50 to 85 %, 85 to 99 %, and all.
        """
        return None if self._widths is None else self._widths.factors

    def _adapted(self, forecast: Forecast, widths: AdaptiveWidths, asked: int) -> Forecast:
        """Return a forecast with intervals as wide as past coverage demands, and keep it to be scored.

        Only the first `asked` levels are returned; the level that is scored is among them or comes after them.
        """
        if forecast.bounds is None:
            return forecast
        share = float(forecast.observed_share)
        variables = [self._columns[name] for name in forecast.variables]
        factor = widths.factor(share)
        bounds = widened_within(forecast.mean, forecast.bounds, factor, self._maker.limits, variables)
        of_level = bounds[forecast.levels.index(widths.level)]
        kept = np.full((*of_level.shape[:2], self._fitted.n), np.nan, dtype=np.float32)
        kept[..., variables] = of_level
        self._widths = widths.remembering(self._count, share, kept)
        return replace(forecast, levels=forecast.levels[:asked], bounds=bounds[:asked] if asked else None)

    def readings(self) -> tuple[NDArray[np.float32], Any]:
        """Return the steps in memory [t, n] and their times [t], from which a stream can be started again.

        The times are an array, or a pandas index in the zone of the training if it had one; None without times.
        """
        steps = min(self._count, self._fitted.lookback)
        times = self._times[-steps:].view("datetime64[ns]") if self._times.size else None
        if times is not None and self._metadata.zone is not None:
            return self._raw[len(self._raw) - steps :].copy(), time_index(times, self._metadata.zone)
        return self._raw[len(self._raw) - steps :].copy(), times

    def _add_timed(self, row: NDArray[np.float32], arrival: Arrival, strict: bool | None, shift: int = 0) -> None:
        """Add a step at a time of the training's clock, once it is checked against the steps before.

        `shift` is the change of the user's clock since the step before, where the table shows it.
        """
        stamp, clock = int(arrival.stamp or 0), arrival.clock
        if clock.offset is not None and clock.zone is not None and self._clock.offset is not None:
            shift = clock.offset - self._clock.offset
        elif not shift and clock.zone is None and self._metadata.zone is None:
            shift = self._set_back(stamp)
            arrival = arrival._replace(notes=(*arrival.notes, REPEATED_HOUR)) if shift else arrival
        times = self._times + np.int64(shift)
        self._check_follows(stamp, times)
        self._add(row, arrival, strict, times)

    def _add(
        self,
        row: NDArray[np.float32],
        arrival: Arrival,
        strict: bool | None,
        times: NDArray[np.int64] | None = None,
    ) -> None:
        """Add a step; `times` are those of the steps before, where clocks were set since."""
        raw = np.concatenate([self._raw[1:], row[None]])
        values, causes = self._screen(raw)
        if causes is not None and self._is_strict(strict):
            stamps = np.array([] if arrival.stamp is None else [arrival.stamp], dtype=np.int64)
            self._refuse_beyond(raw[-1], causes[-1], stamps, arrival.clock)
        if not (self._causes is None and causes is None) and not _same(self._values[1:], values[:-1]):
            self._search = None  # an earlier step is judged otherwise now
        self._raw, self._values, self._causes = raw, values, causes
        if arrival.stamp is not None:
            before = self._times if times is None else times
            self._times = np.append(before, arrival.stamp)[-self._fitted.lookback :]
        self._clock = arrival.clock
        self._moved = np.append(self._moved[1:], arrival.moved)
        self._notes = [*self._notes[1:], arrival.notes]
        self._count += 1
        if self._widths is not None:
            self._widths = self._widths.scored(self._count, counted(values[-1], self._metadata.protocol))
        self._neighbors = None
        if self.ready:
            present = np.flatnonzero(~np.isnan(self._values).all(axis=0))
            if present.size:
                arrived = arrive_window(self._window(), self._fitted, self._metadata)
                self._neighbors = self._nearest(arrived, present)
            else:
                self._search = None

    def _screen(self, raw: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.uint8] | None]:
        """Return readings without those beyond the limits, and why they are."""
        return (raw, None) if self._maker.limits is None else self._maker.limits.screen(raw)

    def _is_strict(self, strict: bool | None) -> bool:
        return self._strict if strict is None else strict

    def _refuse_beyond(
        self, row: NDArray[np.float32], causes: NDArray[np.uint8], stamps: NDArray[np.int64], clock: UserClock
    ) -> None:
        """Raise if a step has a reading beyond the limits; `stamps` has its time, if it is known."""
        limits = self._maker.limits
        if limits is None or not causes.any():
            return
        times = clock.wall(stamps.view("datetime64[ns]")) if stamps.size else None
        refuse_beyond("step", limits.notes(row[None], causes[None], times))

    def _limit_notes(self) -> tuple[str, ...]:
        """Return the notes about readings in memory that are beyond the limits."""
        limits = self._maker.limits
        if limits is None or self._causes is None:
            return ()
        return limits.notes(self._raw, self._causes, self._clock.wall(self._window_times()))

    def _window(self) -> Recent:
        """Return the steps in memory as `predict` would read them."""
        notes = dict.fromkeys(note for step in self._notes for note in step)
        said = (
            self._clock.note if self._times.size else "",
            *notes,
            self._moved_note(self._moved),
            *self._limit_notes(),
        )
        times = self._window_times()
        return Recent(
            self._values, times, self._features(times), tuple(note for note in said if note), self._clock, self._moved
        )

    def _moved_note(self, moved: NDArray[np.int64]) -> str:
        return self._metadata.steps.moved_note(moved)

    def _say(self, note: str) -> None:
        """Warn about what was assumed, once for each stream; every forecast has the note too."""
        if note and note not in self._said:
            self._said.add(note)
            warnings.warn(note, DataWarning, stacklevel=4)

    def _nearest(self, arrived: Arrived, present: NDArray[np.int64]) -> Neighbors:
        """Return the neighbors of the steps in memory; only the last step is searched, also when S changes."""
        fitted = self._fitted
        slots = fitted.slots(arrived, fitted.lookback)[0]  # [t]
        follows_last = np.array_equal(slots[:-1], self._slots[1:])  # clocks may be set, a guessed time of day may jump
        followed = self._followed(present)
        search_all = self._search is None or not np.array_equal(followed, self._present) or not follows_last
        self._slots = slots
        if search_all:
            k = min(self._settings.neighbors, len(fitted.bank))
            self._search = fitted.bank.stream(followed, k, self._settings.exponent)
            self._present = followed
        shared = fitted.shared(arrived)  # [1, t, g]
        neighbors = None
        for position in range(0 if search_all else fitted.lookback - 1, fitted.lookback):
            step = self._values[None, position : position + 1, followed]
            normal = fitted.normalizer.normalize(step, slots[None, position : position + 1], followed)
            neighbors = self._search.push(  # type: ignore[union-attr]
                normal[0, 0], shared=None if shared is None else shared[0, position]
            )
        if neighbors is None:
            raise RuntimeError("the bank's stream returned no neighbors after a full window")
        return neighbors

    def _followed(self, present: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the variables that the search follows: more than S, so that it goes on when S changes.

        A variable without a reading is not compared, so the distances are those on S, to the bit. Banks with and
        without missing readings are compared by different loops, so variables of one kind are followed together.
        """
        bank = self._fitted.bank
        if not isinstance(bank, WindowBank):
            return present
        if self._holed is None:
            numbers = np.arange(self._fitted.n)
            self._holed = np.array([bank.has_holes(bank.layout.own_rows(numbers[i : i + 1])) for i in numbers])
        return np.arange(len(self._holed)) if self._holed[present].any() else np.flatnonzero(~self._holed)

    def _row(self, step: Any) -> NDArray[np.float32]:
        """Return one step over all variables, NaN where there is no reading."""
        if hasattr(step, "to_dict") and not isinstance(step, Mapping):
            step = step.to_dict()
        if holds_truth(list(step.values()) if isinstance(step, Mapping) else step):
            raise InputError("step has True or False, which are not readings: write NaN, 0 or 1")
        row = self._named_row(step) if isinstance(step, Mapping) else self._plain_row(step)
        if np.isinf(row).any():
            name = self._metadata.variables[int(np.flatnonzero(np.isinf(row))[0])]
            raise InputError(
                f"step has an infinity for {name!r} (or a number too large for float32): mark a missing reading as NaN"
            )
        return row

    def _named_row(self, step: Mapping[Any, Any]) -> NDArray[np.float32]:
        unknown = [str(name) for name in step if str(name) not in self._columns]
        if unknown:
            raise InputError(f"step names {unknown[0]!r}, which is not among the {self._fitted.n} variables")
        row = np.full(self._fitted.n, np.nan, dtype=np.float32)
        for name, value in step.items():
            if isinstance(value, str):
                self._say(decimal_point_note(value))
            row[self._columns[str(name)]] = _float_of(value, str(name))
        return row

    def _plain_row(self, step: ArrayLike) -> NDArray[np.float32]:
        try:
            with np.errstate(over="ignore"):
                row = np.array(step, dtype=np.float32)
        except OverflowError:
            raise InputError("step has a number too large for float32: mark a missing reading as NaN") from None
        except (TypeError, ValueError):
            raise InputError(f"step must be numbers, or a mapping of names to numbers, got {step!r}") from None
        if row.shape != (self._fitted.n,):
            raise InputError(
                f"step must have a reading (or NaN) for each of the {self._fitted.n} variables, got shape {row.shape}; "
                "give a mapping of names to readings for fewer"
            )
        return row

    def _following_time(self) -> int | None:
        """Return the time of a step that comes without one: one step after the last."""
        if not self._times.size:
            if self._metadata.time_features:
                raise InputError(
                    f"time is needed at the first step: the model looks at {self._metadata.time_features[0]}"
                )
            return None
        next_time = self._metadata.next_time(self._times[-1:].view("datetime64[ns]")[0])
        if next_time is None:
            raise InputError("time is needed at every step: the wrapper was fitted on a single step")
        return int(next_time.astype(np.int64))

    def _own_time(self, time: Any) -> tuple[int, int, UserClock]:
        """Return a time on the training's clock and on its steps, by how much it was moved, and the user's clock."""
        steps = self._metadata.steps
        stamp, zone = read_time(time, steps.zone)
        assumed = zone is None and steps.zone is not None
        if assumed:
            near = self._following_time() if self._times.size else None
            stamp, zone = self._moment_of(stamp, near), steps.zone
        stamps, clock = steps.on_own_clock(np.array([stamp]), zone, assumed=assumed)
        self._say(clock.note)
        if steps.freq is None:
            return int(stamps[0]), 0, clock
        snapped = steps.snap(stamps)
        if snapped.off[0]:
            self._refuse_off_step(int(stamps[0]))
        return int(snapped.stamps[0]), int(snapped.moved[0]), clock

    def _moment_of(self, wall: int, near: int | None) -> int:
        """Return the moment of a time without a zone on the clock of the training's zone."""
        zone = str(self._metadata.zone)
        moment = nearest_moment(wall, zone, near)
        if moment is None:
            Strict("the stream", zone=zone).skipped_times(moment_text(wall), 1, zone)
            raise AssertionError("a skipped time is refused")
        return moment

    def _set_back(self, stamp: int) -> int:
        """Return by how much clocks were set before a time that goes back, 0 if they were not."""
        step = self._metadata.steps.step
        if not self._times.size or stamp > self._times[-1] or step is None or step > HOUR:
            return 0
        found = repeated_hour(int(self._times[-1]), stamp)
        return 0 if found is None else -found.back

    def _check_follows(self, stamp: int, times: NDArray[np.int64]) -> None:
        """Raise unless a time is one step after the last of the times before."""
        if self._count and not times.size:
            raise InputError(
                "time was not given at earlier steps of this stream: start a new stream and give it from the first step"
            )
        if not times.size:
            return
        here, last = self._text(stamp), self._text(times[-1])
        if stamp <= times[-1]:
            raise InputError(
                f"time must increase: {here} is not after {last}, the time of the previous step; put a late reading "
                "into its step with late(step, time)"
            )
        steps = self._metadata.steps
        if steps.freq is not None and steps.place(np.append(times[-1:], stamp)).offsets[0] != -1:
            raise InputError(
                f"time jumped from {last} to {here}, and steps are {steps.freq} apart: push a step of NaN for each "
                "missing step, or start a new stream"
            )

    def _refuse_off_step(self, stamp: int) -> NoReturn:
        steps = self._metadata.steps
        if not self._times.size:
            refuse_off_step(stamp, steps, "the stream")
        raise InputError(
            f"time jumped from {self._text(self._times[-1])} to {self._text(stamp)}, between two steps, which are "
            f"{steps.freq} apart: push the readings of each step, or start a new stream"
        )

    def _text(self, stamp: int | np.int64) -> str:
        return moment_text(stamp, zone=self._metadata.zone)

    def _position_back(self, back: int) -> int:
        steps = min(self._count, self._fitted.lookback)
        check_whole("back", back, low=0)
        if not steps:
            raise InputError("the stream has no steps yet: add the readings with push")
        if back >= steps:
            raise InputError(f"back must be below {steps}, the number of steps in memory, got {back}")
        return self._fitted.lookback - 1 - back

    def _position_of(self, time: Any) -> int:
        """Return the position of a time among the steps in memory."""
        if not self._count:
            raise InputError("the stream has no steps yet: add the readings with push")
        if not self._times.size:
            raise InputError("this stream has no times: name the step of a late reading with back=")
        stamp = self._late_time(time)
        found = np.flatnonzero(self._times == stamp)
        if found.size:
            return self._fitted.lookback - self._times.size + int(found[0])
        first, last = self._text(self._times[0]), self._text(self._times[-1])
        if stamp > self._times[-1]:
            raise InputError(f"time {self._text(stamp)} is not late: the last step is {last}; add it with push")
        if stamp < self._times[0]:
            raise InputError(
                f"time {self._text(stamp)} is too late: the stream keeps {self._times.size} steps, from {first} to "
                f"{last}"
            )
        raise InputError(f"time {self._text(stamp)} is not one of the steps in memory, from {first} to {last}")

    def _late_time(self, time: Any) -> int:
        """Return the time of a late step on the training's clock."""
        stamp, _, clock = self._own_time(time)
        if clock.zone is not None and clock.offset is not None and self._clock.offset is not None:
            stamp += self._clock.offset - clock.offset  # clocks were set since
        return stamp

    def _window_times(self) -> NDArray[np.datetime64] | None:
        return self._times.view("datetime64[ns]") if len(self._times) == self._fitted.lookback else None

    def _features(self, times: NDArray[np.datetime64] | None) -> NDArray[np.float32] | None:
        if not self._metadata.time_features or times is None:
            return None
        return time_features_of(wall_clock(times, self._metadata.zone), self._metadata.time_features)


def _widths_of(maker: ForecastMaker, levels: tuple[float, ...], factors: tuple[float, ...]) -> AdaptiveWidths:
    """Return the widths of intervals at the start of a stream."""
    if maker.calibration is None or not levels:
        raise InputError(
            "adapt needs prediction intervals, and this wrapper has none: fit it with validation windows and levels, "
            "or leave adapt out"
        )
    return AdaptiveWidths(max(levels), factors)


def _same(first: NDArray[np.float32], second: NDArray[np.float32]) -> bool:
    return np.array_equal(first, second, equal_nan=True)


def _float_of(value: Any, name: str) -> np.float32:
    """Return a reading as float32, infinite if it is too large; NaN if it is missing."""
    if value is None or value is pd.NA:
        return np.float32(np.nan)
    try:
        with np.errstate(over="ignore"):
            return np.float32(float(value))
    except OverflowError:
        return np.float32(np.inf)
    except (TypeError, ValueError):
        raise InputError(f"step has {value!r} for {name!r}, which is not a number") from None
