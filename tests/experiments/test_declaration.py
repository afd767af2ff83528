"""The catalog of experiments, and their cells."""

import pytest

from subcast.errors import InputError
from subcast.experiments.declaration import get_experiment, load_experiments
from subcast.experiments.measures import MEASURES
from subcast.experiments.methods import METHODS

PAPER_EXPERIMENTS = {
    "table-oracle-partial", "figure-subset-size", "table-apriori", "table-identity", "table-main",
    "figure-reciprocal-rank", "table-ablation", "table-knn", "figure-neighbors", "figure-retrieval-size",
    "table-weighting-mrr", "table-weighting", "table-imputation", "table-correlated", "figure-horizon",
    "figure-pagerank", "table-datasets", "figure-rounds", "table-scalable",
}  # fmt: skip


def test_the_catalog_has_every_table_and_figure():
    experiments = load_experiments()
    assert set(experiments) >= PAPER_EXPERIMENTS
    for experiment in experiments.values():
        assert experiment.measure in MEASURES
        for declared in experiment.options.get("methods", []):
            assert declared.get("method", declared["name"]) in METHODS
        assert {"quick", "full"} == set(experiment.scales)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: get_experiment("table-99"), "table-99"),
        (lambda: get_experiment("table-main").cells("huge"), "huge"),
        (lambda: get_experiment("table-main").cells("quick", every=0), "every"),
        (lambda: get_experiment("table-main").cells("quick", draws=0), "draws"),
    ],
)
def test_unknown_names_and_sizes(call, words):
    with pytest.raises(InputError, match=words):
        call()
