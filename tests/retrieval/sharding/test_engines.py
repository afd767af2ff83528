"""Which shard holds what."""

from __future__ import annotations

import numpy as np

from retrieval.examples import random_walk
from retrieval.sharding.examples import sharded
from subcast.retrieval import WindowBank
from subcast.retrieval.sharding.cache import ShardCache
from subcast.retrieval.sharding.engines import LocalEngine
from twins import sharding_twins as naive


def test_starts_belong_to_the_last_shard_that_begins_before_them():
    parts = sharded(WindowBank(random_walk(200, 2), 6), 50)._parts
    files = naive.files_of(200, 50, parts.manifest.overlap)
    starts = np.arange(200)
    assert parts.holding(starts).tolist() == [naive.owner_of(start, files) for start in starts.tolist()]


def test_only_shards_with_candidates_are_searched_the_newest_first():
    parts = sharded(WindowBank(random_walk(300, 2), 6, starts=[3, 4, 120, 290]), 50)._parts
    assert parts.searched() == [5, 2, 0]


def test_each_request_gets_its_own_steps():
    values = random_walk(300, 2)
    parts = sharded(WindowBank(values, 6), 50)._parts
    first, second = LocalEngine(ShardCache()).fetch(
        parts, np.array([1]), [(0, np.array([7, 2])), (3, np.array([160]))], 5
    )
    assert np.array_equal(first[..., 0], [values[7:12, 1], values[2:7, 1]])
    assert np.array_equal(second[0, :, 0], values[160:165, 1])
