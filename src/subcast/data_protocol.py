"""How data are cut and counted: every choice that moves a published number is a named setting here."""

from __future__ import annotations

from dataclasses import dataclass

from subcast.errors import InputError


@dataclass(frozen=True)
class DataProtocol:
    """The data side of an evaluation.

    Parameters
    ----------
    name
        what it is called
    shares
        of the training, validation and test parts
    windows_first
        whether windows are cut from the whole series and then divided (so that neighboring parts overlap at their
        edges by up to lookback + horizon - 1 steps), or the series is divided first, with a gap
    per_variable_scale
        whether each variable has its own mean and deviation, or one pair serves all
    missing_code_in_inputs
        whether a dataset's code for missing readings goes back into the inputs, where it counts as a value: it enters
        the scaler, the model and the distance
    zeros_missing_in_targets
        whether a zero among the targets counts as missing, in the loss and in the metrics
    """

    name: str
    shares: tuple[float, float, float] = (0.7, 0.1, 0.2)
    windows_first: bool = False
    per_variable_scale: bool = True
    missing_code_in_inputs: bool = False
    zeros_missing_in_targets: bool = False


PROTOCOLS = {
    "default": DataProtocol("default"),
    "paper": DataProtocol(
        "paper",
        windows_first=True,
        per_variable_scale=False,
        missing_code_in_inputs=True,
        zeros_missing_in_targets=True,
    ),
}


def get_protocol(protocol: str | DataProtocol) -> DataProtocol:
    """Look a protocol up by name.

    >>> get_protocol("paper").windows_first
    True
    """
    if isinstance(protocol, DataProtocol):
        return protocol
    if not isinstance(protocol, str) or protocol not in PROTOCOLS:
        raise InputError(f"protocol must be one of {', '.join(PROTOCOLS)}, got {protocol!r}")
    return PROTOCOLS[protocol]
