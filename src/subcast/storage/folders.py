"""Folders of arrays with a page of facts: replaced in one step, opened by memory map, refused when torn."""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from subcast.errors import DataError, DataNotFoundError, InputError

_FORMAT = 2
_END = 1 << 16
# How often an opening begins anew because a saver replaced the page meanwhile.
_TRIES = 20


def save_arrays(
    folder: Path, kind: str, facts: dict[str, Any], arrays: dict[str, NDArray[Any]], beside: str = ""
) -> None:
    """Write `arrays` into `folder` under names never used before, then replace the page that names them.

    Whoever opens the folder finds either all the old arrays or all the new ones. Nothing else in the folder is
    touched; the arrays that the old page named are removed last (who has them mapped keeps them). `beside` is a
    pattern of other names that may be in the folder before its first page is.
    """
    page = folder / f"{kind}.json"
    check_folder(folder, kind, beside)
    fresh = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    token = os.urandom(8).hex()
    written = {name: folder / f"{kind}-{name}-{token}.npy" for name in arrays}
    sealed = folder / f"{kind}-page-{token}.json"
    outdated = {*written.values(), sealed}
    with _one_saver(folder) as handle:
        try:
            files = {}
            for name, array in arrays.items():
                with written[name].open("xb") as file:
                    np.save(file, array, allow_pickle=False)
                    _flush(file)
                described = {"file": written[name].name, "shape": list(array.shape), "dtype": str(array.dtype)}
                files[name] = {**described, **_marks(written[name])}
            text = json.dumps({"kind": kind, "format": _FORMAT, "facts": facts, "files": files})
            with sealed.open("xb") as file:
                file.write(json.dumps({"checksum": zlib.crc32(text.encode()), "page": text}).encode())
                _flush(file)
            old = _listed(page)
            if handle is not None:  # what a saver that was killed left behind
                old |= {path for path in folder.iterdir() if _is_own(path, kind)}
            os.replace(sealed, page)
            outdated = old - {*written.values(), page}
            if handle is not None:
                with suppress(OSError):
                    os.fsync(handle)
        finally:
            for path in outdated:
                with suppress(OSError):
                    path.unlink()
            if fresh:  # goes only if nothing was written
                with suppress(OSError):
                    folder.rmdir()


def check_folder(folder: Path, kind: str, beside: str = "") -> None:
    """Raise unless the folder is new, empty or already this kind's (a first save may have been cut off)."""
    if not folder.exists() or (folder / f"{kind}.json").is_file():
        return
    if not folder.is_dir() or not all(
        _is_own(path, kind) or re.fullmatch(beside, path.name) for path in folder.iterdir()
    ):
        raise InputError(f"folder {folder} exists and holds no {kind}: name another, or empty it first")


def _is_own(path: Path, kind: str) -> bool:
    return re.fullmatch(rf"{kind}-\w+-[0-9a-f]{{16}}\.(npy|json)", path.name) is not None


@contextmanager
def _one_saver(folder: Path) -> Iterator[int | None]:
    """Keep other savers waiting and give the folder's handle; None on a system that cannot lock a folder."""
    with ExitStack() as held:
        handle = None
        with suppress(ImportError, OSError):
            import fcntl

            opened = os.open(folder, os.O_RDONLY)
            held.callback(os.close, opened)
            fcntl.flock(opened, fcntl.LOCK_EX)
            handle = opened
        yield handle


def _flush(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _listed(path: Path) -> set[Path]:
    """Return the files that a page names; none if it cannot be read."""
    try:
        files = json.loads(json.loads(path.read_text())["page"])["files"]
        names = [marks.get("file", f"{name}.npy") for name, marks in files.items()]
        return {path.with_name(name) for name in names}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return set()


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
    again = f"save the {kind} again"
    sealed = _read_page(path, folder, kind)
    for _ in range(_TRIES):
        page = _unsealed(sealed, path, kind, again)
        try:
            return page["facts"], {
                name: _open_array(folder / marks["file"], marks, verify, again) for name, marks in page["files"].items()
            }
        except DataError:
            before, sealed = sealed, _read_page(path, folder, kind)
            if sealed == before:
                raise
    raise DataError(
        f"the {kind} in {folder} was replaced {_TRIES} times while it was being opened: open it again later"
    )


def _read_page(path: Path, folder: Path, kind: str) -> bytes:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise DataNotFoundError(f"folder {folder} holds no {kind} ({path.name} is not there)") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror})") from None


def _unsealed(sealed: bytes, path: Path, kind: str, again: str) -> dict[str, Any]:
    try:
        outside = json.loads(sealed)
        text = outside["page"]
        if zlib.crc32(text.encode()) != outside["checksum"]:
            raise ValueError
        page: dict[str, Any] = json.loads(text)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DataError(f"{path} is torn or was changed by hand: {again}") from None
    if page["kind"] != kind or page["format"] != _FORMAT:
        raise DataError(
            f"{path} is a {page['kind']} of format {page['format']}, this version reads a {kind} of format {_FORMAT}: "
            f"{again} with this version"
        )
    return page


def _open_array(path: Path, marks: dict[str, Any], verify: bool, again: str) -> NDArray[Any]:
    try:
        size = path.stat().st_size
        if size != marks["bytes"]:
            raise DataError(
                f"{path} has {size} bytes instead of {marks['bytes']}, it was cut short or added to: {again}"
            )
        if _ends(path) != marks["ends"] or (verify and _marks(path)["whole"] != marks["whole"]):
            raise DataError(f"{path} does not have the content that was saved (its checksum differs): {again}")
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise DataError(f"{path} is missing: {again}") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): {again}") from None
    except DataError:
        raise
    except ValueError:
        raise DataError(f"{path} is not a readable array: {again}") from None
    if list(array.shape) != marks["shape"] or str(array.dtype) != marks["dtype"]:
        raise DataError(f"{path} holds {array.dtype} {array.shape}, not what was saved: {again}")
    return np.asarray(array)
