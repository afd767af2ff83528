"""The paper's claims, each with a small function that asks the records whether it holds there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from scipy import stats

from subcast.experiments.declaration import get_experiment
from subcast.experiments.report.records import METHODS, MODELS, ORIGINALS, WHOLE, Found, Record, printed
from subcast.experiments.report.verdicts import (
    Claim,
    Outcome,
    all_told,
    correlation_interval,
    course,
    diminishing,
    gap_by_step,
    gaps,
    main_gaps,
    mostly,
    strictly,
    told_better,
    told_no_worse,
)

Answer = tuple[bool | None, str]
"""Whether the claim holds in a cell (None: the intervals do not tell), and the numbers that say so."""

CLAIMS: list[Claim] = []
GRAPH_MODELS = ("mtgnn", "astgcn", "mstgcn")


def _each(experiment: str, words: str, how: str) -> Callable[[Callable[..., Answer | None]], Callable[..., object]]:
    """Register a claim that every record of an experiment answers for itself (None: it cannot tell)."""

    def register(ask: Callable[[Record, Found], Answer | None]) -> Callable[..., object]:
        def outcomes(found: Found) -> list[Outcome]:
            answers = [(record.label, _asked(ask, record, found)) for record in found.get(experiment, [])]
            return [Outcome(label, *answer) for label, answer in answers if answer is not None]

        CLAIMS.append(Claim(experiment, words, how, outcomes))
        return ask

    return register


def _asked(ask: Callable[[Record, Found], Answer | None], record: Record, found: Found) -> Answer | None:
    """The answer of a record; None from one without a method that the claim is about."""
    declared = {told["name"] for told in get_experiment(record.experiment).options.get("methods", ())}
    try:
        return ask(record, found)
    except KeyError as error:
        if error.args[0] in declared | set(METHODS):
            return None
        raise


def _by_group(record: Record, method: str, figure: str) -> list[float]:
    return [float(rows[method][figure]) for rows in record.groups.values()]


def _above_oracle(experiment: str, words: str, method: str) -> None:
    """Register the claim that a method does worse than Oracle."""

    @_each(experiment, words, "its MAE is above Oracle's, told by the paired interval")
    def asked(record: Record, found: Found) -> Answer:
        (gap,) = gaps(record, [method])
        return told_better(record, "oracle", method), f"{METHODS[method]} {gap:.2f} %"


_above_oracle("table-oracle-partial", "Partial loses against Oracle.", "partial")


def _beside_mtgnn(found: Found) -> Iterator[tuple[str, dict[str, list[Record]]]]:
    """Datasets with the records of MTGNN and of other models on the same windows and draws, by model."""
    for dataset in ORIGINALS:
        alike: dict[tuple[int, int], dict[str, list[Record]]] = {}
        for record in (record for record in found["table-oracle-partial"] if record.dataset == dataset):
            alike.setdefault((record.draws, record.every), {}).setdefault(record.model, []).append(record)
        most = max(alike.values(), key=len, default={})
        if len(most) > 1 and "mtgnn" in most:
            yield dataset, most


def _mean_of(records: Sequence[Record], method: str, figure: str) -> float:
    return float(np.mean([record.methods[method][figure] for record in records]))


def _oracles(models: Mapping[str, Sequence[Record]]) -> tuple[dict[str, float], str]:
    """Oracle's MAE by model, and in words."""
    told = {model: _mean_of(records, "oracle", "mae") for model, records in models.items()}
    return told, ", ".join(f"{MODELS[model]} {value:.2f}" for model, value in told.items())


def _graphs_are_better(found: Found) -> list[Outcome]:
    outcomes = []
    for dataset, models in _beside_mtgnn(found):
        told, text = _oracles(models)
        graphs = [told[model] for model in told if model in GRAPH_MODELS]
        others = [told[model] for model in told if model not in GRAPH_MODELS]
        if others:
            outcomes.append(Outcome(dataset, max(graphs) < min(others), text))
    return outcomes


def _mtgnn_is_best(found: Found) -> list[Outcome]:
    outcomes = []
    for dataset, models in _beside_mtgnn(found):
        if dataset not in WHOLE:
            told, text = _oracles(models)
            outcomes.append(Outcome(dataset, min(told, key=lambda model: told[model]) == "mtgnn", text))
    return outcomes


def _mtgnn_loses_most(found: Found) -> list[Outcome]:
    outcomes = []
    for dataset, models in _beside_mtgnn(found):
        told = {model: _mean_of(records, "partial", "mae_gap") for model, records in models.items()}
        worst = max(told, key=lambda model: told[model])
        text = f"MTGNN {told['mtgnn']:.2f} %, {MODELS[worst]} {told[worst]:.2f} %"
        outcomes.append(Outcome(dataset, worst == "mtgnn", text))
    return outcomes


_BY_MEANS = "by the means of models measured on the same windows and draws (two or more)"
CLAIMS += [
    Claim(
        "table-oracle-partial",
        "Models with a graph do better than the others in Oracle.",
        f"each one's MAE is below that of LSTNet and TCN, {_BY_MEANS}",
        _graphs_are_better,
    ),
    Claim(
        "table-oracle-partial",
        "MTGNN's Oracle is the best on all datasets but ECG5000.",
        f"its MAE is the smallest, {_BY_MEANS}",
        _mtgnn_is_best,
    ),
    Claim(
        "table-oracle-partial",
        "MTGNN loses the most of all models.",
        f"its gap of MAE is the largest, {_BY_MEANS}",
        _mtgnn_loses_most,
    ),
]


@_each(
    "figure-subset-size", "The error falls as S grows.", "Partial's MAE falls on the whole (rank correlation ≤ -0.8)"
)
def _error_falls(record: Record, found: Found) -> Answer:
    values = _by_group(record, "partial", "mae")
    return mostly(values, -1), course(values)


@_each("figure-subset-size", "The gap to Oracle closes as S grows.", "Partial's gap of MAE falls on the whole")
def _gap_closes(record: Record, found: Found) -> Answer:
    values = _by_group(record, "partial", "mae_gap")
    return mostly(values, -1), course(values)


@_each(
    "figure-subset-size",
    "The error hardly changes with the size of S.",
    "Oracle's largest and smallest MAE over the sizes differ by at most a tenth of their mean",
)
def _oracle_stays(record: Record, found: Found) -> Answer:
    values = _by_group(record, "oracle", "mae")
    return bool(max(values) - min(values) <= 0.1 * np.mean(values)), course(values)


def _against(record: Record, ours: str, other: str, metric: str = "mae") -> str:
    first, second = gaps(record, [ours, other], metric)
    return f"{METHODS[ours]} {first:.2f} %, {METHODS[other]} {second:.2f} %"


@_each(
    "table-apriori",
    "A model trained on a known S does better than Partial.",
    "its MAE is the smaller, told by the paired interval",
)
def _apriori_beats_partial(record: Record, found: Found) -> Answer:
    return told_better(record, "apriori", "partial"), _against(record, "apriori", "partial")


_above_oracle("table-apriori", "A model trained on a known S need not reach Oracle.", "apriori")


@_each(
    "table-apriori",
    "FDW matches or beats a model trained on a known S.",
    "the paired interval of the two MAE ends at 2 % above it or below",
)
def _fdw_beats_apriori(record: Record, found: Found) -> Answer:
    return told_no_worse(record, "fdw", "apriori"), _against(record, "fdw", "apriori")


_above_oracle(
    "table-identity",
    "The identity in place of the graph does worse than Oracle: what variables tell of each other matters.",
    "identity",
)


@_each(
    "table-identity",
    "The identity in place of the graph does worse than Partial.",
    "its MAE is the larger, told by the paired interval",
)
def _identity_worse(record: Record, found: Found) -> Answer:
    return told_better(record, "partial", "identity"), _against(record, "identity", "partial")


@_each("table-main", "FDW recovers much of what Partial loses.", "FDW's gap of MAE is less than half of Partial's")
def _fdw_recovers(record: Record, found: Found) -> Answer:
    fdw, partial = gaps(record, ["fdw", "partial"])
    return fdw < partial / 2, f"FDW {fdw:.2f} %, Partial {partial:.2f} %"


def _fdw_mostly_small(found: Found) -> list[Outcome]:
    """One outcome for ECG5000 and one for the other datasets: the claim is of most cells, not of each."""
    outcomes = []
    for name, whole in (("ecg5000", True), ("other datasets", False)):
        values = main_gaps(found, "fdw", whole=whole)
        if values:
            small = sum(value < 5 for value in values)
            text = f"{small} of {len(values)} cells, {min(values):.2f} to {max(values):.2f} %"
            outcomes.append(Outcome(name, small > len(values) / 2, text))
    return outcomes


CLAIMS.append(
    Claim(
        "table-main",
        "The gap of FDW is mostly below 5 %.",
        "FDW's gap of MAE is below 5 % in more than half of the cells",
        _fdw_mostly_small,
    )
)


def _one_mode_at_zero(found: Found) -> list[Outcome]:
    outcomes = []
    for record in found["figure-reciprocal-rank"]:
        if ORIGINALS[record.dataset] in ("metr-la", "solar"):
            first, second = record.groups["15%"]["histogram"][:2]
            most = 1 / len(record.groups["15%"]["histogram"])
            outcomes.append(
                Outcome(
                    record.label, first > max(second, most), f"{first:.0%} in the lowest bar, {second:.0%} in the next"
                )
            )
    return outcomes


def _better_than_roads_and_sun(found: Found) -> list[Outcome]:
    means = {record.dataset: record.groups["15%"]["mrr"] for record in found["figure-reciprocal-rank"]}
    hard = {dataset: mean for dataset, mean in means.items() if ORIGINALS[dataset] in ("metr-la", "solar")}
    easy = {dataset: mean for dataset, mean in means.items() if ORIGINALS[dataset] in ("traffic", "ecg5000")}
    return [
        Outcome(f"{dataset} against {other}", mean > low, f"mean {mean:.3f} against {low:.3f}")
        for dataset, mean in easy.items()
        for other, low in hard.items()
    ]


CLAIMS += [
    Claim(
        "figure-reciprocal-rank",
        "One mode of the distribution lies close to zero.",
        "the lowest bar is higher than the next and than an even share; kin of METR-LA and SOLAR",
        _one_mode_at_zero,
    ),
    Claim(
        "figure-reciprocal-rank",
        "The distribution is much better than on METR-LA and SOLAR.",
        "the mean reciprocal rank is above that of kin of the two; `clouds` is generated",
        _better_than_roads_and_sun,
    ),
]


@_each(
    "table-ablation",
    "A larger exponent b does worse.",
    "MAE is larger at b = 2 than at 0.5, told by the paired interval",
)
def _larger_exponent(record: Record, found: Found) -> Answer:
    return told_better(record, "b=0.5", "b=2"), course(gaps(record, ["b=0.5", "b=1", "b=2"]))


@_each(
    "table-ablation",
    "b = 0.5 works best.",
    "its MAE is told to be smaller than at every other b; not when another's is told to be smaller",
)
def _half_is_best(record: Record, found: Found) -> Answer:
    told = [told_better(record, "b=0.5", f"b={b}") for b in (0.33, 1, 2)]
    return all_told(told), course(gaps(record, ["b=0.33", "b=0.5", "b=1", "b=2"]))


@_each(
    "table-knn",
    "FDW beats the nearest-neighbor forecast.",
    "its MAE is the smaller, told by the paired interval",
)
def _fdw_beats_knn(record: Record, found: Found) -> Answer:
    return told_better(record, "fdw", "neighbor-forecast"), _against(record, "fdw", "neighbor-forecast")


def _numbered(record: Record, letter: str) -> tuple[list[float], list[float]]:
    """The numbers behind names such as "m=5", and the gaps of MAE."""
    names = [name for name in record.methods if name.startswith(f"{letter}=")]
    return [float(name[2:]) for name in names], gaps(record, names)


def _told_to_rise(record: Record, letter: str) -> bool:
    """Whether some number behind the letter is told to do worse than a smaller one."""
    names = [name for name in record.methods if name.startswith(f"{letter}=")]
    return any(told_better(record, fewer, more) for fewer, more in combinations(names, 2))


@_each(
    "figure-neighbors",
    "The gap strictly falls as m grows.",
    "the mean gap is smaller at every further m; not when some m is told, by the paired interval, to do worse than a "
    "smaller one",
)
def _falls_with_neighbors(record: Record, found: Found) -> Answer:
    _, values = _numbered(record, "m")
    if _told_to_rise(record, "m"):
        return False, course(values)
    return True if strictly(values, -1) else None, course(values)


@_each(
    "figure-neighbors",
    "The reductions of the gap diminish as m grows.",
    "the mean gap falls from each m to the next, for one more neighbor by less and less; not told where it rises by "
    "less than the paired intervals tell",
)
def _neighbors_diminish(record: Record, found: Found) -> Answer:
    places, values = _numbered(record, "m")
    untold = not _told_to_rise(record, "m") and not strictly(values, -1)
    return None if untold else diminishing(values, places, -1), course(values)


@_each(
    "figure-retrieval-size",
    "The gap falls sharply over the small fractions of the bank and slowly after.",
    "MAE falls from a twentieth of the bank to a quarter, told by the paired interval, and by more than from there on",
)
def _falls_sharply_first(record: Record, found: Found) -> Answer:
    _, values = _numbered(record, "r")
    first, quarter, whole = gaps(record, ["r=0.05", "r=0.25", "r=1"])
    told = told_better(record, "r=0.25", "r=0.05")
    return told and first - quarter > quarter - whole, course(values)


@_each(
    "figure-retrieval-size",
    "A quarter of the bank nearly suffices.",
    "it has nine tenths of what the whole bank gains over a twentieth; cannot be told where the whole is not told to "
    "gain",
)
def _quarter_suffices(record: Record, found: Found) -> Answer:
    _, values = _numbered(record, "r")
    first, quarter, whole = gaps(record, ["r=0.05", "r=0.25", "r=1"])
    if not told_better(record, "r=1", "r=0.05"):
        return None, course(values)
    return first - quarter >= 0.9 * (first - whole), course(values)


@_each(
    "table-weighting-mrr",
    "FDW ranks the ideal neighbor higher than DDW.",
    "its mean reciprocal rank is the higher, told by the 95 % interval of the difference over draws",
)
def _fdw_ranks_higher(record: Record, found: Found) -> Answer:
    fdw, ddw = record.figures["fdw"], record.figures["ddw"]
    each = np.array(record.figures["difference_by_draw"])
    clear = abs(each.mean()) > stats.t.ppf(0.975, len(each) - 1) * each.std(ddof=1) / np.sqrt(len(each))
    return bool(fdw > ddw) if clear else None, f"FDW {fdw:.4f}, DDW {ddw:.4f}"


@_each("table-weighting", "FDW does better than DDW.", "its RMSE is the smaller, told by the paired interval")
def _fdw_beats_ddw(record: Record, found: Found) -> Answer:
    return told_better(record, "fdw", "ddw", "rmse"), _against(record, "fdw", "ddw", "rmse")


@_each("table-weighting", "FDW does better than UW.", "its RMSE is the smaller, told by the paired interval")
def _fdw_beats_uw(record: Record, found: Found) -> Answer:
    return told_better(record, "fdw", "uw", "rmse"), _against(record, "fdw", "uw", "rmse")


@_each("table-weighting", "DDW does better than UW.", "its RMSE is the smaller, told by the paired interval")
def _ddw_beats_uw(record: Record, found: Found) -> Answer:
    return told_better(record, "ddw", "uw", "rmse"), _against(record, "ddw", "uw", "rmse")


@_each(
    "table-imputation",
    "FDW does better than kNNE and IIM, or nearly as well.",
    "the paired intervals of its MAE and theirs end at 2 % above theirs or below",
)
def _fdw_against_imputers(record: Record, found: Found) -> Answer:
    fdw, knne, iim = gaps(record, ["fdw", "knne", "iim"])
    told = [told_no_worse(record, "fdw", other) for other in ("knne", "iim")]
    return all_told(told), f"FDW {fdw:.2f} %, kNNE {knne:.2f} %, IIM {iim:.2f} %"


@_each(
    "table-correlated",
    "The gap of FDW is larger when S comes from fewer clusters.",
    "by the means largest with the fewest clusters",
)
def _fewer_clusters(record: Record, found: Found) -> Answer:
    values = _by_group(record, "fdw", "mae_gap")
    return values[0] > max(values[1:]), course(values)


@_each("table-correlated", "The error of Partial rises with the number of clusters.", "MAE rises on the whole")
def _partial_rises(record: Record, found: Found) -> Answer:
    values = _by_group(record, "partial", "mae")
    return mostly(values, 1), course(values)


@_each("table-correlated-mrr", "The reciprocal rank rises with the number of clusters.", "its mean rises on the whole")
def _rank_rises(record: Record, found: Found) -> Answer:
    values = [float(row["mrr"]) for row in record.groups.values()]
    return mostly(values, 1), course(values, 3)


@_each(
    "figure-horizon",
    "The gap between Oracle and Partial grows with every step.",
    "the difference of their MAE is larger at every further step; kin of METR-LA and SOLAR",
)
def _grows_with_steps(record: Record, found: Found) -> Answer | None:
    values = gap_by_step(record)
    return None if record.dataset == "ecg5000" else (strictly(values, 1), course(values))


@_each(
    "figure-horizon",
    "The gap between Oracle and Partial grows with the step in a zig-zag.",
    "on ECG5000 the difference of their MAE grows on the whole, but not at every step",
)
def _zig_zag(record: Record, found: Found) -> Answer | None:
    values = gap_by_step(record)
    return (mostly(values, 1) and not strictly(values, 1), course(values)) if record.dataset == "ecg5000" else None


@_each(
    "figure-pagerank",
    "The summed PageRank of the absent variables correlates with the gap in MAE.",
    "the 95 % interval of the correlation lies above 0",
)
def _pagerank_correlates(record: Record, found: Found) -> Answer | None:
    value, interval = record.figures["correlation"], correlation_interval(record)
    if value is None or interval is None:
        return None, "too few draws"
    holds = True if interval[0] > 0 else False if interval[1] < 0 else None
    return holds, f"{value:.2f}"


def _each_table(words: str, how: str, ask: Callable[[Record, Mapping[str, Any]], Answer]) -> None:
    """Register a claim on the query table that each way to set its ranges answers for itself."""

    def outcomes(found: Found) -> list[Outcome]:
        return [
            Outcome(f"{record.label}, {name}", *ask(record, told))
            for record in found["figure-rounds"]
            for name, told in record.figures["tables"].items()
        ]

    CLAIMS.append(Claim("figure-rounds", words, how, outcomes))


_each_table(
    "At most 3 rounds are needed for most m.",
    "with a way to set the ranges, the mean rounds are 3 at most for more than half of the m",
    lambda record, told: (
        sum(value <= 3 for value in told["rounds"]) > len(told["rounds"]) / 2,
        course(told["rounds"]),
    ),
)
_each_table(
    "The increase of the rounds diminishes as m grows.",
    "with a way to set the ranges, the mean rounds grow with every m, for one more neighbor by less and less",
    lambda record, told: (diminishing(told["rounds"], record.figures["neighbors"], 1), course(told["rounds"])),
)
_each_table(
    "The set that is left to compare is small.",
    "with a way to set the ranges, it is a tenth of the bank at most, for every m",
    lambda record, told: (
        max(told["compared"]) <= 0.1,
        " → ".join(f"{100 * share:.2g} %" for share in told["compared"]),
    ),
)


def _little_lost(found: Found) -> list[Outcome]:
    outcomes = []
    for record in found["table-scalable"]:
        like = Record(**{**vars(record), "model": "mtgnn"})
        theirs, plain = printed(like, "scalable", "delta_mae"), printed(like, "fdw", "delta_mae")
        if theirs is None or plain is None:
            continue
        lost = theirs.mean - plain.mean
        for name in (name for name in record.methods if name.startswith("scalable")):
            ours, low, high = record.methods[name]["mae_against"]["fdw"]
            holds = None if low is None or low <= lost < high else high <= lost
            text = f"{ours:+.2f} %, the paper {lost:+.2f} points"
            outcomes.append(Outcome(f"{record.label}, {METHODS[name]}", holds, text))
    return outcomes


CLAIMS.append(
    Claim(
        "table-scalable",
        "The query table costs little accuracy.",
        "the paired interval of its MAE and FDW's ends at what the gap rises by in table 13 (MTGNN, same dataset or "
        "its original), or below",
        _little_lost,
    )
)
