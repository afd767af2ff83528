"""ASTGCN: its initial weights and its attention."""

import pytest
import torch

from forecasters.examples import build, inputs
from subcast.forecasters import ASTGCN


def test_initial_chebyshev_weights_have_the_variance_of_glorot():
    torch.manual_seed(0)
    model = ASTGCN(n_variables=3, lookback=4, horizon=2, graph="identity", filters=64, time_filters=48)
    for block in model.blocks:
        theta = block.graph_conv.theta.detach()
        _, c, d = theta.shape
        expected = (2 / (c + d)) ** 0.5
        for matrix in theta:
            assert float(matrix.square().mean().sqrt()) == pytest.approx(expected, rel=0.25)


def test_attention_sums_to_one_over_the_senders():
    block, x = build("astgcn").blocks[0], inputs().transpose(1, 2).contiguous()  # [b, n, t, f]
    with torch.no_grad():
        temporal = block.temporal_attention(x)  # [b, t, t]
        spatial = block.spatial_attention(x, temporal)  # [b, n, n]
    torch.testing.assert_close(temporal.sum(1), torch.ones(3, 12))
    torch.testing.assert_close(spatial.sum(1), torch.ones(3, 7))
