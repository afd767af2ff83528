"""The windows that a forecast is made from, as they arrived."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subcast.axes import check_axes
from subcast.calendar import slot_of_day, slot_of_share
from subcast.errors import InputError
from subcast.tables.live import Recent
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
        [b], the slot of the day of each window's first step; -1 where it is unknown
    consecutive
        whether each window begins one step after the one before
    """

    values: NDArray[np.float32]
    features: NDArray[np.float32] | None
    slots: NDArray[np.int64]
    consecutive: bool = False

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, which: Any) -> Arrived:
        """Return the windows selected by a slice or by an array of their numbers."""
        features = None if self.features is None else self.features[which]
        consecutive = self.consecutive and isinstance(which, slice) and which.step in (None, 1)
        return replace(
            self, values=self.values[which], features=features, slots=self.slots[which], consecutive=consecutive
        )

    @classmethod
    def of(cls, windows: Windows, slots_a_day: int) -> Arrived:
        """Return the windows of a series, as views."""
        times = windows.series.times
        if slots_a_day == 1:
            slots = np.zeros(len(windows), dtype=np.int64)
        elif times is None:
            slots = np.full(len(windows), -1, dtype=np.int64)  # not known
        else:
            slots = slot_of_day(times, slots_a_day)[np.asarray(windows.starts, dtype=np.int64)]
        known = slots_a_day == 1 or times is not None  # guessed times of day may jump from one window to the next
        return cls(windows.readings, windows.features, slots, windows.starts.step == 1 and known)


Begins = NDArray[np.datetime64] | None
"""[b], the time at which each window begins; None if it is unknown."""


def read_windows(
    windows: Windows | ArrayLike, times: ArrayLike | None, fitted: Fitted, metadata: TrainingMetadata
) -> tuple[Arrived, Begins]:
    """Return the windows of a series or of an array, and the time at which each begins.

    Slots of the day are -1 where the time of day is unknown.
    """
    if isinstance(windows, Windows):
        _check_windows(windows, fitted, metadata)
        moments = windows.series.times
        begins = None if moments is None else moments[np.asarray(windows.starts, dtype=np.int64)]
        return fitted.arrive(windows), begins
    values, features = _split_features(windows, fitted)
    begins = _read_times(times, len(values))
    slots = np.full(len(values), -1, dtype=np.int64)
    if fitted.normalizer.slots == 1:
        slots[:] = 0
    elif begins is not None:
        slots = slot_of_day(begins, fitted.normalizer.slots)
    elif features is not None and "time_of_day" in metadata.time_features:
        share = features[:, 0, metadata.time_features.index("time_of_day")]
        slots = slot_of_share(share, fitted.normalizer.slots)
    return Arrived(values, features, slots), begins


def window_slots(window: Recent, fitted: Fitted) -> NDArray[np.int64]:
    """Return the slot of the day at which a window begins, [1], guessed from the readings when it has no times."""
    if window.times is not None and fitted.normalizer.slots > 1:
        return slot_of_day(window.times[:1], fitted.normalizer.slots)
    present = np.flatnonzero(~np.isnan(window.values).all(axis=0))
    return fitted.normalizer.guess_slots(window.values[None][:, :, present], present)


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


def _read_times(times: ArrayLike | None, count: int) -> Begins:
    if times is None:
        return None
    try:
        begins: NDArray[np.datetime64] = np.asarray(times, dtype="datetime64[ns]")
    except (TypeError, ValueError):
        raise InputError(f"times must be moments such as '2024-01-01 12:00', got {times!r}") from None
    if begins.shape != (count,):
        raise InputError(f"times must have the begin of each of the {count} windows, got shape {begins.shape}")
    return begins


def _split_features(windows: ArrayLike, fitted: Fitted) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
    """Return readings [b, t, n] and time features [b, t, f - 1] of an array of windows."""
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
