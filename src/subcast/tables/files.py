"""Read a file of readings into a clean table: text, Parquet, HDF5 or NPZ; nothing is ever unpickled."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from subcast.errors import DataError, DataNotFoundError
from subcast.tables.clean import Table, frame_to_table
from subcast.tables.convention import NumberFormat
from subcast.tables.hdf5 import read_hdf5_frame
from subcast.tables.npz import read_npz
from subcast.tables.text import COMPRESSED, first_sentence, read_text

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


def read_table(
    path: str | Path,
    *,
    time: str | None = None,
    id: str | None = None,
    value: str | None = None,
    freq: str | None = None,
    key: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    zone: str | None = None,
) -> Table:
    """Read a file of readings.

    Parameters
    ----------
    path
        a .csv, .tsv or .txt file (plain, .gz, .bz2 or .xz), .parquet, .h5 (as pandas writes it) or .npz
    time, id, value, freq, zone
        as in `frame_to_table`
    key
        which table of an HDF5 file, or which array of an NPZ file; needed when there are several
    decimal, thousands
        as in `NumberFormat`, for numbers that are written as text
    """
    numbers = NumberFormat(decimal, thousands)
    path = Path(path)
    if not path.exists():
        raise DataNotFoundError(f"there is no file {str(path)!r}: check the path ({_folder_state(path)})")
    if path.is_dir():
        raise DataError(f"{str(path)!r} is a folder: give one file of readings")
    if path.stat().st_size == 0:
        raise DataError(f"{path.name} is empty: there is nothing to read")
    kind = kind_of(path)
    if kind == "npz":
        return read_npz(path, key, freq, zone)
    repairs: list[str] = []
    if kind == "text":
        frame = read_text(path, repairs, time=time, id=id, numbers=numbers)
    elif kind == "parquet":
        frame = read_parquet(path)
    else:
        frame = read_hdf5_frame(path, key)
    return frame_to_table(
        frame, time=time, id=id, value=value, freq=freq, numbers=numbers, zone=zone, repairs=repairs, source=path.name
    )


def _folder_state(path: Path) -> str:
    return "its folder exists" if path.parent.is_dir() else "its folder does not exist either"


def kind_of(path: Path) -> str:
    """Return the kind of a file by its name: "text", "parquet", "hdf5" or "npz"."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
        if suffixes and _KINDS.get(suffixes[-1]) != "text":
            raise DataError(f"{path.name} is compressed, and only text files may be: unpack it first")
    kind = _KINDS.get(suffixes[-1]) if suffixes else None
    if kind is None:
        raise DataError(
            f"{path.name} is of no known kind: give .csv, .tsv, .txt (plain or .gz), .parquet, .h5 or .npz "
            "(a pickle is never read)"
        )
    return kind


def read_parquet(path: Path) -> pd.DataFrame:
    """Read a Parquet file into a frame, without repairs."""
    try:
        return pd.read_parquet(path)
    except Exception as error:  # a damaged file makes the reader raise anything
        raise DataError(f"{path.name} is cut short or not a Parquet file: {first_sentence(error)}") from None
