"""An exact index: lower bounds for blocks of neighboring windows, so that most windows are never looked at.

Series move slowly, so sixteen windows that start one after the other resemble one another. For each block of 16
starts and each four steps the index keeps the least and the greatest reading of the 20 steps that those windows
can see there. How far a query reading lies outside of that range bounds its difference from all sixteen, and
because |.|^b rises with the difference, the bounds add up to a bound of the distance, whatever b. Blocks whose bound
exceeds the k-th best distance so far hold no neighbor; the others are compared in full, in the same order of
summation as in every other search, so the answer is that of the scan to the bit.
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

# "auto" uses the index from this many candidates on, and goes on with it while it reads less than this share of them.
INDEX_FROM = 100_000
_WORTH_SHARE = 0.6
# So many windows of a call are tried; where the index lost, so many calls are scanned until it is tried again.
_TRIED, _PAUSE = 8, 64
# Neighbors may lie in a block each: if those blocks alone are this share of the bank, the index is not tried.
_SHARE_OF_NEIGHBOURS = 0.25
# Nor is it if fewer than this share of all steps start a candidate: its blocks would be half empty.
_SIDE_BY_SIDE = 0.5


@dataclass
class Habit:
    """What "auto" has learned about one kind of question: the share of the bank read, and the calls scanned since."""

    share: float | None = None
    scanned: int = 0

    @property
    def worth_a_trial(self) -> bool:
        """Whether the next call should use the index: it is new, it paid, or it has not been tried for long."""
        return self.share is None or self.share < _WORTH_SHARE or self.scanned >= _PAUSE

    def learn(self, share: float) -> None:
        """Take in the share read by a call: as it is when nothing recent is known, else half and half."""
        self.share = share if self.share is None or self.scanned else (self.share + share) / 2
        self.scanned = 0


class EnvelopeIndex:
    """The envelopes of some rows of a bank, made row by row as they are asked for.

    `envelopes` is [rows, 2, phases, blocks], half the size of the bank; rows never asked for take no memory.
    `habits` holds what "auto" has learned for each number of rows, exponent and order of magnitude of k, and
    `answered` how many of its windows each way has answered. Threads that ask at once may overwrite one another's
    notes: the answers do not depend on them.
    """

    def __init__(self, data: NDArray[np.float32], lookback: int) -> None:
        self.blocks = -(-data.shape[1] // BLOCK)
        reach = self.blocks + lookback // BLOCK + 1
        self.envelopes = np.empty((data.shape[0], 2, PHASES, reach), dtype=np.float32)
        self.habits: dict[tuple[int, float, int], Habit] = {}
        self.answered = {"index": 0, "scan": 0}
        self._data = data
        self._made = np.zeros(data.shape[0], dtype=bool)

    def prepare(self, rows: NDArray[np.int64]) -> None:
        """Make the envelopes of `rows` that are not there yet."""
        for row in rows[~self._made[rows]]:
            make_envelope(self.envelopes[row], self._data[row])
            self._made[row] = True

    @property
    def nbytes(self) -> int:
        """The memory taken so far."""
        return int(self._made.sum()) * self.envelopes[0].nbytes


def search_indexed(
    bank: WindowBank, queries: Queries, limits: Limits, exponent: float, threads: int | None, forced: bool
) -> Neighbors:
    """Answer as `search_windows` does, with the index where it can be used and pays (always, if `forced`)."""
    holes = bank.has_holes(queries.rows)
    if forced and holes:
        raise InputError(
            "method='index' needs a bank without missing readings in these variables: use method='scan' or 'auto'"
        )
    if queries.cells.shape[0] == 0 or not (forced or _may_pay(bank, holes, limits.k)):
        return search_windows(bank, queries, limits, exponent, threads)
    if forced:
        return _search_blocks(bank, queries, limits, exponent, threads)[0]
    return _search_as_learned(bank, queries, limits, exponent, threads)


def _may_pay(bank: WindowBank, holes: bool, k: int) -> bool:
    """Return whether the index is worth a trial, by what is known without one."""
    side_by_side = len(bank) > _SIDE_BY_SIDE * bank.data.shape[1]
    return side_by_side and not holes and len(bank) >= INDEX_FROM and k * BLOCK < _SHARE_OF_NEIGHBOURS * len(bank)


def _search_as_learned(
    bank: WindowBank, queries: Queries, limits: Limits, exponent: float, threads: int | None
) -> Neighbors:
    """Go on with what paid for questions of this kind; try the index where that is not known."""
    index = bank.envelopes(np.zeros(0, dtype=np.int64))
    habit = index.habits.setdefault((queries.rows.size, float(exponent), limits.k.bit_length()), Habit())
    b = queries.cells.shape[0]
    if not habit.worth_a_trial:
        habit.scanned += 1
        index.answered["scan"] += b
        return search_windows(bank, queries, limits, exponent, threads)
    first = min(b, _TRIED)
    found, read = _search_blocks(bank, _some(queries, 0, first), _some_limits(limits, 0, first), exponent, threads)
    steps = 1 + (bank.lookback - 1) / BLOCK  # compared for each window read
    share = float(read.mean()) * steps / len(bank)
    habit.learn(share)
    index.answered["index"] += first
    if first == b:
        return found
    rest, rest_limits = _some(queries, first, b), _some_limits(limits, first, b)
    if share < _WORTH_SHARE:
        more = _search_blocks(bank, rest, rest_limits, exponent, threads)[0]
    else:
        more = search_windows(bank, rest, rest_limits, exponent, threads)
    index.answered["index" if share < _WORTH_SHARE else "scan"] += b - first
    return Neighbors(np.concatenate([found.index, more.index]), np.concatenate([found.distance, more.distance]))


def windows_read(
    bank: WindowBank, queries: Queries, limits: Limits, exponent: float, threads: int | None
) -> NDArray[np.int64]:
    """Return how many candidates [b] the index compares in full."""
    return _search_blocks(bank, queries, limits, exponent, threads)[1]


def _some(queries: Queries, a: int, z: int) -> Queries:
    return Queries(queries.cells[a:z], queries.rows, queries.first, queries.own, queries.counts[a:z])


def _some_limits(limits: Limits, a: int, z: int) -> Limits:
    return Limits(limits.k, limits.needed[a:z], limits.barred[a:z])


def _search_blocks(
    bank: WindowBank, queries: Queries, limits: Limits, exponent: float, threads: int | None
) -> tuple[Neighbors, NDArray[np.int64]]:
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
    distance, place = empty_heaps((block_cuts.size - 1) * b, k)
    distance, place = distance.reshape(-1, b, k), place.reshape(-1, b, k)

    steps = bank.lookback

    def scan(part: int, a: int, z: int) -> None:
        buffer = np.zeros((rows.size, -(-GROUP * (BLOCK + steps - 1) // 32) * 32 + steps - 1), dtype=np.float32)
        view = buffer.view()
        view.flags.writeable = False
        scan_blocks(
            bank.data, index.envelopes, rows, buffer, view, cells[a:z], queries.first, queries.own, mode, power,
            counts[a:z], limits.barred[a:z], block_cuts[part], block_cuts[part + 1], bank.starts, distance[part, a:z],
            place[part, a:z], read[part, a:z],
        )  # fmt: skip

    run_all([partial(scan, part, a, z) for a, z in pairwise(window_cuts) for part in range(block_cuts.size - 1)])
    found = merge_heaps(np.moveaxis(distance, 0, 1).reshape(b, -1), np.moveaxis(place, 0, 1).reshape(b, -1), k)
    return found, read.sum(axis=0)
