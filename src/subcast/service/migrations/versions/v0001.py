"""The first schema of the feed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_TABLES = (
    "facts",
    "sensors",
    "receipts",
    "readings",
    "superseded",
    "steps",
    "forecasts",
    "revisions",
    "health",
    "overrides",
    "maintenance",
    "scores",
    "events",
)


def upgrade() -> None:
    """Create all tables."""
    _create_1()
    _create_2()
    _create_3()
    _create_4()


def downgrade() -> None:
    """Drop all tables."""
    for name in reversed(_TABLES):
        op.drop_table(name)


def _create_1() -> None:
    op.create_table(
        "facts",
        sa.Column("name", sa.String(40), primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )
    op.create_table(
        "sensors",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("name", sa.String(200), nullable=False, unique=True),
    )
    op.create_table(
        "receipts",
        sa.Column("id", _NUMBER, primary_key=True),
        sa.Column("received_at", sa.BigInteger, nullable=False),
        sa.Column("key", sa.String(200), unique=True),
        sa.Column("content", sa.String(64)),
        sa.Column("answer", sa.Text),
        sa.Column("stored", sa.Integer, nullable=False),
        sa.Column("too_late", sa.Integer, nullable=False),
        sa.Column("late", sa.Integer, nullable=False),
        sa.Column("late_from", sa.BigInteger),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "readings",
        sa.Column("time", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("sensor", sa.Integer, sa.ForeignKey("sensors.id"), primary_key=True, autoincrement=False),
        sa.Column("value", sa.Double, nullable=False),
        sa.Column("receipt", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "superseded",
        sa.Column("id", _NUMBER, primary_key=True),
        sa.Column("time", sa.BigInteger, nullable=False),
        sa.Column("sensor", sa.Integer, nullable=False),
        sa.Column("value", sa.Double, nullable=False),
        sa.Column("receipt", sa.BigInteger, nullable=False),
        sa.Column("replaced_by", sa.BigInteger, nullable=False),
    )


def _create_2() -> None:
    op.create_index("superseded_time", "superseded", ["time", "sensor"])
    op.create_table(
        "steps",
        sa.Column("time", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("closed_at", sa.BigInteger, nullable=False),
        sa.Column("cutoff", sa.BigInteger, nullable=False),
        sa.Column("screened", sa.BigInteger, nullable=False),
        sa.Column("reason", sa.String(20), nullable=False),
        sa.Column("flags", sa.LargeBinary, nullable=False),
        sa.Column("state", sa.LargeBinary),
    )
    op.create_table(
        "forecasts",
        sa.Column("time", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("made_at", sa.BigInteger, nullable=False),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("cutoff", sa.BigInteger, nullable=False),
        sa.Column("reason", sa.String(20), nullable=False),
        sa.Column("quality", sa.String(10), nullable=False),
        sa.Column("expected_gap", sa.Double),
        sa.Column("observed_share", sa.Double, nullable=False),
        sa.Column("factor", sa.Double, nullable=False),
        sa.Column("version", sa.String(64), nullable=False),
        sa.Column("model", sa.String(64), nullable=False),
        sa.Column("bank", sa.String(64), nullable=False),
        sa.Column("settings", sa.String(64), nullable=False),
        sa.Column("facts", sa.Text, nullable=False),
        sa.Column("used", sa.LargeBinary, nullable=False),
        sa.Column("flags", sa.LargeBinary, nullable=False),
        sa.Column("mean", sa.LargeBinary, nullable=False),
        sa.Column("bounds", sa.LargeBinary, nullable=False),
        sa.Column("expected_error", sa.LargeBinary, nullable=False),
    )
    op.create_index("forecasts_made_at", "forecasts", ["made_at"])


def _create_3() -> None:
    op.create_table(
        "revisions",
        sa.Column("id", _NUMBER, primary_key=True),
        sa.Column("time", sa.BigInteger, nullable=False),
        sa.Column("noticed_at", sa.BigInteger, nullable=False),
        sa.Column("receipt", sa.BigInteger, nullable=False),
        sa.Column("facts", sa.Text, nullable=False),
    )
    op.create_index("revisions_time", "revisions", ["time"])
    op.create_table(
        "health",
        sa.Column("sensor", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("health", sa.String(20), nullable=False),
        sa.Column("since", sa.BigInteger),
        sa.Column("flag", sa.SmallInteger, nullable=False),
        sa.Column("reasons", sa.Text, nullable=False),
        sa.Column("last_time", sa.BigInteger),
        sa.Column("last_value", sa.Double),
        sa.Column("waited_for", sa.SmallInteger, nullable=False),
        sa.Column("alerted", sa.SmallInteger, nullable=False),
    )
    op.create_table(
        "overrides",
        sa.Column("sensor", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("flag", sa.SmallInteger, nullable=False),
        sa.Column("until", sa.BigInteger),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("set_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "maintenance",
        sa.Column("id", _NUMBER, primary_key=True),
        sa.Column("sensor", sa.Integer, nullable=False),
        sa.Column("start", sa.BigInteger, nullable=False),
        sa.Column("end", sa.BigInteger, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
    )


def _create_4() -> None:
    op.create_table(
        "scores",
        sa.Column("time", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("readings", sa.Integer, nullable=False),
        sa.Column("shares", sa.Text, nullable=False),
        sa.Column("sensors", sa.LargeBinary, nullable=False),
        sa.Column("ahead", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "events",
        sa.Column("id", _NUMBER, primary_key=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("time", sa.BigInteger),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("sensor", sa.Integer),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("sent_at", sa.BigInteger),
        sa.Column("attempts", sa.Integer, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("events_sent_at", "events", ["sent_at"])
