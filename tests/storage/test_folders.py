"""Tests of folders: a state is saved completely or not at all, and a damaged one is refused."""

import errno
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sealed import page_of, write_page
from subcast.errors import DataError, DataNotFoundError, InputError, WriteError
from subcast.storage import folders, pages
from subcast.storage.state import State


def state(value=1.0, facts=None):
    arrays = {"rows": np.full((4, 5), value, dtype=np.float32), "empty": np.zeros((0, 3)), "part.starts": np.arange(3)}
    return State({"lookback": 12} if facts is None else facts, arrays, {"weights.safetensors": b"\x00" * 100})


@pytest.fixture
def saved(tmp_path):
    folders.save_state(tmp_path / "thing", "thing", state())
    return tmp_path / "thing"


def contents(folder):
    return {name: (folder / name).read_bytes() for name in os.listdir(folder)}


def test_a_saved_state_is_opened_unchanged(saved):
    opened = folders.open_state(saved, "thing", verify=True)
    assert opened.facts == {"lookback": 12}
    for name, array in state().arrays.items():
        np.testing.assert_array_equal(opened.arrays[name], array)
        assert opened.arrays[name].dtype == array.dtype
    assert opened.blobs == {"weights.safetensors": b"\x00" * 100}
    assert not opened.arrays["rows"].flags.writeable
    assert folders.is_saved(saved, "thing")
    assert not folders.is_saved(saved, "bank")


def test_saving_again_removes_the_old_files(saved):
    before = set(os.listdir(saved))
    folders.save_state(saved, "thing", state(2.0))
    assert len(os.listdir(saved)) == len(before)
    assert set(os.listdir(saved)) & before == {"thing.json"}
    assert folders.open_state(saved, "thing").arrays["rows"][0, 0] == 2.0


def test_open_arrays_stay_valid_after_another_save(saved):
    opened = folders.open_state(saved, "thing")
    folders.save_state(saved, "thing", state(2.0))
    assert (opened.arrays["rows"] == 1.0).all()


class FullDisk:
    """Count the operations that write, and let one of them fail as on a full disk."""

    def __init__(self, monkeypatch, failing):
        self.failing, self.count = failing, 0
        real_open = Path.open
        for name, real in (("replace", os.replace), ("fsync", lambda _: None), ("mkdir", os.mkdir)):
            monkeypatch.setattr(os, name, self.counted(real))

        def opened(path, mode="r", *arguments, **options):
            if "x" not in mode:
                return real_open(path, mode, *arguments, **options)
            file = self.counted(real_open)(path, mode, *arguments, **options)
            return Watched(file, self)

        monkeypatch.setattr(Path, "open", opened)

    def counted(self, real):
        def call(*arguments, **options):
            self.count += 1
            if self.count == self.failing:
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(*arguments, **options)

        return call


class Watched:
    """A file whose every write counts; one that fails has written half."""

    def __init__(self, file, disk):
        self.file, self.disk = file, disk

    def write(self, piece):
        try:
            return self.disk.counted(self.file.write)(piece)
        except OSError:
            self.file.write(bytes(piece)[: len(piece) // 2])
            raise

    def __enter__(self):
        self.file.__enter__()
        return self

    def __exit__(self, *error):
        return self.file.__exit__(*error)

    def __getattr__(self, name):
        return getattr(self.file, name)


@pytest.mark.parametrize("first_save", [False, True])
def test_a_full_disk_at_any_operation_leaves_everything_as_it_was(tmp_path, monkeypatch, first_save):
    folder = tmp_path / "deep" / "thing"
    if not first_save:
        folders.save_state(folder, "thing", state())
    before = None if first_save else contents(folder)
    with monkeypatch.context() as patch:
        disk = FullDisk(patch, failing=0)
        folders.save_state(tmp_path / "another" / "thing", "thing", state(2.0))
    assert disk.count > 15
    count = disk.count if first_save else disk.count - 2  # a folder that exists need not be made, nor its parent
    for failing in range(1, count):  # the last operation is the fsync of the folder, which may fail
        with monkeypatch.context() as patch:
            FullDisk(patch, failing)
            with pytest.raises(WriteError) as error:
                folders.save_state(folder, "thing", state(2.0))
        message = str(error.value)
        assert message.startswith(f"{folder} could not be written (No space left on device), and what was there before")
        assert (error.value.errno, error.value.filename) == (errno.ENOSPC, str(folder))
        assert "\n" not in message
        if first_save:
            assert os.listdir(tmp_path) == ["another"], failing
        else:
            assert contents(folder) == before, failing
    folders.save_state(folder, "thing", state(3.0))
    assert folders.open_state(folder, "thing").arrays["rows"][0, 0] == 3.0


def test_a_small_disk(small_disk):
    """The same on a real disk of 64 kB."""
    folders.save_state(small_disk / "thing", "thing", state())
    before = contents(small_disk / "thing")
    large = State({}, {"rows": np.zeros(50_000)}, {"weights.bin": b"0" * 1000})
    for folder in (small_disk / "thing", small_disk / "new" / "thing"):
        with pytest.raises(WriteError, match=r"could not be written \(No space left on device\)"):
            folders.save_state(folder, "thing", large)
    assert os.listdir(small_disk) == ["thing"]
    assert contents(small_disk / "thing") == before


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match=r"file/thing could not be written \(Not a directory\).*check the path"):
        folders.save_state(tmp_path / "file" / "thing", "thing", state())


def test_files_left_by_a_killed_save_are_removed(saved):
    left = saved / f"thing-rows-{'0' * 16}.npy"
    left.write_bytes(b"half")
    folders.save_state(saved, "thing", state(2.0))
    assert not left.exists()


def test_allowed_other_files_are_kept(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="exists and holds no thing: give another folder, or empty it first"):
        folders.save_state(tmp_path, "thing", state())
    folders.save_state(tmp_path, "thing", state(), beside=r"notes\.txt")
    folders.save_state(tmp_path, "thing", state(2.0))
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_facts_that_json_cannot_store_keep_the_old_state(saved):
    before = sorted(os.listdir(saved))
    with pytest.raises(TypeError):
        folders.save_state(saved, "thing", state(facts={"what": object()}))
    assert sorted(os.listdir(saved)) == before


class TestRefused:
    def test_a_folder_without_a_saved_object_is_refused(self, tmp_path):
        with pytest.raises(DataNotFoundError, match=r"holds no thing \(thing\.json is missing\)"):
            folders.open_state(tmp_path, "thing")

    @pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"page": 3}', b"\xff\xfe"])
    def test_an_unreadable_page_is_refused(self, saved, content):
        (saved / "thing.json").write_bytes(content)
        with pytest.raises(DataError, match=r"thing\.json is damaged or was changed by hand"):
            folders.open_state(saved, "thing")

    def test_an_edited_page_is_refused(self, saved):
        text = (saved / "thing.json").read_text().replace("12", "13")
        (saved / "thing.json").write_text(text)
        with pytest.raises(DataError, match="is damaged or was changed by hand"):
            folders.open_state(saved, "thing")

    def test_another_kind(self, saved):
        (saved / "thing.json").rename(saved / "bank.json")
        with pytest.raises(DataError, match=r"bank\.json is a 'thing', not a bank"):
            folders.open_state(saved, "bank")

    def test_a_newer_format(self, saved):
        write_page(saved, "thing", {"laid": "out otherwise"}, version=pages.FORMAT + 1)
        with pytest.raises(DataError, match=r"is of format 2, and this version .* reads format 1: install a newer"):
            folders.open_state(saved, "thing")

    @pytest.mark.parametrize("suffix", [".npy", ".safetensors"])
    def test_missing_or_truncated_files_are_refused(self, saved, suffix):
        path = max(saved.glob(f"*{suffix}"), key=lambda path: path.stat().st_size)
        whole = path.read_bytes()
        path.write_bytes(whole[:-1])
        with pytest.raises(DataError, match=f"has {len(whole) - 1} bytes instead of {len(whole)}"):
            folders.open_state(saved, "thing")
        path.unlink()
        with pytest.raises(DataError, match="is missing"):
            folders.open_state(saved, "thing")

    def test_every_flipped_bit_is_detected(self, saved):
        rng = random.Random(0)
        for name, whole in contents(saved).items():
            places = range(8 * len(whole)) if name.endswith(".json") else rng.sample(range(8 * len(whole)), 60)
            for place in places:
                content = bytearray(whole)
                content[place // 8] ^= 1 << place % 8
                (saved / name).write_bytes(bytes(content))
                with pytest.raises(DataError, match=re.escape(name)):
                    folders.open_state(saved, "thing")
            (saved / name).write_bytes(whole)
        folders.open_state(saved, "thing")

    def test_a_zeroed_middle_is_detected_unless_verify_is_off(self, tmp_path):
        big = State({}, {"rows": np.ones(200_000)})
        folders.save_state(tmp_path / "thing", "thing", big)
        (path,) = (tmp_path / "thing").glob("*.npy")
        content = bytearray(path.read_bytes())
        content[800_000:800_008] = bytes(8)
        path.write_bytes(bytes(content))
        with pytest.raises(DataError, match="its checksum differs"):
            folders.open_state(tmp_path / "thing", "thing")
        assert folders.open_state(tmp_path / "thing", "thing", verify=False).trusted
        content[-1] ^= 1
        path.write_bytes(bytes(content))
        with pytest.raises(DataError, match="its checksum differs"):
            folders.open_state(tmp_path / "thing", "thing", verify=False)

    def test_files_of_another_save_are_detected(self, saved, tmp_path):
        folders.save_state(tmp_path / "other", "thing", state(2.0))
        for mine in sorted(saved.glob("thing-*")):
            for other in sorted((tmp_path / "other").glob("thing-*")):
                whole = mine.read_bytes()
                if whole != other.read_bytes():
                    shutil.copy(other, mine)
                    with pytest.raises(DataError, match=re.escape(mine.name)):
                        folders.open_state(saved, "thing")
                    mine.write_bytes(whole)
        shutil.copy(tmp_path / "other" / "thing.json", saved)
        with pytest.raises(DataError, match="is missing"):
            folders.open_state(saved, "thing")

    @pytest.mark.parametrize("what", ["pipe", "link", "link to a device", "loop", "folder"])
    @pytest.mark.parametrize("which", ["*.npy", "*.safetensors", "thing.json"])
    def test_only_regular_files_are_opened(self, saved, tmp_path, what, which):
        path = sorted(saved.glob(which))[0]
        shutil.copy(path, tmp_path / "outside")
        path.unlink()
        make = {
            "pipe": lambda: os.mkfifo(path),
            "link": lambda: path.symlink_to(tmp_path / "outside"),
            "link to a device": lambda: path.symlink_to("/dev/zero"),
            "loop": lambda: path.symlink_to(path.name),
            "folder": path.mkdir,
        }
        make[what]()
        with pytest.raises(DataError, match=rf"{re.escape(path.name)} is no (regular file|file of its own)"):
            folders.open_state(saved, "thing")

    def test_a_linked_folder_is_opened(self, saved, tmp_path):
        (tmp_path / "link").symlink_to(saved)
        assert folders.open_state(tmp_path / "link", "thing").facts == {"lookback": 12}

    @pytest.mark.parametrize("name", ["../secret", "/etc/hostname", "", ".", "thing.json", 3, None, ["a"], "a\0b"])
    def test_names_that_lead_elsewhere(self, saved, name):
        for group in ("arrays", "blobs"):
            page = page_of(saved, "thing")
            next(iter(page[group].values()))["file"] = name
            write_page(saved, "thing", page)
            with pytest.raises(DataError, match="lists a file under a name that no save gives"):
                folders.open_state(saved, "thing")

    def test_the_name_of_an_array_cannot_lead_elsewhere(self, saved, tmp_path):
        page = page_of(saved, "thing")
        marks = page["arrays"].pop("rows")
        secret = f"/../../secret-{'0' * 16}.npy"
        shutil.copy(saved / marks["file"], tmp_path / secret[7:])
        page["arrays"]["/../../secret"] = {**marks, "file": f"thing-{secret}"}
        write_page(saved, "thing", page)
        with pytest.raises(DataError, match="under a name that no save gives"):
            folders.open_state(saved, "thing")

    @pytest.mark.parametrize(
        "change",
        [
            {"shape": [10**9, 10**9]},
            {"shape": [5, 4]},
            {"shape": [4, 5, 1]},
            {"shape": None},
            {"shape": [2.0, 10.0]},
            {"dtype": "object"},
            {"dtype": "int32"},
            {"dtype": 3},
            {"bytes": 10**15},
            {"bytes": "many"},
            {"bytes": True},
            {"whole": None},
        ],
        ids=str,
    )
    def test_marks_that_do_not_fit_the_file(self, saved, change):
        page = page_of(saved, "thing")
        page["arrays"]["rows"] |= change
        write_page(saved, "thing", page)
        with pytest.raises(DataError, match=r"thing-rows-\w+\.npy"):
            folders.open_state(saved, "thing")

    def test_marks_that_are_no_marks(self, saved):
        page = page_of(saved, "thing")
        for marks in (None, [], "rows", 3):
            page["arrays"]["rows"] = marks
            write_page(saved, "thing", page)
            with pytest.raises(DataError, match="lists a file under a name"):
                folders.open_state(saved, "thing")


class TestSavingAndOpeningAtOnce:
    """Every reader gets the old or the new state, complete."""

    def test_processes_for_a_moment(self, tmp_path):
        stress(tmp_path / "thing", saves=60, opens=120)

    @pytest.mark.slow
    def test_processes_for_long(self, tmp_path):
        stress(tmp_path / "thing", saves=800, opens=1500, readers=3)


SAVER = """
import os, sys, numpy as np
os.fsync = lambda handle: None  # as on a fast disk
from subcast.storage import folders
from subcast.storage.state import State
for number in range(int(sys.argv[2])):
    arrays = {f"part{i}.rows": np.full(50 + number % 7, number, dtype=np.int64) for i in range(12)}
    folders.save_state(sys.argv[1], "thing", State({"number": number}, arrays, {"w.bin": str(number).encode()}))
"""
READER = """
import sys
from subcast.storage import folders
seen = set()
for _ in range(int(sys.argv[2])):
    state = folders.open_state(sys.argv[1], "thing")
    number = state.facts["number"]
    assert all((array == number).all() and len(array) == 50 + number % 7 for array in state.arrays.values())
    assert state.blobs == {"w.bin": str(number).encode()}
    seen.add(number)
print(len(seen))
"""


def stress(folder, saves, opens, readers=2):
    """Save in one process without a pause, and open in others; fail if any of them fails."""
    command = [sys.executable, "-c"]
    environment = {**os.environ, "PYTHONPATH": str(Path(folders.__file__).parents[2]), "OMP_NUM_THREADS": "1"}
    subprocess.run([*command, SAVER, folder, "1"], check=True, env=environment)
    saver = subprocess.Popen([*command, SAVER, folder, str(saves)], env=environment)
    opened = [
        subprocess.Popen([*command, READER, folder, str(opens)], env=environment, stdout=subprocess.PIPE)
        for _ in range(readers)
    ]
    seen = [int(process.communicate()[0] or 0) for process in opened]
    assert [process.returncode for process in opened] == [0] * readers
    assert saver.wait() == 0
    assert max(seen) > 1, "no reader met a save"
    assert len(os.listdir(folder)) == 14
