"""Read a text table into a frame: encoding, compression, separator, header and convention of numbers are detected."""

from __future__ import annotations

import gzip
import io
import lzma
import math
import re
import warnings
import zlib
from bz2 import BZ2File
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from subcast.errors import DataError
from subcast.names import listed, name_in_spreadsheet, numbered_names, plural, refuse_repeated_names
from subcast.tables.convention import CONVENTIONS, Evidence, NumberFormat, conventions_of
from subcast.tables.dates import is_time_name, to_stamps
from subcast.tables.layout import Layout, layout_of, without_comments
from subcast.tables.numbers import read_numbers, unique_texts

COMPRESSED: dict[str, Callable[..., IO[bytes]]] = {".gz": gzip.open, ".bz2": BZ2File, ".xz": lzma.open}  # type: ignore[dict-item]
"""How to open a compressed file, by the ending of its name."""

_DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, OSError)
_DECIMAL_COMMA = re.compile(r"(?:^|[;|\t ])[ ]*[-+]?[0-9]+,[0-9]", re.MULTILINE)
_POINT_AND_THREE_DIGITS = re.compile(r"[0-9]\.[0-9]{3}(?![0-9])")
_FIRST_COMPACT_DATE = 19000101
_FIRST_ROWS, _FIRST_COLUMNS = 50, 50


class _Source(NamedTuple):
    """A decoded text table, its layout, its name for messages, and the position of the column of ids, if it has one."""

    text: str
    layout: Layout
    name: str
    ids: int | None


def read_text(
    path: Path,
    repairs: list[str],
    *,
    time: str | None = None,
    id: str | None = None,
    numbers: NumberFormat | None = None,
) -> pd.DataFrame:
    """Read a text file into a frame, without repairs of its cells.

    The numbers of all columns but those of times and names are read in one convention; a cell that is no number in it
    keeps its text.

    Parameters
    ----------
    path
        the file
    repairs
        notes about columns and about the convention are added to it
    time, id
        the columns of times and of the variables' names, if they are known
    numbers
        what is known about the numbers
    """
    text = without_comments(_decoded(unpacked(path), path))
    layout = layout_of(text, path.name)
    if layout.has_header:
        refuse_repeated_names([name for name in layout.header if name], path.name)
    source = _Source(text, layout, path.name, _id_position(layout, id or "unique_id"))
    frame = _parsed_numbers(source, {time, id, "unique_id"}, numbers or NumberFormat(), repairs)
    if layout.has_row_names:
        frame = _with_times_in_index(frame, path.name)
    if not layout.has_header:
        return frame.set_axis(numbered_names(frame.shape[1]), axis=1)
    return _named(frame, layout.header, repairs)


def _with_times_in_index(frame: pd.DataFrame, source: str) -> pd.DataFrame:
    """Return a frame whose row names are moments if they are numbers such as 20240131 or seconds since 1970."""
    numbers = frame.index
    if numbers.dtype.kind not in "iu" or not len(numbers) or numbers.min() < _FIRST_COMPACT_DATE:
        return frame
    try:
        moments = to_stamps(pd.Series(numbers), source).moments
    except DataError:  # large row numbers
        return frame
    return frame if np.isnat(moments).any() else frame.set_axis(pd.DatetimeIndex(moments), axis=0)


def _id_position(layout: Layout, id_column: str) -> int | None:
    """Return the position of the column that names the variables of a long table, if the header has it."""
    shifted = layout.has_row_names and layout.header[0] != ""
    if not layout.has_header or shifted or id_column not in layout.header:
        return None
    return layout.header.index(id_column)


def _parsed(source: _Source, decimal: str, texts: Iterable[object] = (), rows: int | None = None) -> pd.DataFrame:
    """Parse a table, or its first rows, with a decimal mark and no mark between thousands.

    The columns labelled `texts` keep their text.
    """
    layout = source.layout
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # fields beyond the header would be dropped
            frame = pd.read_csv(
                io.StringIO(source.text),
                sep=layout.separator,
                decimal=decimal,
                header=0 if layout.has_header else None,
                index_col=0 if layout.has_row_names else False,
                dtype=dict.fromkeys(texts, str),
                converters=None if source.ids is None else {source.ids: _marked},
                nrows=rows,
                low_memory=False,
                skipinitialspace=True,
                on_bad_lines="error",
            )
    except pd.errors.EmptyDataError:
        raise DataError(f"{source.name} is empty: there is nothing to read") from None
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        raise DataError(
            f"{source.name} is not a table: {first_sentence(error)}; every line needs the same fields"
        ) from None
    if source.ids is None:
        return frame
    label = frame.columns[source.ids - layout.has_row_names]
    ids = [name_in_spreadsheet(text[1:]) or math.nan for text in frame[label]]
    return _with_columns(frame, {label: pd.array(ids, dtype=object)})


def _marked(cell: str) -> str:
    """Return the name of a variable after a mark, so that it stays as it is written: 007, NA, true."""
    return f"\x1f{cell.strip()}"


# The convention of the numbers


def _parsed_numbers(source: _Source, named: set[str | None], numbers: NumberFormat, repairs: list[str]) -> pd.DataFrame:
    """Parse a table in the one convention of its numbers; columns called `named` and columns of times do not count."""
    decimal = numbers.decimal or _likely_decimal(source, numbers)
    frame = _parsed(source, decimal)
    names = dict(zip(frame.columns, _names_of(frame, source), strict=True))
    counted = [name not in named and not is_time_name(name) for name in names.values()]
    floats = _labels(frame, counted, lambda kind: kind.kind == "f")
    evidence = Evidence(numbers)
    proof = _proof(source, frame, floats, decimal) if floats else None
    if proof is not None:
        evidence.add(names[proof[0]], [proof[1]])
    elif floats and numbers.decimal is None and _may_have_thousands(source, frame, counted, decimal):
        frame = _parsed(source, decimal, texts=floats)
    columns = {label: unique_texts(frame[label]) for label in _labels(frame, counted, _holds_text)}
    for label, column in columns.items():
        evidence.add(names[label], column.texts)
    decision = evidence.decide(source.name, DataError, separator=source.layout.separator)
    repairs.extend(decision.notes)
    return _with_columns(frame, {label: read_numbers(column, decision.convention) for label, column in columns.items()})


def _likely_decimal(source: _Source, numbers: NumberFormat) -> str:
    """Return the decimal mark to try first."""
    if numbers.thousands in (".", ","):
        return "," if numbers.thousands == "." else "."
    return "," if source.layout.separator != "," and _DECIMAL_COMMA.search(source.text) else "."


def _names_of(frame: pd.DataFrame, source: _Source) -> list[str]:
    """Return the names of the columns in the header; numbers without one."""
    header = source.layout.header
    if not source.layout.has_header:
        return [str(label) for label in frame.columns]
    if len(header) < frame.shape[1]:
        raise DataError(
            f"{source.name} is not a table: its header has {plural(len(header), 'field')} and its lines have "
            f"{frame.shape[1]}; every line needs the same fields"
        )
    return header[len(header) - frame.shape[1] :]


def _labels(frame: pd.DataFrame, counted: list[bool], chosen: Callable[[Any], bool]) -> list[Any]:
    """Return the labels of the columns that count and whose type is chosen."""
    columns = zip(frame.columns, counted, frame.dtypes, strict=True)
    return [label for label, counts, kind in columns if counts and chosen(kind)]


def _holds_text(kind: Any) -> bool:
    return kind == np.dtype(object) or isinstance(kind, pd.StringDtype)


def _proof(source: _Source, frame: pd.DataFrame, floats: list[Any], decimal: str) -> tuple[Any, str] | None:
    """Return a column and a number in it that can only be read with this decimal mark, if one is easy to find.

    The first rows are searched as text. Then the parsed numbers are searched for one that no number with marks between
    thousands would be read as: a fraction below 1, from 1000, or of more than three digits.
    """
    head = _parsed(source, decimal, texts=floats[:_FIRST_COLUMNS], rows=_FIRST_ROWS)
    for label in floats[:_FIRST_COLUMNS]:
        for text in unique_texts(head[label]).texts:
            if _proves(text, decimal):
                return label, text
    for label in floats:
        values = frame[label].to_numpy()
        rows = np.flatnonzero(_not_thousands(values))
        if rows.size:
            row = int(rows[0])
            text = str(_parsed(source, decimal, texts=[label], rows=row + 1)[label].iloc[row])
            return (label, text) if _proves(text, decimal) else None
    return None


def _proves(text: str, decimal: str) -> bool:
    fits = conventions_of(text)
    return bool(fits) and all(
        convention.decimal == decimal for place, convention in enumerate(CONVENTIONS) if fits >> place & 1
    )


def _not_thousands(values: NDArray[Any]) -> NDArray[np.bool_]:
    size = np.abs(np.where(np.isfinite(values), values, 0.0))
    fraction = size != np.floor(size)
    return fraction & ((size < 1) | (size >= 1000) | (np.abs(1000 * size - np.round(1000 * size)) > 1e-4))


def _may_have_thousands(source: _Source, frame: pd.DataFrame, counted: list[bool], decimal: str) -> bool:
    """Return whether a number may have been read wrongly with this decimal mark, so that the text must be looked at."""
    if decimal == "," or _POINT_AND_THREE_DIGITS.search(source.text):
        return True
    every = (1 << len(CONVENTIONS)) - 1
    texts = (text for label in _labels(frame, counted, _holds_text) for text in unique_texts(frame[label]).texts)
    return any(conventions_of(text) not in (0, every) for text in texts)


def _with_columns(frame: pd.DataFrame, columns: Mapping[Any, Any]) -> pd.DataFrame:
    if not columns:
        return frame
    arrays = {label: columns[label] if label in columns else frame[label].array for label in frame.columns}
    return pd.DataFrame(arrays, index=frame.index)


# Names and bytes


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
    text = _as_text(raw)
    if "\0" in text:
        raise DataError(f"{path.name} is not text: give the file the ending of its kind (.parquet, .h5, .npz)")
    return text


def _as_text(raw: bytes) -> str:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16", errors="replace")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("cp1252", errors="replace")


def first_sentence(error: Exception) -> str:
    """Return the first line of an error of another library, without its prefix and its full stop."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".").removeprefix("Error tokenizing data. C error: ")
