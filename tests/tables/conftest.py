"""Fixtures that write a file and read it as a table."""

import pytest

from subcast.errors import DataWarning
from subcast.tables.files import read_table


@pytest.fixture
def read(tmp_path):
    """Write a file and read it."""

    def write_and_read(content, name="table.csv", **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_table(path, **options)

    return write_and_read


@pytest.fixture
def read_with_one_warning(read):
    def warned(content, name="table.csv", **options):
        with pytest.warns(DataWarning) as reported:
            table = read(content, name, **options)
        assert [str(warning.message) for warning in reported] == [f"{name}: {'; '.join(table.repairs)}"]
        return table

    return warned
