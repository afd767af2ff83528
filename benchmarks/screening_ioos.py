"""Compare the screening with ioos_qc on the tests that both have; ioos_qc need not be in the same environment.

    python benchmarks/screening_ioos.py make faults.npz       # with subcast: faulty readings, and our flags
    python benchmarks/screening_ioos.py judge faults.npz      # with numpy and ioos_qc alone: writes the record

One sensor after another of metr-la-29's test part gets a fault for a day: it repeats its last reading (stuck), or one
reading in twenty is off by six spreads (spike). The limits of ioos_qc are taken from the same training readings: flat
line from the longest runs of equal readings, spike from the largest ones. Two further checks are about semantics: 100
readings of an exactly stuck sensor with tolerance 0, and 15 readings of a sensor that reports every tenth step only.
"""

from __future__ import annotations

import datetime
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).resolve().parent.parent / "results"
BAD = 4
SEED = 5


def make(path: str) -> None:
    """Write faulty readings with times, training limits and our flags."""
    from subcast import SubsetForecaster, load_dataset
    from subcast.screening import Screener

    train, _, test = load_dataset("metr-la-29").split(12, 12)
    robust = SubsetForecaster(lambda x: np.repeat(x[:, -1:, :, 0], 12, axis=1), progress=False).fit(train)
    screener = Screener.fit(robust, train)
    first = 700
    clean = np.asarray(test.series.values[first : first + 3 * 288], dtype=np.float64)
    times = test.series.times[first : first + 3 * 288]
    arrays: dict[str, Any] = {"times": times.astype("datetime64[s]").astype(np.int64)}
    arrays["training"] = np.asarray(train.series.values, dtype=np.float64)
    unit = np.nanstd(arrays["training"], axis=0)
    for kind in ("stuck", "spike"):
        readings, faulty, ours = [], [], []
        for sensor in range(0, clean.shape[1], 3):
            broken, wrong = put_fault(clean, sensor, kind, float(unit[sensor]))
            feed = screener.start()
            steps = [feed.push(row, time) for row, time in zip(broken, times, strict=True)]
            readings.append(broken[:, sensor])
            faulty.append(wrong)
            ours.append([int(step.flags[sensor]) for step in steps])
        arrays |= {f"{kind}_readings": np.array(readings), f"{kind}_faulty": np.array(faulty), f"{kind}_ours": ours}
    arrays["sensors"] = np.arange(0, clean.shape[1], 3)
    np.savez_compressed(path, **arrays)


def put_fault(clean: Any, sensor: int, kind: str, unit: float) -> tuple[Any, Any]:
    """Return readings in which one sensor is faulty in the last day, and which of its readings are wrong."""
    broken, wrong = clean.copy(), np.zeros(len(clean), dtype=bool)
    rng = np.random.default_rng([SEED, sensor])
    day = np.arange(len(clean) - 288, len(clean))
    if kind == "stuck":
        known = day[~np.isnan(clean[day, sensor])]
        broken[known[0] :, sensor] = clean[known[0], sensor]
        wrong[known[0] + 1 :] = True
    else:
        hit = day[rng.random(len(day)) < 0.05]
        broken[hit, sensor] += 6 * unit * rng.choice([-1.0, 1.0], len(hit))
        wrong[hit] = ~np.isnan(broken[hit, sensor])
    return broken, wrong


def judge(path: str) -> None:
    """Judge the same readings with ioos_qc, and write the record."""
    from importlib.metadata import version

    from ioos_qc import qartod

    with np.load(path) as file:
        data = dict(file)
    times = data["times"].astype("datetime64[s]")
    figures: dict[str, Any] = {}
    for kind in ("stuck", "spike"):
        theirs = []
        for place, sensor in enumerate(data["sensors"]):
            training, readings = data["training"][:, sensor], data[f"{kind}_readings"][place]
            masked = np.ma.masked_invalid(readings)
            if kind == "stuck":
                run = longest_run(training)
                limits = {"suspect_threshold": 300 * run, "fail_threshold": 300 * (run + 1), "tolerance": 0.01}
                flags = qartod.flat_line_test(masked, times, **limits)
            else:
                sizes = np.abs(training[1:-1] - (training[2:] + training[:-2]) / 2)
                limit = float(np.nanquantile(sizes, 0.9999))
                flags = qartod.spike_test(masked, suspect_threshold=limit / 2, fail_threshold=limit)
            theirs.append(np.asarray(flags))
        figures[kind] = {"ioos_qc": shares(np.array(theirs), data[f"{kind}_faulty"]),
                         "subcast": shares(np.array(data[f"{kind}_ours"]), data[f"{kind}_faulty"])}  # fmt: skip
    figures["semantics"] = semantics(qartod)
    record = {
        "record": "screening-ioos",
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "packages": {"ioos_qc": version("ioos_qc"), "numpy": np.__version__},
        "command": "python benchmarks/screening_ioos.py make faults.npz, then judge faults.npz",
        "seed": SEED,
        "figures": figures,
    }
    print(json.dumps(figures, indent=1))
    (RESULTS / "screening-ioos.json").write_text(json.dumps(record, indent=1) + "\n")


def longest_run(readings: Any) -> int:
    """Return the longest run of equal readings, without the longest thousandth."""
    known = readings[~np.isnan(readings)]
    starts = np.flatnonzero(np.diff(known, prepend=np.nan) != 0)
    return int(np.quantile(np.diff(starts, append=len(known)), 0.999)) + 1


def shares(flags: Any, faulty: Any) -> dict[str, float]:
    """Return the share of wrong readings that are bad, and of right ones."""
    bad = flags == BAD
    return {"found": round(float(bad[faulty].mean()), 4), "false": round(float(bad[~faulty].mean()), 5)}


def semantics(qartod: Any) -> dict[str, Any]:
    """Return what the flat line test says about an exactly stuck and about a sparse sensor."""
    times = np.datetime64("2024-01-01") + np.arange(150) * np.timedelta64(5, "m")
    limits = {"suspect_threshold": 1500, "fail_threshold": 3000}
    exact = qartod.flat_line_test(np.full(100, 7.0), times[:100], **limits, tolerance=0)
    sparse = np.ma.masked_invalid(np.where(np.arange(150) % 10 == 0, np.arange(150.0), np.nan))
    flat = qartod.flat_line_test(sparse, times, **limits, tolerance=0.01)
    known = ~np.ma.getmaskarray(sparse)
    return {
        "exactly_stuck_flagged_of_100": int(np.count_nonzero(np.asarray(exact) >= 3)),
        "sparse_flagged_of_15": int(np.count_nonzero(np.isin(np.asarray(flat)[known], [3, 4]))),
    }


if __name__ == "__main__":
    {"make": make, "judge": judge}[sys.argv[1]](sys.argv[2])
