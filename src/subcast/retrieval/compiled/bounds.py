"""The compiled part of the exact index: envelopes, lower bounds of blocks, and full comparison of single blocks."""

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
    limit_of,
    offer,
    place_of,
)
from subcast.retrieval.compiled.powers import CUBE_ROOT, PLAIN, ROOT, SQUARE, compiled, cube_root, general_power
from subcast.retrieval.compiled.scan import window_sums

BLOCK = 16
STEPS = 4
PHASES = BLOCK // STEPS
GROUP = 64
_SEEDS = 16
_CHUNK = 2048


@compiled
def make_envelope(envelope: Any, x: Any) -> None:
    """Fill [2, phases, blocks] with the least and greatest of x over 20 steps, from 16 j + 4 g on.

    What the windows of block j see at the four steps of group g lies there; beyond the end nothing is known.
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
    """Add (distance of q from the range [low, high])^b to `total`."""
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
    first: int,
    own: int,
    mode: Any,
    power: Any,
) -> None:
    """Fill `bounds` with lower bounds of the summed distances of blocks `begin`, `begin` + 1, ..."""
    for a in range(0, bounds.shape[0], _CHUNK):
        total = bounds[a : a + _CHUNK]
        extra = scratch[: total.shape[0]]
        total[:] = _ZERO
        for p in range(q.shape[0]):
            group = p // STEPS
            phase, at = group % PHASES, begin + a + group // PHASES
            end = at + total.shape[0]
            readings = 0
            for r in range(rows.shape[0]):
                value = q[p, r]
                if value != value:
                    continue
                readings += r < first
                weighted = r >= own
                if weighted:
                    extra[:] = _ZERO
                low, high = envelopes[rows[r], 0, phase, at:end], envelopes[rows[r], 1, phase, at:end]
                _add_gaps(extra if weighted else total, low, high, value, mode, power)
                if weighted:
                    _add_scaled(total, extra, np.float32(readings))


@compiled
def _pack_blocks(buffer: Any, data: Any, rows: Any, chosen: Any, n_chosen: int, length: int) -> None:
    """Copy the steps that the windows of some blocks see, end to end, `length` for each block."""
    for r in range(rows.shape[0]):
        line, source = buffer[r], data[rows[r]]
        for place in range(n_chosen):
            start = chosen[place] * BLOCK
            known = min(length, source.shape[0] - start)
            for i in range(known):
                line[place * length + i] = source[start + i]


@compiled
def _most_promising(bounds: Any, seeds_d: Any, seeds_i: Any) -> None:
    """Fill the heap of seeds with the blocks of the smallest bounds."""
    seeds_d[:] = _INFINITE
    seeds_i[:] = NONE
    for a in range(0, bounds.shape[0], 64):
        chunk = bounds[a : a + 64]
        if any_within(chunk, seeds_d[0]):
            for i in range(chunk.shape[0]):
                offer(seeds_d, seeds_i, chunk[i], a + i)


@compiled
def _offer_blocks(
    total: Any, count: Any, limit: Any, chosen: Any, n_chosen: int, length: int, last_start: int, starts: Any,
    barred: Any, heap_d: Any, heap_i: Any,
) -> None:  # fmt: skip
    """Offer the windows of packed blocks whose summed distances are `total`."""
    if not any_within(total[: n_chosen * length], limit):
        return
    for place in range(n_chosen):
        start = chosen[place] * BLOCK
        width = min(BLOCK, last_start + 1 - start)
        sums = total[place * length : place * length + width]
        if not any_within(sums, limit):
            continue
        for i in range(width):
            if sums[i] <= limit and not barred[0] <= start + i < barred[1]:
                index = place_of(starts, start + i)
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
    first: int,
    own: int,
    mode: Any,
    power: Any,
    counts: Any,
    barred: Any,
    begin: int,
    end: int,
    starts: Any,
    heaps_d: Any,
    heaps_i: Any,
    read: Any,
) -> None:
    """Offer the candidates of blocks `begin` to `end` to the heaps of the windows `q` [b, t, rows].

    `read` counts the windows compared in full. `buffer` is [rows, packed], `buffer_view` its read-only view.
    """
    steps = q.shape[1]
    length = BLOCK + steps - 1
    bounds, room = np.empty(end - begin, np.float32), np.empty(_CHUNK, np.float32)
    width = buffer.shape[1] - steps + 1
    total, count, scratch = np.empty(width, np.float32), np.empty(width, np.float32), np.empty((5, width), np.float32)
    packed_rows = np.arange(rows.shape[0]).reshape(1, rows.shape[0])
    seeds_d, seeds_i = np.empty(_SEEDS, np.float32), np.empty(_SEEDS, np.int64)
    chosen = np.empty(GROUP, np.int64)
    # A bound and a distance are sums of as many rounded terms each: they may differ by this much for no reason.
    slack = np.float32(1 + 2.4e-7 * (steps * rows.shape[0] + 16))
    last_start = data.shape[1] - steps
    n_blocks = min(end - begin, last_start // BLOCK + 1 - begin)
    for j in range(q.shape[0]):
        if counts[j] == _ZERO or n_blocks <= 0:
            continue
        _bound_blocks(bounds[:n_blocks], room, envelopes, rows, begin, q[j], first, own, mode, power)
        _most_promising(bounds[:n_blocks], seeds_d, seeds_i)
        limit = limit_of(heaps_d[j], counts[j])
        n_chosen = 0
        # the most promising blocks first, then all that are still possible, a group at a time
        for place in range(_SEEDS + n_blocks + 1):
            seeding = place < _SEEDS
            block = seeds_i[place] if seeding else place - _SEEDS
            if not seeding and block < n_blocks and bounds[block] > min(limit * slack, _LARGEST):
                continue
            perfect = heaps_d[j, 0] == _ZERO and not seeding
            if perfect and block < n_blocks and (begin + block) * BLOCK > starts[heaps_i[j, 0]]:
                block = n_blocks  # k perfect matches, and all that are left have higher indices
            last = not seeding and block == n_blocks
            if block < n_blocks:
                chosen[n_chosen] = begin + block
                n_chosen += 1
                bounds[block] = _INFINITE
            if n_chosen == GROUP or (n_chosen > 0 and (last or place == _SEEDS - 1)):
                _pack_blocks(buffer, data, rows, chosen, n_chosen, length)
                read[j] += n_chosen * BLOCK
                part = min(width, (n_chosen * length + 31) // 32 * 32)
                if not window_sums(
                    total[:part], count[:part], scratch, buffer_view, packed_rows, 0, 1, q[j], first, own, False,
                    mode, power, limit,
                ):  # fmt: skip
                    _offer_blocks(
                        total, counts[j], limit, chosen, n_chosen, length, last_start, starts, barred[j],
                        heaps_d[j], heaps_i[j],
                    )  # fmt: skip
                limit = limit_of(heaps_d[j], counts[j])
                n_chosen = 0
            if last:
                break
