"""Tests of folders: a state is saved completely or not at all, and a damaged one is refused."""

import json
import os
import zlib

import numpy as np
import pytest

from subcast.errors import DataError, DataNotFoundError, InputError
from subcast.storage import folders, pages
from subcast.storage.state import State


def state(value=1.0, facts=None):
    arrays = {"rows": np.full((4, 5), value, dtype=np.float32), "empty": np.zeros((0, 3)), "part.starts": np.arange(3)}
    return State({"lookback": 12} if facts is None else facts, arrays, {"weights.safetensors": b"\x00" * 100})


@pytest.fixture
def saved(tmp_path):
    folders.save_state(tmp_path / "thing", "thing", state())
    return tmp_path / "thing"


def page_of(folder):
    return json.loads(json.loads((folder / "thing.json").read_text())["page"])


def write_page(folder, page, version=pages.FORMAT):
    text = json.dumps(page)
    outside = {"format": version, "checksum": zlib.crc32(text.encode()), "page": text}
    (folder / "thing.json").write_text(json.dumps(outside))


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


@pytest.mark.parametrize("failing", ["replace", "fsync"])
def test_a_failed_save_keeps_the_old_state(saved, monkeypatch, failing):
    before = {name: (saved / name).read_bytes() for name in os.listdir(saved)}

    def fail(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(folders.os, failing, fail)
        with pytest.raises(OSError, match="No space left"):
            folders.save_state(saved, "thing", state(2.0))
    assert {name: (saved / name).read_bytes() for name in os.listdir(saved)} == before


def test_a_failed_first_save_leaves_no_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(folders.os, "replace", lambda *_: (_ for _ in ()).throw(OSError("no")))
    with pytest.raises(OSError, match="no"):
        folders.save_state(tmp_path / "new", "thing", state())
    assert not (tmp_path / "new").exists()


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
        write_page(saved, {"laid": "out otherwise"}, version=pages.FORMAT + 1)
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

    def test_a_flipped_bit_is_detected_at_the_ends_and_with_verify_anywhere(self, tmp_path):
        big = State({}, {"rows": np.zeros(200_000, dtype=np.float64)})
        folders.save_state(tmp_path / "thing", "thing", big)
        (path,) = (tmp_path / "thing").glob("*.npy")
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(bytes(content))
        with pytest.raises(DataError, match="its checksum differs"):
            folders.open_state(tmp_path / "thing", "thing", verify=True)
        content[len(content) // 2] ^= 1
        content[-1] ^= 1
        path.write_bytes(bytes(content))
        with pytest.raises(DataError, match="its checksum differs"):
            folders.open_state(tmp_path / "thing", "thing")
