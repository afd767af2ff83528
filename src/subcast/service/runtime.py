"""The running service: the wrapper, the feed and what works on them, started and stopped together."""

from __future__ import annotations

import logging
import os
import time
from typing import Any

import anyio
import numpy as np
import sqlalchemy as sa

from subcast.errors import InputError
from subcast.service import alerts, stored, truth
from subcast.service.clock import FEED, SteadyClock
from subcast.service.database import Database
from subcast.service.engine import Engine
from subcast.service.feed import Feed, IdempotencyKey, last_step, newest_reading
from subcast.service.grid import SECOND, Grid
from subcast.service.intake import Batch, Intake, Newest
from subcast.service.metrics import Metrics
from subcast.service.options import Options
from subcast.service.planning import Planner
from subcast.service.replacements import Names
from subcast.service.retention import prune
from subcast.service.schema import events, scores
from subcast.service.versions import Version, Versions
from subcast.service.writer import Writer
from subcast.subset.forecaster import SubsetForecaster

_LOGGER = logging.getLogger(__name__)
_DAY = 86_400 * SECOND
_LONGEST_DEADLINE = 600.0  # seconds
_FAR_AHEAD = 31 * _DAY  # a replay that jumps further has a wrong time
_LOOK_SECONDS = 1.0


class Service:
    """Everything that a request needs."""

    def __init__(self, options: Options, model: Any = None) -> None:
        self.options, self.started_at = options, time.time_ns()
        self.database = Database(options.url)
        self.versions = Versions(options.folder, options.beside(".versions"), model, options.keep_versions)
        self.grid = Grid.of(self.wrapper.metadata_)
        self.database.open()
        self.late_steps = int(options.late_steps or max(_DAY // self.grid.length, 2 * self.wrapper.lookback))
        self.deadline = float(options.deadline or min(self.grid.length / SECOND / 2, _LONGEST_DEADLINE))
        self.clock = SteadyClock(jump=max(self.grid.length // 2, SECOND))
        self.names: dict[str, tuple[str, ...]] = {}
        self.metrics = Metrics()
        self.calculations = anyio.CapacityLimiter(os.cpu_count() or 1)  # stateless forecasts at the same time
        self._ahead: int | None = None
        self._looked = -_LOOK_SECONDS
        self._arrange()
        self.engine = Engine(self)
        self.writer = Writer(self.database, self._arrived)
        self.started = False

    def _arrange(self) -> None:
        """Set up what depends on the sensors of the wrapper."""
        wrapper = self.wrapper
        self.feed = Feed(self.database, self.grid, wrapper.variables, wrapper.lookback, self.late_steps)
        self.intake = Intake(wrapper.variables, self.grid, wrapper.metadata_.unit, wrapper.limits_)
        self.replaced = self.intake.names = Names(self.database, self.feed, self.grid)
        self.pair = self.feed, self.intake  # replaced together
        self.planner = Planner(self.database, self.feed, self.options, self.clock, round(self.deadline * SECOND))

    @property
    def wrapper(self) -> SubsetForecaster:
        """The present wrapper."""
        return self.versions.present.wrapper

    def start(self) -> None:
        """Begin to make forecasts."""
        self.started = True
        self.engine.start()

    def close(self) -> None:
        """Finish what is queued and the present step, and close the database."""
        self.writer.close()
        self.engine.close()
        self.database.close()

    # Readings

    def newest_allowed(self) -> Newest:
        """Return which times a reading may have: none in the future, and in a replay none far ahead of the feed."""
        now = self.clock.now()
        newest = self.grid.after(self.grid.step_at(now + self.grid.tolerance))
        if time.monotonic() - self._looked > _LOOK_SECONDS:
            with self.database.read() as connection:
                known = newest_reading(connection) if self.planner.mode(connection) == FEED else None
            self._ahead = None if known is None else known + _FAR_AHEAD
            self._looked = time.monotonic()
        return Newest(newest, self._ahead, now - 2 * self.grid.length)

    def store(self, connection: sa.Connection, feed: Feed, batch: Batch, key: IdempotencyKey | None) -> dict[str, Any]:
        """Store the readings of a request."""
        answer = feed.store(connection, batch, time.time_ns(), key)
        if answer["stored"] and not answer["replayed"]:
            self.planner.decide(connection, int(batch.times.max()))
        return answer

    def _arrived(self) -> None:
        self.planner.last_arrival = self.clock.now()
        self.engine.wake()

    def newest(self) -> int | None:
        """Return the time of the newest reading."""
        with self.database.read() as connection:
            return newest_reading(connection)

    def feed_of(self, variables: tuple[str, ...]) -> Feed:
        """Return the feed of other sensors than the present ones, to make their forecasts again."""
        if variables == self.feed.variables:
            return self.feed
        return Feed(self.database, self.grid, variables, self.feed.lookback, self.late_steps)

    def now(self, connection: sa.Connection) -> int:
        """Return the time by the clock of the feed: that of this machine, or of the newest reading in a replay."""
        if self.planner.mode(connection) == FEED:
            return newest_reading(connection) or self.clock.now()
        return self.clock.now()

    # The wrapper

    def look_at_folder(self) -> Version | None:
        """Take the wrapper in the folder if it was replaced, between two steps; return it if it is new."""
        version = self.versions.refresh(self._check_version)
        if version is not None:
            self._arrange()
            self.engine.reset()
            _LOGGER.info("wrapper", extra={"version": version.fingerprint})
            with self.database.write() as connection:
                stored.remember_variables(connection, version)
                text = f"a new version of the wrapper is in use ({version.fingerprint[:12]})"
                alerts.store_events(connection, [alerts.event("wrapper", text)])
        return version

    def refresh_now(self) -> bool:
        """Have the engine look at the folder at once; return whether the version changed within a few seconds."""
        before = self.versions.present.fingerprint
        for _ in range(100):
            self.engine.wake()
            if self.versions.present.fingerprint != before:
                return True
            if self.versions.is_current:
                return False
            time.sleep(0.05)
        return False

    def _check_version(self, version: Version) -> None:
        """Refuse a wrapper that does not continue this feed."""
        grid = Grid.of(version.wrapper.metadata_)
        if (grid.steps.freq, grid.zone) != (self.grid.steps.freq, self.grid.zone):
            raise InputError(
                f"the new wrapper has steps of {grid.steps.freq}, and the feed has {self.grid.steps.freq}: serve it "
                "with another database"
            )

    # Now and then

    def scored(self, connection: sa.Connection, most: int | None = None) -> list[Any]:
        """Return the scores of the last steps."""
        query = sa.select(scores).order_by(scores.c.time.desc()).limit(most or self.options.score_steps)
        return list(connection.execute(query).all())

    def look_at_age(self) -> str | None:
        """Store an event when the model seems to have aged, once a day; return the sentence."""
        with self.database.read() as connection:
            found = truth.summary(self.scored(connection), len(self.wrapper.variables), self.wrapper.horizon)
            recent = sa.select(sa.func.max(events.c.at)).where(events.c.kind == "aged")
            last = connection.execute(recent).scalar() or 0
        sentence = truth.aging(found, max(self.wrapper.levels, default=None) if self._has_intervals else None)
        if sentence is not None and time.time_ns() - last > _DAY:
            with self.database.write() as connection:
                alerts.store_events(connection, [alerts.event("aged", sentence)])
        return sentence

    @property
    def _has_intervals(self) -> bool:
        return self.wrapper.calibration_ is not None

    def send_events(self) -> int:
        """Send events to the webhook."""
        return alerts.send_events(self.database, str(self.options.webhook), self.grid)

    def prune(self) -> int:
        """Remove what is older than it should be kept."""
        with self.database.read() as connection:
            last = last_step(connection)
        if last is None:
            return 0
        least = (self.wrapper.lookback + self.wrapper.horizon + 1) * self.grid.length / _DAY
        days = [None if each is None else max(each, least) for each in
                (self.options.keep_readings, self.options.keep_forecasts)]  # fmt: skip
        return prune(self.database, last, time.time_ns(), readings_days=days[0], forecasts_days=days[1])

    def flags_at(self, content: bytes) -> np.ndarray[Any, Any] | None:
        """Return stored flags if they are of the present sensors."""
        flags = np.frombuffer(content, dtype=np.int8)
        return flags if len(flags) == len(self.wrapper.variables) else None
