"""Random subsets: size, uniformity and repeatability; clusters against plain loops."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcast.errors import DataWarning, InputError
from subcast.subsets import (
    Clusters,
    SubsetSize,
    cluster_variables,
    draw_cluster_subsets,
    draw_subsets,
    fixed_subset,
    parse_share,
    spearman_distance,
    subset_size,
)


class TestSize:
    @pytest.mark.parametrize(
        ("n", "share", "size"),
        [
            *[(140, 0.15, 21), (20, 0.15, 3), (137, 0.15, 21), (207, 0.15, 32), (862, 0.15, 130)],
            *[(100, 0.07, 7), (3, 1 / 3, 1), (10, 0.1 + 0.2, 3), (1, 0.01, 1), (5, 1.0, 5), (5, 1e-12, 1)],
        ],
    )
    def test_rounds_up_without_float_error(self, n, share, size):
        assert subset_size(n, share) == size

    @given(n=st.integers(1, 2000), per_mille=st.integers(1, 1000))
    def test_agrees_with_exact_fractions(self, n, per_mille):
        assert subset_size(n, per_mille / 1000) == math.ceil(Fraction(per_mille, 1000) * n)

    def test_count_is_used_instead_of_share(self):
        assert subset_size(10, 0.5, count=2) == 2
        assert subset_size(10, None, count=10) == 10

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            ({"share": 0.0}, "share must be above 0 and at most 1, got 0.0"),
            ({"share": 15}, "write 15 % as 0.15, and 15 variables as count=15"),
            ({"share": math.nan}, "share must be above 0"),
            ({"share": None}, "share and count are both None"),
            ({"count": 11}, "count must be at most the number of variables, 10, got 11"),
            ({"count": 0}, "count must be a whole number of at least 1, got 0"),
            ({"count": 2.0}, "count must be a whole number of at least 1, got 2.0"),
            ({"n": 0}, "n must be a whole number of at least 1, got 0"),
        ],
    )
    def test_bad_sizes_are_rejected(self, arguments, sentence):
        with pytest.raises(InputError) as raised:
            subset_size(**{"n": 10, **arguments})
        assert sentence in str(raised.value)


class TestParseShare:
    @pytest.mark.parametrize(
        ("text", "share", "count"),
        [
            *[("15%", 0.15, None), (" 7 %", 0.07, None), ("0.15", 0.15, None), (".5", 0.5, None)],
            *[("100%", 1.0, None), ("1.0", 1.0, None), ("2.5%", 0.025, None), ("21", None, 21), ("1", None, 1)],
        ],
    )
    def test_reads_shares_and_counts(self, text, share, count):
        assert parse_share(text) == SubsetSize(share, count)

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            ("most", "present must be a share such as '15%' or '0.15', or a count such as '21', got 'most'"),
            ("", "present must be a share such as"),
            ("%", "present must be a share such as"),
            ("0", "present must be at least one variable, got '0'"),
            ("0%", "present must be above 0 and at most 100%, got '0%'"),
            ("150%", "present must be above 0 and at most 100%, got '150%'"),
            ("-3", "present must be above 0 and at most 100%, got '-3'"),
            ("1.5", "present must be above 0 and at most 100%, got '1.5'"),
            ("nan", "present must be above 0"),
            ("inf%", "present must be above 0"),
        ],
    )
    def test_bad_text_is_rejected(self, text, sentence):
        with pytest.raises(InputError) as raised:
            parse_share(text)
        assert sentence in str(raised.value)

    def test_size_of(self):
        assert SubsetSize().of(140) == 21
        assert parse_share("21").of(140) == 21


class TestDraws:
    @settings(deadline=None, max_examples=40)
    @given(n=st.integers(1, 60), share=st.floats(0.01, 1.0), seed=st.integers(0, 2**40))
    def test_sorted_without_repeats_within_range(self, n, share, seed):
        drawn = draw_subsets(n, share, 3, seed=seed)
        assert drawn.shape == (3, subset_size(n, share))
        assert drawn.dtype == np.int64
        for row in drawn.tolist():
            assert row == sorted(set(row))
            assert row[0] >= 0
            assert row[-1] < n

    def test_more_draws_keep_the_first(self):
        np.testing.assert_array_equal(draw_subsets(50, draws=20), draw_subsets(50, draws=100)[:20])

    def test_smaller_share_is_contained_in_a_larger_one(self):
        small, large = draw_subsets(50, 0.1, 10), draw_subsets(50, 0.5, 10)
        assert all(set(few) <= set(many) for few, many in zip(small.tolist(), large.tolist(), strict=True))

    def test_seeds_and_draws_differ(self):
        drawn = draw_subsets(100, draws=30)
        assert len({tuple(row) for row in drawn.tolist()}) == 30
        assert not np.array_equal(drawn, draw_subsets(100, draws=30, seed=1))

    def test_stored_draw(self):
        assert draw_subsets(140, draws=2, count=4, seed=5).tolist() == [
            [3, 42, 43, 55],
            [58, 94, 133, 136],
        ]

    def test_uniform_over_all_subsets(self):
        drawn = draw_subsets(5, draws=6000, count=2, seed=2)
        pairs, counts = np.unique(drawn, axis=0, return_counts=True)
        assert len(pairs) == 10
        # chi-squared with 9 degrees of freedom is above 27.9 once in a thousand
        assert ((counts - 600) ** 2 / 600).sum() < 27.9

    def test_all_variables(self):
        assert draw_subsets(4, 1.0, 2).tolist() == [[0, 1, 2, 3]] * 2

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            ({"draws": 0}, "draws must be a whole number of at least 1, got 0"),
            ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
            ({"seed": 1.5}, "seed must be a whole number of at least 0, got 1.5"),
        ],
    )
    def test_bad_arguments_are_rejected(self, arguments, sentence):
        with pytest.raises(InputError) as raised:
            draw_subsets(10, **arguments)
        assert sentence in str(raised.value)

    @pytest.mark.parametrize("present", [["c", "a"], [2, 0], [True, False, True, False]])
    def test_fixed_subset(self, present):
        assert fixed_subset(present, 4, names=["a", "b", "c", "d"]).tolist() == [[0, 2]]

    def test_fixed_subset_with_an_unknown_name(self):
        with pytest.raises(InputError, match="present names 'z', which is not among the 2 variables"):
            fixed_subset(["z"], 2, names=["a", "b"])


class TestSpearman:
    @settings(deadline=None, max_examples=60)
    @given(data=st.data(), steps=st.integers(2, 9), n=st.integers(1, 4))
    def test_agrees_with_loops(self, data, steps, n):
        reading = st.one_of(st.integers(-3, 3).map(float), st.just(math.nan))  # ties, constants and gaps abound
        rows = data.draw(st.lists(st.lists(reading, min_size=n, max_size=n), min_size=steps, max_size=steps))
        np.testing.assert_allclose(spearman_distance(rows), naive_distance(rows), atol=1e-9)

    def test_is_spearmans_correlation_without_gaps(self):
        from scipy.stats import spearmanr

        values = np.random.default_rng(0).normal(size=(30, 5)).round(1)
        np.testing.assert_allclose(spearman_distance(values), 1 - np.abs(spearmanr(values).statistic), atol=1e-9)

    def test_with_gaps_is_close_to_ranking_each_pair(self):
        import pandas as pd

        rng = np.random.default_rng(1)
        values = rng.normal(size=(500, 1)) + rng.normal(size=(500, 4))
        values[rng.random(values.shape) < 0.1] = np.nan
        exact = 1 - pd.DataFrame(values).corr(method="spearman").abs().to_numpy()
        np.testing.assert_allclose(spearman_distance(values), exact, atol=0.01)

    def test_invariant_to_monotone_changes(self):
        values = np.random.default_rng(2).normal(size=(40, 4))
        np.testing.assert_allclose(spearman_distance(np.exp(values)), spearman_distance(-values), atol=1e-12)

    def test_copies_are_at_distance_zero_exactly(self):
        values = np.random.default_rng(3).normal(size=(1001, 1)) @ np.array([[1.0, 1.0, -2.0]])
        assert (spearman_distance(values) == 0).all()

    def test_constant_and_empty_variables_have_distance_one(self):
        values = np.array([[1.0, 5.0, np.nan], [2.0, 5.0, np.nan], [3.0, 5.0, np.nan]])
        assert spearman_distance(values).tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]

    def test_input_is_not_modified(self):
        values = np.array([[1.0, np.nan], [2.0, 3.0], [0.0, 1.0]])
        before = values.copy()
        spearman_distance(values)
        np.testing.assert_array_equal(values, before)

    def test_one_step_is_rejected(self):
        with pytest.raises(InputError, match="values must have at least 2 steps to compute correlations, got 1"):
            spearman_distance([[1.0, 2.0]])

    def test_flat_list_is_rejected(self):
        with pytest.raises(InputError, match=r"values must be \[t, n\]"):
            spearman_distance([1.0, 2.0])


class TestClusters:
    @pytest.mark.parametrize("seed", range(12))
    @pytest.mark.parametrize("min_samples", [1, 2, 3])
    def test_agree_with_a_scan_of_every_distance(self, seed, min_samples):
        values, wanted = random_groups(seed)
        eps, reached, labels = naive_clusters(values, wanted, min_samples)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            found = cluster_variables(values, wanted, min_samples=min_samples, noise="drop")
        assert found.n_clusters == reached
        assert found.eps == pytest.approx(eps, abs=1e-9)
        np.testing.assert_array_equal(found.labels < 0, labels < 0)
        np.testing.assert_array_equal(found.noise, labels < 0)
        core_pairs = same_group(labels)
        np.testing.assert_array_equal(same_group(found.labels), core_pairs)

    @pytest.mark.parametrize("seed", range(4))
    def test_highest_density_that_gives_the_number_is_used(self, seed):
        values, wanted = random_groups(seed)
        reached = {m: naive_clusters(values, wanted, m)[1] for m in (5, 4, 3, 2)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            found = cluster_variables(values, wanted)
        best = min(abs(count - wanted) for count in reached.values())
        assert found.min_samples == max(m for m, count in reached.items() if abs(count - wanted) == best)
        assert found.n_clusters == reached[found.min_samples]

    def test_noise_joins_its_nearest_clustered_variable(self):
        rng = np.random.default_rng(0)
        causes = rng.normal(size=(80, 5))
        causes[:, 1] += causes[:, 0]  # two groups that merge before the two variables far from all join any
        group = [0, 0, 0, 1, 1, 1, 2, 2, 2]
        far = 0.3 * causes[:, [2, 0]] + causes[:, 3:]
        values = np.column_stack([far, causes[:, group] + 0.2 * rng.normal(size=(80, 9))])
        distance = np.array(naive_distance(values.tolist()))
        dropped = cluster_variables(values, 3, min_samples=2, noise="drop")
        joined = cluster_variables(values, 3, min_samples=2, noise="join")
        assert np.flatnonzero(dropped.noise).tolist() == [0, 1]
        for variable, label in enumerate(dropped.labels.tolist()):
            if label < 0:
                near = min(np.flatnonzero(dropped.labels >= 0), key=lambda i, v=variable: distance[v, i])
                label = dropped.labels[near]
            assert joined.labels[variable] == label
        assert joined.sizes.sum() == values.shape[1]
        np.testing.assert_array_equal(joined.noise, dropped.noise)

    def test_impossible_number_gives_the_nearest_with_a_warning(self):
        values = np.random.default_rng(0).normal(size=(100, 1)) + 0.1 * np.random.default_rng(1).normal(size=(100, 4))
        with pytest.warns(DataWarning, match="no eps gives 4 clusters of these 4 variables: using [12], the nearest"):
            found = cluster_variables(values, 4)
        assert found.wanted == 4
        assert found.n_clusters == len(set(found.labels.tolist())) < 4

    def test_copies_form_clusters_at_eps_zero(self):
        causes = np.random.default_rng(0).normal(size=(50, 3))
        found = cluster_variables(np.repeat(causes, 2, axis=1), 3)
        assert found.labels.tolist() == [0, 0, 1, 1, 2, 2]

    def test_constants_alone_are_one_cluster(self):
        assert cluster_variables(np.ones((5, 3)), 1).labels.tolist() == [0, 0, 0]

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            ({"n_clusters": 5}, "at least as many variables as n_clusters=5 and min_samples=2, got 4"),
            ({"min_samples": 5}, "at least as many variables as n_clusters=1 and min_samples=5, got 4"),
            ({"n_clusters": 0}, "n_clusters must be a whole number of at least 1, got 0"),
            ({"min_samples": 0}, "min_samples must be a whole number of at least 1, got 0"),
            ({"noise": "keep"}, "noise must be 'join' or 'drop', got 'keep'"),
        ],
    )
    def test_bad_arguments_are_rejected(self, arguments, sentence):
        with pytest.raises(InputError) as raised:
            cluster_variables(np.zeros((5, 4)), **{"n_clusters": 1, **arguments})
        assert sentence in str(raised.value)


class TestClusterDraws:
    clusters = Clusters(
        labels=np.array([0, 1, 0, 2, 1, 0, -1, 3, 3, 3]),
        n_clusters=4,
        wanted=4,
        eps=0.1,
        min_samples=2,
        noise=np.array([False] * 6 + [True] + [False] * 3),
        rule="drop",
    )

    def test_sizes(self):
        assert self.clusters.sizes.tolist() == [3, 2, 1, 3]

    @pytest.mark.parametrize("n_chosen", [1, 2, 4])
    @pytest.mark.parametrize("count", [1, 3, 5, 9])
    def test_subset_comes_from_the_picked_clusters(self, n_chosen, count):
        drawn = draw_cluster_subsets(self.clusters, n_chosen, count=count, draws=30, seed=3)
        assert drawn.subsets.shape == (30, count)
        for subset, chosen, added in zip(drawn.subsets.tolist(), drawn.chosen, drawn.added, strict=True):
            assert subset == sorted(set(subset))
            assert {self.clusters.labels[variable] for variable in subset} <= set(chosen)
            assert len(chosen) == len(set(chosen)) == n_chosen + added

    def test_clusters_are_added_only_until_the_union_is_large_enough(self):
        drawn = draw_cluster_subsets(self.clusters, 1, count=4, draws=50)
        assert set(drawn.added.tolist()) <= {1, 2}
        for chosen in drawn.chosen:
            sizes = [self.clusters.sizes[cluster] for cluster in chosen]
            assert sum(sizes) >= 4
            assert sum(sizes[:-1]) < 4

    def test_all_clusters_give_the_uniform_draws(self):
        labels = np.array([0, 1, 0, 1, 2, 2, 2, 0])
        clusters = Clusters(labels, 3, 3, 0.1, 2, np.zeros(8, dtype=bool), "join")
        drawn = draw_cluster_subsets(clusters, 3, count=3, draws=20, seed=4)
        np.testing.assert_array_equal(drawn.subsets, draw_subsets(8, count=3, draws=20, seed=4))
        assert not drawn.added.any()

    def test_fewer_clusters_are_among_more(self):
        one = draw_cluster_subsets(self.clusters, 1, count=1, draws=20)
        three = draw_cluster_subsets(self.clusters, 3, count=1, draws=20)
        assert all(few == many[:1] for few, many in zip(one.chosen, three.chosen, strict=True))

    def test_more_draws_keep_the_first(self):
        few = draw_cluster_subsets(self.clusters, 2, draws=5)
        many = draw_cluster_subsets(self.clusters, 2, draws=15)
        np.testing.assert_array_equal(few.subsets, many.subsets[:5])
        assert few.chosen == many.chosen[:5]

    def test_every_cluster_is_picked_equally_often(self):
        drawn = draw_cluster_subsets(self.clusters, 1, count=1, draws=4000, seed=1)
        counts = np.bincount([chosen[0] for chosen in drawn.chosen])
        # chi-squared with 3 degrees of freedom is above 16.3 once in a thousand
        assert ((counts - 1000) ** 2 / 1000).sum() < 16.3

    def test_size_is_a_share_of_all_variables(self):
        assert draw_cluster_subsets(self.clusters, 1, 0.25, 2).subsets.shape == (2, 3)

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            ({"n_chosen": 5}, "n_chosen must be at most the number of clusters, 4, got 5"),
            ({"n_chosen": 0}, "n_chosen must be a whole number of at least 1, got 0"),
            ({"count": 10}, "S of 10 variables cannot be drawn from the 9 variables that are in a cluster"),
            ({"draws": 0}, "draws must be a whole number of at least 1, got 0"),
        ],
    )
    def test_bad_arguments_are_rejected(self, arguments, sentence):
        with pytest.raises(InputError) as raised:
            draw_cluster_subsets(self.clusters, **{"n_chosen": 1, **arguments})
        assert sentence in str(raised.value)


def random_groups(seed):
    """Return readings [60, 14] of variables in groups of different sizes and tightness, and a wanted number."""
    rng = np.random.default_rng(seed)
    causes = rng.normal(size=(60, 5))
    group = np.sort(rng.integers(5, size=14))
    return causes[:, group] + rng.uniform(0.1, 1.5, size=14) * rng.normal(size=(60, 14)), 1 + (seed + 2) % 5


def same_group(labels):
    return (labels[:, None] == labels[None, :]) & (labels[:, None] >= 0)


def naive_distance(rows):
    columns = [list(column) for column in zip(*rows, strict=True)]
    ranked = [naive_ranks(column) for column in columns]
    n = len(columns)
    return [[0.0 if i == j else 1 - abs(naive_correlation(ranked[i], ranked[j])) for j in range(n)] for i in range(n)]


def naive_ranks(column):
    """Rank the readings of a column, ties by their mean; None where there is none."""
    ranks = []
    for value in column:
        below = sum(1 for other in column if other < value)
        equal = sum(1 for other in column if other == value)
        ranks.append(None if math.isnan(value) else below + (equal + 1) / 2)
    return ranks


def naive_correlation(first, second):
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    if len(pairs) < 2:
        return 0.0
    a_mean = sum(a for a, _ in pairs) / len(pairs)
    b_mean = sum(b for _, b in pairs) / len(pairs)
    a_spread = sum((a - a_mean) ** 2 for a, _ in pairs)
    b_spread = sum((b - b_mean) ** 2 for _, b in pairs)
    if a_spread < 1e-12 or b_spread < 1e-12:
        return 0.0
    return sum((a - a_mean) * (b - b_mean) for a, b in pairs) / math.sqrt(a_spread * b_spread)


def naive_clusters(values, wanted, min_samples):
    """Try every pairwise distance as eps; keep the nearest count, the larger of two, then the largest eps."""
    distance = naive_distance(values.tolist())
    n = len(distance)
    best = None
    for eps in sorted({distance[i][j] for i in range(n) for j in range(i)}):
        labels = naive_dbscan(distance, eps + 1e-12, min_samples)
        count = max(labels) + 1
        key = (abs(count - wanted), -count, -eps)
        if count and (best is None or key < best[0]):
            best = (key, eps, count, np.array(labels))
    return best[1:]


def naive_dbscan(distance, eps, min_samples):
    n = len(distance)
    near = [[j for j in range(n) if distance[i][j] <= eps] for i in range(n)]
    labels, cluster = [-1] * n, 0
    for start in range(n):
        if labels[start] >= 0 or len(near[start]) < min_samples:
            continue
        labels[start], frontier = cluster, [start]
        while frontier:
            core = frontier.pop()
            for neighbor in near[core]:
                if labels[neighbor] < 0:
                    labels[neighbor] = cluster
                    if len(near[neighbor]) >= min_samples:
                        frontier.append(neighbor)
        cluster += 1
    return labels
