"""Devices that took the place of a sensor."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "replacements",
        sa.Column("id", _NUMBER, primary_key=True),
        sa.Column("sensor", sa.Integer, nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("time", sa.BigInteger, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("set_at", sa.BigInteger, nullable=False),
        sa.Column("applied", sa.BigInteger),
    )


def downgrade() -> None:
    """Drop the table."""
    op.drop_table("replacements")
