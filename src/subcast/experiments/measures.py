"""The measurements: each goes through units of work one by one, so that an interrupted cell goes on where it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from subcast import weighting
from subcast.errors import InputError
from subcast.evaluation import Method
from subcast.experiments.context import SEED, SHARE, STEP, Context, thinned
from subcast.experiments.methods import make_method
from subcast.experiments.ranks import pagerank
from subcast.metrics import ErrorSums, paired_gap
from subcast.retrieval import QueryTable
from subcast.subsets import cluster_variables, draw_cluster_subsets

Result = dict[str, Any]
WINDOWS_A_DRAW = 30  # for what is slow and varies little from window to window


class Measure(Protocol):
    """A measurement of one cell."""

    units: int

    def run(self, unit: int) -> Result:
        """Do one unit of work and give what it found, as plain values."""
        ...

    def summary(self, results: Sequence[Result]) -> Result:
        """Make the figures of the record of what all units found."""
        ...


MEASURES: dict[str, Callable[[Context, Mapping[str, Any]], Measure]] = {}


def measure(name: str) -> Callable[[type], type]:
    """Register a measurement."""

    def register(kind: type) -> type:
        MEASURES[name] = kind
        return kind

    return register


def make_measure(context: Context) -> Measure:
    """The measurement of a cell."""
    kind = context.cell.experiment.measure
    if kind not in MEASURES:
        raise InputError(f"there is no measurement {kind!r}; there are {', '.join(MEASURES)}")
    return MEASURES[kind](context, context.cell.experiment.options)


@measure("errors")
class Errors:
    """Errors of some methods under draws of S, of some sizes or from some numbers of clusters.

    Options: `methods`, a list of tables with `name`, `method` (the name by default) and what else the method takes;
    `shares` (0.15 by default) or `clusters`.
    """

    def __init__(self, context: Context, options: Mapping[str, Any]) -> None:
        self.context = context
        self.names = [told["name"] for told in options["methods"] if _applies(context, told)]
        # Those with the most neighbours first: what they forecast holds what those with fewer need.
        told = sorted(options["methods"], key=lambda told: -int(told.get("neighbors", 0)))
        self.methods = {one["name"]: _Named(context, one) for one in told if one["name"] in self.names}
        self.groups = _groups(context, options)
        self.units = sum(len(draws) for draws in self.groups.values())

    def run(self, unit: int) -> Result:
        """All methods under one draw."""
        group, present = _unit(self.groups, unit)
        errors = {name: _plain(method.errors(present)) for name, method in self.methods.items()}
        return {"group": group, "errors": {name: errors[name] for name in self.names}}

    def summary(self, results: Sequence[Result]) -> Result:
        """Means, deviations and gaps of every group."""
        return {
            "test_windows": len(self.context.test),
            "groups": {group: summarise([r for r in results if r["group"] == group]) for group in self.groups},
        }


def _plain(errors: ErrorSums) -> Result:
    """Errors by step as plain values."""
    return {"mae": errors.mae_by_step.tolist(), "rmse": errors.rmse_by_step.tolist()}


def summarise(results: Sequence[Result], step: int = STEP) -> Result:
    """For each method: mean and deviation over draws at one step, the gap to the oracle, and means of every step."""
    rows: Result = {}
    for name in results[0]["errors"]:
        row: Result = {"draws": len(results)}
        for metric in ("mae", "rmse"):
            table = np.array([result["errors"][name][metric] for result in results])  # [draws, h]
            errors = table[:, step - 1]
            row |= {
                metric: float(errors.mean()),
                f"{metric}_deviation": float(errors.std(ddof=1)) if len(errors) > 1 else None,
                f"{metric}_by_step": table.mean(axis=0).tolist(),
                f"{metric}_by_draw": errors.tolist(),
            }
            if "oracle" in results[0]["errors"]:
                oracle = [result["errors"]["oracle"][metric][step - 1] for result in results]
                gap = paired_gap(errors, oracle)
                known = gap.lower == gap.lower
                row[f"{metric}_gap"] = gap.gap
                row[f"{metric}_gap_interval"] = [gap.lower, gap.upper] if known else None
        rows[name] = row
    return rows


@measure("reciprocal-rank")
class ReciprocalRank:
    """The place, by S, of the window that is nearest by all variables, of validation windows (figure 3)."""

    def __init__(self, context: Context, options: Mapping[str, Any]) -> None:
        self.context = context
        self.groups = _groups(context, options)
        self.units = sum(len(draws) for draws in self.groups.values())
        self.robust = nothing_to_forecast(context)
        self.windows = context.study.some_of_validation(int(options.get("windows", 500)))
        self.arrived = self.robust.engine.arrive(self.windows)

    @cached_property
    def best(self) -> NDArray[np.int64]:
        """The nearest training window of each by all variables, [b]."""
        engine = self.robust.engine
        return engine.find(self.arrived, np.arange(engine.n), self.robust.settings, 1).index[:, 0]

    def run(self, unit: int) -> Result:
        """The reciprocal ranks under one draw."""
        group, present = _unit(self.groups, unit)
        engine, settings = self.robust.engine, self.robust.settings
        shared = engine.shared(self.arrived, settings)
        normal = engine.normal(self.arrived, present)
        ranks = engine.bank.rank(normal, present, self.best, settings.exponent, shared=shared)
        return {"group": group, "reciprocal": np.round(1 / ranks, 6).tolist()}

    def summary(self, results: Sequence[Result]) -> Result:
        """The mean and a histogram of every group."""
        edges = np.linspace(0, 1, 21)
        groups = {}
        for group in self.groups:
            values = np.concatenate([r["reciprocal"] for r in results if r["group"] == group])
            counts, _ = np.histogram(values, bins=edges)
            groups[group] = {"mrr": float(values.mean()), "histogram": (counts / counts.sum()).tolist()}
        return {"validation_windows": len(self.windows), "edges": edges.tolist(), "groups": groups}


@measure("weighting-rank")
class WeightingRank:
    """The place that DDW and FDW give to the neighbour whose forecast is best, of validation windows (table 7)."""

    def __init__(self, context: Context, options: Mapping[str, Any]) -> None:
        self.context = context
        self.all_draws = context.draws()
        self.units = len(self.all_draws)
        self.windows = context.study.some_of_validation(int(options.get("windows", 200)))

    def run(self, unit: int) -> Result:
        """Mean reciprocal ranks under one draw."""
        present = self.all_draws[unit]
        robust = self.context.study.paper
        engine, settings = robust.engine, robust.settings
        each, seen, neighbors = engine.each_forecast(engine.arrive(self.windows), present, settings)
        truth = self.windows.targets[:, None][..., present]  # [b, 1, h, s]
        counts = ~np.isnan(truth).all(axis=(1, 2, 3))  # a window of which nothing counts (a night) has no ideal
        ideal = np.nanmean(np.abs(each - truth)[counts], axis=(2, 3)).argmin(axis=1)  # [b]
        spread = engine.space.spread_of(present)
        far = weighting.forecast_distance(each / spread, seen / spread)
        return {
            "ddw": float((1 / _place(neighbors.distance[counts], ideal)).mean()),
            "fdw": float((1 / _place(far[counts], ideal)).mean()),
        }

    def summary(self, results: Sequence[Result]) -> Result:
        """Means over the draws."""
        return {
            "validation_windows": len(self.windows),
            **{name: float(np.mean([result[name] for result in results])) for name in ("ddw", "fdw")},
        }


@measure("apriori")
class Apriori:
    """Models trained and tested on their own S, beside FDW and the default of the model of all variables (table 2)."""

    def __init__(self, context: Context, options: Mapping[str, Any]) -> None:
        self.context = context
        self.units = int(options.get("trainings", 3))
        self.epochs = options.get("epochs")
        self.all_draws = context.draws(draws=self.units)

    def run(self, unit: int) -> Result:
        """Train on one S, and compare on the test windows."""
        from subcast.experiments.apriori import train_on

        context, present = self.context, self.all_draws[unit]
        errors = {name: _Named(context, {"name": name}).errors(present) for name in ("oracle", "fdw", "subcast")}
        errors["apriori"] = context.errors(train_on(context, present, self.epochs), present)
        return {"errors": {name: _plain(found) for name, found in errors.items()}}

    def summary(self, results: Sequence[Result]) -> Result:
        """Means, deviations and gaps."""
        return {"test_windows": len(self.context.test), "groups": {"15%": summarise(results)}}


@measure("pagerank")
class PageRank:
    """The absent variables' PageRank against the gap that their absence leaves (appendix)."""

    def __init__(self, context: Context, options: Mapping[str, Any]) -> None:
        self.context = context
        self.all_draws = context.draws()
        self.units = len(self.all_draws)

    @cached_property
    def importance(self) -> NDArray[np.float64]:
        """The PageRank of each variable in the model's graph, [n]."""
        graph = self.context.study.model.graph()
        if graph is None:
            raise InputError(f"{self.context.cell.model} has no graph: PageRank needs one of mtgnn, astgcn, mstgcn")
        return pagerank(graph)

    def run(self, unit: int) -> Result:
        """Sum of PageRank and gap of one draw."""
        present = self.all_draws[unit]
        absent = np.setdiff1d(np.arange(self.context.study.n), present)
        ours, best = (
            _Named(self.context, {"name": name}).errors(present).at(STEP).mae for name in ("partial", "oracle")
        )
        return {"pagerank": float(self.importance[absent].sum()), "gap": ours - best}

    def summary(self, results: Sequence[Result]) -> Result:
        """The correlation, and every point."""
        x, y = (np.array([result[name] for result in results]) for name in ("pagerank", "gap"))
        return {
            "correlation": float(np.corrcoef(x, y)[0, 1]) if len(x) > 2 else None,
            "pagerank": x.tolist(),
            "gap": y.tolist(),
        }


@measure("rounds")
class Rounds:
    """Rounds of query tables against the number of neighbours, and the share of the bank compared in full (appendix).

    Options: `neighbors`; `tables`, a list of tables with `name` and what `QueryTable` is told.
    """

    def __init__(self, context: Context, options: Mapping[str, Any]) -> None:
        self.context = context
        self.counts = tuple(options["neighbors"])
        self.told = {told["name"]: {k: v for k, v in told.items() if k != "name"} for told in options["tables"]}
        self.all_draws = context.draws()
        self.units = len(self.all_draws)
        self.robust = nothing_to_forecast(context)

    @cached_property
    def tables(self) -> dict[str, QueryTable]:
        """The query tables, made once."""
        return {name: self.context.study.query_table(self.robust, **told) for name, told in self.told.items()}

    def run(self, unit: int) -> Result:
        """Mean rounds and share compared for every table and number of neighbours under one draw."""
        engine, settings = self.robust.engine, self.robust.settings
        present = self.all_draws[unit]
        arrived = engine.arrive(thinned(self.context.test, WINDOWS_A_DRAW))
        normal, shared = engine.normal(arrived, present), engine.shared(arrived, settings)
        result: Result = {}
        for name, table in self.tables.items():
            answers = [table.nearest(normal, present, m, settings.exponent, shared=shared) for m in self.counts]
            result[name] = {
                "rounds": [float(answer.rounds.mean()) for answer in answers],
                "compared": [float(answer.candidates.mean()) / len(engine.bank) for answer in answers],
            }
        return result

    def summary(self, results: Sequence[Result]) -> Result:
        """Means over the draws."""
        tables = {
            name: {key: np.mean([result[name][key] for result in results], axis=0).tolist() for key in told}
            for name, told in results[0].items()
        }
        return {"neighbors": list(self.counts), "tables": tables}


@measure("datasets")
class Datasets:
    """What a dataset holds (table 12)."""

    units = 1

    def __init__(self, context: Context, options: Mapping[str, Any]) -> None:
        self.context = context

    def run(self, unit: int) -> Result:
        """Its facts."""
        series, split = self.context.study.series, self.context.study.split
        return {
            "steps": len(series),
            "variables": series.n_variables,
            "rate": series.freq,
            "lookback": split.train.lookback,
            "horizon": split.train.horizon,
            "missing_share": series.missing_share,
            "windows": [len(part) for part in split],
        }

    def summary(self, results: Sequence[Result]) -> Result:
        """The same."""
        return results[0]


def nothing_to_forecast(context: Context) -> Any:
    """A wrapper in the paper's space around a model that is never asked, for what only retrieves."""
    from subcast.wrapper import SubsetForecaster

    def still(x: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.repeat(x[:, -1:, :, 0], context.study.split.train.horizon, axis=1)

    return SubsetForecaster.paper(still, progress=False).fit(context.study.split.train)


class _Named:
    """A method as a declaration tells it, made when it is first needed."""

    def __init__(self, context: Context, told: Mapping[str, Any]) -> None:
        self.context = context
        self.kind = told.get("method", told["name"])
        self.options = {name: value for name, value in told.items() if name not in ("name", "method")}

    @cached_property
    def forecast(self) -> Method:
        """The method."""
        return make_method(self.context, self.kind, **self.options)

    def errors(self, present: NDArray[np.int64]) -> ErrorSums:
        """Its errors under a draw of S."""
        key = (self.kind, *sorted(self.options.items()))
        return self.context.measured(key, present, lambda *asked: self.forecast(*asked))


def _applies(context: Context, told: Mapping[str, Any]) -> bool:
    """Whether a method can be asked: a season needs times, a hardened model must have been trained."""
    kind = told.get("method", told["name"])
    if kind == "seasonal-naive":
        return context.study.series.times is not None
    return kind != "hardened" or context.study.has_trained("hardened")


def _groups(context: Context, options: Mapping[str, Any]) -> dict[str, list[NDArray[np.int64]]]:
    """The draws of S of each size, or from each number of clusters."""
    if "clusters" in options:
        clusters = _clusters(context)
        groups = {}
        for count in options["clusters"]:
            chosen = min(int(count), clusters.n_clusters)
            drawn = draw_cluster_subsets(clusters, chosen, share=SHARE, draws=context.cell.draws, seed=SEED)
            groups[str(count)] = [np.sort(draw) for draw in drawn.subsets]
        return groups
    shares = options.get("shares", [SHARE])
    return {f"{round(100 * share)}%": context.draws(share) for share in shares}


def _clusters(context: Context) -> Any:
    import warnings

    from subcast.errors import DataWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # fewer clusters than asked for: the record says how many
        return cluster_variables(context.study.split.train.series)


def _unit(groups: Mapping[str, Sequence[NDArray[np.int64]]], unit: int) -> tuple[str, NDArray[np.int64]]:
    """The group and S of a unit of work."""
    for group, draws in groups.items():
        if unit < len(draws):
            return group, draws[unit]
        unit -= len(draws)
    raise IndexError(unit)


def _place(scores: NDArray[np.floating[Any]], which: NDArray[np.int64]) -> NDArray[np.int64]:
    """The place from 1 that one of each row takes when the row is sorted upwards."""
    own = np.take_along_axis(scores, which[:, None], axis=1)
    return np.asarray((scores < own).sum(axis=1) + 1)
