"""Every example runs, and the outputs that the tutorials show are those of their programs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
TUTORIALS = ROOT / "docs" / "tutorials"
NUMBER = re.compile(r"(?<![\w.:-])-?\d+(?:\.\d+)?(?![\w:-])")


def disagreements(shown, printed):
    """Return the lines that differ in their words, or in a number by more than a tenth of it and 0.3."""
    shown_lines, printed_lines = shown.splitlines(), printed.splitlines()
    if len(shown_lines) != len(printed_lines):
        return [f"{len(shown_lines)} lines are shown, {len(printed_lines)} were printed"]
    different = []
    for old, new in zip(shown_lines, printed_lines, strict=True):
        same_words = NUMBER.sub("#", old).split() == NUMBER.sub("#", new).split()
        pairs = zip(map(float, NUMBER.findall(old)), map(float, NUMBER.findall(new)), strict=False)
        if not same_words or any(abs(a - b) > max(0.3, 0.1 * abs(a)) for a, b in pairs):
            different.append(f"shown: {old}\nprinted: {new}")
    return different


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(example, tmp_path):
    done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    if done.stdout.startswith("This example needs"):
        pytest.skip(done.stdout.strip())
    shown = TUTORIALS / f"{example.stem}.txt"
    if shown.exists():
        message = f"run python examples/{example.name} > docs/tutorials/{shown.name}"
        assert not disagreements(shown.read_text(), done.stdout), message


def test_every_output_that_a_tutorial_shows_has_its_program():
    outputs = {path.stem for path in TUTORIALS.glob("*.txt")}
    assert outputs == {"traffic_day", "wrap_darts"}
    assert outputs <= {path.stem for path in EXAMPLES}


def test_differences_between_shown_and_printed_output_are_noticed():
    shown = "Series 'a': 12 steps\nerror 2.00 km/h at 17:30"
    assert not disagreements(shown, shown)
    assert not disagreements(shown, shown.replace("2.00", "2.15"))
    assert disagreements(shown, shown.replace("2.00", "2.50"))
    assert disagreements(shown, shown.replace("error", "gap"))
    assert disagreements(shown, shown + "\nmore")
