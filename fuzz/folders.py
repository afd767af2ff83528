"""Saved folders in: wrappers, checkpoints, banks and tables, damaged with and without new checksums.

A folder whose checksums were not computed again must be refused, or answer to the bit as the honest one. With new
checksums it must be refused, or be a folder that fits together and answers with finite numbers.
"""

from __future__ import annotations

import os
import resource
import shutil
from dataclasses import dataclass
from pathlib import Path
from random import Random

import folder_damage as damage
import numpy as np
from folder_examples import Example, make_examples
from subcast.errors import DataError, InputError, SubcastError


class WrongAnswerError(Exception):
    """A damaged folder was loaded and answers what it must not."""


@dataclass
class Context:
    """The honest folders, where the damaged ones go, and the memory that the honest ones took, in bytes."""

    examples: dict[str, Example]
    case: Path
    peak: int


def prepare(work: Path) -> Context:
    """Save the honest folders and ask each for its answer."""
    honest = work / "honest"
    shutil.rmtree(honest, ignore_errors=True)
    honest.mkdir(parents=True)
    examples = make_examples(honest)
    return Context(examples, work / "case", _peak())


def run_case(context: Context, seed: int) -> tuple[str, str]:
    """Damage a copy of one folder, open it, and compare what it answers."""
    random = Random(seed)
    name = random.choice(sorted(context.examples))
    example = context.examples[name]
    folder = _copy(example.folder, context.case)
    other = random.choice([one.folder for one in context.examples.values()])
    kind, sealed = _damage(folder, example, other, random)
    outcome = _outcome(example, folder, sealed)
    if _peak() > 2 * context.peak:
        raise MemoryError(f"{_peak() / 1e6:.0f} MB were needed, and {context.peak / 1e6:.0f} MB by the honest folders")
    return outcome, f"{example.kind}: {kind}"


def _copy(source: Path, case: Path) -> Path:
    """Return a copy of a folder whose files are hard links, where the disk allows it."""
    shutil.rmtree(case, ignore_errors=True)
    folder = case / "saved"
    folder.mkdir(parents=True)
    for file in source.iterdir():
        try:
            os.link(file, folder / file.name)
        except OSError:
            shutil.copyfile(file, folder / file.name)
    return folder


def _damage(folder: Path, example: Example, other: Path, random: Random) -> tuple[str, bool]:
    """Damage a folder; return how, and whether its checksums were computed again."""
    page = damage.read_page(folder, example.kind)
    files = [folder / marks["file"] for marks in damage.listed(page)]
    how = random.random()
    if how < 0.2:
        damage.change_bytes(random.choice([*files, folder / f"{example.kind}.json"]), random)
        return "bytes", False
    if how < 0.3:
        damage.change_file(folder, random.choice(files), page, other, random)
        if random.random() < 0.7:
            damage.write_page(folder, example.kind, page)
        return "files", False
    if how < 0.4:
        damage.change_text(folder, example.kind, random)
        return "text of the page", True
    if how < 0.7 or (not page["arrays"] and random.random() < 0.6):
        for _ in range(random.choice([1, 1, 1, 2, 5])):
            damage.change_fact(page, random)
        kind = "facts"
    elif page["arrays"] and random.random() < 0.85:
        damage.change_array(folder, page, random)
        kind = "arrays"
    else:
        marks = random.choice(damage.listed(page))
        damage.change_bytes(folder / marks["file"], random)
        marks |= damage.marks_of((folder / marks["file"]).read_bytes())
        kind = "bytes with new checksums"
    damage.write_page(folder, example.kind, page)
    return kind, True


def _outcome(example: Example, folder: Path, sealed: bool) -> str:
    try:
        opened = example.open(folder)
    except SubcastError as error:
        _check_sentence(error, InputError if example.own_model else DataError)
        return "refused"
    try:
        answers = example.answer(opened)
    except SubcastError as error:
        if not sealed:
            raise WrongAnswerError(f"it was loaded, and does not answer: {error}") from error
        _check_sentence(error, SubcastError)
        return "refused"
    if _equal(answers, example.expected):
        return "checked"
    if not sealed:
        raise WrongAnswerError("a folder that differs from what was saved was loaded and answers otherwise")
    if not all(np.isfinite(part).all() for part in answers):
        raise WrongAnswerError("the answer is not finite")
    return "accepted"


def _check_sentence(error: SubcastError, kind: type[SubcastError]) -> None:
    message = str(error)
    if not isinstance(error, kind) or not message or "\n" in message or len(message) > 800:
        raise WrongAnswerError(f"{type(error).__name__} is no sentence about data: {message[:2000]}") from error


def _equal(answers: list[np.ndarray], expected: list[np.ndarray]) -> bool:
    return len(answers) == len(expected) and all(
        a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in zip(answers, expected, strict=True)
    )


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
