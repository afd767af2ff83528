"""Process one step: screen its readings, forecast, score past forecasts, and store all of it in one transaction.

Everything is computed from one state of the database, outside of the transaction that stores it, so that readings are
taken in meanwhile; those that come for the step itself in that time count as late. The state of the screening is stored
with the step: a process that was killed goes on from there.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from subcast.errors import InputError
from subcast.service import alerts, replacements, stored, truth
from subcast.service.database import Database
from subcast.service.feed import Feed, last_receipt, last_step
from subcast.service.forecasting import Made, make
from subcast.service.options import Options
from subcast.service.planning import Plan, in_maintenance
from subcast.service.schema import forecasts, health, overrides, readings, receipts, scores, steps
from subcast.service.screens import BAD, GOOD, ScreenedFeed, Screening, packed, unpacked, with_spikes
from subcast.service.versions import Version
from subcast.subset.adaptive import counted, group_of

_LOGGER = logging.getLogger(__name__)
_WARM = 3  # lookbacks that a new screening is fed with before its first step


@dataclass(frozen=True, eq=False)
class Known:
    """What is known when a step is processed.

    Parameters
    ----------
    last
        the step before
    cutoff
        the last receipt
    times, raw, serviced
        [t] the window, [t, n] its readings and which are in maintenance
    before
        health rows by number
    past
        forecasts of this step
    factors
        of the intervals
    arrived
        when the last reading of the step was received; 0 without one
    """

    last: int | None
    cutoff: int
    times: NDArray[np.int64]
    raw: NDArray[Any]
    serviced: NDArray[np.bool_]
    before: dict[int, Any]
    past: list[tuple[int, truth.PastForecast]]
    factors: tuple[float, ...]
    arrived: int


class Stepper:
    """Processes steps, one after another."""

    def __init__(self, database: Database, feed: Feed, options: Options) -> None:
        self.database, self.feed, self.options = database, feed, options
        self._screened: ScreenedFeed | None = None
        self._at: tuple[int | None, str] = (None, "")  # the step and the version that the screening is at
        self._names: dict[str, tuple[str, ...]] = {}

    def forget(self) -> None:
        """Take the state of the screening from the database again."""
        self._screened, self._at = None, (None, "")

    # Reading

    def _know(self, connection: sa.Connection, at: int, version: Version) -> Known:
        feed, wrapper = self.feed, version.wrapper
        times = feed.grid.window(at, wrapper.lookback)
        raw = feed.window(connection, times)
        serviced = in_maintenance(connection, feed, times)
        raw[serviced] = np.nan
        last_score = sa.select(scores.c.shares).order_by(scores.c.time.desc()).limit(1)
        newest = sa.select(sa.func.max(readings.c.receipt)).where(readings.c.time == at).scalar_subquery()
        arrived = connection.execute(sa.select(receipts.c.received_at).where(receipts.c.id == newest)).scalar()
        return Known(
            last_step(connection),
            last_receipt(connection),
            times,
            raw,
            serviced,
            {row.sensor: row for row in connection.execute(sa.select(health))},
            stored.forecasts_of(connection, feed.grid, at, version, self._names),
            truth.factors_of(connection.execute(last_score).scalar()),
            int(arrived or 0),
        )

    # Screening

    def _resumed(self, connection: sa.Connection, last: int | None, at: int, version: Version) -> ScreenedFeed:
        """Return the screening after the step before: the one in memory, that in the database, or a new one."""
        if self._screened is not None and self._at == (last, version.fingerprint):
            return self._screened
        content = None
        if last is not None:
            content = connection.execute(sa.select(steps.c.state).where(steps.c.time == last)).scalar()
        if content is not None:
            try:
                return version.screener.resume(unpacked(content))
            except InputError:
                _LOGGER.info("the screening begins anew with this version of the wrapper")
        return self._warmed(connection, at, version)

    def _warmed(self, connection: sa.Connection, at: int, version: Version) -> ScreenedFeed:
        """Return a new screening that has seen the steps before, as far as there are readings."""
        fresh = version.screener.start()
        times = self.feed.grid.window(self.feed.grid.after(at, -1), _WARM * version.wrapper.lookback)
        raw = self.feed.window(connection, times)
        raw[in_maintenance(connection, self.feed, times)] = np.nan
        first = np.flatnonzero(~np.isnan(raw).all(axis=1))
        for row in range(int(first[0]) if first.size else len(times), len(times)):
            fresh.push(raw[row], times[row].view("datetime64[ns]"))
        return fresh

    # One step

    def process(self, plan: Plan, version: Version) -> bool:
        """Process the step of a plan and store it; return False if another process was quicker."""
        at = int(plan.time or 0)
        with self.database.read() as connection:
            known = self._know(connection, at, version)
            if known.last is not None and known.last >= at:
                return False
            screened = self._resumed(connection, known.last, at, version)
            set_overrides(connection, self.feed, screened, at)
            for name in replacements.begun(connection, self.feed, at):
                screened.forget(name)
        self.forget()  # until it is stored
        step = screened.push(known.raw[-1], known.times[-1].view("datetime64[ns]"))
        used = used_readings(known.raw, step)
        made, factor = self._forecast(known, used, version)
        values = np.where(step.flags == BAD, np.nan, step.values)
        scored = truth.score(
            at, counted(values, version.wrapper.metadata_.protocol), known.past, version.wrapper.horizon
        )
        level = max(made.levels, default=None)
        factors = truth.adapted(known.factors, scored, level) if self.options.adapt else known.factors
        health_rows = alerts.health_rows(
            screened.health, self.feed.ids, step.flags, known.raw[-1], known.before, at, self.feed.grid,
            known.serviced[-1], self.options.silent_steps,
        )  # fmt: skip
        rows = {
            "step": self._step_row(at, plan, known, step, screened),
            "forecast": self._forecast_row(at, plan, known, made, factor, version, used, step),
            "score": truth.to_row(at, scored, factors, level),
        }
        if not self._store(at, known, rows, health_rows, version, step):
            return False
        self._screened, self._at = screened, (at, version.fingerprint)
        return True

    def _forecast(self, known: Known, used: NDArray[np.bool_], version: Version) -> tuple[Made, float]:
        window = np.where(used, known.raw, np.nan)
        made = make(version.wrapper, self.feed.grid, known.times, window)
        factor = known.factors[group_of(made.observed_share)] if self.options.adapt and made.levels else 1.0
        return made.scaled(factor, version.wrapper), factor

    def _step_row(self, at: int, plan: Plan, known: Known, step: Screening, screened: ScreenedFeed) -> dict[str, Any]:
        return {
            "time": at,
            "closed_at": time.time_ns(),
            "cutoff": known.cutoff,
            "screened": known.cutoff,
            "reason": plan.reason,
            "flags": step.flags.astype(np.int8).tobytes(),
            "state": packed(screened.state()),
        }

    def _forecast_row(
        self, at: int, plan: Plan, known: Known, made: Made, factor: float, version: Version,
        used: NDArray[np.bool_], step: Screening,
    ) -> dict[str, Any]:  # fmt: skip
        now = time.time_ns()
        since = known.arrived or now
        return stored.to_row(
            made, version, used, step.flags,
            time=at, made_at=now, seconds=max(now - since, 0) / 1e9, cutoff=known.cutoff, reason=plan.reason,
            factor=factor,
        )  # fmt: skip

    def _store(
        self,
        at: int,
        known: Known,
        rows: dict[str, dict[str, Any]],
        health_rows: list[dict[str, Any]],
        version: Version,
        step: Screening,
    ) -> bool:
        """Store a step with everything that belongs to it; return False if another process stored one meanwhile."""
        grid = self.feed.grid
        names = dict(zip(self.feed.ids.tolist(), self.feed.variables, strict=True))
        with self.database.write() as connection:
            if last_step(connection) != known.last:
                return False
            stored.remember_variables(connection, version)
            connection.execute(steps.insert().values(**rows["step"]))
            connection.execute(forecasts.insert().values(**rows["forecast"]))
            connection.execute(scores.insert().values(**rows["score"]))
            alerts.store_health(connection, health_rows, known.before)
            found = alerts.health_events(health_rows, known.before, names, at, grid)
            alerts.store_events(connection, found)
            old = grid.after(at, -version.wrapper.lookback - 1)
            connection.execute(steps.update().where(steps.c.time < old, steps.c.state.is_not(None)).values(state=None))
            self._mark_late(connection, at, known.cutoff)
            if step.spiked.any():
                _mark_spikes(connection, known.last, step)
            replacements.mark_begun(connection, at)
        return True

    @staticmethod
    def _mark_late(connection: sa.Connection, at: int, cutoff: int) -> None:
        """Readings of the step that came while it was computed are late."""
        late = sa.select(readings.c.receipt).where(readings.c.time == at, readings.c.receipt > cutoff)
        numbers = connection.execute(late.distinct()).scalars().all()
        if numbers:
            change = receipts.update().where(receipts.c.id.in_(numbers), receipts.c.late == 0)
            connection.execute(change.values(late=1, late_from=at))


def _mark_spikes(connection: sa.Connection, last: int | None, step: Screening) -> None:
    """Flag readings of the step before that were spikes, as this step shows."""
    flags = connection.execute(sa.select(steps.c.flags).where(steps.c.time == last)).scalar()
    if flags is not None:
        connection.execute(steps.update().where(steps.c.time == last).values(flags=with_spikes(flags, step)))


def used_readings(raw: NDArray[Any], step: Screening) -> NDArray[np.bool_]:
    """Return which readings of a window are forecast from, [t, n]."""
    used = ~np.isnan(raw)
    holes = np.asarray(step.holes)
    steps_known = min(len(used), len(holes))
    used[len(used) - steps_known :] &= ~holes[len(holes) - steps_known :]
    return used


def set_overrides(
    connection: sa.Connection, feed: Feed, screened: ScreenedFeed, at: int, closed_at: int | None = None
) -> None:
    """Give the screening the flags that were set by hand, as they are at a step; for a past step as when it closed."""
    chosen = {row.sensor: row for row in connection.execute(sa.select(overrides))}
    for number, name in zip(feed.ids.tolist(), feed.variables, strict=True):
        row = chosen.get(number)
        ended = row is not None and row.until is not None and row.until < at
        if row is None or ended or (closed_at is not None and row.set_at > closed_at):
            screened.override(name, None)
        else:
            screened.override(name, "good" if row.flag == GOOD else "bad")
