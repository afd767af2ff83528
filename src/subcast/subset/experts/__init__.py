"""Experts: each makes a forecast from the variables in S; the blend mixes them with shares tuned on validation windows.

The first expert is the wrapped model on the completed window. To add one, write a class that implements the `Expert`
protocol, put it into `EXPERTS` (so that a saved wrapper can read it back), and give an instance to
`SubsetForecaster(model, experts=[...])`.
"""

from __future__ import annotations

from subcast.subset.experts.completed_model import CompletedModel
from subcast.subset.experts.protocol import Expert
from subcast.subset.experts.specialist import Specialist

EXPERTS: dict[str, type[Expert]] = {CompletedModel.name: CompletedModel, Specialist.name: Specialist}
"""Expert classes by name, for reading saved wrappers."""

__all__ = ["EXPERTS", "CompletedModel", "Expert", "Specialist"]
