"""Read a file of readings into a clean table: CSV, Parquet, HDF5, NPZ; nothing is ever unpickled."""

from __future__ import annotations

import csv
import gzip
import io
import lzma
import re
import zipfile
import zlib
from bz2 import BZ2File
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from subcast.errors import DataError, DataNotFoundError
from subcast.names import listed, numbered_names, refuse_repeated_names
from subcast.tables.clean import Table, clean_table
from subcast.tables.frames import frame_to_table
from subcast.tables.hdf5 import read_hdf5_frame

_OPENERS: dict[str, Callable[..., IO[bytes]]] = {".gz": gzip.open, ".bz2": BZ2File, ".xz": lzma.open}  # type: ignore[dict-item]
_BROKEN = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, zipfile.BadZipFile)
_DECIMAL_COMMA = re.compile(r"^\s*[-+]?\d+,\d+\s*$")


def read_table(
    path: str | Path,
    *,
    time: str | None = None,
    id: str | None = None,
    value: str | None = None,
    freq: str | None = None,
    key: str | None = None,
) -> Table:
    """Read a file of readings.

    Parameters
    ----------
    path
        a .csv, .tsv or .txt file (plain, .gz, .bz2 or .xz), .parquet, .h5 (as pandas writes it) or .npz
    time, id, value, freq
        as in `frame_to_table`
    key
        which table of an HDF5 file, or which array of an NPZ file; needed when there are several
    """
    path = Path(path)
    if not path.exists():
        raise DataNotFoundError(f"there is no file {str(path)!r}: check the path (the folder is {_folder_state(path)})")
    if path.is_dir():
        raise DataError(f"{str(path)!r} is a folder: give one file of readings")
    if path.stat().st_size == 0:
        raise DataError(f"{path.name} is empty: there is nothing to read")
    kind = _kind_of(path)
    if kind == "npz":
        return _read_npz(path, key, freq)
    if kind == "text":
        frame = _read_text(path)
    elif kind == "parquet":
        frame = _read_parquet(path)
    else:
        frame = read_hdf5_frame(path, key)
    return frame_to_table(frame, time=time, id=id, value=value, freq=freq, source=path.name)


def _folder_state(path: Path) -> str:
    return "there" if path.parent.is_dir() else "not there either"


_KINDS = {
    ".csv": "text",
    ".tsv": "text",
    ".txt": "text",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
    ".hdf": "hdf5",
    ".npz": "npz",
}


def _kind_of(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _OPENERS:
        suffixes.pop()
        if suffixes and _KINDS.get(suffixes[-1]) != "text":
            raise DataError(f"{path.name} is compressed, which only text files may be: unpack it first")
    kind = _KINDS.get(suffixes[-1]) if suffixes else None
    if kind is None:
        raise DataError(
            f"{path.name} is of no known kind: give .csv, .tsv, .txt (plain or .gz), .parquet, .h5 or .npz "
            "(a pickle is never read)"
        )
    return kind


def _read_text(path: Path) -> pd.DataFrame:
    raw = unpacked(path)
    text, lines = _first_lines(raw, path)
    separator = _separator(lines)
    rows = list(csv.reader(lines, delimiter=separator))
    if not rows:
        raise DataError(f"{path.name} holds only blank lines: there is nothing to read")
    has_header = _has_header(rows)
    header = [name.strip() for name in rows[0]]
    if has_header:
        refuse_repeated_names([name for name in header if name], path.name)
    decimal = "," if separator != "," and any(_DECIMAL_COMMA.match(cell) for row in rows[1:] for cell in row) else "."
    try:
        frame = pd.read_csv(
            io.BytesIO(raw),
            sep=separator,
            decimal=decimal,
            header=0 if has_header else None,
            index_col=0 if has_header and header[0] == "" and len(header) > 1 else False,
            encoding=text,
            low_memory=False,
            skipinitialspace=True,
            on_bad_lines="error",
        )
    except pd.errors.ParserError as error:
        raise DataError(
            f"{path.name} is not a table: {_first_sentence(error)}; every line needs the same fields"
        ) from None
    if not has_header:
        frame.columns = pd.Index(numbered_names(frame.shape[1]))
    return frame.rename(columns=lambda name: name.strip() if isinstance(name, str) else name)


def unpacked(path: Path) -> bytes:
    """The bytes of a file, uncompressed if its name ends in .gz, .bz2 or .xz."""
    opener = _OPENERS.get(path.suffix.lower())
    if opener is None:
        return path.read_bytes()
    try:
        with opener(path) as file:
            return bytes(file.read())
    except (*_BROKEN, OSError):
        raise DataError(f"{path.name} is cut short or damaged: fetch it again") from None


def _first_lines(raw: bytes, path: Path, count: int = 20) -> tuple[str, list[str]]:
    """The encoding and the first lines that are not blank."""
    head = raw[: 1 << 20]
    if b"\0" in head:
        raise DataError(f"{path.name} is not text: give the file the ending of its kind (.parquet, .h5, .npz)")
    try:
        raw.decode("utf-8-sig")
        encoding = "utf-8-sig"
    except UnicodeDecodeError:
        encoding = "cp1252"
    lines = [line for line in head.decode(encoding, errors="replace").splitlines() if line.strip()]
    return encoding, lines[:count]


def _separator(lines: list[str]) -> str:
    """The separator that cuts the first lines into equally many fields, and into the most."""
    best, fields = ",", 1
    for candidate in (",", "\t", ";", "|"):
        counts = {len(row) for row in csv.reader(lines, delimiter=candidate)}
        if len(counts) == 1 and max(counts) > fields:
            best, fields = candidate, max(counts)
    return best


def _has_header(rows: list[list[str]]) -> bool:
    """The first line names the variables unless it is all numbers; whole numbers above fractions are names too."""
    first = [_number(cell) for cell in rows[0]]
    if any(number is None for number in first):
        return True
    if len(rows) < 2 or len(set(first)) < len(first):
        return False
    second = [_number(cell) for cell in rows[1]]
    whole = all(number is not None and number.is_integer() for number in first)
    return whole and len(first) > 1 and any(number is not None and not number.is_integer() for number in second)


def _number(cell: str) -> float | None:
    try:
        return float(cell.replace(",", "."))
    except ValueError:
        return None


def _first_sentence(error: Exception) -> str:
    return str(error).strip().splitlines()[0].rstrip(".").removeprefix("Error tokenizing data. C error: ")


def _read_parquet(path: Path) -> pd.DataFrame:
    import pyarrow

    try:
        return pd.read_parquet(path)
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{path.name} is cut short or no Parquet file: {_first_sentence(error)}") from None


def load_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """All arrays of an NPZ file, in one clear sentence if that cannot be; objects are never unpickled."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except ValueError as error:
        if "allow_pickle" in str(error) or "pickle" in str(error):
            raise DataError(f"{path.name} holds pickled objects, which are never loaded: save plain arrays") from None
        raise DataError(f"{path.name} is cut short or damaged: fetch it again") from None
    except (*_BROKEN, OSError, AttributeError, KeyError):
        raise DataError(f"{path.name} is cut short or no NPZ archive: fetch it again") from None


def _read_npz(path: Path, key: str | None, freq: str | None) -> Table:
    """Read `values` [t, n] and, if there: `variables`, `times` (or `start` and `freq`), `adjacency`, `positions`."""
    arrays = load_arrays(path)
    values = _main_array(arrays, key, path)
    n = values.shape[1]
    names = next((arrays[name] for name in ("variables", "names", "columns") if name in arrays), None)
    if names is not None and names.shape != (n,):
        raise DataError(f"{path.name} names {names.size} variables for {n} columns: one name a column is needed")
    variables = [str(name) for name in names] if names is not None else numbered_names(n)
    repairs: list[str] = []
    times, freq = _npz_times(arrays, values.shape[0], freq, repairs)
    table = clean_table(values, variables, times, freq=freq, repairs=repairs, source=path.name)
    graph, positions = arrays.get("adjacency", arrays.get("graph")), arrays.get("positions")
    return replace(
        table,
        graph=None if graph is None else graph.astype(np.float32),
        positions=None if positions is None else positions.astype(np.float32),
    )


def _main_array(arrays: dict[str, NDArray[Any]], key: str | None, path: Path) -> NDArray[np.float32]:
    if key is not None and key not in arrays:
        raise DataError(f"key={key!r} names no array of {path.name} (it holds {listed(list(arrays), 8)})")
    tables = [name for name, array in arrays.items() if array.ndim == 2 and array.dtype.kind in "fiub"]
    name = key or next((name for name in ("values", "data") if name in arrays), None)
    if name is None:
        if len(tables) != 1:
            raise DataError(f"{path.name} has no array 'values' [t, n]: name one with key= ({listed(list(arrays), 8)})")
        name = tables[0]
    array = arrays[name]
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise DataError(
            f"array {name!r} of {path.name} must be numbers [t, n] (steps x variables), "
            f"got {array.dtype} of shape {array.shape}"
        )
    return array.astype(np.float32, copy=False)


def _npz_times(
    arrays: dict[str, NDArray[Any]], steps: int, freq: str | None, repairs: list[str]
) -> tuple[NDArray[np.int64] | None, str | None]:
    if "times" in arrays and arrays["times"].dtype.kind == "M":
        return arrays["times"].astype("datetime64[ns]").view(np.int64), freq
    start, rate = str(arrays.get("start", "")), freq or str(arrays.get("freq", ""))
    if not start or not rate:
        return None, None
    try:
        grid = pd.date_range(pd.Timestamp(start), periods=steps, freq=rate).as_unit("ns")
    except ValueError:
        repairs.append(f"the rate {rate!r} is not one that places steps in time: the steps are only numbered")
        return None, None
    return grid.asi8, rate
