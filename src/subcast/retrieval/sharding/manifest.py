"""The manifest of a bank in files: what the bank is, which files hold it, and their checksums."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.errors import DataError, DataNotFoundError
from subcast.retrieval.layout import Layout
from subcast.retrieval.sharding.places import Place
from subcast.retrieval.sharding.starts import StartRuns
from subcast.storage import fields
from subcast.storage.state import State

NAME = "bank-shards.json"
FORMAT = 1
_MOST_LISTED = 64  # runs of starts that are written as numbers; more are packed
_MOST_PACKED = 1 << 31  # bytes of unpacked runs


@dataclass(frozen=True)
class ShardFile:
    """One file of the bank.

    Parameters
    ----------
    name
        its name in the folder
    first, steps
        which steps of the bank's series it holds
    checksum
        checksum of the checksums of its columns
    size
        size of the file in bytes
    """

    name: str
    first: int
    steps: int
    checksum: int
    size: int

    @property
    def end(self) -> int:
        """The step after its last."""
        return self.first + self.steps


@dataclass(frozen=True, eq=False)
class Manifest:
    """What a bank in files is.

    Parameters
    ----------
    lookback, room
        steps in a window, and the steps after it that every file holds too
    steps
        how many steps a new file begins before the next one does
    layout
        which column holds which feature
    names
        names of the variables, or None
    holes
        [columns], which columns of readings and features have missing values
    has_targets
        whether columns of targets follow those of the layout
    offsets
        where each series begins, and where the last ends
    starts
        where candidates start; None for every window that leaves `room_after` steps of its series
    room_after
        see `starts`
    files
        the files in order of time
    """

    lookback: int
    room: int
    steps: int
    layout: Layout
    names: tuple[str, ...] | None
    holes: tuple[bool, ...]
    has_targets: bool
    offsets: NDArray[np.int64]
    starts: StartRuns | None
    room_after: int
    files: tuple[ShardFile, ...]

    @property
    def overlap(self) -> int:
        """The number of steps that a file shares with the next one."""
        return self.lookback + self.room - 1

    @property
    def n_steps(self) -> int:
        """The number of steps."""
        return int(self.offsets[-1])

    @property
    def n_columns(self) -> int:
        """The number of columns of each file."""
        return self.layout.n_rows + (self.layout.n if self.has_targets else 0)

    @cached_property
    def candidates(self) -> StartRuns:
        """The starts of all candidates."""
        if self.starts is not None:
            return self.starts
        return StartRuns.with_room(self.offsets, self.lookback + self.room_after)

    @cached_property
    def bounds(self) -> NDArray[np.int64]:
        """[files + 1], the first start that belongs to each file, and the end."""
        return np.array([*(file.first for file in self.files), self.n_steps], dtype=np.int64)

    @cached_property
    def first_candidates(self) -> NDArray[np.int64]:
        """[files + 1], the number of candidates before those of each file, and of all."""
        return np.array([self.candidates.before(int(bound)) for bound in self.bounds], dtype=np.int64)

    @cached_property
    def checksum(self) -> int:
        """A checksum of the whole content."""
        return zlib.crc32(json.dumps(self.facts(), sort_keys=True).encode())

    def with_files(self, more: Sequence[ShardFile], offsets: NDArray[np.int64], holes: Sequence[bool]) -> Manifest:
        """Return the manifest after files were added; starts that are listed go on with every later window."""
        starts = self.starts
        if starts is not None:
            every = StartRuns.with_room(offsets, self.lookback + self.room_after)
            later = every.between(int(starts.runs[-1, 1]) if len(starts) else 0, int(offsets[-1]))
            known = starts.between(0, self.n_steps)
            starts = StartRuns.of(
                np.concatenate([known, later[later + self.lookback + self.room_after > self.n_steps]])
            )
        return replace(self, files=(*self.files, *more), offsets=offsets, holes=tuple(holes), starts=starts)

    def facts(self) -> dict[str, Any]:
        """Return the content as plain values."""
        return {
            "format": FORMAT,
            "lookback": self.lookback,
            "room": self.room,
            "steps": self.steps,
            "variables": self.layout.n,
            "shared": list(self.layout.shared),
            "names": None if self.names is None else list(self.names),
            "holes": list(self.holes),
            "targets": self.has_targets,
            "offsets": self.offsets.tolist(),
            "starts": None if self.starts is None else _packed(self.starts.runs),
            "room_after": self.room_after,
            "files": [[file.name, file.first, file.steps, file.checksum, file.size] for file in self.files],
        }

    def write(self, place: Place) -> None:
        """Write the manifest in one step; readers see the old one or the new one."""
        content = json.dumps({**self.facts(), "checksum": self.checksum}, indent=None, separators=(", ", ": "))
        place.write(NAME, content.encode())

    @classmethod
    def read(cls, place: Place) -> Manifest:
        """Return the manifest of a folder; raise a DataError unless it is whole and every field fits the others."""
        try:
            content = place.read(NAME)
        except DataNotFoundError:
            raise DataNotFoundError(
                f"{place.address} has no {NAME}: give a folder that write_shards or `subcast bank write` wrote"
            ) from None
        source = State({}, source=place.file(NAME))
        try:
            facts = json.loads(content)
        except (ValueError, RecursionError):
            raise source.damaged("it is not JSON") from None
        if not isinstance(facts, dict):
            raise source.damaged("it is not a manifest")
        state = State(facts, source=source.source)
        if fields.whole(state, "format", 1) != FORMAT:
            raise DataError(
                f"{state.source} has format {facts['format']}, and this version reads {FORMAT}: update subcast"
            )
        with fields.restoring(state):
            manifest = manifest_from(state)
        if manifest.checksum != fields.whole(state, "checksum"):
            raise state.damaged("its checksum is that of another content")
        return manifest


def manifest_from(state: State) -> Manifest:
    """Return the manifest whose facts are in `state`; raise a DataError unless every field fits the others."""
    shared = fields.sequence(state, "shared")
    if not shared or shared[0] is not False or not all(isinstance(each, bool) for each in shared):
        raise fields.wrong(state, "shared", "a list of true and false that begins with false", shared)
    layout = Layout(fields.whole(state, "variables", 1), tuple(shared))
    holes = fields.sequence(state, "holes", layout.n_rows)
    files = [_file(state, facts) for facts in fields.sequence(state, "files")]
    offsets = np.array(fields.sequence(state, "offsets"), dtype=np.int64)
    if offsets.ndim != 1 or len(offsets) < 2 or offsets[0] != 0 or (np.diff(offsets) < 1).any():
        raise state.damaged("its offsets must increase from 0")
    _check_files(state, files, int(offsets[-1]))
    starts = fields.fact(state, "starts")
    return Manifest(
        lookback=fields.whole(state, "lookback", 1),
        room=fields.whole(state, "room"),
        steps=fields.whole(state, "steps", 1),
        layout=layout,
        names=None if fields.fact(state, "names") is None else fields.texts(state, "names", layout.n),
        holes=tuple(bool(hole) for hole in holes),
        has_targets=fields.flag(state, "targets"),
        offsets=offsets,
        starts=None if starts is None else StartRuns(_unpacked(state, starts)),
        room_after=fields.whole(state, "room_after"),
        files=tuple(files),
    )


def _file(state: State, facts: Any) -> ShardFile:
    if not isinstance(facts, list) or len(facts) != 5 or not isinstance(facts[0], str):
        raise state.damaged("its files must be lists of name, first step, steps, checksum and size")
    if not all(type(each) is int and each >= 0 for each in facts[1:]) or {"/", "\\"} & set(facts[0]):
        raise state.damaged(f"its file {fields.short(facts[0])} must have a plain name and whole numbers")
    return ShardFile(*facts)


def _check_files(state: State, files: Sequence[ShardFile], n_steps: int) -> None:
    """Raise unless the files cover all steps, each beginning no later than the one before ends."""
    if not files or files[0].first != 0 or max(file.end for file in files) != n_steps or files[-1].end != n_steps:
        raise state.damaged(f"its files must cover the {n_steps} steps")
    for before, after in pairwise(files):
        if not before.first <= after.first <= before.end < after.end:
            raise state.damaged(f"its files {before.name} and {after.name} must follow each other")


def _packed(runs: NDArray[np.int64]) -> Any:
    """Return runs as a list of lists, or as text when there are many."""
    if len(runs) <= _MOST_LISTED:
        return runs.tolist()
    changes = np.diff(runs, axis=0, prepend=np.zeros((1, 3), dtype=np.int64)).astype("<i8")
    return base64.b64encode(zlib.compress(changes.tobytes(), 6)).decode()


def _unpacked(state: State, packed: Any) -> NDArray[np.int64]:
    try:
        if isinstance(packed, str):
            inflate = zlib.decompressobj()
            content = inflate.decompress(base64.b64decode(packed, validate=True), _MOST_PACKED)
            runs = np.cumsum(np.frombuffer(content, dtype="<i8").reshape(-1, 3), axis=0)
        else:
            runs = np.array(packed, dtype=np.int64).reshape(-1, 3)
    except (ValueError, TypeError, OverflowError, binascii.Error, zlib.error):
        raise state.damaged("its starts cannot be read") from None
    first, stop, step = runs[:, 0], runs[:, 1], runs[:, 2]
    if (first < 0).any() or (step < 1).any() or (stop <= first).any() or (first[1:] < stop[:-1] - step[:-1] + 1).any():
        raise state.damaged("its starts must be runs that follow each other")
    return np.asarray(runs, dtype=np.int64)
