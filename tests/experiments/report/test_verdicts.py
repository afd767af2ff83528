"""Verdicts over cells, and the small tests that claims are made of."""

from __future__ import annotations

from subcast.experiments.report.paper_claims import CLAIMS
from subcast.experiments.report.verdicts import (
    Outcome,
    cells_of_paper,
    diminishing,
    mostly_monotonic,
    overall_answer,
    strictly_monotonic,
    verdict,
)


def test_claims_name_the_papers_cells() -> None:
    named = {claim.words: cells_of_paper(claim) for claim in CLAIMS}
    assert named["A quarter of the bank nearly suffices."] == "SOLAR MTGNN FDW"
    assert named["The error hardly changes with the size of S."] == "TRAFFIC Oracle"
    assert named["One mode of the distribution lies close to zero."] == "METR-LA, SOLAR"
    assert named["FDW does better than DDW."] == ""


def test_verdicts() -> None:
    yes, no, undecided = Outcome("a", True, ""), Outcome("b", False, ""), Outcome("c", None, "")
    assert verdict([undecided, undecided]) == "undecided"
    assert verdict([no, undecided]) == "does not hold in 1 of 2 cells, undecided in 1"
    assert verdict([yes, undecided]) == "holds in 1 of 2 cells, undecided in 1"
    assert verdict([yes, undecided, undecided]) == "undecided in 2 of 3 cells, holds in 1"
    assert verdict([yes, no, undecided]) == "holds in 1 of 3 cells, undecided in 1"
    assert (
        verdict([yes, no, undecided, undecided, undecided])
        == "undecided in 3 of 5 cells, holds in 1, does not hold in 1"
    )
    for more, word in (([], "yes"), ([undecided], "yes"), ([no], "in part"), ([undecided] * 2, "undecided")):
        assert overall_answer([yes, *more]) == word
    assert overall_answer([no, undecided]) == "no"  # alike for and against
    assert [verdict(measured) for measured in ([], [yes], [yes, yes], [yes, no, no], [no, no])] == [
        "not measured", "holds", "holds (all 2 cells)", "holds in 1 of 3 cells", "does not hold",
    ]  # fmt: skip


def test_monotonic_and_diminishing() -> None:
    assert strictly_monotonic([1.0, 2.0], 1)
    assert not strictly_monotonic([1.0, 1.0], 1)
    assert mostly_monotonic([5.0, 3.0, 4.0, 2.0, 1.0], -1)
    assert not mostly_monotonic([1.0, 3.0, 2.0], -1)
    assert diminishing([1.0, 2.0, 2.0], [0, 1, 2], 1)
    assert not diminishing([1.0, 2.0, 1.5], [0, 1, 2], 1)  # it falls
