"""What stays in memory, and what goes first."""

from __future__ import annotations

import numpy as np
import pytest

from retrieval.examples import random_walk
from retrieval.sharding.examples import Halves, sharded
from subcast.retrieval import WindowBank
from subcast.retrieval.sharding.cache import ShardCache

ALL = np.arange(4)


@pytest.fixture
def parts():
    bank = sharded(WindowBank(random_walk(1_000, 4), 5), 100)
    return bank._parts, bank.normalized(Halves(4), np.arange(1_000) % 2)._parts


def load(cache, parts, number, rows=ALL):
    with cache.loaded(parts.shard(number), parts.frame, parts.side(number), rows) as entry:
        return entry


def test_rows_are_read_once(parts):
    cache = ShardCache()
    load(cache, parts[0], 3, ALL[:2])
    starts = 100 * 8
    read, size = cache.bytes_read, cache.nbytes - starts
    load(cache, parts[0], 3, ALL[:1])
    assert cache.bytes_read == read
    load(cache, parts[0], 3)
    assert cache.nbytes - starts == 2 * size == 4 * 104 * 4
    assert np.array_equal(load(cache, parts[0], 3).rows[2], random_walk(1_000, 4)[300:404, 2])


def test_the_limit_holds_and_the_shard_used_last_goes_first(parts):
    one = 104 * 4 * 4 + 100 * 8
    cache = ShardCache(int(4.2 * one))
    for number in range(5):
        load(cache, parts[0], number)
        assert cache.nbytes <= cache.limit
    # a cycle over all shards finds the oldest ones still there
    assert cache.holds(parts[0].shard(0), parts[0].frame, ALL)
    assert cache.holds(parts[0].shard(4), parts[0].frame, ALL)
    assert not cache.holds(parts[0].shard(3), parts[0].frame, ALL)


def test_shards_in_other_units_go_before(parts):
    one = 104 * 4 * 4 + 100 * 8
    cache = ShardCache(int(3.2 * one))
    load(cache, parts[0], 0)
    load(cache, parts[1], 1)
    load(cache, parts[1], 2)
    assert not cache.holds(parts[0].shard(0), parts[0].frame, ALL)
    assert cache.holds(parts[1].shard(1), parts[1].frame, ALL)


def test_what_is_being_read_counts(parts):
    one = 104 * 4 * 4 + 100 * 8
    cache = ShardCache(int(3.2 * one))
    raw = parts[0]
    load(cache, raw, 0)
    entry = cache._shards[raw.frame.token, 0]
    entry.pending = 2 * one  # as if another thread were reading into it
    load(cache, raw, 1)
    assert not cache.holds(raw.shard(0), raw.frame, ALL)


def test_a_shard_in_use_stays(parts):
    cache = ShardCache(1)
    raw = parts[0]
    with cache.loaded(raw.shard(0), raw.frame, raw.side(0), ALL):
        load(cache, raw, 1)
        assert cache.holds(raw.shard(0), raw.frame, ALL)
    load(cache, raw, 2)
    assert not cache.holds(raw.shard(0), raw.frame, ALL)


@pytest.mark.parametrize("limit", [1, 1 << 30])
@pytest.mark.parametrize("which", [0, 1])
def test_stretches_are_the_same_from_memory_and_from_pages(parts, limit, which):
    own = parts[which]
    values = random_walk(1_000, 4)[300:404]
    if which:
        values = Halves(4).normalize(values, np.arange(300, 404) % 2)
    starts, rows = np.array([90, 3, 4, 50]), np.array([3, 1])
    cache = ShardCache(limit)
    found = cache.stretches(own.shard(3), own.frame, own.side(3), rows, starts, 9)
    assert np.array_equal(found, np.stack([values[start : start + 9][:, rows] for start in starts]))
    assert cache.holds(own.shard(3), own.frame, rows) == (limit > 1)
