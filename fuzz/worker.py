"""The process in which cases run: python fuzz/worker.py MODULE SCRATCH PIPE FIRST CASES MEGABYTES."""

from __future__ import annotations

import contextlib
import faulthandler
import importlib.util
import json
import os
import resource
import shutil
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

OUTCOMES = ("refused", "accepted", "checked")


def main() -> None:
    """Prepare the target, run its cases, and write the end of each to the pipe as a line of JSON."""
    module, scratch, pipe, first, cases, megabytes = sys.argv[1:]
    faulthandler.enable()
    sys.path.insert(1, str(Path(__file__).resolve().parent.parent / "src"))  # this tree, whatever is installed
    target = load(Path(module))
    with os.fdopen(int(pipe), "w", buffering=1) as report:
        context = target.prepare(Path(scratch))
        _limit_memory(int(megabytes))
        report.write("prepared\n")
        for seed in range(int(first), int(first) + int(cases)):
            end = run_one(target.run_case, context, seed)
            if end["failure"] is not None:
                keep_input(Path(scratch), seed)
            report.write(json.dumps(end) + "\n")


def load(path: Path) -> ModuleType:
    """Import a target from its file; the modules beside it can be imported too."""
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(f"fuzz_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def run_one(run_case: Callable[[Any, int], Any], context: Any, seed: int) -> dict[str, Any]:
    """Run one case and return its end."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = run_case(context, seed)
        outcome, kind = result if isinstance(result, tuple) else (result, "")
        if outcome not in OUTCOMES:
            raise ValueError(f"run_case must return one of {', '.join(OUTCOMES)}, got {outcome!r}")
    except BaseException as error:  # a case may raise anything, also SystemExit
        return {"seed": seed, "outcome": "", "kind": "", "failure": _failure(error)}
    return {"seed": seed, "outcome": outcome, "kind": kind, "failure": None}


def keep_input(scratch: Path, seed: int) -> None:
    """Copy the input of a case to the folder `kept`, before the next case writes over it."""
    with contextlib.suppress(OSError, shutil.Error):  # the case may have removed it, or left a pipe
        shutil.copytree(scratch / "case", scratch / "kept" / str(seed), symlinks=True, dirs_exist_ok=True)


def _failure(error: BaseException) -> dict[str, str]:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "subcast" in Path(frame.filename).parts] or frames
    where = f"{'/'.join(Path(own[-1].filename).parts[-2:])}:{own[-1].name}" if own else ""
    text = "".join(traceback.format_exception(error))
    return {"kind": type(error).__name__, "message": str(error)[:500], "where": where, "traceback": text[-6000:]}


def _limit_memory(megabytes: int) -> None:
    """Let the process take this much more memory than it has now; what asks for more gets a MemoryError."""
    status = Path("/proc/self/status")
    if not status.exists():
        return
    size = next(line for line in status.read_text().splitlines() if line.startswith("VmSize"))
    limit = int(size.split()[1]) * 1024 + megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


if __name__ == "__main__":
    main()
