"""Compare retrieval with broadcasting in torch, with faiss, with the limit of the processor, and at growing bank sizes.

    python benchmarks/retrieval.py            # everything, ten minutes; writes results/retrieval.json and a figure
    python benchmarks/retrieval.py --quick    # small sizes, less than a minute; writes nothing

Each comparison first checks that both sides give the same result and then times them alternately in the same run, on
all processors.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numba
import numpy as np
from rich.console import Console
from rich.table import Table

from records import RESULTS, in_turns, seconds, write_record
from subcast.retrieval import QueryTable, WindowBank, index, search
from subcast.retrieval.compiled.kernel import _add_four_roots
from subcast.retrieval.threads import thread_count

LOOKBACK, K, EXPONENT, SHARE = 12, 5, 0.5, 0.15
TRAIN, VARIABLES, QUERIES = 23_974, 207, 6_850
THREADS = thread_count(None, 1e15)
SEED = 0
TORCH_BATCH = 8
"""Number of queries in one call of torch: of 1, 4, 8, 16 and 32 the number with which broadcasting is fastest."""


def traffic(steps: int, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return normalized speeds with daily rush hours and correlated disturbances, and the time of day in [0, 1)."""
    day = (np.arange(steps) % 288) / 288
    rush = np.exp(-(((day[:, None] - rng.normal(0.33, 0.03, n)) / 0.05) ** 2))
    rush += np.exp(-(((day[:, None] - rng.normal(0.72, 0.03, n)) / 0.07) ** 2))
    disturbances = rng.normal(size=(steps, 12))
    for t in range(1, steps):
        disturbances[t] += 0.97 * disturbances[t - 1]
    speeds = -rush * rng.uniform(0.3, 1.5, n) + 0.05 * disturbances @ rng.normal(size=(12, n))
    speeds += 0.05 * rng.normal(size=speeds.shape)
    return ((speeds - speeds.mean()) / speeds.std()).astype(np.float32), day.astype(np.float32)


def torch_search(bank: Any, variables: Any, windows: Any, repeat: bool) -> tuple[Any, Any]:
    """Search by broadcasting: compute the mean |difference|^b over the variables, then the k smallest.

    With `repeat`, both sides are first repeated to the full shape, as in the published code of the method.
    """
    import torch

    with torch.no_grad():
        past = bank[:, :, variables].unsqueeze(0)  # [1, candidates, t, s, f]
        queries = windows[:, :, variables].unsqueeze(1)  # [b, 1, t, s, f]
        if repeat:
            past, queries = past.repeat(len(windows), 1, 1, 1, 1), queries.repeat(1, len(bank), 1, 1, 1)
        distance = (past - queries).abs().pow(EXPONENT).flatten(2).mean(-1)  # [b, candidates]
        nearest = torch.topk(distance, K, dim=-1, largest=False)
    return nearest.values.numpy(), nearest.indices.numpy()


def check_agreement(distance: np.ndarray, index_: np.ndarray, ours: Any, rows: slice) -> None:
    """Stop unless two results have the same distances, and the same windows where distances differ clearly."""
    own = ours.distance[rows]
    if not np.allclose(np.sort(distance, axis=1), own, rtol=1e-4):
        raise SystemExit(f"the two searches give different distances: {distance[0]} and {own[0]}")
    clear = np.diff(own, axis=1).min(axis=1, initial=np.inf) > 1e-5 * own[:, -1]
    if not np.array_equal(np.sort(index_[clear], axis=1), np.sort(ours.index[rows][clear], axis=1)):
        raise SystemExit("the two searches give different windows")


def metr_la_shape(quick: bool) -> dict[str, Any]:
    """Run all measurements at the shape of METR-LA."""
    rng = np.random.default_rng(SEED)
    queries = 800 if quick else QUERIES
    train_steps = TRAIN + LOOKBACK - 1
    values, time_of_day = traffic(train_steps + queries + LOOKBACK - 1, VARIABLES, rng)
    variables = np.sort(rng.choice(VARIABLES, size=int(np.ceil(SHARE * VARIABLES)), replace=False))
    past, steps = values[:train_steps], values[train_steps:]
    one = WindowBank(past, LOOKBACK)
    two = WindowBank(past, LOOKBACK, shared=time_of_day[:train_steps])
    common = time_of_day[train_steps:, None]
    sample = np.stack([steps[j : j + LOOKBACK] for j in rng.choice(queries, size=64, replace=False)])
    sliding_one = partial(one.nearest_sliding, steps, variables, K, EXPONENT)
    sliding_two = partial(two.nearest_sliding, steps, variables, K, EXPONENT, shared=common)
    neighbors_one, neighbors_two = sliding_one(), sliding_two()

    record: dict[str, Any] = {"candidates": len(one), "variables": VARIABLES, "present": int(variables.size)}
    record |= against_torch(values, time_of_day, train_steps, variables, sliding_two, neighbors_two, queries, quick)
    record |= against_faiss(one, steps, variables, sample, sliding_one, neighbors_one, queries, quick)
    record |= share_of_ceiling(one, steps, variables, queries, quick)
    record |= push_against_query(one, steps, variables, sample, quick)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as fresh:
        record["sliding_memory_mb_a_thread"] = fresh.submit(sliding_memory, queries).result() / THREADS
    return record


def against_torch(
    values: np.ndarray,
    time_of_day: np.ndarray,
    train_steps: int,
    variables: np.ndarray,
    sliding: Callable[[], Any],
    neighbors: Any,
    queries: int,
    quick: bool,
) -> dict[str, Any]:
    """Compare a sliding search of two features with broadcasting, per query: one query alone, and several at once."""
    import torch

    torch.set_num_threads(THREADS)
    whole = np.stack([values, np.broadcast_to(time_of_day[:, None], values.shape)], axis=-1)
    windows = np.lib.stride_tricks.sliding_window_view(whole, LOOKBACK, axis=0).transpose(0, 3, 1, 2)  # [b, t, n, f]
    bank = torch.from_numpy(np.ascontiguousarray(windows[:TRAIN]))
    query_windows = torch.from_numpy(np.ascontiguousarray(windows[train_steps : train_steps + TORCH_BATCH]))
    subset = torch.from_numpy(variables)
    for repeat in (True, False):
        distance, indices = torch_search(bank, subset, query_windows, repeat)
        check_agreement(distance, indices, neighbors, slice(0, TORCH_BATCH))
    took = in_turns(
        2 if quick else 5,
        repeated=lambda: torch_search(bank, subset, query_windows, repeat=True),
        ours=sliding,
        broadcast=lambda: torch_search(bank, subset, query_windows, repeat=False),
        repeated_alone=lambda: torch_search(bank, subset, query_windows[:1], repeat=True),
        broadcast_alone=lambda: torch_search(bank, subset, query_windows[:1], repeat=False),
    )
    ours = took.pop("ours") / queries
    record = {"sliding_two_features_ms_a_query": ours * 1e3}
    for name, total in took.items():
        each = total / (1 if name.endswith("alone") else TORCH_BATCH)
        record |= {f"torch_{name}_ms_a_query": each * 1e3, f"sliding_against_torch_{name}": each / ours}
    return record


def against_faiss(
    bank: WindowBank,
    steps: np.ndarray,
    variables: np.ndarray,
    sample: np.ndarray,
    sliding: Callable[[], Any],
    neighbors: Any,
    queries: int,
    quick: bool,
) -> dict[str, Any]:
    """Compare sliding and independent searches of one feature with faiss, per query."""
    import faiss

    faiss.omp_set_num_threads(THREADS)
    flat = np.ascontiguousarray(bank.windows(np.arange(len(bank)))[..., variables].reshape(len(bank), -1))
    theirs = faiss.IndexFlat(flat.shape[1], faiss.METRIC_Lp)
    theirs.metric_arg = EXPONENT
    theirs.add(flat)
    batch = 8 if quick else 64
    query_windows = np.stack([steps[j : j + LOOKBACK][:, variables].ravel() for j in range(batch)])
    distance, indices = theirs.search(query_windows, K)
    check_agreement(distance / query_windows.shape[1], indices, neighbors, slice(0, batch))
    sample_windows = np.ascontiguousarray(sample[:batch][..., variables].reshape(batch, -1))
    distance, indices = theirs.search(sample_windows, K)
    check_agreement(
        distance / sample_windows.shape[1],
        indices,
        bank.nearest(sample[:batch], variables, K, EXPONENT),
        slice(0, batch),
    )
    took = in_turns(
        3 if quick else 7,
        faiss=lambda: theirs.search(query_windows, K),
        sliding=sliding,
        faiss_again=lambda: theirs.search(sample_windows, K),
        independent=lambda: bank.nearest(sample, variables, K, EXPONENT),
    )
    one = took["faiss"] / batch * 1e3
    other = took["faiss_again"] / batch * 1e3
    slid, alone = took["sliding"] / queries * 1e3, took["independent"] / len(sample) * 1e3
    return {
        "faiss_ms_a_query": one,
        "sliding_ms_a_query": slid,
        "sliding_against_faiss": one / slid,
        "faiss_independent_ms_a_query": other,
        "independent_ms_a_query": alone,
        "independent_against_faiss": other / alone,
    }


@numba.njit(nogil=True, error_model="numpy")
def _plain_roots(total: np.ndarray, x: np.ndarray, q: np.ndarray) -> None:
    for j in range(q.shape[0]):
        value = q[j]
        for i in range(total.shape[0]):
            total[i] += np.sqrt(abs(x[i] - value))


@numba.njit(nogil=True, error_model="numpy")
def _mixed_roots(total: np.ndarray, x: np.ndarray, q: np.ndarray) -> None:
    for j in range(0, q.shape[0] - 3, 4):
        _add_four_roots(total, x, x, x, x, q[j], q[j + 1], q[j + 2], q[j + 3])


def ceiling(loop: Callable[..., None], values: int) -> float:
    """Run a minimal loop on data in the first-level cache, on every processor; return square roots per second."""
    rng = np.random.default_rng(SEED)
    x, q = rng.normal(size=2048).astype(np.float32), rng.normal(size=values).astype(np.float32)
    totals = [np.zeros(2048, dtype=np.float32) for _ in range(THREADS)]
    loop(totals[0], x, q[:4])
    with ThreadPoolExecutor(THREADS) as pool:
        took = seconds(lambda: list(pool.map(lambda total: loop(total, x, q), totals)))
    return THREADS * x.size * q.size / took


def share_of_ceiling(
    bank: WindowBank, steps: np.ndarray, variables: np.ndarray, queries: int, quick: bool
) -> dict[str, Any]:
    """Compare the square roots per second of a sliding search with those of loops that do nothing else."""
    cells = float(len(bank) + LOOKBACK - 1) * (queries + LOOKBACK - 1) * variables.size
    plain, mixed, reached = [], [], []
    for _ in range(3 if quick else 9):
        plain.append(ceiling(_plain_roots, 40_000))
        mixed.append(ceiling(_mixed_roots, 40_000))
        reached.append(cells / seconds(lambda: bank.nearest_sliding(steps, variables, K, EXPONENT)))
    best = max(statistics.median(plain), statistics.median(mixed))
    return {
        "processor_roots_a_second": statistics.median(plain),
        "tightest_loop_roots_a_second": best,
        "sliding_roots_a_second": statistics.median(reached),
        "share_of_ceiling": statistics.median(reached) / best,
        "share_of_processor_roots": statistics.median(reached) / statistics.median(plain),
    }


def push_against_query(
    bank: WindowBank, steps: np.ndarray, variables: np.ndarray, sample: np.ndarray, quick: bool
) -> dict[str, Any]:
    """Compare one push on a stream with one independent query, on one thread and with the default threads."""
    record = {}
    for name, threads in (("one_thread", 1), ("by_default", None)):
        stream = bank.stream(variables, K, EXPONENT, threads=threads)
        for step in steps[: LOOKBACK - 1]:
            stream.push(step)
        rows = iter(np.tile(steps, (2, 1)))

        def push(stream: Any = stream, rows: Any = rows) -> None:
            for _ in range(50):
                stream.push(next(rows))

        def query(threads: int | None = threads) -> None:
            for window in sample[:50]:
                bank.nearest(window[None], variables, K, EXPONENT, threads=threads)

        took = in_turns(3 if quick else 9, push=push, query=query)
        record[f"push_ms_{name}"] = took["push"] / 50 * 1e3
        record[f"query_ms_{name}"] = took["query"] / 50 * 1e3
        record[f"push_share_of_query_{name}"] = took["push"] / took["query"]
    return record


def sliding_memory(queries: int) -> float:
    """Return the MB that a sliding search adds to the peak memory of a process (Linux only; NaN elsewhere)."""
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not reset.exists():
        return float("nan")

    def megabytes(name: str) -> float:
        line = next(line for line in status.read_text().splitlines() if line.startswith(name))
        return float(line.split()[1]) / 1024

    rng = np.random.default_rng(SEED)
    bank = WindowBank(rng.normal(size=(TRAIN + LOOKBACK - 1, VARIABLES)).astype(np.float32), LOOKBACK)
    steps = rng.normal(size=(queries + LOOKBACK - 1, VARIABLES)).astype(np.float32)
    variables = np.arange(int(np.ceil(SHARE * VARIABLES)))
    WindowBank(steps[:50], LOOKBACK).nearest_sliding(
        steps[:50], variables, K, EXPONENT
    )  # compile, or load from the cache
    reset.write_text("5")
    before = megabytes("VmRSS")
    bank.nearest_sliding(steps, variables, K, EXPONENT)
    return megabytes("VmHWM") - before


def growth(sizes: list[int], quick: bool) -> list[dict[str, Any]]:
    """Compare scan, exact index and query table on cloud fields of growing size, with 3 of 20 plants present.

    The queries are daylight windows of the same plants, later than all windows of the bank.
    """
    from subcast.datasets.clouds import generate_clouds

    rng = np.random.default_rng(SEED)
    n_past = max(sizes) + LOOKBACK - 1
    field = generate_clouds(20, n_past + 60_000, seed=1).values
    field = (field - field[:n_past].mean(axis=0)) / field[:n_past].std(axis=0)
    unseen = field[n_past:]
    variables = np.sort(rng.choice(20, size=3, replace=False))
    daylight = np.flatnonzero(np.abs(np.diff(unseen, axis=0)).sum(axis=1) > 0)
    daylight = daylight[daylight < len(unseen) - LOOKBACK]
    starts = rng.choice(daylight, size=40, replace=False)
    windows = np.stack([unseen[t : t + LOOKBACK] for t in starts])
    return [
        growth_at(field[n_past - size - LOOKBACK + 1 : n_past], windows[:24], windows[24:], variables, quick)
        for size in sizes
    ]


def growth_at(
    past: np.ndarray, windows: np.ndarray, validation: np.ndarray, variables: np.ndarray, quick: bool
) -> dict[str, Any]:
    """Measure one size: milliseconds per query, memory, share of the windows read, rounds and recall."""
    bank = WindowBank(past, LOOKBACK)
    bank.nearest(windows[:1], variables, K, EXPONENT, method="scan")  # compile, or load from the cache
    build_index = seconds(lambda: bank.envelopes(variables))
    started = time.perf_counter()
    table = QueryTable(bank, validation, neighbor=10, variables=variables)
    build_table = time.perf_counter() - started
    truth = bank.nearest(windows, variables, K, EXPONENT, method="scan")
    indexed = bank.nearest(windows, variables, K, EXPONENT, method="index")
    if not (np.array_equal(truth.index, indexed.index) and np.array_equal(truth.distance, indexed.distance)):
        raise SystemExit(f"the index and the scan give different results for {len(bank)} windows")
    from_table = table.nearest(windows, variables, K, EXPONENT)
    queries = search.queries_of(bank, windows, variables, None, None)
    limits = search.Limits(K, np.ones(len(windows), np.float32), np.zeros((len(windows), 2), np.int64))
    read = index.windows_read(bank, queries, limits, EXPONENT, None)

    def one_by_one(find: Callable[[np.ndarray], Any]) -> None:
        for window in windows:
            find(window[None])

    took = in_turns(
        2 if quick else 3,
        scan=lambda: one_by_one(lambda w: bank.nearest(w, variables, K, EXPONENT, method="scan")),
        index=lambda: one_by_one(lambda w: bank.nearest(w, variables, K, EXPONENT, method="index")),
        table=lambda: one_by_one(lambda w: table.nearest(w, variables, K, EXPONENT)),
    )
    left_by_triangle = triangle_share(bank, windows, variables, truth) if len(bank) <= 10**6 else None
    pairs = zip(truth.index.tolist(), from_table.neighbors.index.tolist(), strict=True)
    hits = [len(set(exact) & set(approximate)) for exact, approximate in pairs]
    return {
        "windows": len(bank),
        **{f"{name}_ms_a_query": value / len(windows) * 1e3 for name, value in took.items()},
        "index_against_scan": took["scan"] / took["index"],
        "table_against_scan": took["scan"] / took["table"],
        "index_share_of_windows_read": float(read.mean() / len(bank)),
        "triangle_share_of_windows_left": left_by_triangle,
        "table_rounds": float(from_table.rounds.mean()),
        "table_candidates": float(from_table.candidates.mean()),
        "table_recall": sum(hits) / (K * len(windows)),
        "bank_mb": bank.data.nbytes / 1e6,
        "index_mb": bank.envelopes(variables).envelopes[0].nbytes * variables.size / 1e6,
        "table_mb": table.nbytes / 1e6,
        "index_build_s": build_index,
        "table_build_s": build_table,
    }


def triangle_share(bank: WindowBank, windows: np.ndarray, variables: np.ndarray, truth: Any) -> float:
    """Return the share of windows that pruning by the triangle inequality would leave in the best case.

    There are eight pivots for each variable, with known distances to every window, and the k-th smallest distance is
    known in advance. Bounds are summed over variables, because the present variables are not known in advance.
    """
    rng = np.random.default_rng(SEED)
    pivots = bank.windows(rng.choice(len(bank), size=8, replace=False))
    bound = np.zeros((len(windows), len(bank)), dtype=np.float32)
    for variable in variables:
        to_candidates = bank.distances(pivots, [variable], EXPONENT)  # [pivots, candidates]
        to_queries = np.abs(windows[:, None, :, variable] - pivots[None, :, :, variable]) ** EXPONENT
        for j, to_query in enumerate(to_queries.mean(axis=-1)):  # [pivots]
            bound[j] += np.abs(to_query[:, None] - to_candidates).max(axis=0) / variables.size
    return float((bound <= truth.distance[:, -1:]).mean())


TARGETS = [
    ("sliding, 2 features, compared with torch repeated, 1 query", "sliding_against_torch_repeated_alone", 3000, "x"),
    ("sliding, 2 features, compared with torch broadcast, 1 query", "sliding_against_torch_broadcast_alone", 3000, "x"),
    ("sliding, 2 features, compared with torch repeated, 8 queries", "sliding_against_torch_repeated", 3000, "x"),
    ("sliding, 2 features, compared with torch broadcast, 8 queries", "sliding_against_torch_broadcast", 3000, "x"),
    ("sliding, 1 feature, compared with faiss Lp", "sliding_against_faiss", 200, "x"),
    ("independent windows compared with faiss Lp", "independent_against_faiss", 20, "x"),
    ("sliding, share of the throughput of a minimal loop", "share_of_ceiling", 0.7, ""),
    ("time of one push as a share of one query (one thread)", "push_share_of_query_one_thread", -1 / 7, ""),
    ("time of one push as a share of one query (default threads)", "push_share_of_query_by_default", -1 / 7, ""),
    ("memory of a sliding search, MB per thread", "sliding_memory_mb_a_thread", -50, ""),
]


def show(shape: dict[str, Any], grown: list[dict[str, Any]], console: Console) -> None:
    """Print both tables."""
    table = Table(title=f"METR-LA shape, b = {EXPONENT}, k = {K}, lookback {LOOKBACK}, {THREADS} threads")
    for column in ("quantity", "measured", "target", ""):
        table.add_column(column, justify="left" if column == "quantity" else "right")
    for label, key, target, unit in TARGETS:
        value = shape[key]
        met = value <= -target if target < 0 else value >= target
        goal = f"{'<' if target < 0 else '>='} {abs(target):,.4g}{unit}"
        measured = f"{value:,.3g}{unit}" if value < 100 else f"{value:,.0f}{unit}"
        table.add_row(label, measured, goal, "met" if met else "not met")
    console.print(table)
    names = [name for name in grown[0] if name != "windows"]
    table = Table(title="cloud fields, 3 of 20 plants present")
    table.add_column("windows")
    for row in grown:
        table.add_column(f"{row['windows']:,}", justify="right")
    for name in names:
        table.add_row(name.replace("_", " "), *("-" if row[name] is None else f"{row[name]:,.3g}" for row in grown))
    console.print(table)


def draw(grown: list[dict[str, Any]], path: Path) -> None:
    """Plot the time per query against the size of the bank."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    sizes = [row["windows"] for row in grown]
    for name, label in (("scan", "scan"), ("index", "exact index"), ("table", "query table")):
        left.loglog(sizes, [row[f"{name}_ms_a_query"] for row in grown], "o-", label=label)
    left.set(xlabel="windows in the bank", ylabel="milliseconds per query", title="time of one query")
    left.legend(frameon=False)
    right.semilogx(sizes, [row["table_recall"] for row in grown], "o-", color="C2", label="query table: recall of 5")
    right.semilogx(
        sizes, [row["index_share_of_windows_read"] for row in grown], "o-", color="C1",
        label="exact index: share of windows read",
    )  # fmt: skip
    right.set(xlabel="windows in the bank", ylim=(0, 1.05), title="recall and share of windows read")
    right.legend(frameon=False)
    for axes in (left, right):
        axes.grid(alpha=0.3)
    partial_path = path.with_name(f".{path.name}.tmp.png")
    figure.savefig(partial_path, dpi=120)
    os.replace(partial_path, path)


def main() -> None:
    """Run all measurements, print tables, write the record and the figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="use small sizes and few repetitions, write nothing")
    options = parser.parse_args()
    began = time.perf_counter()
    grown = growth([10**4, 10**5] if options.quick else [10**4, 10**5, 10**6, 10**7], options.quick)
    shape = metr_la_shape(options.quick)
    show(shape, grown, Console())
    if options.quick:
        return
    path = write_record(
        "retrieval",
        {"metr_la_shape": shape, "growth": grown},
        packages=("numpy", "numba", "torch", "faiss-cpu"),
        seed=SEED,
        threads=THREADS,
        settings={"exponent": EXPONENT, "k": K, "lookback": LOOKBACK, "share_of_variables": SHARE},
        seconds=time.perf_counter() - began,
    )
    draw(grown, RESULTS / "retrieval-growth.png")
    Console().print(f"wrote {path} and its figure")


if __name__ == "__main__":
    main()
