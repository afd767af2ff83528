"""BLAS has one thread inside, and afterwards as many as before, whoever leaves last."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from threadpoolctl import threadpool_limits

from subcast import blas_threads
from subcast.blas_threads import one_blas_thread


def counts():
    return [each["num_threads"] for each in blas_threads._controller().select(user_api="blas").info()]


@pytest.fixture(autouse=True)
def two_threads():
    blas_threads._controller()
    with threadpool_limits(2, user_api="blas"):
        yield


def test_one_inside_and_as_before_afterwards():
    before = counts()
    with one_blas_thread():
        with one_blas_thread():
            assert set(counts()) == {1}
        assert set(counts()) == {1}
    assert counts() == before == [2] * len(before)


def test_an_error_gives_them_back():
    with pytest.raises(ValueError, match="no"), one_blas_thread():
        raise ValueError("no")
    assert set(counts()) == {2}


def test_calls_that_overlap_in_any_order_give_them_back():
    steps = [Barrier(2) for _ in range(3)]

    def first():
        with one_blas_thread():
            steps[0].wait(10)
            steps[1].wait(10)
        steps[2].wait(10)  # leaves first

    def second():
        steps[0].wait(10)
        with one_blas_thread():
            steps[1].wait(10)
            steps[2].wait(10)
            return counts()

    with ThreadPoolExecutor(2) as pool:
        one, other = pool.submit(first), pool.submit(second)
        one.result(20)
        assert set(other.result(20)) == {1}
    assert set(counts()) == {2}
