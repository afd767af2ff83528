"""Basic kernels: distances of single steps, their sums over windows, and the k smallest distances.

All searches add in the same order: first over the rows of a step, then over the steps, oldest first. Their results
are therefore identical to the bit. `data` is [rows, time]; a *row* is one feature of one variable, or one feature
shared by all variables. A row where the query is NaN is skipped for that step. If `data` contains NaN, the functions
with `holes` in their name or arguments are used: they also count the cells compared for each candidate.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from subcast.retrieval.compiled.powers import (
    CUBE_ROOT,
    PLAIN,
    ROOT,
    SQUARE,
    compiled,
    cube_root,
    general_power,
    newton_root,
)

FULL, GAPS, PACKED = range(3)
NONE = np.iinfo(np.int64).max
GROUP, LONG = 8, 32  # steps of a group, and the shortest window that is summed in groups
_LARGEST = np.float32(np.finfo(np.float32).max)
_INFINITE = np.float32(np.inf)
_ZERO = np.float32(0)
_ONE = np.float32(1)
# Sums are compared with the limit before they are divided by their count. The margin makes sure that rounding does not
# reject a sum whose quotient is below the limit.
_MARGIN = np.float32(1 + 1e-6)


@compiled
def _add(total: Any, x: Any, q: Any, mode: Any, power: Any) -> None:
    """Add |x - q|^b to `total`."""
    if mode == ROOT:
        for i in range(total.shape[0]):
            total[i] += math.sqrt(abs(x[i] - q))
    elif mode == PLAIN:
        for i in range(total.shape[0]):
            total[i] += abs(x[i] - q)
    elif mode == SQUARE:
        for i in range(total.shape[0]):
            d = x[i] - q
            total[i] += d * d
    elif mode == CUBE_ROOT:
        for i in range(total.shape[0]):
            total[i] += cube_root(abs(x[i] - q))
    else:
        b, high, low = power[0], power[1], power[2]
        for i in range(total.shape[0]):
            total[i] += general_power(abs(x[i] - q), b, high, low)


@compiled
def _add_four_roots(total: Any, x0: Any, x1: Any, x2: Any, x3: Any, q0: Any, q1: Any, q2: Any, q3: Any) -> None:
    """Add the square roots of four rows, row by row, in a single loop.

    The speed of this loop is limited by the processor's square root unit. The fourth root is therefore computed by
    multiplications.
    """
    for i in range(total.shape[0]):
        a = total[i] + math.sqrt(abs(x0[i] - q0))
        a += math.sqrt(abs(x1[i] - q1))
        a += math.sqrt(abs(x2[i] - q2))
        total[i] = a + newton_root(abs(x3[i] - q3))


@compiled
def _add_eight_roots(first: Any, second: Any, x0: Any, x1: Any, x2: Any, x3: Any, p: Any, q: Any) -> None:
    """Do the same as `_add_four_roots` for two query steps, whose values are the first four of `p` and of `q`."""
    p0, p1, p2, p3 = p[0], p[1], p[2], p[3]
    q0, q1, q2, q3 = q[0], q[1], q[2], q[3]
    for i in range(first.shape[0]):
        a = first[i] + math.sqrt(abs(x0[i] - p0))
        a += math.sqrt(abs(x1[i] - p1))
        a += math.sqrt(abs(x2[i] - p2))
        b = second[i] + math.sqrt(abs(x0[i] - q0))
        b += math.sqrt(abs(x1[i] - q1))
        b += math.sqrt(abs(x2[i] - q2))
        first[i] = a + newton_root(abs(x3[i] - p3))
        second[i] = b + newton_root(abs(x3[i] - q3))


@compiled
def _add_present(total: Any, count: Any, x: Any, q: Any, mode: Any, power: Any) -> None:
    """Add |x - q|^b to `total` and 1 to `count` where x is not NaN."""
    b, high, low = power[0], power[1], power[2]
    if mode == ROOT:
        for i in range(total.shape[0]):
            d = abs(x[i] - q)
            root = math.sqrt(d)
            total[i] += root if d == d else _ZERO
            count[i] += _ONE if d == d else _ZERO
    elif mode == PLAIN:
        for i in range(total.shape[0]):
            d = abs(x[i] - q)
            total[i] += d if d == d else _ZERO
            count[i] += _ONE if d == d else _ZERO
    elif mode == SQUARE:
        for i in range(total.shape[0]):
            d = x[i] - q
            v = d * d
            total[i] += v if d == d else _ZERO
            count[i] += _ONE if d == d else _ZERO
    elif mode == CUBE_ROOT:
        for i in range(total.shape[0]):
            d = abs(x[i] - q)
            v = cube_root(d if d == d else _ZERO)
            total[i] += v
            count[i] += _ONE if d == d else _ZERO
    else:
        for i in range(total.shape[0]):
            d = abs(x[i] - q)
            v = general_power(d if d == d else _ZERO, b, high, low)
            total[i] += v
            count[i] += _ONE if d == d else _ZERO


@compiled
def _add_scaled(total: Any, term: Any, weight: Any) -> None:
    for i in range(total.shape[0]):
        total[i] += weight * term[i]


@compiled
def _add_product(total: Any, term: Any, weight: Any) -> None:
    for i in range(total.shape[0]):
        total[i] += weight[i] * term[i]


@compiled
def add_arrays(total: Any, term: Any) -> None:
    """Add `term` to `total`, in place."""
    for i in range(total.shape[0]):
        total[i] += term[i]


@compiled
def _add_four_arrays(total: Any, a: Any, b: Any, c: Any, d: Any) -> None:
    for i in range(total.shape[0]):
        total[i] = total[i] + a[i] + b[i] + c[i] + d[i]


@compiled
def _set_to_four_arrays(total: Any, a: Any, b: Any, c: Any, d: Any) -> None:
    for i in range(total.shape[0]):
        total[i] = a[i] + b[i] + c[i] + d[i]


@compiled
def _set_to_eight_arrays(total: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any) -> None:
    for i in range(total.shape[0]):
        total[i] = a[i] + b[i] + c[i] + d[i] + e[i] + f[i] + g[i] + h[i]


@compiled
def sum_group(total: Any, ring: Any, oldest: int) -> None:
    """Fill `total` with sums over the 8 rows of a ring, as `sum_shifted` does, in one pass."""
    width = total.shape[0]
    _set_to_eight_arrays(
        total,
        ring[oldest % 8, :width],
        ring[(oldest + 1) % 8, 1 : 1 + width],
        ring[(oldest + 2) % 8, 2 : 2 + width],
        ring[(oldest + 3) % 8, 3 : 3 + width],
        ring[(oldest + 4) % 8, 4 : 4 + width],
        ring[(oldest + 5) % 8, 5 : 5 + width],
        ring[(oldest + 6) % 8, 6 : 6 + width],
        ring[(oldest + 7) % 8, 7 : 7 + width],
    )


@compiled
def step_row(
    total: Any, extra: Any, data: Any, rows: Any, begin: int, q: Any, n_readings: int, n_own: int, mode: Any, power: Any
) -> None:
    """Fill `total` with the distances of one query step to the steps `begin`, `begin` + 1, ... of data without NaN.

    `rows` are the rows to compare: first `n_readings` rows of readings, then rows of other features of single
    variables (`n_own` rows together with the readings), then rows of shared features. A shared row has the weight of
    the number of readings that the query has at this step. `q` has one value for each of `rows`, NaN where the query
    has none. `extra` is scratch memory of the size of `total`.
    """
    total[:] = _ZERO
    _add_rows(total, extra, data, rows, begin, q, n_readings, n_own, mode, power, 0)


@compiled
def _add_rows(
    total: Any,
    extra: Any,
    data: Any,
    rows: Any,
    begin: int,
    q: Any,
    n_readings: int,
    n_own: int,
    mode: Any,
    power: Any,
    done: int,
) -> None:
    """Add the distances of one query step; the first `done` of its rows are in `total` already (see `step_row`)."""
    end = begin + total.shape[0]
    present = np.empty(rows.shape[0], np.int64)
    n_present, n_own_present, n_readings_present = 0, 0, 0
    for r in range(rows.shape[0]):
        if q[r] == q[r]:
            present[n_present] = r
            n_present += 1
            n_own_present += r < n_own
            n_readings_present += r < n_readings
    while mode == ROOT and done + 4 <= n_own_present:
        a, b, c, d = present[done], present[done + 1], present[done + 2], present[done + 3]
        _add_four_roots(
            total, data[rows[a], begin:end], data[rows[b], begin:end], data[rows[c], begin:end],
            data[rows[d], begin:end], q[a], q[b], q[c], q[d],
        )  # fmt: skip
        done += 4
    for position in range(done, n_present):
        r = present[position]
        weighted = position >= n_own_present
        if weighted:
            extra[:] = _ZERO
        # one call for both kinds of row, because numba inlines every call
        _add(extra if weighted else total, data[rows[r], begin:end], q[r], mode, power)
        if weighted:
            _add_scaled(total, extra, np.float32(n_readings_present))


@compiled
def step_rows(
    first: Any,
    second: Any,
    extra: Any,
    data: Any,
    rows: Any,
    begin: int,
    q: Any,
    n_readings: int,
    n_own: int,
    mode: Any,
    power: Any,
) -> None:
    """Do the same as `step_row` for the two query steps of `q` [2, rows], to the bit: data are read once for both."""
    end, done, known = begin + first.shape[0], 0, 0
    first[:] = _ZERO
    second[:] = _ZERO
    for r in range(n_own):
        known += q[0, r] == q[0, r] and q[1, r] == q[1, r]
    while mode == ROOT and known == n_own and done + 4 <= n_own:
        _add_eight_roots(
            first, second, data[rows[done], begin:end], data[rows[done + 1], begin:end],
            data[rows[done + 2], begin:end], data[rows[done + 3], begin:end], q[0, done:], q[1, done:],
        )  # fmt: skip
        done += 4
    for step in range(2):
        total = first if step == 0 else second
        _add_rows(total, extra, data, rows, begin, q[step], n_readings, n_own, mode, power, done)


@compiled
def step_row_holes(
    total: Any,
    count: Any,
    scratch: Any,
    data: Any,
    rows: Any,
    begin: int,
    q: Any,
    n_readings: int,
    n_own: int,
    mode: Any,
    power: Any,
) -> None:
    """Do the same as `step_row` for data with NaN, and count the cells compared in `count`; `scratch` is [3, width]."""
    width = total.shape[0]
    end = begin + width
    extra, extra_count, reading_counts = scratch[0, :width], scratch[1, :width], scratch[2, :width]
    total[:] = _ZERO
    count[:] = _ZERO
    for r in range(rows.shape[0]):
        if r == n_readings:
            reading_counts[:] = count
        if q[r] != q[r]:
            continue
        weighted = r >= n_own
        if weighted:
            extra[:] = _ZERO
            extra_count[:] = _ZERO
        _add_present(
            extra if weighted else total,
            extra_count if weighted else count,
            data[rows[r], begin:end],
            q[r],
            mode,
            power,
        )
        if weighted:
            _add_product(total, extra, reading_counts)
            _add_product(count, extra_count, reading_counts)


@compiled
def sum_shifted(total: Any, ring: Any, oldest: int) -> None:
    """Fill `total` with sums over the steps of the ring, oldest first; the p-th oldest row is shifted by p."""
    steps = ring.shape[0]
    width = total.shape[0]
    total[:] = _ZERO
    p = 0
    while p + 4 <= steps:
        _add_four_arrays(
            total,
            ring[(oldest + p) % steps, p : p + width],
            ring[(oldest + p + 1) % steps, p + 1 : p + 1 + width],
            ring[(oldest + p + 2) % steps, p + 2 : p + 2 + width],
            ring[(oldest + p + 3) % steps, p + 3 : p + 3 + width],
        )
        p += 4
    while p < steps:
        add_arrays(total, ring[(oldest + p) % steps, p : p + width])
        p += 1


@compiled
def group_size(steps: int) -> int:
    """Return how many consecutive steps are summed first: 8 of long windows, all of short ones.

    Every search sums in this order, so that all give the same bits; sliding searches use the sum of a group again for
    every window that holds the group.
    """
    return GROUP if steps >= LONG else steps


@compiled
def _set_to_first_groups(total: Any, ring: Any, end: int, count: int, steps: int) -> int:
    """Set `total` to the sum of the first 8 of `count` groups, or 4; return how many. The first ends at step `end`."""
    width = total.shape[0]
    number = 8 if count >= 8 else 4
    if number == 8:
        _set_to_eight_arrays(
            total,
            ring[end % steps, :width],
            ring[(end + GROUP) % steps, GROUP : GROUP + width],
            ring[(end + 2 * GROUP) % steps, 2 * GROUP : 2 * GROUP + width],
            ring[(end + 3 * GROUP) % steps, 3 * GROUP : 3 * GROUP + width],
            ring[(end + 4 * GROUP) % steps, 4 * GROUP : 4 * GROUP + width],
            ring[(end + 5 * GROUP) % steps, 5 * GROUP : 5 * GROUP + width],
            ring[(end + 6 * GROUP) % steps, 6 * GROUP : 6 * GROUP + width],
            ring[(end + 7 * GROUP) % steps, 7 * GROUP : 7 * GROUP + width],
        )
    else:
        _set_to_four_arrays(
            total,
            ring[end % steps, :width],
            ring[(end + GROUP) % steps, GROUP : GROUP + width],
            ring[(end + 2 * GROUP) % steps, 2 * GROUP : 2 * GROUP + width],
            ring[(end + 3 * GROUP) % steps, 3 * GROUP : 3 * GROUP + width],
        )
    return number


@compiled
def sum_groups(total: Any, part: Any, ring: Any, latest: int, steps: int) -> None:
    """Fill `total` with the sums of windows whose last step is number `latest`, from the sums of groups of steps.

    Row i of the first `steps` rows of the ring holds the sums of the groups that end at a step number = i modulo
    `steps`, its last rows the latest steps themselves. `part` is space for the steps after the last whole group.
    """
    width, count, rest = total.shape[0], steps // GROUP, steps % GROUP
    end = latest - rest - GROUP * (count - 1)
    number = _set_to_first_groups(total, ring, end, count, steps)
    end += number * GROUP
    while number + 4 <= count:
        place = GROUP * number
        _add_four_arrays(
            total,
            ring[end % steps, place : place + width],
            ring[(end + GROUP) % steps, place + GROUP : place + GROUP + width],
            ring[(end + 2 * GROUP) % steps, place + 2 * GROUP : place + 2 * GROUP + width],
            ring[(end + 3 * GROUP) % steps, place + 3 * GROUP : place + 3 * GROUP + width],
        )
        number, end = number + 4, end + 4 * GROUP
    while number < count:
        add_arrays(total, ring[end % steps, GROUP * number : GROUP * number + width])
        number, end = number + 1, end + GROUP
    if rest:
        part[:width] = _ZERO
        for step in range(rest):
            row, shift = steps + (latest - rest + 1 + step) % GROUP, GROUP * count + step
            add_arrays(part[:width], ring[row, shift : shift + width])
        add_arrays(total, part[:width])


@compiled
def divide_by_counts(total: Any, count: Any, needed: Any) -> None:
    """Replace sums by means, or by infinity where fewer than `needed` cells were compared."""
    for i in range(total.shape[0]):
        mean = total[i] / count[i]
        total[i] = mean if count[i] >= needed and mean <= _LARGEST else _INFINITE


@compiled
def any_within(values: Any, limit: Any) -> bool:
    """Return whether any of `values` is at most `limit`; NaN never is."""
    hit = 0
    for i in range(values.shape[0]):
        hit |= values[i] <= limit
    return hit != 0


@compiled
def search_sorted(starts: Any, t: int) -> int:
    """Return the first position in sorted `starts` whose value is at least `t`."""
    low, high = 0, starts.shape[0]
    while low < high:
        middle = (low + high) // 2
        if starts[middle] < t:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def offer(heap_d: Any, heap_i: Any, distance: Any, index: Any) -> None:
    """Insert (distance, index) into a heap of the k smallest pairs if it is one of them; the root is the largest."""
    if distance > heap_d[0] or (distance == heap_d[0] and index >= heap_i[0]):
        return
    size = heap_d.shape[0]
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (
            heap_d[right] > heap_d[child] or (heap_d[right] == heap_d[child] and heap_i[right] > heap_i[child])
        ):
            child = right
        if heap_d[child] < distance or (heap_d[child] == distance and heap_i[child] < index):
            break
        heap_d[hole], heap_i[hole] = heap_d[child], heap_i[child]
        hole = child
    heap_d[hole], heap_i[hole] = distance, index


@compiled
def heap_limit(heap_d: Any, count: Any) -> Any:
    """Return the largest sum over `count` cells whose mean can still enter the heap."""
    return min(heap_d[0] * count * _MARGIN, _LARGEST)


@compiled
def offer_tile(values: Any, count: Any, tile: Any, starts: Any, excluded: Any, heap_d: Any, heap_i: Any) -> None:
    """Offer the windows of a tile to a heap; `values` are their summed distances over `count` cells.

    A tile is (first start, end of starts, kind, first candidate). Kind FULL: every start is a candidate. Kind GAPS:
    some starts are candidates. Kind PACKED: the tile is a copy of candidates that may start anywhere. Windows that
    start in [excluded[0], excluded[1]) are skipped. `starts` are the starts of all candidates.
    """
    limit = heap_limit(heap_d, count)
    if not any_within(values, limit):
        return
    for a in range(0, values.shape[0], 64):
        chunk = values[a : a + 64]
        if not any_within(chunk, limit):
            continue
        for i in range(chunk.shape[0]):
            if not chunk[i] <= limit:
                continue
            index = tile[3] + a + i
            if tile[2] == GAPS:
                index = search_sorted(starts, tile[0] + a + i)
            if excluded[0] <= starts[index] < excluded[1]:
                continue
            offer(heap_d, heap_i, chunk[i] / count, index)
            limit = heap_limit(heap_d, count)


@compiled
def mark_candidates(penalty: Any, start: int, starts: Any) -> None:
    """Set penalty[i] to 0 if a candidate starts at `start` + i, and to infinity otherwise."""
    penalty[:] = _INFINITE
    c = search_sorted(starts, start)
    while c < starts.shape[0] and starts[c] < start + penalty.shape[0]:
        penalty[starts[c] - start] = _ZERO
        c += 1


@compiled
def merge_heap(heap_d: Any, heap_i: Any, more_d: Any, more_i: Any) -> None:
    """Offer all entries of one heap to another."""
    for i in range(more_d.shape[0]):
        offer(heap_d, heap_i, more_d[i], more_i[i])


@compiled
def sort_heaps(heaps_d: Any, heaps_i: Any) -> None:
    """Sort the heap in each row in place, by distance and then by index."""
    size = heaps_d.shape[1]
    for row in range(heaps_d.shape[0]):
        d, j = heaps_d[row], heaps_i[row]
        for last in range(size - 1, 0, -1):
            top_d, top_i = d[0], j[0]
            moved_d, moved_i = d[last], j[last]
            d[last], j[last] = top_d, top_i
            d[0], j[0] = _INFINITE, NONE
            offer(d[:last], j[:last], moved_d, moved_i)
