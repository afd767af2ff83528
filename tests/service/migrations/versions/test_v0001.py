"""The first revision can be taken back."""

import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations

from subcast.service.migrations.versions import v0001


def test_upgrade_and_downgrade():
    with sa.create_engine("sqlite://").connect() as connection:
        with Operations.context(MigrationContext.configure(connection)):
            v0001.upgrade()
            assert sa.inspect(connection).has_table("forecasts")
            v0001.downgrade()
        assert sa.inspect(connection).get_table_names() == []
