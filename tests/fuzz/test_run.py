"""The runner of fuzz/: it notices every kind of failure, keeps the input, and goes on where it stopped."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).resolve().parents[2] / "fuzz" / "run.py"
HOSTILE = """
import ctypes
import time

def prepare(work):
    (work / "case").mkdir(exist_ok=True)
    return work / "case"

def run_case(folder, seed):
    (folder / "input.txt").write_text(f"input {seed}")
    if seed == 2:
        ctypes.string_at(0)
    if seed == 4:
        time.sleep(60)
    if seed == 5:
        bytearray(1 << 40)
    if seed == 6:
        raise AssertionError("a factor of 1000")
    if seed == 7:
        raise SystemExit(0)
    if seed == 8:
        return "fine"
    if seed == 9:
        print("noise")
        return "checked", "a kind"
    return "refused" if seed % 2 else "accepted"
"""
UNPREPARED = "def prepare(work):\n    raise ValueError('no data here')\n"


def run(tmp_path, *arguments, target=None, text=HOSTILE):
    if target is None:
        target = tmp_path / "hostile.py"
        target.write_text(text)
    command = [sys.executable, RUN, "--target", target, "--work", tmp_path / "work", "--record", tmp_path / "r.json"]
    arguments = ("--case-seconds", "2", *arguments)
    return subprocess.run([str(part) for part in (*command, *arguments)], capture_output=True, text=True, check=False)


def counts(tmp_path):
    return json.loads((tmp_path / "r.json").read_text())["targets"]["hostile"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")
    return folder, run(folder, "--cases", "12")


def test_every_failure_is_counted_with_its_seed(finished):
    folder, result = finished
    stored = counts(folder)
    assert result.returncode == 1
    assert {failure["kind"]: failure["seeds"] for failure in stored["failures"]} == {
        "died": [2],
        "hang": [4],
        "MemoryError": [5],
        "AssertionError": [6],
        "SystemExit": [7],
        "ValueError": [8],
    }
    assert "SIGSEGV" in stored["failures"][0]["message"]
    for seed in (2, 4, 5, 6, 7, 8):
        assert f"--target {folder / 'hostile.py'} --seed {seed}\n" in result.stdout


def test_inputs_are_refused_accepted_or_failed(finished):
    stored = counts(finished[0])
    assert [stored[name] for name in ("inputs", "refused", "accepted", "checked", "failed")] == [12, 3, 3, 1, 6]
    assert stored["kinds"] == {"a kind": {"accepted": 1, "checked": 1}}
    assert (stored["first_seed"], stored["next_seed"]) == (0, 12)


def test_the_inputs_of_failures_are_kept(finished):
    kept = finished[0] / "work" / "failures" / "hostile"
    assert sorted(path.name for path in kept.iterdir()) == ["2", "4", "5", "6", "7", "8"]
    assert all((kept / seed / "input.txt").read_text() == f"input {seed}" for seed in ("2", "4", "5", "6", "7", "8"))


def test_a_run_goes_on_after_the_last_seed(tmp_path):
    assert run(tmp_path, "--first-seed", "20", "--cases", "3").returncode == 0
    assert run(tmp_path, "--cases", "2").returncode == 0
    assert (counts(tmp_path)["first_seed"], counts(tmp_path)["next_seed"], counts(tmp_path)["inputs"]) == (20, 25, 5)
    run(tmp_path, "--cases", "1", "--fresh")
    assert (counts(tmp_path)["next_seed"], counts(tmp_path)["inputs"]) == (1, 1)


def test_a_run_ends_in_time_and_after_many_failures(tmp_path):
    run(tmp_path, "--first-seed", "100", "--cases", "1000000", "--minutes", "0.02")
    assert 0 < counts(tmp_path)["inputs"] < 1_000_000
    run(tmp_path, "--first-seed", "5", "--most-failures", "2", "--fresh")
    assert counts(tmp_path)["inputs"] == 2


def test_one_case_is_repeated_without_a_change_of_the_record(tmp_path):
    result = run(tmp_path, "--seed", "6")
    assert (result.returncode, (tmp_path / "r.json").exists()) == (1, False)
    assert "hostile, seed 6: AssertionError\nTraceback" in result.stdout
    assert (tmp_path / "work" / "failures" / "hostile" / "6" / "input.txt").read_text() == "input 6"
    assert "hostile, seed 9 (a kind): checked\n" in run(tmp_path, "--seed", "9").stdout


def test_a_target_that_cannot_be_prepared(tmp_path):
    result = run(tmp_path, text=UNPREPARED)
    assert result.returncode == 2
    assert "the target could not be prepared" in result.stdout
    assert "no data here" in result.stdout


def test_an_unknown_target(tmp_path):
    result = run(tmp_path, target="file")
    assert (result.returncode, result.stdout) == (
        2,
        "fuzz: there is no target 'file': give one of files, frames, streams, commands, folders, all, or a .py file\n",
    )
