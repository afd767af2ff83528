"""The number of threads, and the distribution of work over them."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from subcast.errors import InputError
from subcast.retrieval import threads
from subcast.retrieval.threads import cuts, run_all, thread_count


@pytest.mark.parametrize(("cells", "expected"), [(0, 1), (3_999_999, 1), (4e6, 2), (1e12, 4)])
def test_little_work_uses_few_threads(monkeypatch, cells, expected):
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda pid: {0, 1, 2, 3}, raising=False)
    assert thread_count(None, cells) == expected


@pytest.mark.parametrize("given", [1, 3, np.int64(7)])
def test_a_given_number_of_threads_is_used_for_any_work(given):
    count = thread_count(given, 0)
    assert count == given
    assert type(count) is int


@pytest.mark.parametrize("given", [0, -1, True, 1.5, "2"])
def test_bad_numbers_of_threads(given):
    with pytest.raises(InputError, match="threads must be a whole number of at least 1, or None"):
        thread_count(given, 1)


@pytest.mark.parametrize("n_tasks", [1, 2, 5])
def test_all_tasks_run_at_the_same_time_and_the_last_in_the_calling_thread(n_tasks):
    meeting = threading.Barrier(n_tasks)  # tasks that run one after the other would wait until the timeout
    ran = {}

    def task(i):
        meeting.wait(timeout=10)
        ran[i] = threading.current_thread()

    run_all([lambda i=i: task(i) for i in range(n_tasks)])
    assert sorted(ran) == list(range(n_tasks))
    assert ran[n_tasks - 1] is threading.current_thread()


def test_an_error_in_a_task_is_raised():
    def fail():
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        run_all([fail, lambda: None])


@pytest.mark.parametrize(("total", "parts"), [(7, 2), (10, 3), (3, 5), (0, 2), (6, 1)])
def test_cuts_give_pieces_of_nearly_equal_size(total, parts):
    bounds = cuts(total, parts)
    sizes = np.diff(bounds)
    assert (bounds[0], bounds[-1], len(sizes)) == (0, total, parts)
    assert sizes.max() - sizes.min() <= 1
