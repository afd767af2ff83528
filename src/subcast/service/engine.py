"""The thread that makes forecasts: it sleeps until readings come or a deadline passes, then does what is due.

Of several workers one makes forecasts at a time; another takes over when it dies. Whatever goes wrong in a step is
logged, and the step is tried again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from subcast.service import alerts
from subcast.service.grid import SECOND
from subcast.service.late import LateReadings
from subcast.service.planning import Plan
from subcast.service.problems import ProblemError
from subcast.service.stepping import Stepper

if TYPE_CHECKING:
    from subcast.service.runtime import Service

_LOGGER = logging.getLogger(__name__)
_LONGEST_SLEEP = 1.0  # seconds; also how often the folder is looked at
_OTHER_LEADS = 0.1  # seconds between looks of a worker that does not make forecasts
_PRUNE_SECONDS = 600.0
_AGING_STEPS = 36


class Engine:
    """Runs everything that happens besides requests."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._wake, self._stop = threading.Event(), threading.Event()
        self._pruned = time.monotonic()
        self._made = 0
        self._jumps = 0
        self._sender: threading.Thread | None = None
        self.leads = False
        self.failures = 0
        self.last_failure = ""
        self.stepper = Stepper(service.database, service.feed, service.options)
        self.late = LateReadings(service.database, service.feed, service.versions)
        self._thread = threading.Thread(target=self._run, name="subcast-engine", daemon=True)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def wake(self) -> None:
        """Readings came: look whether a step is complete."""
        self._wake.set()

    def close(self) -> None:
        """Finish the present step, then end."""
        self._stop.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout=30)

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def reset(self) -> None:
        """Take everything anew after the wrapper changed."""
        service = self.service
        self.stepper = Stepper(service.database, service.feed, service.options)
        self.late = LateReadings(service.database, service.feed, service.versions)

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wake.clear()
            try:
                wait = self.work()
            except ProblemError as error:
                self._fail(error, error.detail)
                wait = 1.0
            except Exception as error:
                self._fail(error, str(error))
                wait = 1.0
            if wait > 0:
                self._wake.wait(min(wait, _LONGEST_SLEEP))

    def _fail(self, error: Exception, sentence: str) -> None:
        self.failures += 1
        self.stepper.forget()
        if sentence != self.last_failure:
            _LOGGER.error("a step could not be processed: %s", sentence, exc_info=not isinstance(error, ProblemError))
        self.last_failure = sentence

    def work(self) -> float:
        """Do what is due next; return how many seconds there is nothing to do."""
        service = self.service
        service.look_at_folder()
        self.leads = service.database.lead()
        if not self.leads:
            return _OTHER_LEADS
        self._tell_jumps()
        version = service.versions.present
        if self.late.screen(version):
            self.stepper.forget()
        plan = self._plan()
        if plan.reason:
            self._step(plan)
            return 0.0
        if self.late.rescore(version) or self.late.revise():
            return 0.0
        self._rarely()
        return plan.wait / SECOND

    def _plan(self) -> Plan:
        with self.service.database.read() as connection:
            return self.service.planner.plan(connection)

    def _step(self, plan: Plan) -> None:
        service = self.service
        if plan.skipped:
            text = f"{plan.skipped:,} steps were left out after a pause of the feed or of the service"
            self._event(alerts.event("gap", text, plan.time))
        if self.stepper.process(plan, service.versions.present):
            self._made += 1
            self.last_failure = ""
            _LOGGER.info(
                "step", extra={"step": service.grid.text(int(plan.time or 0)), "reason": plan.reason},
            )  # fmt: skip
            if self._made % _AGING_STEPS == 0:
                self._safely(service.look_at_age)

    def _tell_jumps(self) -> None:
        jumps = self.service.clock.jumps
        if len(jumps) > self._jumps:
            self._jumps = len(jumps)
            self._event(alerts.event("clock", f"the clock of this machine jumped by {jumps[-1] / SECOND:.0f} s"))

    def _event(self, row: dict[str, object]) -> None:
        with self.service.database.write() as connection:
            alerts.store_events(connection, [row])

    def _rarely(self) -> None:
        """Send events, and remove what is older than it should be kept."""
        service = self.service
        if service.options.webhook is not None and not (self._sender is not None and self._sender.is_alive()):
            self._sender = threading.Thread(target=self._safely, args=(service.send_events,), daemon=True)
            self._sender.start()  # a slow receiver delays no forecast
        if time.monotonic() - self._pruned > _PRUNE_SECONDS:
            self._pruned = time.monotonic()
            self._safely(service.prune)

    def _safely(self, work: Callable[[], object]) -> None:
        try:
            work()
        except ProblemError as error:
            _LOGGER.warning("put off: %s", error.detail)
