"""Read a file of readings into a clean table: CSV, Parquet, HDF5, NPZ; nothing is ever unpickled."""

from __future__ import annotations

import csv
import gzip
import io
import json
import lzma
import math
import re
import warnings
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
from subcast.names import listed, numbered_names, plural, refuse_repeated_names
from subcast.tables.arrays import array_rows
from subcast.tables.clean import Table, frame_to_table, rows_to_table
from subcast.tables.dates import to_stamps
from subcast.tables.hdf5 import read_hdf5_frame
from subcast.tables.policy import Repair

_OPENERS: dict[str, Callable[..., IO[bytes]]] = {".gz": gzip.open, ".bz2": BZ2File, ".xz": lzma.open}  # type: ignore[dict-item]
_BROKEN = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, zipfile.BadZipFile)
_FACTS = "subcast"
"""The array in which `Series.save` keeps what an NPZ file has no other place for, as JSON."""
_DECIMAL_COMMA = re.compile(r"(?:^|[;|\t])[ ]*[-+]?\d+,\d+[ ]*(?=[;|\t\r\n]|$)", re.MULTILINE)
_DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}(?:[T ].*)?")
_NO_READING = {"", "NA", "N/A", "NULL", "NONE"}
_SPACES = r"\s+"


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
    kind = kind_of(path)
    if kind == "npz":
        return _read_npz(path, key, freq)
    repairs: list[str] = []
    if kind == "text":
        frame = read_text(path, repairs)
    elif kind == "parquet":
        frame = read_parquet(path)
    else:
        frame = read_hdf5_frame(path, key)
    return frame_to_table(frame, time=time, id=id, value=value, freq=freq, repairs=repairs, source=path.name)


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


def kind_of(path: Path) -> str:
    """Tell from a file's name what kind of table it is."""
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


def read_text(path: Path, repairs: list[str]) -> pd.DataFrame:
    """Read a text table as it is; what had to be done to read it is added to `repairs`."""
    text = _decoded(unpacked(path), path)
    text, lines = _without_remarks(text)
    if not lines:
        raise DataError(f"{path.name} holds only blank lines: there is nothing to read")
    separator = _separator(lines)
    rows = _cut(lines, separator)
    has_header = _has_header(rows)
    header = [name.strip() for name in rows[0]]
    if has_header:
        refuse_repeated_names([name for name in header if name], path.name)
    unnamed_first = has_header and len(header) > 1 and header[0] == ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # fields beyond the header would be dropped
            frame = pd.read_csv(
                io.StringIO(text),
                sep=separator,
                decimal="," if separator not in (",", _SPACES) and _DECIMAL_COMMA.search(text) else ".",
                header=0 if has_header else None,
                index_col=0 if unnamed_first or _has_row_names(rows, has_header) else False,
                low_memory=False,
                skipinitialspace=True,
                on_bad_lines="error",
            )
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        raise DataError(
            f"{path.name} is not a table: {_first_sentence(error)}; every line needs the same fields"
        ) from None
    if has_header:
        return _named(frame, header, repairs)
    frame.columns = pd.Index(numbered_names(frame.shape[1]))
    return frame


def _named(frame: pd.DataFrame, header: list[str], repairs: list[str]) -> pd.DataFrame:
    """The frame with its names as written; a column with neither name nor reading (a line's last comma) goes."""
    names = header[len(header) - frame.shape[1] :]
    blank = [place for place, name in enumerate(names) if not name]
    names = [name or f"column {place + 1}" for place, name in enumerate(names)]
    frame = frame.set_axis(names, axis=1)
    empty = [names[place] for place in blank if frame.iloc[:, place].isna().all()]
    kept = [names[place] for place in blank if names[place] not in empty]
    if empty:
        repairs.append(f"{plural(len(empty), 'column', 'has')} neither a name nor a reading: left out")
    if kept:
        repairs.append(f"{plural(len(kept), 'column', 'has')} no name: called {listed(kept)}")
    return frame.drop(columns=empty)


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


def _decoded(raw: bytes, path: Path) -> str:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16", errors="replace")
    if b"\0" in raw[: 1 << 20]:
        raise DataError(f"{path.name} is not text: give the file the ending of its kind (.parquet, .h5, .npz)")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("cp1252", errors="replace")


def _without_remarks(text: str, count: int = 20) -> tuple[str, list[str]]:
    """The text without the lines before the table that start with #, and its first lines that are not blank.

    A last such line that has as many fields as the table names its columns.
    """
    remark = ""
    while text.lstrip().startswith("#"):
        remark, _, text = text.lstrip().partition("\n")
    lines = [line for line in text[: 1 << 20].splitlines() if line.strip()][:count]
    if remark and lines:
        named = [remark.lstrip("# "), *lines]
        separator = _separator(lines)
        if len({len(row) for row in _cut(named, separator)}) == 1 and len(_cut(lines, separator)[0]) > 1:
            return f"{named[0]}\n{text}", named
    return text, lines


def _cut(lines: list[str], separator: str) -> list[list[str]]:
    if separator == _SPACES:
        return [line.split() for line in lines]
    return list(csv.reader(lines, delimiter=separator))


def _separator(lines: list[str]) -> str:
    """The separator that cuts the first lines into equally many fields, and into the most.

    The first line may have one less, when it names no column for the rows' own names.
    """
    best, fields = ",", 1
    for candidate in (",", "\t", ";", "|"):
        counts = [len(row) for row in _cut(lines, candidate)]
        if len(set(counts[1:] or counts)) == 1 and counts[0] in (counts[-1], counts[-1] - 1) and counts[-1] > fields:
            best, fields = candidate, counts[-1]
    if fields == 1 and all(len(line.split()) == len(lines[0].split()) > 1 for line in lines):
        return _SPACES
    return best


def _has_row_names(rows: list[list[str]], has_header: bool) -> bool:
    """Whether every line has one field more than the header, and they are not only a last comma."""
    below = rows[1:]
    longer = has_header and bool(below) and all(len(row) == len(rows[0]) + 1 for row in below)
    return longer and any(row[-1].strip() for row in below)


def _has_header(rows: list[list[str]]) -> bool:
    """The first line names the variables unless it holds readings.

    Whole numbers above fractions are names too, if they count the columns or are larger than any reading below.
    """
    cells = [cell.strip() for cell in rows[0]]
    if cells[0] == "" and len(cells) > 1:
        return True
    if any(_number(cell) is None and not _DATE.fullmatch(cell) for cell in cells):
        return True
    first = [_number(cell) for cell in cells]
    numbers = [number for number in first if number is not None and number.is_integer()]
    below = [number for row in rows[1:] for cell in row if math.isfinite(number := _number(cell) or 0.0)]
    if len(numbers) < len(cells) or len(set(numbers)) < max(len(cells), 2) or all(n.is_integer() for n in below):
        return False
    counted = any(numbers == list(range(start, start + len(numbers))) for start in (0, 1))
    return counted or min(numbers) > max(below)


def _number(cell: str) -> float | None:
    if cell.strip().upper() in _NO_READING:
        return math.nan
    try:
        return float(cell.replace(",", "."))
    except ValueError:
        return None


def _first_sentence(error: Exception) -> str:
    return str(error).strip().splitlines()[0].rstrip(".").removeprefix("Error tokenizing data. C error: ")


def read_parquet(path: Path) -> pd.DataFrame:
    """Read a Parquet table as it is."""
    import pyarrow

    try:
        return pd.read_parquet(path)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{path.name} is cut short or no Parquet file: {_first_sentence(error)}") from None


def load_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """All arrays of an NPZ file, in one clear sentence if that cannot be; objects are never unpickled."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except ValueError as error:
        if zipfile.is_zipfile(path) and "pickle" in str(error):
            raise DataError(f"{path.name} holds pickled objects, which are never loaded: save plain arrays") from None
        raise DataError(f"{path.name} is cut short or damaged: fetch it again") from None
    except (*_BROKEN, OSError, AttributeError, KeyError, TypeError):
        raise DataError(f"{path.name} is cut short or no NPZ archive: fetch it again") from None


def _read_npz(path: Path, key: str | None, freq: str | None) -> Table:
    """Read `values` [t, n] and, if there: `variables`, `times` (or `start` and `freq`), `adjacency`, `positions`."""
    arrays = load_arrays(path)
    values = _main_array(arrays, key, path)
    n = values.shape[1]
    names = next((arrays[name] for name in ("variables", "names", "columns") if name in arrays), None)
    if names is not None and names.shape != (n,):
        raise DataError(f"{path.name} names {names.size} variables for {n} columns: one name a column is needed")
    variables = [_text(name) for name in names.tolist()] if names is not None else numbered_names(n)
    policy = Repair(path.name)
    times, freq = _npz_times(arrays, values.shape[0], freq, policy, path)
    if _FACTS in arrays:
        return _read_own(arrays, values, variables, times, path)
    table = rows_to_table(array_rows(values, variables, times, policy), policy, freq)
    graph = _extra(arrays, ("adjacency", "graph"), path)
    return replace(table, graph=graph, positions=_extra(arrays, ("positions",), path))


def _read_own(
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
            graph=_extra(arrays, ("adjacency",), path),
            positions=_extra(arrays, ("positions",), path),
            time_features=tuple(facts["time_features"]),
            unit=facts["unit"],
            missing_code=facts["missing_code"],
        )
    except (ValueError, KeyError, TypeError):
        raise DataError(f"the facts stored in {path.name} cannot be read: save the series again") from None


def _extra(arrays: dict[str, NDArray[Any]], names: tuple[str, ...], path: Path) -> NDArray[np.float32] | None:
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
        policy.notes.append(f"start {start!r} and rate {rate!r} do not place the steps in time: they are only numbered")
        return None, None
    return pd.Series(grid.asi8.view("datetime64[ns]")), rate
