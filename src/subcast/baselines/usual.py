"""The usual value at that time of day and class of day: as a forecast, and to fill in absent variables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subcast.baselines.base import Shape, check_train, completed
from subcast.profile import Profile
from subcast.windows import Windows


@dataclass(frozen=True, eq=False)
class UsualValue:
    """The mean of the training readings at the same time of day, and on the same class of day where days differ.

    Called with windows and S it is a forecast; with a model after it (`imputed`) it fills in the absent variables.

    Parameters
    ----------
    shape
        of the training windows
    profile
        the usual values

    Examples
    --------
    >>> from subcast.series import Series
    >>> times = np.datetime64("2024-01-01") + np.arange(240) * np.timedelta64(1, "h")
    >>> wave = np.sin(2 * np.pi * np.arange(240)[:, None] / 24 + np.arange(3))
    >>> train, _, test = Series(wave, times=times).split(lookback=6, horizon=3)
    >>> bool(np.allclose(UsualValue.fit(train)(test, np.array([1])), test.targets[:, :, [1]], atol=1e-5))
    True
    """

    shape: Shape
    profile: Profile

    @classmethod
    def fit(cls, train: Windows) -> UsualValue:
        """Compute the profile of the training readings."""
        check_train(train)
        return cls(Shape.of(train), training_profile(train))

    def __call__(self, windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
        """Forecast S: [b, h, s], raw units."""
        present = self.shape.check(windows, present)
        return self._usual(windows, windows.lookback, windows.horizon)[:, :, present]

    def complete(self, windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the windows with usual values wherever S has no reading, [b, t, n, f]."""
        present = self.shape.check(windows, present)
        return completed(windows, present, self._usual(windows, 0, windows.lookback))

    def _usual(self, windows: Windows, skip: int, length: int) -> NDArray[np.float32]:
        """Return the usual values of `length` steps of each window after the first `skip`, [b, length, n]."""
        rows = profile_rows(self.profile, windows, skip, length)
        return np.asarray(self.profile.center[rows], dtype=np.float32)


def training_profile(train: Windows) -> Profile:
    """Return the profile of the steps that the training windows cover."""
    used = slice(min(train.starts), max(train.starts) + train.lookback + train.horizon)
    times = train.series.wall_times
    return Profile.fit(train.series.values[used], None if times is None else times[used])


def profile_rows(profile: Profile, windows: Windows, skip: int, length: int) -> NDArray[np.int64]:
    """Return the rows of a profile for `length` steps of each window after the first `skip`, [b, length]."""
    steps = np.asarray(windows.starts, dtype=np.int64)[:, None] + skip + np.arange(length)
    times = windows.series.wall_times
    return profile.rows_of(None if times is None else times[steps], steps.shape)
