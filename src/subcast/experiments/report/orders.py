"""Which order of ECG5000's rows gives the published numbers: ours in both orders beside the published ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from subcast.experiments.report.agreement import paper_checks
from subcast.experiments.report.records import METHODS, MODELS, ORDERS, AllRecords, Record, published_number
from subcast.experiments.report.tables import markdown_table
from subcast.experiments.report.uncertainty import (
    Spreads,
    cells,
    mean_over,
    resampled,
    training_spreads,
    with_trainings,
)
from subcast.names import plural

_FIRST, _SECOND = ORDERS
_EXPERIMENTS = ("table-row-order", "table-oracle-partial")  # the first that was run in both orders is used
_LEVEL = (0.025, 0.975)


@dataclass(frozen=True, eq=False)
class Quantity:
    """A published error, with ours in both orders.

    Parameters
    ----------
    model
        name of the model; "" for a method that needs none
    what
        the quantity
    published
        the paper's number; for a method without a model, the one that its gaps and the published Oracles imply
    ours
        our numbers by dataset, one for each training
    samples
        by dataset, the mean over our trainings with other draws of S, stretches of windows and trainings
    draws
        number of draws of S
    """

    model: str
    what: str
    published: float
    ours: Mapping[str, tuple[float, ...]]
    samples: Mapping[str, NDArray[np.float64]]
    draws: int

    def distance(self, dataset: str) -> float:
        """Return how far the mean over our trainings is from the published number, in per cent of it."""
        return float(100 * abs(np.mean(self.ours[dataset]) / self.published - 1))

    @property
    def difference(self) -> float:
        """How much farther the first order is from the published number than the second, in points."""
        return self.distance(_FIRST) - self.distance(_SECOND)

    @property
    def differences(self) -> NDArray[np.float64]:
        """The same for each resampling, around the difference: a distance near 0 cannot vary downwards."""
        first, second = (100 * np.abs(self.samples[dataset] / self.published - 1) for dataset in (_FIRST, _SECOND))
        return np.asarray(first - second - (first - second).mean() + self.difference)

    @property
    def spread(self) -> float | None:
        """How far the trainings of one order are apart, the larger of both; None with a single training in each."""
        spreads = [max(values) - min(values) for values in self.ours.values() if len(values) > 1]
        return max(spreads, default=None)


def quantities(all_records: AllRecords) -> list[Quantity]:
    """Return the published errors that were measured in both orders, on equal draws of S and test windows.

    Gaps follow from errors and are left out, and so are records without tallies.
    """
    spreads = training_spreads(all_records)
    collected: list[Quantity] = []
    for model in MODELS:
        pair = _in_both_orders(all_records, model)
        for method in ("oracle", "partial") if pair else ():
            for metric in ("mae", "rmse"):
                published = published_number(pair[_FIRST][0], method, metric)
                assert published is not None, (model, method, metric)
                collected += _quantity(pair, model, method, metric, published.mean, spreads)
    return collected + _without_model(all_records)


def nearer_order(samples: NDArray[np.float64]) -> str | None:
    """Return the dataset that is nearer to the published numbers; None where the 95 % interval contains 0."""
    lower, upper = np.quantile(samples, _LEVEL)
    return _FIRST if upper < 0 else _SECOND if lower > 0 else None


def order_verdict(all_records: AllRecords) -> str:
    """Return which order is the paper's as far as the numbers decide, in a few sentences."""
    return _verdict(quantities(all_records))


def _verdict(every: Sequence[Quantity]) -> str:
    if not every:
        return "No model was measured in both orders yet, on equal windows and with tallies of enough draws of S."
    answers = [nearer_order(quantity.differences) for quantity in every]
    first, second, open_ = (answers.count(name) for name in (_FIRST, _SECOND, None))
    means = [np.mean([quantity.distance(dataset) for quantity in every]) for dataset in ORDERS]
    difference, samples = _together(every)
    implied = sum(not quantity.model for quantity in every)
    counted = plural(len(every) - implied, "published error")
    counted += f", and {implied} of the nearest-neighbor forecast that follow from published gaps," if implied else ""
    names = ", ".join(_title(model) for model in dict.fromkeys(quantity.model for quantity in every) if model)
    text = (
        f"The {counted} were measured in both orders ({names}). Ours are {means[0]:.1f} % from them on average with "
        f"the {ORDERS[_FIRST]}, and {means[1]:.1f} % with the {ORDERS[_SECOND]}: a difference of "
        f"{_interval_text(difference, samples)} points. Taken one by one, {first} are nearer with the "
        f"{ORDERS[_FIRST]} and {second} with the {ORDERS[_SECOND]}; for {open_} the difference may be chance. "
    )
    leader = nearer_order(samples)
    missing = [title for model, title in MODELS.items() if model not in {quantity.model for quantity in every}]
    rest = f" Not measured in both orders: {', '.join(missing)}." if missing else ""
    if leader is None:
        return text + "The numbers do not decide which order is the paper's." + rest
    text += f"As far as the numbers decide, the paper has the **{ORDERS[leader]}** (`{leader}`)."
    return text + _without_one(every, leader) + rest


def _without_one(every: Sequence[Quantity], leader: str) -> str:
    """Return which single model the decision depends on, in a sentence."""
    models = list(dict.fromkeys(quantity.model for quantity in every))
    needed = []
    for model in models if len(models) > 1 else ():
        difference, samples = _together([quantity for quantity in every if quantity.model != model])
        if nearer_order(samples) != leader:
            name = MODELS.get(model, "the nearest-neighbor forecast")
            needed.append(f"without {name} the difference is {_interval_text(difference, samples)}")
    if needed:
        return f" This rests on {'a single model' if len(needed) == 1 else 'single models'}: {'; '.join(needed)}."
    return " The same order is nearer when any one model is left out." if len(models) > 1 else ""


def order_summary(all_records: AllRecords) -> Iterator[str]:
    """Yield the verdict, how far each model is from the published errors, and how many numbers agree."""
    every = quantities(all_records)
    yield _verdict(every)
    if not every:
        return
    rows = []
    for model in dict.fromkeys(quantity.model for quantity in every):
        own = [quantity for quantity in every if quantity.model == model]
        means = [f"{np.mean([quantity.distance(dataset) for quantity in own]):.1f}" for dataset in ORDERS]
        difference, samples = _together(own)
        shared = agreeing_checks(all_records, model) if model else {}
        agreeing = [f"{shared[dataset][0]} of {shared[dataset][1]}" if shared else "" for dataset in ORDERS]
        words = _interval_text(difference, samples), _order_text(samples)
        rows.append([_title(model), str(len(own)), *means, *words, *agreeing])
    columns = ["model", "errors", *(f"off by, %: {name}" for name in ORDERS.values()), "difference, points", "nearer"]
    columns += [f"agree: {name}" for name in ORDERS.values()]
    yield markdown_table(columns, rows)
    yield (
        "*Off by*: how far ours are from the published errors of Oracle and Partial (MAE and RMSE), on average. The "
        "intervals say what other draws of S, the test windows that were left out, and trainings with other seeds "
        "would change; an order is nearer where the interval excludes 0. *Agree* counts the comparisons with the "
        "published numbers (gaps, errors, orders of two methods), with the first training of a model, in the "
        "experiments that it has in both orders on equal draws and windows."
    )
    yield from _seeds_sentence(every)


def _together(own: Sequence[Quantity]) -> tuple[float, NDArray[np.float64]]:
    """Return the mean difference of the distances of both orders, and the same for each resampling."""
    samples = np.mean([quantity.differences for quantity in own], axis=0)
    return float(np.mean([quantity.difference for quantity in own])), np.asarray(samples)


def _interval_text(difference: float, samples: NDArray[np.float64]) -> str:
    lower, upper = np.quantile(samples, _LEVEL)
    return f"{difference:+.1f} [{lower:+.1f}, {upper:+.1f}]"


def _order_text(samples: NDArray[np.float64]) -> str:
    leader = nearer_order(samples)
    return "undecided" if leader is None else ORDERS[leader]


def _seeds_sentence(every: Sequence[Quantity]) -> Iterator[str]:
    """Yield in a sentence for each model what moves between trainings that differ in their seed alone."""
    for model in dict.fromkeys(quantity.model for quantity in every):
        own = [quantity for quantity in every if quantity.model == model and quantity.what.endswith("MAE")]
        moved = [f"{quantity.what} by {quantity.spread:.2f}" for quantity in own if quantity.spread is not None]
        if moved:
            text = "; ".join(moved)
            yield f"What moves between trainings of {_title(model)} that differ in their seed alone: {text}."


def like_for_like(all_records: AllRecords) -> str:
    """Return how many comparisons agree in both orders, in what was run alike in both; "" if nothing."""
    totals = dict.fromkeys(ORDERS, (0, 0))
    for model in MODELS:
        for dataset, (agree, every) in agreeing_checks(all_records, model).items():
            totals[dataset] = (totals[dataset][0] + agree, totals[dataset][1] + every)
    if not all(every for _, every in totals.values()):
        return ""
    texts = [f"{agree} of {every} agree with the {ORDERS[dataset]}" for dataset, (agree, every) in totals.items()]
    return f"Of the comparisons that were made in both orders on equal draws and windows, {' and '.join(texts)}."


def agreeing_checks(all_records: AllRecords, model: str) -> dict[str, tuple[int, int]]:
    """Return by dataset how many comparisons with the paper agree, and how many there are.

    Only experiments that the model has in both orders on equal draws and windows count; {} if there are none.
    """
    shared: dict[str, list[Record]] = {dataset: [] for dataset in ORDERS}
    for records in all_records.values():
        of_model = {record.dataset: record for record in records if record.model == model and record.is_first}
        pair = [of_model[dataset] for dataset in ORDERS if dataset in of_model]
        if len(pair) == len(ORDERS) and len({record.size for record in pair}) == 1:
            for record in pair:
                shared[record.dataset].append(record)
    counts = {}
    for dataset, records in shared.items():
        checks = paper_checks(records, all_records)
        counts[dataset] = (sum(check.agrees for check in checks), len(checks))
    return counts if any(every for _, every in counts.values()) else {}


def order_details(all_records: AllRecords) -> Iterator[str]:
    """Yield every error in both orders, and what moves between trainings."""
    every = quantities(all_records)
    if not every:
        return
    rows = []
    for quantity in every:
        rows.append(
            [
                _title(quantity.model),
                quantity.what,
                str(quantity.draws),
                f"{quantity.published:.2f}",
                *(_values_text(quantity.ours[dataset]) for dataset in ORDERS),
                _interval_text(quantity.difference, quantity.differences),
                _order_text(quantity.differences),
            ]
        )
    columns = ["model", "error", "draws of S", "published", *ORDERS.values(), "difference of the distances, points"]
    yield "## Every error in both orders"
    yield (
        "Several numbers stand for as many trainings. The last number is how much farther, in per cent of the "
        "published error, ours is with the test rows first: below 0, that order is nearer. The rows are not "
        "independent, since all have the same draws of S and windows."
    )
    yield markdown_table([*columns, "nearer"], rows, left=2)
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
        yield markdown_table(["model", "error", "largest minus smallest", difference], rows, left=2)


def _in_both_orders(all_records: AllRecords, model: str) -> dict[str, list[Record]]:
    """Return the trainings of a model by dataset, from the first experiment with both on equal draws and windows."""
    for experiment in _EXPERIMENTS:
        own = cells(record for record in all_records.get(experiment, []) if record.model == model)
        by_dataset = {trainings[0].dataset: trainings for trainings in own if trainings[0].dataset in ORDERS}
        if len(by_dataset) == len(ORDERS) and len({trainings[0].size for trainings in by_dataset.values()}) == 1:
            return by_dataset
    return {}


def _quantity(
    pair: Mapping[str, Sequence[Record]], model: str, method: str, metric: str, published: float, spreads: Spreads
) -> Iterator[Quantity]:
    """Yield a published error with ours; nothing without tallies."""
    samples = {}
    for dataset, trainings in pair.items():
        own = resampled(trainings, method, metric)
        if own is None:
            return
        samples[dataset] = with_trainings(own, trainings, method, metric, spreads) if model else own
    ours = {
        dataset: tuple(mean_over([record], method, metric) for record in records) for dataset, records in pair.items()
    }
    yield Quantity(model, f"{METHODS[method]}, {metric.upper()}", published, ours, samples, pair[_FIRST][0].draws)


def _without_model(all_records: AllRecords) -> list[Quantity]:
    """Return the errors of the nearest-neighbor forecast, which does not depend on the model beside it."""
    method = "neighbor-forecast"
    pairs = (_in_both_orders(all_records, model) for model in MODELS)
    having = [pair for pair in pairs if pair and all(method in records[0].methods for records in pair.values())]
    if not having:
        return []
    pair = min(having, key=lambda pair: pair[_FIRST][0].every)  # most windows
    first = {dataset: records[:1] for dataset, records in pair.items()}
    return [
        quantity
        for metric in ("mae", "rmse")
        for quantity in _quantity(first, "", method, metric, _implied_error(pair[_FIRST][0], metric), {})
    ]


def _implied_error(record: Record, metric: str) -> float:
    """Return the error of the nearest-neighbor forecast that table 6 implies, the mean over the models."""
    implied = []
    for model in MODELS:
        of_model = replace(record, model=model)
        oracle = published_number(of_model, "oracle", metric)
        gap = published_number(of_model, "neighbor-forecast", f"delta_{metric}")
        if oracle is not None and gap is not None:
            implied.append(oracle.mean * (1 + gap.mean / 100))
    return float(np.mean(implied))


def _title(model: str) -> str:
    return MODELS.get(model, "without a model")


def _values_text(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values)
