"""Migrations bring an empty database to the schema."""

import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from subcast.service.database import Database
from subcast.service.schema import metadata


def test_the_migrated_database_is_the_schema(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/feed.sqlite3")
    database.open()
    with database.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        assert sa.inspect(connection).has_table("readings")
    database.close()
