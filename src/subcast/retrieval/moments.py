"""Second moments of the training data at every lag, from which the regression for any S is built."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.blas_threads import one_blas_thread
from subcast.retrieval.compiled.powers import compiled
from subcast.retrieval.threads import cuts, run_all, thread_count
from subcast.storage import fields
from subcast.storage.state import State

DENSE_LIMIT = 1024  # variables; above it the moments are stored as common factors plus a residual for each variable
RANK = 192
_STEPS_AT_ONCE = 1 << 15
_ARRAYS = ("whole", "loadings", "factors", "own")


@dataclass(frozen=True, eq=False)
class LagMoments:
    """Covariances E[z_t[i] z_{t+l}[j]] of normalized readings for the lags l = 0 .. L-1.

    Stored as full matrices or, for many variables, as common factors plus a residual for each variable:
    loadings @ factors[l] @ loadings' + diag(own[l]).

    Parameters
    ----------
    whole
        [L, n, n], or empty
    loadings, factors, own
        [n, r], [L, r, r] and [L, n], or empty
    length
        steps over whose mean z_t[i] is taken (see `averaged`)
    """

    whole: NDArray[np.float32]
    loadings: NDArray[np.float32]
    factors: NDArray[np.float32]
    own: NDArray[np.float32]
    length: int = 1
    _averaged: dict[int, LagMoments] = field(init=False, default_factory=dict, repr=False)

    @classmethod
    def fit(
        cls, normal: NDArray[np.float32], lags: int, *, dense_limit: int = DENSE_LIMIT, rank: int = RANK
    ) -> LagMoments:
        """Compute the moments of a series [t, n] in its normalized space.

        Missing readings count as 0, the usual value, and sums are divided by the number of steps: with counts of
        pairs instead the matrices of a regression would not be positive definite.

        Examples
        --------
        >>> z = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0]], dtype=np.float32)
        >>> LagMoments.fit(z, lags=2).block(1, [0], [1])  # (1 * 2 + 0 * 0) / 3
        array([[0.6666667]], dtype=float32)
        """
        z = np.nan_to_num(normal, nan=0.0).astype(np.float32, copy=False)
        nothing = np.zeros(0, dtype=np.float32)
        if z.shape[1] <= dense_limit:
            return cls(_lagged(z, lags), nothing, nothing, nothing)
        loadings = _loadings(z, rank)  # [n, r]
        scores = z @ loadings  # [t, r]
        residual = z - scores @ loadings.T  # [t, n]
        residual_moments = np.stack(
            [(residual[: len(residual) - lag] * residual[lag:]).sum(axis=0) for lag in range(lags)]
        ) / len(residual)  # [L, n]
        return cls(nothing, loadings, _lagged(scores, lags), residual_moments.astype(np.float32))

    @property
    def lags(self) -> int:
        """Number of lags."""
        return len(self.whole) or len(self.factors)

    def block(self, lag: int, rows: Any, columns: Any) -> NDArray[np.float32]:
        """Return E[z_t[rows] z_{t+lag}[columns]], [rows, columns]; the lag may be negative."""
        first, second = np.asarray(rows), np.asarray(columns)
        if lag < 0:
            return self.block(self.length - 1 - lag, second, first).T
        if len(self.whole):
            return np.asarray(self.whole[lag][first[:, None], second])
        common = self.loadings[first] @ self.factors[lag] @ self.loadings[second].T
        return np.asarray(common + np.where(first[:, None] == second, self.own[lag][first][:, None], np.float32(0)))

    def averaged(self, length: int) -> LagMoments:
        """Return the moments of means over `length` steps, a power of 4, with readings `lag` steps after the first.

        Each is the mean of the moments at the lags lag, lag - 1, .. lag - length + 1; kept once made.
        """
        if length == self.length:
            return self
        if length not in self._averaged:
            part = self.averaged(length // 4)
            whole, factors, own = (_mean_of_four(each, length // 4) for each in (part.whole, part.factors, part.own))
            self._averaged[length] = LagMoments(whole, self.loadings, factors, own, length)
        return self._averaged[length]

    def lagged(self, rows: NDArray[np.int64], columns: NDArray[np.int64], low: int, top: int) -> NDArray[np.float32]:
        """Return `block` at the lags low .. top, [lags, rows, columns]."""
        if not len(self.whole):
            return np.stack([self.block(lag, rows, columns) for lag in range(low, top + 1)])
        found = np.empty((top - low + 1, len(rows), len(columns)), dtype=np.float32)
        bounds = cuts(len(found), thread_count(None, 4.0 * found.size)).tolist()
        pieces = [(found[a:b], self.whole, rows, columns, low + a, self.length) for a, b in pairwise(bounds)]
        run_all([partial(_copy_lags, *piece) for piece in pieces])
        return found

    def gram(self, variables: NDArray[np.int64], steps: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the covariance matrix of variables at steps, [steps * s, steps * s], ordered by step."""
        s, p = len(variables), len(steps)
        matrix = np.empty((p, s, p, s))
        blocks: dict[int, NDArray[np.float32]] = {}
        for a in range(p):
            for c in range(a, p):
                lag = int(steps[c] - steps[a])
                if lag not in blocks:
                    blocks[lag] = self.block(lag, variables, variables)
                matrix[a, :, c, :] = blocks[lag]
                matrix[c, :, a, :] = blocks[lag].T
        return matrix.reshape(p * s, p * s)

    def cross(
        self,
        variables: NDArray[np.int64],
        steps: NDArray[np.int64],
        others: NDArray[np.int64],
        times: NDArray[np.int64],
    ) -> NDArray[np.float32]:
        """Return the covariance of variables at steps with others at times, [steps * s, times * others]."""
        matrix = np.empty((len(steps), len(variables), len(times), len(others)), dtype=np.float32)
        blocks: dict[int, NDArray[np.float32]] = {}
        for a, step in enumerate(steps):
            for c, time in enumerate(times):
                lag = int(time - step)
                if lag not in blocks:
                    blocks[lag] = self.block(lag, variables, others)
                matrix[a, :, c, :] = blocks[lag]
        return matrix.reshape(len(steps) * len(variables), len(times) * len(others))

    def state(self) -> State:
        """Return the state to save."""
        return State({}, {name: getattr(self, name) for name in _ARRAYS})

    @classmethod
    def from_state(cls, state: State, lags: int | None = None, n: int | None = None) -> LagMoments:
        """Return the moments saved in `state`, which must be those of `n` variables at `lags` lags, if given."""
        whole = state.arrays.get("whole")
        if whole is not None and whole.ndim == 3 and n is None:
            n = whole.shape[1]
        shapes: dict[str, tuple[int | None, ...]] = dict.fromkeys(_ARRAYS, (0,))
        if whole is not None and whole.size:
            shapes["whole"] = (lags, n, n)
        else:
            rank = state.arrays["loadings"].shape[-1] if "loadings" in state.arrays else None
            shapes |= {"loadings": (n, rank), "factors": (lags, rank, rank), "own": (lags, n)}
        whole, loadings, factors, own = (fields.array(state, name, np.float32, shapes[name]) for name in _ARRAYS)
        moments = cls(whole, loadings, factors, own)
        if not moments.lags or (len(moments.factors) and len(moments.own) != len(moments.factors)):
            raise state.damaged("its moments have no lags, or not the same ones")
        return moments


@dataclass(frozen=True, eq=False)
class MomentSums:
    """Sums of products at every lag over one part of a series, which can be added to those of other parts.

    Parameters
    ----------
    totals
        [L, n, n] in double precision
    steps
        how many steps they cover

    Examples
    --------
    >>> z = np.random.default_rng(0).normal(size=(50, 3))
    >>> whole = MomentSums.of(z, lags=4)
    >>> parts = MomentSums.of(z[:23], lags=4, own_steps=20) + MomentSums.of(z[20:], lags=4)
    >>> bool(np.allclose(whole.totals, parts.totals, rtol=0, atol=1e-12)), parts.steps
    (True, 50)
    """

    totals: NDArray[np.float64]
    steps: int

    @classmethod
    def of(cls, normal: NDArray[np.floating[Any]], lags: int, own_steps: int | None = None) -> MomentSums:
        """Sum the products of a part [t, n] of a series in normalized units.

        Parameters
        ----------
        normal
            the part's own steps, followed by up to lags - 1 steps of the next part; missing readings are NaN
        lags
            how many lags, from 0 on
        own_steps
            how many of the steps are the part's own, all by default
        """
        z = np.nan_to_num(np.asarray(normal, dtype=np.float64), nan=0.0)
        own = len(z) if own_steps is None else own_steps
        return cls(_lagged_sums(z, lags, own), own)

    def __add__(self, other: MomentSums) -> MomentSums:
        """Return the sums over both parts."""
        return MomentSums(self.totals + other.totals, self.steps + other.steps)

    def moments(self) -> LagMoments:
        """Return the moments: the sums divided by the number of steps."""
        nothing = np.zeros(0, dtype=np.float32)
        return LagMoments((self.totals / self.steps).astype(np.float32), nothing, nothing, nothing)


def _lagged(z: NDArray[np.float32], lags: int) -> NDArray[np.float32]:
    """Return the moments [L, n, n] of a whole series; the lags are divided among threads."""
    moments = np.zeros((lags, z.shape[1], z.shape[1]), dtype=np.float32)
    known = min(lags, len(z))

    def fill(first: int, step: int) -> None:  # later lags have fewer products, so they are dealt out in turn
        for lag in range(first, known, step):
            moments[lag] = _lagged_sum(z, lag, len(z)) / len(z)

    threads = thread_count(None, float(known) * z.shape[1] * z.size)
    with one_blas_thread():
        run_all([partial(fill, first, threads) for first in range(threads)])
    return moments


def _lagged_sums(z: NDArray[np.floating[Any]], lags: int, own_steps: int) -> NDArray[np.float64]:
    """Sum z[i] z[i + lag]' over a part's own steps i, [L, n, n]."""
    totals = np.zeros((lags, z.shape[1], z.shape[1]))
    for lag in range(min(lags, len(z))):
        totals[lag] = _lagged_sum(z, lag, own_steps)
    return totals


def _lagged_sum(z: NDArray[np.floating[Any]], lag: int, own_steps: int) -> NDArray[np.float64]:
    """Sum z[i] z[i + lag]' over a part's own steps i, [n, n]: products in the precision of z, sums in double."""
    total = np.zeros((z.shape[1], z.shape[1]))
    end = min(own_steps, len(z) - lag)
    for first in range(0, end, _STEPS_AT_ONCE):
        last = min(first + _STEPS_AT_ONCE, end)
        total += z[first:last].T @ z[first + lag : last + lag]
    return total


def _mean_of_four(array: NDArray[np.float32], length: int) -> NDArray[np.float32]:
    """Return moments [L, n, n] or [L, n] of means over four times as many steps as those given, of `length` steps."""
    if not len(array):
        return array

    def at(lag: int) -> NDArray[np.float32]:
        return array[lag] if lag >= 0 else array[length - 1 - lag].T

    mean = np.empty_like(array)
    most = len(array) - 1
    for lag in range(len(array)):
        terms = [at(max(lag - length * number, length - 1 - most)) for number in range(4)]
        np.add(terms[0], terms[1], out=mean[lag])
        mean[lag] += terms[2]
        mean[lag] += terms[3]
    mean *= np.float32(0.25)
    return mean


@compiled
def _copy_lags(found: Any, whole: Any, rows: Any, columns: Any, low: int, length: int) -> None:
    """Copy rows and columns of the blocks at the lags low, low + 1, ...; those at negative lags are transposed."""
    for place in range(found.shape[0]):
        lag = low + place
        if lag >= 0:
            for i in range(len(rows)):
                line, own = whole[lag, rows[i]], found[place, i]
                for j in range(len(columns)):
                    own[j] = line[columns[j]]
        else:
            for j in range(len(columns)):
                line = whole[length - 1 - lag, columns[j]]
                for i in range(len(rows)):
                    found[place, i, j] = line[rows[i]]


def _loadings(z: NDArray[np.float32], rank: int) -> NDArray[np.float32]:
    """Return the orthonormal directions of largest variance, [n, r]."""
    from sklearn.utils.extmath import randomized_svd

    sample = z[:: max(1, len(z) // 8192)]
    _, _, rows = randomized_svd(sample, n_components=min(rank, min(sample.shape) - 1), random_state=0, n_iter=3)
    return np.ascontiguousarray(rows.T, dtype=np.float32)
