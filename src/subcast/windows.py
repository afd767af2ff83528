"""Windows over a series, as views, and the split into training, validation and test windows in order of time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import ceil
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from subcast.axes import check_whole
from subcast.data_protocol import DataProtocol, get_protocol
from subcast.errors import InputError
from subcast.series import Series

Index = slice | ArrayLike
_Kind = TypeVar("_Kind", bound=np.generic)
_ALL = range(-1)  # default of `starts`: every window; recognized by identity
_READINGS = np.empty((0, 0), dtype=np.float32)  # default of `target_values`: the readings; recognized by identity


class Batch(NamedTuple):
    """Windows as arrays: the inputs of a model and the targets."""

    inputs: NDArray[np.float32]  # [b, t, n, f]
    targets: NDArray[np.float32]  # [b, h, n], NaN where a target does not count


@dataclass(frozen=True, eq=False, repr=False)
class Windows:
    """Every stretch of `lookback` steps of a series with the `horizon` steps that follow.

    `readings` and `targets` are views of the series and take no memory; `batch` copies the windows asked for.
    `windows[::10]` is every tenth window.

    Parameters
    ----------
    series
        the series that the windows are cut from
    lookback, horizon
        the number of steps that a model sees, and that it forecasts
    starts
        the first step of each window, all of them by default
    target_values
        [t, n] the targets, NaN where a target does not count; the readings themselves by default (a protocol may
        use other targets)
    protocol
        the data protocol by which the windows were cut, for what is fitted on them

    Examples
    --------
    >>> import numpy as np
    >>> windows = Series(np.arange(20).reshape(10, 2)).windows(lookback=3, horizon=2)
    >>> windows
    6 windows of 3 + 2 steps over 2 variables
    >>> windows.readings[1, :, 0], windows.targets[1, :, 0]
    (array([2., 4., 6.], dtype=float32), array([ 8., 10.], dtype=float32))
    >>> windows.batch([0, 5]).inputs.shape
    (2, 3, 2, 1)
    """

    series: Series
    lookback: int
    horizon: int
    starts: range = _ALL
    target_values: NDArray[np.float32] = field(default_factory=lambda: _READINGS)
    protocol: DataProtocol = field(default_factory=lambda: get_protocol("default"))

    def __post_init__(self) -> None:
        check_whole("lookback", self.lookback)
        check_whole("horizon", self.horizon)
        most = len(self.series) - self.lookback - self.horizon + 1
        if most < 1:
            raise InputError(
                f"a window needs {self.lookback + self.horizon} steps (lookback {self.lookback} + horizon "
                f"{self.horizon}), but {self.series.name!r} has only {len(self.series)}: "
                "give more steps or a shorter window"
            )
        if self.target_values is _READINGS:
            object.__setattr__(self, "target_values", self.series.values)
        elif self.target_values.shape != self.series.values.shape:
            raise InputError(
                f"target_values must have the shape of the series, {self.series.values.shape}, "
                f"got {self.target_values.shape}"
            )
        if not isinstance(self.starts, range):
            raise InputError(f"starts must be a range, got {type(self.starts).__name__}: use batch to pick any windows")
        if self.starts is _ALL:
            object.__setattr__(self, "starts", range(most))
        elif len(self.starts) and (min(self.starts) < 0 or max(self.starts) >= most):
            raise InputError(f"starts must lie between 0 and {most - 1}, got {min(self.starts)} to {max(self.starts)}")

    def __len__(self) -> int:
        """Return the number of windows."""
        return len(self.starts)

    def __getitem__(self, which: slice) -> Windows:
        """Return the windows of a slice, such as `windows[::10]`."""
        if not isinstance(which, slice):
            raise InputError(
                f"windows are selected by a slice such as windows[::10], got {which!r}: use batch to pick others"
            )
        return replace(self, starts=self.starts[which])

    def __repr__(self) -> str:
        """Show the number of windows and their size."""
        return (
            f"{len(self):,} windows of {self.lookback} + {self.horizon} steps over {self.series.n_variables} variables"
        )

    @property
    def readings(self) -> NDArray[np.float32]:
        """The readings that a model sees, without time features: [b, t, n], a view of the series."""
        return self._view(self.series.values, 0, self.lookback)

    @property
    def targets(self) -> NDArray[np.float32]:
        """The readings to forecast, NaN where a target does not count: [b, h, n], a view."""
        return self._view(self.target_values, self.lookback, self.horizon)

    @property
    def features(self) -> NDArray[np.float32] | None:
        """The time features of the inputs, the same for every variable: [b, t, f - 1], or None."""
        features = self.series.features
        return None if features is None else self._view(features, 0, self.lookback)

    @property
    def times(self) -> NDArray[np.datetime64] | None:
        """The times of the target steps: [b, h], a view; None when the series has no times."""
        return self._ahead(self.series.times)

    @property
    def wall_times(self) -> NDArray[np.datetime64] | None:
        """What a clock in the zone of the series shows at the target steps: [b, h], a view; None without times."""
        return self._ahead(self.series.wall_times)

    def _ahead(self, times: NDArray[np.datetime64] | None) -> NDArray[np.datetime64] | None:
        return None if times is None else self._view(times[:, None], self.lookback, self.horizon)[:, :, 0]

    def _view(self, array: NDArray[_Kind], skip: int, length: int) -> NDArray[_Kind]:
        rows = sliding_window_view(array, length, axis=0)  # [start, n, length]
        if not len(self.starts):
            return rows[:0].swapaxes(1, 2)
        first, last, step = self.starts[0] + skip, self.starts[-1] + skip, self.starts.step
        starts = slice(first, last + 1, step) if step > 0 else slice(first, last - 1 if last else None, step)
        return rows[starts].swapaxes(1, 2)  # [b, length, n]

    def batch(self, which: Index = slice(None)) -> Batch:
        """Return windows, given by a slice or by their numbers, as new arrays.

        Inputs are [b, t, n, f], NaN where a reading is missing; targets are [b, h, n], NaN where a target does not
        count.
        """
        first = self._first_steps(which)[:, None]  # [b, 1]
        steps = first + np.arange(self.lookback)  # [b, t]
        inputs = np.empty((*steps.shape, self.series.n_variables, self.series.n_features), dtype=np.float32)
        inputs[..., 0] = self.series.values[steps]
        features = self.series.features
        if features is not None:
            inputs[..., 1:] = features[steps][:, :, None, :]
        return Batch(inputs, self.target_values[first + self.lookback + np.arange(self.horizon)])

    def _first_steps(self, which: Index) -> NDArray[np.int64]:
        """Return the first step of each of these windows."""
        starts = np.arange(self.starts.start, self.starts.stop, self.starts.step)
        if isinstance(which, slice):
            return starts[which]
        numbers = np.atleast_1d(np.asarray(which))
        if numbers.size == 0:
            return starts[:0]
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
            raise InputError(f"windows are selected by a slice or by whole numbers, got {which!r}")
        outside = numbers[(numbers < -len(self)) | (numbers >= len(self))]
        if outside.size:
            raise InputError(
                f"there is no window {outside[0]}: the {len(self)} windows are numbered 0 to {len(self) - 1}"
            )
        return starts[numbers]

    def batches(self, size: int = 64) -> Iterator[Batch]:
        """Yield all windows in order, in batches of `size`."""
        check_whole("size", size)
        for first in range(0, len(self), size):
            yield self.batch(slice(first, first + size))


class Split(NamedTuple):
    """Training, validation and test windows, in order of time."""

    train: Windows
    val: Windows
    test: Windows


def split_series(
    series: Series,
    lookback: int,
    horizon: int,
    *,
    shares: Sequence[float] | None = None,
    gap: int | None = None,
    protocol: str | DataProtocol = "default",
) -> Split:
    """Split a series into training, validation and test windows (see `Series.split`)."""
    rules = get_protocol(protocol)
    checked_shares = _checked_shares(rules.shares if shares is None else shares)
    if gap is not None:
        check_whole("gap", gap, low=0)
    Windows(series, lookback, horizon)  # checks lookback and horizon
    bounds = _part_bounds(len(series), lookback + horizon, checked_shares, gap, rules)
    inputs, targets = inputs_and_targets(series, rules)
    splits = (
        Windows(inputs[first:last], lookback, horizon, target_values=targets[first:last], protocol=rules)
        for first, last in bounds
    )
    return Split(*splits)


def training_steps(steps: int, lookback: int, horizon: int, protocol: str | DataProtocol = "default") -> int:
    """Return how many of the steps of a series belong to the training part when it is split.

    >>> training_steps(1000, 12, 12)
    668
    """
    rules = get_protocol(protocol)
    return _part_bounds(steps, lookback + horizon, rules.shares, None, rules)[0][1]


def _part_bounds(
    steps: int, window: int, shares: tuple[float, float, float], gap: int | None, rules: DataProtocol
) -> list[tuple[int, int]]:
    """Return the first step of each part and the one after its last; raise if a part is shorter than a window."""
    if rules.windows_first:
        if gap is not None:
            raise InputError(
                f"gap={gap} cannot be used with protocol {rules.name!r}, whose parts overlap at their edges: "
                "leave it out"
            )
        bounds = _bounds_of_windows(steps - window + 1, shares, window)
    else:
        bounds = _bounds_of_steps(steps, shares, window, gap)
    for name, (first, last) in zip(("training", "validation", "test"), bounds, strict=True):
        if last - first < window:
            raise InputError(
                f"the {name} part would have {max(last - first, 0)} of the {steps} steps, fewer than one window "
                f"of {window}: give a longer series (about {_steps_needed(shares, window, gap)} steps), "
                "a shorter window or other shares"
            )
    return bounds


def _checked_shares(shares: Sequence[float]) -> tuple[float, float, float]:
    try:
        train, val, test = (float(share) for share in shares)
    except (TypeError, ValueError):
        raise InputError(f"shares must be three positive numbers that add up to 1, got {shares!r}") from None
    if min(train, val, test) <= 0 or abs(train + val + test - 1) > 1e-6:
        raise InputError(f"shares must be three positive numbers that add up to 1, got {shares!r}")
    return train, val, test


def inputs_and_targets(series: Series, rules: DataProtocol) -> tuple[Series, NDArray[np.float32]]:
    """Return inputs and targets under a protocol; each is a copy only where it differs from the readings."""
    inputs, targets = series, series.values
    if rules.missing_code_in_inputs and series.missing_code is not None:
        inputs = series.filled(series.missing_code)
    if rules.zeros_missing_in_targets and (targets == 0).any():
        targets = np.where(targets == 0, np.float32(np.nan), targets)
    return inputs, targets


def _steps_needed(shares: tuple[float, float, float], window: int, gap: int | None) -> int:
    """Return about how many steps give each part one window."""
    return ceil(window / min(shares)) + 2 * (window - 1 if gap is None else gap)


def _bounds_of_windows(n: int, shares: tuple[float, float, float], window: int) -> list[tuple[int, int]]:
    """Return the first and last step of each part when n windows are divided; parts share up to window - 1 steps."""
    train, test = round(n * shares[0]), round(n * shares[2])
    cuts = (0, train, n - test, n)
    return [(first, last + window - 1) for first, last in pairwise(cuts)]


def _bounds_of_steps(
    steps: int, shares: tuple[float, float, float], window: int, gap: int | None
) -> list[tuple[int, int]]:
    """Return the first and last step of each part when the steps are divided, with a gap between the parts."""
    gap = window - 1 if gap is None else gap
    used = steps - 2 * gap
    train, test = round(used * shares[0]), round(used * shares[2])
    return [(0, train), (train + gap, steps - test - gap), (steps - test, steps)]
