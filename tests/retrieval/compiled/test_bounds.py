"""Envelopes and lower bounds of blocks, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from subcast.retrieval.compiled import bounds, kernel
from subcast.retrieval.compiled.powers import power_of
from twins import retrieval_twins as naive

STEPS, N_READINGS, N_OWN = 9, 2, 2
ROWS = np.array([0, 2, 3])  # two readings and a shared feature


def problem(t=300, seed=0):
    rng = np.random.default_rng(seed)
    data = np.cumsum(rng.normal(size=(4, t)), axis=1).astype(np.float32)
    n_blocks = -(-t // bounds.BLOCK)
    envelopes = np.empty((4, 2, bounds.PHASES, n_blocks + STEPS // bounds.BLOCK + 1), dtype=np.float32)
    for row in range(4):
        bounds.make_envelope(envelopes[row], data[row])
    data.flags.writeable = False
    q = np.ascontiguousarray([data[ROWS, begin : begin + STEPS].T for begin in (40, 200)]) + np.float32(0.1)
    q[1, 3, 0] = np.nan
    return data, envelopes, q, n_blocks


def test_envelopes_are_the_extremes_of_twenty_steps():
    data, envelopes, _, _ = problem()
    x = data[1]
    for block in range(envelopes.shape[3]):
        for phase in range(4):
            begin = 16 * block + 4 * phase
            low, high = envelopes[1, :, phase, block]
            if begin + 20 <= len(x):
                assert (low, high) == (min(x[begin : begin + 20]), max(x[begin : begin + 20]))
            else:
                assert (low, high) == (-np.inf, np.inf)


@pytest.mark.parametrize("exponent", [0.5, 1, 2, 1 / 3, 0.7])
def test_bounds_are_below_all_distances_of_their_block(exponent):
    data, envelopes, q, n_blocks = problem()
    lower, scratch = np.empty(n_blocks, np.float32), np.empty(2048, np.float32)
    bounds._bound_blocks(lower, scratch, envelopes, ROWS, 0, q[0], N_READINGS, N_OWN, *power_of(exponent))
    n_cells = STEPS * (N_OWN + N_READINGS)
    useful = 0
    for block in range(n_blocks):
        starts = [start for start in range(16 * block, 16 * block + 16) if start + STEPS <= data.shape[1]]
        distances = naive.window_distances(data, ROWS, starts, q[0], N_READINGS, N_OWN, exponent)
        nearest = min(distances, default=np.inf)
        assert lower[block] / n_cells <= nearest * (1 + 1e-5)
        useful += lower[block] > 0
    assert useful > n_blocks / 3  # bounds of 0 would pass the check above


@pytest.mark.parametrize("k", [1, 5, 40])
@pytest.mark.parametrize("scattered", [False, True])
def test_blocks_give_the_nearest_candidates(k, scattered):
    data, envelopes, q, n_blocks = problem()
    rng = np.random.default_rng(1)
    starts = np.sort(rng.choice(292, size=90, replace=False)) if scattered else np.arange(292)
    starts.flags.writeable = False
    counts = np.array([STEPS * 4, STEPS * 4 - 2], dtype=np.float32)  # variable 0 and one weight of the shared feature
    buffer = np.zeros((3, bounds.GROUP * (bounds.BLOCK + STEPS - 1) + 32), dtype=np.float32)
    view = buffer.view()
    view.flags.writeable = False
    heaps_d, heaps_i = np.full((2, k), np.inf, np.float32), np.full((2, k), kernel.NONE, np.int64)
    windows_read = np.zeros(2, np.int64)
    excluded = np.array([[40, 45], [0, 0]])
    bounds.scan_blocks(
        data, envelopes, ROWS, buffer, view, q, N_READINGS, N_OWN, *power_of(0.5), counts, excluded, 0, n_blocks,
        starts, heaps_d, heaps_i, windows_read,
    )  # fmt: skip
    kernel.sort_heaps(heaps_d, heaps_i)
    for j in range(2):
        every = naive.window_distances(data, ROWS, starts, q[j], N_READINGS, N_OWN, 0.5)
        twin = naive.k_nearest(every, starts.tolist(), k, range(*excluded[j]))
        naive.assert_same(heaps_i[j].tolist(), heaps_d[j].tolist(), twin, every)
    assert (windows_read > 0).all()
    assert (windows_read <= 16 * n_blocks).all()


def test_k_perfect_matches_end_the_search():
    """After k distances of 0 only windows of lower index can matter, so the remaining blocks are not read."""
    t = 16 * 400
    data = np.zeros((1, t), dtype=np.float32)
    data.flags.writeable = False
    n_blocks = t // 16
    envelopes = np.empty((1, 2, bounds.PHASES, n_blocks + 1), dtype=np.float32)
    bounds.make_envelope(envelopes[0], data[0])
    starts = np.arange(t - 3)
    starts.flags.writeable = False
    buffer = np.zeros((1, bounds.GROUP * 19 + 32), dtype=np.float32)
    view = buffer.view()
    view.flags.writeable = False
    heaps_d, heaps_i = np.full((1, 3), np.inf, np.float32), np.full((1, 3), kernel.NONE, np.int64)
    windows_read = np.zeros(1, np.int64)
    bounds.scan_blocks(
        data, envelopes, np.array([0]), buffer, view, np.zeros((1, 4, 1), np.float32), 1, 1, *power_of(0.5),
        np.array([4], np.float32), np.zeros((1, 2), np.int64), 0, n_blocks, starts, heaps_d, heaps_i, windows_read,
    )  # fmt: skip
    assert sorted(heaps_i[0].tolist()) == [0, 1, 2]
    assert windows_read[0] < 0.2 * t
