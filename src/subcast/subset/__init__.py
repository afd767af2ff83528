"""The wrapper: forecast whatever arrives, with any model."""

from __future__ import annotations

from subcast.subset.forecaster import SubsetForecaster
from subcast.subset.settings import Settings

__all__ = ["Settings", "SubsetForecaster"]
