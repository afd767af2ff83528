"""The health of each sensor: what it suffers from, since when and why, with hysteresis both ways."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.screening.signals import LASTING, Mask, Whole

Causes = NDArray[np.int8]

NOTHING, SILENT, RANGE, FLAT = 0, 1, 2, 3
FIRST_LASTING = 4
"""A sensor may be silent, out of range, stuck, or ill by one of the lasting numbers (this plus its place)."""

_LASTING_STATES = {
    "fast above": "biased", "fast below": "biased", "slow above": "biased", "slow below": "biased",
    "long above": "drifting", "long below": "drifting", "long mismatch": "biased", "long unlike": "stuck",
    "slow tremble": "noisy", "still": "stuck",
    "fast unusually above": "biased", "fast unusually below": "biased",
    "slow unusually above": "biased", "slow unusually below": "biased",
}  # fmt: skip
STATES = ("good", "dead", "dead", "stuck", *(_LASTING_STATES[name] for name in LASTING))
"""The state of a sensor by what it suffers from."""

TESTS = (
    "",
    "time gap",
    "gross range",
    "flat line",
    *("attenuated signal" if name == "still" else "cross check" for name in LASTING),
)
"""The test that found it."""


@dataclass(frozen=True)
class Health:
    """How a sensor is.

    Parameters
    ----------
    state
        "good", "suspect", "asleep", "dead", "stuck", "biased", "drifting" or "noisy"
    since
        when that began, or the number of the step in a feed without times; None if it always was so
    reason
        a sentence; "" for a good sensor
    test
        the test that found it; "" if none did
    """

    state: str
    since: np.datetime64 | int | None
    reason: str = ""
    test: str = ""

    @property
    def ill(self) -> bool:
        """Whether the readings of the sensor are not believed."""
        return self.state in STATES[1:]


class Illness:
    """What each of n sensors suffers from.

    Attributes
    ----------
    cause
        [n], `NOTHING`, `SILENT`, `RANGE`, `FLAT` or one of the lasting numbers
    since
        [n], when it began
    quiet
        [n], for how many steps an ill sensor has looked healthy
    reason
        n sentences
    """

    def __init__(self, n: int) -> None:
        self.cause: Causes = np.zeros(n, dtype=np.int8)
        self.since: Whole = np.zeros(n, dtype=np.int64)
        self.quiet: Whole = np.zeros(n, dtype=np.int64)
        self.reason = [""] * n

    @property
    def ill(self) -> Mask:
        """Which sensors are ill, [n]."""
        return self.cause != NOTHING

    def fall(self, cause: Causes) -> Mask:
        """Make sensors ill that were not, or worse (a lower cause); return which, [n]."""
        worse = (cause != NOTHING) & ((self.cause == NOTHING) | (cause < self.cause))
        self.cause = np.where(worse, cause, self.cause).astype(np.int8)
        return worse

    def recover(self, healthy: Mask, enough: int) -> Mask:
        """Count the steps for which ill sensors look healthy, and make those well that have enough; return which."""
        self.quiet = np.where(self.ill & healthy, self.quiet + 1, 0)
        well = self.quiet >= enough
        self.cause = np.where(well, NOTHING, self.cause).astype(np.int8)
        for sensor in np.flatnonzero(well):
            self.reason[sensor] = ""
        return well

    def state(self) -> dict[str, Any]:
        """Return everything as plain values."""
        arrays = {name: getattr(self, name).tolist() for name in ("cause", "since", "quiet")}
        return {**arrays, "reason": list(self.reason)}

    def resume(self, state: dict[str, Any]) -> None:
        """Take what `state` returned; raises ValueError, KeyError or TypeError if it is something else."""
        n = len(self.cause)
        cause = np.array(state["cause"], dtype=np.int8).reshape(n)
        if (cause < 0).any() or (cause >= len(STATES)).any():
            raise ValueError("a cause is not known")
        self.cause = cause
        self.since = np.array(state["since"], dtype=np.int64).reshape(n)
        self.quiet = np.array(state["quiet"], dtype=np.int64).reshape(n)
        reasons = [str(reason) for reason in state["reason"]]
        if len(reasons) != n:
            raise ValueError("there must be a reason for each sensor")
        self.reason = reasons
