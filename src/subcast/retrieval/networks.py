"""Sorting networks: fixed lists of comparisons after which the middle values stand in the middle.

The comparisons do not depend on the values, so one list serves many columns at once without a branch.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray


@cache
def median_network(size: int) -> NDArray[np.int64]:
    """Return the pairs of places [pairs, 2] to compare, smaller value to the first, to get the median of `size` values.

    Afterwards the values at (size - 1) // 2 and size // 2 are those of the sorted list. The pairs are those of
    Batcher's merge sort that have a part in these two.

    >>> median_network(3).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    needed = {(size - 1) // 2, size // 2}
    kept = []
    for first, second in reversed(list(_merge_sort(size))):
        if first in needed or second in needed:
            kept.append((first, second))
            needed |= {first, second}
    pairs = np.array(kept[::-1], dtype=np.int64).reshape(-1, 2)
    pairs.flags.writeable = False
    return pairs


def _merge_sort(size: int) -> Iterator[tuple[int, int]]:
    """Yield the comparisons of Batcher's odd-even merge sort."""
    span = 1
    while span < size:
        step = span
        while step >= 1:
            for begin in range(step % span, size - step, 2 * step):
                for place in range(begin, min(begin + step, size - step)):
                    if place // (2 * span) == (place + step) // (2 * span):
                        yield place, place + step
            step //= 2
        span *= 2
