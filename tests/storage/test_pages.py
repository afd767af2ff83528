"""Tests of the sealed page: every byte counts, and hostile JSON is refused without effort."""

import json
import zlib
from pathlib import Path

import pytest

from subcast.errors import DataError, InputError
from subcast.storage import pages

PAGE = {"kind": "thing", "facts": {"lookback": 12, "name": "Zürich"}, "arrays": {}, "blobs": {}}
PATH = Path("plant/thing.json")


def envelope(text, version=pages.FORMAT):
    return json.dumps({"format": version, "checksum": zlib.crc32(text.encode()), "page": text}).encode()


def test_a_page_is_returned_unchanged():
    assert pages.unseal(pages.seal(PAGE), PATH, "thing") == PAGE


def test_every_single_bit_flip_is_noticed():
    content = pages.seal(PAGE)
    for place in range(8 * len(content)):
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << place % 8
        with pytest.raises(DataError):
            pages.unseal(bytes(flipped), PATH, "thing")


@pytest.mark.parametrize("change", [lambda c: c + b" ", lambda c: c + b"\n", lambda c: b" " + c, lambda c: c[:-1]])
def test_added_and_missing_bytes_are_noticed(change):
    with pytest.raises(DataError, match=r"thing\.json is damaged or was changed by hand"):
        pages.unseal(change(pages.seal(PAGE)), PATH, "thing")


def deep(opening, closing, depth=100_000):
    return opening * depth + closing * depth


HOSTILE = {
    "not json": b"\xff\x00",
    "a list": b"[]",
    "a number": b"7",
    "no page": b'{"format": 1}',
    "format of another type": envelope(json.dumps(PAGE), "1"),
    "format true": envelope(json.dumps(PAGE), True),
    "format huge": envelope(json.dumps(PAGE), 10**40),
    "deep envelope": deep("[", "]").encode(),
    "deep page": envelope(deep("[", "]")),
    "deep facts": envelope(json.dumps(PAGE).replace("12", deep('{"a":', "}").replace("}", "1}", 1), 1)),
    "page a list": envelope("[]"),
    "kind a list": envelope(json.dumps({**PAGE, "kind": []})),
    "no kind": envelope(json.dumps({"facts": {}, "arrays": {}, "blobs": {}})),
    "facts a list": envelope(json.dumps({**PAGE, "facts": []})),
    "arrays missing": envelope(json.dumps({"kind": "thing", "facts": {}, "blobs": {}})),
    "repeated keys": envelope(json.dumps(PAGE).replace('"lookback": 12', '"lookback": 12, "lookback": 13')),
    "repeated keys outside": pages.seal(PAGE).replace(b'{"format": 1', b'{"format": 1, "format": 1', 1),
    "a number of many digits": envelope(json.dumps(PAGE).replace("12", "9" * 10_000)),
    "many lists": envelope(json.dumps({**PAGE, "facts": {"a": [[]] * 300_000}})),
    "half a surrogate": envelope(json.dumps(PAGE)).replace(b"thing", b"\\ud800thi"),
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_hostile_pages_are_refused_in_one_sentence(content):
    with pytest.raises(DataError, match=r"^plant/thing\.json is damaged or was changed by hand: save the thing again$"):
        pages.unseal(content, PATH, "thing")


def test_a_huge_page_is_refused_before_it_is_parsed(monkeypatch):
    monkeypatch.setattr(pages.json, "loads", lambda *_: pytest.fail("must not be parsed"))
    with pytest.raises(DataError, match="is damaged"):
        pages.unseal(b" " * (pages.MOST_BYTES + 1), PATH, "thing")


def test_what_could_not_be_read_is_not_written():
    for facts in ({"names": "a" * pages.MOST_BYTES}, {"rows": [[]] * 300_000}):
        with pytest.raises(InputError, match=r"bytes can be stored|can be stored: give fewer variables"):
            pages.seal({**PAGE, "facts": facts})


def test_a_hundred_thousand_variables_fit():
    names = [f"station-{number:06d}" for number in range(100_000)]
    page = {**PAGE, "facts": {"variables": names, "names": names}}
    assert pages.unseal(pages.seal(page), PATH, "thing") == page


def test_other_formats_and_kinds():
    with pytest.raises(DataError, match=r"is of format 2, and this version .* reads format 1: install a newer subcast"):
        pages.unseal(envelope("anything", 2), PATH, "thing")
    with pytest.raises(DataError, match=r"is of format 0, .*: save it again with this version"):
        pages.unseal(envelope("anything", 0), PATH, "thing")
    with pytest.raises(DataError, match="is a 'thing', not a bank"):
        pages.unseal(pages.seal(PAGE), PATH, "bank")


def test_unknown_facts_are_ignored_and_unknown_needs_are_refused():
    later = {**PAGE, "facts": {**PAGE["facts"], "later": 1}, "also_later": {}}
    assert pages.unseal(pages.seal(later), PATH, "thing")["facts"]["lookback"] == 12
    assert pages.unseal(pages.seal({**PAGE, "needs": []}), PATH, "thing")
    for needs, words in (
        (["tides"], "needs tides, which this version"),
        ("tides", "an unknown part"),
        ({"a": 1}, "unk"),
    ):
        with pytest.raises(DataError, match=f"{words}.*: install a newer subcast"):
            pages.unseal(pages.seal({**PAGE, "needs": needs}), PATH, "thing")
