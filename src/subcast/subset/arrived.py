"""The windows that a forecast is made from, as they arrived."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from subcast.axes import check_axes
from subcast.calendar import slot_of_share
from subcast.cycle import Cycle
from subcast.errors import InputError
from subcast.tables.arrays import read_times
from subcast.tables.live import Recent
from subcast.tables.lookback import refuse_off_step
from subcast.tables.policy import Strict
from subcast.tables.rates import DAY
from subcast.tables.rows import holds_truth
from subcast.tables.steps import UserClock
from subcast.tables.zones import HOUR, sets_clocks, wall_clock
from subcast.windows import Windows

if TYPE_CHECKING:
    from subcast.subset.fitted import Fitted
    from subcast.subset.metadata import TrainingMetadata


@dataclass(frozen=True, eq=False)
class Arrived:
    """Windows as they arrived, in raw units.

    Parameters
    ----------
    values
        [b, t, n], NaN where there is no reading
    features
        [b, t, f - 1], the time features, or None
    slots
        [b], the position of each window's first step in the cycle (such as the slot of the day); -1 where it is unknown
    consecutive
        whether each window begins one step after the one before
    step_slots
        [b, t + h], the position of each step, where clocks may be set or holidays lie in between; None if positions
        follow one another
    offsets
        [b, n], what was taken from the readings of variables that left the levels of the training; None for nothing
    begins
        [b], the step of their series at which the windows begin, where neighboring windows share steps; else None
    """

    values: NDArray[np.float32]
    features: NDArray[np.float32] | None
    slots: NDArray[np.int64]
    consecutive: bool = False
    step_slots: NDArray[np.int64] | None = None
    offsets: NDArray[np.float32] | None = None
    begins: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, which: Any) -> Arrived:
        """Return the windows selected by a slice or by an array of their numbers."""
        features = None if self.features is None else self.features[which]
        consecutive = self.consecutive and isinstance(which, slice) and which.step in (None, 1)
        return Arrived(
            self.values[which],
            features,
            self.slots[which],
            consecutive,
            None if self.step_slots is None else self.step_slots[which],
            None if self.offsets is None else self.offsets[which],
            None if self.begins is None else self.begins[which],
        )

    @classmethod
    def of(cls, windows: Windows, cycle: Cycle) -> Arrived:
        """Return the windows of a series, as views."""
        times, step_slots = windows.series.wall_times, None
        if cycle.length == 1:
            slots = np.zeros(len(windows), dtype=np.int64)
        elif times is None:
            slots = np.full(len(windows), -1, dtype=np.int64)  # not known
        else:
            slot_of_step, starts = cycle.positions(times), np.asarray(windows.starts, dtype=np.int64)
            slots = slot_of_step[starts]
            if sets_clocks(windows.series.zone) or not cycle.follows_on:
                step_slots = sliding_window_view(slot_of_step, windows.lookback + windows.horizon)[starts]
        known = cycle.length == 1 or times is not None  # guessed times of day may jump from one window to the next
        begins = np.asarray(windows.starts, dtype=np.int64) if known else None
        consecutive = windows.starts.step == 1 and known
        return cls(windows.readings, windows.features, slots, consecutive, step_slots, begins=begins)


class Begins(NamedTuple):
    """When windows begin, on the training's clock, and the times of the steps ahead as the user writes times."""

    own: NDArray[np.datetime64] | None  # [b]
    ahead: NDArray[np.datetime64] | None  # [b, h]
    clock: UserClock
    notes: tuple[str, ...] = ()


class ReadWindows(NamedTuple):
    """Windows that `predict_many` got.

    Attributes
    ----------
    arrived
        the windows; positions in the cycle are -1 where the time is unknown
    times
        [b, h] the times of the steps ahead, as the user writes times; None if they are unknown
    clock
        how the user writes times
    notes
        what was changed or assumed in reading, a sentence each
    window_times
        [b, t] the times of the windows' steps as the user's clock shows them; None if they are unknown
    possible
        [b, positions], where windows may begin by their time features; None if nothing is known
    """

    arrived: Arrived
    times: NDArray[np.datetime64] | None
    clock: UserClock
    notes: tuple[str, ...] = ()
    window_times: NDArray[np.datetime64] | None = None
    possible: NDArray[np.bool_] | None = None


def read_windows(windows: Windows | ArrayLike, times: Any, fitted: Fitted, metadata: TrainingMetadata) -> ReadWindows:
    """Return the windows of a series or of an array, and the times of the steps ahead of them."""
    if isinstance(windows, Windows):
        _check_windows(windows, fitted, metadata)
        return _series_windows(windows, fitted, metadata)
    values, features = _split_features(windows, fitted)
    begins = _read_begins(times, len(values), metadata)
    arrived, possible = Arrived(values, features, np.full(len(values), -1, dtype=np.int64)), None
    if fitted.normalizer.slots == 1:
        arrived = replace(arrived, slots=np.zeros(len(values), dtype=np.int64))
    elif begins.own is not None:
        arrived = _at_slots(arrived, begins.own, fitted, metadata)
    elif features is not None:
        possible = _possible_positions(features[:, 0], fitted.normalizer.cycle, metadata.time_features)
        if possible is not None and (possible.sum(axis=1) == 1).all():
            arrived = replace(arrived, slots=possible.argmax(axis=1))
    times = metadata.window_times(begins.own)
    shown = None if times is None else begins.clock.wall(times[:, : metadata.lookback])
    return ReadWindows(arrived, begins.ahead, begins.clock, begins.notes, shown, possible)


def _possible_positions(features: NDArray[np.float32], cycle: Cycle, names: Sequence[str]) -> NDArray[np.bool_] | None:
    """Return where windows may begin by the time features of their first step [b, f - 1], [b, positions].

    None if the features say nothing about the position in the cycle.
    """
    slot, weekday, late = None, None, np.zeros(len(features), dtype=bool)
    if "time_of_day" in names:
        share = features[:, names.index("time_of_day")]
        slot = slot_of_share(share, cycle.slots) if cycle.slots > 1 else None
        late = (share > 0.5) & (slot_of_share(share, cycle.slots) == 0)  # nearest to midnight of the next day
    if "day_of_week" in names and cycle.weekly:
        weekday = (np.rint(7 * features[:, names.index("day_of_week")]).astype(np.int64) + late) % 7
    return None if slot is None and weekday is None else cycle.compatible(slot, weekday)


def _series_windows(windows: Windows, fitted: Fitted, metadata: TrainingMetadata) -> ReadWindows:
    """Return windows of a series, whose zone may be another than that of the training."""
    series, own = windows.series, metadata.zone
    if series.times is None or metadata.times is None:
        times = None if windows.times is None or metadata.times is None else np.array(windows.times)
        return ReadWindows(fitted.arrive(windows), times, UserClock(own, own))
    clock = UserClock(own, series.zone)
    notes = (clock.note,) if clock.note else ()
    on_own_clock = windows
    if own is not None and series.zone != own:
        on_own_clock = replace(windows, series=series.to_zone(own))
    starts, wall = np.asarray(windows.starts, dtype=np.int64), np.asarray(series.wall_times)
    shown = sliding_window_view(wall, windows.lookback)[starts]
    return ReadWindows(fitted.arrive(on_own_clock), np.array(windows.times), clock, notes, shown)


def arrive_window(window: Recent, fitted: Fitted, metadata: TrainingMetadata) -> Arrived:
    """Return one window, its position in the cycle guessed from the readings when it has no times."""
    features = None if window.features is None else window.features[None]
    arrived = Arrived(window.values[None], features, np.zeros(1, dtype=np.int64))
    if window.times is not None and fitted.normalizer.slots > 1:
        return _at_slots(arrived, window.times[:1], fitted, metadata)
    present = np.flatnonzero(~np.isnan(window.values).all(axis=0))
    return replace(arrived, slots=fitted.normalizer.guess_slots(window.values[None][:, :, present], present))


def _at_slots(arrived: Arrived, begins: NDArray[np.datetime64], fitted: Fitted, metadata: TrainingMetadata) -> Arrived:
    """Return windows that begin at times of the training's clock with their positions in the cycle."""
    cycle = fitted.normalizer.cycle
    by_step = sets_clocks(metadata.zone) or not cycle.follows_on
    times = metadata.window_times(begins) if by_step else None
    if times is None:
        return replace(arrived, slots=cycle.positions(wall_clock(begins, metadata.zone)))
    step_slots = cycle.positions(wall_clock(times, metadata.zone))
    return replace(arrived, slots=step_slots[:, 0], step_slots=step_slots)


def _check_windows(windows: Windows, fitted: Fitted, metadata: TrainingMetadata) -> None:
    if windows.lookback != fitted.lookback:
        raise InputError(
            f"windows have {windows.lookback} steps, and the wrapper was fitted with lookback {fitted.lookback}"
        )
    if windows.series.variables != metadata.variables:
        raise InputError("windows have other variables than the wrapper was fitted on: select them first")
    if windows.series.time_features != metadata.time_features:
        came, expected = list(windows.series.time_features), list(metadata.time_features)
        raise InputError(
            f"windows have the time features {came}, and the wrapper was fitted on {expected}: "
            "choose them with series.with_features(...)"
        )


def _read_begins(times: Any, count: int, metadata: TrainingMetadata) -> Begins:
    """Read when windows begin."""
    steps = metadata.steps
    if times is None:
        return Begins(None, None, UserClock(steps.zone, steps.zone))
    if np.shape(times) not in ((), (count,)):
        raise InputError(f"times must have the begin of each of the {count} windows, got shape {np.shape(times)}")
    policy = Strict("times", zone=steps.zone)
    read = read_times(times, count, policy)
    clock = UserClock(steps.zone, None if read.assumed else read.zone)
    begins, moved = read.stamps, np.zeros(count, dtype=np.int64)
    if steps.zone is None:
        begins = wall_clock(begins.view("datetime64[ns]"), read.zone).view(np.int64)
    if steps.freq is not None and count:
        snapped = steps.snap(begins)
        if snapped.off.any():
            refuse_off_step(int(begins[np.argmax(snapped.off)]), steps, "times")
        begins, moved = snapped.stamps, snapped.moved
    notes = (*policy.notes, clock.note, steps.moved_note(moved))
    own = begins.view("datetime64[ns]")
    ahead = clock.shown(metadata.steps_after(own))
    if steps.zone is None and clock.zone is not None and ahead is not None and (steps.step or DAY) <= HOUR:
        ahead = metadata.steps_after((read.stamps + moved).view("datetime64[ns]"))  # moments follow one another in UTC
    return Begins(own, ahead, clock, tuple(note for note in notes if note))


def _split_features(windows: ArrayLike, fitted: Fitted) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
    """Return readings [b, t, n] and time features [b, t, f - 1] of an array of windows."""
    if holds_truth(windows):
        raise InputError("windows must hold numbers, got True or False, which are not readings: write NaN, 0 or 1")
    try:
        array = np.asarray(windows)
    except ValueError:
        raise InputError("windows must be one array [b, t, n] or [b, t, n, f], got rows of different lengths") from None
    if array.dtype.kind not in "fiub":
        raise InputError(f"windows must be numbers, NaN where there is no reading, got values of type {array.dtype}")
    if array.ndim == 3 and fitted.n_features == 1:
        array = array[..., None]
    check_axes("windows", array, "btnf", t=fitted.lookback, n=fitted.n, f=fitted.n_features)
    array = array.astype(np.float32, copy=False)
    if np.isinf(array).any():
        raise InputError("windows holds infinities: mark missing readings as NaN")
    values = array[..., 0]
    if fitted.n_features == 1:
        return values, None
    features = array[:, :, 0, 1:]
    if np.isnan(features).any():  # the user may give them for the present variables only
        known = ~np.isnan(array[..., 1:]).all(axis=2)
        features = np.where(known, np.nanmax(np.nan_to_num(array[..., 1:], nan=-np.inf), axis=2), np.nan)
        if not known.all():
            raise InputError("windows must have its time features at every step, the same for every variable")
    return values, np.ascontiguousarray(features)
