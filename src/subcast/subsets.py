"""Random subsets S of present variables: uniform, or from clusters of correlated variables.

Every draw depends only on the seed and its own number, so that all methods are compared on the same subsets, and more
draws begin with the same ones. For one seed, the subset of a smaller share is contained in that of a larger share, and
the clusters of a smaller number are among those of a larger number, so comparisons over either are paired.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subcast.axes import check_axes, check_whole, variable_indices
from subcast.errors import DataWarning, InputError
from subcast.series import Series

NOISE_RULES = ("join", "drop")
DENSITIES = (5, 4, 3, 2)  # values of min_samples; the first that can give the wanted number of clusters is used


@dataclass(frozen=True)
class SubsetSize:
    """The number of present variables, as a share of all variables or as a count.

    >>> SubsetSize(share=0.15).of(140), SubsetSize(count=21).of(140)
    (21, 21)
    """

    share: float | None = 0.15
    count: int | None = None

    def of(self, n: int) -> int:
        """Return |S| for `n` variables: the count, or the share of `n` rounded up."""
        return subset_size(n, self.share, self.count)


def subset_size(n: int, share: float | None = 0.15, count: int | None = None) -> int:
    """Return |S|: `count` if given, else ceil(share x n).

    The product is rounded to nine decimals first, so that 7 % of 100 is 7 although 0.07 * 100 is slightly more.

    >>> subset_size(137), subset_size(100, 0.07), subset_size(137, count=5)
    (21, 7, 5)
    """
    check_whole("n", n)
    if count is not None:
        check_whole("count", count)
        if count > n:
            raise InputError(f"count must be at most the number of variables, {n}, got {count}")
        return int(count)
    if share is None:
        raise InputError("share and count are both None: give one of them")
    if not 0 < share <= 1:
        raise InputError(
            f"share must be above 0 and at most 1, got {share}: write 15 % as 0.15, and 15 variables as count=15"
        )
    return max(1, math.ceil(round(share * n, 9)))


def parse_share(text: str) -> SubsetSize:
    """Parse the size of S as given on the command line: '15%' or '0.15' is a share, '21' a count.

    >>> parse_share("15%"), parse_share("0.15"), parse_share("21")
    (SubsetSize(share=0.15, count=None), SubsetSize(share=0.15, count=None), SubsetSize(share=None, count=21))
    >>> parse_share("most")
    Traceback (most recent call last):
        ...
    subcast.errors.InputError: present must be a share such as '15%' or '0.15', or a count such as '21', got 'most'
    """
    typed = text.strip()
    if typed.isdecimal():
        count = int(typed)
        if count < 1:
            raise InputError(f"present must be at least one variable, got {text!r}")
        return SubsetSize(share=None, count=count)
    try:
        share = float(typed.removesuffix("%"))
    except ValueError:
        raise InputError(
            f"present must be a share such as '15%' or '0.15', or a count such as '21', got {text!r}"
        ) from None
    if typed.endswith("%"):
        share = float(f"{share:.15g}e-2") if math.isfinite(share) else share
    if not 0 < share <= 1:
        raise InputError(f"present must be above 0 and at most 100%, got {text!r}")
    return SubsetSize(share=share)


def draw_subsets(
    n: int, share: float | None = 0.15, draws: int = 100, *, count: int | None = None, seed: int = 0
) -> NDArray[np.int64]:
    """Draw `draws` subsets S uniformly, without replacement.

    Parameters
    ----------
    n
        the number of variables
    share
        |S| = ceil(share x n)
    draws
        number of subsets; more draws begin with the same subsets
    count
        |S|, used instead of `share`
    seed
        random seed, 0 or above

    Returns
    -------
    array
        indices in increasing order, [draws, s]

    Examples
    --------
    >>> draw_subsets(20, draws=3)
    array([[ 6, 11, 17],
           [12, 14, 15],
           [ 1, 10, 19]])
    """
    size = subset_size(n, share, count)
    check_whole("draws", draws)
    check_whole("seed", seed, low=0)
    return np.stack([np.sort(_order(_keys(seed, draw, n))[:size]) for draw in range(draws)])


def fixed_subset(present: ArrayLike | Sequence[str], n: int, names: Sequence[str] | None = None) -> NDArray[np.int64]:
    """Return the indices of variables given by names, indices or a mask as one draw [1, s], in increasing order.

    >>> fixed_subset(["c", "a"], 3, names=["a", "b", "c"])
    array([[0, 2]])
    """
    return np.sort(variable_indices(present, n, names, "present"))[None, :]  # [s] -> [1, s]


@dataclass(frozen=True)
class Clusters:
    """Clusters of correlated variables.

    Attributes
    ----------
    labels
        the cluster of each variable, [n]; -1 for a variable without a cluster (rule 'drop')
    n_clusters
        number of clusters
    wanted
        requested number of clusters
    eps, min_samples
        DBSCAN's radius and density, selected for the requested number
    noise
        True for a variable that DBSCAN assigned to no cluster, under either rule, [n]
    rule
        the rule for these variables: 'join' or 'drop'
    """

    labels: NDArray[np.int64]
    n_clusters: int
    wanted: int
    eps: float
    min_samples: int
    noise: NDArray[np.bool_]
    rule: str

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of variables in each cluster, [n_clusters]."""
        return np.bincount(self.labels[self.labels >= 0], minlength=self.n_clusters).astype(np.int64)


@dataclass(frozen=True)
class ClusterDraws:
    """Subsets S that are each drawn from a few clusters.

    Attributes
    ----------
    subsets
        indices in increasing order, [draws, s]
    chosen
        for each draw, the clusters from whose union S was drawn, in the order in which they were picked
    added
        number of clusters beyond the requested number, added because their union was smaller than |S|, [draws]
    """

    subsets: NDArray[np.int64]
    chosen: tuple[tuple[int, ...], ...]
    added: NDArray[np.int64]


def cluster_variables(
    values: ArrayLike | Series, n_clusters: int = 11, *, min_samples: int | None = None, noise: str = "join"
) -> Clusters:
    """Cluster variables by DBSCAN on 1 - |Spearman correlation|, with eps selected for a number of clusters.

    The number of clusters changes with eps at finitely many values, and all of them are considered. Of all eps that
    give the requested number, the largest is used, because it leaves the fewest variables without a cluster. If no eps
    gives that number, the nearest possible number is used (the larger of two equally near), with a warning.

    Parameters
    ----------
    values
        the training part of a series, or its values [t, n], NaN where a reading is missing
    n_clusters
        requested number of clusters
    min_samples
        DBSCAN's density: number of variables, including itself, within eps of a core variable of a cluster. By
        default the highest of 5, 4, 3 and 2 that can give the requested number, because a higher density gives
        clusters of more even sizes; with 1, every isolated variable is a cluster.
    noise
        rule for variables that DBSCAN assigns to no cluster. 'join': the variable joins the cluster of the nearest
        variable, so that every variable can be drawn. 'drop': it has no cluster and is never drawn.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> causes = rng.normal(size=(200, 3))
    >>> values = np.repeat(causes, 4, axis=1) + 0.1 * rng.normal(size=(200, 12))
    >>> cluster_variables(values, n_clusters=3).labels
    array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])
    """
    table = np.asarray(values.values if isinstance(values, Series) else values, dtype=np.float64)
    check_axes("values", table, "tn")
    n = table.shape[1]
    check_whole("n_clusters", n_clusters)
    if min_samples is not None:
        check_whole("min_samples", min_samples)
    if noise not in NOISE_RULES:
        raise InputError(f"noise must be 'join' or 'drop', got {noise!r}")
    densities = [d for d in (DENSITIES if min_samples is None else (min_samples,)) if d <= n]
    if n_clusters > n or not densities:
        raise InputError(
            f"values must have at least as many variables as n_clusters={n_clusters} "
            f"and min_samples={min_samples or min(DENSITIES)}, got {n}"
        )
    distance = spearman_distance(table)
    choices = [(*_choose_eps(distance, n_clusters, density), density) for density in densities]
    eps, reached, density = min(choices, key=lambda choice: abs(choice[1] - n_clusters))
    if reached != n_clusters:
        warnings.warn(
            f"no eps gives {n_clusters} clusters of these {n} variables: using {reached}, the nearest possible number "
            f"with min_samples={density}",
            DataWarning,
            stacklevel=2,
        )
    labels = _dbscan(distance, eps, density)
    unclustered = labels < 0
    if noise == "join":
        labels = _join_nearest(labels, distance)
    return Clusters(labels, reached, n_clusters, eps, density, unclustered, noise)


def draw_cluster_subsets(
    clusters: Clusters,
    n_chosen: int,
    share: float | None = 0.15,
    draws: int = 100,
    *,
    count: int | None = None,
    seed: int = 0,
) -> ClusterDraws:
    """Pick `n_chosen` clusters at random and draw S uniformly from their union, `draws` times.

    |S| is the same for every number of clusters: a share of all variables. If the union is smaller than |S|, further
    random clusters are added until it is large enough; `added` counts them. With all clusters and no dropped variable,
    the draws are those of :func:`draw_subsets`.

    Parameters
    ----------
    clusters
        from :func:`cluster_variables`
    n_chosen
        number of clusters to pick
    share, draws, count, seed
        as in :func:`draw_subsets`

    Examples
    --------
    >>> clusters = Clusters(np.array([0, 0, 0, 1, 1, 1]), 2, 2, 0.3, 2, np.zeros(6, dtype=bool), "join")
    >>> drawn = draw_cluster_subsets(clusters, 1, count=2, draws=2)
    >>> drawn.chosen, drawn.subsets.tolist()
    (((0,), (0,)), [[1, 2], [1, 2]])
    """
    n = len(clusters.labels)
    size = subset_size(n, share, count)
    check_whole("draws", draws)
    check_whole("seed", seed, low=0)
    check_whole("n_chosen", n_chosen)
    if n_chosen > clusters.n_clusters:
        raise InputError(f"n_chosen must be at most the number of clusters, {clusters.n_clusters}, got {n_chosen}")
    in_clusters = int(np.sum(clusters.labels >= 0))
    if size > in_clusters:
        raise InputError(
            f"S of {size} variables cannot be drawn from the {in_clusters} variables that are in a cluster: "
            f"use a smaller share or count, or cluster with noise='join'"
        )
    picked = [_pick_clusters(clusters, n_chosen, size, seed, draw) for draw in range(draws)]
    subsets = [_draw_within(clusters.labels, picked[draw], size, seed, draw) for draw in range(draws)]
    return ClusterDraws(
        subsets=np.stack(subsets),
        chosen=tuple(picked),
        added=np.array([len(chosen) - n_chosen for chosen in picked], dtype=np.int64),
    )


def spearman_distance(values: ArrayLike) -> NDArray[np.float64]:
    """Return 1 - |Spearman correlation| between variables, [n, n], from a series [t, n].

    Each variable is ranked once, over its own readings (ties share their mean rank). Two variables are then correlated
    over the steps at which both have a reading. Without NaN this is Spearman's correlation; with NaN it differs
    slightly from ranking each pair separately, and needs one matrix product instead of n^2 sorts. A constant variable,
    or a pair with fewer than two common readings, has correlation 0.

    >>> spearman_distance([[1.0, 9.0, 5.0], [2.0, 4.0, 5.0], [3.0, 1.0, 5.0]])
    array([[0., 0., 1.],
           [0., 0., 1.],
           [1., 1., 0.]])
    """
    from scipy.stats import rankdata

    table = np.asarray(values, dtype=np.float64)
    check_axes("values", table, "tn")
    if table.shape[0] < 2:
        raise InputError(f"values must have at least 2 steps to compute correlations, got {table.shape[0]}")
    observed = ~np.isnan(table)
    ranks = rankdata(table, axis=0, nan_policy="omit")
    mean_rank = (observed.sum(axis=0) + 1) / 2
    ranks = np.where(observed, (ranks - mean_rank) / np.maximum(mean_rank, 1.0), 0.0)  # in [-1, 1] for precise sums
    distance = 1.0 - np.abs(_correlation_of_observed(ranks, observed.astype(np.float64)))
    np.fill_diagonal(distance, 0.0)
    return distance


def _correlation_of_observed(ranks: NDArray[np.float64], observed: NDArray[np.float64]) -> NDArray[np.float64]:
    """Correlate columns over the rows at which both are observed; missing entries of `ranks` are 0."""
    common = np.maximum(observed.T @ observed, 1.0)  # [n, n]
    total = ranks.T @ observed  # [i, j]: sum of i over the rows at which j is observed too
    squares = (ranks**2).T @ observed
    variance = squares - total**2 / common
    variance = np.where(variance > 1e-12 * squares, variance, 0.0)  # a constant leaves only rounding errors
    covariance = ranks.T @ ranks - total * total.T / common
    scale = np.sqrt(variance * variance.T)
    correlation = np.divide(covariance, scale, out=np.zeros_like(covariance), where=scale > 0)
    correlation = np.clip(correlation, -1.0, 1.0).round(12)  # equal variables get distance 0, not 1e-16
    return np.asarray((correlation + correlation.T) / 2)


def _choose_eps(distance: NDArray[np.float64], wanted: int, min_samples: int) -> tuple[float, int]:
    """Return the largest eps that gives the number of clusters nearest to `wanted`, and that number.

    A cluster is a connected component of the core points. The number of clusters at eps is therefore the number of
    core points minus the number of minimum-spanning-tree edges of length up to eps, in the graph whose edge (i, j)
    exists from the eps at which i and j are both core and within eps of each other.
    """
    core = np.sort(distance, axis=1)[:, min_samples - 1]  # the eps at which each variable becomes core, [n]
    reach = np.maximum(distance, np.maximum(core[:, None], core[None, :]))
    merges = _spanning_edges(reach)
    candidates = np.unique(distance[np.triu_indices(len(distance), 1)]) if len(distance) > 1 else np.zeros(1)
    core_points = np.searchsorted(np.sort(core), candidates, side="right")
    merged = np.searchsorted(np.sort(merges), candidates, side="right")
    counts = core_points - merged
    counts = np.where(counts > 0, counts, -len(distance) - wanted)  # exclude an eps without any cluster
    difference = np.abs(counts - wanted)
    nearest = int(counts[difference == difference.min()].max())
    return float(candidates[counts == nearest].max()), nearest


def _spanning_edges(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the edge weights of a minimum spanning tree of a complete graph, [n - 1] (Prim; a weight may be 0)."""
    n = len(weight)
    edges = np.empty(n - 1)
    outside = np.ones(n, dtype=bool)
    outside[0] = False
    nearest = weight[0].copy()
    for step in range(n - 1):
        joins = int(np.argmin(np.where(outside, nearest, np.inf)))
        edges[step] = nearest[joins]
        outside[joins] = False
        nearest = np.minimum(nearest, weight[joins])
    return edges


def _dbscan(distance: NDArray[np.float64], eps: float, min_samples: int) -> NDArray[np.int64]:
    from sklearn.cluster import DBSCAN

    radius = max(eps, float(np.finfo(np.float64).tiny))  # scikit-learn requires a radius above 0
    clustering = DBSCAN(eps=radius, min_samples=min_samples, metric="precomputed").fit(distance)
    return np.asarray(clustering.labels_, dtype=np.int64)


def _join_nearest(labels: NDArray[np.int64], distance: NDArray[np.float64]) -> NDArray[np.int64]:
    clustered = np.flatnonzero(labels >= 0)
    nearest = clustered[np.argmin(distance[:, clustered], axis=1)]  # [n]
    return np.where(labels >= 0, labels, labels[nearest])


def _keys(seed: int, draw: int, size: int) -> NDArray[np.uint64]:
    """Return the random numbers of one draw as raw bits, a stream that NumPy promises not to change."""
    return np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(draw,))).random_raw(size)


def _order(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the permutation that sorts random keys."""
    return np.argsort(keys, kind="stable").astype(np.int64)


def _pick_clusters(clusters: Clusters, n_chosen: int, size: int, seed: int, draw: int) -> tuple[int, ...]:
    n = len(clusters.labels)
    order = _order(_keys(seed, draw, n + clusters.n_clusters)[n:])  # the first n keys order the variables
    enough = int(np.searchsorted(np.cumsum(clusters.sizes[order]), size)) + 1
    return tuple(order[: max(n_chosen, enough)].tolist())


def _draw_within(
    labels: NDArray[np.int64], chosen: tuple[int, ...], size: int, seed: int, draw: int
) -> NDArray[np.int64]:
    order = _order(_keys(seed, draw, len(labels)))
    return np.sort(order[np.isin(labels[order], chosen)][:size])
