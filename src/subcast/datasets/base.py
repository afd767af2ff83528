"""Dataset and Source: where the files of a dataset are searched, and how they are downloaded."""

from __future__ import annotations

import hashlib
import logging
import os
import urllib.request
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

from subcast.errors import DataError, DataNotFoundError, DataWarning
from subcast.series import Series
from subcast.storage.files import whole_file

FOLDER_VARIABLE = "SUBCAST_DATA"

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Source:
    """A file, or a set of files, from which a dataset can be read.

    Parameters
    ----------
    files
        the possible names of the file, the first is used for a download; with `together`, the names of all files
    home
        where a person can get the files
    url
        from where the file can be downloaded automatically, if possible
    sha256
        checksum of the file, if known
    together
        whether all `files` are needed
    """

    files: tuple[str, ...]
    home: str
    url: str | None = None
    sha256: str | None = None
    together: bool = False


@dataclass(frozen=True)
class Dataset:
    """A dataset that can be loaded by name: its main facts, and how to read it.

    Parameters
    ----------
    name
        its name for `load_dataset`
    steps, n_variables
        its published size
    rate
        the time between steps
    missing
        the share of missing readings, counting its code for missing readings
    scale
        the factor applied to the raw values
    content
        which part of which original dataset it contains
    sources
        the files it can be read from, the preferred one first; empty if it is generated
    read
        function that reads a series from files: `read(source, paths)`
    """

    name: str
    steps: int
    n_variables: int
    rate: str
    missing: float
    scale: float
    content: str
    sources: tuple[Source, ...]
    read: Callable[..., Series]


def cache_folder() -> Path:
    """Return the folder for downloads when SUBCAST_DATA is not set."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "subcast"


def data_folders(folder: str | Path | None = None) -> list[Path]:
    """Return the folders that are searched: the given one, else that of SUBCAST_DATA and the cache."""
    if folder is not None:
        return [Path(folder)]
    data_folder = os.environ.get(FOLDER_VARIABLE)
    return [Path(data_folder), cache_folder()] if data_folder else [cache_folder()]


def find_files(dataset: Dataset, folders: Sequence[Path]) -> tuple[Source, list[Path]] | None:
    """Return the preferred source and its files in the first folder that has any, or None."""
    for folder in folders:
        for source in dataset.sources:
            paths = [folder / name for name in source.files if (folder / name).is_file()]
            if source.together and len(paths) == len(source.files):
                return source, paths
            if not source.together and paths:
                return source, paths[:1]
    return None


def load_files(dataset: Dataset, folder: str | Path | None, download: bool) -> Series:
    """Read a dataset from its files, which are downloaded if they are not found."""
    folders = data_folders(folder)
    local = find_files(dataset, folders)
    if local is not None:
        source, paths = local
        logger.info("dataset %s: reading %s", dataset.name, ", ".join(str(path) for path in paths))
        _warn_if_altered(source, paths)
        return _checked(dataset, dataset.read(source, paths))
    reason = ""
    for source in dataset.sources if download else ():
        if source.url is None:
            continue
        path = _download_folder(folders) / source.files[0]
        try:
            fetch(source.url, path, source.sha256)
            return _checked(dataset, dataset.read(source, [path]))
        except (OSError, HTTPException) as error:
            reason = f", and the download failed ({getattr(error, 'reason', error)})"
        except DataError as error:
            path.unlink(missing_ok=True)
            reason = f", and the file at {source.url} is not this dataset ({error})"
        logger.warning("dataset %s: download from %s failed", dataset.name, source.url)
    raise DataNotFoundError(_where_to_get(dataset, folders, reason))


def _download_folder(folders: Sequence[Path]) -> Path:
    """Return the first folder that can be written to or created."""
    return next((folder for folder in folders if os.access(_existing(folder), os.W_OK)), folders[0])


def _existing(folder: Path) -> Path:
    """Return the folder, or the nearest folder above it that exists."""
    return next((path for path in (folder, *folder.absolute().parents) if path.exists()), folder)


def _where_to_get(dataset: Dataset, folders: Sequence[Path], reason: str) -> str:
    best = dataset.sources[0]
    files = " and ".join(best.files) if best.together else best.files[0]
    return (
        f"dataset {dataset.name!r} is not in {' or '.join(str(folder) for folder in folders)}{reason}: "
        f"get {files} from {best.home} and put it there, or set {FOLDER_VARIABLE} to the folder that has it"
    )


def _warn_if_altered(source: Source, paths: Sequence[Path]) -> None:
    if source.sha256 is None:
        return
    with paths[0].open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest == source.sha256:
        logger.info("%s: checksum as expected", paths[0].name)
        return
    warnings.warn(
        f"{paths[0].name} differs from the original file (sha256 {digest[:12]}... instead of {source.sha256[:12]}...): "
        "results may differ from the published ones",
        DataWarning,
        stacklevel=5,
    )


def _checked(dataset: Dataset, series: Series) -> Series:
    """Return the series; raise a DataError if its size is not that of the dataset."""
    if (len(series), series.n_variables) != (dataset.steps, dataset.n_variables):
        raise DataError(
            f"dataset {dataset.name!r} has {dataset.steps:,} steps of {dataset.n_variables:,} variables, "
            f"but the file has {len(series):,} of {series.n_variables:,}: download it again"
        )
    return series


def fetch(url: str, path: Path, sha256: str | None) -> Path:
    """Download a file with a progress bar; it gets its name only when it is complete and its checksum is right."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    logger.info("downloading %s to %s", url, path)
    path.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with whole_file(path) as temporary:
        with (
            temporary.open("wb") as file,
            urllib.request.urlopen(url, timeout=60) as response,
            Progress(*columns, transient=True) as progress,
        ):
            size = response.headers.get("Content-Length")
            task = progress.add_task(path.name, total=int(size) if size else None)
            while block := response.read(1 << 18):
                file.write(block)
                digest.update(block)
                progress.update(task, advance=len(block))
            if size and file.tell() != int(size):
                raise OSError(f"the connection broke after {file.tell():,} of {int(size):,} bytes")
        if sha256 is not None and digest.hexdigest() != sha256:
            raise DataError(
                f"the downloaded {path.name} has another checksum than expected "
                f"({digest.hexdigest()[:12]}... instead of {sha256[:12]}...)"
            )
    logger.info("downloaded %s, sha256 %s", path, digest.hexdigest())
    return path
