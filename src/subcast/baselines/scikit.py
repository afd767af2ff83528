"""The imputers of scikit-learn, KNNImputer and IterativeImputer, applied to single steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.axes import check_whole
from subcast.baselines.base import Shape, check_train, completed, training_steps
from subcast.errors import InputError
from subcast.scaling import Scaler
from subcast.windows import Windows

MOST_VARIABLES = 250  # largest number of variables for IterativeImputer
_AT_ONCE = 512


@dataclass(frozen=True, eq=False)
class ScikitImputer:
    """A scikit-learn imputer on single steps: rows are time steps, columns are variables.

    Fitted once, on a sample of training steps with every variable, and used for every S: absent variables and missing
    readings of a step are NaN, and both are filled. Readings are normalized as the protocol defines.

    Create one with `ScikitImputer.knn` or `ScikitImputer.iterative`.

    Parameters
    ----------
    imputer
        fitted on normalized steps [t, n]; anything with `transform`
    scaler
        as the protocol of the training windows defines it
    shape
        of the training windows

    Examples
    --------
    >>> from subcast.series import Series
    >>> walk = np.random.default_rng(0).normal(size=(200, 2)).cumsum(axis=0)
    >>> train, _, test = Series(walk[:, [0, 0, 1, 1]]).split(lookback=4, horizon=2)
    >>> filled = ScikitImputer.knn(train).complete(test, np.array([0, 2]))
    >>> bool(np.isfinite(filled).all()), filled.shape == test.batch().inputs.shape
    (True, True)
    """

    imputer: Any
    scaler: Scaler
    shape: Shape

    @classmethod
    def knn(
        cls, train: Windows, *, neighbors: int = 5, weights: str = "uniform", sample: int = 4000, seed: int = 0
    ) -> ScikitImputer:
        """Return a KNNImputer: the mean of the nearest training steps with a reading, by Euclidean distance.

        Cost: it sorts the distances anew for each absent column, about T m a step: with 4,000 training steps and 119
        absent columns a few milliseconds for each step.

        Parameters
        ----------
        train
            the training windows
        neighbors, weights
            as in scikit-learn
        sample
            largest number of training steps, drawn without replacement
        seed
            random seed for that draw
        """
        from sklearn.impute import KNNImputer

        check_whole("neighbors", neighbors)
        if weights not in ("uniform", "distance"):
            raise InputError(f"weights must be one of uniform, distance, got {weights!r}")
        imputer = KNNImputer(n_neighbors=neighbors, weights=weights, keep_empty_features=True)
        return cls._fit(imputer, train, sample, seed)

    @classmethod
    def iterative(
        cls,
        train: Windows,
        *,
        rounds: int = 10,
        nearest: int | None = 20,
        sample: int = 2000,
        seed: int = 0,
        most_variables: int = MOST_VARIABLES,
    ) -> ScikitImputer:
        """Return an IterativeImputer: each variable in turn is regressed on the others (BayesianRidge), `rounds` times.

        Its regressions are learned on complete steps and serve every S. Its stopping rule would then end after the
        first round, since nothing is missing while it learns; it is switched off (tol = 0), so that imputation goes
        through all rounds. Where most variables are absent each is estimated mostly from others' estimates, which
        start at the mean: where variables are strongly correlated, ten rounds may not bring them far from it, and
        fewer inputs (`nearest`) can do better than all.

        Cost: n regressions a round at fitting: a few seconds for 140 variables with 20 inputs each, a minute with all,
        growing with the cube of their number, hence `most_variables`. On flattened windows it would take hours and is
        not offered.

        Parameters
        ----------
        train
            the training windows
        rounds
            number of passes through the variables
        nearest
            how many other variables each is regressed on, drawn with probability proportional to their correlation;
            None for all
        sample, seed
            as in `knn`; the seed is also the imputer's
        most_variables
            raise above this number of variables
        """
        from sklearn.experimental import enable_iterative_imputer  # noqa: F401
        from sklearn.impute import IterativeImputer

        check_train(train)
        check_whole("rounds", rounds)
        if nearest is not None:
            check_whole("nearest", nearest)
        n = train.series.n_variables
        if n > most_variables:
            raise InputError(
                f"IterativeImputer on {n} variables is above most_variables = {most_variables} and would take very "
                "long: use RidgeImputer, or raise most_variables and set nearest"
            )
        imputer = IterativeImputer(
            max_iter=rounds,
            tol=0.0,
            n_nearest_features=nearest,
            random_state=seed,
            keep_empty_features=True,
        )
        return cls._fit(imputer, train, sample, seed)

    @classmethod
    def _fit(cls, imputer: Any, train: Windows, sample: int, seed: int) -> ScikitImputer:
        import warnings

        check_train(train)
        check_whole("sample", sample)
        check_whole("seed", seed, low=0)
        steps = training_steps(train)
        if len(steps) > sample:
            steps = np.sort(np.random.default_rng(seed).choice(steps, sample, replace=False))
        scaler = Scaler.fit(train)
        rows = scaler.transform(train.series.values[steps]).astype(np.float64)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=r"\[IterativeImputer\] Early stopping")
            imputer.fit(rows)
        return cls(imputer, scaler, Shape.of(train))

    def complete(self, windows: Windows, present: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the windows with absent variables and missing readings filled in, [b, t, n, f], raw units."""
        present = self.shape.check(windows, present)
        starts = np.asarray(windows.starts, dtype=np.int64)
        steps, position = np.unique(starts[:, None] + np.arange(windows.lookback), return_inverse=True)  # shared steps
        rows = np.full((len(steps), self.shape.n), np.nan)
        rows[:, present] = self.scaler.select(present).transform(windows.series.values[steps][:, present])
        filled = [self.imputer.transform(rows[a : a + _AT_ONCE]) for a in range(0, len(rows), _AT_ONCE)]
        estimate = np.concatenate(filled) if filled else rows  # [steps, n]
        raw = self.scaler.inverse(estimate)[position.reshape(len(windows), windows.lookback)]  # [b, t, n]
        return completed(windows, present, raw)
