"""The fast operations against loops, and their gradients against finite differences."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from subcast.errors import InputError
from subcast.forecasters import graph as graphs
from subcast.forecasters.graph import (
    Propagation,
    chebyshev,
    correlation_graph,
    graph_polynomial,
    largest_eigenvalue,
    propagate,
    scaled_laplacian,
)
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


def test_gate_drops_and_hands_no_gradient_to_what_it_dropped():
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


def a_matrix(n, share, seed=0):
    generator = torch.Generator().manual_seed(seed)
    a = torch.rand(n, n, dtype=torch.float64, generator=generator)
    return a * (torch.rand(n, n, generator=generator) < share)


@pytest.mark.parametrize("gathered", [False, True])
class TestPropagation:
    @pytest.fixture(autouse=True)
    def _way(self, gathered, monkeypatch):
        monkeypatch.setattr(graphs, "_SPARSE_FROM", 1)
        monkeypatch.setattr(graphs, "_SPARSE_BELOW", 1.0 if gathered else -1.0)

    def test_against_loops(self, gathered):
        a, x = a_matrix(5, 0.4), torch.randn(2, 5, 3, dtype=torch.float64)
        a[3] = 0  # a variable that listens to none
        expected = torch.zeros(2, 5, 3, dtype=torch.float64)
        for b in range(2):
            for i in range(5):
                for j in range(5):
                    expected[b, i] += a[i, j] * x[b, j]
        way = Propagation(a)
        assert (way.values.dim() == 1) == gathered
        torch.testing.assert_close(way.multiply(x), expected)
        torch.testing.assert_close(way.multiply(x, plus=x), expected + x)

    def test_gradients(self, gathered):
        mask = a_matrix(4, 0.5) != 0
        a = a_matrix(4, 1.0).requires_grad_()
        x = torch.randn(2, 4, 3, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(lambda a, x: propagate(Propagation(a * mask), x), [a, x])

    @pytest.mark.parametrize("ways", [1, 2])
    @pytest.mark.parametrize("depth", [1, 2, 3])
    def test_polynomial(self, gathered, depth, ways):
        mask = a_matrix(4, 0.5) != 0
        a = a_matrix(4, 1.0).requires_grad_()
        h = torch.randn(2, 4, 2, 3, dtype=torch.float64, requires_grad=True)
        matrices = torch.randn(1 + ways * depth, 3, 2, dtype=torch.float64, requires_grad=True)
        bias = torch.randn(2, dtype=torch.float64, requires_grad=True)

        def fast(h, matrices, bias, a):
            directions = [Propagation(a * mask), Propagation((a * mask).T)][:ways]
            return graph_polynomial(h, matrices, bias, *directions)

        expected = bias + h @ matrices[0]
        for way, direction in enumerate([a * mask, (a * mask).T][:ways]):
            power = torch.eye(4, dtype=torch.float64)
            for k in range(1, depth + 1):
                power = power @ direction
                expected = expected + torch.einsum("ij,bjtc,cd->bitd", power, h, matrices[way * depth + k])
        torch.testing.assert_close(fast(h, matrices, bias, a), expected)
        assert torch.autograd.gradcheck(fast, [h, matrices, bias, a])


class TestSpectra:
    def test_scaled_laplacian_has_its_eigenvalues_in_the_unit_interval(self):
        a = a_matrix(9, 0.5)
        a = a + a.T
        scaled = scaled_laplacian(a, largest_eigenvalue(a))
        values = torch.linalg.eigvalsh(scaled)
        assert values.min() == pytest.approx(-1)
        assert values.max() == pytest.approx(1)

    def test_directed_graphs_and_self_loops(self):
        a = a_matrix(6, 0.5).float()
        laplacian = np.diag(a.numpy().sum(1)) - a.numpy()
        assert largest_eigenvalue(a) == pytest.approx(np.linalg.eigvals(laplacian).real.max(), rel=1e-5)
        assert largest_eigenvalue(a + 3 * torch.eye(6)) == pytest.approx(largest_eigenvalue(a), rel=1e-4)

    def test_no_edges(self):
        assert largest_eigenvalue(torch.eye(3)) == 0
        assert torch.equal(scaled_laplacian(torch.eye(3), 0.0), -torch.eye(3))

    def test_chebyshev_polynomials(self):
        laplacian = a_matrix(4, 1.0)
        t = chebyshev(laplacian, 4)
        torch.testing.assert_close(t[2], 2 * laplacian @ laplacian - torch.eye(4, dtype=torch.float64))
        torch.testing.assert_close(t[3], 4 * laplacian @ laplacian @ laplacian - 3 * laplacian)
        assert len(chebyshev(laplacian, 1)) == 1


class TestCorrelationGraph:
    def test_against_numpy_without_gaps(self):
        readings = np.random.default_rng(0).normal(size=(50, 6)).astype(np.float32)
        graph = correlation_graph(readings, neighbors=6)
        expected = np.abs(np.corrcoef(readings.T))
        np.fill_diagonal(expected, 0)
        np.testing.assert_allclose(graph, expected, atol=1e-6)

    def test_gaps_constants_and_ties(self):
        readings = np.random.default_rng(0).normal(size=(50, 5)).astype(np.float32)
        readings[:, 1] = 3.0
        readings[:, 2] = np.nan
        readings[:, 4] = readings[:, 3]
        readings[::7, 0] = np.nan
        graph = correlation_graph(readings, neighbors=1)
        assert np.isfinite(graph).all()
        assert (graph[1] == 0).all()
        assert (graph[2] == 0).all()
        assert graph[3, 4] == pytest.approx(1)
        assert ((graph != 0).sum(axis=1) <= 1).all()


def test_a_graph_of_words_gets_a_sentence():
    with pytest.raises(InputError, match="graph must be an adjacency"):
        graphs.check_graph([["a"]], 1)
