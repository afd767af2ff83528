"""The work on one shard: bounds only save work, and merging keeps ties in the order of starts."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from retrieval.examples import random_walk, windows_of
from retrieval.sharding.examples import sharded
from subcast.retrieval import WindowBank, search
from subcast.retrieval.compiled.kernel import NONE
from subcast.retrieval.sharding.cache import ShardCache
from subcast.retrieval.sharding.tasks import Bounds, Call, merge_answers, neighbors_of, search_shard
from twins import sharding_twins as naive

PAIRS = st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0, 2.0]), st.integers(0, 99)), max_size=4)


@given(st.lists(PAIRS, min_size=1, max_size=5), st.integers(1, 5))
def test_merging_equals_sorting(shards, k):
    used, answers = set(), []
    for pairs in shards:
        own = [pair for pair in sorted(pairs) if pair[1] not in used and not used.add(pair[1])][:k]
        filled = own + [(np.inf, NONE)] * (k - len(own))
        answers.append([(np.array([[d for d, _ in filled]], np.float32), np.array([[i for _, i in filled]]))])
    expected = naive.merged([[(d, int(i)) for d, i in zip(*(x[0] for x in a[0]), strict=True)] for a in answers], k)
    ((distance, index),) = merge_answers(answers)
    assert list(zip(distance[0].tolist(), index[0].tolist(), strict=True)) == expected
    found = neighbors_of(merge_answers(answers))[0]
    assert ((found.index == -1) == np.isinf(found.distance)).all()


def call_of(bank, windows, k):
    excluded = np.zeros((len(windows), 2), dtype=np.int64)
    groups = search.window_groups(
        bank, windows, np.arange(3), k, shared=None, mask=None, min_overlap=0.5, excluded=excluded
    )
    return Call("one", tuple((queries, limits) for _, queries, limits in groups), 0.5, False)


def test_a_bound_from_other_shards_leaves_out_only_what_is_farther():
    values = random_walk(900, 3)
    bank = sharded(WindowBank(values, 6), 100)
    parts, call = bank._parts, call_of(bank, windows_of(values[500:510] + 0.01, 6), 4)
    free = search_shard(ShardCache(), Bounds(), parts.shard(5), parts.frame, parts.side(5), call, 1)[0]
    bounds = Bounds()
    bounds.add("one", 0, np.full((5, 4), free[0][:, 1:2]))  # four others are as near as the second of these
    bounded = search_shard(ShardCache(), bounds, parts.shard(5), parts.frame, parts.side(5), call, 1)[0]
    nearer = free[0] <= free[0][:, 1:2]
    assert np.array_equal(bounded[1][nearer], free[1][nearer])
    assert np.array_equal(bounded[0][nearer], free[0][nearer])
    assert (bounded[1][~nearer] == NONE).all()
    assert np.isinf(bounded[0][~nearer]).all()


def test_bounds_are_the_smallest_distances_of_a_call():
    bounds = Bounds()
    assert bounds.get("a", 0) is None
    bounds.add("a", 0, np.array([[1.0, 4.0]], np.float32))
    bounds.add("a", 0, np.array([[2.0, 3.0]], np.float32))
    bounds.add("b", 0, np.array([[0.0, 0.0]], np.float32))
    assert bounds.get("a", 0).tolist() == [2.0]
    for number in range(100):
        bounds.add(f"more {number}", 0, np.zeros((1, 2), np.float32))
    assert bounds.get("a", 0) is None  # only the last calls are kept
