"""Files that are written completely or not at all."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from subcast.errors import InputError, SubcastError, WriteError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FAILED = (errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENAMETOOLONG)
# What libraries say when the system's error number is lost on the way to Python.
_FULL_TEXT = re.compile(r"no space left|errno = 28|\d+ requested and \d+ written|disk quota exceeded", re.IGNORECASE)


@contextmanager
def whole_file(path: str | Path, endings: Sequence[str] = ()) -> Iterator[Path]:
    """Write a file under a temporary name in the same folder, and rename it only if no error occurred.

    Temporary files that a killed process left for the same path are removed.

    Parameters
    ----------
    path
        path of the file; an existing file is replaced
    endings
        allowed endings of the name; any by default

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with whole_file(folder / "a.txt") as temporary:
    ...     _ = temporary.write_text("all of it")
    >>> [(file.name, file.read_text()) for file in folder.iterdir()]
    [('a.txt', 'all of it')]
    """
    path = Path(path)
    if endings and path.suffix.lower() not in endings:
        raise InputError(f"the file must end in {', '.join(endings)}, got {path.name!r}")
    if not path.parent.is_dir():
        raise InputError(f"the folder of {path.name!r} does not exist: make {str(path.parent)!r} first")
    with _sentence(path):
        _remove_left(path)
        temporary, handle = _new_temporary(path)
        try:
            yield temporary
            mask = os.umask(0)
            os.umask(mask)
            temporary.chmod(0o666 & ~mask)
            _flush(temporary)
            os.replace(temporary, path)
        finally:
            os.close(handle)
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


def write_error(path: Path, error: Exception) -> WriteError:
    """Return the error that a path could not be written, in one sentence."""
    is_full = _is_full(error)
    number = getattr(error, "errno", None)
    reason = os.strerror(number or errno.ENOSPC) if number or is_full else type(error).__name__
    advice = "free some space, or choose another disk" if is_full else "check the path and its permissions"
    failed = WriteError(f"{path} could not be written ({reason}), and what was there before is unchanged: {advice}")
    failed.errno, failed.strerror, failed.filename = number, reason, str(path)
    return failed


@contextmanager
def _sentence(path: Path) -> Iterator[None]:
    """Turn the error of a full or unwritable disk into one sentence with the path; leave all others as they are."""
    try:
        yield
    except SubcastError:
        raise
    except (OSError, RuntimeError) as error:
        if _is_full(error) or (isinstance(error, OSError) and _is_beside(error, path) and error.errno in _FAILED):
            raise write_error(path, error) from error
        raise


def _is_full(error: Exception) -> bool:
    number = error.errno if isinstance(error, OSError) else None
    return number in _FULL or _FULL_TEXT.search(str(error)) is not None


def _is_beside(error: OSError, path: Path) -> bool:
    """Return whether an error is about a file in the folder of a path, as far as it says which file."""
    return error.filename is None or Path(str(error.filename)).parent == path.parent


def _new_temporary(path: Path) -> tuple[Path, int]:
    """Return a new temporary file beside a path, and a handle that is locked while its process lives."""
    while True:
        temporary = path.with_name(f".{path.name}.subcast-{os.urandom(8).hex()}{path.suffix}")
        handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        _lock(handle)
        if os.fstat(handle).st_nlink:  # else another process took it for a file that was left behind
            return temporary, handle
        os.close(handle)


def _remove_left(path: Path) -> None:
    """Remove temporary files of this path whose process is gone."""
    pattern = re.compile(rf"\.{re.escape(path.name)}\.subcast-[0-9a-f]{{16}}{re.escape(path.suffix)}")
    for left in path.parent.iterdir():
        if pattern.fullmatch(left.name):
            with suppress(OSError):
                handle = os.open(left, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
                try:
                    if _lock(handle):
                        left.unlink()
                finally:
                    os.close(handle)


def _lock(handle: int) -> bool:
    """Lock a file; return False if another process holds it, or if this system cannot lock files."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def _flush(path: Path) -> None:
    """Wait until the content of a file is on the disk."""
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
