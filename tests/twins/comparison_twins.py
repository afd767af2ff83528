"""Tallies and bootstrap intervals in plain loops."""

import math

import numpy as np


def stretch_sizes(windows, stretches):
    """Sizes of the stretches of consecutive windows, the longer ones first."""
    sizes = []
    left = windows
    for number in range(stretches):
        size = math.ceil(left / (stretches - number))
        sizes.append(size)
        left -= size
    return sizes


def tally(forecast, target, step, stretches=50):
    """Sums of absolute and squared errors and counts: for every step over all windows, and by stretch at one step."""
    windows, horizon, variables = forecast.shape
    by_step = [[0.0, 0.0, 0] for _ in range(horizon)]
    stretches = min(stretches, windows)
    by_stretch = [[0.0, 0.0, 0] for _ in range(stretches)]
    stretch_of = []
    for number, size in enumerate(stretch_sizes(windows, stretches)):
        stretch_of += [number] * size
    for window in range(windows):
        for q in range(horizon):
            for variable in range(variables):
                truth = float(target[window, q, variable])
                if math.isnan(truth):
                    continue
                error = float(forecast[window, q, variable]) - truth
                cells = [by_step[q]]
                if q + 1 == step:
                    cells.append(by_stretch[stretch_of[window]])
                for cell in cells:
                    cell[0] += abs(error)
                    cell[1] += error * error
                    cell[2] += 1
    return by_step, by_stretch


def mean_error(cells, metric):
    """MAE or RMSE of some cells of [absolute, squared, count], NaN when nothing counted."""
    count = sum(cell[2] for cell in cells)
    if count == 0:
        return math.nan
    if metric == "mae":
        return sum(cell[0] for cell in cells) / count
    return math.sqrt(sum(cell[1] for cell in cells) / count)


def interval(ours, theirs, metric, level, resamples, seed):
    """Percentile interval of the gap of mean errors; `ours` and `theirs` are lists of stretches for each draw."""
    draws, stretches = len(ours), len(ours[0])
    rng = np.random.default_rng(seed)
    stretch_counts = rng.multinomial(stretches, [1 / stretches] * stretches, size=resamples).tolist()
    draw_counts = rng.multinomial(draws, [1 / draws] * draws, size=resamples).tolist()
    gaps = []
    for taken_stretches, taken_draws in zip(stretch_counts, draw_counts, strict=True):
        means = []
        for method in (ours, theirs):
            total = 0.0
            for draw in range(draws):
                cells = []
                for number in range(stretches):
                    cells += [method[draw][number]] * taken_stretches[number]
                for _ in range(taken_draws[draw]):
                    total += mean_error(cells, metric)
            means.append(total / draws)
        gap = 100 * (means[0] - means[1]) / means[1]
        if not math.isnan(gap):
            gaps.append(gap)
    gaps.sort()
    return quantile(gaps, (1 - level) / 2), quantile(gaps, (1 + level) / 2)


def quantile(ordered, share):
    """Quantile of sorted values by linear interpolation."""
    position = share * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])
