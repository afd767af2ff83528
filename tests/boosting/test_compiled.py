"""The compiled loop adds to what is already there; its values are compared with the slow twin in test_trees."""

import numpy as np

from subcast.boosting.compiled import add_trees


def test_it_adds_leaf_values_to_the_total():
    total = np.array([10.0, 20.0])
    feature, left, right = (np.array(x, dtype=np.int32) for x in ([0, -1, -1], [1, 0, 0], [2, 0, 0]))
    rows = np.array([[0.5], [np.nan]], dtype=np.float32)
    add_trees(
        total, rows, np.zeros(1, np.int32), feature, np.array([0.5, 0, 0]), np.zeros(3, np.uint8), left, right,
        np.array([0.0, 1.0, 2.0]),
    )  # fmt: skip
    assert total.tolist() == [11.0, 22.0]
