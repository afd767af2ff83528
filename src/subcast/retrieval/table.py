"""The scalable search of the paper: range queries on sorted columns, with ranges that grow until k windows match."""

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
from subcast.retrieval.compiled.ranges import intersect, range_bounds, tightness
from subcast.retrieval.layout import packed_tiles
from subcast.retrieval.neighbors import Neighbors
from subcast.retrieval.queries import Queries
from subcast.retrieval.threads import cuts, run_all, thread_count
from subcast.storage import fields, folders
from subcast.storage.state import State

# Smallest first range, as a share of the spread of a row (of 1 if the row is constant). A range of 0 could not be
# widened by multiplication.
_MIN_RANGE = 1e-3


@dataclass(frozen=True)
class TableAnswer:
    """The result of `QueryTable.nearest`.

    Attributes
    ----------
    neighbors
        the nearest of the windows admitted in the last round; they are not always the nearest windows of the bank
    rounds
        [b], the number of rounds of range queries
    candidates
        [b], the number of windows admitted in the last round
    """

    neighbors: Neighbors
    rounds: NDArray[np.int64]
    candidates: NDArray[np.int64]


class QueryTable:
    """Sorted columns for range queries, as in the paper's appendix on scalable search.

    For each (step, variable) of a query window, a range query on the sorted column of that step and variable returns
    the windows whose reading lies within a range of the query's reading. The windows that all range queries admit are
    compared in full. While there are fewer than k of them, the ranges that exclude most are multiplied by `factor`
    and the queries are repeated. The columns of one variable at different steps contain the same series, shifted, so
    one sorted order for each variable serves all steps.

    Parameters
    ----------
    bank
        the bank to search
    validation
        [b, t, n] or [b, t, n, f], complete windows that determine the first ranges: the range of a variable is the
        mean |difference| between a window and its `neighbor`-th nearest candidate by all variables
    neighbor
        which neighbor determines the first ranges (the k-hat of the paper)
    exponent
        exponent b of the distance for these neighbors
    factor
        factor u > 1 by which ranges are widened
    share
        share of the queried ranges that are widened in each round; at least one range is
    variables
        build columns only for these variables; by default for all
    threads
        number of threads; by default one for each processor that this process may use

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
        indices = np.arange(bank.n) if variables is None else variable_indices(variables, bank.n, bank.names)
        rows = np.concatenate([bank.layout.own_rows(np.sort(indices)), bank.layout.shared_rows])
        ranges = first_ranges(bank, validation, neighbor, exponent, threads)
        orders = np.empty((rows.size, bank.data.shape[1]), dtype=_index_type(bank))

        def sort(column: int) -> None:
            orders[column] = np.argsort(bank.data[rows[column]], kind="stable")

        workers = min(thread_count(threads, float(orders.size)), rows.size)
        run_all([partial(_for_each, sort, range(a, z)) for a, z in pairwise(cuts(rows.size, workers).tolist())])
        # NaN is sorted to the end of a column and is not part of it
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
        """Memory of the sorted columns in bytes, without the bank."""
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
        """Return k near candidates of each window.

        Parameters
        ----------
        windows, variables, k, exponent, shared, mask, exclude, at, threads
            as in `WindowBank.nearest`; a missing reading of a window has no range query, and a candidate with a
            missing reading where the window has one is not admitted
        max_rounds
            largest number of rounds; after it the windows admitted so far are returned

        Returns
        -------
        TableAnswer
        """
        query_windows = search.as_windows(windows)
        k = check_whole("k", k)
        if max_rounds < 1:
            raise InputError(f"max_rounds must be at least 1, got {max_rounds}")
        b = query_windows.shape[0]
        excluded = search.excluded_starts(at, exclude, b, self.bank.offsets)
        answer = TableAnswer(
            Neighbors(np.full((b, k), -1, dtype=np.int64), np.full((b, k), np.inf, dtype=np.float32)),
            np.zeros(b, dtype=np.int64),
            np.zeros(b, dtype=np.int64),
        )
        for members, indices in search.group_by_variables(self.bank, variables, b):
            selected = search.select_windows(members, query_windows, shared, mask)
            queries = search.queries_of(self.bank, selected[0], indices, *selected[1:])
            if (self._column[queries.rows] < 0).any():
                raise InputError(
                    f"variables must be among those for which the table has a column, got {indices.tolist()}: "
                    "build the table with variables=None or with all variables that are queried"
                )
            self._answer(queries, members, excluded, k, exponent, max_rounds, threads, answer)
        return answer

    def _answer(
        self,
        queries: Queries,
        members: NDArray[np.int64],
        excluded: NDArray[np.int64],
        k: int,
        exponent: float,
        max_rounds: int,
        threads: int | None,
        answer: TableAnswer,
    ) -> None:
        """Write the results for `queries`, which are the windows `members` of a batch, into `answer`."""

        def answer_one(j: int) -> None:
            i = members[j]
            admitted, answer.rounds[i] = self._widen(queries, j, excluded[i], min(k, len(self.bank)), max_rounds)
            answer.candidates[i] = admitted.size
            if admitted.size:
                nearest = self._compare(queries, j, np.sort(admitted), k, exponent)
                answer.neighbors.index[i], answer.neighbors.distance[i] = nearest.index[0], nearest.distance[0]

        workers = max(1, min(thread_count(threads, queries.cells.size * 1e4), members.size))
        run_all(
            [partial(_for_each, answer_one, range(a, z)) for a, z in pairwise(cuts(members.size, workers).tolist())]
        )

    def _widen(
        self, queries: Queries, j: int, excluded: NDArray[np.int64], k: int, max_rounds: int
    ) -> tuple[NDArray[np.int64], int]:
        """Query and widen the ranges until k windows are admitted; return these windows and the number of rounds."""
        bank, rows = self.bank, queries.rows
        q = queries.cells[j]
        columns = self._column[rows]
        ranges = self.ranges[rows].copy()
        present = ~np.isnan(q)  # [t, r]
        queried = np.flatnonzero(present.any(axis=0) & (self._sizes[columns] > 0))
        if queried.size == 0:
            return np.empty(0, dtype=np.int64), 0
        full = self._full_ranges(q, rows, columns)
        bounds = np.empty((2, *q.shape), dtype=np.int64)
        to_widen = max(1, int(self.share * queried.size))
        rounds = 0
        while rounds < max_rounds:
            rounds += 1
            range_bounds(bank.data, rows, self._orders, columns, self._sizes, q, ranges, bounds)
            admitted = self._intersect(rows, columns, q, ranges, bounds, present)
            starts = bank.starts[admitted]
            admitted = admitted[(starts < excluded[0]) | (starts >= excluded[1])]
            if admitted.size >= k or np.all(ranges[queried] >= full[queried]):
                break
            growing = queried[ranges[queried] < full[queried]]
            if admitted.size:
                ratios = np.empty(rows.size, dtype=np.float32)
                tightness(bank.data, rows, q, ranges, bank.starts, admitted, ratios)
                strictest = growing[np.argsort(-ratios[growing], kind="stable")]
            else:
                admitted_by_row = [
                    self._intersect(rows, columns, q, ranges, bounds, present & (np.arange(rows.size) == r)).size
                    for r in growing
                ]
                strictest = growing[np.argsort(admitted_by_row, kind="stable")]
            ranges[strictest[:to_widen]] *= np.float32(self.factor)
        return admitted, rounds

    def _full_ranges(
        self, q: NDArray[np.float32], rows: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return for each row the range that admits all its readings."""
        full = np.zeros(rows.size, dtype=np.float32)
        for r, (row, column) in enumerate(zip(rows, columns, strict=True)):
            values = q[~np.isnan(q[:, r]), r]
            if values.size and self._sizes[column]:
                ends = self.bank.data[row, self._orders[column, [0, self._sizes[column] - 1]]]
                full[r] = np.abs(values[:, None] - ends).max() * np.float32(1.001)
        return full

    def _intersect(
        self,
        rows: NDArray[np.int64],
        columns: NDArray[np.int64],
        q: NDArray[np.float32],
        ranges: NDArray[np.float32],
        bounds: NDArray[np.int64],
        cells: NDArray[np.bool_],
    ) -> NDArray[np.int64]:
        """Return the candidates that lie within the ranges of all `cells` [t, r]."""
        cell_steps, cell_rows = np.nonzero(cells)
        sizes = bounds[1, cell_steps, cell_rows] - bounds[0, cell_steps, cell_rows]
        order = np.argsort(sizes, kind="stable")  # shortest range first
        if sizes[order[0]] <= 0:
            return np.empty(0, dtype=np.int64)
        admitted: NDArray[np.int64] = intersect(
            self.bank.data, rows, self._orders, columns, q, ranges, bounds,
            cell_steps[order], cell_rows[order], self.bank.starts,
        )  # fmt: skip
        return admitted

    def _compare(self, queries: Queries, j: int, candidates: NDArray[np.int64], k: int, exponent: float) -> Neighbors:
        """Return the nearest of the given candidates for window j."""
        tiles = packed_tiles(candidates.size, search.TILE)
        nearest = search.search_packed(self.bank, queries.select(j, j + 1), candidates, tiles, k, exponent)
        return Neighbors(np.where(nearest.index >= 0, candidates[nearest.index], -1), nearest.distance)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the table to a folder, without the bank, which has its own `save`."""
        facts = {"factor": self.factor, "share": self.share, "bank": self.bank.fingerprint()}
        arrays: dict[str, NDArray[Any]] = {
            "orders": self._orders,
            "rows": self._rows,
            "sizes": self._sizes,
            "ranges": self.ranges,
        }
        folders.save_state(folder, "table", State(facts, arrays))

    @classmethod
    def open(cls, folder: str | os.PathLike[str], bank: WindowBank, *, verify: bool = True) -> QueryTable:
        """Open a saved table as a memory map.

        Parameters
        ----------
        folder
            folder to which `save` wrote the table
        bank
            the bank from which the table was built
        verify
            whether to read the whole table once and compare checksums; False compares only the sizes and ends of its
            files
        """
        state = folders.open_state(folder, "table", verify=verify)
        if fields.text(state, "bank") != bank.fingerprint():
            raise DataError(f"the table in {folder} was built from another bank: build a new table for this bank")
        factor, share = fields.number(state, "factor"), fields.number(state, "share")
        with fields.restoring(state):
            _check_settings(factor, share)
        steps, n_rows = bank.data.shape[1], bank.layout.n_rows
        rows = np.array(fields.array(state, "rows", np.int64, [None], low=0, high=n_rows - 1))
        if len(np.unique(rows)) < len(rows):
            raise state.damaged("its rows must differ")
        orders = fields.array(state, "orders", _index_type(bank), [len(rows), steps], low=0, high=steps - 1)
        sizes = np.array(fields.array(state, "sizes", np.int64, [len(rows)], low=0, high=steps))
        ranges = np.array(fields.array(state, "ranges", np.float32, [n_rows], low=0))
        table = cls.__new__(cls)
        table._store(bank, rows, orders, sizes, ranges, factor, share)
        return table


def first_ranges(
    bank: WindowBank, validation: ArrayLike, neighbor: int, exponent: float, threads: int | None = None
) -> NDArray[np.float32]:
    """Return for each row of the bank the mean |difference| between validation windows and their k-hat-th neighbors.

    All variables are used to find the neighbors.
    """
    windows = search.as_windows(validation)
    if windows.shape[0] == 0:
        raise InputError("validation must have at least one window, got none")
    if not 1 <= neighbor <= len(bank):
        raise InputError(f"neighbor must be between 1 and the {len(bank)} candidates of the bank, got {neighbor}")
    all_variables = np.arange(bank.n)
    queries = search.queries_of(bank, windows, all_variables, None, None)
    neighbors = bank.nearest(windows, all_variables, neighbor, exponent, threads=threads).index[:, -1]
    cells = queries.cells[neighbors >= 0]  # [b, t, r]
    time = bank.starts[neighbors[neighbors >= 0]][:, None] + np.arange(bank.lookback)  # [b, t]
    ranges = np.zeros(bank.layout.n_rows, dtype=np.float32)
    for i, row in enumerate(queries.rows):
        line = bank.data[row]
        difference = np.abs(cells[..., i] - line[time])
        known = difference[~np.isnan(difference)]
        finite = line[~np.isnan(line)]
        spread = float(finite.max() - finite.min()) if finite.size else 0.0
        ranges[row] = max(float(known.mean()) if known.size else 0.0, _MIN_RANGE * (spread or 1.0))
    return ranges


def _check_settings(factor: float, share: float) -> None:
    if not 1 < factor < float("inf"):
        raise InputError(f"factor must be a number above 1, got {factor}")
    if not 0 < share <= 1:
        raise InputError(f"share must be above 0 and at most 1, got {share}")


def _index_type(bank: WindowBank) -> type[np.int32]:
    if bank.data.shape[1] >= 2**31:
        raise InputError(
            f"a query table supports banks of at most 2^31 - 1 steps, got {bank.data.shape[1]}: split the bank"
        )
    return np.int32


def _for_each(function: Callable[[int], None], items: range) -> None:
    for item in items:
        function(item)
