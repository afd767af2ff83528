"""Slow twins of a bank in files: which steps and candidates each file holds, and moments by plain loops."""

from __future__ import annotations


def files_of(n_steps, steps, overlap):
    """Return (first, end) of each file of a series that is written in one go."""
    files = [(0, min(steps + overlap, n_steps))]
    while files[-1][1] < n_steps:
        first = files[-1][1] - overlap
        files.append((first, min(first + steps + overlap, n_steps)))
    return files


def owner_of(start, files):
    """Return the file to which a start belongs: the last one that begins no later."""
    return max(number for number, (first, _) in enumerate(files) if first <= start)


def runs_to_starts(runs):
    starts = []
    for first, stop, step in runs:
        while first < stop:
            starts.append(first)
            first += step
    return starts


def lagged_products(z, lags, first, last):
    """Return mean of z[t][i] * z[t + lag][j] over the steps first .. last - 1, missing readings as 0: [lag][i][j]."""
    n = len(z[0])
    table = [[[0.0] * n for _ in range(n)] for _ in range(lags)]
    for lag in range(lags):
        for t in range(first, last - lag):
            for i in range(n):
                for j in range(n):
                    a, b = float(z[t][i]), float(z[t + lag][j])
                    if a == a and b == b:
                        table[lag][i][j] += a * b / (last - first)
    return table


def merged(answers, k):
    """Return the k nearest (distance, index) pairs of several lists."""
    return sorted(pair for answer in answers for pair in answer)[:k]
