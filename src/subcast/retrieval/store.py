"""Folders of arrays with a page of facts: written whole or not at all, opened by memory map, refused when torn."""

from __future__ import annotations

import json
import os
import shutil
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.errors import DataError, DataNotFoundError, InputError

_FORMAT = 1
_END = 1 << 16


def save_arrays(folder: Path, kind: str, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Write `facts` and `arrays` to `folder` under another name, then rename it into place."""
    if folder.exists() and not (folder / f"{kind}.json").is_file():
        if not folder.is_dir() or any(folder.iterdir()):
            raise InputError(f"folder {folder} exists and holds no {kind}: name another, or empty it first")
        folder.rmdir()
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = folder.with_name(f".{folder.name}.{os.getpid()}.{os.urandom(4).hex()}")
    fresh.mkdir()
    try:
        files = {}
        for name, array in arrays.items():
            path = fresh / f"{name}.npy"
            np.save(path, array, allow_pickle=False)
            files[name] = {"shape": list(array.shape), "dtype": str(array.dtype), **_marks(path)}
        page = {"kind": kind, "format": _FORMAT, "facts": facts, "files": files}
        text = json.dumps(page)
        (fresh / f"{kind}.json").write_text(json.dumps({"checksum": zlib.crc32(text.encode()), "page": text}))
        _put_in_place(fresh, folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _put_in_place(fresh: Path, folder: Path) -> None:
    if not folder.exists():
        os.replace(fresh, folder)
        return
    old = fresh.with_name(fresh.name + ".old")
    os.replace(folder, old)
    os.replace(fresh, folder)
    shutil.rmtree(old, ignore_errors=True)


def _marks(path: Path) -> dict[str, int]:
    whole = 0
    with path.open("rb") as file:
        while piece := file.read(1 << 24):
            whole = zlib.crc32(piece, whole)
    return {"bytes": path.stat().st_size, "ends": _ends(path), "whole": whole}


def _ends(path: Path) -> int:
    with path.open("rb") as file:
        start = file.read(_END)
        file.seek(max(0, path.stat().st_size - _END))
        return zlib.crc32(file.read(_END), zlib.crc32(start))


def open_arrays(folder: Path, kind: str, verify: bool) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the facts and the memory-mapped arrays of `folder`, or say in a sentence why it cannot be read."""
    path = folder / f"{kind}.json"
    if not path.is_file():
        raise DataNotFoundError(f"folder {folder} holds no {kind} ({path.name} is not there)")
    again = f"save the {kind} again"
    try:
        sealed = json.loads(path.read_text())
        text = sealed["page"]
        if zlib.crc32(text.encode()) != sealed["checksum"]:
            raise ValueError
        page = json.loads(text)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DataError(f"{path} is torn or was changed by hand: {again}") from None
    if page["kind"] != kind or page["format"] != _FORMAT:
        raise DataError(
            f"{path} is a {page['kind']} of format {page['format']}, this version reads a {kind} of format {_FORMAT}: "
            f"{again} with this version"
        )
    arrays = {name: _open_array(folder, name, marks, verify, again) for name, marks in page["files"].items()}
    return page["facts"], arrays


def _open_array(folder: Path, name: str, marks: dict[str, Any], verify: bool, again: str) -> NDArray[Any]:
    path = folder / f"{name}.npy"
    if not path.is_file():
        raise DataError(f"{path} is missing: {again}")
    if path.stat().st_size != marks["bytes"]:
        raise DataError(
            f"{path} has {path.stat().st_size} bytes instead of {marks['bytes']}, it was cut short or added to: {again}"
        )
    if _ends(path) != marks["ends"] or (verify and _marks(path)["whole"] != marks["whole"]):
        raise DataError(f"{path} does not have the content that was saved (its checksum differs): {again}")
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError:
        raise DataError(f"{path} is not a readable array: {again}") from None
    if list(array.shape) != marks["shape"] or str(array.dtype) != marks["dtype"]:
        raise DataError(f"{path} holds {array.dtype} {array.shape}, not what was saved: {again}")
    return np.asarray(array)
