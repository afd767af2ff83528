"""`subcast reproduce`: the list of experiments, and its JSON."""

import json
from pathlib import Path

import pytest

from commands.examples import run
from subcast.commands.reproduce import run_reproduction
from subcast.errors import InputError


def test_list_shows_every_name_in_a_narrow_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    listed = json.loads(run("reproduce", "--list", "--json").stdout)
    shown = run("reproduce", "--list").stdout
    assert len(listed) >= 20
    assert all(row["name"] in shown for row in listed)
    assert max(map(len, shown.splitlines())) <= 80


def test_json_has_the_records_and_the_skipped_cells(tmp_path):
    options = ("--dataset", "clouds-small,ecg5000", "--models", "tcn", "--draws", 2, "--every", 97, "--json")
    listed = json.loads(run("reproduce", "table-oracle-partial", *options).stdout)
    assert [Path(path).name for path in listed["records"]] == ["clouds-small-tcn.json"]
    assert all(Path(path).exists() for path in listed["records"])
    assert list(listed["skipped"]) == ["table-oracle-partial ecg5000-tcn"]
    assert "SUBCAST_DATA" in listed["skipped"]["table-oracle-partial ecg5000-tcn"]


def test_without_a_name_is_rejected():
    with pytest.raises(InputError, match="give the name of an experiment"):
        run("reproduce")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: run_reproduction(["all", "tabel-x"], results=Path(), checkpoints=()), "tabel-x"),
        (lambda: run_reproduction(["table-main"], models=["tnc"], results=Path(), checkpoints=()), "tnc"),
        (lambda: run_reproduction(["table-main"], datasets=["egc"], results=Path(), checkpoints=()), "egc"),
        (lambda: run_reproduction(["table-main"], models=["tcn,tnc"], results=Path(), checkpoints=()), "'tnc'"),
        (lambda: run_reproduction(["table-main", "tcn"], results=Path(), checkpoints=()), "did you mean --models tcn"),
        (
            lambda: run_reproduction(["table-main", "clouds"], results=Path(), checkpoints=()),
            "did you mean --dataset clouds",
        ),
        (
            lambda: run_reproduction(
                ["table-main"], datasets=["clouds-solar-size"], models=["tcn"], results=Path(), checkpoints=()
            ),
            "there is no trained model tcn-clouds-solar-size",
        ),
        (
            lambda: run_reproduction(["table-main"], models=[","], results=Path(), checkpoints=()),
            "--models names nothing",
        ),
    ],
)
def test_unknown_names(call, words):
    with pytest.raises(InputError, match=words):
        call()
