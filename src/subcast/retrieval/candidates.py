"""What a bank holds: the rows, the candidates' starts, and how both are kept on disk."""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subcast.axes import variable_indices
from subcast.errors import InputError
from subcast.retrieval import search
from subcast.retrieval.index import EnvelopeIndex
from subcast.retrieval.layout import Layout, all_starts, packed_tiles, steps_read, tiles_of
from subcast.storage import folders


class CandidateWindows:
    """Rows of readings [rows, t] and the windows cut from them; `WindowBank` searches them.

    Attributes
    ----------
    data
        [rows, t] float32, read-only
    layout
        which row holds what
    lookback
        steps in a window
    offsets
        where each series begins, and where the last ends
    names
        the variables' names, if they have any
    """

    def _store(
        self,
        data: NDArray[np.float32],
        layout: Layout,
        lookback: int,
        offsets: NDArray[np.int64],
        starts: NDArray[np.int64] | None,
        holes: NDArray[np.bool_],
        names: Sequence[str] | None,
        checksum: int | None = None,
    ) -> None:
        data = np.asarray(data)
        data.flags.writeable = False
        self.data = data
        self.layout = layout
        self.lookback = lookback
        self.offsets = offsets
        self.names = None if names is None else list(names)
        self._chosen = starts
        self._holes = holes
        self._checksum = checksum
        self._forget()

    def _forget(self) -> None:
        """Begin without anything that is made when first needed."""
        self._tiles: dict[tuple[str, int], NDArray[np.int64]] = {}
        self._index: EnvelopeIndex | None = None
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy or a pickle takes along: not the lock, nor what is made again when needed."""
        lazy = {"_lock", "_tiles", "_index", "starts", "sparse"}
        return {name: value for name, value in self.__dict__.items() if name not in lazy}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.data.flags.writeable = False
        self._forget()

    def __len__(self) -> int:
        """Return the number of candidates."""
        if self._chosen is not None:
            return int(self._chosen.size)
        return int(np.maximum(np.diff(self.offsets) - self.lookback + 1, 0).sum())

    def __repr__(self) -> str:
        return (
            f"WindowBank({len(self)} windows of {self.lookback} steps, {self.n} variables, {self.f} "
            f"feature{'s' if self.f > 1 else ''})"
        )

    @property
    def n(self) -> int:
        """The number of variables."""
        return self.layout.n

    @property
    def f(self) -> int:
        """The number of features, shared ones included."""
        return self.layout.f

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """[candidates], the step at which each candidate starts, counted from the start of the first series."""
        starts = all_starts(self.offsets, self.lookback) if self._chosen is None else np.asarray(self._chosen)
        starts.flags.writeable = False
        return starts

    def locate(self, index: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return for candidates the series they lie in and the step of that series at which they start.

        >>> from subcast.retrieval import WindowBank
        >>> bank = WindowBank([np.zeros((4, 1)), np.zeros((5, 1))], lookback=3)
        >>> [place.tolist() for place in bank.locate([1, 2])]
        [[0, 1], [1, 0]]
        """
        starts = self.starts[self._check_index(index)]
        series = np.searchsorted(self.offsets, starts, side="right") - 1
        return series, starts - self.offsets[series]

    def window(self, index: int, variables: ArrayLike | Sequence[str] | None = None) -> NDArray[np.float32]:
        """Return one candidate, [t, n], or [t, n, f] when there are several features; s of `variables` for n."""
        return self.windows(self._check_index(index), variables)

    def windows(self, index: ArrayLike, variables: ArrayLike | Sequence[str] | None = None) -> NDArray[np.float32]:
        """Return candidates, [..., t, n] or [..., t, n, f] for an `index` of any shape [...].

        Parameters
        ----------
        index
            the candidates' places in the bank; -1, which a search gives where it found too few, is a window of NaN
        variables
            only these, in the order named, [..., t, s] or [..., t, s, f]; all by default

        Examples
        --------
        >>> from subcast.retrieval import WindowBank
        >>> bank = WindowBank(np.arange(10.0).reshape(5, 2), lookback=2)
        >>> bank.windows([0, 3]).shape, bank.window(3).tolist()
        ((2, 2, 2), [[6.0, 7.0], [8.0, 9.0]])
        >>> bank.windows([3, -1], variables=[1]).tolist()
        [[[7.0], [9.0]], [[nan], [nan]]]
        """
        places = self._check_index(index, least=-1)
        wanted = np.arange(self.n) if variables is None else variable_indices(variables, self.n, self.names)
        time = self.starts[np.maximum(places, 0)][..., None] + np.arange(self.lookback)  # [..., t]
        rows = wanted.reshape(-1, *[1] * time.ndim)  # [s, ..., t]
        cells = np.empty((*time.shape, wanted.size, self.f), dtype=np.float32)
        for place, feature in enumerate(self.layout.own_features):
            cells[..., feature] = np.moveaxis(self.data[place * self.n + rows, time], 0, -1)
        for row, feature in zip(self.layout.shared_rows, self.layout.shared_features, strict=True):
            cells[..., feature] = self.data[row][time][..., None]
        cells[places < 0] = np.nan
        return cells if self.f > 1 else cells[..., 0]

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the bank to a folder, all of it or nothing; a bank already there is replaced in one step.

        Other files in the folder stay as they are; a folder that holds other files and no bank is refused. Who has
        the old bank open keeps it.

        >>> import tempfile
        >>> from subcast.retrieval import WindowBank
        >>> folder = tempfile.mkdtemp() + "/bank"
        >>> WindowBank(np.zeros((30, 2)), lookback=4).save(folder)
        >>> WindowBank.open(folder)
        WindowBank(27 windows of 4 steps, 2 variables, 1 feature)
        """
        folders.save_arrays(Path(folder), "bank", *self.to_store())

    def to_store(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the facts and the arrays of which `from_store` makes the bank again."""
        facts = {
            "lookback": self.lookback,
            "variables": self.n,
            "shared": list(self.layout.shared),
            "offsets": self.offsets.tolist(),
            "holes": np.flatnonzero(self._holes).tolist(),
            "names": self.names,
            "checksum": self.checksum(),
        }
        arrays: dict[str, NDArray[Any]] = {"rows": self.data}
        if self._chosen is not None:
            arrays["starts"] = self._chosen
        return facts, arrays

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, verify: bool = False) -> Self:
        """Open a saved bank by memory map: at once, whatever its size, and shared between processes.

        Parameters
        ----------
        folder
            where `save` wrote it
        verify
            read all of it and compare checksums, instead of sizes and the ends of each file only
        """
        return cls.from_store(*folders.open_arrays(Path(folder), "bank", verify))

    @classmethod
    def from_store(cls, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """Make a bank of what `to_store` gave."""
        layout = Layout(facts["variables"], tuple(facts["shared"]))
        holes = np.zeros(layout.n_rows, dtype=bool)
        holes[facts["holes"]] = True
        bank = cls.__new__(cls)
        bank._store(
            arrays["rows"],
            layout,
            facts["lookback"],
            np.array(facts["offsets"], dtype=np.int64),
            arrays.get("starts"),
            holes,
            facts["names"],
            facts["checksum"],
        )
        return bank

    def checksum(self) -> int:
        """Return a checksum of the readings and the candidates; reads all of a bank once, unless it was opened."""
        if self._checksum is None:
            value = zlib.crc32(self.offsets.tobytes())
            value = value if self._chosen is None else zlib.crc32(self._chosen.tobytes(), value)
            for row in self.data:
                value = zlib.crc32(row.tobytes(), value)
            self._checksum = value
        return self._checksum

    def likeness(self) -> list[int]:
        """Return the facts by which what was made of this bank knows it again."""
        return [len(self), self.lookback, self.n, self.f, *self.data.shape, self.checksum()]

    def has_holes(self, rows: NDArray[np.int64]) -> bool:
        """Return whether any of the stored rows has a missing reading."""
        return bool(self._holes[rows].any())

    @cached_property
    def sparse(self) -> bool:
        """Whether candidates are so scattered that for many windows gathering them beats scanning all between."""
        tiles = self.tiles(search.TILE)
        side_by_side = len(tiles) == 1 and tiles[0, 1] - tiles[0, 0] == len(self)
        return not side_by_side and len(self) < 0.6 * steps_read(tiles)

    def tiles(self, size: int) -> NDArray[np.int64]:
        """Return runs of at most `size` window starts, [tiles, 4] (see `scan`)."""
        key = ("starts", size)
        if key not in self._tiles:
            self._tiles[key] = tiles_of(self.starts, size)
        return self._tiles[key]

    def candidate_tiles(self, size: int) -> NDArray[np.int64]:
        """Return runs of at most `size` candidates, by their index."""
        key = ("candidates", size)
        if key not in self._tiles:
            self._tiles[key] = packed_tiles(len(self), size)
        return self._tiles[key]

    def envelopes(self, rows: NDArray[np.int64]) -> EnvelopeIndex:
        """Return the exact index, made for `rows` where they are asked for the first time."""
        with self._lock:
            if self._index is None:
                self._index = EnvelopeIndex(self.data, self.lookback)
            self._index.prepare(rows)
            return self._index

    def _check_index(self, index: ArrayLike, least: int = 0) -> NDArray[np.int64]:
        array = np.asarray(index)
        if array.dtype.kind not in "iu":
            raise InputError(f"index must hold whole numbers, got {array.dtype}")
        if array.size and (array.min() < least or array.max() >= len(self)):
            wrong = array[(array < least) | (array >= len(self))].flat[0]
            raise InputError(f"index holds {wrong}, but the candidates are numbered 0 to {len(self) - 1}")
        return array.astype(np.int64)
