"""The bank of past windows and its public search methods."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subcast.axes import check_whole, variable_indices
from subcast.errors import InputError
from subcast.retrieval import search, sliding
from subcast.retrieval.candidates import CandidateWindows
from subcast.retrieval.index import search_indexed
from subcast.retrieval.layout import all_starts, check_starts, draw_fraction
from subcast.retrieval.neighbors import Neighbors
from subcast.retrieval.protocol import Normalizes
from subcast.retrieval.rows import as_rows, join_series

METHODS = ("auto", "scan", "index")


class WindowBank(CandidateWindows):
    """All windows of past readings, searchable by any subset of the variables (equations 4 and 5).

    The distance of two windows is the mean of |difference|^b over the steps, the variables in S and the features.
    Readings are stored once, variable by variable, although windows overlap.

    Parameters
    ----------
    values
        [t, n] or [t, n, f], one series, or a list of such arrays for several; windows never cross from one series
        into the next. NaN marks missing readings.
    lookback
        steps in a window
    lengths
        the steps of each series, when `values` is one array of several series end to end
    starts
        the first steps of the windows that are candidates, counted from the start of the first series; all by default
    fraction
        keep only this share of the candidates: one drawn at random from each of floor(fraction * candidates) equal
        consecutive chunks
    seed
        random seed for that draw
    shared
        [t, g], further features, the same for every variable, given once a step
    mask
        [t, n], False where a reading is missing
    shared_features
        which features of `values` are the same for every variable, to be stored once and compared once: "auto"
        takes those after the first that change over time and have one value for all variables at every step (time
        of day); "none" takes none; or a list of their places in f. A shared feature must be shared in queries too.
    names
        the variables' names, by which searches can then name them
    targets
        [t, n], the readings that may follow a window, NaN where there is none; `values` by default

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> readings = rng.normal(size=(500, 8))
    >>> bank = WindowBank(readings, lookback=12)
    >>> len(bank)
    489
    >>> neighbors = bank.nearest(readings[None, 40:52], variables=[1, 4], k=3)
    >>> int(neighbors.index[0, 0]), float(neighbors.distance[0, 0])
    (40, 0.0)
    """

    def __init__(
        self,
        values: ArrayLike | Sequence[ArrayLike],
        lookback: int,
        *,
        lengths: Sequence[int] | None = None,
        starts: ArrayLike | None = None,
        fraction: float | None = None,
        seed: int | np.random.Generator = 0,
        shared: ArrayLike | Sequence[ArrayLike] | None = None,
        mask: ArrayLike | Sequence[ArrayLike] | None = None,
        shared_features: str | Sequence[int] = "auto",
        names: Sequence[str] | None = None,
        targets: ArrayLike | None = None,
    ) -> None:
        joined, offsets = join_series(values, lengths)
        check_whole("lookback", lookback)
        possible_starts = all_starts(offsets, int(lookback))
        if possible_starts.size == 0:
            raise InputError(
                f"values must hold at least lookback = {lookback} steps in a row, the longest series has "
                f"{int(np.diff(offsets).max())}"
            )
        candidate_starts = None if starts is None else check_starts(np.asarray(starts), offsets, int(lookback))
        if fraction is not None:
            candidate_starts = draw_fraction(
                possible_starts if candidate_starts is None else candidate_starts, fraction, seed
            )
        rows, layout, holes = as_rows(joined, shared, mask, shared_features)
        if names is not None and len(names) != layout.n:
            raise InputError(f"names must have one entry for each of the {layout.n} variables, got {len(names)}")
        self._store(
            rows, layout, int(lookback), offsets, candidate_starts, holes, names, targets=_target_rows(targets, joined)
        )

    def normalized(
        self, normalizer: Normalizes, slots: NDArray[np.int64], shared: NDArray[np.float32] | None = None
    ) -> WindowBank:
        """Return the same windows in normalized units.

        Parameters
        ----------
        normalizer
            normalizes readings [t, n] at slots [t]
        slots
            [t], the slot of the day of each step
        shared
            [t, g], features that are compared besides the readings
        """
        names = None if self.names is None else tuple(self.names)
        targets = None if self.targets is None else normalizer.normalize(self.targets.T, slots)
        return WindowBank(
            normalizer.normalize(self.data[: self.n].T, slots),
            self.lookback,
            lengths=np.diff(self.offsets).tolist(),
            starts=self.starts,
            shared=shared,
            names=names,
            targets=targets,
        )

    def extended(
        self,
        values: ArrayLike,
        starts: ArrayLike,
        *,
        shared: ArrayLike | None = None,
        targets: ArrayLike | None = None,
        apart: bool = False,
    ) -> WindowBank:
        """Return a bank with further steps and candidates; the candidates of this one keep their numbers.

        Parameters
        ----------
        values
            [t, n], the steps that follow
        starts
            the further candidates, counted from the start of the first series of this bank
        shared
            [t, g], their further features, if the bank has such
        targets
            [t, n], the readings that may follow a window; `values` by default
        apart
            whether the steps are a series of their own; else they go on with the last one, and windows may reach from
            the old steps into the new ones

        Examples
        --------
        >>> bank = WindowBank(np.arange(4.0)[:, None], lookback=3)
        >>> longer = bank.extended(np.array([[4.0], [5.0]]), starts=[2, 3])
        >>> len(longer), longer.window(3).ravel().tolist()
        (4, [3.0, 4.0, 5.0])
        """
        readings, _ = join_series(values, None)
        rows, layout, holes = as_rows(readings, shared, None, "none")
        if layout != self.layout:
            raise InputError(
                f"values and shared must have {self.n} variables and {self.f} features in all like the bank, "
                f"got {layout.n} and {layout.f}"
            )
        steps = self.n_steps + rows.shape[1]
        offsets = np.concatenate([self.offsets if apart else self.offsets[:-1], [steps]])
        bank = WindowBank.__new__(WindowBank)
        bank._store(
            np.concatenate([self.data, rows], axis=1),
            layout,
            self.lookback,
            offsets,
            check_starts(np.concatenate([self.starts, np.asarray(starts, dtype=np.int64)]), offsets, self.lookback),
            self._holes | holes,
            self.names,
            targets=self._joined_targets(rows, _target_rows(targets, readings)),
        )
        return bank

    def _joined_targets(
        self, rows: NDArray[np.float32], targets: NDArray[np.float32] | None
    ) -> NDArray[np.float32] | None:
        """Return the targets of the bank and of further rows; None where both are the readings."""
        if self.targets is None and targets is None:
            return None
        parts = (self._futures[: self.n], rows[: self.n] if targets is None else targets)
        return np.concatenate(parts, axis=1)

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
        distance: search.Distance | None = None,
        method: str = "auto",
        threads: int | None = None,
    ) -> Neighbors:
        """Find the k nearest candidates of independent windows.

        Parameters
        ----------
        windows
            [b, t, n] over all variables, or [b, t, s] over those named (in the order named); features last if the
            bank has several. NaN marks missing readings.
        variables
            S: names, indices or a mask [n]; or a mask [b, n], for a set of its own for each window
        k
            number of neighbors; above len(bank) the last entries are empty (index -1)
        exponent
            b > 0; 0.5, 1, 2 and 1/3 are fastest
        shared
            [b, t, g], the shared features, when `windows` leaves them out
        mask
            like `windows` without features, False where a reading is missing
        min_overlap
            a candidate must have at least this share of the readings that the window has
        exclude, at
            leave out candidates that start fewer than `exclude` steps from `at` [b], the step of the bank's series at
            which the window starts (a step outside the series leaves out nothing)
        distance
            your own distance of two windows [t, s] or [t, s, f] instead of the mean; called once for each
            candidate, so slow. A distance that is not finite rules a candidate out; the first window may hold NaN.
        method
            "scan" compares all candidates, "index" skips those that a lower bound rules out; the results are the same
        threads
            number of threads; by default one for each processor that this process may use

        Returns
        -------
        Neighbors
        """
        b = search.as_windows(windows).shape[0]
        k = check_whole("k", k)
        if method not in METHODS:
            raise InputError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
        excluded = search.excluded_starts(at, exclude, b, self.offsets)
        if distance is not None:
            return self._nearest_by(distance, windows, variables, k, shared, mask, excluded)
        distances = np.full((b, k), np.inf, dtype=np.float32)
        indices = np.full((b, k), -1, dtype=np.int64)
        for members, queries, limits in search.window_groups(
            self, windows, variables, k, shared=shared, mask=mask, min_overlap=min_overlap, excluded=excluded
        ):
            if method == "scan":
                neighbors = search.search_windows(self, queries, limits, exponent, threads)
            else:
                neighbors = search_indexed(self, queries, limits, exponent, threads, method == "index")
            distances[members], indices[members] = neighbors.distance, neighbors.index
        return Neighbors(indices, distances)

    def _nearest_by(
        self,
        distance: search.Distance,
        windows: ArrayLike,
        variables: ArrayLike | Sequence[str],
        k: int,
        shared: ArrayLike | None,
        mask: ArrayLike | None,
        excluded: NDArray[np.int64],
    ) -> Neighbors:
        """Find the k nearest candidates by a user's own distance."""
        queried = search.as_windows(windows)
        distances = np.full((len(queried), k), np.inf, dtype=np.float32)
        indices = np.full((len(queried), k), -1, dtype=np.int64)
        for members, subset in search.group_by_variables(self, variables, len(queried)):
            group, group_shared, group_mask = search.select_windows(members, queried, shared, mask)
            plain = search.plain_windows(self, group, subset, group_shared, group_mask)
            neighbors = search.search_with_distance(self, plain, subset, excluded[members], k, distance)
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
        wanted: NDArray[np.bool_] | None = None,
    ) -> Neighbors:
        """Find the k nearest candidates of every window of consecutive steps, sharing the work between them.

        Parameters
        ----------
        steps
            [t, n] or [t, s], features last if the bank has several; window j is steps j to j + lookback - 1
        at
            the step of the bank's own series at which `steps` begins; needed by `exclude`
        variables, k, exponent, shared, mask, min_overlap, exclude, threads
            as in `nearest`, `shared` being [t, g] and `mask` like `steps` without features
        wanted
            [steps - lookback + 1], False for windows whose neighbors are not needed, which get none; all by default

        Returns
        -------
        Neighbors of steps - lookback + 1 windows, to the bit those of `nearest`

        Examples
        --------
        >>> bank = WindowBank(np.arange(20.0).reshape(10, 2) ** 2, lookback=3)
        >>> bank.nearest_sliding(np.arange(20.0).reshape(10, 2)[4:] ** 2, [0, 1], k=1).index.ravel().tolist()
        [4, 5, 6, 7]
        """
        k = check_whole("k", k)
        queries, limits = sliding.sliding_queries(
            self, steps, variables, k, shared=shared, mask=mask, min_overlap=min_overlap, exclude=exclude, at=at
        )
        if wanted is not None and np.shape(wanted) != limits.needed.shape:
            raise InputError(
                f"wanted must have one entry for each of the {limits.needed.size} windows, got shape {np.shape(wanted)}"
            )
        return sliding.search_sliding(self, queries, limits, exponent, threads, wanted)

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
    ) -> sliding.Stream:
        """Start a stream search: `push` one step at a time, each for the cost of one step.

        The stream keeps lookback x candidates step distances (float32) in memory. Parameters as in
        `nearest_sliding`.
        """
        subset = variable_indices(variables, self.n, self.names)
        return sliding.Stream(self, subset, check_whole("k", k), exponent, min_overlap, exclude, at, threads)

    def write_shards(
        self, folder: str | os.PathLike[str], steps: int | None = None, *, horizon: int | None = None
    ) -> None:
        """Write the bank to a folder of Parquet files, which `ShardedBank` searches, here or on a cluster.

        Parameters
        ----------
        folder
            a path, or an address that fsspec can write; a bank that is there is replaced
        steps
            steps of each file, besides the overlap; by default as many as fit into 64 MB
        horizon
            steps after a window that are kept together with it; by default the steps that follow every candidate

        Examples
        --------
        >>> import tempfile
        >>> from subcast.retrieval import ShardedBank
        >>> folder = tempfile.mkdtemp() + "/bank"
        >>> WindowBank(np.arange(200.0).reshape(100, 2), lookback=4).write_shards(folder, steps=30)
        >>> ShardedBank(folder)
        ShardedBank(97 windows of 4 steps, 2 variables, 4 shards)
        """
        from subcast.retrieval.sharding.writer import write_bank

        write_bank(self, folder, steps, horizon)

    def distances(
        self,
        windows: ArrayLike,
        variables: ArrayLike | Sequence[str],
        exponent: float = 0.5,
        *,
        shared: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        min_overlap: float = 0.5,
        threads: int | None = None,
    ) -> NDArray[np.float32]:
        """Return the distance of every candidate from every window, [b, len(bank)]; infinite if ruled out."""
        queried = search.as_windows(windows)
        distances = np.full((queried.shape[0], len(self)), np.inf, dtype=np.float32)
        for members, subset in search.group_by_variables(self, variables, queried.shape[0]):
            group, group_shared, group_mask = search.select_windows(members, queried, shared, mask)
            queries = search.queries_of(self, group, subset, group_shared, group_mask)
            needed = search.needed_cells(queries.counts.sum(axis=-1), min_overlap)
            distances[members] = search.measure(self, queries, needed, exponent, threads)
        return distances

    def rank(
        self,
        windows: ArrayLike,
        variables: ArrayLike | Sequence[str],
        index: ArrayLike,
        exponent: float = 0.5,
        *,
        shared: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        min_overlap: float = 0.5,
        threads: int | None = None,
    ) -> NDArray[np.int64]:
        """Return the ranks, from 1, of given candidates among all candidates sorted by distance.

        Parameters
        ----------
        index
            [b] or [b, j], the candidates to rank for each window
        windows, variables, exponent, shared, mask, min_overlap, threads
            as in `nearest`

        Examples
        --------
        >>> bank = WindowBank(np.arange(10.0).reshape(10, 1), lookback=2)
        >>> bank.rank(np.array([[[4.2], [5.2]]]), [0], [5])
        array([2])
        """
        queried = search.as_windows(windows)
        candidates = self._check_index(index)
        if candidates.ndim not in {1, 2} or candidates.shape[0] != queried.shape[0]:
            raise InputError(
                f"index must be [b] or [b, j] with one row for each of the {queried.shape[0]} windows, "
                f"got shape {candidates.shape}"
            )
        mask_of_each = np.asarray(variables).ndim == 2
        ranks = np.empty(candidates.shape, dtype=np.int64)
        for a in range(0, queried.shape[0], search.chunk_of_windows(self)):
            batch = slice(a, a + search.chunk_of_windows(self))
            distances = self.distances(
                queried[batch],
                np.asarray(variables)[batch] if mask_of_each else variables,
                exponent,
                shared=None if shared is None else np.asarray(shared)[batch],
                mask=None if mask is None else np.asarray(mask)[batch],
                min_overlap=min_overlap,
                threads=threads,
            )
            ranks[batch] = search.ranks(distances, candidates[batch])
        return ranks


def _target_rows(targets: ArrayLike | None, values: NDArray[np.float32]) -> NDArray[np.float32] | None:
    """Return the targets as rows [n, t]; raise if their shape is wrong."""
    if targets is None:
        return None
    array = np.asarray(targets, dtype=np.float32)
    if array.shape != values.shape[:2]:
        raise InputError(f"targets must be [t, n] = {values.shape[:2]}, the shape of values, got {array.shape}")
    return np.ascontiguousarray(array.T)
