"""Search for independent windows: the k nearest candidates, all distances, and the ranks of given candidates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subcast.axes import describe_axes, variable_indices
from subcast.errors import InputError
from subcast.retrieval.compiled.kernel import FULL, LONG, sort_heaps
from subcast.retrieval.compiled.powers import power_of
from subcast.retrieval.compiled.scan import measure_windows, pack, scan_packed, scan_windows
from subcast.retrieval.layout import Layout, steps_read, widest
from subcast.retrieval.neighbors import Neighbors, empty_heaps, from_sorted_heaps, merge_heaps
from subcast.retrieval.queries import Queries, as_queries, cells_of
from subcast.retrieval.threads import cuts, run_all, thread_count

if TYPE_CHECKING:
    from subcast.retrieval.bank import WindowBank

Distance = Callable[[NDArray[np.float32], NDArray[np.float32]], float]

# Tiles for independent windows are short, so that a whole tile can be skipped early. With few rows to compare, and in
# long windows, longer tiles are used, because each step of a tile has a cost of its own.
TILE, _LONG_TILE, _FEW_ROWS = 256, 1024, 12
# One in this many tiles is scanned before the remaining tiles are distributed over the threads.
_FIRST_TILES = 16
# Largest number of distances that `WindowBank.rank` keeps in memory at once.
_MATRIX_CELLS = 16_000_000


class Searched(Protocol):
    """What queries are checked against: the sizes, names and layout of a bank."""

    @property
    def lookback(self) -> int:
        """Number of steps in a window."""
        ...

    @property
    def n(self) -> int:
        """Number of variables."""
        ...

    @property
    def f(self) -> int:
        """Number of features."""
        ...

    @property
    def layout(self) -> Layout:
        """Which row holds what."""
        ...

    @property
    def names(self) -> list[str] | None:
        """Names of the variables, if they have any."""
        ...

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each series begins, and where the last ends."""
        ...


@dataclass(frozen=True)
class Limits:
    """The limits of a search.

    Attributes
    ----------
    k
        number of neighbors
    needed
        [b] float32, the smallest number of cells that a candidate must have in common with each window
    excluded
        [b, 2], the range of starts that are excluded for each window
    bound
        [b] float32, a distance for each window that k other candidates are known not to exceed: farther ones need not
        be found, and places that stay empty have this distance; None if nothing is known
    """

    k: int
    needed: NDArray[np.float32]
    excluded: NDArray[np.int64]
    bound: NDArray[np.float32] | None = None

    def select(self, begin: int, end: int) -> Limits:
        """Return the limits of the windows `begin` to `end` (exclusive)."""
        bound = None if self.bound is None else self.bound[begin:end]
        return Limits(self.k, self.needed[begin:end], self.excluded[begin:end], bound)


def needed_cells(counts: NDArray[np.float32], min_overlap: float) -> NDArray[np.float32]:
    """Return the smallest number of cells that a candidate must share with windows of `counts` cells."""
    if not 0 <= min_overlap <= 1:
        raise InputError(f"min_overlap must be between 0 and 1, got {min_overlap}")
    return np.maximum(1, np.ceil(counts * min_overlap - 1e-3)).astype(np.float32)


def excluded_starts(at: ArrayLike | None, exclude: int, b: int, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each window the range [b, 2] of starts that are fewer than `exclude` steps from its start `at`."""
    if isinstance(exclude, bool) or not isinstance(exclude, (int, np.integer)) or exclude < 0:
        raise InputError(f"exclude must be a whole number of steps, 0 for none, got {exclude!r}")
    if exclude == 0:
        return np.zeros((b, 2), dtype=np.int64)
    if at is None:
        raise InputError("exclude needs at=, the step of the bank's series at which each window starts")
    window_starts = np.asarray(at)
    if window_starts.dtype.kind not in "iu" or window_starts.shape not in {(), (b,)}:
        raise InputError(
            f"at must be one whole number for each of the {b} windows, got shape {window_starts.shape} "
            f"of {window_starts.dtype}"
        )
    window_starts = np.broadcast_to(window_starts, (b,)).astype(np.int64)
    series = np.clip(np.searchsorted(offsets, window_starts, side="right") - 1, 0, len(offsets) - 2)
    low = np.maximum(window_starts - exclude + 1, offsets[series])
    high = np.minimum(window_starts + exclude, offsets[series + 1])
    outside = (window_starts < 0) | (window_starts >= offsets[-1])
    return np.where(outside[:, None], 0, np.stack([low, high], axis=1))


def window_groups(
    bank: Searched,
    windows: ArrayLike,
    variables: ArrayLike,
    k: int,
    *,
    shared: ArrayLike | None,
    mask: ArrayLike | None,
    min_overlap: float,
    excluded: NDArray[np.int64],
) -> list[tuple[NDArray[np.int64], Queries, Limits]]:
    """Check windows; return (indices of windows, queries, limits) for each distinct set of variables."""
    queried = as_windows(windows)
    groups = []
    for members, subset in group_by_variables(bank, variables, queried.shape[0]):
        group, group_shared, group_mask = select_windows(members, queried, shared, mask)
        queries = queries_of(bank, group, subset, group_shared, group_mask)
        needed = needed_cells(queries.counts.sum(axis=-1), min_overlap)
        groups.append((members, queries, Limits(k, needed, excluded[members])))
    return groups


def group_by_variables(
    bank: Searched, variables: ArrayLike, b: int
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return (indices of windows, variables) for each distinct set of variables.

    `variables` is one set for all b windows, or a mask [b, n] with one set for each window. Windows without any
    variable are left out.
    """
    mask = np.asarray(variables)
    if mask.ndim != 2:
        return [(np.arange(b), variable_indices(variables, bank.n, bank.names))]
    if mask.dtype != bool or mask.shape != (b, bank.n):
        raise InputError(
            f"variables as a mask for each window must be boolean [b, n] = ({b}, {bank.n}), "
            f"got shape {mask.shape} of {mask.dtype}"
        )
    sets, set_of_window = np.unique(mask, axis=0, return_inverse=True)
    set_of_window = set_of_window.reshape(-1)
    return [
        (np.flatnonzero(set_of_window == i), np.flatnonzero(present).astype(np.int64))
        for i, present in enumerate(sets)
        if present.any()
    ]


def should_gather(bank: WindowBank, b: int) -> bool:
    """Return whether for b windows copying the candidates first is cheaper than scanning all steps between them."""
    return bank.sparse and gathering_cost(bank, b) < 0.6 * steps_read(bank.tiles(TILE))


def gathering_cost(bank: WindowBank, b: int) -> float:
    """Return the cost of copying and scanning the candidates for each of b windows, in steps.

    Copying a step costs as much as scanning two.
    """
    return len(bank) * (1 + 2 / max(b, 1))


def search_windows(
    bank: WindowBank, queries: Queries, limits: Limits, exponent: float, threads: int | None
) -> Neighbors:
    """Return the nearest candidates of each window of `queries` (cells [b, t, r]) by scanning the whole bank."""
    packed = should_gather(bank, queries.cells.shape[0])
    is_long = queries.rows.size <= _FEW_ROWS or (bank.lookback >= LONG and not packed)
    size = _LONG_TILE if is_long else TILE
    tiles = bank.candidate_tiles(size) if packed else bank.tiles(size)
    workers = thread_count(threads, queries.cells.size * float(len(bank)))

    def scan(task: ScanTask) -> None:
        _scan(bank, queries, task, exponent, packed)

    return parallel_search(scan, queries.cells, queries.counts.sum(axis=-1), limits, tiles, workers)


@dataclass(frozen=True)
class ScanTask:
    """The work of one thread: some windows, some tiles, and the heaps [b, k] for the results."""

    cells: NDArray[np.float32]
    counts: NDArray[np.float32]
    needed: NDArray[np.float32]
    excluded: NDArray[np.int64]
    tiles: NDArray[np.int64]
    distance: NDArray[np.float32]
    index: NDArray[np.int64]

    @classmethod
    def create(
        cls, cells: NDArray[np.float32], counts: NDArray[np.float32], limits: Limits, tiles: NDArray[np.int64]
    ) -> ScanTask:
        """Return a task with empty heaps."""
        distance, index = empty_heaps(counts.size, limits.k)
        if limits.bound is not None:
            distance[:] = limits.bound[:, None]
        return cls(cells, counts, limits.needed, limits.excluded, tiles, distance, index)


def parallel_search(
    scan: Callable[[ScanTask], None],
    cells: NDArray[np.float32],
    counts: NDArray[np.float32],
    limits: Limits,
    tiles: NDArray[np.int64],
    threads: int,
    overlap: int = 0,
) -> Neighbors:
    """Distribute the windows over the threads if there are many, otherwise the tiles, and combine the results.

    `counts` has one entry for each window; window j reads `cells[j : j + overlap + 1]`.
    """
    b = counts.size
    if b == 0:
        return from_sorted_heaps(*empty_heaps(0, limits.k))
    if b >= (4 + 8 * overlap) * threads:
        return _search_by_windows(scan, cells, counts, limits, tiles, threads, overlap)
    return _search_by_tiles(scan, cells, counts, limits, tiles, min(threads, tiles.shape[0]), overlap)


def _search_by_windows(
    scan: Callable[[ScanTask], None],
    cells: NDArray[np.float32],
    counts: NDArray[np.float32],
    limits: Limits,
    tiles: NDArray[np.int64],
    threads: int,
    overlap: int,
) -> Neighbors:
    """Give each thread some of the windows and all tiles."""
    tasks = [
        ScanTask.create(cells[a : z + overlap], counts[a:z], limits.select(a, z), tiles)
        for a, z in pairwise(cuts(counts.size, threads).tolist())
    ]
    run_all([partial(scan, task) for task in tasks])
    distance = np.concatenate([task.distance for task in tasks])
    index = np.concatenate([task.index for task in tasks])
    sort_heaps(distance, index)
    return from_sorted_heaps(distance, index)


def _search_by_tiles(
    scan: Callable[[ScanTask], None],
    cells: NDArray[np.float32],
    counts: NDArray[np.float32],
    limits: Limits,
    tiles: NDArray[np.int64],
    threads: int,
    overlap: int,
) -> Neighbors:
    """Give each thread all windows and some of the tiles."""
    first: list[ScanTask] = []
    if overlap == 0 and tiles.shape[0] >= _FIRST_TILES * threads > _FIRST_TILES:
        # Scan the newest tiles first, so that every thread knows a limit above which it can skip its own tiles.
        n_newest = tiles.shape[0] // _FIRST_TILES
        first.append(ScanTask.create(cells, counts, limits, tiles[-n_newest:]))
        scan(first[0])
        tiles = tiles[:-n_newest]
    tasks = [
        ScanTask.create(cells, counts, limits, tiles[a:z]) for a, z in pairwise(cuts(tiles.shape[0], threads).tolist())
    ]
    for task in tasks if first else ():
        # The heaps start at the k-th distance known so far: k candidates are at least as near.
        task.distance[:] = first[0].distance[:, :1]
    run_all([partial(scan, task) for task in tasks])
    if threads == 1:
        sort_heaps(tasks[0].distance, tasks[0].index)
        return from_sorted_heaps(tasks[0].distance, tasks[0].index)
    return merge_heaps(
        np.concatenate([task.distance for task in first + tasks], axis=1),
        np.concatenate([task.index for task in first + tasks], axis=1),
        limits.k,
    )


def _scan(bank: WindowBank, queries: Queries, task: ScanTask, exponent: float, packed: bool) -> None:
    """Run one task with the kernel for gathered candidates (`packed`) or for runs of candidates."""
    mode, power = power_of(exponent)
    rows = queries.rows
    width = widest(task.tiles)
    arguments: tuple[Any, ...] = (
        task.cells, queries.n_readings, queries.n_own, bank.has_holes(rows), mode, power, task.counts, task.needed,
        task.excluded, task.tiles, width, bank.starts, task.distance, task.index,
    )  # fmt: skip
    if packed:
        scan_packed(bank.data, rows, *_packing(task.cells.shape[1], rows.size, width), *arguments)
    else:
        scan_windows(bank.data, rows[None], *arguments)


def _packing(steps: int, rows: int, width: int) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.float32]]:
    """Return the memory into which `scan_packed` copies: row numbers [t, r], buffer, read-only view of the buffer."""
    buffer = np.empty((steps * rows, width), dtype=np.float32)
    view = buffer.view()
    view.flags.writeable = False
    return np.arange(steps * rows, dtype=np.int64).reshape(steps, rows), buffer, view


def search_packed(
    bank: WindowBank,
    queries: Queries,
    candidates: NDArray[np.int64],
    tiles: NDArray[np.int64],
    k: int,
    exponent: float,
) -> Neighbors:
    """Search only the given candidates; the indices of the result are positions in `candidates`."""
    mode, power = power_of(exponent)
    rows = queries.rows
    counts = queries.counts.sum(axis=-1)
    distance, index = empty_heaps(counts.size, k)
    starts = bank.starts[candidates]
    starts.flags.writeable = False
    width = widest(tiles)
    scan_packed(
        bank.data, rows, *_packing(queries.cells.shape[1], rows.size, width), queries.cells, queries.n_readings,
        queries.n_own, bank.has_holes(rows), mode, power, counts, np.ones_like(counts),
        np.zeros((counts.size, 2), dtype=np.int64), tiles, width, starts, distance, index,
    )  # fmt: skip
    sort_heaps(distance, index)
    return from_sorted_heaps(distance, index)


def measure(
    bank: WindowBank, queries: Queries, needed: NDArray[np.float32], exponent: float, threads: int | None
) -> NDArray[np.float32]:
    """Return the distances of every window to every candidate, [b, len(bank)]; infinite if the overlap is too small."""
    mode, power = power_of(exponent)
    distances = np.full((queries.cells.shape[0], len(bank)), np.inf, dtype=np.float32)
    packed = should_gather(bank, queries.cells.shape[0])
    tiles = bank.candidate_tiles(TILE) if packed else bank.tiles(TILE)
    workers = min(thread_count(threads, queries.cells.size * float(len(bank))), tiles.shape[0])
    arguments: tuple[Any, ...] = (
        queries.cells, queries.n_readings, queries.n_own, bank.has_holes(queries.rows), mode, power,
        queries.counts.sum(axis=-1), needed,
    )  # fmt: skip

    def measure_tiles(a: int, z: int) -> None:
        if not packed:
            measure_windows(
                bank.data, queries.rows[None], 1, *arguments, tiles[a:z], widest(tiles), bank.starts, distances
            )
            return
        for low, high, *_ in tiles[a:z]:
            rows, buffer, view = _packing(bank.lookback, queries.rows.size, high - low)
            pack(buffer, bank.data, queries.rows, bank.starts[low:high], bank.lookback)
            columns = np.arange(high - low)
            columns.flags.writeable = False
            whole = np.array([[0, high - low, FULL, 0]], dtype=np.int64)
            measured = np.full((distances.shape[0], high - low), np.inf, dtype=np.float32)
            measure_windows(view, rows, 0, *arguments, whole, int(high - low), columns, measured)
            distances[:, low:high] = measured

    run_all([partial(measure_tiles, a, z) for a, z in pairwise(cuts(tiles.shape[0], workers))])
    return distances


def chunk_of_windows(bank: WindowBank) -> int:
    """Return for how many windows the distances to the whole bank may be in memory at once."""
    return max(1, _MATRIX_CELLS // len(bank))


def ranks(distances: NDArray[np.float32], index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the ranks, from 1, of the candidates `index` [b] or [b, j] in `distances` [b, m]; ties go by index."""
    candidates = index.reshape(index.shape[0], -1)  # [b, j]
    own_distances = np.take_along_axis(distances, candidates, axis=1)
    rank = np.empty(candidates.shape, dtype=np.int64)
    all_candidates = np.arange(distances.shape[1])
    for j in range(candidates.shape[1]):
        nearer = distances < own_distances[:, j, None]
        tied = (distances == own_distances[:, j, None]) & (all_candidates < candidates[:, j, None])
        rank[:, j] = 1 + np.count_nonzero(nearer | tied, axis=1)
    return rank.reshape(index.shape)


def search_with_distance(
    bank: WindowBank,
    windows: NDArray[np.float32],
    variables: NDArray[np.int64],
    excluded: NDArray[np.int64],
    k: int,
    distance: Distance,
) -> Neighbors:
    """Return the nearest candidates by a user's own `distance`, which is called for every window and candidate."""
    heap_d, heap_i = empty_heaps(len(windows), max(len(bank), k))
    for c, start in enumerate(bank.starts):
        candidate = bank.window(c)[:, variables]
        for j, window in enumerate(windows):
            if excluded[j, 0] <= start < excluded[j, 1]:
                continue
            value = float(distance(window, candidate))
            if np.isfinite(value):
                heap_d[j, c], heap_i[j, c] = value, c
    return merge_heaps(heap_d, heap_i, k)


def as_windows(windows: ArrayLike) -> NDArray[np.float32]:
    """Return windows as an array; raise if it does not have the axes of windows."""
    array = np.asarray(windows)
    if array.ndim not in {3, 4}:
        raise InputError(
            f"windows must be {describe_axes('btn')}, features last if there are several, got shape {array.shape}"
        )
    return array


def select_windows(
    members: NDArray[np.int64], windows: NDArray[np.float32], shared: ArrayLike | None, mask: ArrayLike | None
) -> tuple[NDArray[np.float32], NDArray[Any] | None, NDArray[Any] | None]:
    """Return the windows `members` of a batch, with their shared features and masks."""
    b = windows.shape[0]
    arrays = {"shared": shared, "mask": mask}
    selected: list[NDArray[Any] | None] = []
    for argument, given in arrays.items():
        array = None if given is None else np.asarray(given)
        if array is not None and (array.ndim == 0 or array.shape[0] != b):
            raise InputError(f"{argument} must have one entry for each of the {b} windows, got shape {array.shape}")
        selected.append(array if array is None or members.size == b else array[members])
    return windows if members.size == b else windows[members], selected[0], selected[1]


def plain_windows(
    bank: Searched,
    windows: NDArray[np.float32],
    variables: NDArray[np.int64],
    shared: ArrayLike | None,
    mask: ArrayLike | None,
) -> NDArray[np.float32]:
    """Return windows [b, t, s] or [b, t, s, f] of `variables`, in the form in which a user's own distance gets them."""
    cells = cells_of("windows", windows, "bt", variables, bank.layout, shared, mask)
    return cells if bank.f > 1 else cells[..., 0]


def queries_of(
    bank: Searched,
    windows: NDArray[np.float32],
    variables: NDArray[np.int64],
    shared: ArrayLike | None,
    mask: ArrayLike | None,
) -> Queries:
    """Check independent windows [b, t, n] or [b, t, s], features last if there are several; return their row layout."""
    queries = as_queries("windows", windows, "bt", variables, bank.layout, shared, mask)
    if queries.cells.shape[1] != bank.lookback:
        raise InputError(
            f"windows must have the bank's {bank.lookback} steps, got {queries.cells.shape[1]} "
            f"(shape {np.shape(windows)})"
        )
    return queries
