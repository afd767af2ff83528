"""The wrapper's speed at the shape of METR-LA with MTGNN: a whole test set, one live request, one step of a stream.

    python benchmarks/wrapper.py            # about ten minutes; writes results/wrapper-speed.json
    python benchmarks/wrapper.py --quick    # a smaller shape, under a minute; writes nothing

The other side is the paper's procedure written plainly in torch: broadcasting over all training windows, five
completions and the five neighbors themselves through the model, FDW. It is first checked to give the forecasts of
`SubsetForecaster.paper`. It is timed on some windows, with the model's straightforward formulation and with ours; the
default is timed on the whole test set, in turns with it.
"""

from __future__ import annotations

import argparse
import gc
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import records
import torch
from numpy.typing import NDArray
from rich.console import Console

from subcast import Series, SubsetForecaster, draw_subsets
from subcast.subset.experts import completed_model
from subcast.subset.fitted import Fitted
from subcast.subset.methods import pooled
from subcast.forecasters import MTGNN
from subcast.forecasters.trained import TrainedForecaster
from subcast.scaling import Scaler
from subcast.subset.shares import USUAL_SHARES, rows_of_shares
from subcast.windows import Split, Windows
from subcast.subset import Settings

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from twins import forecasters_twins

LOOKBACK, HORIZON, SHARE, NEIGHBORS = 12, 12, 0.15, 5
TOLERANCE = 2e-3


def main() -> None:
    """Measure, show, and write the record."""
    parser = argparse.ArgumentParser(description="Measure the wrapper's speed.")
    parser.add_argument("--quick", action="store_true", help="a small shape; nothing is written")
    quick = parser.parse_args().quick
    steps, n, sample, requests = (4_000, 40, 8, 50) if quick else (34_272, 207, 16, 400)
    split, model = traffic(steps, n)
    present = np.sort(draw_subsets(n, share=SHARE, draws=1, seed=0)[0])
    robust = SubsetForecaster(model, settings=chosen(), progress=False).fit(split.train, split.val)
    published = SubsetForecaster.paper(model, progress=False).fit(split.train)
    figures: dict[str, Any] = {"shape": {"steps": steps, "variables": n, "present": len(present)}}
    figures["test_set"] = test_set(split, model, robust, published, present, sample)
    figures["request"] = live_requests(robust, split.test, present, requests)
    figures["update"] = live_updates(robust, split.test, present, requests)
    figures["new_subset"] = new_subsets(robust, split.test, 12)
    figures["second_process"] = second_process(robust)
    Console().print_json(data=figures)
    if not quick:
        records.write_record("wrapper-speed", figures, packages=("numpy", "torch", "numba"))


def traffic(steps: int, n: int) -> tuple[Split, TrainedForecaster]:
    """A made-up series with the shape and the daily course of METR-LA, and an MTGNN of random weights."""
    rng = np.random.default_rng(0)
    day = np.arange(steps)[:, None] / 288 * 2 * np.pi
    values = (
        55
        + 8 * np.cos(day + rng.uniform(0, 6, n))
        + np.cumsum(rng.normal(size=(steps, 8)), axis=0) @ rng.normal(size=(8, n), scale=0.02)
    )
    values = (values + rng.normal(size=values.shape)).astype(np.float32)
    times = np.datetime64("2012-03-01", "ns") + np.arange(steps) * np.timedelta64(5, "m")
    series = Series(values, times=times, freq="5min", time_features=("time_of_day",), name="traffic-like")
    split = series.split(LOOKBACK, HORIZON, protocol="paper")
    torch.manual_seed(0)
    module = MTGNN(n_variables=n, lookback=LOOKBACK, horizon=HORIZON, n_features=2).eval()
    scaler = Scaler.fit(split.train)
    means = np.broadcast_to(scaler.mean, (n,)).copy()
    model = TrainedForecaster(module, "mtgnn", scaler, means, series.variables, LOOKBACK, HORIZON, 2, ("time_of_day",))
    return split, model


def chosen() -> Settings:
    """Settings as tuning finds them on traffic, with every expert at its usual share: the slowest it may choose."""
    shares = np.tile(list(USUAL_SHARES.values()), (HORIZON, 1))
    blend = rows_of_shares(list(USUAL_SHARES), [shares] * 3)
    return Settings(neighbors=50, correction=1.0, ridge=0.03, blend=blend)


def test_set(
    split: Split,
    model: TrainedForecaster,
    robust: SubsetForecaster,
    published: SubsetForecaster,
    present: NDArray[np.int64],
    sample: int,
) -> dict[str, Any]:
    """Seconds a window of the plain procedure (on some) and of the default (on all), and their ratio."""
    test = split.test
    some = test[:: max(1, len(test) // sample)][:sample]
    plain = PlainPaper(split.train, model)
    slow = plain.forecast(some, present, straightforward=True)
    quick = plain.forecast(some, present, straightforward=False)
    ours = published.predict_many(some, present=present).mean
    scale = float(model.scaler.scale.mean())
    worst = max(float(np.abs(one - ours).max()) / scale for one in (slow, quick))
    if worst > TOLERANCE:
        raise SystemExit(f"the plain procedure and SubsetForecaster.paper differ by {worst} deviations")
    robust.predict_many(test[:64], present=present)  # compiled, plan solved
    taken = records.in_turns(
        2,
        plain=lambda: plain.forecast(some, present, straightforward=True),
        plain_with_our_model=lambda: plain.forecast(some, present, straightforward=False),
        default=lambda: robust.predict_many(test, present=present),
        paper=lambda: published.predict_many(some, present=present),
    )
    each = {
        "plain": taken["plain"] / len(some),
        "plain_with_our_model": taken["plain_with_our_model"] / len(some),
        "paper": taken["paper"] / len(some),
        "default": taken["default"] / len(test),
    }
    return {
        "windows": len(test),
        "plain_windows": len(some),
        "largest_difference_deviations": worst,
        "milliseconds_a_window": {name: 1000 * value for name, value in each.items()},
        "default_seconds_in_all": taken["default"],
        "plain_minutes_in_all": each["plain"] * len(test) / 60,
        "ratio": each["plain"] / each["default"],
        "ratio_with_our_model": each["plain_with_our_model"] / each["default"],
    }


class PlainPaper:
    """The published procedure, one window at a time, as plainly as torch allows."""

    def __init__(self, train: Windows, model: TrainedForecaster) -> None:
        self.model = model
        inputs = model.scaler.transform_inputs(train.batch().inputs)  # [windows, t, n, f]
        self.bank = torch.from_numpy(inputs)

    def forecast(self, windows: Windows, present: NDArray[np.int64], *, straightforward: bool) -> NDArray[np.float32]:
        """Forecast S for each window: [b, h, s], raw."""
        run = (
            (lambda x: forecasters_twins.TWINS["mtgnn"](self.model.module, x)) if straightforward else self.model.module
        )
        kept = torch.from_numpy(present)
        absent = torch.from_numpy(np.setdiff1d(np.arange(self.bank.shape[2]), present))
        steps = torch.arange(1, HORIZON + 1).reshape(1, -1, 1)
        queries = torch.from_numpy(self.model.scaler.transform_inputs(windows.batch().inputs))
        forecasts = []
        with torch.inference_mode():
            for query in queries:
                distance = (self.bank[:, :, kept] - query[None][:, :, kept]).abs().pow(0.5).mean(dim=(1, 2, 3))
                near = self.bank[distance.topk(NEIGHBORS, largest=False).indices]  # [m, t, n, f]
                filled = query.repeat(NEIGHBORS, 1, 1, 1)
                filled[:, :, absent] = near[:, :, absent]
                new, old = run(filled)[:, :, kept], run(near)[:, :, kept]  # [m, h, s]
                weights = torch.softmax(-((new - old).abs() / steps).mean(dim=(1, 2)) / 0.1, dim=0)
                forecasts.append((weights[:, None, None] * new).sum(dim=0))
        return self.model.scaler.inverse(torch.stack(forecasts).numpy())


def live_requests(robust: SubsetForecaster, test: Windows, present: NDArray[np.int64], count: int) -> dict[str, Any]:
    """One `predict` after the other: a frame in, a Forecast out; and where the time goes."""
    frame = test.series.to_frame().iloc[:, present]
    taken: dict[str, list[float]] = {"whole": [], "retrieval": [], "completion": [], "model": []}
    clocks = Clocks(robust.fitted_)
    with clocks:
        for place in range(count):
            recent = frame.iloc[place : place + LOOKBACK]
            clocks.reset()
            begun = time.perf_counter()
            robust.predict(recent)
            taken["whole"].append(time.perf_counter() - begun)
            for part, seconds in clocks.spent.items():
                taken[part].append(seconds)
    return spread(taken)


def live_updates(robust: SubsetForecaster, test: Windows, present: NDArray[np.int64], count: int) -> dict[str, Any]:
    """One `update` after the other."""
    rows = np.full(test.series.values.shape, np.nan, dtype=np.float32)
    rows[:, present] = test.series.values[:, present]
    times = test.series.times
    assert times is not None
    robust.reset()
    for place in range(LOOKBACK):
        robust.update(rows[place], times[place])
    taken: dict[str, list[float]] = {"whole": [], "retrieval": [], "completion": [], "model": []}
    clocks = Clocks(robust.fitted_)
    stream = robust._own_stream
    assert stream is not None
    stream._nearest = clocks._timed(stream._nearest, "retrieval")  # type: ignore[method-assign]
    with clocks:
        for place in range(LOOKBACK, LOOKBACK + count):
            clocks.reset()
            begun = time.perf_counter()
            robust.update(rows[place], times[place])
            taken["whole"].append(time.perf_counter() - begun)
            for part, seconds in clocks.spent.items():
                taken[part].append(seconds)
    robust.reset()
    return spread(taken)


def new_subsets(robust: SubsetForecaster, test: Windows, count: int) -> dict[str, Any]:
    """What a new S adds to a request, and the same request again."""
    fitted = robust.fitted_
    solved, again = [], []
    for present in draw_subsets(fitted.n, share=SHARE, draws=count, seed=7):
        present = np.sort(present)
        assert fitted.regressions is not None
        begun = time.perf_counter()
        regression = fitted.regressions.get(present, robust.settings_.ridge)
        differences = np.zeros((1, LOOKBACK, len(present)), dtype=np.float32)
        regression.inputs(regression.solve(differences))
        regression.future(regression.solve(differences), present)
        solved.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        fitted.regressions.get(present, robust.settings_.ridge)
        again.append(time.perf_counter() - begun)
    return spread({"solving": solved, "looking_up": again})


def second_process(robust: SubsetForecaster) -> dict[str, Any]:
    """Memory that a second process has to itself after loading the same folder, beside what is mapped."""
    script = (
        "import sys, numpy as np, subcast as sc\n"
        "def memory():\n"
        "    rows = open('/proc/self/smaps').read().split('\\n')\n"
        "    mapped = own = 0; inside = False\n"
        "    for row in rows:\n"
        "        if '-' in row.split(' ')[0] and ':' not in row.split(' ')[0]: inside = '.npy' in row\n"
        "        elif inside and row.startswith('Rss:'): mapped += int(row.split()[1])\n"
        "        elif inside and row.startswith('Private_'): own += int(row.split()[1])\n"
        "    return mapped / 1024, own / 1024\n"
        "robust = sc.load(sys.argv[1])\n"
        "fitted = robust.fitted_\n"
        "float(np.asarray(fitted.bank.data).sum()); float(np.asarray(fitted.moments.whole).sum())\n"
        "mapped, own = memory()\n"
        "print(mapped, own, fitted.bank.data.nbytes / 2**20)\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        robust.save(Path(folder) / "wrapper")
        gc.collect()
        first = subprocess.Popen(
            [sys.executable, "-c", script + "input()\n", str(Path(folder) / "wrapper")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert first.stdout is not None
        first.stdout.readline()
        answer = subprocess.run(
            [sys.executable, "-c", script, str(Path(folder) / "wrapper")], capture_output=True, text=True, check=True
        ).stdout.split()
        first.communicate("\n")
    mapped, own, bank = map(float, answer)
    return {"mapped_megabytes": mapped, "of_which_its_own": own, "bank_megabytes": bank}


class Clocks:
    """Time spent in retrieval, completion and the model, by wrapping the functions while inside."""

    def __init__(self, fitted: Fitted) -> None:
        self.parts = (
            (fitted, "retrieve", "retrieval"),
            (pooled, "complete", "completion"),
            (completed_model, "model_inputs", "completion"),
            (fitted.experts["specialist"], "forecast", "completion"),
            (fitted, "run", "model"),
        )
        self.before: list[Any] = []
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        self.spent = {"retrieval": 0.0, "completion": 0.0, "model": 0.0}

    def __enter__(self) -> None:
        self.before = [getattr(owner, name) for owner, name, _ in self.parts]
        for owner, name, part in self.parts:
            setattr(owner, name, self._timed(getattr(owner, name), part))

    def __exit__(self, *_: object) -> None:
        for (owner, name, _), function in zip(self.parts, self.before, strict=True):
            setattr(owner, name, function)

    def _timed(self, call: Any, part: str) -> Any:
        def timed(*arguments: Any, **options: Any) -> Any:
            begun = time.perf_counter()
            try:
                return call(*arguments, **options)
            finally:
                self.spent[part] += time.perf_counter() - begun

        return timed


def spread(taken: dict[str, list[float]]) -> dict[str, Any]:
    """Median and 99th percentile in milliseconds."""
    return {
        part: {
            "median_ms": 1000 * float(np.median(seconds)),
            "p99_ms": 1000 * float(np.quantile(seconds, 0.99)),
            "count": len(seconds),
        }
        for part, seconds in taken.items()
    }


if __name__ == "__main__":
    main()
