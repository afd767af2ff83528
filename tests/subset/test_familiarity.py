"""Tests of strangeness: the mean distance of the neighbors that exist."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from subcast.retrieval import Neighbors
from subcast.subset.familiarity import strangeness_of


@given(
    st.lists(st.lists(st.one_of(st.none(), st.floats(0, 100)), min_size=3, max_size=3), min_size=1, max_size=6),
)
def test_strangeness_against_loops(rows):
    distance = np.array([[np.inf if x is None else x for x in row] for row in rows], dtype=np.float32)
    index = np.array([[-1 if x is None else 7 for x in row] for row in rows])
    found = strangeness_of(Neighbors(index, distance))
    for window, row in enumerate(rows):
        known = [float(np.float32(x)) for x in row if x is not None]
        if known:
            np.testing.assert_allclose(found[window], sum(known) / len(known), rtol=1e-6)
        else:
            assert np.isnan(found[window])


def test_without_neighbors_nothing_is_known():
    assert np.isnan(strangeness_of(Neighbors(np.zeros((2, 0), np.int64), np.zeros((2, 0), np.float32)))).all()
