"""Tests that files are written completely or not at all."""

import os
import stat

import pytest

from subcast.errors import InputError
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
