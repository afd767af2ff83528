"""The second revision can be taken back."""

import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations

from subcast.service.migrations.versions import v0001, v0002


def test_upgrade_and_downgrade():
    with sa.create_engine("sqlite://").connect() as connection:
        with Operations.context(MigrationContext.configure(connection)):
            v0001.upgrade()
            before = sa.inspect(connection).get_table_names()
            v0002.upgrade()
            assert sa.inspect(connection).has_table("replacements")
            v0002.downgrade()
        assert sa.inspect(connection).get_table_names() == before
