"""Group commits."""

import threading

import pytest
import sqlalchemy as sa

from subcast.service.database import Database
from subcast.service.problems import ProblemError
from subcast.service.schema import facts
from subcast.service.writer import Writer


@pytest.fixture
def writer(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/feed.sqlite3")
    database.open()
    writer = Writer(database)
    yield writer
    writer.close()
    database.close()


class Gate(threading.Event):
    """Holds the first group until the others are queued."""

    def __init__(self):
        super().__init__()
        self.started = threading.Event()


def add(name, fail=False, gate=None):
    def work(connection):
        if gate is not None:
            gate.started.set()
            gate.wait(10)
        connection.execute(facts.insert().values(name=name, value="1"))
        if fail:
            raise ProblemError("invalid", "no")
        return name

    return work


def test_work_of_one_group_fails_alone(writer):
    gate = Gate()
    first = writer.submit(add("first", gate=gate))
    assert gate.started.wait(10)
    others = [writer.submit(add(str(number), fail=number == 3)) for number in range(6)]
    gate.set()
    assert first.result(10) == "first"
    with pytest.raises(ProblemError, match="no"):
        others[3].result(10)
    assert [future.result(10) for place, future in enumerate(others) if place != 3] == list("01245")
    with writer.database.read() as connection:
        assert set(connection.execute(sa.select(facts.c.name)).scalars()) == {"first", *"01245"}


def test_an_error_of_the_database_fails_the_whole_group(writer):
    gate = Gate()
    writer.submit(add("first", gate=gate))
    assert gate.started.wait(10)

    def broken(connection):
        raise OSError("disk full")

    futures = [writer.submit(add("a")), writer.submit(broken), writer.submit(add("b"))]
    gate.set()
    for future in futures:
        with pytest.raises(ProblemError, match="full"):
            future.result(10)
    with writer.database.read() as connection:
        assert connection.execute(sa.select(facts.c.name)).scalars().all() == ["first"]


def test_a_sender_that_goes_away_stops_nothing(writer):
    gate = Gate()
    first = writer.submit(add("first", gate=gate))
    assert gate.started.wait(10)
    gone = writer.submit(add("gone"))
    assert not gone.cancel()
    gate.set()
    assert first.result(10) == "first"
    assert gone.result(10) == "gone"
    assert writer.submit(add("last")).result(10) == "last"
    assert writer.alive
