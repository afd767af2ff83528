"""What the routes share."""

import pytest
import sqlalchemy as sa

from subcast.service.models import Readings
from subcast.service.problems import ProblemError
from subcast.service.requests import body_schema, cursor_number, page

TABLE = sa.Table("t", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True))


def test_pages_follow_one_another_without_gaps():
    engine = sa.create_engine("sqlite://")
    with engine.connect() as connection:
        TABLE.create(connection)
        connection.execute(TABLE.insert(), [{"id": number} for number in range(25)])
        cursor, found = None, []
        for _ in range(3):
            rows, cursor = page(connection, sa.select(TABLE), TABLE.c.id, 10, cursor)
            found += [row.id for row in rows]
    assert cursor is None
    assert found == list(range(24, -1, -1))


@pytest.mark.parametrize("cursor", ["", "x", "1.5", "9" * 19, "9" * 40, "1;drop", "\u0661"])
def test_wrong_cursors_are_refused(cursor):
    with pytest.raises(ProblemError, match="cursor"):
        cursor_number(cursor)


def test_schemas_have_no_references():
    assert "$ref" not in str(body_schema(Readings))
