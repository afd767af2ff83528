"""Slow twins of the experts' features, practice and shares: plain loops, sharing nothing with the package."""

from __future__ import annotations

import math


def is_missing(value):
    return value != value


def level_of(center, spread):
    """Mean and overall spread of one variable from its rows of a profile, [k] each."""
    mean = math.fsum(center) / len(center)
    variance = math.fsum((value - mean) ** 2 for value in center) / len(center)
    return mean, math.sqrt(math.fsum(value * value for value in spread) / len(spread) + variance)


def crowd(readings, n):
    """Mean deviation of S at the last step and over the last four, and the share present; readings [t][s]."""
    last = [value for value in readings[-1] if not is_missing(value)]
    recent = [value for step in readings[-4:] for value in step if not is_missing(value)]
    alive = [s for s in range(len(readings[0])) if any(not is_missing(step[s]) for step in readings)]
    return [
        math.fsum(last) / len(last) if last else 0.0,
        math.fsum(recent) / len(recent) if recent else 0.0,
        len(alive) / n,
    ]


def feature_row(readings, linear, table, rows_ahead, rows_past, lags, step, variable, crowd_values, clocks):
    """The features of one window, step ahead and variable.

    `readings` [t] and `linear` are deviations of the variable; `table` is its (center, spread) in each row of the
    profile; `rows_ahead` and `rows_past` are the rows of the profile at the steps.
    """
    center, spread = table
    mean, scale = level_of(center, spread)

    def in_units(deviation, row):
        return (deviation * spread[row] + center[row] - mean) / scale

    cells = [readings[lag] for lag in lags]
    cells += [in_units(readings[lag], rows_past[lag]) for lag in lags]
    row = rows_ahead[step]
    cells += [linear, in_units(linear, row), in_units(0.0, row), spread[row] / scale]
    return [*cells, *crowd_values, step, variable, *clocks]


def carried(readings):
    """One variable's readings [t]: a missing one is the nearest earlier, else the nearest later one, else 0."""
    filled = []
    for place, value in enumerate(readings):
        if not is_missing(value):
            filled.append(value)
            continue
        before = [u for u in range(place) if not is_missing(readings[u])]
        after = [u for u in range(place + 1, len(readings)) if not is_missing(readings[u])]
        filled.append(readings[before[-1]] if before else readings[after[0]] if after else 0.0)
    return filled


def interpolated(values, steps, horizon):
    """Values at all steps, linear between those [len(steps)] at some steps."""
    result = []
    for step in range(horizon):
        right = next(place for place, own in enumerate(steps) if own >= step)
        if steps[right] == step:
            result.append(values[right])
            continue
        left = right - 1
        weight = (step - steps[left]) / (steps[right] - steps[left])
        result.append((1 - weight) * values[left] + weight * values[right])
    return result


def mixture_loss(errors, shares, windows, step, power):
    """Mean loss of a mixture over some windows and all variables at one step; errors [experts][b][h][s]."""
    total, count = 0.0, 0
    for window in windows:
        for s in range(len(errors[0][0][0])):
            own = [float(expert[window][step][s]) for expert in errors]
            if any(is_missing(value) for value in own):
                continue
            total += abs(math.fsum(share * value for share, value in zip(shares, own, strict=True))) ** power
            count += 1
    return total / count if count else 0.0


def smoothed(values):
    """Each value twice with its two neighbors, the ends repeated."""
    last = len(values) - 1
    return [(values[max(i - 1, 0)] + 2 * values[i] + values[min(i + 1, last)]) / 4 for i in range(len(values))]


def steady_shares(tried, losses, doubt=0.75):
    """The mixture nearest to the first that is not clearly worse than the best, at each step; losses [m][blocks][h].

    The first mixture has less of experts that are worse alone.
    """
    m, blocks, h = len(losses), len(losses[0]), len(losses[0][0])
    best = [max(min(sum(losses[i][b][q] for b in range(blocks)) / blocks for i in range(m)), 1e-12) for q in range(h)]
    relative = [[[losses[i][b][q] / best[q] for q in range(h)] for b in range(blocks)] for i in range(m)]
    for i in range(m):
        for b in range(blocks):
            overall = sum(relative[i][b]) / h
            relative[i][b] = [(near + overall) / 2 for near in smoothed(relative[i][b])]
    chosen = []
    experts = len(tried[0])
    for q in range(h):
        means = [sum(relative[i][b][q] for b in range(blocks)) / blocks for i in range(m)]
        winner = means.index(min(means))
        alone = [next(means[i] for i in range(m - 1, -1, -1) if tried[i][k] == 1) for k in range(experts)]
        usual = [tried[0][k] * (min(alone) / alone[k]) ** 16 for k in range(experts)]
        usual = [part / sum(usual) for part in usual]
        good = []
        for i in range(m):
            behind = [relative[i][b][q] - relative[winner][b][q] for b in range(blocks)]
            mean = sum(behind) / blocks
            variance = sum((value - mean) ** 2 for value in behind) / (blocks - 1) if blocks > 1 else 0.0
            if mean <= doubt * math.sqrt(variance / blocks):
                distance = sum(abs(a - b) for a, b in zip(tried[i], usual, strict=True))
                good.append((distance, i))
        chosen.append(tried[min(good)[1]])
    columns = [smoothed([chosen[q][k] for q in range(h)]) for k in range(len(tried[0]))]
    return [[column[q] for column in columns] for q in range(h)]
