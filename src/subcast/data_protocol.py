"""DataProtocol: how data are split, scaled and counted; every choice that changes a published number is a setting."""

from __future__ import annotations

from dataclasses import dataclass

from subcast.errors import InputError


@dataclass(frozen=True)
class DataProtocol:
    """How data are split, scaled and counted in training and evaluation.

    Parameters
    ----------
    name
        its name
    shares
        shares of the training, validation and test parts
    windows_first
        whether windows are made from the whole series and then split, so that consecutive parts overlap by up to
        lookback + horizon - 1 steps; otherwise the series is split first, and the parts do not overlap
    per_variable_scale
        whether each variable is scaled by its own mean and standard deviation; otherwise all by the same
    missing_code_in_inputs
        whether inputs contain the dataset's code for missing readings as a value, which then enters the scaler, the
        model and the distance
    zeros_missing_in_targets
        whether zeros in the targets count as missing in the loss and in the metrics
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
    """Return a protocol by its name; a DataProtocol is returned unchanged.

    >>> get_protocol("paper").windows_first
    True
    """
    if isinstance(protocol, DataProtocol):
        return protocol
    if not isinstance(protocol, str) or protocol not in PROTOCOLS:
        raise InputError(f"protocol must be one of {', '.join(PROTOCOLS)}, got {protocol!r}")
    return PROTOCOLS[protocol]
