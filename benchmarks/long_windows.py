"""Long windows and many variables on one machine: time and memory of a fit, of requests, of a stream and of searches.

    python benchmarks/long_windows.py                # all parts; writes results/long-windows.json
    python benchmarks/long_windows.py fit requests   # some parts; the others stay in the record
    python benchmarks/long_windows.py --quick fit    # small shapes, nothing is written

Parts: fit, requests, stream, sliding and accuracy at the shape of ELECTRICITY (321 variables x 26,304 hourly steps, 96
steps in, 96 out), wrapper (metr-la-29, 96 in, 96 out: accuracy and intervals beside the full regression), traffic
(862 x 17,544, 96 in, 96 out) and many (2,000 x 100,000, 12 in, 12 out). Other data are generated, and the model repeats
the last reading. Each part runs in a process of its own, so that its peak memory is its own. Times are wall times;
beside them stand processor times and the load of the machine, which others may use. The guide's table is written anew.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import records
from numpy.typing import NDArray
from rich.console import Console

import subcast as sc
from subcast.windows import Split

SHAPES = {"electricity": (321, 26_304, 96, 96), "traffic": (862, 17_544, 96, 96), "many": (2_000, 100_000, 12, 12)}
QUICK = {"electricity": (24, 3_000, 48, 48), "traffic": (40, 3_000, 48, 48), "many": (60, 4_000, 12, 12)}
SHARES = (0.15, 0.5, 0.95)
FACTORS = 12
SEED = 0
RUNS = records.RESULTS.parent / "runs"


class LastReading:
    """Repeats the last reading: the trivial model."""

    def __init__(self, horizon: int) -> None:
        self.horizon = horizon

    def __call__(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        """Forecast [b, t, n, f] to [b, h, n]."""
        return np.repeat(np.asarray(x)[:, -1:, :, 0], self.horizon, axis=1)


def generated(n: int, steps: int) -> sc.Series:
    """Return hourly readings with a day, a week, common factors that wander back to 0, and noise."""
    rng = np.random.default_rng(SEED)
    memory = rng.uniform(0.9, 0.99, FACTORS).astype(np.float32)
    factors = rng.normal(size=(steps, FACTORS)).astype(np.float32) * np.sqrt(1 - memory**2)
    for step in range(1, steps):
        factors[step] += memory * factors[step - 1]
    loadings = rng.normal(size=(FACTORS, n)) * (rng.random((FACTORS, n)) < 0.3)
    phase, height = rng.uniform(0, 2 * np.pi, n), rng.uniform(0.5, 3, n)
    values = np.empty((steps, n), dtype=np.float32)
    for first in range(0, steps, 4096):
        hours = np.arange(first, min(first + 4096, steps))[:, None]
        daily, weekly = np.sin(2 * np.pi * hours / 24 + phase), np.sin(2 * np.pi * hours / 168 + phase)
        own = 0.5 * rng.normal(size=(len(hours), n))
        values[first : first + len(hours)] = 10 + height * (daily + weekly / 2) + factors[hours[:, 0]] @ loadings + own
    times = np.datetime64("2012-01-01T00:00") + np.arange(steps) * np.timedelta64(1, "h")
    return sc.Series(values, tuple(f"v{i}" for i in range(n)), times, freq="h")


def split_of(shape: tuple[int, int, int, int]) -> Split:
    """Return training, validation and test windows of a shape."""
    n, steps, lookback, horizon = shape
    return generated(n, steps).split(lookback, horizon, shares=(0.7, 0.1, 0.2))


def peak_gigabytes() -> float:
    """Return the largest memory of this process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


# Parts


def measure_fit(name: str, quick: bool) -> dict[str, Any]:
    """Fit the wrapper, save it for the other parts, and time a request."""
    shape = (QUICK if quick else SHAPES)[name]
    split = split_of(shape)
    before = peak_gigabytes()
    wall, processor = time.perf_counter(), time.process_time()
    robust = sc.SubsetForecaster(LastReading(shape[3]), progress=True).fit(split.train, split.val)
    figures = {
        "variables": shape[0],
        "steps": shape[1],
        "lookback": shape[2],
        "horizon": shape[3],
        "fit_seconds": time.perf_counter() - wall,
        "fit_processor_seconds": time.process_time() - processor,
        "peak_gb": peak_gigabytes(),
        "gb_before_the_fit": before,
    }
    robust.save(RUNS / f"long-{name}{'-quick' if quick else ''}")
    return figures | {"requests": measure_requests(robust, split, draws=2)}


def measure_requests(robust: sc.SubsetForecaster, split: Split, draws: int) -> dict[str, Any]:
    """Return the times of single requests with a new S and with a known one, for each share present."""
    rng, frame = np.random.default_rng(1), split.test.series.to_frame()
    lookback, n, found = robust.lookback, len(robust.variables), {}
    for share in SHARES:
        times: dict[str, list[tuple[float, float]]] = {"new": [], "known": []}
        for draw in range(draws + 1):
            columns = np.sort(rng.choice(n, max(1, round(share * n)), replace=False))
            for repeat in range(3):
                recent = frame.iloc[draw + repeat : draw + repeat + lookback, columns]
                if draw:  # the first draw warms up
                    times["known" if repeat else "new"].append(timed(lambda recent=recent: robust.predict(recent)))
        found[f"{share:.0%}"] = {kind: summary(each) for kind, each in times.items()}
    return found


def requests_part(quick: bool) -> dict[str, Any]:
    """Time single requests of the loaded wrapper."""
    robust, split = loaded(quick)
    return measure_requests(robust, split, draws=3 if quick else 12)


def stream_part(quick: bool) -> dict[str, Any]:
    """Time steps of a stream: usual ones, those that lose a sensor, and those in which it comes back.

    A sensor is lost when the window has no reading of it any more: S is another one then, and again when it comes back.
    """
    robust, split = loaded(quick)
    n, lookback = len(robust.variables), robust.lookback
    some = np.arange(round(300 / 321 * n))
    names = [robust.variables[i] for i in some]
    values, times = split.test.series.values[:, some], split.test.series.times
    stream = robust.stream()
    taken: dict[str, list[tuple[float, float]]] = {"usual": [], "one_fewer": [], "one_more": []}
    silent, period = lookback + 4, lookback + 8
    for step in range(lookback + 8 + (2 if quick else 6) * period):
        place = step - lookback - 8
        row = dict(zip(names, values[step].tolist(), strict=True))
        if place >= 0 and place % period < silent:
            del row[names[place // period]]  # another sensor each time
        changes = {lookback - 1: "one_fewer", silent: "one_more"}
        kind = changes.get(place % period, "usual") if place >= 0 else "usual"
        spent = timed(lambda row=row, step=step: stream.push(row, times[step]))
        if place >= -4:
            taken[kind].append(spent)
    found: dict[str, Any] = {kind: summary(each) for kind, each in taken.items()}
    usual = found["usual"]["processor_ms"]
    return found | {f"{kind}_to_usual": found[kind]["processor_ms"] / usual for kind in ("one_fewer", "one_more")}


def sliding_part(quick: bool) -> dict[str, Any]:
    """Compare a sliding search over the test windows with the tightest loop over as many square roots."""
    from retrieval import _mixed_roots, _plain_roots, ceiling

    n, steps, lookback, _ = (QUICK if quick else SHAPES)["electricity"]
    rng = np.random.default_rng(SEED)
    values = rng.normal(size=(steps, n)).astype(np.float32)
    cut = int(0.7 * steps)
    bank = sc.WindowBank(values[:cut], lookback)
    x, q, total = values[:2048, 0].copy(), rng.normal(size=20_000).astype(np.float32), np.zeros(2048, dtype=np.float32)
    found = {}
    for share in (0.15, 0.5):
        variables = np.sort(rng.choice(n, round(share * n), replace=False))
        queries = values[cut : cut + (200 if quick else 400) + lookback - 1]
        cells = float(cut) * len(queries) * variables.size
        walls, processors = [], []
        for _ in range(3):
            fastest = max(ceiling(loop, 40_000) for loop in (_plain_roots, _mixed_roots))
            spent = records.seconds(lambda v=variables, q=queries: bank.nearest_sliding(q, v, 20, 0.5))
            walls.append(spent * fastest / cells)
            root = min(thread_seconds(lambda loop=loop: loop(total, x, q)) for loop in (_plain_roots, _mixed_roots))
            spent = thread_seconds(lambda v=variables, q=queries: bank.nearest_sliding(q, v, 20, 0.5, threads=1))
            processors.append(spent / cells / (root / (x.size * q.size)))
        found[f"{share:.0%}"] = {
            "windows": len(queries) - lookback + 1,
            "times_the_ceiling": statistics.median(walls),
            "times_the_ceiling_one_thread_processor_time": statistics.median(processors),
        }
    return found


def accuracy_part(quick: bool) -> dict[str, Any]:
    """Compare the regression on segments with that on all steps and with that on thinned steps (as before)."""
    if quick:
        return compared_regressions(12, 24, 24, 4_000, (2, 6, 8), most=96)
    long = compared_regressions(40, 96, 96, 14_000, (6, 20, 36), most=1024)
    return long | compared_regressions(207, 12, 12, 9_000, (104, 176, 207), most=1024)


def compared_regressions(
    n: int, lookback: int, horizon: int, steps: int, sizes: tuple[int, ...], most: int
) -> dict[str, Any]:
    """Return the errors of each regression on the last fifth of generated data, in units of the spread."""
    from subcast.retrieval.moments import LagMoments
    from subcast.subset.regression import make_regression

    z = deviations(generated(n, steps).values)
    cut = int(0.8 * len(z))
    moments, rng = LagMoments.fit(z[:cut], lookback + horizon), np.random.default_rng(SEED)
    starts = np.arange(cut, len(z) - lookback - horizon, 7)
    found: dict[str, Any] = {}
    for s in sizes:
        present = np.sort(rng.choice(n, s, replace=False))
        windows = z[starts[:, None] + np.arange(lookback)][:, :, present]
        future = z[starts[:, None] + lookback + np.arange(horizon)][:, :, present]
        for ridge in (0.03, 0.3, 3.0):
            segments = make_regression(moments, present, n, lookback, horizon, ridge, most)
            full = make_regression(moments, present, n, lookback, horizon, ridge, 1 << 30)
            forecasts = {
                "segments": segments.future(segments.solve(windows), present),
                "all_steps": full.future(full.solve(windows), present),
                "thinned_steps": thinned(moments, present, windows, horizon, ridge, most),
            }
            errors = {name: mae_and_rmse(forecast - future) for name, forecast in forecasts.items()}
            name = f"lookback {lookback}, {s} of {n} present, ridge {ridge:g}"
            found[name] = {"inputs": len(segments.segments) * s} | errors
    return found


def thinned(
    moments: Any, present: NDArray[np.int64], windows: NDArray[np.float32], horizon: int, ridge: float, most: int
) -> NDArray[np.float64]:
    """Return the forecast of a regression on evenly spread steps, as it was before segments."""
    lookback = windows.shape[1]
    count = min(lookback, max(1, most // len(present)))
    steps = np.unique(np.rint(np.linspace(lookback, 0, count, endpoint=False)).astype(np.int64) - 1)
    gram = moments.gram(present, steps) + (ridge + 1e-5) * np.eye(len(steps) * len(present))
    cross = moments.cross(present, steps, present, lookback + np.arange(horizon))
    flat = windows[:, steps].reshape(len(windows), -1)
    return (flat @ np.linalg.solve(gram, cross)).reshape(len(windows), horizon, -1)


def deviations(values: NDArray[np.float32], period: int = 168) -> NDArray[np.float32]:
    """Return readings as deviations from the usual value at the hour of the week, in units of their spread."""
    known = len(values) * 8 // 10 // period * period
    by_week = values[:known].reshape(-1, period, values.shape[1])
    hours = np.arange(len(values)) % period
    return ((values - by_week.mean(axis=0)[hours]) / (by_week.std(axis=0)[hours] + 1e-6)).astype(np.float32)


def wrapper_part(quick: bool) -> dict[str, Any]:
    """Compare the whole wrapper with one that has the full regression and tunes on as many windows as short ones do."""
    from subcast.subset import regression, tuning

    series = generated(12, 3_000) if quick else sc.load_dataset("metr-la-29")
    split = series.split(24, 24) if quick else series.split(96, 96)
    found: dict[str, Any] = {"variables": series.n_variables, "steps": len(series), "lookback": split.train.lookback}
    limited = regression.make_regression.__defaults__, tuning.LONG_WINDOWS
    for name in ("limited", "full"):
        if name == "full":
            regression.make_regression.__defaults__, tuning.LONG_WINDOWS = (1 << 30,), tuning.WINDOWS
        begun = time.process_time()
        model = LastReading(split.train.horizon)
        robust = sc.SubsetForecaster(model, progress=False).fit(split.train, split.val)
        found[name] = {"fit_processor_seconds": time.process_time() - begun} | scored(robust, split, 1 if quick else 4)
    regression.make_regression.__defaults__, tuning.LONG_WINDOWS = limited
    return found


def scored(robust: sc.SubsetForecaster, split: Split, draws: int) -> dict[str, Any]:
    """Return MAE, RMSE and the coverage of the 90 % intervals on every 24th test window, for each share present."""
    windows, rng, found = split.test[::24], np.random.default_rng(2), {}
    for share in (0.15, 0.5, 0.85):
        errors, inside = [], []
        for _ in range(draws):
            present = np.sort(rng.choice(len(robust.variables), round(share * len(robust.variables)), replace=False))
            forecast = robust.predict_many(windows, present=present)
            truth = windows.targets[:, :, present]
            known = ~np.isnan(truth)
            errors.append((forecast.mean - truth)[known])
            inside.append(((forecast.lower <= truth) & (truth <= forecast.upper))[known])
        covered = float(np.concatenate(inside).mean())
        found[f"{share:.0%}"] = mae_and_rmse(np.concatenate(errors)) | {"coverage_90": covered}
    return found


def mae_and_rmse(errors: NDArray[np.floating[Any]]) -> dict[str, float]:
    """Return both, of all steps."""
    return {"mae": float(np.abs(errors).mean()), "rmse": float(np.sqrt((errors.astype(np.float64) ** 2).mean()))}


# Timing


def timed(call: Callable[[], object]) -> tuple[float, float]:
    """Return wall and processor seconds of a call."""
    wall, processor = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - wall, time.process_time() - processor


def thread_seconds(call: Callable[[], object]) -> float:
    """Return the processor seconds that a call takes in this thread."""
    begun = time.thread_time()
    call()
    return time.thread_time() - begun


def summary(times: list[tuple[float, float]]) -> dict[str, float]:
    """Return the medians in milliseconds, and the smallest wall time."""
    walls, processors = zip(*times, strict=True)
    return {
        "wall_ms": 1e3 * statistics.median(walls),
        "fastest_wall_ms": 1e3 * min(walls),
        "processor_ms": 1e3 * statistics.median(processors),
    }


def loaded(quick: bool) -> tuple[sc.SubsetForecaster, Split]:
    """Return the wrapper that the part `fit` saved, and its data."""
    shape = (QUICK if quick else SHAPES)["electricity"]
    folder = RUNS / f"long-electricity{'-quick' if quick else ''}"
    if not folder.exists():
        raise SystemExit("run the part fit first: python benchmarks/long_windows.py fit")
    return sc.load(folder, LastReading(shape[3])), split_of(shape)


PARTS: dict[str, Callable[[bool], dict[str, Any]]] = {
    "fit": lambda quick: measure_fit("electricity", quick),
    "requests": requests_part,
    "stream": stream_part,
    "sliding": sliding_part,
    "accuracy": accuracy_part,
    "wrapper": wrapper_part,
    "traffic": lambda quick: measure_fit("traffic", quick),
    "many": lambda quick: measure_fit("many", quick),
}


def run_part(name: str, quick: bool) -> dict[str, Any]:
    """Run a part in this process; return its figures with the load of the machine."""
    before = os.getloadavg()[0]
    figures = PARTS[name](quick)
    return figures | {"load_before": before, "load_after": os.getloadavg()[0]}


def main() -> None:
    """Run the parts, show them, and write them into the record."""
    parser = argparse.ArgumentParser(description="Measure long windows and many variables.")
    choices = f"of {', '.join(PARTS)}; all by default"
    parser.add_argument("parts", nargs="*", default=list(PARTS), metavar="PART", help=choices)
    parser.add_argument("--quick", action="store_true", help="small shapes; nothing is written")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)  # print the figures of one part
    arguments = parser.parse_args()
    unknown = set(arguments.parts) - set(PARTS)
    if unknown:
        parser.error(f"there is no part {sorted(unknown)[0]!r}; the parts are {', '.join(PARTS)}")
    if arguments.here:
        print(json.dumps(run_part(arguments.parts[0], arguments.quick)))
        return
    for name in arguments.parts:
        command = [sys.executable, __file__, name, "--here", *(["--quick"] if arguments.quick else [])]
        printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        figures = json.loads(printed.strip().splitlines()[-1])
        Console().print_json(data={name: figures})
        if not arguments.quick:
            write(name, figures)
    if not arguments.quick:
        write_page(json.loads((Path(records.RESULTS) / "long-windows.json").read_text())["figures"])


def write(name: str, figures: dict[str, Any]) -> None:
    """Write a part into the record, beside those that are there."""
    path = Path(records.RESULTS) / "long-windows.json"
    known = json.loads(path.read_text())["figures"] if path.exists() else {}
    note = "other processes may have used the machine: see the load beside each part; goals are for two idle processors"
    records.write_record("long-windows", known | {name: figures}, packages=("numpy", "numba", "scipy"), note=note)


def tables(figures: dict[str, Any]) -> str:
    """Return what the guide shows of the record."""
    lines = [
        "| shape | fit | peak memory | request, new S, at 15 / 50 % present | known S |",
        "|---|---|---|---|---|",
    ]
    for name in ("fit", "traffic", "many"):
        part = figures.get(name)
        if part is None:
            continue
        requests = figures["requests"] if name == "fit" and "requests" in figures else part["requests"]
        new, known = (
            " / ".join(f"{requests[share][kind]['wall_ms']:.0f}" for share in ("15%", "50%"))
            for kind in ("new", "known")
        )
        sizes = f"{part['variables']:,} variables x {part['steps']:,} steps"
        lines.append(
            f"| {sizes}, {part['lookback']} in, {part['horizon']} out "
            f"| {part['fit_seconds']:.0f} s | {part['peak_gb']:.1f} GB | {new} ms | {known} ms |"
        )
    if "stream" in figures:
        stream = figures["stream"]
        lines.append(
            f"\nA step of a stream with 300 of 321 sensors takes {stream['usual']['wall_ms']:.0f} ms. One after which "
            f"a sensor has no reading in the window any more takes {stream['one_fewer_to_usual']:.2f} times as long, "
            f"one in which it comes back {stream['one_more_to_usual']:.2f} times: the search goes on, and the "
            "regression on the new S is solved anew, which costs little beside the rest."
        )
    if "sliding" in figures:
        times = [figures["sliding"][share]["times_the_ceiling_one_thread_processor_time"] for share in ("15%", "50%")]
        lines.append(
            f"\nA sliding search takes {times[0]:.2f} times (15 % present) and {times[1]:.2f} times (50 %) as long as "
            "its square roots alone in the tightest loop. The sums over 96 steps cost 20 additions for each pair of "
            "windows, whatever S is; with few variables that is much beside the roots."
        )
    if "wrapper" in figures:
        lines += ["", *wrapper_lines(figures["wrapper"])]
    return "\n".join(lines)


def wrapper_lines(part: dict[str, Any]) -> list[str]:
    """Return the table of the whole wrapper beside the full regression."""
    lines = [
        f"The whole wrapper on metr-la-29, {part['lookback']} steps in and out, with these limits and without them:\n",
        "| present | MAE, limited | MAE, full | RMSE, limited | RMSE, full | in the 90 % interval, limited | full |",
        "|---|---|---|---|---|---|---|",
    ]
    for share in ("15%", "50%", "85%"):
        one, other = part["limited"][share], part["full"][share]
        cells = [f"{each[name]:.3f}" for name in ("mae", "rmse") for each in (one, other)]
        cells += [f"{100 * each['coverage_90']:.1f} %" for each in (one, other)]
        lines.append(f"| {share} | {' | '.join(cells)} |")
    return lines


def write_page(figures: dict[str, Any]) -> None:
    """Write the tables into the guide."""
    page = Path(records.RESULTS).parent / "docs" / "guide" / "long-windows.md"
    text = page.read_text()
    begin, end = "<!-- long-windows: written by benchmarks/long_windows.py -->\n", "<!-- /long-windows -->\n"
    before, _, rest = text.partition(begin)
    page.write_text(before + begin + tables(figures) + "\n" + end + rest.partition(end)[2])


if __name__ == "__main__":
    main()
