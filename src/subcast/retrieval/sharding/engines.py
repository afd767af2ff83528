"""Who does the work of a bank in files: this process, shard after shard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from subcast.retrieval.sharding.cache import Shard, ShardCache
from subcast.retrieval.sharding.manifest import Manifest
from subcast.retrieval.sharding.moments import Span, Sums, chunks_of, merge_sums, sum_shard
from subcast.retrieval.sharding.places import Place
from subcast.retrieval.sharding.tasks import Answer, Bounds, Call, fetch_stretches, merge_answers, search_shard
from subcast.retrieval.sharding.units import Frame, Side, Units


@dataclass(frozen=True, eq=False)
class Parts:
    """The shards of a bank, in raw units or in those of `units`."""

    place: Place
    manifest: Manifest
    units: Units | None = None
    _sides: dict[int, Side] = field(default_factory=dict)

    @cached_property
    def frame(self) -> Frame:
        """What all shards have in common."""
        return Frame.of(self.manifest, self.units)

    def __len__(self) -> int:
        """Return the number of shards."""
        return len(self.manifest.files)

    def shard(self, number: int) -> Shard:
        """Return which shard a task is about."""
        candidates = int(self.manifest.first_candidates[number])
        return Shard(self.place, self.manifest.files[number], number, candidates)

    def own(self, number: int) -> tuple[int, int]:
        """Return the first start that belongs to a shard, and the first that does not."""
        return int(self.manifest.bounds[number]), int(self.manifest.bounds[number + 1])

    def side(self, number: int) -> Side:
        """Return what belongs to a shard and is not in its file."""
        if number not in self._sides:
            file = self.manifest.files[number]
            starts = self.manifest.candidates.between(*self.own(number))
            self._sides[number] = Side.of(starts, self.units, file.first, file.end)
        return self._sides[number]

    def reaching(self, number: int, span: Span) -> list[int]:
        """Return a shard and those after it that its chunks of moments reach into; none if it has no chunk."""
        chunks = chunks_of(span, self.own(number))
        if not chunks:
            return []
        last = min(chunks[-1][1] + span.lags - 1, span.last)
        before = [file.end for file in self.manifest.files[number:] if file.end < last]
        return list(range(number, number + len(before) + 1))

    def searched(self) -> list[int]:
        """Return the shards that have candidates, the newest first: in a series that drifts, neighbors are recent."""
        counts = np.diff(self.manifest.first_candidates)
        return [int(number) for number in np.flatnonzero(counts)[::-1]]

    def holding(self, starts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the shard that each start belongs to."""
        return np.searchsorted(self.manifest.bounds[1:-1], starts, side="right")


class Engine(Protocol):
    """Does the work on the shards."""

    def search(self, parts: Parts, call: Call, threads: int | None) -> Answer:
        """Return the k nearest candidates of all shards."""
        ...

    def fetch(
        self, parts: Parts, rows: NDArray[np.int64], requests: Sequence[tuple[int, NDArray[np.int64]]], length: int
    ) -> list[NDArray[np.float32]]:
        """Return the steps from some starts of each shard on, [starts, length, rows] for each request."""
        ...

    def sums(self, parts: Parts, span: Span) -> Sums | None:
        """Return sums of products over the whole series."""
        ...


class LocalEngine:
    """Works in this process, one shard after the other.

    Parameters
    ----------
    cache
        the columns that were read
    """

    def __init__(self, cache: ShardCache) -> None:
        self.cache = cache

    def search(self, parts: Parts, call: Call, threads: int | None) -> Answer:
        """Return the k nearest candidates of all shards."""
        bounds, best = Bounds(), None
        for number in parts.searched():
            shard, side = parts.shard(number), parts.side(number)
            answer = search_shard(self.cache, bounds, shard, parts.frame, side, call, threads)
            best = answer if best is None else merge_answers([best, answer])
        return best or []

    def fetch(
        self, parts: Parts, rows: NDArray[np.int64], requests: Sequence[tuple[int, NDArray[np.int64]]], length: int
    ) -> list[NDArray[np.float32]]:
        """Return the steps from some starts of each shard on, [starts, length, rows] for each request."""
        return [
            fetch_stretches(self.cache, parts.shard(number), parts.frame, parts.side(number), rows, starts, length)
            for number, starts in requests
        ]

    def sums(self, parts: Parts, span: Span) -> Sums | None:
        """Return sums of products over the whole series."""
        return merge_sums(
            [
                sum_shard(
                    self.cache,
                    [(parts.shard(each), parts.side(each)) for each in parts.reaching(number, span)],
                    parts.frame,
                    span,
                    parts.own(number),
                )
                for number in range(len(parts))
            ]
        )
