"""What a bank holds: rows of readings, the windows cut from them, and how both are kept on disk."""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subcast.axes import variable_indices
from subcast.errors import InputError
from subcast.retrieval import search
from subcast.retrieval.index import EnvelopeIndex
from subcast.retrieval.layout import Layout, all_starts, check_starts, packed_tiles, steps_read, tiles_of
from subcast.retrieval.moments import LagMoments
from subcast.retrieval.pooling import pool_deviation, pool_mean, pool_median
from subcast.storage import fields, folders
from subcast.storage.state import State


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
    targets
        [n, t] float32, what counts as a reading that follows a window, where that is not every reading; else None
    names
        the variables' names, if they have any
    """

    targets: NDArray[np.float32] | None = None

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
        targets: NDArray[np.float32] | None = None,
    ) -> None:
        data = np.asarray(data)
        data.flags.writeable = False
        self.data = data
        self.targets = targets
        self.layout = layout
        self.lookback = lookback
        self.offsets = offsets
        self.names = None if names is None else list(names)
        self._chosen = starts
        self._holes = holes
        self._checksum = checksum
        self._forget()

    def _forget(self) -> None:
        """Drop everything that is computed when first needed."""
        self._tiles: dict[tuple[str, int], NDArray[np.int64]] = {}
        self._index: EnvelopeIndex | None = None
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a copy or a pickle, without the lock and what is computed when needed."""
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
    def n_steps(self) -> int:
        """The number of steps of all series together."""
        return int(self.data.shape[1])

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
        """Return the series of each candidate and the step of that series at which it starts.

        >>> from subcast.retrieval import WindowBank
        >>> bank = WindowBank([np.zeros((4, 1)), np.zeros((5, 1))], lookback=3)
        >>> [array.tolist() for array in bank.locate([1, 2])]
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
            the candidates' numbers in the bank; -1, which a search returns for a missing neighbor, gives NaN
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
        numbers = self._check_index(index, least=-1)
        wanted = np.arange(self.n) if variables is None else variable_indices(variables, self.n, self.names)
        time = self.starts[np.maximum(numbers, 0)][..., None] + np.arange(self.lookback)  # [..., t]
        rows = wanted.reshape(-1, *[1] * time.ndim)  # [s, ..., t]
        cells = np.empty((*time.shape, wanted.size, self.f), dtype=np.float32)
        for number, feature in enumerate(self.layout.own_features):
            cells[..., feature] = np.moveaxis(self.data[number * self.n + rows, time], 0, -1)
        for row, feature in zip(self.layout.shared_rows, self.layout.shared_features, strict=True):
            cells[..., feature] = self.data[row][time][..., None]
        cells[numbers < 0] = np.nan
        return cells if self.f > 1 else cells[..., 0]

    def paths(
        self, index: ArrayLike, variables: ArrayLike | Sequence[str] | None = None, length: int | None = None
    ) -> NDArray[np.float32]:
        """Return the readings of candidates from their start on, [..., length, s], NaN where missing.

        Parameters
        ----------
        index
            the candidates; -1 gives NaN
        variables
            which variables, all by default
        length
            number of steps from the start of the window, `lookback` by default; steps after the end of its series are
            NaN

        Examples
        --------
        >>> from subcast.retrieval import WindowBank
        >>> bank = WindowBank(np.arange(5.0)[:, None], lookback=2)
        >>> bank.paths([1, 3], [0], length=3)[..., 0].tolist()
        [[1.0, 2.0, 3.0], [3.0, 4.0, nan]]
        """
        numbers = self._check_index(index, least=-1)
        wanted = np.arange(self.n) if variables is None else variable_indices(variables, self.n, self.names)
        starts = self.starts[np.maximum(numbers, 0)]
        steps = starts[..., None] + np.arange(length or self.lookback)  # [..., length]
        inside = steps < self._series_ends(starts)[..., None]
        rows = wanted.reshape(-1, *[1] * steps.ndim)  # [s, ..., length]
        readings = np.moveaxis(self.data[rows, np.minimum(steps, self.data.shape[1] - 1)], 0, -1)
        return np.where((inside & (numbers >= 0)[..., None])[..., None], readings, np.float32(np.nan))

    def pool_windows(
        self, index: NDArray[np.int64], weights: NDArray[np.float32], variables: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return the weighted mean of the candidates' windows, [b, t, s].

        Parameters
        ----------
        index, weights
            [b, k], the candidates (-1 for none) and their weights
        variables
            [s], which variables

        Returns
        -------
        NDArray
            missing readings are left out; 0 where all are missing
        """
        return pool_mean(self.data, self._starts_of(index, self.lookback), weights, variables, 0, self.lookback)

    def pool_futures(
        self,
        index: NDArray[np.int64],
        weights: NDArray[np.float32],
        variables: NDArray[np.int64],
        horizon: int,
        center: str = "median",
    ) -> NDArray[np.float32]:
        """Return the median or weighted mean of the candidates' futures, [b, h, s]; 0 where there is no reading.

        `index`, `weights` and `variables` as in `pool_windows`; the median ignores the weights.
        """
        starts = self._starts_of(index, self.lookback + horizon)
        if center == "median":
            return pool_median(self._futures, starts, variables, self.lookback, horizon)
        return pool_mean(self._futures, starts, weights, variables, self.lookback, horizon)

    def future_deviation(
        self, index: NDArray[np.int64], variables: NDArray[np.int64], horizon: int
    ) -> NDArray[np.float32]:
        """Return the standard deviation of the candidates' futures, [b, h, s]; 1 with fewer than 3 readings."""
        return pool_deviation(
            self._futures, self._starts_of(index, self.lookback + horizon), variables, self.lookback, horizon
        )

    def moments(self, lags: int, first: int = 0, last: int | None = None) -> LagMoments:
        """Return second moments at the lags 0 .. lags - 1 over the steps first .. last - 1.

        Where the bank has targets, only those are used. No product reaches from one series into the next.
        """
        end = self.n_steps if last is None else last
        bounds = [first, *(int(offset) for offset in self.offsets if first < offset < end), end]
        between = np.full((lags - 1, self.n), np.nan, dtype=np.float32)
        pieces = [self._futures[: self.n, low:high].T for low, high in pairwise(bounds)]
        joined = [piece for pair in zip(pieces, [between] * len(pieces), strict=True) for piece in pair][:-1]
        return LagMoments.fit(np.ascontiguousarray(np.concatenate(joined)), lags)

    @property
    def _futures(self) -> NDArray[np.float32]:
        return self.data if self.targets is None else self.targets

    def _starts_of(self, index: NDArray[np.int64], length: int) -> NDArray[np.int64]:
        """Return the first steps of candidates, -1 for none; raise unless `length` steps follow in their series."""
        numbers = self._check_index(index, least=-1)
        starts = np.where(numbers >= 0, self.starts[np.maximum(numbers, 0)], -1)
        if length > self.lookback:
            short = (starts >= 0) & (starts + length > self._series_ends(starts))
            if short.any():
                raise InputError(
                    f"the candidate that starts at step {int(starts[short][0])} has fewer than {length} steps before "
                    "its series ends: give the bank starts that leave room for the horizon"
                )
        return starts

    def _series_ends(self, starts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the step after the last of the series in which windows start."""
        return self.offsets[np.searchsorted(self.offsets, starts, side="right").clip(1, len(self.offsets) - 1)]

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Save the bank to a folder, completely or not at all; an existing bank is replaced in one step.

        Other files in the folder are kept; a folder that holds other files and no bank is refused. A process that has
        the old bank open can keep using it.

        >>> import tempfile
        >>> from subcast.retrieval import WindowBank
        >>> folder = tempfile.mkdtemp() + "/bank"
        >>> WindowBank(np.zeros((30, 2)), lookback=4).save(folder)
        >>> WindowBank.open(folder)
        WindowBank(27 windows of 4 steps, 2 variables, 1 feature)
        """
        folders.save_state(folder, "bank", self.state())

    @classmethod
    def open(cls, folder: str | os.PathLike[str], *, verify: bool = True) -> Self:
        """Open a saved bank by memory map, which processes share.

        Parameters
        ----------
        folder
            the folder that `save` wrote
        verify
            whether to read all files once, compare their checksums and look through the readings; False opens a bank of
            any size at once, and checks only the facts and the size and both ends of each file
        """
        return cls.from_state(folders.open_state(folder, "bank", verify=verify))

    def state(self) -> State:
        """Return the state to save."""
        facts = {
            "kind": "windows",
            "lookback": self.lookback,
            "variables": self.n,
            "shared": list(self.layout.shared),
            "names": self.names,
            "checksum": self.checksum(),
        }
        arrays: dict[str, NDArray[Any] | None] = {
            "rows": self.data,
            "offsets": self.offsets,
            "holes": self._holes,
            "starts": self._chosen,
            "targets": self.targets,
        }
        return State(facts, {name: array for name, array in arrays.items() if array is not None})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the bank saved in `state`; raise a DataError unless all of it fits together."""
        layout = Layout(fields.whole(state, "variables", 1), _stored_shared(state))
        rows = fields.array(state, "rows", np.float32, [layout.n_rows, None], missing=True)
        steps = rows.shape[1]
        lookback = fields.whole(state, "lookback", 1, steps)
        offsets = _stored_offsets(state, steps, lookback)
        targets = None
        if fields.has_array(state, "targets"):
            targets = fields.array(state, "targets", np.float32, [layout.n, steps], missing=True)
        bank = cls.__new__(cls)
        bank._store(
            rows,
            layout,
            lookback,
            offsets,
            _stored_starts(state, offsets, lookback),
            _stored_holes(state, rows),
            None if fields.fact(state, "names") is None else fields.texts(state, "names", layout.n),
            fields.whole(state, "checksum", 0, 0xFFFFFFFF),
            targets,
        )
        return bank

    def checksum(self) -> int:
        """Return a checksum of readings, targets and candidates; computed once, unless the bank was opened."""
        if self._checksum is None:
            value = zlib.crc32(self.offsets.tobytes())
            value = value if self._chosen is None else zlib.crc32(self._chosen.tobytes(), value)
            for rows in (self.data, self.targets):
                for row in () if rows is None else rows:
                    value = zlib.crc32(row.tobytes(), value)
            self._checksum = value
        return self._checksum

    def fingerprint(self) -> str:
        """Return a text that differs for banks with other windows: sizes and a checksum of the readings."""
        sizes = (len(self), self.lookback, self.n, self.f, *self.data.shape)
        return "-".join(str(size) for size in (*sizes, f"{self.checksum():08x}"))

    def has_holes(self, rows: NDArray[np.int64]) -> bool:
        """Return whether any of the stored rows has a missing reading."""
        return bool(self._holes[rows].any())

    @cached_property
    def sparse(self) -> bool:
        """Whether candidates are so scattered that gathering them is faster than scanning all steps between."""
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
        """Return the exact index, extended by `rows` that are used for the first time."""
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


def _stored_shared(state: State) -> tuple[bool, ...]:
    """Return for each feature whether all variables share it; the reading, the first, is never shared."""
    shared = fields.sequence(state, "shared")
    if not shared or shared[0] is not False or not all(isinstance(is_shared, bool) for is_shared in shared):
        raise fields.wrong(state, "shared", "a list of true and false that begins with false", shared)
    return tuple(shared)


def _stored_offsets(state: State, steps: int, lookback: int) -> NDArray[np.int64]:
    """Return where each series begins and the last ends; one of them must hold a window."""
    offsets = np.array(fields.array(state, "offsets", np.int64, [None], low=0, high=steps))
    if len(offsets) < 2 or offsets[0] != 0 or offsets[-1] != steps or (np.diff(offsets) < 1).any():
        raise state.damaged(f"its offsets must increase from 0 to its {steps} steps")
    if np.diff(offsets).max() < lookback:
        raise state.damaged(f"none of its series has {lookback} steps")
    return offsets


def _stored_starts(state: State, offsets: NDArray[np.int64], lookback: int) -> NDArray[np.int64] | None:
    if not fields.has_array(state, "starts"):
        return None
    starts = fields.array(state, "starts", np.int64, [None])
    try:
        check_starts(starts, offsets, lookback)
    except InputError as error:
        raise state.damaged(str(error)) from None
    return starts


def _stored_holes(state: State, rows: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return which rows have missing readings; searches rely on it."""
    holes = np.array(fields.array(state, "holes", np.bool_, [len(rows)]))
    if not state.trusted:
        for number, row in enumerate(rows):
            if holes[number] != bool(np.isnan(row.min())):
                raise state.damaged(f"its holes say the wrong thing about the missing readings of row {number}")
    return holes
