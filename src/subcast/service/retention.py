"""Remove readings, forecasts and what belongs to them when they are older than they should be kept."""

from __future__ import annotations

import sqlalchemy as sa

from subcast.service.database import Database
from subcast.service.grid import SECOND
from subcast.service.schema import events, forecasts, readings, receipts, revisions, scores, steps, superseded

_DAY = 86_400 * SECOND
_KEEP_KEYS = 7 * _DAY  # idempotency keys
_KEEP_EVENTS = 365 * _DAY
_SLICE = 200  # steps removed in one transaction, so that nobody waits long


def prune(database: Database, last: int, now: int, *, readings_days: float | None, forecasts_days: float | None) -> int:
    """Remove what is too old, counted back from the last step; return how many rows were removed.

    A window's worth of readings before the last step is always kept.
    """
    removed = 0
    if readings_days is not None:
        removed += _prune(database, last - round(readings_days * _DAY), (readings, superseded, steps))
        removed += _prune_receipts(database, now - round(readings_days * _DAY))
    if forecasts_days is not None:
        removed += _prune(database, last - round(forecasts_days * _DAY), (forecasts, revisions, scores))
    with database.write() as connection:
        forgotten = receipts.update().where(receipts.c.received_at < now - _KEEP_KEYS, receipts.c.key.is_not(None))
        connection.execute(forgotten.values(key=None, content=None, answer=None))
        removed += connection.execute(events.delete().where(events.c.at < now - _KEEP_EVENTS)).rowcount
    return removed


def _prune(database: Database, before: int, tables: tuple[sa.Table, ...]) -> int:
    removed = 0
    for table in tables:
        while True:
            with database.write() as connection:
                old = sa.select(table.c.time).where(table.c.time < before).distinct().order_by(table.c.time)
                times = connection.execute(old.limit(_SLICE)).scalars().all()
                if times:
                    condition = sa.and_(table.c.time >= times[0], table.c.time <= times[-1])
                    removed += connection.execute(table.delete().where(condition)).rowcount
            if len(times) < _SLICE:
                break
    return removed


def _prune_receipts(database: Database, before: int) -> int:
    """Remove receipts that no reading refers to any more, except the last one, from which numbers go on."""
    with database.write() as connection:
        oldest = connection.execute(sa.select(sa.func.min(readings.c.receipt))).scalar()
        last = connection.execute(sa.select(sa.func.max(receipts.c.id))).scalar()
        if oldest is None or last is None:
            return 0
        old = sa.and_(receipts.c.id < min(int(oldest), int(last)), receipts.c.received_at < before)
        return connection.execute(receipts.delete().where(old)).rowcount
