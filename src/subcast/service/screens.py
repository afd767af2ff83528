"""The screening of the feed: that of the wrapper's folder, or gross limits alone if the folder has no screener."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.errors import DataError, DataNotFoundError, InputError
from subcast.limits import Limits
from subcast.screening import Feed, Health, ScreenedStep, Screener
from subcast.screening.screener import KIND
from subcast.storage import folders
from subcast.subset.forecaster import SubsetForecaster

GOOD, BAD, MISSING = 1, 4, 9
WITH_SCREENER = "all tests of the screener in the wrapper's folder"
WITHOUT_SCREENER = (
    "gross limits only: the wrapper's folder has no screener, so stuck and drifting sensors are not found; "
    "fit one with subcast.screening"
)
_OLD_SCREENER = "all tests, with a screener that was learned with an earlier bank: fit and save it again"


def load_screener(folder: Path, wrapper: SubsetForecaster) -> tuple[AnyScreener, str]:
    """Return the screener of a folder, or gross limits without one, and a sentence about it."""
    try:
        screener, sentence = Screener.load(folder), WITH_SCREENER
    except DataNotFoundError:
        return LimitsScreener(wrapper), WITHOUT_SCREENER
    except DataError:
        try:
            screener, sentence = Screener.from_state(folders.open_state(folder, KIND)), _OLD_SCREENER
        except DataError:
            return LimitsScreener(wrapper), WITHOUT_SCREENER
    if screener.variables != wrapper.variables or screener.lookback != wrapper.lookback:
        return LimitsScreener(wrapper), WITHOUT_SCREENER
    return screener, sentence


def packed(state: Mapping[str, Any]) -> bytes:
    """Return the state of a feed as bytes."""
    return zlib.compress(json.dumps(state, separators=(",", ":")).encode(), 1)


def unpacked(content: bytes) -> dict[str, Any]:
    """Return the state of a feed from its bytes."""
    state: dict[str, Any] = json.loads(zlib.decompress(content))
    return state


@dataclass(frozen=True, eq=False)
class LimitsStep:
    """One step after screening by gross limits."""

    flags: NDArray[np.int8]
    reasons: tuple[tuple[tuple[str, int, str], ...], ...]
    values: NDArray[Any]
    ill: NDArray[np.bool_]
    holes: NDArray[np.bool_]

    @property
    def spiked(self) -> NDArray[np.bool_]:
        """Readings of the step before that were spikes, [n]: none are found."""
        return np.zeros_like(self.ill)


@dataclass(frozen=True, eq=False)
class LimitsScreener:
    """Gross limits of the wrapper, and silence: a sensor without readings for the whole lookback is dead."""

    wrapper: SubsetForecaster

    @property
    def limits(self) -> Limits | None:
        """The limits of the wrapper."""
        return self.wrapper.limits_

    def start(self) -> LimitsFeed:
        """Return the state of a new feed."""
        return LimitsFeed(self)

    def resume(self, state: Mapping[str, Any]) -> LimitsFeed:
        """Return the feed whose state was stored."""
        feed = LimitsFeed(self)
        if state.get("limits") != list(self.wrapper.variables):
            raise InputError("state is not that of this feed: start a new one")
        feed.holes = np.array(state["holes"], dtype=bool).reshape(feed.holes.shape)
        feed.gap = np.array(state["gap"], dtype=np.int64)
        feed.since = np.array(state["since"], dtype=np.int64)
        feed.bad = {int(place): text for place, text in state["bad"].items()}
        feed.overrides = dict(state["overrides"])
        return feed


class LimitsFeed:
    """The state of one feed under gross limits."""

    def __init__(self, screener: LimitsScreener) -> None:
        self.screener, n = screener, len(screener.wrapper.variables)
        self.holes = np.zeros((screener.wrapper.lookback, n), dtype=bool)
        self.gap = np.zeros(n, dtype=np.int64)
        self.since = np.zeros(n, dtype=np.int64)
        self.bad: dict[int, str] = {}
        self.overrides: dict[str, str] = {}

    def push(self, values: Any, time: Any = None) -> LimitsStep:
        """Judge the readings of one step."""
        readings = np.asarray(values, dtype=np.float64)
        stamp = int(np.datetime64(time, "ns").astype(np.int64))
        beyond = ~np.isfinite(readings) & ~np.isnan(readings)
        limits = self.screener.limits
        if limits is not None:
            beyond |= limits.causes(readings[None].astype(np.float32))[0] > 0
        names = self.screener.wrapper.variables
        chosen = np.array([self.overrides.get(name, "") for name in names])
        beyond = (beyond & (chosen != "good")) | ((chosen == "bad") & ~np.isnan(readings))
        flags = np.where(np.isnan(readings), MISSING, np.where(beyond, BAD, GOOD)).astype(np.int8)
        self.gap = np.where(flags == GOOD, 0, self.gap + 1)
        self.since = np.where(self.gap == 1, stamp, self.since)
        sentences = {place: self._sentence(place, readings[place]) for place in np.flatnonzero(beyond).tolist()}
        self.bad = sentences
        self.holes = np.concatenate([self.holes[1:], beyond[None]])
        reasons = tuple(
            ((("gross range", BAD, sentences[place]),) if place in sentences else ()) for place in range(len(names))
        )
        return LimitsStep(flags, reasons, np.where(beyond, np.nan, readings), self._dead(), self.holes.copy())

    def _sentence(self, place: int, reading: float) -> str:
        name, limits = self.screener.wrapper.variables[place], self.screener.limits
        if self.overrides.get(name) == "bad":
            return "set to bad by hand"
        return f"{reading:g} is beyond {limits.describe(name)}" if limits is not None else f"{reading:g} is no reading"

    def _dead(self) -> NDArray[np.bool_]:
        return np.asarray(self.gap >= self.screener.wrapper.lookback)

    @property
    def health(self) -> dict[str, Health]:
        """The health of each sensor by name."""
        return {name: self._health(place, name) for place, name in enumerate(self.screener.wrapper.variables)}

    def _health(self, place: int, name: str) -> Health:
        if name in self.overrides:
            word = self.overrides[name]
            return Health("good" if word == "good" else "dead", None, f"set to {word} by hand", "override")
        since = np.datetime64(int(self.since[place]), "ns")
        if self.gap[place] >= self.screener.wrapper.lookback:
            steps = int(self.gap[place])
            return Health("dead", since, f"no usable reading for {steps} steps", "time gap")
        if place in self.bad:
            return Health("suspect", since, self.bad[place], "gross range")
        return Health("good", None)

    def forget(self, sensor: str) -> None:
        """Begin anew with a sensor that was replaced: its readings so far are holes."""
        place = self.screener.wrapper.variables.index(sensor)
        self.holes[:, place] = True
        self.gap[place], self.since[place] = 0, 0
        self.bad.pop(place, None)

    def override(self, sensor: str, choice: str | None) -> None:
        """Take a sensor for good or bad whatever the limits say; None ends that."""
        if choice is None:
            self.overrides.pop(sensor, None)
        else:
            self.overrides[sensor] = choice

    def state(self) -> dict[str, Any]:
        """Return the state as plain values for JSON."""
        return {
            "limits": list(self.screener.wrapper.variables),
            "holes": self.holes.tolist(),
            "gap": self.gap.tolist(),
            "since": self.since.tolist(),
            "bad": self.bad,
            "overrides": self.overrides,
        }


def with_spikes(flags: bytes, step: Screening) -> bytes:
    """Return the stored flags of the step before with spikes, as this step shows them, flagged as bad."""
    changed = np.frombuffer(flags, dtype=np.int8).copy()
    if len(changed) == len(step.spiked):
        changed[step.spiked] = BAD
    return changed.tobytes()


AnyScreener = Screener | LimitsScreener
ScreenedFeed = Feed | LimitsFeed
Screening = ScreenedStep | LimitsStep
