"""MSTGCN: convolution over a given graph and over time, without attention.

Guo, Lin, Feng, Song, Wan: Attention Based Spatial-Temporal Graph Convolutional Networks for Traffic Flow
Forecasting, AAAI 2019: the variant that the section on experiments calls MSTGCN; only the branch for recent history.
In the paper's order: the graph convolution, the convolution over time, the output.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike
from torch import Tensor, nn

from subcast.axes import check_whole
from subcast.errors import InputError
from subcast.forecasters.base import ForecastModule, check_share, take
from subcast.forecasters.graph import (
    Propagation,
    check_graph,
    graph_polynomial,
    largest_eigenvalue,
    propagate,
    scaled_laplacian,
    without_absent,
)
from subcast.forecasters.layers import dropout, time_conv


def glorot(stack: Tensor) -> None:
    """Initialize each matrix of a stack [order, c, d]; torch would treat the whole stack as one convolution kernel."""
    for matrix in stack.detach():
        nn.init.xavier_uniform_(matrix)


class ChebyshevConv(nn.Module):  # type: ignore[misc]
    """relu(sum_k T_k(L)' X Theta_k): equation 4 of the paper, T_k the Chebyshev polynomials of the scaled Laplacian."""

    def __init__(self, channels_in: int, filters: int, order: int) -> None:
        super().__init__()
        self.theta = nn.Parameter(torch.empty(order, channels_in, filters))
        glorot(self.theta)

    def forward(self, x: Tensor, laplacian: Propagation) -> Tensor:
        """Convolve x [b, n, t, c] to [b, n, t, d]; `laplacian` multiplies by the transposed Laplacian."""
        powers = self._powers()  # [order, c, d]
        order, c, d = powers.shape
        if c >= d:
            return F.relu(graph_polynomial(x, powers, powers.new_zeros(d), laplacian))
        hops = [x]  # fewer input than output channels: propagate the input
        for _ in range(1, order):
            hops.append(propagate(laplacian, hops[-1].flatten(2)).view(x.shape))
        return F.relu(torch.cat(hops, dim=-1) @ powers.reshape(order * c, d))

    def _powers(self) -> Tensor:
        """Return the weights of the powers of the Laplacian, computed from those of the polynomials."""
        order = len(self.theta)
        coefficients = torch.zeros(order, order)  # T_k = sum_j coefficients[k, j] L^j
        for k in range(order):
            if k < 2:
                coefficients[k, k] = 1
            else:
                coefficients[k, 1:] = 2 * coefficients[k - 1, :-1]
                coefficients[k] -= coefficients[k - 2]
        return torch.einsum("kj,kcd->jcd", coefficients.to(self.theta), self.theta)


class TimeConv(nn.Module):  # type: ignore[misc]
    """Equation 5: a convolution over time plus a 1 x 1 residual, then relu and normalization over channels."""

    def __init__(self, channels_in: int, filters: int, time_filters: int, kernel: int) -> None:
        super().__init__()
        self.time = nn.Conv1d(filters, time_filters, kernel)
        self.residual = nn.Linear(channels_in, time_filters)
        self.norm = nn.LayerNorm(time_filters)

    def forward(self, h: Tensor, x: Tensor, share: float) -> Tensor:
        """Map the graph convolution h [b, n, t, c] and the input x of the block to [b, n, t, d]."""
        width = self.time.kernel_size[0]
        before = (width - 1) // 2
        kernel = self.time.weight.permute(2, 1, 0).contiguous()  # [taps, c, d]
        y = time_conv(h.flatten(0, 1), kernel, self.time.bias, padding=(before, width - 1 - before))
        y = F.relu(y.view(*x.shape[:3], y.shape[2]) + self.residual(x))
        return dropout(self.norm(y), share, self.training)


class Block(nn.Module):  # type: ignore[misc]
    """A graph convolution, then a convolution over time."""

    def __init__(self, channels_in: int, filters: int, time_filters: int, order: int, kernel: int) -> None:
        super().__init__()
        self.graph_conv = ChebyshevConv(channels_in, filters, order)
        self.time_conv = TimeConv(channels_in, filters, time_filters, kernel)

    def forward(self, x: Tensor, laplacian: Propagation, share: float) -> Tensor:
        """Map x [b, n, t, c] to [b, n, t, d]."""
        return self.time_conv(self.graph_conv(x, laplacian), x, share)


class GivenGraphModule(ForecastModule):
    """Base class of MSTGCN and ASTGCN: a given graph, and an output convolution over all time steps.

    When variables are absent, the Laplacian is computed from the remaining edges and scaled by the largest eigenvalue
    of the full graph, with which the weights were trained.
    """

    needs_graph = True

    def __init__(self, *, graph: str | ArrayLike, dropout: float, time_filters: int, **settings: Any) -> None:
        given = not isinstance(graph, str)
        super().__init__(**settings, dropout=dropout, time_filters=time_filters, graph="given" if given else graph)
        for argument in ("blocks", "order", "filters", "kernel"):
            check_whole(argument, self.settings[argument])
        check_whole("time_filters", time_filters)
        check_share("dropout", dropout)
        n = self.n_variables
        if given:
            adjacency = check_graph(graph, n)
        elif graph == "identity":
            adjacency = torch.zeros(n, n)
        else:
            raise InputError(f"graph must be an adjacency [n, n] or 'identity', got {graph!r}")
        self.dropout = dropout
        self.register_buffer("graph", adjacency)
        self.register_buffer("largest", torch.tensor(largest_eigenvalue(adjacency)))
        self.output = nn.Linear(self.lookback * time_filters, self.horizon)

    def adjacency(self, present: Tensor | None = None) -> Tensor:
        """Return the graph [n, n] without edges to or from absent variables."""
        return without_absent(self.graph, present)

    def _laplacian(self, present: Tensor | None) -> Tensor:
        return scaled_laplacian(self.adjacency(present), float(self.largest))

    def _output(self, x: Tensor, wanted: Tensor | None) -> Tensor:
        return self.output(take(x, wanted, 1).flatten(2)).transpose(1, 2)  # [b, n, t, c] -> [b, h, s]


class MSTGCN(GivenGraphModule):
    """Chebyshev graph convolution and convolution over time, block after block.

    Parameters
    ----------
    n_variables, lookback, horizon, n_features
        sizes of the axes n, t, h and f
    graph
        an adjacency [n, n], or "identity" (no edge between variables)
    blocks
        number of blocks; each is a graph convolution and a convolution over time
    order
        number of Chebyshev polynomials
    filters, time_filters
        channels after the graph convolution and after the convolution over time
    kernel
        width of the convolution over time
    dropout
        share of each block's output set to 0 in training

    Examples
    --------
    >>> model = MSTGCN(n_variables=5, lookback=12, horizon=3, graph=torch.ones(5, 5))
    >>> model(torch.zeros(2, 12, 5, 1)).shape
    torch.Size([2, 3, 5])
    """

    title = "MSTGCN"

    def __init__(
        self,
        *,
        n_variables: int,
        lookback: int,
        horizon: int,
        n_features: int = 1,
        graph: str | ArrayLike,
        blocks: int = 2,
        order: int = 3,
        filters: int = 64,
        time_filters: int = 64,
        kernel: int = 3,
        dropout: float = 0.3,
    ) -> None:
        super().__init__(
            n_variables=n_variables,
            lookback=lookback,
            horizon=horizon,
            n_features=n_features,
            graph=graph,
            blocks=blocks,
            order=order,
            filters=filters,
            time_filters=time_filters,
            kernel=kernel,
            dropout=dropout,
        )
        widths = [n_features] + [time_filters] * (blocks - 1)
        self.blocks = nn.ModuleList(Block(width, filters, time_filters, order, kernel) for width in widths)

    def _shared(self, present: Tensor | None) -> Propagation:
        return Propagation(self._laplacian(present).T)

    def _windows(self, x: Tensor, laplacian: Propagation, wanted: Tensor | None) -> Tensor:
        x = x.transpose(1, 2).contiguous()  # [b, n, t, f]
        for block in self.blocks:
            x = block(x, laplacian, self.dropout)  # [b, n, t, c]
        return self._output(x, wanted)
