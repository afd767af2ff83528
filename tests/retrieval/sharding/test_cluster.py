"""Searches by the tasks of a cluster equal those of one machine; faults of real processes are in test_faults.py."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retrieval import bank_contract as contract
from retrieval.examples import EXPONENTS, assert_equal, problems, random_walk, windows_of
from retrieval.sharding.examples import Halves, maker, sharded
from retrieval.sharding.test_bank import assert_same_searches
from subcast.errors import ClusterError, DataError, InputError
from subcast.retrieval import WindowBank
from subcast.retrieval.sharding import cluster

distributed = pytest.importorskip("distributed")


def in_process(workers):
    """Return the client of a cluster in this process, whose workers have one thread each."""
    return distributed.Client(
        n_workers=workers,
        threads_per_worker=1,
        processes=False,
        dashboard_address="127.0.0.1:0",
        set_as_default=False,
    )


@pytest.fixture(scope="module")
def client():
    """A cluster of two workers with one thread each, in this process."""
    with in_process(2) as client:
        yield client


@pytest.mark.parametrize("check", contract.CHECKS, ids=contract.name_of)
def test_contract(check, client):
    check(maker(200, client))


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(problems(), st.integers(10, 40), st.sampled_from(EXPONENTS))
def test_every_search_equals_the_window_bank(client, problem, steps, exponent):
    values, lengths, lookback, variables, k = problem
    total = sum(lengths)
    bank = WindowBank(values[:total], lookback, lengths=lengths)
    assert_same_searches(bank, sharded(bank, steps, client), values[total:], variables, k, exponent)


def test_units_futures_and_moments(client):
    values = random_walk(420, 5, missing=0.05)
    bank = WindowBank(values[:400], 6, starts=np.arange(380))
    slots = np.arange(400) % 2
    one, many = (each.normalized(Halves(5), slots) for each in (bank, sharded(bank, 30, client)))
    windows = windows_of(values[400:], 6)
    found = one.nearest(windows, np.arange(5), 9)
    assert_equal(found, many.nearest(windows, np.arange(5), 9))
    weights = np.ones(found.index.shape, dtype=np.float32)
    for variables in (np.array([1, 4]), np.arange(5)):
        assert np.array_equal(
            one.pool_windows(found.index, weights, variables), many.pool_windows(found.index, weights, variables)
        )
        assert np.array_equal(
            one.pool_futures(found.index, weights, variables, 4), many.pool_futures(found.index, weights, variables, 4)
        )
    ours, theirs = many.moments(10, 0, 400), one.moments(10, 0, 400)
    assert np.allclose(ours.whole, theirs.whole, rtol=1e-5, atol=1e-6)


def test_queries_that_are_large_are_sent_once(client, monkeypatch):
    monkeypatch.setattr(cluster, "_SENT_ONCE_FROM", 100)
    values = random_walk(700, 4)
    bank = WindowBank(values[:600], 6)
    shards = sharded(bank, 50, client)  # twelve shards: the tree of merges has two levels
    assert_same_searches(bank, shards, values[600:610], np.arange(4), 5, 0.5)


def test_tasks_carry_no_readings(client, monkeypatch):
    """What is sent with the tasks of a search must not grow with the bank."""
    sizes = []
    submit = distributed.Client.submit

    def counted(self, function, *arguments, **options):
        sizes.append(sum(len(distributed.protocol.pickle.dumps(each)) for each in arguments if not _is_future(each)))
        return submit(self, function, *arguments, **options)

    monkeypatch.setattr(distributed.Client, "submit", counted)
    shards = sharded(WindowBank(random_walk(20_000, 8), 12), 5_000, client)
    shards.nearest(random_walk(12, 8)[None], np.arange(8), 3)
    assert 0 < max(sizes) < 6_000  # 160 KB of readings in a shard


def _is_future(argument):
    every = argument if isinstance(argument, list) else [argument]
    return any(isinstance(each, distributed.Future) for each in every)


def test_shards_stay_with_their_worker_and_are_shared_fairly(client):
    engine = sharded(WindowBank(random_walk(600, 2), 6), 50, client)._engine
    parts = sharded(WindowBank(random_walk(600, 2), 6), 50)._parts
    first = engine._places(parts, range(len(parts)))
    assert sorted(np.unique(list(first.values()), return_counts=True)[1].tolist()) == [6, 6]
    assert engine._places(parts, range(len(parts))) == first
    engine._workers = lambda: {"tcp://gone": 1, next(iter(first.values())): 1}
    moved = engine._places(parts, range(len(parts)))
    kept = next(iter(first.values()))
    assert all(moved[number] == kept for number, worker in first.items() if worker == kept)


def test_a_shard_that_is_torn_is_refused_by_name(client):
    shards = sharded(WindowBank(random_walk(600, 2), 6), 100, client)
    file = shards._manifest.files[2]
    path = shards._parts.place.file(file.name)
    content = bytearray(Path(path).read_bytes())
    content[200] ^= 1
    Path(path).write_bytes(content)
    with pytest.raises(DataError, match=file.name):
        shards.nearest(random_walk(6, 2)[None], [0, 1], 3)


def test_what_is_not_a_client_is_refused():
    bank = WindowBank(random_walk(60, 2), 6)
    with pytest.raises(InputError, match="client must be a distributed Client"):
        sharded(bank, 100, "tcp://127.0.0.1:1")


def test_a_closed_client_is_one_sentence():
    bank = WindowBank(random_walk(60, 2), 6)
    with in_process(1) as own:
        shards = sharded(bank, 100, own)
    with pytest.raises(ClusterError, match=r"connect another one with bank.connect"):
        shards.nearest(random_walk(6, 2)[None], [0, 1], 3)
    shards.connect(None)
    shards.nearest(random_walk(6, 2)[None], [0, 1], 3)


def test_without_workers_it_waits_and_then_says_so():
    bank = WindowBank(random_walk(60, 2), 6)
    with in_process(0) as own:
        shards = sharded(bank, 100, own, patience=0.3)
        with pytest.raises(ClusterError, match=r"has had no worker for 0.3 s: start one with `dask worker"):
            shards.nearest(random_walk(6, 2)[None], [0, 1], 3)


def test_the_memory_of_a_worker_bounds_its_columns(client):
    limits = client.run(lambda: (cluster.worker_cache(1 << 40).limit, cluster.worker_cache(7).limit))
    for large, small in limits.values():
        assert small == 7
        assert large <= 1 << 40


def test_what_else_a_worker_holds_leaves_less_for_columns(monkeypatch):
    monkeypatch.setattr("psutil.Process", lambda: SimpleNamespace(memory_info=lambda: SimpleNamespace(rss=500)))
    assert cluster._room(1000, 100) == 200  # 600 in all, 400 of it is held by others
    assert cluster._room(1000, 450) == 400  # never more than two fifths
    assert cluster._room(700, 0) < 0
