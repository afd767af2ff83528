"""Tests that files are written completely or not at all."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import subcast as sc
from subcast.errors import InputError, WriteError
from subcast.plots import save_figure
from subcast.storage import files
from subcast.storage.files import whole_file


def test_the_file_appears_only_at_the_end(tmp_path):
    path = tmp_path / "a.txt"
    with whole_file(path) as temporary:
        temporary.write_text("new")
        assert not path.exists()
        assert temporary.parent == tmp_path
        assert temporary.suffix == ".txt"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_existing_file_is_kept_when_writing_fails(tmp_path, error):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail():
        with whole_file(path) as temporary:
            temporary.write_text("ha")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_an_existing_file_is_replaced(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with whole_file(str(path)) as temporary:
        temporary.write_text("new")
    assert path.read_text() == "new"


def test_file_permissions_follow_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        with whole_file(tmp_path / "a.txt") as temporary:
            temporary.write_text("x")
        assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o640
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)


def test_an_ending_that_is_not_allowed(tmp_path):
    message = r"^the file must end in .csv, .npz, got 'a.pkl'$"
    with pytest.raises(InputError, match=message), whole_file(tmp_path / "a.pkl", (".csv", ".npz")):
        pytest.fail("must not be reached")
    assert os.listdir(tmp_path) == []


def test_endings_in_capitals(tmp_path):
    with whole_file(tmp_path / "a.CSV", (".csv",)) as temporary:
        temporary.write_text("x")
    assert os.listdir(tmp_path) == ["a.CSV"]


def test_a_missing_folder_is_refused(tmp_path):
    message = "the folder of 'a.csv' does not exist: make .*no.* first"
    with pytest.raises(InputError, match=message), whole_file(tmp_path / "no" / "a.csv"):
        pytest.fail("must not be reached")


class TestLeftByAKilledRun:
    LEFT = ".a.csv.subcast-0123456789abcdef.csv"

    def test_what_a_killed_process_left_is_removed(self, tmp_path):
        code = (
            "import os, signal, sys\nfrom subcast.storage.files import whole_file\n"
            "with whole_file(sys.argv[1]) as temporary:\n"
            "    temporary.write_text('half')\n    os.kill(os.getpid(), signal.SIGKILL)\n"
        )
        environment = {**os.environ, "PYTHONPATH": str(Path(files.__file__).parents[2])}
        subprocess.run([sys.executable, "-c", code, tmp_path / "a.csv"], env=environment, check=False)
        assert len(os.listdir(tmp_path)) == 1
        with whole_file(tmp_path / "a.csv") as temporary:
            temporary.write_text("whole")
        assert os.listdir(tmp_path) == ["a.csv"]

    def test_files_of_others_are_kept(self, tmp_path):
        others = [".a.csv", ".a.csv.subcast-0123.csv", ".b.csv.subcast-0123456789abcdef.csv", "a.csv.subcast-0"]
        for name in others:
            (tmp_path / name).write_text("mine")
        (tmp_path / self.LEFT).write_text("half")
        with whole_file(tmp_path / "a.csv") as temporary:
            temporary.write_text("whole")
        assert sorted(os.listdir(tmp_path)) == sorted([*others, "a.csv"])

    def test_the_file_of_a_process_that_is_still_writing_is_kept(self, tmp_path):
        with whole_file(tmp_path / "a.csv") as first:
            first.write_text("first")
            with whole_file(tmp_path / "a.csv") as second:
                second.write_text("second")
            assert first.exists()
        assert (tmp_path / "a.csv").read_text() == "first"
        assert os.listdir(tmp_path) == ["a.csv"]

    def test_pipes_and_links_of_that_name_do_no_harm(self, tmp_path):
        (tmp_path / "precious").write_text("mine")
        (tmp_path / self.LEFT).symlink_to(tmp_path / "precious")
        os.mkfifo(tmp_path / self.LEFT.replace("0123", "ffff"))
        with whole_file(tmp_path / "a.csv") as temporary:
            temporary.write_text("whole")
        assert (tmp_path / "precious").read_text() == "mine"
        assert (tmp_path / "a.csv").read_text() == "whole"


def series():
    return sc.Series(np.random.default_rng(0).normal(size=(3000, 20)))


def picture():
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    axes.imshow(np.random.default_rng(0).random((400, 400)))
    return figure


WRITERS = {
    "a.csv": lambda path: series().save(path),
    "a.parquet": lambda path: series().save(path),
    "a.npz": lambda path: series().save(path),
    "a.png": lambda path: save_figure(picture(), path),
    "a.svg": lambda path: save_figure(picture(), path),
    "a.pdf": lambda path: save_figure(picture(), path),
}


class TestFullDisk:
    @pytest.mark.parametrize("name", WRITERS)
    def test_every_kind_of_file_on_a_small_disk(self, small_disk, name):
        path = small_disk / name
        path.write_text("old")
        with pytest.raises(WriteError) as error:
            WRITERS[name](path)
        message = str(error.value)
        assert message.startswith(f"{path} could not be written (")
        assert message.endswith("free some space, or choose another disk")
        assert "\n" not in message
        assert os.listdir(small_disk) == [name]
        assert path.read_text() == "old"

    @pytest.mark.parametrize("failing", ["open", "chmod", "fsync", "replace"])
    def test_every_operation(self, tmp_path, monkeypatch, failing):
        path = tmp_path / "a.csv"
        path.write_text("old")

        def full(*_, **__):
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, failing, full)
            message = r"a\.csv could not be written \(No space left on device\)"
            with pytest.raises(WriteError, match=message), whole_file(path) as temporary:
                Path(temporary).write_text("new")
        assert path.read_text() == "old"
        assert os.listdir(tmp_path) == ["a.csv"]

    @pytest.mark.parametrize(
        "error",
        [
            OSError("90300 requested and 49120 written"),
            OSError("[Errno 28] Error writing bytes to file. Detail: [errno 28] No space left on device"),
            RuntimeError("Unable to flush file (write failed: errno = 28, error message = 'No space left')"),
            OSError(errno.EDQUOT, "Disk quota exceeded"),
            OSError(errno.EROFS, "Read-only file system"),
        ],
    )
    def test_what_libraries_say_about_it(self, tmp_path, error):
        message = r"a\.h5 could not be written \(.*unchanged: "
        with pytest.raises(WriteError, match=message) as raised, whole_file(tmp_path / "a.h5"):
            raise error
        assert "requested" not in str(raised.value)
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize(
        "error",
        [
            OSError("the connection broke"),
            FileNotFoundError(2, "no"),
            RuntimeError("no"),
            PermissionError(errno.EACCES, "Permission denied", "/another/folder/input.csv"),
        ],
    )
    def test_other_errors_are_left_alone(self, tmp_path, error):
        with pytest.raises(type(error)) as raised, whole_file(tmp_path / "a.csv"):
            raise error
        assert raised.value is error
