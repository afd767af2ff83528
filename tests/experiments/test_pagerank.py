"""PageRank against another library."""

import numpy as np
import pytest

from subcast.experiments.pagerank import pagerank


def test_pagerank_against_another_library():
    networkx = pytest.importorskip("networkx")
    graph = np.random.default_rng(0).random((8, 8)) * (np.random.default_rng(1).random((8, 8)) < 0.4)
    graph[3] = 0  # a node without edges of its own
    other = networkx.pagerank(networkx.from_numpy_array(graph, create_using=networkx.DiGraph), tol=1e-12)
    np.testing.assert_allclose(pagerank(graph), [other[i] for i in range(8)], atol=1e-8)
