"""Measure a bank in files: what a worker costs against the plain bank, two workers, bytes read, and memory.

    python benchmarks/cluster.py                       # 1e6 and 1e7 windows; writes results/cluster.json
    python benchmarks/cluster.py --windows 1e8         # adds 1e8 windows (8 GB on disk, 12 GB of memory) to the record
    python benchmarks/cluster.py --quick               # 1e5 windows, less than a minute; writes nothing

Scheduler and workers are processes of their own on 127.0.0.1, with one thread each; the plain bank uses one thread
too. Each part first checks that both sides give the same neighbors and distances, to the bit, and then times them in
turns. On a machine that does other work too, processor seconds are the better figure; both are recorded.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import cluster_tools
from cluster_tools import ProcessCluster
from records import RESULTS, seconds, write_record

import subcast as sc
from subcast.retrieval.layout import Layout

LOOKBACK, HORIZON, VARIABLES, K, EXPONENT, BATCH = 12, 12, 20, 10, 0.5, 64
PRESENT = np.array([1, 6, 11, 16])  # a fifth of the variables, as when many sensors are silent
CHUNK = 1 << 18
SEED = 0
PACKAGES = ("numpy", "numba", "pyarrow", "distributed")


def chunks(n_steps: int) -> Iterator[np.ndarray]:
    """Yield readings [t, n] in pieces: daily cycles and slow disturbances that the variables share in part."""
    rng = np.random.default_rng(SEED)
    phase, loads = rng.uniform(0, 2 * np.pi, VARIABLES), rng.normal(size=(6, VARIABLES))
    from scipy.signal import lfilter

    state = np.zeros((1, 6))
    for first in range(0, n_steps, CHUNK):
        steps = np.arange(first, min(first + CHUNK, n_steps))
        common, state = lfilter([0.2], [1, -0.98], rng.normal(size=(len(steps), 6)), axis=0, zi=state)
        daily = np.sin(2 * np.pi * steps[:, None] / 1440 + phase)
        noise = 0.1 * rng.normal(size=(len(steps), VARIABLES))
        yield (daily + common @ loads + noise).astype(np.float32)


def write(folder: Path, windows: int, steps: int | None = None) -> float:
    """Write a bank of so many windows in a stream; return the seconds it took."""
    n_steps = windows + LOOKBACK + HORIZON - 1
    began = time.perf_counter()
    with sc.ShardWriter(folder, LOOKBACK, HORIZON, steps=steps) as writer:
        for chunk in chunks(n_steps):
            writer.add(chunk)
    return time.perf_counter() - began


def plain_bank(windows: int) -> sc.WindowBank:
    """Return the same bank in memory; rows that are not in S are never read, so they are left empty."""
    n_steps = windows + LOOKBACK + HORIZON - 1
    rows = np.empty((VARIABLES, n_steps), dtype=np.float32)
    place = 0
    for chunk in chunks(n_steps):
        rows[PRESENT, place : place + len(chunk)] = chunk.T[PRESENT]
        place += len(chunk)
    bank = sc.WindowBank.__new__(sc.WindowBank)
    offsets, holes = np.array([0, n_steps]), np.zeros(VARIABLES, dtype=bool)
    bank._store(rows, Layout(VARIABLES, (False,)), LOOKBACK, offsets, np.arange(windows), holes, None)
    return bank


def queries(windows: int, batch: int = BATCH) -> np.ndarray:
    """Return windows [b, t, s] of the first days, a little changed."""
    rng = np.random.default_rng(SEED + 1)
    values = next(iter(chunks(min(windows, CHUNK))))
    starts = rng.integers(0, len(values) - LOOKBACK, batch)
    found = values[starts[:, None] + np.arange(LOOKBACK)][:, :, PRESENT]
    return (found + 0.2 * rng.normal(size=found.shape)).astype(np.float32)


def agree(one: Any, other: Any) -> None:
    """Stop unless two results are the same to the bit."""
    if not (np.array_equal(one.index, other.index) and np.array_equal(one.distance, other.distance)):
        raise SystemExit("the two sides do not agree: nothing is measured")


@contextmanager
def workers(count: int, memory: str = "16GB") -> Iterator[tuple[ProcessCluster, Any]]:
    """Yield a cluster of workers with one thread each, and a client."""
    with ProcessCluster(workers=count, memory=memory) as cluster, cluster.client() as client:
        yield cluster, client


def processor_seconds(client: Any) -> float:
    """Return the processor seconds of all workers so far."""
    return float(sum(client.run(cluster_tools.processor_seconds).values()))


def evict(folder: Path) -> None:
    """Ask the system to drop a folder's files from its cache, so that a cold read is cold."""
    for path in folder.iterdir():
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fdatasync(handle)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(handle)


def rounds_for(windows: int, quick: bool) -> int:
    """Return how often each side is timed."""
    return 2 if windows >= 50_000_000 else 3 if quick else 5 if windows >= 5_000_000 else 9


def overhead(folder: Path, windows: int, rounds: int) -> dict[str, Any]:
    """Time one worker against the plain bank on the same readings, one thread each, batches of 64 queries."""
    wanted = queries(windows)
    bank = plain_bank(windows)

    def plain() -> Any:
        return bank.nearest(wanted, PRESENT, K, EXPONENT, threads=1)

    evict(folder)
    with workers(1) as (_, client):
        shards = sc.ShardedBank(folder, client, cache_bytes=1 << 34)

        def worker() -> Any:
            return shards.nearest(wanted, PRESENT, K, EXPONENT)

        client.run(warm_kernels)
        results: list[Any] = []
        cold = seconds(lambda: results.append(worker()))
        plain_first = seconds(lambda: results.append(plain()))  # builds the index
        agree(*results)
        times = timed(client, rounds, plain, worker)
    return {
        "windows": windows,
        "shards": shards.shards,
        "queries": BATCH,
        "present": len(PRESENT),
        "cold_seconds": round(cold, 3),
        "plain_first_seconds": round(plain_first, 3),
        **times,
    }


def timed(client: Any, rounds: int, plain: Callable[[], Any], worker: Callable[[], Any]) -> dict[str, Any]:
    """Time both sides in turns; return medians by the clock and by processor time, and their ratios."""
    by_clock: dict[str, list[float]] = {"plain": [], "worker": []}
    by_processor: dict[str, list[float]] = {"plain": [], "worker": []}
    for _ in range(rounds):
        began = time.process_time()
        by_clock["plain"].append(seconds(plain))
        by_processor["plain"].append(time.process_time() - began)
        began, own = processor_seconds(client), time.process_time()
        by_clock["worker"].append(seconds(worker))
        by_processor["worker"].append(processor_seconds(client) - began + time.process_time() - own)
    clock, processor = (
        {side: statistics.median(each) for side, each in sides.items()} for sides in (by_clock, by_processor)
    )
    return {
        "rounds": rounds,
        "plain_seconds": round(clock["plain"], 4),
        "worker_seconds": round(clock["worker"], 4),
        "ratio": round(clock["worker"] / clock["plain"], 3),
        "plain_processor_seconds": round(processor["plain"], 4),
        "worker_processor_seconds": round(processor["worker"], 4),
        "processor_ratio": round(processor["worker"] / processor["plain"], 3),
        "load": [round(each, 1) for each in os.getloadavg()],
    }


def warm_kernels() -> None:
    """Compile the kernels of this process, which happens once on a machine."""
    rng = np.random.default_rng(0)
    bank = sc.WindowBank(rng.normal(size=(300, 4)), LOOKBACK)
    for method in ("scan", "index"):
        bank.nearest(rng.normal(size=(2, LOOKBACK, 4)), np.arange(4), 2, EXPONENT, method=method)


def scaling(folder: Path, windows: int, rounds: int) -> dict[str, Any]:
    """Time the same calls on one worker and on two, in turns."""
    wanted = queries(windows)
    with workers(1) as (_, one), workers(2) as (_, two):
        banks = {
            "one": sc.ShardedBank(folder, one, cache_bytes=1 << 34),
            "two": sc.ShardedBank(folder, two, cache_bytes=1 << 34),
        }
        clients = {"one": one, "two": two}
        for client in clients.values():
            client.run(warm_kernels)
        results = [bank.nearest(wanted, PRESENT, K, EXPONENT) for bank in banks.values()]
        agree(*results)
        clock: dict[str, list[float]] = {"one": [], "two": []}
        busiest: dict[str, list[float]] = {"one": [], "two": []}  # processor seconds of the worker with most to do
        processor: dict[str, list[float]] = {"one": [], "two": []}
        for _ in range(rounds):
            for name, bank in banks.items():
                before = clients[name].run(cluster_tools.processor_seconds)
                clock[name].append(seconds(partial(bank.nearest, wanted, PRESENT, K, EXPONENT)))
                after = clients[name].run(cluster_tools.processor_seconds)
                spent = [after[worker] - before[worker] for worker in before]
                processor[name].append(sum(spent))
                busiest[name].append(max(spent))
        shards = banks["one"].shards
    one_clock, two_clock = statistics.median(clock["one"]), statistics.median(clock["two"])
    one_cpu, two_cpu = statistics.median(processor["one"]), statistics.median(processor["two"])
    alone = statistics.median(busiest["one"]) / statistics.median(busiest["two"])
    return {
        "windows": windows,
        "shards": shards,
        "rounds": rounds,
        "one_worker_seconds": round(one_clock, 4),
        "two_workers_seconds": round(two_clock, 4),
        "speedup": round(one_clock / two_clock, 3),
        "one_worker_processor_seconds": round(one_cpu, 4),
        "two_workers_processor_seconds": round(two_cpu, 4),
        "busier_of_two_processor_seconds": round(statistics.median(busiest["two"]), 4),
        "speedup_by_processor_seconds": round(alone, 3),
        "load": [round(each, 1) for each in os.getloadavg()],
    }


def bytes_read(folder: Path, windows: int) -> dict[str, Any]:
    """Count what a worker really reads (rchar of the system) for S of several sizes."""
    size = sum(path.stat().st_size for path in folder.iterdir())
    rows = []
    small = folder.with_name("small")
    write(small, 2_000)
    for count in (1, 2, 4, 10, 20):
        with workers(1) as (_, client):
            shards = sc.ShardedBank(folder, client, cache_bytes=1 << 34)
            client.run(warm_kernels)
            sc.ShardedBank(small, client).nearest(np.zeros((1, LOOKBACK, 1), np.float32), [0], 1)  # imports are done
            before = max(client.run(characters_read).values())
            known = max(client.run(cluster_tools.bytes_read).values())
            present = np.arange(count)
            wanted = np.zeros((1, LOOKBACK, count), dtype=np.float32)
            shards.nearest(wanted, present, 1, EXPONENT)
            read = max(client.run(characters_read).values()) - before
            counted = max(client.run(cluster_tools.bytes_read).values()) - known
        rows.append(
            {
                "present": count,
                "share_of_variables": count / VARIABLES,
                "bytes_read": int(read),
                "bytes_counted": int(counted),
                "share_of_files": round(read / size, 4),
            }
        )
    return {"windows": windows, "bytes_of_files": size, "sizes_of_s": rows}


def characters_read() -> int:
    """Return how many bytes this process has read by system calls."""
    return int(Path("/proc/self/io").read_text().split()[1])


def memory(folder: Path, windows: int, limit_mb: int) -> dict[str, Any]:
    """Search a bank that is ten times as large as a worker's memory limit; return the worker's peak."""
    size = sum(path.stat().st_size for path in folder.iterdir())
    present = np.arange(8)
    wanted = np.zeros((1, LOOKBACK, len(present)), dtype=np.float32)
    with workers(1, memory=f"{limit_mb}MB") as (_, client):
        shards = sc.ShardedBank(folder, client)
        client.run(warm_kernels)
        base = max(client.run(cluster_tools.peak_memory).values())
        found = shards.nearest(wanted, present, K, EXPONENT)
        peak = max(client.run(cluster_tools.peak_memory).values())
        held = max(client.run(cluster_tools.cached_bytes).values())
    agree(found, sc.ShardedBank(folder, cache_bytes=int(0.2e6 * limit_mb)).nearest(wanted, present, K, EXPONENT))
    return {
        "windows": windows,
        "bytes_of_files": size,
        "present": len(present),
        "limit_bytes": limit_mb * 10**6,
        "times_the_limit": round(size / (limit_mb * 1e6), 1),
        "peak_bytes": int(peak),
        "peak_share_of_limit": round(peak / (limit_mb * 1e6), 3),
        "bytes_before_the_bank": int(base),
        "columns_kept_bytes": int(held),
    }


def latency(folder: Path) -> dict[str, Any]:
    """Return what a call costs beside the search: the time of a call with next to nothing to search."""
    small = folder.with_name("small")
    write(small, 2_000, steps=250)
    figures = {}
    with workers(1) as (_, client):
        client.run(warm_kernels)
        for name, steps in (("one", 10_000), ("eight", 250)):
            write(small, 2_000, steps=steps)
            shards = sc.ShardedBank(small, client)
            wanted = queries(2_000, 1)
            shards.nearest(wanted, PRESENT, K, EXPONENT)
            times = [seconds(partial(shards.nearest, wanted, PRESENT, K, EXPONENT)) for _ in range(15)]
            figures[f"{name}_shards_seconds"] = round(statistics.median(times), 4)
    shutil.rmtree(small)
    figures["seconds_a_task"] = round((figures["eight_shards_seconds"] - figures["one_shards_seconds"]) / 7, 5)
    return figures


def on_paper(figures: dict[str, Any]) -> dict[str, Any]:
    """Compute time and money for larger banks from what was measured here.

    A worker has one core of this machine's speed. Search time grows with windows and shrinks with workers; a call adds
    its latency and a cost for each task at the scheduler, which does not shrink. An hour of a core with 8 GB of memory
    is taken as 0.05 dollars.
    """
    largest = max(figures["overhead"], key=lambda each: each["windows"])
    per_window = largest["worker_processor_seconds"] / largest["windows"]  # for a batch of 64
    cold = largest["cold_seconds"] / largest["windows"]
    base, a_task = figures["latency"]["one_shards_seconds"], max(figures["latency"]["seconds_a_task"], 1e-4)
    per_shard = 838_860
    rows = []
    for windows in (10**9, 10**10):
        for count in (10, 100):
            shards = -(-windows // per_shard)
            search = per_window * windows / count
            call = base + max(search, a_task * shards)
            columns = 4 * windows * len(PRESENT)
            rows.append(
                {
                    "windows": windows,
                    "workers": count,
                    "shards": shards,
                    "disk_gb": round(4e-9 * windows * VARIABLES),
                    "memory_a_worker_gb": round(1.5e-9 * columns / count, 1),
                    "warm_seconds_a_batch": round(call, 2),
                    "cold_seconds_a_batch": round(base + cold * windows / count, 1),
                    "dollars_a_million_queries": round(call / 3600 * 0.05 * count * 1e6 / BATCH, 2),
                    "scheduler_seconds": round(a_task * shards, 2),
                    "bounded_by": "the scheduler" if a_task * shards > search else "the search",
                }
            )
    return {
        "seconds_a_window_and_batch": per_window,
        "cold_seconds_a_window": cold,
        "dollars_a_core_hour": 0.05,
        "rows": rows,
        "next_wall": "starts and slots of the day are 8 bytes a step each in the client's memory: 16 GB at 1e9 steps",
    }


def tables(figures: dict[str, Any]) -> str:
    """Return the tables of the guide."""
    lines = [
        "One worker against the plain bank, one thread each, batches of 64 queries on 4 of 20 variables, medians of "
        "alternating runs:\n",
        "| windows | files | cold | warm | plain bank | worker / plain | the same in processor seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in figures["overhead"]:
        lines.append(
            f"| {row['windows']:,} | {row['bytes_of_files'] / 1e9:.2f} GB | {row['cold_seconds']:.1f} s | "
            f"{row['worker_seconds']:.2f} s | {row['plain_seconds']:.2f} s | {row['ratio']:.2f} | "
            f"{row['processor_ratio']:.2f} |"
        )
    memory, latency = figures.get("memory"), figures.get("latency")
    for scaling in filter(None, (figures.get("scaling"), figures.get("scaling_large"))):
        lines.append(
            f"\nTwo workers instead of one, {scaling['windows']:,} windows: {scaling['speedup']:.2f} times as fast by "
            f"the clock of a machine with a load of {scaling['load'][0]:.0f} on two cores, "
            f"{scaling['speedup_by_processor_seconds']:.2f} times by the processor seconds of the busier worker."
        )
    lines.append(
        "\nWithin a worker the nearest windows found so far bound the search of its next shards, so the first shard of "
        "each worker costs most: two workers gain less on a bank of few shards."
    )
    shares = ", ".join(
        f"{row['present']}: {100 * row['share_of_files']:.1f} %" for row in figures["bytes"]["sizes_of_s"]
    )
    lines.append(f"\nBytes read by size of S (of 20 variables), in shares of the files: {shares}.")
    if memory:
        lines.append(
            f"\nA worker with a limit of {memory['limit_bytes'] / 1e6:.0f} MB searched a bank of "
            f"{memory['bytes_of_files'] / 1e9:.1f} GB; its largest resident size was "
            f"{memory['peak_bytes'] / 1e6:.0f} MB."
        )
    if latency:
        lines.append(
            f"\nA call with next to nothing to search takes {1000 * latency['one_shards_seconds']:.0f} ms, and "
            f"{1000 * latency['seconds_a_task']:.1f} ms more for each further shard."
        )
    lines += [
        "\nOn paper, from these constants (a batch of 64 queries on 4 of 20 variables; a core with 8 GB at "
        f"{figures['on_paper']['dollars_a_core_hour']} dollars an hour):\n",
        "| windows | workers | shards | disk | memory of a worker | cold | warm | dollars, 1e6 queries | bounded by |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in figures["on_paper"]["rows"]:
        lines.append(
            f"| {row['windows']:.0e} | {row['workers']} | {row['shards']:,} | {row['disk_gb']} GB | "
            f"{row['memory_a_worker_gb']:.1f} GB | {row['cold_seconds_a_batch']:,.0f} s | "
            f"{row['warm_seconds_a_batch']:,.1f} s | "
            f"{row['dollars_a_million_queries']:,.0f} | {row['bounded_by']} |"
        )
    return "\n".join(lines)


def write_page(figures: dict[str, Any]) -> None:
    """Write the tables into the guide."""
    page = RESULTS.parent / "docs" / "guide" / "cluster.md"
    text = page.read_text()
    begin, end = "<!-- cluster: written by benchmarks/cluster.py -->\n", "<!-- /cluster -->\n"
    before, _, rest = text.partition(begin)
    page.write_text(before + begin + tables(figures) + "\n" + end + rest.partition(end)[2])


def main() -> None:
    """Run all parts, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--windows", nargs="*", type=float, default=[1e6, 1e7], help="sizes of the bank")
    parser.add_argument(
        "--only", nargs="*", default=None, help="parts to measure again: overhead scaling bytes memory latency"
    )
    parser.add_argument(
        "--folder", type=Path, default=None, help="where the shards are written, and removed afterwards"
    )
    parser.add_argument("--page", action="store_true", help="only write the tables of the guide from the record")
    parser.add_argument("--quick", action="store_true", help="small sizes; writes nothing")
    given = parser.parse_args()
    if given.page:
        write_page(json.loads((RESULTS / "cluster.json").read_text())["figures"])
        return
    sizes = [100_000] if given.quick else [int(size) for size in given.windows]
    base = Path(tempfile.mkdtemp(prefix="subcast-cluster-", dir=given.folder))
    path = RESULTS / "cluster.json"
    figures = json.loads(path.read_text())["figures"] if path.exists() and not given.quick else {"overhead": []}
    parts = given.only or ["overhead", "scaling", "bytes", "memory", "latency"]
    warm_kernels()
    try:
        for windows in sizes:
            measure(figures, parts, base / f"bank-{windows}", windows, given.quick)
        if "latency" in parts:
            figures["latency"] = latency(base / "bank")
            print("latency", figures["latency"])
    finally:
        shutil.rmtree(base, ignore_errors=True)
    figures["on_paper"] = on_paper(figures)
    if given.quick:
        print(json.dumps(figures, indent=1))
    else:
        command = "python benchmarks/cluster.py"
        print(
            write_record(
                "cluster", figures, PACKAGES, command=command, seed=SEED, lookback=LOOKBACK, variables=VARIABLES, k=K
            )
        )


def measure(figures: dict[str, Any], parts: list[str], folder: Path, windows: int, quick: bool) -> None:
    """Measure the parts at one size, and put them into the figures."""
    took = write(folder, windows)
    size = sum(each.stat().st_size for each in folder.iterdir())
    print(f"{windows:,} windows written in {took:.1f} s, {size / 1e6:.0f} MB", flush=True)
    rounds = rounds_for(windows, quick)
    if "overhead" in parts:
        row = {**overhead(folder, windows, rounds), "write_seconds": round(took, 1), "bytes_of_files": size}
        others = [each for each in figures["overhead"] if each["windows"] != windows]
        figures["overhead"] = sorted([*others, row], key=lambda each: each["windows"])
        print("overhead", row, flush=True)
    if "scaling" in parts:
        name = "scaling" if windows <= 20_000_000 else "scaling_large"
        figures[name] = scaling(folder, windows, rounds)
        print(name, figures[name], flush=True)
    if "bytes" in parts and windows <= 20_000_000:
        figures["bytes"] = bytes_read(folder, windows)
        print("bytes", figures["bytes"], flush=True)
    limit = int(size / 1e7)  # MB: a tenth of the bank, which must have room for the libraries of a worker
    if "memory" in parts and (quick or limit >= 500):
        figures["memory"] = memory(folder, windows, max(500, limit))
        print("memory", figures["memory"], flush=True)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
