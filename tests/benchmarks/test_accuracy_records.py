"""The record of accuracy: names of pairs, the simplest model, forecasts computed once, and the choice of a rival."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import subcast as sc
from baselines.examples import hourly, parts
from benchmarks.scripts import script
from subcast.comparison import Comparison, Tally
from subcast.errors import DataNotFoundError, InputError

accuracy = script("accuracy_records")


@pytest.mark.parametrize(
    ("name", "dataset"),
    [
        ("tcn-metr-la-29", "metr-la-29"),
        ("tcn-calendar-metr-la-29", "metr-la-29"),
        ("mtgnn-ecg5000-test-first-seed2", "ecg5000-test-first"),
        ("tcn-clouds", "clouds"),
        ("linear-clouds-seed3", "clouds-seed3"),
        ("linear-exchange-rate", "exchange-rate"),
    ],
)
def test_the_dataset_of_a_pair(name, dataset):
    assert accuracy.dataset_of(name) == dataset
    kind = accuracy.Pair.named(name, (), accuracy.Size()).kind
    assert name.startswith(f"{kind}-{dataset.partition('-seed')[0]}")


def test_a_name_without_a_dataset_is_refused():
    with pytest.raises(InputError, match="'tcn-nowhere' is no pair: write MODEL-DATASET"):
        accuracy.dataset_of("tcn-nowhere")


def test_thinned_windows_meet_all_hours():
    windows = hourly(np.zeros((24 * 400, 1), dtype=np.float32)).windows(5, 3)
    thinned = accuracy.thin(windows, 400)
    assert 250 < len(thinned) < 450
    assert len({start % 24 for start in thinned.starts}) == 24
    assert accuracy.thin(windows[:10], 400).starts == windows[:10].starts


def test_the_ridge_over_all_variables_equals_least_squares():
    train, _, test = parts()
    model = accuracy.RidgeModel.fit(train, ridge=0.2)
    values = train.readings.astype(np.float64)
    mean, deviation = values.mean(axis=(0, 1)), values.std(axis=(0, 1))
    x = np.array([((w - mean) / deviation).ravel() for w in train.readings])
    y = np.array([((w - mean) / deviation).ravel() for w in train.targets])
    rows = np.vstack([x, np.sqrt(0.2 * len(x)) * np.eye(x.shape[1])])
    weights = np.linalg.lstsq(rows, np.vstack([y, np.zeros((x.shape[1], y.shape[1]))]), rcond=None)[0]
    window = ((test.readings[4] - mean) / deviation).ravel() @ weights
    expected = mean + deviation * window.reshape(test.horizon, -1)
    np.testing.assert_allclose(model(test.batch([4]).inputs)[0], expected, rtol=1e-4, atol=1e-4)


def test_forecasts_that_do_not_depend_on_s_are_computed_once():
    calls = []

    def method(windows, present):
        calls.append(len(present))
        return windows.targets[:, :, present]

    _, val, test = parts()
    once, always = (accuracy.Candidate("x", method, 0.0, needs_s=needs) for needs in (False, True))
    for windows in (test, test, val):
        for present in (np.array([1]), np.array([0, 4])):
            np.testing.assert_array_equal(once(windows, present), windows.targets[:, :, present])
    assert calls == [7, 7]  # all variables, for each kind of windows
    always(test, np.array([2]))
    assert calls == [7, 7, 1]
    assert once.windows == len(test) + len(val)
    assert set(once.cost(test, np.array([1]))) == {"fit_seconds", "request_ms", "batch_ms", "megabytes"}


def test_methods_get_the_features_they_were_fitted_on():
    _, _, test = parts(features=("time_of_day",))
    seen = []
    method = accuracy.WithFeatures(lambda windows, present: seen.append(windows.series.time_features))
    method(test, np.array([0]))
    accuracy.WithFeatures(method.method, ("day_of_week",))(test, np.array([0]))
    assert seen == [(), ("day_of_week",)]


def comparison(**sizes):
    noise = np.random.default_rng(0).normal(size=(8, 60, 12, 3))
    tallies = {
        name: Tally.join([Tally.of(size * own, np.zeros_like(own)) for own in noise]) for name, size in sizes.items()
    }
    return Comparison(tallies, [np.arange(3)] * 8, range(60))


def test_the_rival_is_chosen_on_validation_and_the_best_on_test_is_named_too():
    sizes = {"oracle": 1.0, "subcast (mae)": 0.9, "subcast without f (mae)": 0.99, "a": 1.2, "b": 0.8}
    test, val = comparison(**sizes), {"a": {"mae": 0.5, "rmse": 0.9}, "b": {"mae": 0.6, "rmse": 0.8}}
    row = accuracy.compare(test, val, "mae")
    assert (row["chosen_rival"], row["best_on_test"]) == ("a", "b")
    gaps = {name: round(gap["gap"], 6) for name, gap in row["gaps_of_default"].items()}
    assert gaps == {"oracle": -10.0, "chosen_rival": -25.0, "best_on_test": 12.5}
    assert round(row["model_adds"]["gap"], 6) == 10.0
    assert "the model adds +10.0 [+10.0, +10.0]; rival chosen on validation: a" in accuracy.sentence(row)
    json.dumps(row)


def stored(folder, comparison, **figures):
    content = {"date": "2026-01-02", "figures": {"tallies": {"test": comparison.to_record(12)}, **figures}}
    path = accuracy.record_path(folder, "tcn-x", 0.15)
    path.write_text(json.dumps(content))


def test_rivals_that_are_kept_stay_as_they_were(tmp_path):
    assert accuracy.Kept.of(tmp_path, "tcn-x", 0.15) is None
    before = comparison(**{"oracle": 1.0, "subcast (mae)": 0.95, "a": 1.2})
    stored(tmp_path, before)
    kept = accuracy.Kept.of(tmp_path, "tcn-x", 0.15)
    now = comparison(**{"oracle": 1.0, "subcast (mae)": 0.9})
    assert kept.names(now.methods) == ["a"]
    assert kept.facts() == {"rivals_measured": "2026-01-02"}
    stored(tmp_path, before, rivals_of="tcn-y", rivals_measured="2026-01-01")
    assert accuracy.Kept.of(tmp_path, "tcn-x", 0.15).facts() == {"rivals_measured": "2026-01-01", "rivals_of": "tcn-y"}
    joined = kept.join(now)
    assert joined.methods == ["oracle", "subcast (mae)", "a"]
    for name, source in (("subcast (mae)", now), ("a", before)):
        assert joined.row(name, 12)["mae"] == pytest.approx(source.row(name, 12)["mae"], rel=1e-6)


def test_rivals_of_another_pair_are_kept_if_they_need_no_model(tmp_path):
    before = comparison(**{"oracle": 1.0, "subcast (mae)": 0.95, "a": 1.2, "f, means filled in": 2.0, "b": 1.1})
    sizes = {"windows": 60, "draws": 8, "seed": 7}
    errors = {name: {"mae": size, "rmse": size} for name, size in (("a", 3.0), ("f, means filled in", 4.0), ("b", 5.0))}
    stored(tmp_path, before, validation={**sizes, "errors": errors})
    kept = replace(accuracy.Kept.of(tmp_path, "tcn-x", 0.15), without_model=True)
    now = comparison(**{"oracle": 0.9, "subcast (mae)": 0.8, "f, means filled in": 1.5})
    assert kept.names(now.methods) == ["a", "b"]
    assert kept.join(now).methods == ["oracle", "subcast (mae)", "f, means filled in", "a", "b"]
    measured = {"f, means filled in": {"mae": 1.0, "rmse": 1.0}}
    joined = kept.validation({**sizes, "errors": measured})
    assert joined["errors"] == {"a": errors["a"], "b": errors["b"], **measured}
    with pytest.raises(InputError, match="same validation windows and draws"):
        kept.validation({**sizes, "seed": 8, "errors": measured})


@pytest.mark.parametrize("change", ["draws", "starts"])
def test_rivals_of_other_windows_or_draws_are_refused(tmp_path, change):
    stored(tmp_path, comparison(oracle=1.0, a=1.2))
    now = comparison(oracle=1.0)
    other = {"draws": [np.array([0, 1, 4])] * 8, "starts": range(1, 61)}
    now = replace(now, **{change: other[change]})
    with pytest.raises(InputError, match="same windows and draws of S: measure it with --again"):
        accuracy.Kept.of(tmp_path, "tcn-x", 0.15).join(now)


def test_hardened_models_are_added_to_a_record(tmp_path, monkeypatch):
    split = parts()
    pair = SimpleNamespace(
        name="tcn-x", kind="tcn", dataset="x", n=split.test.series.n_variables, size=accuracy.Size(draws=3),
        test=split.test, val=split.val, split=split, find=lambda name: None,
    )  # fmt: skip

    def candidate(name, scale, **options):
        return accuracy.Candidate(
            name, lambda windows, s: scale * windows.readings[:, -1:, s] + 0 * windows.targets[:, :, s], 1.0, **options
        )

    monkeypatch.setattr(accuracy.records, "RESULTS", tmp_path)
    monkeypatch.setattr(accuracy, "STEP", split.test.horizon)
    with pytest.raises(InputError, match="--hardened needs a record of tcn-x at 15%, and there is none"):
        accuracy.add_hardened(pair, 0.15, tmp_path)
    own = ["oracle", *(f"{name} ({metric})" for name in ("subcast", "subcast without f") for metric in ("mae", "rmse"))]
    methods = [candidate(name, 1.0) for name in own] + [candidate("last value", 0.9, is_rival=True)]
    accuracy.write_measured(pair, 0.15, tmp_path, methods, {"mae": {"neighbors": 5}}, None, 0.0)
    path = accuracy.record_path(tmp_path, "tcn-x", 0.15)
    written = json.loads(path.read_text())
    before = written["figures"]
    hardened = candidate("masked f", 0.99, is_rival=True)
    monkeypatch.setattr(accuracy, "hardened_candidates", lambda pair: [hardened])
    accuracy.add_hardened(pair, 0.15, tmp_path)
    record = json.loads(path.read_text())
    after = record["figures"]
    assert after["default_measured"] == written["date"]
    command = "python benchmarks/accuracy_records.py tcn-x --share 0.15"
    assert record["command"] == f"{command} --again && {command} --hardened"
    assert set(after["methods"]) - set(before["methods"]) == {"masked f"}
    for name, figures in before["methods"].items():
        assert after["methods"][name] == figures
    assert after["validation"]["errors"]["last value"] == before["validation"]["errors"]["last value"]
    assert after["settings"] == before["settings"]
    assert before["rows"]["mae"]["chosen_rival"] == "last value"
    assert after["rows"]["mae"]["chosen_rival"] == "masked f"


def test_records_of_trials_go_elsewhere(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["accuracy_records.py", "linear-traffic-20", "--draws", "2"])
    with pytest.raises(SystemExit):
        accuracy.main()
    assert "are for trials: give --to" in capsys.readouterr().err


def test_ways_to_keep_rivals_exclude_each_other(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["accuracy_records.py", "tcn-metr-la-29", "--hardened", "--rivals-of", "x"])
    with pytest.raises(SystemExit):
        accuracy.main()
    assert "give at most one of --own, --rivals-of, --hardened and --apriori" in capsys.readouterr().err


def test_pairs_are_models_that_are_wrapped(tmp_path):
    others = ("nhits-calendar-metr-la-29", "tsmixer-solar-fl", "of-mine")
    for name in ("tsmixer-calendar-metr-la-29", "tsmixer-traffic-20", *others):
        (tmp_path / f"{name}.onnx").touch()
    (tmp_path / "tcn-metr-la-29").mkdir()  # an empty folder is no model
    assert accuracy.table_pairs((tmp_path, tmp_path / "none")) == ["tsmixer-calendar-metr-la-29", "tsmixer-traffic-20"]
    pair = accuracy.Pair.named("tsmixer-traffic-20", (tmp_path,), accuracy.Size())
    assert pair.kind == "tsmixer"
    assert pair.find(pair.name) == tmp_path / "tsmixer-traffic-20.onnx"
    assert pair.find("tcn-metr-la-29") is None


def test_a_pair_without_a_model_is_refused(tmp_path):
    pair = accuracy.Pair.named("tcn-traffic-20", (tmp_path,), accuracy.Size())
    with pytest.raises(DataNotFoundError, match="there is no trained model tcn-traffic-20 in"):
        _ = pair.model


@pytest.mark.filterwarnings("ignore::subcast.errors.FitWarning")
def test_the_oracle_with_help_is_that_of_a_fit_of_its_own():
    train, val, test = parts()
    options = {"progress": False, "effort": 0.1, "neighbors": 5}
    plain, own = (
        sc.SubsetForecaster(accuracy.RidgeModel.fit(train), **options, **more).fit(train, val)
        for more in ({}, {"assist": "always"})
    )
    before = plain.settings_
    helped = accuracy.always_helped(plain, val)
    assert helped.settings_ == own.settings_
    everything = np.arange(train.series.n_variables)
    expected = own.predict_many(test, present=everything).mean
    np.testing.assert_array_equal(helped.predict_many(test, present=everything).mean, expected)
    assert plain.settings_ == before
