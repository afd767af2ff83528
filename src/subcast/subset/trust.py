"""How far a forecast can be trusted: a word, the expected gap, and a note for each reason to doubt it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subcast.forecast import QUALITIES, Trust
from subcast.names import plural
from subcast.subset.conformal import Calibration
from subcast.subset.usefulness import Usefulness

GOOD, FAIR = 2.0, 10.0  # largest expected gap in percent of a "good" and of a "fair" forecast
STRANGE, VERY_STRANGE = 1.2, 2.4  # times the usual strangeness at which a window is strange, and its quality "poor"
MANY = 0.1  # share of strange windows above which the quality of a batch falls


@dataclass(frozen=True, eq=False)
class Judge:
    """Judges forecasts by how many variables arrived, how strange the window is, and whether the model is any good.

    Parameters
    ----------
    n
        number of variables
    calibration
        expected gaps and the usual strangeness; None without validation windows
    usefulness
        the comparison of the model with forecasts that need no model; None without validation windows
    variables
        the variables that are forecast
    """

    n: int
    calibration: Calibration | None
    usefulness: Usefulness | None
    variables: NDArray[np.int64]

    @property
    def reference(self) -> str:
        """The forecast that expected gaps are compared to; "" for the model with all variables."""
        if self.usefulness is None or not np.isin(self.usefulness.bad, self.variables).any():
            return ""
        return self.usefulness.reference

    def windows(self, counts: NDArray[np.float64], strangeness: NDArray[np.float64]) -> tuple[Trust, ...]:
        """Return the trust in each window.

        Parameters
        ----------
        counts
            [b], the readings that arrived, in numbers of whole variables
        strangeness
            [b], NaN where it is unknown
        """
        gaps, ratios = self._gaps(counts), self._ratios(counts, strangeness)
        rows = zip(counts.tolist(), gaps, ratios.tolist(), strict=True)
        return tuple(self._judge(count, gap, ratio, self._strange_note(ratio)) for count, gap, ratio in rows)

    def batch(self, counts: NDArray[np.float64], strangeness: NDArray[np.float64]) -> Trust:
        """Return the trust in a batch: that in its mean window, worse if many windows are strange."""
        if not len(counts):
            return self._judge(float(self.n), self._gaps(np.array([float(self.n)]))[0], 0.0, ())
        ratios = self._ratios(counts, strangeness)
        strange = int((ratios > STRANGE).sum())
        note = (
            f"{strange:,} of {plural(len(counts), 'window')} are unlike those this wrapper was tested on; "
            "forecast[i].notes says how"
        )
        count = float(counts.mean())
        ratio = float(np.nan_to_num(ratios).mean()) if strange > MANY * len(counts) else 0.0
        lowered = max(ratio, np.nextafter(STRANGE, 9)) if ratio else 0.0
        return self._judge(count, self._gaps(np.array([count]))[0], lowered, (note,) if strange else ())

    def _judge(self, count: float, gap: float | None, ratio: float, notes: tuple[str, ...]) -> Trust:
        complete = count >= self.n
        word = self._word(count, gap)
        if complete and not self.reference:
            word, gap = "full", 0.0
        if self.reference:
            word = _at_most(word, "fair")
        if self.calibration is not None and self.calibration.extrapolates(count):
            word = _at_most(word, "fair")
            notes = (*notes, self._extrapolation_note(count))
        if ratio > STRANGE:
            word = "poor" if ratio > VERY_STRANGE or word in ("fair", "poor") else "fair"
        return Trust(word, gap, notes)

    def _word(self, count: float, gap: float | None) -> str:
        """Return the quality by the expected gap; without a calibration the share of readings decides."""
        if gap is not None:
            return "good" if gap <= GOOD else "fair" if gap <= FAIR else "poor"
        share = count / self.n
        return "good" if share >= 0.85 else "fair" if share >= 0.5 else "poor"

    def _gaps(self, counts: NDArray[np.float64]) -> list[float] | list[None]:
        if self.calibration is None:
            return [None] * len(counts)
        return [float(gap) for gap in self.calibration.gaps_at(counts)]

    def _ratios(self, counts: NDArray[np.float64], strangeness: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the strangeness of each window in units of the usual one; 0 where it is unknown."""
        if self.calibration is None:
            return np.zeros(len(counts))
        usual = np.maximum(self.calibration.usual_strangeness(counts), np.finfo(np.float32).tiny)
        return np.nan_to_num(strangeness / usual)

    def _strange_note(self, ratio: float) -> tuple[str, ...]:
        if not ratio > STRANGE:
            return ()
        return (
            f"this window is unlike those this wrapper was tested on: its nearest past windows are {ratio:.1f} times "
            "as far away as in 99.5 % of the validation windows, so the error may be larger than expected",
        )

    def _extrapolation_note(self, count: float) -> str:
        return (
            f"only {count:.0%} of the readings of one variable arrived, fewer than this wrapper was tested with: the "
            "expected gap and the intervals are those of one variable, and are probably too small"
        )


def _at_most(word: str, best: str) -> str:
    """Return the worse of two qualities."""
    return max(word, best, key=QUALITIES.index)
