"""Screener: is this reading believable? Learned at `fit` from the training data, used step by step or on a table."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.errors import DataError, InputError
from subcast.limits import BAD, Limits, check_limit_names
from subcast.limits_learning import learn_limits
from subcast.screening.feed import Feed, ScreenedStep
from subcast.screening.learning import Training, learn
from subcast.screening.rules import Rules
from subcast.screening.screened import Episode, Screened
from subcast.screening.signals import N_LEVELS, Floats, Mask, Whole
from subcast.screening.virtual import VirtualSensors
from subcast.series import Series
from subcast.storage import fields, folders
from subcast.storage.state import State
from subcast.subset import SubsetForecaster
from subcast.subset.normalizer import Normalizer
from subcast.tables.rates import moment_text
from subcast.tables.zones import checked_zone, wall_clock
from subcast.windows import Windows

KIND = "screener"
_BESIDE = r"wrapper(\.json|-.*)|screener-.*"
_SHARE = 0.25


@dataclass(frozen=True, eq=False, repr=False)
class Screener:
    """Judges readings by limits that were learned for each sensor, and by what the other sensors say.

    Parameters
    ----------
    variables
        names of the sensors
    limits
        which readings are possible at all
    normalizer
        usual values and spreads
    virtual
        what each sensor should read by the others: now, and smoothed over each scale
    rules
        limits of all other tests
    step
        nanoseconds from one step to the next; None if the training had no times
    zone
        of the training's times
    lookback
        steps of a window
    share
        largest share of sensors that the cross-check may screen at once: a real event moves many, and is no fault
    source
        fingerprint of the bank of the wrapper it was fitted with

    Examples
    --------
    >>> import subcast as sc
    >>> series = sc.load_dataset("clouds", n_plants=8, n_steps=1500)
    >>> train, val, test = series.split(lookback=6, horizon=3)
    >>> robust = sc.SubsetForecaster(lambda x: np.repeat(x[:, -1:, :, 0], 3, axis=1), progress=False).fit(train)
    >>> screener = Screener.fit(robust, train)
    >>> feed = screener.start()
    >>> row = test.series.values[70].copy()
    >>> row[2] = 999999
    >>> step = feed.push(row, test.series.times[70])
    >>> step.flags, step.reasons[2][0][0]
    (array([1, 1, 4, 1, 1, 1, 1, 1], dtype=int8), 'gross range')
    """

    variables: tuple[str, ...]
    limits: Limits
    normalizer: Normalizer
    virtual: tuple[VirtualSensors, ...]
    rules: Rules
    step: int | None
    zone: str | None
    lookback: int
    share: float = _SHARE
    source: str = ""
    _places: dict[str, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._places.update({name: place for place, name in enumerate(self.variables)})

    @classmethod
    def fit(cls, robust: SubsetForecaster, train: Windows | Series, *, share: float = _SHARE) -> Screener:
        """Learn the limits of each sensor from the training readings.

        Parameters
        ----------
        robust
            a fitted wrapper, whose usual values and regression are used
        train
            the windows or the series that it was fitted on
        share
            largest share of sensors that the cross-check may screen at once
        """
        series = train.series if isinstance(train, Windows) else train
        if not isinstance(series, Series):
            raise InputError(f"train must be the training windows or their series, got {type(train).__name__}")
        fitted, metadata = robust.fitted_, robust.metadata_
        if series.variables != metadata.variables:
            raise InputError("train has other variables than the wrapper was fitted on: give its training windows")
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
            raise InputError(f"share must be a number above 0 and up to 1, got {share!r}")
        values = np.asarray(series.values, dtype=np.float64)
        limits = robust.limits_ or learn_limits(series.values, series.variables)
        readings = np.where(limits.causes(values) > 0, np.nan, values)
        slots = _positions(fitted.normalizer, series.wall_times, len(series))
        unit = fitted.normalizer.spread_of(np.arange(fitted.n))
        training = Training(
            readings,
            (readings - fitted.normalizer.usual_at(slots)) / unit,
            fitted.normalizer.cycle.rows[slots],
            len(fitted.normalizer.center),
            fitted.normalizer.cycle.slots,
            unit,
        )
        step, learned = metadata.step, learn(training)
        return cls(
            series.variables,
            limits,
            fitted.normalizer,
            learned.virtual,
            learned.rules,
            None if step is None else int(step.astype(np.int64)),
            metadata.zone,
            fitted.lookback,
            float(share),
            fitted.bank.fingerprint(),
        )

    # Use

    def start(self) -> Feed:
        """Return the state of a new feed."""
        return Feed(self)

    def resume(self, state: Mapping[str, Any]) -> Feed:
        """Return the feed whose `state()` was stored: it goes on as if it had never stopped."""
        feed = Feed(self)
        feed.resume(state)
        return feed

    def screen(self, series: Series) -> Screened:
        """Screen a whole table, step by step, as a feed would.

        Parameters
        ----------
        series
            readings of the screener's sensors; a sensor that is not in it counts as silent
        """
        values = self._arranged(series)
        feed, steps = self.start(), []
        held = values.copy()
        episodes = _Episodes(self.variables)
        for number, row in enumerate(values):
            step = feed.push(row, None if self.step is None else np.asarray(series.times)[number])
            first = max(0, number + 1 - len(step.holes))
            held[first : number + 1][step.holes[len(step.holes) - (number + 1 - first) :]] = np.nan
            steps.append(step.flags)
            if number:
                steps[number - 1][step.spiked] = BAD
            episodes.note(feed, step)
        flags = np.stack(steps) if steps else np.zeros(values.shape, dtype=np.int8)
        return Screened(self.variables, series.times, flags, held.astype(np.float32), episodes.closed(), feed.health)

    def _arranged(self, series: Series) -> Floats:
        """Return the readings of a series in the order of the screener's sensors."""
        if not isinstance(series, Series):
            raise InputError(f"series must be a Series, got {type(series).__name__}: use Series.from_frame or read")
        check_names(series.variables, self.variables)
        if self.step is not None and series.times is None:
            raise InputError("series has no times, and the screener was fitted on readings with times: give times")
        values = np.full((len(series), len(self.variables)), np.nan)
        values[:, [self._places[name] for name in series.variables]] = series.values
        return values

    # What a feed asks

    def place(self, name: str) -> int:
        """Return the number of a sensor."""
        if name not in self._places:
            check_limit_names([name], self.variables)
        return self._places[name]

    @property
    def most_at_once(self) -> int:
        """How many sensors the cross-check may screen at once."""
        return max(1, int(self.share * len(self.variables)))

    def stamp(self, time: Any, count: int) -> int:
        """Return a time as nanoseconds, or the number of the step if the training had no times."""
        if self.step is None:
            return count
        if time is None:
            raise InputError("time must be given: the screener was fitted on readings with times")
        try:
            moment = np.datetime64(time).astype("datetime64[ns]")
        except (TypeError, ValueError):
            raise InputError(f"time must be a numpy datetime64, got {time!r}") from None
        if np.isnat(moment):
            raise InputError("time must be a time, got NaT")
        return int(moment.astype(np.int64))

    def shown(self, stamp: int) -> np.datetime64 | int:
        """Return a stamp as a time, or as the number of a step."""
        return stamp if self.step is None else np.datetime64(stamp, "ns")

    def moment(self, stamp: int) -> str:
        """Return a stamp as text."""
        return moment_text(stamp, self.step is None, self.zone)

    def steps_between(self, first: int, last: int) -> int:
        """Return how many steps lie between two stamps."""
        return last - first if self.step is None else max(round((last - first) / self.step), 0)

    def position(self, stamp: int) -> int:
        """Return the position of a time in the cycle."""
        if self.step is None or self.normalizer.cycle.length == 1:
            return 0
        wall = wall_clock(np.array([stamp], dtype="datetime64[ns]"), self.zone)
        return int(self.normalizer.cycle.positions(wall)[0])

    def row(self, stamp: int) -> int:
        """Return the row of the profile at a time."""
        return int(self.normalizer.cycle.rows[self.position(stamp)])

    def deviations(self, readings: Floats, stamp: int) -> Floats:
        """Return readings of a step [n] as deviations from the usual values."""
        usual = self.normalizer.usual_at(np.array([self.position(stamp)]))[0]
        return np.asarray((readings - usual) / self.rules.habits.unit)

    def expected(self, readings: Floats, differences: Floats, stamp: int) -> Floats:
        """Return what the other sensors say and its bounds in raw units, [3, n]."""
        unit = self.rules.habits.unit
        above, below = self.rules.instant[0], self.rules.instant[1]
        middle = readings - differences * unit
        return np.stack([middle, middle - below * unit, middle + above * unit])

    def sleeps(self, readings: Floats, stamp: int) -> Mask:
        """Return which sensors rest, as usual at this time, [n]."""
        return np.asarray(self.rules.sleepy[self.row(stamp)] & (readings == self.rules.rest))

    # Saving

    @cached_property
    def fingerprint(self) -> str:
        """Checksum of everything learned, by which a stored feed recognizes its screener."""
        digest = hashlib.sha256(repr((self.variables, self.step, self.share, self.source)).encode())
        for name, array in sorted(self.state().arrays.items()):
            digest.update(name.encode() + np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:16]

    def state(self) -> State:
        """Return the state to save."""
        facts = {
            "variables": list(self.variables),
            "step": self.step,
            "zone": self.zone,
            "lookback": self.lookback,
            "share": self.share,
            "ridges": [each.ridge for each in self.virtual],
            "source": self.source,
        }
        joined = State.join(
            facts, limits=self.limits.state(), normalizer=self.normalizer.state(), rules=self.rules.state()
        )
        joined.arrays["covariances"] = np.stack([each.covariance for each in self.virtual])
        return joined

    def save(self, folder: str | Path) -> None:
        """Write the screener to a folder, its own or that of the wrapper."""
        folders.save_state(folder, KIND, self.state(), beside=_BESIDE)

    @classmethod
    def load(cls, folder: str | Path) -> Screener:
        """Load a screener that `save` or `subcast fit` wrote."""
        state = folders.open_state(folder, KIND)
        screener = cls.from_state(state)
        if folders.is_saved(folder, "wrapper"):
            _check_wrapper(folder, screener)
        return screener

    @classmethod
    def from_state(cls, state: State) -> Screener:
        """Return the screener saved in `state`."""
        variables = fields.texts(state, "variables")
        n = len(variables)
        if not n:
            raise state.damaged("it has no variables")
        normalizer = Normalizer.from_state(state.needed_part("normalizer"), n)
        covariances = fields.array(state, "covariances", np.float64, [1 + N_LEVELS, n, n])
        with fields.restoring(state):
            zone = checked_zone(fields.optional_text(state, "zone"))
            ridges = fields.numbers(state, "ridges", 1 + N_LEVELS)
            virtual = tuple(VirtualSensors(each, ridge) for each, ridge in zip(covariances, ridges, strict=True))
        return cls(
            variables,
            Limits.from_state(state.needed_part("limits"), variables),
            normalizer,
            virtual,
            Rules.from_state(state.needed_part("rules"), n, len(normalizer.center)),
            None if fields.fact(state, "step") is None else fields.whole(state, "step", 1, 1 << 62),
            zone,
            fields.whole(state, "lookback", 1),
            float(fields.number(state, "share", 0, 1)),
            fields.text(state, "source"),
        )

    def __repr__(self) -> str:
        """Show the sensors and the share."""
        most = f"at most {self.most_at_once} screened by the cross-check at once"
        return f"Screener of {len(self.variables)} sensors, {most}"


class _Episodes:
    """Collects when sensors are ill."""

    def __init__(self, variables: tuple[str, ...]) -> None:
        self._variables = variables
        self._open: dict[str, Episode] = {}
        self._done: list[Episode] = []

    def note(self, feed: Feed, step: ScreenedStep) -> None:
        """Take in one step."""
        for sensor in np.flatnonzero(step.ill):
            name = self._variables[sensor]
            if name not in self._open:
                health = feed.health_of(name)
                since = step.time if health.since is None else health.since
                self._open[name] = Episode(name, since, None, step.time, health.test, health.state, health.reason)
        for name in [name for name in self._open if not step.ill[self._variables.index(name)]]:
            self._done.append(self._open.pop(name)._replace(end=step.time))

    def closed(self) -> tuple[Episode, ...]:
        """Return all episodes in order of time."""
        return tuple(sorted([*self._done, *self._open.values()], key=lambda each: (each.start, each.sensor)))


def check_names(given: tuple[str, ...], variables: tuple[str, ...]) -> None:
    """Raise unless all names are those of sensors, and there is one."""
    from difflib import get_close_matches

    unknown = [name for name in given if name not in set(variables)]
    if unknown:
        near = get_close_matches(unknown[0], variables, 1)
        hint = f": did you mean {near[0]!r}?" if near else ", and there is none of that name"
        raise InputError(f"{unknown[0]!r} is not one of the {len(variables)} sensors{hint}")


def _check_wrapper(folder: str | Path, screener: Screener) -> None:
    """Raise if the wrapper in the folder is not the one that the screener was fitted with."""
    facts = folders.open_state(folder, "wrapper", verify=False).facts
    found = facts.get("fitted", {}).get("bank_fingerprint") if isinstance(facts.get("fitted"), dict) else None
    if found != screener.source:
        raise DataError(
            f"the screener in {folder} was fitted with another wrapper than the one there: fit and save it again"
        )


def _positions(normalizer: Normalizer, times: NDArray[np.datetime64] | None, steps: int) -> Whole:
    """Return the position of each step in the cycle."""
    if times is None or normalizer.cycle.length == 1:
        return np.zeros(steps, dtype=np.int64)
    return normalizer.cycle.positions(times)
