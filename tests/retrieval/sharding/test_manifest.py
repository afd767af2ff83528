"""The manifest is read back as written, or refused in one sentence."""

from __future__ import annotations

import json

import numpy as np
import pytest

from retrieval.examples import random_walk
from retrieval.sharding.examples import new_folder
from subcast.errors import DataError, DataNotFoundError
from subcast.retrieval import WindowBank
from subcast.retrieval.sharding.manifest import NAME, Manifest
from subcast.retrieval.sharding.places import Place
from twins import sharding_twins as naive


def written(starts=None, steps=30, **options):
    folder = new_folder()
    WindowBank(random_walk(100, 3), 4, starts=starts, **options).write_shards(folder, steps=steps)
    return Place.of(folder)


def test_files_and_owners_are_those_of_the_twin():
    starts = np.array([0, 1, 5, 29, 30, 31, 60, 61, 92])
    manifest = Manifest.read(written(starts))
    files = naive.files_of(100, 30, manifest.overlap)
    assert [(file.first, file.end) for file in manifest.files] == files
    owners = [naive.owner_of(start, files) for start in starts.tolist()]
    counts = np.diff(manifest.first_candidates).tolist()
    assert counts == [owners.count(number) for number in range(len(files))]
    for start, owner in zip(starts.tolist(), owners, strict=True):  # every window lies within its file
        assert start + 4 + manifest.room <= files[owner][1]


def test_it_is_read_back_as_written():
    for starts in (None, np.arange(0, 90, 7), np.sort(np.random.default_rng(0).permutation(95)[:60])):
        place = written(starts, names=["a", "b.c", "d"])
        manifest = Manifest.read(place)
        assert manifest.names == ("a", "b.c", "d")
        expected = np.arange(97) if starts is None else starts
        assert manifest.candidates.between(0, 100).tolist() == expected.tolist()
        manifest.write(place)
        assert Manifest.read(place).checksum == manifest.checksum


def test_many_scattered_starts_are_packed(monkeypatch):
    monkeypatch.setattr("subcast.retrieval.sharding.manifest._MOST_LISTED", 3)
    starts = np.array([0, 1, 4, 9, 11, 30, 33, 50, 80])
    place = written(starts)
    assert isinstance(json.loads(place.read(NAME))["starts"], str)
    assert Manifest.read(place).candidates.between(0, 100).tolist() == starts.tolist()


def change(**changes):
    return lambda facts: {**facts, **changes}


def without(name):
    return lambda facts: {key: value for key, value in facts.items() if key != name}


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (change(format=99), "has format 99"),
        (change(format="one"), "format"),
        (change(lookback=0), "lookback"),
        (change(lookback=5), "checksum"),
        (change(shared=[True]), "shared"),
        (change(holes=[False]), "holes"),
        (change(names=["a"]), "names"),
        (change(offsets=[0, 50]), "cover"),
        (change(offsets=[1]), "offsets"),
        (change(offsets="abc"), "damaged"),
        (change(files=[]), "cover"),
        (change(files=[["../x", 0, 100, 1, 1]]), "plain name"),
        (change(files=[["x", 0, 100, 1]]), "files"),
        (change(starts=[[5, 2, 1]]), "starts"),
        (change(starts="%%%"), "starts"),
        (change(starts=[["a"]]), "starts"),
        (change(checksum=7), "checksum"),
        (without("room"), "has no room"),
        (without("checksum"), "has no checksum"),
        (lambda facts: [facts], "not a manifest"),
    ],
)
def test_a_damaged_manifest_is_one_sentence(edit, message):
    place = written()
    place.write(NAME, json.dumps(edit(json.loads(place.read(NAME)))).encode())
    with pytest.raises(DataError, match=message) as error:
        Manifest.read(place)
    assert NAME in str(error.value)


def test_what_is_not_json_or_not_there():
    place = written()
    place.write(NAME, b"{")
    with pytest.raises(DataError, match="not JSON"):
        Manifest.read(place)
    with pytest.raises(DataNotFoundError, match="`subcast bank write`"):
        Manifest.read(Place.of(new_folder()))
