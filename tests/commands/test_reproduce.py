"""`subcast reproduce`: names that are not known."""

from pathlib import Path

import pytest

from subcast.commands.reproduce import run_reproduction
from subcast.errors import InputError


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
            lambda: run_reproduction(["table-main"], models=[","], results=Path(), checkpoints=()),
            "--models names nothing",
        ),
    ],
)
def test_unknown_names(call, words):
    with pytest.raises(InputError, match=words):
        call()
