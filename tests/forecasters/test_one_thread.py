"""Torch on one thread for single windows: restored after errors, nested calls, and calls of several threads."""

import threading

import numpy as np
import pytest
import torch

from forecasters.examples import build
from subcast.adapters import from_torch
from subcast.forecasters import one_thread
from subcast.forecasters.one_thread import OneThread, threads_for
from subcast.forecasters.trained import TrainedForecaster
from subcast.scaling import Scaler

USUAL = 3


@pytest.fixture(autouse=True)
def usual_threads():
    """A number of threads that no machine of the tests chooses by itself."""
    before = torch.get_num_threads()
    torch.set_num_threads(USUAL)
    yield
    torch.set_num_threads(before)


def in_thread(call):
    """Return what a call returns in a thread of its own."""
    results = []
    thread = threading.Thread(target=lambda: results.append(call()))
    thread.start()
    thread.join(timeout=30)
    return results[0]


def test_one_thread_inside_and_the_usual_number_after():
    with OneThread().held():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == USUAL


def test_an_error_restores_the_number():
    calls = OneThread()
    with pytest.raises(ZeroDivisionError), calls.held():
        _ = 1 / 0
    assert torch.get_num_threads() == USUAL
    with calls.held():  # and is not counted as running
        assert calls._running == 1


def test_a_nested_call_keeps_one_thread_until_the_outer_call_ends():
    calls = OneThread()
    with calls.held():
        with calls.held(), calls.released():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == USUAL


def test_a_number_of_one_stays_one_and_does_not_spread():
    calls = OneThread()

    def at_one():
        torch.set_num_threads(1)
        with calls.held():
            pass
        return torch.get_num_threads()

    def begun_at_one():  # its number is 1, and threads that begin later have the usual number
        torch.get_num_threads()
        began.set()
        call_ended.wait(timeout=30)
        with calls.held():
            return in_thread(torch.get_num_threads)

    began, call_ended, results = threading.Event(), threading.Event(), []
    thread = threading.Thread(target=lambda: results.append(begun_at_one()))
    with calls.held():
        thread.start()
        began.wait(timeout=30)
    call_ended.set()
    thread.join(timeout=30)
    assert results == [USUAL]
    assert in_thread(at_one) == 1


def test_a_change_of_the_number_between_calls_is_kept():
    calls = OneThread()
    with calls.held():
        pass
    torch.set_num_threads(2)
    with calls.held():
        pass
    assert torch.get_num_threads() == 2


class TestTwoThreads:
    def test_a_thread_that_begins_during_another_call_gets_the_usual_number_back(self):
        calls = OneThread()

        def call():
            assert torch.get_num_threads() == 1  # that of the call that is running
            with calls.held():
                inside = torch.get_num_threads()
            return inside, torch.get_num_threads()

        with calls.held():
            assert in_thread(call) == (1, USUAL)
            assert torch.get_num_threads() == 1  # still its own
        assert torch.get_num_threads() == USUAL
        assert in_thread(torch.get_num_threads) == USUAL

    def test_a_batch_of_another_thread_has_all_threads(self):
        calls = OneThread()

        def batch():
            with calls.released():
                return torch.get_num_threads()

        with calls.held():
            assert in_thread(batch) == USUAL
        assert in_thread(batch) == USUAL

    def test_calls_that_end_in_another_order_than_they_began(self):
        calls = OneThread()
        second_began, first_ended = threading.Event(), threading.Event()

        def second():
            with calls.held():
                second_began.set()
                first_ended.wait(timeout=30)
                inside = torch.get_num_threads()
            return inside, torch.get_num_threads()

        results = []
        thread = threading.Thread(target=lambda: results.append(second()))
        with calls.held():
            thread.start()
            second_began.wait(timeout=30)
        assert torch.get_num_threads() == USUAL
        first_ended.set()
        thread.join(timeout=30)
        assert results == [(1, USUAL)]
        assert calls._running == 0

    def test_many_calls_at_once(self):
        calls = OneThread()
        numbers = []

        def work():
            for _ in range(200):
                with calls.held():
                    numbers.append(torch.get_num_threads())
            numbers.append(torch.get_num_threads() - USUAL + 1)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
        assert set(numbers) == {1}
        assert len(numbers) == 8 * 201
        assert torch.get_num_threads() == USUAL


class Recording(torch.nn.Module):
    """The last reading of each variable; records the number of threads of each call."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(()))
        self.threads = []

    def forward(self, x, **options):
        self.threads.append(torch.get_num_threads())
        return self.weight * x[:, -1:, :, 0].repeat(1, 2, 1)


def test_who_uses_one_thread():
    with threads_for(1):
        assert torch.get_num_threads() == 1
    for windows, device in ((2, "cpu"), (0, "cpu"), (1, "cuda")):
        with threads_for(windows, device):
            assert torch.get_num_threads() == USUAL
    assert one_thread._CALLS._running == 0


def test_a_module_of_the_user():
    module = Recording()
    forecaster = from_torch(module, lookback=3, horizon=2)
    large = from_torch(module, lookback=3, horizon=2, one_thread=False)
    for model, windows in ((forecaster, 1), (forecaster, 5), (large, 1)):
        model(np.ones((windows, 3, 4, 1)))
    assert module.threads == [1, USUAL, USUAL]


def test_a_trained_model_forecasts_the_same_alone_and_in_a_batch():
    names = tuple("abcdefg")
    scaler = Scaler(np.zeros(1), np.ones(1))
    forecaster = TrainedForecaster(build("mtgnn"), "mtgnn", scaler, np.zeros(7), names, 12, 5)
    threads = []
    forecaster.module.register_forward_pre_hook(lambda *_: threads.append(torch.get_num_threads()))
    x = np.random.default_rng(0).normal(size=(4, forecaster.lookback, forecaster.n_variables, 1))
    alone = np.concatenate([forecaster(x[window : window + 1]) for window in range(4)])
    np.testing.assert_allclose(alone, forecaster(x), rtol=1e-5, atol=1e-5)
    assert threads == [1, 1, 1, 1, USUAL]
