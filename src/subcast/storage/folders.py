"""Folders of arrays and files described by one JSON page: replaced atomically, memory-mapped, checked by checksums.

The page lists every file with its size and checksums. A save writes new files under new names and then replaces the
page, so a reader finds either the old state or the new one.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePath
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from subcast.errors import DataError, DataNotFoundError, InputError
from subcast.storage.state import State

FORMAT = 1
_END = 1 << 16
# How many times `open_state` starts again because another process replaced the page.
_TRIES = 20


def save_state(folder: str | os.PathLike[str], kind: str, state: State, *, beside: str = "") -> None:
    """Write a state to a folder, completely or not at all; an existing state of that kind is replaced in one step.

    Parameters
    ----------
    folder
        where to write; created if it does not exist
    kind
        kind of object ("bank", "wrapper", ...): the page is called KIND.json
    state
        what to write
    beside
        pattern of the names of other files that the folder may hold before its first save; by default a folder with
        other files and no page is refused
    """
    folder = Path(folder)
    page = folder / f"{kind}.json"
    check_folder(folder, kind, beside)
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    token = os.urandom(8).hex()
    written: list[Path] = []
    sealed = folder / f"{kind}-page-{token}.json"
    outdated: set[Path] = {sealed}
    with _one_saver(folder) as handle:
        try:
            text = json.dumps(
                {
                    "kind": kind,
                    "facts": state.facts,
                    "arrays": _write_arrays(folder, kind, token, state.arrays, written),
                    "blobs": _write_blobs(folder, kind, token, state.blobs, written),
                }
            )
            _write_new(sealed, _sealed(text))
            old = _files_named_by(page)
            if handle is not None:  # files left by a process that was killed while saving
                old |= {path for path in folder.iterdir() if _is_saved_file(path, kind)}
            os.replace(sealed, page)
            outdated = old - {*written, page}
            written = []
            if handle is not None:
                with suppress(OSError):
                    os.fsync(handle)
        finally:
            _remove({*outdated, *written})
            if is_new:  # succeeds only if nothing was written
                with suppress(OSError):
                    folder.rmdir()


def _write_arrays(
    folder: Path, kind: str, token: str, arrays: Mapping[str, NDArray[Any]], written: list[Path]
) -> dict[str, Any]:
    described = {}
    for name, array in arrays.items():
        path = folder / f"{kind}-{name}-{token}.npy"
        written.append(path)
        with path.open("xb") as file:
            np.save(file, array, allow_pickle=False)
            _flush(file)
        shape = {"file": path.name, "shape": list(array.shape), "dtype": str(array.dtype)}
        described[name] = {**shape, **_marks(path)}
    return described


def _write_blobs(
    folder: Path, kind: str, token: str, blobs: Mapping[str, bytes], written: list[Path]
) -> dict[str, Any]:
    described = {}
    for name, blob in blobs.items():
        suffix = PurePath(name).suffix
        path = folder / f"{kind}-{name.removesuffix(suffix)}-{token}{suffix}"
        written.append(path)
        _write_new(path, blob)
        described[name] = {"file": path.name, **_marks(path)}
    return described


def _sealed(text: str) -> bytes:
    """Return the page with its format, which is read first, and its checksum."""
    return json.dumps({"format": FORMAT, "checksum": zlib.crc32(text.encode()), "page": text}).encode()


def _write_new(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        _flush(file)


def _flush(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _remove(paths: set[Path]) -> None:
    for path in paths:
        with suppress(OSError):
            path.unlink()


def check_folder(folder: Path, kind: str, beside: str = "") -> None:
    """Raise unless the folder is new, empty or of this kind (also after an interrupted first save)."""
    if not folder.exists() or (folder / f"{kind}.json").is_file():
        return
    if not folder.is_dir() or not all(
        _is_saved_file(path, kind) or re.fullmatch(beside, path.name) for path in folder.iterdir()
    ):
        raise InputError(f"folder {folder} exists and holds no {kind}: give another folder, or empty it first")


def is_saved(folder: str | os.PathLike[str], kind: str) -> bool:
    """Return whether a folder holds a page of this kind."""
    return (Path(folder) / f"{kind}.json").is_file()


def _is_saved_file(path: Path, kind: str) -> bool:
    return re.fullmatch(rf"{kind}-[\w.]+-[0-9a-f]{{16}}\.\w+", path.name) is not None


@contextmanager
def _one_saver(folder: Path) -> Iterator[int | None]:
    """Lock the folder against other saves and yield its handle; None on a system that cannot lock a folder."""
    with ExitStack() as stack:
        handle = None
        with suppress(ImportError, OSError):
            import fcntl

            opened = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, opened)
            fcntl.flock(opened, fcntl.LOCK_EX)
            handle = opened
        yield handle


def _files_named_by(path: Path) -> set[Path]:
    """Return the files that a page lists; none if it cannot be read."""
    try:
        page = json.loads(json.loads(path.read_text())["page"])
        return {path.with_name(marks["file"]) for group in ("arrays", "blobs") for marks in page[group].values()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return set()


def _marks(path: Path) -> dict[str, int]:
    checksum = 0
    with path.open("rb") as file:
        while piece := file.read(1 << 24):
            checksum = zlib.crc32(piece, checksum)
    return {"bytes": path.stat().st_size, "ends": _checksum_of_ends(path), "whole": checksum}


def _checksum_of_ends(path: Path) -> int:
    with path.open("rb") as file:
        start = file.read(_END)
        file.seek(max(0, path.stat().st_size - _END))
        return zlib.crc32(file.read(_END), zlib.crc32(start))


def open_state(folder: str | os.PathLike[str], kind: str, *, verify: bool = False) -> State:
    """Return the state in a folder with memory-mapped arrays; raise if it cannot be read.

    Parameters
    ----------
    folder, kind
        as given to `save_state`
    verify
        whether to compare checksums of whole files; by default only the size and both ends of each file
    """
    folder = Path(folder)
    path = folder / f"{kind}.json"
    sealed = _read_page(path, folder, kind)
    for _ in range(_TRIES):
        page = _unsealed(sealed, path, kind)
        advice = f"save the {kind} again"
        try:
            arrays = {
                name: _open_array(folder / marks["file"], marks, verify, advice)
                for name, marks in page["arrays"].items()
            }
            blobs = {name: _read_blob(folder / marks["file"], marks, advice) for name, marks in page["blobs"].items()}
            return State(page["facts"], arrays, blobs)
        except DataError:
            previous, sealed = sealed, _read_page(path, folder, kind)
            if sealed == previous:
                raise
    raise DataError(
        f"the {kind} in {folder} was replaced {_TRIES} times while it was being opened: open it advice later"
    )


def _read_page(path: Path, folder: Path, kind: str) -> bytes:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise DataNotFoundError(f"folder {folder} holds no {kind} ({path.name} is missing)") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror})") from None


def _unsealed(sealed: bytes, path: Path, kind: str) -> dict[str, Any]:
    try:
        envelope = json.loads(sealed)
        _refuse_other_format(envelope["format"], path)
        text = envelope["page"]
        if zlib.crc32(text.encode()) != envelope["checksum"]:
            raise ValueError
        page: dict[str, Any] = json.loads(text)
        saved_kind = page["kind"]
    except DataError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DataError(f"{path} is damaged or was changed by hand: save the {kind} again") from None
    if saved_kind != kind:
        raise DataError(f"{path} is a {saved_kind}, not a {kind}: give a folder that holds a {kind}")
    return page


def _refuse_other_format(saved: Any, path: Path) -> None:
    if not isinstance(saved, int) or isinstance(saved, bool):
        raise ValueError(saved)
    if saved != FORMAT:
        advice = "install a newer subcast" if saved > FORMAT else "save it again with this version"
        raise DataError(f"{path} is of format {saved}, and this version of subcast reads format {FORMAT}: {advice}")


def _checked_file(path: Path, marks: dict[str, Any], verify: bool, advice: str) -> None:
    """Raise unless the file has the size and the checksums listed in the page."""
    try:
        size = path.stat().st_size
        if size != marks["bytes"]:
            raise DataError(
                f"{path} has {size} bytes instead of {marks['bytes']}, it was cut short or added to: {advice}"
            )
        if _checksum_of_ends(path) != marks["ends"] or (verify and _marks(path)["whole"] != marks["whole"]):
            raise DataError(f"{path} does not have the content that was saved (its checksum differs): {advice}")
    except FileNotFoundError:
        raise DataError(f"{path} is missing: {advice}") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): {advice}") from None


def _open_array(path: Path, marks: dict[str, Any], verify: bool, advice: str) -> NDArray[Any]:
    _checked_file(path, marks, verify, advice)
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): {advice}") from None
    except ValueError:
        raise DataError(f"{path} is not a readable array: {advice}") from None
    if list(array.shape) != marks["shape"] or str(array.dtype) != marks["dtype"]:
        raise DataError(f"{path} holds {array.dtype} {array.shape}, not what was saved: {advice}")
    return np.asarray(array)


def _read_blob(path: Path, marks: dict[str, Any], advice: str) -> bytes:
    _checked_file(path, marks, True, advice)
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): {advice}") from None
