"""Search for consecutive windows: of a whole run of steps at once, or step by step."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subcast.axes import variable_indices
from subcast.errors import InputError
from subcast.retrieval.compiled.kernel import LONG, merge_heap, sort_heaps
from subcast.retrieval.compiled.powers import power_of
from subcast.retrieval.compiled.scan import ring_rows, rounded_up, scan_pushed, scan_sliding
from subcast.retrieval.layout import join_tiles, steps_read, widest
from subcast.retrieval.neighbors import Neighbors, empty_heaps, from_sorted_heaps
from subcast.retrieval.queries import Queries, as_queries
from subcast.retrieval.search import (
    Limits,
    ScanTask,
    Searched,
    excluded_starts,
    gathering_cost,
    needed_cells,
    parallel_search,
    search_windows,
)
from subcast.retrieval.threads import cuts, run_all, thread_count

if TYPE_CHECKING:
    from subcast.retrieval.bank import WindowBank

# Steps compared in one tile of a sliding search. The rows and the ring of step distances should fit in the second-level
# cache. A multiple of 32 leaves no scalar remainder in the vectorized loop over the steps.
_MAX_STEPS, _MIN_STEPS, _ROW_CELLS = 2048, 512, 1 << 16
# Largest number of cells of windows that are copied at once when windows are searched separately.
_SEPARATE_CELLS = 1 << 22


def tile_size(lookback: int, rows: int) -> int:
    """Return the number of windows in a tile.

    Neighboring tiles share lookback - 1 steps, so tiles of long windows are long, whatever the cache.

    >>> tile_size(12, 32), tile_size(12, 200), tile_size(96, 200), tile_size(500, 32)
    (2037, 501, 4001, 3597)
    """
    steps = max(_MIN_STEPS, min(_MAX_STEPS, _ROW_CELLS // rows // 32 * 32))
    if lookback >= LONG:
        steps = 2 * _MAX_STEPS
    return max(steps, -(-4 * lookback // 512) * 512) - lookback + 1


def sliding_queries(
    bank: Searched,
    steps: ArrayLike,
    variables: ArrayLike,
    k: int,
    *,
    shared: ArrayLike | None,
    mask: ArrayLike | None,
    min_overlap: float,
    exclude: int,
    at: int | None,
) -> tuple[Queries, Limits]:
    """Check consecutive steps; return them as queries, with the limits of each window."""
    subset = variable_indices(variables, bank.n, bank.names)
    queries = as_queries("steps", steps, "t", subset, bank.layout, shared, mask)
    check_steps(bank, queries.cells.shape[0])
    counts = window_counts(queries.counts, bank.lookback)
    window_starts = None if at is None else np.asarray(at) + np.arange(counts.size)
    excluded = excluded_starts(window_starts, exclude, counts.size, bank.offsets)
    return queries, Limits(k, needed_cells(counts, min_overlap), excluded)


def search_sliding(
    bank: WindowBank,
    queries: Queries,
    limits: Limits,
    exponent: float,
    threads: int | None,
    wanted: NDArray[np.bool_] | None = None,
) -> Neighbors:
    """Return the nearest candidates of each window of `lookback` consecutive steps of `queries` (cells [u, r]).

    Windows that are not `wanted` [windows] get none.
    """
    tiles = sliding_tiles(bank, queries.rows.size)
    separate_cost = gathering_cost(bank, limits.needed.size) * bank.lookback
    if bank.sparse and separate_cost < steps_read(tiles, bank.lookback - 1):
        return _search_separately(bank, queries, limits, exponent, threads)
    mode, power = power_of(exponent)
    rows, holes = queries.rows, bank.has_holes(queries.rows)

    def scan(task: ScanTask) -> None:
        scan_sliding(
            bank.data, rows, task.cells, bank.lookback, queries.n_readings, queries.n_own, holes, mode, power,
            task.counts, task.needed, task.excluded, task.tiles, widest(task.tiles),
            bank.starts, task.distance, task.index,
        )  # fmt: skip

    counts = window_counts(queries.counts, bank.lookback)
    if wanted is not None:
        counts = np.where(wanted, counts, np.float32(0))
    workers = thread_count(threads, queries.cells.size * float(len(bank)))
    return parallel_search(scan, queries.cells, counts, limits, tiles, workers, overlap=bank.lookback - 1)


def sliding_tiles(bank: WindowBank, rows: int) -> NDArray[np.int64]:
    """Return the tiles [tiles, 4] for sliding searches and streams that compare `rows` rows."""
    size = tile_size(bank.lookback, rows)
    return join_tiles(bank.tiles(size), bank.starts, size, bank.lookback)


def _search_separately(
    bank: WindowBank, queries: Queries, limits: Limits, exponent: float, threads: int | None
) -> Neighbors:
    """Search for each window independently: if candidates are far apart, windows have little work in common."""
    steps, b = bank.lookback, limits.needed.size
    chunk = max(1, _SEPARATE_CELLS // (steps * queries.rows.size))
    results = []
    for a in range(0, b, chunk):
        z = min(a + chunk, b)
        at = np.arange(a, z)[:, None] + np.arange(steps)  # [windows, t]
        windows = Queries(queries.cells[at], queries.rows, queries.n_readings, queries.n_own, queries.counts[at])
        results.append(search_windows(bank, windows, limits.select(a, z), exponent, threads))
    return Neighbors(
        np.concatenate([result.index for result in results]), np.concatenate([result.distance for result in results])
    )


def window_counts(counts: NDArray[np.float32], lookback: int) -> NDArray[np.float32]:
    """Return the number of cells of each window of `lookback` consecutive steps from the cells of each step.

    >>> window_counts(np.array([2, 2, 1, 0], dtype=np.float32), 2).tolist()
    [4.0, 3.0, 1.0]
    """
    if counts.size < lookback:
        return np.zeros(0, dtype=np.float32)
    total = np.concatenate([[0], np.cumsum(counts, dtype=np.float64)])
    return (total[lookback:] - total[:-lookback]).astype(np.float32)


class Stream:
    """The neighbors of the latest window of a stream, updated at each step for the cost of one step.

    Create it with `WindowBank.stream`. A stream follows one sequence of steps; call `push` from one thread at a time.
    """

    def __init__(
        self,
        bank: WindowBank,
        variables: NDArray[np.int64],
        k: int,
        exponent: float,
        min_overlap: float,
        exclude: int,
        at: int | None,
        threads: int | None,
    ) -> None:
        self.bank = bank
        self.variables = variables
        self.k = k
        self.exponent = exponent
        self.min_overlap = min_overlap
        self.exclude = exclude
        self.at = at
        self.pushed = 0
        steps = bank.lookback
        self._power = power_of(exponent)
        rows = np.concatenate([bank.layout.own_rows(np.sort(variables)), bank.layout.shared_rows])
        self._rows = rows
        self._n_own = variables.size * len(bank.layout.own_features)
        self._holes = bank.has_holes(rows)
        self._excluded = excluded_starts(at, exclude, 1, bank.offsets)[0]
        needed_cells(np.zeros(1, dtype=np.float32), min_overlap)  # checks min_overlap
        self._tiles = sliding_tiles(bank, rows.size)
        n_tiles = self._tiles.shape[0]
        widths = np.array([rounded_up(width) for width in self._tiles[:, 1] - self._tiles[:, 0]], dtype=np.int64)
        sizes = ring_rows(steps) * (widths + steps - 1)
        self._ring_begins = np.concatenate([[0], np.cumsum(sizes)])
        self._rings = np.zeros(self._ring_begins[-1], dtype=np.float32)
        self._ring_counts = np.zeros(self._ring_begins[-1] if self._holes else 0, dtype=np.float32)
        self._step_counts = np.zeros(steps, dtype=np.float32)
        workers = min(thread_count(threads, rows.size * float(len(bank))), n_tiles)
        self._tile_slices = [slice(int(a), int(z)) for a, z in pairwise(cuts(n_tiles, workers))]
        self._executor = ThreadPoolExecutor(workers - 1) if workers > 1 else None

    @property
    def ready(self) -> bool:
        """Whether at least `lookback` steps have been pushed, so that `push` returns neighbors."""
        return self.pushed >= self.bank.lookback

    def push(self, step: ArrayLike, *, shared: ArrayLike | None = None, mask: ArrayLike | None = None) -> Neighbors:
        """Add one step and return the neighbors of the window that ends with it.

        Parameters
        ----------
        step
            [n] or [s], or [n, f] or [s, f]; NaN marks missing readings
        shared
            [g], the shared features at this step, if `step` does not contain them
        mask
            [n] or [s], False where a reading is missing

        Returns
        -------
        Neighbors of one window ([1, k]). Until `lookback` steps have been pushed every index is -1.

        Examples
        --------
        >>> from subcast.retrieval import WindowBank
        >>> bank = WindowBank(np.arange(12.0).reshape(6, 2), lookback=2)
        >>> stream = bank.stream([0], k=1)
        >>> stream.push([4.0]).index, stream.push([6.0]).index
        (array([[-1]]), array([[2]]))
        """
        cells, count = self._read(step, shared, mask)
        steps = self.bank.lookback
        self._step_counts[self.pushed % steps] = count
        total = self._step_counts.sum(keepdims=True)  # [1]
        needed = needed_cells(total, self.min_overlap)[0] if self._holes else total[0]
        excluded = self._excluded
        if self.exclude and self.at is not None:
            excluded = excluded_starts(self.at + self.pushed - steps + 1, self.exclude, 1, self.bank.offsets)[0]
        distance, index = empty_heaps(len(self._tile_slices), self.k)
        scans = [
            partial(self._scan, tiles, cells, total[0], needed, excluded, distance[i], index[i])
            for i, tiles in enumerate(self._tile_slices)
        ]
        run_all(scans, self._executor)
        self.pushed += 1
        for i in range(1, len(scans)):
            merge_heap(distance[0], index[0], distance[i], index[i])
        sort_heaps(distance[:1], index[:1])
        return from_sorted_heaps(distance[:1], index[:1])

    def _read(
        self, step: ArrayLike, shared: ArrayLike | None, mask: ArrayLike | None
    ) -> tuple[NDArray[np.float32], float]:
        """Return the row layout [rows] of one step and its number of cells, with a shortcut for the simplest case."""
        plain = isinstance(step, np.ndarray) and step.dtype == np.float32 and step.shape == (self.bank.n,)
        if plain and self.bank.f == 1 and mask is None and shared is None:
            cells: NDArray[np.float32] = np.asarray(step)[self._rows]
            if not np.isinf(cells).any():
                return cells, float(np.count_nonzero(cells == cells))
        query = as_queries("step", step, "", self.variables, self.bank.layout, shared, mask)
        return query.cells, float(query.counts)

    def _scan(
        self,
        tiles: slice,
        q: NDArray[np.float32],
        cells: np.float32,
        needed: np.float32,
        excluded: NDArray[np.int64],
        distance: NDArray[np.float32],
        index: NDArray[np.int64],
    ) -> None:
        """Compare the step `q` [rows] with some of the tiles; `cells` is the number of cells of the whole window."""
        scan_pushed(
            self.bank.data, self._rows, q, self._rings, self._ring_counts, self._ring_begins[tiles],
            self.bank.lookback, self.pushed, self.variables.size, self._n_own, self._holes, *self._power, cells,
            needed, excluded, self._tiles[tiles], widest(self._tiles[tiles]), self.bank.starts, distance, index,
        )  # fmt: skip


def check_steps(bank: Searched, n_steps: int) -> None:
    """Raise an error if there are too few steps for one window."""
    if n_steps < bank.lookback:
        raise InputError(f"steps must have at least {bank.lookback} steps, the lookback of the bank, got {n_steps}")
