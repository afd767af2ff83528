"""TCN: residual blocks of causal dilated convolutions over time, the variables being the channels.

Bai, Kolter, Koltun: An Empirical Evaluation of Generic Convolutional and Recurrent Networks for Sequence Modeling,
2018. In the order of the paper's section 3: causal and dilated convolutions (3.1, 3.2), residual connections (3.3).

The original is a causal network with an output at each step. Here all steps of the horizon are forecast at once from
the last step (so only the values that the last step depends on are computed), or one step at a time, each fed back as
input (`autoregressive`). The defaults are kernel 3, 128 channels, and enough blocks for the last step to depend on the
whole lookback: two for 12 steps.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor, nn

from subcast.axes import check_whole
from subcast.forecasters.base import ForecastModule, check_autoregressive, check_share, feed_back, take
from subcast.forecasters.layers import dropout


class CausalConv(nn.Module):  # type: ignore[misc]
    """A causal dilated convolution with weight normalization, w = g v / |v|, computed at selected steps only."""

    def __init__(self, channels_in: int, channels_out: int, kernel: int, dilation: int) -> None:
        super().__init__()
        self.kernel, self.dilation = kernel, dilation
        conv = nn.Conv1d(channels_in, channels_out, kernel)
        nn.init.normal_(conv.weight, 0.0, 0.01)
        self.v, self.bias = conv.weight, conv.bias
        self.g = nn.Parameter(conv.weight.detach().flatten(1).norm(dim=1))

    def input_steps(self, steps: Sequence[int]) -> list[int]:
        """Return the input steps that the given output steps depend on; the input is 0 at negative steps."""
        return sorted({step - back * self.dilation for step in steps for back in range(self.kernel)})

    def forward(self, x: Tensor, known: Sequence[int], steps: Sequence[int]) -> Tensor:
        """Map x [b, known, c] at the known steps to [b, steps, d]."""
        position = {step: index for index, step in enumerate(known)}
        index = [
            position.get(step - back * self.dilation, len(known))
            for step in steps
            for back in reversed(range(self.kernel))
        ]
        padded = F.pad(x, (0, 0, 0, 1)) if len(known) in index else x  # zeros before the first step
        inputs = padded[:, index].view(len(x), len(steps), -1)  # [b, steps, kernel c]
        # Weight decay can bring an unused filter to v = 0: do not divide by 0.
        norm = self.v.flatten(1).norm(dim=1).clamp(min=1e-6)
        weight = self.v * (self.g / norm)[:, None, None]  # [d, c, kernel]
        return F.linear(inputs, weight.transpose(1, 2).flatten(1), self.bias)


class Block(nn.Module):  # type: ignore[misc]
    """relu(x + F(x)), F two convolutions with relu and dropout; a 1 x 1 convolution of x if the widths differ."""

    def __init__(self, channels_in: int, channels: int, kernel: int, dilation: int) -> None:
        super().__init__()
        self.conv1 = CausalConv(channels_in, channels, kernel, dilation)
        self.conv2 = CausalConv(channels, channels, kernel, dilation)
        self.residual = nn.Linear(channels_in, channels) if channels_in != channels else None

    def forward(self, x: Tensor, known: Sequence[int], steps: Sequence[int], share: float) -> Tensor:
        """Map x [b, known, c] at the known steps to [b, steps, d]."""
        between = [step for step in self.conv2.input_steps(steps) if step >= 0]
        h = dropout(F.relu(self.conv1(x, known, between)), share, self.training)
        h = dropout(F.relu(self.conv2(h, between, steps)), share, self.training)
        own = x[:, [known.index(step) for step in steps]]
        return F.relu(h + (own if self.residual is None else self.residual(own)))


class TCN(ForecastModule):
    """Causal dilated residual convolutions, direct multi-step or autoregressive.

    Parameters
    ----------
    n_variables, lookback, horizon, n_features
        sizes of the axes n, t, h and f
    channels
        width of every block
    kernel
        width of the convolutions
    blocks
        number of blocks; the dilation doubles from each to the next. By default as many as are needed to cover the
        lookback
    autoregressive
        whether to forecast one step at a time and feed it back as input. Requires inputs without time features,
        because the time features of future steps are not part of the input
    dropout
        share of the hidden values set to 0 in training

    Examples
    --------
    >>> import torch
    >>> model = TCN(n_variables=5, lookback=12, horizon=3)
    >>> model(torch.zeros(2, 12, 5, 1)).shape
    torch.Size([2, 3, 5])
    """

    title = "TCN"
    rows_at_once = 1 << 17

    def __init__(
        self,
        *,
        n_variables: int,
        lookback: int,
        horizon: int,
        n_features: int = 1,
        channels: int = 128,
        kernel: int = 3,
        blocks: int | None = None,
        autoregressive: bool = False,
        dropout: float = 0.3,
    ) -> None:
        check_whole("kernel", kernel, low=2)
        blocks = _blocks_for(lookback, kernel) if blocks is None else blocks
        super().__init__(
            n_variables=n_variables,
            lookback=lookback,
            horizon=horizon,
            n_features=n_features,
            channels=channels,
            kernel=kernel,
            blocks=blocks,
            autoregressive=autoregressive,
            dropout=dropout,
        )
        check_whole("channels", channels)
        check_whole("blocks", blocks)
        check_share("dropout", dropout)
        check_autoregressive(autoregressive, n_features)
        self.dropout = dropout
        self.outputs = 1 if autoregressive else horizon
        widths = [n_variables * n_features] + [channels] * (blocks - 1)
        self.blocks = nn.ModuleList(
            Block(width, channels, kernel, dilation=2**level) for level, width in enumerate(widths)
        )
        self.output = nn.Linear(channels, self.outputs * n_variables)

    def _shared(self, present: Tensor | None) -> Tensor | None:
        return present

    def _windows(self, x: Tensor, present: Tensor | None, wanted: Tensor | None) -> Tensor:
        x = x.flatten(2)  # [b, t, n f]
        if not self.settings["autoregressive"]:
            return self._next(x, wanted)
        return feed_back(lambda windows: self._next(windows, None), x, self.horizon, present, wanted)

    def _next(self, x: Tensor, wanted: Tensor | None) -> Tensor:
        needed = [[self.lookback - 1]]  # the output steps of each block, the last block first
        for block in reversed(self.blocks[1:]):
            needed.append(block_input(block, needed[-1]))
        known: Sequence[int] = range(self.lookback)
        for block, steps in zip(self.blocks, reversed(needed), strict=True):
            x = block(x, known, steps, self.dropout)  # [b, steps, c]
            known = steps
        weight = take(self.output.weight.view(self.outputs, self.n_variables, -1), wanted, 1)  # [h, s, c]
        bias = take(self.output.bias.view(self.outputs, self.n_variables), wanted, 1)  # [h, s]
        return F.linear(x[:, -1], weight.flatten(0, 1), bias.flatten()).view(len(x), *bias.shape)


def _blocks_for(lookback: int, kernel: int) -> int:
    """Return how many blocks the last step needs to depend on the whole lookback.

    >>> _blocks_for(12, 3), _blocks_for(40, 3)
    (2, 4)
    """
    blocks = 1
    while 1 + 2 * (kernel - 1) * (2**blocks - 1) < lookback:
        blocks += 1
    return blocks


def block_input(block: Block, steps: Sequence[int]) -> list[int]:
    """Return the input steps that a block needs to compute the given output steps."""
    needed = block.conv1.input_steps([step for step in block.conv2.input_steps(steps) if step >= 0])
    return sorted({step for step in [*needed, *steps] if step >= 0})
