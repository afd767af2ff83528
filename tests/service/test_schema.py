"""The tables."""

from subcast.service.schema import metadata


def test_every_table_has_a_primary_key():
    assert metadata.tables
    assert all(len(table.primary_key) for table in metadata.tables.values())
