"""The experts of the package keep the protocol and are known by name."""

import pytest

from subcast.subset.experts import EXPERTS, Expert


@pytest.mark.parametrize("name", EXPERTS)
def test_each_keeps_the_protocol(name):
    expert = EXPERTS[name]()
    assert isinstance(expert, Expert)
    assert expert.name == name
    assert isinstance(EXPERTS[name].from_state(expert.state()), EXPERTS[name])


def test_something_else_does_not():
    assert not isinstance(object(), Expert)
