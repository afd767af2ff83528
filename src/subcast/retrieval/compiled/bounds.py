"""Kernels of the exact index: envelopes, lower bounds for blocks of windows, and full comparison of blocks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from subcast.retrieval.compiled.kernel import (
    _INFINITE,
    _LARGEST,
    _ZERO,
    NONE,
    _add_scaled,
    any_within,
    heap_limit,
    offer,
    search_sorted,
)
from subcast.retrieval.compiled.powers import CUBE_ROOT, PLAIN, ROOT, SQUARE, compiled, cube_root, general_power
from subcast.retrieval.compiled.scan import window_sums

BLOCK = 16
STEPS = 4
PHASES = BLOCK // STEPS
GROUP = 64
_N_SEEDS = 16
_CHUNK = 2048


@compiled
def make_envelope(envelope: Any, x: Any) -> None:
    """Fill envelope [2, phases, blocks] with the minimum and maximum of x over 20 steps, starting at 16 j + 4 g.

    These are all the values that the windows of block j have at the four steps of group g. Where the 20 steps reach
    beyond the end of x, the range is infinite.
    """
    groups = envelope.shape[1] * envelope.shape[2]
    low, high = np.empty(groups + PHASES, np.float32), np.empty(groups + PHASES, np.float32)
    for g in range(groups + PHASES):
        least, greatest = _INFINITE, -_INFINITE
        if (g + 1) * STEPS > x.shape[0]:
            least, greatest = -_INFINITE, _INFINITE
        else:
            for t in range(g * STEPS, (g + 1) * STEPS):
                least, greatest = min(least, x[t]), max(greatest, x[t])
        low[g], high[g] = least, greatest
    for g in range(groups):
        least, greatest = low[g], high[g]
        for more in range(g + 1, g + PHASES + 1):
            least, greatest = min(least, low[more]), max(greatest, high[more])
        envelope[0, g % PHASES, g // PHASES] = least
        envelope[1, g % PHASES, g // PHASES] = greatest


@compiled
def _add_gaps(total: Any, low: Any, high: Any, q: Any, mode: Any, power: Any) -> None:
    """Add (distance of q to the range [low, high])^b to `total`."""
    if mode == ROOT:
        for i in range(total.shape[0]):
            total[i] += math.sqrt(max(max(low[i] - q, q - high[i]), _ZERO))
    elif mode == PLAIN:
        for i in range(total.shape[0]):
            total[i] += max(max(low[i] - q, q - high[i]), _ZERO)
    elif mode == SQUARE:
        for i in range(total.shape[0]):
            d = max(max(low[i] - q, q - high[i]), _ZERO)
            total[i] += d * d
    elif mode == CUBE_ROOT:
        for i in range(total.shape[0]):
            total[i] += cube_root(max(max(low[i] - q, q - high[i]), _ZERO))
    else:
        b, high_part, low_part = power[0], power[1], power[2]
        for i in range(total.shape[0]):
            d = max(max(low[i] - q, q - high[i]), _ZERO)
            total[i] += general_power(d, b, high_part, low_part)


@compiled
def _bound_blocks(
    bounds: Any,
    scratch: Any,
    envelopes: Any,
    rows: Any,
    begin: int,
    q: Any,
    n_readings: int,
    n_own: int,
    mode: Any,
    power: Any,
) -> None:
    """Fill `bounds` with lower bounds of the summed distances to the windows of blocks `begin`, `begin` + 1, ..."""
    for a in range(0, bounds.shape[0], _CHUNK):
        total = bounds[a : a + _CHUNK]
        extra = scratch[: total.shape[0]]
        total[:] = _ZERO
        for p in range(q.shape[0]):
            group = p // STEPS
            phase, first_block = group % PHASES, begin + a + group // PHASES
            end_block = first_block + total.shape[0]
            n_readings_present = 0
            for r in range(rows.shape[0]):
                value = q[p, r]
                if value != value:
                    continue
                n_readings_present += r < n_readings
                weighted = r >= n_own
                if weighted:
                    extra[:] = _ZERO
                low = envelopes[rows[r], 0, phase, first_block:end_block]
                high = envelopes[rows[r], 1, phase, first_block:end_block]
                _add_gaps(extra if weighted else total, low, high, value, mode, power)
                if weighted:
                    _add_scaled(total, extra, np.float32(n_readings_present))


@compiled
def _pack_blocks(buffer: Any, data: Any, rows: Any, blocks: Any, n_packed: int, length: int) -> None:
    """Copy the steps of the windows of `blocks` into `buffer`, one block after the other, `length` steps each."""
    for r in range(rows.shape[0]):
        line, source = buffer[r], data[rows[r]]
        for i_block in range(n_packed):
            start = blocks[i_block] * BLOCK
            known = min(length, source.shape[0] - start)
            for i in range(known):
                line[i_block * length + i] = source[start + i]


@compiled
def _smallest_bounds(bounds: Any, seeds_d: Any, seeds_i: Any) -> None:
    """Fill a heap with the blocks that have the smallest bounds."""
    seeds_d[:] = _INFINITE
    seeds_i[:] = NONE
    for a in range(0, bounds.shape[0], 64):
        chunk = bounds[a : a + 64]
        if any_within(chunk, seeds_d[0]):
            for i in range(chunk.shape[0]):
                offer(seeds_d, seeds_i, chunk[i], a + i)


@compiled
def _offer_blocks(
    total: Any, count: Any, limit: Any, blocks: Any, n_packed: int, length: int, last_start: int, starts: Any,
    excluded: Any, heap_d: Any, heap_i: Any,
) -> None:  # fmt: skip
    """Offer the windows of packed blocks to the heap; `total` are their summed distances."""
    if not any_within(total[: n_packed * length], limit):
        return
    for i_block in range(n_packed):
        start = blocks[i_block] * BLOCK
        width = min(BLOCK, last_start + 1 - start)
        sums = total[i_block * length : i_block * length + width]
        if not any_within(sums, limit):
            continue
        for i in range(width):
            if sums[i] <= limit and not excluded[0] <= start + i < excluded[1]:
                index = search_sorted(starts, start + i)
                if index < starts.shape[0] and starts[index] == start + i:
                    offer(heap_d, heap_i, sums[i] / count, index)


@compiled
def scan_blocks(
    data: Any,
    envelopes: Any,
    rows: Any,
    buffer: Any,
    buffer_view: Any,
    q: Any,
    n_readings: int,
    n_own: int,
    mode: Any,
    power: Any,
    counts: Any,
    excluded: Any,
    begin: int,
    end: int,
    starts: Any,
    heaps_d: Any,
    heaps_i: Any,
    windows_read: Any,
) -> None:
    """Compare the windows `q` [b, t, rows] with the candidates of blocks `begin` to `end` and update their heaps.

    Blocks whose lower bound exceeds the largest distance in the heap are skipped. `windows_read` [b] is increased by
    the number of windows compared in full. `buffer` [rows, packed] is scratch memory, `buffer_view` a read-only view
    of it.
    """
    steps = q.shape[1]
    length = BLOCK + steps - 1
    bounds, bound_scratch = np.empty(end - begin, np.float32), np.empty(_CHUNK, np.float32)
    width = buffer.shape[1] - steps + 1
    total, count, scratch = np.empty(width, np.float32), np.empty(width, np.float32), np.empty((6, width), np.float32)
    packed_rows = np.arange(rows.shape[0]).reshape(1, rows.shape[0])
    seeds_d, seeds_i = np.empty(_N_SEEDS, np.float32), np.empty(_N_SEEDS, np.int64)
    pending = np.empty(GROUP, np.int64)
    # A bound and a distance are sums of equally many rounded terms: rounding alone can make them differ by this factor.
    slack = np.float32(1 + 2.4e-7 * (steps * rows.shape[0] + 16))
    last_start = data.shape[1] - steps
    n_blocks = min(end - begin, last_start // BLOCK + 1 - begin)
    for j in range(q.shape[0]):
        if counts[j] == _ZERO or n_blocks <= 0:
            continue
        _bound_blocks(bounds[:n_blocks], bound_scratch, envelopes, rows, begin, q[j], n_readings, n_own, mode, power)
        _smallest_bounds(bounds[:n_blocks], seeds_d, seeds_i)
        limit = heap_limit(heaps_d[j], counts[j])
        n_pending = 0
        # first the blocks with the smallest bounds, then all blocks not yet ruled out, in groups
        for turn in range(_N_SEEDS + n_blocks + 1):
            seeding = turn < _N_SEEDS
            block = seeds_i[turn] if seeding else turn - _N_SEEDS
            if not seeding and block < n_blocks and bounds[block] > min(limit * slack, _LARGEST):
                continue
            perfect = heaps_d[j, 0] == _ZERO and not seeding
            if perfect and block < n_blocks and (begin + block) * BLOCK > starts[heaps_i[j, 0]]:
                block = n_blocks  # k perfect matches are known, and all remaining windows have higher indices
            last = not seeding and block == n_blocks
            if block < n_blocks:
                pending[n_pending] = begin + block
                n_pending += 1
                bounds[block] = _INFINITE
            if n_pending == GROUP or (n_pending > 0 and (last or turn == _N_SEEDS - 1)):
                _pack_blocks(buffer, data, rows, pending, n_pending, length)
                windows_read[j] += n_pending * BLOCK
                used = min(width, (n_pending * length + 31) // 32 * 32)
                if not window_sums(
                    total[:used], count[:used], scratch, buffer_view, packed_rows, 0, 1, q[j], n_readings, n_own, False,
                    mode, power, limit,
                ):  # fmt: skip
                    _offer_blocks(
                        total, counts[j], limit, pending, n_pending, length, last_start, starts, excluded[j],
                        heaps_d[j], heaps_i[j],
                    )  # fmt: skip
                limit = heap_limit(heaps_d[j], counts[j])
                n_pending = 0
            if last:
                break
