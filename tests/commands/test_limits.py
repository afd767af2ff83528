"""Ranges of readings on the command line."""

import pytest

from subcast.commands.limits import read_ranges
from subcast.errors import InputError


def test_ranges():
    texts = ["a=0:80", "a:b=c=-5:", "d=:1e3", "e=-inf:inf"]
    inf = float("inf")
    assert read_ranges(texts) == {"a": (0, 80), "a:b=c": (-5, None), "d": (None, 1000), "e": (-inf, inf)}


@pytest.mark.parametrize("text", ["a", "a=5", "a=:", "=0:5", "a=low:high", "a=1:2:3", ""])
def test_refused(text):
    with pytest.raises(InputError, match="--limit must be NAME=LOW:HIGH, such as inflow=0:80"):
        read_ranges([text])
