"""The database of the feed: SQLite (WAL, immediate transactions, synced on every commit) or PostgreSQL.

Writers take turns: SQLite through BEGIN IMMEDIATE, PostgreSQL through a lock that lasts until the transaction ends. The
numbers of receipts therefore grow in the order in which receipts become visible, and "what was known at receipt 17"
is one state, whatever the number of workers.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import event, exc
from sqlalchemy.engine import URL, make_url
from sqlalchemy.pool import QueuePool

from subcast.errors import InputError
from subcast.service.problems import ProblemError

_LOGGER = logging.getLogger(__name__)
_BUSY_SECONDS = 5
_WRITER_LOCK, _MAKER_LOCK = 7_302_301, 7_302_302  # numbers of advisory locks in PostgreSQL
GONE = (exc.OperationalError, exc.InterfaceError, exc.TimeoutError, exc.InternalError, OSError)
"""What the driver raises when the database cannot be reached or written."""


class Database:
    """A pool of connections, with transactions for reading and for writing."""

    def __init__(self, url: str) -> None:
        self.url = _checked_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.path = Path(str(self.url.database)) if self.is_sqlite else None
        self._identity: tuple[int, int] | None = None
        self._turn = threading.Lock()
        self.reader = self._engine("BEGIN")
        self.writer = self._engine("BEGIN IMMEDIATE") if self.is_sqlite else self.reader
        self._lock_file: int | None = None
        self._maker: sa.Connection | None = None

    def _engine(self, begin: str) -> sa.Engine:
        if not self.is_sqlite:
            return sa.create_engine(
                self.url,
                pool_pre_ping=True,
                pool_size=8,
                max_overflow=8,
                pool_timeout=_BUSY_SECONDS,
                connect_args={
                    "connect_timeout": _BUSY_SECONDS,
                    "options": "-c lock_timeout=10000 -c statement_timeout=60000",
                },
            )
        arguments = {"timeout": _BUSY_SECONDS, "check_same_thread": False}
        engine = sa.create_engine(self.url, poolclass=QueuePool, pool_size=8, max_overflow=24, connect_args=arguments)
        event.listen(engine, "connect", _prepare_sqlite)

        @event.listens_for(engine, "begin")
        def _begin(connection: sa.Connection) -> None:
            connection.exec_driver_sql(begin)

        return engine

    # Transactions

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """Begin a transaction that sees one state of the database."""
        with self._available():
            self._check_file()
            with self.reader.connect() as connection:
                if not self.is_sqlite:
                    connection = connection.execution_options(isolation_level="REPEATABLE READ")
                with connection.begin():
                    yield connection

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """Begin a transaction that no other writer shares; what it stored is on disk when the block ends."""
        with self._available(), self._turn:
            self._check_file()
            with self.writer.connect() as connection, connection.begin():
                if not self.is_sqlite:
                    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_WRITER_LOCK)))
                yield connection
            self._check_file()

    @contextmanager
    def _available(self) -> Iterator[None]:
        """Turn every error of an unreachable or full database into a 503 with one sentence."""
        try:
            yield
        except GONE as error:
            raise ProblemError("unavailable", _sentence(error)) from error
        except exc.DBAPIError as error:
            if not error.connection_invalidated:
                raise
            raise ProblemError("unavailable", _sentence(error)) from error

    def _check_file(self) -> None:
        """Raise if the file of SQLite is no longer the one that is open: what is written then is lost."""
        if self.path is None or self._identity is None:
            return
        try:
            now = _identity(self.path)
        except OSError:
            now = None
        if now != self._identity:
            self.reader.dispose()
            self.writer.dispose()
            if now is not None and self._has_tables():
                self._identity = now
                return
            raise ProblemError("unavailable", "the file of the database was moved or removed: put it back")

    def _has_tables(self) -> bool:
        with suppress(*GONE), self.reader.connect() as connection:
            return sa.inspect(connection).has_table("readings")
        return False

    # Set-up

    def open(self) -> None:
        """Create the database if it is new, and bring its schema up to date."""
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock()
        with self._available():
            upgrade(self)
            if self.path is not None:
                self._identity = _identity(self.path)

    def _lock(self) -> None:
        """Refuse a second service on the same file of SQLite."""
        with suppress(ImportError):
            import fcntl

            handle = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(handle)
                raise InputError(
                    f"another service uses {self.path}, and SQLite is for one process: stop it, or use PostgreSQL"
                ) from None
            self._lock_file = handle

    def lead(self) -> bool:
        """Return whether this process is the one that makes forecasts; of several workers one is, until it dies."""
        if self.is_sqlite:
            return True
        try:
            if self._maker is not None:
                self._maker.execute(sa.select(1))
                return True
            connection = self.reader.connect().execution_options(isolation_level="AUTOCOMMIT")
            if connection.execute(sa.select(sa.func.pg_try_advisory_lock(_MAKER_LOCK))).scalar():
                self._maker = connection
                return True
            connection.close()
        except (*GONE, exc.DBAPIError):
            self._drop_maker()
        return False

    def _drop_maker(self) -> None:
        if self._maker is not None:
            with suppress(Exception):
                self._maker.invalidate()
                self._maker.close()
        self._maker = None

    def close(self) -> None:
        """Close all connections."""
        self._drop_maker()
        self.reader.dispose()
        self.writer.dispose()
        if self._lock_file is not None:
            os.close(self._lock_file)
            self._lock_file = None

    def ping(self) -> None:
        """Raise a ProblemError unless the database answers."""
        with self.read() as connection:
            connection.execute(sa.select(1))

    @property
    def words(self) -> str:
        """What the database is, without passwords."""
        return "SQLite" if self.is_sqlite else f"PostgreSQL, database {self.url.database}"


def _checked_url(url: str) -> URL:
    try:
        parsed = make_url(url)
    except exc.ArgumentError:
        raise InputError("--database must be a URL such as sqlite:///feed.sqlite3 or postgresql://host/name") from None
    backend = parsed.get_backend_name()
    if backend in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    if backend == "sqlite" and parsed.database and parsed.database != ":memory:":
        return parsed.set(drivername="sqlite+pysqlite")
    raise InputError(f"--database must be a file of SQLite or PostgreSQL, got a URL of {backend}")


def _prepare_sqlite(connection: Any, _: Any) -> None:
    """Set up a new connection: transactions begin when we say so, and a commit is on disk."""
    connection.isolation_level = None
    for setting in ("journal_mode=WAL", "synchronous=FULL", f"busy_timeout={_BUSY_SECONDS * 1000}", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {setting}")


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _sentence(error: BaseException) -> str:
    """Say why the database cannot be used, without its address."""
    text = str(getattr(error, "orig", None) or error).lower()
    if "full" in text or "no space" in text:
        return "the disk of the database is full: nothing was stored, make room and send it again"
    if "locked" in text or "lock timeout" in text or "lock_timeout" in text:
        return "another program holds the database: nothing was stored, send it again"
    if "readonly" in text or "read-only" in text:
        return "the database is read-only: nothing was stored"
    return "the database cannot be reached: nothing was stored, send it again"


def upgrade(database: Database) -> None:
    """Bring the schema to the newest revision, in one transaction."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    with database.writer.connect() as connection, connection.begin():
        if not database.is_sqlite:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_WRITER_LOCK)))
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError as error:
            raise InputError(
                "the database was written by a newer subcast: install that version, or use another database"
            ) from error
