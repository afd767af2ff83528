"""Claims of the paper: each holds, fails or is undecided where it should."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from experiments.report.examples import ask, errors, gaps_of, ranked, rounds_of, settings_of, write_record
from subcast.experiments.declaration import load_experiments
from subcast.experiments.published import load_published
from subcast.experiments.report.paper_claims import CLAIMS, GRAPH_MODELS


def test_every_claim_of_the_paper_is_tested() -> None:
    rows = load_published()
    stated = {tuple(pair) for pair in rows.loc[rows["claim"] != "", ["experiment", "claim"]].to_numpy()}
    assert stated <= {(claim.experiment, claim.words) for claim in CLAIMS}
    assert {claim.experiment for claim in CLAIMS} <= set(load_experiments())


@pytest.mark.parametrize(
    ("words", "name", "holding", "failing"),
    [
        ("Partial loses against Oracle.", "table-oracle-partial", gaps_of(partial=9), gaps_of(partial=-2)),
        (
            "FDW matches or beats a model trained on a known S.", "table-apriori",
            gaps_of(fdw=2, apriori=4), gaps_of(fdw=6, apriori=4),
        ),
        (
            "FDW recovers much of what Partial loses.", "table-main",
            gaps_of(fdw=4, partial=9), gaps_of(fdw=6, partial=9),
        ),
        ("The gap of FDW is mostly below 5 %.", "table-main", gaps_of(fdw=4, partial=9), gaps_of(fdw=6, partial=9)),
        (
            "A larger exponent b does worse.", "table-ablation",
            settings_of("b", {0.5: 2, 1: 4, 2: 8}), settings_of("b", {0.5: 4, 1: 8, 2: 2}),
        ),
        (
            "b = 0.5 works best.", "table-ablation",
            settings_of("b", {0.33: 3, 0.5: 2, 1: 4, 2: 8}), settings_of("b", {0.33: 1, 0.5: 2, 1: 8, 2: 4}),
        ),
        (
            "A model trained on a known S need not reach Oracle.", "table-apriori",
            gaps_of(fdw=2, apriori=4), gaps_of(fdw=6, apriori=-4),
        ),
        (
            "The identity in place of the graph does worse than Oracle: relations between variables matter.",
            "table-identity", gaps_of(identity=4, partial=3), gaps_of(identity=-4, partial=3),
        ),
        ("FDW does better than UW.", "table-weighting", gaps_of(fdw=1, ddw=3, uw=5), gaps_of(fdw=5, ddw=1, uw=3)),
        (
            "FDW beats the nearest-neighbor forecast.", "table-knn",
            gaps_of(fdw=2, neighbor_forecast=9), gaps_of(fdw=9, neighbor_forecast=2),
        ),
        (
            "The gap strictly falls as m grows.", "figure-neighbors",
            settings_of("m", {1: 9, 5: 6, 10: 5, 20: 4, 50: 2}), settings_of("m", {1: 9, 5: 6, 10: 7, 20: 4, 50: 2}),
        ),
        (
            "The reductions of the gap diminish as m grows.", "figure-neighbors",
            settings_of("m", {1: 20, 5: 12, 10: 8, 20: 4, 50: 2}),
            settings_of("m", {1: 20, 5: 19, 10: 10, 20: 4, 50: 2}),
        ),
        (
            "The gap falls sharply over the small fractions of the bank and slowly after.", "figure-retrieval-size",
            settings_of("r", {0.05: 20, 0.25: 5, 1: 4}), settings_of("r", {0.05: 20, 0.25: 18, 1: 4}),
        ),
        (
            "A quarter of the bank nearly suffices.", "figure-retrieval-size",
            settings_of("r", {0.05: 20, 0.25: 4.3, 1: 4}), settings_of("r", {0.05: 20, 0.25: 6.5, 1: 4}),
        ),
        ("FDW does better than DDW.", "table-weighting", gaps_of(fdw=1, ddw=3, uw=5), gaps_of(fdw=3, ddw=1, uw=5)),
        ("DDW does better than UW.", "table-weighting", gaps_of(fdw=1, ddw=3, uw=5), gaps_of(fdw=1, ddw=5, uw=3)),
        (
            "FDW does better than kNNE and IIM, or nearly as well.", "table-imputation",
            gaps_of(fdw=2, knne=3, iim=1.999), gaps_of(fdw=5, knne=9, iim=2),
        ),
        (
            "FDW ranks the ideal neighbor higher than DDW.", "table-weighting-mrr",
            ranked(0.45, 0.47), ranked(0.47, 0.45),
        ),
        (
            "At most 3 rounds are needed for most m.", "figure-rounds",
            rounds_of([1, 3, 4]), rounds_of([1, 4, 5]),
        ),
        (
            "The increase of the rounds diminishes as m grows.", "figure-rounds",
            rounds_of([1, 3, 4]), rounds_of([1, 2, 6]),
        ),
        (
            "The set that is left to compare is small.", "figure-rounds",
            rounds_of([1, 3, 4], compared=[0.01, 0.02, 0.03]), rounds_of([1, 3, 4], compared=[0.01, 0.02, 0.3]),
        ),
        (
            "The summed PageRank of the absent variables correlates with the gap in MAE.", "figure-pagerank",
            {"correlation": 0.5, "pagerank": [0.1] * 25, "gap": [0.1] * 25},
            {"correlation": -0.5, "pagerank": [0.1] * 25, "gap": [0.1] * 25},
        ),
        (
            "The query table costs little accuracy.", "table-scalable",
            gaps_of(fdw=2, scalable=2.1), gaps_of(fdw=2, scalable=4),
        ),
    ],
)  # fmt: skip
def test_claim_holds_and_fails_where_it_should(
    tmp_path: Path, words: str, name: str, holding: dict, failing: dict
) -> None:
    model = "" if name == "figure-rounds" else "mtgnn"
    assert ask(tmp_path / "a", words, (name, "ecg5000", model, holding)) == [True]
    assert ask(tmp_path / "b", words, (name, "ecg5000", model, failing)) == [False]


def test_methods_whose_paired_interval_contains_zero(tmp_path: Path) -> None:
    near = gaps_of(fdw=2.0, ddw=2.0001, uw=2.0002)
    assert ask(tmp_path / "a", "FDW does better than DDW.", ("table-weighting", "ecg5000", "tcn", near)) == [None]
    few = gaps_of(fdw=1, ddw=3, uw=5)
    few["groups"]["15%"]["fdw"]["rmse_against"]["ddw"][1:] = [None, None]
    assert ask(tmp_path / "b", "FDW does better than DDW.", ("table-weighting", "ecg5000", "tcn", few)) == [None]
    rank = "FDW ranks the ideal neighbor higher than DDW."
    measured = ("table-weighting-mrr", "ecg5000", "tcn", ranked(0.45, 0.4501, spread=0.1))
    assert ask(tmp_path / "c", rank, measured) == [None]
    falling = settings_of("m", {1: 9, 5: 6, 10: 6.0001, 20: 4, 50: 2})
    words = "The gap strictly falls as m grows."
    assert ask(tmp_path / "d", words, ("figure-neighbors", "ecg5000", "tcn", falling)) == [None]


def test_claims_against_partial(tmp_path: Path) -> None:
    words = "A model trained on a known S does better than Partial."
    good = ("table-apriori", "ecg5000", "tcn", gaps_of(fdw=2, apriori=4, partial=9))
    bad = ("table-apriori", "ecg5000", "tcn", gaps_of(fdw=2, apriori=12, partial=9))
    assert ask(tmp_path / "a", words, good) == [True]
    assert ask(tmp_path / "b", words, bad) == [False]
    words = "The identity in place of the graph does worse than Partial."
    better = ("table-identity", "ecg5000", "mtgnn", gaps_of(identity=3, partial=9))
    worse = ("table-identity", "ecg5000", "mtgnn", gaps_of(identity=12, partial=9))
    assert ask(tmp_path / "c", words, better) == [False]
    assert ask(tmp_path / "d", words, worse) == [True]


def test_the_model_that_loses_most(tmp_path: Path) -> None:
    words = "MTGNN loses the most of all models."
    first = ("table-oracle-partial", "ecg5000", "mtgnn", gaps_of(partial=9))
    assert ask(tmp_path, words, first) == []
    assert ask(tmp_path, words, ("table-oracle-partial", "ecg5000", "tcn", gaps_of(partial=12))) == [False]
    assert ask(tmp_path, words, ("table-oracle-partial", "ecg5000", "tcn", gaps_of(partial=5))) == [True]
    # a model on other windows does not count
    path = write_record(tmp_path, "table-oracle-partial", "ecg5000", "lstnet", measured=gaps_of(partial=40))
    path.write_text(json.dumps(json.loads(path.read_text()) | {"every": 3}))
    assert ask(tmp_path, words) == [True]
    path.unlink()
    # a second training counts with the first
    write_record(tmp_path, "table-oracle-partial", "ecg5000", "mtgnn", seed=1, measured=gaps_of(partial=8.8))
    assert ask(tmp_path, words) == [True]
    # trainings that are farther apart than the models leave it undecided
    write_record(tmp_path, "table-oracle-partial", "ecg5000", "mtgnn", seed=1, measured=gaps_of(partial=0.2))
    assert ask(tmp_path, words) == [None]


def test_which_models_have_the_better_oracle(tmp_path: Path) -> None:
    def oracle(times: float) -> dict:
        measured = gaps_of(partial=9)
        measured["groups"]["15%"]["oracle"]["mae"] *= times
        return measured

    name = "table-oracle-partial"
    graphs, best = (
        "Models with a graph do better than the others in Oracle.",
        "MTGNN's Oracle is the best on all datasets but ECG5000.",
    )
    for dataset in ("ecg5000", "clouds"):
        for model, times in (("mtgnn", 1.0), ("astgcn", 1.1), ("tcn", 1.2)):
            write_record(tmp_path, name, dataset, model, measured=oracle(times))
    assert ask(tmp_path, graphs) == [True, True]
    assert ask(tmp_path, best) == [True]  # of clouds alone
    assert ask(tmp_path, graphs, (name, "clouds", "lstnet", oracle(1.05))) == [True, False]
    assert ask(tmp_path, best, (name, "clouds", "lstnet", oracle(0.9))) == [False]


def test_claims_over_sizes_and_clusters(tmp_path: Path) -> None:
    def by_group(method: str, gaps: dict[str, float]) -> dict:
        groups = {group: errors({"oracle": 0.0, "partial": 0.1, method: off / 100}) for group, off in gaps.items()}
        return {"test_windows": 9, "groups": groups}

    falling, rising = {"5%": 30, "15%": 20, "50%": 10, "100%": 0}, {"5%": 0, "15%": 10, "50%": 20, "100%": 30}
    for words in ("The error falls as S grows.", "The gap to Oracle closes as S grows."):
        measured = [
            ("figure-subset-size", "ecg5000", "tcn", by_group("partial", falling)),
            ("figure-subset-size", "ecg5000", "mtgnn", by_group("partial", rising)),
        ]
        assert ask(tmp_path / "sizes", words, *measured) == [False, True]  # MTGNN comes first
    words = "The error hardly changes with the size of S."
    assert ask(tmp_path / "sizes", words) == [True, True]
    moving = by_group("partial", falling)
    moving["groups"]["5%"]["oracle"]["mae"] *= 1.5
    assert ask(tmp_path / "moving", words, ("figure-subset-size", "ecg5000", "tcn", moving)) == [False]
    few, many = {"1": 30, "4": 10, "7": 5, "11": 8}, {"1": 5, "4": 10, "7": 20, "11": 30}
    words = "The gap of FDW is larger when S comes from fewer clusters."
    assert ask(tmp_path / "few", words, ("table-correlated", "clouds", "tcn", by_group("fdw", few))) == [True]
    assert ask(tmp_path / "many", words, ("table-correlated", "clouds", "tcn", by_group("fdw", many))) == [False]
    words = "The error of Partial rises with the number of clusters."
    measured = ("table-correlated", "clouds", "mtgnn", by_group("partial", many))
    assert ask(tmp_path / "partial", words, measured) == [True]
    measured = ("table-correlated", "clouds", "mtgnn", by_group("partial", few))
    assert ask(tmp_path / "falling", words, measured) == [False]


def test_claims_over_steps_mind_the_dataset(tmp_path: Path) -> None:
    def by_step(values: list[float]) -> dict:
        rows = errors({"oracle": 0.0, "partial": 0.1})
        rows["partial"]["mae_by_step"] = (np.array(rows["oracle"]["mae_by_step"]) + values).tolist()
        return {"test_windows": 9, "groups": {"15%": rows}}

    grows = [0.1 * step for step in range(12)]
    zigzag = [value + (0.15 if place % 2 else 0) for place, value in enumerate(grows)]
    strict, zig = [
        f"The gap between Oracle and Partial grows with {how}." for how in ("every step", "the step in a zig-zag")
    ]
    measured = [
        ("figure-horizon", "clouds", "tcn", by_step(grows)),
        ("figure-horizon", "ecg5000", "tcn", by_step(zigzag)),
    ]
    assert ask(tmp_path, strict, *measured) == [True]
    assert ask(tmp_path, zig) == [True]
    measured = [
        ("figure-horizon", "clouds", "tcn", by_step(zigzag)),
        ("figure-horizon", "ecg5000-test-first", "tcn", by_step(grows)),
    ]
    assert ask(tmp_path, strict, *measured) == [False]
    assert ask(tmp_path, zig) == [False, True]  # both orders of ECG5000 are asked


def test_claims_over_ranks(tmp_path: Path) -> None:
    def ranks(mean: float, first: float, second: float) -> dict:
        left = (1 - first - second) / 18
        histogram = [first, second, *[left] * 18]
        return {"edges": np.linspace(0, 1, 21).tolist(), "groups": {"15%": {"mrr": mean, "histogram": histogram}}}

    mode, better = (
        "One mode of the distribution lies close to zero.",
        "The distribution is much better than on METR-LA and SOLAR.",
    )
    name = "figure-reciprocal-rank"
    assert ask(tmp_path, better, (name, "ecg5000", "", ranks(0.5, 0.1, 0.2))) == []
    assert ask(tmp_path, better, (name, "clouds", "", ranks(0.2, 0.4, 0.1))) == [True]
    assert ask(tmp_path, mode) == [True]
    assert ask(tmp_path, better, (name, "metr-la-29", "", ranks(0.6, 0.1, 0.2))) == [
        False,
        True,
    ]  # against each stand-in
    assert ask(tmp_path, mode) == [False, True]
    words = "The reciprocal rank rises with the number of clusters."
    for means, expected in (((0.5, 0.6, 0.58, 0.7), True), ((0.7, 0.6, 0.58, 0.5), False)):
        measured = {"groups": {str(count): {"mrr": mean} for count, mean in zip((1, 4, 7, 11), means, strict=True)}}
        assert ask(tmp_path, words, ("table-correlated-mrr", "clouds", "", measured)) == [expected]


def test_a_record_without_the_method_has_no_outcome(tmp_path: Path) -> None:
    assert ask(tmp_path, "FDW does better than DDW.", ("table-weighting", "ecg5000", "tcn", gaps_of(fdw=1))) == []


def test_undecided_outcomes(tmp_path: Path) -> None:
    def answers(folder: str, words: str, name: str, measured: dict) -> list[bool]:
        return ask(tmp_path / folder, words, (name, "ecg5000", "mtgnn", measured))

    level = settings_of("r", {0.05: 4.0002, 0.25: 4.0001, 1: 4})
    assert answers("a", "A quarter of the bank nearly suffices.", "figure-retrieval-size", level) == [None]
    words = "The gap falls sharply over the small fractions of the bank and slowly after."
    assert answers("b", words, "figure-retrieval-size", level) == [None]
    wavering = settings_of("m", {1: 9, 5: 6, 10: 6.0001})
    assert answers("c", "The gap strictly falls as m grows.", "figure-neighbors", wavering) == [None]
    weak = {"correlation": 0.3, "pagerank": [0.1] * 25, "gap": [0.1] * 25}
    words = "The summed PageRank of the absent variables correlates with the gap in MAE."
    assert answers("d", words, "figure-pagerank", weak) == [None]
    unlike = settings_of("m", {1: 9, 5: 8, 10: 2})
    assert answers("f", "The reductions of the gap diminish as m grows.", "figure-neighbors", wavering) == [None]
    assert answers("g", "The reductions of the gap diminish as m grows.", "figure-neighbors", unlike) == [False]
    near = settings_of("b", {0.33: 1.9999, 0.5: 2, 1: 4, 2: 8})
    assert answers("e", "b = 0.5 works best.", "table-ablation", near) == [None]


def test_graph_models_are_those_whose_class_says_so() -> None:
    assert set(GRAPH_MODELS) == {"mtgnn", "astgcn", "mstgcn"}


def test_steps_may_fall_a_little(tmp_path: Path) -> None:
    words = "The gap between Oracle and Partial grows with every step."
    measured = gaps_of(partial=30)
    rows = measured["groups"]["15%"]
    rows["oracle"]["mae_by_step"] = [1.0] * 12
    for by_step, holds in (
        ([1.0 + 0.1 * step for step in range(12)], True),
        ([1.0, 1.1, 1.09, *(1.1 + 0.1 * step for step in range(1, 10))], None),  # by 1 % of all
        ([1.0, 1.1, 1.05, *(1.1 + 0.1 * step for step in range(1, 10))], False),
        ([2.0 - 0.1 * step for step in range(12)], False),
    ):
        rows["partial"]["mae_by_step"] = by_step
        assert ask(tmp_path, words, ("figure-horizon", "clouds", "tcn", measured)) == [holds]


def test_few_rounds_and_little_left_must_go_together(tmp_path: Path) -> None:
    few, little = "At most 3 rounds are needed for most m.", "The set that is left to compare is small."
    measured = rounds_of([2, 2, 5], [4, 5, 6])
    tables = measured["tables"]
    tables["way 0"]["compared"], tables["way 1"]["compared"] = [0.2, 0.2, 0.2], [0.01, 0.01, 0.01]
    assert ask(tmp_path, few, ("figure-rounds", "ecg5000", "", measured)) == [True]
    assert ask(tmp_path, little) == [False]  # the way that leaves little needs more rounds
    tables["way 0"]["compared"] = [0.05, 0.1, 0.1]
    assert ask(tmp_path, little, ("figure-rounds", "ecg5000", "", measured)) == [True]
    tables["way 0"]["rounds"] = [4, 4, 4]
    assert ask(tmp_path, few, ("figure-rounds", "ecg5000", "", measured)) == [False]
    assert ask(tmp_path, little) == [False]


def test_much_better_is_by_half(tmp_path: Path) -> None:
    words = "The distribution is much better than on METR-LA and SOLAR."
    for mean, holds in ((0.31, True), (0.25, None), (0.19, False)):
        for dataset, value in (("clouds", 0.2), ("traffic-20", mean)):
            measured = {
                "validation_windows": 50,
                "edges": [0, 1],
                "groups": {"15%": {"mrr": value, "histogram": [1.0]}},
            }
            write_record(tmp_path, "figure-reciprocal-rank", dataset, "", measured=measured)
        assert ask(tmp_path, words) == [holds]


def test_fewer_clusters_need_intervals(tmp_path: Path) -> None:
    words = "The gap of FDW is larger when S comes from fewer clusters."

    def measured(*gaps: float, half: float | None) -> dict:
        groups = {}
        for count, gap in zip(("1", "4", "7", "11"), gaps, strict=True):
            groups[count] = errors({"oracle": 0.0, "partial": 0.3, "fdw": gap / 100, "subcast": 0.0})
            row = groups[count]["fdw"]
            row["mae_gap"], row["mae_gap_interval"] = gap, None if half is None else [gap - half, gap + half]
        return {"test_windows": 9, "groups": groups}

    cases = [
        ((9, 5, 4, 3), None, None),
        ((9, 5, 4, 3), 1.0, True),
        ((9, 5, 4, 3), 3.0, None),
        ((3, 5, 9, 4), 1.0, False),
    ]
    for gaps, half, holds in cases:
        assert ask(tmp_path, words, ("table-correlated", "clouds", "tcn", measured(*gaps, half=half))) == [holds]


def test_equal_means_decide_nothing(tmp_path: Path) -> None:
    words = "MTGNN loses the most of all models."
    first = ("table-oracle-partial", "clouds", "mtgnn", gaps_of(partial=9))
    assert ask(tmp_path, words, first, ("table-oracle-partial", "clouds", "tcn", gaps_of(partial=9))) == [None]
