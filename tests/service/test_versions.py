"""Versions of the wrapper."""

import pytest

from service_tools import fit_wrapper, last_reading, make_series
from subcast.errors import InputError
from subcast.service.versions import Versions, fingerprints


@pytest.fixture(scope="module")
def other():
    return fit_wrapper(make_series(seed=7))


def accept(version):
    pass


def test_saving_again_gives_the_same_fingerprints(wrapper, other, tmp_path):
    for name in ("one", "two"):
        wrapper.save(tmp_path / name)
    other.save(tmp_path / "other")
    one, two, third = (fingerprints(tmp_path / name) for name in ("one", "two", "other"))
    assert one == two
    assert one["version"] != third["version"]
    assert one["bank"] != third["bank"]
    assert one["settings"] == third["settings"]


def test_a_replaced_folder_is_loaded_and_the_version_before_is_kept(plant, other):
    versions = Versions(plant, plant.with_suffix(".versions"), last_reading)
    first = versions.present
    assert versions.refresh(accept) is None
    other.save(plant)
    assert not versions.is_current
    second = versions.refresh(accept)
    assert second is versions.present
    assert second.fingerprint != first.fingerprint
    assert versions.wrapper(first.fingerprint) is not None
    assert versions.wrapper("0" * 32) is None
    assert versions.wrapper("../../etc") is None


def test_a_version_that_is_refused_leaves_the_one_before(plant, other, caplog):
    versions = Versions(plant, plant.with_suffix(".versions"), last_reading)
    before = versions.present

    def refuse(version):
        raise InputError("not this one")

    other.save(plant)
    assert versions.refresh(refuse) is None
    assert versions.present is before
    assert "not this one" in caplog.text


def test_only_so_many_versions_are_kept(wrapper, plant, tmp_path):
    versions = Versions(plant, tmp_path / "kept", last_reading, most=1)
    fingerprint = versions.present.fingerprint
    for seed in (11, 12, 13):
        fit_wrapper(make_series(n_steps=800, seed=seed)).save(plant)
        versions.refresh(accept)
    kept = {path.name for path in (tmp_path / "kept").iterdir()}
    assert versions.present.fingerprint in kept
    assert len(kept) == 2
    assert versions.wrapper(fingerprint) is None
