"""A whole table after screening: flags, readings with holes, and episodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subcast.limits import BAD, GOOD, MISSING, NOT_EVALUATED, SUSPECT
from subcast.names import plural

if TYPE_CHECKING:
    import pandas as pd

    from subcast.screening.health import Health

Moment = np.datetime64 | int


class Episode(NamedTuple):
    """A stretch of time in which a sensor was not believed.

    Attributes
    ----------
    sensor
        its name
    start, end
        the first and the last step, by their times or numbers; `end` is None if it lasts
    found
        when it was found
    test, state, sentence
        the test that found it, what the sensor suffered from, and why
    """

    sensor: str
    start: Moment
    end: Moment | None
    found: Moment
    test: str
    state: str
    sentence: str


@dataclass(frozen=True, eq=False, repr=False)
class Screened:
    """A table after screening.

    Parameters
    ----------
    variables, times
        names, and the times [t] or None
    flags
        [t, n], QARTOD flags as they were given step by step; a spike that the next step showed is bad too
    values
        [t, n], the readings without bad ones and those of ill sensors, also those found to be wrong only later
    episodes
        when sensors were ill, in order of time
    health
        of each sensor after the last step
    """

    variables: tuple[str, ...]
    times: NDArray[np.datetime64] | None
    flags: NDArray[np.int8]
    values: NDArray[np.float32]
    episodes: tuple[Episode, ...]
    health: dict[str, Health]

    @property
    def frame(self) -> pd.DataFrame:
        """The flags as a table: a row for each step, a column for each sensor."""
        import pandas as pd

        index = None if self.times is None else pd.Index(self.times, name="time")
        return pd.DataFrame(self.flags, index=index, columns=list(self.variables))

    def counts(self) -> dict[str, int]:
        """Return how many readings are good, not evaluated, suspect, bad and missing."""
        names = {GOOD: "good", NOT_EVALUATED: "not evaluated", SUSPECT: "suspect", BAD: "bad", MISSING: "missing"}
        return {name: int(np.count_nonzero(self.flags == flag)) for flag, name in names.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the flags and values as plain values for JSON."""
        return {
            "steps": len(self.flags),
            "sensors": len(self.variables),
            "flags": self.counts(),
            "episodes": [
                {name: plain(value) for name, value in episode._asdict().items()} for episode in self.episodes
            ],
            "health": {
                name: {"state": each.state, "since": plain(each.since), "reason": each.reason, "test": each.test}
                for name, each in self.health.items()
            },
        }

    def __repr__(self) -> str:
        """Show the size, and how many readings and sensors are ill."""
        ill = sum(each.ill for each in self.health.values())
        return (
            f"{len(self.flags):,} steps of {plural(len(self.variables), 'sensor')} screened: "
            f"{self.counts()['bad']:,} bad readings, {plural(len(self.episodes), 'episode')}, {ill} ill at the end"
        )


def plain(value: Any) -> Any:
    """Return a time as text, and anything else as it is."""
    return str(value.astype("datetime64[s]")) if isinstance(value, np.datetime64) else value
