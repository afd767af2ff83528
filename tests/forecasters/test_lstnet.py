"""LSTNet: with and without its skip-GRU and highway."""

import pytest
import torch

from forecasters.examples import build, inputs, run
from twins.forecasters_twins import TWINS


@pytest.mark.parametrize("settings", [{"skip": 0}, {"highway": 0}, {"skip": 2, "highway": 3}, {"kernel": 20}])
def test_skip_and_highway_can_be_removed(settings):
    model, x = build("lstnet", **settings), inputs()
    with torch.no_grad():
        expected = TWINS["lstnet"](model, x)
    torch.testing.assert_close(run(model, x), expected, atol=1e-5, rtol=1e-5)
