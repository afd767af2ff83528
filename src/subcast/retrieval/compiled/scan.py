"""The compiled loops over tiles of candidates: independent windows, sliding windows, one step of a stream.

A tile is a run of window starts that fits the processor's cache together with its partial sums; every query of the
batch passes over a tile before the next one is loaded. `tiles` is [tiles, 4] as `kernel.offer_tile` describes one.
The newest tiles come first: where a series drifts, the nearest windows are the recent ones, and good neighbors found
early spare the rest of the work. `widest` is the greatest number of starts in a tile.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from subcast.retrieval.compiled.kernel import (
    _LARGEST,
    _ZERO,
    GAPS,
    add_arrays,
    any_within,
    divide_by_counts,
    limit_of,
    mark_candidates,
    offer_tile,
    place_of,
    step_row,
    step_row_holes,
    sum_shifted,
)
from subcast.retrieval.compiled.powers import compiled


@compiled
def rounded_up(width: int) -> int:
    """Return the next multiple of 32, the floats that vector loops take at a time."""
    return (width + 31) // 32 * 32


@compiled
def window_sums(
    total: Any,
    count: Any,
    scratch: Any,
    data: Any,
    rows: Any,
    at: int,
    advance: int,
    q: Any,
    first: int,
    own: int,
    holes: bool,
    mode: Any,
    power: Any,
    limit: Any,
) -> Any:
    """Sum one query's step distances over a tile; return whether all of it passed `limit` before the end.

    Step p compares the rows `rows[p]` (or `rows[0]` when there is one row list for all steps) of `data` from
    `at` + p * `advance` on. `scratch` is [5, width].
    """
    width = total.shape[0]
    steps = q.shape[0]
    part, part_count = scratch[3, :width], scratch[4, :width]
    total[:] = _ZERO
    count[:] = _ZERO
    for p in range(steps):
        chosen = rows[min(p, rows.shape[0] - 1)]
        if holes:
            step_row_holes(part, part_count, scratch, data, chosen, at + p * advance, q[p], first, own, mode, power)
            add_arrays(count, part_count)
        else:
            step_row(part, scratch[0, :width], data, chosen, at + p * advance, q[p], first, own, mode, power)
        add_arrays(total, part)
        if not holes and p + 1 < steps and not any_within(total, limit):
            return True
    return False


@compiled
def scan_windows(
    data: Any,
    rows: Any,
    q: Any,
    first: int,
    own: int,
    holes: bool,
    mode: Any,
    power: Any,
    counts: Any,
    needed: Any,
    barred: Any,
    tiles: Any,
    widest: int,
    starts: Any,
    heaps_d: Any,
    heaps_i: Any,
) -> None:
    """Offer every candidate of `tiles` to the heaps of the independent windows `q` [b, t, rows]."""
    scratch = np.empty((5, widest), np.float32)
    sums, cells, penalty = np.empty(widest, np.float32), np.empty(widest, np.float32), np.empty(widest, np.float32)
    one = np.float32(1)
    for tile in range(tiles.shape[0] - 1, -1, -1):
        start, width = tiles[tile, 0], tiles[tile, 1] - tiles[tile, 0]
        total, count = sums[:width], cells[:width]
        full = tiles[tile, 2] != GAPS
        if not full:
            mark_candidates(penalty[:width], start, starts)
        for j in range(q.shape[0]):
            if counts[j] == _ZERO:
                continue
            limit = limit_of(heaps_d[j], counts[j])
            if window_sums(total, count, scratch, data, rows, start, 1, q[j], first, own, holes, mode, power, limit):
                continue
            if holes:
                divide_by_counts(total, count, needed[j])
            if not full:
                add_arrays(total, penalty[:width])
            cells_compared = one if holes else counts[j]
            offer_tile(total, cells_compared, tiles[tile], starts, barred[j], heaps_d[j], heaps_i[j])


@compiled
def pack(buffer: Any, data: Any, rows: Any, starts: Any, steps: int) -> None:
    """Copy the candidates that start at `starts`, one below the other: buffer[p * rows + r, candidate]."""
    for p in range(steps):
        for r in range(rows.shape[0]):
            line, source = buffer[p * rows.shape[0] + r], data[rows[r]]
            for c in range(starts.shape[0]):
                line[c] = source[starts[c] + p]


@compiled
def scan_packed(
    data: Any,
    rows: Any,
    packed_rows: Any,
    buffer: Any,
    buffer_view: Any,
    q: Any,
    first: int,
    own: int,
    holes: bool,
    mode: Any,
    power: Any,
    counts: Any,
    needed: Any,
    barred: Any,
    tiles: Any,
    widest: int,
    starts: Any,
    heaps_d: Any,
    heaps_i: Any,
) -> None:
    """Do as `scan_windows` for scattered candidates: gather a tile of them first, then scan the copy.

    `buffer_view` is a read-only view of `buffer`, so that the inner loops are compiled once.
    """
    scratch = np.empty((5, widest), np.float32)
    sums, cells = np.empty(widest, np.float32), np.empty(widest, np.float32)
    one = np.float32(1)
    for tile in range(tiles.shape[0] - 1, -1, -1):
        start, width = tiles[tile, 0], tiles[tile, 1] - tiles[tile, 0]
        total, count = sums[:width], cells[:width]
        pack(buffer, data, rows, starts[start : start + width], q.shape[1])
        for j in range(q.shape[0]):
            if counts[j] == _ZERO:
                continue
            limit = limit_of(heaps_d[j], counts[j])
            if window_sums(
                total, count, scratch, buffer_view, packed_rows, 0, 0, q[j], first, own, holes, mode, power, limit
            ):
                continue
            if holes:
                divide_by_counts(total, count, needed[j])
            cells_compared = one if holes else counts[j]
            offer_tile(total, cells_compared, tiles[tile], starts, barred[j], heaps_d[j], heaps_i[j])


@compiled
def measure_windows(
    data: Any,
    rows: Any,
    advance: int,
    q: Any,
    first: int,
    own: int,
    holes: bool,
    mode: Any,
    power: Any,
    counts: Any,
    needed: Any,
    tiles: Any,
    widest: int,
    starts: Any,
    distances: Any,
) -> None:
    """Write the distance of every candidate of `tiles` from every window of `q` [b, t, rows].

    `rows` and `advance` are those of `window_sums`.
    """
    scratch = np.empty((5, widest), np.float32)
    sums, cells = np.empty(widest, np.float32), np.empty(widest, np.float32)
    for tile in range(tiles.shape[0] - 1, -1, -1):
        start, end = tiles[tile, 0], tiles[tile, 1]
        total, count = sums[: end - start], cells[: end - start]
        c0, c1 = place_of(starts, start), place_of(starts, end)
        for j in range(q.shape[0]):
            if counts[j] == _ZERO:
                continue
            window_sums(
                total, count, scratch, data, rows, start, advance, q[j], first, own, holes, mode, power, _LARGEST
            )
            if holes:
                divide_by_counts(total, count, needed[j])
            for c in range(c0, c1):
                value = total[starts[c] - start]
                distances[j, c] = value if holes else value / counts[j]


@compiled
def advance_tile(
    ring: Any,
    ring_count: Any,
    slot: int,
    scratch: Any,
    data: Any,
    rows: Any,
    at: int,
    width: int,
    q: Any,
    first: int,
    own: int,
    holes: bool,
    mode: Any,
    power: Any,
) -> None:
    """Put the distances of one query step to the steps of a tile into place `slot` of its ring."""
    if holes:
        step_row_holes(
            ring[slot, :width], ring_count[slot, :width], scratch, data, rows, at, q, first, own, mode, power
        )
    else:
        step_row(ring[slot, :width], scratch[0, :width], data, rows, at, q, first, own, mode, power)


@compiled
def finish_tile(
    total: Any,
    count: Any,
    ring: Any,
    ring_count: Any,
    oldest: int,
    tile: Any,
    penalty: Any,
    holes: bool,
    cells: Any,
    needed: Any,
    barred: Any,
    starts: Any,
    heap_d: Any,
    heap_i: Any,
) -> None:
    """Sum the ring over its steps and offer the windows of the tile."""
    width = tile[1] - tile[0]
    # whole vectors: what lies beyond the tile's last window is summed for nothing, and not offered
    wide = rounded_up(width)
    sum_shifted(total[:wide], ring, oldest)
    total = total[:width]
    if holes:
        sum_shifted(count[:wide], ring_count, oldest)
        divide_by_counts(total, count, needed)
    if tile[2] == GAPS:
        add_arrays(total, penalty)
    offer_tile(total, np.float32(1) if holes else cells, tile, starts, barred, heap_d, heap_i)


@compiled
def scan_sliding(
    data: Any,
    rows: Any,
    q: Any,
    steps: int,
    first: int,
    own: int,
    holes: bool,
    mode: Any,
    power: Any,
    counts: Any,
    needed: Any,
    barred: Any,
    tiles: Any,
    widest: int,
    starts: Any,
    heaps_d: Any,
    heaps_i: Any,
) -> None:
    """Offer every candidate of `tiles` to the heaps of the consecutive windows of `q` [u, rows].

    Each query step is compared once with each step of the tile; windows add `steps` of those rows.
    """
    room = rounded_up(widest) + steps - 1
    ring = np.zeros((steps, room), np.float32)
    ring_count = np.zeros((steps, room if holes else 1), np.float32)
    scratch = np.empty((3, room), np.float32)
    sums, cells, penalty = np.empty(room, np.float32), np.empty(room, np.float32), np.empty(room, np.float32)
    for tile in range(tiles.shape[0] - 1, -1, -1):
        start, width = tiles[tile, 0], tiles[tile, 1] - tiles[tile, 0]
        full = tiles[tile, 2] != GAPS
        if not full:
            mark_candidates(penalty[:width], start, starts)
        for u in range(q.shape[0]):
            advance_tile(
                ring, ring_count, u % steps, scratch, data, rows, start, width + steps - 1,
                q[u], first, own, holes, mode, power,
            )  # fmt: skip
            j = u - steps + 1
            if j >= 0 and counts[j] > _ZERO:
                finish_tile(
                    sums, cells, ring, ring_count, (u + 1) % steps, tiles[tile], penalty[:width],
                    holes, counts[j], needed[j], barred[j], starts, heaps_d[j], heaps_i[j],
                )  # fmt: skip


@compiled
def scan_pushed(
    data: Any,
    rows: Any,
    q: Any,
    rings: Any,
    ring_counts: Any,
    places: Any,
    steps: int,
    pushed: int,
    first: int,
    own: int,
    holes: bool,
    mode: Any,
    power: Any,
    cells: Any,
    needed: Any,
    barred: Any,
    tiles: Any,
    widest: int,
    starts: Any,
    heap_d: Any,
    heap_i: Any,
) -> None:
    """Take in one more query step `q` [rows] of a stream.

    `rings` holds the last steps' rows, a ring [t, width] for each tile, one after the other from `places[tile]` on.
    """
    room = rounded_up(widest) + steps - 1
    scratch = np.empty((3, room), np.float32)
    sums, compared, penalty = np.empty(room, np.float32), np.empty(room, np.float32), np.empty(room, np.float32)
    for tile in range(tiles.shape[0] - 1, -1, -1):
        start, width = tiles[tile, 0], tiles[tile, 1] - tiles[tile, 0]
        full = tiles[tile, 2] != GAPS
        ring_width = rounded_up(width) + steps - 1
        a, z = places[tile], places[tile] + steps * ring_width
        ring = rings[a:z].reshape(steps, ring_width)
        ring_count = ring_counts[a:z].reshape(steps, ring_width) if holes else ring
        advance_tile(
            ring, ring_count, pushed % steps, scratch, data, rows, start, width + steps - 1,
            q, first, own, holes, mode, power,
        )  # fmt: skip
        if pushed + 1 < steps or cells == _ZERO:
            continue
        if not full:
            mark_candidates(penalty[:width], start, starts)
        finish_tile(
            sums, compared, ring, ring_count, (pushed + 1) % steps, tiles[tile], penalty[:width],
            holes, cells, needed, barred, starts, heap_d, heap_i,
        )  # fmt: skip
