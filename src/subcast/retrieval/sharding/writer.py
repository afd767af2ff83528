"""Write a bank to files in a stream: memory holds one shard at a time, however long the series is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subcast.axes import check_whole
from subcast.errors import InputError
from subcast.retrieval.layout import Layout
from subcast.retrieval.sharding.files import OpenShard, column_names, write_shard
from subcast.retrieval.sharding.manifest import NAME, Manifest, ShardFile
from subcast.retrieval.sharding.places import Place
from subcast.retrieval.sharding.starts import StartRuns

SHARD_BYTES = 64 << 20  # of a shard with all its columns, when the number of steps is not given
_LEAST_STEPS, _MOST_STEPS = 1 << 14, 1 << 20


def usual_steps(n_columns: int) -> int:
    """Return how many steps a shard has by default.

    >>> usual_steps(20), usual_steps(1000)
    (838860, 16777)
    """
    return max(_LEAST_STEPS, min(_MOST_STEPS, SHARD_BYTES // (4 * n_columns)))


class ShardWriter:
    """Writes readings to a folder of shards, chunk by chunk, for `ShardedBank` to search.

    Nothing can be read before `close` (or the end of the `with` statement) has written the manifest; if an error
    occurs before that, a bank that was in the folder stays as it was. Only one writer may write to a folder at a time.

    Parameters
    ----------
    folder
        a path, or an address that fsspec can write (s3://bucket/bank)
    lookback
        steps in a window
    horizon
        steps after a window that are kept together with it; candidates leave room for them
    names
        the variables' names; numbers by default
    steps
        steps of a shard; by default as many as fit into 64 MB
    starts
        the starts of the candidates; by default every window with `horizon` steps after it

    Examples
    --------
    >>> import tempfile
    >>> import subcast as sc
    >>> folder = tempfile.mkdtemp() + "/bank"
    >>> with ShardWriter(folder, lookback=4, horizon=2, steps=50) as writer:
    ...     for chunk in np.split(np.random.default_rng(0).normal(size=(200, 3)), 10):
    ...         writer.add(chunk)
    >>> sc.ShardedBank(folder)
    ShardedBank(195 windows of 4 steps, 3 variables, 4 shards)
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        lookback: int,
        horizon: int = 0,
        *,
        names: Sequence[str] | None = None,
        steps: int | None = None,
        starts: ArrayLike | None = None,
    ) -> None:
        self.place = Place.of(folder)
        self.lookback = check_whole("lookback", lookback)
        self.horizon = check_whole("horizon", horizon, low=0)
        self.steps = None if steps is None else check_whole("steps", steps)
        self.names = None if names is None else tuple(str(name) for name in names)
        self._starts = None if starts is None else np.asarray(starts, dtype=np.int64)
        self._room = self.horizon
        self._layout: Layout | None = None
        self._has_targets = False
        self._chunks: list[NDArray[np.float32]] = []  # rows [columns, t] that are not yet in a file of their own
        self._first = 0  # step of the first of them
        self._pending = 0  # how many steps they have
        self._written = 0  # steps that are in some file
        self._lengths: list[int] = []
        self._files: list[ShardFile] = []
        self._holes: NDArray[np.bool_] = np.zeros(0, dtype=bool)
        self._known: Manifest | None = None
        self._closed = False

    @classmethod
    def append_to(cls, folder: str | os.PathLike[str]) -> ShardWriter:
        """Return a writer that adds steps to the end of a bank: one new file (or a few), and a new manifest.

        Readings go on with the last series of the bank. Files that are there stay as they are.
        """
        place = Place.of(folder)
        known = Manifest.read(place)
        writer = cls(folder, known.lookback, known.room_after, names=known.names, steps=known.steps)
        writer._known, writer._layout, writer._has_targets = known, known.layout, known.has_targets
        writer._room = known.room
        writer._holes = np.array(known.holes)
        writer._lengths = np.diff(known.offsets).tolist()
        last = known.files[-1]
        kept = min(known.overlap, last.steps)
        writer._first = known.n_steps - kept
        if kept:
            with OpenShard(place, last) as shard:
                stretch = shard.stretch(range(known.n_columns), last.steps - kept, last.steps)
            writer._chunks, writer._pending = [np.ascontiguousarray(stretch.T)], kept
        writer._written = known.n_steps
        return writer

    def __enter__(self) -> ShardWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:  # what was written so far belongs to no bank
            _remove(self.place, {file.name for file in self._files} - _old_files(self.place))

    def add(self, values: ArrayLike, *, targets: ArrayLike | None = None, new_series: bool = False) -> None:
        """Add steps.

        Parameters
        ----------
        values
            [t, n], readings; NaN where one is missing
        targets
            [t, n], the readings that may follow a window, if they are not all of `values`; with every chunk or none
        new_series
            whether these steps begin another series; windows never cross from one series into the next
        """
        rows = _as_rows("values", values)
        if self._layout is None:
            self._layout, self._has_targets = Layout(len(rows), (False,)), targets is not None
        if (targets is not None) != self._has_targets:
            raise InputError("targets must be given with every chunk, or with none")
        if targets is not None:
            rows = np.concatenate([rows, _as_rows("targets", targets)])
        self.add_rows(rows, new_series=new_series)

    def add_rows(self, rows: NDArray[np.float32], *, new_series: bool = False) -> None:
        """Add steps in the order of the columns, [columns, t]: as `Layout` has them, then targets."""
        if self._closed or self._layout is None:
            raise InputError("the writer is closed: open another one" if self._closed else "add values first")
        layout = self._layout
        expected = layout.n_rows + (layout.n if self._has_targets else 0)
        if len(rows) != expected:
            raise InputError(f"values must have the {expected} columns of the bank, got {len(rows)}")
        if self.names is not None and (len(self.names) != layout.n or len(set(self.names)) < layout.n):
            raise InputError(f"names must be {layout.n} different names, one for each variable, got {len(self.names)}")
        if not rows.shape[1]:
            return
        holes = np.isnan(rows[: layout.n_rows]).any(axis=1)
        self._holes = np.logical_or(self._holes, holes) if self._holes.size else np.asarray(holes)
        if new_series or not self._lengths:
            self._lengths.append(0)
        self._lengths[-1] += rows.shape[1]
        self._chunks.append(np.array(rows, dtype=np.float32))
        self._pending += rows.shape[1]
        size = self._shard_steps() + self._overlap
        while self._pending > size:
            self._flush(size)

    @property
    def _overlap(self) -> int:
        return self.lookback + self._room - 1

    def _shard_steps(self) -> int:
        if self.steps is None:
            self.steps = usual_steps(sum(len(chunk) for chunk in self._chunks[:1]))
        return self.steps

    def _flush(self, size: int) -> None:
        """Write the first `size` steps that are waiting as a file, and keep the overlap."""
        rows = np.concatenate(self._chunks, axis=1) if len(self._chunks) > 1 else self._chunks[0]
        shard, layout = rows[:, :size], self._layout
        if layout is None:  # nothing was added
            return
        number = len(self._files) + (0 if self._known is None else len(self._known.files))
        columns = column_names(layout, self.names, self._has_targets)
        self._files.append(write_shard(self.place, number, columns, shard, self._first))
        self._written = self._first + size
        kept = min(self._overlap, size)
        self._chunks = [np.ascontiguousarray(rows[:, size - kept :])]
        self._first += size - kept
        self._pending = self._chunks[0].shape[1]

    def close(self) -> None:
        """Write what is left and the manifest; files of a bank that was there before are removed after that."""
        if self._closed:
            return
        if self._first + self._pending > self._written:
            self._flush(self._pending)
        manifest = self._manifest()
        before = set() if self._known is not None else _old_files(self.place)
        manifest.write(self.place)
        self._closed = True
        _remove(self.place, before - {file.name for file in self._files})

    def _manifest(self) -> Manifest:
        offsets = np.concatenate([[0], np.cumsum(self._lengths)]).astype(np.int64)
        if self._known is not None:
            return self._known.with_files(self._files, offsets, self._holes.tolist())
        if self._layout is None or not self._files:
            raise InputError("a bank needs at least one step: add values before closing the writer")
        manifest = Manifest(
            lookback=self.lookback,
            room=self._room,
            steps=self._shard_steps(),
            layout=self._layout,
            names=self.names,
            holes=tuple(self._holes.tolist()),
            has_targets=self._has_targets,
            offsets=offsets,
            starts=None if self._starts is None else StartRuns.of(self._starts),
            room_after=self.horizon,
            files=tuple(self._files),
        )
        if not len(manifest.candidates):
            raise InputError(
                f"a bank needs at least lookback + horizon = {self.lookback + self.horizon} steps in a row, "
                f"the longest series has {max(self._lengths)}"
            )
        return manifest


def write_bank(bank: Any, folder: str | os.PathLike[str], steps: int | None, horizon: int | None) -> None:
    """Write the rows of a `WindowBank` to a folder of shards."""
    if steps is not None:
        check_whole("steps", steps)
    room_left = int((bank._series_ends(bank.starts) - bank.starts).min()) - bank.lookback  # after every candidate
    room = min(room_left, 16 * bank.lookback + 1024) if horizon is None else check_whole("horizon", horizon, low=0)
    every = StartRuns.with_room(bank.offsets, bank.lookback + room_left)
    listed = None if len(every) == len(bank) else bank.starts
    writer = ShardWriter(folder, bank.lookback, room_left, names=bank.names, steps=steps, starts=listed)
    writer._room = room
    writer._layout, writer._has_targets = bank.layout, bank.targets is not None
    at_once = (steps or usual_steps(bank.layout.n_rows)) + bank.lookback + room
    for begin, end in zip(bank.offsets[:-1].tolist(), bank.offsets[1:].tolist(), strict=True):
        for first in range(begin, end, at_once):
            rows = bank.data[:, first : min(first + at_once, end)]
            if bank.targets is not None:
                rows = np.concatenate([rows, bank.targets[:, first : min(first + at_once, end)]])
            writer.add_rows(rows, new_series=first == begin)
    writer.close()


def _as_rows(argument: str, values: ArrayLike) -> NDArray[np.float32]:
    """Return a chunk [t, n] as rows [n, t]; raise unless it holds finite numbers and NaN."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub" or array.ndim != 2 or not array.shape[1]:
        raise InputError(f"{argument} must be numbers [t, n], got shape {array.shape} of {array.dtype}")
    with np.errstate(over="ignore"):
        rows = np.ascontiguousarray(array.T, dtype=np.float32)
    if np.isinf(rows).any():
        raise InputError(f"{argument} must be finite or NaN, got infinite values: use NaN for missing readings")
    return rows


def _old_files(place: Place) -> set[str]:
    """Return the files of the bank that is in a folder now."""
    if NAME not in place.sizes():
        return set()
    with suppress(InputError):  # a damaged manifest does not say which files are its own
        return {file.name for file in Manifest.read(place).files}
    return set()


def _remove(place: Place, names: set[str]) -> None:
    for name in names:
        with suppress(OSError):
            place.remove(name)
