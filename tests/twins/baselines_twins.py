"""Slow twins of the baselines: plain loops in double precision, sharing nothing with the package."""

from __future__ import annotations

import math

import numpy as np
from sklearn.linear_model import Ridge


def there(value):
    return value == value


def scaler(train, per_variable):
    """Mean and deviation of each variable over the inputs of the windows (one pair for all: the same for each)."""
    n = train.series.n_variables
    seen = [[] for _ in range(n)]
    for start in train.starts:
        for step in range(start, start + train.lookback):
            for v in range(n):
                if there(train.series.values[step, v]):
                    seen[v].append(float(train.series.values[step, v]))
    if not per_variable:
        seen = [[x for values in seen for x in values]] * n
    means = [math.fsum(values) / len(values) for values in seen]
    deviations = [math.sqrt(math.fsum((x - m) ** 2 for x in xs) / len(xs)) for xs, m in zip(seen, means, strict=True)]
    return means, deviations


def normalized(series, means, deviations):
    return [[(float(x) - means[v]) / deviations[v] for v, x in enumerate(row)] for row in series.values]


def features_of(series):
    return None if series.features is None else series.features.astype(np.float64).tolist()


def distance(a, b, variables, extra_a, extra_b, exponent):
    """Mean of |difference|^b over steps, variables and features, over what both have; None when too little is."""
    total, count, asked = 0.0, 0, 0
    for step in range(len(a)):
        for v in variables:
            asked += there(a[step][v])
            if there(a[step][v]) and there(b[step][v]):
                total += abs(a[step][v] - b[step][v]) ** exponent
                count += 1
            if extra_a is not None:
                for x, y in zip(extra_a[step], extra_b[step], strict=True):
                    total += abs(x - y) ** exponent
                    count += 1
                    asked += 1
    return None if count == 0 or count < 0.5 * asked else total / count


def nearest(window, extra, rows, extras, starts, length, variables, k, exponent):
    """The starts of the k nearest stretches of `rows`, nearest first."""
    found = []
    for start in starts:
        other = None if extras is None else extras[start : start + length]
        d = distance(window, rows[start : start + length], variables, extra, other, exponent)
        if d is not None:
            found.append((d, start))
    return [start for _, start in sorted(found)[:k]]


def mean_of(values):
    known = [x for x in values if there(x)]
    return math.fsum(known) / len(known) if known else 0.0


def interpolated(column):
    """A list without NaN: on the straight line between neighbors, the nearest at the ends, 0 when all are NaN."""
    known = [i for i, x in enumerate(column) if there(x)]
    if not known:
        return [0.0] * len(column)
    filled = []
    for i, x in enumerate(column):
        before = [j for j in known if j < i]
        after = [j for j in known if j > i]
        if there(x):
            filled.append(x)
        elif not before:
            filled.append(column[after[0]])
        elif not after:
            filled.append(column[before[-1]])
        else:
            a, z = before[-1], after[0]
            filled.append(column[a] + (column[z] - column[a]) * (i - a) / (z - a))
    return filled


def steps_seen(train):
    return sorted({step for start in train.starts for step in range(start, start + train.lookback)})


class Setting:
    """Training windows and windows asked about, normalized by hand."""

    def __init__(self, train, windows, per_variable):
        self.train, self.windows = train, windows
        self.n, self.t, self.h = train.series.n_variables, train.lookback, train.horizon
        self.means, self.deviations = scaler(train, per_variable)
        self.rows = normalized(train.series, self.means, self.deviations)
        self.extras = features_of(train.series)
        self.asked = normalized(windows.series, self.means, self.deviations)
        self.asked_extras = features_of(windows.series)

    def window(self, start):
        return self.asked[start : start + self.t]

    def extra(self, start, length):
        return None if self.asked_extras is None else self.asked_extras[start : start + length]

    def raw(self, x, v):
        return x * self.deviations[v] + self.means[v]

    def without_holes(self, start, variables):
        """The readings of S in a window, [t][s]."""
        columns = [interpolated([row[v] for row in self.window(start)]) for v in variables]
        return [[column[step] for column in columns] for step in range(self.t)]

    def filled(self, present, estimate):
        """Readings [b, t, n] raw: those of S, elsewhere estimate(window, step, variable) in normalized units."""
        out = np.empty((len(self.windows), self.t, self.n))
        for i, start in enumerate(self.windows.starts):
            for step in range(self.t):
                for v in range(self.n):
                    own = float(self.windows.series.values[start + step, v])
                    known = v in present and there(own)
                    out[i, step, v] = own if known else self.raw(estimate(i, step, v), v)
        return out


def knne(setting, present, draws, k, exponent, unit):
    length = setting.t if unit == "window" else 1
    starts = sorted(setting.train.starts) if unit == "window" else steps_seen(setting.train)
    borrowed = {}
    for i, start in enumerate(setting.windows.starts):
        for first in range(0, setting.t, length):
            asked = setting.asked[start + first : start + first + length]
            extra = setting.extra(start + first, length)
            for m, variables in enumerate(draws):
                found = nearest(asked, extra, setting.rows, setting.extras, starts, length, variables, k, exponent)
                for step in range(length):
                    borrowed[i, first + step, m] = [place + step for place in found]

    def estimate(i, step, v):
        members = [mean_of([setting.rows[place][v] for place in borrowed[i, step, m]]) for m in range(len(draws))]
        return math.fsum(members) / len(members)

    return setting.filled(present, estimate)


def vote(candidates):
    """Weights by summed distance to the other candidates."""
    cost = [sum(abs(a - b) for b in candidates) for a in candidates]
    if min(cost) == 0:
        return sum(candidates) / len(candidates)
    weights = [1 / c for c in cost]
    return sum(w * c for w, c in zip(weights, candidates, strict=True)) / sum(weights)


def individual(setting, step, present, v, learning, ridge):
    """The model of one training step: a function of the readings of S."""
    steps = steps_seen(setting.train)
    extra = None if setting.extras is None else [setting.extras[step]]
    near = nearest([setting.rows[step]], extra, setting.rows, setting.extras, steps, 1, present, learning, 2)
    near += [step] * (min(learning, len(steps)) - len(near))
    x = np.array([[setting.rows[j][s] for s in present] for j in near])
    y = np.array([setting.rows[j][v] for j in near])
    for column in x.T:
        column[np.isnan(column)] = mean_of(column)
    y[np.isnan(y)] = mean_of(y)
    return Ridge(alpha=ridge).fit(x, y)


def iim(setting, present, k, learning, ridge):
    models = {}
    steps = steps_seen(setting.train)
    absent = [v for v in range(setting.n) if v not in present]
    table = {}
    for i, start in enumerate(setting.windows.starts):
        known = setting.without_holes(start, present)
        for step in range(setting.t):
            query = [math.nan] * setting.n
            for s, v in enumerate(present):
                query[v] = known[step][s]
                table[i, step, v] = known[step][s]
            extra = setting.extra(start + step, 1)
            near = nearest([query], extra, setting.rows, setting.extras, steps, 1, present, k, 2)
            for v in absent:
                candidates = []
                for j in near:
                    if (j, v) not in models:
                        models[j, v] = individual(setting, j, present, v, learning, ridge)
                    candidates.append(models[j, v].predict([known[step]])[0])
                table[i, step, v] = vote(candidates)
    return setting.filled(present, lambda i, step, v: table[i, step, v])


def ridge(setting, present, strength, whole_window):
    absent = [v for v in range(setting.n) if v not in present]
    rows = [[x if there(x) else 0.0 for x in row] for row in setting.rows]
    if whole_window:
        samples = [rows[start : start + setting.t] for start in setting.train.starts]
    else:
        samples = [[rows[step]] for step in steps_seen(setting.train)]
    x = np.array([[row[s] for row in sample for s in present] for sample in samples])
    y = np.array([[row[v] for row in sample for v in absent] for sample in samples])
    model = Ridge(alpha=strength * x.var(axis=0).mean() * len(x)).fit(x, y)
    table = {}
    for i, start in enumerate(setting.windows.starts):
        known = setting.without_holes(start, present)
        for step in range(setting.t):
            for s, v in enumerate(present):
                table[i, step, v] = known[step][s]
            flat = [value for row in known for value in row] if whole_window else known[step]
            said = model.predict([flat])[0]
            for place, v in enumerate(absent):
                table[i, step, v] = said[step * len(absent) + place] if whole_window else said[place]
    return setting.filled(present, lambda i, step, v: table[i, step, v])


def neighbor_forecast(setting, present, k, exponent, futures):
    out = np.empty((len(setting.windows), setting.h, len(present)))
    starts = sorted(setting.train.starts)
    for i, start in enumerate(setting.windows.starts):
        near = nearest(
            setting.window(start), setting.extra(start, setting.t), setting.rows, setting.extras, starts, setting.t,
            present, k, exponent,
        )  # fmt: skip
        weights = [sum(1 / j for j in range(place, len(near) + 1)) / len(near) for place in range(1, len(near) + 1)]
        for q in range(setting.h):
            for s, v in enumerate(present):
                pairs = [(w, float(futures[j + setting.t + q, v])) for w, j in zip(weights, near, strict=True)]
                pairs = [(w, x) for w, x in pairs if there(x)]
                total = sum(w for w, _ in pairs)
                out[i, q, s] = sum(w * x for w, x in pairs) / total if total else setting.means[v]
    return out


def linear(setting, present, kernel, strength, rounds, shared):
    """Trend and remainder as inputs of their own, one regression for each variable (or all) and step."""

    def inputs(column):
        half = kernel // 2
        padded = [column[0]] * half + column + [column[-1]] * half
        trend = [sum(padded[i : i + kernel]) / kernel for i in range(len(column))]
        return trend + [x - m for x, m in zip(column, trend, strict=True)]

    def samples(v, q):
        x, y = [], []
        for start in setting.train.starts:
            target = float(setting.train.target_values[start + setting.t + q, v])
            if there(target):
                x.append(inputs(interpolated([row[v] for row in setting.rows[start : start + setting.t]])))
                y.append((target - setting.means[v]) / setting.deviations[v])
        return x, y

    out = np.empty((len(setting.windows), setting.h, len(present)))
    for q in range(setting.h):
        every = [samples(v, q) for v in range(setting.n)] if shared else None
        for s, v in enumerate(present):
            if shared:
                x = np.array([row for xs, _ in every for row in xs])
                y = np.array([value for _, ys in every for value in ys])
            else:
                x, y = (np.array(part) for part in samples(v, q))
            weights = np.ones(len(y))
            for _ in range(rounds + 1):
                model = Ridge(alpha=strength * weights.sum()).fit(x, y, sample_weight=weights)
                weights = 1 / np.maximum(np.abs(y - model.predict(x)), 0.01)
            for i, start in enumerate(setting.windows.starts):
                column = interpolated([row[v] for row in setting.window(start)])
                out[i, q, s] = setting.raw(model.predict([inputs(column)])[0], v)
    return out


def last_value(train, windows, present):
    means, _ = scaler(train, per_variable=True)
    out = np.empty((len(windows), windows.horizon, len(present)))
    for i, start in enumerate(windows.starts):
        for s, v in enumerate(present):
            known = [x for x in windows.series.values[start : start + windows.lookback, v] if there(x)]
            out[i, :, s] = known[-1] if known else means[v]
    return out


def seasonal_naive(train, windows, present, period, whole):
    """Readings are looked up in `whole`, the series that everything was cut from, up to the forecast's moment."""
    out = last_value(train, windows, present)
    for i, start in enumerate(windows.starts):
        now = windows.series.offset + start + windows.lookback  # the first step to forecast
        for q in range(windows.horizon):
            past = [now + q - period * back for back in range(1, 100) if now + q - period * back < now][:7]
            for s, v in enumerate(present):
                for step in past:
                    if step >= whole.offset and there(whole.values[step - whole.offset, v]):
                        out[i, q, s] = whole.values[step - whole.offset, v]
                        break
    return out
