"""The fast operations against loops, and their gradients against finite differences."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from subcast.forecasters.layers import dropout, gate, time_conv


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 3), st.integers(1, 6), st.integers(1, 3), st.integers(1, 4), st.integers(1, 2), st.data())
def test_time_conv_against_loops(r, t, c, taps, d, data):
    before, after = data.draw(st.integers(0, 4)), data.draw(st.integers(0, 4))
    steps = t + before + after - taps + 1
    if steps < 1:
        return
    rng = np.random.default_rng(0)
    x, weight, bias = rng.normal(size=(r, t, c)), rng.normal(size=(taps, c, d)), rng.normal(size=d)
    expected = np.zeros((r, steps, d))
    for row in range(r):
        for j in range(steps):
            for out in range(d):
                total = bias[out]
                for i in range(taps):
                    step = j + i - before
                    if 0 <= step < t:
                        for channel in range(c):
                            total += x[row, step, channel] * weight[i, channel, out]
                expected[row, j, out] = total
    tensors = [torch.tensor(array, requires_grad=True) for array in (x, weight, bias)]
    np.testing.assert_allclose(time_conv(*tensors, (before, after)).detach(), expected, atol=1e-10)
    assert torch.autograd.gradcheck(lambda *a: time_conv(*a, (before, after)), tensors)


def test_gate_is_tanh_times_sigmoid():
    z = torch.randn(3, 4, 2, 5, dtype=torch.float64, requires_grad=True)
    wanted = torch.tanh(z[:, :, 0] / -2) * torch.sigmoid(z[:, :, 1])
    torch.testing.assert_close(gate(z, 0.0, False), wanted)
    with torch.no_grad():
        torch.testing.assert_close(gate(z.clone(), 0.0, False), wanted)
    assert torch.autograd.gradcheck(lambda z: gate(z, 0.0, False), [z])


def test_dropped_entries_of_the_gate_get_no_gradient():
    torch.manual_seed(0)
    z = torch.randn(20, 4, 2, 5, requires_grad=True)
    h = gate(z, 0.5, True)
    h.sum().backward()
    dropped = h == 0
    assert 0.35 < dropped.float().mean() < 0.65
    assert (z.grad[:, :, 0][dropped] == 0).all()
    assert (z.grad[:, :, 0][~dropped] != 0).all()


class TestDropout:
    def test_share_mean_and_seed(self):
        torch.manual_seed(3)
        x = torch.ones(400_001)
        y = dropout(x, 0.3, True)
        assert y.unique().tolist() == pytest.approx([0.0, 1 / 0.7], rel=1e-4)
        assert abs(float((y == 0).float().mean()) - 0.3) < 0.004  # five deviations
        torch.manual_seed(3)
        assert torch.equal(dropout(x, 0.3, True), y)

    def test_neighboring_entries_are_independent(self):
        torch.manual_seed(0)
        kept = (dropout(torch.ones(400_000), 0.5, True) > 0).float()
        for lag in (1, 2, 3, 4):
            both = float((kept[lag:] * kept[:-lag]).mean())
            assert abs(both - 0.25) < 0.005

    def test_nothing_outside_training(self):
        x = torch.randn(5)
        assert dropout(x, 0.3, False) is x
        assert dropout(x, 0.0, True) is x
