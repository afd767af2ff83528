"""The bank of past windows, and the searches of it that a user calls."""

from __future__ import annotations

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
from subcast.retrieval.queries import as_queries
from subcast.retrieval.rows import as_rows, join_series

_METHODS = ("auto", "scan", "index")


class WindowBank(CandidateWindows):
    """All windows of past readings, searchable by any subset of the variables (equations 3 and 4).

    The distance of two windows is the mean of |difference|^b over the steps, the variables asked about and the
    features. Readings are kept once, variable by variable, however many windows overlap.

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
        of that draw
    shared
        [t, g], further features, the same for every variable, given once a step
    mask
        [t, n], False where a reading is missing
    shared_features
        which features of `values` are the same for every variable, to be stored once and compared once: "auto"
        takes those after the first that change over time and have one value for all variables at every step (time
        of day); "none" takes none; or a list of their places in f. A shared feature must be shared in queries too.
    names
        the variables' names, by which they can then be asked for
    targets
        [t, n], what counts as a reading that follows a window, NaN where none does; `values` by default

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> readings = rng.normal(size=(500, 8))
    >>> bank = WindowBank(readings, lookback=12)
    >>> len(bank)
    489
    >>> found = bank.nearest(readings[None, 40:52], variables=[1, 4], k=3)
    >>> int(found.index[0, 0]), float(found.distance[0, 0])
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
        every = all_starts(offsets, int(lookback))
        if every.size == 0:
            raise InputError(
                f"values must hold at least lookback = {lookback} steps in a row, the longest series has "
                f"{int(np.diff(offsets).max())}"
            )
        chosen = None if starts is None else check_starts(np.asarray(starts), offsets, int(lookback))
        if fraction is not None:
            chosen = draw_fraction(every if chosen is None else chosen, fraction, seed)
        rows, layout, holes = as_rows(joined, shared, mask, shared_features)
        if names is not None and len(names) != layout.n:
            raise InputError(f"names must have one entry for each of the {layout.n} variables, got {len(names)}")
        self._store(rows, layout, int(lookback), offsets, chosen, holes, names, targets=_target_rows(targets, joined))

    def normalized(
        self, normalizer: Normalizes, slots: NDArray[np.int64], shared: NDArray[np.float32] | None = None
    ) -> WindowBank:
        """Return the same windows in normalized units.

        Parameters
        ----------
        normalizer
            what normalizes readings [t, n] at slots [t]
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
            how many; above len(bank) the last places stay empty
        exponent
            b > 0; 0.5, 1, 2 and 1/3 are fastest
        shared
            [b, t, g], the shared features, when `windows` leaves them out
        mask
            like `windows` without features, False where a reading is missing
        min_overlap
            a candidate must have at least this share of the readings that the window has
        exclude, at
            bar candidates that start fewer than `exclude` steps from `at` [b], the step of the bank's own series at
            which the window starts (one outside the series bars nothing)
        distance
            your own distance of two windows [t, s] or [t, s, f] in place of the mean; asked once for each candidate,
            so slow. What is not finite is no candidate; the window that is passed first may hold NaN.
        method
            "scan" compares all candidates, "index" skips those that a lower bound rules out; the answers are the same
        threads
            by default one for each processor this process may use

        Returns
        -------
        Neighbors
        """
        given = search.as_windows(windows)
        b = given.shape[0]
        k = check_whole("k", k)
        if method not in _METHODS:
            raise InputError(f"method must be one of {', '.join(_METHODS)}, got {method!r}")
        barred = search.excluded_starts(at, exclude, b, self.offsets)
        found_d = np.full((b, k), np.inf, dtype=np.float32)
        found_i = np.full((b, k), -1, dtype=np.int64)
        for members, chosen in search.group_by_variables(self, variables, b):
            part, part_shared, part_mask = search.select_windows(members, given, shared, mask)
            if distance is not None:
                own = search.plain_windows(self, part, chosen, part_shared, part_mask)
                answer = search.search_with_distance(self, own, chosen, barred[members], k, distance)
            else:
                queries = search.queries_of(self, part, chosen, part_shared, part_mask)
                needed = search.needed_cells(queries.counts.sum(axis=-1), min_overlap)
                limits = search.Limits(k, needed, barred[members])
                if method == "scan":
                    answer = search.search_windows(self, queries, limits, exponent, threads)
                else:
                    answer = search_indexed(self, queries, limits, exponent, threads, method == "index")
            found_d[members], found_i[members] = answer.distance, answer.index
        return Neighbors(found_i, found_d)

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
        """Find the k nearest candidates of every window of consecutive steps, sharing the work between them.

        Parameters
        ----------
        steps
            [t, n] or [t, s], features last if the bank has several; window j is steps j to j + lookback - 1
        at
            the step of the bank's own series at which `steps` begins; needed by `exclude`
        variables, k, exponent, shared, mask, min_overlap, exclude, threads
            as in `nearest`, `shared` being [t, g] and `mask` like `steps` without features

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
        chosen = variable_indices(variables, self.n, self.names)
        queries = as_queries("steps", steps, "t", chosen, self.layout, shared, mask)
        sliding.check_steps(self, queries.cells.shape[0])
        counts = sliding.window_counts(queries.counts, self.lookback)
        own = None if at is None else np.asarray(at) + np.arange(counts.size)
        limits = search.Limits(
            k,
            search.needed_cells(counts, min_overlap),
            search.excluded_starts(own, exclude, counts.size, self.offsets),
        )
        return sliding.search_sliding(self, queries, limits, exponent, threads)

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
        """Begin to follow a stream: `push` one step at a time, each answered for the cost of one step.

        The stream keeps lookback x candidates step distances (float32) in memory. Parameters as in
        `nearest_sliding`.
        """
        chosen = variable_indices(variables, self.n, self.names)
        return sliding.Stream(self, chosen, check_whole("k", k), exponent, min_overlap, exclude, at, threads)

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
        """Return the distance of every candidate from every window, [b, len(bank)]; infinite for no candidate."""
        given = search.as_windows(windows)
        found = np.full((given.shape[0], len(self)), np.inf, dtype=np.float32)
        for members, chosen in search.group_by_variables(self, variables, given.shape[0]):
            part, part_shared, part_mask = search.select_windows(members, given, shared, mask)
            queries = search.queries_of(self, part, chosen, part_shared, part_mask)
            needed = search.needed_cells(queries.counts.sum(axis=-1), min_overlap)
            found[members] = search.measure(self, queries, needed, exponent, threads)
        return found

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
        """Return the places, from 1, that given candidates take among all when sorted by distance.

        Parameters
        ----------
        index
            [b] or [b, j], the candidates asked about for each window
        windows, variables, exponent, shared, mask, min_overlap, threads
            as in `nearest`

        Examples
        --------
        >>> bank = WindowBank(np.arange(10.0).reshape(10, 1), lookback=2)
        >>> bank.rank(np.array([[[4.2], [5.2]]]), [0], [5])
        array([2])
        """
        given = search.as_windows(windows)
        asked = self._check_index(index)
        if asked.ndim not in {1, 2} or asked.shape[0] != given.shape[0]:
            raise InputError(
                f"index must be [b] or [b, j] with one row for each of the {given.shape[0]} windows, "
                f"got shape {asked.shape}"
            )
        mask_of_each = np.asarray(variables).ndim == 2
        places = np.empty(asked.shape, dtype=np.int64)
        for a in range(0, given.shape[0], search.chunk_of_windows(self)):
            part = slice(a, a + search.chunk_of_windows(self))
            distances = self.distances(
                given[part],
                np.asarray(variables)[part] if mask_of_each else variables,
                exponent,
                shared=None if shared is None else np.asarray(shared)[part],
                mask=None if mask is None else np.asarray(mask)[part],
                min_overlap=min_overlap,
                threads=threads,
            )
            places[part] = search.ranks(distances, asked[part])
        return places


def _target_rows(targets: ArrayLike | None, values: NDArray[np.float32]) -> NDArray[np.float32] | None:
    """Return the targets as rows [n, t], or say what is wrong with their shape."""
    if targets is None:
        return None
    given = np.asarray(targets, dtype=np.float32)
    if given.shape != values.shape[:2]:
        raise InputError(f"targets must be [t, n] = {values.shape[:2]}, the shape of values, got {given.shape}")
    return np.ascontiguousarray(given.T)
