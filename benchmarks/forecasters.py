"""Compare the five forecasters with straightforward implementations with the same weights: forward and training step.

    python benchmarks/forecasters.py            # everything, about ten minutes; writes results/forecasters.json
    python benchmarks/forecasters.py --quick    # batches of 8, less than a minute; writes nothing

The straightforward implementations (tests/twins/forecasters_twins.py) use conv2d on [b, c, n, t] and einsum with a
dense adjacency. The script first checks that both give the same forecasts and then times them alternately in the same
run, on all processors. GFLOP/s counts the operations of the straightforward implementation for both; the speed of a
product of two matrices on the same machine is given for comparison.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import records
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from subcast.forecasters import FORECASTERS, ForecastModule

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from twins import forecasters_twins

LOOKBACK, HORIZON, BATCH, DEGREE = 12, 12, 64, 20
SHAPES = {"METR-LA": (207, 2), "ECG5000": (140, 1), "TRAFFIC": (862, 1)}
CASES = [(name, shape) for shape in ("METR-LA", "ECG5000") for name in FORECASTERS] + [("mtgnn", "TRAFFIC")]
TOLERANCE = 1e-4


def build(name: str, n: int, n_features: int) -> ForecastModule:
    """Return a model with random weights and, if it needs a graph, a graph with as many edges as MTGNN learns."""
    torch.manual_seed(0)
    kind = FORECASTERS[name]
    options: dict[str, Any] = {}
    if kind.needs_graph:
        graph = torch.zeros(n, n)
        graph.scatter_(1, torch.rand(n, n).topk(min(DEGREE, n), 1).indices, torch.rand(n, min(DEGREE, n)))
        options["graph"] = graph.numpy()
    return kind(n_variables=n, lookback=LOOKBACK, horizon=HORIZON, n_features=n_features, **options)


def compare(name: str, shape: str, batch: int, rounds: int) -> dict[str, Any]:
    """Measure one model at one shape: difference of the forecasts, seconds and ratios."""
    n, n_features = SHAPES[shape]
    model = build(name, n, n_features).eval()
    plain_forward = forecasters_twins.TWINS[name]
    # The terms that are the same for all batches are computed once, before any timing.
    precomputed = {"terms": forecasters_twins.chebyshev_terms(model)} if model.needs_graph else {}
    x, y = torch.randn(batch, LOOKBACK, n, n_features), torch.randn(batch, HORIZON, n)

    def forward(fast: bool) -> Tensor:
        with torch.no_grad():
            return model(x) if fast else plain_forward(model, x, **precomputed)

    def step(fast: bool) -> None:
        model.zero_grad()
        for inputs, target in zip(x.split(chunk), y.split(chunk), strict=True) if fast else ((x, y),):
            forecast = model(inputs) if fast else plain_forward(model, inputs, **precomputed)
            ((forecast - target).abs().sum() / y.numel()).backward()

    difference = float((forward(True) - forward(False)).abs().max())
    if difference > TOLERANCE:
        raise SystemExit(f"{name} differs from its straightforward implementation by {difference}")
    with FlopCounterMode(display=False) as counter:
        forward(False)
    fast, plain = records.in_turns(rounds, fast=lambda: forward(True), plain=lambda: forward(False)).values()
    model.train()
    # As in training: the batch is split into chunks that fit in the cache, and their gradients are summed.
    chunk = -(-batch // -(-batch // max(8, 2 * model.rows_at_once // n)))
    step(True)
    fast_step, plain_step = records.in_turns(
        max(1, rounds // 2), fast=lambda: step(True), plain=lambda: step(False)
    ).values()
    operations = counter.get_total_flops()
    return {
        "model": name,
        "shape": shape,
        "n_variables": n,
        "n_features": n_features,
        "batch": batch,
        "difference": difference,
        "forward_seconds": fast,
        "forward_seconds_straightforward": plain,
        "forward_ratio": plain / fast,
        "step_seconds": fast_step,
        "step_seconds_straightforward": plain_step,
        "step_ratio": plain_step / fast_step,
        "forward_gflops": operations / fast / 1e9,
        "forward_gflops_straightforward": operations / plain / 1e9,
    }


def matrix_product(size: int = 2048) -> float:
    """Return the GFLOP/s of a product of two square matrices on this machine."""
    a = torch.randn(size, size)
    seconds = records.in_turns(7, product=lambda: a @ a)["product"]
    return 2 * size**3 / seconds / 1e9


def show(rows: list[dict[str, Any]], peak: float) -> None:
    """Print the table."""
    table = Table(title=f"Batch {rows[0]['batch']}; a matrix product on this machine: {peak:.0f} GFLOP/s")
    for column in ("model", "shape", "forward ms", "plain ms", "times", "step ms", "plain ms", "times", "GFLOP/s"):
        table.add_column(column, justify="left" if column in ("model", "shape") else "right")
    for row in rows:
        table.add_row(
            row["model"],
            row["shape"],
            f"{1e3 * row['forward_seconds']:.1f}",
            f"{1e3 * row['forward_seconds_straightforward']:.1f}",
            f"{row['forward_ratio']:.1f}",
            f"{1e3 * row['step_seconds']:.0f}",
            f"{1e3 * row['step_seconds_straightforward']:.0f}",
            f"{row['step_ratio']:.1f}",
            f"{row['forward_gflops']:.0f} ({row['forward_gflops_straightforward']:.0f})",
        )
    Console(highlight=False).print(table)


def main() -> None:
    """Time all models, print a table and write the record."""
    parser = argparse.ArgumentParser(description="Measure the speed of the forecasters.")
    parser.add_argument("--quick", action="store_true", help="use small batches and write no record")
    parser.add_argument("--threads", type=int, help="number of threads, by default one for each processor")
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    batch, rounds = (8, 2) if arguments.quick else (BATCH, 7)
    peak = matrix_product(512 if arguments.quick else 2048)
    rows = []
    for name, shape in CASES:
        rows.append(compare(name, shape, batch, 3 if shape == "TRAFFIC" else rounds))
        print(f"{name}, shape of {shape}: forward pass {rows[-1]['forward_ratio']:.1f} times faster", flush=True)
    show(rows, peak)
    if not arguments.quick:
        path = records.write_record(
            "forecasters",
            {"matrix_product_gflops": peak, "cases": rows},
            packages=("numpy", "torch"),
            command="python benchmarks/forecasters.py",
            seed=0,
            threads=torch.get_num_threads(),
        )
        print(f"{path} written")


if __name__ == "__main__":
    main()
