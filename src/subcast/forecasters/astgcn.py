"""ASTGCN: convolution over a given graph and over time, both weighted by attention.

Guo, Lin, Feng, Song, Wan: Attention Based Spatial-Temporal Graph Convolutional Networks for Traffic Flow
Forecasting, AAAI 2019; only the branch for recent history. In the paper's order: spatial attention (equations 1, 2),
temporal attention (equation 3), graph convolution (equation 4), convolution over time (equation 5, in mstgcn.py).

The input weighted by the temporal attention is only used in sums over time or over channels. The sums are computed
first, so that weighted input is never stored. The graph convolution uses X itself, as the authors' code does, where
equation 4 of the paper uses X weighted by the temporal attention.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike
from torch import Tensor, nn

from subcast.forecasters.graph import chebyshev
from subcast.forecasters.mstgcn import GivenGraphModule, TimeConv, glorot


class SpatialAttention(nn.Module):  # type: ignore[misc]
    """S = softmax over i of V sigmoid((X W1) W2 (W3 X)' + b): the weight of variable i for variable j, per window."""

    def __init__(self, n: int, t: int, channels: int) -> None:
        super().__init__()
        self.w1 = nn.Parameter(torch.empty(t))
        self.w2 = nn.Parameter(torch.empty(channels, t))
        self.w3 = nn.Parameter(torch.empty(channels))
        self.bias = nn.Parameter(torch.empty(n, n))
        self.v = nn.Parameter(torch.empty(n, n))
        _initialize(self)

    def forward(self, x: Tensor, attention: Tensor) -> Tensor:
        """Map x [b, n, t, c] and the temporal attention [b, t, t] to the spatial attention [b, n, n]."""
        b, n, t, c = x.shape
        over_time = torch.bmm((attention @ self.w1)[:, None, :], x.transpose(1, 2).reshape(b, t, n * c))  # [b, 1, n c]
        left = over_time.view(b, n, c) @ self.w2  # [b, n, t]
        right = torch.bmm(x @ self.w3, attention)  # [b, n, t]
        product = torch.bmm(left, right.transpose(1, 2))  # [b, n, n]
        return torch.softmax(torch.matmul(self.v, torch.sigmoid(product + self.bias)), dim=1)


class TemporalAttention(nn.Module):  # type: ignore[misc]
    """E = softmax over i of V sigmoid((X' U1) U2 (U3 X) + b): the weight of step i for step j, per window."""

    def __init__(self, n: int, t: int, channels: int) -> None:
        super().__init__()
        self.u1 = nn.Parameter(torch.empty(n))
        self.u2 = nn.Parameter(torch.empty(channels, n))
        self.u3 = nn.Parameter(torch.empty(channels))
        self.bias = nn.Parameter(torch.empty(t, t))
        self.v = nn.Parameter(torch.empty(t, t))
        _initialize(self)

    def forward(self, x: Tensor) -> Tensor:
        """Map x [b, n, t, c] to the temporal attention [b, t, t]."""
        b, n, t, c = x.shape
        left = (self.u1 @ x.view(b, n, t * c)).view(b, t, c)
        right = self.u2 @ (x @ self.u3)  # [b, c, t]
        return torch.softmax(torch.matmul(self.v, torch.sigmoid(torch.bmm(left, right) + self.bias)), dim=1)


def _initialize(module: nn.Module) -> None:
    """Draw matrices by Glorot's rule and vectors from [0, 1), as the authors do."""
    for parameter in module.parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
        else:
            nn.init.uniform_(parameter)


class AttentiveChebyshevConv(nn.Module):  # type: ignore[misc]
    """relu(sum_k (T_k * S)' X Theta_k), where * is the product of entries."""

    def __init__(self, channels_in: int, filters: int, order: int) -> None:
        super().__init__()
        self.theta = nn.Parameter(torch.empty(order, channels_in, filters))
        glorot(self.theta)

    def forward(self, x: Tensor, terms: Tensor, attention: Tensor) -> Tensor:
        """Convolve x [b, n, t, c] to [b, n, t, d] with the polynomials T_1 .. and the attention [b, n, n]."""
        flat = x.flatten(2)  # [b, n, t c]
        own = torch.diagonal(attention, dim1=1, dim2=2)  # T_0 is the identity: [b, n]
        y = (x * own[:, :, None, None]) @ self.theta[0]  # [b, n, t, d]
        for term, theta in zip(terms, self.theta[1:], strict=True):
            y = y + torch.bmm((term * attention).transpose(1, 2), flat).view(x.shape) @ theta
        return F.relu(y)


class Block(nn.Module):  # type: ignore[misc]
    """Temporal and spatial attention, the graph convolution, then the convolution over time."""

    def __init__(
        self, n: int, t: int, channels_in: int, filters: int, time_filters: int, order: int, kernel: int
    ) -> None:
        super().__init__()
        self.temporal_attention = TemporalAttention(n, t, channels_in)
        self.spatial_attention = SpatialAttention(n, t, channels_in)
        self.graph_conv = AttentiveChebyshevConv(channels_in, filters, order)
        self.time_conv = TimeConv(channels_in, filters, time_filters, kernel)

    def forward(self, x: Tensor, terms: Tensor, share: float) -> Tensor:
        """Map x [b, n, t, c] to [b, n, t, d]."""
        attention = self.spatial_attention(x, self.temporal_attention(x))  # [b, n, n]
        return self.time_conv(self.graph_conv(x, terms, attention), x, share)


class ASTGCN(GivenGraphModule):
    """Attention over variables and over time, Chebyshev graph convolution and convolution over time.

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
    >>> model = ASTGCN(n_variables=5, lookback=12, horizon=3, graph=torch.ones(5, 5))
    >>> model(torch.zeros(2, 12, 5, 1)).shape
    torch.Size([2, 3, 5])
    """

    title = "ASTGCN"

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
        self.blocks = nn.ModuleList(
            Block(n_variables, lookback, width, filters, time_filters, order, kernel) for width in widths
        )

    def _shared(self, present: Tensor | None) -> Tensor:
        return chebyshev(self._laplacian(present), self.settings["order"])[1:]  # [order - 1, n, n]

    def _windows(self, x: Tensor, terms: Tensor, wanted: Tensor | None) -> Tensor:
        x = x.transpose(1, 2).contiguous()  # [b, n, t, f]
        for block in self.blocks:
            x = block(x, terms, self.dropout)  # [b, n, t, c]
        return self._output(x, wanted)
