"""Kernels that loop over tiles of candidates: independent windows, sliding windows, one step of a stream.

A tile is a run of window starts, short enough that its data and partial sums fit in the processor's cache. All
queries of the batch are compared with one tile before the next tile is loaded. `tiles` is [tiles, 4]; the columns are
described in `kernel.offer_tile`. Tiles are scanned from the newest to the oldest: in a series that drifts the nearest
windows are recent ones, and when they are found early, more of the other tiles can be skipped. `widest` is the largest
number of starts in a tile.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from subcast.retrieval.compiled.kernel import (
    _LARGEST,
    _ZERO,
    GAPS,
    GROUP,
    add_arrays,
    any_within,
    divide_by_counts,
    group_size,
    heap_limit,
    mark_candidates,
    offer_tile,
    search_sorted,
    step_row,
    step_row_holes,
    step_rows,
    sum_group,
    sum_groups,
    sum_shifted,
)
from subcast.retrieval.compiled.powers import compiled


@compiled
def rounded_up(width: int) -> int:
    """Return the next multiple of 32, the number of floats that vectorized loops process at a time."""
    return (width + 31) // 32 * 32


@compiled
def window_sums(
    total: Any,
    count: Any,
    scratch: Any,
    data: Any,
    rows: Any,
    begin: int,
    advance: int,
    q: Any,
    n_readings: int,
    n_own: int,
    holes: bool,
    mode: Any,
    power: Any,
    limit: Any,
) -> Any:
    """Sum the step distances of one query over a tile; return True if all sums exceeded `limit` before the last step.

    Step p compares the rows `rows[p]` of `data` (or `rows[0]` if all steps have the same rows), starting at
    `begin` + p * `advance`. `scratch` is [6, width]. Long windows are summed in groups of steps, see `group_size`.
    """
    width = total.shape[0]
    steps = q.shape[0]
    size = group_size(steps)
    step_total, step_count = scratch[3, :width], scratch[4, :width]
    part = scratch[5, :width] if size < steps else total
    total[:] = _ZERO
    count[:] = _ZERO
    for p in range(steps):
        begins, ends = p % size == 0, (p + 1) % size == 0 or p + 1 == steps
        target = part if begins else step_total
        step_rows, place = rows[min(p, rows.shape[0] - 1)], begin + p * advance
        if holes:
            step_row_holes(target, step_count, scratch, data, step_rows, place, q[p], n_readings, n_own, mode, power)
            add_arrays(count, step_count)
        else:
            step_row(target, scratch[0, :width], data, step_rows, place, q[p], n_readings, n_own, mode, power)
        if not begins:
            add_arrays(part, step_total)
        if size < steps and ends:
            add_arrays(total, part)
        if not holes and p + 1 < steps and (ends or size == steps) and not any_within(total, limit):
            return True
    return False


@compiled
def scan_windows(
    data: Any,
    rows: Any,
    q: Any,
    n_readings: int,
    n_own: int,
    holes: bool,
    mode: Any,
    power: Any,
    counts: Any,
    needed: Any,
    excluded: Any,
    tiles: Any,
    widest: int,
    starts: Any,
    heaps_d: Any,
    heaps_i: Any,
) -> None:
    """Compare the independent windows `q` [b, t, rows] with every candidate of `tiles` and update their heaps."""
    scratch = np.empty((6, widest), np.float32)
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
            limit = heap_limit(heaps_d[j], counts[j])
            if window_sums(
                total, count, scratch, data, rows, start, 1, q[j], n_readings, n_own, holes, mode, power, limit
            ):
                continue
            if holes:
                divide_by_counts(total, count, needed[j])
            if not full:
                add_arrays(total, penalty[:width])
            cells_compared = one if holes else counts[j]
            offer_tile(total, cells_compared, tiles[tile], starts, excluded[j], heaps_d[j], heaps_i[j])


@compiled
def pack(buffer: Any, data: Any, rows: Any, starts: Any, steps: int) -> None:
    """Copy the candidates that start at `starts` into the columns of buffer [t * rows, candidates].

    Line p * rows + r of the buffer holds row r at step p of each candidate.
    """
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
    n_readings: int,
    n_own: int,
    holes: bool,
    mode: Any,
    power: Any,
    counts: Any,
    needed: Any,
    excluded: Any,
    tiles: Any,
    widest: int,
    starts: Any,
    heaps_d: Any,
    heaps_i: Any,
) -> None:
    """Do the same as `scan_windows` for scattered candidates: copy a tile of them, then scan the copy.

    `buffer_view` is a read-only view of `buffer`. It has the type of the bank's data, so that the inner loops are
    compiled only once.
    """
    scratch = np.empty((6, widest), np.float32)
    sums, cells = np.empty(widest, np.float32), np.empty(widest, np.float32)
    one = np.float32(1)
    for tile in range(tiles.shape[0] - 1, -1, -1):
        start, width = tiles[tile, 0], tiles[tile, 1] - tiles[tile, 0]
        total, count = sums[:width], cells[:width]
        pack(buffer, data, rows, starts[start : start + width], q.shape[1])
        for j in range(q.shape[0]):
            if counts[j] == _ZERO:
                continue
            limit = heap_limit(heaps_d[j], counts[j])
            if window_sums(
                total,
                count,
                scratch,
                buffer_view,
                packed_rows,
                0,
                0,
                q[j],
                n_readings,
                n_own,
                holes,
                mode,
                power,
                limit,
            ):
                continue
            if holes:
                divide_by_counts(total, count, needed[j])
            cells_compared = one if holes else counts[j]
            offer_tile(total, cells_compared, tiles[tile], starts, excluded[j], heaps_d[j], heaps_i[j])


@compiled
def measure_windows(
    data: Any,
    rows: Any,
    advance: int,
    q: Any,
    n_readings: int,
    n_own: int,
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
    """Fill `distances` with the distance of every window of `q` [b, t, rows] to every candidate of `tiles`.

    `rows` and `advance` are described in `window_sums`.
    """
    scratch = np.empty((6, widest), np.float32)
    sums, cells = np.empty(widest, np.float32), np.empty(widest, np.float32)
    for tile in range(tiles.shape[0] - 1, -1, -1):
        start, end = tiles[tile, 0], tiles[tile, 1]
        total, count = sums[: end - start], cells[: end - start]
        c0, c1 = search_sorted(starts, start), search_sorted(starts, end)
        for j in range(q.shape[0]):
            if counts[j] == _ZERO:
                continue
            window_sums(
                total, count, scratch, data, rows, start, advance, q[j], n_readings, n_own, holes, mode, power, _LARGEST
            )
            if holes:
                divide_by_counts(total, count, needed[j])
            for c in range(c0, c1):
                value = total[starts[c] - start]
                distances[j, c] = value if holes else value / counts[j]


@compiled
def ring_rows(steps: int) -> int:
    """Return the rows of the ring of a tile: one a step, and in long windows a further one for each step of a group."""
    return steps + GROUP if group_size(steps) < steps else steps


@compiled
def advance_tile(
    ring: Any,
    ring_count: Any,
    number: int,
    steps: int,
    scratch: Any,
    data: Any,
    rows: Any,
    begin: int,
    width: int,
    q: Any,
    n_readings: int,
    n_own: int,
    holes: bool,
    mode: Any,
    power: Any,
) -> None:
    """Write the distances of query step `number` to the steps of a tile into its ring.

    In short windows they are a row of the ring. In long ones they are one of its last rows, from which the sums of the
    group of steps that ends here are made.
    """
    slot = _slot(number, steps)
    if holes:
        step_row_holes(
            ring[slot, :width], ring_count[slot, :width], scratch, data, rows, begin, q, n_readings, n_own, mode, power
        )
    else:
        step_row(ring[slot, :width], scratch[0, :width], data, rows, begin, q, n_readings, n_own, mode, power)
    _close_group(ring, ring_count, number, steps, holes)


@compiled
def _slot(number: int, steps: int) -> int:
    """Return the row of the ring into which the distances of query step `number` are written."""
    return steps + number % GROUP if group_size(steps) < steps else number % steps


@compiled
def _close_group(ring: Any, ring_count: Any, number: int, steps: int, holes: bool) -> None:
    """Sum the group of steps that ends with query step `number`, in long windows."""
    if group_size(steps) < steps and number + 1 >= GROUP:
        wide = ring.shape[1] - GROUP + 1
        sum_group(ring[number % steps, :wide], ring[steps:], number + 1)
        if holes:
            sum_group(ring_count[number % steps, :wide], ring_count[steps:], number + 1)


@compiled
def advance_by_pairs(
    ring: Any,
    spare: Any,
    number: int,
    steps: int,
    scratch: Any,
    data: Any,
    rows: Any,
    begin: int,
    width: int,
    q: Any,
    n_readings: int,
    n_own: int,
    mode: Any,
    power: Any,
) -> None:
    """Do the same as `advance_tile` for data without NaN; `q` are all query steps.

    At an even step the next one is compared too, so that the data are read once for both; its distances wait in
    `spare`, because those of an older step are still needed in their row of the ring.
    """
    slot = _slot(number, steps)
    if number % 2:
        ring[slot, :width] = spare[:width]
    elif number + 1 < q.shape[0]:
        pair = q[number : number + 2]
        step_rows(
            ring[slot, :width], spare[:width], scratch[0, :width], data, rows, begin, pair, n_readings, n_own,
            mode, power,
        )  # fmt: skip
    else:
        step_row(ring[slot, :width], scratch[0, :width], data, rows, begin, q[number], n_readings, n_own, mode, power)
    _close_group(ring, ring, number, steps, False)


@compiled
def _sum_ring(total: Any, part: Any, ring: Any, latest: int, steps: int) -> None:
    """Fill `total` with the sums of the windows that end with query step `latest`."""
    if group_size(steps) < steps:
        sum_groups(total, part, ring, latest, steps)
    else:
        sum_shifted(total, ring, (latest + 1) % steps)


@compiled
def finish_tile(
    total: Any,
    count: Any,
    ring: Any,
    ring_count: Any,
    latest: int,
    steps: int,
    part: Any,
    tile: Any,
    penalty: Any,
    holes: bool,
    cells: Any,
    needed: Any,
    excluded: Any,
    starts: Any,
    heap_d: Any,
    heap_i: Any,
) -> None:
    """Sum the ring for the windows that end with query step `latest`, and offer those of the tile to the heap."""
    width = tile[1] - tile[0]
    # rounded up to whole vectors; the sums beyond the last window of the tile are not used
    wide = rounded_up(width)
    _sum_ring(total[:wide], part, ring, latest, steps)
    total = total[:width]
    if holes:
        _sum_ring(count[:wide], part, ring_count, latest, steps)
        divide_by_counts(total, count, needed)
    if tile[2] == GAPS:
        add_arrays(total, penalty)
    offer_tile(total, np.float32(1) if holes else cells, tile, starts, excluded, heap_d, heap_i)


@compiled
def scan_sliding(
    data: Any,
    rows: Any,
    q: Any,
    steps: int,
    n_readings: int,
    n_own: int,
    holes: bool,
    mode: Any,
    power: Any,
    counts: Any,
    needed: Any,
    excluded: Any,
    tiles: Any,
    widest: int,
    starts: Any,
    heaps_d: Any,
    heaps_i: Any,
) -> None:
    """Compare all windows of the consecutive steps `q` [u, rows] with the candidates of `tiles` and update the heaps.

    Each query step is compared once with each step of the tile. The distance of a window is the sum of `steps` of
    these step distances.
    """
    room = rounded_up(widest) + steps - 1
    ring = np.zeros((ring_rows(steps), room), np.float32)
    ring_count = np.zeros((ring_rows(steps), room if holes else 1), np.float32)
    scratch = np.empty((3, room), np.float32)
    sums, cells, penalty = np.empty(room, np.float32), np.empty(room, np.float32), np.empty(room, np.float32)
    for tile in range(tiles.shape[0] - 1, -1, -1):
        start, width = tiles[tile, 0], tiles[tile, 1] - tiles[tile, 0]
        full = tiles[tile, 2] != GAPS
        if not full:
            mark_candidates(penalty[:width], start, starts)
        for u in range(q.shape[0]):
            if holes:
                advance_tile(
                    ring, ring_count, u, steps, scratch, data, rows, start, width + steps - 1,
                    q[u], n_readings, n_own, holes, mode, power,
                )  # fmt: skip
            else:
                advance_by_pairs(
                    ring, scratch[2], u, steps, scratch, data, rows, start, width + steps - 1,
                    q, n_readings, n_own, mode, power,
                )  # fmt: skip
            j = u - steps + 1
            if j >= 0 and counts[j] > _ZERO:
                finish_tile(
                    sums, cells, ring, ring_count, u, steps, scratch[0], tiles[tile], penalty[:width],
                    holes, counts[j], needed[j], excluded[j], starts, heaps_d[j], heaps_i[j],
                )  # fmt: skip


@compiled
def scan_pushed(
    data: Any,
    rows: Any,
    q: Any,
    rings: Any,
    ring_counts: Any,
    ring_begins: Any,
    steps: int,
    pushed: int,
    n_readings: int,
    n_own: int,
    holes: bool,
    mode: Any,
    power: Any,
    cells: Any,
    needed: Any,
    excluded: Any,
    tiles: Any,
    widest: int,
    starts: Any,
    heap_d: Any,
    heap_i: Any,
) -> None:
    """Process one more query step `q` [rows] of a stream and update the heap of its latest window.

    `rings` holds the step distances of the latest steps: a ring [`ring_rows(steps)`, width] for each tile, which begins
    at `ring_begins[tile]`.
    """
    room = rounded_up(widest) + steps - 1
    scratch = np.empty((3, room), np.float32)
    sums, compared, penalty = np.empty(room, np.float32), np.empty(room, np.float32), np.empty(room, np.float32)
    for tile in range(tiles.shape[0] - 1, -1, -1):
        start, width = tiles[tile, 0], tiles[tile, 1] - tiles[tile, 0]
        full = tiles[tile, 2] != GAPS
        ring_width = rounded_up(width) + steps - 1
        a, z = ring_begins[tile], ring_begins[tile] + ring_rows(steps) * ring_width
        ring = rings[a:z].reshape(ring_rows(steps), ring_width)
        ring_count = ring_counts[a:z].reshape(ring_rows(steps), ring_width) if holes else ring
        advance_tile(
            ring, ring_count, pushed, steps, scratch, data, rows, start, width + steps - 1,
            q, n_readings, n_own, holes, mode, power,
        )  # fmt: skip
        if pushed + 1 < steps or cells == _ZERO:
            continue
        if not full:
            mark_candidates(penalty[:width], start, starts)
        finish_tile(
            sums, compared, ring, ring_count, pushed, steps, scratch[0], tiles[tile], penalty[:width],
            holes, cells, needed, excluded, starts, heap_d, heap_i,
        )  # fmt: skip
