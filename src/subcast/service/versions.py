"""Versions of the wrapper: fingerprints, and copies of earlier versions from which past forecasts are made again."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import subcast as sc
from subcast.errors import SubcastError
from subcast.service.screens import AnyScreener, load_screener
from subcast.storage import pages
from subcast.subset.forecaster import SubsetForecaster

_LOGGER = logging.getLogger(__name__)
_PAGE = "wrapper.json"
_TRIES = 5


@dataclass(frozen=True, eq=False)
class Version:
    """A wrapper with its screener and the fingerprints by which forecasts name it."""

    fingerprint: str
    model: str
    bank: str
    settings: str
    wrapper: SubsetForecaster
    screener: AnyScreener
    screening: str

    @property
    def names(self) -> dict[str, str]:
        """The fingerprints, as a forecast stores them."""
        return {"version": self.fingerprint, "model": self.model, "bank": self.bank, "settings": self.settings}


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


def fingerprints(folder: Path) -> dict[str, str]:
    """Return the fingerprints of the wrapper in a folder, from the page that lists its content with checksums.

    Two saves of the same wrapper have the same fingerprints; the names of files do not count.
    """
    content = (folder / _PAGE).read_bytes()
    page = pages.unseal(content, folder / _PAGE, "wrapper")
    marks = {
        f"{group}/{name}": {key: value for key, value in each.items() if key != "file"}
        for group in ("arrays", "blobs")
        for name, each in page[group].items()
    }
    facts = page["facts"]
    fitted = facts.get("fitted") or {}
    model = {name: each for name, each in marks.items() if "fitted.model" in name}
    bank = {name: each for name, each in marks.items() if "fitted.bank" in name}
    return {
        "version": _digest([facts, marks]),
        "model": _digest([fitted.get("model"), model]),
        "bank": str(fitted.get("bank_fingerprint") or _digest(bank))[:32],
        "settings": _digest([facts.get("settings"), facts.get("levels")]),
    }


class Versions:
    """The present version of a wrapper's folder, and copies of earlier ones in a folder beside it.

    Parameters
    ----------
    folder
        of the wrapper, which may be replaced at any time
    kept
        folder of the copies
    model
        the model, if it is not stored
    most
        number of copies besides the present version
    """

    def __init__(self, folder: Path, kept: Path, model: Any = None, most: int = 8) -> None:
        self.folder, self.kept, self.model, self.most = Path(folder), kept, model, most
        self._seen: tuple[int, ...] = ()
        self._loaded: dict[str, SubsetForecaster] = {}
        self.present = self._load()

    def _load(self) -> Version:
        """Load the folder; again if it was replaced meanwhile."""
        for attempt in range(_TRIES):
            self._seen = self._mark()
            wrapper = sc.load(self.folder, self.model)
            if self._mark() == self._seen or attempt == _TRIES - 1:
                break
        names = fingerprints(self.folder)
        screener, screening = load_screener(self.folder, wrapper)
        version = Version(
            names["version"], names["model"], names["bank"], names["settings"], wrapper, screener, screening
        )
        self._keep(version.fingerprint)
        return version

    def _mark(self) -> tuple[int, ...]:
        """Return what changes when the folder is saved again."""
        found = []
        for name in (_PAGE, "screener.json"):
            with suppress(OSError):
                status = (self.folder / name).stat()
                found += [status.st_ino, status.st_mtime_ns, status.st_size]
        return tuple(found)

    @property
    def is_current(self) -> bool:
        """Whether the folder is as it was when it was looked at last."""
        return self._mark() == self._seen

    def refresh(self, check: Callable[[Version], None]) -> Version | None:
        """Return the new version if the folder was replaced by one that `check` accepts; None if there is none.

        A folder that cannot be loaded, or is refused, is reported once and left alone.
        """
        if self._mark() == self._seen or not self._mark():
            return None
        before = self.present
        try:
            version = self._load()
            check(version)
        except (SubcastError, OSError) as error:
            _LOGGER.error("the new wrapper cannot be used, the one before stays: %s", error)
            return None
        self.present = version
        return None if version.fingerprint == before.fingerprint and version.screening == before.screening else version

    # Copies

    def _keep(self, fingerprint: str) -> None:
        """Keep the files of the present version, as links where the file system can."""
        target = self.kept / fingerprint
        if (target / _PAGE).exists():
            os.utime(target)
            return
        temporary = self.kept / f"{fingerprint}.{os.getpid()}.new"
        try:
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir(parents=True)
            for path in self.folder.iterdir():
                if path.is_file() and path.name.startswith(("wrapper", "screener")):
                    _link(path, temporary / path.name)
            if fingerprints(temporary)["version"] == fingerprint:
                temporary.rename(target)
        except OSError as error:
            _LOGGER.warning("this version of the wrapper could not be kept: %s", error.strerror)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        self._prune(fingerprint)

    def _prune(self, present: str) -> None:
        with suppress(OSError):
            copies = [path for path in self.kept.iterdir() if path.is_dir() and path.name != present]
            copies.sort(key=lambda path: path.stat().st_mtime, reverse=True)
            for path in copies[self.most :]:
                shutil.rmtree(path, ignore_errors=True)

    def wrapper(self, fingerprint: str) -> SubsetForecaster | None:
        """Return the wrapper of a fingerprint; None if it was pruned."""
        if fingerprint == self.present.fingerprint:
            return self.present.wrapper
        if fingerprint not in self._loaded:
            folder = self.kept / fingerprint
            if len(fingerprint) != 32 or not fingerprint.isalnum() or not (folder / _PAGE).exists():
                return None
            try:
                loaded = sc.load(folder, self.model)
            except (SubcastError, OSError):
                return None
            if len(self._loaded) >= 2:
                self._loaded.pop(next(iter(self._loaded)))
            self._loaded[fingerprint] = loaded
        return self._loaded.get(fingerprint)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
