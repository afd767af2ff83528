"""Folders on disk and in other file systems."""

from __future__ import annotations

import os
import sys

import pytest

from subcast.errors import DataNotFoundError, InputError, WriteError
from subcast.retrieval.sharding.places import Place


@pytest.fixture(params=["path", "file://", "local://", "memory://"])
def place(request, tmp_path):
    if request.param == "memory://":
        pytest.importorskip("fsspec")
        return Place.of(f"memory://test-places-{os.getpid()}-{tmp_path.name}/bank")
    prefix = "" if request.param == "path" else request.param
    return Place.of(f"{prefix}{tmp_path}/bank")


def test_files_are_written_read_listed_and_removed(place):
    assert place.sizes() == {}
    place.write("a.json", b"one")
    place.write("b.json", b"three")
    place.write("a.json", b"other")
    assert place.read("a.json") == b"other"
    assert place.sizes() == {"a.json": 5, "b.json": 5}
    place.remove("b.json")
    assert list(place.sizes()) == ["a.json"]
    with pytest.raises(DataNotFoundError, match=r"has no b.json"):
        place.read("b.json")


def test_relative_paths_are_completed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Place.of("bank") == Place.of(tmp_path / "bank")
    assert Place.of("bank").is_local


@pytest.mark.parametrize("folder", ["", None, 3])
def test_what_is_no_folder_is_refused(folder):
    with pytest.raises(InputError, match="folder must be a path or an address"):
        Place.of(folder)


def test_an_unknown_protocol_is_one_sentence():
    pytest.importorskip("fsspec")
    with pytest.raises(InputError, match="nowhere://bank cannot be opened"):
        Place.of("nowhere://bank").sizes()


def test_without_fsspec_the_sentence_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(InputError, match=r"pip install 'subcast\[cluster\]'"):
        Place.of("memory://bank").sizes()


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match="could not be written"):
        Place.of(tmp_path / "file" / "bank").write("a", b"")
