"""Checks of axes, whole numbers and variables."""

import numpy as np
import pytest

from subcast.axes import AXES, check_axes, describe_axes, variable_indices
from subcast.errors import InputError

NAMES = ["a", "b", "c", "d"]


class TestCheckAxes:
    def test_every_letter_can_be_spelled_out(self):
        text = describe_axes("".join(AXES))
        assert text.startswith("[b, t, h, n, s, f, k]")
        assert all(word in text for word in AXES.values())

    def test_the_right_shape_passes(self):
        check_axes("x", np.zeros((3, 12, 5)), "btn", b=3, t=12, n=5)
        check_axes("x", np.zeros((0, 12)), "bt")

    def test_the_number_of_axes(self):
        with pytest.raises(InputError, match=r"^x must be \[t, n\] \(steps x variables\), got shape \(4,\)$"):
            check_axes("x", np.zeros(4), "tn")

    def test_the_size_of_an_axis(self):
        message = r"^x must be \[b, h\] \(windows x horizon steps\) with 12 horizon steps, got 6 \(shape \(2, 6\)\)$"
        with pytest.raises(InputError, match=message):
            check_axes("x", np.zeros((2, 6)), "bh", h=12)


class TestVariableIndices:
    @pytest.mark.parametrize(
        "present", [["c", "a"], [2, 0], np.array([2, 0], dtype=np.uint8), ("c", "a"), np.array(["c", "a"])]
    )
    def test_names_and_indices_keep_their_order(self, present):
        indices = variable_indices(present, 4, NAMES)
        assert indices.tolist() == [2, 0]
        assert indices.dtype == np.int64

    def test_a_mask(self):
        assert variable_indices([True, False, True, False], 4).tolist() == [0, 2]

    def test_zeros_and_ones_are_indices_not_a_mask(self):
        assert variable_indices([1, 0], 4).tolist() == [1, 0]

    @pytest.mark.parametrize(
        ("present", "message"),
        [
            ([], "S is empty: at least one of the 4 variables must be named"),
            ([[0, 1]], r"S must be a flat list .* got shape \(1, 2\)"),
            (3, r"S must be a flat list .* got shape \(\)"),
            ("a", r"S must be a flat list .* got shape \(\)"),
            ([True, False], "S as a mask must have one entry for each of the 4 variables, got 2"),
            ([False] * 4, "S as a mask has no True"),
            (["a", "x"], r"S names 'x', which is not among the 4 variables \(a, b, c, d\)"),
            (["a", "a"], "S names 'a' twice: name each variable once"),
            ([0, 2, 0], "S names 0 twice"),
            ([0, 4], "S holds index 4, but the 4 variables are numbered 0 to 3"),
            ([-1], "S holds index -1"),
            ([0.0, 1.0], "S must be names, indices or a boolean mask, got values of type float64"),
        ],
    )
    def test_each_mistake_has_its_sentence(self, present, message):
        with pytest.raises(InputError, match=f"^{message}"):
            variable_indices(present, 4, NAMES, argument="S")

    def test_names_without_names(self):
        with pytest.raises(InputError, match="holds names, but these variables have none: give indices from 0 to 3"):
            variable_indices(["a"], 4)

    def test_of_many_names_only_some_are_shown(self):
        names = [f"v{place}" for place in range(300)]
        with pytest.raises(InputError, match=r"\(v0, v1, v2, v3, v4, v5, ...\)$"):
            variable_indices(["x"], 300, names)
