"""Read arrays of an NPZ file into a clean table; objects are never unpickled."""

from __future__ import annotations

import json
import math
import struct
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from subcast.errors import DataError
from subcast.names import listed, numbered_names
from subcast.tables.arrays import array_rows
from subcast.tables.clean import Table, rows_to_table
from subcast.tables.dates import to_stamps
from subcast.tables.policy import Repair
from subcast.tables.zones import checked_zone

_FACTS = "subcast"
"""The array in which `Series.save` writes rate, time features, unit and missing code, as JSON."""

_DAMAGED = (
    *(EOFError, zlib.error, zipfile.BadZipFile, OSError, AttributeError, KeyError, TypeError),
    *(NotImplementedError, RuntimeError, IndexError, struct.error),
)
_HEADERS = {b"\1\0": np.lib.format.read_array_header_1_0, b"\2\0": np.lib.format.read_array_header_2_0}
"""How to read the header of an array, by its version."""


def read_npz(path: Path, key: str | None, freq: str | None, zone: str | None = None) -> Table:
    """Read `values` [t, n] and, if present, `variables`, `times` (or `start` and `freq`), `adjacency`, `positions`."""
    arrays = load_arrays(path)
    values = _main_array(arrays, key, path)
    n = values.shape[1]
    names = next((arrays[name] for name in ("variables", "names", "columns") if name in arrays), None)
    if names is not None and names.shape != (n,):
        raise DataError(f"{path.name} names {names.size} variables for {n} columns: give one name for each column")
    variables = [_text(name) for name in names.tolist()] if names is not None else numbered_names(n)
    policy = Repair(path.name, zone=checked_zone(zone))
    times, freq = _npz_times(arrays, values.shape[0], freq, policy, path)
    if _FACTS in arrays:
        return _read_saved_series(arrays, values, variables, times, path)
    table = rows_to_table(array_rows(values, variables, times, policy), policy, freq)
    graph = _numbers_of(arrays, ("adjacency", "graph"), path)
    return replace(table, graph=graph, positions=_numbers_of(arrays, ("positions",), path))


def load_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return all arrays of an NPZ file, or refuse a file that is damaged or holds pickled objects."""
    try:
        _check_sizes(path)
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except ValueError as error:
        if zipfile.is_zipfile(path) and "pickle" in str(error):
            raise DataError(f"{path.name} holds pickled objects, which are never loaded: save plain arrays") from None
        raise DataError(f"{path.name} is cut short or damaged: fetch it again") from None
    except MemoryError:
        raise DataError(f"{path.name} holds arrays that are too large for the memory: save fewer steps") from None
    except _DAMAGED:
        raise DataError(f"{path.name} is cut short or not an NPZ archive: fetch it again") from None
    return {name: array for name, array in arrays.items() if isinstance(array, np.ndarray)}  # others are plain files


def _check_sizes(path: Path) -> None:
    """Refuse an archive with an array whose header promises more than the archive holds, before memory is taken."""
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            with archive.open(member) as file:
                if file.read(len(np.lib.format.MAGIC_PREFIX)) != np.lib.format.MAGIC_PREFIX:
                    continue  # no array
                shape, item = _shape_of(file)
                if min(shape, default=0) < 0 or math.prod(shape) * item > member.file_size:
                    raise ValueError("the header promises more than the member holds")


def _shape_of(file: IO[bytes]) -> tuple[tuple[int, ...], int]:
    """Return the shape of an array and the bytes of one entry, from the header after its first letters."""
    header = _HEADERS.get(file.read(2))
    if header is None:
        raise ValueError("the header is of no known version")
    try:
        shape, _, kind = header(file)
    except Exception as error:  # a header is Python text, and a damaged one raises anything
        raise ValueError("the header cannot be read") from error
    return shape, int(kind.itemsize)


def _read_saved_series(
    arrays: dict[str, NDArray[Any]],
    values: NDArray[np.float32],
    variables: list[str],
    times: pd.Series[Any] | None,
    path: Path,
) -> Table:
    """Return what `Series.save` wrote without further repairs."""
    moments = None if times is None else to_stamps(times, path.name).moments
    try:
        facts = json.loads(_text(arrays[_FACTS].item()))
        return Table(
            values,
            tuple(variables),
            moments,
            facts["freq"],
            zone=checked_zone(facts.get("zone")),
            graph=_numbers_of(arrays, ("adjacency",), path),
            positions=_numbers_of(arrays, ("positions",), path),
            time_features=tuple(facts["time_features"]),
            unit=facts["unit"],
            missing_code=facts["missing_code"],
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DataError(f"the facts stored in {path.name} cannot be read: save the series again") from None


def _numbers_of(arrays: dict[str, NDArray[Any]], names: tuple[str, ...], path: Path) -> NDArray[np.float32] | None:
    name = next((name for name in names if name in arrays), None)
    if name is None:
        return None
    if arrays[name].dtype.kind not in "fiub":
        raise DataError(f"array {name!r} of {path.name} must be numbers, got {arrays[name].dtype}")
    return arrays[name].astype(np.float32)


def _text(value: object) -> str:
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)


def _main_array(arrays: dict[str, NDArray[Any]], key: str | None, path: Path) -> NDArray[np.float32]:
    if key is not None and key not in arrays:
        raise DataError(f"key={key!r} names no array of {path.name} (it holds {listed(list(arrays), 8)})")
    tables = [name for name, array in arrays.items() if array.ndim == 2 and array.dtype.kind in "fiu"]
    name = key or next((name for name in ("values", "data") if name in arrays), None)
    if name is None:
        if len(tables) != 1:
            raise DataError(f"{path.name} has no array 'values' [t, n]: name one with key= ({listed(list(arrays), 8)})")
        name = tables[0]
    array = arrays[name]
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if array.ndim != 2 or array.dtype.kind not in "fiu":
        raise DataError(
            f"array {name!r} of {path.name} must be numbers [t, n] (steps x variables), "
            f"got {array.dtype} of shape {array.shape}"
        )
    return array.astype(np.float32, copy=False)


def _npz_times(
    arrays: dict[str, NDArray[Any]], steps: int, freq: str | None, policy: Repair, path: Path
) -> tuple[pd.Series[Any] | None, str | None]:
    """Return the times and the rate of an NPZ file, or None for both when its steps are only numbered."""
    if "times" in arrays:
        times = arrays["times"]
        if times.shape != (steps,):
            raise DataError(f"array 'times' of {path.name} must have one entry for each of the {steps:,} steps")
        return pd.Series([_text(time) for time in times] if times.dtype.kind == "S" else times), freq
    start, rate = (
        _text(arrays[name].item()) if name in arrays and arrays[name].size == 1 else "" for name in ("start", "freq")
    )
    rate = freq or rate
    if not start or not rate:
        if freq is not None:
            raise DataError(f"freq={freq!r} was given, but {path.name} has no times: add an array 'times' or 'start'")
        return None, None
    try:
        grid = pd.date_range(pd.Timestamp(start), periods=steps, freq=rate).as_unit("ns")
    except ValueError:
        policy.notes.append(f"start {start!r} and rate {rate!r} do not define times: the steps are only numbered")
        return None, None
    return pd.Series(grid.asi8.view("datetime64[ns]")), rate
