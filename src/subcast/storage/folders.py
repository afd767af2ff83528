"""Folders of arrays and files described by one JSON page: replaced atomically, memory-mapped, checked by checksums.

The page lists every file with its size and checksums. A save writes new files under new names and then replaces the
page, so a reader finds either the old state or the new one. A reader opens all files that a page lists before it reads
any of them: a file that is deleted later stays readable.
"""

from __future__ import annotations

import os
import re
import stat
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePath
from typing import IO, Any

from numpy.typing import NDArray

from subcast.errors import DataError, DataNotFoundError, InputError, SubcastError
from subcast.storage import arrays as array_files
from subcast.storage import pages
from subcast.storage.files import write_error
from subcast.storage.state import State

_END = 1 << 16
_PIECE = 1 << 22
# How many times `open_state` starts again because another process replaced the page; then it waits for that process.
_TRIES = 10

Marks = dict[str, Any]
"""What a page says about one file: its name, size and checksums; for an array also shape and type."""


# Saving


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

    Raises
    ------
    WriteError
        if the disk is full or the folder cannot be written; what was there before is unchanged
    """
    folder = Path(folder)
    check_folder(folder, kind, beside)
    made: list[Path] = []
    try:
        _make(folder, made)
        with _locked(folder, exclusive=True) as handle:
            _replace(folder, kind, state, handle)
    except OSError as error:
        if isinstance(error, SubcastError):
            raise
        raise write_error(folder, error) from error
    finally:
        for new in made:  # succeeds only if nothing was written
            with suppress(OSError):
                new.rmdir()


def _make(folder: Path, made: list[Path]) -> None:
    """Create a folder and its parents, and list those that are new, the innermost first."""
    if not folder.exists():
        _make(folder.parent, made)
        folder.mkdir(exist_ok=True)
        made.insert(0, folder)


def _replace(folder: Path, kind: str, state: State, handle: int | None) -> None:
    """Write the files of a state, replace the page, and remove the files of the state before."""
    page, token = folder / f"{kind}.json", os.urandom(8).hex()
    sealed = folder / f"{kind}-page-{token}.json"
    remove = {sealed}
    try:
        described: dict[str, dict[str, Marks]] = {"arrays": {}, "blobs": {}}
        for name, array in state.arrays.items():
            path = folder / _file_name(kind, f"{name}.npy", token)
            remove.add(path)
            shape = {"shape": list(array.shape), "dtype": array.dtype.name}
            described["arrays"][name] = {"file": path.name, **shape, **_write(path, array_files.pieces(name, array))}
        for name, blob in state.blobs.items():
            path = folder / _file_name(kind, name, token)
            remove.add(path)
            described["blobs"][name] = {"file": path.name, **_write(path, [blob])}
        _write(sealed, [pages.seal({"kind": kind, "facts": state.facts, **described})])
        old = _old_files(folder, kind, handle)
        os.replace(sealed, page)
        remove = old - remove
        if handle is not None:
            with suppress(OSError):
                os.fsync(handle)
    finally:
        for path in remove:
            with suppress(OSError):
                path.unlink()


def _file_name(kind: str, name: str, token: str) -> str:
    suffix = PurePath(name).suffix
    return f"{kind}-{name.removesuffix(suffix)}-{token}{suffix}"


def _write(path: Path, content: Iterable[bytes | memoryview]) -> Marks:
    """Write a new file and return its size and checksums."""
    size = checksum = 0
    with path.open("xb") as file:
        for piece in content:
            file.write(piece)
            size, checksum = size + len(piece), zlib.crc32(piece, checksum)
        file.flush()
        os.fsync(file.fileno())
    with path.open("rb") as file:
        return {"bytes": size, "ends": _checksum_of_ends(file, size), "whole": checksum}


def _old_files(folder: Path, kind: str, handle: int | None) -> set[Path]:
    """Return the files of the present state, and those left by a process that was killed while saving."""
    if handle is not None:  # no other process is saving
        return {path for path in folder.iterdir() if _is_saved_file(path, kind)}
    try:
        page = pages.unseal(_read_page(folder, kind), folder / f"{kind}.json", kind)
    except (DataError, DataNotFoundError):
        return set()
    names = {str(marks.get("file")) for group in ("arrays", "blobs") for marks in page[group].values()}
    return {path for path in folder.iterdir() if path.name in names and _is_saved_file(path, kind)}


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
    return os.path.lexists(Path(folder) / f"{kind}.json")


def _is_saved_file(path: Path, kind: str) -> bool:
    return re.fullmatch(rf"{kind}-[\w.]+-[0-9a-f]{{16}}\.\w+", path.name) is not None


@contextmanager
def _locked(folder: Path, *, exclusive: bool) -> Iterator[int | None]:
    """Lock the folder against saves and yield its handle; None on a system that cannot lock a folder."""
    with ExitStack() as stack:
        handle = None
        with suppress(ImportError, OSError):
            import fcntl

            opened = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, opened)
            fcntl.flock(opened, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
            handle = opened
        yield handle


# Opening


def open_state(folder: str | os.PathLike[str], kind: str, *, verify: bool = True) -> State:
    """Return the state in a folder with memory-mapped arrays; raise unless it is the one that was saved.

    Parameters
    ----------
    folder, kind
        as given to `save_state`
    verify
        whether to compare checksums of whole files, which reads them once; without, only the size and both ends of
        each file
    """
    folder = Path(folder)
    advice = f"copy or save the {kind} again"
    with ExitStack() as stack:
        page, files = _open_files(folder, kind, advice, stack)
        opened = {
            name: _open_array(files["arrays", name], marks, verify, advice) for name, marks in page["arrays"].items()
        }
        blobs = {name: _read_blob(files["blobs", name], marks, advice) for name, marks in page["blobs"].items()}
    return State(page["facts"], opened, blobs, str(folder), not verify)


class _MissingFileError(DataError):
    """A file that a page lists does not exist, perhaps because the page was replaced."""


def _open_files(
    folder: Path, kind: str, advice: str, stack: ExitStack
) -> tuple[dict[str, Any], dict[tuple[str, str], IO[bytes]]]:
    """Return a page and all files that it lists, opened; wait for another process only if it replaces them often."""
    for attempt in range(_TRIES + 1):
        with ExitStack() as lock:
            if attempt == _TRIES:
                lock.enter_context(_locked(folder, exclusive=False))
            content = _read_page(folder, kind)
            page = pages.unseal(content, folder / f"{kind}.json", kind)
            try:
                with ExitStack() as opened:
                    files = {
                        (group, name): opened.enter_context(_open_listed(folder, kind, group, name, marks, advice))
                        for group in ("arrays", "blobs")
                        for name, marks in page[group].items()
                    }
                    stack.push(opened.pop_all())
                    return page, files
            except _MissingFileError:
                if attempt == _TRIES or _read_page(folder, kind) == content:
                    raise
    raise AssertionError("unreachable")


def _read_page(folder: Path, kind: str) -> bytes:
    path = folder / f"{kind}.json"
    try:
        with _open_regular(path, f"save the {kind} again") as file:
            return file.read(pages.MOST_BYTES + 1)
    except (_MissingFileError, NotADirectoryError):
        raise DataNotFoundError(f"folder {folder} holds no {kind} ({path.name} is missing)") from None


def _open_listed(folder: Path, kind: str, group: str, name: str, marks: Any, advice: str) -> IO[bytes]:
    """Open a file that a page lists, after checking its name."""
    page = folder / f"{kind}.json"
    file = marks.get("file") if isinstance(marks, dict) else None
    token = re.search(r"-([0-9a-f]{16})\.\w+$", file) if isinstance(file, str) else None
    expected = _file_name(kind, f"{name}.npy" if group == "arrays" else name, token[1] if token else "")
    if file != expected or not re.fullmatch(r"[\w.-]+", expected):
        raise DataError(f"{page} lists a file under a name that no save gives ({str(file)[:60]!r}): {advice}")
    return _open_regular(folder / expected, advice)


def _open_regular(path: Path, advice: str) -> IO[bytes]:
    """Open a file for reading; raise unless it is a regular file and no link, without waiting for a pipe."""

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))

    try:
        file = open(path, "rb", opener=opener)  # noqa: SIM115
    except FileNotFoundError:
        raise _MissingFileError(f"{path} is missing: {advice}") from None
    except OSError as error:
        if path.is_symlink() or path.is_dir():
            raise DataError(f"{path} is no file of its own but a link or a folder: {advice}") from None
        raise DataError(f"{path} cannot be read ({error.strerror}): {advice}") from None
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise DataError(f"{path} is no regular file: {advice}")
    return file


def _open_array(file: IO[bytes], marks: Marks, verify: bool, advice: str) -> NDArray[Any]:
    try:
        dtype = array_files.stored_type(marks.get("dtype"))
        shape = array_files.stored_shape(marks.get("shape"))
        if marks.get("bytes") != array_files.file_size(dtype, shape):
            raise ValueError
        _check_content(file, marks, verify, advice)
        return array_files.open_array(file, dtype, shape)
    except OSError as error:
        raise DataError(f"{file.name} cannot be read ({error.strerror}): {advice}") from None
    except DataError:
        raise
    except ValueError:
        raise DataError(f"{file.name} is not the array that its page describes: {advice}") from None


def _read_blob(file: IO[bytes], marks: Marks, advice: str) -> bytes:
    try:
        _check_content(file, marks, True, advice)
        file.seek(0)
        return file.read()
    except OSError as error:
        raise DataError(f"{file.name} cannot be read ({error.strerror}): {advice}") from None


def _check_content(file: IO[bytes], marks: Marks, verify: bool, advice: str) -> None:
    """Raise unless a file has the size and the checksums listed in the page."""
    size = os.fstat(file.fileno()).st_size
    if type(marks.get("bytes")) is not int or size != marks["bytes"]:
        raise DataError(
            f"{file.name} has {size} bytes instead of {repr(marks.get('bytes'))[:20]}, it was cut short or added to: "
            f"{advice}"
        )
    same = _checksum(file) == marks.get("whole") if verify else _checksum_of_ends(file, size) == marks.get("ends")
    if not same:
        raise DataError(f"{file.name} does not have the content that was saved (its checksum differs): {advice}")


def _checksum(file: IO[bytes]) -> int:
    checksum = 0
    file.seek(0)
    while piece := file.read(_PIECE):
        checksum = zlib.crc32(piece, checksum)
    return checksum


def _checksum_of_ends(file: IO[bytes], size: int) -> int:
    file.seek(0)
    start = file.read(_END)
    file.seek(max(0, size - _END))
    return zlib.crc32(file.read(_END), zlib.crc32(start))
