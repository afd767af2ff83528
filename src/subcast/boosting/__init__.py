"""Gradient-boosted regression trees: fitted by scikit-learn, kept as flat arrays, evaluated by a compiled loop."""

from subcast.boosting.trees import LOSSES, Trees

__all__ = ["LOSSES", "Trees"]
