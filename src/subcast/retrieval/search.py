"""Searching for independent windows: the k nearest, all distances, and the rank of a given candidate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subcast.axes import describe_axes, variable_indices
from subcast.errors import InputError
from subcast.retrieval.compiled.kernel import FULL, sort_heaps
from subcast.retrieval.compiled.powers import power_of
from subcast.retrieval.compiled.scan import measure_windows, pack, scan_packed, scan_windows
from subcast.retrieval.layout import steps_read, widest
from subcast.retrieval.neighbors import Neighbors, empty_heaps, from_sorted_heaps, merge_heaps
from subcast.retrieval.queries import Queries, as_queries, cells_of
from subcast.retrieval.threads import cuts, run_all, thread_count

if TYPE_CHECKING:
    from subcast.retrieval.bank import WindowBank

Distance = Callable[[NDArray[np.float32], NDArray[np.float32]], float]

# Tiles of independent windows are short, so that a whole tile can be abandoned early; but with few rows to compare
# the cost of entering a tile would show.
TILE, _LONG_TILE, _FEW_ROWS = 256, 1024, 12
# One of so many tiles is scanned before the others are shared among threads.
_FIRST_TILES = 16
_MATRIX_CELLS = 16_000_000


@dataclass(frozen=True)
class Limits:
    """What every search asks of its candidates: places, overlap, and the starts barred for each window."""

    k: int
    needed: NDArray[np.float32]
    barred: NDArray[np.int64]


def needed_cells(counts: NDArray[np.float32], min_overlap: float) -> NDArray[np.float32]:
    """Return how many cells a candidate must have in common with windows that have `counts` of them."""
    if not 0 <= min_overlap <= 1:
        raise InputError(f"min_overlap must lie between 0 and 1, got {min_overlap}")
    return np.maximum(1, np.ceil(counts * min_overlap - 1e-3)).astype(np.float32)


def barred_starts(at: ArrayLike | None, exclude: int, b: int, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each window the range [b, 2] of starts fewer than `exclude` steps from its own start `at`."""
    if isinstance(exclude, bool) or not isinstance(exclude, (int, np.integer)) or exclude < 0:
        raise InputError(f"exclude must be a whole number of steps, 0 for none, got {exclude!r}")
    if exclude == 0:
        return np.zeros((b, 2), dtype=np.int64)
    if at is None:
        raise InputError("exclude needs at=, the step of the bank's series at which each window starts")
    own = np.asarray(at)
    if own.dtype.kind not in "iu" or own.shape not in {(), (b,)}:
        raise InputError(
            f"at must be one whole number for each of the {b} windows, got shape {own.shape} of {own.dtype}"
        )
    own = np.broadcast_to(own, (b,)).astype(np.int64)
    series = np.clip(np.searchsorted(offsets, own, side="right") - 1, 0, len(offsets) - 2)
    low = np.maximum(own - exclude + 1, offsets[series])
    high = np.minimum(own + exclude, offsets[series + 1])
    outside = (own < 0) | (own >= offsets[-1])
    return np.where(outside[:, None], 0, np.stack([low, high], axis=1))


def groups_of(bank: WindowBank, variables: ArrayLike, b: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return (windows, variables) for each set of variables: one set, or a mask [b, n] with a set a window."""
    chosen = np.asarray(variables)
    if chosen.ndim != 2:
        return [(np.arange(b), variable_indices(variables, bank.n, bank.names))]
    if chosen.dtype != bool or chosen.shape != (b, bank.n):
        raise InputError(
            f"variables as a mask for each window must be boolean [b, n] = ({b}, {bank.n}), "
            f"got shape {chosen.shape} of {chosen.dtype}"
        )
    sets, member = np.unique(chosen, axis=0, return_inverse=True)
    member = member.reshape(-1)
    return [
        (np.flatnonzero(member == i), np.flatnonzero(present).astype(np.int64))
        for i, present in enumerate(sets)
        if present.any()
    ]


def gathers(bank: WindowBank, b: int) -> bool:
    """Return whether for b windows it is cheaper to copy the candidates together than to scan all between them."""
    return bank.sparse and gathering(bank, b) < 0.6 * steps_read(bank.tiles(TILE))


def gathering(bank: WindowBank, b: int) -> float:
    """Return what a pass over gathered candidates costs each of b windows, in steps: one is copied for two."""
    return len(bank) * (1 + 2 / max(b, 1))


def search_windows(
    bank: WindowBank, queries: Queries, limits: Limits, exponent: float, threads: int | None
) -> Neighbors:
    """Scan the whole bank for each window of `queries` (cells [b, t, r])."""
    packed = gathers(bank, queries.cells.shape[0])
    size = _LONG_TILE if queries.rows.size <= _FEW_ROWS else TILE
    tiles = bank.candidate_tiles(size) if packed else bank.tiles(size)
    workers = thread_count(threads, queries.cells.size * float(len(bank)))

    def scan(work: Piece) -> None:
        _scan(bank, queries, work, exponent, packed)

    return split_search(scan, queries.cells, queries.counts.sum(axis=-1), limits, tiles, workers)


@dataclass(frozen=True)
class Piece:
    """One thread's share of a search: some windows, some tiles, and where the answers go."""

    cells: NDArray[np.float32]
    counts: NDArray[np.float32]
    needed: NDArray[np.float32]
    barred: NDArray[np.int64]
    tiles: NDArray[np.int64]
    distance: NDArray[np.float32]
    index: NDArray[np.int64]


def split_search(
    scan: Callable[[Piece], None],
    cells: NDArray[np.float32],
    counts: NDArray[np.float32],
    limits: Limits,
    tiles: NDArray[np.int64],
    threads: int,
    overlap: int = 0,
) -> Neighbors:
    """Share windows among the threads when there are many, else tiles, and put the answers together.

    `counts` has one entry a window; window j reads `cells[j : j + overlap + 1]`.
    """
    b, k = counts.size, limits.k
    if b == 0:
        return from_sorted_heaps(*empty_heaps(0, k))
    by_windows = b >= (4 + 8 * overlap) * threads
    pieces = threads if by_windows else min(threads, tiles.shape[0])
    window_cuts = cuts(b, pieces) if by_windows else np.zeros(pieces + 1, dtype=np.int64)
    work: list[Piece] = []
    if not by_windows and overlap == 0 and tiles.shape[0] >= _FIRST_TILES * pieces > _FIRST_TILES:
        # The newest tiles first, so that every thread has a limit by which to abandon its own.
        newest = tiles.shape[0] // _FIRST_TILES
        work.append(Piece(cells, counts, limits.needed, limits.barred, tiles[-newest:], *empty_heaps(b, k)))
        scan(work[0])
        tiles = tiles[:-newest]
    done = len(work)
    tile_cuts = np.zeros(pieces + 1, dtype=np.int64) if by_windows else cuts(tiles.shape[0], pieces)
    for i in range(pieces):
        a, z = (window_cuts[i], window_cuts[i + 1]) if by_windows else (0, b)
        part = tiles if by_windows else tiles[tile_cuts[i] : tile_cuts[i + 1]]
        work.append(
            Piece(
                cells[a : z + overlap],
                counts[a:z],
                limits.needed[a:z],
                limits.barred[a:z],
                part,
                *empty_heaps(z - a, k),
            )
        )
        if done:
            # Places taken by no candidate at the k-th distance so far: k real ones are at least as near.
            work[-1].distance[:] = work[0].distance[:, :1]
    run_all([partial(scan, piece) for piece in work[done:]])
    if by_windows or pieces == 1:
        distance = np.concatenate([piece.distance for piece in work])
        index = np.concatenate([piece.index for piece in work])
        sort_heaps(distance, index)
        return from_sorted_heaps(distance, index)
    return merge_heaps(
        np.concatenate([piece.distance for piece in work], axis=1),
        np.concatenate([piece.index for piece in work], axis=1),
        k,
    )


def _scan(bank: WindowBank, queries: Queries, work: Piece, exponent: float, packed: bool) -> None:
    mode, power = power_of(exponent)
    rows = queries.rows
    width = widest(work.tiles)
    task: tuple[Any, ...] = (
        work.cells, queries.first, queries.own, bank.has_holes(rows), mode, power, work.counts, work.needed,
        work.barred, work.tiles, width, bank.starts, work.distance, work.index,
    )  # fmt: skip
    if packed:
        scan_packed(bank.data, rows, *_packing(work.cells.shape[1], rows.size, width), *task)
    else:
        scan_windows(bank.data, rows[None], *task)


def _packing(steps: int, rows: int, width: int) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.float32]]:
    """Return what `scan_packed` gathers into: the rows of the copy, the copy, and its read-only view."""
    buffer = np.empty((steps * rows, width), dtype=np.float32)
    view = buffer.view()
    view.flags.writeable = False
    return np.arange(steps * rows, dtype=np.int64).reshape(steps, rows), buffer, view


def search_packed(
    bank: WindowBank,
    queries: Queries,
    found: NDArray[np.int64],
    tiles: NDArray[np.int64],
    k: int,
    exponent: float,
) -> Neighbors:
    """Search only the candidates `found`; the answer's indices are places in `found`."""
    mode, power = power_of(exponent)
    rows = queries.rows
    counts = queries.counts.sum(axis=-1)
    distance, index = empty_heaps(counts.size, k)
    starts = bank.starts[found]
    starts.flags.writeable = False
    width = widest(tiles)
    scan_packed(
        bank.data, rows, *_packing(queries.cells.shape[1], rows.size, width), queries.cells, queries.first,
        queries.own, bank.has_holes(rows), mode, power, counts, np.ones_like(counts),
        np.zeros((counts.size, 2), dtype=np.int64), tiles, width, starts, distance, index,
    )  # fmt: skip
    sort_heaps(distance, index)
    return from_sorted_heaps(distance, index)


def measure(
    bank: WindowBank, queries: Queries, needed: NDArray[np.float32], exponent: float, threads: int | None
) -> NDArray[np.float32]:
    """Return the distance of every candidate from every window, [b, len(bank)]; infinite where none."""
    mode, power = power_of(exponent)
    distances = np.full((queries.cells.shape[0], len(bank)), np.inf, dtype=np.float32)
    packed = gathers(bank, queries.cells.shape[0])
    tiles = bank.candidate_tiles(TILE) if packed else bank.tiles(TILE)
    workers = min(thread_count(threads, queries.cells.size * float(len(bank))), tiles.shape[0])
    task: tuple[Any, ...] = (
        queries.cells, queries.first, queries.own, bank.has_holes(queries.rows), mode, power,
        queries.counts.sum(axis=-1), needed,
    )  # fmt: skip

    def part(a: int, z: int) -> None:
        if not packed:
            measure_windows(bank.data, queries.rows[None], 1, *task, tiles[a:z], widest(tiles), bank.starts, distances)
            return
        for low, high, *_ in tiles[a:z]:
            rows, buffer, view = _packing(bank.lookback, queries.rows.size, high - low)
            pack(buffer, bank.data, queries.rows, bank.starts[low:high], bank.lookback)
            places = np.arange(high - low)
            places.flags.writeable = False
            whole = np.array([[0, high - low, FULL, 0]], dtype=np.int64)
            measured = np.full((distances.shape[0], high - low), np.inf, dtype=np.float32)
            measure_windows(view, rows, 0, *task, whole, int(high - low), places, measured)
            distances[:, low:high] = measured

    run_all([partial(part, a, z) for a, z in pairwise(cuts(tiles.shape[0], workers))])
    return distances


def chunk_of_windows(bank: WindowBank) -> int:
    """Return how many windows' distances to the whole bank may be held at once."""
    return max(1, _MATRIX_CELLS // len(bank))


def ranks(distances: NDArray[np.float32], index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places, from 1, of the candidates `index` [b] or [b, j] among all `distances` [b, m]."""
    asked = index.reshape(index.shape[0], -1)  # [b, j]
    chosen = np.take_along_axis(distances, asked, axis=1)
    places = np.empty(asked.shape, dtype=np.int64)
    everyone = np.arange(distances.shape[1])
    for j in range(asked.shape[1]):
        nearer = distances < chosen[:, j, None]
        tied = (distances == chosen[:, j, None]) & (everyone < asked[:, j, None])
        places[:, j] = 1 + np.count_nonzero(nearer | tied, axis=1)
    return places.reshape(index.shape)


def search_by_hand(
    bank: WindowBank,
    windows: NDArray[np.float32],
    variables: NDArray[np.int64],
    barred: NDArray[np.int64],
    k: int,
    distance: Distance,
) -> Neighbors:
    """Ask a user's own `distance` about every candidate, one at a time."""
    found_d, found_i = empty_heaps(len(windows), len(bank))
    for c, start in enumerate(bank.starts):
        candidate = bank.window(c)[:, variables]
        for j, window in enumerate(windows):
            if barred[j, 0] <= start < barred[j, 1]:
                continue
            value = float(distance(window, candidate))
            if np.isfinite(value):
                found_d[j, c], found_i[j, c] = value, c
    answer = merge_heaps(found_d, found_i, k)
    missing = k - answer.index.shape[1]
    if missing <= 0:
        return answer
    pad_d, pad_i = empty_heaps(len(windows), missing)
    return merge_heaps(np.concatenate([found_d, pad_d], axis=1), np.concatenate([found_i, pad_i], axis=1), k)


def as_windows(windows: ArrayLike) -> NDArray[np.float32]:
    """Return windows as an array, or say that it is not one of windows."""
    given = np.asarray(windows)
    if given.ndim not in {3, 4}:
        raise InputError(
            f"windows must be {describe_axes('btn')}, features last if there are several, got shape {given.shape}"
        )
    return given


def part_of(
    members: NDArray[np.int64], windows: NDArray[np.float32], shared: ArrayLike | None, mask: ArrayLike | None
) -> tuple[NDArray[np.float32], NDArray[Any] | None, NDArray[Any] | None]:
    """Take some windows, and what goes with each window, out of a batch."""
    b = windows.shape[0]
    first, second = (None if one is None else np.asarray(one) for one in (shared, mask))
    for argument, given in (("shared", first), ("mask", second)):
        if given is not None and (given.ndim == 0 or given.shape[0] != b):
            raise InputError(f"{argument} must have one entry for each of the {b} windows, got shape {given.shape}")
    if members.size == b:
        return windows, first, second
    return windows[members], None if first is None else first[members], None if second is None else second[members]


def plain_windows(
    bank: WindowBank,
    windows: NDArray[np.float32],
    variables: NDArray[np.int64],
    shared: ArrayLike | None,
    mask: ArrayLike | None,
) -> NDArray[np.float32]:
    """Return windows [b, t, s] or [b, t, s, f] of `variables`, as a user's own distance gets them."""
    cells = cells_of("windows", windows, "bt", variables, bank.layout, shared, mask)
    return cells if bank.f > 1 else cells[..., 0]


def queries_of(
    bank: WindowBank,
    windows: NDArray[np.float32],
    variables: NDArray[np.int64],
    shared: ArrayLike | None,
    mask: ArrayLike | None,
) -> Queries:
    """Lay out independent windows [b, t, n or s (, f)]."""
    queries = as_queries("windows", windows, "bt", variables, bank.layout, shared, mask)
    if queries.cells.shape[1] != bank.lookback:
        raise InputError(
            f"windows must have the bank's {bank.lookback} steps, got {queries.cells.shape[1]} "
            f"(shape {np.shape(windows)})"
        )
    return queries
