"""Tuning: choose the settings on validation windows under random S.

The amount of work is set in windows and model passes, so that slow and fast machines choose the same settings.
"""

from __future__ import annotations

import itertools
import logging
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.errors import FitWarning
from subcast.progress import progress_bar
from subcast.retrieval import Neighbors
from subcast.subset.blend import SPECIALIST, Rows
from subcast.subset.completion import Completed, complete, weigh_by_distance
from subcast.subset.conformal import windows_needed
from subcast.subset.experts import BEYOND, NEED_OWN_PAST, OwnLinear, Specialist
from subcast.subset.fitted import Fitted
from subcast.subset.methods import forecast_windows
from subcast.subset.settings import Settings
from subcast.subset.share_errors import share_errors
from subcast.subset.shares import DOUBT as SHARES_DOUBT
from subcast.subset.shares import ExpertErrors, mixtures, rows_of_shares, steady_shares, tuned_steps
from subcast.subsets import draw_subsets, subset_size
from subcast.weighting import get_weighting
from subcast.windows import Windows

NEIGHBORS = (5, 10, 20, 50)
EXPONENTS = (0.5, 1.0)
RIDGES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
REGRESSION_SHARES = (0.0, 0.5, 1.0)
CORRECTIONS = (0.5, 0.0, 1.0)
TEMPERATURES = (0.01, 0.1, 1.0, 10.0)
BLENDS = np.linspace(0.0, 1.0, 21)
DOUBT = 1.0  # standard errors by which a setting must beat a simpler one
BLOCKS = 10  # blocks of time from which the standard error of a difference is estimated
MORE_DOUBT = 3.0  # times more doubt where nothing but the last reading can be known of all variables
DRAWS = 3  # draws of S for each share
WINDOWS, LEAST_WINDOWS = 160, 24  # validation windows at effort 1, and the smallest number
LONG_WINDOWS = 64  # the same for long horizons, whose windows overlap
WITHOUT_MODEL = "shares without the model"
_FIRST_NEIGHBORS = 20
_SMALLEST_ERROR = 1e-12

_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Case:
    """One draw of S with the largest number of neighbors that is tried."""

    share: int  # position of |S| / N in `Settings.shares`
    present: NDArray[np.int64]
    neighbors: Neighbors


@dataclass(frozen=True, eq=False)
class Trial:
    """Settings and their error in each block of time, [blocks]."""

    settings: Settings
    errors: NDArray[np.float64]

    def beats(self, other: Trial) -> bool:
        """Return whether the errors are smaller by more than the standard error over blocks of time."""
        difference = other.errors - self.errors
        return bool(difference.mean() > _doubt(difference))


class Guard:
    """A time limit for tuning; `cut` is True once it has stopped tuning."""

    def __init__(self, seconds: float | None) -> None:
        self.deadline = None if seconds is None else time.monotonic() + seconds
        self.cut = False

    def stops(self) -> bool:
        """Return whether the time limit is reached."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            self.cut = True
        return self.cut


class Grid:
    """The values to try for a field: all of its grid, or only the one that the user gave."""

    def __init__(self, given: Sequence[str]) -> None:
        self.given = set(given)

    def __call__(self, name: str, grid: Sequence[Any], settings: Settings) -> Sequence[Any]:
        """Return the values to try for a field."""
        return (getattr(settings, name),) if name in self.given else grid


class Tuner:
    """Validation windows with their targets, and the errors of settings on them.

    Parameters
    ----------
    fitted
        the fitted model and bank
    windows, index
        validation windows, and the numbers of those to use
    metric
        "mae" or "rmse"; errors are taken in units of each variable's spread
    seed
        random seed for drawing S
    """

    def __init__(self, fitted: Fitted, windows: Windows, index: NDArray[np.int64], metric: str, seed: int) -> None:
        self.fitted, self.metric, self.seed = fitted, metric, seed
        self.arrived = fitted.arrive(windows)[index]
        self.targets = windows.targets[index]  # [b, h, n]
        self.two = (next(iter(fitted.experts)), SPECIALIST)
        own = fitted.experts.get(OwnLinear.name)
        self.staying = float(own.staying.sum() / fitted.n) if isinstance(own, OwnLinear) else 0.0

    def cases(self, settings: Settings, k: int, draws: int) -> list[Case]:
        """Return the draws of S for every share, with their k nearest windows."""
        n, cases = self.fitted.n, []
        for number, share in enumerate(settings.shares):
            size = n if share == 1 else min(subset_size(n, share), max(1, n - 1))
            for draw in draw_subsets(n, count=size, share=None, draws=draws, seed=self.seed + number):
                present = np.sort(draw)
                neighbors = self.fitted.retrieve(self.arrived, present, k, settings.exponent)
                cases.append(Case(number, present, neighbors))
        return cases

    def complete(self, case: Case, settings: Settings) -> Completed:
        """Return the windows completed with the m nearest neighbors."""
        m = settings.neighbors
        nearest = Neighbors(case.neighbors.index[:, :m], case.neighbors.distance[:, :m])
        weights = weigh_by_distance(nearest, settings)
        return complete(self.fitted, settings, self.arrived, case.present, nearest, weights)

    def forecasts(
        self, case: Case, settings: Settings, experts: Sequence[str], *, absent: bool = False
    ) -> list[NDArray[np.float32]]:
        """Return the forecasts of experts, [b, h, s] each, of the variables in S, or of the absent ones."""
        completed = self.complete(case, settings)
        variables = self.fitted.others(case.present) if absent else case.present
        return [self.fitted.experts[name].forecast(completed, variables) for name in experts]

    def expert_errors(
        self, case: Case, settings: Settings, experts: Sequence[str], *, absent: bool = False
    ) -> ExpertErrors:
        """Return the errors of experts, of the variables in S, or of the absent ones."""
        variables = self.fitted.others(case.present) if absent else case.present
        forecasts = self.forecasts(case, settings, experts, absent=absent)
        return ExpertErrors.of(forecasts, self.targets[:, :, variables], self.fitted.normalizer.spread_of(variables))

    def errors(self, forecast: NDArray[np.float32], variables: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the mean (squared, for rmse) error of each step, [h], in units of the variables' spread."""
        return self.errors_of_blocks(forecast, variables).mean(axis=0)

    def errors_of_blocks(self, forecast: NDArray[np.float32], variables: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the error of each step in each block of time, [blocks, h]; their mean is `errors`."""
        spread = self.fitted.normalizer.spread_of(variables)
        error = (forecast - self.targets[:, :, variables]) / spread
        error = np.abs(error) if self.metric == "mae" else error**2
        known = ~np.isnan(error)
        total, count = np.where(known, error, 0).sum(axis=2), known.sum(axis=2)  # [b, h] each
        bounds = self._bounds(len(total))
        sums = np.add.reduceat(total, bounds, axis=0)  # [blocks, h]
        return np.asarray(sums * len(bounds) / np.maximum(count.sum(axis=0), 1))

    def errors_of_shares(
        self, first: NDArray[np.float32], other: NDArray[np.float32], variables: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the error of each block and step for each share of the other forecast, [blends, blocks, h]."""
        bounds = self._bounds(len(first))
        spread, target = self.fitted.normalizer.spread_of(variables), self.targets[:, :, variables]
        sums, counts = share_errors(first, other, target, spread, BLENDS, bounds, squared=self.metric != "mae")
        return np.asarray(sums * len(bounds) / np.maximum(counts, 1))

    @staticmethod
    def _bounds(windows: int) -> NDArray[np.int64]:
        """Return the first window of each block of time."""
        return np.linspace(0, windows, min(BLOCKS, windows) + 1).astype(np.int64)[:-1]


def tune(
    fitted: Fitted,
    windows: Windows,
    index: NDArray[np.int64],
    settings: Settings,
    given: Sequence[str],
    *,
    metric: str = "mae",
    effort: float = 1.0,
    seconds: float | None = None,
    seed: int = 0,
    progress: bool = True,
) -> tuple[Settings, dict[str, Any]]:
    """Tune the settings that the user did not give.

    Parameters
    ----------
    fitted
        the fitted model and bank
    windows, index
        validation windows and the numbers of those that may be used
    settings
        the initial settings
    given
        the names of the fields that the user gave, which are not changed
    metric, seed
        as in `Tuner`
    effort
        1 uses about 160 windows (64 for long horizons, whose windows overlap), 0.5 half as many; at least 24
    seconds
        stop after this time, with a warning; None for no limit
    progress
        whether to show a progress bar

    Returns
    -------
    Settings and a report
        the chosen settings, and a report of the settings that were tried with their errors
    """
    begun = time.monotonic()
    guard, grid = Guard(seconds), Grid(given)
    count = max(LEAST_WINDOWS, round(windows_needed(fitted.horizon, WINDOWS, LONG_WINDOWS) * effort))
    tuner = Tuner(fitted, windows, index[:: max(1, -(-len(index) // count))], metric, seed)
    if settings.pool:
        settings, tried = _tune_pooled(tuner, settings, grid, guard, progress)
    else:
        settings, tried = _tune_paper(tuner, settings, grid, guard)
    if guard.cut:
        warnings.warn(
            f"tuning was cut short after {seconds:g} seconds, so another machine may choose other settings: "
            "give more seconds or a smaller effort",
            FitWarning,
            stacklevel=5,
        )
    taken = round(time.monotonic() - begun, 1)
    _LOGGER.info("tuned %d settings on %d validation windows in %s s", len(tried), len(tuner.arrived), taken)
    report = {"metric": metric, "windows": len(tuner.arrived), "draws_of_each_share": DRAWS, "seconds": taken}
    return settings, {**report, "cut_short": guard.cut, "tried": tried}


Tried = list[dict[str, Any]]


def _tune_pooled(tuner: Tuner, settings: Settings, grid: Grid, guard: Guard, progress: bool) -> tuple[Settings, Tried]:
    """Tune the default method: the specialist, then neighbors and correction, then the shares of all experts."""
    if "center" not in grid.given:
        settings = replace(settings, center="median" if tuner.metric == "mae" else "mean")
    counts, corrections = grid("neighbors", NEIGHBORS, settings), grid("correction", CORRECTIONS, settings)
    work = len(grid("exponent", EXPONENTS, settings)) + len(counts) + len(corrections)
    with progress_bar("Tuning on validation windows", work, progress) as advance:
        settings, tried = _tune_specialist(tuner, settings, grid, guard, advance)
        settings, more = _tune_model(tuner, settings, grid, guard, advance)
        settings, last = _tune_shares(tuner, settings, grid)
        advance(1)
    return settings, tried + more + last


def _tune_specialist(
    tuner: Tuner, settings: Settings, grid: Grid, guard: Guard, advance: Callable[[int], None]
) -> tuple[Settings, Tried]:
    """Tune exponent, ridge and regression share by the specialist alone at the smallest share: no pass of the model."""
    alone = {SPECIALIST: ((1.0,) * tuner.fitted.horizon,)}
    first = replace(settings, shares=settings.shares[:1], blend=alone, blend_absent={})
    most_neighbors = max(grid("neighbors", NEIGHBORS, settings))
    tried: Tried = []
    best: tuple[float, Settings] | None = None
    for exponent in grid("exponent", EXPONENTS, settings):
        if best is not None and guard.stops():
            break
        cases = tuner.cases(replace(first, exponent=exponent), most_neighbors, DRAWS)
        for candidate in _specialist_candidates(replace(first, exponent=exponent), settings, grid):
            for trial, error in _specialist_errors(tuner, cases, candidate, settings, grid):
                tried.append(
                    {"part": "specialist", "exponent": exponent, "neighbors": trial.neighbors, "ridge": trial.ridge,
                     "regression_share": trial.regression_share, "error": error}
                )  # fmt: skip
                if best is None or error < best[0]:
                    best = (error, trial)
        advance(1)
    if tuner.fitted.regressions is not None:
        tuner.fitted.regressions.clear()
    if best is None:
        return settings, tried
    best_settings = best[1]
    share = best_settings.regression_share
    ridge = settings.ridge if share == 0 else best_settings.ridge
    return replace(settings, exponent=best_settings.exponent, ridge=ridge, regression_share=share), tried


def _specialist_candidates(first: Settings, settings: Settings, grid: Grid) -> list[Settings]:
    """Return every combination of neighbors and ridge to try."""
    pairs = itertools.product(grid("neighbors", NEIGHBORS, settings), grid("ridge", RIDGES, settings))
    return [replace(first, neighbors=neighbors, ridge=ridge) for neighbors, ridge in pairs]


def _specialist_errors(
    tuner: Tuner, cases: Sequence[Case], candidate: Settings, settings: Settings, grid: Grid
) -> list[tuple[Settings, float]]:
    """Return the specialist's error for each regression share, computed from the same completed windows."""
    first_ridge = grid("ridge", RIDGES, settings)[0]
    shares = [
        share
        for share in grid("regression_share", REGRESSION_SHARES, settings)
        if share > 0 or candidate.ridge == first_ridge  # without a regression the ridge does nothing
    ]
    if not shares:
        return []
    widest = replace(candidate, regression_share=max(shares))
    completed = [tuner.complete(case, widest) for case in cases]
    specialist, results = Specialist(), []
    for share in shares:
        trial = replace(widest, regression_share=share)
        errors = [
            tuner.errors(specialist.forecast(replace(windows, settings=trial), windows.present), windows.present)
            for windows in completed
        ]
        results.append((trial, float(np.mean(errors))))
    return results


def _tune_model(
    tuner: Tuner, settings: Settings, grid: Grid, guard: Guard, advance: Callable[[int], None]
) -> tuple[Settings, Tried]:
    """Tune neighbors, then correction, by the error over all shares, each time with the best blend."""
    counts = grid("neighbors", NEIGHBORS, settings)
    corrections = grid("correction", CORRECTIONS, settings)
    settings = replace(settings, correction=corrections[0])
    trials = _ModelTrials(tuner, tuner.cases(settings, max(counts), DRAWS), grid)
    first = _FIRST_NEIGHBORS if _FIRST_NEIGHBORS in counts else counts[0]
    best = trials.run(replace(settings, neighbors=first))
    advance(1)
    for field, options, tried_option in (("neighbors", counts, first), ("correction", corrections, corrections[0])):
        for option in options:
            if option == tried_option or guard.stops():
                continue
            candidate = trials.run(replace(best.settings, **{field: option}))
            advance(1)
            best = candidate if candidate.beats(best) else best
    return best.settings, trials.tried


class _ModelTrials:
    """Blended errors of settings, in units of the first trial's errors."""

    def __init__(self, tuner: Tuner, cases: Sequence[Case], grid: Grid) -> None:
        self.tuner, self.cases, self.grid = tuner, cases, grid
        self.tried: Tried = []
        self._units: list[NDArray[np.float64]] = []  # the errors of the first trial, [h] for each share

    def run(self, candidate: Settings) -> Trial:
        """Return the settings with their best blend, and the error in each block of time."""
        specialist_only = replace(candidate, blend=_specialist_alone(candidate, self.tuner.fitted.horizon))
        by_share: list[list[NDArray[np.float64]]] = [[] for _ in candidate.shares]
        for case in self.cases:
            model, specialist = self.tuner.forecasts(case, specialist_only, self.tuner.two)
            by_share[case.share].append(self.tuner.errors_of_shares(model, specialist, case.present))
        tables = [np.mean(errors, axis=0) for errors in by_share]  # [blends, blocks, h] for each share
        if not self._units:
            self._units = [np.maximum(table[0].mean(axis=0), _SMALLEST_ERROR) for table in tables]
        given_rows = candidate.blend.get(SPECIALIST, ()) if "blend" in self.grid.given else None
        rows = given_rows if given_rows is not None else tuple(_steady_shares(table) for table in tables)
        blocks = self._blocks(tables, rows)
        model_error = float(
            np.mean([table[0].mean(axis=0) / unit for table, unit in zip(tables, self._units, strict=True)])
        )
        self.tried.append(
            {"part": "blend", "neighbors": candidate.neighbors, "correction": candidate.correction,
             "error": float(blocks.mean()), "error_without_specialist": model_error}
        )  # fmt: skip
        if given_rows is not None:
            return Trial(candidate, blocks)
        return Trial(replace(candidate, blend={SPECIALIST: rows}), blocks)

    def _blocks(self, tables: Sequence[NDArray[np.float64]], rows: Rows) -> NDArray[np.float64]:
        """Return the error of a blend in each block of time, the mean over shares and steps, [blocks]."""
        rows = rows or tuple((0.0,) * self.tuner.fitted.horizon for _ in tables)
        shares = zip(tables, rows, self._units, strict=True)
        return np.mean([(_at_shares(table, row) / unit).mean(axis=1) for table, row, unit in shares], axis=0)


def _specialist_alone(settings: Settings, horizon: int) -> dict[str, Rows]:
    """Return a blend in which the specialist has the full share, so that its regression is solved."""
    return {SPECIALIST: ((1.0,) * horizon,) * len(settings.shares)}


def _tune_shares(tuner: Tuner, settings: Settings, grid: Grid) -> tuple[Settings, Tried]:
    """Tune the shares of all experts in the forecasts of variables that are present, and of those that are absent.

    The forecasts without the model are tuned from the same numbers, for the question what the model adds.
    """
    names = list(tuner.fitted.experts)
    all_alone = {name: ((1.0,) * tuner.fitted.horizon,) * len(settings.shares) for name in names[1:]}
    everything = replace(settings, blend=all_alone)  # so that the regression is solved
    cases = tuner.cases(settings, settings.neighbors, DRAWS)
    tried: Tried = []
    if "blend" not in grid.given:
        errors = [tuner.expert_errors(case, everything, names) for case in cases]
        shares = _shares_by_presence(tuner, settings, cases, names, errors)
        tried.append(_shares_tried(tuner, "shares", names, shares, cases, errors))
        settings = replace(settings, blend=rows_of_shares(names, shares))
        others, errors = names[1:], [ExpertErrors(each.errors[1:]) for each in errors]
        shares = _shares_by_presence(tuner, settings, cases, others, errors)
        tried.append(_shares_tried(tuner, WITHOUT_MODEL, others, shares, cases, errors))
        settings = _tune_beyond(tuner, settings, cases, others, errors)
    if "blend_absent" not in grid.given:
        able = [name for name in names if name not in NEED_OWN_PAST]
        some = [case for case in cases[::DRAWS] if len(case.present) < tuner.fitted.n]
        errors = [tuner.expert_errors(case, everything, able, absent=True) for case in some]
        shares = _shares_by_presence(tuner, settings, some, able, errors)
        settings = replace(settings, blend_absent=rows_of_shares(able, shares))
    return settings, tried


def _tune_beyond(
    tuner: Tuner, settings: Settings, cases: Sequence[Case], names: Sequence[str], errors: Sequence[ExpertErrors]
) -> Settings:
    """Tune the shares of experts that need not know a variable's level, if any variable wanders."""
    known, able = tuner.fitted.known_levels, [name for name in BEYOND if name in names]
    if known is None or not known.wandering.size or SPECIALIST not in able:
        return settings
    which = [names.index(name) for name in able]
    some = [ExpertErrors(each.errors[which]) for each in errors]
    doubt = SHARES_DOUBT * tuner.staying  # no other parts are usual here
    shares = _shares_by_presence(tuner, settings, cases, able, some, doubt=doubt)
    return replace(settings, blend_beyond=rows_of_shares(able, shares))


def _shares_by_presence(
    tuner: Tuner,
    settings: Settings,
    cases: Sequence[Case],
    names: Sequence[str],
    errors: Sequence[ExpertErrors],
    *,
    doubt: float = SHARES_DOUBT,
) -> list[NDArray[np.float64]]:
    """Return the experts' shares for each share of variables present, [h, experts] each."""
    tables, tried, h = [], mixtures(tuple(names), tuner.staying), tuner.fitted.horizon
    doubt *= 1 + MORE_DOUBT * tuner.staying  # one stretch of walks can make anything look good
    steps = tuned_steps(h)
    for number in range(len(settings.shares)):
        some = [each for case, each in zip(cases, errors, strict=True) if case.share == number]
        own = [each.at(steps).losses(tried, tuner.metric) for each in some]
        if own:
            shares = steady_shares(tried, np.mean(own, axis=0), doubt)  # [steps, experts]
            tables.append(np.stack([np.interp(np.arange(h), steps, column) for column in shares.T], axis=1))
        else:
            tables.append(np.tile(np.eye(len(names))[0], (h, 1)))
    return tables


def _shares_tried(
    tuner: Tuner,
    part: str,
    names: Sequence[str],
    shares: Sequence[NDArray[np.float64]],
    cases: Sequence[Case],
    errors: Sequence[ExpertErrors],
) -> dict[str, Any]:
    """Return the shares with their error, beside that of the usual shares and of each expert alone."""

    def error(tables: Sequence[NDArray[np.float64]]) -> float:
        pairs = zip(cases, errors, strict=True)
        losses = [each.losses_of_steps(tables[case.share], tuner.metric) for case, each in pairs]
        return float(np.mean(losses))

    def constant(row: NDArray[np.float64]) -> float:
        return error([np.tile(row, (len(shares[0]), 1))] * len(shares))

    rows = rows_of_shares(names, shares)
    return {
        "part": part,
        "error": error(shares),
        "error_of_usual_shares": constant(mixtures(tuple(names), tuner.staying)[0].astype(np.float64)),
        "error_alone": dict(zip(names, map(constant, np.eye(len(names))), strict=True)),
        "rows": {name: [list(row) for row in own] for name, own in rows.items()},
    }


def _steady_shares(errors: NDArray[np.float64]) -> tuple[float, ...]:
    """Return for each step the smallest share that is not clearly worse than the best, smoothed over steps.

    `errors` is [blends, blocks, h]. A share is clearly worse if its loss exceeds the standard error of the loss.
    """
    shares = np.empty(errors.shape[2])
    for step in range(errors.shape[2]):
        best = errors[:, :, step].mean(axis=1).argmin()
        losses = errors[:, :, step] - errors[best, :, step]  # [blends, blocks]
        good = [loss.mean() <= _doubt(loss) for loss in losses]
        shares[step] = BLENDS[good.index(True)]
    padded = np.concatenate([shares[:1], shares, shares[-1:]])
    return tuple(float(x) for x in np.round((padded[:-2] + padded[1:-1] + padded[2:]) / 3, 4))


def _doubt(differences: NDArray[np.float64]) -> float:
    """Return `DOUBT` standard errors of a mean difference over blocks of time."""
    count = len(differences)
    return float(DOUBT * differences.std(ddof=1) / np.sqrt(count)) if count > 1 else 0.0


def _at_shares(errors: NDArray[np.float64], row: Sequence[float]) -> NDArray[np.float64]:
    """Return the errors [blocks, h] at the shares of a row, interpolated between the shares that were tried."""
    position = np.interp(row, BLENDS, np.arange(len(BLENDS)))  # [h]
    low = np.minimum(position.astype(int), len(BLENDS) - 2)
    weight = position - low
    steps = np.arange(errors.shape[2])
    return np.asarray((1 - weight) * errors[low, :, steps].T + weight * errors[low + 1, :, steps].T)


def _tune_paper(tuner: Tuner, settings: Settings, grid: Grid, guard: Guard) -> tuple[Settings, Tried]:
    """Tune neighbors and temperature of the published method."""
    counts = [m for m in grid("neighbors", NEIGHBORS, settings) if m <= 20 or "neighbors" in grid.given]
    scaled = get_weighting(settings.weighting).uses_temperature
    temperatures = grid("temperature", TEMPERATURES, settings) if scaled else (settings.temperature,)
    n = tuner.fitted.n
    present = np.sort(draw_subsets(n, share=settings.shares[0], draws=1, seed=tuner.seed)[0])
    best: tuple[float, Settings] | None = None
    tried: Tried = []
    for neighbors, temperature in itertools.product(counts, temperatures):
        if best is not None and guard.stops():
            break
        trial = replace(settings, neighbors=neighbors, temperature=temperature)
        mean = forecast_windows(tuner.fitted, trial, tuner.arrived, present).mean
        error = float(tuner.errors(mean, present).mean())
        tried.append({"part": "paper", "neighbors": neighbors, "temperature": temperature, "error": error})
        if best is None or error < best[0]:
            best = (error, trial)
    return settings if best is None else best[1], tried
