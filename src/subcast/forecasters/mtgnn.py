"""MTGNN: a graph between the variables is learned together with the forecast.

Wu, Pan, Long, Jiang, Chang, Zhang: Connecting the Dots: Multivariate Time Series Forecasting with Graph Neural
Networks, KDD 2020. Read from section 4 of the paper and from the authors' published settings; in its order here:
graph learning (4.2), mix-hop propagation (4.3), dilated inception (4.4), skip connections and output (4.5).

Three rewritings make it fast, none of which changes what is computed. Data lie as [b, n, t, c], so that every
1 x 1 convolution is a matrix product. The kernels of an inception layer are padded to the widest and applied
together. And since the first convolution is linear and follows another linear map, the two are one, which reads the
few raw features in place of 32 channels.
"""

from __future__ import annotations

from collections.abc import Sequence

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
    """Section 4.2: A = relu(tanh(alpha (M1 M2' - M2 M1'))), the strongest `neighbors` entries of each row kept.

    The strongest are found before the tanh, where large entries still differ, and forecasts draw nothing at random.
    With noise, training finds them after the tanh and a draw of [0, noise) is added to each, as the authors' code does
    (there in forecasts too): while the tanh is saturated, each pass then takes other neighbors of many equal ones.
    """

    def __init__(self, n_variables: int, embedding: int, neighbors: int, saturation: float, noise: float) -> None:
        super().__init__()
        self.neighbors, self.saturation, self.noise = min(neighbors, n_variables), saturation, noise
        self.embedding1, self.embedding2 = nn.Embedding(n_variables, embedding), nn.Embedding(n_variables, embedding)
        self.linear1, self.linear2 = nn.Linear(embedding, embedding), nn.Linear(embedding, embedding)

    def forward(self, present: Tensor | None) -> Tensor:
        """The adjacency [n, n]."""
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
    """Section 4.3, along the edges and against them: H_k = beta H + (1 - beta) A H_(k-1), out = sum_k H_k W_k.

    As a polynomial of A, with W_k collected by power, out = H M_0 + A (H M_1 + A (H M_2 + ...)): the channels are
    mixed first, and each propagation is one product.
    """

    def __init__(self, channels_in: int, channels_out: int, depth: int, retain: float) -> None:
        super().__init__()
        self.depth, self.retain = depth, retain
        self.forwards = nn.Linear((depth + 1) * channels_in, channels_out)  # W_0 .. W_depth side by side
        self.backwards = nn.Linear((depth + 1) * channels_in, channels_out)

    def powers(self) -> tuple[Tensor, Tensor]:
        """M_0, then M_1 .. M_depth along the edges, then against them [1 + 2 depth, c, d]; and the bias."""
        along, against = self._collect(self.forwards.weight), self._collect(self.backwards.weight)
        first = along[0] + against[0]
        return torch.stack([first, *along[1:], *against[1:]]), self.forwards.bias + self.backwards.bias

    def _collect(self, weight: Tensor) -> list[Tensor]:
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
    """Section 4.4: convolutions over time of several widths side by side, for a filter and for a gate."""

    def __init__(self, channels_in: int, channels_out: int, kernels: Sequence[int]) -> None:
        super().__init__()
        share = channels_out // len(kernels)
        self.filters = nn.ModuleList(nn.Conv1d(channels_in, share, width) for width in kernels)
        self.gates = nn.ModuleList(nn.Conv1d(channels_in, share, width) for width in kernels)

    def merged(self) -> tuple[Tensor, Tensor]:
        """All kernels as one, (-2 filter, gate) as `layers.gate` wants them: [taps, c, 2 d] and the bias [2 d]."""
        widest = max(conv.kernel_size[0] for conv in self.filters)
        weights, biases = [], []
        for convs, factor in ((self.filters, -2.0), (self.gates, 1.0)):
            for conv in convs:
                # A narrow kernel sees the latest steps of what the widest sees.
                weights.append(F.pad(factor * conv.weight, (widest - conv.kernel_size[0], 0)))  # [share, c, taps]
                biases.append(factor * conv.bias)
        return torch.cat(weights).permute(2, 1, 0), torch.cat(biases)


class Layer(nn.Module):  # type: ignore[misc]
    """One temporal and one graph convolution; `steps` is how many time steps are left after the first."""

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
        self.skip = nn.Linear(steps * conv_channels, skip_channels)  # a convolution as wide as the time that is left
        self.mix_hop = MixHop(conv_channels, residual_channels, depth, retain)
        # What the published model would use in place of graph convolution; part of its 308,796 parameters.
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
        """From what the inception gave, z [b, n, t, 2 c], to the layer's output [b, n, t, c] and its skip [b, s, c]."""
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
        pairs of a temporal and a graph convolution
    depth
        hops of a graph convolution
    neighbors
        edges a variable has at most
    embedding
        size of the two vectors of a variable from which the graph is learned
    kernels
        widths of the temporal convolutions (dilation 1)
    conv_channels, residual_channels, skip_channels, end_channels
        widths of the hidden layers
    retain
        beta of the mix-hop propagation: how much of a variable's own state each hop keeps
    saturation
        alpha of the graph learning
    graph_noise
        in training, random numbers up to this are added to the strengths of the edges before the strongest are kept;
        the authors' code has 0.01. Forecasts are never drawn at random
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

    learns_graph = True

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
            # Only where there is some: a model without is stored as it always was.
            **({"graph_noise": graph_noise} if graph_noise else {}),
        )
        for argument in ("layers", "depth", "neighbors", "embedding"):
            check_whole(argument, self.settings[argument])
        for argument in ("conv_channels", "residual_channels", "skip_channels", "end_channels"):
            check_whole(argument, self.settings[argument])
        for width in kernels:
            check_whole("each of kernels", width)
        if not saturation > 0:
            raise InputError(f"saturation must be above 0, got {saturation!r}: at 0 there is no graph to learn")
        if not graph_noise >= 0:
            raise InputError(f"graph_noise must be 0 or more, got {graph_noise!r}")
        check_share("dropout", dropout)
        check_share("retain", retain)
        if not kernels or conv_channels % len(kernels):
            raise InputError(
                f"conv_channels must be a multiple of the {len(kernels)} kernels, got {conv_channels}: "
                "each kernel has an equal share of the channels"
            )
        self.dropout = dropout
        self.graph_learning: GraphLearning | None = None
        if isinstance(graph, str) and graph == "learned":
            self.graph_learning = GraphLearning(n_variables, embedding, neighbors, saturation, graph_noise)
        elif isinstance(graph, str) and graph == "identity":
            self.register_buffer("graph", torch.zeros(n_variables, n_variables))  # the propagation adds self-loops
        elif isinstance(graph, str):
            raise InputError(f"graph must be 'learned', 'identity' or an adjacency [n, n], got {graph!r}")
        else:
            self.register_buffer("graph", check_graph(graph, n_variables))

        lost = max(kernels) - 1  # time steps that each layer takes away
        steps = max(lookback, layers * lost + 1)
        self.padding = steps - lookback
        self.start = nn.Linear(n_features, residual_channels)
        self.skip_start = nn.Linear(steps * n_features, skip_channels)
        self.layers = nn.ModuleList(
            Layer(
                n_variables,
                steps - (j + 1) * lost,
                residual_channels,
                conv_channels,
                skip_channels,
                kernels,
                depth,
                retain,
            )
            for j in range(layers)
        )
        self.skip_end = nn.Linear((steps - layers * lost) * residual_channels, skip_channels)
        self.end1 = nn.Linear(skip_channels, end_channels)
        self.end2 = nn.Linear(end_channels, horizon)

    def adjacency(self, present: Tensor | None = None) -> Tensor:
        """The graph [n, n] as it is used, without edges to or from absent variables."""
        if self.graph_learning is not None:
            return self.graph_learning(present)
        return without_absent(self.graph, present)

    def _shared(self, present: Tensor | None) -> tuple[Propagation, Propagation]:
        """Both directions of the graph with self-loops, rows adding up to 1."""
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
        seen = dropout(take(x, wanted, 1).flatten(2), share, self.training)  # [b, s, t f]
        skip = F.linear(seen, self.skip_start.weight[:, self.padding * f :], self.skip_start.bias)  # [b, s, skip]
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
        """Start convolution and first inception as one, and the start convolution alone for the residual."""
        kernel, bias = layer.inception.merged()  # [taps, c, 2 d], [2 d]
        first = self.start.weight.T @ kernel  # [taps, f, 2 d]
        constant = bias + (self.start.bias @ kernel).sum(0)  # the padding is zeros before the start convolution
        z = time_conv(rows, first, constant, padding=(self.padding, 0))
        padded = F.pad(rows, (0, 0, max(0, layer.steps - rows.shape[1]), 0))
        return z, self.start(padded[:, -layer.steps :])
