"""Measure screening: faults that are found, false alarms, and what screening is worth to the forecasts.

    python benchmarks/screening.py metr-la-29               # writes results/screening-metr-la-29.json
    python benchmarks/screening.py clouds --part val        # prints figures of the validation part, writes nothing

Faults of eight kinds and several sizes are put into a tenth of the sensors at random times of the test part. Four
forecasts of all sensors are compared with what really came: from the readings without faults (clean), with faults
(unscreened), with faults that are screened step by step (screened), and with the faulty readings left out as if they
were known (known). Errors are absolute, in units of each sensor's spread, and only of windows that a fault may reach.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import records
from numpy.typing import NDArray
from quality import ridge_model

from subcast import SubsetForecaster, load, load_dataset
from subcast.forecasters.trained import TrainedForecaster
from subcast.screening import Screened, Screener
from subcast.screening.learning import CLIP, all_differences
from subcast.series import Series
from subcast.windows import Windows

Floats = NDArray[np.float64]

LOOKBACK = HORIZON = 12
DATASETS = ("metr-la-29", "pems-bay-67", "beijing-pollutants", "clouds")
CHECKPOINTS = Path(__file__).resolve().parent.parent / "results" / "checkpoints"
EFFORT = 0.15
DRAWS = 8  # for each kind and size; three times as many for a kind without sizes
WINDOWS = 16  # for each draw
FAULTY = 0.1  # of the sensors at once
SHORTEST, LONGEST = 0.5, 3.0  # days of a fault
LEAD = 2.0  # days of good readings before
SEED = 2026

KINDS: dict[str, tuple[float, ...]] = {
    "dead": (0.0, 1.0, 2.0),  # sends 0, its lowest or its highest reading of the training
    "stuck": (0.0,),  # repeats its last reading
    "stuck plausible": (0.02, 0.05, 0.1),  # stays near a usual reading, with this jitter in spreads
    "spike": (3.0, 6.0, 12.0),  # one reading in twenty is off by so many spreads
    "offset": (1.0, 2.0, 4.0),  # all readings are off by so many spreads
    "drift": (2.0, 4.0, 8.0),  # readings move away, by so many spreads at the end
    "noise": (0.5, 1.0, 2.0),  # white noise of so many spreads is added
    "swapped pair": (0.0,),  # two sensors are exchanged
}


@dataclass
class Plant:
    """A dataset with its wrapper and screener."""

    name: str
    robust: SubsetForecaster
    screener: Screener
    train: Windows
    part: Windows
    unit: Floats
    slots: int

    @property
    def series(self) -> Series:
        """The readings into which faults are put."""
        return self.part.series


@dataclass
class Fault:
    """A faulty copy of a stretch of readings."""

    first: int  # step of the part at which the stretch begins
    values: Floats  # [t, n]
    faulty: NDArray[np.bool_]  # [t, n]


def open_plant(name: str, part: str, cache: Path | None = None) -> Plant:
    """Return a dataset with its wrapper and screener; the wrapper is kept in a folder, if one is given."""
    series = load_dataset(name)
    checkpoint = CHECKPOINTS / f"tcn-{name}"
    if name == "clouds":
        series = series.with_features("time_of_day")
        train, val, test = series.split(LOOKBACK, HORIZON)
        model: Any = ridge_model(train)
    else:
        model = TrainedForecaster.load(checkpoint)
        train, val, test = series.with_features(*model.time_features).split(LOOKBACK, HORIZON)
    if cache is not None and (cache / name).exists():
        robust = load(cache / name, model if name == "clouds" else None)
    else:
        robust = SubsetForecaster(model, effort=EFFORT, assist="always", progress=False).fit(train, val)
        if cache is not None:
            robust.save(cache / name)
    screener = Screener.fit(robust, train)
    unit = robust.fitted_.normalizer.levels[1].astype(np.float64)
    slots = robust.fitted_.normalizer.cycle.slots
    return Plant(name, robust, screener, train, {"val": val, "test": test}[part], unit, slots)


# Faults


def make_fault(plant: Plant, kind: str, size: float, rng: np.random.Generator) -> Fault:
    """Put faults of one kind and size into a tenth of the sensors, each beginning at a time of its own."""
    values = plant.series.values
    steps, n = values.shape
    day = plant.slots
    lead, duration = round(LEAD * day), round(rng.uniform(SHORTEST, LONGEST) * day)
    duration = min(duration, steps - lead - 2 * HORIZON)
    first = int(rng.integers(0, steps - lead - duration - 2 * HORIZON + 1))
    stretch = np.array(values[first : first + lead + duration], dtype=np.float64)
    faulty = np.zeros(stretch.shape, dtype=bool)
    count = max(2, round(FAULTY * n))
    sensors = rng.choice(n, count - count % 2 if kind == "swapped pair" else count, replace=False)
    broken = stretch.copy()
    for place, sensor in enumerate(sensors):
        begin = lead + int(rng.integers(0, duration // 2))
        if kind == "swapped pair":
            begin = lead + (place // 2) * duration // (2 * len(sensors))
            broken[begin:, sensor] = stretch[begin:, sensors[place ^ 1]]
            faulty[begin:, sensor] = True
        else:
            FAULTS[kind](plant, broken[begin:, sensor], int(sensor), size, rng, faulty[begin:, sensor])
    faulty &= ~np.isnan(broken)
    return Fault(first, broken, faulty)


def _dead(plant: Plant, readings: Floats, sensor: int, size: float, rng: Any, faulty: Any) -> None:
    training = plant.train.series.values[:, sensor]
    readings[:] = (0.0, np.nanmin(training), np.nanmax(training))[int(size)]
    faulty[:] = True


def _stuck(plant: Plant, readings: Floats, sensor: int, size: float, rng: Any, faulty: Any) -> None:
    known = np.flatnonzero(~np.isnan(readings))
    if known.size:
        readings[known[0] :] = readings[known[0]]
        faulty[known[0] + 1 :] = True


def _stuck_plausible(plant: Plant, readings: Floats, sensor: int, size: float, rng: Any, faulty: Any) -> None:
    low, high = np.nanquantile(plant.train.series.values[:, sensor], [0.3, 0.7])
    readings[:] = rng.uniform(low, high) + size * plant.unit[sensor] * rng.normal(size=len(readings))
    faulty[:] = True


def _spike(plant: Plant, readings: Floats, sensor: int, size: float, rng: Any, faulty: Any) -> None:
    hit = rng.random(len(readings)) < 0.05
    readings[hit] += size * plant.unit[sensor] * rng.choice([-1.0, 1.0], hit.sum())
    faulty[hit] = True


def _offset(plant: Plant, readings: Floats, sensor: int, size: float, rng: Any, faulty: Any) -> None:
    readings += size * plant.unit[sensor] * rng.choice([-1.0, 1.0])
    faulty[:] = True


def _drift(plant: Plant, readings: Floats, sensor: int, size: float, rng: Any, faulty: Any) -> None:
    readings += size * plant.unit[sensor] * rng.choice([-1.0, 1.0]) * np.linspace(0, 1, len(readings))
    faulty[:] = True


def _noise(plant: Plant, readings: Floats, sensor: int, size: float, rng: Any, faulty: Any) -> None:
    readings += size * plant.unit[sensor] * rng.normal(size=len(readings))
    faulty[:] = True


FAULTS: dict[str, Callable[..., None]] = {
    "dead": _dead,
    "stuck": _stuck,
    "stuck plausible": _stuck_plausible,
    "spike": _spike,
    "offset": _offset,
    "drift": _drift,
    "noise": _noise,
}


# Forecasts


def forecast_error(plant: Plant, windows: Floats, starts: NDArray[np.int64]) -> float:
    """Return the mean absolute error of forecasts from windows [b, t, n], in spreads, over all sensors and steps."""
    robust, series = plant.robust, plant.series
    features = None if series.features is None else series.features[starts[:, None] + np.arange(LOOKBACK)]
    truth = series.values[starts[:, None] + LOOKBACK + np.arange(HORIZON)]  # [b, h, n]
    there = ~np.isnan(windows).all(axis=1)  # [b, n]
    mean = np.full(truth.shape, np.nan)
    _, group = np.unique(there, axis=0, return_inverse=True)
    for number in range(group.max() + 1):
        chosen = np.flatnonzero(group.ravel() == number)
        inputs = windows[chosen].astype(np.float32)
        if features is not None:
            shared = np.broadcast_to(features[chosen][:, :, None], (*inputs.shape, features.shape[-1]))
            inputs = np.concatenate([inputs[..., None], shared], axis=3)
        present = np.flatnonzero(there[chosen[0]])
        begins = None if series.times is None else series.times[starts[chosen]]
        forecast = robust.predict_many(inputs, present=present, times=begins, absent=True, levels=())
        order = [robust.variables.index(name) for name in forecast.variables]
        mean[chosen[:, None, None], np.arange(HORIZON)[:, None], order] = forecast.mean
    assert not np.isnan(mean).any()
    return float(np.nanmean(np.abs(mean - truth) / plant.unit))


def screened_windows(plant: Plant, fault: Fault, ends: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int8], Any]:
    """Return windows that end at steps of the stretch as a live feed has them, the flags, and when sensors were ill."""
    feed = plant.screener.start()
    times = plant.series.times
    flags, ill, windows = [], [], {}
    wanted = set(ends.tolist())
    for step, row in enumerate(fault.values):
        result = feed.push(row, None if times is None else times[fault.first + step])
        flags.append(result.flags)
        if step:
            flags[step - 1][result.spiked] = 4
        ill.append(result.ill)
        if step in wanted:
            windows[step] = result.hide(fault.values[step - LOOKBACK + 1 : step + 1])
    return np.stack([windows[end] for end in ends.tolist()]), np.stack(flags), np.stack(ill)


def measure_fault(plant: Plant, kind: str, size: float, seed: tuple[int, ...], windows: int) -> dict[str, Any]:
    """Return errors, and which faulty sensors were found and when, of one draw."""
    rng = np.random.default_rng(seed)
    while True:  # until the stretch is none in which nearly all sensors are silent
        fault = make_fault(plant, kind, size, rng)
        usable = usable_ends(plant, fault)
        if usable.size >= windows:
            break
    ends = np.sort(rng.choice(usable, windows))
    starts = fault.first + ends - LOOKBACK + 1
    index = ends[:, None] - LOOKBACK + 1 + np.arange(LOOKBACK)  # [b, t]
    clean = np.asarray(plant.series.values[fault.first + index], dtype=np.float64)
    screened, flags, ill = screened_windows(plant, fault, ends)
    sources = {
        "clean": clean,
        "unscreened": fault.values[index],
        "screened": screened,
        "known": np.where(fault.faulty[index], np.nan, fault.values[index]),
    }
    errors = {name: forecast_error(plant, each, starts) for name, each in sources.items()}
    return {"kind": kind, "size": size, **errors, "found": found(fault, flags, ill, kind)}


def usable_ends(plant: Plant, fault: Fault) -> NDArray[np.int64]:
    """Return the steps from the first fault on before and after which at least half of the sensors reported."""
    if not fault.faulty.any():
        return np.zeros(0, dtype=np.int64)
    first = int(np.flatnonzero(fault.faulty.any(axis=1))[0])
    there = (~np.isnan(plant.series.values)).mean(axis=1)
    ends = np.arange(first, len(fault.values))
    steps = fault.first + ends[:, None] - LOOKBACK + 1 + np.arange(LOOKBACK + HORIZON)
    return np.asarray(ends[(there[steps] >= 0.5).mean(axis=1) >= 0.9])


def found(fault: Fault, flags: NDArray[np.int8], ill: Any, kind: str) -> list[int]:
    """Return for each faulty sensor after how many steps it was found, -1 if never; of spikes, for each spike."""
    bad = (flags == 4) | ill
    delays = []
    for sensor in np.flatnonzero(fault.faulty.any(axis=0)):
        steps = np.flatnonzero(fault.faulty[:, sensor])
        if kind == "spike":
            delays += [0 if bad[step, sensor] else -1 for step in steps]
            continue
        hits = np.flatnonzero(bad[steps[0] :, sensor])
        delays.append(int(hits[0]) if hits.size else -1)
    return delays


# False alarms


def false_alarms(plant: Plant) -> dict[str, Any]:
    """Return alarms a sensor-month on the untouched readings: sensors that fall ill, and single bad readings."""
    screened = plant.screener.screen(plant.series)
    steps, n = screened.flags.shape
    months = steps * n / plant.slots / 30
    alarms = [each for each in screened.episodes if each.state != "dead" or each.test != "time gap"]
    tests: dict[str, int] = {}
    for each in alarms:
        tests[f"{each.test}, {each.state}"] = tests.get(f"{each.test}, {each.state}", 0) + 1
    singles = single_alarms(screened, plant.slots)
    return {
        "sensor_months": round(months, 1),
        "ill": round(len(alarms) / months, 3),
        "single": round(singles / months, 3),
        "all": round((len(alarms) + singles) / months, 3),
        "by_test": tests,
        "bad_share": round(float((screened.flags == 4).mean()), 5),
        "suspect_share": round(float((screened.flags == 3).mean()), 5),
    }


def single_alarms(screened: Screened, day: int) -> int:
    """Return how many bad readings stand outside of episodes; several within an hour (or two steps) count once."""
    bad = screened.flags == 4
    places = {name: place for place, name in enumerate(screened.variables)}
    for episode in screened.episodes:
        first, last = (
            None if each is None else (each if screened.times is None else int(np.searchsorted(screened.times, each)))
            for each in (episode.start, episode.end)
        )
        bad[first : None if last is None else last + 1, places[episode.sensor]] = False
    near = max(2, day // 24)
    count = 0
    for sensor in range(bad.shape[1]):
        steps = np.flatnonzero(bad[:, sensor])
        count += int(np.count_nonzero(np.diff(steps, prepend=-10 * near) > near))
    return count


# Everything


def summarize(rows: list[dict[str, Any]], step_hours: float) -> dict[str, Any]:
    """Return mean errors, the share given back, detected share and delay of some draws."""
    mean = {name: float(np.mean([row[name] for row in rows])) for name in ("clean", "unscreened", "screened", "known")}
    delays = np.array([delay for row in rows for delay in row["found"]])
    cost, possible = mean["unscreened"] - mean["clean"], mean["unscreened"] - mean["known"]
    back = mean["unscreened"] - mean["screened"]
    hits = delays[delays >= 0]
    return {
        **{name: round(value, 5) for name, value in mean.items()},
        "given_back_of_cost": round(100 * back / cost, 1) if cost else None,
        "given_back_of_possible": round(100 * back / possible, 1) if possible else None,
        "detected": round(float((delays >= 0).mean()), 3),
        "delay_hours_median": round(float(np.median(hits)) * step_hours, 2) if hits.size else None,
        "delay_hours_90": round(float(np.quantile(hits, 0.9)) * step_hours, 2) if hits.size else None,
    }


def measure(plant: Plant, seed: int, draws: int, windows: int, kinds: list[str]) -> dict[str, Any]:
    """Return all figures of one dataset."""
    step_hours = 24 / plant.slots
    rows = []
    for number, kind in enumerate(KINDS):
        if kind not in kinds:
            continue
        for place, size in enumerate(KINDS[kind]):
            for draw in range(draws * 3 // len(KINDS[kind])):
                rows.append(measure_fault(plant, kind, size, (seed, number, place, draw), windows))
    by_kind = {
        kind: {
            **summarize([row for row in rows if row["kind"] == kind], step_hours),
            "by_size": {
                f"{size:g}": summarize([row for row in rows if (row["kind"], row["size"]) == (kind, size)], step_hours)
                for size in KINDS[kind]
            },
        }
        for kind in kinds
    }
    return {"pooled": summarize(rows, step_hours), "kinds": by_kind}


def show(figures: dict[str, Any]) -> None:
    """Print the figures as a table."""
    print(f"{'':22}{'clean':>9}{'unscr':>9}{'scr':>9}{'known':>9}{'back %':>8}{'poss %':>8}{'found':>7}{'delay h':>9}")
    lines = [("pooled", figures["pooled"])]
    for kind, each in figures["kinds"].items():
        lines.append((kind, each))
        lines += [(f"  {size}", part) for size, part in each["by_size"].items() if len(each["by_size"]) > 1]
    for name, row in lines:
        numbers = "".join(f"{row[key]:9.4f}" for key in ("clean", "unscreened", "screened", "known"))
        print(
            f"{name:22}{numbers}{row['given_back_of_cost'] or 0:8.1f}{row['given_back_of_possible'] or 0:8.1f}"
            f"{row['detected']:7.2f}{row['delay_hours_median'] or 0:9.2f}"
        )


def draw_alarms(plant: Plant, path: Path, count: int = 5) -> list[str]:
    """Draw some alarms on the untouched readings with what the other sensors say; return their sentences."""
    import matplotlib.pyplot as plt

    screened = plant.screener.screen(plant.series)
    episodes = [each for each in screened.episodes if each.test != "time gap"]
    chosen = [episodes[place] for place in np.linspace(0, len(episodes) - 1, min(count, len(episodes))).astype(int)]
    normalizer, unit = plant.screener.normalizer, plant.screener.rules.habits.unit
    values, times = np.asarray(plant.series.values, dtype=np.float64), np.asarray(plant.series.times)
    rows = normalizer.cycle.rows[normalizer.cycle.positions(np.asarray(plant.series.wall_times))]
    deviations = (values - normalizer.center[rows]) / unit
    expected = values - all_differences(np.clip(deviations, -CLIP, CLIP), plant.screener.virtual[0]) * unit
    figure, panels = plt.subplots(len(chosen), 1, figsize=(11, 2.6 * len(chosen)), squeeze=False)
    for panel, each in zip(panels[:, 0], chosen, strict=True):
        place, around = plant.series.variables.index(each.sensor), np.timedelta64(30, "h")
        end = times[-1] if each.end is None else each.end
        near = (times >= each.start - around) & (times <= end + around)
        panel.axvspan(each.found, end, color="0.88")
        panel.plot(times[near], expected[near, place], color="tab:orange", lw=1, label="the other sensors say")
        panel.plot(times[near], values[near, place], color="tab:blue", lw=1, label="reading")
        panel.set_title(f"{each.sensor}, {each.state}: {each.sentence}", fontsize=9)
    panels[0, 0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=70)
    return [f"{each.sensor} {each.found} {each.state}: {each.sentence}" for each in chosen]


TABLE = re.compile(r"(<!-- screening: [^>]*-->\n).*?(<!-- /screening -->)", re.S)


def write_page(page: Path) -> None:
    """Write the table of all records into the page of the guide."""
    rows, pooled = [], []
    for name in DATASETS:
        path = records.RESULTS / f"screening-{name}.json"
        if path.exists():
            figures = json.loads(path.read_text())["figures"]
            pooled.append(figures)
            rows += _rows_of(name, figures)
    head = (
        "| data | faults | clean | unscreened | screened | known | given back, % | of the cost, % | found | delay, h |"
    )
    lines = [head, "|---|---|---|---|---|---|---|---|---|---|", *rows, *_pooled_rows(pooled), ""]
    lines += [""] + [
        f"- {name}: {each['false_alarms']['all']:.2f} false alarms a sensor-month on the untouched test part "
        f"({each['false_alarms']['sensor_months']:g} sensor-months)"
        for name, each in zip(
            [n for n in DATASETS if (records.RESULTS / f"screening-{n}.json").exists()], pooled, strict=True
        )
    ]
    text = TABLE.sub(lambda found: found[1] + "\n".join(lines) + "\n" + found[2], page.read_text())
    page.write_text(text)


def _rows_of(name: str, figures: dict[str, Any]) -> list[str]:
    return [_row(name, kind, each) for kind, each in (("all", figures["pooled"]), *figures["kinds"].items())]


def _row(name: str, kind: str, each: dict[str, Any]) -> str:
    errors = " | ".join(f"{each[key]:.3f}" for key in ("clean", "unscreened", "screened", "known"))
    delay = each["delay_hours_median"]
    return (
        f"| {name} | {kind} | {errors} | {each['given_back_of_possible']:.0f} | {each['given_back_of_cost']:.0f} | "
        f"{100 * each['detected']:.0f} % | {'' if delay is None else f'{delay:g}'} |"
    )


def _pooled_rows(pooled: list[dict[str, Any]]) -> list[str]:
    """Return rows over all datasets: costs and what was given back are added up."""
    rows = []
    for kind in ("all", *KINDS):
        parts = [each["pooled"] if kind == "all" else each["kinds"][kind] for each in pooled]
        mean = {
            key: float(np.mean([part[key] for part in parts])) for key in ("clean", "unscreened", "screened", "known")
        }
        back = mean["unscreened"] - mean["screened"]
        errors = " | ".join(f"{value:.3f}" for value in mean.values())
        possible, cost = (100 * back / (mean["unscreened"] - mean[key]) for key in ("known", "clean"))
        found = float(np.mean([part["detected"] for part in parts]))
        rows.append(f"| **all** | {kind} | {errors} | {possible:.0f} | {cost:.0f} | {100 * found:.0f} % | |")
    return rows


def main() -> None:
    """Measure the datasets named on the command line."""
    parser = argparse.ArgumentParser(description="Measure screening.")
    parser.add_argument("datasets", nargs="*", default=list(DATASETS))
    parser.add_argument("--part", choices=("val", "test"), default="test")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--windows", type=int, default=WINDOWS)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--alarms", type=Path, help="draw alarms on the untouched readings into this folder, no more")
    parser.add_argument("--page", type=Path, help="write the table of all records into this page, no more")
    parser.add_argument("--cache", type=Path, help="folder in which fitted wrappers are kept")
    options = parser.parse_args()
    if options.page is not None:
        write_page(options.page)
        return
    for name in options.datasets:
        started = time.perf_counter()
        plant = open_plant(name, options.part, options.cache)
        if options.alarms is not None:
            print("\n".join(draw_alarms(plant, options.alarms / f"{name}.png")), flush=True)
            continue
        alarms = false_alarms(plant)
        print(name, json.dumps(alarms), f"{time.perf_counter() - started:.0f} s", flush=True)
        figures = measure(plant, options.seed, options.draws, options.windows, options.kinds)
        show(figures)
        print(f"{time.perf_counter() - started:.0f} s", flush=True)
        if options.part == "test":
            records.write_record(
                f"screening-{name}",
                {"false_alarms": alarms, **figures},
                packages=("numpy", "numba"),
                command=f"python benchmarks/screening.py {name}",
                model="ridge regression on all variables" if name == "clouds" else "TCN",
                effort=EFFORT,
                seed=options.seed,
                draws=options.draws,
                windows=options.windows,
            )


if __name__ == "__main__":
    main()
