"""Draws of S in groups of sizes and of clusters."""

from experiments.examples import small_cells
from subcast.experiments.measures import make_measure
from subcast.experiments.study import Context, Study


def test_cluster_groups_say_what_they_hold(places):
    _, cells = small_cells("table-correlated-mrr")
    measure = make_measure(Context(cells[0], Study.of(cells[0], places.checkpoints, progress=False)))
    facts = measure.groups.facts["clusters"]
    assert sum(facts["sizes"]) == 20
    assert len(facts["sizes"]) == facts["found"]
    assert all(int(group) <= facts["found"] for group in measure.groups.draws)
    assert facts["mean_used"].keys() == measure.groups.draws.keys() == facts["widened_draws"].keys()
    assert measure.units == 2 * len(measure.groups.draws)
