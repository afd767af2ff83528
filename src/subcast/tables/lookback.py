"""Put the last rows of live data on the steps that a forecaster looks back over."""

from __future__ import annotations

from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from subcast.errors import InputError
from subcast.names import plural
from subcast.tables.rates import DAY, SECOND, commonest_step, moment_text, step_name
from subcast.tables.rows import Rows
from subcast.tables.steps import Placed, Steps, UserClock, duration_text

Stamps = NDArray[np.int64]


class LastSteps(NamedTuple):
    """The steps of the last rows.

    Attributes
    ----------
    offsets
        [rows] the step of each row: 0 the last, -1 the one before, ...; not increasing beyond the lookback
    times
        [lookback] the times of the steps on the training's clock, or None when steps are only counted
    clock
        how the user writes times
    moved
        [rows] by how many nanoseconds each of the last rows was moved to its step
    """

    offsets: NDArray[np.int64]
    times: NDArray[np.datetime64] | None
    clock: UserClock
    moved: Stamps


def last_steps(rows: Rows, lookback: int | None, rule: Steps, source: str = "recent") -> LastSteps:
    """Return the step of each of the last `lookback` rows, and the times of the last `lookback` steps.

    The last row is the last step. Without a rate, rows with times are consecutive steps. A lookback of None takes all
    rows and as many steps as they cover.

    Parameters
    ----------
    rows
        of the input
    lookback
        how many steps are needed, None for all there are
    rule
        the steps of the training
    source
        what to call the input in messages

    Examples
    --------
    >>> rows = Rows(["a"], np.zeros((3, 1)), 3, np.array([4, 5, 7]), counted=True)
    >>> last_steps(rows, 3, Steps()).offsets
    array([-3, -2,  0])
    """
    most = rows.total if lookback is None else lookback
    offsets = np.arange(1 - min(rows.total, most), 1)
    times: Stamps | None = None
    moved, clock = np.zeros(offsets.size, dtype=np.int64), UserClock(rule.zone, rule.zone)
    if rows.stamps is not None:
        _check_order(rows, source)
        last = rows.stamps[-most:] if most else rows.stamps
        if rows.counted:
            offsets = _counted_offsets(last, source)
        else:
            last, clock = rule.on_own_clock(last, rows.zone, assumed=rows.assumed)
            times = last
            if rule.freq is not None and rows.total:
                offsets, times, moved = _offsets_at_rate(last, lookback, rule, source)
    steps = max(rows.total, 1 - int(offsets[0])) if offsets.size else 0
    if lookback is not None and steps < lookback:
        raise InputError(
            f"{source} has {plural(steps, 'step')}, and the forecaster looks back over {lookback}: give at least the "
            f"last {lookback}, with NaN where a reading is missing"
        )
    return LastSteps(offsets, None if times is None else times.view("datetime64[ns]"), clock, moved)


def _check_order(rows: Rows, source: str) -> None:
    stamps = np.zeros(0, dtype=np.int64) if rows.stamps is None else rows.stamps
    backward = stamps[1:] <= stamps[:-1]
    if not backward.any():
        return
    row = int(np.argmax(backward)) + 1
    here, before = (moment_text(stamps[at], rows.counted, rows.zone) for at in (row, row - 1))
    if here == before:
        raise InputError(
            f"{source} has {here} twice (rows {row - 1} and {row}): sort it and keep one row for each time"
        )
    raise InputError(
        f"{source} goes back in time: {here} (row {row}) comes after {before} (row {row - 1}); sort it, as with "
        "frame.sort_index()"
    )


def _counted_offsets(last: Stamps, source: str) -> NDArray[np.int64]:
    step = commonest_step(last)[0] if last.size > 1 else 1
    offsets, remainders = np.divmod(last - last[-1:], step)
    if remainders.any():
        raise InputError(
            f"{source} has step numbers without a single rate: {last[np.argmax(remainders != 0)]} is not a multiple of "
            f"{step} away from the last, {last[-1]}; number the rows again (frame.reset_index(drop=True)) if they are "
            "consecutive"
        )
    return offsets


def _offsets_at_rate(
    last: Stamps, lookback: int | None, rule: Steps, source: str
) -> tuple[NDArray[np.int64], Stamps, Stamps]:
    placed = rule.place(last)
    lookback = len(placed.grid) if lookback is None else lookback
    off = placed.off & (placed.offsets > -lookback)
    if off.any() or _is_another_rate(placed.offsets, lookback):
        refuse_rate(last, placed, off, rule, source)
    return placed.offsets, placed.grid[-lookback:], np.where(placed.offsets > -lookback, placed.moved, 0)


def _is_another_rate(offsets: NDArray[np.int64], lookback: int) -> bool:
    """Return whether two rows share a step, or all rows are several steps apart, which is more than a gap."""
    differences = np.diff(offsets)
    if not differences.size:
        return False
    shortest = int(differences.min())
    if shortest == 1:
        return False
    return shortest < 1 or (int(np.gcd.reduce(differences)) > 1 and (differences.size > 1 or offsets.size >= lookback))


def refuse_rate(last: Stamps, placed: Placed, off: NDArray[np.bool_], rule: Steps, source: str) -> NoReturn:
    """Refuse the rate of the rows, rows that all lie between the steps, or the one row that is off the steps."""
    usual = commonest_step(last)[0] if last.size > 1 else rule.step
    between = bool(off[-1])
    at_another_hour = rule.step is None and bool(np.abs(placed.moved).min() > DAY // 2)
    advice = f"resample it (frame.resample({rule.freq!r}).mean())"
    if usual != rule.step and not at_another_hour:
        came = "" if usual is None else f" every {step_name(usual)}"
        if usual is not None and usual % SECOND and usual > SECOND:  # times that are not even
            came = f" about every {duration_text(usual)}"
        raise InputError(f"{source} comes{came}, and the forecaster was trained on steps of {rule.freq}: {advice}")
    here = moment_text(last[np.argmax(off)], zone=rule.zone)
    if between:
        refuse_off_step(int(last[np.argmax(off)]), rule, source)
    raise InputError(
        f"{source} has a row at {here}, which is off the {rule.freq} steps that lead to its last row, "
        f"{moment_text(last[-1], zone=rule.zone)}: {advice}"
    )


def refuse_off_step(stamp: int, rule: Steps, source: str) -> NoReturn:
    """Refuse a time of the training's clock that lies between two steps."""
    start = "" if rule.start is None else f" and include {moment_text(rule.start, zone=rule.zone)}"
    raise InputError(
        f"{source} has {moment_text(stamp, zone=rule.zone)}, between two steps of the training, which come every "
        f"{rule.freq}{start}: resample the readings to the steps (frame.resample({rule.freq!r}).mean())"
    )
