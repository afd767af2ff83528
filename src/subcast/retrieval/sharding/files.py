"""One shard as a Parquet file: a column for each variable, and a checksum for each column."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.errors import DataError, DataNotFoundError, SubcastError
from subcast.retrieval.layout import Layout
from subcast.retrieval.sharding.manifest import ShardFile
from subcast.retrieval.sharding.places import Place
from subcast.storage.files import whole_file

ROW_GROUP = 1 << 15  # steps that are read together when only a few windows of a shard are needed
_CHECKSUMS = b"subcast.checksums"


def column_names(layout: Layout, names: Sequence[str] | None, has_targets: bool) -> list[str]:
    """Return the names of the columns: the variables, further features, shared features, targets.

    A dot would mean a nested column to Parquet, so it is written as %2E.

    >>> column_names(Layout(2, (False, True)), ["a", "b.c"], True)
    ['a', 'b%2Ec', '#shared 1', '#target a', '#target b%2Ec']
    """
    own = [str(i) for i in range(layout.n)] if names is None else [re.sub(r"[%.]", _escaped, name) for name in names]
    columns = [name if name and not name.startswith("#") else f"#variable {i} {name}" for i, name in enumerate(own)]
    for feature in layout.own_features[1:]:
        columns += [f"#feature {feature} {name}" for name in own]
    columns += [f"#shared {feature}" for feature in layout.shared_features]
    return columns + ([f"#target {name}" for name in own] if has_targets else [])


def _escaped(match: re.Match[str]) -> str:
    return f"%{ord(match.group()):02X}"


def write_shard(place: Place, number: int, columns: Sequence[str], rows: NDArray[np.float32], first: int) -> ShardFile:
    """Write rows [columns, t] as a file, completely or not at all; return what the manifest says about it.

    The name of the file contains its checksum, so that a bank that is replaced stays readable until its manifest is.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = np.ascontiguousarray(rows, dtype=np.float32)
    checksums = np.array([zlib.crc32(row) for row in rows], dtype="<u4").tobytes()
    name = f"shard-{number:06d}-{zlib.crc32(checksums):08x}.parquet"
    schema = pa.schema([(column, pa.float32()) for column in columns], metadata={_CHECKSUMS: checksums})
    table = pa.Table.from_arrays([pa.array(row) for row in rows], schema=schema)
    options: dict[str, Any] = {
        "row_group_size": ROW_GROUP,
        "compression": "none",
        "use_dictionary": False,
        "write_statistics": False,
        "write_page_checksum": True,
    }
    if place.is_local:
        place.make()
        with whole_file(place.file(name)) as temporary:
            pq.write_table(table, temporary, **options)
            size = temporary.stat().st_size
    else:
        buffer = BytesIO()
        pq.write_table(table, buffer, **options)
        size = buffer.tell()
        place.write(name, buffer.getvalue())
    return ShardFile(name, first, rows.shape[1], zlib.crc32(checksums), size)


class OpenShard:
    """An open file of the bank, from which single columns are read; use it in a `with` statement.

    Parameters
    ----------
    place, file
        the folder, and what the manifest says about the file
    """

    def __init__(self, place: Place, file: ShardFile) -> None:
        self.place = place
        self.file = file
        self.bytes_read = 0
        self._checksums = np.zeros(0, dtype="<u4")

    def __enter__(self) -> OpenShard:
        import pyarrow.parquet as pq

        with self._readable():
            self._parquet = pq.ParquetFile(
                self.place.opened(self.file.name), pre_buffer=False, page_checksum_verification=True
            )
            metadata = self._parquet.metadata
            checksums = (metadata.metadata or {}).get(_CHECKSUMS, b"")
            if zlib.crc32(checksums) != self.file.checksum or metadata.num_rows != self.file.steps:
                self._parquet.close()
                raise self._damaged("its checksum is not that of the manifest")
            self._checksums = np.frombuffer(checksums, dtype="<u4")
            self.bytes_read += metadata.serialized_size
        return self

    def __exit__(self, *_: object) -> None:
        self._parquet.close()

    def column(self, number: int) -> NDArray[np.float32]:
        """Return a whole column, [t]; raise a DataError unless it has the checksum that it was written with."""
        values = np.empty(self.file.steps, dtype=np.float32)
        with self._readable():
            self._read(values[:, None], [number], range(self._parquet.num_row_groups))
        if zlib.crc32(values.data) != int(self._checksums[number]):
            raise self._damaged(f"column {number} does not have its checksum")
        return values

    def stretch(self, numbers: Sequence[int], first: int, last: int) -> NDArray[np.float32]:
        """Return the steps `first` to `last` - 1 of some columns, [t, columns], reading only the pages around them."""
        groups = range(first // ROW_GROUP, min(-(-last // ROW_GROUP), self._parquet.num_row_groups))
        begin = groups.start * ROW_GROUP
        values = np.empty((min(groups.stop * ROW_GROUP, self.file.steps) - begin, len(numbers)), dtype=np.float32)
        with self._readable():
            self._read(values, numbers, groups)
        return values[first - begin : last - begin]

    def _read(self, values: NDArray[np.float32], numbers: Sequence[int], groups: range) -> None:
        """Read columns of row groups into values [t, columns]."""
        metadata = self._parquet.metadata
        names = [metadata.schema.column(number).name for number in numbers]
        table = self._parquet.read_row_groups(list(groups), columns=names, use_threads=False)
        for place, name in enumerate(names):
            position = 0
            for chunk in table.column(name).chunks:
                piece = chunk.to_numpy(zero_copy_only=False)
                values[position : position + len(piece), place] = piece
                position += len(piece)
        for group in groups:
            row_group = metadata.row_group(group)
            self.bytes_read += sum(row_group.column(number).total_compressed_size for number in numbers)

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Turn what goes wrong while the file is read into an error that names it."""
        import pyarrow as pa

        try:
            yield
        except SubcastError:
            raise
        except (FileNotFoundError, NotADirectoryError):
            raise DataNotFoundError(
                f"the shard {self.file.name} of {self.place.address} is missing: copy it back, or write the bank again"
            ) from None
        except (OSError, pa.ArrowException, ValueError, IndexError, KeyError) as error:
            raise self._damaged(" ".join(str(error).split())[:120] or type(error).__name__) from error

    def _damaged(self, problem: str) -> DataError:
        return DataError(
            f"the shard {self.file.name} of {self.place.address} is damaged or torn ({problem}): "
            "copy it again, or write the bank again"
        )
