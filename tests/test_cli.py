"""The command itself: version, help, exit codes, logging, and a quick start."""

import logging
import subprocess
import sys

import pytest

import subcast
from commands.examples import run, shell


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    """An empty cache and no SUBCAST_DATA."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SUBCAST_DATA", raising=False)


def test_version():
    assert run("--version").output == f"subcast {subcast.__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["datasets"], ["sensors"]])
def test_without_a_command_the_help_is_shown(arguments):
    assert "Usage" in run(*arguments).output


@pytest.mark.parametrize("arguments", [["nonsense"], ["datasets", "inspect"], ["demo", "--seed", "x"]])
def test_wrong_usage_has_exit_code_2(arguments):
    assert run(*arguments).exit_code == 2


class TestInAShell:
    def test_an_error_is_one_sentence_on_stderr(self, tmp_path):
        done = shell("datasets", "inspect", tmp_path / "gone.csv")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("subcast: there is no file ")
        assert done.stderr.count("\n") == 1
        assert "Traceback" not in done.stderr

    def test_an_error_with_json_leaves_stdout_empty(self, tmp_path):
        done = shell("forecast", tmp_path / "gone", tmp_path / "recent.csv", "--json")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1
        assert done.stderr.startswith("subcast: ")

    def test_repairs_are_one_note_on_stderr(self, tmp_path):
        (tmp_path / "plant.csv").write_text("time,a,b\n2024-01-01,1,2\n2024-01-02,error,3\n2024-01-03,2,4\n")
        done = shell("datasets", "export", tmp_path / "plant.csv", tmp_path / "clean.csv")
        assert done.returncode == 0
        assert done.stderr.startswith("note: plant.csv: 1 cell was text in")
        assert done.stderr.count("\n") == 1
        assert "written to" in done.stdout

    def test_folder_that_cannot_be_created(self, tmp_path):
        (tmp_path / "file").touch()
        done = shell("demo", "-o", tmp_path / "file" / "below")
        assert done.returncode == 2
        assert "subcast: " in done.stderr
        assert "Not a directory" in done.stderr
        assert "Traceback" not in done.stderr


VERBS = [
    "demo",
    "train",
    "fit",
    "forecast",
    "evaluate",
    "refresh",
    "reproduce",
    "report",
    "datasets list",
    "datasets inspect",
]


@pytest.mark.parametrize("verb", [*VERBS, "datasets export", "sensors list", "sensors maintain", "sensors replace"])
def test_every_option_has_a_help_text(verb):
    from typer.main import get_command

    from subcast.cli import app

    command = get_command(app)
    for name in verb.split():
        command = command.commands[name]
    assert command.params
    for parameter in command.params:
        assert getattr(parameter, "help", None), parameter.name


@pytest.mark.parametrize("arguments", [["--help"], ["fit", "--help"], ["datasets", "list", "--json"]])
def test_help_and_lists_do_not_import_torch(arguments):
    code = (
        "import sys; sys.argv = ['subcast', *sys.argv[1:]]\n"
        "from subcast.cli import main\n"
        "try:\n    main()\n"
        "finally:\n    assert not {'torch', 'lightning', 'numba'} & set(sys.modules), 'heavy import'\n"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120)
    assert "heavy import" not in done.stderr
    assert done.returncode == 0, done.stderr


class TestVerbose:
    def test_silent_by_default(self, tmp_path):
        write_solar(tmp_path)
        done = shell("datasets", "inspect", "solar-fl", SUBCAST_DATA=str(tmp_path))
        assert done.returncode == 0
        assert "subcast.datasets" not in done.stderr

    def test_shows_log_messages_on_stderr(self, tmp_path):
        write_solar(tmp_path)
        done = shell("--verbose", "datasets", "inspect", "solar-fl", "--json", SUBCAST_DATA=str(tmp_path))
        assert f"subcast.datasets.base: dataset solar-fl: reading {tmp_path / 'solar_fl_dayahead.npz'}" in done.stderr
        assert done.stdout.startswith("{")

    def test_handler_is_removed_afterwards(self):
        library = logging.getLogger("subcast")
        before = (list(library.handlers), library.level)
        run("--verbose", "datasets", "list")
        assert (library.handlers, library.level) == before


def write_solar(folder):
    import numpy as np

    np.savez(folder / "solar_fl_dayahead.npz", values=np.ones((3650, 216)), variables=[f"p{n}" for n in range(216)])
