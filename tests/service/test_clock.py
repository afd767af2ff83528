"""Which time it is for the feed."""

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from subcast.service.clock import FEED, WALL, SteadyClock, decide_mode, stored_mode
from subcast.service.schema import metadata

MINUTE = 60 * 10**9


class Clocks:
    def __init__(self):
        self.counted, self.set = 10**18, 0

    def wall(self):
        return self.counted + self.set

    def counter(self):
        return self.counted


def make_clock(patience=60.0):
    clocks = Clocks()
    return clocks, SteadyClock(5 * MINUTE, patience, clocks.wall, clocks.counter)


@pytest.mark.parametrize("jump", [-3600 * 10**9, 3600 * 10**9, 10 * 365 * 86400 * 10**9])
def test_a_jump_is_followed_only_when_it_lasts(jump):
    clocks, clock = make_clock()
    begin = clock.now()
    clocks.set = jump
    for second in range(1, 60):
        clocks.counted += 10**9
        assert clock.now() == begin + second * 10**9
    clocks.counted += 2 * 10**9
    assert clock.now() == clocks.wall()
    assert clock.jumps == [jump]


def test_a_jump_that_is_taken_back_is_never_seen():
    clocks, clock = make_clock()
    clocks.set = 30 * MINUTE
    assert clock.now() == 10**18
    clocks.counted += 10**9
    clocks.set = 0
    assert clock.now() == 10**18 + 10**9


@given(st.lists(st.integers(0, 10**9), max_size=30))
def test_small_corrections_are_followed_at_once(corrections):
    clocks, clock = make_clock()
    for correction in corrections:
        clocks.counted += 10**9
        clocks.set += correction % 1000 - 500
        assert clock.now() == clocks.wall()


@pytest.fixture
def connection():
    engine = sa.create_engine("sqlite://")
    metadata.create_all(engine)
    with engine.connect() as connection:
        yield connection


@pytest.mark.parametrize(("newest", "mode"), [(100, WALL), (1000, WALL), (-5000, FEED)])
def test_the_first_readings_decide(connection, newest, mode):
    assert decide_mode(connection, newest, 150, horizon=1000, near=10) == mode
    assert stored_mode(connection) == mode


def test_a_replay_that_reaches_the_present_goes_by_the_wall(connection):
    assert decide_mode(connection, 0, 5000, 1000, 10) == FEED
    assert decide_mode(connection, 4000, 5000, 1000, 10) == FEED
    assert decide_mode(connection, 4995, 5000, 1000, 10) == WALL
    assert decide_mode(connection, 0, 5000, 1000, 10) == WALL
