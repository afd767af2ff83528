"""Data and comparisons that the tests of the searches share."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from twins import retrieval_twins as naive

EXPONENTS = [0.5, 1, 2, 1 / 3, 0.33, 0.8, 3.0]


def random_walk(t, n, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    values = np.cumsum(rng.normal(size=(t, n)), axis=0).astype(np.float32)
    values[rng.random((t, n)) < missing] = np.nan
    return values


def time_of_day(t):
    return (np.arange(t) % 17 / 17).astype(np.float32)


def with_time(values, time):
    """Return [t, n, 2]: the readings and the time of day, which is the same for all variables."""
    return np.stack([values, np.broadcast_to(time[:, None], values.shape)], axis=-1)


def windows_of(steps, lookback):
    return np.stack([steps[j : j + lookback] for j in range(len(steps) - lookback + 1)])


def with_features(values):
    """Return [t, n] as [t, n, 1]."""
    return values if values.ndim == 3 else values[..., None]


def assert_equal(one, other):
    """Check that two results are identical to the bit."""
    assert np.array_equal(one.index, other.index)
    assert np.array_equal(one.distance, other.distance)


def search_all(bank, steps, variables, k, exponent=0.5, at=None, **options):
    """Search the windows of the same steps in four ways, check that the results are identical, and return one."""
    windows = windows_of(steps, bank.lookback)
    starts = None if at is None else at + np.arange(len(windows))
    together = bank.nearest(windows, variables, k, exponent, at=starts, method="scan", **options)
    assert_equal(together, bank.nearest_sliding(steps, variables, k, exponent, at=at, **options))
    stream = bank.stream(variables, k, exponent, at=at, **options)
    pushed = [stream.push(step) for step in steps][bank.lookback - 1 :]
    for j, window in enumerate(windows):
        own_start = None if at is None else at + j
        alone = bank.nearest(window[None], variables, k, exponent, at=own_start, method="scan", **options)
        for result in (alone, pushed[j]):
            assert np.array_equal(together.index[j], result.index[0])
            assert np.array_equal(together.distance[j], result.distance[0])
    return windows, together


def assert_twin(values, bank, windows, neighbors, variables, k, exponent=0.5, min_overlap=0.5, excluded=None):
    """Compare a result with the twin's for each window; `values` [t, n] or [t, n, f] are those of the bank."""
    starts = bank.starts.tolist()
    cells = with_features(values)
    for j, window in enumerate(windows):
        query = with_features(window)
        every = naive.distances(cells, bank.lookback, starts, query, variables, exponent, min_overlap)
        twin = naive.k_nearest(every, starts, k, excluded[j] if excluded else ())
        naive.assert_same(neighbors.index[j].tolist(), neighbors.distance[j].tolist(), twin, every)


@st.composite
def problems(draw):
    """Draw readings, lengths of series, lookback, variables and k; with ties, constants and missing readings."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, lookback = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    lengths = draw(st.lists(st.integers(lookback, 30), min_size=1, max_size=3))
    f = draw(st.integers(1, 3))
    kind = draw(st.sampled_from(["normal", "integer", "constant", "periodic"]))
    total = sum(lengths)
    shape = (total + lookback + 3, n, f) if f > 1 else (total + lookback + 3, n)
    if kind == "normal":
        values = rng.normal(size=shape)
    elif kind == "integer":
        values = rng.integers(0, 4, size=shape)
    elif kind == "constant":
        values = np.full(shape, 1.5)
    else:
        values = np.resize(rng.normal(size=(lookback + 1, *shape[1:])), shape)
    values = values.astype(np.float32)
    if draw(st.booleans()):
        values[rng.random(size=shape) < draw(st.sampled_from([0.05, 0.4]))] = np.nan
    variables = rng.permutation(n)[: draw(st.integers(1, n))].tolist()
    k = draw(st.integers(1, total))
    return values, lengths, lookback, variables, k
