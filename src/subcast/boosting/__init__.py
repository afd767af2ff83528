"""Gradient-boosted regression trees: fitted by scikit-learn, kept as flat arrays, evaluated by a compiled loop."""

from subcast.boosting.steps import interpolated, spread_steps
from subcast.boosting.trees import LOSSES, Trees

__all__ = ["LOSSES", "Trees", "interpolated", "spread_steps"]
