"""Slow twins of the wrapper: plain loops in double precision, sharing nothing with the package."""

from __future__ import annotations

import math

import numpy as np

QUARTER_HOUR = 15 / 1440  # of a day: how far the course of the day is smoothed to either side
FLOOR = 0.3  # of a variable's whole spread: what the spread at an hour is at least


def is_missing(value):
    return value is None or value != value


# Weights


def softmax_weights(distances, temperature):
    """Equations 5 and 7: what is infinitely far has no weight, nothing near has no weights at all."""
    finite = [d for d in distances if math.isfinite(d)]
    if not finite:
        return [0.0] * len(distances)
    nearest = min(finite)
    raw = [math.exp(-(d - nearest) / temperature) if math.isfinite(d) else 0.0 for d in distances]
    return [value / math.fsum(raw) for value in raw]


def uniform_weights(distances):
    count = sum(1 for d in distances if math.isfinite(d))
    return [1 / count if math.isfinite(d) else 0.0 for d in distances]


def rank_weights(distances):
    m = sum(1 for d in distances if math.isfinite(d))
    return [
        sum(1 / j for j in range(place, m + 1)) / m if place <= m else 0.0 for place in range(1, len(distances) + 1)
    ]


def weights_of(way, distances, temperature=0.1):
    if way == "distance":
        return softmax_weights(distances, temperature)
    return rank_weights(distances) if way == "rank" else uniform_weights(distances)


def forecast_distance(new, neighbor):
    """Equation 6 of two forecasts [h][s]."""
    terms = [
        abs(float(new[q][s]) - float(neighbor[q][s])) / (q + 1) for q in range(len(new)) for s in range(len(new[0]))
    ]
    return sum(terms) / len(terms)


# The normalized space


def scaler(values, starts, lookback, per_variable):
    """Mean and deviation over the inputs of the windows: a step in six windows counts six times."""
    n = len(values[0])
    groups = [[i] for i in range(n)] if per_variable else [list(range(n))]
    mean, scale = [0.0] * n, [1.0] * n
    for group in groups:
        seen = [
            float(values[start + p][i])
            for start in starts
            for p in range(lookback)
            for i in group
            if not is_missing(values[start + p][i])
        ]
        center = math.fsum(seen) / len(seen)
        deviation = math.sqrt(math.fsum((x - center) ** 2 for x in seen) / len(seen))
        for i in group:
            mean[i], scale[i] = center, deviation if deviation > 0 else 1.0
    return mean, scale


def daily_profile(normal, slots, per_day):
    """Mean and floored deviation of each variable at each slot and those within a quarter of an hour, by the clock."""
    n = len(normal[0])
    reach = min(round(QUARTER_HOUR * per_day), (per_day - 1) // 2)

    def near(slot, other):
        apart = abs(slot - other)
        return min(apart, per_day - apart) <= reach

    mean = [[0.0] * n for _ in range(per_day)]
    deviation = [[0.0] * n for _ in range(per_day)]
    for i in range(n):
        known = [t for t in range(len(normal)) if not is_missing(normal[t][i])]
        for slot in range(per_day):
            here = [float(normal[t][i]) for t in known if near(slot, slots[t])]
            mean[slot][i] = sum(here) / len(here) if here else 0.0
        squares = {t: (float(normal[t][i]) - mean[slots[t]][i]) ** 2 for t in known}
        overall = math.sqrt(sum(squares.values()) / max(1, len(known)))
        for slot in range(per_day):
            here = [squares[t] for t in known if near(slot, slots[t])]
            found = math.sqrt(sum(here) / len(here)) if here else 0.0
            deviation[slot][i] = max(found, FLOOR * overall if overall > 0 else 1.0)
    return mean, deviation


def space(values, slots, per_day, starts, lookback, per_variable=True):
    """Center and spread, [slot][variable] each."""
    mean, scale = scaler(values, starts, lookback, per_variable)
    n = len(mean)
    if per_day == 1:
        return [mean], [scale]
    normal = [[(float(row[i]) - mean[i]) / scale[i] for i in range(n)] for row in values]
    usual, deviation = daily_profile(normal, slots, per_day)
    center = [[mean[i] + scale[i] * usual[k][i] for i in range(n)] for k in range(per_day)]
    spread = [[scale[i] * deviation[k][i] for i in range(n)] for k in range(per_day)]
    return center, spread


# Moments and regressions


def pairs(steps, lag):
    """By what the sum over pairs of steps `lag` apart is divided."""
    return steps


def lag_covariance(z, lag, i, j):
    """E[z_t[i] z_{t+lag}[j]], a missing reading counting as 0."""
    if lag < 0:
        return lag_covariance(z, -lag, j, i)
    total = 0.0
    for t in range(len(z) - lag):
        a, b = float(z[t][i]), float(z[t + lag][j])
        total += (0.0 if is_missing(a) else a) * (0.0 if is_missing(b) else b)
    return total / pairs(len(z), lag)


def regression(z, present, steps, ridge, targets):
    """The ridge regression of cells (step, variable) on S at `steps`: a matrix [steps * s, targets], row by row."""
    cells = [(step, i) for step in steps for i in present]
    known = {}

    def covariance(a, b):
        key = (b[0] - a[0], a[1], b[1])
        if key not in known:
            known[key] = lag_covariance(z, *key)
        return known[key]

    gram = np.array([[covariance(a, b) + (ridge if a == b else 0.0) for b in cells] for a in cells])
    cross = np.array([[covariance(a, b) for b in targets] for a in cells])
    return np.linalg.solve(gram, cross)


# Retrieval and completion


def window_distance(query, candidate, exponent):
    """Mean |difference|^b over cells [t][s][f]; a missing reading takes its features with it."""
    total, count = 0.0, 0
    for query_step, candidate_step in zip(query, candidate, strict=True):
        for asked, found in zip(query_step, candidate_step, strict=True):
            if is_missing(asked[0]) or is_missing(found[0]):
                continue
            for a, b in zip(asked, found, strict=True):
                total += abs(float(a) - float(b)) ** exponent
                count += 1
    return total / count if count else math.inf


def nearest(query, candidates, k, exponent):
    """Distance and place of the k nearest, ties to the earlier."""
    every = [(window_distance(query, candidate, exponent), place) for place, candidate in enumerate(candidates)]
    return sorted(every)[:k]


def filled(readings, path):
    """One variable's readings [t] without holes: the path, moved by the offset between the nearest readings."""
    known = [t for t, value in enumerate(readings) if not is_missing(value)]
    if not known:
        return list(path)
    full = []
    for t, value in enumerate(readings):
        if not is_missing(value):
            full.append(float(value))
            continue
        before = [u for u in known if u < t]
        after = [u for u in known if u > t]
        if before and after:
            a, b = before[-1], after[0]
            first, last = readings[a] - path[a], readings[b] - path[b]
            offset = first + (last - first) * (t - a) / (b - a)
        else:
            u = before[-1] if before else after[0]
            offset = readings[u] - path[u]
        full.append(path[t] + offset)
    return full


def middle(values):
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


# The two methods


def paper_forecast(model, values, features, starts, lookback, window, window_features, present, **settings):
    """The published method for one window [t][n]: forecasts [h][s], and weights.

    `values` [steps][n] with `features` [steps] or None are those of training, `starts` the training windows.
    """
    weighting, tau = settings.get("weighting", "forecast"), settings.get("temperature", 0.1)
    m, b = settings.get("neighbors", 5), settings.get("exponent", 0.5)
    mean, scale = scaler(values, starts, lookback, per_variable=False)
    n = len(mean)

    def cell(reading, i, feature):
        return [(float(reading) - mean[i]) / scale[i]] + ([] if feature is None else [float(feature)])

    def at(step):
        return None if features is None else features[step]

    candidates = [
        [[cell(values[start + p][i], i, at(start + p)) for i in present] for p in range(lookback)] for start in starts
    ]
    query = [
        [cell(window[p][i], i, None if features is None else window_features[p]) for i in present]
        for p in range(lookback)
    ]
    found = nearest(query, candidates, m, b)
    forecasts, apart = [], []
    for _, place in found:
        start = starts[place]
        new = np.empty((lookback, n, 1 if features is None else 2))
        old = np.empty_like(new)
        for p in range(lookback):
            for i in range(n):
                old[p, i, 0] = values[start + p][i]
                new[p, i, 0] = window[p][i] if i in present else values[start + p][i]
                if features is not None:
                    old[p, i, 1] = features[start + p]
                    new[p, i, 1] = window_features[p] if i in present else features[start + p]
        ours, theirs = model(new[None])[0], model(old[None])[0]  # [h, n] each, raw
        forecasts.append([[float(ours[q][i]) for i in present] for q in range(len(ours))])
        apart.append(
            forecast_distance(
                [[(ours[q][i] - mean[i]) / scale[i] for i in present] for q in range(len(ours))],
                [[(theirs[q][i] - mean[i]) / scale[i] for i in present] for q in range(len(ours))],
            )
        )
    distances = [distance for distance, _ in found]
    weights = softmax_weights(apart, tau) if weighting == "forecast" else weights_of(weighting, distances, tau)
    mixed = [
        [sum(w * f[q][s] for w, f in zip(weights, forecasts, strict=True)) for s in range(len(present))]
        for q in range(len(forecasts[0]))
    ]
    return mixed, weights, [starts[place] for _, place in found]


def pooled_forecast(model, values, slots, per_day, starts, lookback, horizon, window, first_slot, present, settings):
    """The default method for one window [t][n] (NaN where nothing came): [h][n] for every variable."""
    n = len(values[0])
    absent = [i for i in range(n) if i not in present]
    center, spread = space(values, slots, per_day, starts, lookback)
    z = [
        [(float(row[i]) - center[k][i]) / spread[k][i] for i in range(n)] for row, k in zip(values, slots, strict=True)
    ]
    clock = settings.time_of_day_weight if per_day > 1 else 0.0

    def hand(slot):
        angle = 2 * math.pi * slot / per_day
        return [clock * math.sin(angle), clock * math.cos(angle)] if clock else []

    mine = [(first_slot + p) % per_day for p in range(lookback + horizon)]
    query = [
        [[(float(window[p][i]) - center[mine[p]][i]) / spread[mine[p]][i], *hand(mine[p])] for i in present]
        for p in range(lookback)
    ]
    candidates = [
        [[[z[start + p][i], *hand(slots[start + p])] for i in present] for p in range(lookback)] for start in starts
    ]
    found = nearest(query, candidates, settings.neighbors, settings.exponent)
    near = [starts[place] for _, place in found]
    weights = weights_of(settings.weighting, [distance for distance, _ in found], settings.temperature)
    pooled = [
        [sum(w * z[start + p][i] for w, start in zip(weights, near, strict=True)) for i in range(n)]
        for p in range(lookback)
    ]
    readings = [[0.0] * len(present) for _ in range(lookback)]
    for place, i in enumerate(present):
        course = filled([query[p][place][0] for p in range(lookback)], [pooled[p][i] for p in range(lookback)])
        for p in range(lookback):
            readings[p][place] = course[p]
    off = np.array([readings[p][place] - pooled[p][i] for p in range(lookback) for place, i in enumerate(present)])
    used = z[min(starts) : max(starts) + lookback + horizon]
    past = [(p, i) for p in range(lookback) for i in absent]
    future = [(lookback + q, i) for q in range(horizon) for i in range(n)]
    says = off @ regression(used, present, range(lookback), settings.ridge, past + future)
    said = dict(zip(past + future, says, strict=True))
    inputs = np.empty((1, lookback, n, 1))
    for p in range(lookback):
        for i in range(n):
            if i in present:
                raw = float(window[p][i])
                normal = readings[p][present.index(i)]
            else:
                raw = math.nan
                normal = pooled[p][i] + settings.correction * said[p, i]
            restored = normal * spread[mine[p]][i] + center[mine[p]][i]
            inputs[0, p, i, 0] = restored if is_missing(raw) else raw
    by_model = model(inputs)[0]
    share = len(present) / n
    forecast = [[0.0] * n for _ in range(horizon)]
    for q in range(horizon):
        slot = mine[lookback + q]
        for i in range(n):
            futures = [z[start + lookback + q][i] for start in near]
            if settings.center == "median":
                own = middle(futures)
            else:
                own = sum(w * x for w, x in zip(weights, futures, strict=True))
            own = (own + settings.regression_share * said[lookback + q, i]) * spread[slot][i] + center[slot][i]
            blend = blend_of(settings, share, q, i not in present)
            forecast[q][i] = (1 - blend) * float(by_model[q][i]) + blend * own
    return forecast, near


def blend_of(settings, share, step, is_absent):
    """The specialist's part: straight lines between the shares, constant below the first, 0 at all (if in S)."""
    tables = settings.blend_absent if is_absent and settings.blend_absent else settings.blend
    table = tables.get("specialist", ())
    if not table:
        return 0.0
    knots = [*settings.shares, 1.0]
    heights = [row[step] for row in table]
    heights.append(heights[-1] if is_absent else 0.0)
    if share <= knots[0]:
        return heights[0]
    for left in range(len(knots) - 1):
        a, b = knots[left], knots[left + 1]
        if a <= share <= b:
            return heights[left] + (heights[left + 1] - heights[left]) * (share - a) / (b - a)
    return heights[-1]
