"""LSTNet: convolution over all variables, recurrence over time and over skipped time, and a linear highway.

Lai, Chang, Yang, Liu: Modeling Long- and Short-Term Temporal Patterns with Deep Neural Networks, SIGIR 2018. In the
order of the paper's section 3: convolution (3.2), recurrence (3.3), recurrent skip (3.4), autoregressive highway (3.6).

The original forecasts one step; here the last two layers have one output per step of the horizon, or one output that is
fed back as input (`autoregressive`). The published skip and highway of 24 steps are longer than a lookback of 12. By
default the skip is 3, so that the skip recurrence uses the six latest convolved steps as two steps of each of three
phases, and the highway is 12.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from subcast.axes import check_whole
from subcast.forecasters.base import ForecastModule, check_autoregressive, check_share, feed_back, take
from subcast.forecasters.layers import dropout, time_conv


class LSTNet(ForecastModule):
    """CNN, GRU, skip-GRU and highway.

    Parameters
    ----------
    n_variables, lookback, horizon, n_features
        sizes of the axes n, t, h and f
    conv_filters, kernel
        number of filters and width in steps of the convolution over all variables (the width is at most the lookback)
    hidden
        size of the GRU
    skip, skip_hidden
        number of steps that the skip-GRU skips (0 removes it), and its size
    highway
        number of latest steps in the linear highway (at most the lookback); 0 removes it
    autoregressive
        whether to forecast one step at a time and feed it back as input. Requires inputs without time features,
        because the time features of future steps are not part of the input
    dropout
        share of the hidden values set to 0 in training

    Examples
    --------
    >>> model = LSTNet(n_variables=5, lookback=12, horizon=3)
    >>> model(torch.zeros(2, 12, 5, 1)).shape
    torch.Size([2, 3, 5])
    """

    title = "LSTNet"
    rows_at_once = 1 << 17

    def __init__(
        self,
        *,
        n_variables: int,
        lookback: int,
        horizon: int,
        n_features: int = 1,
        conv_filters: int = 100,
        kernel: int = 6,
        hidden: int = 100,
        skip: int = 3,
        skip_hidden: int = 5,
        highway: int = 12,
        autoregressive: bool = False,
        dropout: float = 0.3,
    ) -> None:
        super().__init__(
            n_variables=n_variables,
            lookback=lookback,
            horizon=horizon,
            n_features=n_features,
            conv_filters=conv_filters,
            kernel=kernel,
            hidden=hidden,
            skip=skip,
            skip_hidden=skip_hidden,
            highway=highway,
            dropout=dropout,
            # Stored only if it is set, so that checkpoints of models that forecast all steps at once keep their format.
            **({"autoregressive": True} if autoregressive else {}),
        )
        check_autoregressive(autoregressive, n_features)
        for argument in ("conv_filters", "kernel", "hidden", "skip_hidden"):
            check_whole(argument, self.settings[argument])
        for argument in ("skip", "highway"):
            check_whole(argument, self.settings[argument], low=0)
        check_share("dropout", dropout)
        self.dropout, self.hidden = dropout, hidden
        kernel = min(kernel, lookback)
        steps = lookback - kernel + 1
        self.skip = min(skip, steps)
        self.phases = steps // self.skip if self.skip else 0  # steps of each phase in the skip-GRU
        self.conv = nn.Conv1d(n_variables * n_features, conv_filters, kernel)
        self.gru = nn.GRU(conv_filters, hidden, batch_first=True)
        self.skip_gru = nn.GRU(conv_filters, skip_hidden, batch_first=True) if self.skip else None
        self.autoregressive, self.outputs = autoregressive, 1 if autoregressive else horizon
        self.output = nn.Linear(hidden + self.skip * skip_hidden, self.outputs * n_variables)
        self.highway = nn.Linear(min(highway, lookback), self.outputs) if highway else None

    def _shared(self, present: Tensor | None) -> Tensor | None:
        return present

    def _windows(self, x: Tensor, present: Tensor | None, wanted: Tensor | None) -> Tensor:
        x = x.flatten(2)  # [b, t, n f]
        if not self.autoregressive:
            return self._next(x, wanted)
        return feed_back(lambda windows: self._next(windows, None), x, self.horizon, present, wanted)

    def _next(self, x: Tensor, wanted: Tensor | None) -> Tensor:
        b = len(x)
        kernel = self.conv.weight.permute(2, 1, 0)  # [taps, n f, c]
        c = F.relu(time_conv(x, kernel, self.conv.bias))  # [b, steps, c]
        c = dropout(c, self.dropout, self.training)
        state = self.gru(c)[1][0]  # [b, hidden]
        state = dropout(state, self.dropout, self.training)
        if self.skip_gru is not None:
            latest = c[:, -self.phases * self.skip :].view(b, self.phases, self.skip, -1)
            by_phase = latest.transpose(1, 2).reshape(b * self.skip, self.phases, -1)
            skipped = self.skip_gru(by_phase)[1][0].view(b, -1)  # [b, skip x skip_hidden]
            state = torch.cat([state, dropout(skipped, self.dropout, self.training)], dim=1)
        weight = take(self.output.weight.view(self.outputs, self.n_variables, -1), wanted, 1)  # [h, s, c]
        bias = take(self.output.bias.view(self.outputs, self.n_variables), wanted, 1)  # [h, s]
        forecast = F.linear(state, weight.flatten(0, 1), bias.flatten()).view(b, *bias.shape)  # [b, h, s]
        if self.highway is not None:
            readings = take(x[:, -self.highway.in_features :, :: self.n_features], wanted, 2)  # [b, highway, s]
            forecast = forecast + self.highway(readings.transpose(1, 2)).transpose(1, 2)
        return forecast
