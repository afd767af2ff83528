"""The measurements: each goes through units of work one by one, so that an interrupted cell goes on where it was."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from subcast import weighting
from subcast.comparison import Tally, gap_between
from subcast.errors import DataWarning, InputError
from subcast.evaluation import Method
from subcast.experiments.methods import make_method
from subcast.experiments.pagerank import pagerank
from subcast.experiments.study import SEED, SHARE, STEP, Context, fill_windows, thinned
from subcast.retrieval import QueryTable
from subcast.subsets import cluster_variables, draw_cluster_subsets

Result = dict[str, Any]
WINDOWS_A_DRAW = 30  # for what is slow and varies little from window to window


class Measure(Protocol):
    """A measurement of one cell."""

    units: int
    left_out: Mapping[str, str]
    """Methods that could not be asked, and why."""

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
    return MEASURES[kind](context, context.cell.options)


@measure("errors")
class Errors:
    """Errors of some methods under draws of S, of some sizes or from some numbers of clusters.

    Options: `methods`, a list of tables with `name`, `method` (the name by default) and what else the method takes;
    `shares` (0.15 by default) or `clusters`.
    """

    def __init__(self, context: Context, options: Mapping[str, Any]) -> None:
        self.context = context
        reasons = {told["name"]: _why_not(context, told) for told in options["methods"]}
        self.left_out = {name: reason for name, reason in reasons.items() if reason is not None}
        self.names = [name for name, reason in reasons.items() if reason is None]
        # Those with the most neighbors first: what they forecast holds what those with fewer need.
        told = sorted(options["methods"], key=lambda told: -int(told.get("neighbors", 0)))
        self.methods = {one["name"]: _Named(context, one) for one in told if one["name"] in self.names}
        self.groups = _groups(context, options)
        self.units = self.groups.units

    def run(self, unit: int) -> Result:
        """All methods under one draw."""
        group, present = self.groups.unit(unit)
        tallies = {name: method.tally(present).to_dict() for name, method in self.methods.items()}
        return {"group": group, "errors": {name: tallies[name] for name in self.names}}

    def summary(self, results: Sequence[Result]) -> Result:
        """Means, deviations and gaps of every group."""
        return {
            "test_windows": len(self.context.test),
            **self.groups.facts,
            "groups": {group: summarize([r for r in results if r["group"] == group]) for group in self.groups.draws},
        }


def summarize(results: Sequence[Result], step: int = STEP) -> Result:
    """For each method: mean and deviation over draws at one step, gaps to the others, and means of every step."""
    tallies = {name: [Tally.from_dict(result["errors"][name]) for result in results] for name in results[0]["errors"]}
    rows: Result = {}
    for name, own in tallies.items():
        row: Result = {"draws": len(results)}
        for metric in ("mae", "rmse"):
            table = np.array([getattr(tally, metric) for tally in own])  # [draws, h]
            errors = table[:, step - 1]
            row |= {
                metric: float(errors.mean()),
                f"{metric}_deviation": float(errors.std(ddof=1)) if len(errors) > 1 else None,
                f"{metric}_by_step": table.mean(axis=0).tolist(),
            }
            against = {other: gap_between(own, base, metric, step) for other, base in tallies.items() if other != name}
            row[f"{metric}_against"] = against
            if "oracle" in tallies:
                gap, low, high = against.get("oracle", [0.0, 0.0, 0.0])
                row[f"{metric}_gap"] = gap
                row[f"{metric}_gap_interval"] = None if low is None else [low, high]
        rows[name] = row
    return rows


@measure("reciprocal-rank")
class ReciprocalRank:
    """The place, by S, of the window that is nearest by all variables, of validation windows (figure 3)."""

    left_out: Mapping[str, str] = {}

    def __init__(self, context: Context, options: Mapping[str, Any]) -> None:
        self.context = context
        self.groups = _groups(context, options)
        self.units = self.groups.units
        self.robust = nothing_to_forecast(context)
        self.windows = context.study.some_of_validation(int(options.get("windows", 500)))
        self.arrived = self.robust._fitted.arrive(self.windows)

    @cached_property
    def best(self) -> NDArray[np.int64]:
        """The nearest training window of each by all variables, [b]; -1 where too few readings are there for one."""
        fitted = self.robust._fitted
        return fitted.retrieve(self.arrived, np.arange(fitted.n), 1, self.robust.settings_.exponent).index[:, 0]

    def run(self, unit: int) -> Result:
        """The reciprocal ranks under one draw, of the windows that have neighbors by all variables and by S."""
        group, present = self.groups.unit(unit)
        fitted, settings = self.robust._fitted, self.robust.settings_
        kept = (self.best >= 0) & (fitted.retrieve(self.arrived, present, 1, settings.exponent).index[:, 0] >= 0)
        arrived = self.arrived[kept]
        normal, shared = fitted.normalize(arrived, present), fitted.shared(arrived)
        ranks = fitted.bank.rank(normal, present, self.best[kept], settings.exponent, shared=shared)
        return {"group": group, "reciprocal": np.round(1 / ranks, 6).tolist()}

    def summary(self, results: Sequence[Result]) -> Result:
        """The mean and a histogram of every group."""
        edges = np.linspace(0, 1, 21)
        groups = {}
        for group in self.groups.draws:
            values = np.concatenate([r["reciprocal"] for r in results if r["group"] == group])
            counts, _ = np.histogram(values, bins=edges)
            groups[group] = {"mrr": float(values.mean()), "histogram": (counts / counts.sum()).tolist()}
        facts = {"validation_windows": len(self.windows), **self.groups.facts}
        return {**facts, "edges": edges.tolist(), "groups": groups}


@measure("weighting-rank")
class WeightingRank:
    """The place that DDW and FDW give to the neighbor whose forecast is best, of validation windows (table 7)."""

    left_out: Mapping[str, str] = {}

    def __init__(self, context: Context, options: Mapping[str, Any]) -> None:
        self.context = context
        self.all_draws = context.draws()
        self.units = len(self.all_draws)
        self.windows = context.study.some_of_validation(int(options.get("windows", 200)))

    def run(self, unit: int) -> Result:
        """Mean reciprocal ranks under one draw."""
        present = self.all_draws[unit]
        robust = self.context.study.paper
        fitted = robust._fitted
        made = fill_windows(robust, fitted.arrive(self.windows), present)
        each, seen, neighbors = made.each, made.seen, made.neighbors
        truth = self.windows.targets[:, None][..., present]  # [b, 1, h, s]
        counts = ~np.isnan(truth).all(axis=(1, 2, 3))  # a window of which nothing counts (a night) has no ideal
        ideal = np.nanmean(np.abs(each - truth)[counts], axis=(2, 3)).argmin(axis=1)  # [b]
        spread = fitted.normalizer.spread_of(present)
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
            "difference_by_draw": [result["fdw"] - result["ddw"] for result in results],
        }


@measure("apriori")
class Apriori:
    """Models trained and tested on their own S, beside what the model of all variables makes of S (table 2).

    Each draw of S is a training. Options: `preset`, "default" or "paper"; `epochs`, those of the preset by default.
    """

    left_out: Mapping[str, str] = {}

    def __init__(self, context: Context, options: Mapping[str, Any]) -> None:
        self.context, self.options = context, options
        self.all_draws = context.draws()
        self.units = len(self.all_draws)

    def run(self, unit: int) -> Result:
        """Train on one S, and compare on the test windows."""
        from subcast.experiments.apriori import train_on

        context, present = self.context, self.all_draws[unit]
        names = ("oracle", "partial", "fdw", "subcast")
        tallies = {name: _Named(context, {"name": name}).tally(present) for name in names}
        tallies["apriori"] = context.tally(train_on(context, present, self.options), present)
        return {"errors": {name: tally.to_dict() for name, tally in tallies.items()}}

    def summary(self, results: Sequence[Result]) -> Result:
        """Means, deviations and gaps."""
        return {"test_windows": len(self.context.test), "groups": {"15%": summarize(results)}}


@measure("pagerank")
class PageRank:
    """The absent variables' PageRank against the gap that their absence leaves (appendix)."""

    left_out: Mapping[str, str] = {}

    def __init__(self, context: Context, options: Mapping[str, Any]) -> None:
        self.context = context
        self.all_draws = context.draws()
        self.units = len(self.all_draws)

    @cached_property
    def importance(self) -> NDArray[np.float64]:
        """The PageRank of each variable in the model's graph, [n]: high for one that many others listen to."""
        graph = self.context.study.model.graph()
        if graph is None:
            raise InputError(f"{self.context.cell.model} has no graph: PageRank needs one of mtgnn, astgcn, mstgcn")
        # MTGNN lets i listen to j by entry (i, j); the two others multiply by the transposed Laplacian.
        return pagerank(graph if self.context.cell.model == "mtgnn" else graph.T)

    def run(self, unit: int) -> Result:
        """Sum of PageRank and gap of one draw."""
        present = self.all_draws[unit]
        absent = np.setdiff1d(np.arange(self.context.study.n), present)
        ours, best = (
            float(_Named(self.context, {"name": name}).tally(present).mae[STEP - 1]) for name in ("partial", "oracle")
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
    """Rounds of query tables against the number of neighbors, and the share of the bank compared in full (appendix).

    Options: `neighbors`; `tables`, a list of tables with `name` and what `QueryTable` is told.
    """

    left_out: Mapping[str, str] = {}

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
        """Mean rounds and share compared for every table and number of neighbors under one draw."""
        fitted, settings = self.robust._fitted, self.robust.settings_
        present = self.all_draws[unit]
        arrived = fitted.arrive(thinned(self.context.test, WINDOWS_A_DRAW))
        normal, shared = fitted.normalize(arrived, present), fitted.shared(arrived)
        result: Result = {}
        for name, table in self.tables.items():
            answers = [table.nearest(normal, present, m, settings.exponent, shared=shared) for m in self.counts]
            result[name] = {
                "rounds": [float(answer.rounds.mean()) for answer in answers],
                "compared": [float(answer.candidates.mean()) / len(fitted.bank) for answer in answers],
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
    left_out: Mapping[str, str] = {}

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
    from subcast.subset import SubsetForecaster

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

    def tally(self, present: NDArray[np.int64]) -> Tally:
        """Its errors under a draw of S."""
        key = (self.kind, *sorted(self.options.items()))
        return self.context.measured(key, present, lambda *asked: self.forecast(*asked))


def _why_not(context: Context, told: Mapping[str, Any]) -> str | None:
    """Why a method cannot be asked, if it cannot: a season needs times, a hardened model must have been trained."""
    kind, study = told.get("method", told["name"]), context.study
    if kind == "seasonal-naive" and study.series.times is None:
        return "the data have no times"
    if kind == "hardened" and not study.has_trained("hardened"):
        return f"no model {study.trained_name('hardened')} was trained"
    return None


@dataclass(frozen=True)
class Groups:
    """The draws of S by the size of S, or by the number of clusters it comes from.

    Parameters
    ----------
    draws
        of each group
    facts
        what to tell of the clusters
    """

    draws: Mapping[str, Sequence[NDArray[np.int64]]]
    facts: Result = field(default_factory=dict)

    @property
    def units(self) -> int:
        """How many draws there are in all."""
        return sum(len(draws) for draws in self.draws.values())

    def unit(self, unit: int) -> tuple[str, NDArray[np.int64]]:
        """The group and S of a unit of work."""
        for group, draws in self.draws.items():
            if unit < len(draws):
                return group, draws[unit]
            unit -= len(draws)
        raise IndexError(unit)


def _groups(context: Context, options: Mapping[str, Any]) -> Groups:
    if "clusters" in options:
        return _clustered(context, [int(count) for count in options["clusters"]])
    shares = options.get("shares", [SHARE])
    return Groups({f"{round(100 * share)}%": context.draws(share) for share in shares})


def _clustered(context: Context, counts: Sequence[int]) -> Groups:
    """Draws from some numbers of clusters; of those beyond what the data fall into, one group with all of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # fewer clusters than asked for: the record says how many
        clusters = cluster_variables(context.study.split.train.series)
    possible = sorted({min(count, clusters.n_clusters) for count in counts})
    drawn = {
        count: draw_cluster_subsets(clusters, count, share=SHARE, draws=context.cell.draws, seed=SEED)
        for count in possible
    }
    facts = {
        "clusters": {
            "found": clusters.n_clusters,
            "eps": clusters.eps,
            "min_samples": clusters.min_samples,
            "sizes": clusters.sizes.tolist(),
            "left_alone_then_joined": int(clusters.noise.sum()),
            "mean_used": {str(count): float(np.mean([len(c) for c in d.chosen])) for count, d in drawn.items()},
            "widened_draws": {str(count): int((d.added > 0).sum()) for count, d in drawn.items()},
        }
    }
    return Groups({str(count): [np.sort(draw) for draw in d.subsets] for count, d in drawn.items()}, facts)


def _place(scores: NDArray[np.floating[Any]], which: NDArray[np.int64]) -> NDArray[np.int64]:
    """The place from 1 that one of each row takes when the row is sorted upwards."""
    own = np.take_along_axis(scores, which[:, None], axis=1)
    return np.asarray((scores < own).sum(axis=1) + 1)
