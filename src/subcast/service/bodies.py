"""The body of a request: bounded in size, unpacked, and parsed into columns of sensors, times and values.

JSON (`{"readings": [{"sensor", "time", "value"}, ...]}`), NDJSON (one reading a line) and CSV (a header with sensor,
time and value) give the same columns. Every fault is one sentence that names the reading, counted from 1.
"""

from __future__ import annotations

import csv
import io
import json
import math
import zlib
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

from subcast.service.problems import ProblemError, shown

TYPES = {
    "application/json": "json",
    "application/x-ndjson": "ndjson",
    "application/ndjson": "ndjson",
    "application/jsonl": "ndjson",
    "text/csv": "csv",
}
_FIELDS = {"sensor", "time", "value", "unit"}
_COLUMNS = ("sensor", "time", "value")
_LARGEST = 3.4e38  # readings are computed with in single precision


@dataclass
class Columns:
    """Readings as columns, in the order in which they came.

    Parameters
    ----------
    sensors, times, values
        one entry for each reading
    units
        the units that were given, empty if none was
    options
        other fields of a JSON body
    """

    sensors: list[str] = field(default_factory=list)
    times: list[str] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    units: set[str] = field(default_factory=set)
    options: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.values)


async def read_body(stream: AsyncIterator[bytes], *, encoding: str, length: str | None, most: int) -> bytes:
    """Return the body of a request, unpacked if it was packed with gzip; never more than `most` bytes."""
    if encoding not in ("", "identity", "gzip"):
        raise ProblemError("media-type", f"the body may be packed with gzip, got Content-Encoding {shown(encoding)}")
    if length is not None and length.isdigit() and int(length) > most:
        _refuse_size(most)
    unpack = zlib.decompressobj(31) if encoding == "gzip" else None
    parts: list[bytes] = []
    size = 0
    async for raw in stream:
        piece = raw if unpack is None else _unpacked(unpack, raw, most - size + 1)
        size += len(piece)
        if size > most:
            _refuse_size(most)
        parts.append(piece)
    if unpack is not None and not unpack.eof:
        raise ProblemError("bad-request", "the gzip body is cut short: send all of it")
    return b"".join(parts)


def _unpacked(unpack: Any, raw: bytes, most: int) -> bytes:
    """Return at most `most` unpacked bytes; more than that is more than is allowed anyway."""
    try:
        return bytes(unpack.decompress(raw, most))
    except zlib.error:
        raise ProblemError("bad-request", "the body is not gzip, as Content-Encoding says: send it as it is") from None


def _refuse_size(most: int) -> NoReturn:
    raise ProblemError(
        "too-large", f"the body is larger than {most / 1e6:g} MB when unpacked: send the readings in several requests"
    )


def parse_readings(body: bytes, content_type: str, most: int) -> Columns:
    """Return the readings of a body; a fault in one of them refuses all.

    >>> parse_readings(b'{"sensor": "a", "time": "2026-11-18T12:05:00Z", "value": 1}', "application/x-ndjson", 9).values
    [1.0]
    """
    kind = TYPES.get(content_type.partition(";")[0].strip().lower())
    if kind is None:
        raise ProblemError(
            "media-type",
            f"Content-Type must be application/json, application/x-ndjson or text/csv, got {shown(content_type)}",
        )
    text = _decoded(body)
    if kind == "csv":
        columns = _from_csv(text, most)
    elif kind == "ndjson":
        columns = _columns(_lines(text, most), most)
    else:
        columns = _from_object(_json(text, "the body"), most)
    if not columns.values:
        raise ProblemError("invalid", "the body has no readings: send at least one")
    return columns


def parse_object(body: bytes, most: int, fields: set[str]) -> Columns:
    """Return the readings and the other fields (only those named) of a JSON body."""
    columns = _from_object(_json(_decoded(body), "the body"), most, fields)
    if not columns.values:
        raise ProblemError("invalid", "readings is empty: send the readings of the last steps")
    return columns


def _decoded(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ProblemError("bad-request", "the body is not UTF-8 text") from None


def _json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ProblemError("bad-request", f"{what} is not whole JSON: nothing was stored, send it again") from None


def _from_object(content: Any, most: int, fields: set[str] | None = None) -> Columns:
    if not isinstance(content, dict) or not isinstance(content.get("readings"), list):
        raise ProblemError("invalid", 'the body must be {"readings": [{"sensor", "time", "value"}, ...]}')
    known = {"readings", "unit"} | (fields or set())
    unknown = [name for name in content if name not in known]
    if unknown:
        raise ProblemError("invalid", f"the body has an unknown field {shown(unknown[0])}: leave it out")
    columns = _columns(content["readings"], most)
    if content.get("unit") is not None:
        columns.units.add(_text(content["unit"], "unit", 0))
    columns.options = {name: content[name] for name in fields or () if name in content}
    return columns


def _lines(text: str, most: int) -> list[Any]:
    rows = [row for row in text.splitlines() if row.strip()]
    _check_count(len(rows), most)
    return [_json(row, f"line {number}") for number, row in enumerate(rows, 1)]


def _check_count(count: int, most: int) -> None:
    if count > most:
        raise ProblemError("too-large", f"a request may bring {most:,} readings, got {count:,}: send several requests")


def _columns(rows: list[Any], most: int) -> Columns:
    """Return the columns of readings given as objects; the usual case takes no loop of Python's own."""
    _check_count(len(rows), most)
    try:
        sensors, times, values = ([row[name] for row in rows] for name in _COLUMNS)
        plain = set(map(type, values)) <= {float, int} and {*map(type, sensors), *map(type, times)} <= {str}
    except (KeyError, TypeError):
        plain = False
    if not plain or not {*map(len, rows)} <= {3}:
        return _checked(rows)
    return Columns(sensors, times, _numbers(values))


def _checked(rows: Iterable[Any]) -> Columns:
    """Return the columns of readings that may have a unit or a fault, which is named."""
    columns = Columns()
    values: list[Any] = []
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise ProblemError("invalid", f"reading {number} must be an object with sensor, time and value")
        missing = [name for name in _COLUMNS if name not in row]
        unknown = [name for name in row if name not in _FIELDS]
        if missing or unknown:
            fault = f"has no {missing[0]}" if missing else f"has an unknown field {shown(unknown[0])}"
            raise ProblemError("invalid", f"reading {number} {fault}: send sensor, time and value")
        columns.sensors.append(_text(row["sensor"], "sensor", number))
        columns.times.append(_text(row["time"], "time", number))
        if type(row["value"]) not in (int, float):
            _refuse_value(row["value"], number)
        values.append(row["value"])
        if row.get("unit") is not None:
            columns.units.add(_text(row["unit"], "unit", number))
    columns.values = _numbers(values)
    return columns


def _text(value: Any, name: str, number: int) -> str:
    if not isinstance(value, str) or not value:
        where = f"{name} of reading {number}" if number else name
        raise ProblemError("invalid", f"{where} must be text, got {shown(json.dumps(value, default=str))}")
    return value


def _numbers(values: list[Any]) -> list[float]:
    """Return the values as floats; NaN, infinities and numbers that are too large are refused."""
    try:
        numbers = [float(value) for value in values]
        if all(-_LARGEST <= number <= _LARGEST for number in numbers):
            return numbers
    except OverflowError:
        pass
    for number, value in enumerate(values, 1):
        if not _is_finite(value):
            _refuse_value(value, number)
    return numbers


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(float(value)) and abs(float(value)) <= _LARGEST
    except (OverflowError, ValueError):
        return False


def _refuse_value(value: Any, number: int) -> NoReturn:
    got = json.dumps(value, default=str) if not isinstance(value, int) else "a whole number of too many digits"
    advice = "leave a missing reading out" if value is None or value != value else "send a plain number"
    raise ProblemError("invalid", f"value of reading {number} must be a finite number, got {shown(got)}: {advice}")


def _from_csv(text: str, most: int) -> Columns:
    """Return the readings of a CSV with a header; empty lines and empty values are left out."""
    rows = csv.reader(io.StringIO(text), strict=True)
    try:
        header = [name.strip().lower() for name in next(rows, [])]
        places = {name: header.index(name) for name in _COLUMNS if name in header}
        if len(places) < 3 or len(set(header)) < len(header) or not set(header) <= _FIELDS:
            raise ProblemError("invalid", "the first line of a CSV must be sensor,time,value (and unit, if you like)")
        return _columns_of_csv(rows, places, header, most)
    except csv.Error:
        raise ProblemError("bad-request", f"line {rows.line_num} is not CSV: nothing was stored") from None


def _columns_of_csv(rows: Iterator[list[str]], places: dict[str, int], header: list[str], most: int) -> Columns:
    columns = Columns()
    unit = header.index("unit") if "unit" in header else None
    sensor, time, value = (places[name] for name in _COLUMNS)
    for row in rows:
        if not row or (len(row) == len(header) and not row[value].strip()):
            continue
        if len(row) != len(header):
            raise ProblemError("invalid", f"a line of the CSV has {len(row)} cells instead of {len(header)}")
        if len(columns.values) >= most:
            _check_count(most + 1, most)
        columns.sensors.append(row[sensor].strip())
        columns.times.append(row[time].strip())
        columns.values.append(_csv_number(row[value], len(columns.values) + 1))
        if unit is not None and row[unit].strip():
            columns.units.add(row[unit].strip())
    return columns


def _csv_number(text: str, number: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not _is_finite(value) or "_" in text:
        raise ProblemError("invalid", f"value of reading {number} must be a finite number, got {shown(text.strip())}")
    return value
