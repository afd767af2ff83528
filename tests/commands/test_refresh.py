"""`subcast refresh`: new readings go into the folder of a wrapper."""

import json
import shutil

import numpy as np
import pytest

import subcast
from commands.examples import run, shell, waves
from subcast.errors import InputError
from subcast.screening import Screener


@pytest.fixture
def plant(fitted, tmp_path):
    """A copy of the wrapper, and a file of readings of the steps after its bank."""
    shutil.copytree(fitted[0] / "plant", tmp_path / "plant")
    robust = subcast.load(tmp_path / "plant")
    first = robust.metadata_.times[-1] + np.timedelta64(1, "h")
    series = waves()
    times = first + np.arange(len(series)) * np.timedelta64(1, "h")
    later = subcast.Series(series.values, robust.variables, times, freq="h")[:30]
    later.save(tmp_path / "new.csv")
    return tmp_path


def test_appends_and_says_so(plant):
    before = len(subcast.load(plant / "plant").fitted_.bank)
    output = run("refresh", plant / "plant", plant / "new.csv").output
    robust = subcast.load(plant / "plant")
    assert len(robust.fitted_.bank) == before + 30
    assert f"30 steps from {robust.report_['refreshes'][0]['first']}" in output
    assert f"30 new windows, {before + 30:,} in all" in output
    assert "intervals stay as they were: too few new windows" in output


def test_json_and_another_folder(plant):
    before = (plant / "plant" / "wrapper.json").read_bytes()
    done = run("refresh", plant / "plant", plant / "new.csv", "-o", plant / "other", "--json")
    assert json.loads(done.stdout)["steps"] == 30
    assert (plant / "plant" / "wrapper.json").read_bytes() == before
    assert subcast.load(plant / "other").report_["refreshes"][0]["steps"] == 30


def test_the_screener_of_the_folder_stays(plant):
    robust = subcast.load(plant / "plant")
    Screener.fit(robust, waves()).save(plant / "plant")
    before = Screener.load(plant / "plant")
    run("refresh", plant / "plant", plant / "new.csv")
    after = Screener.load(plant / "plant")  # would be refused if it were that of another wrapper
    assert np.array_equal(after.rules.instant, before.rules.instant)
    assert after.source != before.source


def test_what_is_known_is_refused_or_left_out(plant):
    run("refresh", plant / "plant", plant / "new.csv")
    with pytest.raises(InputError, match="only what came after that"):
        run("refresh", plant / "plant", plant / "new.csv")
    with pytest.raises(InputError, match="the file has no reading after"):
        run("refresh", plant / "plant", plant / "new.csv", "--new-only")
    robust = subcast.load(plant / "plant")
    times = robust.metadata_.times[-1] + np.arange(-3, 3) * np.timedelta64(1, "h")
    subcast.Series(waves().values[:6], robust.variables, times, freq="h").save(plant / "more.csv")
    run("refresh", plant / "plant", plant / "more.csv", "--new-only")
    assert len(subcast.load(plant / "plant").metadata_.times) == len(robust.metadata_.times) + 2


def test_an_error_is_one_sentence(plant):
    done = shell("refresh", plant / "plant", plant / "gone.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no file" in done.stderr
    assert done.stderr.count("\n") == 1
