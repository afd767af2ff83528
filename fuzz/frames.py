"""Frames in: pandas and polars frames with all types of columns and indexes, against what they were made from."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from agreement import WrongReadingError, check_rows, same_number
from reading import check_sentence
from wrappers import LOOKBACK, NAMES, make_wrapper

import subcast as sc
from subcast.errors import SubcastError

Numbers = list[float | None]


@dataclass
class Column:
    """A column of a frame: what it holds, and the readings that this means; None when it holds no readings."""

    content: Any
    readings: Numbers | None
    kind: str


@dataclass
class Made:
    """A frame, what its columns mean, the moments of its rows, and what is odd about it."""

    frame: Any
    columns: dict[str, Column]
    moments: list[Any]
    oddities: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Context:
    """The fitted wrapper to which some of the frames are given, and its series."""

    robust: sc.SubsetForecaster
    series: sc.Series


def prepare(work: Path) -> Context:
    """Return an hourly wrapper."""
    return Context(*make_wrapper("hourly"))


def run_case(context: Context, seed: int) -> tuple[str, str]:
    """Make one frame and give it to `Series.from_frame` or to `predict`."""
    random = Random(seed)
    if random.random() < 0.4:
        return _predict_case(context, random)
    made = _polars_frame(random) if random.random() < 0.15 else _long_frame(random) if random.random() < 0.2 else None
    made = made or _wide_frame(random)
    kind = type(made.frame).__module__.partition(".")[0]
    try:
        series = sc.Series.from_frame(made.frame)
    except SubcastError as error:
        check_sentence(error)
        if not made.oddities and all(column.readings is not None for column in made.columns.values()):
            raise WrongReadingError(f"a plain frame was refused: {error}") from error
        return "refused", kind
    if "unclear" in made.oddities:
        return "accepted", kind
    _check(series, made)
    return "checked", kind


def _check(series: sc.Series, made: Made) -> None:
    """Raise an error unless a series holds the readings of the columns at the moments of the rows."""
    if "repeated names" in made.oddities:
        raise WrongReadingError(f"two columns of one name were accepted: {series.variables}")
    if list(series.variables) != list(made.columns):
        raise WrongReadingError(f"the variables are {series.variables}, expected {tuple(made.columns)}")
    rows = check_rows(series, made.moments)
    for position, (name, column) in enumerate(made.columns.items()):
        if column.readings is None:
            raise WrongReadingError(f"column {name!r} of {column.kind} was accepted as readings")
        for moment, reading in zip(made.moments, column.readings, strict=True):
            found = float(series.values[rows[moment], position])
            if not same_number(found, reading):
                raise WrongReadingError(f"{name!r} ({column.kind}) at {moment} is {found}, expected {reading}")


# Columns


def _numbers(random: Random, rows: int) -> list[float]:
    base = random.choice((0.01, 1.0, 20.0, 985.0, 1e6, -3.5))
    return [round(base * (1 + random.uniform(-0.2, 0.2)), 4) for _ in range(rows)]


def _holes(random: Random, numbers: list[float]) -> Numbers:
    share = random.choice((0.0, 0.1, 0.3))
    return [None if random.random() < share else number for number in numbers]


def make_column(random: Random, rows: int) -> Column:
    """Return a column of any type."""
    kind = random.choice(tuple(_COLUMNS)) if random.random() < 0.5 else "float64"
    content, readings = _COLUMNS[kind](random, rows)
    return Column(content, readings, kind)


def _of_type(name: Any, whole: bool = False) -> Callable[[Random, int], tuple[Any, Numbers]]:
    def make(random: Random, rows: int) -> tuple[Any, Numbers]:
        numbers = [float(random.randint(0, 120)) for _ in range(rows)] if whole else _numbers(random, rows)
        content = pd.Series(numbers).astype(name)
        return content, [float(entry) for entry in content.tolist()]

    return make


def _nullable(name: str, whole: bool = False) -> Callable[[Random, int], tuple[Any, Numbers]]:
    def make(random: Random, rows: int) -> tuple[Any, Numbers]:
        numbers = [float(random.randint(0, 120)) for _ in range(rows)] if whole else _numbers(random, rows)
        readings = _holes(random, numbers)
        return pd.Series(pd.array([pd.NA if n is None else n for n in readings], dtype=name)), readings

    return make


def _objects(write: Callable[[float], Any]) -> Callable[[Random, int], tuple[Any, Numbers]]:
    def make(random: Random, rows: int) -> tuple[Any, Numbers]:
        readings = _holes(random, _numbers(random, rows))
        missing = random.choice((None, float("nan"), pd.NaT, pd.NA))
        return pd.Series([missing if n is None else write(n) for n in readings], dtype=object), readings

    return make


def _no_readings(
    entries: Callable[[Random], Any], name: str = "object"
) -> Callable[[Random, int], tuple[Any, Numbers | None]]:
    def make(random: Random, rows: int) -> tuple[Any, Numbers | None]:
        content = pd.Series([entries(random) for _ in range(rows)], dtype=name)
        return content, [None] * rows if content.isna().all() else None

    return make


def _infinite(random: Random, rows: int) -> tuple[Any, Numbers]:
    numbers = _numbers(random, rows)
    numbers[random.randrange(rows)] = random.choice((math.inf, -math.inf, 1e300, 3.5e38))
    return pd.Series(numbers), [None if abs(number) > 3.4e38 else number for number in numbers]


def _huge_whole(random: Random, rows: int) -> tuple[Any, Numbers]:
    return pd.Series([10**400] + [5] * (rows - 1), dtype=object), [None] + [5.0] * (rows - 1)


def _categories(random: Random, rows: int) -> tuple[Any, Numbers]:
    numbers = [float(random.randint(0, 5)) for _ in range(rows)]
    return pd.Series(numbers).astype("category"), numbers  # type: ignore[return-value]


def _text_categories(random: Random, rows: int) -> tuple[Any, Numbers]:
    numbers = [float(random.randint(0, 5)) for _ in range(rows)]
    return pd.Series([str(number) for number in numbers]).astype("category"), numbers  # type: ignore[return-value]


def _sparse(random: Random, rows: int) -> tuple[Any, Numbers]:
    numbers = _numbers(random, rows)
    return pd.Series(pd.arrays.SparseArray(numbers)), numbers  # type: ignore[return-value]


_COLUMNS: dict[str, Callable[[Random, int], tuple[Any, Numbers | None]]] = {
    "float64": _of_type("float64"),
    "float32": _of_type("float32"),
    "int8": _of_type("int8", whole=True),
    "int64": _of_type("int64", whole=True),
    "uint16": _of_type("uint16", whole=True),
    "longdouble": _of_type(np.longdouble),
    "Int64": _nullable("Int64", whole=True),
    "UInt8": _nullable("UInt8", whole=True),
    "Float64": _nullable("Float64"),
    "arrow": _nullable("double[pyarrow]"),
    "floats as objects": _objects(float),
    "text": _objects(repr),
    "padded text": _objects(lambda number: f" {number} "),
    "Decimal": _objects(lambda number: Decimal(repr(number))),
    "Fraction": _objects(lambda number: Fraction(repr(number))),
    "numpy scalars": _objects(np.float64),
    "infinite": _infinite,
    "whole numbers beyond float": _huge_whole,
    "categories": _categories,
    "categories of text": _text_categories,
    "sparse": _sparse,
    "words": _no_readings(lambda random: random.choice(("high", "low", "off"))),
    "true and false": _no_readings(lambda random: random.random() < 0.5),
    "bool": _no_readings(lambda random: random.random() < 0.5, "bool"),
    "boolean": _no_readings(lambda random: random.choice((True, False, pd.NA)), "boolean"),
    "complex": _no_readings(lambda random: complex(random.random(), 1), "complex128"),
    "lists": _no_readings(lambda random: [random.random()]),
    "dicts": _no_readings(lambda random: {"a": 1}),
    "bytes": _no_readings(lambda random: b"low"),
    "dates": _no_readings(lambda random: datetime.date(2024, 1, random.randint(1, 28))),
    "timedelta": _no_readings(lambda random: datetime.timedelta(hours=random.randint(0, 9)), "timedelta64[ns]"),
    "intervals": _no_readings(lambda random: pd.Interval(0, random.randint(1, 9))),
    "functions": _no_readings(lambda random: len),
}

# Frames

LABELS: tuple[Any, ...] = (*("a", "B c", "=x", "", "nan", "id", "温"), 3, 2.5, True, None, pd.Timestamp("2024-05-01"))


def _wide_frame(random: Random) -> Made:
    rows = random.choice((0, 1, 2, 3, 5, 12, 24))
    count = random.choice((0, 1, 2, 3, 5)) if rows else 1
    columns = [
        make_column(random, rows) if rows else Column(pd.Series([], dtype=float), [], "empty") for _ in range(count)
    ]
    labels: list[Any] = [f"v{number}" for number in range(count)]
    made = Made(None, {}, list(range(rows)))
    if count and random.random() < 0.15:
        labels[0] = random.choice(LABELS)
        made.oddities.append("label")
    if count > 1 and random.random() < 0.04:
        labels[1] = labels[0]
        made.oddities.append("repeated names")
    contents = [column.content.reset_index(drop=True) for column in columns]
    frame = pd.concat(contents, axis=1) if contents else pd.DataFrame(index=range(rows))
    frame.columns = pd.Index(labels, dtype=object)
    if rows < 2 or not count:
        made.oddities.append("small")
    if columns and columns[0].kind == "dates":
        made.oddities.append("unclear")  # its first column may be its times
    if any(column.kind == "Fraction" for column in columns):
        made.oddities.append("fractions")  # read or refused
    made.columns = {str(label): column for label, column in zip(labels, columns, strict=True)}
    made.frame = frame
    _INDEXES[random.choice(tuple(_INDEXES))](random, made)
    return made


def _moments(random: Random, rows: int) -> list[datetime.datetime]:
    step = datetime.timedelta(seconds=random.choice((60, 900, 3600, 86400)))
    start = datetime.datetime(2024, random.randint(1, 12), random.randint(13, 28), random.randint(0, 23))
    return [start + row * step for row in range(rows)]


def _dates(random: Random, made: Made) -> None:
    made.moments = _moments(random, len(made.frame))
    index = pd.DatetimeIndex(made.moments, name=random.choice((None, "time", "when")))
    if random.random() < 0.3:
        index = index.tz_localize("UTC").tz_convert(random.choice(("Europe/Berlin", "UTC", "Asia/Tokyo")))
    made.frame.index = index


def _shuffled_dates(random: Random, made: Made) -> None:
    _dates(random, made)
    order = random.sample(range(len(made.frame)), len(made.frame))
    made.frame = made.frame.iloc[order]


def _date_column(random: Random, made: Made) -> None:
    made.moments = _moments(random, len(made.frame))
    times: Any = random.choice((pd.Series, list))(made.moments)
    if random.random() < 0.5:
        times = [moment.isoformat() for moment in made.moments]
    if "time" not in made.frame.columns:
        made.frame.insert(random.choice((0, made.frame.shape[1])), "time", times)


def _unreadable_dates(random: Random, made: Made) -> None:
    made.oddities.append("unclear")
    entries = ["2024-01-01", None, "yesterday", pd.NaT, 3, b"x", datetime.date(1, 1, 1), object()]
    made.frame.index = pd.Index([random.choice(entries) for _ in range(len(made.frame))], dtype=object, name="time")
    made.moments = []


def _periods(random: Random, made: Made) -> None:
    made.moments = [datetime.datetime(2024, 1, 1, hour) for hour in range(len(made.frame))]
    made.frame.index = pd.PeriodIndex(made.moments, freq="h")


def _row_names(random: Random, made: Made) -> None:
    made.frame.index = pd.Index([f"row {number}" for number in range(len(made.frame))])


def _plain_index(random: Random, made: Made) -> None:
    made.frame.index = pd.RangeIndex(len(made.frame))


_INDEXES: dict[str, Callable[[Random, Made], None]] = {
    "dates": _dates,
    "shuffled dates": _shuffled_dates,
    "date column": _date_column,
    "unreadable dates": _unreadable_dates,
    "periods": _periods,
    "row names": _row_names,
    "plain": _plain_index,
}


def _long_frame(random: Random) -> Made:
    rows = random.choice((2, 3, 6, 12))
    moments = _moments(random, rows)
    names = random.sample(("a", "b", "007", "1.10", "north", "NA"), random.randint(1, 3))
    columns = {name: Column(None, _holes(random, _numbers(random, rows)), "float64") for name in names}
    entries = [
        (name, moment, math.nan if reading is None else reading)
        for name, column in columns.items()
        for moment, reading in zip(moments, column.readings or [], strict=True)
    ]
    frame = pd.DataFrame(entries, columns=["unique_id", "ds", "y"])
    if random.random() < 0.3:
        frame = frame.set_index(random.choice((["unique_id", "ds"], ["ds"], ["unique_id"])))
    return Made(frame, columns, moments)


def _polars_frame(random: Random) -> Made:
    rows = random.choice((2, 3, 12))
    moments = _moments(random, rows)
    columns, data = {}, {}
    for number in range(random.randint(1, 3)):
        readings = _holes(random, [float(random.randint(0, 100)) for _ in range(rows)])
        kind = random.choice((pl.Float64, pl.Float32, pl.Int32, pl.UInt8, pl.String, pl.Boolean, pl.Decimal(10, 2)))
        entries = [
            None if n is None else (str(n) if kind == pl.String else n > 50 if kind == pl.Boolean else int(n))
            for n in readings
        ]
        data[f"v{number}"] = pl.Series(entries, dtype=kind)
        no_readings = kind == pl.Boolean and any(reading is not None for reading in readings)
        columns[f"v{number}"] = Column(None, None if no_readings else readings, str(kind))
    return Made(pl.DataFrame({"time": moments, **data}), columns, moments)


# Forecasts


def _predict_case(context: Context, random: Random) -> tuple[str, str]:
    """Give `predict` a frame with odd types; a forecast must be that of the same numbers as an array."""
    names = random.sample(NAMES, random.randint(1, len(NAMES)))
    first = random.randrange(len(context.series.values) - LOOKBACK)
    times = context.series.times[first : first + LOOKBACK]  # type: ignore[index]
    columns = {name: make_column(random, LOOKBACK) for name in names}
    frame = pd.concat([column.content.reset_index(drop=True) for column in columns.values()], axis=1)
    frame.columns, frame.index = pd.Index(names), pd.DatetimeIndex(times)
    try:
        found = context.robust.predict(frame)
    except SubcastError as error:
        check_sentence(error)
        return "refused", "predict"
    wrong = [f"{name} ({column.kind})" for name, column in columns.items() if column.readings is None]
    if wrong:
        raise WrongReadingError(f"predict took {wrong[0]} as readings")
    expected = np.array([column.readings for column in columns.values()], dtype=np.float32).T
    wanted = context.robust.predict(expected, names=names, times=times)
    if not np.isfinite(found.mean).all():
        raise WrongReadingError("a forecast is not finite")
    if found.variables != wanted.variables or not np.allclose(found.mean, wanted.mean, rtol=1e-5, atol=1e-5):
        raise WrongReadingError(f"the forecast of the frame is {found.mean[0]}, of its numbers {wanted.mean[0]}")
    return "checked", "predict"
