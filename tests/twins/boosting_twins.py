"""Slow twins of the boosted trees: one row, one tree, one node at a time."""

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


def bin_number(value, edges):
    """Return the number of edges below a value; 255 if it is missing."""
    return 255 if math.isnan(value) else sum(1 for edge in edges if edge < value)


def gradients(target, sums, weight, loss, quantile):
    """Return the derivative of each row's loss by its forecast."""
    found = []
    for y, forecast, heavy in zip(target, sums, weight, strict=True):
        if loss == "squared":
            slope = forecast - y
        elif loss == "absolute":
            slope = 1.0 if forecast > y else -1.0
        else:
            slope = 1 - quantile if forecast > y else -quantile
        found.append(slope * heavy)
    return found


def quantile_of(values, quantile):
    """Return a quantile that is linear between the two nearest values."""
    ordered = sorted(values)
    position = quantile * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def weighted_quantile_of(values, weight, quantile):
    """Return the smallest value at which the values up to it have a share of the weight."""
    wanted, total = quantile * sum(weight), 0.0
    for value, heavy in sorted(zip(values, weight, strict=True)):
        total += heavy
        if total >= wanted:
            return value
    return max(values)


def best_split(numbers, rows, slopes, curves, counts, leaf_rows, l2, score):
    """Return (gain, feature, bin, missing goes left, left rows) of the best split of some rows, or None."""
    best = None
    for feature, count in enumerate(counts):
        missing = any(line[feature] == 255 for line in numbers)
        for missing_left in (False, True) if missing else (False,):
            places = range(count - 1 + missing) if not missing_left else range(count - 2, -1, -1)
            for place in places:
                left = [
                    r for r in rows if (missing_left if numbers[r][feature] == 255 else numbers[r][feature] <= place)
                ]
                right = [r for r in rows if r not in set(left)]
                if min(len(left), len(right)) < leaf_rows:
                    continue
                gain = -score
                for side in (left, right):
                    gain += sum(slopes[r] for r in side) ** 2 / (sum(curves[r] for r in side) + l2)
                if gain > 1e-12 and (best is None or gain > best[0] * (1 + 1e-9)):
                    best = (gain, feature, place, missing_left, left, right)
    return best


def grown_leaves(numbers, slopes, curves, counts, leaves, leaf_rows, l2):
    """Return the rows of the leaves of one tree, as sorted lists: the node that gains most is split first."""
    open_nodes = [(list(range(len(numbers))), 0.0)]
    while len(open_nodes) < leaves:
        found = [best_split(numbers, rows, slopes, curves, counts, leaf_rows, l2, score) for rows, score in open_nodes]
        gains = [0.0 if split is None else split[0] for split in found]
        if max(gains) <= 0:
            break
        chosen = gains.index(max(gains))
        open_nodes.pop(chosen)
        for side in found[chosen][4:]:
            score = sum(slopes[r] for r in side) ** 2 / (sum(curves[r] for r in side) + l2)
            open_nodes.append((side, score))
    return sorted(sorted(rows) for rows, _ in open_nodes)
