"""The database: transactions, and what happens when it is gone."""

import sqlite3
from contextlib import closing

import pytest
import sqlalchemy as sa

from subcast.errors import InputError
from subcast.service.database import Database
from subcast.service.problems import ProblemError
from subcast.service.schema import facts


@pytest.fixture
def database(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/feed.sqlite3")
    database.open()
    yield database
    database.close()


def test_commits_are_synced_in_wal_mode(database):
    with database.write() as connection:
        settings = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous")]
    assert settings == ["wal", 2]


def test_an_error_rolls_back(database):
    def fail():
        with database.write() as connection:
            connection.execute(facts.insert().values(name="x", value="1"))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    with database.read() as connection:
        assert connection.execute(sa.select(facts)).all() == []


def test_a_moved_file_is_unavailable_and_comes_back(database):
    away = database.path.with_suffix(".away")
    for suffix in ("", "-wal", "-shm"):
        if (path := database.path.with_name(database.path.name + suffix)).exists():
            path.rename(away.with_name(away.name + suffix))
    with pytest.raises(ProblemError, match="moved or removed"), database.write():
        pass
    for suffix in ("", "-wal", "-shm"):
        if (path := away.with_name(away.name + suffix)).exists():
            path.rename(database.path.with_name(database.path.name + suffix))
    with database.write() as connection:
        connection.execute(facts.insert().values(name="x", value="1"))


def test_another_writer_that_does_not_end_is_unavailable(database, monkeypatch):
    monkeypatch.setattr("subcast.service.database._BUSY_SECONDS", 0.1)
    own = Database(str(database.url))
    with closing(sqlite3.connect(database.path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ProblemError, match="another program holds the database"), own.write():
            pass
        other.rollback()
    own.close()


def test_a_second_service_on_one_file_is_refused(database):
    second = Database(str(database.url))
    with pytest.raises(InputError, match="another service uses"):
        second.open()


@pytest.mark.parametrize("url", ["mysql://x/y", "sqlite://", "nonsense"])
def test_other_databases_are_refused(url):
    with pytest.raises(InputError, match="--database"):
        Database(url)


def test_a_newer_schema_is_refused(database):
    with database.write() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    database.close()
    with pytest.raises(InputError, match="newer subcast"):
        database.open()
