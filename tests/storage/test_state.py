"""Tests of joining states of parts and of reading them back."""

import numpy as np
import pytest

from subcast.errors import DataError
from subcast.storage.state import State


def inner():
    return State({"size": 3}, {"rows": np.arange(3)}, {"weights.bin": b"abc"})


def test_joined_parts_are_returned_unchanged():
    joined = State.join({"name": "outer"}, bank=inner(), nothing=None, other=State({"x": 1}))
    part = joined.part("bank")
    assert part.facts == {"size": 3}
    np.testing.assert_array_equal(part.arrays["rows"], np.arange(3))
    assert part.blobs == {"weights.bin": b"abc"}
    assert joined.part("other").facts == {"x": 1}
    assert joined.part("nothing") is None
    assert joined.facts["name"] == "outer"


def test_parts_of_parts():
    joined = State.join({}, outer=State.join({"a": 1}, bank=inner()))
    np.testing.assert_array_equal(joined.part("outer").part("bank").arrays["rows"], np.arange(3))
    assert list(joined.arrays) == ["outer.bank.rows"]
    assert list(joined.blobs) == ["outer.bank.weights.bin"]


def test_names_with_a_common_prefix_are_not_mixed_up():
    joined = State.join({}, bank=State({}, {"a": np.zeros(1)}), bank_two=State({}, {"b": np.ones(1)}))
    assert list(joined.part("bank").arrays) == ["a"]
    assert list(joined.part("bank_two").arrays) == ["b"]


def test_a_missing_needed_part_raises():
    with pytest.raises(DataError, match=r"plant is damaged .*it has no model"):
        State({"bank": {}}, source="plant").needed_part("model")


def test_a_part_that_is_not_one_is_refused():
    with pytest.raises(DataError, match="its part bank is not a part"):
        State({"bank": 3}).part("bank")


def test_parts_know_where_they_come_from():
    part = State({"bank": {}}, source="plant", trusted=True).part("bank")
    assert (part.source, part.trusted) == ("plant", True)
