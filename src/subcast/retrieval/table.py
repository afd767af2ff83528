"""The paper's scalable search: range queries on sorted columns, widened until enough windows are found."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subcast.axes import check_whole, variable_indices
from subcast.errors import DataError, InputError
from subcast.retrieval import search
from subcast.retrieval.bank import WindowBank
from subcast.retrieval.compiled.ranges import intersect, range_places, tightness
from subcast.retrieval.layout import packed_tiles
from subcast.retrieval.neighbors import Neighbors
from subcast.retrieval.queries import Queries
from subcast.retrieval.threads import cuts, run_all, thread_count
from subcast.storage import folders
from subcast.storage.state import State

# A column whose validation differences are nil still needs a range that can grow: this share of its spread (of 1,
# when it is constant).
_LEAST_RANGE = 1e-3


@dataclass(frozen=True)
class TableAnswer:
    """What the table found, and what it took.

    Attributes
    ----------
    neighbors
        the nearest of the windows that the last round admitted: good, not always the nearest of all
    rounds
        [b], how often the ranges were queried
    candidates
        [b], how many windows the last round admitted
    """

    neighbors: Neighbors
    rounds: NDArray[np.int64]
    candidates: NDArray[np.int64]


class QueryTable:
    """One sorted, range-searchable column for each (step, variable), as in the paper's appendix on scalable search.

    A query window asks each of its (step, variable) columns for the windows within a range of its own reading; the
    windows that all columns admit are compared in full. While there are fewer than k, the ranges that bind most are
    multiplied by `factor` and all is asked again. The columns of one variable at different steps hold the same series
    shifted, so one sorted order for each variable serves all.

    Parameters
    ----------
    bank
        the windows
    validation
        [b, t, n] or [b, t, n, f], whole windows by which the first ranges are set: for each variable, the mean
        |difference| of a window from its `neighbor`-th nearest by all variables
    neighbor
        the k-hat of the paper
    exponent
        b of the distance by which those neighbors are found
    factor
        u > 1, by which ranges are widened
    share
        how many of the ranges are widened in a round, as a share of those asked; at least one
    variables
        keep columns for these only; all by default

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> readings = np.cumsum(rng.normal(size=(600, 5)), axis=0)
    >>> bank = WindowBank(readings[:500], lookback=4)
    >>> table = QueryTable(bank, np.stack([readings[500:504], readings[520:524]]), neighbor=5)
    >>> answer = table.nearest(readings[None, 300:304], variables=[0, 3], k=3)
    >>> int(answer.neighbors.index[0, 0]), bool(answer.candidates[0] >= 3)
    (300, True)
    """

    def __init__(
        self,
        bank: WindowBank,
        validation: ArrayLike,
        *,
        neighbor: int = 10,
        exponent: float = 0.5,
        factor: float = 1.5,
        share: float = 0.5,
        variables: ArrayLike | None = None,
        threads: int | None = None,
    ) -> None:
        _check_settings(factor, share)
        wanted = np.arange(bank.n) if variables is None else variable_indices(variables, bank.n, bank.names)
        rows = np.concatenate([bank.layout.own_rows(np.sort(wanted)), bank.layout.shared_rows])
        ranges = first_ranges(bank, validation, neighbor, exponent, threads)
        orders = np.empty((rows.size, bank.data.shape[1]), dtype=_index_type(bank))

        def sort(place: int) -> None:
            orders[place] = np.argsort(bank.data[rows[place]], kind="stable")

        workers = min(thread_count(threads, float(orders.size)), rows.size)
        parts = cuts(rows.size, workers)
        run_all([partial(_each, sort, range(a, z)) for a, z in pairwise(parts.tolist())])
        # NaN sorts last: a column ends before it
        sizes = orders.shape[1] - np.array([np.isnan(bank.data[row]).sum() for row in rows], dtype=np.int64)
        self._store(bank, rows, orders, sizes, ranges, float(factor), float(share))

    def _store(
        self,
        bank: WindowBank,
        rows: NDArray[np.int64],
        orders: NDArray[np.int32],
        sizes: NDArray[np.int64],
        ranges: NDArray[np.float32],
        factor: float,
        share: float,
    ) -> None:
        orders = np.asarray(orders)
        orders.flags.writeable = False
        self.bank = bank
        self.ranges = ranges
        self.factor = factor
        self.share = share
        self._rows = rows
        self._orders = orders
        self._column = np.full(bank.layout.n_rows, -1, dtype=np.int64)
        self._column[rows] = np.arange(rows.size)
        self._sizes = sizes

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._orders.flags.writeable = False

    @property
    def nbytes(self) -> int:
        """The memory of the sorted columns, beside the bank's own."""
        return int(self._orders.nbytes)

    def nearest(
        self,
        windows: ArrayLike,
        variables: ArrayLike | Sequence[str],
        k: int,
        exponent: float = 0.5,
        *,
        shared: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        exclude: int = 0,
        at: ArrayLike | None = None,
        max_rounds: int = 100,
        threads: int | None = None,
    ) -> TableAnswer:
        """Find k near candidates of each window.

        Parameters
        ----------
        windows, variables, k, exponent, shared, mask, exclude, at, threads
            as in `WindowBank.nearest`; a reading missing from a window asks nothing, and a candidate with a
            missing reading where the window has one is not found
        max_rounds
            give what there is after so many rounds

        Returns
        -------
        TableAnswer
        """
        given = search.as_windows(windows)
        k = check_whole("k", k)
        if max_rounds < 1:
            raise InputError(f"max_rounds must be at least 1, got {max_rounds}")
        b = given.shape[0]
        barred = search.barred_starts(at, exclude, b, self.bank.offsets)
        answer = TableAnswer(
            Neighbors(np.full((b, k), -1, dtype=np.int64), np.full((b, k), np.inf, dtype=np.float32)),
            np.zeros(b, dtype=np.int64),
            np.zeros(b, dtype=np.int64),
        )
        for members, chosen in search.groups_of(self.bank, variables, b):
            part, part_shared, part_mask = search.part_of(members, given, shared, mask)
            queries = search.queries_of(self.bank, part, chosen, part_shared, part_mask)
            if (self._column[queries.rows] < 0).any():
                raise InputError("variables asks for some that this table keeps no column for: build it with them")
            self._answer(queries, members, barred, k, exponent, max_rounds, threads, answer)
        return answer

    def _answer(
        self,
        queries: Queries,
        members: NDArray[np.int64],
        barred: NDArray[np.int64],
        k: int,
        exponent: float,
        max_rounds: int,
        threads: int | None,
        answer: TableAnswer,
    ) -> None:
        """Answer the windows `members` of a batch, which `queries` holds, into `answer`."""

        def answer_one(j: int) -> None:
            i = members[j]
            found, answer.rounds[i] = self._widen(queries, j, barred[i], min(k, len(self.bank)), max_rounds)
            answer.candidates[i] = found.size
            if found.size:
                best = self._compare(queries, j, np.sort(found), k, exponent)
                answer.neighbors.index[i], answer.neighbors.distance[i] = best.index[0], best.distance[0]

        workers = max(1, min(thread_count(threads, queries.cells.size * 1e4), members.size))
        parts = cuts(members.size, workers).tolist()
        run_all([partial(_each, answer_one, range(a, z)) for a, z in pairwise(parts)])

    def _widen(
        self, queries: Queries, j: int, barred: NDArray[np.int64], k: int, max_rounds: int
    ) -> tuple[NDArray[np.int64], int]:
        """Query and widen until k windows that are not barred are found; return them and the number of rounds."""
        bank, rows = self.bank, queries.rows
        q = queries.cells[j]
        columns = self._column[rows]
        ranges = self.ranges[rows].copy()
        present = ~np.isnan(q)  # [t, r]
        asked = np.flatnonzero(present.any(axis=0) & (self._sizes[columns] > 0))
        if asked.size == 0:
            return np.empty(0, dtype=np.int64), 0
        reach = self._reach(q, rows, columns)
        places = np.empty((2, *q.shape), dtype=np.int64)
        to_widen = max(1, int(self.share * asked.size))
        rounds = 0
        while rounds < max_rounds:
            rounds += 1
            range_places(bank.data, rows, self._orders, columns, self._sizes, q, ranges, places)
            found = self._intersect(rows, columns, q, ranges, places, present)
            starts = bank.starts[found]
            found = found[(starts < barred[0]) | (starts >= barred[1])]
            if found.size >= k or np.all(ranges[asked] >= reach[asked]):
                break
            open_rows = asked[ranges[asked] < reach[asked]]
            if found.size:
                tight = np.empty(rows.size, dtype=np.float32)
                tightness(bank.data, rows, q, ranges, bank.starts, found, tight)
                binding = open_rows[np.argsort(-tight[open_rows], kind="stable")]
            else:
                admitted = [
                    self._intersect(rows, columns, q, ranges, places, present & (np.arange(rows.size) == r)).size
                    for r in open_rows
                ]
                binding = open_rows[np.argsort(admitted, kind="stable")]
            ranges[binding[:to_widen]] *= np.float32(self.factor)
        return found, rounds

    def _reach(
        self, q: NDArray[np.float32], rows: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return the range beyond which each row admits all its readings."""
        reach = np.zeros(rows.size, dtype=np.float32)
        for r, (row, column) in enumerate(zip(rows, columns, strict=True)):
            values = q[~np.isnan(q[:, r]), r]
            if values.size and self._sizes[column]:
                ends = self.bank.data[row, self._orders[column, [0, self._sizes[column] - 1]]]
                reach[r] = np.abs(values[:, None] - ends).max() * np.float32(1.001)
        return reach

    def _intersect(
        self,
        rows: NDArray[np.int64],
        columns: NDArray[np.int64],
        q: NDArray[np.float32],
        ranges: NDArray[np.float32],
        places: NDArray[np.int64],
        cells: NDArray[np.bool_],
    ) -> NDArray[np.int64]:
        steps, members = np.nonzero(cells)
        sizes = places[1, steps, members] - places[0, steps, members]
        rising = np.argsort(sizes, kind="stable")
        if sizes[rising[0]] <= 0:
            return np.empty(0, dtype=np.int64)
        found: NDArray[np.int64] = intersect(
            self.bank.data, rows, self._orders, columns, q, ranges, places,
            steps[rising], members[rising], self.bank.starts,
        )  # fmt: skip
        return found

    def _compare(self, queries: Queries, j: int, found: NDArray[np.int64], k: int, exponent: float) -> Neighbors:
        """Search the windows found, one by one."""
        few = search.search_packed(
            self.bank,
            Queries(queries.cells[j : j + 1], queries.rows, queries.first, queries.own, queries.counts[j : j + 1]),
            found,
            packed_tiles(found.size, search.TILE),
            k,
            exponent,
        )
        index = np.where(few.index >= 0, found[few.index], -1)
        return Neighbors(index, few.distance)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the table to a folder (the bank is saved on its own)."""
        facts = {"factor": self.factor, "share": self.share, "bank": self.bank.fingerprint()}
        arrays: dict[str, NDArray[Any]] = {
            "orders": self._orders,
            "rows": self._rows,
            "sizes": self._sizes,
            "ranges": self.ranges,
        }
        folders.save_state(folder, "table", State(facts, arrays))

    @classmethod
    def open(cls, folder: str | os.PathLike[str], bank: WindowBank, *, verify: bool = False) -> QueryTable:
        """Open a saved table by memory map, for the bank it was made of."""
        state = folders.open_state(folder, "table", verify=verify)
        facts, arrays = state.facts, state.arrays
        if facts["bank"] != bank.fingerprint():
            raise DataError(f"the table in {folder} was made of another bank: build it again for this one")
        table = cls.__new__(cls)
        rows, sizes, ranges = (np.array(arrays[name]) for name in ("rows", "sizes", "ranges"))
        table._store(bank, rows, arrays["orders"], sizes, ranges, facts["factor"], facts["share"])
        return table


def first_ranges(
    bank: WindowBank, validation: ArrayLike, neighbor: int, exponent: float, threads: int | None = None
) -> NDArray[np.float32]:
    """Return for each row of the bank the mean |difference| of validation windows from their k-hat-th neighbors.

    Neighbors are found by all variables.
    """
    windows = search.as_windows(validation)
    if windows.shape[0] == 0:
        raise InputError("validation must hold at least one window, got none")
    if not 1 <= neighbor <= len(bank):
        raise InputError(f"neighbor must lie between 1 and the {len(bank)} candidates, got {neighbor}")
    everything = np.arange(bank.n)
    queries = search.queries_of(bank, windows, everything, None, None)
    found = bank.nearest(windows, everything, neighbor, exponent, threads=threads)
    chosen = found.index[:, -1]
    cells = queries.cells[chosen >= 0]  # [b, t, r]
    time = bank.starts[chosen[chosen >= 0]][:, None] + np.arange(bank.lookback)  # [b, t]
    ranges = np.zeros(bank.layout.n_rows, dtype=np.float32)
    for place, row in enumerate(queries.rows):
        line = bank.data[row]
        difference = np.abs(cells[..., place] - line[time])
        known = difference[~np.isnan(difference)]
        finite = line[~np.isnan(line)]
        spread = float(finite.max() - finite.min()) if finite.size else 0.0
        ranges[row] = max(float(known.mean()) if known.size else 0.0, _LEAST_RANGE * (spread or 1.0))
    return ranges


def _check_settings(factor: float, share: float) -> None:
    if not 1 < factor < float("inf"):
        raise InputError(f"factor must be a number above 1, got {factor}")
    if not 0 < share <= 1:
        raise InputError(f"share must lie above 0 and at most at 1, got {share}")


def _index_type(bank: WindowBank) -> type[np.int32]:
    if bank.data.shape[1] >= 2**31:
        raise InputError("a query table holds at most 2^31 - 1 steps: split the bank")
    return np.int32


def _each(function: Callable[[int], None], places: range) -> None:
    for place in places:
        function(place)
