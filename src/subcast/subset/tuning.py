"""Choose the settings on validation windows under random S, within a given time."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.progress import progress_bar
from subcast.retrieval import Neighbors
from subcast.subset.engine import Completed, Engine
from subcast.subset.settings import Settings
from subcast.subsets import draw_subsets, subset_size
from subcast.windows import Windows

NEIGHBORS = (5, 10, 20, 50)
EXPONENTS = (0.5, 1.0)
RIDGES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
REGRESSION_SHARES = (0.0, 0.5, 1.0)
CORRECTIONS = (0.5, 0.0, 1.0)
TEMPERATURES = (0.01, 0.1, 1.0, 10.0)
BLENDS = np.linspace(0.0, 1.0, 21)
DOUBT = 1.0  # standard errors by which something must be better than what is simpler
BLOCKS = 10  # stretches of time over which a difference must be steady to count
DRAWS = 3
MOST_WINDOWS, LEAST_WINDOWS = 160, 24
_UNIT = 1e-12


@dataclass(frozen=True, eq=False)
class Case:
    """One draw of S with its neighbors, for the widest search."""

    share: int  # its place among the settings' shares
    present: NDArray[np.int64]
    neighbors: Neighbors


class Tuner:
    """Validation windows with their targets, and the errors of settings on them.

    Parameters
    ----------
    engine
        what forecasts
    windows, places
        validation windows, and the numbers of those to use
    metric
        "mae" or "rmse"; errors are taken in units of each variable's spread
    seed
        of the draws of S
    """

    def __init__(self, engine: Engine, windows: Windows, places: NDArray[np.int64], metric: str, seed: int) -> None:
        self.engine, self.metric, self.seed = engine, metric, seed
        self.arrived = engine.arrive(windows)[places]
        self.targets = windows.targets[places]  # [b, h, n]

    def cases(self, settings: Settings, k: int, draws: int) -> list[Case]:
        """The draws of S for every share, with their k nearest windows."""
        made = []
        for place, share in enumerate(settings.shares):
            size = min(subset_size(self.engine.n, share), max(1, self.engine.n - 1))
            for present in draw_subsets(self.engine.n, count=size, share=None, draws=draws, seed=self.seed + place):
                present = np.sort(present)
                made.append(Case(place, present, self.engine.find(self.arrived, present, settings, k)))
        return made

    def complete(self, case: Case, settings: Settings) -> Completed:
        """The windows completed with the first m of the neighbors."""
        m = settings.neighbors
        near = Neighbors(case.neighbors.index[:, :m], case.neighbors.distance[:, :m])
        return self.engine.complete(self.arrived, case.present, settings, near)

    def parts(
        self, case: Case, settings: Settings, *, absent: bool = False
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The model's and the specialist's part of the forecast, [b, h, s] each; of the absent ones on request."""
        done = self.complete(case, settings)
        wanted = self.engine.others(case.present) if absent else case.present
        model = self.engine.run(self.engine.model_inputs(done, settings.correction), wanted)
        return model, self.engine.specialist(done, settings, absent=absent)

    def errors(self, forecast: NDArray[np.float32], variables: NDArray[np.int64]) -> NDArray[np.float64]:
        """The mean (squared, for rmse) error of each step, [h], in units of the variables' spread."""
        return self.errors_of_blocks(forecast, variables).mean(axis=0)

    def errors_of_blocks(self, forecast: NDArray[np.float32], variables: NDArray[np.int64]) -> NDArray[np.float64]:
        """The same for each of some stretches of time, [blocks, h], such that their mean is that of all windows."""
        spread = self.engine.space.spread_of(variables)
        off = (forecast - self.targets[:, :, variables]) / spread
        off = np.abs(off) if self.metric == "mae" else off**2
        known = ~np.isnan(off)
        total, count = np.where(known, off, 0).sum(axis=2), known.sum(axis=2)  # [b, h] each
        bounds = np.linspace(0, len(total), min(BLOCKS, len(total)) + 1).astype(int)[:-1]
        sums = np.add.reduceat(total, bounds, axis=0)  # [blocks, h]
        return np.asarray(sums * len(bounds) / np.maximum(count.sum(axis=0), 1))


def tune(
    engine: Engine,
    windows: Windows,
    places: NDArray[np.int64],
    settings: Settings,
    given: Sequence[str],
    *,
    metric: str = "mae",
    seconds: float = 60.0,
    seed: int = 0,
    progress: bool = True,
) -> tuple[Settings, dict[str, Any]]:
    """Find the settings that were not given by hand.

    Parameters
    ----------
    engine
        what forecasts
    windows, places
        validation windows and the numbers of those that may be used, as many as the time allows
    settings
        what to begin with
    given
        the names of the fields set by hand, which stay
    metric, seed
        as in `Tuner`
    seconds
        about how long it may take
    progress
        whether to show a bar

    Returns
    -------
    Settings and a report
        what was chosen, and what was tried with its error
    """
    begun = time.monotonic()
    if not settings.pool:
        return _tune_paper(engine, windows, places, settings, given, metric=metric, seconds=seconds, seed=seed)
    chosen = replace(
        settings, center=settings.center if "center" in given else ("median" if metric == "mae" else "mean")
    )
    free = Grid(given)
    rounds = len(free("neighbors", NEIGHBORS, chosen)) + len(free("correction", CORRECTIONS, chosen)) - 1
    some = _as_many(engine, windows, places, rounds * len(chosen.shares) * DRAWS, seconds)
    tuner = Tuner(engine, windows, some, metric, seed)
    deadline = begun + seconds
    exponents = len(free("exponent", EXPONENTS, chosen))
    with progress_bar("tuning on validation windows", rounds + exponents, progress) as advance:
        chosen, tried = _tune_specialist(tuner, chosen, free, begun + seconds / 3, advance)
        chosen, more = _tune_model(tuner, chosen, free, deadline, advance)
    report = {
        "metric": metric,
        "windows": len(tuner.arrived),
        "draws_of_each_share": DRAWS,
        "seconds": round(time.monotonic() - begun, 1),
        "tried": tried + more,
    }
    return chosen, report


@dataclass(frozen=True, eq=False)
class Trial:
    """Settings and their error in each stretch of time, [blocks]."""

    settings: Settings
    errors: NDArray[np.float64]

    def beats(self, other: Trial) -> bool:
        """Whether it is better by more than the difference varies from stretch to stretch."""
        difference = other.errors - self.errors
        return bool(difference.mean() > _doubt(difference))


class Grid:
    """What may be tried: all of a grid, or only what was given by hand."""

    def __init__(self, given: Sequence[str]) -> None:
        self.given = set(given)

    def __call__(self, name: str, grid: Sequence[Any], settings: Settings) -> Sequence[Any]:
        """The values to try for a field."""
        return (getattr(settings, name),) if name in self.given else grid


def _as_many(
    engine: Engine, windows: Windows, places: NDArray[np.int64], passes: int, seconds: float
) -> NDArray[np.int64]:
    """As many of the windows as the model forecasts `passes` times in most of the time, evenly spread."""
    inputs = np.nan_to_num(windows.batch(places[:32]).inputs)
    engine.run(inputs, None)  # the first call compiles and allocates
    begun = time.perf_counter()
    engine.run(inputs, None)
    each = (time.perf_counter() - begun) / len(inputs)
    count = int(np.clip(0.6 * seconds / (passes * each), LEAST_WINDOWS, MOST_WINDOWS))
    return places[:: max(1, -(-len(places) // count))]


def _tune_specialist(
    tuner: Tuner, settings: Settings, free: Grid, deadline: float, advance: Callable[[int], None]
) -> tuple[Settings, list[dict[str, Any]]]:
    """Tune exponent, ridge and regression share by the specialist alone at the smallest share: no pass of the model."""
    engine = tuner.engine
    alone = ((1.0,) * engine.horizon,)
    first = replace(settings, shares=settings.shares[:1], blend=alone, blend_absent=())
    k = max(free("neighbors", NEIGHBORS, settings))
    tried: list[dict[str, Any]] = []
    best: tuple[float, Settings] | None = None
    for exponent in free("exponent", EXPONENTS, settings):
        if best is not None and time.monotonic() > deadline:
            break
        cases = tuner.cases(replace(first, exponent=exponent), k, DRAWS)
        ridges = free("ridge", RIDGES, settings)
        for m, ridge in itertools.product(free("neighbors", NEIGHBORS, settings), ridges):
            leans = [
                regression_share
                for regression_share in free("regression_share", REGRESSION_SHARES, settings)
                if regression_share > 0 or ridge == ridges[0]
            ]
            if not leans:
                continue  # without a regression the ridge does nothing
            trial = replace(first, exponent=exponent, neighbors=m, ridge=ridge, regression_share=max(leans))
            done = [tuner.complete(case, trial) for case in cases]  # serves every regression_share
            for regression_share in leans:
                trial = replace(trial, regression_share=regression_share)
                error = float(np.mean([tuner.errors(engine.specialist(each, trial), each.present) for each in done]))
                tried.append(
                    {"part": "specialist", "exponent": exponent, "neighbors": m, "ridge": ridge,
                     "regression_share": regression_share, "error": error}
                )  # fmt: skip
                if best is None or error < best[0]:
                    best = (error, trial)
        advance(1)
    if engine.plans is not None:
        engine.plans.clear()
    assert best is not None
    found = best[1]
    ridge = settings.ridge if found.regression_share == 0 else found.ridge
    return replace(settings, exponent=found.exponent, ridge=ridge, regression_share=found.regression_share), tried


def _tune_model(
    tuner: Tuner, settings: Settings, free: Grid, deadline: float, advance: Callable[[int], None]
) -> tuple[Settings, list[dict[str, Any]]]:
    """Neighbors, then correction, by the blended error over all shares; the best blend comes with each."""
    counts = free("neighbors", NEIGHBORS, settings)
    corrections = free("correction", CORRECTIONS, settings)
    settings = replace(settings, correction=corrections[0])
    cases = tuner.cases(settings, max(counts), DRAWS)
    tried: list[dict[str, Any]] = []
    units: list[NDArray[np.float64]] = []  # the errors of the first trial, [h] for each share

    def trial(candidate: Settings) -> Trial:
        marks = replace(candidate, blend=((1.0,) * tuner.engine.horizon,) * len(candidate.shares))
        per_share: list[list[NDArray[np.float64]]] = [[] for _ in candidate.shares]
        for case in cases:
            model, own = tuner.parts(case, marks)
            per_share[case.share].append(_blend_errors(tuner, model, own, case.present))
        tables = [np.mean(errors, axis=0) for errors in per_share]  # [blends, blocks, h] for each share
        if not units:
            units.extend(np.maximum(table[0].mean(axis=0), _UNIT) for table in tables)
        blend = candidate.blend if "blend" in free.given else tuple(_steady_blend(table) for table in tables)
        shares = zip(tables, blend, units, strict=True)
        blocks = np.mean([(_at_blend(table, row) / unit).mean(axis=1) for table, row, unit in shares], axis=0)
        alone = float(np.mean([table[0].mean(axis=0) / unit for table, unit in zip(tables, units, strict=True)]))
        tried.append(
            {"part": "blend", "neighbors": candidate.neighbors, "correction": candidate.correction,
             "error": float(blocks.mean()), "error_without_specialist": alone}
        )  # fmt: skip
        advance(1)
        return Trial(replace(candidate, blend=blend), blocks)

    best = trial(replace(settings, neighbors=20 if 20 in counts else counts[0]))
    begun_with = best.settings.neighbors
    for field, options in (("neighbors", counts), ("correction", corrections)):
        for option in options:
            if option == (begun_with if field == "neighbors" else corrections[0]) or time.monotonic() > deadline:
                continue
            candidate = trial(replace(best.settings, **{field: option}))
            best = candidate if candidate.beats(best) else best
    chosen = best.settings
    if "blend_absent" not in free.given:
        chosen = replace(chosen, blend_absent=_tune_absent(tuner, chosen, cases))
    return chosen, tried


def _tune_absent(tuner: Tuner, settings: Settings, cases: list[Case]) -> tuple[tuple[float, ...], ...]:
    """The blend for variables that are absent."""
    marks = replace(settings, blend=((1.0,) * tuner.engine.horizon,) * len(settings.shares))
    rows = [(0.0,) * tuner.engine.horizon for _ in settings.shares]
    for case in cases[::DRAWS]:
        absent = tuner.engine.others(case.present)
        if absent.size:
            model, own = tuner.parts(case, marks, absent=True)
            rows[case.share] = _steady_blend(_blend_errors(tuner, model, own, absent))
    return tuple(rows)


def _blend_errors(
    tuner: Tuner, model: NDArray[np.float32], own: NDArray[np.float32], variables: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The error of each stretch of time and step for each share of the specialist, [blends, blocks, h]."""
    difference = own - model
    return np.stack([tuner.errors_of_blocks(model + np.float32(blend) * difference, variables) for blend in BLENDS])


def _steady_blend(errors: NDArray[np.float64]) -> tuple[float, ...]:
    """For each step the smallest share that is not clearly worse than the best, evened out over neighboring steps.

    `errors` is [blends, blocks, h]. What the best gains over it must exceed what the gain varies by.
    """
    chosen = np.empty(errors.shape[2])
    for step in range(errors.shape[2]):
        best = errors[:, :, step].mean(axis=1).argmin()
        losses = errors[:, :, step] - errors[best, :, step]  # [blends, blocks]
        good = [loss.mean() <= _doubt(loss) for loss in losses]
        chosen[step] = BLENDS[good.index(True)]
    padded = np.concatenate([chosen[:1], chosen, chosen[-1:]])
    return tuple(float(x) for x in np.round((padded[:-2] + padded[1:-1] + padded[2:]) / 3, 4))


def _doubt(differences: NDArray[np.float64]) -> float:
    """What a mean difference over stretches of time may be by chance: so many standard errors."""
    count = len(differences)
    return float(DOUBT * differences.std(ddof=1) / np.sqrt(count)) if count > 1 else 0.0


def _at_blend(errors: NDArray[np.float64], row: Sequence[float]) -> NDArray[np.float64]:
    """The errors [blocks, h] at the shares of a row, between those that were tried."""
    place = np.interp(row, BLENDS, np.arange(len(BLENDS)))  # [h]
    low = np.minimum(place.astype(int), len(BLENDS) - 2)
    weight = place - low
    steps = np.arange(errors.shape[2])
    return np.asarray((1 - weight) * errors[low, :, steps].T + weight * errors[low + 1, :, steps].T)


def _tune_paper(
    engine: Engine,
    windows: Windows,
    places: NDArray[np.int64],
    settings: Settings,
    given: Sequence[str],
    *,
    metric: str,
    seconds: float,
    seed: int,
) -> tuple[Settings, dict[str, Any]]:
    """Neighbors and temperature of a method that forecasts each neighbor's completion."""
    begun = time.monotonic()
    free = Grid(given)
    counts = [m for m in free("neighbors", NEIGHBORS, settings) if m <= 20 or "neighbors" in given]
    scaled = settings.weighting in ("distance", "forecast")
    temperatures = free("temperature", TEMPERATURES, settings) if scaled else (settings.temperature,)
    passes = sum(counts) * len(temperatures)
    tuner = Tuner(engine, windows, _as_many(engine, windows, places, passes, seconds), metric, seed)
    best: tuple[float, Settings] | None = None
    tried: list[dict[str, Any]] = []
    present = np.sort(draw_subsets(engine.n, share=settings.shares[0], draws=1, seed=seed)[0])
    for m, temperature in itertools.product(counts, temperatures):
        trial = replace(settings, neighbors=m, temperature=temperature)
        error = float(tuner.errors(engine.forecast(tuner.arrived, present, trial)[0], present).mean())
        tried.append({"part": "paper", "neighbors": m, "temperature": temperature, "error": error})
        if best is None or error < best[0]:
            best = (error, trial)
    assert best is not None
    taken = round(time.monotonic() - begun, 1)
    return best[1], {"metric": metric, "windows": len(tuner.arrived), "seconds": taken, "tried": tried}
