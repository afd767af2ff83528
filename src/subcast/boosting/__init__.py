"""Gradient-boosted regression trees: grown and evaluated by compiled loops, kept as flat arrays."""

from subcast.boosting.grouped import GroupedTrees
from subcast.boosting.steps import interpolated, spread_steps
from subcast.boosting.trees import LOSSES, Trees

__all__ = ["LOSSES", "GroupedTrees", "Trees", "interpolated", "spread_steps"]
