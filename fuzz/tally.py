"""Count how cases ended, and keep the counts in a record that a later run continues."""

from __future__ import annotations

import datetime
import json
import platform
from collections import Counter
from pathlib import Path
from typing import Any

from cases import Event, Failure
from subcast import __version__
from subcast.experiments.record_files import write_record_file

KEPT = 3
"""Failures of one kind that are described in the record; further ones are only counted."""


class Tally:
    """The counts of one target: inputs = refused + accepted + failed; checked is a part of accepted."""

    def __init__(self, stored: dict[str, Any] | None = None) -> None:
        stored = stored or {}
        self.counts = Counter({name: stored.get(name, 0) for name in ("refused", "accepted", "checked", "failed")})
        self.first_seed: int | None = stored.get("first_seed")
        self.next_seed: int = stored.get("next_seed", 0)
        self.seconds: float = stored.get("seconds", 0.0)
        self.slowest: float = stored.get("slowest_case_seconds", 0.0)
        self.kinds = {kind: Counter(counts) for kind, counts in stored.get("kinds", {}).items()}
        self.failures: list[dict[str, Any]] = stored.get("failures", [])

    @property
    def inputs(self) -> int:
        """The number of cases that ended."""
        return self.counts["refused"] + self.counts["accepted"] + self.counts["failed"]

    def add(self, event: Event, seconds: float) -> None:
        """Count the end of one case, which took some seconds."""
        self.first_seed = event.seed if self.first_seed is None else self.first_seed
        self.next_seed = event.seed + 1
        self.seconds += seconds
        if event.failure is not None:
            self.counts["failed"] += 1
            self._add_failure(event.seed, event.failure)
            return
        self.slowest = max(self.slowest, seconds)
        outcomes = ("accepted", "checked") if event.outcome == "checked" else (event.outcome,)
        for outcome in outcomes:
            self.counts[outcome] += 1
            if event.kind:
                self.kinds.setdefault(event.kind, Counter())[outcome] += 1

    def _add_failure(self, seed: int, failure: Failure) -> None:
        known = self._known(failure)
        if known is None:
            known = {"kind": failure.kind, "where": failure.where, "count": 0, "seeds": [], "message": failure.message}
            self.failures.append(known)
        known["count"] += 1
        if len(known["seeds"]) < KEPT:
            known["seeds"].append(seed)

    def _known(self, failure: Failure) -> dict[str, Any] | None:
        alike = (known for known in self.failures if (known["kind"], known["where"]) == (failure.kind, failure.where))
        return next(alike, None)

    def count_of(self, failure: Failure) -> int:
        """Return how many failures of this kind were counted."""
        known = self._known(failure)
        return 0 if known is None else int(known["count"])

    def is_new(self, failure: Failure) -> bool:
        """Return whether the failure just counted is one of the first of its kind."""
        return self.count_of(failure) <= KEPT

    def sentence(self) -> str:
        """Return the counts in words."""
        counts = self.counts
        return (
            f"{self.inputs:,} inputs, {counts['refused']:,} refused, {counts['accepted']:,} accepted "
            f"({counts['checked']:,} of them checked against an independent reading), {counts['failed']:,} failed"
        )

    def to_record(self) -> dict[str, Any]:
        """Return the counts as they are stored."""
        return {
            "inputs": self.inputs,
            **{name: self.counts[name] for name in ("refused", "accepted", "checked", "failed")},
            "first_seed": self.first_seed,
            "next_seed": self.next_seed,
            "seconds": round(self.seconds, 1),
            "slowest_case_seconds": round(self.slowest, 2),
            "kinds": {kind: dict(sorted(counts.items())) for kind, counts in sorted(self.kinds.items())},
            "failures": self.failures,
        }


class Record:
    """The tallies of all targets in one file.

    Parameters
    ----------
    path
        the file; if it exists, its counts are continued
    fresh
        start from zero, whatever the file holds
    """

    def __init__(self, path: Path, *, fresh: bool = False) -> None:
        self._path = path
        stored = json.loads(path.read_text()) if path.exists() and not fresh else {}
        self._tallies = {name: Tally(counts) for name, counts in stored.get("targets", {}).items()}

    def tally(self, target: str) -> Tally:
        """Return the counts of a target, to be added to."""
        return self._tallies.setdefault(target, Tally())

    def save(self) -> None:
        """Write the file."""
        facts = {
            "record": "fuzz",
            "version": __version__,
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "python": platform.python_version(),
            "command": "python fuzz/run.py --record results/fuzz.json",
            "targets": {name: tally.to_record() for name, tally in self._tallies.items() if tally.inputs},
        }
        write_record_file(self._path, facts)
