"""Forecast: the result of a wrapped forecaster, with prediction intervals and the neighbors that were used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subcast.errors import InputError
from subcast.names import csv_quoting, plural, spreadsheet_name
from subcast.storage.files import whole_file
from subcast.tables.rates import time_texts
from subcast.tables.zones import time_index, wall_clock

if TYPE_CHECKING:
    import pandas as pd

QUALITIES = ("full", "good", "fair", "poor")
"""The quality of a forecast in one word, from the best ("full": all variables present) to the worst."""

_ROWS_SHOWN = 8


@dataclass(frozen=True, eq=False)
class KnownPaths:
    """Paths that are computed already."""

    values: NDArray[np.float32]

    def __call__(self) -> NDArray[np.float32]:
        """Return them."""
        return self.values


@dataclass(frozen=True)
class Trust:
    """How far the forecast of one window of a batch can be trusted.

    Parameters
    ----------
    quality, expected_gap, notes
        as in `Forecast`
    """

    quality: str
    expected_gap: float | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Forecast:
    """The forecast of one window, or of a batch of windows with the same variables present.

    A batch has one more axis, `b`, in front; `forecast[3]` is the forecast of its window 3.

    Parameters
    ----------
    variables
        names of the s variables that are forecast: those present and, if requested, absent ones
    mean
        [h, s], or [b, h, s] for a batch
    levels
        levels of the prediction intervals, such as (0.9,); empty without intervals
    bounds
        [l, 2, h, s] or [l, 2, b, h, s], lower and upper bound at each level, in the order of `levels`
    observed
        [s] or [b, s], the share of each variable's readings in the window that are not missing
    observed_share
        the share of all readings in the window that are not missing, a number or [b]
    times
        [h] or [b, h] times of the steps ahead; None if the series has no times
    neighbor_index
        [k] or [b, k], the training step at which each neighbor starts; -1 for no neighbor
    neighbor_distance
        [k] or [b, k], the distance of each neighbor
    weights
        [k] or [b, k], the weight of each neighbor; they sum to 1
    neighbor_times
        [k] or [b, k], the time of each neighbor's last step
    quality
        the quality in one word, for dashboards: "full" (all variables present), "good" (the expected gap is at most
        2 %), "fair" (at most 10 %) or "poor"; a window unlike those that the wrapper was tested on, fewer readings than
        it was tested with, or a model that is worse than none make it worse, and notes or `quality_words` say so
    expected_gap
        by how many percent the error exceeds that with all variables, measured on validation windows; None if unknown
    history, history_times
        [t, s] and [t], the readings of the window and their times (one window only)
    paths
        a function that returns [k, t + h, s], the neighbors' past and future (one window only)
    freq, unit
        the time between steps, and the unit of the readings
    zone
        the zone in which the user gave times: all times are in UTC then, and the tables show them in the zone; None for
        times without a zone
    notes
        what a user should know about this forecast and the readings behind it, a sentence each: readings that were not
        used, times that were moved, what the zone of the times was taken to be, why the quality is low
    window_notes
        of a batch: notes about the readings of single windows, by the number of the window; the last of `notes` sums
        them up
    reference
        the forecast to which the error is compared if it is not that of the model with all variables
    trust
        the quality, the expected gap and the notes of each window of a batch; those of the batch if empty

    Examples
    --------
    >>> forecast = Forecast(
    ...     variables=("inflow",), mean=np.array([[1.0], [2.0]]), levels=(0.9,), bounds=np.array([[[[0.5], [1.0]], [[1.5], [3.0]]]]),
    ...     observed=np.array([1.0]), observed_share=0.25, times=None, neighbor_index=np.array([40, 7]),
    ...     neighbor_distance=np.array([0.1, 0.3]), weights=np.array([0.75, 0.25]), neighbor_times=None,
    ...     quality="good", expected_gap=2.1)
    >>> forecast
    Forecast of 1 variable, 2 steps ahead
      quality good: error about 2.1 % above that with all variables, 25 % of the window observed
      intervals at 90 %, 2 neighbors
    >>> forecast.frame
      variable  step  mean  lower  upper  observed
    0   inflow     1   1.0    0.5    1.5      True
    1   inflow     2   2.0    1.0    3.0      True
    >>> forecast.neighbors
       rank  start  distance  weight
    0     1     40       0.1    0.75
    1     2      7       0.3    0.25
    """  # noqa: E501

    variables: tuple[str, ...]
    mean: NDArray[np.float32]
    levels: tuple[float, ...]
    bounds: NDArray[np.float32] | None
    observed: NDArray[np.float32]
    observed_share: float | NDArray[np.floating[Any]]
    times: NDArray[np.datetime64] | None
    neighbor_index: NDArray[np.int64]
    neighbor_distance: NDArray[np.float32]
    weights: NDArray[np.float32]
    neighbor_times: NDArray[np.datetime64] | None
    quality: str
    expected_gap: float | None
    history: NDArray[np.float32] | None = None
    history_times: NDArray[np.datetime64] | None = None
    paths: Callable[[], NDArray[np.float32]] | None = None
    freq: str | None = None
    unit: str = ""
    notes: tuple[str, ...] = ()
    window_notes: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    zone: str | None = None
    reference: str = ""
    trust: tuple[Trust, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        """Take the neighbors' paths along as an array, not what computes them (which holds the whole bank)."""
        paths = None if self.paths is None else KnownPaths(self.paths())
        return {**self.__dict__, "paths": paths}

    def __post_init__(self) -> None:
        if self.mean.ndim not in (2, 3):
            raise InputError(f"mean must be [h, s], or [b, h, s] for a batch, got shape {self.mean.shape}")
        *batch, h, s = self.mean.shape
        k = self.neighbor_index.shape[-1] if self.neighbor_index.ndim else 0
        levels = len(self.levels)
        if (self.bounds is None) != (levels == 0):
            raise InputError("levels and bounds must be given together: give both, or neither")
        _check_shape("variables", np.empty(len(self.variables)), (s,))
        _check_shape("bounds", self.bounds, (levels, 2, *batch, h, s))
        _check_shape("observed", self.observed, (*batch, s))
        _check_shape("observed_share", np.asarray(self.observed_share), tuple(batch))
        _check_shape("times", self.times, (*batch, h))
        _check_shape("neighbor_index", self.neighbor_index, (*batch, k))
        _check_shape("neighbor_distance", self.neighbor_distance, (*batch, k))
        _check_shape("weights", self.weights, (*batch, k))
        _check_shape("neighbor_times", self.neighbor_times, (*batch, k))
        if self.quality not in QUALITIES:
            raise InputError(f"quality must be one of {', '.join(QUALITIES)}, got {self.quality!r}")
        if self.trust:
            _check_shape("trust", np.empty(len(self.trust)), tuple(batch))
        if self.history is not None:
            self._check_history(self.history, s)

    def _check_history(self, history: NDArray[np.float32], s: int) -> None:
        if self.is_batch:
            raise InputError("history can only be given for the forecast of one window, and this is a batch")
        _check_shape("history", history, (len(history), s))
        _check_shape("history_times", self.history_times, (len(history),))

    # Shape

    @property
    def is_batch(self) -> bool:
        """Whether this is the forecast of several windows."""
        return self.mean.ndim == 3

    @property
    def is_complete(self) -> bool:
        """Whether no reading is missing, so that this is the model's own forecast."""
        return bool(np.all(np.asarray(self.observed_share) == 1))

    @property
    def horizon(self) -> int:
        """The number of steps ahead."""
        return self.mean.shape[-2]

    def __getitem__(self, window: int) -> Forecast:
        """Return the forecast of one window of a batch."""
        if not self.is_batch:
            raise InputError("only the forecast of a batch can be indexed, and this is the forecast of one window")
        b = self.mean.shape[0]
        if isinstance(window, bool) or not isinstance(window, int | np.integer) or not -b <= window < b:
            raise InputError(f"the index of a window must be a whole number from 0 to {b - 1}, got {window!r}")
        trust = self.trust[window] if self.trust else Trust(self.quality, self.expected_gap, self.notes)
        return replace(
            self,
            mean=self.mean[window],
            bounds=None if self.bounds is None else self.bounds[:, :, window],
            observed=self.observed[window],
            observed_share=float(np.asarray(self.observed_share)[window]),
            times=None if self.times is None else self.times[window],
            neighbor_index=self.neighbor_index[window],
            neighbor_distance=self.neighbor_distance[window],
            weights=self.weights[window],
            neighbor_times=None if self.neighbor_times is None else self.neighbor_times[window],
            paths=None,
            quality=trust.quality,
            expected_gap=trust.expected_gap,
            notes=self._notes_of(int(window) % b),
            window_notes={},
            trust=(),
        )

    def _notes_of(self, window: int) -> tuple[str, ...]:
        own = self.window_notes.get(window, ())
        if self.trust:
            return (*own, *self.trust[window].notes)
        return (*self.notes[:-1], *own) if self.window_notes else self.notes

    def __iter__(self) -> Iterator[Forecast]:
        """Iterate over the forecasts of the windows of a batch."""
        return (self[window] for window in range(self.mean.shape[0] if self.is_batch else 1))

    @property
    def quality_words(self) -> str:
        """The expected quality in words."""
        words, gap = f"quality {self.quality}", self.expected_gap
        if self.quality == "full":
            return f"{words}: all variables present"
        if gap is None or not np.isfinite(gap):
            return words
        size = f"{abs(gap):.1f} % {'above' if gap > 0 else 'below'} that" if abs(gap) >= 0.05 else "the same as"
        if self.reference:
            return f"{words}: error about {size.replace('as', 'as that')} of {self.reference}, which beats the model"
        return f"{words}: error about {size} with all variables"

    # Intervals

    @property
    def lower(self) -> NDArray[np.float32]:
        """The lower bound at the highest level, the widest interval, with the shape of `mean`."""
        return self._bounds_of(self._widest)[0]

    @property
    def upper(self) -> NDArray[np.float32]:
        """The upper bound at the highest level, the widest interval, with the shape of `mean`."""
        return self._bounds_of(self._widest)[1]

    @property
    def _widest(self) -> int:
        return int(np.argmax(self.levels)) if self.levels else 0

    def interval(self, level: float) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the lower and the upper bound at a level, each with the shape of `mean`."""
        matches = np.flatnonzero(np.isclose(self.levels, level)) if self.levels else np.zeros(0, np.int64)
        if self.levels and not matches.size:
            known = ", ".join(f"{known:g}" for known in self.levels)
            raise InputError(f"level must be one of the levels of this forecast ({known}), got {level!r}")
        lower, upper = self._bounds_of(int(matches[0]) if matches.size else 0)
        return lower, upper

    def _bounds_of(self, number: int) -> NDArray[np.float32]:
        if self.bounds is None:
            raise InputError(
                "this forecast has no intervals: fit with validation windows (val=) and forecast with levels="
            )
        return self.bounds[number]

    # Tables

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The forecast as a long table: variable, time, step, mean, lower, upper, observed.

        A batch has the column `window` first. `lower` and `upper` are the bounds at the highest level; with several
        levels there are also columns such as `lower_50` and `upper_50`. There are no bounds without intervals, and no
        time without times. `observed` is whether the variable had a reading in the window. If the
        forecast has notes, the last column, `note`, has them in each row.
        """
        import pandas as pd

        b, h, s = self._mean_of_batch.shape
        columns: dict[str, Any] = {}
        if self.is_batch:
            columns["window"] = np.repeat(np.arange(b), s * h)
        columns["variable"] = np.tile(np.repeat(np.array(self.variables, dtype=object), h), b)
        if self.times is not None:
            times = np.broadcast_to(self.times.reshape(b, 1, h), (b, s, h)).ravel()
            columns["time"] = times if self.zone is None else time_index(times, self.zone)
        columns["step"] = np.tile(np.arange(1, h + 1), b * s)
        columns["mean"] = _variable_major(self.mean)
        if self.bounds is not None:
            columns["lower"], columns["upper"] = _variable_major(self.lower), _variable_major(self.upper)
            for level, (lower, upper) in zip(self.levels, self.bounds, strict=True) if len(self.levels) > 1 else ():
                columns[f"lower_{_percent(level)}"] = _variable_major(lower)
                columns[f"upper_{_percent(level)}"] = _variable_major(upper)
        columns["observed"] = np.repeat(self.observed.ravel() > 0, h)
        if self.notes:
            notes = ["; ".join(self._notes_of(window)) for window in range(b)]
            columns["note"] = np.repeat(np.array(notes, dtype=object), s * h)
        return pd.DataFrame(columns)

    @property
    def wide(self) -> pd.DataFrame:
        """The mean as a table with one row per step and one column per variable (one window only)."""
        import pandas as pd

        self._refuse_batch("wide")
        index: Any = (
            pd.RangeIndex(1, self.horizon + 1, name="step") if self.times is None else time_index(self.times, self.zone)
        )
        return pd.DataFrame(self.mean, index=index, columns=list(self.variables), copy=True)

    @cached_property
    def neighbors(self) -> pd.DataFrame:
        """The past windows that were used, nearest first: rank, start, end, distance, weight.

        `start` is the index of the neighbor's first step in the training series. `end` is the time of its last step,
        if the training series has times. A batch has the column `window` first.
        """
        import pandas as pd

        index = np.atleast_2d(self.neighbor_index)  # [b, k]
        window, rank = np.nonzero(index >= 0)
        columns: dict[str, Any] = {"window": window} if self.is_batch else {}
        columns |= {"rank": rank + 1, "start": index[window, rank]}
        if self.neighbor_times is not None:
            ends = np.atleast_2d(self.neighbor_times)[window, rank]
            columns["end"] = ends if self.zone is None else time_index(ends, self.zone)
        columns["distance"] = np.atleast_2d(self.neighbor_distance)[window, rank]
        columns["weight"] = np.atleast_2d(self.weights)[window, rank]
        return pd.DataFrame(columns)

    def to_csv(self, path: str | Path) -> None:
        """Write `frame` to a .csv file; the file is complete or not written at all."""
        with whole_file(path, (".csv",)) as temporary:
            frame = self.frame
            frame = frame.assign(variable=frame["variable"].map(spreadsheet_name))
            frame.to_csv(temporary, index=False, quoting=csv_quoting(self.variables))

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain values for JSON: nested lists, times as text, and None for NaN or infinity."""
        return {
            "variables": list(self.variables),
            "times": _texts(self.times, self.zone),
            "mean": _plain(self.mean),
            "intervals": [
                {"level": float(level), "lower": _plain(lower), "upper": _plain(upper)}
                for level, (lower, upper) in zip(self.levels, () if self.bounds is None else self.bounds, strict=True)
            ],
            "observed": _plain(self.observed),
            "observed_share": _plain(self.observed_share),
            "quality": self.quality,
            "expected_gap": None if self.expected_gap is None else _plain(self.expected_gap),
            "reference": self.reference or None,
            "neighbors": {
                "start": self.neighbor_index.tolist(),
                "end": _texts(self.neighbor_times, self.zone),
                "distance": _plain(self.neighbor_distance),
                "weight": _plain(self.weights),
            },
            "freq": self.freq,
            "unit": self.unit,
            "zone": self.zone,
            "notes": list(self.notes),
        }

    # Display

    def plot(self, variables: ArrayLike | list[str] | None = None, path: str | Path | None = None) -> Any:
        """Plot readings, forecast, intervals and neighbors of variables (one window only).

        Parameters
        ----------
        variables
            names, indices or a boolean mask of the variables; by default up to four, spread evenly, of which at
            most half have no readings
        path
            a .png, .pdf or .svg file to which the plot is also written

        Returns
        -------
        matplotlib.figure.Figure
        """
        from subcast.plots import plot_forecast, save_figure

        figure = plot_forecast(self, variables)
        if path is not None:
            save_figure(figure, path)
        return figure

    def __repr__(self) -> str:
        """Describe the forecast: its size, its quality, its intervals and neighbors, and its notes."""
        notes = [f"note: {note}" for note in self.notes]
        return "\n  ".join([self._shape_line(), self._quality_line(), self._interval_line(), *notes])

    def _repr_html_(self) -> str:
        """Describe the forecast and show the first rows of `frame`, in notebooks."""
        head, *rest = (escape(line.strip()) for line in repr(self).splitlines())
        rows = self.frame
        more = f"<p>{len(rows) - _ROWS_SHOWN:,} more rows in <code>.frame</code></p>" if len(rows) > _ROWS_SHOWN else ""
        table = rows.head(_ROWS_SHOWN).to_html(index=False, border=0, float_format="{:.4g}".format)
        return f"<div><p><b>{head}</b><br>{'<br>'.join(rest)}</p>{table}{more}</div>"

    def _shape_line(self) -> str:
        line = f"Forecast of {plural(len(self.variables), 'variable')}, {plural(self.horizon, 'step')} ahead"
        if self.freq:
            line += f" of {self.freq}"
        if self.is_batch:
            return f"{line}, for {plural(self.mean.shape[0], 'window')}"
        if self.times is not None and self.times.size:
            first, last = (_text(time) for time in wall_clock(self.times[[0, -1]], self.zone))
            line += f": {first} to {last}" + (f" ({self.zone})" if self.zone else "")
        return line

    def _quality_line(self) -> str:
        words = self.quality_words
        share = np.asarray(self.observed_share, dtype=np.float64)
        if not share.size:
            return words
        low, high = float(share.min()), float(share.max())
        limits = dict.fromkeys((f"{100 * low:.0f}", f"{100 * high:.0f}"))  # one number if both are equal
        return f"{words}, {' to '.join(limits)} % of the window observed"

    def _interval_line(self) -> str:
        levels = " and ".join(f"{_percent(level)} %" for level in self.levels)
        line = f"intervals at {levels}" if levels else "no intervals"
        if self.is_batch:
            return line
        exists = self.neighbor_index >= 0
        if not exists.any():
            return f"{line}, no neighbors"
        if self.is_complete:  # they are searched for the intervals, and the forecast is the model's own
            count = plural(int(exists.sum()), "neighbor")
            return f"the model's own forecast, {line}" + (f" as wide as {count} suggest" if levels else "")
        line += f", {plural(int(exists.sum()), 'neighbor')}"
        if self.neighbor_times is not None:
            heaviest = int(np.argmax(np.where(exists, self.weights, -1)))
            end = _text(wall_clock(self.neighbor_times[[heaviest]], self.zone)[0])
            weight = 100 * self.weights[heaviest]
            line += f", the one with the largest weight ({weight:.0f} %) ends {end}"
        return line

    @property
    def _mean_of_batch(self) -> NDArray[np.float32]:
        return self.mean if self.is_batch else self.mean[None]

    def _refuse_batch(self, name: str) -> None:
        if self.is_batch:
            raise InputError(
                f"{name} shows one window, and this forecast has {self.mean.shape[0]}: select one, as in forecast[0]"
            )


def _check_shape(name: str, array: NDArray[Any] | None, expected: tuple[int, ...]) -> None:
    if array is not None and array.shape != expected:
        raise InputError(f"{name} of a forecast must have shape {expected}, got {array.shape}")


def _variable_major(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Flatten [(b,) h, s] with all steps of a variable together."""
    return np.swapaxes(values, -1, -2).ravel()


def _percent(level: float) -> str:
    return f"{100 * level:g}"


def _plain(values: Any) -> Any:
    numbers = np.asarray(values)
    finite = np.isfinite(numbers)
    if not finite.all():
        numbers = numbers.astype(object)
        numbers[~finite] = None
    return numbers.tolist()


def _texts(times: NDArray[np.datetime64] | None, zone: str | None) -> Any:
    return None if times is None else np.array(time_texts(times.ravel(), zone), object).reshape(times.shape).tolist()


def _text(time: np.datetime64) -> str:
    return str(time.astype("datetime64[m]")).replace("T", " ")
