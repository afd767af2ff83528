"""The draws of S of a cell, in groups: by the size of S, or by the number of clusters that S comes from."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subcast.errors import DataWarning
from subcast.experiments.study import SEED, SHARE, Context
from subcast.subsets import cluster_variables, draw_cluster_subsets


@dataclass(frozen=True)
class Groups:
    """Draws of S in groups.

    Parameters
    ----------
    draws
        S of each draw, by the name of the group: "15%" for a size, "4" for a number of clusters
    facts
        what the record says about the clusters
    """

    draws: Mapping[str, Sequence[NDArray[np.int64]]]
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def units(self) -> int:
        """Number of draws of all groups."""
        return sum(len(draws) for draws in self.draws.values())

    def unit(self, unit: int) -> tuple[str, NDArray[np.int64]]:
        """Return the group and the S of a unit of work."""
        for group, draws in self.draws.items():
            if unit < len(draws):
                return group, draws[unit]
            unit -= len(draws)
        raise IndexError(unit)


def make_groups(context: Context, options: Mapping[str, Any]) -> Groups:
    """Return the groups that the options of a cell ask for: `clusters`, or `shares` (0.15 by default)."""
    if "clusters" in options:
        return _groups_of_clusters(context, [int(count) for count in options["clusters"]])
    shares = options.get("shares", [SHARE])
    return Groups({f"{round(100 * share)}%": context.draws(share) for share in shares})


def _groups_of_clusters(context: Context, counts: Sequence[int]) -> Groups:
    """Draw S from each number of clusters; numbers above what the data have become one group with all clusters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # fewer clusters than asked for: the record says how many
        clusters = cluster_variables(context.study.split.train.series)
    possible = sorted({min(count, clusters.n_clusters) for count in counts})
    drawn = {
        count: draw_cluster_subsets(clusters, count, share=SHARE, draws=context.cell.draws, seed=SEED)
        for count in possible
    }
    facts = {
        "clusters": {
            "found": clusters.n_clusters,
            "eps": clusters.eps,
            "min_samples": clusters.min_samples,
            "sizes": clusters.sizes.tolist(),
            "left_alone_then_joined": int(clusters.noise.sum()),
            "mean_used": {
                str(count): float(np.mean([len(used) for used in draws.chosen])) for count, draws in drawn.items()
            },
            "widened_draws": {str(count): int((draws.added > 0).sum()) for count, draws in drawn.items()},
        }
    }
    return Groups({str(count): [np.sort(draw) for draw in draws.subsets] for count, draws in drawn.items()}, facts)
