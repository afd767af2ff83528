"""An exact index: lower bounds for blocks of consecutive windows, with which most windows can be skipped.

Series change slowly, so sixteen windows with consecutive starts are similar. For each block of 16 starts and each
group of four steps, the index stores the minimum and maximum reading of the 20 steps that these windows cover there.
The distance of a query reading to this range is a lower bound of its difference from all sixteen readings. |.|^b
increases with the difference, so for any b these bounds add up to a lower bound of the distance. A block whose bound
exceeds the k-th smallest distance so far contains no neighbor. The other blocks are compared in full, and sums are
computed in the same order as in every other search, so the result equals that of the scan to the bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subcast.errors import InputError
from subcast.retrieval.compiled.bounds import BLOCK, GROUP, PHASES, make_envelope, scan_blocks
from subcast.retrieval.compiled.powers import power_of
from subcast.retrieval.neighbors import Neighbors, empty_heaps, merge_heaps
from subcast.retrieval.queries import Queries
from subcast.retrieval.search import Limits, search_windows
from subcast.retrieval.threads import cuts, run_all, thread_count

if TYPE_CHECKING:
    from subcast.retrieval.bank import WindowBank

# "auto" tries the index for banks of at least this many candidates, and keeps using it while it reads less than this
# share of them.
INDEX_FROM = 100_000
_MAX_SHARE_READ = 0.6
# Number of windows of a call with which the index is tried, and number of calls that are scanned after the index read
# too much, before it is tried again.
_TRIED, _PAUSE = 8, 64
# Each neighbor may lie in a block of its own. If these blocks alone are this share of the bank, the index is not tried.
_MAX_SHARE_OF_NEIGHBORS = 0.25
# The index is not tried either if fewer than this share of all steps start a candidate: its blocks would be half empty.
_MIN_SHARE_OF_STARTS = 0.5


@dataclass
class IndexRecord:
    """What method "auto" knows about the index for one kind of query.

    Attributes
    ----------
    share
        share of the bank that the index read in recent calls, None before the first call
    scanned
        number of calls answered by the scan since then
    """

    share: float | None = None
    scanned: int = 0

    @property
    def use_index(self) -> bool:
        """Whether the next call should use the index: it is untried, it read little, or its last trial is long ago."""
        return self.share is None or self.share < _MAX_SHARE_READ or self.scanned >= _PAUSE

    def update(self, share: float) -> None:
        """Store the share read by a call; average it with the previous share if that one is recent."""
        self.share = share if self.share is None or self.scanned else (self.share + share) / 2
        self.scanned = 0


class EnvelopeIndex:
    """The envelopes of the rows of a bank, computed for each row when it is first needed.

    `envelopes` is [rows, 2, phases, blocks], half the size of the bank; rows that were never needed use no memory.
    `records` has an `IndexRecord` for each number of rows, exponent and order of magnitude of k. `answered` counts
    the windows that "auto" answered by the index and by the scan. Concurrent threads may overwrite each other's
    records; this can change the method used, but not the results.
    """

    def __init__(self, data: NDArray[np.float32], lookback: int) -> None:
        self.blocks = -(-data.shape[1] // BLOCK)
        reach = self.blocks + lookback // BLOCK + 1
        self.envelopes = np.empty((data.shape[0], 2, PHASES, reach), dtype=np.float32)
        self.records: dict[tuple[int, float, int], IndexRecord] = {}
        self.answered = {"index": 0, "scan": 0}
        self._data = data
        self._made = np.zeros(data.shape[0], dtype=bool)

    def prepare(self, rows: NDArray[np.int64]) -> None:
        """Compute the envelopes of those of `rows` that have none yet."""
        for row in rows[~self._made[rows]]:
            make_envelope(self.envelopes[row], self._data[row])
            self._made[row] = True

    @property
    def nbytes(self) -> int:
        """Memory used by the envelopes computed so far, in bytes."""
        return int(self._made.sum()) * self.envelopes[0].nbytes


def search_indexed(
    bank: WindowBank, queries: Queries, limits: Limits, exponent: float, threads: int | None, forced: bool
) -> Neighbors:
    """Return the same result as `search_windows`, using the index if `forced` or if it is expected to be faster."""
    holes = bank.has_holes(queries.rows)
    if forced and holes:
        raise InputError(
            "method='index' needs a bank without missing readings in these variables, got missing readings: use "
            "method='scan' or 'auto'"
        )
    if queries.cells.shape[0] == 0 or not (forced or _index_is_possible(bank, holes, limits.k)):
        return search_windows(bank, queries, limits, exponent, threads)
    if forced:
        return _search_blocks(bank, queries, limits, exponent, threads)[0]
    return _search_auto(bank, queries, limits, exponent, threads)


def _index_is_possible(bank: WindowBank, holes: bool, k: int) -> bool:
    """Return whether the index can be faster than the scan, judged by the bank and k alone."""
    contiguous = len(bank) > _MIN_SHARE_OF_STARTS * bank.data.shape[1]
    return contiguous and not holes and len(bank) >= INDEX_FROM and k * BLOCK < _MAX_SHARE_OF_NEIGHBORS * len(bank)


def _search_auto(bank: WindowBank, queries: Queries, limits: Limits, exponent: float, threads: int | None) -> Neighbors:
    """Use the method that was faster for this kind of query so far; try the index with a few windows if unknown."""
    index = bank.envelopes(np.zeros(0, dtype=np.int64))
    record = index.records.setdefault((queries.rows.size, float(exponent), limits.k.bit_length()), IndexRecord())
    b = queries.cells.shape[0]
    if not record.use_index:
        record.scanned += 1
        index.answered["scan"] += b
        return search_windows(bank, queries, limits, exponent, threads)
    n_tried = min(b, _TRIED)
    first, read = _search_blocks(bank, queries.select(0, n_tried), limits.select(0, n_tried), exponent, threads)
    steps = 1 + (bank.lookback - 1) / BLOCK  # compared for each window read
    share = float(read.mean()) * steps / len(bank)
    record.update(share)
    index.answered["index"] += n_tried
    if n_tried == b:
        return first
    rest, rest_limits = queries.select(n_tried, b), limits.select(n_tried, b)
    if share < _MAX_SHARE_READ:
        second = _search_blocks(bank, rest, rest_limits, exponent, threads)[0]
    else:
        second = search_windows(bank, rest, rest_limits, exponent, threads)
    index.answered["index" if share < _MAX_SHARE_READ else "scan"] += b - n_tried
    return Neighbors(np.concatenate([first.index, second.index]), np.concatenate([first.distance, second.distance]))


def windows_read(
    bank: WindowBank, queries: Queries, limits: Limits, exponent: float, threads: int | None
) -> NDArray[np.int64]:
    """Return the number of candidates [b] that the index compares in full for each window."""
    return _search_blocks(bank, queries, limits, exponent, threads)[1]


def _search_blocks(
    bank: WindowBank, queries: Queries, limits: Limits, exponent: float, threads: int | None
) -> tuple[Neighbors, NDArray[np.int64]]:
    """Search with the index; return the neighbors and the number of windows compared in full for each query."""
    mode, power = power_of(exponent)
    cells, rows, k = queries.cells, queries.rows, limits.k
    index = bank.envelopes(rows)
    counts = queries.counts.sum(axis=-1)
    b = counts.size
    workers = thread_count(threads, cells.size * float(len(bank)) / BLOCK)
    by_windows = b >= 2 * workers
    window_cuts = cuts(b, workers) if by_windows else np.array([0, b])
    block_cuts = np.array([0, index.blocks]) if by_windows else cuts(index.blocks, workers)
    read = np.zeros((block_cuts.size - 1, b), dtype=np.int64)
    heap_d, heap_i = empty_heaps((block_cuts.size - 1) * b, k)
    heap_d, heap_i = heap_d.reshape(-1, b, k), heap_i.reshape(-1, b, k)
    if limits.bound is not None:
        heap_d[:] = limits.bound[:, None]

    steps = bank.lookback

    def scan(piece: int, a: int, z: int) -> None:
        buffer = np.zeros((rows.size, -(-GROUP * (BLOCK + steps - 1) // 32) * 32 + steps - 1), dtype=np.float32)
        view = buffer.view()
        view.flags.writeable = False
        scan_blocks(
            bank.data, index.envelopes, rows, buffer, view, cells[a:z], queries.n_readings, queries.n_own, mode, power,
            counts[a:z], limits.excluded[a:z], block_cuts[piece], block_cuts[piece + 1], bank.starts,
            heap_d[piece, a:z], heap_i[piece, a:z], read[piece, a:z],
        )  # fmt: skip

    run_all([partial(scan, piece, a, z) for a, z in pairwise(window_cuts) for piece in range(block_cuts.size - 1)])
    neighbors = merge_heaps(np.moveaxis(heap_d, 0, 1).reshape(b, -1), np.moveaxis(heap_i, 0, 1).reshape(b, -1), k)
    return neighbors, read.sum(axis=0)
