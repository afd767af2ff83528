"""The work on one shard: search it, fetch windows from it, sum its moments. It runs here or on a worker."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subcast.retrieval.compiled.kernel import NONE
from subcast.retrieval.index import search_indexed
from subcast.retrieval.neighbors import Neighbors, from_sorted_heaps
from subcast.retrieval.queries import Queries
from subcast.retrieval.search import Limits, search_windows
from subcast.retrieval.sharding.cache import Shard, ShardCache
from subcast.retrieval.sharding.units import Frame, Side
from subcast.retrieval.sliding import search_sliding

Answer = list[tuple[NDArray[np.float32], NDArray[np.int64]]]
"""For each group of queries the distances [b, k] and the candidates [b, k], NONE and infinite where there is none."""
_CALLS_KEPT = 32


@dataclass(frozen=True, eq=False)
class Call:
    """One search of the whole bank.

    Parameters
    ----------
    name
        identifies the search
    groups
        windows with one S each, and their limits
    exponent
        b
    sliding
        whether the queries are consecutive steps instead of windows
    method
        "auto", "scan" or "index", as in `WindowBank.nearest`
    """

    name: str
    groups: tuple[tuple[Queries, Limits], ...]
    exponent: float
    sliding: bool
    method: str = "auto"

    @property
    def nbytes(self) -> int:
        """The size of the queries."""
        return sum(queries.cells.nbytes + queries.counts.nbytes for queries, _ in self.groups)


class Bounds:
    """The k-th smallest distances that this process knows for each query of a search.

    A shard that is searched later can skip what is farther. Results do not depend on it.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, int], NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, call: str, group: int) -> NDArray[np.float32] | None:
        """Return the bounds [b], None if nothing is known."""
        with self._lock:
            best = self._known.get((call, group))
            return None if best is None else best[:, -1].copy()

    def add(self, call: str, group: int, distance: NDArray[np.float32]) -> None:
        """Add the distances [b, k] that were found in one shard."""
        with self._lock:
            known = self._known.pop((call, group), None)
            if known is not None:
                distance = np.sort(np.concatenate([known, distance], axis=1), axis=1)[:, : distance.shape[1]]
            self._known[call, group] = distance
            while len(self._known) > _CALLS_KEPT:
                self._known.popitem(last=False)


def search_shard(
    cache: ShardCache, bounds: Bounds, shard: Shard, frame: Frame, side: Side, call: Call, threads: int | None
) -> Answer:
    """Search one shard for all queries of a call."""
    rows = np.unique(np.concatenate([queries.rows for queries, _ in call.groups]))
    with cache.loaded(shard, frame, side, rows) as entry:
        bank = entry.bank
        answers: Answer = []
        for number, (queries, limits) in enumerate(call.groups):
            own = Limits(limits.k, limits.needed, limits.excluded - shard.file.first, bounds.get(call.name, number))
            if not len(bank):
                found = _nothing(len(limits.needed), limits.k)
            elif call.sliding:
                found = search_sliding(bank, queries, own, call.exponent, threads)
            elif call.method == "scan":
                found = search_windows(bank, queries, own, call.exponent, threads)
            else:
                found = search_indexed(bank, queries, own, call.exponent, threads, call.method == "index")
            distance = np.where(found.index >= 0, found.distance, np.float32(np.inf))
            index = np.where(found.index >= 0, found.index + shard.candidates, NONE)
            bounds.add(call.name, number, distance)
            answers.append((distance, index))
        return answers


def _nothing(b: int, k: int) -> Neighbors:
    return Neighbors(np.full((b, k), -1, dtype=np.int64), np.full((b, k), np.inf, dtype=np.float32))


def merge_answers(answers: Sequence[Answer]) -> Answer:
    """Return the k nearest of several answers, by distance and then by start."""
    merged: Answer = []
    for parts in zip(*answers, strict=True):
        distance = np.concatenate([part[0] for part in parts], axis=1)
        index = np.concatenate([part[1] for part in parts], axis=1)
        order = np.lexsort((index, distance), axis=-1)[:, : parts[0][0].shape[1]]
        merged.append((np.take_along_axis(distance, order, axis=1), np.take_along_axis(index, order, axis=1)))
    return merged


def neighbors_of(answer: Answer) -> list[Neighbors]:
    """Return the neighbors of each group of queries."""
    return [from_sorted_heaps(distance, np.array(index)) for distance, index in answer]


def fetch_stretches(
    cache: ShardCache,
    shard: Shard,
    frame: Frame,
    side: Side,
    rows: NDArray[np.int64],
    starts: NDArray[np.int64],
    length: int,
) -> NDArray[np.float32]:
    """Return the steps from some starts of the whole series on, [starts, length, rows], which the shard must hold."""
    return cache.stretches(shard, frame, side, rows, starts - shard.file.first, length)
