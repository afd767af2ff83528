"""The tables of the feed, in SQLite and PostgreSQL alike; `migrations` brings a database to this schema.

Times of steps are nanoseconds since 1970 on the clock of the grid (see `grid`); moments of the service are
nanoseconds in UTC. Arrays are little-endian bytes, and everything else that has parts is JSON text.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
)

metadata = MetaData()
_Number = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows itself only if they are INTEGER

facts = Table(
    "facts",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("value", Text, nullable=False),
)
"""What the database belongs to: the rate, the zone."""

sensors = Table(
    "sensors",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("name", String(200), nullable=False, unique=True),
)
"""Sensors that ever had a reading or a place in a wrapper; numbers are never used twice."""

receipts = Table(
    "receipts",
    metadata,
    Column("id", _Number, primary_key=True),
    Column("received_at", BigInteger, nullable=False),
    Column("key", String(200), unique=True),
    Column("content", String(64)),
    Column("answer", Text),
    Column("stored", Integer, nullable=False),
    Column("too_late", Integer, nullable=False),
    Column("late", Integer, nullable=False),
    Column("late_from", BigInteger),
    sqlite_autoincrement=True,
)
"""One row for each request that brought readings; its number orders everything that is known. `late` counts readings
of steps that were closed before, the earliest of them at `late_from`."""

readings = Table(
    "readings",
    metadata,
    Column("time", BigInteger, primary_key=True, autoincrement=False),
    Column("sensor", Integer, ForeignKey("sensors.id"), primary_key=True, autoincrement=False),
    Column("value", Double, nullable=False),
    Column("receipt", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

superseded = Table(
    "superseded",
    metadata,
    Column("id", _Number, primary_key=True),
    Column("time", BigInteger, nullable=False),
    Column("sensor", Integer, nullable=False),
    Column("value", Double, nullable=False),
    Column("receipt", BigInteger, nullable=False),
    Column("replaced_by", BigInteger, nullable=False),
    Index("superseded_time", "time", "sensor"),
)
"""Values that a later request replaced: known from receipt `receipt` until `replaced_by`."""

steps = Table(
    "steps",
    metadata,
    Column("time", BigInteger, primary_key=True, autoincrement=False),
    Column("closed_at", BigInteger, nullable=False),
    Column("cutoff", BigInteger, nullable=False),
    Column("screened", BigInteger, nullable=False),
    Column("reason", String(20), nullable=False),
    Column("flags", LargeBinary, nullable=False),
    Column("state", LargeBinary),
)
"""Steps that were processed: readings up to receipt `cutoff` were known when the step was closed, those up to
`screened` when it was screened last. The state of the screening after the step is kept for the last steps only."""

forecasts = Table(
    "forecasts",
    metadata,
    Column("time", BigInteger, primary_key=True, autoincrement=False),
    Column("made_at", BigInteger, nullable=False),
    Column("seconds", Double, nullable=False),
    Column("cutoff", BigInteger, nullable=False),
    Column("reason", String(20), nullable=False),
    Column("quality", String(10), nullable=False),
    Column("expected_gap", Double),
    Column("observed_share", Double, nullable=False),
    Column("factor", Double, nullable=False),
    Column("version", String(64), nullable=False),
    Column("model", String(64), nullable=False),
    Column("bank", String(64), nullable=False),
    Column("settings", String(64), nullable=False),
    Column("facts", Text, nullable=False),
    Column("used", LargeBinary, nullable=False),
    Column("flags", LargeBinary, nullable=False),
    Column("mean", LargeBinary, nullable=False),
    Column("bounds", LargeBinary, nullable=False),
    Column("expected_error", LargeBinary, nullable=False),
    Index("forecasts_made_at", "made_at"),
)
"""One forecast a step: `used` is which readings of the window were used, `facts` is what has no column of its own."""

revisions = Table(
    "revisions",
    metadata,
    Column("id", _Number, primary_key=True),
    Column("time", BigInteger, nullable=False),
    Column("noticed_at", BigInteger, nullable=False),
    Column("receipt", BigInteger, nullable=False),
    Column("facts", Text, nullable=False),
    Index("revisions_time", "time"),
)
"""How late readings would change stored forecasts."""

health = Table(
    "health",
    metadata,
    Column("sensor", Integer, primary_key=True, autoincrement=False),
    Column("health", String(20), nullable=False),
    Column("since", BigInteger),
    Column("flag", SmallInteger, nullable=False),
    Column("reasons", Text, nullable=False),
    Column("last_time", BigInteger),
    Column("last_value", Double),
    Column("waited_for", SmallInteger, nullable=False),
    Column("alerted", SmallInteger, nullable=False),
)
"""The state of each sensor after the last step."""

overrides = Table(
    "overrides",
    metadata,
    Column("sensor", Integer, primary_key=True, autoincrement=False),
    Column("flag", SmallInteger, nullable=False),
    Column("until", BigInteger),
    Column("reason", Text, nullable=False),
    Column("set_at", BigInteger, nullable=False),
)

maintenance = Table(
    "maintenance",
    metadata,
    Column("id", _Number, primary_key=True),
    Column("sensor", Integer, nullable=False),
    Column("start", BigInteger, nullable=False),
    Column("end", BigInteger, nullable=False),
    Column("reason", Text, nullable=False),
)

replacements = Table(
    "replacements",
    metadata,
    Column("id", _Number, primary_key=True),
    Column("sensor", Integer, nullable=False),
    Column("name", String(200), nullable=False),
    Column("time", BigInteger, nullable=False),
    Column("reason", Text, nullable=False),
    Column("set_at", BigInteger, nullable=False),
    Column("applied", BigInteger),
)
"""Devices that took the place of a sensor from a step on; `applied` is the step at which the screening began anew."""

scores = Table(
    "scores",
    metadata,
    Column("time", BigInteger, primary_key=True, autoincrement=False),
    Column("readings", Integer, nullable=False),
    Column("shares", Text, nullable=False),
    Column("sensors", LargeBinary, nullable=False),
    Column("ahead", LargeBinary, nullable=False),
)
"""How the readings of a step compare with the forecasts of it: by share present, by sensor and by steps ahead."""

events = Table(
    "events",
    metadata,
    Column("id", _Number, primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("time", BigInteger),
    Column("kind", String(20), nullable=False),
    Column("sensor", Integer),
    Column("text", Text, nullable=False),
    Column("sent_at", BigInteger),
    Column("attempts", Integer, nullable=False),
    Index("events_sent_at", "sent_at"),
    sqlite_autoincrement=True,
)
"""What operators should know; those not yet sent to the webhook have no `sent_at`."""
