"""The columns of shards that a process has read, in the units of the bank, up to a limit in bytes."""

from __future__ import annotations

import mmap
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subcast.retrieval.bank import WindowBank
from subcast.retrieval.sharding.files import OpenShard
from subcast.retrieval.sharding.manifest import ShardFile
from subcast.retrieval.sharding.places import Place
from subcast.retrieval.sharding.units import Frame, Side, read_rows, read_stretch

CACHE_BYTES = 2 << 30


@dataclass(frozen=True)
class Shard:
    """Which shard a task is about.

    Parameters
    ----------
    place, file
        the folder, and what the manifest says about the file
    number
        its number in the bank
    candidates
        the number of candidates before its own
    """

    place: Place
    file: ShardFile
    number: int
    candidates: int


class ShardRows:
    """The rows of one shard that were read so far, and a bank of its candidates.

    The array has a place for every row of the bank; rows that were never read take no memory.
    """

    def __init__(self, shard: Shard, frame: Frame, side: Side) -> None:
        self.shard = shard
        self.frame = frame
        self.side = side
        self.rows = _empty_rows(frame.n_rows, shard.file.steps)
        self.in_use = 0
        self.pending = 0  # bytes of rows that are being read
        self.lock = threading.Lock()
        self._known = np.zeros(frame.n_rows, dtype=bool)
        self.bank = _bank_of(self.rows, frame, side)

    @property
    def nbytes(self) -> int:
        """Memory of the rows that were read, with the index over them and the starts of the candidates."""
        index = self.bank._index
        rows = int(self._known.sum()) * self.rows[0].nbytes
        return rows + int(self.bank.starts.nbytes) + (0 if index is None else index.nbytes)

    def missing(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of the rows that were not read yet."""
        return rows[~self._known[rows]]

    def load(self, rows: NDArray[np.int64]) -> int:
        """Read those of the rows that are missing; return the number of bytes read."""
        with self.lock:
            missing = self.missing(rows)
            if not missing.size:
                return 0
            with OpenShard(self.shard.place, self.shard.file) as opened:
                read_rows(opened, self.frame, self.side, missing, self.rows)
                self._known[missing] = True
                return opened.bytes_read

    def cost_of(self, rows: NDArray[np.int64]) -> int:
        """Return the memory that loading rows would add; an index takes half of what it covers."""
        return int(self.missing(rows).size * self.rows[0].nbytes * 1.5)


def _empty_rows(rows: int, steps: int) -> NDArray[np.float32]:
    """Return an array [rows, t] whose rows take memory only when they are filled.

    Huge pages would make each row take part of its neighbors' memory too.
    """
    memory = mmap.mmap(-1, max(4 * rows * steps, 1))
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        with suppress(OSError):
            memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, dtype=np.float32, count=rows * steps).reshape(rows, steps)


def _bank_of(rows: NDArray[np.float32], frame: Frame, side: Side) -> WindowBank:
    """Return a bank over rows that are filled later."""
    bank = WindowBank.__new__(WindowBank)
    starts = side.first_steps()
    offsets = np.array([0, rows.shape[1]], dtype=np.int64)
    holes = frame.holes
    bank._store(rows[: frame.layout.n_rows].view(), frame.layout, frame.lookback, offsets, starts, holes, None)
    return bank


class ShardCache:
    """The shards that a process has read, up to a limit in bytes.

    A search visits all shards in turn, so when memory is short, those of other banks go first, and then the one that
    was used last: the one that was used longest ago is needed next.

    Parameters
    ----------
    limit
        bytes of rows and indexes to keep; what one search of one shard needs is read even if it is more
    """

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        self.limit = limit
        self.bytes_read = 0
        self._shards: dict[tuple[str, int], ShardRows] = {}
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """Memory of all rows and indexes that are kept."""
        with self._lock:
            return sum(shard.nbytes for shard in self._shards.values())

    @contextmanager
    def loaded(self, shard: Shard, frame: Frame, side: Side, rows: NDArray[np.int64]) -> Iterator[ShardRows]:
        """Yield a shard with the given rows in memory."""
        key = (frame.token, shard.number)
        with self._lock:
            entry = self._shards.pop(key, None)
            if entry is None or entry.shard.file != shard.file:
                entry = ShardRows(shard, frame, side)
            self._shards[key] = entry  # now the last of the dict
            entry.in_use += 1
            entry.pending += entry.cost_of(rows)
            self._make_room(entry)
        try:
            read = self._load(entry, rows)
            with self._lock:
                self.bytes_read += read
            yield entry
        finally:
            with self._lock:
                entry.in_use -= 1
                self._make_room(entry)

    def _load(self, entry: ShardRows, rows: NDArray[np.int64]) -> int:
        try:
            return entry.load(rows)
        finally:
            with self._lock:
                entry.pending = 0

    def holds(self, shard: Shard, frame: Frame, rows: NDArray[np.int64]) -> bool:
        """Return whether the given rows of a shard are in memory."""
        with self._lock:
            entry = self._shards.get((frame.token, shard.number))
            return entry is not None and not entry.missing(rows).size

    def stretches(
        self,
        shard: Shard,
        frame: Frame,
        side: Side,
        rows: NDArray[np.int64],
        starts: NDArray[np.int64],
        length: int,
    ) -> NDArray[np.float32]:
        """Return the steps from some starts on, [starts, length, rows], from memory or from the pages around them."""
        found = np.empty((len(starts), length, len(rows)), dtype=np.float32)
        steps = np.arange(length)
        if self.holds(shard, frame, rows) or self._worth_loading(shard, frame, rows, starts, length):
            with self.loaded(shard, frame, side, rows) as entry:
                found[:] = np.moveaxis(entry.rows[rows[:, None, None], starts[:, None] + steps], 0, -1)
            return found
        with OpenShard(shard.place, shard.file) as opened:
            order = np.argsort(starts, kind="stable")
            for group in _neighboring(starts[order], length):
                first, last = int(starts[order[group[0]]]), int(starts[order[group[-1]]]) + length
                stretch = read_stretch(opened, frame, side, rows, first, last)
                for place in order[group]:
                    begin = int(starts[place]) - first
                    found[place] = stretch[begin : begin + length]
            with self._lock:
                self.bytes_read += opened.bytes_read
        return found

    def _worth_loading(
        self, shard: Shard, frame: Frame, rows: NDArray[np.int64], starts: NDArray[np.int64], length: int
    ) -> bool:
        """Return whether whole columns should be read: much of them is needed, or there is room for them."""
        whole = 4 * shard.file.steps * len(rows)
        return whole <= self.limit and (8 * len(starts) * length > shard.file.steps or self.nbytes + whole < self.limit)

    def _make_room(self, entry: ShardRows) -> None:
        """Drop other shards until what is kept and what is being read fits; those in use stay."""
        while self._shards:
            if sum(each.nbytes + each.pending for each in self._shards.values()) <= self.limit:
                return
            others = [key for key, each in self._shards.items() if each is not entry and not each.in_use]
            if not others:
                return
            foreign = [key for key in others if key[0] != entry.frame.token]
            del self._shards[foreign[0] if foreign else others[-1]]


def _neighboring(starts: NDArray[np.int64], length: int) -> list[NDArray[np.int64]]:
    """Return groups of places in sorted starts whose stretches are near each other, so that they are read together."""
    breaks = np.flatnonzero(np.diff(starts) > max(length, 1 << 12)) + 1
    return [group for group in np.split(np.arange(len(starts)), breaks) if group.size]
