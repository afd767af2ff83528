"""The target of saved folders: a few dozen cases, and that it finds what it is there to find."""

import zlib

import numpy as np
import pytest

from subcast.storage import fields, folders

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def context(program, tmp_path_factory):
    return program("folders").prepare(tmp_path_factory.mktemp("fuzz"))


def ends_of(program, context, seeds):
    target, worker = program("folders"), program("worker")
    return [worker.run_one(target.run_case, context, seed) for seed in seeds]


def test_damaged_folders_are_refused_or_harmless(program, context):
    ends = ends_of(program, context, range(70))
    failures = [f"seed {end['seed']}: {end['failure']['traceback']}" for end in ends if end["failure"]]
    assert not failures, "\n".join(failures)
    outcomes = [end["outcome"] for end in ends]
    assert outcomes.count("refused") > 35
    assert outcomes.count("checked") > 5
    kinds = " ".join(end["kind"] for end in ends)
    for kind in ("wrapper", "bank", "forecaster", "table", "facts", "arrays", "bytes", "files"):
        assert kind in kinds


def test_a_folder_that_is_not_verified_is_found(program, context, monkeypatch):
    monkeypatch.setattr(folders, "_checksum", lambda file: -1)
    monkeypatch.setattr(folders, "_check_content", lambda *_: None)
    failures = [end["failure"] for end in ends_of(program, context, range(200)) if end["failure"]]
    assert any("differs from what was saved" in failure["message"] for failure in failures)


def test_values_that_are_not_looked_through_are_found(program, context, monkeypatch):
    monkeypatch.setattr(fields, "_check_values", lambda *_: None)
    assert any(end["failure"] for end in ends_of(program, context, range(140)))


def test_the_examples_are_those_that_users_save(context):
    kinds = [example.kind for example in context.examples.values()]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {"wrapper": 5, "forecaster": 4, "bank": 2, "table": 1}
    assert all(np.isfinite(part).all() for example in context.examples.values() for part in example.expected)


def test_pages_are_sealed_as_subcast_seals_them(program, context, tmp_path):
    damage = program("folder_damage")
    for example in context.examples.values():
        page = damage.read_page(example.folder, example.kind)
        damage.write_page(tmp_path, example.kind, page)
        name = f"{example.kind}.json"
        assert (tmp_path / name).read_bytes() == (example.folder / name).read_bytes()
        for marks in damage.listed(page):
            content = (example.folder / marks["file"]).read_bytes()
            assert damage.marks_of(content).items() <= marks.items()
            assert marks["whole"] == zlib.crc32(content)
