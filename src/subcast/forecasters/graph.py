"""Graphs: adjacency from data, Laplacian, Chebyshev polynomials, and fast products with a graph.

An adjacency is [n, n] with weights of 0 or more; its diagonal is ignored. In MTGNN and in `Propagation`, entry (i, j)
is the weight with which i receives from j; MSTGCN and ASTGCN multiply by the transposed Laplacian.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from subcast.errors import InputError

# A gathered sum reaches about a third of the operations per second of a dense product, so it is used on sparse graphs.
_SPARSE_BELOW, _SPARSE_FROM = 0.25, 64


def check_graph(graph: ArrayLike, n: int) -> Tensor:
    """Return an adjacency as a float32 tensor [n, n] with a zero diagonal; raise an InputError if it is not one."""
    try:
        adjacency = torch.as_tensor(np.asarray(graph, dtype=np.float32).copy())
    except (TypeError, ValueError):
        raise InputError(f"graph must be an adjacency [n, n] = ({n}, {n}) or 'identity', got {graph!r}") from None
    if tuple(adjacency.shape) != (n, n):
        raise InputError(f"graph must be [n, n] = ({n}, {n}), got shape {tuple(adjacency.shape)}")
    if not bool(torch.isfinite(adjacency).all()) or bool((adjacency < 0).any()):
        raise InputError("graph must hold finite weights of 0 or more")
    return adjacency.fill_diagonal_(0)


def without_absent(adjacency: Tensor, present: Tensor | None) -> Tensor:
    """Remove every edge to or from an absent variable.

    >>> without_absent(torch.ones(3, 3), torch.tensor([True, True, False]))
    tensor([[1., 1., 0.],
            [1., 1., 0.],
            [0., 0., 0.]])
    """
    return adjacency if present is None else adjacency * (present[:, None] & present[None, :])


def correlation_graph(readings: NDArray[np.floating[Any]], neighbors: int = 20) -> NDArray[np.float32]:
    """Connect each variable to the variables with which its readings are most strongly correlated.

    Parameters
    ----------
    readings
        [t, n], NaN where missing; training data only
    neighbors
        maximum number of edges per variable

    Returns
    -------
    NDArray
        [n, n], the absolute correlations on the strongest edges, 0 elsewhere and on the diagonal

    Examples
    --------
    >>> x = np.arange(8.0)
    >>> correlation_graph(np.stack([x, 2 * x, (-1) ** x], axis=1), neighbors=1).round(2)
    array([[0.  , 1.  , 0.  ],
           [1.  , 0.  , 0.  ],
           [0.22, 0.  , 0.  ]], dtype=float32)
    """
    observed = ~np.isnan(readings)
    count = np.maximum(observed.sum(axis=0), 1)
    centered = np.where(observed, readings, 0).astype(np.float64)
    centered = np.where(observed, centered - centered.sum(axis=0) / count, 0)  # a missing reading counts as the mean
    norm = np.sqrt((centered**2).sum(axis=0))
    unit = centered / np.where(norm > 0, norm, 1)
    graph = np.abs(unit.T @ unit)
    np.fill_diagonal(graph, 0)
    n = len(graph)
    if neighbors < n:
        # Keep the strongest edges; of equally strong ones, those of the variables that come first.
        order = np.argsort(-graph, axis=1, kind="stable")
        np.put_along_axis(graph, order[:, neighbors:], 0, axis=1)
    return graph.astype(np.float32)


def scaled_laplacian(adjacency: Tensor, largest: float) -> Tensor:
    """Return 2 (D - W) / largest - I; with the largest eigenvalue of D - W, its eigenvalues lie in [-1, 1]."""
    laplacian = torch.diag(adjacency.sum(1)) - adjacency
    eye = torch.eye(len(adjacency), device=adjacency.device, dtype=adjacency.dtype)
    return (2.0 / largest) * laplacian - eye if largest > 0 else -eye


def largest_eigenvalue(adjacency: Tensor) -> float:
    """Return the largest real part among the eigenvalues of the Laplacian D - W; 0 for a graph without edges.

    >>> round(largest_eigenvalue(torch.ones(4, 4)), 4)
    4.0
    """
    if adjacency.is_meta:  # only the shape of the network is of interest
        return 0.0
    weights = adjacency.detach().cpu().double()
    laplacian = torch.diag(weights.sum(1)) - weights
    if torch.equal(laplacian, laplacian.T):
        return float(torch.linalg.eigvalsh(laplacian)[-1])
    return float(torch.linalg.eigvals(laplacian).real.max())


def chebyshev(laplacian: Tensor, order: int) -> Tensor:
    """Return T_0 .. T_(order - 1) of a scaled Laplacian: T_k = 2 L T_(k-1) - T_(k-2), [order, n, n].

    >>> chebyshev(torch.tensor([[0.5]]), 3).flatten()
    tensor([ 1.0000,  0.5000, -0.5000])
    """
    terms = [torch.eye(len(laplacian), device=laplacian.device, dtype=laplacian.dtype), laplacian]
    while len(terms) < order:
        terms.append(2 * laplacian @ terms[-1] - terms[-2])
    return torch.stack(terms[:order])


class Propagation:
    """Multiply by one matrix many times, y[:, i] = sum_j a[i, j] x[:, j], with hand-written gradients.

    On a CPU, a product with a sparse matrix is computed as a gathered sum over its edges, which is far less work. On
    other devices, and for small or dense matrices, it is a dense product.

    Parameters
    ----------
    a
        [n, n]

    Attributes
    ----------
    values
        the entries of `a` that are used and receive gradients: all of them [n, n], or those of the edges [e]
    """

    def __init__(self, a: Tensor) -> None:
        self.values = a
        self._shape = a.shape
        self._edges: tuple[Tensor, Tensor] | None = None
        self._bags: dict[tuple[int, bool], _Bags] = {}
        n = len(a)
        if a.device.type == "cpu" and n >= _SPARSE_FROM:
            row, column = a.detach().nonzero(as_tuple=True)
            if len(row) <= _SPARSE_BELOW * n * n:
                self._edges = (row, column)
                self.values = a[row, column]

    def multiply(self, x: Tensor, plus: Tensor | None = None) -> Tensor:
        """Return a x + plus for x and plus [b, n, w]; no gradients are recorded."""
        values = self.values.detach()
        if self._edges is not None:
            y = self._bags_of(len(x), transposed=False).sum(x)
            return y if plus is None else y.add_(plus)
        if plus is None:
            return torch.matmul(values, x)
        return torch.baddbmm(plus, values.expand(len(x), -1, -1), x)

    def multiply_transposed(self, dy: Tensor) -> Tensor:
        """Return the gradient of x: a' dy, [b, n, w]."""
        if self._edges is not None:
            return self._bags_of(len(dy), transposed=True).sum(dy)
        return torch.matmul(self.values.detach().T, dy)

    def values_gradient(self, dy: Tensor, x: Tensor) -> Tensor:
        """Return the gradient of the values: the sum over windows and channels of dy[i] x[j]."""
        if self._edges is not None:
            return self._bags_of(len(x), transposed=False).weights_gradient(dy, x)
        return torch.addbmm(dy.new_zeros(self._shape), dy, x.transpose(1, 2), beta=0)  # [n, n]

    def _bags_of(self, b: int, transposed: bool) -> _Bags:
        if (b, transposed) not in self._bags:
            assert self._edges is not None
            row, column = self._edges
            values = self.values.detach()
            if transposed:
                order = torch.argsort(column, stable=True)
                row, column, values = column[order], row[order], values[order]
            self._bags[b, transposed] = _Bags(row, column, values, b, self._shape[0])
        return self._bags[b, transposed]


class _Bags:
    """The edges of a sparse matrix repeated for b windows: source rows, target rows and weights."""

    def __init__(self, row: Tensor, column: Tensor, values: Tensor, b: int, n: int) -> None:
        counts = torch.bincount(row, minlength=n).repeat(b)
        base = n * torch.arange(b)[:, None]
        self._b = b
        self._offsets = counts.cumsum(0) - counts  # [b n]
        self._index = (column + base).reshape(-1)  # [b e]
        self._target = (row + base).reshape(-1)  # [b e]
        self._weights = values.repeat(b)  # [b e]

    def sum(self, x: Tensor) -> Tensor:
        rows = x.flatten(0, 1)  # [b n, w]
        y = F.embedding_bag(self._index, rows, self._offsets, mode="sum", per_sample_weights=self._weights)
        return y.view(x.shape)

    def weights_gradient(self, dy: Tensor, x: Tensor) -> Tensor:
        """Return, for each edge (i, j), dy[i] x[j] summed over windows and channels."""
        each = torch.ops.aten._embedding_bag_per_sample_weights_backward(
            dy.flatten(0, 1), x.flatten(0, 1), self._index, self._offsets, self._target, 0
        )
        return each.view(self._b, -1).sum(0)  # [e]


def propagate(a: Propagation, x: Tensor) -> Tensor:
    """Return a x for x [b, n, w], with gradients for x and for the entries of a."""
    result: Tensor = _Propagate.apply(x, a.values, a)
    return result


class _Propagate(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, x: Tensor, values: Tensor, a: Propagation) -> Tensor:
        ctx.a = a
        ctx.save_for_backward(x)
        return a.multiply(x)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        dy = dy.contiguous()
        (x,) = ctx.saved_tensors
        dx = ctx.a.multiply_transposed(dy) if ctx.needs_input_grad[0] else None
        dvalues = ctx.a.values_gradient(dy, x) if ctx.needs_input_grad[1] else None
        return dx, dvalues, None


def graph_polynomial(h: Tensor, matrices: Tensor, bias: Tensor, *graphs: Propagation) -> Tensor:
    """Return bias + H M_0 + sum over the graphs A of A (H M_1 + A (H M_2 + ...)).

    The channels are mixed first; each hop is then one product with the graph.

    Parameters
    ----------
    h
        [b, n, t, c], contiguous
    matrices
        M_0, then M_1 .. M_depth of the first graph, then those of the second: [1 + depth x number of graphs, c, d]
    bias
        [d]
    graphs
        the graphs A

    Returns
    -------
    Tensor
        [b, n, t, d]
    """
    result: Tensor = _Polynomial.apply(h, matrices, bias, graphs, *(a.values for a in graphs))
    return result


class _Polynomial(torch.autograd.Function):  # type: ignore[misc]
    """The backward pass multiplies by the transposed graph: U_0 is the gradient of the output, and U_k = A' U_(k-1) is
    the gradient of H M_k. One product with all U_k side by side gives the gradient of H, another that of the M_k.
    """

    @staticmethod
    def forward(
        ctx: Any, h: Tensor, matrices: Tensor, bias: Tensor, graphs: tuple[Propagation, ...], *values: Tensor
    ) -> Tensor:
        b, n, t, c = h.shape
        depth = (len(matrices) - 1) // len(graphs)
        flat = h.view(b * n * t, c)
        out = torch.addmm(bias, flat, matrices[0]).view(b, n, -1)  # [b, n, t d]
        states: list[Tensor] = []  # the input of each hop, used again for the gradient of the graph
        for number, a in enumerate(graphs):
            state = None
            for k in range((number + 1) * depth, number * depth, -1):
                mixed = torch.mm(flat, matrices[k]).view(b, n, -1)  # [b, n, t d]
                state = mixed if state is None else a.multiply(state, plus=mixed)
                states.append(state)
            if state is not None:
                out = a.multiply(state, plus=out)
        ctx.save_for_backward(h, matrices, *states)
        ctx.graphs = graphs
        return out.view(b, n, t, -1)

    @staticmethod
    def backward(ctx: Any, dout: Tensor) -> tuple[Tensor | None, ...]:
        h, matrices, *states = ctx.saved_tensors
        b, n, t, c = h.shape
        depth, d = len(states) // len(ctx.graphs), matrices.shape[2]
        dout = dout.contiguous().view(b, n, t * d)
        slopes, dvalues = [dout], []
        for number, a in enumerate(ctx.graphs):
            slope, total = dout, None
            for state in reversed(states[number * depth : (number + 1) * depth]):
                if ctx.needs_input_grad[4 + number]:
                    gradient = a.values_gradient(slope, state)
                    total = gradient if total is None else total.add_(gradient)
                slope = a.multiply_transposed(slope)
                slopes.append(slope)
            dvalues.append(total)
        side_by_side = torch.cat([slope.view(b * n * t, d) for slope in slopes], dim=1)  # [b n t, len(matrices) d]
        dh = None
        if ctx.needs_input_grad[0]:
            dh = torch.mm(side_by_side, matrices.transpose(1, 2).reshape(-1, c)).view(h.shape)
        dmatrices = torch.mm(h.view(-1, c).T, side_by_side).view(c, -1, d).transpose(0, 1)
        return dh, dmatrices, dout.view(-1, d).sum(0), None, *dvalues
