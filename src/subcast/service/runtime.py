"""The running service: the wrapper, the feed and what works on them, started and stopped together."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import subcast as sc
from subcast.service.database import Database
from subcast.service.feed import Feed, newest_reading
from subcast.service.grid import SECOND, Grid
from subcast.service.intake import Intake
from subcast.service.options import Options
from subcast.service.writer import Writer
from subcast.subset.forecaster import SubsetForecaster

_DAY = 86_400 * SECOND
_LONGEST_DEADLINE = 600.0  # seconds


class Service:
    """Everything that a request needs."""

    def __init__(self, options: Options, model: Any = None) -> None:
        self.options = options
        self.started_at = time.time_ns()
        self.wrapper: SubsetForecaster = sc.load(Path(options.folder), model)
        self.grid = Grid.of(self.wrapper.metadata_, options.zone)
        self.database = Database(options.url)
        self.database.open()
        self.late_steps = options.late_steps or max(_DAY // self.grid.length, 2 * self.wrapper.lookback)
        self.deadline = options.deadline or min(self.grid.length / SECOND / 2, _LONGEST_DEADLINE)
        self.feed = Feed(self.database, self.grid, self.wrapper.variables, self.wrapper.lookback, int(self.late_steps))
        self.intake = Intake(self.wrapper.variables, self.grid, self.wrapper.metadata_.unit, self.wrapper.limits_)
        self.writer = Writer(self.database)

    def newest_allowed(self) -> int:
        """Return the newest step that a reading may have: the one that begins next by the clock of this machine."""
        return self.grid.after(self.grid.step_at(self.grid.now() + self.grid.tolerance))

    def close(self) -> None:
        """Finish what is queued and close the database."""
        self.writer.close()
        self.database.close()

    def newest(self) -> int | None:
        """Return the time of the newest reading."""
        with self.database.read() as connection:
            return newest_reading(connection)
