"""Shards as Parquet: other tools can read them, and damage is found and named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.examples import random_walk
from subcast.errors import DataError, DataNotFoundError
from subcast.retrieval.layout import Layout
from subcast.retrieval.sharding import files
from subcast.retrieval.sharding.files import OpenShard, column_names, write_shard
from subcast.retrieval.sharding.places import Place


@pytest.fixture
def shard(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "ROW_GROUP", 64)
    place = Place.of(tmp_path / "bank")
    rows = random_walk(500, 3, missing=0.1).T
    return place, write_shard(place, 4, ["a", "b%2Ec", "d"], rows, 100), rows


def test_a_shard_is_a_plain_parquet_table(shard):
    place, file, rows = shard
    table = pq.read_table(place.file(file.name))
    assert table.column_names == ["a", "b%2Ec", "d"]
    assert np.array_equal(table.column("b%2Ec").to_numpy(), rows[1], equal_nan=True)
    assert (file.first, file.end) == (100, 600)


def test_columns_and_stretches_are_those_written(shard):
    place, file, rows = shard
    with OpenShard(place, file) as opened:
        assert np.array_equal(opened.column(2), rows[2], equal_nan=True)
        for first, last in ((0, 1), (60, 70), (63, 65), (100, 500), (499, 500)):
            stretch = opened.stretch([2, 0], first, last)
            assert np.array_equal(stretch, rows[[2, 0], first:last].T, equal_nan=True)


def test_a_stretch_reads_only_the_pages_around_it(shard):
    place, file, _ = shard
    with OpenShard(place, file) as opened:
        before = opened.bytes_read
        opened.stretch([0], 70, 80)
        assert opened.bytes_read - before < 64 * 4 + 100


def test_every_flipped_bit_of_the_readings_is_found(shard):
    place, file, _ = shard
    content = place.read(file.name)
    for position in np.random.default_rng(0).integers(4, 500 * 3 * 4, size=40).tolist():
        flipped = bytearray(content)
        flipped[position] ^= 1 << position % 8
        place.write(file.name, bytes(flipped))
        with pytest.raises(DataError, match=file.name), OpenShard(place, file) as opened:
            _ = [opened.column(column) for column in range(3)]
        with pytest.raises(DataError, match=file.name), OpenShard(place, file) as opened:
            opened.stretch([0, 1, 2], 0, 500)


@pytest.mark.parametrize("kept", [0, 3, 200, 5_000])
def test_a_torn_file_is_named(shard, kept):
    place, file, _ = shard
    place.write(file.name, place.read(file.name)[:kept])
    with pytest.raises(DataError, match=f"{file.name} .* is damaged or torn"), OpenShard(place, file):
        pass


def test_a_missing_file_is_named(shard):
    place, file, _ = shard
    place.remove(file.name)
    with pytest.raises(DataNotFoundError, match=f"{file.name} .* is missing"), OpenShard(place, file):
        pass


def test_another_file_of_the_same_name_is_refused(shard):
    place, file, rows = shard
    other = write_shard(place, 9, ["a", "b", "c"], rows + 1, 100)
    place.write(file.name, place.read(other.name))
    with pytest.raises(DataError, match="its checksum is not that of the manifest"), OpenShard(place, file):
        pass
    with pytest.raises(DataError, match="manifest"), OpenShard(place, replace(other, steps=7)):
        pass


@given(st.lists(st.text(max_size=4), min_size=1, max_size=6, unique=True), st.booleans())
def test_columns_have_different_names_without_dots(names, targets):
    columns = column_names(Layout(len(names), (False, False, True)), names, targets)
    assert len(set(columns)) == len(columns) == (3 if targets else 2) * len(names) + 1
    assert not any("." in column for column in columns)
