"""The units of a bank in files: readings are stored raw, and normalized when they are read."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.retrieval.layout import Layout
from subcast.retrieval.protocol import Normalizes
from subcast.retrieval.sharding.files import OpenShard
from subcast.retrieval.sharding.manifest import Manifest


@dataclass(frozen=True, eq=False)
class Units:
    """How the readings of the whole series are normalized, and what is compared besides them.

    Parameters
    ----------
    normalizer
        normalizes readings
    slots
        [t], the slot of the day of each step
    shared
        [t, g], features that are compared besides the readings, or None
    """

    normalizer: Normalizes
    slots: NDArray[np.int64]
    shared: NDArray[np.float32] | None

    @property
    def checksum(self) -> int:
        """A checksum of everything that decides the units."""
        state = self.normalizer.state()
        value = zlib.crc32(json.dumps(state.facts, sort_keys=True, default=str).encode())
        arrays: list[NDArray[Any]] = [state.arrays[name] for name in sorted(state.arrays)]
        for array in (*arrays, self.slots, *([] if self.shared is None else [self.shared])):
            value = zlib.crc32(np.ascontiguousarray(array).tobytes(), value)
        return value


@dataclass(frozen=True, eq=False)
class Frame:
    """What all shards of a bank have in common; it is sent to each worker once.

    Parameters
    ----------
    token
        identifies the bank and its units
    lookback
        steps in a window
    layout
        which row of the bank holds what
    stored
        the layout of the columns in the files
    holes
        [rows], which rows have missing values anywhere in the bank: kernels with and without holes may round
        differently, so all shards use the one that the whole bank needs
    has_targets
        whether the files have targets
    normalizer
        normalizes readings; None for raw units
    """

    token: str
    lookback: int
    layout: Layout
    stored: Layout
    holes: NDArray[np.bool_]
    has_targets: bool
    normalizer: Normalizes | None

    @classmethod
    def of(cls, manifest: Manifest, units: Units | None) -> Frame:
        """Return the frame of a bank in raw units, or in those of `units`."""
        if units is None:
            layout, holes = manifest.layout, np.array(manifest.holes)
        else:
            g = 0 if units.shared is None else units.shared.shape[1]
            layout = Layout(manifest.layout.n, (False, *[True] * g))
            holes = np.array(manifest.holes[: layout.n])
            if units.shared is not None:
                holes = np.concatenate([holes, np.isnan(units.shared).any(axis=0)])
        token = f"{manifest.checksum:08x}" + ("" if units is None else f"-{units.checksum:08x}")
        return cls(
            token,
            manifest.lookback,
            layout,
            manifest.layout,
            holes,
            manifest.has_targets,
            None if units is None else units.normalizer,
        )

    @property
    def n_rows(self) -> int:
        """The number of rows with the targets, which come last."""
        return self.layout.n_rows + (self.layout.n if self.has_targets else 0)

    def column(self, row: int) -> int | None:
        """Return the column of a file that holds a row; None for a shared feature of the units."""
        if row >= self.layout.n_rows:
            return row - self.layout.n_rows + self.stored.n_rows
        return row if self.normalizer is None or row < self.layout.n else None

    def variable(self, row: int) -> int:
        """Return the variable whose readings or targets a row holds."""
        return row - self.layout.n_rows if row >= self.layout.n_rows else row


@dataclass(frozen=True, eq=False)
class Side:
    """What belongs to one shard and is not in its file, compressed: starts, slots of the day, shared features.

    Parameters
    ----------
    starts, slots, shared
        compressed arrays; the starts are counted from the first step of the shard
    g
        number of shared features
    """

    starts: bytes
    slots: bytes
    shared: bytes
    g: int

    @classmethod
    def of(cls, starts: NDArray[np.int64], units: Units | None, first: int, end: int) -> Side:
        """Return the side of the shard that holds the steps `first` to `end` - 1."""
        slots = np.zeros(0, dtype=np.int64) if units is None else units.slots[first:end]
        shared = None if units is None else units.shared
        part = np.zeros((0, 0), dtype=np.float32) if shared is None else shared[first:end]
        return cls(
            _compressed(np.diff(starts - first, prepend=0)), _compressed(slots), _compressed(part), part.shape[1]
        )

    def first_steps(self) -> NDArray[np.int64]:
        """Return the starts of the shard's candidates, counted from its first step."""
        return np.cumsum(np.frombuffer(zlib.decompress(self.starts), dtype=np.int64))

    def slots_of_day(self) -> NDArray[np.int64]:
        """Return the slots of the day of its steps."""
        return np.frombuffer(zlib.decompress(self.slots), dtype=np.int64)

    def shared_rows(self) -> NDArray[np.float32]:
        """Return the shared features, [g, t]."""
        return np.frombuffer(zlib.decompress(self.shared), dtype=np.float32).reshape(-1, max(self.g, 1)).T


def _compressed(array: NDArray[Any]) -> bytes:
    return zlib.compress(np.ascontiguousarray(array).tobytes(), 1)


def read_rows(shard: OpenShard, frame: Frame, side: Side, rows: NDArray[np.int64], into: NDArray[np.float32]) -> None:
    """Read whole rows of a shard, in the units of the bank, into `into` [rows of the bank, t]."""
    slots = side.slots_of_day()
    for row in rows.tolist():
        column = frame.column(row)
        if column is None:
            into[row] = side.shared_rows()[row - frame.layout.n]
            continue
        values = shard.column(column)
        if frame.normalizer is not None:
            values = frame.normalizer.normalize(values[:, None], slots, np.array([frame.variable(row)]))[:, 0]
        into[row] = values


def read_stretch(
    shard: OpenShard, frame: Frame, side: Side, rows: NDArray[np.int64], first: int, last: int
) -> NDArray[np.float32]:
    """Return some rows at the steps `first` to `last` - 1 of a shard in the units of the bank, [t, rows]."""
    columns = [frame.column(int(row)) for row in rows]
    stored = [place for place, column in enumerate(columns) if column is not None]
    values = np.empty((last - first, len(rows)), dtype=np.float32)
    if stored:
        raw = shard.stretch([column for column in columns if column is not None], first, last)
        if frame.normalizer is not None:
            variables = np.array([frame.variable(int(rows[place])) for place in stored])
            raw = frame.normalizer.normalize(raw, side.slots_of_day()[first:last], variables)
        values[:, stored] = raw
    for place, column in enumerate(columns):
        if column is None:
            values[:, place] = side.shared_rows()[int(rows[place]) - frame.layout.n, first:last]
    return values
