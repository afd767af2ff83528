"""Feed subcast with generated inputs, most of them dirty or damaged, and check what it makes of them.

`python fuzz/run.py --target files --cases 1000` runs a thousand cases; `make fuzz` runs all targets for a bounded time.
A target is a module of this folder with two functions:

- `prepare(work)` makes what all cases share (a folder to write to, a tiny fitted wrapper) and returns it;
- `run_case(context, seed)` makes one input from the seed alone, gives it to subcast, and returns "refused" (one of
  subcast's own errors), "accepted", or "checked" (accepted, and equal to an independent reading). It may return a pair
  of that and the kind of the input, for the record. Whatever it raises is a failure of the case.

Cases run in a process of their own. One that dies, hangs or needs too much memory is recorded with its seed, and the
run goes on with the next. `python fuzz/run.py --target files --seed 123` repeats one case and keeps its input. A run
continues after the last seed of its record (`--fresh` starts a new one), so it can be stopped at any time.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent
sys.path.insert(1, str(ROOT / "src"))  # this tree, whatever is installed

from cases import Event, Failure, Limits, TargetError, run_cases  # noqa: E402
from tally import Record, Tally  # noqa: E402

TARGETS = ("files", "frames", "streams", "commands", "folders")


@dataclass(frozen=True)
class Plan:
    """What to run for one target: its module, the seeds, and until when."""

    target: str
    module: Path
    first_seed: int
    cases: int
    deadline: float  # of time.monotonic


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code: 0 without failures, 1 with, 2 for wrong arguments."""
    options = _parser().parse_args(arguments)
    modules = _modules(options.target)
    if not modules:
        print(f"fuzz: there is no target {options.target!r}: give one of {', '.join(TARGETS)}, all, or a .py file")
        return 2
    if options.seed is not None:
        return _repeat(modules, options)
    record = Record(Path(options.record), fresh=options.fresh)
    end = time.monotonic() + 60 * options.minutes
    failures = 0
    for number, (target, module) in enumerate(modules.items()):
        share = (end - time.monotonic()) / (len(modules) - number)  # the time that is left, in equal parts
        tally = record.tally(target)
        first = tally.next_seed if options.first_seed is None else options.first_seed
        plan = Plan(target, module, first, options.cases, time.monotonic() + share)
        try:
            failures += _run(plan, tally, record, options)
        except TargetError as error:
            print(f"fuzz: {error}")
            return 2
    print(f"record: {options.record}")
    return 1 if failures else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Feed subcast with generated inputs and check what it makes of them.")
    parser.add_argument("--target", default="all", help="files, frames, streams, commands, folders, all, or a .py file")
    parser.add_argument("--cases", type=int, default=1000, help="the most cases for each target")
    parser.add_argument("--minutes", type=float, default=10.0, help="the most minutes for all targets together")
    parser.add_argument("--first-seed", type=int, help="the seed of the first case; by default the run is continued")
    parser.add_argument("--seed", type=int, help="repeat the case of this seed alone; the record is not changed")
    parser.add_argument("--record", default=str(ROOT / "runs" / "fuzz" / "record.json"), help="the file of the counts")
    parser.add_argument("--fresh", action="store_true", help="start the record anew")
    parser.add_argument("--work", default=str(ROOT / "runs" / "fuzz"), help="the folder of inputs that failed")
    parser.add_argument("--case-seconds", type=float, default=120.0, help="a case that takes longer hangs")
    parser.add_argument("--case-megabytes", type=int, default=1500, help="memory that a case may take")
    parser.add_argument("--most-failures", type=int, default=100, help="a target stops after this many failures")
    return parser


def _modules(target: str) -> dict[str, Path]:
    """Return the modules of the chosen targets by name."""
    if target.endswith(".py"):
        path = Path(target).resolve()
        return {path.stem: path} if path.exists() else {}
    names = TARGETS if target == "all" else (target,)
    paths = {name: FOLDER / f"{name}.py" for name in names if name in TARGETS}
    return {name: path for name, path in paths.items() if path.exists()}


def _limits(options: argparse.Namespace) -> Limits:
    return Limits(seconds=options.case_seconds, megabytes=options.case_megabytes)


def _run(plan: Plan, tally: Tally, record: Record, options: argparse.Namespace) -> int:
    """Run the cases of one target, update its tally, and return the number of failures."""
    kept = Path(options.work) / "failures" / plan.target
    scratch = Path(options.work) / "scratch" / plan.target
    started, saved, failed = time.monotonic(), time.monotonic(), 0
    for event in run_cases(plan.module, plan.first_seed, plan.cases, scratch, _limits(options)):
        now = time.monotonic()
        tally.add(event, now - started)
        started = now
        if event.failure is not None:
            failed += 1
            _report(plan.target, plan.module, event, tally)
            if tally.is_new(event.failure):
                _keep(scratch, event.seed, kept)
        if now - saved > 10:
            record.save()
            saved = now
        if now > plan.deadline or failed >= options.most_failures:
            break
    record.save()
    print(f"{plan.target}: {tally.sentence()}")
    return failed


def _report(target: str, module: Path, event: Event, tally: Tally) -> None:
    failure: Failure = event.failure  # type: ignore[assignment]
    seen = tally.count_of(failure)
    if seen > 3:
        return
    name = target if module.parent == FOLDER else module
    print(f"{target}, seed {event.seed}: {failure.kind}: {failure.message}", flush=True)
    print(f"  again: python fuzz/run.py --target {name} --seed {event.seed}", flush=True)


def _keep(scratch: Path, seed: int, folder: Path) -> Path:
    """Move the input of a case to a folder, and return where it is now; that of a dead process is still in `case`."""
    kept = folder / str(seed)
    for source in (scratch / "kept" / str(seed), scratch / "case"):
        if source.is_dir():
            shutil.rmtree(kept, ignore_errors=True)
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(source, kept)
            break
    return kept


def _repeat(modules: dict[str, Path], options: argparse.Namespace) -> int:
    """Run one case of each target, print its whole traceback, and keep its input."""
    failed = False
    for target, module in modules.items():
        scratch = Path(options.work) / "scratch" / f"{target}-again"
        for event in run_cases(module, options.seed, 1, scratch, _limits(options)):
            folder = _keep(scratch, options.seed, Path(options.work) / "failures" / target)
            failed |= event.failure is not None
            result = event.outcome if event.failure is None else f"{event.failure.kind}\n{event.failure.traceback}"
            print(f"{target}, seed {event.seed}{f' ({event.kind})' if event.kind else ''}: {result}")
            if folder.is_dir():
                print(f"input: {folder}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
