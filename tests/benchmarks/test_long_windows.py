"""The benchmark of long windows: small parts run alone, and the record keeps the other parts."""

import json

import numpy as np
import pytest

from benchmarks.scripts import script

long_windows = script("long_windows")


def test_generated_data_have_a_day_and_common_factors():
    series = long_windows.generated(6, 500)
    assert series.values.shape == (500, 6)
    again = long_windows.generated(6, 500)
    np.testing.assert_array_equal(series.values, again.values)
    z = long_windows.deviations(np.concatenate([series.values] * 4))
    assert abs(z.mean()) < 0.1
    assert z.std() == pytest.approx(1, abs=0.2)


def test_thinned_steps_of_a_short_window_are_all_steps():
    from subcast.retrieval.moments import LagMoments
    from subcast.subset.regression import make_regression

    z = np.random.default_rng(0).normal(size=(400, 4)).astype(np.float32)
    moments, present = LagMoments.fit(z, 8), np.array([0, 2])
    windows = z[np.arange(20)[:, None] + np.arange(5)][:, :, present]
    plan = make_regression(moments, present, 4, 5, 3, 0.1)
    expected = plan.future(plan.solve(windows), present)
    found = long_windows.thinned(moments, present, windows, 3, 0.1, 1024)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_a_part_is_written_beside_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr(long_windows.records, "RESULTS", tmp_path)
    long_windows.write("sliding", {"a": 1})
    long_windows.write("fit", {"b": 2})
    record = json.loads((tmp_path / "long-windows.json").read_text())
    assert record["figures"] == {"sliding": {"a": 1}, "fit": {"b": 2}}
    assert "load" in record["note"]


def test_the_summary_has_medians():
    found = long_windows.summary([(0.001, 0.002), (0.003, 0.004), (0.005, 0.001)])
    assert found == pytest.approx({"wall_ms": 3.0, "fastest_wall_ms": 1.0, "processor_ms": 2.0})


def test_an_unknown_part_is_refused(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["long_windows.py", "nothing"])
    with pytest.raises(SystemExit):
        long_windows.main()
    assert "there is no part 'nothing'; the parts are fit, requests" in capsys.readouterr().err
