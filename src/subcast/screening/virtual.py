"""What each sensor should read by the readings of the others: a ridge regression that leaves out the sensor itself.

The regression of every sensor on all the others is contained in one matrix, the inverse of their covariance: with
precision Q and deviations z, sensor i differs from what the others say by (Q z)[i] / Q[i, i]. Sensors that are silent
or not trusted are taken out of the matrix by its Schur complement, which costs little a step.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

_REMEMBERED = 16  # sets of trusted sensors whose matrices are kept


class _Reduced(NamedTuple):
    """The matrices for one set of trusted sensors."""

    trusted: NDArray[np.int64]
    others: NDArray[np.int64]
    precision: Floats  # [p, p] of the trusted sensors
    weights: Floats  # [m, p]: what the trusted sensors say about the others
    narrowing: Floats  # [n]: deviation of the difference with all sensors trusted, over the one with these


class VirtualSensors:
    """The regression of each sensor on the others, in normalized units.

    Parameters
    ----------
    covariance
        [n, n] of the deviations from the usual values
    ridge
        added to its diagonal, above 0

    Examples
    --------
    >>> twins = VirtualSensors(np.array([[1.0, 0.9], [0.9, 1.0]]), ridge=0.1)
    >>> twins.differences(np.array([1.0, 1.0]), np.array([True, True])).round(3)
    array([0.182, 0.182])
    >>> twins.differences(np.array([1.0, -4.0]), np.array([True, False])).round(3)  # the second is not trusted
    array([ 0.575, -4.818])
    """

    def __init__(self, covariance: Floats, ridge: float) -> None:
        self.covariance = np.asarray(covariance, dtype=np.float64)
        self.ridge = ridge
        self._regular = self.covariance + ridge * np.eye(len(self.covariance))
        self._precision = np.linalg.inv(self._regular)
        if not (np.diag(self._precision) > 0).all():
            raise ValueError("the covariance is not one of any readings")
        self._deviation = 1 / np.sqrt(np.diag(self._precision))
        self._reduced: OrderedDict[bytes, _Reduced] = OrderedDict()

    @classmethod
    def fit(cls, deviations: Floats, ridge: float) -> VirtualSensors:
        """Return the regressions of deviations [t, n]; a missing one counts as 0, the usual value.

        `ridge` is given as a share of the mean variance.
        """
        filled = np.nan_to_num(deviations)
        covariance = filled.T @ filled / max(len(filled), 1)
        return cls(covariance, ridge * max(float(np.trace(covariance)) / len(covariance), 1e-6))

    @property
    def deviation(self) -> Floats:
        """The expected deviation of each difference if all sensors are trusted, [n]."""
        return self._deviation

    def differences(self, deviations: Floats, trusted: Mask) -> Floats:
        """Return by how much each sensor differs from what the trusted others say, [..., n]; NaN without a reading.

        With fewer trusted sensors less is known: differences are scaled to what they would be worth with all of them.

        Parameters
        ----------
        deviations
            [..., n] from the usual values, NaN where there is no reading
        trusted
            [n], the sensors whose readings count for the others; each of them must have a reading
        """
        reduced = self._reduce(trusted)
        known = deviations[..., reduced.trusted]
        result = np.empty(np.shape(deviations))
        result[..., reduced.trusted] = (known @ reduced.precision) / np.diag(reduced.precision)
        result[..., reduced.others] = deviations[..., reduced.others] - known @ reduced.weights.T
        return result * reduced.narrowing

    def expected(self, deviations: Floats, trusted: Mask) -> Floats:
        """Return what the trusted others say that each sensor should read, [..., n] in normalized units."""
        reduced = self._reduce(trusted)
        known = deviations[..., reduced.trusted]
        result = np.empty(np.shape(deviations))
        result[..., reduced.trusted] = known - (known @ reduced.precision) / np.diag(reduced.precision)
        result[..., reduced.others] = known @ reduced.weights.T
        return result

    def _reduce(self, trusted: Mask) -> _Reduced:
        """Return the matrices for a set of trusted sensors."""
        key = np.packbits(trusted).tobytes()
        if key in self._reduced:
            self._reduced.move_to_end(key)
            return self._reduced[key]
        inside, outside = np.flatnonzero(trusted), np.flatnonzero(~trusted)
        if len(outside) <= len(inside):
            unknown = np.linalg.inv(self._precision[np.ix_(outside, outside)])  # covariance given the trusted
            between = self._precision[np.ix_(outside, inside)]
            weights = -unknown @ between
            precision = self._precision[np.ix_(inside, inside)] + between.T @ weights
            variance = np.diag(unknown)
        else:
            precision = np.linalg.inv(self._regular[np.ix_(inside, inside)])
            between = self._regular[np.ix_(outside, inside)]
            weights = between @ precision
            variance = np.diag(self._regular)[outside] - (weights * between).sum(axis=1)
        deviation = np.empty(len(trusted))
        deviation[inside] = 1 / np.sqrt(np.diag(precision))
        deviation[outside] = np.sqrt(np.maximum(variance, self._deviation[outside] ** 2))
        made = _Reduced(inside, outside, precision, weights, self._deviation / deviation)
        self._reduced[key] = made
        if len(self._reduced) > _REMEMBERED:
            self._reduced.popitem(last=False)
        return made
