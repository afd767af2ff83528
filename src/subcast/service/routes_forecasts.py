"""Forecasts: the latest, by sensor, by time."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from subcast.service.models import ForecastAnswer
from subcast.service.problems import ProblemError

router = APIRouter(prefix="/v1", tags=["forecasts"])


@router.get("/forecasts/latest", response_model=ForecastAnswer)
def get_latest(sensor: str | None = None, as_of: str | None = None) -> Any:
    """Return the last forecast, of all sensors or of one."""
    raise ProblemError("not-found", "there is no forecast yet: the first is made when the first step is complete")
