"""Folders of shards: on this machine, or anywhere that fsspec can read (object stores)."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from subcast.errors import DataNotFoundError, InputError
from subcast.storage.files import whole_file, write_error


@dataclass(frozen=True)
class Place:
    """A folder, given by a path or by an address such as s3://bucket/bank.

    Parameters
    ----------
    address
        an absolute path, or an address with a protocol

    Examples
    --------
    >>> import tempfile
    >>> place = Place.of(tempfile.mkdtemp())
    >>> place.write("a.json", b"{}")
    >>> place.read("a.json"), place.sizes()
    (b'{}', {'a.json': 2})
    """

    address: str

    @classmethod
    def of(cls, folder: str | os.PathLike[str]) -> Place:
        """Return the place of a folder; relative paths are completed, since workers may have another folder."""
        if not isinstance(folder, str | os.PathLike) or not str(folder):
            raise InputError(f"folder must be a path or an address such as s3://bucket/bank, got {folder!r}")
        address = os.fspath(folder).removeprefix("file://")
        return cls(address.rstrip("/") if "://" in address else str(Path(address).absolute()))

    @property
    def is_local(self) -> bool:
        """Whether the folder is on a disk of this machine."""
        return "://" not in self.address

    @cached_property
    def _remote(self) -> tuple[Any, str]:
        """The file system and the path in it."""
        try:
            import fsspec
        except ModuleNotFoundError:
            raise InputError(
                f"the address {self.address} needs fsspec: install it with pip install 'subcast[cluster]', "
                "or give a path"
            ) from None
        try:
            return fsspec.core.url_to_fs(self.address)
        except (ValueError, ImportError) as error:
            raise InputError(f"the address {self.address} cannot be opened ({error}): check its protocol") from None

    def file(self, name: str) -> str:
        """Return the whole path or address of a file."""
        return f"{self.address}/{name}"

    def sizes(self) -> dict[str, int]:
        """Return the names of the files and their sizes in bytes; none if there is no such folder."""
        if self.is_local:
            with suppress(FileNotFoundError, NotADirectoryError), os.scandir(self.address) as entries:
                return {entry.name: entry.stat().st_size for entry in entries if entry.is_file()}
            return {}
        system, path = self._remote
        with suppress(FileNotFoundError):
            system.invalidate_cache()
            files = system.ls(path, detail=True)
            return {str(each["name"]).rpartition("/")[2]: int(each["size"] or 0) for each in files}
        return {}

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        try:
            if self.is_local:
                return Path(self.file(name)).read_bytes()
            system, path = self._remote
            return bytes(system.cat_file(f"{path}/{name}"))
        except (FileNotFoundError, NotADirectoryError):
            raise DataNotFoundError(f"{self.address} has no {name}") from None

    def write(self, name: str, content: bytes) -> None:
        """Write a file completely or not at all; object stores show a file only when all of it is there."""
        if self.is_local:
            self.make()
            with whole_file(self.file(name)) as temporary:
                temporary.write_bytes(content)
            return
        system, path = self._remote
        system.makedirs(path, exist_ok=True)
        if "file" not in system.protocol:
            system.pipe_file(f"{path}/{name}", content)
            return
        beside = f"{path}/.{name}.{os.urandom(4).hex()}"  # a disk, reached through fsspec
        system.pipe_file(beside, content)
        system.mv(beside, f"{path}/{name}")

    def remove(self, name: str) -> None:
        """Remove a file."""
        if self.is_local:
            Path(self.file(name)).unlink(missing_ok=True)
            return
        system, path = self._remote
        system.rm_file(f"{path}/{name}")

    def make(self) -> None:
        """Create a local folder and those above it."""
        if self.is_local:
            try:
                Path(self.address).mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise write_error(Path(self.address), error) from error

    def opened(self, name: str) -> Any:
        """Return what pyarrow reads a file from: a path, or an open file of another file system."""
        if self.is_local:
            return self.file(name)
        system, path = self._remote
        return system.open(f"{path}/{name}", "rb")
