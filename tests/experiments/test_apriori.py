"""Models trained on a known S."""

import json
from dataclasses import replace

import pytest

from subcast.experiments.declaration import get_experiment
from subcast.experiments.run import run_cells


@pytest.fixture
def cells():
    short = replace(get_experiment("table-apriori"), options={})
    scales = {"quick": {"options": {"epochs": {"tcn": 2, "mstgcn": 1}}}}
    short = replace(short, scales=scales)
    return short.cells("quick", datasets=("clouds-small",), models=("tcn", "mstgcn"), draws=2, every=97)


def test_models_trained_on_a_known_s(places, cells):
    paths, _ = run_cells(cells, places, say=lambda text: None, progress=False)
    assert len(paths) == 2
    figures = json.loads(paths[0].read_text())["figures"]
    rows = figures["groups"]["15%"]
    assert set(rows) == {"oracle", "partial", "apriori", "fdw", "subcast"}
    assert rows["apriori"]["draws"] == 2
    assert not list(places.checkpoints[-1].glob("begun/*"))
    assert rows["oracle"]["mae_gap"] == 0
    assert rows["apriori"]["mae"] not in {rows[other]["mae"] for other in ("oracle", "fdw", "subcast")}
    assert [training["epochs"] for training in figures["trainings"]] == [2, 2]
    assert len(figures["trainings"][0]["validation_mae"]) == 2


def test_models_of_subsets_are_kept(places, cells, monkeypatch):
    first, _ = run_cells(cells[:1], places, say=lambda text: None, progress=False)
    before = json.loads(first[0].read_text())["figures"]
    monkeypatch.delattr("subcast.experiments.apriori.train")
    again, _ = run_cells(cells[:1], places, again=True, say=lambda text: None, progress=False)
    assert json.loads(again[0].read_text())["figures"] == before
