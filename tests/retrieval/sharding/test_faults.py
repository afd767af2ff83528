"""Faults of a cluster of real processes: deaths of workers, no worker, lost shards, a scheduler that was restarted."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest

import cluster_tools
import subcast as sc
from cluster_tools import ProcessCluster
from retrieval.examples import assert_equal, random_walk, windows_of
from retrieval.sharding.examples import new_folder, sharded
from subcast.errors import ClusterError, DataError, DataNotFoundError

pytest.importorskip("distributed")
pytestmark = pytest.mark.cluster

VALUES = random_walk(6_000, 5, missing=0.01)
WINDOWS = windows_of(VALUES[100:130] + 0.1, 6)
BANK = sc.WindowBank(VALUES, 6)
EXPECTED = BANK.nearest(WINDOWS, np.arange(5), 8)


def query(shards):
    return shards.nearest(WINDOWS, np.arange(5), 8)


class InThread(threading.Thread):
    """Runs a function, and keeps its result or its error."""

    def __init__(self, function):
        super().__init__(daemon=True)
        self.function, self.result, self.error = function, None, None
        self.start()

    def run(self):
        try:
            self.result = self.function()
        except Exception as error:
            self.error = error

    def wait(self, seconds=120):
        self.join(seconds)
        assert not self.is_alive(), "the call did not end"
        if self.error is not None:
            raise self.error
        return self.result


def test_a_worker_that_dies_in_mid_query_changes_nothing():
    with ProcessCluster() as cluster, cluster.client() as client:
        shards = sharded(BANK, 500, client)
        client.run(cluster_tools.slow_searches, 0.5)
        call = InThread(lambda: query(shards))
        time.sleep(1.2)  # each of the twelve searches takes half a second
        cluster.kill_worker(0)
        assert_equal(call.wait(), EXPECTED)


def test_a_worker_that_dies_with_its_columns_changes_nothing():
    with ProcessCluster() as cluster, cluster.client() as client:
        shards = sharded(BANK, 500, client)
        assert_equal(query(shards), EXPECTED)
        held = client.run(cluster_tools.cached_bytes)
        assert min(held.values()) > 0  # both have columns
        read = sum(client.run(cluster_tools.bytes_read).values())
        assert_equal(query(shards), EXPECTED)
        assert sum(client.run(cluster_tools.bytes_read).values()) == read  # the tasks went to where the columns are
        cluster.kill_worker(1)
        assert_equal(query(shards), EXPECTED)
        assert_equal(shards.nearest_sliding(VALUES[100:130] + 0.1, np.arange(5), 8), EXPECTED)
        cluster.start_worker()
        client.wait_for_workers(2, timeout=60)
        assert_equal(query(shards), EXPECTED)
        assert min(client.run(cluster_tools.cached_bytes).values()) > 0  # the new one has its part


def last_reading(x):
    return np.repeat(x[:, -1:, :, 0], 3, axis=1)


def test_a_worker_that_dies_during_fit_changes_nothing(tmp_path):
    parts = sc.load_dataset("clouds", n_plants=6, n_steps=2500).split(lookback=6, horizon=3)
    folder = new_folder()
    sc.WindowBank(parts.train.series.values, 6, starts=np.asarray(parts.train.starts)).write_shards(folder, steps=300)
    options = {"progress": False, "effort": 0.2}
    one = sc.SubsetForecaster(last_reading, **options).fit(parts.train, parts.val)
    with ProcessCluster() as cluster, cluster.client() as client:
        client.run(cluster_tools.slow_searches, 0.02)
        bank = sc.ShardedBank(folder, client)
        fit = InThread(lambda: sc.SubsetForecaster(last_reading, bank=bank, **options).fit(parts.train, parts.val))
        time.sleep(2.0)
        assert fit.is_alive()
        cluster.kill_worker(0)
        many = fit.wait(300)
        assert many.settings_ == one.settings_
        ours, theirs = (each.predict_many(parts.test[::7], present=[0, 3]) for each in (many, one))
        assert np.allclose(ours.mean, theirs.mean, rtol=1e-6, atol=1e-6)
        many.save(tmp_path / "plant")
        loaded = sc.load(tmp_path / "plant", model=last_reading)
        loaded.fitted_.bank.connect(client)
        again = loaded.predict_many(parts.test[::7], present=[0, 3])
        assert np.allclose(again.mean, theirs.mean, rtol=1e-6, atol=1e-6)


def test_without_workers_it_waits_then_says_so_and_goes_on_when_there_is_one():
    with ProcessCluster() as cluster, cluster.client() as client:
        shards = sharded(BANK, 500, client, patience=2.0)
        cluster.kill_worker(0)
        cluster.kill_worker(1)
        began = time.monotonic()
        with pytest.raises(ClusterError, match=r"has had no worker for 2 s: start one with `dask worker tcp://127"):
            query(shards)
        assert 2.0 <= time.monotonic() - began < 15
        call = InThread(lambda: query(sharded(BANK, 500, client, patience=60)))
        time.sleep(0.5)
        cluster.start_worker()
        assert_equal(call.wait(), EXPECTED)


def test_the_last_worker_dies_in_mid_query():
    with ProcessCluster(workers=1) as cluster, cluster.client() as client:
        shards = sharded(BANK, 500, client, patience=2.0)
        client.run(cluster_tools.slow_searches, 0.4)
        call = InThread(lambda: query(shards))
        time.sleep(1.0)
        cluster.kill_worker(0)
        with pytest.raises(ClusterError, match="has had no worker for 2 s"):
            call.wait(30)
        cluster.start_worker()
        client.wait_for_workers(1, timeout=60)
        assert_equal(query(shards), EXPECTED)


def test_a_worker_that_comes_in_time_finishes_the_query():
    with ProcessCluster(workers=1) as cluster, cluster.client() as client:
        shards = sharded(BANK, 500, client, patience=60)
        client.run(cluster_tools.slow_searches, 0.4)
        call = InThread(lambda: query(shards))
        time.sleep(1.0)
        cluster.kill_worker(0)
        time.sleep(1.0)
        cluster.start_worker()
        assert_equal(call.wait(), EXPECTED)


def test_a_shard_that_is_missing_or_torn_is_refused_by_name():
    with ProcessCluster(workers=1) as cluster, cluster.client() as client:
        shards = sharded(BANK, 500, client)
        torn = Path(shards.folder) / shards._manifest.files[3].name
        torn.write_bytes(torn.read_bytes()[:5_000])
        with pytest.raises(DataError, match=torn.name):
            query(shards)
        with pytest.raises(DataError, match=f"{torn.name} .* is torn"):
            sc.ShardedBank(shards.folder)
        others = sharded(sc.WindowBank(VALUES + 1, 6), 500, client)
        gone = Path(others.folder) / others._manifest.files[7].name
        gone.unlink()
        with pytest.raises(DataNotFoundError, match=f"{gone.name} .* is missing"):
            query(others)
        with pytest.raises(DataNotFoundError, match=gone.name):
            sc.ShardedBank(others.folder)


def test_a_scheduler_that_was_restarted_is_said_once():
    with ProcessCluster(workers=1) as cluster, cluster.client() as client:
        shards = sharded(BANK, 500, client)
        assert_equal(query(shards), EXPECTED)
        cluster.restart_scheduler()
        cluster.start_worker()
        end = time.monotonic() + 60
        while client.status != "running" and time.monotonic() < end:
            time.sleep(0.1)
        with pytest.raises(ClusterError, match=r"was restarted, .* call again"):
            query(shards)
        assert_equal(query(shards), EXPECTED)


def test_a_scheduler_that_dies_in_mid_query_is_one_sentence():
    with ProcessCluster(workers=1) as cluster, cluster.client() as client:
        shards = sharded(BANK, 500, client, patience=3.0)
        client.run(cluster_tools.slow_searches, 0.4)
        call = InThread(lambda: query(shards))
        time.sleep(1.0)
        cluster.scheduler.kill()
        with pytest.raises(ClusterError, match="scheduler at"):
            call.wait(60)


def test_shards_at_an_address_of_fsspec():
    folder = f"local://{new_folder()}"  # goes through fsspec, as s3:// would
    BANK.write_shards(folder, steps=700)
    with ProcessCluster() as cluster, cluster.client() as client:
        assert_equal(query(sc.ShardedBank(folder, client)), EXPECTED)


def test_a_worker_without_memory_is_one_sentence():
    with ProcessCluster(workers=1, memory="60MB") as cluster, cluster.client() as client:
        shards = sharded(BANK, 500, client, patience=3.0)
        with pytest.raises(ClusterError, match="paused for lack of memory for 3 s: give them more memory"):
            query(shards)
