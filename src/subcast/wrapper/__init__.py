"""The wrapper: forecast whatever arrives, with any model."""

from __future__ import annotations

from subcast.wrapper.core import SubsetForecaster
from subcast.wrapper.settings import Settings

__all__ = ["Settings", "SubsetForecaster"]
