"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from subcast.errors import InputError


@contextmanager
def whole_file(path: str | Path, endings: Sequence[str] = ()) -> Iterator[Path]:
    """Write a file under a temporary name in the same folder, and rename it only if no error occurred.

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
    handle, name = tempfile.mkstemp(suffix=path.suffix, prefix=f".{path.stem}-", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)  # mkstemp creates files that only their owner may read
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
