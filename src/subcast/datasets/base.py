"""What a dataset is, where its files are looked for, and how they are fetched."""

from __future__ import annotations

import hashlib
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


@dataclass(frozen=True)
class Source:
    """One file a dataset can be read from.

    Parameters
    ----------
    files
        the names it may have, the first being what a download is called; all are needed when `together`
    home
        where a person finds it
    url
        where it can be fetched without a person, if anywhere
    sha256
        of the file as fetched, where known
    together
        whether the files are parts of one whole
    """

    files: tuple[str, ...]
    home: str
    url: str | None = None
    sha256: str | None = None
    together: bool = False


@dataclass(frozen=True)
class Dataset:
    """A dataset by name: the facts a user asks for first, and how to read it.

    Parameters
    ----------
    name
        what `load_dataset` calls it
    steps, n_variables
        its published size
    rate
        the time from step to step
    missing
        the share of readings that are missing, once its missing-code is read as such
    scale
        the factor on the raw values
    part
        which part of which original it is
    sources
        the files it can be read from, the best first; none when it is generated
    read
        makes the series of the files found: `read(source, paths)`
    """

    name: str
    steps: int
    n_variables: int
    rate: str
    missing: float
    scale: float
    part: str
    sources: tuple[Source, ...]
    read: Callable[..., Series]


def cache_folder() -> Path:
    """Where downloads go when SUBCAST_DATA is not set."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "subcast"


def data_folders(folder: str | Path | None = None) -> list[Path]:
    """Where files are looked for: the folder given, else SUBCAST_DATA, and the cache."""
    if folder is not None:
        return [Path(folder)]
    named = os.environ.get(FOLDER_VARIABLE)
    return [Path(named), cache_folder()] if named else [cache_folder()]


def find_files(dataset: Dataset, folders: Sequence[Path]) -> tuple[Source, list[Path]] | None:
    """The dataset's files in the first folder that has them, the best source first, or None."""
    for folder in folders:
        for source in dataset.sources:
            found = [folder / name for name in source.files if (folder / name).is_file()]
            if source.together and len(found) == len(source.files):
                return source, found
            if not source.together and found:
                return source, found[:1]
    return None


def load_files(dataset: Dataset, folder: str | Path | None, download: bool) -> Series:
    """Find a dataset's files, or fetch them, and read them."""
    folders = data_folders(folder)
    found = find_files(dataset, folders)
    if found is not None:
        _say_if_altered(*found)
        return _checked(dataset, dataset.read(*found))
    reason = ""
    for source in dataset.sources if download else ():
        if source.url is None:
            continue
        path = _download_folder(folders) / source.files[0]
        try:
            fetch(source.url, path, source.sha256)
            return _checked(dataset, dataset.read(source, [path]))
        except (OSError, HTTPException) as error:
            reason = f" and could not be fetched ({getattr(error, 'reason', error)})"
        except DataError as error:
            path.unlink(missing_ok=True)
            reason = f" and what came from {source.url} is not it ({error})"
    raise DataNotFoundError(_where_to_get(dataset, folders, reason))


def _download_folder(folders: Sequence[Path]) -> Path:
    """The first folder that can be written to (or made)."""
    return next((folder for folder in folders if os.access(_nearest(folder), os.W_OK)), folders[0])


def _nearest(folder: Path) -> Path:
    """The folder, or the first of those above it that exists."""
    return next((place for place in (folder, *folder.absolute().parents) if place.exists()), folder)


def _where_to_get(dataset: Dataset, folders: Sequence[Path], reason: str) -> str:
    best = dataset.sources[0]
    files = " and ".join(best.files) if best.together else best.files[0]
    return (
        f"dataset {dataset.name!r} is not in {' or '.join(str(folder) for folder in folders)}{reason}: "
        f"get {files} from {best.home} and put it there, or name the folder that has it with {FOLDER_VARIABLE}"
    )


def _say_if_altered(source: Source, paths: Sequence[Path]) -> None:
    if source.sha256 is None:
        return
    with paths[0].open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != source.sha256:
        warnings.warn(
            f"{paths[0].name} is not the file of record (sha256 {found[:12]}... instead of {source.sha256[:12]}...): "
            "figures made with it may differ",
            DataWarning,
            stacklevel=5,
        )


def _checked(dataset: Dataset, series: Series) -> Series:
    """Refuse a file that is not the dataset's size: it is cut short, or another one."""
    if (len(series), series.n_variables) != (dataset.steps, dataset.n_variables):
        raise DataError(
            f"dataset {dataset.name!r} has {dataset.steps:,} steps of {dataset.n_variables:,} variables, "
            f"but the file has {len(series):,} of {series.n_variables:,}: fetch it again"
        )
    return series


def fetch(url: str, path: Path, sha256: str | None) -> Path:
    """Download a file with a progress bar, check it, and only then give it its name."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

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
                f"{path.name} as fetched has another checksum than expected "
                f"({digest.hexdigest()[:12]}... instead of {sha256[:12]}...)"
            )
    return path
