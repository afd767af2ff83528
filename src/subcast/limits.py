"""Limits: which readings of a variable are possible at all, with the quality codes of QARTOD.

Each variable has a range, a largest change from one step to the next, and a longest gap; `learn_limits` in
`subcast.limits_learning` finds them. A reading is beyond the limits if it is outside of the range, if it is a usual
code for a missing reading (-999) that training never came near, or if it cannot be reached from the readings around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subcast.errors import InputError
from subcast.names import plural
from subcast.storage import fields
from subcast.storage.state import State
from subcast.tables.rates import moment_text

if TYPE_CHECKING:
    import pandas as pd

GOOD, NOT_EVALUATED, SUSPECT, BAD, MISSING = 1, 2, 3, 4, 9
"""The codes of QARTOD: good, not evaluated, suspect, bad, missing."""

CAUSES = ("", "low", "high", "code", "change")
"""Why a reading is beyond the limits, by its number in `Limits.causes`; 0 is none."""

_LOW, _HIGH, _CODE, _CHANGE = 1, 2, 3, 4
_QARTOD = np.array([GOOD, BAD, BAD, BAD, SUSPECT], dtype=np.uint8)  # by cause
_FLOATS = ("low", "high", "change", "seen_low", "seen_high")
_MISSING_CODES = np.unique(
    np.array(
        [
            *(sign * (10.0**digits - 1) for digits in range(3, 10) for sign in (-1, 1)),
            *(-99.0, -99.9, -999.9, 999.9, -9999.9, 9999.9, -8888, 8888, 88888, -7777, 6999, 7999),
            *(32767, -32767, -32768, 65535, 2147483647, -2147483648, 4294967295),
            *(1e20, -1e20, 1e30, -1e30, 9.96921e36, 3.4028235e38, -3.4028235e38),
        ],
        dtype=np.float32,
    )
)
_AWAY = 1.0  # of the training range: a code for a missing reading is this far outside of it, or negative where none was
_PIECE = 256  # steps in which changes are judged together
_SEVERAL = 3  # variables: if most of at least so many change at once, it is an event
_NOTES_SHOWN = 5


class Screened(NamedTuple):
    """Readings without those beyond the limits.

    Attributes
    ----------
    values
        the readings, NaN where one is beyond the limits; the very array that was given if none is
    causes
        why each reading is beyond the limits, numbers of `CAUSES`; None if none is
    """

    values: NDArray[np.float32]
    causes: NDArray[np.uint8] | None


@dataclass(frozen=True, eq=False, repr=False)
class Limits:
    """The limits of n variables, in their raw units.

    Parameters
    ----------
    variables
        names
    low, high
        [n], the lowest and the highest possible reading; infinite where there is no limit
    change
        [n], the largest possible change from one step to the next; infinite where there is no limit
    gap
        [n], the largest number of missing steps between two readings in training
    seen_low, seen_high
        [n], the lowest and the highest reading of the training; NaN if there was none

    Examples
    --------
    >>> one = np.ones(1)
    >>> limits = Limits(("outside",), -30 * one, 50 * one, 10 * one, 0 * one, -12 * one, 35 * one)
    >>> limits
    Limits of 1 variable
      outside: -30 to 50, changes up to 10 a step, gaps up to 0 steps (training: -12 to 35)
    >>> limits.codes(np.array([[20.0], [999999.0], [np.nan], [21.0], [22.0], [49.0]]))[:, 0]
    array([1, 4, 9, 1, 1, 3], dtype=uint8)
    >>> limits.with_range("outside", high=45).codes(np.array([[49.0]]))
    array([[4]], dtype=uint8)
    """

    variables: tuple[str, ...]
    low: NDArray[np.float32]
    high: NDArray[np.float32]
    change: NDArray[np.float32]
    gap: NDArray[np.int64]
    seen_low: NDArray[np.float32]
    seen_high: NDArray[np.float32]

    def __post_init__(self) -> None:
        for name in (*_FLOATS, "gap"):
            array = np.asarray(getattr(self, name)).astype(np.int64 if name == "gap" else np.float32)
            if array.shape != (len(self.variables),):
                raise InputError(
                    f"{name} must have one number for each of the {plural(len(self.variables), 'variable')}, "
                    f"got shape {array.shape}"
                )
            object.__setattr__(self, name, array)
        self._refuse_impossible()

    def _refuse_impossible(self) -> None:
        wrong = ~(self.low <= self.high)  # NaN too
        if wrong.any():
            place = int(np.argmax(wrong))
            raise InputError(
                f"low must not be above high, got {self.low[place]:g} and {self.high[place]:g} for "
                f"{self.variables[place]!r}"
            )
        if not (self.change >= 0).all() or (self.gap < 0).any():
            raise InputError("change and gap must be numbers of at least 0: give infinity for no limit of change")

    # Screening

    @cached_property
    def _surely_possible(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Readings between these need no further check, except for changes."""
        return np.fmax(self.low, self.seen_low), np.fmin(self.high, self.seen_high)

    def screen(self, values: NDArray[np.float32]) -> Screened:
        """Replace readings [..., t, n] that are beyond the limits by NaN; t are consecutive steps."""
        if not values.size:
            return Screened(values, None)
        least, most = np.fmin.reduce(values, axis=-2), np.fmax.reduce(values, axis=-2)  # [..., n]
        low, high = self._surely_possible
        if not ((least < low) | (most > high) | (most - least > self.change)).any():
            return Screened(values, None)
        causes = self.causes(values)
        beyond = causes > 0
        if not beyond.any():
            return Screened(values, None)
        return Screened(np.where(beyond, np.float32(np.nan), values), causes)

    def causes(self, values: NDArray[np.floating[Any]]) -> NDArray[np.uint8]:
        """Return why readings [..., t, n] are beyond the limits, [..., t, n]: a number of `CAUSES`, 0 if they are not.

        Of readings that cannot follow one another, those are beyond the limits that are not in the largest set of
        readings that can; of two such sets, the one with the newer readings counts. If that holds for most of at least
        three variables at the same step, it is an event and not a fault, and no reading of the step is beyond the limit
        of change. Steps of more than 256 are judged in pieces of 256.
        """
        readings = np.asarray(values, dtype=np.float32)
        causes = np.zeros(readings.shape, dtype=np.uint8)
        if not readings.size:
            return causes
        away = _AWAY * (self.seen_high - self.seen_low)
        never_negative = np.where(self.seen_low >= 0, np.float32(0), np.float32(-np.inf))
        least = np.fmax(self.seen_low - away, never_negative)
        outside = (readings < least) | (readings > self.seen_high + away)
        if outside.any():
            causes[outside & is_missing_code(readings)] = _CODE
        causes[readings < self.low] = _LOW
        causes[readings > self.high] = _HIGH
        possible = np.where(causes > 0, np.float32(np.nan), readings).reshape(-1, *readings.shape[-2:])
        judged = causes.reshape(possible.shape)
        for first in range(0, possible.shape[1], _PIECE):
            self._judge_changes(possible[:, first : first + _PIECE], judged[:, first : first + _PIECE])
        return causes

    def _judge_changes(self, readings: NDArray[np.float32], causes: NDArray[np.uint8]) -> None:
        """Write into `causes` which readings [b, t, n] cannot be reached from those around them."""
        span = np.fmax.reduce(readings, axis=1) - np.fmin.reduce(readings, axis=1)  # [b, n]
        windows, variables = np.nonzero(span > self.change)  # [w] each: where a change may be too large
        if windows.size:
            jumps = _has_jump(readings[windows, :, variables], self.change[variables])
            windows, variables = windows[jumps], variables[jumps]
        if windows.size:
            unreachable = _unreachable(readings[windows, :, variables], self.change[variables])  # [w, t]
            window, step = np.nonzero(unreachable)
            causes[windows[window], step, variables[window]] = _CHANGE
            changed = causes == _CHANGE
            readings_at = np.count_nonzero(~np.isnan(readings), axis=2)  # [b, t]
            event = (readings_at >= _SEVERAL) & (2 * np.count_nonzero(changed, axis=2) > readings_at)
            causes[changed & event[:, :, None]] = 0

    def codes(self, values: ArrayLike) -> NDArray[np.uint8]:
        """Return the QARTOD code of each reading [..., t, n].

        1 good, 2 not evaluated (the variable has no limits), 3 suspect (rate of change), 4 bad (gross range),
        9 missing.
        """
        readings = np.asarray(values, dtype=np.float32)
        if readings.ndim < 2 or readings.shape[-1] != len(self.variables):
            raise InputError(
                f"values must be [t, n] or [b, t, n] with {plural(len(self.variables), 'variable')}, "
                f"got shape {readings.shape}"
            )
        codes = _QARTOD[self.causes(readings)]
        unlimited = np.isinf(self.low) & np.isinf(self.high) & np.isinf(self.change)
        codes[(codes == GOOD) & unlimited] = NOT_EVALUATED
        codes[np.isnan(readings)] = MISSING
        return codes

    def gap_codes(self, steps: ArrayLike) -> NDArray[np.uint8]:
        """Return the QARTOD code of the time-gap test for variables without a reading in the last `steps` [n] steps."""
        silent = np.broadcast_to(np.asarray(steps), (len(self.variables),))
        return np.where(silent > self.gap, BAD, GOOD).astype(np.uint8)

    # Changing

    def with_range(self, name: str, *, low: float | None = None, high: float | None = None) -> Limits:
        """Return the same limits with another range of one variable; None keeps a bound, infinity removes it."""
        place, lows, highs = self._place(name), self.low.copy(), self.high.copy()
        if low is not None:
            lows[place] = _checked_number(f"low of {name!r}", low)
        if high is not None:
            highs[place] = _checked_number(f"high of {name!r}", high)
        return replace(self, low=lows, high=highs)

    def with_change(self, name: str, largest: float) -> Limits:
        """Return the same limits with another largest change of one variable; infinity removes the limit."""
        change = self.change.copy()
        change[self._place(name)] = _checked_number(f"largest change of {name!r}", largest)
        return replace(self, change=change)

    def without(self, *names: str) -> Limits:
        """Return the same limits with none at all for some variables."""
        low, high, change = self.low.copy(), self.high.copy(), self.change.copy()
        seen_low, seen_high = self.seen_low.copy(), self.seen_high.copy()
        for place in map(self._place, names):
            low[place], high[place], change[place] = -np.inf, np.inf, np.inf
            seen_low[place], seen_high[place] = np.nan, np.nan  # so that codes for missing readings pass too
        return replace(self, low=low, high=high, change=change, seen_low=seen_low, seen_high=seen_high)

    def with_ranges(self, ranges: Mapping[str, Sequence[float | None]]) -> Limits:
        """Return the same limits with other ranges (low, high) of some variables."""
        changed = self
        for name, bounds in ranges.items():
            low, high = bounds
            changed = changed.with_range(name, low=low, high=high)
        return changed

    def select(self, places: NDArray[np.int64]) -> Limits:
        """Return the limits of some of the variables, by their numbers."""
        arrays = {name: getattr(self, name)[places] for name in (*_FLOATS, "gap")}
        return Limits(tuple(self.variables[place] for place in places), **arrays)

    def _place(self, name: str) -> int:
        check_limit_names([name], self.variables)
        return self.variables.index(name)

    # Saving and showing

    def state(self) -> State:
        """Return the state to save; NaN where there is no limit."""
        floats = {name: getattr(self, name) for name in _FLOATS}
        finite = {name: np.where(np.isfinite(array), array, np.float32(np.nan)) for name, array in floats.items()}
        return State({}, {**finite, "gap": self.gap})

    @classmethod
    def from_state(cls, state: State, variables: tuple[str, ...]) -> Limits:
        """Return the limits saved in `state`."""
        shape = (len(variables),)
        arrays = {name: fields.array(state, name, np.float32, shape, missing=True) for name in _FLOATS}
        for name, none in (("low", -np.inf), ("high", np.inf), ("change", np.inf)):
            arrays[name] = np.where(np.isnan(arrays[name]), np.float32(none), arrays[name])
        with fields.restoring(state):
            return cls(variables, **arrays, gap=fields.array(state, "gap", np.int64, shape, low=0))

    @property
    def frame(self) -> pd.DataFrame:
        """The limits as a table with a row for each variable."""
        import pandas as pd

        columns = {name: getattr(self, name) for name in ("low", "high", "change", "gap", "seen_low", "seen_high")}
        return pd.DataFrame(columns, index=pd.Index(self.variables, name="variable"))

    def to_dict(self) -> dict[str, dict[str, float | int | None]]:
        """Return the limits of each variable as plain values for JSON; None where there is no limit."""
        return {
            name: {
                field: _plain(getattr(self, field)[place])
                for field in ("low", "high", "change", "gap", "seen_low", "seen_high")
            }
            for place, name in enumerate(self.variables)
        }

    def __repr__(self) -> str:
        """Describe the limits of the first variables."""
        shown = [f"  {name}: {self.describe(name)}" for name in self.variables[:10]]
        more = len(self.variables) - len(shown)
        return "\n".join(
            [f"Limits of {plural(len(self.variables), 'variable')}", *shown, *([f"  and {more} more"] if more else [])]
        )

    def describe(self, name: str) -> str:
        """Return the limits of one variable in words."""
        at = self._place(name)
        change = f"changes up to {self.change[at]:.4g} a step" if np.isfinite(self.change[at]) else "any change"
        seen = "none" if np.isnan(self.seen_low[at]) else f"{self.seen_low[at]:.4g} to {self.seen_high[at]:.4g}"
        gap = plural(int(self.gap[at]), "step")
        return f"{_range_words(self.low[at], self.high[at])}, {change}, gaps up to {gap} (training: {seen})"

    # Notes

    def notes(
        self,
        values: NDArray[np.floating[Any]],
        causes: NDArray[np.uint8],
        times: NDArray[np.datetime64] | None = None,
    ) -> tuple[str, ...]:
        """Return a sentence for each variable with readings beyond the limits in one window [t, n].

        Parameters
        ----------
        values
            [t, n], the readings as they came
        causes
            [t, n], from `causes` or `screen`
        times
            [t], the times of the steps, or None
        """
        variables = np.flatnonzero((causes > 0).any(axis=0))
        sentences = [self._note(values, causes, times, int(place)) for place in variables[:_NOTES_SHOWN]]
        more = len(variables) - len(sentences)
        if more:
            others = plural(more, "variable", "has").replace("variable", "more variable")
            sentences.append(f"{others} readings beyond their limits, which are not used")
        return tuple(sentences)

    def _note(self, values: Any, causes: Any, times: Any, place: int) -> str:
        steps = np.flatnonzero(causes[:, place])
        last = int(steps[-1])
        when = (
            f"step {last + 1} of {len(values)}"
            if times is None
            else moment_text(times[last].astype("datetime64[ns]").view(np.int64))
        )
        reason = self.reason(place, int(causes[last, place]))
        reading = f"{_number(values[last, place])} at {when}, {reason}"
        name = repr(self.variables[place])
        if len(steps) == 1:
            return f"{name} reads {reading}: this reading is not used"
        return f"{name} has {len(steps)} readings beyond its limits (the last is {reading}): they are not used"

    def reason(self, place: int, cause: int) -> str:
        """Return why a reading is beyond the limits of the variable at `place`, in words."""
        if cause == _LOW:
            return f"below its limit of {_number(self.low[place])}"
        if cause == _HIGH:
            return f"above its limit of {_number(self.high[place])}"
        if cause == _CODE:
            seen = f"{_number(self.seen_low[place])} to {_number(self.seen_high[place])}"
            return f"a usual code for a missing reading, far from its training readings of {seen}"
        return f"which cannot be reached with its largest change of {_number(self.change[place])} a step"


def check_limit_names(names: Iterable[str], variables: Sequence[str]) -> None:
    """Raise an error unless limits are given for variables that exist.

    >>> check_limit_names(["inflwo"], ["inflow", "level"])
    Traceback (most recent call last):
        ...
    subcast.errors.InputError: there is no variable 'inflwo' to limit among the 2 of the training: \
did you mean 'inflow'?
    """
    for name in names:
        if name not in variables:
            near = get_close_matches(str(name), variables, n=1)
            hint = f": did you mean {near[0]!r}?" if near else ""
            raise InputError(f"there is no variable {name!r} to limit among the {len(variables)} of the training{hint}")


def is_missing_code(readings: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
    """Return which readings are usual codes for a missing one, such as -999, 9999 or 32767.

    >>> is_missing_code(np.array([-999.0, 999999.0, 12.0]))
    array([ True,  True, False])
    """
    exact = readings.astype(np.float32, copy=False)
    place = np.searchsorted(_MISSING_CODES, exact)
    return np.asarray(_MISSING_CODES[np.minimum(place, len(_MISSING_CODES) - 1)] == exact)


def _has_jump(readings: NDArray[np.float32], change: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return which rows of readings [w, t] change by more than `change` [w] a step from one reading to the next."""
    present = ~np.isnan(readings)
    latest = np.maximum.accumulate(np.where(present, np.arange(readings.shape[1]), -1), axis=1)  # [w, t]
    before = latest[:, :-1]  # the step of the reading before
    earlier = np.take_along_axis(readings, np.maximum(before, 0), axis=1)
    steps = np.arange(1, readings.shape[1]) - before
    with np.errstate(invalid="ignore"):
        jumps = np.abs(readings[:, 1:] - earlier) > change[:, None] * steps  # NaN is no jump
    return np.asarray((jumps & (before >= 0)).any(axis=1))


def _unreachable(readings: NDArray[np.float32], change: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return which readings [w, t] are not in the largest set in which each can be reached from the one before.

    From one reading to the next of a set, the change is at most `change` [w] for each step between them. The set is
    found by dynamic programming: the largest set that ends at a step is one longer than the largest one that ends at a
    step from which it can be reached.
    """
    present = ~np.isnan(readings)
    count, t = readings.shape
    size = present.astype(np.int64)  # [w, t], of the largest set that ends at each step
    before = np.full((count, t), -1)  # [w, t], the step before in that set
    for step in range(1, t):
        steps = np.arange(step, 0, -1)
        with np.errstate(invalid="ignore"):  # 0 times infinity
            reach = np.abs(readings[:, step, None] - readings[:, :step]) <= change[:, None] * steps
        sizes = np.where(reach, size[:, :step], 0)  # NaN reaches nothing
        newest = step - 1 - np.argmax(sizes[:, ::-1], axis=1)  # of the largest sets
        largest = np.take_along_axis(sizes, newest[:, None], axis=1)[:, 0]
        size[:, step] = np.where(present[:, step], largest + 1, 0)
        before[:, step] = np.where(present[:, step] & (largest > 0), newest, -1)
    kept = np.zeros((count, t), dtype=np.bool_)
    step_of = t - 1 - np.argmax(size[:, ::-1], axis=1)  # [w], the last step of the largest set
    rows = np.arange(count)
    while rows.size:
        kept[rows, step_of] = True
        step_of = before[rows, step_of]
        rows, step_of = rows[step_of >= 0], step_of[step_of >= 0]
    return present & ~kept


def _checked_number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating) or np.isnan(value):
        raise InputError(f"the {name} must be a number, or infinity for no limit, got {value!r}")
    return float(value)


def _range_words(low: float, high: float) -> str:
    if np.isinf(low) and np.isinf(high):
        return "any reading"
    if np.isinf(low):
        return f"up to {high:.4g}"
    return f"from {low:.4g}" if np.isinf(high) else f"{low:.4g} to {high:.4g}"


def _number(value: float) -> str:
    """Write a reading or a limit with four digits, and more if it is large or whole.

    >>> _number(np.float32(999999)), _number(np.float32(61.23456)), _number(np.float32(-17893.25))
    ('999999', '61.23', '-17893.25')
    """
    number = float(value)
    return f"{number:.7g}" if abs(number) >= 1000 or number.is_integer() else f"{number:.4g}"


def _plain(value: Any) -> float | int | None:
    if isinstance(value, np.integer):
        return int(value)
    return float(f"{float(value):.7g}") if np.isfinite(value) else None
