"""Validation windows in two parts that share no step: one to tune on, one to calibrate on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subcast.windows import Windows

BLOCKS = (8, 4, 2)


def split_validation(val: Windows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers of the windows to tune on and of those to calibrate on.

    The steps are cut into blocks that go by turns to the one and the other, so that both see early and late days; a
    window that would cross from block to block goes to neither. When there are too few steps for that, the first
    half is for tuning and the second for calibration.

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
        whole = first + size <= last_step
        parts = tuple(np.flatnonzero(whole & (block % 2 == turn)) for turn in (0, 1))
        if all(part.size for part in parts):
            return parts[0], parts[1]
    half = (len(starts) + 1) // 2
    return np.arange(half), np.arange(half, len(starts))
