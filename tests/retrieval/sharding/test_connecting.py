"""Connections to a scheduler, and what is said when there is none."""

import sys

import pytest

from cluster_tools import free_port
from subcast.errors import ClusterError, InputError
from subcast.retrieval.sharding.connecting import cluster_client


def test_nobody_answers():
    pytest.importorskip("distributed")
    with (
        pytest.raises(ClusterError, match=r"no scheduler answered at tcp://127.0.0.1:\d+ within 0.5 s"),
        cluster_client(f"tcp://127.0.0.1:{free_port()}", 0.5),
    ):
        pass


@pytest.mark.parametrize("address", ["", "nonsense", "nowhere://host:1", "tcp://host", "tcp://host:port"])
def test_what_is_no_address(address):
    pytest.importorskip("distributed")
    with pytest.raises(InputError, match="no address of a scheduler"), cluster_client(address, 0.5):
        pass


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install 'subcast\[cluster\]'"), cluster_client("tcp://127.0.0.1:1"):
        pass
