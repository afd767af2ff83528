"""Choose the shares of the experts: near fixed ones, unless validation windows clearly say otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from subcast.subset.blend import Rows

USUAL_SHARES = {
    "model": 0.3, "specialist": 0.1, "linear": 0.1, "own_linear": 0.1, "boosted": 0.25, "own_trees": 0.15,
}  # fmt: skip
"""Shares before anything is known; another expert has that of the specialist. They are divided by their sum."""

PARTS = 10  # shares are multiples of a tenth, and the usual shares
MOST_FINE = 6  # experts; of more, shares are multiples of a fifth
BLOCKS = 10  # blocks of time from which the standard error of a difference is estimated
DOUBT = 0.75  # standard errors by which shares must beat those nearer to the usual ones
SKILL = 16  # power of the loss by which the usual shares of experts that are worse alone are smaller
MOST_VARIABLES = 32  # of each draw of S
MOST_STEPS = 16  # at which shares are tuned
_SMALLEST = 1e-12
_LARGEST = 1e6  # in units of the variable's spread: larger errors count as this one


@dataclass(frozen=True, eq=False)
class ExpertErrors:
    """Errors of the experts on validation windows under one S.

    Parameters
    ----------
    errors
        [experts, b, h, s], forecast minus target in units of the variable's spread; NaN where there is no target
    """

    errors: NDArray[np.float32]

    @classmethod
    def of(
        cls, forecasts: Sequence[NDArray[np.float32]], targets: NDArray[np.float32], spread: NDArray[np.float64]
    ) -> ExpertErrors:
        """Return the errors of forecasts [b, h, s] each; of many variables, some are taken.

        A forecast that is not a number, or very large, has the largest error, so that the expert gets no share.
        """
        s = targets.shape[2]
        some = np.unique(np.linspace(0, s - 1, min(s, MOST_VARIABLES)).astype(np.int64))
        truth, unit = targets[:, :, some].astype(np.float64), spread[some]
        errors = np.stack([(each[:, :, some] - truth) / unit for each in forecasts])
        errors = np.clip(np.nan_to_num(errors, nan=_LARGEST), -_LARGEST, _LARGEST)
        return cls(np.where(np.isnan(truth), np.nan, errors).astype(np.float32))

    def at(self, steps: NDArray[np.int64]) -> ExpertErrors:
        """Return the errors at some of the steps ahead."""
        return self if len(steps) == self.errors.shape[2] else ExpertErrors(self.errors[:, :, steps])

    def losses(self, mixtures: NDArray[np.float32], metric: str) -> NDArray[np.float64]:
        """Return the mean loss of mixtures [m, experts] in each block of time and at each step, [m, blocks, h]."""
        _, b, h, _ = self.errors.shape
        bounds = np.linspace(0, b, min(BLOCKS, b) + 1).astype(int)
        table = np.zeros((len(mixtures), len(bounds) - 1, h))
        for block, (first, last) in enumerate(pairwise(bounds)):
            for step in range(h):
                cells = self.errors[:, first:last, step].reshape(len(self.errors), -1)
                cells = cells[:, ~np.isnan(cells).any(axis=0)]
                mixed = np.abs(mixtures @ cells)
                loss = mixed if metric == "mae" else mixed**2
                table[:, block, step] = loss.mean(axis=1) if cells.shape[1] else 0.0
        return table

    def losses_of_steps(self, shares: NDArray[np.float64], metric: str) -> NDArray[np.float64]:
        """Return the mean loss at each step of shares [h, experts] that differ by step, [h]."""
        errors = np.einsum("hk,kbhs->bhs", shares, self.errors)
        losses = np.abs(errors) if metric == "mae" else errors**2
        known = ~np.isnan(losses)
        return np.asarray(np.where(known, losses, 0).sum(axis=(0, 2)) / np.maximum(known.sum(axis=(0, 2)), 1))


def tuned_steps(horizon: int) -> NDArray[np.int64]:
    """Return the steps ahead at which shares are tuned, with the first and the last; they are linear in between.

    >>> tuned_steps(3), len(tuned_steps(96))
    (array([0, 1, 2]), 16)
    """
    return np.unique(np.linspace(0, horizon - 1, min(horizon, MOST_STEPS)).astype(np.int64))


@cache
def mixtures(names: tuple[str, ...], staying: float = 0.0) -> NDArray[np.float32]:
    """Return the shares to try, [m, experts]: the usual ones, then all multiples of a tenth that add up to 1.

    Parameters
    ----------
    names
        the experts
    staying
        share of the variables of which nothing but the last reading can be known, as earlier and later parts of the
        training say; that share of the usual mixture belongs to the regression on each variable's own readings

    Examples
    --------
    >>> mixtures(("specialist", "linear"))[:3]
    array([[0.5, 0.5],
           [0. , 1. ],
           [0.1, 0.9]], dtype=float32)
    >>> mixtures(("linear", "own_linear"), 0.8)[0]
    array([0.1, 0.9], dtype=float32)
    """
    parts = PARTS if len(names) <= MOST_FINE else PARTS // 2
    grid = _divisions(parts, len(names))
    usual = np.array([USUAL_SHARES.get(name, USUAL_SHARES["specialist"]) for name in names])
    usual = usual / usual.sum()
    if "own_linear" in names:
        usual = (1 - staying) * usual + staying * (np.array(names) == "own_linear")
    shares = np.concatenate([[usual], np.array(grid) / parts]).astype(np.float32)
    shares.flags.writeable = False
    return shares


def _divisions(total: int, count: int) -> list[tuple[int, ...]]:
    """Return all ways to divide a number into `count` whole numbers from 0, in increasing order.

    >>> _divisions(2, 2)
    [(0, 2), (1, 1), (2, 0)]
    """
    if count == 1:
        return [(total,)]
    return [(first, *rest) for first in range(total + 1) for rest in _divisions(total - first, count - 1)]


def steady_shares(tried: NDArray[np.float32], losses: NDArray[np.float64], doubt: float = DOUBT) -> NDArray[np.float64]:
    """Return the shares of each step, [h, experts]: those nearest to the usual ones that are not clearly worse.

    A mixture is clearly worse than the best if its loss exceeds the standard error of the difference over blocks of
    time. The usual share of an expert is the smaller the worse it is alone, so that one which cannot forecast these
    data has none. Half of the loss of a step is that of nearby steps, the other half that of all steps, each in units
    of its best mixture; shares are smoothed over the steps.

    Parameters
    ----------
    tried
        [m, experts], the mixtures, the usual shares first
    losses
        [m, blocks, h], their losses
    doubt
        standard errors by which a mixture may be worse
    """
    relative = losses / np.maximum(losses.mean(axis=1).min(axis=0), _SMALLEST)
    relative = (_smooth(relative) + relative.mean(axis=2, keepdims=True)) / 2
    alone = [int(np.flatnonzero(column == 1)[-1]) for column in tried.T]
    count, blocks, h = losses.shape
    chosen = np.empty((h, tried.shape[1]))
    for step in range(h):
        table = relative[:, :, step]
        distance = np.abs(tried - _by_skill(tried[0], table[alone].mean(axis=1))).sum(axis=1)
        behind = table - table[table.mean(axis=1).argmin()]  # [m, blocks]
        allowed = doubt * behind.std(axis=1, ddof=1) / np.sqrt(blocks) if blocks > 1 else np.zeros(count)
        good = behind.mean(axis=1) <= allowed
        chosen[step] = tried[np.where(good, distance, np.inf).argmin()]
    return _smooth(chosen.T).T


def _by_skill(usual: NDArray[np.float32], losses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the usual shares [experts], smaller for those whose loss alone [experts] is larger.

    >>> _by_skill(np.array([0.5, 0.5]), np.array([1.0, 1.2])).round(2)
    array([0.95, 0.05])
    """
    worse = np.maximum(losses, _SMALLEST) / max(float(losses.min()), _SMALLEST)
    shares = np.asarray(usual, dtype=np.float64) / worse**SKILL
    return np.asarray(shares / shares.sum())


def _smooth(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean over the step before, the step itself (twice) and the step after, along the last axis."""
    padded = np.concatenate([table[..., :1], table, table[..., -1:]], axis=-1)
    return np.asarray((padded[..., :-2] + 2 * padded[..., 1:-1] + padded[..., 2:]) / 4)


def rows_of_shares(names: Sequence[str], by_share: Sequence[NDArray[np.float64]]) -> dict[str, Rows]:
    """Return the rows of a blend, in which each expert is mixed in turn into those before it.

    Parameters
    ----------
    names
        the experts, the first of which the others are mixed into
    by_share
        for each share present, [h, experts], shares that add up to 1

    Examples
    --------
    >>> rows_of_shares(["model", "specialist", "linear"], [np.array([[0.2, 0.2, 0.6]])])
    {'specialist': ((0.5,),), 'linear': ((0.6,),)}
    """
    rows: dict[str, Rows] = {}
    for place in range(len(names) - 1, 0, -1):
        own = []
        for table in by_share:
            before = table[:, : place + 1].sum(axis=1)
            part = np.divide(table[:, place], before, out=np.zeros(len(table)), where=before > 1e-9)
            own.append(tuple(float(value) for value in np.round(np.clip(part, 0.0, 1.0), 4)))
        rows[names[place]] = tuple(own)
    return dict(reversed(rows.items()))


def parts_of_rows(rows: Mapping[str, Rows], share: int, step: int) -> dict[str, float]:
    """Return each expert's part of the forecast at a step, for one share of variables present; the model has the rest.

    >>> parts_of_rows({"specialist": ((0.5,),), "linear": ((0.6,),)}, 0, 0)
    {'model': 0.2, 'specialist': 0.2, 'linear': 0.6}
    """
    parts, left = {}, 1.0
    for name in reversed(list(rows)):
        parts[name] = round(left * rows[name][share][step], 4)
        left -= parts[name]
    return {"model": round(left, 4), **{name: parts[name] for name in rows}}
