"""Slow twin of the boosted trees: one row, one tree, one node at a time."""

import math


def tree_sum(trees, row):
    """Return the prediction of one row by following each tree from its root."""
    total = float(trees.baseline)
    for root in trees.roots.tolist():
        node = root
        while trees.feature[node] != -1:
            cell = float(row[trees.feature[node]])
            missing = math.isnan(cell)
            goes_left = bool(trees.missing_left[node]) if missing else cell <= float(trees.threshold[node])
            node = int(trees.left[node] if goes_left else trees.right[node])
        total += float(trees.value[node])
    return total
