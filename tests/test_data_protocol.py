"""Data protocols by name."""

import pytest

from subcast.data_protocol import PROTOCOLS, DataProtocol, get_protocol
from subcast.errors import InputError


def test_by_name():
    assert get_protocol("default") is PROTOCOLS["default"]
    assert all(protocol.name == name for name, protocol in PROTOCOLS.items())


def test_a_protocol_is_returned_unchanged():
    own = DataProtocol("own", shares=(0.5, 0.25, 0.25))
    assert get_protocol(own) is own


def test_the_paper_differs_from_the_default_in_every_choice_but_the_shares():
    default, paper = PROTOCOLS["default"], PROTOCOLS["paper"]
    differing = {field for field in vars(default) if getattr(default, field) != getattr(paper, field)}
    assert differing == set(vars(default)) - {"shares"}


@pytest.mark.parametrize("protocol", ["quick", None, 3])
def test_unknown_protocols_are_rejected(protocol):
    with pytest.raises(InputError, match=f"protocol must be one of default, paper, got {protocol!r}"):
        get_protocol(protocol)
