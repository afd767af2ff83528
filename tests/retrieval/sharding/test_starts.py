"""Runs of starts against lists of starts."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from subcast.retrieval.layout import all_starts
from subcast.retrieval.sharding.starts import StartRuns
from twins import sharding_twins as naive

SETS = st.one_of(
    st.sets(st.integers(0, 60), max_size=40),
    st.builds(lambda a, n, s: set(range(a, a + n * s, s)), st.integers(0, 9), st.integers(1, 20), st.integers(1, 4)),
)


@given(SETS, SETS, st.integers(-1, 70), st.integers(-1, 70))
def test_runs_are_the_starts(one, other, first, last):
    starts = sorted(one | other)
    runs = StartRuns.of(np.array(starts, dtype=np.int64))
    assert naive.runs_to_starts(runs.runs.tolist()) == starts
    assert len(runs) == len(starts)
    assert runs.before(first) == sum(start < first for start in starts)
    assert runs.between(first, last).tolist() == [start for start in starts if first <= start < last]
    assert runs.at(np.arange(len(starts))).tolist() == starts


@given(st.lists(st.integers(1, 20), min_size=1, max_size=5), st.integers(1, 8))
def test_every_start_with_room(lengths, length):
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    expected = all_starts(offsets, length).tolist()
    assert naive.runs_to_starts(StartRuns.with_room(offsets, length).runs.tolist()) == expected


def test_regular_starts_are_few_runs():
    assert len(StartRuns.of(np.arange(0, 10_000, 3)).runs) == 1
    assert len(StartRuns.of(np.concatenate([np.arange(50), np.arange(90, 100)])).runs) <= 3
