"""The compiled loop that evaluates trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from subcast.retrieval.compiled.powers import compiled


@compiled
def add_trees(
    total: Any,
    rows: Any,
    roots: Any,
    feature: Any,
    threshold: Any,
    missing_left: Any,
    left: Any,
    right: Any,
    value: Any,
) -> None:
    """Add the value of the leaf that each row [r, f] reaches in each tree to `total` [r].

    A node whose feature is -1 is a leaf. A row goes left if its value is at most the threshold, or if it is missing
    and `missing_left` is 1.
    """
    for row in range(rows.shape[0]):
        cells = rows[row]
        amount = 0.0
        for root in roots:
            node = root
            while feature[node] >= 0:
                cell = cells[feature[node]]
                if np.isnan(cell):
                    node = left[node] if missing_left[node] else right[node]
                elif cell <= threshold[node]:
                    node = left[node]
                else:
                    node = right[node]
            amount += value[node]
        total[row] += amount
