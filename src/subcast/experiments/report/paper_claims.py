"""The paper's claims, each with a small function that tests it on the records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy import stats

from subcast.experiments.declaration import get_experiment
from subcast.experiments.report.records import (
    METHODS,
    MODELS,
    ORIGINALS,
    PAPER_DATASETS,
    AllRecords,
    Record,
    published_number,
)
from subcast.experiments.report.uncertainty import mean_over, spread_between_trainings, training_spreads
from subcast.experiments.report.verdicts import (
    Claim,
    Outcome,
    all_hold,
    correlation_interval,
    diminishing,
    gap_by_step,
    gaps,
    is_better,
    is_no_worse,
    main_gaps,
    mostly_monotonic,
    series_text,
    strictly_monotonic,
)
from subcast.forecasters import FORECASTERS

Answer = tuple[bool | None, str]
"""Whether the claim holds in a cell (None: undecided), and the numbers as text."""

CLAIMS: list[Claim] = []
GRAPH_MODELS = tuple(name for name, kind in FORECASTERS.items() if kind.needs_graph or kind.learns_graph)
_SMALLER_MAE = "its MAE is smaller, and the paired interval excludes 0"
_SMALLER_RMSE = "its RMSE is smaller, and the paired interval excludes 0"


def _per_record(
    experiment: str, words: str, how: str
) -> Callable[[Callable[..., Answer | None]], Callable[..., object]]:
    """Register a claim that is tested on every record of an experiment by itself (None: the record cannot test it)."""

    def register(ask: Callable[[Record], Answer | None]) -> Callable[..., object]:
        def outcomes(all_records: AllRecords) -> list[Outcome]:
            records = [record for record in all_records.get(experiment, []) if record.is_first]
            answers = [(record.label, _answer_of(ask, record)) for record in records]
            return [Outcome(label, *answer) for label, answer in answers if answer is not None]

        CLAIMS.append(Claim(experiment, words, how, outcomes))
        return ask

    return register


def _answer_of(ask: Callable[[Record], Answer | None], record: Record) -> Answer | None:
    """Return the answer of a record; None if it lacks a method that the claim is about."""
    declared = {method["name"] for method in get_experiment(record.experiment).options.get("methods", ())}
    try:
        return ask(record)
    except KeyError as error:
        if error.args[0] in declared | set(METHODS):
            return None
        raise


def _by_group(record: Record, method: str, figure: str) -> list[float]:
    return [float(rows[method][figure]) for rows in record.groups.values()]


def _claim_worse_than_oracle(experiment: str, words: str, method: str) -> None:
    """Register the claim that a method does worse than Oracle."""

    @_per_record(experiment, words, "its MAE is above Oracle's, and the paired interval excludes 0")
    def ask(record: Record) -> Answer:
        (gap,) = gaps(record, [method])
        return is_better(record, "oracle", method), f"{METHODS[method]} {gap:.2f} %"


_claim_worse_than_oracle("table-oracle-partial", "Partial loses against Oracle.", "partial")


def _beside_mtgnn(all_records: AllRecords) -> Iterator[tuple[str, dict[str, list[Record]]]]:
    """Yield each dataset with the records by model of MTGNN and others on the same windows and draws."""
    for dataset in ORIGINALS:
        by_size: dict[tuple[int, int], dict[str, list[Record]]] = {}
        for record in (record for record in all_records["table-oracle-partial"] if record.dataset == dataset):
            by_size.setdefault((record.draws, record.every), {}).setdefault(record.model, []).append(record)
        most_models = max(by_size.values(), key=lambda models: ("mtgnn" in models, len(models)), default={})
        if len(most_models) > 1 and "mtgnn" in most_models:
            yield dataset, most_models


def _oracles(models: Mapping[str, Sequence[Record]]) -> tuple[dict[str, float], str]:
    """Return Oracle's MAE by model, and the same as text."""
    errors = {model: mean_over(records, "oracle", "mae") for model, records in models.items()}
    return errors, ", ".join(f"{MODELS[model]} {error:.2f}" for model, error in errors.items())


def _graphs_are_better(all_records: AllRecords) -> list[Outcome]:
    outcomes = []
    for dataset, models in _beside_mtgnn(all_records):
        errors, text = _oracles(models)
        graphs = [model for model in errors if model in GRAPH_MODELS]
        others = [model for model in errors if model not in GRAPH_MODELS]
        if others:
            names = (max(graphs, key=lambda model: errors[model]), min(others, key=lambda model: errors[model]))
            outcomes.append(Outcome(dataset, _model_is_smaller(all_records, models, names, "oracle", "mae"), text))
    return outcomes


def _mtgnn_is_best(all_records: AllRecords) -> list[Outcome]:
    outcomes = []
    for dataset, models in _beside_mtgnn(all_records):
        if dataset not in PAPER_DATASETS:
            errors, text = _oracles(models)
            best = min((model for model in errors if model != "mtgnn"), key=lambda model: errors[model])
            holds = _model_is_smaller(all_records, models, ("mtgnn", best), "oracle", "mae")
            outcomes.append(Outcome(dataset, holds, text))
    return outcomes


def _mtgnn_loses_most(all_records: AllRecords) -> list[Outcome]:
    outcomes = []
    for dataset, models in _beside_mtgnn(all_records):
        gaps_by_model = {model: mean_over(records, "partial", "mae_gap") for model, records in models.items()}
        worst = max((model for model in gaps_by_model if model != "mtgnn"), key=lambda model: gaps_by_model[model])
        text = f"MTGNN {gaps_by_model['mtgnn']:.2f} %, {MODELS[worst]} {gaps_by_model[worst]:.2f} %"
        holds = _model_is_smaller(all_records, models, (worst, "mtgnn"), "partial", "mae_gap")
        outcomes.append(Outcome(dataset, holds, text))
    return outcomes


def _is_smaller(first: float, second: float, by_chance: float) -> bool | None:
    """Return whether the first number is the smaller; None where their difference may be chance."""
    return None if abs(first - second) <= by_chance else first < second


def _model_is_smaller(
    all_records: AllRecords, models: Mapping[str, Sequence[Record]], names: tuple[str, str], method: str, figure: str
) -> bool | None:
    """Return whether the first model has the smaller mean; None where other trainings may change that."""
    spreads, variance = training_spreads(all_records), 0.0
    values = [mean_over(models[name], method, figure) for name in names]
    freedoms = []
    for name, value in zip(names, values, strict=True):
        spread, freedom = spread_between_trainings(spreads, name, method, figure, value)
        variance += spread**2 / len(models[name])
        freedoms.append(freedom)
    return _is_smaller(values[0], values[1], float(stats.t.ppf(0.975, min(freedoms)) * variance**0.5))


_BY_MEANS = (
    "comparing means over all trainings of the models on the same windows and draws; undecided where other trainings "
    "may change the answer, as far as trainings on ECG5000 are apart"
)
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


@_per_record(
    "figure-subset-size", "The error falls as S grows.", "Partial's MAE falls overall (rank correlation ≤ -0.8)"
)
def _error_falls(record: Record) -> Answer:
    values = _by_group(record, "partial", "mae")
    return mostly_monotonic(values, -1), series_text(values)


@_per_record("figure-subset-size", "The gap to Oracle closes as S grows.", "Partial's gap of MAE falls overall")
def _gap_closes(record: Record) -> Answer:
    values = _by_group(record, "partial", "mae_gap")
    return mostly_monotonic(values, -1), series_text(values)


@_per_record(
    "figure-subset-size",
    "The error hardly changes with the size of S.",
    "Oracle's largest and smallest MAE over the sizes differ by at most a tenth of the mean",
)
def _oracle_stays(record: Record) -> Answer:
    values = _by_group(record, "oracle", "mae")
    return bool(max(values) - min(values) <= 0.1 * np.mean(values)), series_text(values)


def _against(record: Record, ours: str, other: str, metric: str = "mae") -> str:
    first, second = gaps(record, [ours, other], metric)
    return f"{METHODS[ours]} {first:.2f} %, {METHODS[other]} {second:.2f} %"


@_per_record(
    "table-apriori",
    "A model trained on a known S does better than Partial.",
    _SMALLER_MAE,
)
def _apriori_beats_partial(record: Record) -> Answer:
    return is_better(record, "apriori", "partial"), _against(record, "apriori", "partial")


_claim_worse_than_oracle("table-apriori", "A model trained on a known S need not reach Oracle.", "apriori")


@_per_record(
    "table-apriori",
    "FDW matches or beats a model trained on a known S.",
    "the paired interval of the difference in MAE ends at 2 % or below",
)
def _fdw_beats_apriori(record: Record) -> Answer:
    return is_no_worse(record, "fdw", "apriori"), _against(record, "fdw", "apriori")


_claim_worse_than_oracle(
    "table-identity",
    "The identity in place of the graph does worse than Oracle: relations between variables matter.",
    "identity",
)


@_per_record(
    "table-identity",
    "The identity in place of the graph does worse than Partial.",
    "its MAE is larger, and the paired interval excludes 0",
)
def _identity_worse(record: Record) -> Answer:
    return is_better(record, "partial", "identity"), _against(record, "identity", "partial")


@_per_record(
    "table-main", "FDW recovers much of what Partial loses.", "FDW's gap of MAE is less than half of Partial's"
)
def _fdw_recovers(record: Record) -> Answer:
    fdw, partial = gaps(record, ["fdw", "partial"])
    return fdw < partial / 2, f"FDW {fdw:.2f} %, Partial {partial:.2f} %"


def _fdw_mostly_small(all_records: AllRecords) -> list[Outcome]:
    """Return one outcome for each order of ECG5000 and one for the others: the claim is about most cells, not each."""
    outcomes = []
    for dataset in (*PAPER_DATASETS, None):
        name, values = dataset or "other datasets", main_gaps(all_records, "fdw", dataset)
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


def _one_mode_at_zero(all_records: AllRecords) -> list[Outcome]:
    outcomes = []
    for record in all_records["figure-reciprocal-rank"]:
        if ORIGINALS[record.dataset] in ("metr-la", "solar"):
            first, second = record.groups["15%"]["histogram"][:2]
            even_share = 1 / len(record.groups["15%"]["histogram"])
            text = f"{first:.0%} in the lowest bar, {second:.0%} in the next"
            outcomes.append(Outcome(record.label, first > max(second, even_share), text))
    return outcomes


_MUCH = 1.5


def _better_than_roads_and_sun(all_records: AllRecords) -> list[Outcome]:
    means = {record.dataset: record.groups["15%"]["mrr"] for record in all_records["figure-reciprocal-rank"]}
    hard = {dataset: mean for dataset, mean in means.items() if ORIGINALS[dataset] in ("metr-la", "solar")}
    easy = {dataset: mean for dataset, mean in means.items() if ORIGINALS[dataset] in ("traffic", "ecg5000")}
    return [
        Outcome(
            f"{dataset} against {other}",
            True if mean >= _MUCH * other_mean else None if mean > other_mean else False,
            f"mean {mean:.3f} against {other_mean:.3f}",
        )
        for dataset, mean in easy.items()
        for other, other_mean in hard.items()
    ]


CLAIMS += [
    Claim(
        "figure-reciprocal-rank",
        "One mode of the distribution lies close to zero.",
        "the lowest bar is higher than the next and than an even share; stand-ins for METR-LA and SOLAR only",
        _one_mode_at_zero,
    ),
    Claim(
        "figure-reciprocal-rank",
        "The distribution is much better than on METR-LA and SOLAR.",
        "the mean reciprocal rank is above those of the stand-ins for the two by at least half of them; undecided if "
        "by less; `clouds` is generated",
        _better_than_roads_and_sun,
    ),
]


@_per_record(
    "table-ablation",
    "A larger exponent b does worse.",
    "MAE is larger at b = 2 than at b = 0.5, and the paired interval excludes 0",
)
def _larger_exponent(record: Record) -> Answer:
    return is_better(record, "b=0.5", "b=2"), series_text(gaps(record, ["b=0.5", "b=1", "b=2"]))


@_per_record(
    "table-ablation",
    "b = 0.5 works best.",
    "its MAE is smaller than at every other b, and all paired intervals exclude 0; fails if another b is so",
)
def _half_is_best(record: Record) -> Answer:
    answers = [is_better(record, "b=0.5", f"b={b}") for b in (0.33, 1, 2)]
    return all_hold(answers), series_text(gaps(record, ["b=0.33", "b=0.5", "b=1", "b=2"]))


@_per_record(
    "table-knn",
    "FDW beats the nearest-neighbor forecast.",
    _SMALLER_MAE,
)
def _fdw_beats_knn(record: Record) -> Answer:
    return is_better(record, "fdw", "neighbor-forecast"), _against(record, "fdw", "neighbor-forecast")


def _numbered(record: Record, letter: str) -> tuple[list[float], list[float]]:
    """Return the numbers in names such as "m=5", and the gaps of MAE."""
    names = [name for name in record.methods if name.startswith(f"{letter}=")]
    return [float(name[2:]) for name in names], gaps(record, names)


def _rises_significantly(record: Record, letter: str) -> bool:
    """Return whether some setting does significantly worse than one with a smaller number."""
    names = [name for name in record.methods if name.startswith(f"{letter}=")]
    return any(is_better(record, smaller, larger) for smaller, larger in combinations(names, 2))


@_per_record(
    "figure-neighbors",
    "The gap strictly falls as m grows.",
    "the mean gap is smaller at every larger m; fails if some m has a larger MAE than a smaller m and the paired "
    "interval excludes 0",
)
def _falls_with_neighbors(record: Record) -> Answer:
    _, values = _numbered(record, "m")
    if _rises_significantly(record, "m"):
        return False, series_text(values)
    return True if strictly_monotonic(values, -1) else None, series_text(values)


@_per_record(
    "figure-neighbors",
    "The reductions of the gap diminish as m grows.",
    "the mean gap falls from each m to the next, at a rate for each further neighbor that never grows; undecided if it "
    "rises, but no paired interval excludes 0",
)
def _neighbors_diminish(record: Record) -> Answer:
    counts, values = _numbered(record, "m")
    undecided = not _rises_significantly(record, "m") and not strictly_monotonic(values, -1)
    return None if undecided else diminishing(values, counts, -1), series_text(values)


@_per_record(
    "figure-retrieval-size",
    "The gap falls sharply over the small fractions of the bank and slowly after.",
    "MAE falls from 5 % of the bank to 25 %, the paired interval excludes 0, and the gap falls more than from 25 % to "
    "the whole bank",
)
def _falls_sharply_first(record: Record) -> Answer:
    _, values = _numbered(record, "r")
    first, quarter, whole = gaps(record, ["r=0.05", "r=0.25", "r=1"])
    falls = is_better(record, "r=0.25", "r=0.05")
    return falls and first - quarter > quarter - whole, series_text(values)


@_per_record(
    "figure-retrieval-size",
    "A quarter of the bank nearly suffices.",
    "it has at least 90 % of what the whole bank gains over 5 % of it; undecided if the whole bank does not gain "
    "significantly",
)
def _quarter_suffices(record: Record) -> Answer:
    _, values = _numbered(record, "r")
    first, quarter, whole = gaps(record, ["r=0.05", "r=0.25", "r=1"])
    if not is_better(record, "r=1", "r=0.05"):
        return None, series_text(values)
    return first - quarter >= 0.9 * (first - whole), series_text(values)


@_per_record(
    "table-weighting-mrr",
    "FDW ranks the ideal neighbor higher than DDW.",
    "its mean reciprocal rank is higher, and the 95 % interval of the difference over draws excludes 0",
)
def _fdw_ranks_higher(record: Record) -> Answer:
    fdw, ddw = record.figures["fdw"], record.figures["ddw"]
    differences = np.array(record.figures["difference_by_draw"])
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    significant = abs(differences.mean()) > stats.t.ppf(0.975, len(differences) - 1) * error
    return bool(fdw > ddw) if significant else None, f"FDW {fdw:.4f}, DDW {ddw:.4f}"


@_per_record("table-weighting", "FDW does better than DDW.", _SMALLER_RMSE)
def _fdw_beats_ddw(record: Record) -> Answer:
    return is_better(record, "fdw", "ddw", "rmse"), _against(record, "fdw", "ddw", "rmse")


@_per_record("table-weighting", "FDW does better than UW.", _SMALLER_RMSE)
def _fdw_beats_uw(record: Record) -> Answer:
    return is_better(record, "fdw", "uw", "rmse"), _against(record, "fdw", "uw", "rmse")


@_per_record("table-weighting", "DDW does better than UW.", _SMALLER_RMSE)
def _ddw_beats_uw(record: Record) -> Answer:
    return is_better(record, "ddw", "uw", "rmse"), _against(record, "ddw", "uw", "rmse")


@_per_record(
    "table-imputation",
    "FDW does better than kNNE and IIM, or nearly as well.",
    "the paired intervals of the differences in MAE end at 2 % or below",
)
def _fdw_against_imputers(record: Record) -> Answer:
    fdw, knne, iim = gaps(record, ["fdw", "knne", "iim"])
    answers = [is_no_worse(record, "fdw", other) for other in ("knne", "iim")]
    return all_hold(answers), f"FDW {fdw:.2f} %, kNNE {knne:.2f} %, IIM {iim:.2f} %"


@_per_record(
    "table-correlated",
    "The gap of FDW is larger when S comes from fewer clusters.",
    "the mean gap is largest with the fewest clusters; undecided without intervals, or if the next largest differs by "
    "less than both half intervals together (the root of the sum of their squares)",
)
def _fewer_clusters(record: Record) -> Answer:
    values = _by_group(record, "fdw", "mae_gap")
    intervals = [rows["fdw"].get("mae_gap_interval") for rows in record.groups.values()]
    if not all(intervals):
        return None, series_text(values)
    widths = [(upper - lower) / 2 for lower, upper in intervals]
    other = 1 + int(np.argmax(values[1:]))
    return _is_smaller(values[other], values[0], float(np.hypot(widths[0], widths[other]))), series_text(values)


@_per_record("table-correlated", "The error of Partial rises with the number of clusters.", "MAE rises overall")
def _partial_rises(record: Record) -> Answer:
    values = _by_group(record, "partial", "mae")
    return mostly_monotonic(values, 1), series_text(values)


@_per_record("table-correlated-mrr", "The reciprocal rank rises with the number of clusters.", "its mean rises overall")
def _rank_rises(record: Record) -> Answer:
    values = [float(row["mrr"]) for row in record.groups.values()]
    return mostly_monotonic(values, 1), series_text(values, 3)


@_per_record(
    "figure-horizon",
    "The gap between Oracle and Partial grows with every step.",
    "the difference of their MAE is larger at every further step; undecided if it falls at no step by more than 2 % of "
    "what it grows by; stand-ins for METR-LA and SOLAR only",
)
def _grows_with_steps(record: Record) -> Answer | None:
    values = gap_by_step(record)
    grown = values[-1] - values[0]
    nearly = grown > 0 and bool((np.diff(values) >= -0.02 * grown).all())
    holds = True if strictly_monotonic(values, 1) else None if nearly else False
    return None if record.dataset in PAPER_DATASETS else (holds, series_text(values))


@_per_record(
    "figure-horizon",
    "The gap between Oracle and Partial grows with the step in a zig-zag.",
    "on ECG5000 the difference of their MAE grows overall, but not at every step",
)
def _zig_zag(record: Record) -> Answer | None:
    values = gap_by_step(record)
    return (
        (mostly_monotonic(values, 1) and not strictly_monotonic(values, 1), series_text(values))
        if record.dataset in PAPER_DATASETS
        else None
    )


@_per_record(
    "figure-pagerank",
    "The summed PageRank of the absent variables correlates with the gap in MAE.",
    "the 95 % interval of the correlation lies above 0",
)
def _pagerank_correlates(record: Record) -> Answer | None:
    correlation, interval = record.figures["correlation"], correlation_interval(record)
    if correlation is None or interval is None:
        return None, "too few draws"
    holds = True if interval[0] > 0 else False if interval[1] < 0 else None
    return holds, f"{correlation:.2f}"


def _per_table(words: str, how: str, ask: Callable[[Record, Mapping[str, Any]], Answer]) -> None:
    """Register a claim on the query table that is tested for each way to set its ranges."""

    def outcomes(all_records: AllRecords) -> list[Outcome]:
        return [
            Outcome(f"{record.label}, {name}", *ask(record, table))
            for record in all_records["figure-rounds"]
            for name, table in record.figures["tables"].items()
        ]

    CLAIMS.append(Claim("figure-rounds", words, how, outcomes))


def _per_dataset(words: str, how: str, ask: Callable[[Record], Answer]) -> None:
    """Register a claim on the query table that some way to set its ranges must fulfil on a dataset."""

    def outcomes(all_records: AllRecords) -> list[Outcome]:
        return [Outcome(record.dataset, *ask(record)) for record in all_records["figure-rounds"]]

    CLAIMS.append(Claim("figure-rounds", words, how, outcomes))


def _in_three_rounds(record: Record) -> dict[str, Mapping[str, Any]]:
    """Return the ways to set the ranges that need at most 3 rounds on average for more than half of the m."""
    tables = record.figures["tables"]
    return {
        name: table
        for name, table in tables.items()
        if sum(value <= 3 for value in table["rounds"]) > len(table["rounds"]) / 2
    }


def _rounds_are_few(record: Record) -> Answer:
    tables = record.figures["tables"]
    few = _in_three_rounds(record)
    return bool(few), f"{len(few)} of {len(tables)} ways to set the ranges"


def _little_is_left(record: Record) -> Answer:
    left = {name: max(table["compared"]) for name, table in _in_three_rounds(record).items()}
    if not left:
        return False, "no way needs so few rounds"
    name = min(left, key=lambda way: left[way])
    return left[name] <= 0.1, f"{100 * left[name]:.2g} % with {name}"


_per_dataset(
    "At most 3 rounds are needed for most m.",
    "with some way to set the ranges, the mean rounds are at most 3 for more than half of the m",
    _rounds_are_few,
)
_per_table(
    "The increase of the rounds diminishes as m grows.",
    "with one way to set the ranges, the mean rounds grow with m, at a rate for each further neighbor that never grows",
    lambda record, table: (diminishing(table["rounds"], record.figures["neighbors"], 1), series_text(table["rounds"])),
)
_per_dataset(
    "The set that is left to compare is small.",
    "of the ways that need at most 3 rounds for most m, one leaves at most a tenth of the bank for every m",
    _little_is_left,
)


def _little_lost(all_records: AllRecords) -> list[Outcome]:
    outcomes = []
    for record in (record for record in all_records["table-scalable"] if record.is_first):
        like = replace(record, model="mtgnn")
        scalable, fdw = published_number(like, "scalable", "delta_mae"), published_number(like, "fdw", "delta_mae")
        if scalable is None or fdw is None:
            continue
        published_loss = scalable.mean - fdw.mean
        for name in (name for name in record.methods if name.startswith("scalable")):
            loss, lower, upper = record.methods[name]["mae_against"]["fdw"]
            holds = None if lower is None or lower <= published_loss < upper else upper <= published_loss
            text = f"{loss:+.2f} %, the paper {published_loss:+.2f} points"
            outcomes.append(Outcome(f"{record.label}, {METHODS[name]}", holds, text))
    return outcomes


CLAIMS.append(
    Claim(
        "table-scalable",
        "The query table costs little accuracy.",
        "the paired interval of its MAE against FDW's ends at or below the increase of the gap in table 13 (MTGNN, "
        "same dataset or its original)",
        _little_lost,
    )
)
