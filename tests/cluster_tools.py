"""A Dask cluster of real processes on 127.0.0.1, which tests may kill."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class ProcessCluster:
    """A scheduler and workers with one thread each, as processes of their own; all end with the `with` statement."""

    def __init__(self, workers=2, memory="1GB"):
        self.port, self.memory = free_port(), memory
        self.address = f"tcp://127.0.0.1:{self.port}"
        self._first = workers
        self.scheduler = None
        self.workers = []

    def __enter__(self):
        self.start_scheduler()
        for _ in range(self._first):
            self.start_worker()
        return self

    def __exit__(self, *_):
        for process in [*self.workers, self.scheduler]:
            if process is not None and process.poll() is None:
                process.kill()
        for process in [*self.workers, self.scheduler]:
            if process is not None:
                process.wait(20)

    def start_scheduler(self):
        self.scheduler = _run("distributed.cli.dask_scheduler", "--port", str(self.port))
        _until(lambda: _listens(self.port))

    def start_worker(self):
        """Start a worker without a nanny, so that nobody starts it again when it is killed."""
        options = ("--no-nanny", "--nthreads", "1", "--memory-limit", self.memory)
        worker = _run("distributed.cli.dask_worker", self.address, *options)
        self.workers.append(worker)
        return worker

    def client(self):
        """Return a client that sees all the workers that live."""
        import distributed

        client = distributed.Client(self.address, set_as_default=False, timeout=30)
        client.wait_for_workers(sum(worker.poll() is None for worker in self.workers), timeout=60)
        return client

    def kill_worker(self, number):
        self.workers[number].send_signal(signal.SIGKILL)
        self.workers[number].wait(20)

    def restart_scheduler(self):
        """Kill the scheduler; its workers end by themselves or are killed. Start another at the same address."""
        self.scheduler.kill()
        self.scheduler.wait(20)
        for worker in self.workers:
            if worker.poll() is None:
                worker.kill()
            worker.wait(20)
        self.workers = []
        self.start_scheduler()


def _run(module, *arguments):
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")]),
        "OMP_NUM_THREADS": "1",
        "NUMBA_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", module, *arguments, "--host", "127.0.0.1", "--no-dashboard"]
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )


def _listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the cluster did not start"
        time.sleep(0.05)


# Run on the workers by client.run: this module is on their path.


def slow_searches(seconds):
    """Let every search of a shard in this process take longer, so that it can be interrupted."""
    from subcast.retrieval.sharding import cluster, tasks

    def slow(*arguments):
        time.sleep(seconds)
        return tasks.search_shard(*arguments)

    cluster.search_shard = slow


def cached_bytes():
    from subcast.retrieval.sharding import cluster

    return cluster._CACHE.nbytes


def bytes_read():
    from subcast.retrieval.sharding import cluster

    return cluster._CACHE.bytes_read


def peak_memory():
    """Return the largest resident size of this process so far, in bytes (getrusage would count its parent's too)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def processor_seconds():
    return time.process_time()


def slow_cells(seconds):
    """Let every cell of an experiment in this process take longer."""
    from subcast.experiments import on_cluster, run

    def slow(*arguments, **options):
        time.sleep(seconds)
        return run.run_cells(*arguments, **options)

    on_cluster.run_cells = slow
