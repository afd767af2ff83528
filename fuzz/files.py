"""Files in: text of all styles, Parquet, HDF5 and NPZ, whole and damaged, against the numbers they were made from."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path
from random import Random

from agreement import WrongReadingError, check_names, check_values, means_several_things, plain_name
from array_files import make_array_file
from damage import damaged, garbage
from reading import read, refusal
from subcast import Series
from text_tables import TextTable, make_text_table, split_fields, widest_table

PACKED = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
ENDINGS = (".csv", ".txt", ".tsv", ".csv.gz", ".parquet", ".h5", ".npz", ".csv.xz")


def prepare(work: Path) -> Path:
    """Return the folder to which the file of each case is written."""
    folder = work / "case"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def run_case(folder: Path, seed: int) -> tuple[str, str]:
    """Write one file and read it."""
    for old in folder.iterdir():
        old.unlink()
    random = Random(seed)
    kind = random.random()
    if kind < 0.001:
        return _text_case(folder, random, widest_table(random)), "very wide text"
    if kind < 0.06:
        return _garbage_case(folder, random), "garbage"
    if kind < 0.18:
        return make_array_file(folder, random)
    table = make_text_table(random)
    if kind < 0.4:
        return _damaged_case(folder, random, table), "damaged text"
    layout = "long text" if "long" in table.oddities else "wide text"
    return _text_case(folder, random, table), layout


def _write(folder: Path, random: Random, table: TextTable, raw: bytes) -> Path:
    ending = {"\t": ".tsv"}.get(table.separator, ".csv") if random.random() < 0.7 else ".txt"
    packing = random.choice(tuple(PACKED)) if random.random() < 0.05 else ""
    path = folder / f"readings{ending}{packing}"
    path.write_bytes(PACKED[packing](raw) if packing else raw)
    return path


def _text_case(folder: Path, random: Random, table: TextTable) -> str:
    path = _write(folder, random, table, table.encoded())
    series = read(path, table.options)
    if series is None:
        if table.sure and not means_several_things(table.cells(), table.convention):
            raise WrongReadingError(f"a plain table was refused: {refusal(path, table.options)}")
        return "refused"
    return _compare(series, table, table.grid)


def _compare(series: Series, table: TextTable, grid: list[list[str]]) -> str:
    """Compare a series with the fields of its file, if it can be said what they mean."""
    if (
        "ragged" in table.oddities
        or table.header_unclear(grid)
        or table.one_field
        or table.encoding not in ("utf-8", "utf-8-sig", "utf-16")
    ):
        return "accepted"
    if "repeated name" in table.oddities:
        raise WrongReadingError(f"two variables of one name were accepted: {series.variables}")
    if series.times is None and (table.unnamed_numbers or any("not times" in note for note in series.repairs)):
        return "accepted"  # row numbers, or row names that a note calls no times
    if table.two_ways and any("read in two ways" in note for note in series.repairs):
        return "accepted"
    if table.header:
        found, wanted = list(series.variables), list(table.truth.names)
        if "long" in table.oddities:  # in order of appearance
            found, wanted = sorted(map(plain_name, found)), sorted(map(plain_name, wanted))
        check_names(found, wanted)
    elif len(series.variables) != len(table.truth.names):
        raise WrongReadingError(f"there are {len(series.variables)} variables, expected {len(table.truth.names)}")
    else:
        table.names = [series.variables[table.truth.names.index(name)] for name in table.names]
    check_values(series, table.cells(grid), table.convention)
    return "checked"


def _damaged_case(folder: Path, random: Random, table: TextTable) -> str:
    """Damage a file; where only readings were hit, what is read must be what they now say."""
    raw = damaged(random, table.encoded())
    path = folder / "readings.csv"
    if random.random() < 0.05:
        raw = damaged(random, gzip.compress(table.encoded()))
        path = folder / "readings.csv.gz"
    path.write_bytes(raw)
    series = read(path, table.options)
    if series is None:
        return "refused"
    grid = _grid_after(raw, table) if path.suffix == ".csv" else None
    return "accepted" if grid is None else _compare(series, table, grid)


def _grid_after(raw: bytes, table: TextTable) -> list[list[str]] | None:
    """Return the fields of a damaged file, or None when more than its readings was hit."""
    try:
        text = raw.decode(table.encoding)
    except UnicodeDecodeError:
        return None
    if not text.startswith(table.before) or "\0" in text:
        return None
    grid = split_fields(text.removeprefix(table.before), table.separator)
    readings = {(place.line, place.column) for place in table.places}
    same_shape = [len(line) for line in grid] == [len(line) for line in table.grid]
    if not same_shape:
        return None
    intact = all(
        (line, column) in readings or entry == table.grid[line][column]
        for line, entries in enumerate(grid)
        for column, entry in enumerate(entries)
    )
    return grid if intact else None


def _garbage_case(folder: Path, random: Random) -> str:
    path = folder / f"readings{random.choice(ENDINGS)}"
    path.write_bytes(garbage(random))
    return "refused" if read(path, {}) is None else "accepted"
