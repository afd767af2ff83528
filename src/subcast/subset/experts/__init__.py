"""Experts: each makes a forecast from the variables in S; the blend mixes them with shares tuned on validation windows.

The first expert is the wrapped model on the completed window. To add one, write a class that implements the `Expert`
protocol, put it into `EXPERTS` (so that a saved wrapper can read it back), and give an instance to
`SubsetForecaster(model, experts=[...])`.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence

from subcast.errors import InputError
from subcast.subset.experts.boosted import MOST_ROWS, Boosted
from subcast.subset.experts.completed_model import CompletedModel
from subcast.subset.experts.linear import Linear
from subcast.subset.experts.own_linear import OwnLinear
from subcast.subset.experts.own_trees import OwnTrees
from subcast.subset.experts.protocol import Expert
from subcast.subset.experts.specialist import Specialist

EXPERTS: dict[str, type[Expert]] = {
    own.name: own for own in (CompletedModel, Specialist, Linear, OwnLinear, Boosted, OwnTrees)
}
"""Expert classes by name, for reading saved wrappers."""

OWN_EXPERTS = tuple(EXPERTS)
"""The experts of the default method, in the order in which they are blended."""

NEED_OWN_PAST = (OwnLinear.name, Boosted.name, OwnTrees.name)
"""The experts that cannot forecast a variable that is absent."""

BEYOND = (Specialist.name, Linear.name, OwnLinear.name)
"""The experts that go on where a variable has left the levels of its training: regressions follow it."""


def all_experts(
    further: Sequence[Expert], metric: str = "mae", seed: int = 0, *, effort: float = 1.0, pool: bool = True
) -> dict[str, Expert]:
    """Return the experts of a wrapper by name: its own, then copies of the user's.

    Without pooling, which is the published method, there are no moments and so no experts by regression.

    >>> list(all_experts(()))
    ['model', 'specialist', 'linear', 'own_linear', 'boosted', 'own_trees']
    """
    own: list[Expert] = [CompletedModel(), Specialist()]
    if pool:
        rows = max(1, round(MOST_ROWS * min(1.0, effort)))
        own += [Linear(), OwnLinear(metric), Boosted(metric, seed, rows), OwnTrees(metric, seed)]
    experts: dict[str, Expert] = {expert.name: expert for expert in own}
    for expert in further:
        if not isinstance(expert, Expert):
            raise InputError(
                f"experts must be objects with name, fit, forecast, state and from_state, got {type(expert).__name__}"
            )
        if expert.name in experts:
            raise InputError(f"experts must have names of their own, got {expert.name!r} twice")
        if not re.fullmatch(r"\w+", expert.name):
            raise InputError(f"an expert's name must be letters, digits and underscores, got {expert.name!r}")
        experts[expert.name] = copy.deepcopy(expert)
    return experts


__all__ = [
    "EXPERTS",
    "NEED_OWN_PAST",
    "OWN_EXPERTS",
    "Boosted",
    "CompletedModel",
    "Expert",
    "Linear",
    "OwnLinear",
    "OwnTrees",
    "Specialist",
    "all_experts",
]
