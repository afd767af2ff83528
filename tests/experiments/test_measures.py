"""What the measurements give, computed in another way."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from experiments.examples import small_cells
from subcast.comparison import Comparison
from subcast.errors import InputError
from subcast.experiments.declaration import get_experiment
from subcast.experiments.measures import MEASURES, make_measure
from subcast.experiments.pagerank import pagerank
from subcast.experiments.study import Context, Study, complete_windows


def test_the_oracle_is_the_model_with_everything(places):
    _, cells = small_cells("table-oracle-partial")
    context = Context(cells[0], Study.of(cells[0], places.checkpoints, progress=False))
    oracle = Comparison.from_record(make_measure(context).run(0)).mae["oracle"]  # [draws, h]
    present = context.draws()[0]
    off = context.study.model(context.test.batch().inputs)[:, :, present] - context.test.targets[:, :, present]
    for step in range(12):
        expected = np.nanmean(np.abs(off[:, step]))
        assert oracle[0, step] == pytest.approx(expected, rel=1e-5)


def test_a_hardened_model_is_compared_only_where_there_is_one(tmp_path):
    experiment = get_experiment("table-main")
    cell = experiment.cells("quick", datasets=("clouds",), models=("tcn",))[0]
    context = Context(cell, Study.of(cell, (tmp_path,), progress=False))
    assert "hardened" not in make_measure(context).names
    _, cells = small_cells("table-main")
    small = Context(cells[0], Study.of(cells[0], (tmp_path,), progress=False))
    assert "hardened" in make_measure(small).names


class TestMeasures:
    def made(self, study, name, **options):
        _, cells = small_cells(name)
        cell = replace(cells[0], experiment=replace(cells[0].experiment, options=options or cells[0].options))
        return make_measure(Context(cell, study))

    def test_reciprocal_ranks_are_places_in_the_whole_order(self, study):
        measure = self.made(study, "figure-reciprocal-rank", windows=12)
        fitted, exponent = measure.robust.fitted_, measure.robust.settings_.exponent
        _, present = measure.groups.unit(1)
        order = fitted.retrieve(measure.arrived, present, len(fitted.bank), exponent).index
        everything = fitted.retrieve(measure.arrived, np.arange(fitted.n), len(fitted.bank), exponent).index
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
        completed = complete_windows(study.paper, study.paper.fitted_.arrive(measure.windows), present)
        each, seen, neighbors = completed.each, completed.seen, completed.neighbors
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
        result = measure.run(0)
        for name, all_places in places.items():
            assert result[name] == pytest.approx(np.mean([1 / place for place in all_places]), abs=1e-6)

    @pytest.mark.parametrize(("model", "along_rows"), [("mtgnn", True), ("astgcn", False), ("mstgcn", False)])
    def test_pagerank_follows_the_direction_that_the_model_declares(self, model, along_rows):
        """MTGNN listens along rows, the models with a given graph along columns."""
        graph = np.random.default_rng(0).random((5, 5))
        context = SimpleNamespace(
            study=SimpleNamespace(model=SimpleNamespace(graph=lambda: graph)),
            cell=SimpleNamespace(model=model),
            draws=list,
        )
        expected = pagerank(graph if along_rows else graph.T)
        np.testing.assert_allclose(MEASURES["pagerank"](context, {}).importance, expected)
        assert not np.allclose(pagerank(graph), pagerank(graph.T))

    def test_pagerank_needs_a_graph(self):
        study = SimpleNamespace(model=SimpleNamespace(graph=lambda: None))
        measure = MEASURES["pagerank"](SimpleNamespace(study=study, cell=SimpleNamespace(model="tcn"), draws=list), {})
        with pytest.raises(InputError, match="tcn has no graph, which PageRank needs: choose a graph model"):
            _ = measure.importance
