"""The saved state of an object: plain facts, arrays, and files as bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from subcast.errors import DataError


@dataclass(frozen=True, eq=False)
class State:
    """The state from which a class can restore an object.

    Parameters
    ----------
    facts
        plain values that JSON can hold
    arrays
        NumPy arrays by name; a name may have dots
    blobs
        whole files as bytes, by a name that ends in the file's suffix ("weights.safetensors")
    source
        the folder that the state was read from, for errors
    trusted
        whether the user chose not to verify the folder; then the values of its arrays are not looked through

    Examples
    --------
    >>> import numpy as np
    >>> outer = State.join({"version": 3}, bank=State({"lookback": 12}, {"rows": np.zeros(2)}), moments=None)
    >>> outer.facts, list(outer.arrays)
    ({'version': 3, 'bank': {'lookback': 12}}, ['bank.rows'])
    >>> outer.part("bank").facts, list(outer.part("bank").arrays), outer.part("moments")
    ({'lookback': 12}, ['rows'], None)
    """

    facts: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    source: str = "the folder"
    trusted: bool = False

    @classmethod
    def join(cls, own_facts: Mapping[str, Any], /, **parts: State | None) -> State:
        """Return one state with facts and the states of named parts; parts that are None are left out."""
        joined = cls(dict(own_facts))
        for name, part in parts.items():
            if part is not None:
                joined.facts[name] = part.facts
                joined.arrays.update({f"{name}.{key}": array for key, array in part.arrays.items()})
                joined.blobs.update({f"{name}.{key}": blob for key, blob in part.blobs.items()})
        return joined

    def part(self, name: str) -> State | None:
        """Return the state of a named part; None if there is none."""
        if name not in self.facts:
            return None
        if not isinstance(self.facts[name], dict):
            raise self.damaged(f"its part {name} is not a part")
        start = f"{name}."
        return State(
            self.facts[name],
            {key.removeprefix(start): array for key, array in self.arrays.items() if key.startswith(start)},
            {key.removeprefix(start): blob for key, blob in self.blobs.items() if key.startswith(start)},
            self.source,
            self.trusted,
        )

    def needed_part(self, name: str) -> State:
        """Return the state of a named part; raise if there is none."""
        part = self.part(name)
        if part is None:
            raise self.damaged(f"it has no {name}")
        return part

    def damaged(self, problem: str) -> DataError:
        """Return the error that says what is wrong with the saved state."""
        return DataError(f"{self.source} is damaged or was changed by hand ({problem}): copy or save it again")
