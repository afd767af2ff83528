"""Put the last rows of live data on the steps that a forecaster looks back over."""

from __future__ import annotations

from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from subcast.errors import InputError
from subcast.names import plural
from subcast.tables.rates import calendar_positions, commonest_step, fixed_step, jitter_limit, moment_text, step_name
from subcast.tables.rows import Rows

Stamps = NDArray[np.int64]


class LastSteps(NamedTuple):
    """The steps of the last rows.

    Attributes
    ----------
    offsets
        [rows] the step of each row: 0 the last, -1 the one before, ...; not increasing beyond the lookback
    times
        [lookback] the moments of the steps, or None when steps are only counted
    """

    offsets: NDArray[np.int64]
    times: NDArray[np.datetime64] | None


def last_steps(rows: Rows, lookback: int | None, freq: str | None, source: str = "recent") -> LastSteps:
    """Return the step of each of the last `lookback` rows, and the times of the last `lookback` steps.

    The last row is the last step. Without a rate, rows with times are consecutive steps. A lookback of None takes all
    rows and as many steps as they cover.

    Parameters
    ----------
    rows
        of the input
    lookback
        how many steps are needed, None for all there are
    freq
        the rate of the training as pandas writes it, or None
    source
        what to call the input in messages

    Examples
    --------
    >>> rows = Rows(["a"], np.zeros((3, 1)), 3, np.array([4, 5, 7]), counted=True)
    >>> last_steps(rows, 3, None).offsets
    array([-3, -2,  0])
    """
    most = rows.total if lookback is None else lookback
    offsets = np.arange(1 - min(rows.total, most), 1)
    times: Stamps | None = None
    if rows.stamps is not None:
        _check_order(rows.stamps, rows.counted, source)
        last = rows.stamps[-most:] if most else rows.stamps
        if rows.counted:
            offsets = _counted_offsets(last, source)
        elif freq is None:
            times = last
        elif rows.total:
            offsets, times = _offsets_at_rate(last, lookback, freq, source)
    steps = max(rows.total, 1 - int(offsets[0])) if offsets.size else 0
    if lookback is not None and steps < lookback:
        raise InputError(
            f"{source} has {plural(steps, 'step')}, and the forecaster looks back over {lookback}: give at least the "
            f"last {lookback}, with NaN where a reading is missing"
        )
    return LastSteps(offsets, None if times is None else times.view("datetime64[ns]"))


def _check_order(stamps: Stamps, counted: bool, source: str) -> None:
    backward = stamps[1:] <= stamps[:-1]
    if not backward.any():
        return
    row = int(np.argmax(backward)) + 1
    here, before = moment_text(stamps[row], counted), moment_text(stamps[row - 1], counted)
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


def _offsets_at_rate(last: Stamps, lookback: int | None, freq: str, source: str) -> tuple[NDArray[np.int64], Stamps]:
    step = fixed_step(freq)
    if step is None:
        return _calendar_offsets(last, lookback, freq, source)
    distances = last - last[-1]
    offsets = (distances + step // 2) // step
    lookback = 1 - int(offsets[0]) if lookback is None else lookback
    off_grid = (np.abs(distances - offsets * step) > jitter_limit(step)) & (offsets > -lookback)
    if off_grid.any() or _is_another_rate(offsets, lookback):
        _refuse_rate(last, freq, step, int(np.argmax(off_grid)), source)
    return offsets, last[-1] + np.arange(1 - lookback, 1) * step


def _calendar_offsets(last: Stamps, lookback: int | None, freq: str, source: str) -> tuple[NDArray[np.int64], Stamps]:
    """Return the offsets and times of a rate such as months or business days."""
    grid, positions = calendar_positions(last, freq)
    offsets = positions - (len(grid) - 1)
    lookback = len(grid) if lookback is None else lookback
    if (positions < 0).any() or _is_another_rate(offsets, lookback):
        _refuse_rate(last, freq, None, int(np.argmin(positions)), source)
    return offsets, grid[-lookback:]


def _is_another_rate(offsets: NDArray[np.int64], lookback: int) -> bool:
    """Return whether two rows share a step, or all rows are several steps apart, which is more than a gap."""
    differences = np.diff(offsets)
    if not differences.size:
        return False
    shortest = int(differences.min())
    if shortest == 1:
        return False
    return shortest < 1 or (int(np.gcd.reduce(differences)) > 1 and (differences.size > 1 or offsets.size >= lookback))


def _refuse_rate(last: Stamps, freq: str, step: int | None, row: int, source: str) -> NoReturn:
    """Refuse the rate of the rows, or the one row that is off the steps."""
    usual = commonest_step(last)[0] if last.size > 1 else None
    advice = f"resample it (frame.resample({freq!r}).mean())"
    if usual is None or usual == step:
        raise InputError(
            f"{source} has a row at {moment_text(last[row])}, which is off the {freq} steps that lead to its last row, "
            f"{moment_text(last[-1])}: {advice}"
        )
    raise InputError(
        f"{source} comes every {step_name(usual)}, and the forecaster was trained on steps of {freq}: {advice}"
    )
