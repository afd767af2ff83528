"""What silent sensors cost: the expected error beside that with all sensors of the same wrapper."""

from __future__ import annotations

import numpy as np

from subcast.subset.conformal import Calibration


def cost_of(calibration: Calibration | None, gap: float | None) -> float | None:
    """Return by how many percent the expected error exceeds that of the same wrapper with all sensors present.

    The expected gap compares with the model alone. A wrapper that is better than its model has a negative gap even with
    half of the sensors, and yet it would be better still with all of them.

    >>> import numpy as np
    >>> table = np.zeros((2, 1, 1, 1))
    >>> calibration = Calibration(np.array([1, 9]), table, table, np.array([8.0, -10.0]), np.zeros(2))
    >>> round(cost_of(calibration, 8.0), 6), cost_of(calibration, -10.0)
    (20.0, 0.0)
    """
    if calibration is None or gap is None:
        return None
    all_present = float(calibration.gaps[-1])
    return 100 * ((100 + gap) / (100 + all_present) - 1) if all_present > -100 else None


def cost_with(calibration: Calibration | None, count: float) -> float | None:
    """Return the cost when the readings of `count` sensors arrive; None if there are none."""
    if calibration is None or count <= 0:
        return None
    return cost_of(calibration, float(calibration.gaps_at(np.array([count]))[0]))
