"""Graphs: products against loops, gradients against finite differences, spectra and correlations."""

import numpy as np
import pytest
import torch

from subcast.errors import InputError
from subcast.forecasters import graph as graph_module
from subcast.forecasters.graph import (
    Propagation,
    chebyshev,
    correlation_graph,
    graph_polynomial,
    largest_eigenvalue,
    propagate,
    scaled_laplacian,
)


def random_matrix(n, share, seed=0):
    generator = torch.Generator().manual_seed(seed)
    a = torch.rand(n, n, dtype=torch.float64, generator=generator)
    return a * (torch.rand(n, n, generator=generator) < share)


@pytest.mark.parametrize("gathered", [False, True])
class TestPropagation:
    @pytest.fixture(autouse=True)
    def _method(self, gathered, monkeypatch):
        monkeypatch.setattr(graph_module, "_SPARSE_FROM", 1)
        monkeypatch.setattr(graph_module, "_SPARSE_BELOW", 1.0 if gathered else -1.0)

    def test_against_loops(self, gathered):
        a, x = random_matrix(5, 0.4), torch.randn(2, 5, 3, dtype=torch.float64)
        a[3] = 0  # a variable without edges
        expected = torch.zeros(2, 5, 3, dtype=torch.float64)
        for b in range(2):
            for i in range(5):
                for j in range(5):
                    expected[b, i] += a[i, j] * x[b, j]
        propagation = Propagation(a)
        assert (propagation.values.dim() == 1) == gathered
        torch.testing.assert_close(propagation.multiply(x), expected)
        torch.testing.assert_close(propagation.multiply(x, plus=x), expected + x)

    def test_gradients(self, gathered):
        mask = random_matrix(4, 0.5) != 0
        a = random_matrix(4, 1.0).requires_grad_()
        x = torch.randn(2, 4, 3, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(lambda a, x: propagate(Propagation(a * mask), x), [a, x])

    @pytest.mark.parametrize("directions", [1, 2])
    @pytest.mark.parametrize("depth", [1, 2, 3])
    def test_polynomial(self, gathered, depth, directions):
        mask = random_matrix(4, 0.5) != 0
        a = random_matrix(4, 1.0).requires_grad_()
        h = torch.randn(2, 4, 2, 3, dtype=torch.float64, requires_grad=True)
        matrices = torch.randn(1 + directions * depth, 3, 2, dtype=torch.float64, requires_grad=True)
        bias = torch.randn(2, dtype=torch.float64, requires_grad=True)

        def fast(h, matrices, bias, a):
            graphs = [Propagation(a * mask), Propagation((a * mask).T)][:directions]
            return graph_polynomial(h, matrices, bias, *graphs)

        expected = bias + h @ matrices[0]
        for number, direction in enumerate([a * mask, (a * mask).T][:directions]):
            power = torch.eye(4, dtype=torch.float64)
            for k in range(1, depth + 1):
                power = power @ direction
                expected = expected + torch.einsum("ij,bjtc,cd->bitd", power, h, matrices[number * depth + k])
        torch.testing.assert_close(fast(h, matrices, bias, a), expected)
        assert torch.autograd.gradcheck(fast, [h, matrices, bias, a])


class TestSpectra:
    def test_scaled_laplacian_has_its_eigenvalues_in_the_unit_interval(self):
        a = random_matrix(9, 0.5)
        a = a + a.T
        scaled = scaled_laplacian(a, largest_eigenvalue(a))
        values = torch.linalg.eigvalsh(scaled)
        assert values.min() == pytest.approx(-1)
        assert values.max() == pytest.approx(1)

    def test_directed_graphs_and_self_loops(self):
        a = random_matrix(6, 0.5).float()
        laplacian = np.diag(a.numpy().sum(1)) - a.numpy()
        assert largest_eigenvalue(a) == pytest.approx(np.linalg.eigvals(laplacian).real.max(), rel=1e-5)
        assert largest_eigenvalue(a + 3 * torch.eye(6)) == pytest.approx(largest_eigenvalue(a), rel=1e-4)

    def test_no_edges(self):
        assert largest_eigenvalue(torch.eye(3)) == 0
        assert torch.equal(scaled_laplacian(torch.eye(3), 0.0), -torch.eye(3))

    def test_chebyshev_polynomials(self):
        laplacian = random_matrix(4, 1.0)
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


def test_graph_of_strings_is_rejected():
    with pytest.raises(InputError, match="graph must be an adjacency"):
        graph_module.check_graph([["a"]], 1)


def test_large_sparse_graphs_are_gathered():
    a = torch.zeros(100, 100)
    a[torch.arange(100), (torch.arange(100) + 1) % 100] = 1.0
    assert Propagation(a).values.shape == (100,)
    assert Propagation(torch.ones(100, 100)).values.shape == (100, 100)
