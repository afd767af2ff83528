"""Which variables are present: seeded draws of S, uniform or from clusters of variables that move together.

Every draw depends only on the seed and its own number, so that each method compared sees the same S and asking for
more draws keeps the first ones. For one seed, a smaller share is part of a larger one, and S drawn from fewer
clusters comes from some of the clusters that more would give: sweeps over either are paired.
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
DENSITIES = (5, 4, 3, 2)  # of min_samples: the first that can give the wanted number of clusters is taken


@dataclass(frozen=True)
class SubsetSize:
    """How many variables are present: a share of them, or a count when that is given.

    >>> SubsetSize(share=0.15).of(140), SubsetSize(count=21).of(140)
    (21, 21)
    """

    share: float | None = 0.15
    count: int | None = None

    def of(self, n: int) -> int:
        """Return |S| among `n` variables: the count, or the share rounded up."""
        return subset_size(n, self.share, self.count)


def subset_size(n: int, share: float | None = 0.15, count: int | None = None) -> int:
    """Return |S|: `count` when given, else ceil(share x n).

    The product is rounded to nine decimals first, so that 7 % of 100 is 7 although 0.07 * 100 is a little more.

    >>> subset_size(137), subset_size(100, 0.07), subset_size(137, count=5)
    (21, 7, 5)
    """
    check_whole("n", n)
    if count is not None:
        check_whole("count", count)
        if count > n:
            raise InputError(f"count must be at most the {n} variables there are, got {count}")
        return int(count)
    if share is None:
        raise InputError("share and count are both None: give one of them")
    if not 0 < share <= 1:
        raise InputError(f"share must be above 0 and at most 1, got {share}: 15 % is 0.15, and 15 variables count=15")
    return max(1, math.ceil(round(share * n, 9)))


def parse_share(text: str) -> SubsetSize:
    """Read the size of S as a user types it: '15%' or '0.15' is a share, '21' a count.

    >>> parse_share("15%"), parse_share("0.15"), parse_share("21")
    (SubsetSize(share=0.15, count=None), SubsetSize(share=0.15, count=None), SubsetSize(share=None, count=21))
    >>> parse_share("most")
    Traceback (most recent call last):
        ...
    subcast.errors.InputError: the share must be like '15%', '0.15' or, as a count, '21', got 'most'
    """
    typed = text.strip()
    if typed.isdecimal():
        count = int(typed)
        if count < 1:
            raise InputError(f"the share must leave at least one variable present, got {text!r}")
        return SubsetSize(share=None, count=count)
    try:
        share = float(typed.removesuffix("%"))
    except ValueError:
        raise InputError(f"the share must be like '15%', '0.15' or, as a count, '21', got {text!r}") from None
    if typed.endswith("%"):
        share = float(f"{share:.15g}e-2") if math.isfinite(share) else share
    if not 0 < share <= 1:
        raise InputError(f"the share must be above 0 and at most 100%, got {text!r}")
    return SubsetSize(share=share)


def draw_subsets(
    n: int, share: float | None = 0.15, draws: int = 100, *, count: int | None = None, seed: int = 0
) -> NDArray[np.int64]:
    """Draw S uniformly, without replacement, `draws` times.

    Parameters
    ----------
    n
        the number of variables
    share
        |S| = ceil(share x n)
    draws
        how many sets; the first ones do not depend on how many there are
    count
        |S| itself, used instead of `share`
    seed
        0 or above

    Returns
    -------
    array
        indices in rising order, [draws, s]

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
    """Return a set of variables given by names, indices or a mask as a single draw, [1, s], in rising order.

    >>> fixed_subset(["c", "a"], 3, names=["a", "b", "c"])
    array([[0, 2]])
    """
    return np.sort(variable_indices(present, n, names, "present"))[None, :]  # [s] -> [1, s]


@dataclass(frozen=True)
class Clusters:
    """Variables grouped by how they move together.

    Attributes
    ----------
    labels
        the cluster of each variable, [n]; -1 for a variable in none (rule 'drop')
    n_clusters
        how many there are
    wanted
        how many were asked for
    eps, min_samples
        DBSCAN's radius and density, chosen for that number
    noise
        True for a variable that DBSCAN left alone, whatever became of it afterwards, [n]
    rule
        what became of it: 'join' or 'drop'
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
        """The number of variables in each cluster, [n_clusters]."""
        return np.bincount(self.labels[self.labels >= 0], minlength=self.n_clusters).astype(np.int64)


@dataclass(frozen=True)
class ClusterDraws:
    """Sets S drawn from few clusters each.

    Attributes
    ----------
    subsets
        indices in rising order, [draws, s]
    chosen
        for each draw the clusters whose union S was drawn from, in the order they were picked
    added
        how many of those were picked beyond the number asked for, because the union was smaller than |S|, [draws]
    """

    subsets: NDArray[np.int64]
    chosen: tuple[tuple[int, ...], ...]
    added: NDArray[np.int64]


def cluster_variables(
    values: ArrayLike | Series, n_clusters: int = 11, *, min_samples: int | None = None, noise: str = "join"
) -> Clusters:
    """Cluster variables by DBSCAN on 1 - |Spearman correlation|, with eps chosen for a wanted number of clusters.

    The number of clusters changes with eps at finitely many values, and all of them are considered. Of every eps
    that gives the wanted number the largest is taken, because it leaves the fewest variables alone. When no eps
    gives that number, the nearest one that can be had is taken (the larger of two equally near), with a warning.

    Parameters
    ----------
    values
        the training part of a series, or its values [t, n], NaN where a reading is missing
    n_clusters
        how many clusters are wanted
    min_samples
        DBSCAN's density: how many variables, itself included, must lie within eps of the core of a cluster.
        By default the highest of 5, 4, 3 and 2 that can give the wanted number, because a higher one makes
        clusters of more even sizes; 1 makes a cluster of every variable left alone.
    noise
        what becomes of a variable that DBSCAN leaves alone. 'join': it joins the cluster of the clustered variable
        nearest to it, so that every variable can be drawn and the union of all clusters is all variables.
        'drop': it is in no cluster and is never drawn.

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
            f"no eps gives {n_clusters} clusters of these {n} variables, so {reached} were made, the nearest "
            f"number that can be had with min_samples={density}",
            DataWarning,
            stacklevel=2,
        )
    labels = _dbscan(distance, eps, density)
    alone = labels < 0
    if noise == "join":
        labels = _join_nearest(labels, distance)
    return Clusters(labels, reached, n_clusters, eps, density, alone, noise)


def draw_cluster_subsets(
    clusters: Clusters,
    n_chosen: int,
    share: float | None = 0.15,
    draws: int = 100,
    *,
    count: int | None = None,
    seed: int = 0,
) -> ClusterDraws:
    """Pick `n_chosen` clusters at random, then S uniformly from their union; `draws` times.

    |S| is the same for every number of clusters: a share of all variables. A union smaller than |S| is widened by
    further clusters picked at random until it is large enough, and the result says so. From all clusters (and no
    variable dropped) the draws are those of :func:`draw_subsets`.

    Parameters
    ----------
    clusters
        from :func:`cluster_variables`
    n_chosen
        how many clusters to pick, from 1 to all
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
        raise InputError(f"n_chosen must be at most the {clusters.n_clusters} clusters there are, got {n_chosen}")
    in_clusters = int(np.sum(clusters.labels >= 0))
    if size > in_clusters:
        raise InputError(
            f"S of {size} variables cannot be drawn from the {in_clusters} variables that are in a cluster: "
            f"ask for fewer, or cluster with noise='join'"
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

    Each variable is ranked once, over its own readings (ties share their mean rank); two variables are then
    correlated over the steps where both have a reading. Without NaN that is Spearman's correlation itself; with NaN
    it differs a little from ranking anew for every pair, and costs one matrix product instead of n^2 sorts.
    A constant variable, or a pair with fewer than two common readings, has correlation 0.

    >>> spearman_distance([[1.0, 9.0, 5.0], [2.0, 4.0, 5.0], [3.0, 1.0, 5.0]])
    array([[0., 0., 1.],
           [0., 0., 1.],
           [1., 1., 0.]])
    """
    from scipy.stats import rankdata

    table = np.asarray(values, dtype=np.float64)
    check_axes("values", table, "tn")
    if table.shape[0] < 2:
        raise InputError(f"values must have at least 2 steps to be correlated, got {table.shape[0]}")
    seen = ~np.isnan(table)
    ranks = rankdata(table, axis=0, nan_policy="omit")
    middle = (seen.sum(axis=0) + 1) / 2  # the mean rank
    ranks = np.where(seen, (ranks - middle) / np.maximum(middle, 1.0), 0.0)  # about -1 to 1, so sums keep digits
    distance = 1.0 - np.abs(_correlation_where_seen(ranks, seen.astype(np.float64)))
    np.fill_diagonal(distance, 0.0)
    return distance


def _correlation_where_seen(ranks: NDArray[np.float64], seen: NDArray[np.float64]) -> NDArray[np.float64]:
    """Correlate columns over the rows where both are seen; unseen entries of `ranks` are 0."""
    common = np.maximum(seen.T @ seen, 1.0)  # [n, n]
    total = ranks.T @ seen  # [i, j]: sum of i over the rows where j is seen too
    squares = (ranks**2).T @ seen
    spread = squares - total**2 / common
    spread = np.where(spread > 1e-12 * squares, spread, 0.0)  # what is left of a constant is rounding
    together = ranks.T @ ranks - total * total.T / common
    scale = np.sqrt(spread * spread.T)
    correlation = np.divide(together, scale, out=np.zeros_like(together), where=scale > 0)
    correlation = np.clip(correlation, -1.0, 1.0).round(12)  # so that equal variables are at distance 0, not 1e-16
    return np.asarray((correlation + correlation.T) / 2)


def _choose_eps(distance: NDArray[np.float64], wanted: int, min_samples: int) -> tuple[float, int]:
    """Return the largest eps that gives the number of clusters nearest to `wanted`, and that number.

    A cluster is a connected part of the core points, so the count at eps is the number of core points less the
    number of minimum-spanning-tree edges, in the graph whose edge (i, j) appears once i and j are both core and
    within eps of each other.
    """
    core = np.sort(distance, axis=1)[:, min_samples - 1]  # the eps at which each variable becomes core, [n]
    reach = np.maximum(distance, np.maximum(core[:, None], core[None, :]))
    merges = _spanning_edges(reach)
    candidates = np.unique(distance[np.triu_indices(len(distance), 1)]) if len(distance) > 1 else np.zeros(1)
    born = np.searchsorted(np.sort(core), candidates, side="right")
    merged = np.searchsorted(np.sort(merges), candidates, side="right")
    counts = born - merged
    counts = np.where(counts > 0, counts, -len(distance) - wanted)  # an eps without any cluster is no candidate
    miss = np.abs(counts - wanted)
    nearest = int(counts[miss == miss.min()].max())
    return float(candidates[counts == nearest].max()), nearest


def _spanning_edges(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the edge weights of a minimum spanning tree of a full graph, [n - 1] (Prim; zero weights are edges)."""
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

    radius = max(eps, float(np.finfo(np.float64).tiny))  # scikit-learn wants it above 0
    found = DBSCAN(eps=radius, min_samples=min_samples, metric="precomputed").fit(distance)
    return np.asarray(found.labels_, dtype=np.int64)


def _join_nearest(labels: NDArray[np.int64], distance: NDArray[np.float64]) -> NDArray[np.int64]:
    clustered = np.flatnonzero(labels >= 0)
    nearest = clustered[np.argmin(distance[:, clustered], axis=1)]  # [n]
    return np.where(labels >= 0, labels, labels[nearest])


def _keys(seed: int, draw: int, size: int) -> NDArray[np.uint64]:
    """Return random numbers of one draw; raw bits, whose stream NumPy promises never to change."""
    return np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(draw,))).random_raw(size)


def _order(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return a random permutation: the order of random keys."""
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
