"""Models trained on a known S."""

import json
from dataclasses import replace

from subcast.experiments.declaration import get_experiment
from subcast.experiments.run import run_cells


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
