"""Run migrations on the connection that `subcast.service.database.upgrade` gives."""

from __future__ import annotations

from alembic import context

from subcast.service.schema import metadata


def run() -> None:
    """Run the migrations that the command asked for, on its connection, as part of its transaction."""
    connection = context.config.attributes["connection"]
    context.configure(connection=connection, target_metadata=metadata, transactional_ddl=True)
    context.run_migrations()


# Alembic imports this file to run it; a plain import, as tests do, has no connection.
if getattr(context, "_proxy", None) is not None:
    run()
