"""The measurements: each does its units of work one by one, so that an interrupted cell can be resumed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from subcast import weighting
from subcast.comparison import Comparison, Tally
from subcast.errors import InputError
from subcast.evaluation import Method
from subcast.experiments.groups import make_groups
from subcast.experiments.methods import TUNED_METHODS, make_method
from subcast.experiments.pagerank import pagerank
from subcast.experiments.study import STEP, Context, complete_windows, thin_windows
from subcast.experiments.summaries import summarize
from subcast.experiments.tuned import TunedMethod
from subcast.forecasters import FORECASTERS
from subcast.retrieval import QueryTable
from subcast.windows import Windows

Result = dict[str, Any]
WINDOWS_A_DRAW = 30  # for measurements that are slow and vary little from window to window


class Measure(Protocol):
    """A measurement of one cell."""

    units: int
    left_out: Mapping[str, str]
    """Methods that cannot be run in this cell, with the reason."""

    def run(self, unit: int) -> Result:
        """Do one unit of work and return its result as plain values."""
        ...

    def summary(self, results: Sequence[Result]) -> Result:
        """Return the figures of the record from the results of all units."""
        ...


MEASURES: dict[str, Callable[[Context, Mapping[str, Any]], Measure]] = {}


def measure(name: str) -> Callable[[type], type]:
    """Register a measurement under a name."""

    def register(kind: type) -> type:
        MEASURES[name] = kind
        return kind

    return register


def make_measure(context: Context) -> Measure:
    """Return the measurement of a cell."""
    kind = context.cell.experiment.measure
    if kind not in MEASURES:
        raise InputError(f"there is no measurement {kind!r}; there are {', '.join(MEASURES)}")
    return MEASURES[kind](context, context.cell.options)


@measure("errors")
class Errors:
    """Errors of methods under draws of S, for one or more sizes of S or numbers of clusters.

    Options: `methods`, a list of tables with `name`, `method` (the name by default) and the method's own options;
    `shares` (0.15 by default) or `clusters`.
    """

    def __init__(self, context: Context, options: Mapping[str, Any]) -> None:
        self.context = context
        reasons = {declared["name"]: _reason_to_skip(context, declared) for declared in options["methods"]}
        self.left_out = {name: reason for name, reason in reasons.items() if reason is not None}
        self.names = [name for name, reason in reasons.items() if reason is None]
        # Those with the most neighbors come first: their forecasts include what those with fewer neighbors need.
        declarations = sorted(options["methods"], key=lambda declared: -int(declared.get("neighbors", 0)))
        self.methods = {
            declared["name"]: DeclaredMethod(context, declared)
            for declared in declarations
            if declared["name"] in self.names
        }
        self.groups = make_groups(context, options)
        self.units = self.groups.units

    def run(self, unit: int) -> Result:
        """Tally all methods under one draw."""
        group, present = self.groups.unit(unit)
        tallies = {name: method.tally(present) for name, method in self.methods.items()}
        ordered = {name: tallies[name] for name in self.names}
        chosen = {name: method.chosen for name, method in self.methods.items() if method.chosen}
        return {
            "group": group,
            "tallies": _tallies_of_draw(self.context, ordered, present),
            **({"chosen": chosen} if chosen else {}),
        }

    def summary(self, results: Sequence[Result]) -> Result:
        """Return means, deviations, gaps and tallies of every group, and the settings of methods that were tuned."""
        by_group = {group: [r for r in results if r["group"] == group] for group in self.groups.draws}
        chosen = {"chosen": results[0]["chosen"]} if "chosen" in results[0] else {}
        return {**_test_facts(self.context.test), **self.groups.facts, **chosen, **_figures(by_group)}


def window_facts(windows: Windows, split: str) -> Result:
    """Return which windows of a split were used: where the first and the last begin, and how far apart they are.

    >>> import numpy as np, subcast as sc
    >>> series = sc.Series.from_array(np.arange(80.0).reshape(40, 2))
    >>> window_facts(series.windows(4, 2)[::3], "test")
    {'split': 'test', 'first': 0, 'last': 33, 'every': 3, 'count': 12}
    """
    starts = windows.starts
    return {
        "split": split,
        "first": starts[0] if len(starts) else None,
        "last": starts[-1] if len(starts) else None,
        "every": starts.step,
        "count": len(starts),
    }


def _test_facts(windows: Windows) -> Result:
    return {"test_windows": len(windows), "windows": window_facts(windows, "test")}


def _validation_facts(windows: Windows) -> Result:
    return {"validation_windows": len(windows), "windows": window_facts(windows, "validation")}


def _tallies_of_draw(context: Context, tallies: Mapping[str, Tally], present: NDArray[np.int64]) -> Result:
    return Comparison(tallies, [present], context.test.starts).to_record(STEP)


def _figures(by_group: Mapping[str, Sequence[Result]]) -> Result:
    """Return the summary of each group and its tallies, from which every interval can be computed again."""
    comparisons = {
        group: Comparison.join([Comparison.from_record(result) for result in results])
        for group, results in by_group.items()
    }
    return {
        "groups": {group: summarize(comparison, STEP) for group, comparison in comparisons.items()},
        "tallies": {group: comparison.to_record(STEP) for group, comparison in comparisons.items()},
    }


@measure("reciprocal-rank")
class ReciprocalRank:
    """The rank, by S, of the training window that is nearest by all variables, for validation windows (figure 3)."""

    left_out: Mapping[str, str] = {}

    def __init__(self, context: Context, options: Mapping[str, Any]) -> None:
        self.context = context
        self.groups = make_groups(context, options)
        self.units = self.groups.units
        self.robust = retrieval_only(context)
        self.windows = context.study.validation_windows(int(options.get("windows", 500)))
        self.arrived = self.robust.fitted_.arrive(self.windows)

    @cached_property
    def best(self) -> NDArray[np.int64]:
        """The training window nearest to each window by all variables, [b]; -1 where too many readings are missing."""
        fitted = self.robust.fitted_
        return fitted.retrieve(self.arrived, np.arange(fitted.n), 1, self.robust.settings_.exponent).index[:, 0]

    def run(self, unit: int) -> Result:
        """Return the reciprocal ranks under one draw, for windows that have neighbors by all variables and by S."""
        group, present = self.groups.unit(unit)
        fitted, settings = self.robust.fitted_, self.robust.settings_
        ranked = (self.best >= 0) & (fitted.retrieve(self.arrived, present, 1, settings.exponent).index[:, 0] >= 0)
        arrived = self.arrived[ranked]
        normal, shared = fitted.normalize(arrived, present), fitted.shared(arrived)
        ranks = fitted.bank.rank(normal, present, self.best[ranked], settings.exponent, shared=shared)
        return {"group": group, "reciprocal": np.round(1 / ranks, 6).tolist()}

    def summary(self, results: Sequence[Result]) -> Result:
        """Return the mean and a histogram for every group."""
        edges = np.linspace(0, 1, 21)
        groups = {}
        for group in self.groups.draws:
            values = np.concatenate([r["reciprocal"] for r in results if r["group"] == group])
            counts, _ = np.histogram(values, bins=edges)
            groups[group] = {"mrr": float(values.mean()), "histogram": (counts / counts.sum()).tolist()}
        facts = {**_validation_facts(self.windows), **self.groups.facts}
        return {**facts, "edges": edges.tolist(), "groups": groups}


@measure("weighting-rank")
class WeightingRank:
    """The rank that DDW and FDW give to the neighbor whose forecast is best, for validation windows (table 7)."""

    left_out: Mapping[str, str] = {}

    def __init__(self, context: Context, options: Mapping[str, Any]) -> None:
        self.context = context
        self.all_draws = context.draws()
        self.units = len(self.all_draws)
        self.windows = context.study.validation_windows(int(options.get("windows", 200)))

    def run(self, unit: int) -> Result:
        """Return mean reciprocal ranks under one draw."""
        present = self.all_draws[unit]
        robust = self.context.study.paper
        fitted = robust.fitted_
        completed = complete_windows(robust, fitted.arrive(self.windows), present)
        each, seen, neighbors = completed.each, completed.seen, completed.neighbors
        truth = self.windows.targets[:, None][..., present]  # [b, 1, h, s]
        counts = ~np.isnan(truth).all(axis=(1, 2, 3))  # a window without any target (a night) has no best neighbor
        ideal = np.nanmean(np.abs(each - truth)[counts], axis=(2, 3)).argmin(axis=1)  # [b]
        spread = fitted.normalizer.spread_of(present)
        forecast_distance = weighting.forecast_distance(each / spread, seen / spread)
        return {
            "ddw": float((1 / _rank_in_row(neighbors.distance[counts], ideal)).mean()),
            "fdw": float((1 / _rank_in_row(forecast_distance[counts], ideal)).mean()),
        }

    def summary(self, results: Sequence[Result]) -> Result:
        """Return means over the draws."""
        return {
            **_validation_facts(self.windows),
            **{name: float(np.mean([result[name] for result in results])) for name in ("ddw", "fdw")},
            "difference_by_draw": [result["fdw"] - result["ddw"] for result in results],
        }


@measure("apriori")
class Apriori:
    """Models trained and tested on their own S, beside methods that use the model of all variables (table 2).

    Each draw of S needs a training. Options: `preset`, "default" or "paper"; `epochs`, a number or a table of numbers
    by model, those of the preset by default.
    """

    left_out: Mapping[str, str] = {}

    def __init__(self, context: Context, options: Mapping[str, Any]) -> None:
        self.context, self.options = context, options
        self.all_draws = context.draws()
        self.units = len(self.all_draws)

    def run(self, unit: int) -> Result:
        """Train on one S, and tally all methods on the test windows."""
        from subcast.experiments.apriori import train_on

        context, present = self.context, self.all_draws[unit]
        names = ("oracle", "partial", "fdw", "subcast")
        tallies = {name: DeclaredMethod(context, {"name": name}).tally(present) for name in names}
        forecast, training = train_on(context, present, self.options)
        tallies["apriori"] = context.tally(forecast, present)
        return {"tallies": _tallies_of_draw(context, tallies, present), "training": training}

    def summary(self, results: Sequence[Result]) -> Result:
        """Return means, deviations, gaps and tallies, and the facts of each training."""
        trainings = [result["training"] for result in results]
        return {**_test_facts(self.context.test), "trainings": trainings, **_figures({"15%": results})}


@measure("pagerank")
class PageRank:
    """The PageRank of the absent variables against the gap between Partial and Oracle (appendix)."""

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
            raise InputError(f"{self.context.cell.model} has no graph, which PageRank needs: choose a graph model")
        # Edges must point from a variable to the ones it listens to.
        return pagerank(graph if FORECASTERS[self.context.cell.model].listens_along_rows else graph.T)

    def run(self, unit: int) -> Result:
        """Return the sum of PageRank and the gap of one draw."""
        present = self.all_draws[unit]
        absent = np.setdiff1d(np.arange(self.context.study.n), present)
        tallies = (DeclaredMethod(self.context, {"name": name}).tally(present) for name in ("partial", "oracle"))
        partial, oracle = (float(tally.by_step.errors("mae")[0, STEP - 1]) for tally in tallies)
        return {"pagerank": float(self.importance[absent].sum()), "gap": partial - oracle}

    def summary(self, results: Sequence[Result]) -> Result:
        """Return the correlation and the values of every draw."""
        x, y = (np.array([result[name] for result in results]) for name in ("pagerank", "gap"))
        return {
            **_test_facts(self.context.test),
            "correlation": float(np.corrcoef(x, y)[0, 1]) if len(x) > 2 else None,
            "pagerank": x.tolist(),
            "gap": y.tolist(),
        }


@measure("rounds")
class Rounds:
    """Rounds of query tables against the number of neighbors, and the share of the bank compared in full (appendix).

    Options: `neighbors`; `tables`, a list of tables with `name` and the options of `QueryTable`.
    """

    left_out: Mapping[str, str] = {}

    def __init__(self, context: Context, options: Mapping[str, Any]) -> None:
        self.context = context
        self.counts = tuple(options["neighbors"])
        self.table_options = {
            declared["name"]: {option: value for option, value in declared.items() if option != "name"}
            for declared in options["tables"]
        }
        self.all_draws = context.draws()
        self.units = len(self.all_draws)
        self.robust = retrieval_only(context)
        self.windows = thin_windows(context.test, WINDOWS_A_DRAW)

    @cached_property
    def tables(self) -> dict[str, QueryTable]:
        """The query tables by name."""
        study = self.context.study
        return {name: study.query_table(self.robust, **options) for name, options in self.table_options.items()}

    def run(self, unit: int) -> Result:
        """Return mean rounds and the share compared for every table and number of neighbors under one draw."""
        fitted, settings = self.robust.fitted_, self.robust.settings_
        present = self.all_draws[unit]
        arrived = fitted.arrive(self.windows)
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
        """Return means over the draws."""
        tables = {
            name: {key: np.mean([result[name][key] for result in results], axis=0).tolist() for key in values}
            for name, values in results[0].items()
        }
        return {**_test_facts(self.windows), "neighbors": list(self.counts), "tables": tables}


@measure("datasets")
class Datasets:
    """Facts about a dataset (table 12)."""

    units = 1
    left_out: Mapping[str, str] = {}

    def __init__(self, context: Context, options: Mapping[str, Any]) -> None:
        self.context = context

    def run(self, unit: int) -> Result:
        """Return the facts."""
        series, split = self.context.study.series, self.context.study.split
        return {
            "steps": len(series),
            "variables": series.n_variables,
            "rate": series.freq,
            "time_features": list(series.time_features),
            "lookback": split.train.lookback,
            "horizon": split.train.horizon,
            "missing_share": series.missing_share,
            "windows": [len(part) for part in split],
        }

    def summary(self, results: Sequence[Result]) -> Result:
        """Return the facts."""
        return results[0]


def retrieval_only(context: Context) -> Any:
    """Return a wrapper with the paper's normalization for retrieval alone: its model is never run."""
    from subcast.subset import SubsetForecaster

    def still(x: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.repeat(x[:, -1:, :, 0], context.study.split.train.horizon, axis=1)

    return SubsetForecaster.paper(still, progress=False).fit(context.study.split.train)


class DeclaredMethod:
    """A method as a declaration names it, built when it is first needed."""

    def __init__(self, context: Context, declared: Mapping[str, Any]) -> None:
        self.context = context
        self.kind = declared.get("method", declared["name"])
        self.options = {option: value for option, value in declared.items() if option not in ("name", "method")}

    @cached_property
    def forecast(self) -> Method:
        """The method."""
        return make_method(self.context, self.kind, **self.options)

    @property
    def chosen(self) -> dict[str, Any]:
        """The settings that were chosen for it on validation windows, and how; none where it is not tuned."""
        method = self.forecast if self.kind in TUNED_METHODS else None
        return dict(method.chosen) if isinstance(method, TunedMethod) else {}

    def tally(self, present: NDArray[np.int64]) -> Tally:
        """Tally its errors under a draw of S."""
        key = (self.kind, *sorted(self.options.items()))
        return self.context.measured(key, present, lambda windows, subset: self.forecast(windows, subset))


def _reason_to_skip(context: Context, declared: Mapping[str, Any]) -> str | None:
    """Return why a method cannot be run in a cell, None if it can."""
    kind, study = declared.get("method", declared["name"]), context.study
    if kind == "seasonal-naive" and study.series.times is None:
        return "the data have no times"
    if kind == "hardened" and not study.has_trained("hardened"):
        return f"no model {study.trained_name('hardened')} was trained"
    return None


def _rank_in_row(scores: NDArray[np.floating[Any]], column: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rank, from 1 for the smallest, of one column of each row."""
    own = np.take_along_axis(scores, column[:, None], axis=1)
    return np.asarray((scores < own).sum(axis=1) + 1)
