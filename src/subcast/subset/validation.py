"""Split validation windows into two groups that share no step: one for tuning, one for calibration."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subcast.windows import Windows

BLOCKS = (8, 4, 2)


def split_validation(val: Windows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers of the windows for tuning and of those for calibration.

    The steps are cut into blocks, used in turn for tuning and for calibration, so that both cover early and late days.
    A window that lies in two blocks is left out. If there are too few steps for blocks, the first half of the windows
    is for tuning and the second half for calibration.

    >>> from subcast.series import Series
    >>> val = Series(np.zeros((100, 1))).windows(lookback=3, horizon=2)
    >>> tune, calibrate = split_validation(val)
    >>> tune[:10], calibrate[:3]
    (array([ 0,  1,  2,  3,  4,  5,  6,  7, 24, 25]), array([12, 13, 14]))
    """
    starts = np.asarray(val.starts, dtype=np.int64)
    first = starts - starts.min()
    size = val.lookback + val.horizon
    span = int(first.max()) + size
    for blocks in BLOCKS:
        length = span // blocks
        if length < 2 * size and blocks > BLOCKS[-1]:
            continue
        block = np.minimum(first // length, blocks - 1)
        last_step = np.where(block == blocks - 1, span, (block + 1) * length)
        inside_block = first + size <= last_step
        groups = tuple(np.flatnonzero(inside_block & (block % 2 == parity)) for parity in (0, 1))
        if all(group.size for group in groups):
            return groups[0], groups[1]
    half = (len(starts) + 1) // 2
    return np.arange(half), np.arange(half, len(starts))
