"""Compiled loops over the rows of a node: their division, their histograms, and the best split of a node.

A histogram [f, 256, 2 or 3] holds, for each bin of each feature, the sum of the gradients, the number of rows and, with
weights, the sum of the second derivatives (else that is the number of rows).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from subcast.boosting.prefetching import prefetch
from subcast.retrieval.compiled.powers import compiled

GAIN, FEATURE, BIN, MISSING_LEFT, GRADIENT, CURVATURE, ROWS = range(7)
"""Columns of a split: what it gains, where it is, and the sums of its left side."""

LEAST_CURVATURE = 1e-3
"""The smallest sum of second derivatives of a side of a split."""

_AHEAD = 12  # rows that are announced before they are counted


@compiled
def divide_rows(order: Any, begin: int, end: int, column: Any, number: int, missing_left: int, spare: Any) -> int:
    """Move the rows of order[begin:end] that go left to the front, in their order; return where the others begin.

    A row goes left if the number of its bin is at most `number`, or if it is missing (255) and `missing_left` is 1.
    """
    left = begin
    right = 0
    limit = np.uint8(number)
    missing = np.uint8(missing_left)
    for position in range(begin, end):  # without a branch: both places are written, one is kept
        row = order[position]
        cell = column[row]
        goes_left = int((cell <= limit) & (cell != 255)) | int((cell == 255) & (missing == 1))
        order[left] = row
        spare[right] = row
        left += goes_left
        right += 1 - goes_left
    order[left:end] = spare[:right]
    return left


@compiled
def fill_histogram(
    histogram: Any, numbers: Any, rows: Any, gradients: Any, curvatures: Any, first: int, last: int
) -> None:
    """Fill the histogram of the features first .. last - 1 with some rows; `curvatures` is empty without weights."""
    histogram[first:last] = 0.0
    cells = histogram.reshape(-1)  # unsigned places in one row need the fewest instructions
    width = np.uint64(histogram.shape[2])
    one, two = np.uint64(1), np.uint64(2)
    flat, features, count = numbers.reshape(-1), numbers.shape[1], len(rows)
    for position in range(count):
        row, later = rows[position], np.int64(rows[min(position + _AHEAD, count - 1)])
        prefetch(flat, later * features + first)
        prefetch(flat, later * features + last - 1)
        prefetch(gradients, later)
        gradient, line = np.float64(gradients[row]), numbers[row]
        if width == two:
            for feature in range(first, last):
                place = (np.uint64(feature) * np.uint64(256) + np.uint64(line[feature])) * two
                cells[place] += gradient
                cells[place + one] += 1.0
        else:
            curvature = np.float64(curvatures[row])
            for feature in range(first, last):
                place = (np.uint64(feature) * np.uint64(256) + np.uint64(line[feature])) * width
                cells[place] += gradient
                cells[place + one] += 1.0
                cells[place + two] += curvature


@compiled
def look_at(
    best: Any,
    histogram: Any,
    sibling: Any,
    numbers: Any,
    rows: Any,
    gradients: Any,
    curvatures: Any,
    used: Any,
    wanted: Any,
    counts: Any,
    totals: Any,
    leaf_rows: int,
    l2: float,
    first: int,
    last: int,
) -> None:
    """Fill a node's histogram with its rows, subtract it from its sibling's, and find the best split of each.

    All for the features first .. last - 1. `sibling` holds the parent's histogram before and has length 0 if there is
    no sibling. `best` [2, 7] gets the splits of both, see `find_split`; none is sought where `wanted` is false.
    """
    fill_histogram(histogram, numbers, rows, gradients, curvatures, first, last)
    if len(sibling):
        for feature in range(first, last):
            sibling[feature] -= histogram[feature]
    sums, gains = np.empty((3, 256)), np.empty(256)
    for node in range(len(wanted)):
        best[node] = 0.0
        if wanted[node]:
            own = histogram if node == 0 else sibling
            for feature in range(first, last):
                if used[node, feature]:
                    cells, count = own[feature], counts[feature]
                    find_split(best[node], cells, feature, count, totals[node], leaf_rows, l2, sums, gains)


@compiled
def find_split(
    best: Any, cells: Any, feature: int, count: int, totals: Any, leaf_rows: int, l2: float, sums: Any, gains: Any
) -> None:
    """Write the best split of a feature into `best` [7] if it gains more than the one that is there.

    `cells` [256, 2 or 3] is the feature's histogram, `count` its number of bins without that of missing values.
    `totals` are the gradient, the second derivative, the number of rows and the score of the whole node, in this
    order. `sums` [3, 256] and `gains` [256] are space for the calculation.
    """
    last = cells.shape[1] - 1
    gradient = curvature = rows = 0.0
    for number in range(count):
        gradient += cells[number, 0]
        rows += cells[number, 1]
        curvature += cells[number, last]
        sums[0, number], sums[1, number], sums[2, number] = gradient, curvature, rows
    has_missing = cells[255, 1] > 0
    places = count if has_missing else count - 1
    _fill_gains(gains, sums, places, 0.0, 0.0, 0.0, totals, leaf_rows, l2)
    for number in range(places):
        if gains[number] > best[0]:
            best[0], best[1], best[2], best[3] = gains[number], feature, number, 0.0
            best[4], best[5], best[6] = sums[0, number], sums[1, number], sums[2, number]
    if has_missing:  # once more, with missing values on the left
        gradient, rows, curvature = cells[255, 0], cells[255, 1], cells[255, last]
        _fill_gains(gains, sums, count - 1, gradient, curvature, rows, totals, leaf_rows, l2)
        for number in range(count - 2, -1, -1):
            if gains[number] > best[0]:
                best[0], best[1], best[2], best[3] = gains[number], feature, number, 1.0
                best[4], best[5] = sums[0, number] + gradient, sums[1, number] + curvature
                best[6] = sums[2, number] + rows


@compiled
def _fill_gains(
    gains: Any,
    sums: Any,
    places: int,
    gradient: float,
    curvature: float,
    rows: float,
    totals: Any,
    leaf_rows: int,
    l2: float,
) -> None:
    """Fill in what a split after each bin gains, with some more on the left; 0 where a side is too small."""
    for number in range(places):
        left, heavy, count = sums[0, number] + gradient, sums[1, number] + curvature, sums[2, number] + rows
        right, other, others = totals[0] - left, totals[1] - heavy, totals[2] - count
        gain = left * left / (heavy + l2) + right * right / (other + l2) - totals[3]
        is_valid = (count >= leaf_rows) & (others >= leaf_rows)
        is_valid = is_valid & (heavy >= LEAST_CURVATURE) & (other >= LEAST_CURVATURE)
        gains[number] = gain if is_valid else 0.0
