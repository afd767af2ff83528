"""Evaluation of trees by bits: a row's 64 bits say which leaves of a tree it may still reach.

The leaves are numbered from left to right. A node that sends a row right takes all leaves of its left branch away. When
every node has been asked, in any order, the lowest bit that is left is the leaf. Asking one node about many rows is a
loop without branches, which walks through the tree are not. (Lucchese et al., QuickScorer, SIGIR 2015.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from subcast.retrieval.compiled.powers import compiled

MOST_LEAVES = 64
_ROWS = 256  # evaluated together


@dataclass(frozen=True, eq=False)
class Bits:
    """Trees of at most 64 leaves, as the nodes to ask.

    Parameters
    ----------
    nodes, leaves
        [trees + 1], bounds of each tree in the arrays of nodes and of leaves
    feature, threshold
        [nodes], a value above the threshold goes right
    missing_left
        [nodes], 1 if a missing value goes left
    kept
        [nodes], the bits of the leaves that a row keeps when it goes right
    value
        [leaves], what each leaf adds
    """

    nodes: NDArray[np.int64]
    leaves: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: NDArray[np.float32]
    missing_left: NDArray[np.uint8]
    kept: NDArray[np.uint64]
    value: NDArray[np.float64]

    @classmethod
    def of(cls, trees: Any) -> Bits | None:
        """Return `subcast.boosting.Trees` in this form; None if a tree has more than 64 leaves, or nodes of another."""
        node_bounds, leaf_bounds = [0], [0]
        asked: list[int] = []
        kept: list[int] = []
        leaves: list[int] = []
        left, right, is_leaf = trees.left.tolist(), trees.right.tolist(), (trees.feature < 0).tolist()
        for root in trees.roots.tolist():
            tree = _read_tree(root, left, right, is_leaf)
            if tree is None or len(asked) + len(leaves) + len(tree[0]) + len(tree[2]) > len(left):
                return None
            asked += tree[0]
            kept += tree[1]
            leaves += tree[2]
            node_bounds.append(len(asked))
            leaf_bounds.append(len(leaves))
        numbers = np.array(asked, dtype=np.int64)
        return cls(
            np.array(node_bounds),
            np.array(leaf_bounds),
            trees.feature[numbers].astype(np.int64),
            _rounded_down(trees.threshold[numbers]),
            trees.missing_left[numbers],
            np.array(kept, dtype=np.uint64),
            trees.value[np.array(leaves, dtype=np.int64)],
        )

    def add(self, total: NDArray[np.float64], rows: NDArray[np.float32]) -> None:
        """Add the values of the leaves that each row [r, f] reaches to `total` [r]."""
        add_by_bits(
            total, rows, self.nodes, self.leaves, self.feature, self.threshold, self.missing_left, self.kept, self.value
        )


def _read_tree(
    root: int, left: list[int], right: list[int], is_leaf: list[bool]
) -> tuple[list[int], list[int], list[int]] | None:
    """Return the inner nodes of a tree, the bits that each keeps, and the leaves from left to right; None if too many.

    Nodes that lead to one another by several paths count once for each path, as in a walk, so damaged trees are too
    large rather than endless.
    """
    asked: list[int] = []
    removed: list[int] = []
    leaves: list[int] = []
    stack: list[tuple[int, int]] = [(root, -1)]  # a node to enter, or the end of the left branch of asked[position]
    while stack:
        node, position = stack.pop()
        if position >= 0:  # the leaves since `node` are the left branch
            removed[position] = (1 << len(leaves)) - (1 << node)
        elif is_leaf[node]:
            leaves.append(node)
            if len(leaves) > MOST_LEAVES:
                return None
        else:
            if len(asked) >= MOST_LEAVES:
                return None
            stack += [(right[node], -1), (len(leaves), len(asked)), (left[node], -1)]
            asked.append(node)
            removed.append(0)
    return asked, [(1 << MOST_LEAVES) - 1 - bits for bits in removed], leaves


def _rounded_down(threshold: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the largest number in single precision that is not above each threshold: no such value changes sides."""
    with np.errstate(over="ignore"):
        single = threshold.astype(np.float32)
    return np.where(single > threshold, np.nextafter(single, np.float32(-np.inf)), single)


def _intrinsic(function: Any) -> Any:
    return intrinsic(function)


@_intrinsic
def _lowest_bit(typingctx: Any, bits: Any) -> Any:
    """Return the position of the lowest bit that is set."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), build


@compiled
def add_by_bits(
    total: Any,
    rows: Any,
    nodes: Any,
    leaves: Any,
    feature: Any,
    threshold: Any,
    missing_left: Any,
    kept: Any,
    value: Any,
) -> None:
    """Add the values of the leaves that each row [r, f] reaches to `total` [r]; see `Bits` for the arrays."""
    columns = np.empty((rows.shape[1], _ROWS), dtype=np.float32)
    bits = np.empty(_ROWS, dtype=np.uint64)
    amount = np.empty(_ROWS)
    for begin in range(0, rows.shape[0], _ROWS):
        count = min(_ROWS, rows.shape[0] - begin)
        for row in range(count):
            amount[row] = 0.0
            for own in range(rows.shape[1]):
                columns[own, row] = rows[begin + row, own]
        for tree in range(len(nodes) - 1):
            bits[:count] = np.uint64(0xFFFFFFFFFFFFFFFF)
            for node in range(nodes[tree], nodes[tree + 1]):
                _ask(bits[:count], columns[feature[node], :count], threshold[node], missing_left[node], kept[node])
            first = leaves[tree]
            for row in range(count):
                amount[row] += value[first + np.int64(_lowest_bit(bits[row]))]
        for row in range(count):
            total[begin + row] += amount[row]


@compiled
def _ask(bits: Any, cells: Any, threshold: float, missing_left: int, kept: int) -> None:
    """Take the left branch of a node away from the rows that it sends right."""
    everything = np.uint64(0xFFFFFFFFFFFFFFFF)
    if missing_left:
        for row in range(len(bits)):
            bits[row] &= kept if cells[row] > threshold else everything
    else:
        for row in range(len(bits)):
            bits[row] &= everything if cells[row] <= threshold else kept
