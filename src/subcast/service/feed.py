"""The feed: store readings, keep what they supersede, and read windows of what was known at any receipt."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from subcast.service.database import Database
from subcast.service.grid import Grid
from subcast.service.intake import Batch
from subcast.service.problems import ProblemError
from subcast.service.schema import facts, forecasts, readings, receipts, sensors, steps, superseded

_CHUNK = 400  # times in one query


@dataclass(frozen=True)
class IdempotencyKey:
    """A key of the sender's choice, and the fingerprint of what it was sent with."""

    key: str
    content: str


class Feed:
    """The readings of the sensors of a wrapper.

    Parameters
    ----------
    database
        where they are
    grid
        the steps
    variables
        names of the sensors in the order of the wrapper
    lookback
        number of steps of a window
    late_steps
        how many steps late a reading may come
    """

    def __init__(
        self, database: Database, grid: Grid, variables: Sequence[str], lookback: int, late_steps: int
    ) -> None:
        self.database, self.grid, self.variables = database, grid, tuple(variables)
        self.lookback, self.late_steps = lookback, late_steps
        with database.write() as connection:
            self._check_belongs(connection)
            self.ids = register(connection, self.variables)
        self.columns = {int(number): column for column, number in enumerate(self.ids)}

    def _check_belongs(self, connection: sa.Connection) -> None:
        """Refuse a database that was filled at another rate or in another zone."""
        mine = {"freq": str(self.grid.steps.freq), "zone": str(self.grid.zone)}
        known = {row.name: row.value for row in connection.execute(sa.select(facts))}
        for name, value in mine.items():
            if name not in known:
                connection.execute(facts.insert().values(name=name, value=value))
            elif known[name] != value:
                raise ProblemError(
                    "conflict",
                    f"the database was filled with {name} {known[name]}, and this wrapper has {value}: give another "
                    "database",
                )

    # Storing

    def store(
        self, connection: sa.Connection, batch: Batch, now: int, key: IdempotencyKey | None = None
    ) -> dict[str, Any]:
        """Store the readings of a request, and return the answer; a request that was answered gets the same answer."""
        if key is not None:
            known = self._known_answer(connection, key)
            if known is not None:
                return known
        last = last_step(connection)
        floor = None if last is None else self.grid.after(last, -self.late_steps)
        kept = batch if floor is None else batch.take(batch.times >= floor)
        receipt = self._receipt(connection, now, key)
        new, changed = self._compare(connection, kept)
        self._supersede(connection, kept, changed, receipt)
        self._insert(connection, kept, new, receipt)
        stored = new | (changed[0] >= 0)
        late = stored & (kept.times <= last) if last is not None else np.zeros(len(kept), dtype=bool)
        answer = {
            "receipt": receipt,
            "received": batch.received,
            "stored": int(stored.sum()),
            "unchanged": int(len(kept) - stored.sum()),
            "superseded": int((changed[0] >= 0).sum()),
            "late": int(late.sum()),
            "too_late": len(batch) - len(kept),
            "moved": batch.moved,
            "first": self.grid.text(int(batch.times.min())),
            "last": self.grid.text(int(batch.times.max())),
            "affects": self._affected(connection, kept.times[late]),
            "warnings": [*batch.warnings, *self._too_late_warning(len(batch) - len(kept), floor)],
            "replayed": False,
        }
        first_late = int(kept.times[late].min()) if late.any() else None
        self._keep_answer(connection, answer, first_late, key)
        return answer

    def _known_answer(self, connection: sa.Connection, key: IdempotencyKey) -> dict[str, Any] | None:
        row = connection.execute(
            sa.select(receipts.c.content, receipts.c.answer).where(receipts.c.key == key.key)
        ).one_or_none()
        if row is None:
            return None
        if row.content != key.content:
            raise ProblemError(
                "idempotency", "this Idempotency-Key was used for other content: use a new key for new content"
            )
        return {**json.loads(row.answer), "replayed": True}

    @staticmethod
    def _receipt(connection: sa.Connection, now: int, key: IdempotencyKey | None) -> int:
        values: dict[str, Any] = {"received_at": now, "stored": 0, "too_late": 0, "late": 0}
        if key is not None:
            values |= {"key": key.key, "content": key.content}
        result = connection.execute(receipts.insert().values(**values))
        return int(result.inserted_primary_key[0])  # type: ignore[index]

    @staticmethod
    def _keep_answer(
        connection: sa.Connection, answer: dict[str, Any], first_late: int | None, key: IdempotencyKey | None
    ) -> None:
        values: dict[str, Any] = {name: answer[name] for name in ("stored", "too_late", "late")}
        values["late_from"] = first_late
        if key is not None:
            values["answer"] = json.dumps(answer)
        connection.execute(receipts.update().where(receipts.c.id == answer["receipt"]).values(**values))

    def _compare(
        self, connection: sa.Connection, batch: Batch
    ) -> tuple[NDArray[np.bool_], tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Return which readings are new, and of those that change a value the receipt (else -1) and the old value."""
        new = np.ones(len(batch), dtype=bool)
        receipt, old = np.full(len(batch), -1, dtype=np.int64), np.zeros(len(batch))
        known = self._stored(connection, batch)
        if known:
            ids = self.ids[batch.sensors].tolist()
            for row, pair in enumerate(zip(batch.times.tolist(), ids, strict=True)):
                if pair in known:
                    new[row] = False
                    if known[pair][0] != batch.values[row]:
                        old[row], receipt[row] = known[pair]
        return new, (receipt, old)

    def _stored(self, connection: sa.Connection, batch: Batch) -> dict[tuple[int, int], tuple[float, int]]:
        times = np.unique(batch.times).tolist()
        found: dict[tuple[int, int], tuple[float, int]] = {}
        columns = (readings.c.time, readings.c.sensor, readings.c.value, readings.c.receipt)
        for begin in range(0, len(times), _CHUNK):
            query = sa.select(*columns).where(readings.c.time.in_(times[begin : begin + _CHUNK]))
            if len(batch) <= 20:
                query = query.where(readings.c.sensor.in_(np.unique(self.ids[batch.sensors]).tolist()))
            found |= {(row[0], row[1]): (row[2], row[3]) for row in connection.execute(query)}
        return found

    def _supersede(
        self,
        connection: sa.Connection,
        batch: Batch,
        changed: tuple[NDArray[np.int64], NDArray[np.float64]],
        receipt: int,
    ) -> None:
        before, old = changed
        rows = np.flatnonzero(before >= 0).tolist()
        if not rows:
            return
        ids = self.ids[batch.sensors]
        kept = [
            {"time": int(batch.times[row]), "sensor": int(ids[row]), "value": float(old[row]),
             "receipt": int(before[row]), "replaced_by": receipt}
            for row in rows
        ]  # fmt: skip
        connection.execute(superseded.insert(), kept)
        change = (
            readings.update()
            .where(readings.c.time == sa.bindparam("at"), readings.c.sensor == sa.bindparam("of"))
            .values(value=sa.bindparam("new"), receipt=receipt)
        )
        connection.execute(
            change,
            [{"at": int(batch.times[row]), "of": int(ids[row]), "new": float(batch.values[row])} for row in rows],
        )

    def _insert(self, connection: sa.Connection, batch: Batch, new: NDArray[np.bool_], receipt: int) -> None:
        if not new.any():
            return
        columns = batch.times[new].tolist(), self.ids[batch.sensors[new]].tolist(), batch.values[new].tolist()
        rows = [
            {"time": time, "sensor": sensor, "value": value, "receipt": receipt}
            for time, sensor, value in zip(*columns, strict=True)
        ]
        connection.execute(readings.insert(), rows)

    def _affected(self, connection: sa.Connection, late: NDArray[np.int64]) -> list[str]:
        """Return the steps whose stored forecast has a late reading in its window."""
        if not len(late):
            return []
        query = sa.select(forecasts.c.time).where(forecasts.c.time >= int(late.min())).order_by(forecasts.c.time)
        made = np.array(connection.execute(query).scalars().all(), dtype=np.int64)
        span = (self.lookback - 1) * self.grid.length + self.grid.length // 2
        unique = np.unique(late)
        first = np.searchsorted(unique, made - span)  # the first late reading that is still in the window
        inside = (first < len(unique)) & (unique[np.minimum(first, len(unique) - 1)] <= made)
        return self.grid.texts(made[inside])

    def _too_late_warning(self, count: int, floor: int | None) -> list[str]:
        if not count or floor is None:
            return []
        return [f"{count:,} readings are older than {self.grid.text(floor)}, the horizon for late readings: not stored"]

    # Reading

    def window(self, connection: sa.Connection, times: NDArray[np.int64], receipt: int | None = None) -> NDArray[Any]:
        """Return the readings at steps, [t, n], NaN where there is none: as known at a receipt, or as they are now."""
        values = np.full((len(times), len(self.ids)), np.nan)
        inside = sa.and_(readings.c.time >= int(times[0]), readings.c.time <= int(times[-1]))
        query = sa.select(readings.c.time, readings.c.sensor, readings.c.value).where(inside)
        if receipt is not None:
            query = query.where(readings.c.receipt <= receipt)
        self._fill(values, times, connection.execute(query).all())
        if receipt is not None:
            old = sa.select(superseded.c.time, superseded.c.sensor, superseded.c.value).where(
                superseded.c.time >= int(times[0]),
                superseded.c.time <= int(times[-1]),
                superseded.c.receipt <= receipt,
                superseded.c.replaced_by > receipt,
            )
            self._fill(values, times, connection.execute(old).all())
        return values

    def _fill(self, values: NDArray[Any], times: NDArray[np.int64], found: Sequence[Any]) -> None:
        """Put rows of time, sensor and value into their places; those of other steps or sensors are left out."""
        if not found:
            return
        at, numbers, readings_found = zip(*found, strict=True)
        stamps = np.array(at, dtype=np.int64)
        rows = np.minimum(np.searchsorted(times, stamps), len(times) - 1)
        columns = np.array([self.columns.get(number, -1) for number in numbers], dtype=np.int64)
        known = (times[rows] == stamps) & (columns >= 0)
        values[rows[known], columns[known]] = np.array(readings_found, dtype=np.float64)[known]

    def reported(self, connection: sa.Connection, time: int) -> NDArray[np.bool_]:
        """Return which sensors have a reading at a step, [n]."""
        found = connection.execute(sa.select(readings.c.sensor).where(readings.c.time == time)).scalars()
        here = np.zeros(len(self.ids), dtype=bool)
        here[[self.columns[number] for number in found if number in self.columns]] = True
        return here


def register(connection: sa.Connection, variables: Sequence[str]) -> NDArray[np.int64]:
    """Return the numbers of sensors, [n]; those that are new get one."""
    known = {row.name: row.id for row in connection.execute(sa.select(sensors))}
    following = max(known.values(), default=0) + 1
    new = [name for name in variables if name not in known]
    if new:
        rows = [{"id": following + place, "name": name} for place, name in enumerate(new)]
        connection.execute(sensors.insert(), rows)
        known |= {row["name"]: row["id"] for row in rows}
    return np.array([known[name] for name in variables], dtype=np.int64)


def last_step(connection: sa.Connection) -> int | None:
    """Return the last step that was processed; None if there is none."""
    return connection.execute(sa.select(sa.func.max(steps.c.time))).scalar()


def last_receipt(connection: sa.Connection) -> int:
    """Return the number of the last receipt; 0 if there is none."""
    return int(connection.execute(sa.select(sa.func.max(receipts.c.id))).scalar() or 0)


def newest_reading(connection: sa.Connection) -> int | None:
    """Return the time of the newest reading; None if there is none."""
    return connection.execute(sa.select(sa.func.max(readings.c.time))).scalar()
