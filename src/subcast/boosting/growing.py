"""Growth of boosted trees on binned rows: histograms, the best split first, leaf values by the loss.

The algorithm is that of histogram-based gradient boosting: each tree fits the gradients of the loss at the sum of the
trees before it. The node whose split gains most is split first. Of its two children the smaller one's histogram is made
from its rows, the larger one's is the parent's less that one. The features are divided among threads; the trees do not
depend on their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from subcast.boosting.bins import MISSING, Bins
from subcast.boosting.histograms import (
    BIN,
    CURVATURE,
    FEATURE,
    GAIN,
    GRADIENT,
    LEAST_CURVATURE,
    MISSING_LEFT,
    ROWS,
    divide_rows,
    look_at,
)
from subcast.boosting.leaves import add_values, fill_gradients, leaf_quantiles, plain_quantile, weighted_quantile
from subcast.retrieval.threads import cuts, run_all, thread_count

_BINS = 256
_CELLS_A_COUNT = 8  # counting a row in a histogram takes about as long as comparing this many cells
_LEAST_DIVIDED = 100_000  # rows times features of a node below which one thread is quicker


@dataclass(frozen=True)
class Growth:
    """How trees grow.

    Parameters
    ----------
    trees, leaves, leaf_rows
        number of trees, most leaves of each, and the smallest number of rows in a leaf
    learning_rate
        how much of each tree is added
    l2
        added to the second derivative of a leaf, which draws its value to 0
    share
        of the features, drawn for each node, that its split may use
    quantile
        the quantile to fit; NaN for the mean
    is_absolute
        whether the loss is the absolute error, whose gradients are twice those of the median
    seed
        random seed for the features of each node
    """

    trees: int = 150
    leaves: int = 31
    leaf_rows: int = 200
    learning_rate: float = 0.1
    l2: float = 1.0
    share: float = 0.7
    quantile: float = np.nan
    is_absolute: bool = False
    seed: int = 0


@dataclass(eq=False)
class Node:
    """A node of a tree that grows: rows order[begin:end], their sums, and the best split (None for a leaf)."""

    number: int
    begin: int
    end: int
    totals: NDArray[np.float64]  # gradient, second derivative, rows, score
    histogram: NDArray[np.float64] | None = None
    split: NDArray[np.float64] | None = None
    left: int = 0
    right: int = 0
    missing_left: bool = False

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.end - self.begin

    @property
    def place(self) -> tuple[int, int]:
        """Feature and bin of the split."""
        assert self.split is not None
        return int(self.split[FEATURE]), int(self.split[BIN])


@dataclass(frozen=True, eq=False)
class GrownTree:
    """A tree: its nodes in the order of their numbers, and the values of those that are leaves [nodes]."""

    nodes: list[Node]
    values: NDArray[np.float64]


@dataclass(eq=False)
class _Table:
    """The binned rows, and the space that every tree uses again."""

    numbers: NDArray[np.uint8]  # [r, f]
    columns: NDArray[np.uint8]  # [f, r]
    counts: NDArray[np.int64]  # [f]
    has_missing: NDArray[np.int64]  # [f]
    gradients: NDArray[np.float32]  # [r]
    curvatures: NDArray[np.float32]  # [r], or [0] without weights
    order: NDArray[np.int32] = field(init=False)
    spare: NDArray[np.int32] = field(init=False)
    histograms: list[NDArray[np.float64]] = field(default_factory=list)
    no_histogram: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        self.no_histogram = np.zeros((0, _BINS, self.sums))
        self.order = np.empty(len(self.numbers), dtype=np.int32)
        self.spare = np.empty(len(self.numbers), dtype=np.int32)

    def histogram(self) -> NDArray[np.float64]:
        """Return space for a histogram."""
        if self.histograms:
            return self.histograms.pop()
        return np.empty((self.numbers.shape[1], _BINS, self.sums))

    @property
    def sums(self) -> int:
        """Number of sums that a histogram holds for each bin."""
        return 3 if len(self.curvatures) else 2


def grow(
    rows: NDArray[np.uint8],
    bins: Bins,
    target: NDArray[np.float64],
    weight: NDArray[np.float32] | None,
    growth: Growth,
    threads: int | None = None,
) -> tuple[float, list[GrownTree]]:
    """Return the baseline and the trees.

    Parameters
    ----------
    rows
        [r, f], numbers of bins
    bins
        the bins
    target, weight
        [r]
    growth
        how the trees grow
    threads
        number of threads; None for all processors
    """
    weights = np.zeros(0, dtype=np.float32) if weight is None else weight
    columns = np.ascontiguousarray(rows.T)
    has_missing = (columns == MISSING).any(axis=1).astype(np.int64)
    table = _Table(rows, columns, bins.counts, has_missing, np.empty(len(rows), dtype=np.float32), weights)
    baseline = _baseline(target, weights, growth)
    sums = np.full(len(rows), baseline)
    count = min(thread_count(threads, _CELLS_A_COUNT * rows.size), max(1, rows.shape[1]))
    rng = np.random.default_rng(growth.seed)
    trees = []
    with ThreadPoolExecutor(max(1, count - 1)) as executor:
        grower = _Grower(table, growth, rng, count, executor)
        for _ in range(growth.trees):
            fill_gradients(table.gradients, target, sums, weights, growth.quantile, growth.is_absolute)
            nodes = grower.grow()
            trees.append(GrownTree(nodes, _values(nodes, table, target, sums, weights, growth)))
    return baseline, trees


def _baseline(target: NDArray[np.float64], weight: NDArray[np.float32], growth: Growth) -> float:
    """Return the best constant forecast."""
    if np.isnan(growth.quantile):
        return float(np.average(target, weights=weight if len(weight) else None))
    if len(weight):
        return float(weighted_quantile(target.copy(), weight.astype(np.float64), growth.quantile))
    return float(plain_quantile(target.copy(), growth.quantile))


def _values(
    nodes: list[Node],
    table: _Table,
    target: NDArray[np.float64],
    sums: NDArray[np.float64],
    weight: NDArray[np.float32],
    growth: Growth,
) -> NDArray[np.float64]:
    """Return what each leaf adds, [nodes], and add it to the sums of the training rows."""
    leaves = [node for node in nodes if node.split is None]
    begins, ends = (np.array([getattr(leaf, name) for leaf in leaves], dtype=np.int64) for name in ("begin", "end"))
    if np.isnan(growth.quantile):
        totals = np.stack([leaf.totals for leaf in leaves])
        own = -totals[:, 0] / (totals[:, 1] + growth.l2)
    else:
        own = np.empty(len(leaves))
        leaf_quantiles(own, table.order, begins, ends, target, sums, weight, growth.quantile)
    own *= growth.learning_rate
    add_values(sums, table.order, begins, ends, own)
    values = np.zeros(len(nodes))
    values[[leaf.number for leaf in leaves]] = own
    return values


class _Grower:
    """Grows one tree after the other."""

    def __init__(
        self, table: _Table, growth: Growth, rng: np.random.Generator, threads: int, executor: Executor
    ) -> None:
        self.table, self.growth, self.rng, self.executor = table, growth, rng, executor
        self.features = table.numbers.shape[1]
        self.drawn = max(1, int(np.ceil(growth.share * self.features)))
        self.pieces = [(int(a), int(b)) for a, b in pairwise(cuts(self.features, threads))]
        self.best = np.zeros((threads, 2, 7))

    def grow(self) -> list[Node]:
        """Return the nodes of a tree, whose leaves divide table.order."""
        nodes = [self._root()]
        open_nodes: list[tuple[float, int]] = []  # by what their split gains
        self._offer(open_nodes, nodes)
        leaves = 1
        while open_nodes and leaves < self.growth.leaves:
            node = nodes[heappop(open_nodes)[1]]
            children = self._divide(node, len(nodes))
            nodes.extend(children)
            leaves += 1
            if leaves < self.growth.leaves:
                self._look_at_children(node, children)
                self._offer(open_nodes, children)
        for _, number in open_nodes:
            nodes[number].split = None
        for node in nodes:
            self._release(node)
        return nodes

    def _root(self) -> Node:
        """Return the node of all rows, with its best split."""
        table = self.table
        rows = len(table.order)
        table.order[:] = np.arange(rows, dtype=np.int32)
        gradient = float(table.gradients.sum(dtype=np.float64))
        curvature = float(table.curvatures.sum(dtype=np.float64)) if len(table.curvatures) else float(rows)
        root = Node(0, 0, rows, np.array([gradient, curvature, rows, 0.0]))
        if self._may_split(root) and curvature >= LEAST_CURVATURE:
            root.histogram = table.histogram()
            self._look_at(root, None)
        return root

    def _may_split(self, node: Node) -> bool:
        return node.rows >= 2 * self.growth.leaf_rows

    def _offer(self, open_nodes: list[tuple[float, int]], nodes: Sequence[Node]) -> None:
        """Put those nodes that can be split among the open ones."""
        for node in nodes:
            if node.split is not None:
                heappush(open_nodes, (-float(node.split[GAIN]), node.number))
            else:
                self._release(node)

    def _release(self, node: Node) -> None:
        """Give back the space of a node's histogram."""
        if node.histogram is not None:
            self.table.histograms.append(node.histogram)
            node.histogram = None

    def _divide(self, node: Node, number: int) -> tuple[Node, Node]:
        """Divide the rows of a node among its two children, which get the numbers `number` and `number` + 1."""
        split, table = node.split, self.table
        assert split is not None
        (feature, number_of_bin), missing_left = node.place, int(split[MISSING_LEFT])
        column = table.columns[feature]
        middle = divide_rows(table.order, node.begin, node.end, column, number_of_bin, missing_left, table.spare)
        sums = split[[GRADIENT, CURVATURE, ROWS]]
        left = Node(number, node.begin, middle, self._totals(sums))
        right = Node(number + 1, middle, node.end, self._totals(node.totals[:3] - sums))
        node.left, node.right = number, number + 1
        node.missing_left = bool(missing_left) if table.has_missing[feature] else left.rows > right.rows
        return left, right

    def _totals(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return gradient, second derivative and rows, and the score that a split must exceed."""
        return np.append(sums, sums[0] ** 2 / (sums[1] + self.growth.l2))

    def _look_at_children(self, node: Node, children: tuple[Node, Node]) -> None:
        """Find the best splits of both children: the larger one takes over its parent's histogram."""
        left, right = children
        if self._may_split(left) or self._may_split(right):
            small, large = (left, right) if left.rows < right.rows else (right, left)
            small.histogram, large.histogram, node.histogram = self.table.histogram(), node.histogram, None
            self._look_at(small, large)

    def _look_at(self, small: Node, large: Node | None) -> None:
        """Fill the histogram of a node, take it from that of its sibling, and find the best split of each."""
        table, growth = self.table, self.growth
        nodes = (small,) if large is None else (small, large)
        used = np.stack([self._drawn_features() for _ in nodes])
        wanted = np.array([self._may_split(node) for node in nodes])
        totals = np.stack([node.totals for node in nodes])
        sibling = table.no_histogram if large is None else large.histogram
        is_large = small.rows * self.features > _LEAST_DIVIDED
        pieces = self.pieces if is_large else [(0, self.features)]
        rows = table.order[small.begin : small.end]
        data = (small.histogram, sibling, table.numbers, rows, table.gradients, table.curvatures)
        features = (used, wanted, table.counts, totals)
        run_all(
            [
                partial(look_at, self.best[piece], *data, *features, growth.leaf_rows, growth.l2, first, last)
                for piece, (first, last) in enumerate(pieces)
            ],
            self.executor,
        )
        for position, node in enumerate(nodes):
            splits = self.best[: len(pieces), position]
            best = splits[splits[:, GAIN].argmax()]
            node.split = best.copy() if best[GAIN] > 0 else None

    def _drawn_features(self) -> NDArray[np.uint8]:
        """Return 1 for each feature that a node may use."""
        if self.drawn == self.features:
            return np.ones(self.features, dtype=np.uint8)
        used = np.zeros(self.features, dtype=np.uint8)
        used[self.rng.permutation(self.features)[: self.drawn]] = 1
        return used
