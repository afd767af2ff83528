"""Take readings beyond the limits out of what arrived, with a note for each variable."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from subcast.errors import FitWarning, InputError
from subcast.limits import CAUSES, Limits
from subcast.limits_learning import learn_limits
from subcast.names import plural
from subcast.storage import fields
from subcast.storage.state import State
from subcast.subset.arrived import Arrived
from subcast.tables.live import Recent
from subcast.windows import Windows

LEARNED = "learned"
_FIXED = "fixed"

LimitsChoice = Limits | Mapping[str, tuple[float | None, float | None]] | str | None
"""What `SubsetForecaster(limits=...)` takes."""


def check_limits_choice(limits: Any) -> None:
    """Raise unless `limits` is a value that `SubsetForecaster` takes."""
    if limits is None or isinstance(limits, Limits) or (isinstance(limits, str) and limits == LEARNED):
        return
    if not isinstance(limits, Mapping):
        raise InputError(
            f"limits must be {LEARNED!r}, None for no limits, a dict of names and (low, high), or Limits, "
            f"got {limits!r}"
        )
    for name, bounds in limits.items():
        if not isinstance(bounds, tuple | list) or len(bounds) != 2:
            raise InputError(
                f"limits must give (low, high) for {name!r}, with None for a bound to be learned, got {bounds!r}"
            )


def fit_limits(limits: LimitsChoice, train: Windows) -> Limits | None:
    """Return the limits of the readings: given, learned from the steps of the training windows, or None."""
    if limits is None:
        return None
    series = train.series
    if isinstance(limits, Limits):
        return check_variables(limits, series.variables)
    used = series.values[min(train.starts) : max(train.starts) + train.lookback + train.horizon]
    learned = learn_limits(used, series.variables)
    _warn_of_strays(used, learned)
    return learned if isinstance(limits, str) else learned.with_ranges(limits)


def _warn_of_strays(values: NDArray[np.floating[Any]], limits: Limits) -> None:
    """Warn of training readings that are beyond the limits learned from the others."""
    stray = (values < limits.low) | (values > limits.high)
    if not stray.any():
        return
    step, variable = np.argwhere(stray)[0]
    count = int(np.count_nonzero(stray))
    warnings.warn(
        f"train has {plural(count, 'reading')} far from all others, such as {values[step, variable]:g} of "
        f"{limits.variables[variable]!r}: mark what is no reading as missing (NaN), train and fit again",
        FitWarning,
        stacklevel=4,
    )


def given_limits_facts(limits: LimitsChoice) -> Any:
    """Return the limits that the user gave as plain values; Limits are saved by themselves."""
    if isinstance(limits, Limits):
        return _FIXED
    return {name: list(bounds) for name, bounds in limits.items()} if isinstance(limits, Mapping) else limits


def saved_limits(state: State, variables: tuple[str, ...]) -> tuple[Limits | None, LimitsChoice]:
    """Return the limits saved in the state of a wrapper, and the limits that its user gave."""
    limits = None
    if fields.flag(state, "has_limits"):
        limits = Limits.from_state(state.needed_part("limits"), variables)
    given = fields.fact(state, "given_limits")
    if given == _FIXED:
        return limits, limits
    with fields.restoring(state):
        check_limits_choice(given)
        if isinstance(given, Mapping):
            given = {name: (bounds[0], bounds[1]) for name, bounds in given.items()}
    return limits, given


def check_variables(limits: Limits, variables: tuple[str, ...]) -> Limits:
    """Return limits; raise unless they are those of these variables."""
    if limits.variables != variables:
        raise InputError(
            f"limits must be those of the {plural(len(variables), 'variable')} that the wrapper was fitted on, in "
            f"their order, got limits of {plural(len(limits.variables), 'variable')}"
        )
    return limits


def screen_recent(window: Recent, limits: Limits | None, *, strict: bool) -> Recent:
    """Return a window without readings beyond the limits, with a note for each variable that has such readings.

    Raises
    ------
    InputError
        if no reading is left; with `strict`, if any reading is beyond the limits
    """
    if limits is None:
        return window
    values, causes = limits.screen(window.values)
    if causes is None:
        return window
    notes = limits.notes(window.values, causes, window.clock.wall(window.times))
    if strict:
        refuse_beyond("recent", notes)
    if np.isnan(values).all():
        refuse_all("recent", notes)
    return replace(window, values=values, notes=(*window.notes, *notes))


class ScreenedWindows(NamedTuple):
    """Windows without readings beyond the limits.

    Attributes
    ----------
    arrived
        the windows
    notes
        by the number of the window
    silenced
        [b, n], the variables that lost all readings of a window; None if no reading was beyond the limits
    """

    arrived: Arrived
    notes: dict[int, tuple[str, ...]]
    silenced: NDArray[np.bool_] | None


def screen_arrived(
    arrived: Arrived,
    subset: NDArray[np.int64],
    times: NDArray[np.datetime64] | None,
    limits: Limits | None,
    *,
    strict: bool,
) -> ScreenedWindows:
    """Return windows without readings of S beyond the limits.

    `times` [b, t] are those of the readings as the user's clock shows them, for the notes.
    """
    if limits is None or not len(arrived):
        return ScreenedWindows(arrived, {}, None)
    chosen = limits if len(subset) == len(limits.variables) else limits.select(subset)
    used = arrived.values if chosen is limits else arrived.values[:, :, subset]
    values, causes = chosen.screen(used)
    if causes is None:
        return ScreenedWindows(arrived, {}, None)
    touched = np.flatnonzero((causes > 0).any(axis=(1, 2)))
    notes = {
        int(window): chosen.notes(used[window], causes[window], None if times is None else times[window])
        for window in touched
    }
    if strict:
        refuse_beyond(f"window {touched[0]}", notes[int(touched[0])])
    if np.isnan(values).all():
        refuse_all("windows", notes[int(touched[0])])
    clean = np.array(arrived.values)
    clean[:, :, subset] = values
    same = CAUSES.index("change") not in causes  # of consecutive windows, two may judge the same change differently
    silenced = np.asarray(np.isnan(clean).all(axis=1) & ~np.isnan(arrived.values).all(axis=1))
    return ScreenedWindows(replace(arrived, values=clean, consecutive=arrived.consecutive and same), notes, silenced)


def batch_notes(notes: Mapping[int, tuple[str, ...]], count: int) -> tuple[str, ...]:
    """Return the notes about a batch of `count` windows, from notes by the number of the window."""
    if not notes:
        return ()
    first = min(notes)
    verb = "has" if len(notes) == 1 else "have"
    return (
        f"{len(notes):,} of {plural(count, 'window')} {verb} readings beyond the limits, "
        f"which are not used: in window {first}, {notes[first][0]}",
    )


def refuse_beyond(source: str, notes: Sequence[str]) -> NoReturn:
    """Raise the error for readings beyond the limits where none is allowed."""
    raise InputError(
        f"{source} has readings beyond the limits, which strict does not allow: {_first(notes)}; correct them, or "
        "widen the limits"
    )


def refuse_all(source: str, notes: Sequence[str]) -> NoReturn:
    """Raise the error for a forecast without any reading within the limits."""
    raise InputError(
        f"{source} has no reading within the limits, so nothing can be forecast: {_first(notes)}; correct the "
        "readings, or widen the limits"
    )


def _first(notes: Sequence[str]) -> str:
    first = notes[0].rpartition(":")[0]  # without what becomes of the reading
    return first if len(notes) == 1 else f"{first}, and others"
