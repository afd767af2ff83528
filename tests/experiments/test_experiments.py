"""Every experiment of the catalog runs, resumes and leaves a record that can be read."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from subcast.commands.reproduce import run_reproduction
from subcast.comparison import Tally, gap_between
from subcast.errors import InputError
from subcast.evaluation import wrapped
from subcast.experiments.declaration import get_experiment, load_experiments
from subcast.experiments.measures import MEASURES, make_measure, summarize
from subcast.experiments.methods import METHODS, make_method
from subcast.experiments.pagerank import pagerank
from subcast.experiments.run import Places, _read_begun, run_cell, run_cells
from subcast.experiments.study import Context, Study

NOT_FACTS = ("record", "version", "date", "machine", "seconds", "command", "figures")
ISSUED = {
    "table-oracle-partial", "figure-subset-size", "table-apriori", "table-identity", "table-main",
    "figure-reciprocal-rank", "table-ablation", "table-knn", "figure-neighbors", "figure-retrieval-size",
    "table-weighting-mrr", "table-weighting", "table-imputation", "table-correlated", "figure-horizon",
    "figure-pagerank", "table-datasets", "figure-rounds", "table-scalable",
}  # fmt: skip


@pytest.fixture(scope="session")
def places(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reproduce")
    return Places(folder / "results", (folder / "checkpoints",))


def small_cells(name, model=None):
    experiment = get_experiment(name)
    model = model or ("tcn" if "tcn" in experiment.models else "mtgnn")
    models = (model,) if experiment.models else ()
    return experiment, experiment.cells("quick", datasets=("clouds-small",), models=models, draws=2, every=97)


def test_the_catalog_is_whole():
    experiments = load_experiments()
    assert set(experiments) >= ISSUED
    for experiment in experiments.values():
        assert experiment.measure in MEASURES
        for told in experiment.options.get("methods", []):
            assert told.get("method", told["name"]) in METHODS
        assert {"quick", "full"} == set(experiment.scales)


@pytest.mark.parametrize("name", sorted(set(load_experiments()) - {"table-apriori"}))
def test_every_experiment_runs_on_the_small_dataset(name, places):
    _, cells = small_cells(name)
    said = []
    paths, passed = run_cells(cells, places, say=said.append, progress=False)
    assert len(paths) == len(cells) == 1, said
    assert not passed
    record = json.loads(paths[0].read_text())
    assert record["experiment"] == name
    assert record["figures"]
    assert not paths[0].with_suffix(".begun").exists()
    assert "there already" in _said_again(cells, places)


def test_models_trained_on_a_known_s(places):
    declared = get_experiment("table-apriori")
    short = replace(declared, options={"epochs": 1})
    cells = short.cells("quick", datasets=("clouds-small",), models=("tcn", "mstgcn"), draws=2, every=97)
    paths, _ = run_cells(cells, places, say=lambda text: None, progress=False)
    assert len(paths) == 2
    rows = json.loads(paths[0].read_text())["figures"]["groups"]["15%"]
    assert set(rows) == {"oracle", "partial", "apriori", "fdw", "subcast"}
    assert rows["apriori"]["draws"] == 2
    assert not list(places.checkpoints[-1].glob("begun/*"))
    assert rows["oracle"]["mae_gap"] == 0
    assert rows["apriori"]["mae"] not in {rows[other]["mae"] for other in ("oracle", "fdw", "subcast")}


def _said_again(cells, places):
    said = []
    run_cells(cells, places, say=said.append, progress=False)
    return said[-1]


def test_an_interrupted_cell_goes_on_where_it_was(places, tmp_path, monkeypatch):
    _, cells = small_cells("table-oracle-partial")
    here = Places(tmp_path, places.checkpoints)
    study = Study.of(cells[0], places.checkpoints, progress=False)
    run_cell(cells[0], here, study, say=lambda text: None)
    whole = json.loads(here.record(cells[0]).read_text())["figures"]
    here.record(cells[0]).unlink()

    kind = MEASURES["errors"]
    before, asked = kind.run, []

    def stops(self, unit):
        asked.append(unit)
        if unit == 1 and len(asked) == 2:
            raise KeyboardInterrupt
        return before(self, unit)

    monkeypatch.setattr(kind, "run", stops)
    with pytest.raises(KeyboardInterrupt):
        run_cell(cells[0], here, study, say=lambda text: None)
    assert here.begun(cells[0]).exists()
    run_cell(cells[0], here, study, say=lambda text: None)
    assert asked == [0, 1, 1]  # the first unit was not done again
    assert json.loads(here.record(cells[0]).read_text())["figures"] == whole


def test_a_cell_without_its_model_is_passed_over(tmp_path):
    experiment = get_experiment("table-main")
    cells = experiment.cells("quick", datasets=("ecg5000",), models=("tcn",))
    said = []
    written, passed = run_cells(cells, Places(tmp_path, (tmp_path,)), say=said.append, progress=False)
    assert written == []
    assert list(passed) == ["table-main ecg5000-tcn"]
    assert "passed over" in said[-1]


def test_the_oracle_is_the_model_with_everything(places):
    _, cells = small_cells("table-oracle-partial")
    context = Context(cells[0], Study.of(cells[0], places.checkpoints, progress=False))
    result = make_measure(context).run(0)
    present = context.draws()[0]
    off = context.study.model(context.test.batch().inputs)[:, :, present] - context.test.targets[:, :, present]
    for step in range(12):
        expected = np.nanmean(np.abs(off[:, step]))
        assert result["errors"]["oracle"]["mae"][step] == pytest.approx(expected, rel=1e-5)


@pytest.fixture(scope="module")
def study(places):
    _, cells = small_cells("table-main")
    return Study.of(cells[0], places.checkpoints, progress=False)


@pytest.mark.parametrize(
    "options",
    [{}, {"neighbors": 2}, {"weighting": "uniform"}, {"weighting": "distance", "exponent": 1.0}, {"temperature": 10.0}],
)
def test_weightings_that_share_forecasts_give_what_the_wrapper_gives(options, study):
    _, cells = small_cells("figure-neighbors")
    context = Context(cells[0], study)
    present = context.draws()[1]
    make_method(context, "fdw", neighbors=7)(context.test, present)  # more neighbors than are asked for below
    expected = wrapped(study.paper_with(**options))(context.test, present)
    np.testing.assert_allclose(make_method(context, "fdw", **options)(context.test, present), expected, rtol=1e-5)


def test_cells_of_one_study_pay_for_a_forecast_once(study):
    study.tallies.clear()
    study.fillings.clear()
    passes, found = [], []
    for name in ("table-weighting", "table-knn", "table-scalable"):
        _, cells = small_cells(name)
        before = study.paper.engine.passes
        found.append(make_measure(Context(cells[0], study)).run(0)["errors"]["fdw"])
        passes.append(study.paper.engine.passes - before)
    assert found[0] == found[1] == found[2]
    assert passes[1] == 0
    windows = len(Context(cells[0], study).test)
    assert passes[0] >= 5 * windows  # five fillings for three weightings, and what FDW compares with
    assert passes[0] < 10 * windows + len(study.paper.engine.bank)


def test_forecasts_kept_are_bounded(study, monkeypatch):
    _, cells = small_cells("table-weighting")
    context = Context(cells[0], study)
    monkeypatch.setattr("subcast.experiments.study.KEPT_BYTES", 1)
    for present in context.draws():
        make_method(context, "fdw")(context.test, present)
    assert len(study.fillings) == 1


def test_a_hardened_model_is_compared_only_where_there_is_one(tmp_path):
    experiment = get_experiment("table-main")
    cell = experiment.cells("quick", datasets=("clouds",), models=("tcn",))[0]
    context = Context(cell, Study.of(cell, (tmp_path,), progress=False))
    assert "hardened" not in make_measure(context).names
    _, cells = small_cells("table-main")
    small = Context(cells[0], Study.of(cells[0], (tmp_path,), progress=False))
    assert "hardened" in make_measure(small).names


class TestMeasures:
    """What the measurements give, found in another way."""

    def made(self, study, name, **options):
        _, cells = small_cells(name)
        cell = replace(cells[0], experiment=replace(cells[0].experiment, options=options or cells[0].options))
        return make_measure(Context(cell, study))

    def test_reciprocal_ranks_are_places_in_the_whole_order(self, study):
        measure = self.made(study, "figure-reciprocal-rank", windows=12)
        engine, settings = measure.robust.engine, measure.robust.settings_
        _, present = measure.groups.unit(1)
        order = engine.find(measure.arrived, present, settings, len(engine.bank)).index
        everything = engine.find(measure.arrived, np.arange(engine.n), settings, len(engine.bank)).index
        expected = [1 / (1 + row.tolist().index(best)) for row, best in zip(order, everything[:, 0], strict=True)]
        assert measure.run(1)["reciprocal"] == pytest.approx(expected, abs=1e-6)
        assert min(expected) < 1

    def test_windows_without_neighbors_have_no_rank(self, study):
        measure = self.made(study, "figure-reciprocal-rank", windows=12)
        whole = measure.run(0)["reciprocal"]
        measure.best[[0, 3]] = -1  # as where all readings are missing
        assert measure.run(0)["reciprocal"] == [value for place, value in enumerate(whole) if place not in (0, 3)]

    def test_the_ideal_neighbor_is_found_by_loops(self, study):
        measure = self.made(study, "table-weighting-mrr", windows=15)
        present = measure.all_draws[0]
        engine, settings = study.paper.engine, study.paper.settings_
        each, seen, neighbors = engine.each_forecast(engine.arrive(measure.windows), present, settings)
        truth = measure.windows.targets[:, :, present]
        places = {"ddw": [], "fdw": []}
        for window in range(len(truth)):
            if np.isnan(truth[window]).all():
                continue
            apart = [np.abs(each[window, k] - seen[window, k]).sum(axis=1) for k in range(5)]  # [h] each
            off = [np.nanmean(np.abs(each[window, k] - truth[window])) for k in range(5)]
            ideal = off.index(min(off))
            far = {
                "ddw": neighbors.distance[window].tolist(),
                "fdw": [sum(float(step) / (q + 1) for q, step in enumerate(steps)) for steps in apart],
            }
            for name, distances in far.items():
                places[name].append(1 + sum(other < distances[ideal] for other in distances))
        found = measure.run(0)
        for name, all_places in places.items():
            assert found[name] == pytest.approx(np.mean([1 / place for place in all_places]), abs=1e-6)

    def test_a_part_of_the_bank(self, study):
        part = study.paper_with(fraction=0.25).engine.bank
        whole = study.paper.engine.bank
        assert len(part) == pytest.approx(0.25 * len(whole), rel=0.02)
        assert set(part.starts) <= set(whole.starts)

    def test_the_query_table_with_wide_ranges_is_the_direct_search(self, study):
        _, cells = small_cells("table-scalable")
        context = Context(cells[0], study)
        present = context.draws()[0]
        wide = make_method(context, "scalable", neighbor=len(study.paper.engine.bank))(context.test, present)
        np.testing.assert_allclose(wide, make_method(context, "fdw")(context.test, present), rtol=1e-5)

    def test_a_hardened_model_is_run_as_partial_is(self, study):
        _, cells = small_cells("table-main")
        context = Context(cells[0], study)
        present = context.draws()[0]
        hidden = context.test.batch().inputs.copy()
        hidden[:, :, np.setdiff1d(np.arange(20), present)] = np.nan  # must not matter
        expected = study.trained("hardened").predict(hidden, present=present)[:, :, present]
        found = make_method(context, "hardened")(context.test, present)
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        assert not np.allclose(found, make_method(context, "partial")(context.test, present))


def told_errors(mae, rmse):
    """A tally of two steps in which every stretch has the same error at the second."""
    stretches = {"absolute": [mae[1]] * 4, "squared": [rmse[1] ** 2] * 4, "count": [1.0] * 4}
    return {"mae": mae, "rmse": rmse, **stretches}


def test_summaries_of_known_errors():
    results = [
        {"errors": {"oracle": told_errors([1.0, 2.0], [1.0, 4.0]), "ours": told_errors([1.0, 3.0], [1.0, 4.0])}},
        {"errors": {"oracle": told_errors([1.0, 4.0], [1.0, 4.0]), "ours": told_errors([1.0, 6.0], [1.0, 4.0])}},
    ]
    rows = summarize(results, step=2)
    assert rows["ours"]["mae"] == 4.5
    assert rows["ours"]["mae_gap"] == pytest.approx(50.0)
    assert rows["ours"]["rmse_gap"] == 0.0
    assert rows["ours"]["mae_by_step"] == [1.0, 4.5]
    assert rows["ours"]["mae_gap_interval"] is None  # two draws are too few
    assert rows["oracle"]["mae_against"]["ours"][0] == pytest.approx(-100 / 3)
    many = summarize(results * 5, step=2)["ours"]
    assert many["mae_gap_interval"] == pytest.approx([50.0, 50.0])
    assert many["mae_against"]["oracle"] == pytest.approx([50.0, 50.0, 50.0])


class TestTally:
    def made(self, rng, draws, off):
        """Draws of 40 windows, 3 steps and 2 variables, with holes; `off` is the spread of the forecasts."""
        truth = rng.normal(size=(40, 3, 2))
        truth[rng.random(truth.shape) < 0.2] = np.nan
        return [(np.nan_to_num(truth) + rng.normal(size=truth.shape) * off, truth) for _ in range(draws)]

    def test_against_plain_loops(self):
        for forecast, truth in self.made(np.random.default_rng(0), 3, 0.5):
            tally = Tally.of(forecast, truth, step=2)
            absolute, squared, count = 0.0, 0.0, 0
            for window in range(40):
                for variable in range(2):
                    if truth[window, 1, variable] == truth[window, 1, variable]:
                        off = abs(forecast[window, 1, variable] - truth[window, 1, variable])
                        absolute, squared, count = absolute + off, squared + off * off, count + 1
            assert tally.absolute.sum() == pytest.approx(absolute)
            assert tally.squared.sum() == pytest.approx(squared)
            assert tally.count.sum() == count
            assert tally.mae[1] == pytest.approx(absolute / count)
            again = Tally.from_dict(json.loads(json.dumps(tally.to_dict())))
            np.testing.assert_array_equal(again.absolute, tally.absolute)

    def test_intervals_allow_for_windows(self):
        rng = np.random.default_rng(1)
        base = [Tally.of(*one, 3) for one in self.made(rng, 12, 0.5)]
        ours = [Tally.of(*one, 3) for one in self.made(rng, 12, 0.8)]
        gap, low, high = gap_between(ours, base, "mae", 3)
        assert low < gap < high
        assert 20 < gap < 120
        # one stretch in which the two differ: draws agree on the gap, times do not
        told = told_errors([1.0, 1.0], [1.0, 1.0])
        same = Tally.from_dict(told)
        once = Tally.from_dict({**told, "mae": [1.0, 1.25], "absolute": [2.0, 1.0, 1.0, 1.0]})
        gap, low, high = gap_between([once] * 20, [same] * 20, "mae", 2)
        assert gap == pytest.approx(25.0)
        assert low == pytest.approx(0.0)
        assert high >= 50.0


class TestRecordsOfAnotherThing:
    """A record counts only when it is of what is asked."""

    def run(self, cells, places, **options):
        said = []
        run_cells(cells, places, say=said.append, progress=False, **options)
        return said[-1]

    def test_other_methods_are_measured_again(self, places, tmp_path):
        declared, cells = small_cells("table-oracle-partial")
        here = Places(tmp_path, places.checkpoints)
        assert "there already" not in self.run(cells, here)
        assert "there already" in self.run(cells, here)
        more = replace(declared, options={"methods": [{"name": "oracle"}, {"name": "last-value"}]})
        others = more.cells("quick", datasets=("clouds-small",), models=("tcn",), draws=2, every=97)
        assert "there already" not in self.run(others, here)
        assert set(json.loads(here.record(others[0]).read_text())["figures"]["groups"]["15%"]) == {
            "oracle",
            "last-value",
        }

    def test_a_half_run_cell_with_other_methods_is_not_continued(self, places, tmp_path):
        _, cells = small_cells("table-oracle-partial")
        here = Places(tmp_path, places.checkpoints)
        self.run(cells, here)
        record = json.loads(here.record(cells[0]).read_text())
        facts = {name: record[name] for name in record if name not in NOT_FACTS}
        begun = {"cell": {**facts, "options": {}}, "results": [{"nonsense": True}], "seconds": 1.0}
        here.begun(cells[0]).write_text(json.dumps(begun))
        run_cells(cells, here, again=True, say=lambda text: None, progress=False)
        assert json.loads(here.record(cells[0]).read_text())["figures"] == record["figures"]

    def test_a_cell_begun_before_variants_were_told_goes_on(self, places, tmp_path):
        _, cells = small_cells("table-oracle-partial")
        here = Places(tmp_path, places.checkpoints)
        self.run(cells, here)
        record = json.loads(here.record(cells[0]).read_text())
        facts = {name: record[name] for name in record if name not in (*NOT_FACTS, "variants")}
        here.record(cells[0]).unlink()
        marked = [{"group": "15%", "errors": {}}] * 5
        here.begun(cells[0]).write_text(json.dumps({"cell": facts, "results": marked, "seconds": 1.0}))
        study = Study.of(cells[0], places.checkpoints, progress=False)
        facts = json.loads(json.dumps({**facts, "variants": {}}))
        assert _read_begun(here.begun(cells[0]), facts) == (marked, 1.0)
        assert _read_begun(here.begun(cells[0]), {**facts, "weights": "another"}) == ([], 0.0)
        assert study.weights == facts["weights"]

    def test_a_variant_that_is_not_at_hand_does_not_spoil_a_record(self, places, tmp_path, monkeypatch):
        _, cells = small_cells("table-main")
        here = Places(tmp_path, places.checkpoints)
        self.run(cells, here)
        real = Study.fingerprint
        monkeypatch.setattr(Study, "fingerprint", lambda self, variant="": None if variant else real(self))
        assert "there already" in self.run(cells, here)
        monkeypatch.setattr(Study, "weights", None)
        assert "there already" in self.run(cells, here)

    def test_another_training_is_measured_again(self, places, tmp_path, monkeypatch):
        _, cells = small_cells("table-oracle-partial")
        here = Places(tmp_path, places.checkpoints)
        self.run(cells, here)
        monkeypatch.setattr(Study, "weights", "another")
        assert "there already" not in self.run(cells, here)

    def test_another_training_of_a_variant_is_measured_again(self, places, tmp_path, monkeypatch):
        _, cells = small_cells("table-main")
        here = Places(tmp_path, places.checkpoints)
        self.run(cells, here)
        assert "there already" in self.run(cells, here)
        real = Study.fingerprint
        monkeypatch.setattr(Study, "fingerprint", lambda self, variant="": variant or real(self))
        assert "there already" not in self.run(cells, here)


def test_an_experiment_on_a_variant_has_a_model_of_its_own(places):
    _, plain = small_cells("table-oracle-partial", "mtgnn")
    _, noisy = small_cells("table-noise", "mtgnn")
    first = Study.of(plain[0], places.checkpoints, progress=False)
    assert not first.serves(noisy[0])
    study = Study.of(noisy[0], places.checkpoints, progress=False)
    assert study.serves(noisy[0])
    assert study.trained_name() == "mtgnn-noise-clouds-small"
    assert study.model.module.settings["graph_noise"] == 0.01
    assert "graph_noise" not in first.model.module.settings
    assert study.weights != first.weights


def test_cluster_groups_say_what_they_hold(places):
    _, cells = small_cells("table-correlated-mrr")
    measure = make_measure(Context(cells[0], Study.of(cells[0], places.checkpoints, progress=False)))
    told = measure.groups.facts["clusters"]
    assert sum(told["sizes"]) == 20
    assert len(told["sizes"]) == told["found"]
    assert all(int(group) <= told["found"] for group in measure.groups.draws)
    assert told["mean_used"].keys() == measure.groups.draws.keys() == told["widened_draws"].keys()
    assert measure.units == 2 * len(measure.groups.draws)


def test_pagerank_against_another_library():
    networkx = pytest.importorskip("networkx")
    graph = np.random.default_rng(0).random((8, 8)) * (np.random.default_rng(1).random((8, 8)) < 0.4)
    graph[3] = 0  # a node without edges of its own
    other = networkx.pagerank(networkx.from_numpy_array(graph, create_using=networkx.DiGraph), tol=1e-12)
    np.testing.assert_allclose(pagerank(graph), [other[i] for i in range(8)], atol=1e-8)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: get_experiment("table-99"), "table-99"),
        (lambda: get_experiment("table-main").cells("huge"), "huge"),
        (lambda: get_experiment("table-main").cells("quick", every=0), "every"),
        (lambda: get_experiment("table-main").cells("quick", draws=0), "draws"),
        (lambda: run_reproduction(["all", "tabel-x"], results=Path(), checkpoints=()), "tabel-x"),
        (lambda: run_reproduction(["table-main"], models=["tnc"], results=Path(), checkpoints=()), "tnc"),
        (lambda: run_reproduction(["table-main"], datasets=["egc"], results=Path(), checkpoints=()), "egc"),
        (lambda: run_reproduction(["table-main"], models=["tcn,tnc"], results=Path(), checkpoints=()), "'tnc'"),
        (lambda: run_reproduction(["table-main", "tcn"], results=Path(), checkpoints=()), "did you mean --models tcn"),
        (
            lambda: run_reproduction(["table-main", "clouds"], results=Path(), checkpoints=()),
            "did you mean --dataset clouds",
        ),
        (
            lambda: run_reproduction(["table-main"], models=[","], results=Path(), checkpoints=()),
            "--models names nothing",
        ),
    ],
)
def test_unknown_names(call, words):
    with pytest.raises(InputError, match=words):
        call()
