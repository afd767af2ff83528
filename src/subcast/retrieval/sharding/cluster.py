"""Work on the shards by the workers of a Dask cluster: one task for each shard.

Tasks carry the path, the checksum and the queries, never readings. What else a worker needs (units, starts) is a task
of its own, so that the scheduler can give it to another worker after a death. Columns stay in the memory of the worker
that read them, and the next task for the shard prefers that worker.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from subcast.errors import ClusterError, DataError, DataNotFoundError, InputError, SubcastError
from subcast.retrieval.sharding.cache import Shard, ShardCache
from subcast.retrieval.sharding.engines import Parts
from subcast.retrieval.sharding.moments import Span, Sums, merge_sums, sum_shard
from subcast.retrieval.sharding.tasks import Answer, Bounds, Call, fetch_stretches, merge_answers, search_shard
from subcast.retrieval.sharding.units import Frame, Side

# A worker pauses when it takes 0.8 of its memory limit: so much of it may its columns take, and so much all together.
_SHARE_OF_MEMORY, _MOST_OF_MEMORY = 0.4, 0.6
_MERGED_AT_ONCE = 8
_SENT_ONCE_FROM = 1 << 20  # bytes of queries for all shards together, above which they are a task of their own
_LOOK = 1.0  # seconds between two looks at a cluster that is busy
_BANKS_KEPT = 4
_MOST_ATTEMPTS = 10
_KINDS = (DataError, DataNotFoundError, InputError)


class _AllGoneError(Exception):
    """All workers that were asked are gone, and there are others."""


class WorkerError(Exception):
    """An error of subcast on its way from a worker: its class and its sentence.

    Some of our errors are also OSErrors, which distributed cannot send with their class.
    """


# What runs on a worker

_CACHE, _BOUNDS = ShardCache(), Bounds()


def worker_cache(limit: int) -> ShardCache:
    """Return the columns that this process has read; their limit is at most a share of the worker's memory limit."""
    from distributed import get_worker

    try:
        memory = get_worker().memory_manager.memory_limit
    except (ValueError, AttributeError):  # not on a worker
        memory = None
    _CACHE.limit = max(1, min(limit, _room(memory, _CACHE.nbytes))) if memory else limit
    return _CACHE


def _room(memory: int, held: int) -> int:
    """Return how much memory columns may take in a worker with this limit, beside all else that it holds now."""
    import psutil

    others = int(psutil.Process().memory_info().rss) - held
    return int(min(memory * _SHARE_OF_MEMORY, memory * _MOST_OF_MEMORY - others))


def told(work: Callable[..., Any], *arguments: Any) -> Any:
    """Do some work; an error of subcast is raised alone, without the one that it comes from."""
    try:
        return work(*arguments)
    except SubcastError as error:
        problem = WorkerError(type(error).__name__, str(error))
    raise problem


def keep(what: Any) -> Any:
    """Return what was given: a task whose result stays on a worker, and can be made again on another."""
    return what


def run_search(shard: Shard, frame: Frame, side: Side, call: Call, limit: int) -> Answer:
    """Search one shard, with one thread: the threads of the worker are the tasks that it runs at a time."""
    answer: Answer = told(search_shard, worker_cache(limit), _BOUNDS, shard, frame, side, call, 1)
    return answer


def run_fetch(
    shard: Shard, frame: Frame, side: Side, rows: NDArray[np.int64], starts: NDArray[np.int64], length: int, limit: int
) -> NDArray[np.float32]:
    """Return steps of one shard, [starts, length, rows]."""
    stretches: NDArray[np.float32] = told(
        fetch_stretches, worker_cache(limit), shard, frame, side, rows, starts, length
    )
    return stretches


def run_sums(
    shard: Shard,
    frame: Frame,
    side: Side,
    others: list[Shard],
    other_sides: list[Side],
    span: Span,
    own: tuple[int, int],
    limit: int,
) -> Sums | None:
    """Return the sums of one shard, whose last chunk may reach into others."""
    pieces = [(shard, side), *zip(others, other_sides, strict=True)]
    total: Sums | None = told(sum_shard, worker_cache(limit), pieces, frame, span, own)
    return total


# What runs beside the client


class ClusterEngine:
    """Works on the shards by the workers of a client.

    Parameters
    ----------
    client
        a `distributed.Client`
    cache_bytes
        memory for columns in each worker
    patience
        seconds to wait for a worker when there is none
    """

    def __init__(self, client: Any, cache_bytes: int, patience: float) -> None:
        _check_client(client)
        self.client = client
        self.cache_bytes = cache_bytes
        self.patience = patience
        self._placement: dict[tuple[str, int], str] = {}
        self._kept: dict[str, dict[int, Any]] = {}
        self._scheduler: str | None = None
        self._identity()

    def search(self, parts: Parts, call: Call, threads: int | None) -> Answer:
        """Return the k nearest candidates of all shards, merged in a tree by the workers."""
        numbers = parts.searched()

        def submit(workers: dict[int, str]) -> list[Any]:
            what: Any = call
            if call.nbytes * len(numbers) > _SENT_ONCE_FROM:
                what = self.client.submit(keep, call, key=f"subcast-queries-{uuid4().hex}", pure=False)
            futures = [
                self._task("search", run_search, parts, number, workers, what, self.cache_bytes) for number in numbers
            ]
            return self._tree(merge_answers, futures)

        answer: Answer = self._run(parts, numbers, submit)[0]
        return answer

    def fetch(
        self, parts: Parts, rows: NDArray[np.int64], requests: Sequence[tuple[int, NDArray[np.int64]]], length: int
    ) -> list[NDArray[np.float32]]:
        """Return the steps from some starts of each shard on, [starts, length, rows] for each request."""

        def submit(workers: dict[int, str]) -> list[Any]:
            return [
                self._task("fetch", run_fetch, parts, number, workers, rows, starts, length, self.cache_bytes)
                for number, starts in requests
            ]

        return self._run(parts, [number for number, _ in requests], submit)

    def sums(self, parts: Parts, span: Span) -> Sums | None:
        """Return sums of products over the whole series, added in the order of time."""
        reaching = {number: parts.reaching(number, span)[1:] for number in range(len(parts))}

        def submit(workers: dict[int, str]) -> list[Any]:
            futures = []
            for number, others in reaching.items():
                sides = [self._companions(parts, each)[1] for each in others]
                shards, own = [parts.shard(each) for each in others], parts.own(number)
                arguments = (shards, sides, span, own, self.cache_bytes)
                futures.append(self._task("sums", run_sums, parts, number, workers, *arguments))
            return self._tree(merge_sums, futures)

        total: Sums | None = self._run(parts, list(reaching), submit)[0]
        return total

    # Tasks

    def _run(self, parts: Parts, numbers: list[int], submit: Callable[[dict[int, str]], list[Any]]) -> list[Any]:
        """Return the results of the tasks about some shards; begin again if all the workers they went to are gone."""
        with self._sentences(parts):
            for _ in range(_MOST_ATTEMPTS):
                workers = self._places(parts, numbers)
                try:
                    return self._results(submit(workers), set(workers.values()))
                except _AllGoneError:
                    continue
            raise ClusterError(
                f"all workers of the cluster at {_address(self.client)} died {_MOST_ATTEMPTS} times during one call: "
                "look into their logs"
            )

    def _task(
        self,
        name: str,
        run: Callable[..., Any],
        parts: Parts,
        number: int,
        workers: dict[int, str],
        *arguments: Any,
    ) -> Any:
        """Return the future of a task about one shard, on the worker that has its columns if that one lives."""
        frame, side = self._companions(parts, number)
        return self.client.submit(
            run,
            parts.shard(number),
            frame,
            side,
            *arguments,
            key=f"subcast-{name}-{number}-{uuid4().hex}",
            workers=[workers[number]],
            allow_other_workers=True,
            pure=False,
        )

    def _companions(self, parts: Parts, number: int) -> tuple[Any, Any]:
        """Return the futures of what all shards of the bank share, and of what belongs to one besides its file.

        Any worker may have them: a task that prefers a worker would wait for ever if all died and others came.
        """
        token = parts.frame.token
        kept = self._kept.setdefault(token, {})
        while len(self._kept) > _BANKS_KEPT:
            self._kept.pop(next(iter(self._kept)))
        if -1 not in kept:
            kept[-1] = self.client.submit(keep, parts.frame, key=f"subcast-frame-{token}", pure=False)
        if number not in kept:
            kept[number] = self.client.submit(
                keep, parts.side(number), key=f"subcast-side-{token}-{number}", pure=False
            )
        return kept[-1], kept[number]

    def _tree(self, merge: Callable[[list[Any]], Any], futures: list[Any]) -> list[Any]:
        """Return the one future of all results merged, a few at a time and in order."""
        while len(futures) > 1:
            groups = [futures[i : i + _MERGED_AT_ONCE] for i in range(0, len(futures), _MERGED_AT_ONCE)]
            futures = [
                self.client.submit(merge, group, key=f"subcast-merge-{uuid4().hex}", pure=False) for group in groups
            ]
        return futures

    def _places(self, parts: Parts, numbers: Sequence[int]) -> dict[int, str]:
        """Return a worker for each shard: the one that had it, unless it is gone or has more than its part."""
        threads = self._workers()
        token = parts.frame.token
        every = list(range(len(parts)))
        most = {worker: -(-len(every) * count // sum(threads.values())) for worker, count in threads.items()}
        taken = dict.fromkeys(threads, 0)
        without = []
        for number in every:
            worker = self._placement.get((token, number))
            if worker in taken and taken[worker] < most[worker]:
                taken[worker] += 1
            else:
                without.append(number)
        for number in without:
            worker = min(threads, key=lambda each: (taken[each] / threads[each], each))
            self._placement[token, number] = worker
            taken[worker] += 1
        return {number: self._placement[token, number] for number in numbers}

    # The state of the cluster

    def _identity(self) -> dict[str, Any]:
        """Return what the scheduler says about itself; raise if it is gone or is another one than before."""
        client = self.client
        if client.status in ("closed", "closing"):
            raise ClusterError(
                "the client is closed, or lost its scheduler: connect another one with bank.connect(Client(address))"
            )
        try:
            identity: dict[str, Any] = client.sync(client.scheduler.identity, callback_timeout=max(self.patience, 5.0))
        except (OSError, TimeoutError) as error:
            raise ClusterError(
                f"the scheduler at {_address(client)} does not answer ({type(error).__name__}): start it again, then "
                "call again"
            ) from error
        before, self._scheduler = self._scheduler, str(identity["id"])
        if before not in (None, self._scheduler):
            self._kept, self._placement = {}, {}
            raise ClusterError(
                f"the scheduler at {_address(client)} was restarted, and what it was computing is lost; the bank is "
                "not: call again"
            )
        return identity

    def _workers(self) -> dict[str, int]:
        """Return the threads of each worker; wait for one if there is none."""
        since = time.monotonic()
        while True:
            workers = self._identity()["workers"]
            threads = {str(address): int(worker["nthreads"]) for address, worker in _running(workers).items()}
            if threads:
                return threads
            self._give_up_after(since, bool(workers))
            time.sleep(min(0.2, max(self.patience, 0.01)))

    def _give_up_after(self, since: float, paused: bool) -> None:
        if time.monotonic() - since <= self.patience:
            return
        if paused:
            raise ClusterError(
                f"the workers of the cluster at {_address(self.client)} have been paused for lack of memory for "
                f"{self.patience:g} s: give them more memory, or write the bank with fewer steps for each shard"
            )
        raise ClusterError(
            f"the cluster at {_address(self.client)} has had no worker for {self.patience:g} s: start one with "
            f"`dask worker {_address(self.client)}`, then call again"
        )

    def _results(self, futures: list[Any], asked: set[str]) -> list[Any]:
        """Return the results; look now and then whether any worker is left that can compute them.

        If none of those that were asked is there any more, but others are, tasks that preferred them may wait for
        ever: then raise, to begin again.
        """
        from distributed import wait

        alone_since: float | None = None
        try:
            while True:
                try:
                    with self.client.as_current():
                        wait(futures, timeout=_LOOK)
                    return list(self.client.gather(futures))
                except TimeoutError:
                    living = self._identity()["workers"]
                    if living and not asked & set(living):
                        raise _AllGoneError from None
                    alone_since = None if _running(living) else alone_since or time.monotonic()
                    if alone_since is not None:
                        self._give_up_after(alone_since, bool(living))
        except BaseException:
            if self.client.status == "running":
                self.client.cancel(futures)
            raise

    @contextmanager
    def _sentences(self, parts: Parts) -> Iterator[None]:
        """Turn what goes wrong on the cluster into one sentence."""
        from concurrent.futures import CancelledError

        from distributed import KilledWorker
        from distributed.comm import CommClosedError

        try:
            yield
        except SubcastError:
            raise
        except WorkerError as error:
            kind, sentence = error.args
            raise {each.__name__: each for each in _KINDS}.get(kind, DataError)(sentence) from None
        except KilledWorker as error:
            raise ClusterError(
                f"workers died again and again while they worked on {parts.place.address}: give them more memory, or "
                "write the bank with fewer steps for each shard"
            ) from error
        except (CancelledError, CommClosedError) as error:
            raise ClusterError(
                f"the connection to the scheduler at {_address(self.client)} was lost, and with it the call: check "
                "that it runs, then call again"
            ) from error
        except (OSError, RuntimeError, ImportError, AttributeError, TypeError, MemoryError) as error:
            self._kept.clear()  # what a worker could not read may be among them
            raise ClusterError(
                f"the cluster at {_address(self.client)} could not do the work ({type(error).__name__}: "
                f"{' '.join(str(error).split())[:200]}): its workers need the same version of subcast"
            ) from error


def _running(workers: dict[str, Any]) -> dict[str, Any]:
    """Return the workers that take tasks; a worker whose memory is nearly full is paused."""
    return {address: worker for address, worker in workers.items() if worker.get("status", "running") == "running"}


def _address(client: Any) -> str:
    scheduler = client.scheduler
    return "an unknown address" if scheduler is None else str(scheduler.address)


def _check_client(client: Any) -> None:
    """Raise unless the client is one that this process can wait for."""
    try:
        from distributed import Client
    except ModuleNotFoundError:
        raise InputError("client= needs distributed: install it with pip install 'subcast[cluster]'") from None
    if not isinstance(client, Client):
        raise InputError(f"client must be a distributed Client, or None for this process, got {type(client).__name__}")
    if client.asynchronous:
        raise InputError("client must not be asynchronous: make it with Client(address) outside of a coroutine")
