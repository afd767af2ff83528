"""The kernels that loop over tiles, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from subcast.retrieval.compiled import kernel, scan
from subcast.retrieval.compiled.powers import power_of
from subcast.retrieval.layout import packed_tiles, tiles_of
from twins import retrieval_twins as naive

STEPS, N_READINGS, N_OWN, K = 4, 2, 3, 6
ROWS = np.array([0, 2, 4, 5])  # two readings, one own feature, one shared feature


def problem(missing, scattered, seed=0):
    """Return data [rows, t], starts, query windows [b, t, rows] and the number of cells of each window."""
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(6, 150)).astype(np.float32)
    if missing:
        data[rng.random(data.shape) < 0.15] = np.nan
    starts = np.sort(rng.choice(147, size=60, replace=False)) if scattered else np.arange(147)
    data.flags.writeable = starts.flags.writeable = False
    q = rng.normal(size=(5, STEPS, 4)).astype(np.float32)
    q[1, 2, 0] = q[2, 0, 3] = np.nan
    readings = np.sum(~np.isnan(q[..., :N_READINGS]), axis=-1)
    counts = np.sum(~np.isnan(q[..., :N_OWN]), axis=-1) + readings * ~np.isnan(q[..., N_OWN])
    return data, starts, q, counts.sum(axis=-1).astype(np.float32)


def sorted_heaps(b):
    return np.full((b, K), np.inf, dtype=np.float32), np.full((b, K), kernel.NONE, dtype=np.int64)


def assert_twin(data, starts, q, heaps_d, heaps_i, exponent, excluded=(0, 0)):
    kernel.sort_heaps(heaps_d, heaps_i)
    for j, window in enumerate(q):
        every = naive.window_distances(data, ROWS, starts, window, N_READINGS, N_OWN, exponent)
        twin = naive.k_nearest(every, starts.tolist(), K, range(*excluded))
        naive.assert_same(heaps_i[j].tolist(), heaps_d[j].tolist(), twin, every)


def test_widths_are_rounded_up_to_multiples_of_32():
    assert [scan.rounded_up(width) for width in (1, 31, 32, 33)] == [32, 32, 32, 64]


def test_a_tile_is_left_early_if_all_sums_exceed_the_limit():
    data, _, q, _ = problem(missing=False, scattered=False)
    total, count, scratch = np.empty(40, np.float32), np.empty(40, np.float32), np.empty((6, 40), np.float32)
    arguments = (total, count, scratch, data, ROWS[None], 10, 1, q[0], N_READINGS, N_OWN, False, *power_of(1))
    assert scan.window_sums(*arguments, np.float32(1e-6))
    assert not scan.window_sums(*arguments, np.float32(1e9))
    means = naive.window_distances(data, ROWS, range(10, 50), q[0], N_READINGS, N_OWN, 1)
    n_cells = STEPS * (N_OWN + N_READINGS)
    assert np.allclose(total / n_cells, means, rtol=1e-5)


def test_pack_copies_candidates_into_columns():
    data, _, _, _ = problem(missing=False, scattered=False)
    starts = np.array([3, 9, 80])
    buffer = np.empty((STEPS * 4, 3), dtype=np.float32)
    scan.pack(buffer, data, ROWS, starts, STEPS)
    for p in range(STEPS):
        for r, row in enumerate(ROWS):
            assert buffer[p * 4 + r].tolist() == [data[row, start + p] for start in starts]


@pytest.mark.parametrize("exponent", [0.5, 0.7])
@pytest.mark.parametrize("scattered", [False, True])
@pytest.mark.parametrize("missing", [False, True])
def test_independent_windows_equal_the_twin(missing, scattered, exponent):
    data, starts, q, counts = problem(missing, scattered)
    excluded = np.tile([20, 31], (5, 1))
    rest = (N_READINGS, N_OWN, missing, *power_of(exponent), counts, np.ones(5, np.float32), excluded)
    tiles = tiles_of(starts, 32)
    heaps = sorted_heaps(5)
    scan.scan_windows(data, ROWS[None], q, *rest, tiles, 32, starts, *heaps)
    assert_twin(data, starts, q, *heaps, exponent, (20, 31))
    packed = sorted_heaps(5)
    buffer = np.empty((STEPS * 4, 32), dtype=np.float32)
    view = buffer.view()
    view.flags.writeable = False
    rows = np.arange(STEPS * 4).reshape(STEPS, 4)
    scan.scan_packed(data, ROWS, rows, buffer, view, q, *rest, packed_tiles(len(starts), 32), 32, starts, *packed)
    kernel.sort_heaps(*packed)
    assert np.array_equal(packed[0], heaps[0])
    assert np.array_equal(packed[1], heaps[1])


@pytest.mark.parametrize("missing", [False, True])
def test_all_distances_equal_the_twin(missing):
    data, starts, q, counts = problem(missing, scattered=True)
    distances = np.full((5, len(starts)), np.inf, dtype=np.float32)
    scan.measure_windows(
        data, ROWS[None], 1, q, N_READINGS, N_OWN, missing, *power_of(0.5), counts, np.ones(5, np.float32),
        tiles_of(starts, 32), 32, starts, distances,
    )  # fmt: skip
    for j in range(5):
        expected = naive.window_distances(data, ROWS, starts, q[j], N_READINGS, N_OWN, 0.5)
        assert np.allclose(distances[j], expected, rtol=1e-5)


@pytest.mark.parametrize("scattered", [False, True])
@pytest.mark.parametrize("missing", [False, True])
def test_sliding_windows_and_pushed_steps_equal_the_twin(missing, scattered):
    data, starts, windows, _ = problem(missing, scattered)
    steps = windows.reshape(-1, 4)[:9]
    readings = np.sum(~np.isnan(steps[:, :N_READINGS]), axis=-1)
    step_counts = np.sum(~np.isnan(steps[:, :N_OWN]), axis=-1) + readings * ~np.isnan(steps[:, N_OWN])
    q = np.stack([steps[j : j + STEPS] for j in range(6)])
    counts = np.array([step_counts[j : j + STEPS].sum() for j in range(6)], dtype=np.float32)
    tiles, power = tiles_of(starts, 32), power_of(0.5)
    heaps = sorted_heaps(6)
    scan.scan_sliding(
        data, ROWS, steps, STEPS, N_READINGS, N_OWN, missing, *power, counts, np.ones(6, np.float32),
        np.zeros((6, 2), np.int64), tiles, 32, starts, *heaps,
    )  # fmt: skip
    ring_sizes = [STEPS * (32 + STEPS - 1) for _ in tiles]
    begins = np.concatenate([[0], np.cumsum(ring_sizes)])
    rings, ring_counts = np.zeros(begins[-1], np.float32), np.zeros(begins[-1], np.float32)
    pushed = sorted_heaps(6)
    for u, step in enumerate(steps):
        j = u - STEPS + 1
        scan.scan_pushed(
            data, ROWS, step, rings, ring_counts, begins, STEPS, u, N_READINGS, N_OWN, missing, *power,
            counts[max(j, 0)], np.float32(1), np.zeros(2, np.int64), tiles, 32, starts,
            pushed[0][max(j, 0)], pushed[1][max(j, 0)],
        )  # fmt: skip
        if j < 0:
            assert np.isinf(pushed[0]).all()  # no result before a whole window
    assert_twin(data, starts, q, *heaps, 0.5)
    kernel.sort_heaps(*pushed)
    assert np.array_equal(pushed[0], heaps[0])
    assert np.array_equal(pushed[1], heaps[1])
