"""`subcast replay`: post the readings of a table to a running service, with sensors that die, stick or drift."""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray

from subcast.commands.service_client import KEY_VARIABLE, ServiceClient
from subcast.errors import InputError
from subcast.names import listed, plural
from subcast.series import Series
from subcast.subset.metadata import TrainingMetadata
from subcast.subset.saving import wrapper_state
from subcast.tables.rates import time_texts

URL = "http://127.0.0.1:8000"
KINDS = ("kill", "stick", "offset", "drift")
_SPREADS = 3.0  # size of an offset, and of a drift after `_DRIFT_STEPS`, in spreads of the sensor
_DRIFT_STEPS = 72
_MOST_AT_ONCE = 20_000  # readings in a request


@dataclass(frozen=True)
class Fault:
    """What happens to a sensor from a step of the replay on.

    Parameters
    ----------
    kind
        "kill": it sends nothing; "stick": it repeats its last reading; "offset": its readings are too high; "drift":
        more and more so
    sensor
        name of the sensor
    step
        number of the first step with the fault
    until
        number of the step at which the sensor is well again; None for never
    """

    kind: str
    sensor: str
    step: int
    until: int | None = None

    @property
    def words(self) -> str:
        """What happens, for a line of output."""
        verbs = {
            "kill": "falls silent",
            "stick": "is stuck",
            "offset": "jumps to an offset",
            "drift": "begins to drift",
        }
        return f"{self.sensor} {verbs[self.kind]}"


class Step(NamedTuple):
    """One step of a replay: its time, the readings by sensor, and what happens to sensors, in words."""

    time: str
    readings: dict[str, float]
    happens: list[str]


def read_faults(kind: str, text: str | None) -> list[tuple[str, str, str]]:
    """Read `a,b@40,c@2024-05-01T12:00,d@40..90` as (kind, sensor, when), with "" where nothing is said.

    >>> read_faults("kill", "north,south@40")
    [('kill', 'north', ''), ('kill', 'south', '40')]
    """
    parts = [part.strip() for part in (text or "").split(",") if part.strip()]
    return [(kind, name.strip(), when.strip()) for name, _, when in (part.partition("@") for part in parts)]


def place_faults(
    asked: Sequence[tuple[str, str, str]], series: Series, first: int, between: int, zone: str | None
) -> list[Fault]:
    """Return the faults with their steps; those without a stated time come one after another.

    Parameters
    ----------
    asked
        what `read_faults` returned
    series
        the readings of the replay
    first, between
        step of the first fault without a stated time, and steps from one to the next
    zone
        zone in which stated times are read
    """
    faults, seen = [], set[str]()
    for kind, sensor, when in asked:
        if sensor not in series.variables:
            raise InputError(f"--{kind} names {sensor!r}, which the table does not have: {listed(series.variables)}")
        if sensor in seen:
            raise InputError(f"{sensor!r} is to have two faults: name it once")
        seen.add(sensor)
        begin, _, end = when.partition("..")
        step = _when(begin, series, zone, kind) if begin else first
        faults.append(Fault(kind, sensor, step, _when(end, series, zone, kind) if end else None))
        first += 0 if when else between
    return faults


def _when(text: str, series: Series, zone: str | None, kind: str) -> int:
    """Return the step that a text names: a number of steps, or a time."""
    if re.fullmatch(r"\d{1,9}", text):
        return int(text)
    import pandas as pd

    try:
        moment = pd.Timestamp(text)
        if zone is not None:
            moment = (moment.tz_localize(zone) if moment.tzinfo is None else moment).tz_convert("UTC")
        stamp: np.datetime64 | None = np.datetime64(moment.tz_localize(None), "ns")
    except (ValueError, TypeError):
        stamp = None
    if stamp is None or np.isnat(stamp) or series.times is None:
        raise InputError(f"--{kind} must say when as a number of steps or as a time, such as NAME@40, got {text!r}")
    return int(np.searchsorted(series.times, stamp))


def steps_of(series: Series, faults: Sequence[Fault], times: Sequence[str]) -> Iterator[Step]:
    """Yield the steps of a series with its faults; a missing reading is not sent."""
    values = series.values.astype(np.float64)
    for fault in faults:
        _apply(fault, values, series.variables.index(fault.sensor))
    for number, row in enumerate(values):
        readings = {
            name: float(f"{value:.7g}") for name, value in zip(series.variables, row, strict=True) if value == value
        }
        happens = [fault.words for fault in faults if fault.step == number]
        happens += [f"{fault.sensor} is well again" for fault in faults if fault.until == number]
        yield Step(times[number], readings, happens)


def _apply(fault: Fault, values: NDArray[np.float64], column: int) -> None:
    """Write a fault into the readings [t, n]."""
    own, ill = values[:, column], slice(fault.step, fault.until)
    count = len(own[ill])
    if fault.kind == "kill":
        own[ill] = np.nan
    elif fault.kind == "stick":
        before = own[: max(fault.step, 1)]
        known = before[~np.isnan(before)]
        own[ill] = known[-1] if known.size else np.nan
    else:
        size = _SPREADS * float(np.nan_to_num(np.nanstd(own), nan=1.0))
        grown = np.minimum(np.arange(1, count + 1) / _DRIFT_STEPS, 1.0) if fault.kind == "drift" else np.ones(count)
        own[ill] += size * grown


# Running


@dataclass(frozen=True)
class ReplayOptions:
    """How a table is replayed.

    Parameters
    ----------
    url
        address of the service
    speed
        how many times as fast as the readings happened; 0 for as fast as the service takes them
    start
        first time to replay; the first of the table if empty
    steps
        number of steps, all by default
    warm
        number of steps that are sent in the first request; those of a window by default
    now
        whether the first step is the present one and the others follow; by default readings keep their own times
    """

    url: str = URL
    speed: float = 1.0
    start: str = ""
    steps: int | None = None
    warm: int | None = None
    now: bool = False


def read_replay(
    folder: Path, file: Path, options: ReplayOptions, table: dict[str, str | None]
) -> tuple[Series, TrainingMetadata]:
    """Return the readings to replay and the metadata of the wrapper that they are for."""
    metadata = TrainingMetadata.from_state(wrapper_state(folder, verify=False).needed_part("metadata"))
    series = Series.read(file, zone=metadata.zone, **table)  # type: ignore[arg-type]
    if series.times is None or metadata.step is None:
        raise InputError("a replay needs times, and the table or the wrapper has none: add a column of times")
    unknown = [name for name in series.variables if name not in metadata.variables]
    if unknown:
        raise InputError(f"the table has {listed(unknown)}, which the wrapper does not know: leave them out")
    step = np.median(np.diff(series.times)).astype("timedelta64[ns]") if len(series) > 1 else metadata.step
    if step != metadata.step:
        raise InputError(f"the table has a step every {step / np.timedelta64(1, 's'):g} s, and the wrapper every "
                         f"{metadata.step / np.timedelta64(1, 's'):g} s: bring it to this rate")  # fmt: skip
    first = _when(options.start, series, metadata.zone, "start") if options.start else 0
    if first >= len(series):
        raise InputError(f"--start {options.start} is after the last reading of the table: give an earlier time")
    return series[first : None if options.steps is None else first + options.steps], metadata


def sent_times(series: Series, metadata: TrainingMetadata, now: bool) -> list[str]:
    """Return the times to send: those of the readings, or moved by whole steps so that the first is the present one."""
    times, step = np.asarray(series.times), metadata.step
    if now and step is not None:
        present = np.datetime64(time.time_ns(), "ns")
        if metadata.zone is None:  # the training's clock has no zone: that of this machine
            present = np.datetime64(int(time.time_ns() + time.localtime().tm_gmtoff * 10**9), "ns")
        times = times + (present - times[0]) // step * step
    return time_texts(times, metadata.zone)


def replay(
    steps: Sequence[Step], client: ServiceClient, *, seconds: float, warm: int, say: Callable[[str], None] = typer.echo,
    sleep: Callable[[float], None] = time.sleep,
) -> dict[str, int]:  # fmt: skip
    """Post steps to a service, `seconds` apart, the first `warm` of them at once; return what was counted.

    A service that is away or busy is asked again for a minute; every request has a key, so that nothing counts twice.
    """
    counts = {"steps": 0, "readings": 0, "stored": 0, "too_late": 0}
    run, begin = secrets.token_hex(6), time.monotonic()
    try:
        for number, group in enumerate(_groups(steps, warm)):
            wait = begin + number * seconds - time.monotonic()
            if wait > 0:
                sleep(wait)
            _post(client, group, f"replay-{run}-{number}", counts)
            for step in group:
                for words in step.happens:
                    say(f"{step.time}: {words}")
            _tell(number, group, counts, seconds, say)
    except KeyboardInterrupt:
        say(f"stopped after {plural(counts['steps'], 'step')} and {plural(counts['readings'], 'reading')}")
        raise
    say(f"{plural(counts['steps'], 'step')} and {plural(counts['readings'], 'reading')} sent")
    return counts


def _groups(steps: Sequence[Step], warm: int) -> Iterator[Sequence[Step]]:
    """Yield the steps of each request: those to start with, and then one at a time."""
    if warm > 1:
        yield steps[:warm]
    for number in range(warm if warm > 1 else 0, len(steps)):
        yield steps[number : number + 1]


def _post(client: ServiceClient, group: Sequence[Step], key: str, counts: dict[str, int]) -> None:
    readings = [
        {"sensor": name, "time": step.time, "value": value} for step in group for name, value in step.readings.items()
    ]
    for part, first in enumerate(range(0, len(readings), _MOST_AT_ONCE)):
        some = readings[first : first + _MOST_AT_ONCE]
        answer = client.post("/v1/readings", {"readings": some}, idempotency_key=f"{key}-{part}")
        for name in ("stored", "too_late"):
            counts[name] += int(answer.get(name, 0))
    counts["steps"] += len(group)
    counts["readings"] += len(readings)


def _tell(
    number: int, group: Sequence[Step], counts: dict[str, int], seconds: float, say: Callable[[str], None]
) -> None:
    """Print a line now and then, about every ten seconds."""
    every = max(1, round(10 / seconds)) if seconds > 0 else 100
    if number % every == 0:
        late = f", {counts['too_late']} too late" if counts["too_late"] else ""
        sensors = plural(len(group[-1].readings), "sensor")
        say(f"{group[-1].time}: {sensors} sent, {counts['stored']:,} readings stored{late}")


def run_replay(
    folder: Path,
    file: Path,
    options: ReplayOptions,
    faults: Sequence[tuple[str, str, str]],
    table: dict[str, str | None],
) -> dict[str, int]:
    """Replay a table against a running service and print what happens."""
    if options.speed < 0 or options.speed != options.speed:
        raise InputError(f"--speed must be at least 0, got {options.speed:g}")
    if options.now and options.speed != 1:
        raise InputError("--now sends readings as they would happen, so it needs --speed 1: leave one of both out")
    series, metadata = read_replay(folder, file, options, table)
    warm = metadata.lookback if options.warm is None else options.warm
    placed = place_faults(faults, series, warm + metadata.lookback, metadata.lookback, metadata.zone)
    steps = list(steps_of(series, placed, sent_times(series, metadata, options.now)))
    length = 0.0 if metadata.step is None else metadata.step / np.timedelta64(1, "s")
    seconds = length / options.speed if options.speed else 0.0
    client = ServiceClient(options.url, os.environ.get(KEY_VARIABLE))
    typer.echo(
        f"{plural(len(steps), 'step')} of {plural(series.n_variables, 'sensor')} from {steps[0].time}, one every "
        f"{seconds:g} s, to {client.url}; Ctrl-C stops"
    )
    for fault in placed:
        typer.echo(f"planned at {steps[fault.step].time if fault.step < len(steps) else 'no step'}: {fault.words}")
    try:
        _say_clock(client, options)
        return replay(steps, client, seconds=seconds, warm=min(warm, len(steps)))
    finally:
        client.close()


def _say_clock(client: ServiceClient, options: ReplayOptions) -> None:
    """Refuse to send times of another day to a service that goes by the clock on the wall."""
    status: Any = client.get("/v1/status")
    if status.get("clock") == "wall" and not options.now:
        raise InputError(
            f"the service at {options.url} goes by the clock on the wall, and the readings are of another time: start "
            "it with `--clock feed`, or replay with --now"
        )
