"""Torch on one processor thread for a single window, and on all of them for a batch.

One window is too little work for several threads: they wait for each other and for whatever else runs on the same
processors, and some requests then take several times as long as others.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module


class OneThread:
    """Counts the calls that run on one thread, so that each thread gets its number of threads back.

    `torch.set_num_threads` changes the calling thread, and the number with which other threads begin. A thread that
    uses torch for the first time during a call of another thread therefore begins with 1. The number to return to is
    saved when the first call begins, while no other call is running, and each call restores it in its own thread. A
    thread that is at 1 while no other call is running was set to 1 by the user, and is left alone.

    Examples
    --------
    >>> import torch
    >>> before = torch.get_num_threads()
    >>> calls = OneThread()
    >>> with calls.held():
    ...     torch.get_num_threads()
    1
    >>> torch.get_num_threads() == before
    True
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = 0
        self._usual = 1
        self._this_thread = threading.local()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold torch to one thread in the calling thread for the duration of a block."""
        if getattr(self._this_thread, "inside", False):
            yield
            return
        before = self._begin()
        try:
            yield
        finally:
            self._end(before)

    @contextmanager
    def released(self) -> Iterator[None]:
        """Give a batch all threads, although its thread may have begun with 1 during a call of another thread."""
        torch = import_module("torch")  # by the name, since adapters use this module before torch is needed
        with self._lock:
            inside = getattr(self._this_thread, "inside", False)
            if self._running and not inside and torch.get_num_threads() == 1 < self._usual:
                torch.set_num_threads(self._usual)
        yield

    def _begin(self) -> int:
        """Set the calling thread to one thread and return the number that it gets back."""
        torch = import_module("torch")
        with self._lock:
            before = int(torch.get_num_threads())
            if not self._running:
                self._usual = before
            elif before == 1:  # perhaps only because of the calls that are running
                before = self._usual
            if before > 1:
                torch.set_num_threads(1)
            self._running += 1
            self._this_thread.inside = True
        return before

    def _end(self, before: int) -> None:
        torch = import_module("torch")
        with self._lock:
            if before > 1:
                torch.set_num_threads(before)
            self._running -= 1
            self._this_thread.inside = False


_CALLS = OneThread()


def threads_for(windows: int, device: str = "cpu") -> AbstractContextManager[None]:
    """Return a context in which torch uses one thread for a single window on the processor, and all for a batch."""
    return _CALLS.held() if windows == 1 and device == "cpu" else _CALLS.released()
