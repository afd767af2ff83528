"""The trainings of record: where their models are kept, and which graph they are given."""

from pathlib import Path

import pytest

from benchmarks.scripts import script

trainings = script("train_records")


@pytest.mark.parametrize(
    ("name", "committed"),
    [
        ("tcn-traffic-20", True),
        ("mtgnn-identity-clouds", True),
        ("tcn-hardened-clouds", True),
        ("mtgnn-identity-ecg5000", False),
        ("tcn-calendar-clouds", False),
    ],
)
def test_models_are_kept_where_experiments_look_for_them(name, committed):
    folder = trainings.job_named(name).kept_in(Path("work"))
    assert folder == (trainings.CHECKPOINTS if committed else Path("work/checkpoints")) / name


def test_every_given_graph_is_that_of_a_training_of_record():
    for job in trainings.JOBS:
        if job.graph_of:
            assert trainings.jobs_by_name()[job.graph_of].dataset == job.dataset


def test_other_seeds_and_models_are_derived():
    job = trainings.job_named("astgcn-ecg5000-test-first-seed3")
    assert (job.seed, job.preset, job.graph_of) == (3, "paper", "mtgnn-ecg5000-test-first")
    job = trainings.job_named("lstnet-clouds")
    assert (job.model, job.dataset, job.graph_of) == ("lstnet", "clouds", None)
    assert trainings.job_named("tcn-nowhere") is None
    assert trainings.job_named("tcn-clouds-seedx") is None
