"""IIM: imputation by individual regression models of the neighbors, combined by mutual vote.

Zhang, Song, Sun and Wang, Learning Individual Models for Imputation, ICDE 2019; the imputation of table 9.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from subcast.axes import check_whole
from subcast.baselines.base import Shape, check_positive, completed, without_holes
from subcast.baselines.past import Past
from subcast.retrieval import Neighbors
from subcast.windows import Windows

_AT_ONCE = 128  # steps imputed together
_MOST_COEFFICIENTS = 1 << 26  # coefficients kept for one S (256 MB)


@dataclass(frozen=True, eq=False)
class Models:
    """Individual regression models of training steps: of the absent variables on those of S.

    Parameters
    ----------
    slope
        [..., s, m]
    level
        [..., m], the intercept
    """

    slope: NDArray[np.float32]
    level: NDArray[np.float32]

    def predict(self, x: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the estimates of k models for each step, [b, k, m], from x [b, s]; the models are [b, k, ...]."""
        product = np.matmul(x[:, None, None, :], self.slope)[:, :, 0]  # [b, k, m]
        return np.asarray(product + self.level, dtype=np.float64)


@dataclass(eq=False)
class _LearnedModels:
    """The models learned so far for one S, by training step."""

    key: tuple[int, ...] = ()
    models: dict[int, Models] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class IIMImputer:
    """Let each of the k nearest training steps estimate the absent variables with a regression model of its own.

    One step at a time. The model of a training step is a ridge regression of the absent variables on S, learned from
    the l training steps nearest to it, itself among them. Each of the k neighbors of a new step gives a candidate
    with its own model; candidate i has weight proportional to 1 / sum over j of |candidate i - candidate j|, for each
    absent variable apart, so that an outlier has the least weight. With l = 1 the candidates are the neighbors' own
    readings; with l = all steps every model is the same global regression.

    Where the published descriptions leave a choice open: steps, not windows, are the tuples; distances are Euclidean
    over S on readings normalized as the protocol says, and time features count in them, as in the paper's retrieval,
    but are no inputs of the regressions; the intercept is not penalized, so that l = 1 gives the neighbor's reading;
    `learning_neighbors` is one number for all steps, where the original can also choose one for each tuple by
    validation; a missing training reading counts as the mean of those that the learning neighbors have; when
    candidates all agree they count alike. Holes in S are filled along the steps first, by `without_holes`.

    Cost: models are learned only for training steps that are a neighbor of a step, all absent variables at once, and
    kept while S stays the same: for u such steps, u T s for their learning neighbors and u l s (s + m) for the
    regressions; then k s m for each step imputed. Windows that overlap share their steps.

    Parameters
    ----------
    shape
        of the training windows
    past
        single training steps, and the scaler
    normal
        [t, n], the same steps in order
    features
        [t, f - 1], their time features, or None
    neighbors
        k, how many candidates
    learning_neighbors
        l, how many steps a model is learned from
    ridge
        of the individual regressions, in normalized units: added to the diagonal of the sum of squares

    Examples
    --------
    >>> from subcast.series import Series
    >>> walk = np.random.default_rng(0).normal(size=(300, 2)).cumsum(axis=0)
    >>> series = Series(np.column_stack([walk, walk.sum(axis=1)]))
    >>> train, _, test = series.split(lookback=4, horizon=2)
    >>> filled = IIMImputer.fit(train, learning_neighbors=20, ridge=1e-6).complete(test, np.array([0, 1]))
    >>> bool(np.allclose(filled[..., 0], test.readings, atol=1e-2))
    True
    """

    shape: Shape
    past: Past
    normal: NDArray[np.float32]
    features: NDArray[np.float32] | None = None
    neighbors: int = 5
    learning_neighbors: int = 100
    ridge: float = 0.1
    _learned: _LearnedModels = field(default_factory=_LearnedModels, repr=False)

    @classmethod
    def fit(
        cls, train: Windows, *, neighbors: int = 5, learning_neighbors: int = 100, ridge: float = 0.1
    ) -> IIMImputer:
        """Store the training steps; models are learned when they are needed."""
        check_whole("neighbors", neighbors)
        check_whole("learning_neighbors", learning_neighbors)
        check_positive("ridge", ridge)
        past = Past.fit(train, single_steps=True)
        steps = past.bank.starts
        normal = past.scaler.transform(train.series.values[steps])  # [t, n]
        features = None if train.series.features is None else train.series.features[steps]
        return cls(Shape.of(train), past, normal, features, neighbors, learning_neighbors, float(ridge))

    def complete(self, windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the windows with absent variables and missing readings filled in, [b, t, n, f], raw units."""
        present = self.shape.check(windows, present)
        absent = np.setdiff1d(np.arange(self.shape.n), present)
        t = self.shape.lookback
        readings = self.past.scaler.select(present).transform(windows.readings[:, :, present])
        known = without_holes(readings).astype(np.float32)  # [b, t, s]
        z = np.zeros((len(windows), t, self.shape.n), dtype=np.float32)
        z[:, :, present] = known
        if absent.size and len(windows):
            readings_and_features = (
                known if windows.features is None else np.concatenate([known, windows.features], axis=2)
            )
            flat = readings_and_features.reshape(-1, readings_and_features.shape[2])  # [b * t, s + f - 1]
            rows, position = np.unique(flat, axis=0, return_inverse=True)  # overlapping windows share steps
            estimate = self._impute(rows[:, : present.size], rows[:, present.size :], present, absent)
            z[:, :, absent] = estimate[position.ravel()].reshape(len(windows), t, absent.size)
        return completed(windows, present, self.past.scaler.inverse(z))

    def _impute(
        self,
        steps: NDArray[np.float32],
        features: NDArray[np.float32],
        present: NDArray[np.int64],
        absent: NDArray[np.int64],
    ) -> NDArray[np.float32]:
        """Return estimates [q, m] for steps [q, s] with time features [q, f - 1]."""
        neighbors = self._nearest(steps, features, present, self.neighbors)
        estimate = np.zeros((len(steps), absent.size), dtype=np.float32)
        for a in range(0, len(steps), _AT_ONCE):
            batch = slice(a, a + _AT_ONCE)
            models = self._models(np.maximum(neighbors.index[batch], 0), present, absent)
            estimate[batch] = vote(models.predict(steps[batch]), neighbors.found[batch])
        return estimate

    def _nearest(
        self,
        steps: NDArray[np.float32],
        features: NDArray[np.float32] | None,
        present: NDArray[np.int64],
        k: int,
    ) -> Neighbors:
        shared = None if self.features is None or features is None else features[:, None]  # [q, 1, f - 1]
        return self.past.bank.nearest(steps[:, None], present, k, 2.0, shared=shared)

    def _models(self, index: NDArray[np.int64], present: NDArray[np.int64], absent: NDArray[np.int64]) -> Models:
        """Return the models of training steps, [b, k, ...], learning those that are new."""
        key, learned = tuple(present.tolist()), self._learned
        size = (present.size + 1) * absent.size
        if learned.key != key or len(learned.models) * size > _MOST_COEFFICIENTS:
            learned.key, learned.models = key, {}
        wanted, position = np.unique(index, return_inverse=True)
        new = np.array([step for step in wanted.tolist() if step not in learned.models], dtype=np.int64)
        for step, model in zip(new.tolist(), self._learn(new, present, absent), strict=True):
            learned.models[step] = model
        models = [learned.models[step] for step in wanted.tolist()]
        position = position.reshape(index.shape)
        slope = np.stack([model.slope for model in models])[position]  # [b, k, s, m]
        return Models(slope, np.stack([model.level for model in models])[position])

    def _learn(
        self, steps: NDArray[np.int64], present: NDArray[np.int64], absent: NDArray[np.int64]
    ) -> Iterator[Models]:
        """Learn the models of training steps, a few at a time."""
        size = min(self.learning_neighbors, len(self.normal))
        for a in range(0, len(steps), _AT_ONCE):
            batch = steps[a : a + _AT_ONCE]
            features = None if self.features is None else self.features[batch]
            nearest_steps = self._nearest(self.normal[batch][:, present], features, present, size).index  # [u, l]
            nearest_steps = np.where(
                nearest_steps >= 0, nearest_steps, batch[:, None]
            )  # too few neighbors: the step itself again
            rows = self.normal[nearest_steps]  # [u, l, n]
            learned = regressions(rows[..., present], rows[..., absent], self.ridge)
            for slope, level in zip(learned.slope, learned.level, strict=True):
                yield Models(slope, level)


def regressions(x: NDArray[np.floating], y: NDArray[np.floating], ridge: float) -> Models:
    """Return the ridge regressions of y [u, l, m] on x [u, l, s], one for each u; the intercept is not penalized.

    A missing value counts as the mean of its column, a column without any as 0.

    >>> models = regressions(np.array([[[0.0], [1.0], [2.0]]]), np.array([[[1.0], [3.0], [5.0]]]), ridge=1e-9)
    >>> models.slope.round(3).item(), models.level.round(3).item()
    (2.0, 1.0)
    """
    x_mean, x_apart = _centered(np.asarray(x, dtype=np.float64))
    y_mean, y_apart = _centered(np.asarray(y, dtype=np.float64))
    across = x_apart.swapaxes(1, 2)  # [u, s, l]
    gram = across @ x_apart + ridge * np.eye(x.shape[2])  # [u, s, s]
    slope = np.linalg.solve(gram, across @ y_apart)  # [u, s, m]
    level = y_mean - x_mean @ slope  # [u, 1, m]
    return Models(slope.astype(np.float32), level[:, 0].astype(np.float32))


def _centered(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return means [u, 1, c] of known values, and the differences from them [u, l, c], 0 for missing values."""
    known = ~np.isnan(values)
    count = np.maximum(known.sum(axis=1, keepdims=True), 1)
    mean = np.where(known, values, 0.0).sum(axis=1, keepdims=True) / count
    return mean, np.where(known, values - mean, 0.0)


def vote(candidates: NDArray[np.floating], valid: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Combine the valid candidates [b, k, m] by mutual vote: [b, m].

    A candidate's weight is proportional to 1 / its summed distance to the others; 0 where none is valid.

    >>> vote(np.array([[[1.0], [2.0], [4.0]]]), np.array([[True, True, True]])).round(3)
    array([[2.191]])
    """
    both = valid[:, :, None, None] & valid[:, None, :, None]  # [b, k, k, 1]
    apart = np.abs(candidates[:, :, None] - candidates[:, None, :])  # [b, k, k, m]
    cost = np.where(both, apart, 0.0).sum(axis=2)  # [b, k, m]
    weight = valid[:, :, None] / np.where(cost > 0, cost, 1.0)  # a cost of 0 means that all are the same
    total = weight.sum(axis=1)  # [b, m]
    return np.divide((weight * candidates).sum(axis=1), total, out=np.zeros_like(total), where=total > 0)
