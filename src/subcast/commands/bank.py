"""`subcast bank write`: write readings to a folder of shards, which `ShardedBank` searches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape

from subcast.commands.datasets import check_preset, open_series
from subcast.data_protocol import get_protocol
from subcast.errors import DataError, InputError
from subcast.names import plural
from subcast.retrieval import ShardedBank, ShardWriter
from subcast.retrieval.sharding.writer import usual_steps
from subcast.tables.files import kind_of
from subcast.windows import Windows, training_steps

PARTS = ("train", "all")
_ROWS_AT_ONCE = 1 << 14


def run_bank_write(
    data: str,
    folder: str,
    *,
    lookback: int = 12,
    horizon: int = 12,
    steps: int | None = None,
    part: str = "train",
    preset: str = "default",
    stream: bool = False,
    append: bool = False,
    table: Mapping[str, str | None] | None = None,
) -> ShardedBank:
    """Write readings to a folder of shards.

    Parameters
    ----------
    data
        name of a dataset, or a file of readings
    folder
        a path, or an address that fsspec can write
    lookback, horizon
        steps in a window, and after it
    steps
        steps of a shard; by default as many as fit into 64 MB
    part
        "train" for the training part, which `subcast fit --bank` needs; "all" for all steps; with `append` all
    preset
        how the data are split, "default" or "paper"
    stream
        read the file in pieces, for one that does not fit into memory: a clean .parquet or .csv with a column for each
        variable
    append
        add the steps to the bank in the folder
    table
        how the file is read, as in `open_series`
    """
    if part not in PARTS:
        raise InputError(f"--part must be one of {', '.join(PARTS)}, got {part!r}")
    check_preset(preset)
    options = dict(table or {})
    if stream:
        whole = append or part == "all"
        _write_stream(data, folder, lookback, horizon, steps, append, options, None if whole else preset)
    else:
        series = open_series(data, **options)
        if append:
            _add(ShardWriter.append_to(folder), folder, series.variables, [series.values])
        elif part == "train":
            write_windows(series.split(lookback, horizon, protocol=preset).train, folder, steps)
        else:
            write_windows(Windows(series, lookback, horizon), folder, steps)
    return ShardedBank(folder)


def write_windows(windows: Windows, folder: str | Path, steps: int | None = None) -> None:
    """Write the series of windows to a folder of shards, with the windows as candidates."""
    series, targets = windows.series, windows.target_values
    same = targets is series.values or np.array_equal(targets, series.values, equal_nan=True)
    every = range(len(series) - windows.lookback - windows.horizon + 1)
    starts = None if windows.starts == every else np.sort(np.asarray(windows.starts))
    writer = ShardWriter(folder, windows.lookback, windows.horizon, names=series.variables, steps=steps, starts=starts)
    at_once = steps or usual_steps(series.n_variables)
    with writer:
        for first in range(0, len(series), at_once):
            chunk = slice(first, first + at_once)
            writer.add(series.values[chunk], targets=None if same else targets[chunk])


def show_bank(bank: ShardedBank) -> None:
    """Print what a bank is."""
    console = Console(highlight=False, soft_wrap=True)
    console.print(escape(repr(bank)))
    console.print(f"  {plural(bank.n_steps, 'step')}, {plural(bank.horizon, 'step')} after each window")
    console.print(f"written to {escape(bank.folder)}")


def bank_record(bank: ShardedBank) -> dict[str, Any]:
    """Return what a bank is as plain values."""
    return {
        "folder": bank.folder,
        "windows": len(bank),
        "lookback": bank.lookback,
        "horizon": bank.horizon,
        "variables": bank.names,
        "steps": bank.n_steps,
        "shards": bank.shards,
        "fingerprint": bank.fingerprint(),
    }


# Files that are read in pieces


def _write_stream(
    data: str,
    folder: str,
    lookback: int,
    horizon: int,
    steps: int | None,
    append: bool,
    options: dict[str, str | None],
    preset: str | None,
) -> None:
    """Write a file in pieces: the training part under a preset, or all of it (None)."""
    unused = [f"--{name}" for name, given in options.items() if given is not None and name != "time"]
    if unused:
        raise InputError(
            f"{unused[0]} cannot be used with --stream: write the file without --stream, or clean it first"
        )
    if preset is not None and get_protocol(preset).zeros_missing_in_targets:
        raise InputError(f"--preset {preset} cannot be used with --stream: write the file without --stream")
    names, chunks = open_stream(Path(data), options.get("time"))
    if preset is not None:
        chunks = _first_steps(chunks, training_steps(count_rows(Path(data)), lookback, horizon, preset))
    writer = (
        ShardWriter.append_to(folder) if append else ShardWriter(folder, lookback, horizon, names=names, steps=steps)
    )
    _add(writer, folder, names, chunks)


def _add(writer: ShardWriter, folder: str, names: tuple[str, ...], chunks: Any) -> None:
    if writer.names is not None and writer.names != tuple(names):
        missing = sorted(set(writer.names) - set(names))
        difference = f"{missing[0]!r} is missing" if missing else "their number or order differs"
        raise InputError(f"the readings must have the variables of the bank in {folder}, and {difference}")
    with writer:
        for chunk in chunks:
            writer.add(chunk)


def open_stream(path: Path, time: str | None = None) -> tuple[tuple[str, ...], Iterator[NDArray[np.float32]]]:
    """Return the names of the variables of a clean table, and its readings in pieces [t, n].

    Parameters
    ----------
    path
        a .parquet or .csv file with a column for each variable and one of times, in order and at one rate
    time
        the column of times; by default the first column if it holds times
    """
    import pyarrow as pa

    if not path.is_file():
        raise DataError(f"there is no file {str(path)!r}: check the path")
    batches = _batches(path)
    try:
        first = next(batches, None)
    except pa.ArrowInvalid as error:
        raise DataError(f"{path.name} cannot be read in pieces: {' '.join(str(error).split())[:150]}") from None
    if first is None or not first.num_rows:
        raise DataError(f"{path.name} is empty: there is nothing to read")
    times = time or (first.schema.names[0] if pa.types.is_temporal(first.schema.field(0).type) else None)
    if time is not None and time not in first.schema.names:
        raise InputError(
            f"--time is {time!r}, and {path.name} has the columns {', '.join(first.schema.names[:5])}, ..."
        )
    names = tuple(name for name in first.schema.names if name != times)
    for name in names:
        kind = first.schema.field(name).type
        if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
            raise DataError(
                f"column {name!r} of {path.name} holds {kind}, not numbers: write it without --stream, or clean it"
            )
    return names, _chunks(path, first, batches, names, times)


def count_rows(path: Path) -> int:
    """Return the number of rows of a .parquet file, or of a .csv file by reading its first column."""
    if kind_of(path) == "parquet":
        import pyarrow.parquet as pq

        return int(pq.read_metadata(path).num_rows)
    import pyarrow.csv as pc

    with pc.open_csv(path) as reader:
        first = reader.schema.names[0]
    only = pc.ConvertOptions(include_columns=[first], column_types={first: "string"})
    with pc.open_csv(path, convert_options=only) as reader:
        return sum(batch.num_rows for batch in reader)


def _first_steps(chunks: Iterator[NDArray[np.float32]], count: int) -> Iterator[NDArray[np.float32]]:
    """Yield the first `count` steps of chunks [t, n], and read no further."""
    for chunk in chunks:
        yield chunk[:count]
        count -= len(chunk)
        if count <= 0:
            return


def _batches(path: Path) -> Iterator[Any]:
    kind = kind_of(path)
    if kind == "parquet":
        import pyarrow.parquet as pq

        with pq.ParquetFile(path) as file:
            yield from file.iter_batches(batch_size=_ROWS_AT_ONCE)
    elif kind == "text" and path.suffix.lower() == ".csv":
        import pyarrow.csv as pc

        with pc.open_csv(path) as reader:
            yield from reader
    else:
        raise DataError(f"--stream reads .parquet and .csv, got {path.name}: write it without --stream")


def _chunks(
    path: Path, first: Any, batches: Iterator[Any], names: tuple[str, ...], times: str | None
) -> Iterator[NDArray[np.float32]]:
    """Yield readings; raise where the times are not at one rate."""
    last: np.datetime64 | None = None
    rate: np.timedelta64 | None = None
    batch, row = first, 0
    while batch is not None:
        if times is not None and batch.num_rows:
            column = batch.column(batch.schema.get_field_index(times))
            moments = column.to_numpy(zero_copy_only=False).astype("datetime64[ns]")
            known = moments if last is None else np.concatenate([[last], moments])
            gaps = np.diff(known)
            rate = gaps[0] if rate is None and gaps.size else rate
            if rate is not None and (gaps != rate).any():
                wrong = row + int(np.flatnonzero(gaps != rate)[0]) + (1 if last is None else 0)
                raise DataError(
                    f"the times of {path.name} do not go on at one rate in row {wrong + 1}: write it without "
                    "--stream, which repairs gaps, or clean it first"
                )
            last = moments[-1]
        columns = [_numbers(batch.column(batch.schema.get_field_index(name))) for name in names]
        yield np.stack(columns, axis=1)
        row += batch.num_rows
        batch = next(batches, None)


def _numbers(column: Any) -> NDArray[np.float32]:
    import pyarrow as pa

    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan, dtype=np.float32)
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float32)
