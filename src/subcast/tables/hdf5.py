"""Read a frame that pandas wrote to HDF5, with h5py only.

The fixed format (the default of `DataFrame.to_hdf`, and the format of metr-la.h5) has a group with the columns in
`axis0`, the index in `axis1`, and blocks of columns of one type in `block<i>_items` and `block<i>_values`. The table
format has the rows in one compound dataset. Its column names can be read only when every column was written as a data
column: otherwise they are pickled, and nothing is ever unpickled here.
"""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from subcast.errors import DataError
from subcast.names import listed

_SAVE_AGAIN = "save it again with DataFrame.to_parquet"


def read_hdf5_frame(path: Path, key: str | None = None) -> pd.DataFrame:
    """Read the frame `key` of an HDF5 file, or its only one."""
    import h5py

    try:
        with h5py.File(path, "r") as file:
            return _read_group(_frame_group(file, key, path), path)
    except DataError:
        raise
    except (ValueError, TypeError):
        raise DataError(f"{path.name} holds a frame that is empty or has an unknown layout: {_SAVE_AGAIN}") from None
    except (OSError, RuntimeError, KeyError) as error:
        reason = str(error).split("(")[-1].strip(")\"' ") or "unreadable"
        raise DataError(f"{path.name} is cut short or not an HDF5 file ({reason}): fetch it again") from None


def _frame_group(file: Any, key: str | None, path: Path) -> Any:
    frames: list[str] = []

    def visit(name: str, item: Any) -> None:
        if "pandas_type" in item.attrs and not any(name.startswith(f"{outer}/") for outer in frames):
            frames.append(name)

    file.visititems(visit)
    name = key.strip("/") if key is not None else None
    if name is not None and name not in frames:
        raise DataError(f"key={key!r} names no frame of {path.name} (it holds {listed(frames, 8) or 'none'})")
    if name is None and len(frames) != 1:
        contents = (
            f"{len(frames)} frames ({listed(frames, 8)}): name one with key="
            if frames
            else f"no frame of pandas: {_SAVE_AGAIN}"
        )
        raise DataError(f"{path.name} holds {contents}")
    return file[name or frames[0]]


def _read_group(group: Any, path: Path) -> pd.DataFrame:
    kind = _text(group.attrs["pandas_type"])
    if kind == "frame":
        return _read_fixed(group, path)
    if kind in ("frame_table", "appendable_frame"):
        return _read_table_format(group, path)
    raise DataError(f"{path.name} holds a pandas {kind!r}, not a frame: {_SAVE_AGAIN}")


def _read_fixed(group: Any, path: Path) -> pd.DataFrame:
    if "axis0" not in group and "axis0_level0" in group:
        raise DataError(f"{path.name} has columns of several levels: join their names and {_SAVE_AGAIN}")
    columns = _read_axis(group["axis0"], path)
    frame = pd.DataFrame(index=_read_axis(group["axis1"], path))
    blocks: dict[object, NDArray[Any]] = {}
    for number in range(int(group.attrs["nblocks"])):
        items = _read_axis(group[f"block{number}_items"], path)
        values = _plain(group[f"block{number}_values"], path)  # [t, items]
        if values.shape[0] != len(frame.index) and values.shape[1] == len(frame.index):
            values = values.T
        if number == 0 and int(group.attrs["nblocks"]) == 1:
            return pd.DataFrame(values, index=frame.index, columns=items).reindex(columns=columns)
        blocks.update(zip(items, values.T, strict=True))
    return pd.DataFrame({name: blocks[name] for name in columns}, index=frame.index)


def _read_axis(dataset: Any, path: Path) -> pd.Index[Any]:
    values = _plain(dataset, path)
    if values.dtype.kind == "S":
        return pd.Index([entry.decode("utf-8") for entry in values.tolist()])
    index = _typed_index(values, _text(dataset.attrs.get("kind", "")))
    if "tz" in dataset.attrs and isinstance(index, pd.DatetimeIndex):
        return index.tz_localize("UTC").tz_convert(_zone(_text(dataset.attrs["tz"])))
    return index


def _zone(name: str) -> str:
    """Return the name of a zone, or UTC when pandas does not know the zone."""
    try:
        pd.Timestamp(0, tz=name)
    except (KeyError, ValueError, TypeError, OSError):
        return "UTC"
    return name


def _typed_index(values: NDArray[Any], kind: str) -> pd.Index[Any]:
    if kind.startswith("datetime64"):
        unit = kind.partition("[")[2].rstrip("]") or "ns"
        return pd.DatetimeIndex(values.astype(np.int64).view(f"datetime64[{unit}]"))
    if kind == "date":
        return pd.DatetimeIndex([datetime.date.fromordinal(day) for day in values.tolist()])
    return pd.Index(values)


def _plain(dataset: Any, path: Path) -> NDArray[Any]:
    """Return the numbers or text of a dataset, or refuse one of pickled objects."""
    if _text(dataset.attrs.get("PSEUDOATOM", "")) == "object" or dataset.dtype.kind == "O":
        raise DataError(f"{path.name} holds pickled objects, which are never loaded: {_SAVE_AGAIN}")
    values: NDArray[Any] = dataset[()]
    return values


def _read_table_format(group: Any, path: Path) -> pd.DataFrame:
    dataset = group["table"]
    fields = list(dataset.dtype.names)
    if any(field.startswith("values_block_") for field in fields):
        raise DataError(f"{path.name} is in pandas' table format, whose column names are pickled: {_SAVE_AGAIN}")
    rows = dataset[()]
    frame = pd.DataFrame(
        {
            field: [_text(entry) for entry in rows[field].tolist()] if rows[field].dtype.kind == "S" else rows[field]
            for field in fields
            if field != "index"
        }
    )
    if "index" in fields:
        frame.index = _typed_index(rows["index"], _text(dataset.attrs.get("index_kind", "")))
    return frame


def _text(value: object) -> str:
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)
