"""Compiled loops over the rows of leaves: gradients of the loss, quantiles of what is left, and sums of forecasts."""

from __future__ import annotations

from typing import Any

import numpy as np

from subcast.retrieval.compiled.powers import compiled


@compiled
def fill_gradients(gradients: Any, target: Any, sums: Any, weight: Any, quantile: float, is_absolute: bool) -> None:
    """Fill in the derivative of the loss by the forecast: squared errors if `quantile` is NaN, else the quantile's.

    `weight` is empty where all rows count the same. The derivative of absolute errors is twice that of the median.
    """
    scale = 2.0 if is_absolute else 1.0
    for row in range(len(gradients)):
        error = sums[row] - target[row]
        slope = error if np.isnan(quantile) else scale * (1 - quantile if error > 0 else -quantile)
        gradients[row] = slope if len(weight) == 0 else slope * weight[row]


@compiled
def add_values(sums: Any, order: Any, begins: Any, ends: Any, values: Any) -> None:
    """Add the value of each leaf to the sums of its rows, order[begin:end]."""
    for leaf in range(len(values)):
        for position in range(begins[leaf], ends[leaf]):
            sums[order[position]] += values[leaf]


@compiled
def leaf_quantiles(
    values: Any, order: Any, begins: Any, ends: Any, target: Any, sums: Any, weight: Any, quantile: float
) -> None:
    """Fill in the quantile of what each leaf's rows have left, target - sums.

    Without weights it is linear between the two nearest rows. With weights it is the smallest value at which the rows
    up to it have that share of the weight.
    """
    for leaf in range(len(values)):
        begin, end = begins[leaf], ends[leaf]
        left = np.empty(end - begin)
        heavy = np.empty(end - begin if len(weight) else 0)
        for position in range(begin, end):
            row = order[position]
            left[position - begin] = target[row] - sums[row]
            if len(weight):
                heavy[position - begin] = weight[row]
        values[leaf] = weighted_quantile(left, heavy, quantile) if len(weight) else plain_quantile(left, quantile)


@compiled
def plain_quantile(values: Any, quantile: float) -> float:
    """Return a quantile of some values, which are put into another order."""
    position = quantile * (len(values) - 1)
    below = int(np.floor(position))
    low = _smallest(values, below)
    if position == below or below + 1 == len(values):
        return low
    high = values[below + 1]
    for other in range(below + 2, len(values)):
        high = min(high, values[other])
    return low + (high - low) * (position - below)


@compiled
def _smallest(values: Any, rank: int) -> float:
    """Return the value at a rank, with smaller ones before it and larger ones after it."""
    first, last = 0, len(values) - 1
    while first < last:
        pivot = values[(first + last) // 2]
        low, high = first, last
        while low <= high:
            while values[low] < pivot:
                low += 1
            while values[high] > pivot:
                high -= 1
            if low <= high:
                values[low], values[high] = values[high], values[low]
                low += 1
                high -= 1
        if rank <= high:
            last = high
        elif rank >= low:
            first = low
        else:
            break
    return values[rank]


@compiled
def weighted_quantile(values: Any, weight: Any, quantile: float) -> float:
    """Return the smallest value at which the values up to it have the share `quantile` of the weight.

    Both arrays are put into another order.
    """
    wanted = quantile * weight.sum()
    first, last = 0, len(values) - 1
    while first < last:
        pivot = values[(first + last) // 2]
        low, high, here = first, last, first  # smaller ones lie before low, larger ones after high
        before = equal = 0.0
        while here <= high:
            if values[here] < pivot:
                before += weight[here]
                values[low], values[here] = values[here], values[low]
                weight[low], weight[here] = weight[here], weight[low]
                low += 1
                here += 1
            elif values[here] > pivot:
                values[high], values[here] = values[here], values[high]
                weight[high], weight[here] = weight[here], weight[high]
                high -= 1
            else:
                equal += weight[here]
                here += 1
        if wanted <= before and low > first:
            last = low - 1
        elif wanted <= before + equal or high == last:
            return pivot
        else:
            wanted -= before + equal
            first = high + 1
    return values[first]
