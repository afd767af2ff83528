"""The windows that a forecast is made from, as they arrived."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.calendar import slot_of_day
from subcast.windows import Windows


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
