"""Tests that the experts of subcast implement the protocol and are registered by name."""

import pytest

from subcast.subset.experts import EXPERTS, Expert


@pytest.mark.parametrize("name", EXPERTS)
def test_each_expert_implements_the_protocol(name):
    expert = EXPERTS[name]()
    assert isinstance(expert, Expert)
    assert expert.name == name
    assert isinstance(EXPERTS[name].from_state(expert.state()), EXPERTS[name])


def test_an_object_of_another_class_does_not_implement_the_protocol():
    assert not isinstance(object(), Expert)
