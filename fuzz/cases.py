"""Run cases in a process of their own, and notice when it dies, hangs or needs too much memory."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

BATCH = 2000
"""Cases of one process; a new one is started afterwards, so that what leaks does not add up."""

PREPARE_SECONDS = 600


@dataclass(frozen=True)
class Limits:
    """What a case may take before it counts as a failure."""

    seconds: float = 120.0
    megabytes: int = 1500


@dataclass(frozen=True)
class Failure:
    """Why a case failed: an error of any class but subcast's own, a wrong answer, a dead process, a hang."""

    kind: str
    message: str
    where: str = ""  # the innermost line of subcast or of the target
    traceback: str = ""


@dataclass(frozen=True)
class Event:
    """The end of one case: its outcome, or its failure."""

    seed: int
    outcome: str = ""
    kind: str = ""
    failure: Failure | None = None


class TargetError(Exception):
    """The target itself cannot be prepared."""


def run_cases(module: Path, first: int, cases: int, scratch: Path, limits: Limits) -> Iterator[Event]:
    """Run the cases of the seeds `first`, `first + 1`, ... and yield the end of each, in order.

    Parameters
    ----------
    module
        the target
    first, cases
        the seeds
    scratch
        a folder for the process; the input of the last case is in `case` in it
    limits
        of each case
    """
    seed, end = first, first + cases
    while seed < end:
        for event in _run_batch(module, seed, min(BATCH, end - seed), scratch, limits):
            yield event
            seed = event.seed + 1


def _run_batch(module: Path, first: int, cases: int, scratch: Path, limits: Limits) -> Iterator[Event]:
    """Run cases in one process until they are done or the process is; the case that ends it fails."""
    scratch.mkdir(parents=True, exist_ok=True)
    reader, writer = os.pipe()
    worker = Path(__file__).parent / "worker.py"
    command = [sys.executable, worker, module, scratch, writer, first, cases, limits.megabytes]
    with open(scratch / "output.txt", "wb") as output:
        process = subprocess.Popen(
            [str(part) for part in command], pass_fds=[writer], stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
    os.close(writer)
    try:
        yield from _follow(process, _lines(reader, limits), first, cases, scratch)
    finally:
        process.kill()
        process.wait()
        os.close(reader)


def _follow(
    process: subprocess.Popen[bytes], lines: Iterator[str | None], first: int, cases: int, scratch: Path
) -> Iterator[Event]:
    """Yield the end of each case that the process reports, and a failure for the case in which it ended."""
    seed = first - 1
    prepared = False
    for line in lines:
        if line is None:  # silent for too long
            process.kill()
            failure = Failure("hang", "the case took longer than its time limit", "hang")
            break
        if line == "prepared":
            prepared = True
            continue
        event = _event(json.loads(line))
        seed = event.seed
        yield event
    else:
        failure = Failure("died", _last_words(process.wait(), scratch), "died")
    if not prepared:
        raise TargetError(f"the target could not be prepared: {failure.message}\n{_output(scratch)}")
    if seed + 1 < first + cases:
        yield Event(seed + 1, failure=failure)


def _lines(reader: int, limits: Limits) -> Iterator[str | None]:
    """Yield the lines that the process writes, and None when it is silent for longer than a case may take."""
    buffer = b""
    allowed = float(PREPARE_SECONDS)
    while True:
        deadline = time.monotonic() + allowed
        while b"\n" not in buffer:
            ready, _, _ = select.select([reader], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                yield None
                return
            received = os.read(reader, 1 << 16)
            if not received:
                return
            buffer += received
        line, _, buffer = buffer.partition(b"\n")
        allowed = limits.seconds
        yield line.decode()


def _event(message: dict[str, str | int | None]) -> Event:
    failure = message.pop("failure")
    return Event(**message, failure=None if failure is None else Failure(**failure))  # type: ignore[arg-type]


def _last_words(code: int, scratch: Path) -> str:
    cause = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    output = _output(scratch).strip().splitlines()
    return f"the process ended with {cause}" + (f": {output[-1][:200]}" if output else "")


def _output(scratch: Path) -> str:
    return (scratch / "output.txt").read_text(errors="replace")[-4000:]
