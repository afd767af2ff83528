"""A few dozen cases of each target, in this process; and that each target finds what it is there to find."""

import numpy as np
import pytest

from subcast import Series
from subcast.subset.stream import ForecastStream


def test_files(run_seeds):
    counts = run_seeds("files", range(60))
    assert counts["checked"] >= 15
    assert counts["refused"] >= 5


def test_frames(run_seeds):
    counts = run_seeds("frames", range(60))
    assert counts["checked"] >= 15
    assert counts["refused"] >= 5


def test_streams(run_seeds):
    assert run_seeds("streams", range(25))["checked"] >= 20


def test_commands(run_seeds):
    counts = run_seeds("commands", range(25))
    assert counts["checked"] >= 5
    assert counts["refused"] >= 2


@pytest.mark.parametrize("target", ["files", "frames"])
def test_a_factor_of_a_thousand_is_found(target, run_seeds, monkeypatch):
    build = Series._from_table.__func__

    def thousandfold(cls, *arguments):
        series = build(cls, *arguments)
        return series._with(values=series.values * np.float32(1000))

    monkeypatch.setattr(Series, "_from_table", classmethod(thousandfold))
    with pytest.raises(AssertionError, match="WrongReadingError"):
        run_seeds(target, range(20))


def test_a_stream_that_forgets_a_step_is_found(run_seeds, monkeypatch):
    add = ForecastStream._add

    def forgetful(self, row, *arguments):
        add(self, np.where(np.arange(row.size) == 1, np.float32(np.nan), row), *arguments)

    monkeypatch.setattr(ForecastStream, "_add", forgetful)
    with pytest.raises(AssertionError, match="WrongReadingError"):
        run_seeds("streams", range(5))


def test_a_raw_error_is_found(run_seeds, monkeypatch):
    def broken(*_, **__):
        raise KeyError("values")

    monkeypatch.setattr(Series, "read", broken)
    with pytest.raises(AssertionError, match="KeyError: 'values'"):
        run_seeds("files", range(3))
