"""Streams: random sequences of steps, gaps, wrong steps and restarts, against `predict` on the same window."""

from __future__ import annotations

import datetime
import zoneinfo
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from agreement import WrongReadingError
from numpy.typing import NDArray
from reading import check_sentence
from wrappers import LOOKBACK, NAMES, RATES, make_wrapper

import subcast as sc
from subcast.errors import SubcastError

TOLERANCE = 1e-4
"""The largest difference between a stream's forecast and that of `predict`, as the guide says."""

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata")
WRONG_STEPS: tuple[Any, ...] = (
    *({"oak": 1.0}, {"elm": "much"}, {"elm": float("inf")}, {"elm": 1e400}, {"elm": [1.0]}, {"elm": 1 + 2j}),
    *([1.0, 2.0], np.ones((2, len(NAMES))), "elm", None, object(), {"elm": np.array([1.0, 2.0])}),
)


@dataclass
class Book:
    """What a stream should hold, kept by hand: the rows that were added, and the time of each."""

    kind: str
    rows: list[list[float]]
    last: np.datetime64 | None

    def add(self, row: list[float]) -> None:
        """Add a row one step after the last."""
        self.rows.append(row)
        if self.last is not None:
            self.last = self.last + RATES[self.kind]

    def window(self) -> tuple[NDArray[np.float32], NDArray[np.datetime64] | None]:
        """Return the last `LOOKBACK` rows and their times."""
        values = np.array(self.rows[-LOOKBACK:], dtype=np.float32)
        if self.last is None:
            return values, None
        return values, np.array([self.last - back * RATES[self.kind] for back in range(LOOKBACK - 1, -1, -1)])


def prepare(work: Path) -> dict[str, tuple[sc.SubsetForecaster, sc.Series]]:
    """Return the fitted wrappers."""
    return {kind: make_wrapper(kind) for kind in (*RATES, "plain")}


def run_case(wrappers: dict[str, tuple[sc.SubsetForecaster, sc.Series]], seed: int) -> tuple[str, str]:
    """Feed one stream with a random sequence, and compare its forecasts on the way."""
    random = Random(seed)
    kind = random.choice(tuple(wrappers))
    robust, series = wrappers[kind]
    first = random.randrange(len(series.values) - LOOKBACK)
    rows = [_row(random, series.values[first + step].tolist()) for step in range(LOOKBACK)]
    last = None if series.times is None else series.times[first + LOOKBACK - 1]
    book = Book(kind, rows, last)
    values, times = book.window()
    stream = robust.stream(values, times=times)
    compared = _compare(robust, stream, book, random)
    for _ in range(random.randint(2, 6)):
        action = random.choices(_ACTIONS, _WEIGHTS)[0]
        stream = action(robust, stream, book, random)
        if len(stream) < LOOKBACK:
            raise WrongReadingError(f"the stream has {len(stream)} steps after {action.__name__}")
        compared += _compare(robust, stream, book, random) if random.random() < 0.6 else 0
    return ("checked" if compared else "accepted"), kind


def _row(random: Random, readings: list[float]) -> list[float]:
    """Return a row of readings, some of them missing, now and then all of them, now and then absurd."""
    if random.random() < 0.1:
        return [np.nan] * len(readings)
    if random.random() < 0.03:
        return [reading * 1000 for reading in readings]
    share = random.choice((0.0, 0.2, 0.6))
    return [np.nan if random.random() < share else reading + random.uniform(-1, 1) for reading in readings]


def _compare(robust: sc.SubsetForecaster, stream: Any, book: Book, random: Random) -> int:
    """Compare the stream's forecast with that of the book's window; return how many were compared."""
    values, times = book.window()
    absent = random.random() < 0.2
    if np.isnan(values).all():
        try:
            stream.forecast()
        except SubcastError as error:
            check_sentence(error)
            return 0
        raise WrongReadingError("a window without a reading was forecast")
    found, wanted = stream.forecast(absent=absent), robust.predict(values, times=times, absent=absent)
    if found.variables != wanted.variables:
        raise WrongReadingError(f"the stream forecasts {found.variables}, predict {wanted.variables}")
    for name in ("mean", "lower", "upper", "weights"):
        one, other = getattr(found, name), getattr(wanted, name)
        if one is not None and not np.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE):
            raise WrongReadingError(f"{name} of the stream differs from predict by {np.abs(one - other).max()}")
    if not np.isfinite(found.mean).all():
        raise WrongReadingError("a forecast is not finite")
    if times is not None:  # the wrappers have no zone: times that had one are taken by their wall clock
        clocks = [forecast.wide.index.tz_localize(None) for forecast in (found, wanted)]
        if not clocks[0].equals(clocks[1]):
            raise WrongReadingError(f"the stream forecasts {clocks[0][0]}, predict {clocks[1][0]}")
    return 1


# What may happen to a stream: each action returns the stream, with the book kept up to date


def _push(robust: Any, stream: Any, book: Book, random: Random) -> Any:
    """Push the next step as a mapping or an array, with its time in any form or without."""
    row = _row(random, [20.0 + random.uniform(-3, 3) for _ in NAMES])
    step: Any = row
    if random.random() < 0.6:
        step = {name: reading for name, reading in zip(NAMES, row, strict=True) if not np.isnan(reading)}
        if random.random() < 0.3:
            step |= {name: None for name in NAMES if name not in step}
    time = None if book.last is None else _time_text(random, book.last + RATES[book.kind])
    _pushed(stream, step, time)
    book.add(row)
    return stream


def _pushed(stream: Any, step: Any, time: Any) -> None:
    """Push a step that is right; only a window without a reading may be refused, and then the step is added."""
    before = len(stream)
    try:
        stream.push(step, time)
    except SubcastError:
        if len(stream) != before + 1:
            raise
    if len(stream) != before + 1:
        raise WrongReadingError(f"the stream has {len(stream)} steps after {before} and one more")


def _time_text(random: Random, moment: np.datetime64) -> Any:
    """Return a moment in one of the forms that a user gives, or None for the next step."""
    naive = moment.astype("datetime64[us]").item()
    return random.choice((None, moment, naive, naive.isoformat(), str(naive)))


def _extend(robust: Any, stream: Any, book: Book, random: Random) -> Any:
    """Add several steps as an array or a frame."""
    rows = [_row(random, [20.0 + random.uniform(-3, 3) for _ in NAMES]) for _ in range(random.randint(1, 3))]
    values = np.array(rows, dtype=np.float32)
    times = None
    if book.last is not None:
        times = np.array([book.last + (number + 1) * RATES[book.kind] for number in range(len(rows))])
    if random.random() < 0.5:
        stream.add(values, times=times)
    else:
        stream.add(sc.Series(values, NAMES, times).to_frame())
    for row in rows:
        book.add(row)
    return stream


def _wrong_step(robust: Any, stream: Any, book: Book, random: Random) -> Any:
    """Push a step that must be refused, and find the stream unchanged."""
    time = None if book.last is None else book.last + RATES[book.kind]
    _refused(stream, random.choice(WRONG_STEPS), time)
    return stream


def _wrong_time(robust: Any, stream: Any, book: Book, random: Random) -> Any:
    """Push a step at a time that does not follow, and find the stream unchanged."""
    if book.last is None:
        wrong: Any = np.datetime64("2024-01-01")
    else:
        step = RATES[book.kind].astype("timedelta64[ns]")
        shifts = (step * 0, -20 * step, 500 * step, step + step // 2, step * 400_000)
        wrong = random.choice((*(book.last + shift for shift in shifts), "soon", "NaT", 3.5, object()))
    _refused(stream, {"elm": 20.0}, wrong)
    return stream


def _refused(stream: Any, step: Any, time: Any) -> None:
    before, readings = len(stream), stream.readings()
    try:
        stream.push(step, time)
    except SubcastError as error:
        check_sentence(error)
    else:
        raise WrongReadingError(f"the step {step!r} at {time!r} was accepted")
    same_times = readings[1] is None or np.array_equal(stream.readings()[1], readings[1])
    if len(stream) != before or not np.array_equal(stream.readings()[0], readings[0], equal_nan=True) or not same_times:
        raise WrongReadingError(f"the refused step {step!r} at {time!r} changed the stream")


def _restart(robust: Any, stream: Any, book: Book, random: Random) -> Any:
    """Start again from what the stream holds."""
    values, times = stream.readings()
    return robust.stream(values, times=times)


def _zoned(robust: Any, stream: Any, book: Book, random: Random) -> Any:
    """Push a step whose time has a zone: it follows on some clock, or is refused and changes nothing."""
    if book.last is None:
        return stream
    moment = (book.last + RATES[book.kind]).astype("datetime64[us]").item().replace(tzinfo=datetime.UTC)
    time = moment.astimezone(zoneinfo.ZoneInfo(random.choice(ZONES)))
    before = len(stream)
    try:
        stream.push({"elm": 21.0}, time)
    except SubcastError as error:
        check_sentence(error)
    if len(stream) != before:
        book.add([np.nan, np.nan, np.nan, 21.0])
    return stream


def _late(robust: Any, stream: Any, book: Book, random: Random) -> Any:
    """Put a reading into a step that was added before, by its time or by its number."""
    back = random.randrange(LOOKBACK)
    position = random.randrange(len(NAMES))
    where = {"back": back} if book.last is None else {"time": book.last - back * RATES[book.kind]}
    stream.late({NAMES[position]: 19.5}, **where)
    book.rows[-1 - back] = [19.5 if at == position else reading for at, reading in enumerate(book.rows[-1 - back])]
    return stream


def _too_late(robust: Any, stream: Any, book: Book, random: Random) -> Any:
    """Put a reading where no step is, and find the stream unchanged."""
    back = random.choice((-1, LOOKBACK, 10**6))
    where = {"back": back} if book.last is None else {"time": book.last - back * RATES[book.kind]}
    before = stream.readings()[0]
    try:
        stream.late({"elm": 19.5}, **where)
    except SubcastError as error:
        check_sentence(error)
    else:
        raise WrongReadingError(f"a reading {back} steps back was accepted")
    if not np.array_equal(stream.readings()[0], before, equal_nan=True):
        raise WrongReadingError(f"the refused reading {back} steps back changed the stream")
    return stream


def _jitter(robust: Any, stream: Any, book: Book, random: Random) -> Any:
    """Push a step that is a little early or late, by less than a tenth of a step: it counts as in time."""
    if book.last is None:
        return stream
    step = RATES[book.kind].astype("timedelta64[ns]")
    row = _row(random, [20.0 + random.uniform(-3, 3) for _ in NAMES])
    _pushed(stream, row, book.last + step + random.choice((-1, 1)) * step // random.randint(12, 500))
    book.add(row)
    return stream


_ACTIONS = (_push, _extend, _wrong_step, _wrong_time, _restart, _zoned, _late, _too_late, _jitter)
_WEIGHTS = (6, 2, 1, 1, 1, 1, 2, 1, 2)
