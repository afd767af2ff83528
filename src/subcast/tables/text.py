"""Read a text table into a frame: encoding, compression, separator, header and decimal comma are detected."""

from __future__ import annotations

import csv
import gzip
import io
import lzma
import math
import re
import warnings
import zlib
from bz2 import BZ2File
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pandas as pd

from subcast.errors import DataError
from subcast.names import listed, numbered_names, plural, refuse_repeated_names

COMPRESSED: dict[str, Callable[..., IO[bytes]]] = {".gz": gzip.open, ".bz2": BZ2File, ".xz": lzma.open}  # type: ignore[dict-item]
"""How to open a compressed file, by the ending of its name."""

_DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, OSError)
_DECIMAL_COMMA = re.compile(r"(?:^|[;|\t])[ ]*[-+]?\d+,\d+[ ]*(?=[;|\t\r\n]|$)", re.MULTILINE)
_DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}(?:[T ].*)?")
_NO_READING = {"", "NA", "N/A", "NULL", "NONE"}
_SPACES = r"\s+"
_HEAD_LINES = 20
_HEAD_CHARACTERS = 1 << 20


def read_text(path: Path, repairs: list[str]) -> pd.DataFrame:
    """Read a text file into a frame, without repairs of its cells; notes about its columns are added to `repairs`."""
    text = _decoded(unpacked(path), path)
    text, lines = _without_comments(text)
    if not lines:
        raise DataError(f"{path.name} has only blank lines: there is nothing to read")
    separator = _separator(lines)
    rows = _fields(lines, separator)
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
            f"{path.name} is not a table: {first_sentence(error)}; every line needs the same fields"
        ) from None
    if has_header:
        return _named(frame, header, repairs)
    frame.columns = pd.Index(numbered_names(frame.shape[1]))
    return frame


def _named(frame: pd.DataFrame, header: list[str], repairs: list[str]) -> pd.DataFrame:
    """Return the frame with the names of the header, without columns that have neither a name nor a reading.

    Such a column comes from a comma at the end of each line.
    """
    names = header[len(header) - frame.shape[1] :]
    unnamed = [position for position, name in enumerate(names) if not name]
    names = [name or f"column {position + 1}" for position, name in enumerate(names)]
    frame = frame.set_axis(names, axis=1)
    empty = [names[position] for position in unnamed if frame.iloc[:, position].isna().all()]
    kept = [names[position] for position in unnamed if names[position] not in empty]
    if empty:
        repairs.append(f"{plural(len(empty), 'column', 'has')} neither a name nor a reading: ignored")
    if kept:
        repairs.append(f"{plural(len(kept), 'column', 'has')} no name: called {listed(kept)}")
    return frame.drop(columns=empty)


def unpacked(path: Path) -> bytes:
    """Return the bytes of a file, decompressed if its name ends in .gz, .bz2 or .xz."""
    opener = COMPRESSED.get(path.suffix.lower())
    if opener is None:
        return path.read_bytes()
    try:
        with opener(path) as file:
            return bytes(file.read())
    except _DAMAGED:
        raise DataError(f"{path.name} is cut short or damaged: fetch it again") from None


def _decoded(raw: bytes, path: Path) -> str:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16", errors="replace")
    if b"\0" in raw[:_HEAD_CHARACTERS]:
        raise DataError(f"{path.name} is not text: give the file the ending of its kind (.parquet, .h5, .npz)")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("cp1252", errors="replace")


def _without_comments(text: str) -> tuple[str, list[str]]:
    """Return the text without the comment lines above the table (#), and its first lines that are not blank.

    When the last comment line has as many fields as the table, it is the header.
    """
    comment = ""
    while text.lstrip().startswith("#"):
        comment, _, text = text.lstrip().partition("\n")
    lines = [line for line in text[:_HEAD_CHARACTERS].splitlines() if line.strip()][:_HEAD_LINES]
    if comment and lines:
        with_header = [comment.lstrip("# "), *lines]
        separator = _separator(lines)
        if len({len(row) for row in _fields(with_header, separator)}) == 1 and len(_fields(lines, separator)[0]) > 1:
            return f"{with_header[0]}\n{text}", with_header
    return text, lines


def _fields(lines: list[str], separator: str) -> list[list[str]]:
    if separator == _SPACES:
        return [line.split() for line in lines]
    return list(csv.reader(lines, delimiter=separator))


def _separator(lines: list[str]) -> str:
    """Return the separator that splits the first lines into the most fields, the same number in each line.

    The first line may have one field less, when the rows have names and the header does not name their column.
    """
    best, fields = ",", 1
    for candidate in (",", "\t", ";", "|"):
        counts = [len(row) for row in _fields(lines, candidate)]
        if len(set(counts[1:] or counts)) == 1 and counts[0] in (counts[-1], counts[-1] - 1) and counts[-1] > fields:
            best, fields = candidate, counts[-1]
    if fields == 1 and all(len(line.split()) == len(lines[0].split()) > 1 for line in lines):
        return _SPACES
    return best


def _has_row_names(rows: list[list[str]], has_header: bool) -> bool:
    """Return whether every line has one field more than the header, other than by a comma at its end."""
    below = rows[1:]
    longer = has_header and bool(below) and all(len(row) == len(rows[0]) + 1 for row in below)
    return longer and any(row[-1].strip() for row in below)


def _has_header(rows: list[list[str]]) -> bool:
    """Return whether the first line holds the names of the variables rather than readings.

    Whole numbers above fractions are names too, if they number the columns or are larger than any reading below.
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
    numbers_columns = any(numbers == list(range(start, start + len(numbers))) for start in (0, 1))
    return numbers_columns or min(numbers) > max(below)


def _number(cell: str) -> float | None:
    if cell.strip().upper() in _NO_READING:
        return math.nan
    try:
        return float(cell.replace(",", "."))
    except ValueError:
        return None


def first_sentence(error: Exception) -> str:
    """Return the first line of an error of another library, without its prefix and its full stop."""
    return str(error).strip().splitlines()[0].rstrip(".").removeprefix("Error tokenizing data. C error: ")
