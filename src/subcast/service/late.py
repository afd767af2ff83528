"""Late readings: the steps they belong to are screened and scored again, and forecasts that would change are named.

A stored forecast is never changed. For each one with late readings in its window the forecast is made again with what
is known now, and the difference is stored as a revision. The forecasts of a step with late readings are compared with
what is known of the step now; the widths of intervals, which followed what was known then, stay.
"""

from __future__ import annotations

import json
import time
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from subcast.errors import InputError
from subcast.service import stored, truth
from subcast.service.database import Database
from subcast.service.feed import Feed, last_receipt, last_step
from subcast.service.forecasting import Made, make
from subcast.service.planning import in_maintenance
from subcast.service.replacements import begun_at
from subcast.service.schema import facts, forecasts, readings, receipts, revisions, scores, steps
from subcast.service.screens import BAD, packed, unpacked, with_spikes
from subcast.service.stepping import set_overrides
from subcast.service.versions import Version, Versions
from subcast.subset.adaptive import counted

_SCREENED, _REVISED, _SCORED = "late screened", "late revised", "late scored"
_AT_ONCE = 4  # revisions, or steps that are scored, before a step may be processed again
_MOST = 400  # forecasts that one batch of late readings is compared with


class _Late(NamedTuple):
    """Late readings that were not dealt with: the earliest step, and the receipts after `done` up to `until`."""

    first: int
    done: int
    until: int


def _progress(connection: sa.Connection, name: str) -> int:
    value = connection.execute(sa.select(facts.c.value).where(facts.c.name == name)).scalar()
    return int(value) if value is not None else 0


def _set_progress(connection: sa.Connection, name: str, value: int) -> None:
    if not connection.execute(facts.update().where(facts.c.name == name).values(value=str(value))).rowcount:
        connection.execute(facts.insert().values(name=name, value=str(value)))


def _pending(connection: sa.Connection, name: str) -> _Late | None:
    done = _progress(connection, name)
    late = sa.select(sa.func.min(receipts.c.late_from)).where(receipts.c.id > done, receipts.c.late > 0)
    first = connection.execute(late).scalar()
    return None if first is None else _Late(int(first), done, last_receipt(connection))


class LateReadings:
    """Deals with late readings, the screening first."""

    def __init__(self, database: Database, feed: Feed, versions: Versions) -> None:
        self.database, self.feed, self.versions = database, feed, versions
        self._names: dict[str, tuple[str, ...]] = {}
        self._unscored: tuple[int, list[int]] | None = None  # up to which receipt, and the steps that are left

    # Screening

    def screen(self, version: Version) -> bool:
        """Screen the last steps again if late readings came for them; return whether there were any.

        Steps older than the lookback keep their flags: their readings can no longer be in a window of a new forecast.
        """
        with self.database.read() as connection:
            late = _pending(connection, _SCREENED)
            last = last_step(connection)
            if late is None or last is None:
                return False
            rows = self._screened_again(connection, max(late.first, self._oldest(last)), last, version)
        with self.database.write() as connection:
            if last_step(connection) != last:
                return True  # another step was stored meanwhile: begin again
            for row in rows:
                change = steps.update().where(steps.c.time == row["time"])
                connection.execute(change.values(flags=row["flags"], state=row["state"], screened=late.until))
            _set_progress(connection, _SCREENED, late.until)
        return True

    def _oldest(self, last: int) -> int:
        return self.feed.grid.after(last, 1 - self.feed.lookback)

    def _screened_again(
        self, connection: sa.Connection, first: int, last: int, version: Version
    ) -> list[dict[str, Any]]:
        """Return the flags and states of the steps from `first` on, screened with what is known now."""
        before = sa.select(steps.c.state).where(steps.c.time < first).order_by(steps.c.time.desc()).limit(1)
        content = connection.execute(before).scalar()
        if content is None:
            return []
        try:
            screened = version.screener.resume(unpacked(content))
        except InputError:  # of another version
            return []
        query = sa.select(steps.c.time, steps.c.closed_at).where(steps.c.time >= first, steps.c.time <= last)
        rows: list[dict[str, Any]] = []
        for at, closed_at in connection.execute(query.order_by(steps.c.time)).all():
            set_overrides(connection, self.feed, screened, at, closed_at)
            times = np.array([at], dtype=np.int64)
            raw = self.feed.window(connection, times)
            raw[in_maintenance(connection, self.feed, times)] = np.nan
            for name in begun_at(connection, self.feed, at):
                screened.forget(name)
            step = screened.push(raw[0], times[0].view("datetime64[ns]"))
            flags = step.flags.astype(np.int8).tobytes()
            if rows:
                rows[-1]["flags"] = with_spikes(rows[-1]["flags"], step)
            rows.append({"time": at, "flags": flags, "state": packed(screened.state())})
        return rows

    # Truth

    def rescore(self, version: Version) -> bool:
        """Score a few steps with late readings again; return whether there was something to do."""
        with self.database.read() as connection:
            if self._unscored is None:
                late = _pending(connection, _SCORED)
                if late is None:
                    return False
                self._unscored = late.until, sorted(self._late_steps(connection, late))
            until, left = self._unscored
            rows = [self._scored_again(connection, at, version) for at in left[:_AT_ONCE]]
        with self.database.write() as connection:
            for row in rows:
                if row is not None:
                    connection.execute(scores.update().where(scores.c.time == row["time"]).values(**row))
            if len(left) <= _AT_ONCE:
                _set_progress(connection, _SCORED, until)
        self._unscored = (until, left[_AT_ONCE:]) if len(left) > _AT_ONCE else None
        return True

    def _scored_again(self, connection: sa.Connection, at: int, version: Version) -> dict[str, Any] | None:
        """Return the score of a step by what is known of it now, with the factors that it had; None without one."""
        row = connection.execute(sa.select(scores).where(scores.c.time == at)).one_or_none()
        if row is None:
            return None
        times = np.array([at], dtype=np.int64)
        raw = self.feed.window(connection, times)
        raw[in_maintenance(connection, self.feed, times)] = np.nan
        believed = self._believed(connection, times, raw, version.wrapper.limits_)
        past = stored.forecasts_of(connection, self.feed.grid, at, version, self._names)
        values = counted(np.where(believed, raw, np.nan)[0], version.wrapper.metadata_.protocol)
        scored = truth.score(at, values, past, version.wrapper.horizon)
        return truth.to_row(at, scored, truth.factors_of(row.shares), json.loads(row.shares)["level"])

    @staticmethod
    def _late_steps(connection: sa.Connection, late: _Late) -> dict[int, int]:
        """Return the steps to which late readings belong, each with the last receipt of those."""
        came = (
            sa.select(readings.c.time, sa.func.max(readings.c.receipt))
            .join(steps, steps.c.time == readings.c.time)
            .where(readings.c.time >= late.first, readings.c.receipt > late.done)
            .where(readings.c.receipt > steps.c.cutoff)
            .group_by(readings.c.time)
        )
        return {int(at): int(receipt) for at, receipt in connection.execute(came)}

    # Revisions

    def revise(self) -> bool:
        """Compare a few stored forecasts with what they would be now; return whether there was something to do."""
        with self.database.read() as connection:
            late = _pending(connection, _REVISED)
            if late is None:
                return False
            affected = self._affected(connection, late)
            query = sa.select(forecasts).where(forecasts.c.time.in_(affected[:_AT_ONCE]))
            chosen = stored.read(connection, query, self._names)
            found = [self._revision(connection, each, late) for each in chosen]
        with self.database.write() as connection:
            if found:
                connection.execute(revisions.insert(), found)
            if len(affected) <= _AT_ONCE:
                _set_progress(connection, _REVISED, late.until)
        return True

    def _affected(self, connection: sa.Connection, late: _Late) -> list[int]:
        """Return the steps of stored forecasts with late readings in their window that were not compared yet."""
        times = np.array(list(self._late_steps(connection, late).items()), dtype=np.int64).reshape(-1, 2)
        compared = sa.select(revisions.c.time).where(revisions.c.receipt >= late.until)
        made = sa.select(forecasts.c.time, forecasts.c.cutoff).where(
            forecasts.c.time >= late.first, forecasts.c.time.not_in(compared)
        )
        span = (self.feed.lookback - 1) * self.feed.grid.length + self.feed.grid.length // 2
        affected = []
        for at, cutoff in connection.execute(made.order_by(forecasts.c.time.desc())):
            inside = (times[:, 0] <= at) & (times[:, 0] >= at - span) & (times[:, 1] > cutoff)
            if inside.any():
                affected.append(int(at))
        return affected[:_MOST]

    def _revision(self, connection: sa.Connection, forecast: stored.StoredForecast, late: _Late) -> dict[str, Any]:
        """Return by how much a forecast would change, as a row; one without facts if its version was pruned."""
        wrapper = self.versions.wrapper(forecast.row.version)
        row = {"time": forecast.time, "noticed_at": time.time_ns(), "receipt": late.until}
        if wrapper is None or forecast.variables != self.feed.variables:
            return {**row, "facts": json.dumps(None)}
        times = self.feed.grid.window(forecast.time, len(forecast.used))
        raw = self.feed.window(connection, times)
        raw[in_maintenance(connection, self.feed, times)] = np.nan
        came_late = self._came_late(connection, times, int(forecast.row.cutoff))
        used = forecast.used | (came_late & self._believed(connection, times, raw, wrapper.limits_))
        used &= ~np.isnan(raw)
        made = make(wrapper, self.feed.grid, times, np.where(used, raw, np.nan), forecast.made.levels or None)
        made = made.scaled(float(forecast.row.factor), wrapper)
        changed = [self.feed.variables[column] for column in np.flatnonzero(came_late.any(axis=0))]
        if not changed:
            return {**row, "facts": json.dumps(None)}
        return {**row, "facts": json.dumps(difference(forecast.made, made, self.feed.variables) | {"sensors": changed})}

    def _came_late(self, connection: sa.Connection, times: NDArray[np.int64], cutoff: int) -> NDArray[np.bool_]:
        query = sa.select(readings.c.time, readings.c.sensor).where(
            readings.c.time >= int(times[0]), readings.c.time <= int(times[-1]), readings.c.receipt > cutoff
        )
        came = np.zeros((len(times), len(self.feed.ids)), dtype=bool)
        rows = {int(at): row for row, at in enumerate(times)}
        for at, sensor in connection.execute(query):
            if at in rows and sensor in self.feed.columns:
                came[rows[at], self.feed.columns[sensor]] = True
        return came

    def _believed(
        self, connection: sa.Connection, times: NDArray[np.int64], raw: NDArray[Any], limits: Any
    ) -> NDArray[np.bool_]:
        """Return which readings the screening did not find bad, and no limit excludes, [t, n]."""
        believed = ~np.isnan(raw)
        if limits is not None:
            believed &= ~((raw < limits.low) | (raw > limits.high))
        rows = {int(at): row for row, at in enumerate(times)}
        query = sa.select(steps.c.time, steps.c.flags).where(
            steps.c.time >= int(times[0]), steps.c.time <= int(times[-1])
        )
        for at, content in connection.execute(query):
            flags = np.frombuffer(content, dtype=np.int8)
            if at in rows and len(flags) == believed.shape[1]:
                believed[rows[at]] &= flags != BAD
        return believed


def difference(before: Made, after: Made, variables: tuple[str, ...]) -> dict[str, Any]:
    """Return how two forecasts of the same steps differ."""
    change = np.abs(after.mean.astype(np.float64) - before.mean)
    place = int(change.max(axis=0).argmax())
    relative = None
    if before.levels:
        lower, upper = before.bounds[int(np.argmax(before.levels))]
        half = (upper.astype(np.float64) - lower) / 2
        relative = float((change / np.maximum(half, np.finfo(np.float32).tiny)).mean())
        relative = relative if np.isfinite(relative) and relative < 1e12 else None
    return {
        "largest_change": float(change.max()),
        "largest_sensor": variables[place],
        "mean_change": float(change.mean()),
        "relative_change": relative,
    }
