"""MSTGCN: its initial weights."""

import pytest
import torch

from subcast.forecasters import MSTGCN


def test_initial_chebyshev_weights_have_the_variance_of_glorot():
    torch.manual_seed(0)
    model = MSTGCN(n_variables=3, lookback=4, horizon=2, graph="identity", filters=64, time_filters=48)
    for block in model.blocks:
        theta = block.graph_conv.theta.detach()
        _, c, d = theta.shape
        expected = (2 / (c + d)) ** 0.5
        for matrix in theta:
            assert float(matrix.square().mean().sqrt()) == pytest.approx(expected, rel=0.25)
