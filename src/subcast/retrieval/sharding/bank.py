"""ShardedBank: the bank of past windows in files, searched here or on a cluster."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import count, pairwise
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subcast.axes import check_whole, variable_indices
from subcast.errors import DataError, DataNotFoundError, InputError
from subcast.retrieval import search, sliding
from subcast.retrieval.bank import METHODS
from subcast.retrieval.layout import Layout
from subcast.retrieval.moments import DENSE_LIMIT, LagMoments
from subcast.retrieval.neighbors import Neighbors
from subcast.retrieval.pooling import pool_deviation, pool_mean, pool_median
from subcast.retrieval.protocol import Normalizes
from subcast.retrieval.queries import Queries, as_queries
from subcast.retrieval.sharding.cache import CACHE_BYTES, ShardCache
from subcast.retrieval.sharding.engines import Engine, LocalEngine, Parts
from subcast.retrieval.sharding.manifest import Manifest, manifest_from
from subcast.retrieval.sharding.moments import (
    SAMPLE,
    FactorSums,
    Span,
    common_factors,
    future_rows,
    merge_sums,
)
from subcast.retrieval.sharding.places import Place
from subcast.retrieval.sharding.tasks import Call, neighbors_of
from subcast.retrieval.sharding.units import Units
from subcast.retrieval.sharding.writer import ShardWriter
from subcast.storage import fields
from subcast.storage.state import State

KIND = "sharded"
_CALLS = count()


class ShardedBank:
    """All windows of past readings, in a folder of Parquet files; `WindowBank` for what does not fit into memory.

    Neighbors and distances equal those of `WindowBank` to the bit. Readings are stored in raw units; `normalized`
    gives the same bank in other units, which are computed when a column is read, and kept so. Only the columns of S
    are read.

    Parameters
    ----------
    folder
        what `WindowBank.write_shards`, `ShardWriter` or `subcast bank write` wrote: a path, or an address that fsspec
        can read
    client
        a `distributed.Client`: its workers search, each shard as a task. None for this process.
    cache_bytes
        how much memory the columns that were read may take, with the index over them: in this process, or in each
        worker (where it is at most two fifths of its memory limit). One shard is searched even if it takes more.
    patience
        seconds to wait for a worker when the cluster has none
    verify
        whether to look first if all files are there and have their sizes

    Examples
    --------
    >>> import tempfile
    >>> from subcast.retrieval import WindowBank
    >>> readings = np.random.default_rng(0).normal(size=(500, 8))
    >>> folder = tempfile.mkdtemp() + "/bank"
    >>> WindowBank(readings, lookback=12).write_shards(folder, steps=100)
    >>> bank = ShardedBank(folder)
    >>> neighbors = bank.nearest(readings[None, 40:52], variables=[1, 4], k=3)
    >>> int(neighbors.index[0, 0]), float(neighbors.distance[0, 0])
    (40, 0.0)
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        client: Any = None,
        *,
        cache_bytes: int = CACHE_BYTES,
        patience: float = 60.0,
        verify: bool = True,
    ) -> None:
        check_whole("cache_bytes", cache_bytes)
        if isinstance(patience, bool) or not isinstance(patience, int | float) or not 0 <= patience < 1e9:
            raise InputError(f"patience must be a number of seconds from 0 on, got {patience!r}")
        place = Place.of(folder)
        self._parts = Parts(place, Manifest.read(place))
        if verify:
            _check_files(self._parts)
        self.cache_bytes = int(cache_bytes)
        self.patience = float(patience)
        self._cache = ShardCache(self.cache_bytes)
        self._engine: Engine = LocalEngine(self._cache)
        self.client: Any = None
        self.connect(client)

    def connect(self, client: Any) -> ShardedBank:
        """Let the workers of another client (or this process, for None) do the work from now on; return the bank."""
        if client is None:
            self._engine = LocalEngine(self._cache)
        else:
            from subcast.retrieval.sharding.cluster import ClusterEngine

            self._engine = ClusterEngine(client, self.cache_bytes, self.patience)
        self.client = client
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a copy or a pickle, which has no client and nothing in memory yet."""
        return {"parts": self._parts, "cache_bytes": self.cache_bytes, "patience": self.patience}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._parts, self.cache_bytes, self.patience = state["parts"], state["cache_bytes"], state["patience"]
        self._cache = ShardCache(self.cache_bytes)
        self.connect(None)

    def __repr__(self) -> str:
        return (
            f"ShardedBank({len(self)} windows of {self.lookback} steps, {self.n} variables, {len(self._parts)} "
            f"shard{'s' if len(self._parts) > 1 else ''})"
        )

    # Sizes

    def __len__(self) -> int:
        """Return the number of candidates."""
        return len(self._manifest.candidates)

    @property
    def _manifest(self) -> Manifest:
        return self._parts.manifest

    @property
    def folder(self) -> str:
        """The path or address of the folder."""
        return self._parts.place.address

    @property
    def shards(self) -> int:
        """The number of files."""
        return len(self._parts)

    @property
    def lookback(self) -> int:
        """Number of steps in a window."""
        return self._manifest.lookback

    @property
    def horizon(self) -> int:
        """Number of steps after a window that every shard holds together with it."""
        return self._manifest.room

    @property
    def layout(self) -> Layout:
        """Which row holds which feature."""
        return self._parts.frame.layout

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.layout.n

    @property
    def f(self) -> int:
        """Number of features, shared ones included."""
        return self.layout.f

    @property
    def names(self) -> list[str] | None:
        """The variables' names, if they have any."""
        return None if self._manifest.names is None else list(self._manifest.names)

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each series begins, and where the last ends."""
        return self._manifest.offsets

    @property
    def n_steps(self) -> int:
        """Number of steps of the training series."""
        return self._manifest.n_steps

    @property
    def cached_bytes(self) -> int:
        """How much memory the columns that this process has read take now."""
        return self._cache.nbytes

    @property
    def bytes_read(self) -> int:
        """How many bytes this process has read from the files so far."""
        return self._cache.bytes_read

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """[candidates], the step at which each candidate starts."""
        starts = self._manifest.candidates.between(0, self.n_steps)
        starts.flags.writeable = False
        return starts

    # Units

    def normalized(
        self, normalizer: Normalizes, slots: NDArray[np.int64], shared: NDArray[np.float32] | None = None
    ) -> ShardedBank:
        """Return the same windows in normalized units, which are computed when a column is read.

        Parameters
        ----------
        normalizer
            normalizes readings [t, n] at slots [t]
        slots
            [t], the slot of the day of each step
        shared
            [t, g], features that are compared besides the readings
        """
        slots = np.asarray(slots, dtype=np.int64)
        shared = None if shared is None else np.ascontiguousarray(shared, dtype=np.float32)
        if slots.shape != (self.n_steps,) or (shared is not None and len(shared) != self.n_steps):
            raise InputError(f"slots and shared must have the {self.n_steps} steps of the bank, got {len(slots)}")
        if shared is not None and np.isinf(shared).any():
            raise InputError("shared must be finite or NaN, got infinite values: use NaN for missing values")
        other = ShardedBank.__new__(ShardedBank)
        other.__dict__.update({name: value for name, value in self.__dict__.items() if name != "starts"})
        other._parts = Parts(self._parts.place, self._manifest, Units(normalizer, slots, shared))
        return other

    # Searches

    def nearest(
        self,
        windows: ArrayLike,
        variables: ArrayLike | Sequence[str],
        k: int,
        exponent: float = 0.5,
        *,
        shared: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        min_overlap: float = 0.5,
        exclude: int = 0,
        at: ArrayLike | None = None,
        method: str = "auto",
        threads: int | None = None,
    ) -> Neighbors:
        """Find the k nearest candidates of independent windows; arguments as in `WindowBank.nearest`.

        `threads` counts in this process; a task on a worker uses one thread.
        """
        b = search.as_windows(windows).shape[0]
        k = check_whole("k", k)
        if method not in METHODS:
            raise InputError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
        excluded = search.excluded_starts(at, exclude, b, self.offsets)
        groups = search.window_groups(
            self, windows, variables, k, shared=shared, mask=mask, min_overlap=min_overlap, excluded=excluded
        )
        distances = np.full((b, k), np.inf, dtype=np.float32)
        indices = np.full((b, k), -1, dtype=np.int64)
        found = self._search([(queries, limits) for _, queries, limits in groups], exponent, False, threads, method)
        for (members, *_), neighbors in zip(groups, found, strict=True):
            distances[members], indices[members] = neighbors.distance, neighbors.index
        return Neighbors(indices, distances)

    def nearest_sliding(
        self,
        steps: ArrayLike,
        variables: ArrayLike | Sequence[str],
        k: int,
        exponent: float = 0.5,
        *,
        shared: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        min_overlap: float = 0.5,
        exclude: int = 0,
        at: int | None = None,
        threads: int | None = None,
    ) -> Neighbors:
        """Find the k nearest candidates of every window of consecutive steps; as `WindowBank.nearest_sliding`."""
        k = check_whole("k", k)
        group = sliding.sliding_queries(
            self, steps, variables, k, shared=shared, mask=mask, min_overlap=min_overlap, exclude=exclude, at=at
        )
        return self._search([group], exponent, True, threads)[0]

    def stream(
        self,
        variables: ArrayLike | Sequence[str],
        k: int,
        exponent: float = 0.5,
        *,
        min_overlap: float = 0.5,
        exclude: int = 0,
        at: int | None = None,
        threads: int | None = None,
    ) -> ShardedStream:
        """Start a stream search: `push` one step at a time. Each push is a search of the whole window."""
        subset = variable_indices(variables, self.n, self.names)
        search.needed_cells(np.zeros(1, dtype=np.float32), min_overlap)
        search.excluded_starts(at, exclude, 1, self.offsets)
        options = {"min_overlap": min_overlap, "exclude": exclude, "threads": threads}
        return ShardedStream(self, subset, check_whole("k", k), exponent, at, options)

    def _search(
        self,
        groups: list[tuple[Queries, search.Limits]],
        exponent: float,
        slide: bool,
        threads: int | None,
        method: str = "auto",
    ) -> list[Neighbors]:
        """Search all shards for all groups of queries at once, so that each column is read once."""
        power_check(exponent)
        if threads is not None:
            check_whole("threads", threads)
        filled = [group for group in groups if group[1].needed.size]
        if not filled:
            return [_no_neighbors(limits) for _, limits in groups]
        call = Call(f"{uuid4().hex}-{next(_CALLS)}", tuple(filled), exponent, slide, method)
        answers = iter(neighbors_of(self._engine.search(self._parts, call, threads)))
        return [next(answers) if limits.needed.size else _no_neighbors(limits) for _, limits in groups]

    # Windows and futures

    def steps(self, first: int, last: int) -> NDArray[np.float32]:
        """Return the readings of the steps `first` to `last` - 1, [t, n], whichever shards hold them."""
        return self._range(first, last, np.arange(self.n))

    def targets(self, first: int, last: int) -> NDArray[np.float32]:
        """Return the same of what may follow a window: the targets if the bank has them, else the readings."""
        return self._range(first, last, future_rows(self._parts.frame))

    def _range(self, first: int, last: int, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        if not 0 <= first <= last <= self.n_steps:
            raise InputError(f"first and last must lie between 0 and {self.n_steps}, got {first} and {last}")
        found = np.empty((last - first, len(rows)), dtype=np.float32)
        for number in range(self.shards):
            begin, end = (max(first, min(bound, last)) for bound in self._parts.own(number))
            if begin < end:
                stretch = self._engine.fetch(self._parts, rows, [(number, np.array([begin]))], end - begin)[0]
                found[begin - first : end - first] = stretch[0]
        return found

    def windows(self, index: ArrayLike, variables: ArrayLike | Sequence[str] | None = None) -> NDArray[np.float32]:
        """Return candidates, [..., t, n] or [..., t, n, f] for an `index` of any shape; as `WindowBank.windows`."""
        numbers = self._check_index(index, -1)
        wanted = np.arange(self.n) if variables is None else variable_indices(variables, self.n, self.names)
        rows = np.concatenate([self.layout.own_rows(wanted), self.layout.shared_rows])
        cells = self._stretches(numbers, rows, self.lookback)  # [..., t, rows]
        s, own = len(wanted), len(self.layout.own_features)
        windows = np.empty((*cells.shape[:-1], s, self.f), dtype=np.float32)
        for place, feature in enumerate(self.layout.own_features):
            windows[..., feature] = cells[..., place * s : (place + 1) * s]
        for place, feature in enumerate(self.layout.shared_features):
            windows[..., feature] = cells[..., own * s + place, None]
        return windows if self.f > 1 else windows[..., 0]

    def paths(
        self, index: ArrayLike, variables: ArrayLike | Sequence[str] | None = None, length: int | None = None
    ) -> NDArray[np.float32]:
        """Return the readings of candidates from their start on, [..., length, s]; as `WindowBank.paths`."""
        numbers = self._check_index(index, -1)
        wanted = np.arange(self.n) if variables is None else variable_indices(variables, self.n, self.names)
        return self._stretches(numbers, wanted, length or self.lookback)

    def pool_windows(
        self, index: NDArray[np.int64], weights: NDArray[np.float32], variables: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return the weighted mean of the candidates' windows, [b, t, s]; as `WindowBank.pool_windows`."""
        rows, starts = self._fetched(index, np.asarray(variables), self.lookback)
        return pool_mean(rows, starts, weights, np.arange(len(rows)), 0, self.lookback)

    def pool_futures(
        self,
        index: NDArray[np.int64],
        weights: NDArray[np.float32],
        variables: NDArray[np.int64],
        horizon: int,
        center: str = "median",
    ) -> NDArray[np.float32]:
        """Return the median or weighted mean of the candidates' futures, [b, h, s]; as `WindowBank.pool_futures`."""
        rows, starts = self._futures(index, variables, horizon)
        if center == "median":
            return pool_median(rows, starts, np.arange(len(rows)), 0, horizon)
        return pool_mean(rows, starts, weights, np.arange(len(rows)), 0, horizon)

    def future_deviation(
        self, index: NDArray[np.int64], variables: NDArray[np.int64], horizon: int
    ) -> NDArray[np.float32]:
        """Return the standard deviation of the candidates' futures, [b, h, s]; 1 with fewer than 3 readings."""
        rows, starts = self._futures(index, variables, horizon)
        return pool_deviation(rows, starts, np.arange(len(rows)), 0, horizon)

    def _futures(
        self, index: NDArray[np.int64], variables: NDArray[np.int64], horizon: int
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the futures of candidates as rows for the kernels, and where each begins in them."""
        return self._fetched(index, future_rows(self._parts.frame)[np.asarray(variables)], horizon, self.lookback)

    def _fetched(
        self, index: NDArray[np.int64], rows: NDArray[np.int64], length: int, skip: int = 0
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Fetch each candidate once; return rows [rows, candidates * length], and the starts [b, k] in them."""
        numbers = self._check_index(index, -1)
        unique, place = np.unique(numbers[numbers >= 0], return_inverse=True)
        starts = self._manifest.candidates.at(unique)
        short = starts + skip + length > self._series_ends(starts)
        if short.any():
            raise InputError(
                f"the candidate that starts at step {int(starts[short][0])} has fewer than {skip + length} steps "
                "before its series ends: give the bank starts that leave room for the horizon"
            )
        stretches = self._steps_of(starts, rows, skip, length)  # [candidates, length, rows]
        begin = np.full(numbers.shape, -1, dtype=np.int64)
        begin[numbers >= 0] = place * length
        return np.ascontiguousarray(stretches.reshape(-1, len(rows)).T), begin

    def _stretches(self, numbers: NDArray[np.int64], rows: NDArray[np.int64], length: int) -> NDArray[np.float32]:
        """Return the steps of candidates from their start on, [..., length, rows]; NaN after the end of the series."""
        unique, place = np.unique(numbers[numbers >= 0], return_inverse=True)
        starts = self._manifest.candidates.at(unique)
        inside = starts[:, None] + np.arange(length) < self._series_ends(starts)[:, None]  # [candidates, length]
        found = np.where(inside[..., None], self._steps_of(starts, rows, 0, length), np.float32(np.nan))
        cells = np.full((*numbers.shape, length, len(rows)), np.nan, dtype=np.float32)
        cells[numbers >= 0] = found[place]
        return cells

    def _steps_of(
        self, starts: NDArray[np.int64], rows: NDArray[np.int64], skip: int, length: int
    ) -> NDArray[np.float32]:
        """Return `length` steps after the first `skip` from each start on, [starts, length, rows]."""
        found = np.full((len(starts), length, len(rows)), np.nan, dtype=np.float32)
        if not starts.size or not len(rows):
            return found
        if (starts + skip + length > self.n_steps).any():
            return self._ragged(starts, rows, skip, length)
        holding = self._parts.holding(starts)
        ends = np.array([file.end for file in self._manifest.files])
        if (starts + skip + length > ends[holding]).any():
            raise InputError(
                f"the shards of {self.folder} hold {self.horizon} steps after each window, and {skip + length} from "
                "its start on are needed: write the bank again with a longer horizon"
            )
        members = [np.flatnonzero(holding == number) for number in np.unique(holding)]
        requests = [(int(holding[places[0]]), starts[places] + skip) for places in members]
        for places, stretch in zip(members, self._engine.fetch(self._parts, rows, requests, length), strict=True):
            found[places] = stretch
        return found

    def _ragged(
        self, starts: NDArray[np.int64], rows: NDArray[np.int64], skip: int, length: int
    ) -> NDArray[np.float32]:
        """Return steps of windows some of which end after the series does; NaN there."""
        found = np.full((len(starts), length, len(rows)), np.nan, dtype=np.float32)
        whole = starts + skip + length <= self.n_steps
        if whole.any():
            found[whole] = self._steps_of(starts[whole], rows, skip, length)
        for place in np.flatnonzero(~whole):
            left = self.n_steps - int(starts[place]) - skip
            if left > 0:
                found[place, :left] = self._steps_of(starts[place : place + 1], rows, skip, left)[0]
        return found

    # Moments

    def moments(self, lags: int, first: int = 0, last: int | None = None) -> LagMoments:
        """Return second moments at the lags 0 .. lags - 1 over the steps first .. last - 1, summed shard by shard.

        No product reaches from one series into the next.
        """
        end = self.n_steps if last is None else min(last, self.n_steps)
        loadings = None
        if self.n > DENSE_LIMIT:
            steps = np.arange(first, end, max(1, (end - first) // SAMPLE))
            rows = future_rows(self._parts.frame)
            loadings = common_factors(self._steps_of(steps, rows, 0, 1)[:, 0])
        bounds = [first, *(int(offset) for offset in self.offsets if first < offset < end), end]
        spans = [Span(lags, low, high, loadings) for low, high in pairwise(bounds)]
        sums = merge_sums([self._engine.sums(self._parts, span) for span in spans])
        if sums is None:
            raise InputError(f"moments need at least one step, got the steps {first} to {end}")
        apart = (len(spans) - 1) * (lags - 1)  # as between the series of a `WindowBank`
        sums = replace(sums, steps=sums.steps + apart)
        if isinstance(sums, FactorSums):
            return sums.moments(np.zeros((0, 0), dtype=np.float32) if loadings is None else loadings)
        return sums.moments()

    # Saving and growing

    def append(self, values: ArrayLike, *, targets: ArrayLike | None = None) -> ShardedBank:
        """Add steps [t, n] after the last one: one new file and a new manifest; return the bank with them.

        The bank itself stays as it is, so that searches in progress do.
        """
        if self._parts.units is not None:
            raise InputError("append needs a bank in raw units: append to the bank that was normalized, and fit again")
        with ShardWriter.append_to(self.folder) as writer:
            writer.add(values, targets=targets)
        return ShardedBank(self.folder, self.client, cache_bytes=self.cache_bytes, patience=self.patience, verify=False)

    def extended(
        self,
        values: ArrayLike,
        *,
        slots: NDArray[np.int64] | None = None,
        shared: NDArray[np.float32] | None = None,
        targets: ArrayLike | None = None,
        apart: bool = False,
    ) -> ShardedBank:
        """Return the bank with further steps, in its units: one new file and a new manifest.

        The bank itself stays as it is. Steps that are in the files already, because an earlier call was interrupted
        after it had written them, are not written again.

        Parameters
        ----------
        values
            [t, n], the readings that follow, in raw units
        slots, shared
            [t] and [t, g], as in `normalized`, for a bank in normalized units
        targets
            [t, n], the readings that may follow a window; `values` by default
        apart
            whether the steps are a series of their own, so that no window reaches into them
        """
        readings = np.asarray(values, dtype=np.float32)
        following = readings if targets is None else np.asarray(targets, dtype=np.float32)
        if not self._manifest.has_targets and not np.array_equal(following, readings, equal_nan=True):
            raise InputError(
                f"some of the readings are no targets, and the bank in {self.folder} has none of its own: write the "
                "bank again with the new readings, and fit"
            )
        there = self._already_there(readings, apart)
        if there < len(readings):
            with ShardWriter.append_to(self.folder) as writer:
                own = following[there:] if self._manifest.has_targets else None
                writer.add(readings[there:], targets=own, new_series=apart and not there)
        longer = ShardedBank(
            self.folder, self.client, cache_bytes=self.cache_bytes, patience=self.patience, verify=False
        )
        units = self._parts.units
        if units is None:
            return longer
        if slots is None or (shared is None) != (units.shared is None):
            raise InputError("slots and shared must be given for the new steps as they were for the others")
        joined = None if shared is None or units.shared is None else np.concatenate([units.shared, shared])
        return longer.normalized(units.normalizer, np.concatenate([units.slots, slots]), joined)

    def _already_there(self, readings: NDArray[np.float32], apart: bool) -> int:
        """Return how many of the steps the files hold already; raise if they hold others."""
        known, now = self._manifest, Manifest.read(self._parts.place)
        if now.files[: len(known.files)] != known.files:
            raise InputError(f"the bank in {self.folder} was written again since it was opened: fit again")
        there = now.n_steps - known.n_steps
        if not there:
            return 0
        series = len(now.offsets) - len(known.offsets)
        held = ShardedBank(self.folder, verify=False).steps(known.n_steps, now.n_steps)
        if series != int(apart) or not np.array_equal(held, readings[:there], equal_nan=True):
            raise InputError(
                f"the bank in {self.folder} was extended by {there} steps with other readings than these: give those "
                "first, or fit again"
            )
        return there

    def state(self) -> State:
        """Return the state to save: where the files are and the units, not the readings."""
        units = self._parts.units
        facts = {
            "kind": KIND,
            "folder": self.folder,
            "manifest": self._manifest.facts(),
            "cache_bytes": self.cache_bytes,
            "patience": self.patience,
        }
        state = State.join(facts, normalizer=None if units is None else units.normalizer.state())
        if units is not None:
            state.arrays["slots"] = units.slots
            if units.shared is not None:
                state.arrays["shared"] = units.shared
        return state

    @classmethod
    def from_state(cls, state: State, normalizer: Normalizes | None = None) -> ShardedBank:
        """Return the bank saved in `state`, in the units of `normalizer`; this process searches it until `connect`.

        Steps that were appended to the files since then are not part of it.
        """
        bank = cls.__new__(cls)
        place, part = Place.of(fields.text(state, "folder")), state.needed_part("manifest")
        bank.__setstate__(
            {
                "parts": Parts(place, manifest_from(part)),
                "cache_bytes": fields.whole(state, "cache_bytes", 1),
                "patience": fields.number(state, "patience", 0),
            }
        )
        try:
            _check_files(bank._parts)
        except InputError as error:
            raise DataNotFoundError(f"{state.source} needs its bank in {place.address}: {error}") from None
        if normalizer is None:
            return bank
        slots = fields.array(state, "slots", np.int64, [bank.n_steps], low=0)
        shared = None
        if fields.has_array(state, "shared"):
            shared = fields.array(state, "shared", np.float32, [bank.n_steps, None], missing=True)
        return bank.normalized(normalizer, slots, shared)

    def fingerprint(self) -> str:
        """Return a text that differs for banks with other windows: sizes and a checksum of files and units."""
        sizes = (len(self), self.lookback, self.n, self.f, self.n_steps)
        return "-".join([*(str(size) for size in sizes), self._parts.frame.token])

    # Private helpers

    def _series_ends(self, starts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the step after the last of the series in which windows start."""
        return self.offsets[np.searchsorted(self.offsets, starts, side="right").clip(1, len(self.offsets) - 1)]

    def _check_index(self, index: ArrayLike, least: int) -> NDArray[np.int64]:
        array = np.asarray(index)
        if array.dtype.kind not in "iu":
            raise InputError(f"index must hold whole numbers, got {array.dtype}")
        if array.size and (array.min() < least or array.max() >= len(self)):
            wrong = array[(array < least) | (array >= len(self))].flat[0]
            raise InputError(f"index holds {wrong}, but the candidates are numbered 0 to {len(self) - 1}")
        return array.astype(np.int64)


class ShardedStream:
    """The neighbors of the latest window of a stream over a `ShardedBank`; create it with `ShardedBank.stream`.

    It keeps only the last steps, so nothing is lost with a worker.
    """

    def __init__(
        self,
        bank: ShardedBank,
        variables: NDArray[np.int64],
        k: int,
        exponent: float,
        at: int | None,
        options: dict[str, Any],
    ) -> None:
        self.bank = bank
        self.variables = variables
        self.k = k
        self.exponent = exponent
        self.at = at
        self.pushed = 0
        self._options = options
        self._steps: list[Queries] = []

    @property
    def ready(self) -> bool:
        """Whether at least `lookback` steps have been pushed, so that `push` returns neighbors."""
        return self.pushed >= self.bank.lookback

    def push(self, step: ArrayLike, *, shared: ArrayLike | None = None, mask: ArrayLike | None = None) -> Neighbors:
        """Add one step and return the neighbors of the window that ends with it; as `Stream.push`."""
        bank = self.bank
        query = as_queries("step", step, "", self.variables, bank.layout, shared, mask)
        self._steps = [*self._steps, query][-bank.lookback :]
        self.pushed += 1
        if not self.ready:
            return Neighbors(np.full((1, self.k), -1, np.int64), np.full((1, self.k), np.inf, np.float32))
        cells = np.stack([each.cells for each in self._steps])[None]  # [1, t, rows]
        counts = np.array([[float(each.counts) for each in self._steps]], dtype=np.float32)
        window = Queries(cells, query.rows, query.n_readings, query.n_own, counts)
        begin = None if self.at is None else np.array([self.at + self.pushed - bank.lookback])
        exclude = self._options["exclude"]
        limits = search.Limits(
            self.k,
            search.needed_cells(counts.sum(axis=-1), self._options["min_overlap"]),
            search.excluded_starts(begin, exclude, 1, bank.offsets),
        )
        return bank._search([(window, limits)], self.exponent, False, self._options["threads"])[0]


def _no_neighbors(limits: search.Limits) -> Neighbors:
    b = limits.needed.size
    return Neighbors(np.full((b, limits.k), -1, np.int64), np.full((b, limits.k), np.inf, np.float32))


def power_check(exponent: float) -> None:
    """Raise unless an exponent can be used, before any shard is read."""
    from subcast.retrieval.compiled.powers import power_of

    power_of(exponent)


def _check_files(parts: Parts) -> None:
    """Raise if a file is missing or has another size than when it was written."""
    sizes = parts.place.sizes()
    for file in parts.manifest.files:
        if file.name not in sizes:
            raise DataNotFoundError(
                f"the shard {file.name} of {parts.place.address} is missing: copy it back, or write the bank again"
            )
        if sizes[file.name] != file.size:
            raise DataError(
                f"the shard {file.name} of {parts.place.address} is torn: it must have {file.size} bytes, got "
                f"{sizes[file.name]}; copy it again, or write the bank again"
            )
