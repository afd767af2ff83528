"""MTGNN: learns a graph between the variables together with the forecast.

Wu, Pan, Long, Jiang, Chang, Zhang: Connecting the Dots: Multivariate Time Series Forecasting with Graph Neural
Networks, KDD 2020. Written from section 4 of the paper and the authors' published settings, in the paper's order:
graph learning (4.2), mix-hop propagation (4.3), dilated inception (4.4), skip connections and output (4.5).

Three changes make it fast without changing the result. Data are stored as [b, n, t, c], so that every 1 x 1
convolution is a matrix product. The kernels of an inception layer are padded to the widest one and applied together.
The first convolution follows another linear map, so the two are merged into one, which reads the few raw features
instead of 32 channels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike
from torch import Tensor, nn

from subcast.axes import check_whole
from subcast.errors import InputError
from subcast.forecasters.base import ForecastModule, check_share, take
from subcast.forecasters.graph import Propagation, check_graph, graph_polynomial, without_absent
from subcast.forecasters.layers import dropout, gate, time_conv


class GraphLearning(nn.Module):  # type: ignore[misc]
    """Section 4.2: A = relu(tanh(alpha (M1 M2' - M2 M1'))), keeping the `neighbors` strongest entries of each row.

    The strongest entries are selected before the tanh, where large entries still differ, and forecasts use no random
    numbers. With noise, training selects them after the tanh and adds a random number from [0, noise) to each, as the
    authors' code does (which also adds it in forecasts). While the tanh is saturated, many entries are equal, and each
    training pass then keeps different neighbors.
    """

    def __init__(self, n_variables: int, embedding: int, neighbors: int, saturation: float, noise: float) -> None:
        super().__init__()
        self.neighbors, self.saturation, self.noise = min(neighbors, n_variables), saturation, noise
        self.embedding1, self.embedding2 = nn.Embedding(n_variables, embedding), nn.Embedding(n_variables, embedding)
        self.linear1, self.linear2 = nn.Linear(embedding, embedding), nn.Linear(embedding, embedding)

    def forward(self, present: Tensor | None) -> Tensor:
        """Return the adjacency [n, n] without edges to or from absent variables."""
        m1 = torch.tanh(self.saturation * self.linear1(self.embedding1.weight))  # [n, embedding]
        m2 = torch.tanh(self.saturation * self.linear2(self.embedding2.weight))
        score = m1 @ m2.T - m2 @ m1.T  # [n, n]
        adjacency = F.relu(torch.tanh(self.saturation * score))
        noisy = self.training and self.noise > 0
        strength = adjacency.detach() + self.noise * torch.rand_like(adjacency) if noisy else score.detach()
        strongest = without_absent(strength, present).topk(self.neighbors, dim=1).indices
        kept = torch.zeros_like(score).scatter_(1, strongest, 1.0)
        return without_absent(adjacency * kept, present)


class MixHop(nn.Module):  # type: ignore[misc]
    """Section 4.3, along and against the edges: H_k = beta H + (1 - beta) A H_(k-1), out = sum_k H_k W_k.

    Computed as a polynomial of A with one matrix per power: out = H M_0 + A (H M_1 + A (H M_2 + ...)). The channels
    are mixed first, and each propagation is one product.
    """

    def __init__(self, channels_in: int, channels_out: int, depth: int, retain: float) -> None:
        super().__init__()
        self.depth, self.retain = depth, retain
        self.forwards = nn.Linear((depth + 1) * channels_in, channels_out)  # W_0 .. W_depth side by side
        self.backwards = nn.Linear((depth + 1) * channels_in, channels_out)

    def powers(self) -> tuple[Tensor, Tensor]:
        """Return M_0, M_1 .. M_depth along the edges and those against the edges [1 + 2 depth, c, d], and the bias."""
        along, against = self._collect(self.forwards.weight), self._collect(self.backwards.weight)
        first = along[0] + against[0]
        return torch.stack([first, *along[1:], *against[1:]]), self.forwards.bias + self.backwards.bias

    def _collect(self, weight: Tensor) -> list[Tensor]:
        """Return the matrix of each power of A, computed from W_0 .. W_depth."""
        hops = weight.view(weight.shape[0], self.depth + 1, -1).unbind(1)  # each [d, c]
        matrices = []
        for k in range(self.depth + 1):
            later = sum(hops[k + 1 :], start=torch.zeros_like(hops[0]))
            matrices.append((1 - self.retain) ** k * (hops[k] + self.retain * later).T)
        return matrices

    def forward(self, h: Tensor, along: Propagation, against: Propagation) -> Tensor:
        """Propagate h [b, n, t, c] to [b, n, t, d]."""
        return graph_polynomial(h, *self.powers(), along, against)


class Inception(nn.Module):  # type: ignore[misc]
    """Section 4.4: parallel convolutions over time of several widths, for a filter and for a gate."""

    def __init__(self, channels_in: int, channels_out: int, kernels: Sequence[int]) -> None:
        super().__init__()
        share = channels_out // len(kernels)
        self.filters = nn.ModuleList(nn.Conv1d(channels_in, share, width) for width in kernels)
        self.gates = nn.ModuleList(nn.Conv1d(channels_in, share, width) for width in kernels)

    def merged(self) -> tuple[Tensor, Tensor]:
        """Return all kernels as one [taps, c, 2 d] and its bias [2 d], as (-2 filter, gate) for `layers.gate`."""
        widest = max(conv.kernel_size[0] for conv in self.filters)
        weights, biases = [], []
        for convs, factor in ((self.filters, -2.0), (self.gates, 1.0)):
            for conv in convs:
                # A narrow kernel covers the latest of the steps that the widest kernel covers.
                weights.append(F.pad(factor * conv.weight, (widest - conv.kernel_size[0], 0)))  # [share, c, taps]
                biases.append(factor * conv.bias)
        return torch.cat(weights).permute(2, 1, 0), torch.cat(biases)


class Layer(nn.Module):  # type: ignore[misc]
    """One temporal and one graph convolution; `steps` is the number of time steps after the temporal one."""

    def __init__(
        self,
        n_variables: int,
        steps: int,
        residual_channels: int,
        conv_channels: int,
        skip_channels: int,
        kernels: Sequence[int],
        depth: int,
        retain: float,
    ) -> None:
        super().__init__()
        self.steps = steps
        self.inception = Inception(residual_channels, conv_channels, kernels)
        self.skip = nn.Linear(steps * conv_channels, skip_channels)  # a convolution over all `steps`
        self.mix_hop = MixHop(conv_channels, residual_channels, depth, retain)
        # The published model uses this layer if graph convolution is off; it counts in its 308,796 parameters.
        self.no_graph = nn.Linear(conv_channels, residual_channels)
        self.scale = nn.Parameter(torch.ones(n_variables, steps, residual_channels))
        self.shift = nn.Parameter(torch.zeros(n_variables, steps, residual_channels))

    def forward(
        self,
        z: Tensor,
        residual: Tensor,
        graph: tuple[Propagation, Propagation],
        share: float,
        wanted: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        """Map the inception's output z [b, n, t, 2 c] to the layer's output [b, n, t, c] and its skip [b, s, c]."""
        b, n, t, _ = z.shape
        h = gate(z.view(b * n, t, 2, -1), share, self.training)  # [b n, t, c]
        h = h.view(b, n, t, -1)
        skip = self.skip(take(h, wanted, 1).flatten(2))  # [b, s, skip]
        x = self.mix_hop(h, *graph) + residual  # [b, n, t, c]
        return F.layer_norm(x, x.shape[1:], self.scale, self.shift), skip


class MTGNN(ForecastModule):
    """Graph learning, mix-hop propagation and dilated inception, with the paper's settings as defaults.

    Parameters
    ----------
    n_variables, lookback, horizon, n_features
        sizes of the axes n, t, h and f
    layers
        number of layers; each is a temporal and a graph convolution
    depth
        number of hops of a graph convolution
    neighbors
        maximum number of edges per variable
    embedding
        size of the two embedding vectors per variable from which the graph is learned
    kernels
        widths of the temporal convolutions (dilation 1)
    conv_channels, residual_channels, skip_channels, end_channels
        widths of the hidden layers
    retain
        beta of the mix-hop propagation: the share of a variable's own state that each hop keeps
    saturation
        alpha of the graph learning
    graph_noise
        in training, random numbers up to this value are added to the edge weights before the strongest edges are
        selected; the authors' code uses 0.01. Forecasts never use random numbers
    dropout
        share of the hidden values set to 0 in training
    graph
        "learned", "identity" (no edge between variables), or a given adjacency [n, n]

    Examples
    --------
    >>> model = MTGNN(n_variables=5, lookback=12, horizon=3)
    >>> model(torch.zeros(2, 12, 5, 1)).shape
    torch.Size([2, 3, 5])
    """

    title = "MTGNN"
    learns_graph = True
    listens_along_rows = True

    def __init__(
        self,
        *,
        n_variables: int,
        lookback: int,
        horizon: int,
        n_features: int = 1,
        layers: int = 3,
        depth: int = 2,
        neighbors: int = 20,
        embedding: int = 40,
        kernels: Sequence[int] = (2, 3, 6, 7),
        conv_channels: int = 32,
        residual_channels: int = 32,
        skip_channels: int = 64,
        end_channels: int = 128,
        retain: float = 0.05,
        saturation: float = 3.0,
        graph_noise: float = 0.0,
        dropout: float = 0.3,
        graph: str | ArrayLike = "learned",
    ) -> None:
        super().__init__(
            n_variables=n_variables,
            lookback=lookback,
            horizon=horizon,
            n_features=n_features,
            layers=layers,
            depth=depth,
            neighbors=neighbors,
            embedding=embedding,
            kernels=tuple(kernels),
            conv_channels=conv_channels,
            residual_channels=residual_channels,
            skip_channels=skip_channels,
            end_channels=end_channels,
            retain=retain,
            saturation=saturation,
            dropout=dropout,
            graph=graph if isinstance(graph, str) else "given",
            # Stored only if it is not 0, so that checkpoints without noise keep their format.
            **({"graph_noise": graph_noise} if graph_noise else {}),
        )
        _check_settings(self.settings, graph_noise)
        self.dropout = dropout
        self.graph_learning: GraphLearning | None = None
        if isinstance(graph, str) and graph == "learned":
            self.graph_learning = GraphLearning(n_variables, embedding, neighbors, saturation, graph_noise)
        else:
            self.register_buffer("graph", _given_graph(graph, n_variables))
        self._make_layers()

    def _make_layers(self) -> None:
        """Create the weights of sections 4.3 to 4.5, in the order in which they are drawn at random."""
        settings, layers = self.settings, self.settings["layers"]
        residual, skip, end = (settings[f"{name}_channels"] for name in ("residual", "skip", "end"))
        shortening = max(settings["kernels"]) - 1  # each layer shortens the time axis by this many steps
        steps = max(self.lookback, layers * shortening + 1)
        self.padding = steps - self.lookback
        self.start = nn.Linear(self.n_features, residual)
        self.skip_start = nn.Linear(steps * self.n_features, skip)
        self.layers = nn.ModuleList(
            Layer(
                self.n_variables,
                steps - (j + 1) * shortening,
                residual,
                settings["conv_channels"],
                skip,
                settings["kernels"],
                settings["depth"],
                settings["retain"],
            )
            for j in range(layers)
        )
        self.skip_end = nn.Linear((steps - layers * shortening) * residual, skip)
        self.end1 = nn.Linear(skip, end)
        self.end2 = nn.Linear(end, self.horizon)

    def adjacency(self, present: Tensor | None = None) -> Tensor:
        """Return the graph [n, n] without edges to or from absent variables."""
        if self.graph_learning is not None:
            return self.graph_learning(present)
        return without_absent(self.graph, present)

    def _shared(self, present: Tensor | None) -> tuple[Propagation, Propagation]:
        """Return both directions of the graph, with self-loops and with rows that sum to 1."""
        adjacency = self.adjacency(present)
        adjacency = adjacency + torch.eye(len(adjacency), device=adjacency.device)
        along, against = adjacency, adjacency.T
        return (
            Propagation(along / along.sum(1, keepdim=True)),
            Propagation(against / against.sum(1, keepdim=True)),
        )

    def _windows(self, x: Tensor, graph: tuple[Propagation, Propagation], wanted: Tensor | None) -> Tensor:
        x = x.transpose(1, 2).contiguous()  # [b, n, t, f]
        b, n, t, f = x.shape
        share = self.dropout
        inputs = dropout(take(x, wanted, 1).flatten(2), share, self.training)  # [b, s, t f]
        skip = F.linear(inputs, self.skip_start.weight[:, self.padding * f :], self.skip_start.bias)  # [b, s, skip]
        z, residual = self._first_inception(x.view(b * n, t, f), self.layers[0])  # [b n, t, 2 c], [b n, t, c]
        for layer, following in zip(self.layers, [*self.layers[1:], None], strict=True):
            h, more = layer(z.view(b, n, layer.steps, -1), residual.view(b, n, layer.steps, -1), graph, share, wanted)
            skip = skip + more
            if following is not None:
                z = time_conv(h.flatten(0, 1), *following.inception.merged())  # [b n, t, 2 c]
                residual = h[:, :, -following.steps :]
        skip = F.relu(skip + self.skip_end(take(h, wanted, 1).flatten(2)))  # [b, s, skip]
        return self.end2(F.relu(self.end1(skip))).transpose(1, 2)  # [b, h, s]

    def _first_inception(self, rows: Tensor, layer: Layer) -> tuple[Tensor, Tensor]:
        """Return the first inception, merged with the start convolution, and the start convolution for the residual."""
        kernel, bias = layer.inception.merged()  # [taps, c, 2 d], [2 d]
        first = self.start.weight.T @ kernel  # [taps, f, 2 d]
        constant = bias + (self.start.bias @ kernel).sum(0)  # the padding is zero before the start convolution
        z = time_conv(rows, first, constant, padding=(self.padding, 0))
        padded = F.pad(rows, (0, 0, max(0, layer.steps - rows.shape[1]), 0))
        return z, self.start(padded[:, -layer.steps :])


def _check_settings(settings: dict[str, Any], graph_noise: float) -> None:
    """Raise an InputError for the first setting of an MTGNN that is out of range."""
    sizes = ("layers", "depth", "neighbors", "embedding")
    channels = ("conv_channels", "residual_channels", "skip_channels", "end_channels")
    for argument in (*sizes, *channels):
        check_whole(argument, settings[argument])
    kernels = settings["kernels"]
    for width in kernels:
        check_whole("each of kernels", width)
    if not settings["saturation"] > 0:
        raise InputError(f"saturation must be above 0, got {settings['saturation']!r}: at 0 no graph can be learned")
    if not graph_noise >= 0:
        raise InputError(f"graph_noise must be 0 or more, got {graph_noise!r}")
    check_share("dropout", settings["dropout"])
    check_share("retain", settings["retain"])
    if not kernels or settings["conv_channels"] % len(kernels):
        raise InputError(
            f"conv_channels must be a multiple of the {len(kernels)} kernels, got {settings['conv_channels']}: "
            "each kernel has an equal share of the channels"
        )


def _given_graph(graph: str | ArrayLike, n_variables: int) -> Tensor:
    """Return the adjacency [n, n] of a graph that is not learned."""
    if not isinstance(graph, str):
        return check_graph(graph, n_variables)
    if graph == "identity":
        return torch.zeros(n_variables, n_variables)  # the propagation adds self-loops
    raise InputError(f"graph must be 'learned', 'identity' or an adjacency [n, n], got {graph!r}")
