"""Which order of ECG5000's rows gives the published numbers: ours in both orders beside the published ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from subcast.experiments.report.agreement import paper_checks
from subcast.experiments.report.records import METHODS, MODELS, ORDERS, AllRecords, Record, published_number
from subcast.experiments.report.tables import markdown_table
from subcast.names import plural

_FIRST, _SECOND = ORDERS
_ERRORS = ("table-row-order", "table-oracle-partial")  # the first that was run in both orders is used
_WEIGHTED = ("table-main", "table-knn", "table-weighting")
_NEIGHBORS = ("table-row-order", "table-knn")


@dataclass(frozen=True)
class Quantity:
    """A number of the paper, with ours in both orders.

    Parameters
    ----------
    model
        name of the model; "" for a number that depends on none
    what
        the quantity
    published
        the paper's number; for a method without a model, the one that its gaps and the published Oracles imply
    ours
        our numbers by dataset, one for each training
    """

    model: str
    what: str
    published: float
    ours: Mapping[str, tuple[float, ...]]

    def distance(self, dataset: str) -> float:
        """Return how far the mean over our trainings is from the published number."""
        return float(abs(np.mean(self.ours[dataset]) - self.published))

    @property
    def spread(self) -> float | None:
        """How far the trainings of one order are apart, the larger of both; None with a single training in each."""
        spreads = [max(values) - min(values) for values in self.ours.values() if len(values) > 1]
        return max(spreads, default=None)


def quantities(all_records: AllRecords) -> list[Quantity]:
    """Return the published numbers that were measured in both orders, on the same draws of S and test windows."""
    collected: list[Quantity] = []
    for model in MODELS:
        sources = (
            (_ERRORS, "oracle", ("mae", "rmse")),
            (_ERRORS, "partial", ("mae", "rmse", "mae_gap", "rmse_gap")),
            (_WEIGHTED, "fdw", ("mae_gap", "rmse_gap")),
            (_NEIGHBORS, "neighbor-forecast", ("mae_gap", "rmse_gap")),
        )
        for experiments, method, figures in sources:
            pair = _in_both_orders(all_records, experiments, model)
            collected += [_quantity(pair, method, figure) for figure in figures if pair]
    return collected + _without_model(all_records)


def nearer(quantity: Quantity, others: Sequence[Quantity]) -> str | None:
    """Return the dataset whose number is nearer to the published one; None where another training could change that.

    Two distances must differ by more than the trainings of one order do. For a model with one training in each order,
    the largest spread of the same quantity of another model is taken.
    """
    distances = {dataset: quantity.distance(dataset) for dataset in ORDERS}
    if abs(distances[_FIRST] - distances[_SECOND]) <= spread_of(quantity, others):
        return None
    return min(distances, key=lambda dataset: distances[dataset])


def spread_of(quantity: Quantity, others: Sequence[Quantity]) -> float:
    """Return how far trainings are apart in a quantity, that of another model where this one has a single training."""
    if not quantity.model:
        return 0.0
    if quantity.spread is not None:
        return quantity.spread
    return max((other.spread for other in others if other.what == quantity.what and other.spread), default=0.0)


def order_verdict(all_records: AllRecords) -> str:
    """Return which order is the paper's as far as the numbers decide, in a sentence or two."""
    every = quantities(all_records)
    if not every:
        return "No model was measured in both orders yet."
    counts = _counts(every, every)
    first, second, undecided = (counts[name] for name in (_FIRST, _SECOND, None))
    text = (
        f"Of {plural(len(every), 'published number')} that were measured in both orders "
        f"({_names_of(every)}), {first} are nearer with the {ORDERS[_FIRST]}, {second} with the {ORDERS[_SECOND]}, and "
        f"{undecided} differ by no more than two trainings do. "
    )
    leader = _FIRST if first >= 2 * second and first else _SECOND if second >= 2 * first and second else None
    missing = [title for model, title in MODELS.items() if model not in {quantity.model for quantity in every}]
    rest = f" Not measured in both orders: {', '.join(missing)}." if missing else ""
    if leader is None:
        return text + "The numbers do not decide which order is the paper's." + rest
    return text + f"As far as the numbers decide, the paper has the **{ORDERS[leader]}** (`{leader}`)." + rest


def order_summary(all_records: AllRecords) -> Iterator[str]:
    """Yield the verdict and how many published numbers of each model are nearer in which order."""
    every = quantities(all_records)
    yield order_verdict(all_records)
    if not every:
        return
    rows = []
    for model in dict.fromkeys(quantity.model for quantity in every):
        own = [quantity for quantity in every if quantity.model == model]
        counts = _counts(own, every)
        shared = agreeing_checks(all_records, model).values() if model else ([], [])
        agreeing = [", ".join(f"{agree} of {every_check}" for agree, every_check in counted) for counted in shared]
        rows.append([_title(model), *(str(counts[name]) for name in (_FIRST, _SECOND, None)), *agreeing])
    columns = [f"nearer: {name}" for name in ORDERS.values()] + ["undecided"]
    columns += [f"agree: {name}" for name in ORDERS.values()]
    yield markdown_table(["model", *columns], rows)
    yield (
        "*Agree* counts the comparisons with the published numbers (a gap within 2 points, an error in its 95 % "
        "interval, an order of two methods) in the experiments that were run in both orders, for each training of the "
        "model. Experiments that were run in one order only are shown in that one."
    )
    yield from _seeds_sentence(every)


def _seeds_sentence(every: Sequence[Quantity]) -> Iterator[str]:
    """Yield in a sentence what moves between trainings that differ in their seed alone."""
    for model in dict.fromkeys(quantity.model for quantity in every):
        moved = [
            f"{quantity.what.removesuffix(', %')} by {quantity.spread:.2f}{' points' if '%' in quantity.what else ''}"
            for quantity in every
            if quantity.model == model and quantity.spread is not None and "MAE" in quantity.what
        ]
        if moved:
            text = "; ".join(moved)
            yield f"What moves between trainings of {_title(model)} that differ in their seed alone: {text}."


def like_for_like(all_records: AllRecords) -> str:
    """Return how many comparisons agree in both orders, in what the first trainings have in both; "" if nothing."""
    totals = dict.fromkeys(ORDERS, (0, 0))
    for model in MODELS:
        for dataset, counted in agreeing_checks(all_records, model).items():
            agree, every = counted[0] if counted else (0, 0)
            totals[dataset] = (totals[dataset][0] + agree, totals[dataset][1] + every)
    if not all(every for _, every in totals.values()):
        return ""
    texts = [f"{agree} of {every} with the {ORDERS[dataset]}" for dataset, (agree, every) in totals.items()]
    return f"In the experiments and models that were run in both orders: {', '.join(texts)}."


def agreeing_checks(all_records: AllRecords, model: str) -> dict[str, list[tuple[int, int]]]:
    """Return by dataset how many comparisons with the paper agree, and how many there are, for each training.

    Only experiments that the model has in both orders count.
    """
    counts: dict[str, list[tuple[int, int]]] = {dataset: [] for dataset in ORDERS}
    shared = [
        record
        for records in all_records.values()
        for record in records
        if record.model == model and {other.dataset for other in records if other.model == model} >= set(ORDERS)
    ]
    for dataset in ORDERS:
        for seed in sorted({record.seed for record in shared if record.dataset == dataset}):
            checks = paper_checks([record for record in shared if (record.dataset, record.seed) == (dataset, seed)])
            if checks:
                counts[dataset].append((sum(check.agrees for check in checks), len(checks)))
    return counts


def order_details(all_records: AllRecords) -> Iterator[str]:
    """Yield every quantity in both orders, and what moves between trainings."""
    every = quantities(all_records)
    if not every:
        return
    rows = [
        [
            _title(quantity.model),
            quantity.what,
            f"{quantity.published:.2f}",
            *(_values_text(quantity.ours[dataset]) for dataset in ORDERS),
            f"{spread_of(quantity, every):.2f}" if quantity.model else "",
            _nearer_text(quantity, every),
        ]
        for quantity in every
    ]
    columns = ["model", "quantity", "published", *ORDERS.values(), "between trainings", "nearer"]
    yield "## Every number in both orders"
    yield (
        "Several numbers stand for as many trainings. *Between trainings* is the difference of the largest and the "
        "smallest of one order; for a model with a single training it is taken from another model. The rows are not "
        "independent: a gap follows from two errors."
    )
    yield markdown_table(columns, rows, left=2)
    yield from _between_trainings(every)


def _between_trainings(every: Sequence[Quantity]) -> Iterator[str]:
    """Yield what another training moves, in comparison with the other order."""
    rows = []
    for quantity in every:
        if quantity.spread is not None:
            means = [float(np.mean(quantity.ours[dataset])) for dataset in ORDERS]
            moved = f"{means[0] - means[1]:+.2f}"
            rows.append([_title(quantity.model), quantity.what, f"{quantity.spread:.2f}", moved])
    if rows:
        yield "## What another training moves"
        yield (
            "Trainings that differ in their seed alone, in comparison with what the order of rows moves. A difference "
            "between two models or methods that is smaller than the first number means nothing with one training each."
        )
        difference = f"{ORDERS[_FIRST]} minus {ORDERS[_SECOND]}"
        yield markdown_table(["model", "quantity", "largest minus smallest", difference], rows, left=2)


def _in_both_orders(all_records: AllRecords, experiments: Sequence[str], model: str) -> dict[str, list[Record]] | None:
    """Return the records of a model by dataset, from the first experiment that has both on equal draws and windows."""
    for experiment in experiments:
        own = [record for record in all_records.get(experiment, []) if record.model == model]
        by_dataset = {dataset: [record for record in own if record.dataset == dataset] for dataset in ORDERS}
        sizes = {(record.draws, record.every) for records in by_dataset.values() for record in records}
        if all(by_dataset.values()) and len(sizes) == 1:
            return by_dataset
    return None


def _quantity(pair: Mapping[str, Sequence[Record]], method: str, figure: str) -> Quantity:
    metric = figure.removesuffix("_gap")
    record = pair[_FIRST][0]
    published = published_number(record, method, figure if figure == metric else f"delta_{metric}")
    assert published is not None, (record.model, method, figure)
    error = metric.upper() if figure == metric else f"gap of {metric.upper()}, %"
    ours = {dataset: tuple(float(one.methods[method][figure]) for one in records) for dataset, records in pair.items()}
    return Quantity(record.model, f"{METHODS[method]}, {error}", published.mean, ours)


def _without_model(all_records: AllRecords) -> list[Quantity]:
    """Return the errors of the nearest-neighbor forecast, which are the same beside every model."""
    pairs = (_in_both_orders(all_records, _NEIGHBORS, model) for model in MODELS)
    pair = next((pair for pair in pairs if pair), None)
    if pair is None:
        return []
    return [
        Quantity(
            "",
            f"{METHODS['neighbor-forecast']}, {metric.upper()}",
            _implied_error(pair[_FIRST][0], metric),
            {dataset: (float(records[0].methods["neighbor-forecast"][metric]),) for dataset, records in pair.items()},
        )
        for metric in ("mae", "rmse")
    ]


def _implied_error(record: Record, metric: str) -> float:
    """Return the error of the nearest-neighbor forecast that table 6 implies, the mean over the models."""
    implied = []
    for model in MODELS:
        of_model = Record(**{**vars(record), "model": model})
        oracle = published_number(of_model, "oracle", metric)
        gap = published_number(of_model, "neighbor-forecast", f"delta_{metric}")
        if oracle is not None and gap is not None:
            implied.append(oracle.mean * (1 + gap.mean / 100))
    return float(np.mean(implied))


def _counts(own: Sequence[Quantity], every: Sequence[Quantity]) -> dict[str | None, int]:
    answers = [nearer(quantity, every) for quantity in own]
    return {name: answers.count(name) for name in (_FIRST, _SECOND, None)}


def _nearer_text(quantity: Quantity, every: Sequence[Quantity]) -> str:
    answer = nearer(quantity, every)
    return "undecided" if answer is None else ORDERS[answer]


def _names_of(every: Sequence[Quantity]) -> str:
    return ", ".join(_title(model) for model in dict.fromkeys(quantity.model for quantity in every))


def _title(model: str) -> str:
    return MODELS.get(model, "without a model")


def _values_text(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values)
