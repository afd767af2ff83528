"""Parquet, HDF5 and NPZ files of known content, whole, damaged and hostile."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
from agreement import WrongReadingError, check_names, check_rows, same_number
from damage import damaged
from reading import read, refusal
from subcast import Series
from truth import Truth, make_truth


def make_array_file(folder: Path, random: Random) -> tuple[str, str]:
    """Write a Parquet, HDF5 or NPZ file, read it, and return the outcome and the kind of the file."""
    kind = random.random()
    if kind < 0.15:
        return _hostile_npz(folder, random), "hostile npz"
    truth = make_truth(random)
    path, raw = _write(folder, random, truth)
    kind = path.suffix.removeprefix(".")
    if random.random() < 0.4:
        path.write_bytes(damaged(random, raw))
        return "refused" if read(path, {}) is None else "accepted", f"damaged {kind}"
    series = read(path, {})
    if series is None:
        if len(truth.numbers) > 2 and len(set(truth.names)) == len(truth.names) and not _looks_odd(truth):
            raise WrongReadingError(f"a plain {kind} file was refused: {refusal(path, {})}")
        return "refused", kind
    check_against(series, truth)
    return "checked", kind


def _looks_odd(truth: Truth) -> bool:
    """Return whether the names or the readings may be refused for what they are."""
    plain = all(
        name.replace(" ", "").replace("-", "").replace("_", "").replace(".", "").isalnum() for name in truth.names
    )
    return not plain or any(name in ("step", "y", "nan", "NA", "null") or name[:1].isdigit() for name in truth.names)


def check_against(series: Series, truth: Truth) -> None:
    """Raise an error unless a series holds the numbers of the truth at their times."""
    check_names(series.variables, truth.names)
    moments: list[Any] = list(range(len(truth.numbers))) if truth.moments is None else list(truth.moments)
    rows = check_rows(series, moments)
    for moment, numbers in zip(moments, truth.numbers, strict=True):
        for column, number in enumerate(numbers):
            found, expected = float(series.values[rows[moment], column]), None if number is None else float(number)
            if not same_number(found, expected):
                raise WrongReadingError(f"{truth.names[column]!r} at {moment} is {found}, the file holds {number}")


def frame_of(random: Random, truth: Truth) -> pd.DataFrame:
    """Return the truth as a frame, with its times in the index or in a column."""
    kinds = (np.float64, np.float64, np.float32)
    columns = {
        name: np.array([math.nan if row[column] is None else float(row[column]) for row in truth.numbers])  # type: ignore[arg-type]
        for column, name in enumerate(truth.names)
    }
    frame = pd.DataFrame(columns).astype(random.choice(kinds))
    if truth.moments is not None:
        times = pd.DatetimeIndex(truth.moments)
        if random.random() < 0.3:
            times = times.tz_localize("UTC").tz_convert(random.choice(("UTC", "Europe/Berlin", "Asia/Tokyo")))
        frame.index = times
    return frame


def _write(folder: Path, random: Random, truth: Truth) -> tuple[Path, bytes]:
    ending = random.choice(("parquet", "parquet", "parquet", "h5", "npz", "npz", "npz"))
    path = folder / f"readings.{ending}"
    _WRITERS[ending](path, random, truth)
    return path, path.read_bytes()


def _write_parquet(path: Path, random: Random, truth: Truth) -> None:
    frame = frame_of(random, truth)
    if random.random() < 0.5:
        frame = frame.rename_axis("time").reset_index()
    frame.to_parquet(path)


def _write_hdf5(path: Path, random: Random, truth: Truth) -> None:
    frame_of(random, truth).to_hdf(path, key=random.choice(("df", "group/frame")), format="fixed")


def _write_npz(path: Path, random: Random, truth: Truth) -> None:
    frame = frame_of(random, truth)
    arrays: dict[str, Any] = {random.choice(("values", "data")): frame.to_numpy(), "variables": np.array(truth.names)}
    if random.random() < 0.7:
        arrays["times"] = np.array(truth.moments, dtype="datetime64[ns]")
    elif truth.moments is not None and random.random() < 0.5:
        arrays |= {"start": np.array(truth.moments[0].isoformat()), "freq": np.array(f"{truth.step}s")}
    else:
        truth.moments = None
    np.savez(path, **arrays)


_WRITERS: dict[str, Callable[[Path, Random, Truth], None]] = {
    "parquet": _write_parquet,
    "h5": _write_hdf5,
    "npz": _write_npz,
}

# Hostile archives


def _hostile_npz(folder: Path, random: Random) -> str:
    """Write an NPZ file with objects, false sizes, odd shapes or odd facts: it is refused, or read without harm."""
    path = folder / "readings.npz"
    _HOSTILE[random.randrange(len(_HOSTILE))](path, random)
    return "refused" if read(path, {}) is None else "accepted"


def _objects(path: Path, random: Random) -> None:
    np.savez(path, values=np.array([[1, None], ["x", {}]], dtype=object))


def _false_size(path: Path, random: Random) -> None:
    """Write an array whose header promises more numbers than memory holds."""
    shape = random.choice(((10**6, 10**6), (2**40, 2), (2**62, 4), (-1, 3), (10**5, 10**4)))
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
    _member(path, header, b"\0" * 64)


def _odd_header(path: Path, random: Random) -> None:
    header = random.choice(
        ("{", "[1, 2]", "{'descr': '|O'}", "{'descr': [('a', '<f8')], 'fortran_order': 0, 'shape': (2,)}", "x" * 200)
    )
    _member(path, header, b"\0" * 64)


def _member(path: Path, header: str, content: bytes) -> None:
    text = header.encode() + b" " * (63 - (len(header) + 10) % 64) + b"\n"
    raw = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + content
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("values.npy", raw)


def _zeros(path: Path, random: Random) -> None:
    """Write an archive of a few kilobytes that unpacks to tens of megabytes."""
    np.savez_compressed(path, values=np.zeros((random.choice((10, 200_000)), 20)))


def _odd_shapes(path: Path, random: Random) -> None:
    shape = random.choice(((0, 3), (3, 0), (4,), (2, 3, 1), (2, 3, 4), ()))
    kind = random.choice(("f4", "i8", "c16", "?", "U3", "M8[ns]", "S4", "f2", "V8"))
    np.savez(path, **{random.choice(("values", "other")): np.zeros(shape, dtype=kind)})


def _odd_facts(path: Path, random: Random) -> None:
    facts = random.choice(
        (
            "{",
            "[]",
            "{}",
            "null",
            '{"freq": 3}',
            '{"freq": "h", "time_features": 7, "unit": 1, "missing_code": "x"}',
            "[" * 5000,
        )
    )
    extra = random.choice(
        (
            {"times": np.array(["x", "y", "z"])},
            {"times": np.array([1, 2, 3])},
            {"times": np.array(["NaT"] * 3, dtype="datetime64[ns]")},
            {"start": np.array("2024"), "freq": np.array(random.choice(("0h", "-1h", "often", "1000000YS", "")))},
            {"start": np.array("2262-04-11"), "freq": np.array("D")},
            {"variables": np.array([b"\xff", b"a"])},
            {"variables": np.array(["a", "a"])},
            {"adjacency": np.zeros((3, 1))},
            {"positions": np.array(["a"])},
        )
    )
    arrays: dict[str, Any] = {"values": np.arange(6.0).reshape(3, 2), **extra}
    if random.random() < 0.6:
        arrays["subcast"] = np.array(facts)
    np.savez(path, **arrays)


def _nested(path: Path, random: Random) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(
            random.choice(("../values.npy", "values.npy/", "/values.npy", "values")), b"x" * random.randint(0, 50)
        )
    path.write_bytes(buffer.getvalue())


_HOSTILE = (_objects, _false_size, _odd_header, _zeros, _odd_shapes, _odd_facts, _nested)
